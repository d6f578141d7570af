"""Parts of date-times in their own local time: a table of the year, the ISO week, the name of the day and so on.

Names of days and months are English, whatever the locale. Weeks are those of ISO 8601: they begin on Monday, and the first has the year's first
Thursday.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import SchemaError
from sframe_spark.expressions.functions.datetimes import offsets_of, wall_clock, wall_column
from sframe_spark.expressions.functions.function_families import FamilyFunction, by_name
from sframe_spark.expressions.functions.scalar_function import Argument, define_function, to_ints
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import DATETIME_KIND, FLOAT, INT, LOGICAL, STR, ColumnType
from sframe_spark.values.datetimes import DAY, MINUTE, MONTHS, SECOND, WEEKDAYS

with lazy_imports(globals()):
    from sframe_spark.compute.spark_columns import Column, F, floor_divide_ints

TIMEZONE = "timezone"
_DAYS_OF_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@attrs.frozen(kw_only=True)
class DatePart(FamilyFunction):
    """A line of the table of parts of date-times.

    Parameters
    ----------
    kernel
        Computes the part of local times; Booleans for 1 and 0.
    result
        Type of the part.
    column
        The same of a Spark column of microseconds in local time; None: Spark's tasks run the kernel.
    """

    kernel: Callable[[pa.Array], pa.Array]
    result: ColumnType = INT
    column: Callable[[Column], Column] | None = None


# A Saturday, in a leap year.
_EXAMPLE = "SArray([datetime(2024, 12, 28, 9, 30), None]).dt."


def _line(
    name: str, summary: str, printed: Any, kernel: Callable[[pa.Array], pa.Array], other_names: str = "", key: str | None = None, **more: Any
) -> DatePart:
    """Return a line, with what it prints for the example; ``key`` is the part's name in ``split_datetime``, if that is another one."""
    call = "()" if more.get("result") == STR else ""
    return DatePart(
        name=name,
        summary=f"Return {summary}.",
        example=(f"{_EXAMPLE}{name}{call}", f"[{printed!r}, None]"),
        function="moment_part",
        parameters=(key or name,),
        kernel=kernel,
        other_names=other_names,
        **more,
    )


def _days_in_month(wall: pa.Array) -> pa.Array:
    months = pc.month(wall)
    is_long_february = pc.and_(pc.equal(months, 2), pc.is_leap_year(wall))
    return pc.add(pa.array(_DAYS_OF_MONTHS).take(pc.subtract(months, 1)), to_ints(is_long_february))


def _is_day(day: int, months: Sequence[int]) -> Callable[[pa.Array], pa.Array]:
    """Return a kernel that tells whether a date is the first (1) or last (0) day of one of some months."""

    def kernel(wall: pa.Array) -> pa.Array:
        days = pc.day(wall)
        is_end = pc.equal(days, day) if day else pc.equal(days, _days_in_month(wall))
        return pc.and_(is_end, pc.is_in(pc.month(wall), pa.array(months)))

    return kernel


def _name_of(names: Sequence[str], number: Callable[[pa.Array], pa.Array]) -> Callable[[pa.Array], pa.Array]:
    return lambda wall: pa.array(names).take(number(wall))


def _calendar_column(part: Callable[[Column], Column]) -> Callable[[Column], Column]:
    return lambda wall: part(F.timestamp_micros(wall)).cast("bigint")


def _clock_column(unit: int, period: int) -> Callable[[Column], Column]:
    return lambda wall: F.pmod(floor_divide_ints(wall, F.lit(unit).cast("bigint")), F.lit(period).cast("bigint"))


def _weekday_column(first: int, shift: int) -> Callable[[Column], Column]:
    """Return a Spark expression for the day of the week; ``first`` is the number of the first of January 1970, a Thursday, before the shift."""
    return lambda wall: F.pmod(floor_divide_ints(wall, F.lit(DAY).cast("bigint")) + first, F.lit(7).cast("bigint")) + shift


_YEAR, _QUARTER, _MONTH = (1,), (1, 4, 7, 10), tuple(range(1, 13))
_ENDS_OF_YEAR, _ENDS_OF_QUARTERS = (12,), (3, 6, 9, 12)

DATE_PARTS = by_name(
    [
        _line("year", "the year", 2024, pc.year, column=_calendar_column(lambda time: F.year(time))),
        _line("quarter", "the quarter of the year, from 1 to 4", 4, pc.quarter, column=_calendar_column(lambda time: F.quarter(time))),
        _line("month", "the month, from 1 to 12", 12, pc.month, column=_calendar_column(lambda time: F.month(time))),
        _line("day", "the day of the month, from 1", 28, pc.day, "dayofmonth", column=_calendar_column(lambda time: F.day(time))),
        _line("hour", "the hour, from 0 to 23", 9, pc.hour, column=_clock_column(60 * MINUTE, 24)),
        _line("minute", "the minute, from 0 to 59", 30, pc.minute, column=_clock_column(MINUTE, 60)),
        _line("second", "the second, from 0 to 59", 0, pc.second, column=_clock_column(SECOND, 60)),
        _line(
            "microsecond",
            "the microseconds after the second, from 0 to 999,999",
            0,
            lambda wall: pc.add(pc.multiply(pc.millisecond(wall), 1000), pc.microsecond(wall)),
            key="us",
            column=lambda wall: F.pmod(wall, F.lit(SECOND).cast("bigint")),
        ),
        _line(
            "weekday",
            "the day of the week, from 0 for Monday",
            5,
            lambda wall: pc.day_of_week(wall),
            "dayofweek day_of_week",
            column=_weekday_column(3, 0),
        ),
        _line(
            "isoweekday",
            "the day of the week, from 1 for Monday",
            6,
            lambda wall: pc.day_of_week(wall, count_from_zero=False),
            column=_weekday_column(3, 1),
        ),
        _line(
            "tmweekday",
            "the day of the week, from 0 for Sunday, as in C",
            6,
            lambda wall: pc.day_of_week(wall, week_start=7),
            column=_weekday_column(4, 0),
        ),
        _line(
            "week", "the ISO week, from 1 to 53", 52, pc.iso_week, "weekofyear isocalendar", column=_calendar_column(lambda time: F.weekofyear(time))
        ),
        _line(
            "iso_year",
            "the year that the ISO week belongs to",
            2024,
            pc.iso_year,
            column=_calendar_column(lambda time: F.date_part(F.lit("YEAROFWEEK"), time)),
        ),
        _line(
            "day_of_year",
            "the day of the year, from 1",
            363,
            pc.day_of_year,
            "dayofyear ordinal_day",
            column=_calendar_column(lambda time: F.dayofyear(time)),
        ),
        _line(
            "days_in_month",
            "the number of days that the month has",
            31,
            _days_in_month,
            "daysinmonth",
            column=_calendar_column(lambda time: F.day(F.last_day(time))),
        ),
        _line("is_leap_year", "1 in leap years, else 0", 1, pc.is_leap_year, result=LOGICAL),
        _line("is_month_start", "1 on the first day of a month, else 0", 0, _is_day(1, _MONTH), result=LOGICAL),
        _line("is_month_end", "1 on the last day of a month, else 0", 0, _is_day(0, _MONTH), result=LOGICAL),
        _line("is_quarter_start", "1 on the first day of a quarter, else 0", 0, _is_day(1, _QUARTER), result=LOGICAL),
        _line("is_quarter_end", "1 on the last day of a quarter, else 0", 0, _is_day(0, _ENDS_OF_QUARTERS), result=LOGICAL),
        _line("is_year_start", "1 on the first day of a year, else 0", 0, _is_day(1, _YEAR), result=LOGICAL),
        _line("is_year_end", "1 on the last day of a year, else 0", 0, _is_day(0, _ENDS_OF_YEAR), result=LOGICAL),
        _line(
            "day_name",
            "the English name of the day of the week",
            "Saturday",
            _name_of(WEEKDAYS, pc.day_of_week),
            result=STR,
        ),
        _line("month_name", "the English name of the month", "December", _name_of(MONTHS, lambda wall: pc.subtract(pc.month(wall), 1)), result=STR),
    ]
)
"""Parts by the names that they have in ``column.dt``."""

BY_KEY = {line.parameters[0]: line for line in DATE_PARTS.values()}
PARTS = (*BY_KEY, TIMEZONE)
"""All parts by their names in ``split_datetime``."""


def _infer_part(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the part; parameter: the name of the part."""
    if types[0].kind != DATETIME_KIND:
        raise SchemaError(f"values of {types[0].kind} are not date-times: convert them with str_to_datetime() or astype(datetime.datetime) first")
    return FLOAT if parameters[0] == TIMEZONE else BY_KEY[parameters[0]].result


def _compute_part(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    if parameters[0] == TIMEZONE:
        return pc.divide(offsets_of(arguments[0], types[0], rows).cast(pa.float64()), 60.0)
    line = BY_KEY[parameters[0]]
    found = line.kernel(wall_clock(arguments[0], types[0], rows))
    return to_ints(found) if line.result == LOGICAL and pa.types.is_boolean(found.type) else found


def _build_part(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if parameters[0] == TIMEZONE:
        return columns[0]["offset"].cast("double") / 60.0 if types[0].is_zoned else F.lit(None).cast("double")
    line = BY_KEY[parameters[0]]
    return None if line.column is None else line.column(wall_column(columns[0], types[0]))


define_function("moment_part", _infer_part, _compute_part, _build_part)
