"""Months, weeks, days and zones give what pandas and Polars gave, which is recorded; what differs on purpose is named."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate
from tests.calendar_peers import BY_POLARS, FILE, FLOORS, ZONES

PEERS = json.loads(FILE.read_text())
MOMENTS = PEERS["moments"]
UTC = datetime.UTC
INSTANTS = [datetime.datetime.fromtimestamp(moment, UTC) for moment in MOMENTS]
LOCAL = [instant.replace(tzinfo=None) for instant in INSTANTS]


def seconds(column: SArray) -> list[int | None]:
    """Date-times as seconds since 1970; those without offsets as if they were UTC."""
    return [None if value is None else int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()) for value in column]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("every", FLOORS)
def test_floors_of_polars(every: str, zone: str) -> None:
    found = seconds(SArray(INSTANTS).floor_time(every.replace("15m", "15min"), zone=zone))
    expected = PEERS["polars"][f"floor {every} {zone}"]
    differing = {index for index, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b}
    if (every, zone) != ("1h", "Australia/Lord_Howe"):
        assert not differing
    # Clocks go back by half an hour there: one hour has 90 minutes here.
    assert len(differing) <= 4


@pytest.mark.parametrize("zone", ZONES)
def test_zones_of_polars(zone: str) -> None:
    assert [value.replace(tzinfo=UTC).timestamp() for value in SArray(INSTANTS).in_zone(zone)] == PEERS["polars"][f"offset {zone}"]
    for which in ("earlier", "later", "missing"):
        found = SArray(LOCAL).from_zone(zone, ambiguous=which, nonexistent="missing")
        assert seconds(found) == PEERS["polars"][f"from {which} {zone}"]


@pytest.mark.parametrize("by", BY_POLARS)
def test_shifts_of_polars(by: str) -> None:
    assert seconds(SFrame({"t": LOCAL}).shift_time("t", by)["t"]) == PEERS["polars"][f"shift {by}"]


def test_month_ends_of_polars() -> None:
    assert seconds(SFrame({"t": LOCAL}).shift_time("t", "0me")["t"]) == PEERS["polars"]["month end"]


@pytest.mark.parametrize("count", [-3, -1, 0, 1, 2, 40])
def test_offsets_of_pandas(count: int) -> None:
    frame = SFrame({"t": LOCAL})
    assert seconds(frame.shift_time("t", f"{count}bd")["t"]) == PEERS["pandas"][f"business days {count}"]
    holidays = [datetime.date(2024, 1, 31), datetime.date(2024, 4, 1), datetime.date(2024, 11, 4)]
    assert seconds(frame.shift_time("t", f"{count}bd", holidays=holidays)["t"]) == PEERS["pandas"][f"business days {count} without"]
    assert seconds(frame.shift_time("t", f"{count}me")["t"]) == PEERS["pandas"][f"month ends {count}"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("D", {"every": "1d"}),
        ("MS", {"every": "1mo"}),
        ("QS", {"every": "1q"}),
        ("YS", {"every": "1y"}),
        ("W-MON", {"every": "1w"}),
    ],
)
def test_resampling_of_pandas(rule: str, options: dict[str, Any], zone: str) -> None:
    found = SFrame({"t": INSTANTS}).groupby_intervals("t", operations={"n": aggregate.COUNT()}, zone=zone, **options)
    assert [[int(row["t"].timestamp()), row["n"]] for row in found] == PEERS["pandas"][f"resample {rule} {zone}"]


@pytest.mark.parametrize("offset", ["9h30min", "-6h"])
def test_days_of_pandas_that_begin_at_another_hour(offset: str) -> None:
    found = SFrame({"t": LOCAL}).groupby_intervals("t", "1d", operations={"n": aggregate.COUNT()}, offset=offset)
    assert [[int(row["t"].replace(tzinfo=UTC).timestamp()), row["n"]] for row in found] == PEERS["pandas"][f"resample D {offset}"]
