"""Intervals of the calendar and of the clock of a zone, against their definition, minute by minute."""

from __future__ import annotations

import random
import zoneinfo

import numpy as np
import pytest

from sframe_spark.errors import InvalidArgumentError
from sframe_spark.values.calendar_intervals import MONDAY, YEAR_0, CalendarIntervals, months_later, months_of
from sframe_spark.values.datetimes import DAY, MINUTE
from sframe_spark.values.time_zones import zone_named

WEEKS = [
    ("America/New_York", "2024-03-05", "2024-03-15"),
    ("America/New_York", "2024-10-29", "2024-11-07"),
    ("Europe/Dublin", "2050-10-26", "2050-11-03"),
    ("Australia/Lord_Howe", "2024-04-02", "2024-04-10"),
    ("Australia/Lord_Howe", "2024-10-01", "2024-10-10"),
    ("Pacific/Apia", "2011-12-26", "2012-01-05"),
    ("Asia/Kathmandu", "1985-12-28", "1986-01-05"),
    ("America/Havana", "2024-10-30", "2024-11-07"),
    ("America/Sao_Paulo", "2018-02-14", "2018-02-22"),
    ("America/Sao_Paulo", "2018-11-01", "2018-11-08"),
    ("Pacific/Kwajalein", "1969-09-27", "1969-10-05"),
    ("Antarctica/Troll", "2024-10-24", "2024-11-02"),
]
"""Around changes of the clock: of an hour, of half an hour, of two hours, of a whole day, at midnight, with a negative summer time."""


def us(text: str) -> int:
    return int(np.datetime64(text, "us").astype(np.int64))


def starts_by_definition(intervals: CalendarIntervals, minutes: np.ndarray) -> np.ndarray:
    """Which of some consecutive minutes begin an interval: those in which the clock first shows a start, or again if a whole interval is repeated."""
    zone = zone_named(intervals.zone or "UTC")
    offsets = zone.offsets_at(minutes)
    local = minutes + offsets
    numbers = intervals._local_numbers(local)
    begins = intervals._local_boundaries(numbers) == local
    shown, result = numbers[0], [False]
    for index in range(1, len(minutes)):
        repeated = offsets[index - 1] - offsets[index]
        if not intervals.in_months and intervals.step < DAY and repeated >= intervals.step:
            shown = numbers[index] - begins[index]
        result.append(bool(numbers[index] > shown))
        shown = max(shown, numbers[index])
    return np.array(result)


def lengths(zone: str) -> list[CalendarIntervals]:
    found = [CalendarIntervals(length * MINUTE, origin=more * MINUTE, zone=zone) for length in (7, 15, 30, 45, 60, 90, 240) for more in (0, 13, 135)]
    found += [CalendarIntervals(days * DAY, origin=more * MINUTE, zone=zone) for days in (1, 2) for more in (0, 570, 1410)]
    found += [CalendarIntervals(7 * DAY, origin=MONDAY, zone=zone)]
    return found + [CalendarIntervals(1, True, YEAR_0 + day * DAY, more * MINUTE, zone) for day in (0, 6, 30) for more in (0, 570, -1440)]


@pytest.mark.parametrize(("zone", "first", "last"), WEEKS)
def test_intervals_are_those_of_the_definition(zone: str, first: str, last: str) -> None:
    minutes = np.arange(us(first), us(last), MINUTE)
    for intervals in lengths(zone):
        begins = starts_by_definition(intervals, minutes)
        numbers = intervals.numbers(minutes)
        assert (numbers - numbers[0]).tolist() == np.cumsum(begins).tolist(), intervals
        assert (intervals._numbers(minutes) == numbers).all(), intervals
        known = np.cumsum(begins) > 0
        assert intervals.floors(minutes)[known].tolist() == minutes[begins][np.cumsum(begins)[known] - 1].tolist(), intervals


@pytest.mark.parametrize("seed", range(3))
def test_every_instant_lies_between_the_start_of_its_interval_and_the_next(seed: int) -> None:
    choose = random.Random(seed)
    for name in choose.sample(sorted(zoneinfo.available_timezones()), 15):
        changes = zone_named(name).starts.tolist()
        instants = [choose.randrange(us("0001-01-05"), us("9999-12-25")) for _ in range(100)]
        instants += [change + more for change in choose.sample(changes, min(len(changes), 20)) for more in (-1, 0, 1)]
        at = np.sort(np.array(instants))
        for intervals in lengths(name):
            numbers = intervals.numbers(at)
            starts, ends = intervals.starts(numbers), intervals.starts(numbers + 1)
            assert ((starts <= at) & (at < ends)).all(), intervals
            assert (intervals.numbers(starts) == numbers).all(), intervals
            assert (intervals.numbers(ends - 1) == numbers).all(), intervals
            assert (np.diff(numbers) >= 0).all()


def test_months_by_numpy_and_by_hand() -> None:
    days = np.arange(us("1895-01-01"), us("1910-01-01"), 3 * DAY + 7)
    dates = days.astype("datetime64[us]")
    years = (dates.astype("datetime64[Y]").astype(int) + 1970) // 10 * 10
    decades = CalendarIntervals(120, True, YEAR_0)
    assert decades.floors(days).astype("datetime64[us]").astype("datetime64[Y]").astype(str).tolist() == [str(year) for year in years]
    fiscal = CalendarIntervals(12, True, us("2020-04-06"))
    assert {str(start)[5:10] for start in fiscal.floors(days).astype("datetime64[us]")} == {"04-06"}
    ends = CalendarIntervals(1, True, us("2023-12-31"))
    assert ends.starts(np.arange(1, 5)).astype("datetime64[us]").astype("datetime64[D]").astype(str).tolist() == [
        "2024-01-31",
        "2024-02-29",
        "2024-03-31",
        "2024-04-30",
    ]
    assert (months_of(months_later(days, 17)) == months_of(days) + 17).all()


def test_times_that_no_year_holds_stay_beyond_the_years() -> None:
    far = np.array([-(2**63), 2**63 - 1])
    for intervals in (
        CalendarIntervals(1, True, YEAR_0),
        CalendarIntervals(DAY, zone="Asia/Tokyo"),
        CalendarIntervals(1, True, YEAR_0, 5, "Asia/Tokyo"),
    ):
        low, high = intervals.floors(far).tolist()
        assert low < us("0001-01-01") - DAY and high >= us("10000-01-01") - DAY


def test_values_from_json_are_checked() -> None:
    with pytest.raises(InvalidArgumentError, match="length 0"):
        CalendarIntervals(0).as_read()
    with pytest.raises(InvalidArgumentError, match="no time zone"):
        CalendarIntervals(1, zone="Mars").as_read()
