"""Members of SArray about date-times, and columns of evenly spaced times."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sframe_spark.api.class_registry import make_array, make_frame
from sframe_spark.api.unpacking import distinct_keys, prefixed, require_prefix
from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError
from sframe_spark.expressions.functions.datetimes import PARTS, TIMEZONE
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project import zip_columns
from sframe_spark.operators.sources.generated import range_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, DATETIME_KIND, FLOAT, INT, ZONED_DATETIME, ColumnType
from sframe_spark.values.datetimes import is_in_years_of_python, timestamp_text, to_microseconds
from sframe_spark.values.durations import LONGEST, parse_positive_duration

if TYPE_CHECKING:
    from sframe_spark.api.class_registry import SArray, SFrame


def uniform_times(start: Any, stop: Any, every: Any) -> PlannerNode:
    """Return a column of evenly spaced times, from ``start`` up to ``stop``, which is included if it is hit.

    Raises
    ------
    SchemaError
        If an argument is of a type that does not fit, or one date-time has an offset and the other none.
    InvalidArgumentError
        If ``stop`` is before ``start``, or ``every`` is not above zero.
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
    """Return the number of ticks from the first to at most the last."""
    count = math.floor((last - first) / every) if isinstance(first + last + every, float) else (last - first) // every
    while first + count * every > last:
        count -= 1
    while first + (count + 1) * every <= last:
        count += 1
    return int(count) + 1


def clock_bound(value: Any, what: str) -> tuple[Any, ColumnType]:
    """Return a bound of a clock as a number, and the type of its times.

    Raises
    ------
    SchemaError
        If it is neither a number nor a date-time.
    InvalidArgumentError
        If it is not finite.
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


DEFAULT_PARTS = ("year", "month", "day", "hour", "minute", "second")
# The reference treats this unknown name as the year, and programs use the column.
_OTHER_NAMES = {"tzone": "year"}
DEFAULT_FORMAT = "%Y-%m-%dT%H:%M:%S%ZP"


class DateTimes:
    """Date-times, row by row."""

    _node: PlannerNode

    def datetime_to_str(self, format: str = DEFAULT_FORMAT) -> SArray:
        """Every date-time as a text of a format; missing ones stay missing.

        Parameters
        ----------
        format
            Directives of C's ``strftime``. ``%f`` is the six digits of the microseconds, ``%F`` a dot and these, or nothing for a full second, ``%s``
            seconds with their fraction, ``%q`` and ``%Q`` the offset from UTC as ``+0530`` and ``+05:30``, ``%ZP`` as ``GMT+05:30``, or nothing where
            there is none.

        Raises
        ------
        TypeError
            If the values are no date-times, or the format is no text.

        Examples
        --------
        >>> from datetime import datetime
        >>> from sframe_spark import SArray
        >>> list(SArray([datetime(2024, 2, 29, 9, 30), None]).datetime_to_str("%d %b %Y, %H:%M"))
        ['29 Feb 2024, 09:30', None]
        """
        return make_array(apply_function("moment_text", self._node, parameters=(_format_text(format),)))

    def str_to_datetime(self, format: str = DEFAULT_FORMAT) -> SArray:
        """Every text of a format as a date-time; missing and empty ones are missing.

        Parameters
        ----------
        format
            Directives as those of :meth:`datetime_to_str`; ``"ISO"`` reads ``20240229T093000``. ``%f`` and ``%F`` read the dot of a fraction too:
            ``%S%f``, not ``%S.%f``. Between directives any character stands for any other. A text may end before any directive, and whatever
            follows the last one is ignored.

        Raises
        ------
        TypeError
            If the values are no texts, or the format is none.
        RuntimeError
            If the format has a directive that cannot be read or, when its row is looked at, a text is not of the format.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray(["29.02.2024 09:30"]).str_to_datetime("%d.%m.%Y %H:%M")[0]
        datetime.datetime(2024, 2, 29, 9, 30)
        """
        return make_array(apply_function("moment_of_text", self._node, parameters=(_format_text(format),)))

    def split_datetime(self, column_name_prefix: str | None = "X", limit: Sequence[str] | None = None, timezone: bool = False) -> SFrame:
        """A frame of the parts of every date-time, as the clock on the wall shows them; of missing ones all parts are missing.

        Parameters
        ----------
        column_name_prefix
            What names of columns begin with, and a dot; None: the names of the parts alone.
        limit
            Parts, in the order of their columns: ``year``, ``month``, ``day``, ``hour``, ``minute``, ``second``, ``us`` (microseconds), ``weekday``
            (Monday is 0), ``isoweekday`` (Monday is 1), ``tmweekday`` (Sunday is 0). The first six when not given. ``tzone`` is the year, as in the
            reference; ``timezone=True`` gives the offset.
        timezone
            Whether to add hours east of UTC, missing where a date-time has no offset.

        Raises
        ------
        TypeError
            If the values are no date-times, or ``limit`` is no list of texts.
        ValueError
            If ``limit`` names no part, or one twice.

        Examples
        --------
        >>> from datetime import datetime
        >>> from sframe_spark import SArray
        >>> SArray([datetime(2024, 2, 29)]).split_datetime(limit=["year", "weekday"])[0]
        {'X.year': 2024, 'X.weekday': 3}
        """
        if self._node.schema[0].kind != DATETIME_KIND:
            raise SchemaError(f"split_datetime() takes date-times, and these are values of {self._node.schema[0].kind}")
        require_prefix(column_name_prefix)
        chosen = list(DEFAULT_PARTS) if limit is None else distinct_keys(limit, str)
        if unknown := [name for name in chosen if name not in (*PARTS, *_OTHER_NAMES) or name == TIMEZONE]:
            raise InvalidArgumentError(
                f"limit: {unknown[0]!r} is no part of a date-time: {', '.join(part for part in PARTS if part != TIMEZONE)} are"
            )
        if timezone:
            chosen.append(TIMEZONE)
        columns = [apply_function("moment_part", self._node, parameters=(_OTHER_NAMES.get(part, part),)) for part in chosen]
        return make_frame(zip_columns(*columns), [prefixed(column_name_prefix, part) for part in chosen])

    @classmethod
    def date_range(cls, start_time: datetime.datetime, end_time: datetime.datetime, freq: datetime.timedelta) -> SArray:
        """Date-times at one distance: ``start_time`` and every so often after it, up to and including ``end_time`` if it is hit.

        Raises
        ------
        TypeError
            If an argument is of another class, or one date-time has an offset from UTC and the other none.
        ValueError
            If ``end_time`` is before ``start_time``, or ``freq`` is not above zero.

        Examples
        --------
        >>> from datetime import datetime, timedelta
        >>> from sframe_spark import SArray
        >>> [day.day for day in SArray.date_range(datetime(2024, 2, 28), datetime(2024, 3, 1), timedelta(days=1))]
        [28, 29, 1]
        """
        for name, value in (("start_time", start_time), ("end_time", end_time)):
            if not isinstance(value, datetime.datetime):
                raise SchemaError(f"{name} is a datetime.datetime, not {type(value).__name__}")
        if not isinstance(freq, datetime.timedelta):
            raise SchemaError(f"freq is a datetime.timedelta, not {type(freq).__name__}")
        return make_array(uniform_times(start_time, end_time, freq))


def _format_text(form: Any) -> str:
    if not isinstance(form, str):
        raise SchemaError(f"a format of date-times is a text such as '%Y-%m-%d', not {type(form).__name__}")
    return form
