"""``SFrame.window`` as users see it."""

from __future__ import annotations

import datetime
import math
import random
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, load_sframe
from tests.examples import part
from tests.execution import executed

DAY = datetime.datetime(2024, 3, 1)


def test_columns_names_and_forms() -> None:
    frame = SFrame({"t": [1, 2, 4], "v": [1, 2, 3]})
    assert frame.window("t", aggregate.SUM("v"), before=1).column_names() == ["t", "v", "Sum of v"]
    several = frame.window("t", [aggregate.COUNT, aggregate.MAX("v")], before=2, after=1)
    assert several.column_names() == ["t", "v", "Count", "Max of v"]
    assert list(several["Count"]) == [2, 2, 2]
    assert list(several["Max of v"]) == [2, 2, 3]
    assert list(frame.window("t", {"n": aggregate.COUNT()})["n"]) == [1, 1, 1]


def test_times_ends_and_groups() -> None:
    times = [None, *[DAY + datetime.timedelta(days=number) for number in (0, 1, 1, 7)]]
    frame = SFrame({"t": times, "g": ["b", "a", "b", None, "b"]})
    for week in ("7d", datetime.timedelta(days=7), "1 week"):
        found = frame.window("t", {"n": aggregate.COUNT(), "names": aggregate.CONCAT("g")}, before=week)
        assert list(found["n"]) == [0, 1, 3, 3, 4]
        assert list(found["names"]) == [[], ["a"], ["a", "b"], ["a", "b"], ["a", "b", "b"]]
    assert list(frame.window("t", {"n": aggregate.COUNT()}, before="6d", by="g")["n"]) == [0, 1, 1, 1, 2]


def test_no_rows() -> None:
    empty = SFrame({"t": [1], "v": [1.5]}).head(0)
    found = empty.window("t", {"m": aggregate.MEAN("v")})
    assert len(found) == 0
    assert found.column_names() == ["t", "v", "m"]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"on": "nope"}, KeyError, "nope"),
        ({"on": "v", "by": "nope"}, KeyError, "nope"),
        ({"on": "v", "aggregates": aggregate.SUM("nope")}, KeyError, "nope"),
        ({"on": "text"}, TypeError, "str key cannot be used here"),
        ({"on": ["v"]}, TypeError, "name of a column"),
        ({"on": "v", "by": 3}, TypeError, "list of names"),
        ({"on": "v", "before": "7d"}, TypeError, "before"),
        ({"on": "v", "after": -1}, ValueError, "after"),
        ({"on": "v", "aggregates": 3}, TypeError, "aggregate.SUM"),
        ({"on": "v", "aggregates": {"text": aggregate.COUNT()}}, RuntimeError, "need different names"),
        ({"on": "v", "aggregates": aggregate.SUM("text")}, RuntimeError, "SUM takes"),
        ({"on": "v", "by": "array"}, TypeError, "cannot be grouped by"),
        ({"on": "v", "closed": "lefts"}, ValueError, "closed must be one of both, left, right, neither"),
        ({"on": "v", "prevailing": 1}, TypeError, "prevailing must be True or False"),
        ({"on": "v", "before": 2, "after": -3}, ValueError, "end before it starts"),
        ({"on": "v", "of": 3}, TypeError, "window"),
        ({"on": "v", "of": {"w": [1]}}, KeyError, "v"),
        ({"on": {"v": "w"}}, TypeError, "name of a column"),
        ({"on": "v", "of": {"v": ["a"]}}, TypeError, "str key cannot be used here"),
        ({"on": "v", "of": {"v": [datetime.datetime(2024, 1, 1)]}}, TypeError, "cannot be compared"),
        ({"on": "v", "by": {"text": "v"}, "of": {"v": [1]}}, TypeError, "columns of type str and int cannot be compared"),
        ({"on": None, "before": 1.5}, TypeError, "counted in rows"),
        ({"on": None, "before": "1d"}, TypeError, "counted in rows"),
        ({"on": None, "of": {"v": [1]}}, ValueError, "need a key"),
        ({"on": None, "before": -1}, ValueError, "end before it starts"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    frame = SFrame({"v": [1], "text": ["a"], "array": [[1.5]]})
    with pytest.raises(error, match=words):
        frame.window(**{"aggregates": aggregate.COUNT(), **arguments})


ROWS = SFrame({"t": [1, 2, 2, 4, 7, None], "v": [1, 2, 4, 8, 16, 32], "g": ["a", "b", "a", "a", "b", "a"]})


def sums(frame: SFrame, on: Any = "t", **arguments: Any) -> list[Any]:
    """Sums of the windows of each row."""
    return list(frame.window(on, {"s": aggregate.SUM("v")}, **arguments)["s"])


def test_which_ends_are_in_a_window() -> None:
    found = {closed: sums(ROWS, before=2, after=2, closed=closed) for closed in ("both", "left", "right", "neither")}
    assert found == {
        "both": [7, 15, 15, 14, 16, 0],
        "left": [7, 7, 7, 14, 16, 0],
        "right": [7, 15, 15, 8, 16, 0],
        "neither": [7, 7, 7, 8, 16, 0],
    }
    # Without rows between ends that are left out there is nothing.
    assert sums(ROWS, closed="neither") == [0] * 6


def test_windows_without_an_end_and_with_a_gap() -> None:
    assert sums(ROWS, before="all") == [1, 7, 7, 15, 31, 0]
    assert sums(ROWS, after="all", by="g") == [13, 18, 12, 8, 16, 0]
    assert sums(ROWS, before="all", after="all") == [31] * 5 + [0]
    assert sums(ROWS, before="all", after=-1) == [0, 1, 1, 7, 15, 0]
    assert sums(ROWS, before=-1, after=5) == [14, 24, 24, 16, 0, 0]
    assert sums(ROWS, before=3, after=-2) == [0, 0, 0, 7, 8, 0]
    times = SFrame({"t": [DAY + datetime.timedelta(days=day) for day in (0, 1, 8)], "v": [1, 2, 4]})
    assert sums(times, before="7d", after="-1d") == [0, 1, 2]
    assert sums(times, before="7d", after=0) == [1, 3, 6]


def test_windows_of_another_frame() -> None:
    asked = SFrame({"at": [2.5, None, 0.0, 9.0], "who": ["a", "a", "b", "b"], "v": [0, 0, 0, 0]})
    assert sums(asked, {"at": "t"}, before=1, of=ROWS) == [6, 0, 0, 0]
    assert sums(asked, {"at": "t"}, before=2, by={"who": "g"}, of=ROWS) == [5, 0, 0, 16]
    found = asked.window({"at": "t"}, aggregate.COUNT(), before="all", of=ROWS)
    assert found.column_names() == ["at", "v", "who", "Count"]
    assert list(found["Count"]) == [3, 0, 0, 5]
    # Names that both frames have need not be said twice, and neither frame need be sorted.
    assert sums(ROWS[["t"]].sort("t", ascending=False), before=1, of=ROWS.sort("v", ascending=False)) == [16, 8, 7, 7, 1, 0]


def test_the_row_that_is_in_force_where_a_window_starts() -> None:
    assert sums(ROWS, before=1, prevailing=True) == [1, 7, 7, 12, 24, 0]
    # A row at the start is in force there, whether or not the window contains its start.
    assert sums(ROWS, before=2, closed="right", prevailing=True) == [1, 7, 7, 12, 24, 0]
    assert sums(ROWS, before=1, by="g", prevailing=True) == [1, 2, 5, 12, 18, 0]
    assert sums(SFrame({"t": [0, 3, 99]}), of=ROWS, prevailing=True) == [0, 4, 16]


def test_windows_of_so_many_rows_of_a_key() -> None:
    assert sums(ROWS, None, before=1) == [1, 3, 6, 12, 24, 48]
    assert sums(ROWS, None, before=1, by="g") == [1, 2, 5, 12, 18, 40]
    assert sums(ROWS, None, before=2, after=-1, by="g") == [0, 0, 1, 5, 2, 12]
    assert sums(ROWS, None, before="all", closed="left", by="g") == [0, 0, 1, 5, 2, 13]
    assert sums(ROWS, None, after=1, by=["g", "t"]) == [1, 2, 4, 8, 16, 32]
    assert sums(ROWS.head(0), None, before=1, by="g") == []


def test_windows_of_rows_move_nothing_where_equal_keys_are_neighbours() -> None:
    frame = ROWS.sort(["g", "t"])
    frame.materialize()
    for by in (None, "g"):
        found = frame.window(None, {"s": aggregate.SUM("v")}, before=1, by=by)
        assert "sort" not in found.explain().partition("-- optimized plan")[2]
        assert list(found["s"]) == [32, 33, 5, 12, 10 if by is None else 2, 18]


def test_windows_of_keys_and_times_in_order_move_nothing(tmp_path: Path) -> None:
    rows = {"s": ["a"] * 40 + ["b"] * 30 + ["c"] * 30, "t": [*range(40), *range(30), *range(0, 60, 2)], "v": list(range(100))}
    SFrame(rows).sort(["s", "t"]).save(str(tmp_path / "frame"))
    frame, shuffled = load_sframe(str(tmp_path / "frame")), SFrame(rows).shuffle(seed=1)
    for arguments in ({"before": 3}, {"before": 5, "after": -2}, {"before": 2, "closed": "right", "prevailing": True}):
        text = frame.window("t", {"n": aggregate.SUM("v")}, by="s", **arguments).explain(why=True).partition("-- optimized plan")[2]
        assert "sort[" not in text and "key_window: no exchange" in text and "order of s, t" in text
        expected = {row["v"]: row["n"] for row in shuffled.window("t", {"n": aggregate.SUM("v")}, by="s", **arguments)}
        found = frame.window("t", {"n": aggregate.SUM("v")}, by="s", **arguments)
        assert {row["v"]: row["n"] for row in found} == expected and list(found["v"]) == list(range(100))


def test_windows_beside_polars() -> None:
    """``rolling`` of Polars has windows before each row, with each of the four ends."""
    polars = pytest.importorskip("polars")
    chosen = random.Random(20261130)
    for case in range(40):
        times = sorted(chosen.choices(range(40), k=chosen.randint(1, 30)))
        kind, period, offset = chosen.choice([int, float]), chosen.randint(1, 9), chosen.randint(-9, 3)
        rows = {
            "t": times,
            "v": [kind(chosen.randint(0, 99)) if chosen.random() < 0.8 else None for _ in times],
            "g": chosen.choices("ab", k=len(times)),
        }
        for closed in ("both", "left", "right", "none"):
            rolled = polars.DataFrame(rows).with_row_index("row").rolling("t", period=f"{period}i", offset=f"{offset}i", closed=closed, group_by="g")
            wanted = rolled.agg(polars.col("row").first().alias("first"), polars.col("v").sum().alias("s"), polars.len().alias("n"))
            found = SFrame(rows).window(
                "t", {"s": aggregate.SUM("v"), "n": aggregate.COUNT()}, -offset, offset + period, "g", {"none": "neither"}.get(closed, closed)
            )
            key = ["g", "t", "s", "n"]
            mine = sorted(tuple(row[name] for name in key) for row in found)
            assert mine == sorted(wanted.select(key).rows()), (case, closed)


@pytest.mark.spark
def test_windows_of_times_with_offsets_compare_instants(spark: Any) -> None:
    hour = datetime.timedelta(hours=1)
    summer, winter = datetime.timezone(2 * hour), datetime.timezone(hour)
    # In autumn a day later by the wall clock is 25 hours later, in spring 23.
    autumn = [datetime.datetime(2024, 10, 26, 12, tzinfo=summer), datetime.datetime(2024, 10, 27, 12, tzinfo=winter)]
    spring = [datetime.datetime(2024, 3, 30, 12, tzinfo=winter), datetime.datetime(2024, 3, 31, 12, tzinfo=summer)]
    for times, found in ((autumn, [1, 1]), (spring, [1, 2]), (spring[::-1], [2, 1])):
        assert list(SFrame({"t": times}).window("t", {"n": aggregate.COUNT()}, before="1d")["n"]) == found


def same(first: Any, second: Any) -> bool:
    """True for equal values; the order of summation may show in floats."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9) or (first != first and second != second)
    return repr(first) == repr(second)


@pytest.mark.spark
@pytest.mark.parametrize("by", part([["g", "h"], None, "g"], 3))
def test_the_spark_lowering_and_any_number_of_segments_agree(everything_on_spark: None, by: Any) -> None:
    keys = [3.5, None, -1.0, float("nan"), 8.0, 3.5, float("inf"), 0.0, -0.0, 4.0]
    columns = {"t": keys, "g": ["a", "b", None, "a", "a"] * 2, "h": [1, 2] * 5, "v": [0.5, None, 2.0, float("nan"), 1.0] * 2, "n": list(range(10))}
    wanted = [aggregate.COUNT(), aggregate.CONCAT("n"), aggregate.ARGMAX("v", "n"), aggregate.QUANTILE("v", 0.5), aggregate.SELECT_ONE("g")]
    wanted += [function("v") for function in (aggregate.SUM, aggregate.MEAN, aggregate.MIN, aggregate.MAX, aggregate.VAR, aggregate.STD)]
    found = SFrame(columns).window("t", wanted, before=2.5, after=1, by=by)
    expected = executed(found, naive=True)[0]
    for segments in (1, 7):
        assert same(executed(found, segments=segments)[0], expected)
    other = SFrame({"at": [1.0, 9.5, None, 4.0, 3.5], "g": ["a", None, "b", "a", "b"], "h": [1, 2, 1, 1, 2]})
    pairs = None if by is None else {name: name for name in ([by] if isinstance(by, str) else by)}
    for closed, prevailing, before in (("left", False, 2.5), ("right", True, 0.5), ("neither", True, -1), ("both", False, "all")):
        found = other.window({"at": "t"}, wanted, before, 3, pairs, closed, of=SFrame(columns), prevailing=prevailing)
        assert same(executed(found, segments=2)[0], executed(found, naive=True)[0])


@pytest.mark.spark
def test_a_saved_sorted_frame_needs_no_exchange(everything_on_spark: None, tmp_path: Path) -> None:
    SFrame({"t": list(range(0, 300, 3)), "v": list(range(100))}).save(str(tmp_path / "frame"))
    found, log = executed(load_sframe(str(tmp_path / "frame")).window("t", {"s": aggregate.SUM("v")}, before=6), segments=7)
    assert found[-1] == [sum(range(max(0, number - 2), number + 1)) for number in range(100)]
    assert [line.split(":")[0] for line in log] == ["segments"]


@pytest.mark.spark
def test_rows_that_are_computed_are_computed_once(everything_on_spark: None) -> None:
    frame = SFrame({"t": [5, 3, 9, 4], "v": [1, 2, 3, 4]})
    found, log = executed(frame.window("t", {"s": aggregate.SUM("v")}, before=1), segments=2)
    assert found[-1] == [5, 2, 3, 6]
    assert log.count("query: sort") == 2
