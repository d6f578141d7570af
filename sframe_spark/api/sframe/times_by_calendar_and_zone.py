"""Members of SFrame that move or floor the times of a column."""

from __future__ import annotations

from typing import Any

import attrs

from sframe_spark.api.aggregates.argument_types import Distance, Time, Zone
from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.interval_arguments import interval_grid, interval_zone
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe.sort_group_append_filter_and_sample import Relational
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.expressions.functions.calendars import grid_parameters
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project_zip_arrange import column_of, replace_column
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND, FLOAT, INT
from sframe_spark.values.calendar_shifts import parse_shift
from sframe_spark.values.duration_parsing import LONGEST, parse_duration


class CalendarColumns(Relational):
    """Mixin of SFrame: times moved and floored, by the calendar and the clock of a zone."""

    @call_example("sf.floor_time('time', '1mo', zone='America/New_York')")
    def floor_time(
        self, column: str, every: Distance, zone: Zone | None = None, origin: Time | None = None, offset: Distance | None = None
    ) -> SArray:
        """Return, for each row, the start of the interval in which its key lies; missing keys, NaN and infinite keys stay unchanged.

        Starts ascend with the keys, so grouping a frame that is in order of the column by them moves no row.

        Parameters
        ----------
        column
            Name of a column of class int, float or datetime.
        every, zone, origin, offset
            Length and position of the intervals, as in :meth:`groupby_intervals`.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If the column or an argument has an unsuitable type.
        ValueError
            If ``every`` is not positive, or no zone has that name.
        RuntimeError
            When rows are computed, if a start lies outside of the years 1 to 9999, or does not fit 64 bits.

        Source: ``dt.floor`` of pandas, ``dt.truncate`` of Polars, ``xbar`` of kdb+.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"t": [1, 9, 10]}).floor_time("t", 5))
        [0, 5, 10]
        """
        position = self._position(column)
        grid = interval_grid(self._node.schema[position], f"column {column!r}", every, zone=zone, origin=origin, offset=offset)
        return SArray(_node=apply_function("floor_time", column_of(self._node, position), parameters=grid_parameters(grid)))

    @call_example("sf.shift_time('time', '1mo')")
    def shift_time(self, on: str, duration: Distance, *, zone: Zone | None = None, holidays: Any = None) -> SFrame:
        """Return this frame with a duration added to all values of a column. Rows keep their order.

        Parameters
        ----------
        on
            Name of a column of class datetime, int or float.
        duration
            For numbers, a number; for date-times, a ``timedelta`` or a string such as ``"-15min"``. A string may also have ``mo``, ``q`` and ``y``
            (months, quarters, years: a day that the month does not have becomes its last one), ``me`` (``"1me"``: the next last day of a month,
            ``"0me"``: that of the month itself) and ``bd`` (days from Monday to Friday, without ``holidays``; ``"0bd"``: the day itself if it is
            one, otherwise the next one). Months are added first, then month ends, business days, days, and at last what is shorter.
        zone
            Name of a time zone whose calendar and clock are meant: months and days, of a string, keep the time of the clock there, and the result has
            the offsets of the zone. If the clock shows a time twice, the one with the old offset is taken, or else the earlier; of one that it
            skips, the end of the gap. None: the calendar at the offset of each value, and a day is 24 hours.
        holidays
            Dates that are not business days.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If the column, the duration, the zone or a holiday has an unsuitable type.
        ValueError
            If a string is not a duration, no zone has that name, the number does not fit 64 bits, or there are holidays but no business days.
        RuntimeError
            When rows are computed, if a date-time is outside the years 1 to 9999, or an int does not fit 64 bits.

        Source: ``DateOffset``, ``MonthEnd`` and ``BDay`` of pandas, ``dt.offset_by`` and ``dt.add_business_days`` of Polars.

        Examples
        --------
        >>> from datetime import datetime
        >>> from sframe_spark import SFrame
        >>> list(SFrame({"t": [1, 2]}).shift_time("t", 10)["t"])
        [11, 12]
        >>> sf = SFrame({"t": [datetime(2024, 1, 31)]})
        >>> [str(sf.shift_time("t", duration)["t"][0].date()) for duration in ("1mo", "1me", "3bd")]
        ['2024-02-29', '2024-02-29', '2024-02-05']
        """
        position = self._position(on)
        moved = shifted(column_of(self._node, position), f"column {on!r}", duration, zone, holidays)
        return make_frame(replace_column(self._node, position, moved), self._names)


def shifted(column: PlannerNode, name: str, duration: Any, zone: Any, holidays: Any) -> PlannerNode:
    """Return a column with a duration added to all values; ``name`` is what messages call the column."""
    key = column.schema[0]
    zone = interval_zone(zone, key, name)
    shift = parse_shift(duration, holidays, "duration") if key.kind == DATETIME_KIND or holidays is not None else None
    if shift is not None and (zone is not None or not shift.is_elapsed):
        return apply_function("calendar_shift", column, parameters=(zone, *attrs.astuple(shift)))
    amount = parse_duration(duration, key)
    if zone is not None:
        return apply_function("in_zone", apply_function("add_duration", column, Literal(amount, INT)), parameters=(zone,))
    literal = Literal(amount, INT if isinstance(amount, int) else FLOAT)
    if literal.type == INT and abs(amount) > LONGEST:
        raise InvalidArgumentError(f"duration: {duration!r} does not fit 64 bits")
    return apply_function("add_duration", column, literal)
