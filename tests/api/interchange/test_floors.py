"""What columns do not hold of date-times is rounded down by every door: nanoseconds before 1970, and seconds of offsets from UTC."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import LostNanosecondsWarning
from tests.needs import needs

LAST = -86_400 * 10**9 - 1
"""The last nanosecond of 1969-12-30."""
KEPT = datetime.datetime(1969, 12, 30, 23, 59, 59, 999999)
NAIVE, MOMENT = pa.timestamp("ns"), pa.timestamp("ns", "UTC")
OF_PANDAS = np.array([LAST], "datetime64[ns]")

DOORS: dict[str, Callable[[], Any]] = {
    "Arrow": lambda: SArray(pa.array([LAST], NAIVE)),
    "Arrow, UTC": lambda: SFrame(pa.table({"x": pa.array([LAST], MOMENT)}))["x"],
    "a dictionary": lambda: SArray(pa.array([LAST], NAIVE).dictionary_encode()),
    "a list": lambda: SArray(pa.array([[LAST]], pa.list_(NAIVE)))[0],
    "a list view": lambda: SArray(pa.array([[LAST]], pa.list_view(NAIVE)))[0],
    "a struct": lambda: [SArray(pa.array([{"a": LAST, "b": "x"}], pa.struct([("a", NAIVE), ("b", pa.string())])))[0]["a"]],
    "numpy": lambda: SArray(OF_PANDAS),
    "numpy, ten nanoseconds": lambda: SArray(np.array([LAST // 10], "datetime64[10ns]")),
    "numpy, one by one": lambda: SArray([np.datetime64(LAST, "ns")]),
    "pandas": lambda: SFrame(pd.DataFrame({"x": OF_PANDAS}))["x"],
    "pandas, naive": lambda: SFrame.from_pandas(pd.DataFrame({"x": OF_PANDAS}), naive=True)["x"],
    "pandas, one by one": lambda: SArray([pd.Timestamp(LAST)]),
    "polars": lambda: SFrame(pl.DataFrame({"x": pl.Series([LAST]).cast(pl.Datetime("ns"))}))["x"],
    "DuckDB": lambda: SFrame(duckdb.sql("select TIMESTAMP_NS '1969-12-30 23:59:59.999999999' x"))["x"],
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.filterwarnings("ignore::sframe_spark.errors.LostNanosecondsWarning")
def test_nanoseconds_before_1970(door: str) -> None:
    assert [moment.replace(tzinfo=None) for moment in DOORS[door]()] == [KEPT]


@pytest.mark.parametrize("int96", [False, pytest.param(True, marks=needs("pyarrow>=23"))])
def test_nanoseconds_in_parquet_files(int96: bool, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([LAST], NAIVE)}), tmp_path / "x.parquet", use_deprecated_int96_timestamps=int96)
    frame = SFrame.read_parquet(str(tmp_path / "x.parquet")) if int96 else _told(lambda: SFrame.read_parquet(str(tmp_path / "x.parquet")))
    assert [moment.replace(tzinfo=None) for moment in frame["x"]] == [KEPT]


def test_nanoseconds_in_orc_files(tmp_path: Path) -> None:
    pyarrow.orc.write_table(pa.table({"x": pa.array([LAST], NAIVE)}), str(tmp_path / "x.orc"))
    assert list(_told(lambda: SFrame.read_orc(str(tmp_path / "x.orc")))["x"]) == [KEPT]


def _told(read: Callable[[], SFrame]) -> SFrame:
    with pytest.warns(LostNanosecondsWarning):
        return read()


# Zones with seconds in their offset, and a time when they had them.
ZONES = {"Africa/Monrovia": 1950, "Europe/Dublin": 1900, "Europe/Amsterdam": 1920, "America/New_York": 1800}


def _doors_of_zones(zone: str, year: int) -> dict[str, Callable[[], Any]]:
    utc = datetime.datetime(year, 1, 1, 12, tzinfo=datetime.UTC)
    ticks = (utc - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1)
    there = utc.astimezone(zoneinfo.ZoneInfo(zone))
    series = pd.Series([utc]).dt.tz_convert(zone)
    return {
        "a list": lambda: SArray([there]),
        "Arrow": lambda: SArray(pa.array([ticks], pa.timestamp("us", zone))),
        "Arrow, nanoseconds or seconds": lambda: SArray(pa.array([ticks // 10**6], pa.timestamp("s", zone))),
        "a fixed offset": lambda: SArray([utc.astimezone(datetime.timezone(there.utcoffset()))]),
        "pandas": lambda: SFrame(pd.DataFrame({"x": series}))["x"],
        "pandas, zoneinfo": lambda: SArray(series.dt.tz_convert(zoneinfo.ZoneInfo(zone))),
        "pandas, a fixed offset": lambda: SArray(series.dt.tz_convert(datetime.timezone(there.utcoffset()))),
        "pandas, objects": lambda: SArray(series.astype(object)),
        "pandas, one by one": lambda: SArray([series[0]]),
        "polars": lambda: SFrame(pl.DataFrame({"x": [utc]}).with_columns(pl.col("x").dt.convert_time_zone(zone)))["x"],
        "a nested list": lambda: SArray([SArray([[there, "x"]])[0][0]]),
        "a function": lambda: SArray([1]).apply(lambda _: there),
    }


@pytest.mark.parametrize(("zone", "year"), ZONES.items())
def test_one_instant_has_one_offset(zone: str, year: int) -> None:
    columns = {door: make() for door, make in _doors_of_zones(zone, year).items()}
    offsets = {door: column[0].utcoffset() for door, column in columns.items()}
    exact = datetime.datetime(year, 1, 1, 12, tzinfo=datetime.UTC).astimezone(zoneinfo.ZoneInfo(zone)).utcoffset()
    assert exact is not None and set(offsets.values()) == {exact // datetime.timedelta(minutes=1) * datetime.timedelta(minutes=1)}, offsets
    first, *others = columns.values()
    for other in others:
        assert len(first.append(other).unique()) == 1 and list(first == other) == [1]
        assert SFrame({"t": first}).join(SFrame({"t": other, "n": [1]}), on="t").num_rows() == 1


class NamedZone(datetime.tzinfo):
    """A zone of a user's, with a name where those of pytz have theirs, and one offset."""

    def __init__(self, zone: Any, hours: float) -> None:
        self.zone, self._offset = zone, datetime.timedelta(hours=hours)

    def utcoffset(self, moment: datetime.datetime | None) -> datetime.timedelta:
        return self._offset

    def dst(self, moment: datetime.datetime | None) -> None:
        return None

    def tzname(self, moment: datetime.datetime | None) -> str:
        return "its own"


@pytest.mark.parametrize("zone", ["Europe/Paris", "none of them", "", 5, ("a",), None])
@pytest.mark.parametrize("year", [1900, 1950, 1980])
def test_the_clock_shows_what_a_date_time_says_whatever_its_zone_is_called(zone: Any, year: int) -> None:
    moment = datetime.datetime(year, 1, 1, 12, tzinfo=NamedZone(zone, 3))
    for column in (SArray([moment]), SArray([[moment, "x"]]).apply(lambda cell: cell[0]), SArray([1]).apply(lambda _: moment)):
        assert [found.isoformat() for found in column] == [moment.isoformat()]


def test_a_date_time_with_the_first_offset_of_a_zone_keeps_it() -> None:
    # What pytz gives to datetime(..., tzinfo=timezone("Europe/Dublin")), for any year.
    moment = datetime.datetime(1950, 1, 1, 12, tzinfo=pytest.importorskip("pytz").timezone("Europe/Dublin"))
    assert [found.isoformat() for found in SArray([moment])] == ["1950-01-01T12:00:00-00:25"]
