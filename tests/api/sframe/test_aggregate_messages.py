"""An aggregate that does not take a column is told with the names of its columns, whoever computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sframe_spark import SFrame, aggregate
from sframe_spark.api.aggregates.requests import AggregateRequest

DOORS: dict[str, Callable[[SFrame, dict[str, AggregateRequest]], Any]] = {
    "groupby": lambda sf, wanted: sf.groupby("key", wanted),
    "groupby_runs": lambda sf, wanted: sf.groupby_runs("key", operations=wanted),
    "groupby_cycles": lambda sf, wanted: sf.groupby_cycles("time", operations=wanted),
    "groupby_intervals": lambda sf, wanted: sf.groupby_intervals("time", 5, operations=wanted),
    "resample": lambda sf, wanted: sf.resample("time", 5, wanted),
    "running": lambda sf, wanted: sf.running(wanted),
    "window": lambda sf, wanted: sf.window("time", wanted, before=1),
}
WRONG = {
    "sum": (aggregate.SUM("text"), "'text': SUM takes a column of int, float, array, ndarray, not of str"),
    "spread": (aggregate.STD("text"), "'text': VAR or STD takes a column of int, float, not of str"),
    "best": (aggregate.ARGMAX("dict", "text"), "'dict' and 'text': ARGMIN or ARGMAX takes"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("door", DOORS)
def test_the_columns_are_named(door: str, name: str) -> None:
    sf = SFrame({"key": [1, 2], "time": [1, 2], "text": ["a", "b"], "dict": [{}, {}]})
    wrong, words = WRONG[name]
    with pytest.raises(RuntimeError) as told:
        DOORS[door](sf, {"fine": aggregate.MEAN("time"), "wrong": wrong})
    assert words in str(told.value)
