"""The scalar functions of calendars and time zones: starts of intervals, ticks of calendar clocks, offsets of a zone, shifts by months and days.

They have no Spark expressions: Spark's zones are those of Java, whose tables may differ, so one kernel computes all values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import DateTimeRangeError, ExecutionError, SchemaError
from sframe_spark.expressions.functions.datetimes import TIME_TYPES
from sframe_spark.expressions.functions.scalar_function import INCREASING, Argument, array_of, define_function
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, FLOAT_KIND, ZONED_DATETIME, ColumnType
from sframe_spark.values.calendar_intervals import CalendarIntervals
from sframe_spark.values.datetimes import MINUTE, all_in_years_of_python, is_in_years_of_python, timestamp_text

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.interval_grid import Grid, grid_labels
    from sframe_spark.compute.key_equality_and_codes import comparable
    from sframe_spark.compute.key_runs import plain_numbers
    from sframe_spark.values.arrow_to_column_types import zoned_array
    from sframe_spark.values.calendar_shifts import CalendarShift
    from sframe_spark.values.column_cast import wall_microseconds
    from sframe_spark.values.time_zones import whole_minutes, zone_named


def _known(values: pa.Array, column_type: ColumnType) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the values as numbers, and a mask of those that are missing; None if none is."""
    numbers = plain_numbers(comparable(values, column_type))
    return numbers, values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None


def _date_times(numbers: np.ndarray, mask: np.ndarray | None, offsets: pa.Array | None, what: str) -> pa.Array:
    """Return instants in microseconds as date-times with offsets in minutes (None: without).

    Raises
    ------
    DateTimeRangeError
        If one is shown outside of the years 1 to 9999.
    """
    instants = pa.array(numbers, pa.int64(), mask=mask)
    wall = instants if offsets is None else pc.add(instants, pc.multiply(offsets.fill_null(0).cast(pa.int64()), MINUTE))
    if not all_in_years_of_python(wall):
        first = next(value for value in wall.to_pylist() if value is not None and not is_in_years_of_python(value))
        raise DateTimeRangeError(f"{what} is {timestamp_text(first)}, which lies outside the years 1 to 9999")
    stamps = instants.cast(DATETIME.physical)
    return stamps if offsets is None else zoned_array(stamps, offsets, instants.is_valid())


def _offsets(zone: str, numbers: np.ndarray, mask: np.ndarray | None) -> pa.Array:
    return whole_minutes(zone_named(zone), pa.array(numbers, pa.int64(), mask=mask))


# Starts of intervals.


def grid_parameters(grid: Grid) -> tuple[Any, ...]:
    """Return a grid as parameters of the function ``floor_time``."""
    calendar = grid.calendar
    return (grid.every, grid.origin, *(attrs.astuple(calendar) if calendar is not None else (None,) * len(attrs.fields(CalendarIntervals))))


def _grid(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Grid:
    every, origin, *calendar = parameters
    return Grid(every, origin=origin, calendar=None if calendar[0] is None else CalendarIntervals(*calendar).as_read()).as_read()


def _infer_floor(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the starts; parameters: those of the grid."""
    key = types[0]
    if not key.is_number_or_datetime:
        raise SchemaError(f"values of type {key.kind} have no intervals: only int, float and datetime have them")
    grid = _grid(types, parameters)
    if grid.is_float if key.kind == DATETIME_KIND else grid.calendar is not None:
        raise SchemaError(f"values of type {key.kind} have no intervals of {grid.length()}")
    if grid.calendar is not None and grid.calendar.zone is not None and not key.is_zoned:
        raise SchemaError("intervals in a zone need date-times with offsets from UTC, but these have none")
    return FLOAT if grid.is_float else key


def _compute_floor(arguments: Sequence[Argument], types: Sequence[ColumnType], grid: Grid, rows: int) -> Any:
    values, key = array_of(arguments[0], rows), types[0]
    numbers, mask = _known(values, key)
    if key.kind == DATETIME_KIND:
        return _floored_date_times(values, numbers, mask, key, grid)
    if grid.is_float or key.kind == FLOAT_KIND:
        floats = numbers.astype(np.float64)
        finite = np.isfinite(floats)
        starts = np.where(finite, grid_labels(np.where(finite, floats, 0.0), grid), floats)
        return pa.array(starts, pa.float64(), mask=mask, from_pandas=False)
    return pa.array(grid_labels(numbers, grid), mask=mask)


def _floored_date_times(values: pa.Array, numbers: np.ndarray, mask: np.ndarray | None, key: ColumnType, grid: Grid) -> pa.Array:
    starts = grid_labels(numbers, grid)
    zone = None if grid.calendar is None else grid.calendar.zone
    offsets = None
    if key.is_zoned:
        offsets = pc.struct_field(values, "offset") if zone is None else _offsets(zone, starts, mask)
    return _date_times(starts, mask, offsets, f"the start of an interval ({grid.length()})")


def _increasing(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
    return INCREASING


define_function("floor_time", _infer_floor, _compute_floor, monotone=_increasing, may_fail=True, prepare=_grid, arguments=1)


# Ticks of a clock of the calendar, from their numbers.


def _infer_tick(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the ticks; parameters: its name, its offset from UTC or None, what to subtract from all, the intervals."""
    return TIME_TYPES[parameters[0]]


def _compute_tick(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    name, offset, by_clock, *calendar = parameters
    intervals = CalendarIntervals(*calendar).as_read()
    ticks = intervals.starts(array_of(arguments[0], rows).to_numpy(zero_copy_only=False))
    if TIME_TYPES[name] == DATETIME:
        return _date_times(ticks, None, None, "a tick of the clock")
    if intervals.zone is not None:
        return _date_times(ticks, None, _offsets(intervals.zone, ticks, None), "a tick of the clock")
    return _date_times(ticks - by_clock, None, pa.array(np.full(rows, offset, np.int32)), "a tick of the clock")


define_function("calendar_tick", _infer_tick, _compute_tick, arguments=1)


# Offsets of a zone.


def _infer_in_zone(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the zoned type; parameter: the name of the zone."""
    zone_named(parameters[0])
    if types[0].kind != DATETIME_KIND:
        raise SchemaError(f"in_zone() takes date-times, not values of {types[0].kind}")
    if not types[0].is_zoned:
        raise SchemaError("in_zone() takes date-times with offsets from UTC, but these have none: from_zone(zone) gives them the offsets of a zone")
    return ZONED_DATETIME


def _compute_in_zone(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    numbers, mask = _known(array_of(arguments[0], rows), types[0])
    instants = pa.array(numbers, pa.int64(), mask=mask)
    return zoned_array(instants.cast(DATETIME.physical), _offsets(parameters[0], numbers, mask), instants.is_valid())


define_function("in_zone", _infer_in_zone, _compute_in_zone, monotone=_increasing, arguments=1)

AMBIGUOUS = ("error", "earlier", "later", "missing")
NONEXISTENT = ("error", "forward", "missing")


def _infer_from_zone(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the zoned type; parameters: the name of the zone, what a repeated time is, what a skipped time is."""
    zone_named(parameters[0])
    if types[0].kind != DATETIME_KIND:
        raise SchemaError(f"from_zone() takes date-times, not values of {types[0].kind}")
    return ZONED_DATETIME


def _compute_from_zone(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    name, ambiguous, nonexistent = parameters
    values = array_of(arguments[0], rows)
    numbers, mask = _known(values, types[0])
    if types[0].is_zoned and pc.struct_field(values, "offset").filter(values.is_valid()).null_count < rows - values.null_count:
        raise ExecutionError("from_zone() takes date-times without offsets from UTC, but some have one: in_zone(zone) shows them in another zone")
    times = zone_named(name).instants_of(numbers)
    is_known = np.ones(rows, dtype=bool) if mask is None else ~mask
    missing = ~is_known
    for affected, choice, does, remedy in (
        (times.skipped, nonexistent, "skips", "nonexistent='forward' takes the end of the gap, nonexistent='missing' a missing value"),
        (times.repeated, ambiguous, "shows twice", "ambiguous='earlier' and ambiguous='later' choose, ambiguous='missing' gives a missing value"),
    ):
        affected = affected & is_known
        if choice == "missing":
            missing = missing | affected
        elif choice == "error" and affected.any():
            time = timestamp_text(int(numbers[int(np.argmax(affected))]))
            raise ExecutionError(f"{time} is a time that the clock in {name} {does}: {remedy}")
    instants = times.later if ambiguous == "later" else times.earlier
    return _date_times(instants, missing, _offsets(name, instants, missing), f"a time of {name}")


# One of the two keeps values: its results are missing only where the values are, and ascend with them.
define_function("from_zone", _infer_from_zone, _compute_from_zone, monotone=_increasing, may_fail=True, arguments=1)
define_function("from_zone_or_missing", _infer_from_zone, _compute_from_zone, may_fail=True, arguments=1)


# Shifts by durations of the calendar.

FARTHEST = 2**62
"""No duration leads from later or earlier instants into the years that Python shows, and arithmetic on these stays within 64 bits."""


def _infer_shift(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the date-times; parameters: the name of a zone or None, and those of the shift."""
    if types[0].kind != DATETIME_KIND:
        raise SchemaError(f"durations of the calendar need date-times, not values of {types[0].kind}")
    return types[0]


def _compute_shift(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    name, *parts = parameters
    shift = CalendarShift(*parts)
    values, key = array_of(arguments[0], rows), types[0]
    numbers, mask = _known(values, key)
    numbers = np.clip(numbers, -FARTHEST, FARTHEST)
    what = "a date-time moved by a duration"
    if name is None:
        instants = pa.array(numbers, pa.int64(), mask=mask)
        local = plain_numbers(wall_microseconds(instants, values, key))
        moved = numbers + (shift.moved(local) - local) + shift.elapsed
        return _date_times(moved, mask, pc.struct_field(values, "offset") if key.is_zoned else None, what)
    zone = zone_named(name)
    offsets = zone.offsets_at(numbers)
    times = zone.instants_of(shift.moved(numbers + offsets))
    # Of the two times that the clock shows as one, a value keeps to the one with its own offset.
    keeps_later = times.repeated & (zone.offsets_at(times.later) == offsets) & (zone.offsets_at(times.earlier) != offsets)
    moved = np.where(keeps_later, times.later, times.earlier) + shift.elapsed
    return _date_times(moved, mask, _offsets(name, moved, mask), what)


define_function("calendar_shift", _infer_shift, _compute_shift, may_fail=True, arguments=1)
