"""Intervals of the calendar and the clock of a zone: the boundaries between them, numbered in order, for whole arrays of instants at once.

An interval begins at a multiple of its length by the clock on the wall. Where the clock skips that time, the interval begins at the end of the gap;
intervals that would have no time at all (a day that a zone has skipped) are not there. Where the clock is put back, days, months and all intervals
longer than what is repeated begin once, at the first time; shorter ones begin each time the clock shows their start.
"""

from __future__ import annotations

import functools
from typing import Any

import attrs
import numpy as np

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.values.datetimes import DAY, FIRST_MICROSECOND, LAST_MICROSECOND
from sframe_spark.values.time_zones import TimeZone, places_among, zone_named

MONDAY = 4 * DAY
"""Monday, 5 January 1970, at midnight: intervals of whole weeks begin on Mondays."""
YEAR_0 = -62_167_219_200_000_000
"""1 January of year 0 at midnight: intervals of whole months are counted from here, so that ten years are a decade."""
_MONTHS_TO_1970 = 1970 * 12
# A table of boundaries is searched if a batch of instants spans no more than these, which takes a fraction of the time of the arithmetic.
_MAX_TABLE = 4_096
# Later and earlier instants have no labels: this keeps arithmetic on them within 64 bits.
_EARLIEST, _LATEST = FIRST_MICROSECOND - 400 * DAY, LAST_MICROSECOND + 400 * DAY


def month_starts(months: np.ndarray) -> np.ndarray:
    """Return the first microsecond of months that are counted from January of year 0."""
    microseconds: np.ndarray = (months - _MONTHS_TO_1970).astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)
    return microseconds


def months_of(local: np.ndarray) -> np.ndarray:
    """Return the months of local times, counted from January of year 0.

    Examples
    --------
    >>> months_of(np.array([YEAR_0, YEAR_0 - 1, 0])).tolist()
    [0, -1, 23640]
    """
    months: np.ndarray = local.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
    return months + _MONTHS_TO_1970


def months_later(local: np.ndarray, months: Any) -> np.ndarray:
    """Return local times some months later, on the same day of the month at the same time, or on the month's last day if it is shorter.

    Examples
    --------
    >>> months_later(np.array(["2024-01-31T12"], "datetime64[us]").astype(np.int64), 1).astype("datetime64[us]").astype(str).tolist()
    ['2024-02-29T12:00:00.000000']
    """
    before = months_of(local)
    into = local - month_starts(before)
    after = before + months
    start = month_starts(after)
    last_day = (month_starts(after + 1) - start) // DAY - 1
    return start + np.minimum(into // DAY, last_day) * DAY + into % DAY


@attrs.frozen
class CalendarIntervals:
    """Intervals of the calendar, one after the other.

    Parameters
    ----------
    step
        Length of the intervals: microseconds, or months.
    in_months
        Whether the length is in months.
    origin
        A local time at which an interval begins, in microseconds since 1970.
    offset
        Microseconds by which all boundaries are moved. Only with months: others move the origin.
    zone
        Name of the zone whose clock is meant; None: UTC, or the clock of columns without offsets.
    """

    step: int
    in_months: bool = False
    origin: int = 0
    offset: int = 0
    zone: str | None = None

    def as_read(self) -> CalendarIntervals:
        """Check values that were read from JSON."""
        if self.step <= 0:
            raise InvalidArgumentError(f"the plan's text has intervals of the length {self.step}")
        if self.zone is not None:
            zone_named(self.zone)
        return self

    def describe(self) -> str:
        """Return the intervals as a string."""
        unit = "month(s)" if self.in_months else "microseconds"
        return f"{self.step} {unit}" + (f" in {self.zone}" if self.zone else "")

    # By the clock on the wall.

    def _local_numbers(self, local: np.ndarray) -> np.ndarray:
        """Return the number of the interval in which each local time lies, if the clock of its zone never changed."""
        if not self.in_months:
            return np.floor_divide(local - self.origin, self.step)
        local = local - self.offset
        numbers = np.floor_divide(months_of(local) - int(months_of(np.array([self.origin]))[0]), self.step)
        return numbers - (self._month_boundaries(numbers) > local)

    def _local_boundaries(self, numbers: np.ndarray) -> np.ndarray:
        """Return the local time at which each interval begins; inverse of :meth:`_local_numbers`."""
        return self._month_boundaries(numbers) + self.offset if self.in_months else self.origin + numbers * self.step

    def _month_boundaries(self, numbers: np.ndarray) -> np.ndarray:
        origin = np.array([self.origin])
        if self.origin == int(month_starts(months_of(origin))[0]):
            return month_starts(months_of(origin) + numbers * self.step)
        return months_later(origin, numbers * self.step)

    # By instants.

    def numbers(self, instants: np.ndarray) -> np.ndarray:
        """Return the number of the interval in which each instant lies; numbers ascend with instants, and none is left out.

        Examples
        --------
        >>> days = CalendarIntervals(DAY, zone="Pacific/Apia")  # which skipped 30 December 2011
        >>> days.numbers(np.array(["2011-12-30T09:59", "2011-12-30T10:00"], "datetime64[us]").astype(np.int64)).tolist()
        [15337, 15338]
        """
        if not len(instants):
            return np.zeros(0, np.int64)
        lowest, highest = instants.min(), instants.max()
        if lowest < _EARLIEST or highest > _LATEST:
            instants = np.clip(instants, _EARLIEST, _LATEST)
            lowest, highest = instants.min(), instants.max()
        first, last = self._numbers(np.array([lowest, highest]))
        if last == first:
            return np.broadcast_to(first, instants.shape)
        if last - first > min(_MAX_TABLE, len(instants) // 4):
            return self._numbers(instants)
        return places_among(self.starts(np.arange(first + 1, last + 1)), instants, int(first))

    def _numbers(self, instants: np.ndarray) -> np.ndarray:
        if self.zone is None:
            return self._local_numbers(instants)
        table = stretches_of(self)
        segment = np.searchsorted(table.zone.starts, instants, side="right")
        within = self._local_numbers(instants + table.zone.offsets[segment]) - table.first[segment]
        # Before the first boundary of its segment an instant lies in the interval that began before.
        return np.where((segment > 0) & (within < 0), -1, within) + table.number[segment] + table.after_gap[segment]

    def starts(self, numbers: np.ndarray) -> np.ndarray:
        """Return the instants at which intervals begin; inverse of :meth:`numbers`.

        Examples
        --------
        >>> months = CalendarIntervals(1, in_months=True, origin=YEAR_0)
        >>> months.starts(months.numbers(np.array([0])) + np.arange(3)).astype("datetime64[us]").astype("datetime64[D]").astype(str).tolist()
        ['1970-01-01', '1970-02-01', '1970-03-01']
        """
        if self.zone is None:
            return self._local_boundaries(numbers)
        table = stretches_of(self)
        segment = np.searchsorted(table.number[1:], numbers, side="right")
        within = numbers - table.number[segment] - table.after_gap[segment]
        local = self._local_boundaries(table.first[segment] + within)
        # The first interval of some segments begins where a gap of the clock ends.
        is_after_gap = (segment > 0) & (within < 0)
        changes = table.zone.starts[segment[is_after_gap] - 1]
        result: np.ndarray = local - table.zone.offsets[segment]
        result[is_after_gap] = changes
        return result

    def floors(self, instants: np.ndarray) -> np.ndarray:
        """Return the start of the interval in which each instant lies.

        Examples
        --------
        >>> noon = np.array(["2024-07-04T12"], "datetime64[us]").astype(np.int64)
        >>> CalendarIntervals(DAY, zone="America/New_York").floors(noon).astype("datetime64[us]").astype(str).tolist()
        ['2024-07-04T04:00:00.000000']
        """
        return self.starts_of(self.numbers(instants))

    def starts_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the start of each interval, as :meth:`starts` does; each is computed once where there are few."""
        if not len(numbers):
            return np.zeros(0, np.int64)
        first, last = int(numbers.min()), int(numbers.max())
        if last - first > min(_MAX_TABLE, len(numbers) // 4):
            return self.starts(numbers)
        found: np.ndarray = self.starts(np.arange(first, last + 1))[numbers - first]
        return found


@attrs.frozen(eq=False)
class ZoneStretches:
    """For each stretch of time in which the clock of a zone does not change: what is needed to number the intervals in it.

    Parameters
    ----------
    zone
        The zone.
    first
        The number of the first interval that begins in the stretch, as :meth:`CalendarIntervals._local_numbers` counts.
    number
        How many intervals begin before the stretch.
    after_gap
        1 if an interval begins with the stretch because the clock skips its start, otherwise 0.
    """

    zone: TimeZone
    first: np.ndarray
    number: np.ndarray
    after_gap: np.ndarray


@functools.lru_cache(maxsize=64)
def stretches_of(intervals: CalendarIntervals) -> ZoneStretches:
    """Return the stretches of a zone for some intervals."""
    zone = zone_named(intervals.zone or "UTC")
    ends, begins = zone.starts + zone.offsets[:-1], zone.starts + zone.offsets[1:]
    # Where at least a whole interval is repeated, intervals begin again; otherwise only after the clock shows what it has not shown before.
    is_short = not intervals.in_months and intervals.step < DAY
    again = (ends - begins >= intervals.step) & is_short
    shown = np.zeros(len(begins), np.int64)
    latest = None
    for index, (end, is_again) in enumerate(zip(ends.tolist(), again.tolist(), strict=True)):
        latest = end if latest is None else max(latest, end)
        if is_again:
            latest = int(begins[index])
        shown[index] = latest
    number_of = intervals._local_numbers
    first = number_of(np.maximum(begins, shown) - 1) + 1
    # A gap that hides starts ends with one, unless the clock shows one just then.
    after_gap = ((begins > shown) & (first > number_of(shown - 1) + 1) & (number_of(begins) < first)).astype(np.int64)
    counts = np.maximum(number_of(ends[1:] - 1) - first[:-1] + 1, 0) + after_gap[:-1]
    number = np.cumsum(np.concatenate([number_of(ends[:1] - 1) + 1, counts]))
    zero = np.zeros(1, np.int64)
    return ZoneStretches(zone, *(np.concatenate([zero, values]) for values in (first, number[: len(begins)], after_gap)))
