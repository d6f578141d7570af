"""Running values are computed range by range, whatever their states are."""

from __future__ import annotations

from typing import Any

import pytest

import sframe_spark as tc
from sframe_spark.engine.options import MaterializeOptions
from sframe_spark.engine.runs.executor import Executor
from sframe_spark.engine.runs.materialize import optimize
from sframe_spark.engine.segments.range_tasks import bytes_of, range_tasks
from sframe_spark.engine.segments.range_workers import Threads
from sframe_spark.engine.segments.ranges import states_between
from sframe_spark.operators.running.cumulative import Cumulative
from sframe_spark.planner.operator import TOO_LARGE


def test_no_value_yet_is_a_state_like_any_other() -> None:
    assert states_between(Cumulative("sum"), None, [None, 3, None, 4]) == [None, 3, 3, 7]


def test_ranges_after_a_state_that_is_too_large_know_nothing() -> None:
    assert states_between(Cumulative("sum"), None, [1, TOO_LARGE, 4]) == [1, TOO_LARGE, TOO_LARGE]


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["sum", "max", "mean"])
def test_every_range_is_a_task(spark: Any, kind: str) -> None:
    column = tc.SArray([None, None, *range(40, 0, -1)])
    running = getattr(column, f"cumulative_{kind}")()
    executor = Executor(MaterializeOptions(segments=7))
    with tc.config.using(small_rows=0):
        executor.execute(optimize(running._node))
    assert executor.log == ["segments: cumulative in 7 task(s) over 42 rows"]


@pytest.mark.parametrize(
    ("made", "size"),
    [
        (lambda column: column + 1, 42 * 8),
        (lambda column: column.cumulative_sum(), 42 * 8),
        (lambda column: column.apply(lambda value: value, dtype=int), None),
        (lambda column: (column + 1).apply(lambda value: value, dtype=int).cumulative_sum(), None),
    ],
    ids=["derived", "running", "function", "function below"],
)
def test_how_long_tasks_take_follows_from_bytes_where_nobody_elses_functions_are_called(made: Any, size: int | None) -> None:
    column = made(tc.SArray(range(42)))
    tasks = range_tasks(column._node, 42, 1, Threads())
    assert bytes_of(tasks) == size
