"""The hybrid calendar, against Spark's own table of it, and in Arrow columns of any shape."""

from __future__ import annotations

import datetime as dt
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark
import pytest

from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError
from sframe_spark.storage.hybrid_calendar import (
    UTC,
    HybridColumns,
    days_to_gregorian,
    days_to_hybrid,
    instants_to_hybrid,
    ticks_to_gregorian,
    zone_of,
)

ALL = HybridColumns(dates=True, instants=True, unzoned=True)
# Days since 1970 that the hybrid calendar calls so, by Julian day numbers.
DAYS = {"0001-01-01": -719_164, "1000-02-28": -354_222, "1500-01-01": -171_655, "1582-10-04": -141_428, "1582-10-15": -141_427, "2024-06-30": 19_904}


def _table_of_spark() -> list[dict[str, Any]]:
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-sql-api_*.jar")
    with zipfile.ZipFile(jar) as archive:
        found: list[dict[str, Any]] = json.loads(archive.read("julian-gregorian-rebase-micros.json"))
    return found


def test_every_zone_is_as_spark_has_it() -> None:
    random = np.random.default_rng(1)
    wrong = []
    for zone in _table_of_spark():
        starts, differences = np.array(zone["switches"]), np.array(zone["diffs"])
        seconds = np.concatenate([starts, starts - 1, starts + 1, random.integers(starts[0], 0, 200)])
        seconds = seconds[seconds >= starts[0]]
        expected = seconds + differences[np.searchsorted(starts, seconds, side="right") - 1]
        if (ticks_to_gregorian(seconds * 1000, 1000, zone_of(zone["tz"])) != expected * 1000).any():
            wrong.append(zone["tz"])
    assert wrong == [] and zone_of("no zone") == zone_of("GMT+24") == UTC and zone_of("GMT-1:30").offset == -5400


def test_names_of_days_stay() -> None:
    named = np.array(list(DAYS), "datetime64[D]").astype(np.int64)
    assert days_to_gregorian(np.array(list(DAYS.values()))).tolist() == named.tolist()
    days = np.arange(-1_000_000, 0, 7)
    back = days_to_gregorian(days_to_hybrid(days))
    lacking = (days > DAYS["1582-10-04"] - 10) & (days < DAYS["1582-10-15"])
    assert (back == days)[~lacking].all() and (np.diff(days_to_hybrid(days)) >= 0).all()
    # A Julian leap day that no Gregorian year has.
    first_of_march = days_to_hybrid(np.array(["1500-03-01"], "datetime64[D]").astype(np.int64))
    assert days_to_gregorian(first_of_march - 1).astype("datetime64[D]").astype(str).tolist() == ["1500-03-01"]
    assert days_to_gregorian(first_of_march - 2).astype("datetime64[D]").astype(str).tolist() == ["1500-02-28"]


def test_columns_of_any_shape() -> None:
    day = pa.array([DAYS["1500-01-01"], None, DAYS["2024-06-30"]], pa.int32()).cast(pa.date32())
    expected = [dt.date(1500, 1, 1), None, dt.date(2024, 6, 30)]
    rows = {
        "list": (pa.ListArray.from_arrays([0, 3, 3, 3], day, mask=pa.array([False, False, True])), [expected, [], None]),
        "large list": (pa.LargeListArray.from_arrays([0, 1, 3, 3], day), [expected[:1], expected[1:], []]),
        "fixed list": (pa.FixedSizeListArray.from_arrays(day, 1), [[value] for value in expected]),
        "list view": (pa.ListViewArray.from_arrays([1, 0, 2], [2, 1, 0], day), [expected[1:], expected[:1], []]),
        "struct": (
            pa.StructArray.from_arrays([day, pa.array([1, 2, 3])], ["a", "b"], mask=pa.array([False, False, True])),
            [{"a": expected[0], "b": 1}, {"a": None, "b": 2}, None],
        ),
        "map": (
            pa.MapArray.from_arrays([0, 2, 2, 3], pa.array([DAYS["1500-01-01"], 0, 1], pa.int32()).cast(pa.date32()), day),
            [[(dt.date(1500, 1, 1), expected[0]), (dt.date(1970, 1, 1), None)], [], [(dt.date(1970, 1, 2), expected[2])]],
        ),
    }
    for name, (values, cells) in rows.items():
        for start in range(3):
            found = ALL.to_gregorian(values.slice(start), values.type)
            found.validate(full=True)
            assert found.to_pylist() == cells[start:] and found.type == values.type, name
    deep = pa.array([[[{"x": None}], None]], pa.list_(pa.list_(pa.struct([("x", pa.timestamp("ms", "UTC"))]))))
    assert ALL.to_gregorian(deep, deep.type) is deep


def test_what_is_later_is_not_copied() -> None:
    for values in (pa.array([dt.date(1582, 10, 15)]), pa.array([dt.datetime(1900, 1, 1)], pa.timestamp("us", "UTC")), pa.array([1])):
        assert ALL.to_gregorian(values, values.type) is values
    local = pa.array([dt.datetime(1, 1, 1)], pa.timestamp("us"))
    assert ALL.to_gregorian(local, local.type) is local and ALL.to_gregorian(local, pa.timestamp("ns")) is not local
    with pytest.raises(DateTimeRangeError, match="calendar"):
        ALL.to_gregorian(pa.array([-(2**63)], pa.timestamp("us", "UTC")), pa.timestamp("us", "UTC"))
    written = instants_to_hybrid(pa.array([dt.datetime(1500, 1, 1, 12), None]))
    assert ALL.to_gregorian(written, pa.timestamp("ns")).to_pylist() == [dt.datetime(1500, 1, 1, 12), None]


@pytest.mark.parametrize("day", [5, 14])
def test_days_that_the_hybrid_calendar_lacks_are_not_written_as_others(day: int) -> None:
    for values in ([dt.datetime(1582, 10, day, 23)], [dt.datetime(1400, 1, 1), dt.datetime(1582, 10, day), None]):
        with pytest.raises(InvalidArgumentError, match="October 1582"):
            instants_to_hybrid(pa.array(values))
    edges = pa.array([dt.datetime(1582, 10, 4, 23, 59), dt.datetime(1582, 10, 15)])
    assert instants_to_hybrid(edges).cast(pa.int64()).to_pylist() == [-141_427 * 86_400_000_000 - 60_000_000, -141_427 * 86_400_000_000]
