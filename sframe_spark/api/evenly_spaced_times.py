"""Makes columns of numbers or date-times at equal distances between a start and a stop."""

from __future__ import annotations

import datetime
import math
from typing import Any

import attrs
import numpy as np

from sframe_spark.api.interval_arguments import clock_bound, interval_grid
from sframe_spark.compute.interval_grid import grid_labels
from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.sources.in_memory import range_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND, FLOAT, INT, ZONED_DATETIME
from sframe_spark.values.calendar_intervals import CalendarIntervals
from sframe_spark.values.datetimes import MINUTE, is_in_years_of_python, timestamp_text
from sframe_spark.values.duration_parsing import LONGEST
from sframe_spark.values.time_zones import zone_name, zone_named


def uniform_times(start: Any, stop: Any, every: Any, zone: Any = None, origin: Any = None, offset: Any = None) -> PlannerNode:
    """Return a column of times from ``start`` to ``stop`` at a distance of ``every``; ``stop`` is included if it is one of these times.

    Parameters
    ----------
    start, stop, every
        The bounds and the distance, which may be a text of months.
    zone, origin, offset
        As in :func:`interval_grid`. With an origin or an offset, times are the starts of intervals.

    Raises
    ------
    SchemaError
        If an argument has an unsuitable type, or only one of two date-times has an offset from UTC.
    InvalidArgumentError
        If ``stop`` is before ``start``, or ``every`` is not positive.
    """
    (first, first_type), (last, last_type) = clock_bound(start, "start"), clock_bound(stop, "stop")
    if first_type.kind != last_type.kind and not (first_type.is_numeric and last_type.is_numeric):
        raise SchemaError(f"start and stop must both be numbers or both be date-times, got {start!r} and {stop!r}")
    if first_type.is_zoned != last_type.is_zoned:
        raise SchemaError("either both start and stop must have an offset from UTC, or neither: times with and without one cannot be compared")
    minutes = start.utcoffset() // datetime.timedelta(minutes=1) if first_type.is_zoned else None
    if zone is not None and first_type.kind == DATETIME_KIND and not first_type.is_zoned:
        first, last = (int(zone_named(zone_name(zone)).instants_of(np.array([bound])).earlier[0]) for bound in (first, last))
        first_type = ZONED_DATETIME
    if last < first:
        raise InvalidArgumentError(f"the clock stops at {stop!r} before it starts at {start!r}")
    key = first_type if first_type.kind == DATETIME_KIND else FLOAT if FLOAT in (first_type, last_type) else INT
    from_start = origin is None and offset is None
    grid = interval_grid(key, "the clock", every, zone=zone, origin=start if from_start else origin, offset=offset)
    if grid.calendar is not None:
        return _calendar_times(grid.calendar, (first, last), minutes, (start, stop), from_start)
    length = grid.every
    assert length is not None
    is_float = key == FLOAT or grid.is_float
    if not from_start:
        label = grid_labels(np.array([float(first) if is_float else first]), grid)[0].item()
        first = label if label == first else label + length
    count = tick_count(first, last, length) if last >= first else 0
    require_rows(count, start, stop, every)
    if first_type.kind == DATETIME_KIND and count and not is_in_years_of_python(tick := first + (count - 1) * int(length), minutes):
        raise _beyond_years(start, stop, tick)
    name = "float" if is_float else "zoned datetime" if first_type.is_zoned else first_type.kind
    if name == "int":
        return range_source(int(first), count, int(length))
    begin, step = (float(first), float(length)) if is_float else (int(first), int(length))
    return apply_function("tick_time", range_source(0, count), parameters=(name, begin, step, minutes))


def require_rows(count: int, start: Any, stop: Any, every: Any) -> None:
    """Check that a clock has no more ticks than a frame can have rows."""
    if count > LONGEST:
        raise InvalidArgumentError(f"a clock from {start!r} to {stop!r} every {every!r} has {count} ticks, more than a frame can have rows")


def _beyond_years(start: Any, stop: Any, tick: int) -> DateTimeRangeError:
    return DateTimeRangeError(
        f"a clock from {start!r} to {stop!r} has ticks with the offset of its start, some of which lie outside the years 1 to 9999: "
        f"{timestamp_text(tick)} UTC"
    )


def _calendar_times(
    intervals: CalendarIntervals, bounds: tuple[int, int], minutes: int | None, given: tuple[Any, Any], from_start: bool
) -> PlannerNode:
    """Return the times between two instants at which intervals of the calendar begin.

    Without a zone the calendar of times from a start on is that of the clock there, ``minutes`` east of UTC (None: the times have no offsets).
    """
    by_clock = (minutes or 0) * MINUTE if from_start and intervals.zone is None else 0
    if by_clock:
        intervals = attrs.evolve(intervals, origin=intervals.origin + by_clock)
    ends = np.array(bounds) + by_clock
    first, last = intervals.numbers(ends).tolist()
    first += int(intervals.starts(np.array([first]))[0]) < int(ends[0])
    tick = int(intervals.starts(np.array([last]))[0]) - by_clock
    if last >= first and not is_in_years_of_python(tick, minutes):
        raise _beyond_years(*given, tick)
    name = "datetime" if intervals.zone is None and minutes is None else "zoned datetime"
    return apply_function(
        "calendar_tick", range_source(first, max(last - first + 1, 0)), parameters=(name, minutes, by_clock, *attrs.astuple(intervals))
    )


def tick_count(first: Any, last: Any, every: Any) -> int:
    """Return the number of times from ``first`` to at most ``last`` at a distance of ``every``."""
    count = math.floor((last - first) / every) if isinstance(first + last + every, float) else (last - first) // every
    while first + count * every > last:
        count -= 1
    while first + (count + 1) * every <= last:
        count += 1
    return int(count) + 1
