"""What users of other libraries reported of days, months and hours in zones: the same programs here, and what they expected."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest

from sframe_spark import SArray, SFrame, aggregate, uniform_clock

UTC = datetime.UTC
COUNT = {"n": aggregate.COUNT()}


def instants(*texts: str) -> list[datetime.datetime]:
    return [datetime.datetime.fromisoformat(text) for text in texts]


def shown(sf: SFrame, column: str = "t") -> list[str]:
    return [value.isoformat(timespec="minutes") for value in sf[column]]


def test_days_from_summer_to_winter_time() -> None:
    # pandas-dev/pandas#24972: "Values falls after last bin"
    sf = SFrame({"t": instants("2016-11-02T00:41+00:00", "2016-11-25T01:25+00:00")})
    found = sf.resample("t", "1d", COUNT, zone="America/Chicago")
    assert len(found) == 24
    assert [shown(found)[place] for place in (0, 5, 6, -1)] == [
        "2016-11-01T00:00-05:00",
        "2016-11-06T00:00-05:00",
        "2016-11-07T00:00-06:00",
        "2016-11-24T00:00-06:00",
    ]
    # pandas-dev/pandas#15549: the same for half days whose end is in them
    far = SFrame({"t": instants("2015-12-15T00:00+00:00", "2016-09-17T00:00+00:00")})
    halves = far.resample("t", "12h", COUNT, zone="America/Chicago", closed="right", label="right")
    assert shown(halves)[0] == "2015-12-15T00:00-06:00"
    assert shown(halves)[-1] == "2016-09-17T00:00-05:00"


def test_five_minutes_in_the_hour_that_comes_twice() -> None:
    # pandas-dev/pandas#14682: AmbiguousTimeError
    times = [datetime.datetime.fromtimestamp(second, UTC) for second in (1477786980, 1477790580)]
    found = SFrame({"t": times}).resample("t", "5min", COUNT, zone="Europe/Madrid")
    assert len(found) == 13
    assert [shown(found)[place] for place in (0, 7, 8, 12)] == [
        "2016-10-30T02:20+02:00",
        "2016-10-30T02:55+02:00",
        "2016-10-30T02:00+01:00",
        "2016-10-30T02:20+01:00",
    ]


def test_months_and_days_that_begin_in_a_gap_or_twice() -> None:
    # pandas-dev/pandas#55593: NonExistentTimeError, as summer time began at midnight on the first of October
    days = uniform_clock(datetime.datetime(2017, 9, 10, tzinfo=UTC), datetime.datetime(2017, 11, 1, tzinfo=UTC), "1d").rename({"time": "t"})
    assert shown(days.groupby_intervals("t", "1mo", zone="America/Asuncion")) == [
        "2017-09-01T00:00-04:00",
        "2017-10-01T01:00-03:00",
    ]
    # pandas-dev/pandas#25758: AmbiguousTimeError, as midnight came twice in Havana
    sf = SFrame({"t": instants("2018-11-03T12:00+00:00", "2018-11-04T05:30+00:00", "2018-11-05T12:00+00:00")})
    found = sf.groupby_intervals("t", "1d", operations=COUNT, zone="America/Havana")
    assert shown(found) == ["2018-11-03T00:00-04:00", "2018-11-04T00:00-04:00", "2018-11-05T00:00-05:00"]


def test_weeks_in_which_summer_time_begins() -> None:
    # pandas-dev/pandas#21459: that week had other sums than others
    amsterdam = ZoneInfo("Europe/Amsterdam")
    for first in (datetime.datetime(2017, 3, 4), datetime.datetime(2017, 3, 25), datetime.datetime(2017, 4, 15)):
        days = [(first + datetime.timedelta(days=day)).replace(tzinfo=amsterdam) for day in range(5)]
        found = SFrame({"t": days, "v": [11, 12, 13, 14, 15]}).groupby_intervals("t", "1w", operations={"v": aggregate.SUM("v")}, zone=amsterdam)
        assert list(found["v"]) == [23, 42]


def test_half_hours_that_end_at_a_change() -> None:
    # pandas-dev/pandas#10117: AmbiguousTimeError
    clock = uniform_clock(datetime.datetime(2014, 10, 25, 22), datetime.datetime(2014, 10, 26, 0, 30), "30min", zone="Europe/London")
    assert list(clock.rename({"time": "t"}).resample("t", "30min", COUNT, zone="Europe/London")["n"]) == [1] * 6


def test_hours_of_a_day_with_25() -> None:
    # pola-rs/polars#7434, #7418: "Ambiguous local time" in group_by_dynamic and date_range
    clock = uniform_clock(datetime.datetime(2021, 11, 7), datetime.datetime(2021, 11, 8), "1h", zone="US/Central")
    assert len(clock) == 26
    minutes = uniform_clock(datetime.datetime(2021, 11, 7, tzinfo=UTC), datetime.datetime(2021, 11, 8, tzinfo=UTC), "1min").rename({"time": "t"})
    hours = minutes.groupby_intervals("t", "1h", operations=COUNT, zone="US/Central")
    assert list(hours["n"]) == [60] * 24 + [1]
    # pola-rs/polars#12149, #7623: "is ambiguous in time zone"
    twice = SArray(instants("2022-11-06T06:10+00:00", "2022-11-06T07:10+00:00"))
    assert [value.isoformat() for value in twice.floor_time("1h", zone="America/Chicago")] == [
        "2022-11-06T01:00:00-05:00",
        "2022-11-06T01:00:00-06:00",
    ]
    # pola-rs/polars#9491: two hours that would begin in the hour that comes twice
    sydney = SArray(instants("2017-04-01T15:30+00:00", "2017-04-01T16:30+00:00", "2017-04-01T18:30+00:00"))
    assert [value.isoformat() for value in sydney.floor_time("2h", zone="Australia/Sydney")] == [
        "2017-04-02T02:00:00+11:00",
        "2017-04-02T02:00:00+11:00",
        "2017-04-02T04:00:00+10:00",
    ]


def test_hours_next_to_a_gap() -> None:
    # apache/arrow#45757: "Local time does not exist"; pola-rs/polars#25410: "is non-existent in time zone"
    sf = SFrame({"t": instants("2025-03-09T01:30-05:00", "2025-03-09T03:10-04:00")})
    found = sf.resample("t", "1h", COUNT, zone="America/New_York", label="right")
    assert shown(found) == ["2025-03-09T03:00-04:00", "2025-03-09T04:00-04:00"]


@pytest.mark.parametrize("count", [1, 3, 5, 10])
def test_years_are_twelve_months(count: int) -> None:
    # apache/arrow#46301: three years began elsewhere than 36 months
    days = SArray([datetime.datetime(1900 + 3 * year, 5, 6) for year in range(60)])
    assert list(days.floor_time(f"{count}y")) == list(days.floor_time(f"{count * 12}mo"))


def test_business_days_keep_the_zone() -> None:
    # pandas-dev/pandas#7465: the zone was lost, or a comparison failed
    sf = SFrame({"t": instants("2010-01-01T09:00-05:00", "2010-03-12T09:00-05:00")})
    moved = sf.shift_time("t", "1bd", zone="US/Eastern", holidays=[datetime.date(2010, 1, 4)])
    assert shown(moved) == ["2010-01-05T09:00-05:00", "2010-03-15T09:00-04:00"]
