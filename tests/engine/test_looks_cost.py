"""What looks cost beside the calls of functions: plans, runs and memory that do not grow with columns, and rows counted without further calls."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame
from sframe_spark.config import config
from sframe_spark.engine import looks
from sframe_spark.operators.sources import source_of
from tests.engine.test_once import Calls, WrittenCalls


@pytest.mark.spark
def test_plans_do_not_grow_with_columns_that_are_applied(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Any] = []
    plan_look = looks.plan_look
    monkeypatch.setattr(looks, "plan_look", lambda *given: plans.append(given) or plan_look(*given))
    counts = []
    with config.using(small_rows=0):
        for width in (2, 12):
            sf = SFrame({"a": range(50)})
            for number in range(width):
                sf[f"x{number}"] = sf["a"].apply(Calls(), dtype=float)
            held = [sf[name] for name in sf.column_names()]
            plans.clear()
            table = sf.to_arrow()
            counts.append(len(plans))
            assert [list(column) for column in held] == [column.to_pylist() for column in table.columns]
    assert counts[0] == counts[1] <= 4


@pytest.mark.spark
def test_rows_counted_for_a_length_come_from_the_same_calls(spark: Any, tmp_path: Path) -> None:
    calls = WrittenCalls(tmp_path / "calls")
    with config.using(small_rows=0):
        left = SFrame({"a": range(30)})
        left["k"] = left["a"].apply(calls, dtype=float).apply(lambda value: int(value > 0.5), dtype=int)
        joined = left.join(SFrame({"k": [0, 1, 1], "b": [1, 2, 3]}), on="k")
        assert len(joined) == len(list(joined))
    assert set(calls.counts.values()) == {1}


@pytest.mark.spark
def test_rows_given_to_spark_are_not_kept_here(spark: Any) -> None:
    sf = SFrame({"a": range(1000)})
    table = weakref.ref(source_of(sf._node))
    df = sf.to_spark()
    assert df.count() == 1000
    del sf
    gc.collect()
    assert table() is None and df.count() == 1000
