"""``column.dt``: parts of date-times, as pandas has them there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sframe_spark.api.class_registry import SArray, make_array
from sframe_spark.api.error_hints import no_date_member, with_call_hints
from sframe_spark.api.sarray.family_members import method_of
from sframe_spark.expressions.functions.date_parts import DATE_PARTS
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.short_tracebacks import door


def _method(name: str) -> Callable[[Any], SArray]:
    return method_of(DATE_PARTS[name], "date-times", "DateParts")


def _part(name: str) -> property:
    return property(door(_method(name)))


@with_call_hints
class DateParts:
    """Parts of the date-times of a column, in their own local time. Missing stays missing. Names of days and months are methods, as in pandas.

    Examples
    --------
    >>> from datetime import datetime
    >>> from sframe_spark import SArray
    >>> times = SArray([datetime(2024, 12, 30, 9), None])
    >>> list(times.dt.year), list(times.dt.week), list(times.dt.day_name())
    ([2024, None], [1, None], ['Monday', None])
    """

    def __init__(self, node: PlannerNode) -> None:
        self._node = node

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise an error with advice about members that other libraries have."""
            raise AttributeError(name) if name.startswith("_") else no_date_member(name, dir(type(self)))

    def __repr__(self) -> str:
        return "<parts of date-times: column.dt.year and so on>"

    year, quarter, month, day = map(_part, ("year", "quarter", "month", "day"))
    hour, minute, second, microsecond = map(_part, ("hour", "minute", "second", "microsecond"))
    weekday, isoweekday, tmweekday = map(_part, ("weekday", "isoweekday", "tmweekday"))
    week, iso_year, day_of_year, days_in_month = map(_part, ("week", "iso_year", "day_of_year", "days_in_month"))
    is_leap_year, is_month_start, is_month_end = map(_part, ("is_leap_year", "is_month_start", "is_month_end"))
    is_quarter_start, is_quarter_end = map(_part, ("is_quarter_start", "is_quarter_end"))
    is_year_start, is_year_end = map(_part, ("is_year_start", "is_year_end"))
    day_name, month_name = map(_method, ("day_name", "month_name"))

    def strftime(self, format: str) -> SArray:
        """Return the date-times formatted as texts, as :meth:`SArray.datetime_to_str` does.

        Parameters
        ----------
        format
            A format with directives of C's ``strftime``.

        Raises
        ------
        TypeError
            If the values are not date-times, or the format is not a string.

        Examples
        --------
        >>> from datetime import datetime
        >>> from sframe_spark import SArray
        >>> list(SArray([datetime(2024, 2, 29), None]).dt.strftime("%d.%m.%Y"))
        ['29.02.2024', None]
        """
        return make_array(self._node).datetime_to_str(format)


class Dates:
    """Mixin of SArray: parts of date-times."""

    _node: PlannerNode

    @property
    def dt(self) -> DateParts:
        """Parts of date-times; see :class:`~sframe_spark.api.sarray.date_parts.DateParts`.

        Examples
        --------
        >>> from datetime import datetime
        >>> from sframe_spark import SArray
        >>> list(SArray([datetime(2024, 2, 29), None]).dt.quarter)
        [1, None]
        """
        return DateParts(self._node)
