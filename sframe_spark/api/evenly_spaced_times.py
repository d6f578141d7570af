"""Makes columns of numbers or date-times at equal distances between a start and a stop."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np

from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.sources.in_memory import range_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, INT, ZONED_DATETIME, ColumnType
from sframe_spark.values.datetimes import is_in_years_of_python, timestamp_text, to_microseconds
from sframe_spark.values.duration_parsing import LONGEST, parse_positive_duration


def uniform_times(start: Any, stop: Any, every: Any) -> PlannerNode:
    """Return a column of times from ``start`` to ``stop`` at a distance of ``every``; ``stop`` is included if it is one of these times.

    Raises
    ------
    SchemaError
        If an argument has an unsuitable type, or only one of two date-times has an offset from UTC.
    InvalidArgumentError
        If ``stop`` is before ``start``, or ``every`` is not positive.
    """
    (first, first_type), (last, last_type) = clock_bound(start, "start"), clock_bound(stop, "stop")
    if first_type.kind != last_type.kind and not (first_type.is_numeric and last_type.is_numeric):
        raise SchemaError(f"start and stop are both numbers or both date-times, got {start!r} and {stop!r}")
    if first_type.is_zoned != last_type.is_zoned:
        raise SchemaError("start and stop both have an offset from UTC or neither has: mixed time zones cannot be compared")
    length = parse_positive_duration(every, first_type if first_type.kind == DATETIME_KIND else FLOAT, "every")
    if last < first:
        raise InvalidArgumentError(f"the clock stops at {stop!r} before it starts at {start!r}")
    is_float = first_type.is_numeric and any(isinstance(value, float) for value in (first, last, length))
    count = tick_count(first, last, length)
    if count > LONGEST:
        raise InvalidArgumentError(f"a clock from {start!r} to {stop!r} every {every!r} has {count} ticks: more than any frame has rows")
    name = "float" if is_float else "zoned datetime" if first_type.is_zoned else first_type.kind
    offset = start.utcoffset() // datetime.timedelta(minutes=1) if first_type.is_zoned else None
    if first_type.kind == DATETIME_KIND and not is_in_years_of_python(tick := first + (count - 1) * int(length), offset):
        clock = f"a clock from {start!r} to {stop!r}"
        raise DateTimeRangeError(
            f"{clock} has ticks with the offset of its start, of which {timestamp_text(tick)} UTC lies outside the years 1 to 9999"
        )
    if name == "int":
        return range_source(first, count, int(length))
    begin, step = (float(first), float(length)) if is_float else (first, int(length))
    return apply_function("tick_time", range_source(0, count), parameters=(name, begin, step, offset))


def tick_count(first: Any, last: Any, every: Any) -> int:
    """Return the number of times from ``first`` to at most ``last`` at a distance of ``every``."""
    count = math.floor((last - first) / every) if isinstance(first + last + every, float) else (last - first) // every
    while first + count * every > last:
        count -= 1
    while first + (count + 1) * every <= last:
        count += 1
    return int(count) + 1


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
        raise SchemaError(f"{what} is a number or a datetime, got {value!r} of type {type(value).__name__}")
    if isinstance(value, int) and not -LONGEST <= value <= LONGEST:
        raise InvalidArgumentError(f"{what}: a number of {value.bit_length()} bits is no time of a clock: 64 bits hold them")
    if not math.isfinite(value):
        raise InvalidArgumentError(f"{what}: a finite number is needed, got {value!r}")
    return value, FLOAT if isinstance(value, float) else INT
