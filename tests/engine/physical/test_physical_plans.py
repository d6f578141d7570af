"""What Spark has to do for a program: exchanges, sorts and scans of the plans that really run, with everything sent to Spark.

The table in docs/design.md ("Plans") is made of these cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import sframe_spark as tc
from sframe_spark import aggregate as agg
from sframe_spark.explain.executed_spark_plans import ExecutedPlan, recorded_plans
from tests.examples import part
from tests.opened_files import watch_opened_files

ROWS = 4_000
pytestmark = pytest.mark.spark


@attrs.define
class Work:
    """What Spark was asked to do."""

    queries: int = 0
    exchanges: int = 0
    sorts: int = 0

    @classmethod
    def of(cls, plans: Sequence[ExecutedPlan]) -> Work:
        """Counts over plans; tasks that compute ranges of rows themselves are no queries."""
        queries = [plan for plan in plans if plan.root.name != "MapPartitions"]
        return cls(len(queries), sum(plan.count("Exchange") for plan in plans), sum(plan.count("Sort") for plan in plans))


@pytest.fixture
def planned_once(spark: Any) -> Iterator[None]:
    """Queries run without small sections and without replanning."""
    adaptive = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    with tc.config.using(small_rows=0, single_task_rows=0, default_segments=4):
        yield
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> dict[str, str]:
    """Saved frames of four segments: by time with ties, by key, and one without an order."""
    directory: Path = tmp_path_factory.mktemp("frames")
    number = np.arange(ROWS)
    frames = {
        "by_time": {"t": number // 3, "v": (number * 7919) % ROWS * 0.5, "k": number % 7},
        "by_key": {"t": np.arange(ROWS // 4) * 4, "w": np.arange(ROWS // 4) * 0.25},
        "unordered": {"t": (number * 7919) % ROWS, "u": number % 11},
        "falling": {"t": (ROWS - number) // 3, "k": number // 3 * 5 % 7, "v": number * 0.5, "n": ROWS - number},
    }
    places = {}
    with tc.config.using(small_rows=0, default_segments=4):
        for name, columns in frames.items():
            places[name] = str(directory / name)
            frame = tc.SFrame(columns)
            (frame[frame["t"] >= 0]).save(places[name])
        tc.load_sframe(places["by_time"]).sort(["t", "k"]).save(str(directory / "by_both"))
        tc.load_sframe(places["by_time"]).sort([("k", False), ("t", True)]).save(str(directory / "mixed"))
    places.update({name: str(directory / name) for name in ("by_both", "mixed")})
    return places


@attrs.frozen
class Case:
    """A program over the saved frames and what it may cost."""

    title: str
    program: Callable[[tc.SFrame, tc.SFrame, tc.SFrame], Any]
    queries: int
    exchanges: int
    sorts: int

    def __str__(self) -> str:
        return self.title


def few(sf: tc.SFrame) -> tc.SFrame:
    """Some of the rows."""
    return sf[sf["k"] > 2]


def sums(sf: tc.SFrame, key: str) -> tc.SFrame:
    """Group by a key."""
    return sf.groupby(key, {"s": agg.SUM("v"), "n": agg.COUNT()})


def concatenated(sf: tc.SFrame) -> tc.SFrame:
    """All values of each group, and the first one."""
    return sf.groupby("k", {"c": agg.CONCAT("v"), "f": agg.SELECT_ONE("t")})


CASES = [
    Case("sort by another column", lambda a, b, c: a.sort("v"), 1, 1, 1),
    Case("sort by the recorded order", lambda a, b, c: a.sort("t"), 0, 0, 0),
    Case("sort of a sort by the same column", lambda a, b, c: a.sort("v").sort("v"), 1, 1, 1),
    Case("sort of a filtered frame in order", lambda a, b, c: a[a["v"] > 5].sort("t"), 0, 0, 0),
    Case("sort by a strictly monotone result", lambda a, b, c: assigned(a, "later", a["t"] + 10).sort("later"), 0, 0, 0),
    Case("sort by a column that a filter makes constant, then the order", lambda a, b, c: a[a["k"] == 3].sort(["k", "t"]), 0, 0, 0),
    Case("sort below a sum", lambda a, b, c: a.sort("v")["v"].sum(), 0, 0, 0),
    Case("group-by", lambda a, b, c: sums(a, "k"), 0, 0, 0),
    Case("group-by that keeps all values", lambda a, b, c: concatenated(a), 1, 2, 1),
    Case("group-by on the recorded order", lambda a, b, c: sums(a, "t"), 0, 0, 0),
    Case("group-by on a sort's key, then its order again", lambda a, b, c: sums(a.sort("t"), "t").sort("t"), 0, 0, 0),
    Case("values of each group in the order of a sort by the key", lambda a, b, c: concatenated(a.sort([("k", True), ("v", False)])), 1, 1, 1),
    Case("unique values of a column in order", lambda a, b, c: a["t"].unique(), 0, 0, 0),
    Case("join with an unordered frame, which is broadcast", lambda a, b, c: a.join(c, on="t"), 1, 1, 1),
    Case("join with a frame in order of the key", lambda a, b, c: a.join(b, on="t"), 0, 0, 0),
    Case("as-of join of two frames in order", lambda a, b, c: a.asof_join(b, on="t"), 0, 0, 0),
    Case("merge of two frames in order", lambda a, b, c: a[["t"]].merge_sorted(b[["t"]], on="t"), 0, 0, 0),
    Case("zip of columns of two saved frames", lambda a, b, c: assigned(a, "u", c["u"]), 0, 0, 0),
    Case("running sum", lambda a, b, c: a["v"].cumulative_sum(), 0, 0, 0),
    Case("rolling mean", lambda a, b, c: a["v"].rolling_mean(-5, 0), 0, 0, 0),
    Case("time window", lambda a, b, c: a.window("t", {"m": agg.MEAN("v")}, before=5), 0, 0, 0),
    Case("one row per time", lambda a, b, c: a.groupby_cycles("t", operations={"m": agg.MEAN("v")}), 0, 0, 0),
    Case("intervals", lambda a, b, c: a.groupby_intervals("t", every=100, operations={"m": agg.MEAN("v")}), 0, 0, 0),
    Case("running aggregates by key", lambda a, b, c: a.running({"m": agg.MAX("v")}, by="k"), 0, 0, 0),
    Case("head of a sort by the order", lambda a, b, c: a.sort("t").head(5), 0, 0, 0),
    Case("first rows by another column", lambda a, b, c: a.sort("v").head(5), 0, 0, 0),
    Case("filter by a range of the order", lambda a, b, c: a[(a["t"] > 100) & (a["t"] < 120)], 0, 0, 0),
    Case("filter by values far apart", lambda a, b, c: a[(a["t"] == 5) | (a["t"] > 1300)], 0, 0, 0),
    Case("sort by the order of values far apart", lambda a, b, c: a[a["t"].is_in([5, 800, 1300])].sort("t"), 0, 0, 0),
    Case("group-by of values far apart", lambda a, b, c: sums(a[a["t"].is_in([5, 800, 1300])], "k"), 0, 0, 0),
    Case("filter by a computed value of the order", lambda a, b, c: a[a["t"] * -2 < -2600], 0, 0, 0),
    Case("sort with a running sum beside it", lambda a, b, c: beside(a.sort("v"), "c", lambda s: s["k"].cumulative_sum()), 1, 1, 1),
    Case("group-by with a rolling mean of a result", lambda a, b, c: beside(sums(a, "k"), "m", lambda g: g["s"].rolling_mean(-1, 0)), 0, 0, 0),
    Case(
        "filter of a sort with a running maximum beside it", lambda a, b, c: beside(few(a.sort("v")), "c", lambda s: s["k"].cumulative_max()), 1, 1, 1
    ),
    Case("first rows of a sort, and all of it", lambda a, b, c: a.sort("v").head(5).append(a.sort("v")), 1, 1, 1),
    Case("minimum, maximum and length", lambda a, b, c: (a["t"].min(), a["v"].max(), len(a)), 0, 0, 0),
]


COUNTS = {"n": agg.COUNT_DISTINCT("t"), "s": agg.SUM("v")}
# Frames in descending order of `t` (with ties) and `n`, in order of `t` and `k`, and in order of `k` (descending) and `t`.
OTHER_ORDERS = [
    Case("group-by on a descending order, groups turned round", lambda a, b, c: sums(a, "t"), 0, 0, 0),
    Case("unique values of a descending column", lambda a, b, c: a["t"].unique(), 0, 0, 0),
    Case("first row of each key, descending", lambda a, b, c: a.drop_duplicates("t"), 0, 0, 0),
    Case("sort of rows in opposite order, read backwards", lambda a, b, c: a.sort("n"), 0, 0, 0),
    Case("sort of rows in opposite order with ties", lambda a, b, c: a.sort(["t", "v"]), 0, 0, 0),
    Case("head of a sort in opposite order", lambda a, b, c: a.sort("t").head(5), 0, 0, 0),
    Case("group-by on two keys, one descending", lambda a, b, c: sums(c, ["k", "t"]), 0, 0, 0),
    Case("group-by on a leading descending key, its groups summed", lambda a, b, c: sums(c, "k")["s"].sum(), 0, 0, 0),
    Case("distinct values of a column in order", lambda a, b, c: b.groupby([], COUNTS), 0, 0, 0),
    Case("distinct values within groups, both in order", lambda a, b, c: c.groupby("k", COUNTS), 0, 0, 0),
    Case("distinct values of a column out of order", lambda a, b, c: b.groupby([], {"n": agg.COUNT_DISTINCT("v")}), 0, 0, 0),
]


def assigned(sf: tc.SFrame, name: str, column: Any) -> tc.SFrame:
    """The frame with one more column."""
    copy = sf.copy()
    copy[name] = column
    return copy


def beside(sf: tc.SFrame, name: str, column: Callable[[tc.SFrame], Any]) -> tc.SFrame:
    """The frame with one more column that is made of it, so that it has two readers."""
    return assigned(sf, name, column(sf))


FRAMES = {False: ("by_time", "by_key", "unordered"), True: ("falling", "by_both", "mixed")}


def of_the_normal_run(cases: list[Case], other: bool) -> list[Any]:
    """All cases that ask for a query, and each third of the others; the campaign takes the rest."""
    asks, others = [(case, other) for case in cases if case.queries], [(case, other) for case in cases if not case.queries]
    return [*asks, *part(others, 3)]


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize(("case", "other"), [*of_the_normal_run(CASES, False), *of_the_normal_run(OTHER_ORDERS, True)], ids=str)
def test_what_spark_has_to_do(case: Case, other: bool, places: dict[str, str]) -> None:
    with recorded_plans() as plans:
        result = case.program(*[tc.load_sframe(places[name]) for name in FRAMES[other]])
        if isinstance(result, (tc.SFrame, tc.SArray)):
            result.materialize()
    assert Work.of(plans) == Work(case.queries, case.exchanges, case.sorts)


@pytest.mark.usefixtures("planned_once")
def test_the_head_of_a_frame_in_order_opens_one_segment(places: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened = watch_opened_files(monkeypatch)
    frame = tc.load_sframe(places["by_time"])
    assert [row["t"] for row in frame.sort("t").head(4)] == [0, 0, 0, 1]
    assert len(set(opened)) == 1
    opened.clear()
    with tc.config.using(small_rows=ROWS):
        assert [row["t"] for row in frame[frame["t"] == 1200]] == [1200] * 3
    assert len(set(opened)) == 1
