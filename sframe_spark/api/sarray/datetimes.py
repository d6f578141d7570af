"""Members of SArray for date-times."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from sframe_spark.api.class_registry import SArray, SFrame, make_array, make_frame
from sframe_spark.api.evenly_spaced_times import uniform_times
from sframe_spark.api.unpacked_columns import distinct_keys, prefixed, require_prefix
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.expressions.functions.date_parts import PARTS, TIMEZONE
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project_zip_arrange import zip_columns
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND

DEFAULT_PARTS = ("year", "month", "day", "hour", "minute", "second")
# "tzone" is not a part of a date-time, but Turi Create returns the year for it, and programs use this column.
_OTHER_NAMES = {"tzone": "year"}
DEFAULT_FORMAT = "%Y-%m-%dT%H:%M:%S%ZP"


class DateTimes:
    """Mixin of SArray: formatting, parsing and splitting of date-times."""

    _node: PlannerNode

    def datetime_to_str(self, format: str = DEFAULT_FORMAT) -> SArray:
        """Return the date-times formatted as strings; missing where the value is missing.

        Parameters
        ----------
        format
            A format with directives of C's ``strftime``. Further directives: ``%f`` is the microseconds in six digits; ``%F`` is a dot and these
            digits, or nothing if they are zero; ``%s`` is the seconds with their fraction; the offset from UTC is ``%q`` as ``+0530``, ``%Q`` as
            ``+05:30``, and ``%ZP`` as ``GMT+05:30``, or nothing if there is none.

        Raises
        ------
        TypeError
            If the values are not date-times, or the format is not a string.

        Examples
        --------
        >>> from datetime import datetime
        >>> from sframe_spark import SArray
        >>> list(SArray([datetime(2024, 2, 29, 9, 30), None]).datetime_to_str("%d %b %Y, %H:%M"))
        ['29 Feb 2024, 09:30', None]
        """
        return make_array(apply_function("moment_text", self._node, parameters=(_format_text(format),)))

    def str_to_datetime(self, format: str = DEFAULT_FORMAT) -> SArray:
        """Return the date-times that strings contain; missing where a string is missing or empty.

        Parameters
        ----------
        format
            A format with the directives of :meth:`datetime_to_str`; ``"ISO"`` reads ``20240229T093000``. ``%f`` and ``%F`` also read the dot before a
            fraction: ``%S%f``, not ``%S.%f``. A character between directives matches any character. A string may end before any directive, and text
            after the last directive is ignored.

        Raises
        ------
        TypeError
            If the values are not strings, or the format is not a string.
        RuntimeError
            If the format has a directive that cannot be read; or, when rows are computed, if a string does not match the format.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> SArray(["29.02.2024 09:30"]).str_to_datetime("%d.%m.%Y %H:%M")[0]
        datetime.datetime(2024, 2, 29, 9, 30)
        """
        return make_array(apply_function("moment_of_text", self._node, parameters=(_format_text(format),)))

    def split_datetime(self, column_name_prefix: str | None = "X", limit: Sequence[str] | None = None, timezone: bool = False) -> SFrame:
        """Return a frame with a column for each part of the date-times, such as the year, in their own time zone; missing where a value is missing.

        Parameters
        ----------
        column_name_prefix
            Beginning of the column names, before a dot; None: the names are those of the parts.
        limit
            The parts, in the order of their columns: ``year``, ``month``, ``day``, ``hour``, ``minute``, ``second``, ``us`` (microseconds),
            ``weekday`` (Monday is 0), ``isoweekday`` (Monday is 1), ``tmweekday`` (Sunday is 0), and others of ``column.dt``, such as
            ``quarter``. If not given, the first six. ``tzone`` gives the year, as in Turi Create; use ``timezone=True`` for the offset.
        timezone
            Whether to add a column with the offset from UTC in hours, positive in the east; missing for date-times without an offset.

        Raises
        ------
        TypeError
            If the values are not date-times, or ``limit`` is not a list of strings.
        ValueError
            If ``limit`` contains an unknown part, or a part twice.

        Examples
        --------
        >>> from datetime import datetime
        >>> from sframe_spark import SArray
        >>> SArray([datetime(2024, 2, 29)]).split_datetime(limit=["year", "weekday"])[0]
        {'X.year': 2024, 'X.weekday': 3}
        """
        if self._node.schema[0].kind != DATETIME_KIND:
            raise SchemaError(f"split_datetime() takes date-times, not values of {self._node.schema[0].kind}")
        require_prefix(column_name_prefix)
        parts = list(DEFAULT_PARTS) if limit is None else distinct_keys(limit, str)
        if unknown := [name for name in parts if name not in (*PARTS, *_OTHER_NAMES) or name == TIMEZONE]:
            raise InvalidArgumentError(
                f"limit: {unknown[0]!r} is not a part of a date-time; the parts are {', '.join(part for part in PARTS if part != TIMEZONE)}"
            )
        if timezone:
            parts.append(TIMEZONE)
        columns = [apply_function("moment_part", self._node, parameters=(_OTHER_NAMES.get(part, part),)) for part in parts]
        return make_frame(zip_columns(*columns), [prefixed(column_name_prefix, part) for part in parts])

    @classmethod
    def date_range(cls, start_time: datetime.datetime, end_time: datetime.datetime, freq: datetime.timedelta | str) -> SArray:
        """Return a column of date-times at equal distances.

        Parameters
        ----------
        start_time
            The first date-time.
        end_time
            The end; included if it is one of the date-times.
        freq
            The distance between date-times: a ``timedelta``, or a text such as ``"6h"`` or ``"1mo"`` (months, quarters and years of the calendar; a
            day that a month does not have is its last one).

        Raises
        ------
        TypeError
            If an argument has another class, or only one of the date-times has an offset from UTC.
        ValueError
            If ``end_time`` is before ``start_time``, or ``freq`` is not positive or no duration.

        Examples
        --------
        >>> from datetime import datetime, timedelta
        >>> from sframe_spark import SArray
        >>> [day.day for day in SArray.date_range(datetime(2024, 2, 28), datetime(2024, 3, 1), timedelta(days=1))]
        [28, 29, 1]
        >>> [(day.month, day.day) for day in SArray.date_range(datetime(2024, 1, 31), datetime(2024, 4, 30), "1mo")]
        [(1, 31), (2, 29), (3, 31), (4, 30)]
        """
        for name, value in (("start_time", start_time), ("end_time", end_time)):
            if not isinstance(value, datetime.datetime):
                raise SchemaError(f"{name} must be a datetime.datetime, not {type(value).__name__}")
        if not isinstance(freq, (datetime.timedelta, str)):
            raise SchemaError(f"freq must be a datetime.timedelta, or a text such as '1mo', not {type(freq).__name__}")
        return make_array(uniform_times(start_time, end_time, freq))


def _format_text(form: Any) -> str:
    if not isinstance(form, str):
        raise SchemaError(f"a date-time format must be a text such as '%Y-%m-%d', not {type(form).__name__}")
    return form
