"""Months, weeks, zones, origins and offsets of intervals, clocks and shifts: rows in memory, in files and on Spark, plans, what is refused."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sframe_spark import SArray, SFrame, aggregate, config, uniform_clock
from sframe_spark.errors import DateTimeRangeError, ExecutionError
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.rewrite_laws import optimize

UTC = datetime.UTC
NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
COUNT = {"n": aggregate.COUNT(), "first": aggregate.MIN("t")}


def hours(start: datetime.datetime, count: int, step: float = 1) -> list[datetime.datetime]:
    """Instants of UTC, some hours apart."""
    return [start.astimezone(UTC) + datetime.timedelta(hours=step * index) for index in range(count)]


TIMES = [
    *hours(datetime.datetime(2024, 3, 8, 9, 30, tzinfo=NEW_YORK), 60, 1.75),
    None,
    *hours(datetime.datetime(2024, 11, 2, tzinfo=NEW_YORK), 50, 0.75),
]


def frame() -> SFrame:
    return SFrame({"t": TIMES, "k": [index % 3 for index in range(len(TIMES))], "f": [index * 0.5 for index in range(len(TIMES))]})


YEAR: dict[str, Any] = {"start": datetime.datetime(2024, 1, 1, tzinfo=UTC), "stop": datetime.datetime(2025, 1, 1, tzinfo=UTC)}


def programs() -> dict[str, Callable[[SFrame], SFrame]]:
    """Programs that use zones and calendars in every way."""
    return {
        "days": lambda sf: sf.groupby_intervals("t", "1d", operations=COUNT, zone="America/New_York"),
        "hours": lambda sf: sf.groupby_intervals("t", "1h", by="k", operations=COUNT, zone="Australia/Lord_Howe", closed="right", label="right"),
        "months": lambda sf: sf.resample("t", "1mo", COUNT, by="k", fill="forward", zone="America/New_York"),
        "half days": lambda sf: sf.resample("t", "12h", COUNT, zone="America/New_York", offset="9h30min"),
        "weeks from a Sunday": lambda sf: sf.resample("t", "1w", COUNT, origin=datetime.datetime(2024, 1, 7)),
        "quarters": lambda sf: sf.resample("t", "1q", COUNT, label="right"),
        "the same months for all keys": lambda sf: sf.resample("t", "1mo", COUNT, by="k", zone="America/New_York", **YEAR),
        "the same quarters": lambda sf: sf.resample("t", "1q", COUNT, fill="forward", label="right", **YEAR),
        "the same numbers": lambda sf: sf.resample("f", 2.5, {"n": aggregate.COUNT()}, by="k", start=-3, stop=30.5, closed="right"),
        "floats": lambda sf: sf.resample("f", 0.75, {"n": aggregate.COUNT()}, origin=0.1),
        "ints": lambda sf: sf.groupby_intervals("k", 2, operations={"n": aggregate.COUNT()}, offset=1),
        "floors": lambda sf: SFrame({"a": sf.floor_time("t", "15min", zone="Asia/Kathmandu"), "b": sf.floor_time("f", 2, origin=0.5)}),
        "zones": lambda sf: SFrame({"z": sf["t"].in_zone("Europe/Dublin"), "m": sf["t"].in_zone("Asia/Kathmandu").floor_time("1y")}),
        "shifts": lambda sf: sf.shift_time("t", "1mo", zone="America/New_York").shift_time("t", "-2bd", holidays=[datetime.date(2024, 4, 9)]),
        "clock": lambda sf: uniform_clock(datetime.datetime(2024, 1, 31), datetime.datetime(2025, 1, 1), "1mo", zone="America/New_York"),
        "ticks": lambda sf: uniform_clock(datetime.datetime(2024, 11, 2, 22), datetime.datetime(2024, 11, 3, 4), "30min", zone="America/New_York"),
    }


def rows(sf: SFrame) -> str:
    return repr([tuple(row.values()) for row in sf])


@pytest.mark.parametrize("name", list(programs()))
def test_rows_do_not_depend_on_where_and_in_which_parts_they_are_computed(name: str, tmp_path: Path) -> None:
    program = programs()[name]
    expected = rows(program(frame()))
    for segments in (1, 2, 7):
        stored = frame()
        stored.materialize(segments=segments)
        stored.save(str(tmp_path / str(segments)))
        loaded = SFrame(str(tmp_path / str(segments)))
        assert rows(program(loaded)) == expected
        with config.using(work_memory=100_000):
            found = program(loaded)
            found.materialize(segments=segments)
            assert rows(found) == expected


@pytest.mark.spark
@pytest.mark.parametrize("name", list(programs()))
def test_spark_gives_the_same_rows(name: str, spark: Any) -> None:
    program = programs()[name]
    expected = rows(program(frame()))
    with config.using(small_rows=0):
        assert rows(program(frame())) == expected
    with config.using(check="result"):
        program(frame()).materialize()


# Rows, by hand.


def test_days_have_23_and_25_hours_where_the_clock_changes() -> None:
    sf = SFrame({"t": hours(datetime.datetime(2024, 3, 9, tzinfo=NEW_YORK), 72)})
    found = sf.groupby_intervals("t", "1d", operations={"n": aggregate.COUNT()}, zone="America/New_York")
    assert [(row["t"].isoformat(), row["n"]) for row in found] == [
        ("2024-03-09T00:00:00-05:00", 24),
        ("2024-03-10T00:00:00-05:00", 23),
        ("2024-03-11T00:00:00-04:00", 24),
        ("2024-03-12T00:00:00-04:00", 1),
    ]
    autumn = SFrame({"t": hours(datetime.datetime(2024, 11, 3, tzinfo=NEW_YORK), 25)})
    assert [row["n"] for row in autumn.groupby_intervals("t", "1d", operations={"n": aggregate.COUNT()}, zone=NEW_YORK)] == [25]


def test_hours_that_the_clock_shows_twice_are_two() -> None:
    sf = SFrame({"t": hours(datetime.datetime(2024, 11, 3, tzinfo=NEW_YORK), 8, 0.5)})
    found = sf.resample("t", "1h", {"n": aggregate.COUNT()}, zone="America/New_York")
    assert [row["t"].strftime("%H%z") for row in found] == ["00-0400", "01-0400", "01-0500", "02-0500"]
    longer = sf.resample("t", "90min", {"n": aggregate.COUNT()}, zone="America/New_York")
    assert [(row["t"].strftime("%H:%M%z"), row["n"]) for row in longer] == [("00:00-0400", 3), ("01:30-0400", 5)]
    half = SFrame({"t": hours(datetime.datetime(2024, 4, 7, 1, tzinfo=LORD_HOWE), 5, 0.5)})
    found = half.groupby_intervals("t", "1h", operations={"n": aggregate.COUNT()}, zone="Australia/Lord_Howe")
    assert [(row["t"].strftime("%H:%M%z"), row["n"]) for row in found] == [("01:00+1100", 3), ("02:00+1030", 2)]


def test_a_day_that_a_zone_skipped_is_no_interval() -> None:
    sf = SFrame({"t": hours(datetime.datetime(2011, 12, 29, 12, tzinfo=ZoneInfo("Pacific/Apia")), 4, 12)})
    found = sf.resample("t", "1d", {"n": aggregate.COUNT()}, zone="Pacific/Apia")
    assert [(str(row["t"].date()), row["n"]) for row in found] == [("2011-12-29", 1), ("2011-12-31", 2), ("2012-01-01", 1)]


def test_weeks_begin_on_monday_unless_an_origin_says_otherwise() -> None:
    days = SArray([datetime.datetime(2024, 1, day) for day in range(1, 16)])
    assert {value.strftime("%a") for value in days.floor_time("1w")} == {"Mon"}
    assert {value.strftime("%a") for value in days.floor_time(datetime.timedelta(days=14))} == {"Mon"}
    assert {value.strftime("%a") for value in days.floor_time("1w", origin=datetime.date(2024, 1, 7))} == {"Sun"}
    assert {value.strftime("%a") for value in days.floor_time("1w", offset="-1d")} == {"Sun"}


def test_bars_from_half_past_nine_over_a_change_of_daylight_saving() -> None:
    open_times = [datetime.datetime(2024, 3, day, 9, 45, tzinfo=NEW_YORK) for day in (8, 11)]
    bars = SFrame({"t": open_times}).groupby_intervals("t", "1h", zone="America/New_York", offset="30min", operations={"n": aggregate.COUNT()})
    assert [row["t"].strftime("%H:%M%z") for row in bars] == ["09:30-0500", "09:30-0400"]
    same = SFrame({"t": open_times}).groupby_intervals("t", "1h", zone="America/New_York", origin=datetime.datetime(2000, 1, 1, 9, 30))
    assert [row["t"] for row in same] == [row["t"] for row in bars]


def test_ranges_of_date_times_by_months_and_by_texts() -> None:
    start = datetime.datetime(2024, 1, 31)
    assert list(SArray.date_range(start, start + datetime.timedelta(hours=12), "6h")) == [start + datetime.timedelta(hours=h) for h in (0, 6, 12)]
    months = [(day.month, day.day, day.hour) for day in SArray.date_range(start.replace(hour=5), datetime.datetime(2024, 5, 1), "1mo")]
    assert months == [(1, 31, 5), (2, 29, 5), (3, 31, 5), (4, 30, 5)]
    years = SArray.date_range(datetime.datetime(2024, 2, 29, tzinfo=UTC), datetime.datetime(2028, 2, 29, tzinfo=UTC), "1y")
    assert [(day.year, day.day) for day in years] == [(2024, 29), (2025, 28), (2026, 28), (2027, 28), (2028, 29)]
    with pytest.raises(ValueError, match="business days"):
        SArray.date_range(start, start, "1bd")
    with pytest.raises(TypeError, match=r"freq must be a datetime\.timedelta, or a text such as '1mo', not int"):
        SArray.date_range(start, start, 3)  # type: ignore[arg-type]


def test_an_origin_with_an_offset_is_an_instant() -> None:
    times = SArray([datetime.datetime(2024, 7, 1, 12, tzinfo=UTC)])
    assert str(times.floor_time("1d", origin=datetime.datetime(2024, 1, 1, 5, tzinfo=UTC), zone="America/New_York")[0]) == "2024-07-01 00:00:00-04:00"
    assert str(times.floor_time("1d", origin=datetime.datetime(2024, 1, 1, 5, tzinfo=UTC))[0]) == "2024-07-01 05:00:00+00:00"
    assert str(times.floor_time("1d", origin=datetime.datetime(2024, 1, 1, 5))[0]) == "2024-07-01 05:00:00+00:00"


def test_floors_of_numbers() -> None:
    assert list(SArray([7, -1, None, 2**63 - 1]).floor_time(5)) == [5, -5, None, 2**63 - 3]
    assert list(SArray([7, -1]).floor_time(5, origin=1)) == [6, -4]
    assert repr(list(SArray([0.3, -0.0, math.nan, math.inf, None]).floor_time(0.1))) == repr([0.2, 0.0, math.nan, math.inf, None])
    assert list(SArray([3, 4]).floor_time(1.5, offset=0.25)) == [1.75, 3.25]
    with pytest.raises(ExecutionError, match="does not fit 64 bits"):
        list(SArray([-(2**63)]).floor_time(10))


def test_values_without_offsets_that_a_function_gave() -> None:
    local = SArray([1, 2]).apply(lambda day: datetime.datetime(2024, 7, day), dtype=datetime.datetime)
    assert [str(value) for value in local.from_zone("Asia/Tokyo")] == ["2024-07-01 00:00:00+09:00", "2024-07-02 00:00:00+09:00"]
    with pytest.raises(ExecutionError, match="some have one: in_zone"):
        list(local.from_zone("Asia/Tokyo").from_zone("Asia/Tokyo"))


def test_seconds_of_old_offsets() -> None:
    # New York was 4:56:02 behind until November 1883; columns keep whole minutes, rounded down, and the exact instant.
    old = SArray([datetime.datetime(1850, 1, 1)]).from_zone("America/New_York")
    assert str(old[0]) == "1849-12-31 23:59:02-04:57"
    assert old[0].astimezone(UTC) == datetime.datetime(1850, 1, 1, 4, 56, 2, tzinfo=UTC)


def test_skipped_and_repeated_times() -> None:
    skipped, repeated = SArray([None, datetime.datetime(2024, 3, 10, 2, 30)]), SArray([datetime.datetime(2024, 11, 3, 1, 30)])
    with pytest.raises(ExecutionError, match=r"2024-03-10T02:30:00\.000000 is a time that the clock in America/New_York skips"):
        list(skipped.from_zone("America/New_York", ambiguous="earlier"))
    with pytest.raises(ExecutionError, match="shows twice"):
        list(repeated.from_zone("America/New_York", nonexistent="missing"))
    assert [str(value) for value in skipped.from_zone("America/New_York", nonexistent="forward")] == ["None", "2024-03-10 03:00:00-04:00"]
    assert list(skipped.from_zone("America/New_York", nonexistent="missing")) == [None, None]
    assert list(repeated.from_zone("America/New_York", ambiguous="missing")) == [None]


@pytest.mark.parametrize(
    ("start", "duration", "options", "expected"),
    [
        ("2024-11-02T01:30-04:00", "1d", {"zone": "America/New_York"}, "2024-11-03T01:30-04:00"),
        ("2024-11-04T01:30-05:00", "-1d", {"zone": "America/New_York"}, "2024-11-03T01:30-05:00"),
        ("2024-11-02T01:30-04:00", "24h", {"zone": "America/New_York"}, "2024-11-03T01:30-04:00"),
        ("2024-11-02T12:00-04:00", datetime.timedelta(days=1), {"zone": "America/New_York"}, "2024-11-03T11:00-05:00"),
        ("2024-03-09T02:30-05:00", "1d", {"zone": "America/New_York"}, "2024-03-10T03:00-04:00"),
        ("2024-03-09T12:00-05:00", "1d", {}, "2024-03-10T12:00-05:00"),
        ("2024-01-31T12:00+05:30", "1mo", {}, "2024-02-29T12:00+05:30"),
        ("2024-03-31T12:00+02:00", "-1mo 12h", {"zone": "Europe/Berlin"}, "2024-02-29T00:00+01:00"),
        ("2024-02-29T12:00+00:00", "1y", {}, "2025-02-28T12:00+00:00"),
        ("2024-05-31T12:00+00:00", "1me", {}, "2024-06-30T12:00+00:00"),
        ("2024-05-30T12:00+00:00", "-1me", {}, "2024-04-30T12:00+00:00"),
        ("2024-03-29T12:00+00:00", "1bd", {"holidays": [datetime.date(2024, 4, 1)]}, "2024-04-02T12:00+00:00"),
        ("2024-03-30T12:00+00:00", "0bd", {"holidays": SArray([datetime.datetime(2024, 4, 1)])}, "2024-04-02T12:00+00:00"),
    ],
)
def test_shifts(start: str, duration: Any, options: dict[str, Any], expected: str) -> None:
    sf = SFrame({"t": [datetime.datetime.fromisoformat(start), None]})
    assert [value and value.isoformat(timespec="minutes") for value in sf.shift_time("t", duration, **options)["t"]] == [expected, None]


def test_clocks() -> None:
    def clock(*arguments: Any, **options: Any) -> list[str]:
        return [value.isoformat(timespec="minutes") for value in uniform_clock(*arguments, **options)["time"]]

    day = datetime.datetime(2024, 3, 9, 2, 30)
    assert clock(day, datetime.datetime(2024, 3, 11, 12), "1d", zone="America/New_York") == [
        "2024-03-09T02:30-05:00",
        "2024-03-10T03:00-04:00",
        "2024-03-11T02:30-04:00",
    ]
    east = datetime.timezone(datetime.timedelta(hours=1))
    start = datetime.datetime(2024, 1, 31, tzinfo=east)
    assert clock(start, start.replace(month=4, day=1), "1mo") == ["2024-01-31T00:00+01:00", "2024-02-29T00:00+01:00", "2024-03-31T00:00+01:00"]
    assert clock(datetime.datetime(2024, 1, 3), datetime.datetime(2024, 1, 20), "1w", origin=datetime.datetime(2020, 1, 5)) == [
        "2024-01-07T00:00",
        "2024-01-14T00:00",
    ]
    assert list(uniform_clock(0, 10, 4, origin=3)["time"]) == [3, 7]
    assert list(uniform_clock(0, 2, 5, origin=3)["time"]) == []
    assert list(uniform_clock(0, 1.0, 0.25, offset=0.1)["time"]) == [0.1, 0.35, 0.6, 0.85]
    with pytest.raises(DateTimeRangeError, match="outside the years 1 to 9999"):
        uniform_clock(
            datetime.datetime(9999, 12, 31, 23, tzinfo=UTC), datetime.datetime(9999, 12, 31, 23, 30, tzinfo=UTC), "10min", zone="Asia/Tokyo"
        )["time"].materialize()


@pytest.mark.parametrize("fill", ["missing", "forward"])
@pytest.mark.parametrize(("closed", "label"), [("left", "left"), ("right", "left"), ("left", "right")])
@pytest.mark.parametrize(("start", "stop"), [(-5, 30), (None, 31), (10, None), (12, 13), (0, 100), (2.5, 9.5), (-(10**3), 30)])
def test_the_same_intervals_for_all_keys(start: Any, stop: Any, closed: str, label: str, fill: str) -> None:
    times, keys = [1, 9, None, 10, 35, 20], ["a", "b", "a", "a", "b", None]
    sf = SFrame({"t": times, "k": keys, "v": range(6)})
    found = sf.resample("t", 10, {"v": aggregate.CONCAT("v")}, by="k", fill=fill, closed=closed, label=label, start=start, stop=stop)
    held: dict[Any, dict[int, list[int]]] = {}
    for number, (time, key) in enumerate(zip(times, keys, strict=True)):
        place = None if time is None else time // 10 if closed == "left" else -(-time // 10) - 1
        if place is not None and (start is None or place >= start // 10) and (stop is None or place * 10 < stop):
            held.setdefault(key, {}).setdefault(place, []).append(number)
    expected = []
    for key, places in held.items():
        last = max(places) if stop is None else math.ceil(stop / 10) - 1
        before = None
        for place in range(min(places) if start is None else int(start // 10), last + 1):
            before = places.get(place, before if fill == "forward" else None)
            expected.append((10 * (place + (label == "right")), key, before))
    expected.sort(key=lambda row: (row[0], row[1] is not None, row[1] or ""))
    assert [tuple(row.values()) for row in found] == expected


def test_the_same_intervals_without_rows() -> None:
    nothing = SFrame({"t": SArray([], datetime.datetime), "k": SArray([], str)})
    months = {"start": datetime.datetime(2024, 1, 15), "stop": datetime.datetime(2024, 4, 1)}
    found = nothing.resample("t", "1mo", {"n": aggregate.COUNT()}, **months)
    assert [(row["t"].month, row["n"]) for row in found] == [(1, None), (2, None), (3, None)]
    assert len(nothing.resample("t", "1mo", {"n": aggregate.COUNT()}, by="k", **months)) == 0


def test_bounds_in_a_zone_and_their_offsets() -> None:
    sf = SFrame({"t": [datetime.datetime(2024, 3, 9, 12, tzinfo=UTC)]})
    days = {"start": datetime.datetime(2024, 3, 9), "stop": datetime.datetime(2024, 3, 12)}
    found = sf.resample("t", "1d", {"n": aggregate.COUNT()}, zone="America/New_York", **days)
    assert [(str(row["t"]), row["n"]) for row in found] == [
        ("2024-03-09 00:00:00-05:00", 1),
        ("2024-03-10 00:00:00-05:00", None),
        ("2024-03-11 00:00:00-04:00", None),
    ]


def test_empty_and_missing() -> None:
    nothing = SFrame({"t": SArray([], datetime.datetime), "v": SArray([], int)})
    assert len(nothing.resample("t", "1mo", {"n": aggregate.COUNT()})) == 0
    assert list(SArray([None, None], datetime.datetime).floor_time("1mo")) == [None, None]
    assert list(SArray([None, None], datetime.datetime).from_zone("Asia/Tokyo")) == [None, None]


# Plans: what is in order of time stays so.


def operators_of(sf: SFrame) -> list[str]:
    return [node.operator.name for node in postorder([optimize(sf._node)])]


def test_no_sort_where_the_frame_is_in_order_of_time(tmp_path: Path) -> None:
    frame().dropna().sort("t").save(str(tmp_path / "sorted"))
    sf = SFrame(str(tmp_path / "sorted"))
    sf["month"] = sf.floor_time("t", "1mo", zone="America/New_York")
    sf["tokyo"] = sf["t"].in_zone("Asia/Tokyo")
    local = SFrame({"t": [datetime.datetime(2024, 1, day) for day in range(1, 29)]}).sort("t")
    local.save(str(tmp_path / "local"))
    local = SFrame(str(tmp_path / "local"))
    local["at"] = local["t"].from_zone("America/New_York", ambiguous="later", nonexistent="forward")
    for program in (
        sf.groupby_cycles("month", operations=COUNT),
        sf.sort("month"),
        sf.sort("tokyo"),
        sf.groupby_intervals("t", "1d", operations=COUNT, zone="Europe/Dublin", offset="9h"),
        sf.resample("t", "1mo", COUNT, zone="Europe/Dublin", fill="forward"),
        sf.resample("t", "1mo", COUNT, zone="Europe/Dublin", **YEAR).sort("t"),
        local.sort("at"),
    ):
        assert not [name for name in operators_of(program) if "sort" in name]
    local["perhaps"] = local["t"].from_zone("America/New_York", ambiguous="missing")
    assert [name for name in operators_of(local.sort("perhaps")) if "sort" in name]


# What is refused, before work begins.


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda sf: sf.groupby_intervals("t", "1d", zone="America/New_Yrok"), ValueError, "did you mean 'America/New_York'"),
        (lambda sf: sf.groupby_intervals("t", "1d", zone=3), TypeError, "zone is the name of a time zone"),
        (lambda sf: sf.groupby_intervals("k", 1, zone="UTC"), TypeError, "zone= is for date-times, but column 'k' is of type int"),
        (lambda sf: sf.groupby_intervals("k", "1mo"), TypeError, "a key of type int takes a number, got '1mo'"),
        (lambda sf: sf.resample("local", "1d", zone="UTC"), TypeError, "those of column 'local' have none"),
        (lambda sf: sf.resample("t", "1mo2d"), ValueError, "neither a number of whole months nor a fixed length"),
        (lambda sf: sf.resample("t", "0.5mo"), ValueError, "neither a number of whole months"),
        (lambda sf: sf.resample("t", "-1mo"), ValueError, "above zero"),
        (lambda sf: sf.resample("t", "20000y"), ValueError, "at most 10,000 years"),
        (lambda sf: sf.floor_time("t", "1d", origin=3), TypeError, "origin= must be a date-time, as column 't' is, got 3"),
        (lambda sf: sf.floor_time("k", 2, origin=datetime.datetime(2024, 1, 1)), TypeError, "origin= must be a number"),
        (lambda sf: sf.floor_time("local", "1d", origin=datetime.datetime(2024, 1, 1, tzinfo=UTC)), TypeError, "origin= has an offset from UTC"),
        (lambda sf: sf.floor_time("t", "1d", offset=3), TypeError, "offset: a key of type datetime takes"),
        (lambda sf: sf.floor_time("t", "1d", offset="1mo"), ValueError, "offset: 'mo' in '1mo' has no fixed length"),
        (lambda sf: sf.groupby_intervals("t", clock=uniform_clock(1, 2, 1), zone="UTC"), ValueError, "zone= can only be used with every="),
        (lambda sf: sf.resample("t", "1d", start=3), TypeError, "start= must be a date-time"),
        (lambda sf: sf.resample("k", 1, stop=datetime.datetime(2024, 1, 1)), TypeError, "stop= must be a number"),
        (lambda sf: sf.resample("local", "1d", start=datetime.datetime(2024, 1, 1, tzinfo=UTC)), TypeError, "start= has an offset"),
        (lambda sf: sf.resample("k", 1, start=3, stop=3), ValueError, "stop= must be after start="),
        (lambda sf: sf.resample("local", "1d", stop=datetime.datetime(9999, 12, 31, 1)), OverflowError, "outside the years"),
        (lambda sf: sf["k"].in_zone("UTC"), TypeError, r"in_zone\(\) takes date-times"),
        (lambda sf: sf["local"].in_zone("UTC"), TypeError, r"from_zone\(zone\) gives them"),
        (lambda sf: sf["k"].from_zone("UTC"), TypeError, r"from_zone\(\) takes date-times"),
        (lambda sf: sf["local"].from_zone("UTC", ambiguous="raise"), ValueError, "ambiguous must be one of 'error', 'earlier'"),
        (lambda sf: sf["local"].from_zone("UTC", nonexistent="backward"), ValueError, "nonexistent must be one of"),
        (lambda sf: sf.shift_time("t", "1bd", holidays="2024-01-01"), TypeError, "holidays must be a list or a column of dates"),
        (lambda sf: sf.shift_time("t", "1bd", holidays=[3]), TypeError, "holidays must be a list of dates, but it contains 3"),
        (lambda sf: sf.shift_time("t", "1d", holidays=[]), ValueError, "holidays need business days"),
        (lambda sf: sf.shift_time("k", 1, zone="UTC"), TypeError, "zone= is for date-times"),
        (lambda sf: sf.shift_time("local", "1d", zone="UTC"), TypeError, "those of column 'local' have none"),
        (lambda sf: sf.shift_time("t", "1.5mo"), ValueError, "not a whole number of months"),
        (lambda sf: sf.shift_time("t", "1000000y"), ValueError, "leads beyond the years 1 to 9999"),
        (lambda sf: sf.window("t", COUNT, before="1mo"), ValueError, "no fixed length"),
    ],
)
def test_refused(call: Callable[[SFrame], Any], error: type[Exception], text: str) -> None:
    sf = SFrame({"t": [datetime.datetime(2024, 1, 1, tzinfo=UTC)], "local": [datetime.datetime(2024, 1, 1)], "k": [1]})
    with pytest.raises(error, match=text):
        call(sf)


def test_moved_out_of_the_years() -> None:
    sf = SFrame({"t": [datetime.datetime(9999, 12, 31), datetime.datetime(1, 1, 1)]})
    for duration in ("1mo", "-1mo", "1bd", "-1me"):
        with pytest.raises(DateTimeRangeError, match="outside the years 1 to 9999"):
            list(sf.shift_time("t", duration)["t"])
    with pytest.raises(DateTimeRangeError, match="outside the years 1 to 9999"):
        list(sf["t"].floor_time("7mo"))
    with pytest.raises(DateTimeRangeError, match=r"interval of 7 month\(s\)"):
        list(sf.groupby_intervals("t", "7mo"))
