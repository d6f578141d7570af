"""Shifts, running aggregates and smoothing in whole programs, on the driver and on Spark, each checked against its naive plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate, config, load_sframe

pytestmark = [pytest.mark.spark, pytest.mark.behaviour]


def frame() -> SFrame:
    numbers = [3, 1, None, 5, 2, 8, 1]
    return SFrame({"i": numbers, "k": ["x", "y", "x", None, "y", "x", None], "t": [10, 20, 30, 40, 50, 60, 70]})


def assigned() -> SFrame:
    kept = frame()[frame()["t"] > 10]
    kept["before"] = kept["i"].shift(1, fill=0)
    kept["change"] = kept["t"].diff()
    return kept


def first_of_each() -> SFrame:
    numbered = frame().running({"n": aggregate.COUNT}, by="k")
    return numbered[numbered["n"] == 1]


PROGRAMS: dict[str, Callable[[], SFrame]] = {
    "columns of a filtered frame": assigned,
    "running after a sort": lambda: frame().sort("i").running({"s": aggregate.SUM("i"), "c": aggregate.CONCAT("t")}, by="k"),
    "filter by a running value": first_of_each,
    "running over running": lambda: frame().running({"a": aggregate.MAX("i")}).running({"b": aggregate.SUM("a")}, by="k"),
    "appended": lambda: frame().append(frame()).running({"n": aggregate.COUNT_DISTINCT("t"), "s": aggregate.SUM("i")}),
    "shift of a running value": lambda: SFrame({"p": frame().running({"s": aggregate.SUM("i")}, by="k")["s"].shift(-2)}),
    "group-by of shifted keys": lambda: frame().shift_time("t", 5).groupby("k", {"m": aggregate.MAX("t")}),
    "join on moved keys": lambda: frame().shift_time("t", 10).join(frame(), on="t"),
    "slice": lambda: frame().running({"s": aggregate.SUM("i")}, by="k")[2:6:2],
}


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_equals_its_naive_plan(name: str, spark: Any) -> None:
    with config.using(check="result"):
        PROGRAMS[name]().materialize()


def test_saved_frames(tmp_path: Path, spark: Any) -> None:
    done = frame().running({"s": aggregate.SUM("i")}, by="k")
    done["e"] = done.exponential_smoothing("i", on="t", half_life=10, by="k")
    done.save(str(tmp_path / "f.sframe"))
    loaded = load_sframe(str(tmp_path / "f.sframe"))
    assert list(loaded["s"]) == [3, 1, 3, 5, 3, 11, 6]
    assert list(loaded["e"]) == pytest.approx([3.0, 1.0, 3.0, 5.0, 17 / 9, 259 / 33, 13 / 9])
