"""Whole programs as users write them, each checked row by row against the naive plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate, config, load_sframe

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


@pytest.mark.spark
@pytest.mark.sampled(2)
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


def test_failing_function_shows_input_and_own_line(spark: Any) -> None:
    column = SArray([1, 2]).apply(lambda value: 1 // (value - 2), int)
    with pytest.raises(ZeroDivisionError) as caught:
        list(column)
    text = str(caught.value)
    assert "input: 2" in text and "test_programs.py" in text and "py4j" not in text.lower()
    with pytest.raises(RuntimeError):
        column.sum()
