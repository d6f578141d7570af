"""What ``explain(why=True)`` says of real programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sframe_spark as tc
from sframe_spark import SArray, SFrame, aggregate as agg
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.segments.writer import SegmentWriter
from sframe_spark.types import INT

ROWS = 400


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A frame saved in order of ``t``, with ties."""
    directory: Path = tmp_path_factory.mktemp("reasons") / "by_time"
    number = np.arange(ROWS)
    SFrame({"t": number // 3, "v": (number * 79) % ROWS * 0.5, "k": number % 7}).save(str(directory))
    return str(directory)


@pytest.fixture(autouse=True)
def nothing_is_small() -> Iterator[None]:
    """Plans are those for many rows."""
    with tc.config.using(small_rows=0):
        yield


def why(frame: SFrame | tc.SArray) -> str:
    """The reasons."""
    return frame.explain(why=True).split("-- order\n")[1]


def other() -> SFrame:
    """A frame in order of ``t``."""
    return SFrame({"t": np.arange(100) * 4, "w": np.arange(100) * 0.25})


CASES: list[tuple[str, Callable[[SFrame], SFrame | tc.SArray], list[str]]] = [
    ("sort of sorted", lambda a: a.sort("t"), ["left out sort by t: recorded when"]),
    (
        "sort",
        lambda a: a.sort("v"),
        ["r1 sort by v: an exchange by key range and a sort", "nothing known rules out v = 1, t = 0 before v = 0, t = 1"],
    ),
    ("prefix", lambda a: a.sort(["t", "v"]), ["suffix_sort by t, v: no exchange: rows are in order of t (recorded when", "only ties are sorted"]),
    ("descending", lambda a: a.sort("v", ascending=False), ["sort by v (descending)", "rules out v = 0, t = 0 before v = 1, t = 1"]),
    (
        "sort below",
        lambda a: a.sort("v")["t"].cumulative_sum(),
        ["r1 sort by v: an exchange by key range and a sort, as r3 cumulative depends on the order"],
    ),
    (
        "groups in no order",
        lambda a: a.groupby("k", {"s": agg.SUM("v")}).groupby("s", {"n": agg.COUNT()}),
        ["then no sort of the groups, as nobody observes"],
    ),
    ("two sorts", lambda a: a.sort("v").sort("k"), ["sort by k, v", "left out the first of two sorts, by v: the second one, by k, takes it in"]),
    ("unobserved", lambda a: a.sort("v").groupby("k", {"s": agg.SUM("v")}), ["left out sort by v: nobody observes", "left out the row key of r0"]),
    (
        "group",
        lambda a: a.groupby("k", {"s": agg.SUM("v")}),
        ["group_by on k: an exchange of rows by hash", "nothing known rules out k = 1 before k = 0"],
    ),
    (
        "sorted group",
        lambda a: a.groupby("t", {"s": agg.SUM("v")}),
        ["left out the exchange of group_by on t: recorded when", "so equal keys are neighbours"],
    ),
    ("unique", lambda a: a["t"].unique(), ["left out the exchange of group_by on value: recorded when"]),
    (
        "outer join",
        lambda a: a.join(other(), on="t", how="outer"),
        ["outer join on t = t: an exchange of both sides", "rows of both sides are kept"],
    ),
    (
        "right join",
        lambda a: a.join(other(), on="t", how="right"),
        ["the right join on t is a left join whose right side is the left one here", "its right side is in order of t: recorded when"],
    ),
    (
        "right join of a side in no order",
        lambda a: SFrame({"t": SArray.from_sequence(300_000) % 7}).join(other(), on="t", how="right"),
        ["right join on t = t: an exchange of both sides", "of the left side, nothing known rules out t = 1 before t = 0"],
    ),
    ("two keys", lambda a: a.join(a, on=["t", "k"]), ["an exchange of both sides", "a search takes one key"]),
    ("text keys", lambda a: SFrame({"s": ["a"], "x": [1]}).join(SFrame({"s": ["b"]}), on="s"), ["whole numbers or date-times as keys, not str"]),
    (
        "sorted join",
        lambda a: a.join(other(), on="t"),
        ["left out the exchange of both sides of the join on t", "searched in its second input, which is in order of t"],
    ),
    ("as-of join", lambda a: a.asof_join(other(), on="t"), ["asof_join: no exchange", "it is in order of t (found in the rows in memory"]),
    ("window", lambda a: a.window("t", {"m": agg.MEAN("v")}, before=5), ["key_window: no exchange", "it is in order of t (recorded when"]),
    (
        "merge",
        lambda a: a[["t"]].merge_sorted(other()[["t"]], on="t"),
        ["merge_sorted: no exchange", "found by bisection in both inputs, in order of t (recorded"],
    ),
    (
        "top rows",
        lambda a: a.sort("v").head(5),
        ["top_rows by v: no exchange of all rows", "left out the sort of all rows by v", "as they are at most 5"],
    ),
    (
        "backwards",
        lambda a: other().sort("t", ascending=False),
        ["left out sort by t (descending): rows in order of t (found in", "are read backwards"],
    ),
    ("runs", lambda a: a.groupby_runs(["k"], {"n": agg.COUNT()}), ["streaming_group_by on k: no exchange: groups are runs of rows with equal keys"]),
    ("head", lambda a: a.sort("t").head(5), ["left out sort by t: recorded when"]),
    (
        "slice of filter",
        lambda a: a[a["v"] > 3][10:20],
        ["slice: no exchange and no gather", "so that its rows can be counted and read by number: r2"],
    ),
    (
        "rolling",
        lambda a: a["v"].rolling_mean(-5, 0),
        ["rolling: no exchange and no gather: rows are read by number, with those of neighbouring ranges"],
    ),
    ("running", lambda a: a["v"].cumulative_sum(), ["cumulative: no exchange and no gather: each range starts from partial results"]),
    (
        "constant",
        lambda a: a[a["k"] == 3].sort(["k", "t"]),
        ["left out sort by k, t: recorded when", "kept by generalized_transform, filter_rows; k has one value"],
    ),
]


@pytest.mark.parametrize(("title", "program", "parts"), CASES, ids=[case[0] for case in CASES])
def test_reasons(title: str, program: Callable[[SFrame], SFrame | tc.SArray], parts: list[str], place: str) -> None:
    text = why(program(tc.load_sframe(place)))
    assert [part for part in parts if part not in text] == [], text


def test_a_range_filter_tells_which_segments_are_opened(tmp_path: Path) -> None:
    entries = []
    for number in range(4):
        writer = SegmentWriter(str(tmp_path), number, (INT,))
        writer.write([pa.array(range(number * 10, number * 10 + 10))])
        entries.append(writer.close())
    publish(str(tmp_path), (INT,), entries, names=("t",))
    frame = tc.load_sframe(str(tmp_path))
    text = why(frame[(frame["t"] > 12) & (frame["t"] < 18)])
    assert "left out the scan of other rows: by recorded bounds only 10 of 40 can have 12 <= t <= 18 (opens 1 of 4 segments, number 1)" in text
    assert "only 20 of 40 can have t >= 25 (opens 2 of 4 segments, numbers 2 to 3)" in why(frame[frame["t"] >= 25])


def test_few_rows_are_sorted_in_memory(place: str) -> None:
    with tc.config.using(small_rows=ROWS):
        text = why(tc.load_sframe(place).groupby("k", {"s": agg.SUM("v")}))
    assert "left out the exchange of group_by on k: there are at most 400 rows, which are sorted in memory" in text


def test_an_outer_join_of_few_rows_needs_no_exchange(place: str) -> None:
    with tc.config.using(small_rows=ROWS):
        text = why(tc.load_sframe(place).join(other(), on="t", how="outer"))
    assert "left out the exchange of both sides of the join on t: they have at most 400 and 100 rows, whose keys are numbered in memory" in text
    assert "outer join on t = t: no exchange: keys of few rows are numbered in memory" in text
    assert "an exchange" not in text


def test_a_column_that_is_not_shown_has_the_name_it_was_given() -> None:
    assert "sort by t: an exchange" in why(SFrame({"t": [2, 1, 3], "v": [1, 2, 2]}).sort("t")[["v"]])


def test_a_program_without_order_says_so(place: str) -> None:
    assert why(tc.load_sframe(place)) == "no sort and no exchange: rows stay in their ranges"


@pytest.mark.parametrize("rows", [10, 100_000, 3_000_000])
def test_where_rows_are_kept_is_said_as_it_is_of_their_section(rows: int) -> None:
    sf = SFrame({"a": SArray.from_sequence(rows)})
    sf["b"] = sf["a"] * 2
    with tc.config.using(small_rows=1_000):
        plan = str(sf.explain(why=True)).splitlines()
    stays_if_there_is_room = "  or: rows stay in memory as long as there is room, and go to disk if they find none" in plan
    assert plan[-1].startswith("rows of the result are kept ") and ("in memory if this process makes them" in plan[-1]) == stays_if_there_is_room
    assert stays_if_there_is_room or "in the driver's memory" in plan[-1]
