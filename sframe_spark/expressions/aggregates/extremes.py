"""The aggregates for the smallest and the largest value, for the value of a second column in the same row, and for the value in the first row."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_runs import POSITIVE_ZERO, unsigned_zero
from sframe_spark.compute.spark_columns import Column, F
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition, of_extremes
from sframe_spark.types import DATETIME_KIND, FLOAT_KIND, INT_KIND, ColumnType
from sframe_spark.values.arrow_to_python import decode, decode_scalar
from sframe_spark.values.column_cast import microseconds_of
from sframe_spark.values.datetimes import to_microseconds

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
# The sort rank of an extreme value, and the value of a second column in the same row.
ExtremeRow = tuple[tuple[bool, Any], Any]
ORDERED = ("int", "float", "datetime")


def _infer_first(types: Types, parameters: Parameters) -> ColumnType:
    require("MIN or MAX", types[0], ORDERED)
    return types[0].of_values


def _infer_second(types: Types, parameters: Parameters) -> ColumnType:
    require("ARGMIN or ARGMAX", types[0], ORDERED)
    return types[1]


def comparable(column: Column, column_type: ColumnType) -> Column:
    """Return a Spark column that sorts as the values do."""
    return column["instant"] if column_type.is_zoned else column


def _extreme(name: str, largest: bool, skip_nan: bool) -> None:
    """Define the aggregate for the smallest or largest value; -0.0 becomes 0.0.

    The result is NaN if any value is NaN; with ``skip_nan``, only if there is no other value.
    """

    def column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
        value = columns[0]
        if types[0].kind != FLOAT_KIND:
            return F.max(value) if largest else F.min(value)
        if not skip_nan:
            # NaN is the largest number in Spark, so a maximum is NaN if there is a NaN. The minimum is minus the maximum of the negated values.
            return (F.max(value) if largest else -F.max(-value)) + POSITIVE_ZERO
        number = F.when(~F.isnan(value), value)
        return F.coalesce(F.max(number) if largest else F.min(number), F.max(value)) + POSITIVE_ZERO

    def reduce(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
        values = arrays[0].drop_null()
        if types[0].is_zoned:
            result = decode(values, types[0])
            return (max if largest else min)(result, key=zoned_rank) if result else None
        if types[0].kind == FLOAT_KIND:
            numbers = values.filter(pc.invert(pc.is_nan(values)))
            if len(numbers) < len(values) and not (skip_nan and len(numbers)):
                return math.nan
            values = numbers
        return unsigned_zero(decode_scalar(pc.min_max(values)["max" if largest else "min"], types[0]))

    define_aggregate(name, _infer_first, reduce, parts=of_extremes(reduce), column=column, order_sensitive=False)


def zoned_rank(value: datetime.datetime) -> tuple[int, bool, int]:
    """Return a sort key of a datetime: its instant, then its offset, no offset first, as Spark compares the stored pairs."""
    instant, offset = to_microseconds(value)
    return instant, offset is not None, offset or 0


def _descending(column: Column, column_type: ColumnType) -> Column:
    """Return a Spark column that sorts in the opposite order."""
    if column_type.kind == INT_KIND:
        return F.bitwise_not(column)
    if column_type.kind == FLOAT_KIND:
        return -column
    return -F.unix_micros(column.cast("timestamp"))


def _value_at(name: str, largest: bool, last: bool = False) -> None:
    """Define the aggregate for the value of the second argument in the row where the first argument is smallest or largest.

    NaN counts only if there is no other value. Of rows with equal values the first counts, or with ``last`` the last; the second argument must
    then be the row id.
    """

    def column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
        by = comparable(columns[0], types[0])
        ranked = _descending(by, types[0]) if largest else by
        tie_breaker = F.bitwise_not(columns[1]) if last else order
        return F.min_by(columns[1], F.when(columns[0].isNotNull(), F.struct(ranked, tie_breaker)))

    def lift(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> ExtremeRow | None:
        extreme_rows = rows_of_extremes(ranks_of(arrays[0], types[0]), largest)
        if not len(extreme_rows):
            return None
        # The last row is the row with the largest id, as the rows may have been collected in any order.
        row = extreme_rows[np.argmax(arrays[1].to_numpy(zero_copy_only=False)[extreme_rows])] if last else extreme_rows[0]
        value, partner = (decode(column.slice(int(row), 1), kind)[0] for column, kind in zip(arrays, types, strict=True))
        return rank_of(value, largest), partner

    def combine(first: ExtremeRow | None, second: ExtremeRow | None, types: Types) -> ExtremeRow | None:
        if first is None or second is None:
            return second if first is None else first
        is_tie = last and second[0] == first[0]
        return second if second[0] < first[0] or (is_tie and second[1] > first[1]) else first

    def finish(part: ExtremeRow | None, types: Types, parameters: Parameters) -> Any:
        return None if part is None else part[1]

    parts = Decomposition(lift, combine, finish)
    define_aggregate(name, _infer_second, parts=parts, column=column, order_sensitive=not last, arguments=2)


def ranks_of(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return numbers that sort as the values do."""
    return microseconds_of(column, column_type) if column_type.kind == DATETIME_KIND else column


def rows_of_extremes(values: pa.Array, largest: bool) -> np.ndarray:
    """Return the indices of the rows with the smallest or largest value; NaN counts only if there is no other value, and missing values never."""
    numbers = values.filter(pc.invert(pc.is_nan(values))) if pa.types.is_floating(values.type) else values
    best = pc.min_max(numbers)["max" if largest else "min"]
    result = pc.equal(values, best) if best.is_valid else values.is_valid()
    return np.flatnonzero(result.fill_null(False).to_numpy(zero_copy_only=False))


def rank_of(value: Any, largest: bool) -> tuple[bool, Any]:
    """Return a sort key of a value, with NaN after every number."""
    if isinstance(value, float) and math.isnan(value):
        return (True, 0.0)
    if isinstance(value, (int, float)):
        return (False, -value if largest else value)
    instant = to_microseconds(value)[0]
    return (False, -instant if largest else instant)


def _infer_any(types: Types, parameters: Parameters) -> ColumnType:
    return types[0].of_values


def _first_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    return F.min_by(columns[0], order)


def _reduce_first(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    return decode(arrays[0].slice(0, 1), types[0])[0] if len(arrays[0]) else None


_extreme("min", largest=False, skip_nan=False)
_extreme("max", largest=True, skip_nan=False)
_extreme("column_min", largest=False, skip_nan=True)
_extreme("column_max", largest=True, skip_nan=True)
_value_at("argmin", largest=False)
_value_at("argmax", largest=True)
_value_at("argmin_row", largest=False, last=True)
_value_at("argmax_row", largest=True, last=True)
define_aggregate("select_one", _infer_any, _reduce_first, column=_first_column)
