"""Members of SArray for time zones and calendars."""

from __future__ import annotations

from sframe_spark.api.aggregates.argument_types import Distance, Time, Zone
from sframe_spark.api.class_registry import SArray, make_array
from sframe_spark.api.interval_arguments import interval_grid
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.expressions.functions.calendars import AMBIGUOUS, NONEXISTENT, grid_parameters
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.planner.node import PlannerNode
from sframe_spark.values.time_zones import zone_name


class ZonesAndCalendars:
    """Mixin of SArray: date-times in time zones, and starts of intervals."""

    _node: PlannerNode

    def in_zone(self, zone: Zone) -> SArray:
        """Return the same instants with the offsets from UTC that a time zone has at them; missing where a value is missing.

        Parameters
        ----------
        zone
            Name of a zone of the time zone database, such as ``"America/New_York"``, or a ``zoneinfo.ZoneInfo``. Offsets are whole minutes, as in all
            columns: those before 1972 that have seconds are rounded down.

        Raises
        ------
        TypeError
            If the values are not date-times with offsets from UTC, or ``zone`` is not a time zone.
        ValueError
            If no zone has that name.

        Source: ``tz_convert`` of pandas, ``dt.convert_time_zone`` of Polars.

        Examples
        --------
        >>> from datetime import UTC, datetime
        >>> from sframe_spark import SArray
        >>> str(SArray([datetime(2024, 7, 4, 12, tzinfo=UTC)]).in_zone("America/New_York")[0])
        '2024-07-04 08:00:00-04:00'
        """
        return make_array(apply_function("in_zone", self._node, parameters=(zone_name(zone),)))

    def from_zone(self, zone: Zone, ambiguous: str = "error", nonexistent: str = "error") -> SArray:
        """Return date-times without offsets as instants: times by the clock of a time zone; missing where a value is missing.

        Parameters
        ----------
        zone
            As in :meth:`in_zone`.
        ambiguous
            What a time is that the clock shows twice, because it is put back: the ``"earlier"`` instant, the ``"later"`` one, ``"missing"`` or an
            ``"error"``.
        nonexistent
            What a time is that the clock never shows, because it is put forward: ``"forward"``: the end of the gap; ``"missing"`` or an ``"error"``.

        Raises
        ------
        TypeError
            If the values are not date-times without offsets from UTC, or ``zone`` is not a time zone.
        ValueError
            If no zone has that name, or ``ambiguous`` or ``nonexistent`` is not one of the allowed values.
        RuntimeError
            When rows are computed, if a time is ambiguous or does not exist, or a date-time has an offset.

        Source: ``tz_localize`` of pandas, ``dt.replace_time_zone`` of Polars.

        Examples
        --------
        >>> from datetime import datetime
        >>> from sframe_spark import SArray
        >>> clock = SArray([datetime(2024, 11, 3, 1, 30)])  # shown twice in New York
        >>> [str(clock.from_zone("America/New_York", ambiguous=which)[0]) for which in ("earlier", "later")]
        ['2024-11-03 01:30:00-04:00', '2024-11-03 01:30:00-05:00']
        """
        for what, value, values in (("ambiguous", ambiguous, AMBIGUOUS), ("nonexistent", nonexistent, NONEXISTENT)):
            if value not in values:
                raise InvalidArgumentError(f"{what} must be one of {', '.join(map(repr, values))}, got {value!r}")
        name = "from_zone_or_missing" if "missing" in (ambiguous, nonexistent) else "from_zone"
        return make_array(apply_function(name, self._node, parameters=(zone_name(zone), ambiguous, nonexistent)))

    def floor_time(self, every: Distance, *, zone: Zone | None = None, origin: Time | None = None, offset: Distance | None = None) -> SArray:
        """Return for each value the start of the interval in which it lies; missing values, NaN and infinite values stay unchanged.

        Parameters
        ----------
        every, zone, origin, offset
            Length and position of the intervals, as in :meth:`SFrame.groupby_intervals`.

        Raises
        ------
        TypeError
            If the values are not int, float or datetime, or an argument does not fit them.
        ValueError
            If ``every`` is not positive, or no zone has that name.
        RuntimeError
            When rows are computed, if a start lies outside of the years 1 to 9999, or does not fit 64 bits.

        Source: ``dt.floor`` of pandas, ``dt.truncate`` of Polars, ``xbar`` of kdb+.

        Examples
        --------
        >>> from datetime import datetime
        >>> from sframe_spark import SArray
        >>> [str(day.date()) for day in SArray([datetime(2024, 2, 29), datetime(2024, 3, 1)]).floor_time("1mo")]
        ['2024-02-01', '2024-03-01']
        >>> list(SArray([7, -1, None]).floor_time(5))
        [5, -5, None]
        """
        grid = interval_grid(self._node.schema[0], "the column", every, zone=zone, origin=origin, offset=offset)
        return make_array(apply_function("floor_time", self._node, parameters=grid_parameters(grid)))
