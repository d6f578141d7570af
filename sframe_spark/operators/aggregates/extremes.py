"""Smallest and largest values, and values at their rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.operators.aggregates.base import AggregateFunction, register_aggregate
from sframe_spark.operators.aggregates.support import require
from sframe_spark.types import FLOAT_KIND, INT_KIND, ColumnType
from sframe_spark.values.decode import decode

if TYPE_CHECKING:
    from pyspark.sql import Column

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
ORDERED = ("int", "float", "datetime")


def _infer_first(types: Types, parameters: Parameters) -> ColumnType:
    require("MIN and MAX", types[0], ORDERED)
    return types[0]


def _infer_second(types: Types, parameters: Parameters) -> ColumnType:
    require("ARGMIN and ARGMAX", types[0], ORDERED)
    return types[1]


def comparable(column: Column, column_type: ColumnType) -> Column:
    """A Spark column that orders as the values do."""
    return column["instant"] if column_type.is_zoned else column


def _extreme(name: str, largest: bool, skip_nan: bool) -> None:
    def column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
        from pyspark.sql import functions as F

        pick = F.max if largest else F.min
        value = columns[0]
        if types[0].is_zoned:
            pick_by = F.max_by if largest else F.min_by
            return pick_by(value, value["instant"])
        if types[0].kind != FLOAT_KIND:
            return pick(value)
        number = pick(F.when(~F.isnan(value), value))
        nan = F.lit(math.nan)
        if skip_nan:
            return F.coalesce(number, F.when(F.count(value) > 0, nan))
        return F.when(F.max(F.isnan(value)), nan).otherwise(number)

    def reduce(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
        values = arrays[0].drop_null()
        if types[0].kind != FLOAT_KIND:
            found = [value for value in decode(values, types[0]) if value is not None] if not pa.types.is_int64(values.type) else None
            if found is None:
                return pc.min_max(values)["max" if largest else "min"].as_py()
            return (max if largest else min)(found, key=moment) if found else None
        nan = pc.is_nan(values)
        numbers = values.filter(pc.invert(nan))
        if len(numbers) < len(values) and (not skip_nan or not len(numbers)):
            return math.nan
        return pc.min_max(numbers)["max" if largest else "min"].as_py()

    register_aggregate(AggregateFunction(name, _infer_first, column, reduce))


def moment(value: Any) -> Any:
    """A date-time as comparable with others, with or without an offset."""
    import datetime

    return value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)


def _descending(column: Column, column_type: ColumnType) -> Column:
    """A Spark column that orders the other way round."""
    from pyspark.sql import functions as F

    if column_type.kind == INT_KIND:
        return F.bitwise_not(column)
    if column_type.kind == FLOAT_KIND:
        return -column
    return -F.unix_micros(column.cast("timestamp"))


def _value_at(name: str, largest: bool, last: bool = False) -> None:
    """The second argument at the row where the first is extreme; ties take the first row (or the last, by a row number as second argument)."""

    def column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
        from pyspark.sql import functions as F

        by = comparable(columns[0], types[0])
        ranked = _descending(by, types[0]) if largest else by
        place = F.bitwise_not(columns[1]) if last else order
        return F.min_by(columns[1], F.when(columns[0].isNotNull(), F.struct(ranked, place)))

    def reduce(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
        best: Any = None
        chosen: int | None = None
        for row, value in enumerate(decode(arrays[0], types[0])):
            if value is None:
                continue
            rank = rank_of(value, largest)
            if chosen is None or rank < best or (last and rank == best):
                best, chosen = rank, row
        return None if chosen is None else decode(arrays[1].slice(chosen, 1), types[1])[0]

    register_aggregate(AggregateFunction(name, _infer_second, column, reduce, order_sensitive=not last))


def rank_of(value: Any, largest: bool) -> tuple[bool, Any]:
    """Sort rank of a value: NaN after every number."""
    if isinstance(value, float) and math.isnan(value):
        return (True, 0.0)
    if isinstance(value, (int, float)):
        return (False, -value if largest else value)
    seconds = moment(value).timestamp()
    return (False, -seconds if largest else seconds)


def _infer_any(types: Types, parameters: Parameters) -> ColumnType:
    return types[0]


def _first_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

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
register_aggregate(AggregateFunction("select_one", _infer_any, _first_column, _reduce_first, order_sensitive=True))

