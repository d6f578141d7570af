"""Converts key columns to numbers that can be compared, in memory and in Spark, checks keys and distances, and gives groups of rows integer codes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_equality_and_codes import comparable, encoded, tokens_of
from sframe_spark.compute.key_runs import raw_numbers
from sframe_spark.errors import SchemaError
from sframe_spark.expressions.functions.datetimes import microseconds_column
from sframe_spark.types import DATETIME_KIND, FLOAT_KIND, INT, ColumnType

if TYPE_CHECKING:
    from pyspark.sql import Column

Numbers = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]

# Codes of two columns, this many bits each, are packed into one 64-bit number.
CODE_BITS = 31
# The Spark type that holds any sum of two 64-bit integers.
WIDE = "decimal(38,0)"
KEY_KINDS = ("int", "float", "datetime")


def key_numbers(column: pa.Array, column_type: ColumnType, as_float: bool = False) -> tuple[Numbers, Flags]:
    """Return the values of a key column as numbers in the same order, and which of the values are neither missing nor NaN.

    Date-times become microseconds since the epoch (UTC). The number of a missing value has no meaning.

    Examples
    --------
    >>> numbers, there = key_numbers(pa.array([3, None]), INT)
    >>> int(numbers[0]), there.tolist()
    (3, [True, False])
    """
    if column_type.is_zoned:
        column = pc.struct_field(column, "instant")
    if column_type.kind == DATETIME_KIND:
        column = column.view(pa.int64())
    present = np.ones(len(column), dtype=bool) if not column.null_count else column.is_valid().to_numpy(zero_copy_only=False)
    filled = column.fill_null(0) if column.null_count else column
    numbers = filled.to_numpy(zero_copy_only=False)
    if column_type.kind == FLOAT_KIND:
        present = present & ~np.isnan(numbers)
    return (numbers.astype(np.float64) if as_float else numbers), present


def key_column(column: Column, column_type: ColumnType, as_float: bool = False) -> Column:
    """Return a Spark column with the numbers of :func:`key_numbers`; null where the key is missing or NaN."""
    from pyspark.sql import functions as F

    if column_type.kind == DATETIME_KIND:
        return microseconds_column(column, column_type)
    number = F.when(~F.isnan(column), column) if column_type.kind == FLOAT_KIND else column
    return number.cast("double") if as_float else number


def distance_column(distance: int | float, spark_type: str) -> Column:
    """Return a constant Spark column with a distance between keys; if it is not a double, at most ``2**64``, which no two ints differ by."""
    from pyspark.sql import functions as F

    return F.lit(float(distance) if spark_type == "double" else str(max(min(int(distance), 2**64), -(2**64)))).cast(spark_type)


def check_keys(left: ColumnType, right: ColumnType, keys_of: str = "keys") -> None:
    """Check that two key columns can be searched and compared with each other.

    Raises
    ------
    SchemaError
        If a key is not an int, float or datetime, if only one of them is a datetime, or if only one of two date-times has an offset.
    """
    for column_type in (left, right):
        if column_type.kind not in KEY_KINDS:
            raise SchemaError(f"{keys_of}: a {column_type.kind} key cannot be used here: distances need {', '.join(KEY_KINDS)}")
    if left.is_numeric != right.is_numeric:
        raise SchemaError(f"{keys_of}: keys of type {left.kind} and {right.kind} cannot be compared: convert one with astype()")
    if left.is_zoned != right.is_zoned:
        raise SchemaError(f"{keys_of}: date-times with and without a time zone cannot be compared: give both an offset from UTC, or neither")


def check_distances(*distances: int | float | None) -> None:
    """Check that distances between keys are neither negative nor NaN; None is allowed.

    Raises
    ------
    SchemaError
        If a distance is negative or NaN.
    """
    for distance in distances:
        if distance is not None and not distance >= 0:
            raise SchemaError(f"a distance between keys must not be negative, got {distance!r}")


def compare_as_float(left: ColumnType, right: ColumnType) -> bool:
    """Return whether the kinds of two numeric keys differ (int and float), so that they must be compared as floats."""
    return left.kind != right.kind


def distances(above: Numbers, below: Numbers) -> Numbers:
    """Return ``above - below`` for numbers with ``below <= above``; for ints as unsigned numbers, which cannot overflow.

    Examples
    --------
    >>> distances(np.array([2**63 - 1]), np.array([-(2**63)])).tolist() == [2**64 - 1]
    True
    """
    if above.dtype.kind == "i":
        return above.view(np.uint64) - below.view(np.uint64)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(above == below, 0.0, above - below)


@attrs.define(eq=False)
class SeenValues:
    """Numbers values in order of first appearance: ints by a sorted array of those seen before, others by a dict.

    Examples
    --------
    >>> seen = SeenValues()
    >>> seen.of_ints(np.array([7, 5])).tolist(), seen.of_hashables([None]).tolist(), seen.of_ints(np.array([6, 5])).tolist()
    ([0, 1], [2], [3, 1])
    """

    _hashed: dict[Hashable, int] = attrs.field(factory=dict)
    _ints: Numbers = attrs.field(factory=lambda: np.zeros(0, dtype=np.int64))
    _codes: Positions = attrs.field(factory=lambda: np.zeros(0, dtype=np.int64))

    def of_hashables(self, values: Sequence[Hashable]) -> Positions:
        """Return the number of each value."""
        return np.array([self._hashed.setdefault(value, len(self._hashed) + len(self._ints)) for value in values], dtype=np.int64)

    def of_ints(self, values: Numbers) -> Positions:
        """Return the number of each of some ints, of which no two are equal."""
        places = np.searchsorted(self._ints, values)
        known = places < len(self._ints)
        known[known] = self._ints[places[known]] == values[known]
        if known.all():
            return self._codes[places]
        result = np.empty(len(values), dtype=np.int64)
        result[known] = self._codes[places[known]]
        fresh = np.flatnonzero(~known)
        result[fresh] = len(self._hashed) + len(self._ints) + np.arange(len(fresh))
        ints, codes = np.concatenate([self._ints, values[fresh]]), np.concatenate([self._codes, result[fresh]])
        # Where all are sorted but for some that are new, a stable sort merges.
        order = np.argsort(ints, kind="stable")
        self._ints, self._codes = ints[order], codes[order]
        return result


@attrs.define(eq=False)
class GroupCodes:
    """Assigns an integer code to the values of some columns: equal values get equal codes in all chunks.

    The value of a single int column is used as its code (unless ``keep_missing``). Other values get codes in order of first appearance.

    Parameters
    ----------
    types
        Types of the columns. Without columns all rows are one group.
    keep_missing
        Whether a missing value is a value like any other; otherwise rows with a missing value belong to no group.

    Examples
    --------
    >>> from sframe_spark.types import STR
    >>> groups = GroupCodes((STR,))
    >>> codes, there = groups.of([pa.array(["a", "b", None, "a"])], 4)
    >>> codes[there].tolist(), there.tolist()
    ([0, 1, 0], [True, True, False, True])
    >>> groups.of([pa.array(["b"])], 1)[0].tolist()
    [1]
    """

    types: Sequence[ColumnType]
    keep_missing: bool = False
    _seen: list[SeenValues] = attrs.field(factory=list)

    def of(self, columns: Sequence[pa.Array], rows: int) -> tuple[Positions, Flags]:
        """Return the code of each row, and whether each row belongs to a group."""
        if not columns:
            return np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=bool)
        if len(columns) == 1 and self.types[0] == INT and not self.keep_missing:
            return key_numbers(columns[0], INT)
        present = np.ones(rows, dtype=bool)
        codes: Positions | None = None
        for position, (column, column_type) in enumerate(zip(columns, self.types, strict=True)):
            if column.null_count and not self.keep_missing:
                present &= column.is_valid().to_numpy(zero_copy_only=False)
            result = self._codes(column, column_type, 2 * position)
            codes = result if codes is None else self._pairs(codes, result, 2 * position + 1)
        assert codes is not None
        return codes, present

    def _codes(self, column: pa.Array, column_type: ColumnType, table: int) -> Positions:
        positions, values = encoded(comparable(column, column_type))
        if not (pa.types.is_int64(values.type) or pa.types.is_timestamp(values.type)):
            return self._table(table).of_hashables(tokens_of([values]))[positions]
        if not values.null_count:
            return self._table(table).of_ints(raw_numbers(values))[positions]
        there = values.is_valid().to_numpy(zero_copy_only=False)
        codes = np.empty(len(values), dtype=np.int64)
        codes[there] = self._table(table).of_ints(raw_numbers(values)[there])
        codes[~there] = self._table(table).of_hashables([None])[0]
        return codes[positions]

    def _pairs(self, first: Positions, second: Positions, table: int) -> Positions:
        packed, positions = np.unique((first << CODE_BITS) | second, return_inverse=True)
        return self._table(table).of_ints(packed)[positions]

    def _table(self, table: int) -> SeenValues:
        while len(self._seen) <= table:
            self._seen.append(SeenValues())
        return self._seen[table]
