"""What docs/ordered-data.md says of NaN, names that are taken and the order that aggregates see."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.testing.oracle_functions import rank, rows_equal
from tests.random_programs.equivalence import EngineRunner

NAN = math.nan
EXTREMES = {
    "top": aggregate.ARGMAX("k", "v"),
    "bottom": aggregate.ARGMIN("k", "v"),
    "high": aggregate.MAX("k"),
    "low": aggregate.MIN("k"),
}
GROUPS: dict[tuple[float | None, ...], tuple[Any, ...]] = {
    (None, NAN, NAN): (1, 1, NAN, NAN),
    (NAN, 2.0, 1.0): (1, 2, NAN, NAN),
    (None, None): (None, None, None, None),
    (NAN,): (0, 0, NAN, NAN),
    (-math.inf, math.inf, NAN): (1, 0, NAN, NAN),
}
"""Values of a group: the number of the row with the largest and the smallest, the largest and the smallest."""


def groups() -> SFrame:
    """All groups in one frame; each is a run of rows."""
    rows = [{"g": number, "v": place, "k": value} for number, group in enumerate(GROUPS) for place, value in enumerate(group)]
    return SFrame({name: SArray([row[name] for row in rows], float if name == "k" else int) for name in ("g", "v", "k")})


def programs() -> dict[str, SFrame]:
    """One row per group, in every way."""
    frame = groups()
    frame["t"] = frame["g"] * 10
    return {
        "groupby": frame.groupby("g", EXTREMES),
        "groupby of sorted rows": frame.sort("g").groupby("g", EXTREMES),
        "groupby_runs": frame.groupby_runs("g", EXTREMES),
        "groupby_cycles": frame.groupby_cycles("t", "g", EXTREMES),
        "groupby_intervals": frame.groupby_intervals("t", every=10, operations=EXTREMES),
        "window": frame.window("t", EXTREMES),
        "running": frame.running(EXTREMES, by="g"),
    }


def of_groups(name: str, frame: SFrame) -> list[tuple[Any, ...]]:
    """The extremes, one row per group."""
    rows = EngineRunner().rows(frame[list(EXTREMES)]._node)
    if name not in ("running", "window"):
        return rows
    sizes = [len(group) for group in GROUPS]
    return [rows[sum(sizes[: place + 1]) - 1] for place in range(len(sizes))]


@pytest.mark.parametrize("name", ["groupby", "groupby of sorted rows", "groupby_runs", "groupby_cycles", "groupby_intervals", "window", "running"])
def test_extremes_of_nan(name: str) -> None:
    assert rows_equal(of_groups(name, programs()[name]), list(GROUPS.values()))


MIXED = [NAN, 2.0, None, -math.inf, math.inf, -NAN, -0.0, None, 0.0]


def test_nan_in_sort() -> None:
    for ascending in (True, False):
        expected = sorted(MIXED, key=rank, reverse=not ascending)
        column = SArray(MIXED)
        assert rows_equal([tuple(column.sort(ascending=ascending))], [tuple(expected)])
        assert rows_equal([tuple(SFrame({"a": column}).sort("a", ascending=ascending)["a"])], [tuple(expected)])


def test_names_that_are_taken() -> None:
    """The left frame keeps its names; a right column gets the first number that is free."""
    cases = {
        (("x",), ("x",)): ["x", "x.1"],
        (("x", "x.1"), ("x", "y")): ["x", "x.1", "x.2", "y"],
        (("x",), ("x", "x.1")): ["x", "x.1", "x.1.1"],
        (("x", "x.1", "x.2"), ("x", "x.1")): ["x", "x.1", "x.2", "x.3", "x.1.1"],
    }
    for (left, right), names in cases.items():
        first = SFrame({"a": [1], **{name: [f"left {name}"] for name in left}})
        second = SFrame({"a": [1], **{name: [f"right {name}"] for name in right}})
        for found in (first.join(second, on="a"), first.asof_join(second, on="a")):
            assert found.column_names() == ["a", *names]
            assert list(found[0].values())[1:] == [*[f"left {name}" for name in left], *[f"right {name}" for name in right]]


def timed(choose: random.Random) -> tuple[SFrame, list[tuple[int, int]]]:
    """Rows of few times, in no order, and their times and numbers in the order of time."""
    times = [choose.randint(0, 30) for _ in range(40)]
    return SFrame({"t": times, "n": list(range(40))}), sorted((time, n) for n, time in enumerate(times))


def intervals_in_order(frame: SFrame) -> SFrame:
    """What aggregates see of intervals."""
    return frame.groupby_intervals("t", every=10, operations={"n": aggregate.CONCAT("n"), "first": aggregate.SELECT_ONE("n")})


def test_aggregates_see_intervals_in_the_order_of_time() -> None:
    frame, ordered = timed(random.Random(3))
    expected = {start: [n for time, n in ordered if start <= time < start + 10] for start in range(0, 40, 10)}
    for found in (intervals_in_order(frame), frame.resample("t", 10, {"n": aggregate.CONCAT("n"), "first": aggregate.SELECT_ONE("n")})):
        assert {row["t"]: row["n"] for row in found} == {start: numbers for start, numbers in expected.items() if numbers}
        assert all(row["first"] == row["n"][0] for row in found)
    by_time = {time: [n for other, n in ordered if other == time] for time, _ in ordered}
    assert {row["t"]: row["n"] for row in frame.groupby_cycles("t", None, {"n": aggregate.CONCAT("n")})} == by_time


@pytest.mark.spark
def test_the_same_on_spark(spark: Any) -> None:
    naive = EngineRunner(MaterializeOptions(naive=True))
    assert rows_equal(naive.rows(groups().groupby("g", EXTREMES)[list(EXTREMES)]._node), list(GROUPS.values()))
    assert rows_equal(naive.rows(SArray(MIXED).sort(ascending=False)._node), [(value,) for value in sorted(MIXED, key=rank, reverse=True)])
    frame, ordered = timed(random.Random(3))
    found = naive.rows(intervals_in_order(frame)[["t", "n"]]._node)
    assert [tuple(row) for row in found] == [(start, [n for time, n in ordered if start <= time < start + 10]) for start, _ in found]
