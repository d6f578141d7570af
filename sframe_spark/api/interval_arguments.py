"""Checks of the arguments that describe intervals of a key column: length, closed and labelled end, zone, origin, offset, and bounds."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np

from sframe_spark.compute.interval_grid import SIDES, Grid, labels_of_numbers, numbers_between
from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError
from sframe_spark.operators.groupby.resampling import LabelBounds
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, INT, ZONED_DATETIME, ColumnType
from sframe_spark.values.calendar_intervals import MONDAY, YEAR_0, CalendarIntervals
from sframe_spark.values.datetimes import DAY, MINUTE, from_microseconds, is_in_years_of_python, timestamp_text, to_microseconds
from sframe_spark.values.duration_parsing import LONGEST, IntervalLength, parse_duration, parse_step
from sframe_spark.values.time_zones import zone_name, zone_named

FROM_ZONE = "give its date-times offsets first, with from_zone(zone)"


def interval_grid(
    key: ColumnType, column: str, every: Any, closed: Any = "left", label: Any = "left", zone: Any = None, origin: Any = None, offset: Any = None
) -> Grid:
    """Return the grid of intervals that arguments describe; ``column`` is what messages call the key column.

    Raises
    ------
    SchemaError
        If an argument has a type that does not fit the key column.
    InvalidArgumentError
        If an argument has no such value: a side, a zone, a length that is not positive.
    """
    for what, value in (("closed", closed), ("label", label)):
        if value not in SIDES:
            raise InvalidArgumentError(f"{what} must be 'left' or 'right', got {value!r}")
    if every is None:
        given = [what for what, value in (("zone", zone), ("origin", origin), ("offset", offset)) if value is not None]
        if given:
            raise InvalidArgumentError(f"{given[0]}= can only be used with every=: the ticks of a clock determine where intervals begin")
        return Grid(None, closed, label)
    zone = interval_zone(zone, key, column)
    step = parse_step(every, key, "every")
    if isinstance(step.length, int) and step.length > LONGEST:
        raise InvalidArgumentError(f"every: intervals of {step.length} do not fit 64 bits: convert {column} to float, or choose a shorter length")
    moved = 0 if offset is None else parse_duration(offset, key, "offset")
    begin = _origin(origin, key, column, step, zone)
    if step.in_months or zone is not None:
        return Grid(None, closed, label, calendar=calendar_of(step, int(begin), int(moved), zone))
    begin += moved
    if isinstance(step.length, float) or isinstance(begin, float):
        return Grid(step.length, closed, label, begin)
    return Grid(step.length, closed, label, begin % step.length)


def calendar_of(step: IntervalLength, origin: int, offset: int, zone: str | None) -> CalendarIntervals:
    """Return intervals of the calendar from a local time on, moved by an offset."""
    if step.in_months:
        return CalendarIntervals(int(step.length), True, origin, offset, zone)
    return CalendarIntervals(int(step.length), False, (origin + offset) % int(step.length), 0, zone)


def interval_zone(zone: Any, key: ColumnType, column: str) -> str | None:
    """Return the name of the zone that a user gives for a key column, after checking that the column has offsets."""
    if zone is None:
        return None
    if key.kind != DATETIME_KIND:
        raise SchemaError(f"zone= is for date-times, but {column} is of type {key.kind}")
    if not key.is_zoned:
        raise SchemaError(f"zone= needs date-times with offsets from UTC, but those of {column} have none: {FROM_ZONE}, or leave zone= out")
    return zone_name(zone)


def _origin(origin: Any, key: ColumnType, column: str, step: IntervalLength, zone: str | None) -> int | float:
    """Return the origin in the unit of the keys; of date-times in a zone, by the clock on the wall."""
    if origin is None:
        if step.in_months:
            return YEAR_0
        return MONDAY if key.kind == DATETIME_KIND and step.length % (7 * DAY) == 0 else 0
    begin, origin_type = clock_bound(origin, "origin")
    if (origin_type.kind == DATETIME_KIND) != (key.kind == DATETIME_KIND):
        raise SchemaError(f"origin= must be a {'date-time' if key.kind == DATETIME_KIND else 'number'}, as {column} is, got {origin!r}")
    if origin_type.is_zoned and not key.is_zoned:
        raise SchemaError(f"origin= has an offset from UTC, but the date-times of {column} have none: {origin!r}")
    if zone is not None and origin_type.is_zoned:
        begin += int(zone_named(zone).offsets_at(np.array([begin]))[0])
    result: int | float = begin
    return result


def label_bounds(start: Any, stop: Any, key: ColumnType, column: str, grid: Grid) -> LabelBounds:
    """Return the first and the last label between two keys that a user passes, either of which may be None.

    Raises
    ------
    SchemaError
        If a key does not fit the column.
    InvalidArgumentError
        If ``stop`` is not after ``start``.
    """
    zone = None if grid.calendar is None else grid.calendar.zone
    is_float = key == FLOAT or (key.is_numeric and grid.is_float)
    found: list[int | float | None] = []
    for what, value, rounded in (("start", start, math.floor), ("stop", stop, math.ceil)):
        bound, bound_type = (None, key) if value is None else clock_bound(value, what)
        if (bound_type.kind == DATETIME_KIND) != (key.kind == DATETIME_KIND):
            raise SchemaError(f"{what}= must be a {'date-time' if key.kind == DATETIME_KIND else 'number'}, as {column} is, got {value!r}")
        if bound_type.is_zoned and not key.is_zoned:
            raise SchemaError(f"{what}= has an offset from UTC, but the date-times of {column} have none: {value!r}")
        if bound is not None and zone is not None and not bound_type.is_zoned:
            bound = int(zone_named(zone).instants_of(np.array([bound])).earlier[0])
        # An interval of ints begins at an int.
        found.append(bound if bound is None or is_float or not isinstance(bound, float) else rounded(bound))
    if None not in found and found[1] <= found[0]:  # type: ignore[operator]  # neither is None
        raise InvalidArgumentError(f"stop= must be after start=, but {stop!r} is not after {start!r}")
    first, last = numbers_between(found[0], found[1], grid, is_float)
    offset = getattr(start if stop is None else stop, "utcoffset", lambda: None)() if key.is_zoned else None

    def label(number: int | None, more: int) -> Any:
        return None if number is None else _label_of(number + more, grid, key, is_float, 0 if offset is None else offset // MINUTES)

    return LabelBounds(label(first, 0), label(last, 0), label(first, -1), label(last, 1))


MINUTES = datetime.timedelta(minutes=1)


def _label_of(number: int, grid: Grid, key: ColumnType, is_float: bool, minutes: int) -> Any:
    """Return the label with a number as a value of the key column."""
    value = labels_of_numbers(np.array([number]), grid, is_float)[0].item()
    if key.is_numeric:
        return value
    if grid.calendar is not None and grid.calendar.zone is not None:
        minutes = int(zone_named(grid.calendar.zone).offsets_at(np.array([value]))[0]) // MINUTE
    offset = minutes if key.is_zoned else None
    if not is_in_years_of_python(value, offset):
        raise DateTimeRangeError(f"the interval at start= or stop= begins at {timestamp_text(value)} UTC, outside the years 1 to 9999")
    return from_microseconds(value, offset)


def clock_bound(value: Any, what: str) -> tuple[Any, ColumnType]:
    """Return the first or last of some evenly spaced times as a number (microseconds for date-times), and its column type.

    Raises
    ------
    SchemaError
        If the value is neither a number nor a date-time.
    InvalidArgumentError
        If the value is infinite or NaN, or does not fit 64 bits.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, datetime.datetime) and value == value:
        microseconds, offset = to_microseconds(value)
        return microseconds, DATETIME if offset is None else ZONED_DATETIME
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SchemaError(f"{what} must be a number or a datetime, got {value!r} of type {type(value).__name__}")
    if isinstance(value, int) and not -LONGEST <= value <= LONGEST:
        raise InvalidArgumentError(f"{what}: a number of {value.bit_length()} bits does not fit the 64 bits of a clock's times")
    if not math.isfinite(value):
        raise InvalidArgumentError(f"{what}: a finite number is needed, got {value!r}")
    return value, FLOAT if isinstance(value, float) else INT
