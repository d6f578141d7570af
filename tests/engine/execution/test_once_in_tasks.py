"""A user's function is called once for each row in Spark's tasks too, whoever looks."""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate
from sframe_spark.config import config
from tests.engine.execution.test_once import DOORS, ROWS, at_once, framed


class WrittenCalls:
    """A random function that leaves the values it is called with in a file, from whatever process."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __call__(self, value: int) -> float:
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, value.to_bytes(8, "little"))
        os.close(file)
        return random.random()

    @property
    def counts(self) -> Counter[int]:
        found = Path(self.path).read_bytes()
        return Counter(int.from_bytes(found[place : place + 8], "little") for place in range(0, len(found), 8))


SPARK_DOORS = ("list", "head", "one row", "above", "sum", "filter", "save", "sort")


@pytest.mark.spark
@pytest.mark.parametrize("dtype", [float, None])
def test_in_spark_tasks(spark: Any, tmp_path: Path, dtype: Any) -> None:
    calls = WrittenCalls(tmp_path / "calls")
    with config.using(small_rows=0):
        b = SArray(range(ROWS)).apply(calls, dtype=dtype)
        found = at_once({name: lambda door=DOORS[name][0]: door(b, tmp_path) for name in SPARK_DOORS})
        values = list(b)
        assert found == {name: DOORS[name][1](values) for name in SPARK_DOORS}
        assert sorted(row[0] for row in framed(b).to_spark().select("x").collect()) == sorted(values)
    assert set(calls.counts.values()) == {1} and len(calls.counts) == ROWS


@pytest.mark.spark
def test_a_frame_that_nobody_else_can_reach_is_one_pass_in_spark(spark: Any, tmp_path: Path) -> None:
    calls = WrittenCalls(tmp_path / "calls")
    with config.using(small_rows=0):
        sf = framed(SArray(range(ROWS)).apply(calls, dtype=float))
        sf = sf[sf["a"] >= ROWS - 10]
        assert len(sf) == 10
        kept = SArray(range(ROWS)).apply(calls, dtype=float)
        whole = framed(kept)
        whole.materialize()
        assert list(kept) == list(whole["x"])
    assert calls.counts == {value: 2 if value >= ROWS - 10 else 1 for value in range(ROWS)}


@pytest.mark.spark
@pytest.mark.parametrize("tiny", [1e-30, 1e-300])
@pytest.mark.parametrize("door", ["materialize", "save"])
def test_sums_of_unusual_numbers_that_a_function_gives(spark: Any, tmp_path: Path, tiny: float, door: str) -> None:
    """A query whose sums leave out such numbers would be made anew."""
    calls = WrittenCalls(tmp_path / "calls")
    sf = SFrame(spark.range(100).selectExpr("id", "id % 7 AS k"))
    sf["y"] = sf["id"].apply(lambda value: 0.0 * calls(value) + tiny * value, dtype=float)
    sums = sf.groupby("k", {"sum": aggregate.SUM("y"), "mean": aggregate.MEAN("y"), "std": aggregate.STD("y")})
    del sf
    with config.using(small_rows=0, work_memory=0):
        sums.materialize() if door == "materialize" else sums.save(str(tmp_path / "saved"))
    expected = [math.fsum(tiny * value for value in range(key, 100, 7)) for key in range(7)]
    assert list(sums.sort("k")["sum"]) == expected
    assert calls.counts == dict.fromkeys(range(100), 1)


# Each of these reads what the function gave in an expression of Spark that names it more than once.
READ_OFTEN: dict[str, Callable[[SFrame, SArray], SFrame]] = {
    "compared": lambda sf, b: sf[b > 0.2].groupby("k", {"n": aggregate.COUNT()}),
    "compared and kept": lambda sf, b: sf[(b > 0.2) & (sf["a"] > 1)].sort("k"),
    "divided": lambda sf, b: SFrame({"k": sf["k"], "b": b // 0.3}).groupby("k", {"total": aggregate.SUM("b"), "spread": aggregate.VAR("b")}),
    "clipped": lambda sf, b: SFrame({"b": b.clip(0.3, 0.6)}).groupby("b", {"n": aggregate.COUNT()}),
}


@pytest.mark.spark
@pytest.mark.parametrize("name", READ_OFTEN)
def test_expressions_of_spark_that_read_a_result_more_than_once(spark: Any, tmp_path: Path, name: str) -> None:
    calls = WrittenCalls(tmp_path / "calls")
    with config.using(work_memory=0, small_rows=0):
        sf = SFrame({"a": list(range(ROWS)), "k": [row % 3 for row in range(ROWS)]})
        assert list(READ_OFTEN[name](sf, sf["a"].apply(calls, dtype=float)))
    assert set(calls.counts.values()) == {1} and len(calls.counts) == ROWS
