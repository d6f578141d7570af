"""Rows of an SFrame in the order of a key: as-of join."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sframe_spark.api.sframe_relational import Relational, joined_names
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.operators.asof_join import DIRECTIONS, GROUPS, AsofJoin, asof_join
from sframe_spark.operators.columns import project, zip_columns
from sframe_spark.operators.lookup_keys import check_keys
from sframe_spark.types import FLOAT, ColumnType
from sframe_spark.values.durations import parse_duration

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame


class Ordered(Relational):
    """Members that look rows up by a key."""

    def asof_join(
        self, other: SFrame, on: Any, by: Any = None, tolerance: Any = None, direction: str = "backward", allow_exact: bool = True
    ) -> SFrame:
        """Each row with the values of the nearest row of another frame: every row keeps its place, and no row is added.

        Parameters
        ----------
        other
            The frame to look in, in any order of rows; of rows with one key the later one counts as later. It need not be sorted, but if it is known
            to be (saved sorted, or sorted in this program) nothing is moved.
        on
            Name of the key: an int, float or datetime column of both frames; or a dict of one pair, left name to right name.
        by
            Columns whose values must be equal: a name, a list of names, or a dict from left to right names.
        tolerance
            Greatest distance between the keys: a number for numeric keys, for date-times a ``timedelta`` or a text such as ``"3d"``.
        direction
            ``"backward"``: the last row whose key is not larger. ``"forward"``: the first row whose key is not smaller. ``"nearest"``: the nearer
            of both, the one before if they are equally near.
        allow_exact
            Whether a row with the very key counts.

        Returns
        -------
        SFrame
            All columns of this frame, then those of the other that are not ``on`` or ``by`` columns; missing values where no row is found. A row
            whose key is missing or NaN, or with a missing value in a ``by`` column, finds nothing and is not found.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If a column or the tolerance is of a type that does not fit.
        ValueError
            If the tolerance is negative or the direction unknown.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> trades = SFrame({"time": [3, 7, 9]})
        >>> quotes = SFrame({"time": [1, 3, 8], "bid": [10, 11, 12]})
        >>> trades.asof_join(quotes, on="time").to_arrow().to_pydict()
        {'time': [3, 7, 9], 'bid': [11, 11, 12]}
        """
        if not isinstance(other, Relational):
            raise SchemaError(f"asof_join takes an SFrame, got {type(other).__name__}")
        if direction not in DIRECTIONS:
            raise InvalidArgumentError(f"direction must be one of {', '.join(DIRECTIONS)}, got {direction!r}")
        if not isinstance(allow_exact, bool):
            raise SchemaError(f"allow_exact is True or False, got {allow_exact!r}")
        (left_on, right_on), left_key, right_key = self._key_pair(other, on)
        pairs = name_pairs(by, "by") if by is not None else []
        left_by, right_by = [self._position(name) for name, _ in pairs], [other._position(name) for _, name in pairs]
        for (a, b), left, right in zip(pairs, left_by, right_by, strict=True):
            check_groups(f"by {a!r}" if a == b else f"by {a!r} and {b!r}", self._node.schema[left], other._node.schema[right])
        limit = distance_limit(tolerance, left_key, right_key, "tolerance")
        keys = {right_on, *right_by}
        values = [position for position in range(len(other._names)) if position not in keys]
        if not values:
            return self._new(self._node, self._names)
        join = AsofJoin(right_on, tuple(right_by), tuple(values), direction, limit, allow_exact)
        found = asof_join(project(self._node, [left_on, *left_by]), other._node, join)
        return self._new(zip_columns(self._node, found), joined_names(self._names, [other._names[p] for p in values], None))

    def _key_pair(self, other: Relational, on: Any) -> tuple[tuple[int, int], ColumnType, ColumnType]:
        """Positions and types of the key columns of both frames."""
        pairs = name_pairs(on, "on")
        if len(pairs) != 1:
            raise InvalidArgumentError(f"on names one key column, got {len(pairs)}")
        ((left_name, right_name),) = pairs
        positions = self._position(left_name), other._position(right_name)
        left, right = self._node.schema[positions[0]], other._node.schema[positions[1]]
        check_keys(left, right, f"on {left_name!r}" if left_name == right_name else f"on {left_name!r} and {right_name!r}")
        return positions, left, right


def name_pairs(names: Any, what: str) -> list[tuple[str, str]]:
    """Pairs of left and right column names from a name, a list of names or a dict.

    Raises
    ------
    SchemaError
        If the names are not given in one of these forms.

    Examples
    --------
    >>> name_pairs("time", "on"), name_pairs({"a": "b"}, "by")
    ([('time', 'time')], [('a', 'b')])
    """
    if isinstance(names, str):
        return [(names, names)]
    pairs = list(names.items()) if isinstance(names, Mapping) else [(name, name) for name in names] if isinstance(names, (list, tuple)) else None
    if pairs is None or not all(isinstance(name, str) for pair in pairs for name in pair):
        raise SchemaError(f"{what} is a column name, a list of names or a dict from left to right names, got {names!r}")
    return pairs


def check_groups(what: str, left: ColumnType, right: ColumnType) -> None:
    """Refuse group columns that cannot be compared.

    Raises
    ------
    SchemaError
        If a type cannot be grouped by, or the types differ.
    """
    for column_type in (left, right):
        if column_type.kind not in GROUPS:
            raise SchemaError(f"{what}: a column of type {column_type.kind} cannot be grouped by: only {', '.join(GROUPS)} can")
    if left.kind != right.kind:
        raise SchemaError(f"{what}: columns of type {left.kind} and {right.kind} cannot be compared: convert one with astype()")
    if left != right:
        raise SchemaError(f"{what}: date-times with and without a time zone cannot be compared: give both an offset from UTC, or neither")


def distance_limit(value: Any, left: ColumnType, right: ColumnType, what: str) -> int | float | None:
    """A greatest distance between keys in their unit; None stays None.

    Raises
    ------
    SchemaError
        If the value does not go with the keys.
    InvalidArgumentError
        If it is negative.
    """
    if value is None:
        return None
    limit = parse_duration(value, FLOAT if right == FLOAT else left, what)
    if limit < 0:
        raise InvalidArgumentError(f"{what}: a distance is not negative, got {value!r}")
    # Distances of ints are ints.
    return limit if FLOAT in (left, right) else math.floor(limit)
