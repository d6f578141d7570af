"""No smallest and no largest value is -0.0: both zeros tie, and which of them is met first depends on how rows were cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sframe_spark import SArray, SFrame, aggregate, config, load_sframe
from tests.examples import by_turns

ROWS = 600
RANDOM = np.random.default_rng(7)
COLUMNS: dict[str, Any] = {
    "id": list(range(ROWS)),
    "run": [row // 20 for row in range(ROWS)],
    "key": RANDOM.integers(0, 200, ROWS).tolist(),
    "zero": RANDOM.choice([0.0, -0.0], ROWS).tolist(),
}
EXTREMES = {"least": aggregate.MIN("zero"), "most": aggregate.MAX("zero")}
CUTS: tuple[dict[str, Any], ...] = (
    {},
    {"small_rows": 1, "batch_rows": 37},
    {"small_rows": 1, "batch_rows": 7},
    {"memory_budget": 2000, "small_rows": 1},
)


def extremes(frame: SFrame) -> list[Any]:
    """The extremes that a frame has of each group or window."""
    return [*frame["least"], *frame["most"]]


PROGRAMS: dict[str, Callable[[SFrame], list[Any]]] = {
    "columns": lambda sf: [sf["zero"].min(), sf["zero"].max(), sf["zero"].summary().min(), sf["zero"].summary().max()],
    "groups": lambda sf: extremes(sf.groupby("key", EXTREMES)),
    "runs": lambda sf: extremes(sf.groupby_runs("run", EXTREMES)),
    "intervals": lambda sf: extremes(sf.resample("id", every=10, operations=EXTREMES)),
    "windows": lambda sf: extremes(sf.window("id", EXTREMES, before=7)),
    "running": lambda sf: extremes(sf.running(EXTREMES)),
    "running by key": lambda sf: extremes(sf.running(EXTREMES, by="key")),
    "cumulative": lambda sf: [*sf["zero"].cumulative_min(), *sf["zero"].cumulative_max()],
    "rolling": lambda sf: [*sf["zero"].rolling_min(-5, 0), *sf["zero"].rolling_max(-5, 2)],
}


def is_plain(values: list[Any]) -> bool:
    """Whether all values are zeros without a sign, as far as there are any."""
    return all(repr(value) == "0.0" for value in values if value is not None)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_extremes_have_no_sign_of_zero(name: str, tmp_path: Path) -> None:
    SFrame(COLUMNS).save(str(tmp_path / "rows"))
    for cut in by_turns(CUTS, 2, list(PROGRAMS).index(name)):
        with config.using(**cut):
            assert is_plain(PROGRAMS[name](SFrame(COLUMNS)))
            assert is_plain(PROGRAMS[name](load_sframe(str(tmp_path / "rows"))))


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_nor_those_that_spark_finds(name: str) -> None:
    with config.using(work_memory=0, small_rows=0, single_task_rows=0):
        assert is_plain(PROGRAMS[name](SFrame(COLUMNS)))
    if name in ("columns", "groups"):
        assert is_plain(PROGRAMS[name](SFrame(SFrame(COLUMNS).to_spark().repartition(5))))


def test_other_values_stay() -> None:
    for zero in (0.0, -0.0):
        column = SArray([None, zero, -1.5, float("inf")], float)
        assert repr([column.min(), column.max(), *column.cumulative_max()]) == "[-1.5, inf, None, 0.0, 0.0, inf]"
    assert repr(list(SArray([-0.0]))) == "[-0.0]"
