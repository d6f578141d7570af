"""What the planner knows about a node's output without computing it: column types by position, number of rows, and which nodes have aligned rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import attrs

from sframe_spark.errors import PlanInvariantError, SchemaError
from sframe_spark.types import ColumnType

Schema = tuple[ColumnType, ...]


class RowDomain:
    """The identity of a sequence of rows: nodes with the same (identical) domain are aligned row by row."""

    __slots__ = ("__weakref__",)


@attrs.frozen
class Length:
    """What is known about a number of rows.

    Parameters
    ----------
    rows
        The exact number of rows; None if unknown.
    token
        Two nodes whose lengths have equal tokens have the same number of rows, even if it is unknown.
    at_most
        An upper bound on the number of rows; None if there is none.

    Examples
    --------
    >>> Length.exactly(3) == Length.exactly(3)
    True
    >>> Length.unknown(at_most=5).rows is None
    True
    """

    rows: int | None
    token: Hashable
    at_most: int | None

    @classmethod
    def exactly(cls, rows: int) -> Length:
        """Return the length for a known number of rows."""
        return cls(rows, ("rows", rows), rows)

    @classmethod
    def unknown(cls, token: Hashable | None = None, at_most: int | None = None) -> Length:
        """Return the length for an unknown number of rows, by default with a new token."""
        return cls(None, RowDomain() if token is None else token, at_most)

    @property
    def known_rows(self) -> int:
        """The exact number of rows, for code that requires it to be known.

        Raises
        ------
        PlanInvariantError
            If the number of rows is unknown.

        Examples
        --------
        >>> Length.exactly(3).known_rows
        3
        """
        if self.rows is None:
            raise PlanInvariantError(f"the number of rows must be known here, but it is {self}: this is a fault of the engine, please report it")
        return self.rows

    def provably_equals(self, other: Length) -> bool | None:
        """Return whether two lengths are equal; None if that is unknown."""
        if self.rows is not None and other.rows is not None:
            return self.rows == other.rows
        if self.token == other.token:
            return True
        for exact, bounded in ((self, other), (other, self)):
            if exact.rows is not None and bounded.at_most is not None and bounded.at_most < exact.rows:
                return False
        return None

    def __str__(self) -> str:
        if self.rows is not None:
            return str(self.rows)
        return "?" if self.at_most is None else f"<={self.at_most}"


def sum_of_bounds(lengths: Iterable[Length]) -> int | None:
    """Return an upper bound of the sum of some lengths; None if a length has no bound.

    Examples
    --------
    >>> sum_of_bounds([Length.exactly(3), Length.unknown(at_most=2)]), sum_of_bounds([Length.exactly(3), Length.unknown()])
    (5, None)
    """
    bounds = [length.at_most for length in lengths]
    known = [bound for bound in bounds if bound is not None]
    return sum(known) if len(known) == len(bounds) else None


@attrs.frozen
class Facts:
    """Facts about a node's output, stored on the node and checked whenever a law rewrites it.

    Parameters
    ----------
    schema
        Column types by position.
    length
        What is known about the number of rows.
    domain
        The row domain: nodes with the identical domain are aligned row by row.
    """

    schema: Schema
    length: Length
    domain: RowDomain = attrs.field(factory=RowDomain)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.schema)


def require_columns(schema: Schema, positions: Iterable[int]) -> None:
    """Check that a schema has columns at some positions (counted from 0).

    Raises
    ------
    SchemaError
        If the schema has no column at one of the positions.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> require_columns((INT,), [-1])
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: there is no column -1 among 1
    """
    for position in positions:
        if not 0 <= position < len(schema):
            raise SchemaError(f"there is no column {position} among {len(schema)}")
