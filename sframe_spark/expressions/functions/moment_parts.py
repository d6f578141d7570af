"""Parts of date-times, as the clock on the wall shows them: year, month, weekday, hour, offset from UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import SchemaError
from sframe_spark.expressions.functions.base import Argument
from sframe_spark.expressions.functions.datetimes import microseconds_column
from sframe_spark.expressions.functions.scalar_function import array_of, define_function
from sframe_spark.expressions.functions.spark_arithmetic import floor_divide_ints
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, INT, ColumnType
from sframe_spark.values.cast import microseconds_of, wall_microseconds
from sframe_spark.values.datetimes import DAY, MINUTE, SECOND

if TYPE_CHECKING:
    from pyspark.sql import Column

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


def wall_clock(moments: Argument, column_type: ColumnType, rows: int) -> pa.Array:
    """What the clock on the wall shows, without its offset from UTC."""
    values = array_of(moments, rows)
    return wall_microseconds(microseconds_of(values, column_type), values, column_type).cast(DATETIME.physical)


def offsets_of(moments: Argument, column_type: ColumnType, rows: int) -> pa.Array:
    """Minutes east of UTC; missing where a date-time has no offset."""
    values = array_of(moments, rows)
    if not column_type.is_zoned:
        return pa.nulls(rows, pa.int32())
    return pc.if_else(values.is_valid(), pc.struct_field(values, "offset"), pa.scalar(None, pa.int32()))


def _infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Parameter: the name of the part."""
    if types[0].kind != DATETIME_KIND:
        raise SchemaError(f"values of {types[0].kind} are no date-times: convert them with str_to_datetime() or astype(datetime.datetime) first")
    return FLOAT if parameters[0] == TIMEZONE else INT


def _compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    if parameters[0] == TIMEZONE:
        return pc.divide(offsets_of(arguments[0], types[0], rows).cast(pa.float64()), 60.0)
    return _CALENDAR[parameters[0]](wall_clock(arguments[0], types[0], rows))


def _build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
    from pyspark.sql import functions as F

    moment, part = columns[0], parameters[0]
    if part == TIMEZONE:
        return moment["offset"].cast("double") / 60.0 if types[0].is_zoned else F.lit(None).cast("double")
    wall = microseconds_column(moment, types[0])
    if types[0].is_zoned:
        wall = wall + F.coalesce(moment["offset"], F.lit(0)).cast("bigint") * MINUTE
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


define_function("moment_part", _infer, _compute, _build)
