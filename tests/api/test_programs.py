"""Whole programs as users write them, each checked row by row against the naive plan."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate, config, load_sframe
from tests.examples import part

pytestmark = [pytest.mark.spark, pytest.mark.behaviour]

NAN = float("nan")


def frame() -> SFrame:
    return SFrame({"a": [3, 1, 2, 5, None], "b": ["x", "y", None, "x", "x"], "f": [1.5, 2.5, NAN, None, 0.0]})


PROGRAMS: dict[str, Callable[[], SFrame]] = {
    "sort": lambda: frame().sort("a"),
    "sort descending": lambda: frame().sort([("b", False), ("a", True)]),
    "filter": lambda: frame()[frame()["a"] > 1],
    "group": lambda: frame().groupby(
        "b", {"s": aggregate.SUM("a"), "c": aggregate.CONCAT("f"), "m": aggregate.ARGMAX("a", "f"), "n": aggregate.COUNT}
    ),
    "join inner": lambda: frame().join(frame(), on="b"),
    "join outer": lambda: frame().join(frame()[2:4], on="a", how="outer"),
    "join right": lambda: frame().join(frame()[1:3], on="b", how="right"),
    "append and slice": lambda: frame().append(frame())[2:9:2],
    "running and rolling": lambda: SFrame(
        {"q": frame()["a"].cumulative_sum(), "r": frame()["a"].rolling_sum(-1, 0, 1), "v": frame()["f"].cumulative_var()}
    ),
    "row number": lambda: frame()[frame()["a"] > 1].add_row_number(),
    "top": lambda: frame().topk("a", 2),
    "unique": lambda: frame()[["b"]].unique(),
    "flat map": lambda: frame().flat_map(["z"], lambda row: [[row["b"]]] * 2, [str]),
}


def assigned_after_filter() -> SFrame:
    kept = frame()[frame()["a"] > 1]
    kept["run"] = kept["a"].cumulative_sum()
    kept["twice"] = kept["run"] + kept["a"]
    return kept


PROGRAMS["assigned after filter"] = assigned_after_filter


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_equals_its_naive_plan(name: str, spark: Any) -> None:
    with config.using(check="result"):
        PROGRAMS[name]().materialize()


@pytest.mark.parametrize("segments", [1, 2, 7])
def test_segments_do_not_change_rows(segments: int, spark: Any) -> None:
    expected = [[3, "x", 1.5, 3, 6], [2, None, NAN, 5, 7], [5, "x", None, 10, 15]]
    assert repr([list(row.values()) for row in assigned_after_filter()]) == repr(expected)
    with config.using(small_rows=0):
        kept = assigned_after_filter()
        kept.materialize(segments=segments)
    assert repr([list(row.values()) for row in kept]) == repr(expected)


def test_save_replaces_its_own_source(tmp_path: Path, spark: Any) -> None:
    path = str(tmp_path / "f.sframe")
    frame()[["a", "b"]].save(path)
    loaded = load_sframe(path)
    loaded[loaded["a"] > 2].save(path)
    assert list(load_sframe(path)["a"]) == [3, 5]


def test_large_frames_keep_their_order(spark: Any) -> None:
    rows = 300_000
    sf = SFrame({"a": SArray.from_sequence(rows)})
    sf["k"] = (sf["a"] * 7919) % 1000
    sf.materialize()
    ordered = sf.sort("k")
    ordered.materialize()
    keys, values = list(ordered["k"]), list(ordered["a"])
    assert list(zip(keys, values, strict=True)) == sorted(zip(keys, values, strict=True))
    running = ordered["a"].cumulative_sum()
    running.materialize(segments=5)
    assert running[rows - 1] == rows * (rows - 1) // 2
    assert running[1000] == sum(values[:1001])
    grouped = ordered.groupby("k", {"n": aggregate.COUNT, "first": aggregate.SELECT_ONE("a")})
    assert grouped[0] == {"k": 0, "n": 300, "first": 0}


def test_self_append_stays_cheap(spark: Any) -> None:
    sf = SFrame({"a": [1, 2, 3]})
    for _ in range(17):
        sf = sf.append(sf)
    assert len(sf) == 3 * 2**17
    assert sf["a"].sum() == 6 * 2**17


def test_five_thousand_assignments(spark: Any) -> None:
    sf = SFrame({"a": [1, 2, 3]})
    for _ in range(5_000):
        sf["a"] = sf["a"] + 1
    assert list(sf["a"]) == [5001, 5002, 5003]
    assert sf.groupby("a", aggregate.COUNT).num_rows() == 3


def test_function_is_called_once_per_row(spark: Any, tmp_path: Path) -> None:
    log = tmp_path / "calls"

    def noted(value: int) -> int:
        with open(log, "a") as file:
            file.write("x")
        return value + 1

    sf = SFrame({"a": [1, 2, 3]})
    column = sf["a"].apply(noted, int)
    sf["b"] = column
    sf["c"] = column * 2
    assert [row["c"] for row in sf] == [4, 6, 8]
    assert len(log.read_text()) == 3


def with_running_sum(sf: SFrame) -> SFrame:
    """The frame with a running sum of its applied column."""
    copy = sf.copy()
    copy["sum"] = copy["b"].cumulative_sum()
    return copy


def with_rolling_sum(sf: SFrame) -> SFrame:
    """The frame with a rolling sum of its applied column."""
    copy = sf.copy()
    copy["sum"] = copy["b"].rolling_sum(-1, 0, 1)
    return copy


PROGRAMS_OF_APPLIED = {
    "a running sum beside it": (with_running_sum, [2, 5, 9]),
    "a rolling sum beside it": (with_rolling_sum, [2, 5, 7]),
    "a filter by it, and a running sum of what is left": (lambda sf: with_running_sum(sf[sf["b"] > 2]), [3, 7]),
    "a sort by it": (lambda sf: sf.sort("b", ascending=False).rename({"b": "sum"}), [4, 3, 2]),
    "a sort by it, and a running sum of the sorted": (lambda sf: with_running_sum(sf.sort("b", ascending=False)), [4, 7, 9]),
    "a sort by another column": (lambda sf: with_running_sum(sf.sort("a", ascending=False)), [4, 7, 9]),
    "groups by it, sorted by another column": (lambda sf: sf.groupby("b", {"sum": aggregate.SUM("a")}).sort("sum", ascending=False), [3, 2, 1]),
    "its first row and all rows": (lambda sf: with_running_sum(sf.head(1).append(sf)), [2, 4, 7, 11]),
    "those of a filter that does not read it, and all rows": (lambda sf: with_running_sum(sf[sf["a"] > 1].append(sf)), [3, 7, 9, 12, 16]),
    "a join with some of its rows": (lambda sf: with_running_sum(sf.join(sf[sf["b"] > 2][["a"]], on="a").sort("a")), [3, 7]),
}
PLACES = {
    "on the driver": {"small_rows": 1_000},
    "in one task": {"small_rows": 0},
    "in three tasks": {"small_rows": 0, "single_task_rows": 0, "default_segments": 3},
}


@pytest.mark.parametrize(("place", "title"), part(product(PLACES, PROGRAMS_OF_APPLIED), 2))
def test_function_is_called_once_per_row_whoever_reads_its_results(title: str, place: str, spark: Any, tmp_path: Path) -> None:
    log = tmp_path / "calls"

    def noted(value: int) -> int:
        with open(log, "a") as file:
            file.write("x")
        return value + 1

    program, expected = PROGRAMS_OF_APPLIED[title]
    with config.using(**PLACES[place]):
        sf = SFrame({"a": [1, 2, 3]})
        sf["b"] = sf["a"].apply(noted, int)
        result = program(sf)
        result.materialize()
        assert list(result["sum"]) == expected
    assert len(log.read_text()) == 3


def test_failing_function_shows_input_and_own_line(spark: Any) -> None:
    column = SArray([1, 2]).apply(lambda value: 1 // (value - 2), int)
    with pytest.raises(ZeroDivisionError) as caught:
        list(column)
    text = str(caught.value)
    assert "input: 2" in text and "test_programs.py" in text and "py4j" not in text.lower()
    with pytest.raises(RuntimeError):
        column.sum()
