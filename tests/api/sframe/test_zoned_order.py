"""Date-times with offsets are in order by their instants: recorded, known, and used by sorts, filters, as-of joins, windows and merges."""

from __future__ import annotations

import datetime
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import sframe_spark as tc
from sframe_spark import aggregate as agg
from sframe_spark.storage.segments.column_statistics_collection import column_statistics, merge
from sframe_spark.types import ZONED_DATETIME
from sframe_spark.values.python_to_arrow import encode
from tests.execution import executed
from tests.opened_files import watch_opened_files

START = datetime.datetime(2024, 3, 31, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def at(minutes: int, hours_east: int = 0) -> datetime.datetime:
    """An instant so many minutes after the start, written at an offset."""
    return (START + datetime.timedelta(minutes=minutes)).astimezone(datetime.timezone(datetime.timedelta(hours=hours_east)))


def instant(value: datetime.datetime | None) -> Any:
    """Place of a date-time in the order, missing first."""
    return (0, EPOCH) if value is None else (1, value.astimezone(datetime.UTC))


TIMES = st.lists(st.one_of(st.none(), st.builds(at, st.integers(0, 3), st.sampled_from([-5, 0, 2]))), max_size=6)


@given(TIMES, st.booleans(), st.integers(0, 6))
def test_statistics_are_those_of_the_instants(values: list[Any], in_order: bool, cut: int) -> None:
    values = sorted(values, key=instant) if in_order else values
    parts = [part for part in (values[:cut], values[cut:]) if part]
    facts = merge([column_statistics(encode(part, ZONED_DATETIME), ZONED_DATETIME) for part in parts])
    if not values:
        return
    places = [instant(value) for value in values]
    pairs = list(itertools.pairwise(places))
    assert (facts.ascending, facts.descending) == (all(a <= b for a, b in pairs), all(a >= b for a, b in pairs))
    assert (facts.strictly_ascending, facts.strictly_descending) == (all(a < b for a, b in pairs), all(a > b for a, b in pairs))
    assert facts.has_missing == (None in values)
    there = [(value - EPOCH) // MICROSECOND for value in values if value is not None]
    assert (facts.minimum, facts.maximum) == (min(there, default=None), max(there, default=None))
    assert facts.first == (None if values[0] is None else (values[0] - EPOCH) // MICROSECOND)


def frame(rows: int) -> tc.SFrame:
    """Rows in order of time, offsets in turn, every third instant twice at two offsets."""
    minutes = [i - (i % 3 == 1) for i in range(rows)]
    return tc.SFrame({"t": [at(m, (0, 2, -5)[i % 3]) for i, m in enumerate(minutes)], "v": list(range(rows))})[["t", "v"]]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> str:
    """The frame, saved in four segments."""
    place = str(tmp_path_factory.mktemp("zoned") / "frame")
    with tc.config.using(small_rows=0, default_segments=4):
        source = frame(2_000)
        source[source["v"] >= 0].save(place)
    return place


@pytest.mark.spark
def test_the_recorded_order_is_used(saved: str, everything_on_spark: None) -> None:
    sf = tc.load_sframe(saved)
    assert sf.is_sorted("t")
    assert not sf.is_sorted(["t", "v"], ascending=False)
    other = sf[sf["v"] % 5 == 0]
    other.materialize()
    every = {"n": agg.COUNT(), "s": agg.SUM("v")}
    programs = {
        "sort": sf.sort("t"),
        "backwards": sf.sort([("t", False), ("v", True)]),
        "as-of join": sf.asof_join(other[["t", "v"]], on="t", tolerance="3min"),
        "window": sf.window("t", every, before="10min"),
        "cycles": sf.groupby_cycles("t", operations=every),
        "merge": sf.merge_sorted(other, on="t"),
        "range": sf[(sf["t"] >= at(700)) & (sf["t"] < at(710, 2))],
    }
    for place, (name, program) in enumerate(programs.items()):
        columns, log = executed(program)
        assert not [line for line in log if line.startswith("query")], (name, log)
        # The naive plans are Spark's: every second of them.
        assert place % 2 or columns == executed(program, naive=True)[0], name
    assert list(zip(*columns, strict=True)) == [(row["t"], row["v"]) for row in frame(2_000) if at(700) <= row["t"] < at(710)]


@pytest.mark.spark
def test_a_point_and_a_range_open_one_segment(saved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = watch_opened_files(monkeypatch)
    sf = tc.load_sframe(saved)
    assert [row["v"] for row in sf[sf["t"] == at(603, -5)]] == [603, 604]
    assert len(set(opened)) == 1
    assert sf["t"].min() == at(0)
    assert sf["t"].max() == at(1_998)
    # Of the two at this instant the first.
    assert sf["t"].max().utcoffset() == datetime.timedelta(0)


def test_ties_keep_their_places_and_their_offsets() -> None:
    sf = tc.SFrame({"t": [at(5, 2), at(5), None, at(4, -5), at(5, -5)], "v": [0, 1, 2, 3, 4]})
    for ascending, wanted in ((True, [2, 3, 0, 1, 4]), (False, [0, 1, 4, 3, 2])):
        ordered = sf.sort("t", ascending=ascending)
        assert list(ordered["v"]) == wanted
        assert [value and value.utcoffset() for value in ordered["t"]] == [
            value and value.utcoffset() for value in (list(sf["t"])[i] for i in wanted)
        ]
        ordered.materialize()
        assert list(ordered.sort("t", ascending=not ascending)["v"]) == ([0, 1, 4, 3, 2] if ascending else [2, 3, 0, 1, 4])


@pytest.mark.spark
@pytest.mark.parametrize("small_rows", [0, 262_144])
def test_groups_of_one_instant_at_several_offsets_tie(spark: Any, small_rows: int) -> None:
    with tc.config.using(small_rows=small_rows, single_task_rows=0):
        sf = tc.SFrame({"t": [at(5, 2), at(5), at(4, 2), at(5, 2)], "k": [1, 2, 3, 4]})
        groups = sf.groupby("t", {"n": agg.MAX("k")})
        assert [(row["t"].utcoffset() // datetime.timedelta(hours=1), row["n"]) for row in groups] == [(2, 3), (0, 2), (2, 4)]
        assert list(groups.sort([("t", True), ("n", False)])["n"]) == [3, 4, 2]
        assert not groups.is_sorted([("t", True), ("n", False)])


@pytest.mark.spark
def test_files_written_by_spark_tell_bounds_of_instants(spark: Any, tmp_path: Path) -> None:
    with tc.config.using(small_rows=0, single_task_rows=0):
        sf = frame(300)
        sf["k"] = sf["v"] * 7 % 300
        ordered = sf.sort("k")
        ordered.save(str(tmp_path / "mixed"))
        loaded = tc.load_sframe(str(tmp_path / "mixed"))
        wanted = sorted(v for t, v in zip(sf["t"], sf["v"], strict=True) if t == at(30))
        assert sorted(loaded[loaded["t"] == at(30, 2)]["v"]) == wanted
        assert len(loaded[loaded["t"] > at(10_000)]) == 0


def test_a_missing_struct_is_missing() -> None:
    instants = pa.array(np.array([3, 9]), pa.int64()).view(pa.timestamp("us"))
    column = pa.StructArray.from_arrays([instants, pa.array([0, 0], pa.int32())], ["instant", "offset"], mask=pa.array([False, True]))
    facts = column_statistics(column, ZONED_DATETIME)
    assert (facts.has_missing, facts.maximum, facts.last, facts.descending) == (True, 3, None, True)
