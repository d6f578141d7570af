"""A duration added to keys: date-times exactly, to the microsecond, and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import ExecutionError
from sframe_spark.expressions.functions.base import Argument
from sframe_spark.expressions.functions.datetimes import microseconds_column, moment_column, raised, with_offsets_of
from sframe_spark.expressions.functions.scalar_function import (
    INCREASING,
    STRICTLY_INCREASING,
    are_numbers,
    array_of,
    define_function,
    float_of,
    is_finite,
    unsupported,
)
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, INT, ColumnType
from sframe_spark.values.cast import microseconds_of, wall_microseconds
from sframe_spark.values.datetimes import FIRST_MICROSECOND, LAST_MICROSECOND, MINUTE

if TYPE_CHECKING:
    from pyspark.sql import Column

BEYOND_YEARS = "a duration moves a date-time beyond the years 1 to 9999: choose a shorter one"
BEYOND_INTS = "a duration moves an int beyond 64 bits: choose a shorter one, or convert the keys to float"


def _infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """The key's type; int keys become floats with a float duration."""
    key, duration = types
    if key.kind == DATETIME_KIND and duration == INT:
        return key
    if are_numbers(types):
        return INT if (key, duration) == (INT, INT) else FLOAT
    raise unsupported("shift_time", types)


def _compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    keys, duration = array_of(arguments[0], rows), arguments[1]
    if types[0].kind == DATETIME_KIND:
        return _moved(keys, duration, types[0])
    if _infer(types, parameters) == FLOAT:
        return pc.add(float_of(keys), float_of(duration))
    return _added(keys, duration, BEYOND_INTS)


def _moved(moments: pa.Array, duration: pa.Scalar, column_type: ColumnType) -> pa.Array:
    microseconds = _added(microseconds_of(moments, column_type), duration, BEYOND_YEARS)
    # What counts is the clock on the wall, which is all that Python shows: the instant may lie some hours outside.
    limits = pc.min_max(wall_microseconds(microseconds, moments, column_type))
    if limits["min"].is_valid and (limits["min"].as_py() < FIRST_MICROSECOND or limits["max"].as_py() > LAST_MICROSECOND):
        raise ExecutionError(BEYOND_YEARS)
    return with_offsets_of(moments, microseconds.cast(DATETIME.physical), column_type)


def _added(numbers: pa.Array, duration: pa.Scalar, message: str) -> pa.Array:
    try:
        return pc.add_checked(numbers, duration)
    except pa.ArrowInvalid:
        raise ExecutionError(message) from None


def _build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    from pyspark.sql import functions as F

    key, duration = columns
    if types[0].kind == DATETIME_KIND:
        total = microseconds_column(key, types[0]) + duration
        wall = total + F.coalesce(key["offset"], F.lit(0)).cast("bigint") * MINUTE if types[0].is_zoned else total
        beyond = (wall < FIRST_MICROSECOND) | (wall > LAST_MICROSECOND)
        return moment_column(F.when(beyond, raised(ExecutionError(BEYOND_YEARS))).otherwise(total), key, types[0])
    if _infer(types, parameters) == FLOAT:
        return key.cast("double") + duration.cast("double")
    total = key + duration
    # 64 bits wrap around: then the sum lies on the wrong side of the key.
    wrapped = (total < key) != (duration < 0)
    return F.when(wrapped, raised(ExecutionError(BEYOND_INTS))).otherwise(total)


def _monotone(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
    """Sums that would wrap around are errors, so nothing but the rounding of floats makes two keys one."""
    if not is_finite(literals[1]):
        return None
    return INCREASING if FLOAT in types else STRICTLY_INCREASING


define_function("add_duration", _infer, _compute, _build, _monotone, may_fail=True)
