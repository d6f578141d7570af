"""Logical facts of a node: schema by position, length, row domain."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import attrs

from sframe_spark.errors import PlanInvariantError, SchemaError
from sframe_spark.types import ColumnType

Schema = tuple[ColumnType, ...]


class RowDomain:
    """Identity of a set of aligned rows: nodes of one domain have the same rows in the same places."""

    __slots__ = ("__weakref__",)


@attrs.frozen
class Length:
    """What is known of a row count.

    Parameters
    ----------
    rows
        The exact number of rows, or None.
    token
        Nodes whose lengths carry equal tokens have equal length, known or not.
    at_most
        An upper bound on the number of rows, or None.

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
        """A known number of rows."""
        return cls(rows, ("rows", rows), rows)

    @classmethod
    def unknown(cls, token: Hashable | None = None, at_most: int | None = None) -> Length:
        """An unknown number of rows; a fresh token unless one is given."""
        return cls(None, RowDomain() if token is None else token, at_most)

    @property
    def known_rows(self) -> int:
        """The exact number of rows, where it must be known.

        Raises
        ------
        PlanInvariantError
            If it is not known.

        Examples
        --------
        >>> Length.exactly(3).known_rows
        3
        """
        if self.rows is None:
            raise PlanInvariantError(f"the number of rows must be known here, but it is {self}: this is a fault of the engine, please report it")
        return self.rows

    def provably_equals(self, other: Length) -> bool | None:
        """True or False when that is certain, None when it is not known."""
        if self.rows is not None and other.rows is not None:
            return self.rows == other.rows
        if self.token == other.token:
            return True
        for known, bounded in ((self, other), (other, self)):
            if known.rows is not None and bounded.at_most is not None and bounded.at_most < known.rows:
                return False
        return None

    def __str__(self) -> str:
        if self.rows is not None:
            return str(self.rows)
        return "?" if self.at_most is None else f"<={self.at_most}"


def sum_of_bounds(lengths: Iterable[Length]) -> int | None:
    """Upper bound of several numbers of rows together; None when one of them has none.

    Examples
    --------
    >>> sum_of_bounds([Length.exactly(3), Length.unknown(at_most=2)]), sum_of_bounds([Length.exactly(3), Length.unknown()])
    (5, None)
    """
    total = 0
    for length in lengths:
        if length.at_most is None:
            return None
        total += length.at_most
    return total


@attrs.frozen
class Facts:
    """Facts remembered on a node and checked on every rewrite.

    Parameters
    ----------
    schema
        Column types by position.
    length
        What is known of the row count.
    domain
        The row domain: equal domains mean row-aligned nodes.
    """

    schema: Schema
    length: Length
    domain: RowDomain = attrs.field(factory=RowDomain)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.schema)


def require_columns(schema: Schema, positions: Iterable[int]) -> None:
    """Refuse positions of columns that are not there; they are counted from 0.

    Raises
    ------
    SchemaError
        If one is.

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
