"""What looks cost beside the calls of functions: plans, runs and memory that do not grow with columns, and rows counted without further calls."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.config import config
from sframe_spark.engine.execution import action_planning_and_function_call_claims as actions
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.udf import result_caching_size_limits_and_storage as udf_results
from tests.engine.execution.test_once import Calls
from tests.engine.execution.test_once_in_tasks import WrittenCalls


@pytest.mark.spark
def test_plans_do_not_grow_with_columns_that_are_applied(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Any] = []
    plan_action = actions.plan_action
    monkeypatch.setattr(actions, "plan_action", lambda *given: plans.append(given) or plan_action(*given))
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


DOORS: dict[str, Callable[[SFrame], Any]] = {
    "materialize": lambda frame: frame.materialize(),
    "to_arrow": lambda frame: frame.to_arrow(),
    "list": list,
    "sum": lambda frame: frame["x0"].sum() + frame["x1"].sum(),
}


def columns_of_functions() -> SFrame:
    """Two columns of functions, neither of them above the other."""
    column = SArray(range(50))
    return SFrame({f"x{number}": column.apply(lambda value, number=number: value * number, dtype=int) for number in range(2)})


@pytest.mark.spark
@pytest.mark.parametrize("small_rows", [0, 1000])
@pytest.mark.parametrize("door", DOORS)
def test_columns_that_must_be_made_first_are_whatever_else_holds(spark: Any, door: str, small_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [{"x0": 0, "x1": value} for value in range(50)]
    with config.using(check="result", small_rows=small_rows):
        frame = columns_of_functions()
        DOORS[door](frame)
        assert list(frame) == expected
    # No room to remember results.
    monkeypatch.setattr(udf_results, "MAX_BYTES", 1)
    with config.using(small_rows=small_rows):
        frame = columns_of_functions()
        held = [frame["x0"], frame["x1"]]
        DOORS[door](frame)
        assert list(frame) == expected and [list(column) for column in held] == [[0] * 50, list(range(50))]
