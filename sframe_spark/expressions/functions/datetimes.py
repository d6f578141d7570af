"""Datetime arithmetic, times of a uniform clock, and parts such as the year; arithmetic changes the instant and keeps the offset from UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.spark_columns import Column, F
from sframe_spark.errors import ExecutionError, SchemaError, SFrameError
from sframe_spark.expressions.functions.scalar_function import (
    INCREASING,
    STRICTLY_INCREASING,
    Argument,
    are_numbers,
    array_of,
    define_function,
    float_of,
    is_finite,
    unsupported,
)
from sframe_spark.expressions.functions.spark_arithmetic import floor_divide_ints
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, INT, ZONED_DATETIME, ZONED_PHYSICAL, ColumnType
from sframe_spark.udf.errors import error_transport
from sframe_spark.values.cast import microseconds_of, seconds_to_microseconds, wall_microseconds
from sframe_spark.values.datetimes import DAY, FIRST_MICROSECOND, LAST_MICROSECOND, MINUTE, SECOND

# Beyond this many seconds (286,000 years) microseconds do not fit 64 bits. Such seconds, infinity and NaN are ignored, as recorded from the
# reference (`tests/data`): ported programs may rely on it.
_MAX_SECONDS = 9.0e12
BEYOND_BITS = "seconds move a date-time beyond the 292,000 years before and after 1970 that 64 bits of microseconds count: add fewer"


def shift(datetimes: Argument, seconds: Argument, column_type: ColumnType, sign: int, rows: int) -> pa.Array:
    """Add seconds, truncated to microseconds, to datetimes; subtract them if ``sign`` is negative."""
    datetimes, seconds = array_of(datetimes, rows), array_of(seconds, rows)
    floats = seconds.cast(pa.float64(), safe=False)
    within = pc.less(pc.abs(floats), _MAX_SECONDS)
    moved = seconds_to_microseconds(pc.if_else(within, floats, 0.0))
    try:
        instants = pc.add_checked(microseconds_of(datetimes, column_type), pc.multiply(moved, sign)).cast(DATETIME.physical)
    except pa.ArrowInvalid:
        raise ExecutionError(BEYOND_BITS) from None
    return with_offsets_of(datetimes, instants, column_type)


def with_offsets_of(datetimes: pa.Array, instants: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return datetimes at the given instants, with the offsets from UTC of ``datetimes`` if their type has offsets."""
    if not column_type.is_zoned:
        return instants
    offsets = pc.struct_field(datetimes, "offset")
    return pa.StructArray.from_arrays([instants, offsets], fields=list(ZONED_PHYSICAL), mask=pc.is_null(instants))


def difference(left: Argument, right: Argument, types: tuple[ColumnType, ColumnType]) -> Argument:
    """Return the seconds from the right date-times to the left ones."""
    microseconds = pc.subtract(microseconds_of(left, types[0]), microseconds_of(right, types[1]))
    return pc.divide(microseconds.cast(pa.float64(), safe=False), float(SECOND))


def raised(error: SFrameError, spark_type: str = "bigint") -> Column:
    """Return a Spark column that raises an error."""
    return F.raise_error(F.lit(error_transport().packed(error))).cast(spark_type)


def microseconds_column(column: Column, column_type: ColumnType) -> Column:
    """Return a Spark column of microseconds since 1970 in UTC (the session's time zone is UTC)."""
    instant = column["instant"] if column_type.is_zoned else column
    return F.unix_micros(instant.cast("timestamp"))


def datetime_column(microseconds: Column, column: Column, column_type: ColumnType) -> Column:
    """Return a Spark column of datetimes from microseconds in UTC, with the offsets of ``column`` if its type has offsets."""
    instant = F.timestamp_micros(microseconds).cast("timestamp_ntz")
    if not column_type.is_zoned:
        return instant
    zoned = F.struct(instant.alias("instant"), column["offset"].alias("offset"))
    return F.when(microseconds.isNotNull(), zoned)


def shift_column(datetimes: Column, seconds: Column, column_type: ColumnType, sign: int) -> Column:
    """Return a Spark column that does the same as :func:`shift`."""
    floats = seconds.cast("double")
    whole = F.floor(floats)
    fraction = ((floats - whole.cast("double")) * float(SECOND)).cast("bigint")
    moved = F.when(F.abs(floats) < _MAX_SECONDS, whole * SECOND + fraction).when(floats.isNotNull(), F.lit(0))
    start = microseconds_column(datetimes, column_type)
    total = start + moved * sign
    # If the sum wraps around in 64 bits, it lies on the wrong side of the datetime.
    wrapped = (total < start) != (moved * sign < 0)
    return datetime_column(F.when(wrapped, raised(ExecutionError(BEYOND_BITS))).otherwise(total), datetimes, column_type)


def difference_column(left: Column, right: Column, types: tuple[ColumnType, ColumnType]) -> Column:
    """Return a Spark column that does the same as :func:`difference`."""
    microseconds = microseconds_column(left, types[0]) - microseconds_column(right, types[1])
    return microseconds.cast("double") / float(SECOND)


# A duration added to window keys: numbers, or date-times exact to the microsecond.

BEYOND_YEARS = "a duration moves a date-time beyond the years 1 to 9999: choose a shorter one"
BEYOND_INTS = "a duration moves an int beyond 64 bits: choose a shorter one, or convert the keys to float"


def _infer_duration(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result: the type of the key, except that an int key plus a float duration is a float."""
    key, duration = types
    if key.kind == DATETIME_KIND and duration == INT:
        return key
    if are_numbers(types):
        return INT if (key, duration) == (INT, INT) else FLOAT
    raise unsupported("shift_time", types)


def _compute_duration(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    keys, duration = array_of(arguments[0], rows), arguments[1]
    if types[0].kind == DATETIME_KIND:
        return _moved(keys, duration, types[0])
    if _infer_duration(types, parameters) == FLOAT:
        return pc.add(float_of(keys), float_of(duration))
    return _added(keys, duration, BEYOND_INTS)


def _moved(datetimes: pa.Array, duration: pa.Scalar, column_type: ColumnType) -> pa.Array:
    microseconds = _added(microseconds_of(datetimes, column_type), duration, BEYOND_YEARS)
    # Python limits the wall-clock time, not the instant, which may lie some hours outside.
    limits = pc.min_max(wall_microseconds(microseconds, datetimes, column_type))
    if limits["min"].is_valid and (limits["min"].as_py() < FIRST_MICROSECOND or limits["max"].as_py() > LAST_MICROSECOND):
        raise ExecutionError(BEYOND_YEARS)
    return with_offsets_of(datetimes, microseconds.cast(DATETIME.physical), column_type)


def _added(numbers: pa.Array, duration: pa.Scalar, message: str) -> pa.Array:
    try:
        return pc.add_checked(numbers, duration)
    except pa.ArrowInvalid:
        raise ExecutionError(message) from None


def _build_duration(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    key, duration = columns
    if types[0].kind == DATETIME_KIND:
        total = microseconds_column(key, types[0]) + duration
        wall = total + F.coalesce(key["offset"], F.lit(0)).cast("bigint") * MINUTE if types[0].is_zoned else total
        beyond = (wall < FIRST_MICROSECOND) | (wall > LAST_MICROSECOND)
        return datetime_column(F.when(beyond, raised(ExecutionError(BEYOND_YEARS))).otherwise(total), key, types[0])
    if _infer_duration(types, parameters) == FLOAT:
        return key.cast("double") + duration.cast("double")
    total = key + duration
    # If the sum wraps around in 64 bits, it lies on the wrong side of the key.
    wrapped = (total < key) != (duration < 0)
    return F.when(wrapped, raised(ExecutionError(BEYOND_INTS))).otherwise(total)


def _monotone(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
    """Return the ``monotone`` of the sum: strictly increasing unless floats are rounded, as overflow raises an error."""
    if not is_finite(literals[1]):
        return None
    return INCREASING if FLOAT in types else STRICTLY_INCREASING


define_function("add_duration", _infer_duration, _compute_duration, _build_duration, _monotone, may_fail=True)


# Times of a uniform clock, from tick numbers.

TIME_TYPES = {"int": INT, "float": FLOAT, "datetime": DATETIME, "zoned datetime": ZONED_DATETIME}


def _infer_tick(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the time.

    Parameters: name of that type, time of tick zero, time between ticks (microseconds for date-times), offset in minutes.
    """
    return TIME_TYPES[parameters[0]]


def _compute_tick(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    _, start, every, offset = parameters
    result = _infer_tick(types, parameters)
    ticks = array_of(arguments[0], rows).to_numpy(zero_copy_only=False)
    times = pa.array(start + every * (ticks.astype(np.float64) if result == FLOAT else ticks))
    if result in (INT, FLOAT):
        return times
    instants = times.cast(DATETIME.physical)
    if result == DATETIME:
        return instants
    offsets = pa.array(np.full(rows, offset, dtype=np.int32))
    return pa.StructArray.from_arrays([instants, offsets], fields=list(ZONED_PHYSICAL))


def _build_tick(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
    _, start, every, offset = parameters
    result = _infer_tick(types, parameters)
    if result == FLOAT:
        return columns[0].cast("double") * float(every) + float(start)
    times = columns[0] * every + start
    if result == INT:
        return times
    instants = F.timestamp_micros(times).cast("timestamp_ntz")
    if result == DATETIME:
        return instants
    return F.struct(instants.alias("instant"), F.lit(offset).cast("int").alias("offset"))


define_function("tick_time", _infer_tick, _compute_tick, _build_tick)


# Parts of date-times in wall-clock time: year, month, weekday, hour, offset from UTC.

TIMEZONE = "timezone"
_CALENDAR: dict[str, Callable[[pa.Array], pa.Array]] = {
    "year": pc.year,
    "month": pc.month,
    "day": pc.day,
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
    "us": lambda wall: pc.add(pc.multiply(pc.millisecond(wall), 1000), pc.microsecond(wall)),
    "weekday": lambda wall: pc.day_of_week(wall),
    "isoweekday": lambda wall: pc.day_of_week(wall, count_from_zero=False),
    "tmweekday": lambda wall: pc.day_of_week(wall, week_start=7),
}
PARTS = (*_CALENDAR, TIMEZONE)
"""All parts by name; weekdays count from Monday as 0 or, in ISO, as 1, and ``tmweekday`` from Sunday as 0."""


def wall_clock(datetimes: Argument, column_type: ColumnType, rows: int) -> pa.Array:
    """Return the local times, without the offset from UTC."""
    values = array_of(datetimes, rows)
    return wall_microseconds(microseconds_of(values, column_type), values, column_type).cast(DATETIME.physical)


def offsets_of(datetimes: Argument, column_type: ColumnType, rows: int) -> pa.Array:
    """Return the offsets of datetimes in minutes east of UTC; missing for a datetime without an offset."""
    values = array_of(datetimes, rows)
    if not column_type.is_zoned:
        return pa.nulls(rows, pa.int32())
    return pc.if_else(values.is_valid(), pc.struct_field(values, "offset"), pa.scalar(None, pa.int32()))


def _infer_part(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the part; parameter: the name of the part."""
    if types[0].kind != DATETIME_KIND:
        raise SchemaError(f"values of {types[0].kind} are no date-times: convert them with str_to_datetime() or astype(datetime.datetime) first")
    return FLOAT if parameters[0] == TIMEZONE else INT


def _compute_part(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    if parameters[0] == TIMEZONE:
        return pc.divide(offsets_of(arguments[0], types[0], rows).cast(pa.float64()), 60.0)
    return _CALENDAR[parameters[0]](wall_clock(arguments[0], types[0], rows))


def _build_part(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
    column, part = columns[0], parameters[0]
    if part == TIMEZONE:
        return column["offset"].cast("double") / 60.0 if types[0].is_zoned else F.lit(None).cast("double")
    wall = microseconds_column(column, types[0])
    if types[0].is_zoned:
        wall = wall + F.coalesce(column["offset"], F.lit(0)).cast("bigint") * MINUTE
    if part in ("year", "month", "day"):
        return getattr(F, part)(F.timestamp_micros(wall)).cast("bigint")
    if part == "us":
        return F.pmod(wall, F.lit(SECOND).cast("bigint"))
    if part in ("hour", "minute", "second"):
        unit, period = {"hour": (60 * MINUTE, 24), "minute": (MINUTE, 60), "second": (SECOND, 60)}[part]
        return F.pmod(floor_divide_ints(wall, F.lit(unit).cast("bigint")), F.lit(period).cast("bigint"))
    # Day 0, the first of January 1970, was a Thursday.
    days = floor_divide_ints(wall, F.lit(DAY).cast("bigint"))
    first = {"weekday": 3, "isoweekday": 3, "tmweekday": 4}[part]
    weekday = F.pmod(days + first, F.lit(7).cast("bigint"))
    return weekday + 1 if part == "isoweekday" else weekday


define_function("moment_part", _infer_part, _compute_part, _build_part)
