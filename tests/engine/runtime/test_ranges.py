"""Running values are computed range by range, whatever their states are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import pytest

import sframe_spark as tc
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime import task_runners
from sframe_spark.engine.runtime.division_into_row_ranges import range_tasks
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import bytes_of, joined_ranges, states_between
from sframe_spark.engine.runtime.task_runners import ThreadRunner
from sframe_spark.planner.operator import TOO_LARGE, SequentialOperator
from sframe_spark.rewrite_laws import optimize


class Totals(SequentialOperator):
    """Its states are numbers, or None."""

    def combine(self, first: int | None, second: int | None) -> int | None:
        return second if first is None else first if second is None else first + second


def test_no_value_yet_is_a_state_like_any_other() -> None:
    assert states_between(Totals(), None, [None, 3, None, 4]) == [None, 3, 3, 7]


def test_ranges_after_a_state_that_is_too_large_know_nothing() -> None:
    assert states_between(Totals(), None, [1, TOO_LARGE, 4]) == [1, TOO_LARGE, TOO_LARGE]


def test_a_range_begins_where_all_states_are_known() -> None:
    ranges, states = [(0, 2), (2, 4), (4, 6), (6, 8)], [{1: 0, 2: 0}, {}, {}, {}]
    found = joined_ranges(ranges, states, {1: [5, TOO_LARGE, 7], 2: [None, 6, TOO_LARGE]})
    assert found == ([(0, 2), (2, 8)], [{1: 0, 2: 0}, {1: 5, 2: None}])


NESTED: dict[str, tuple[Callable[[tc.SArray], tc.SArray], int]] = {
    "one": (lambda a: a.cumulative_sum(), 1),
    "of a window": (lambda a: a.rolling_mean(-3, 0).cumulative_sum(), 1),
    "side by side": (lambda a: a.cumulative_sum() + a.cumulative_max() * a.cumulative_min(), 1),
    "one above the other": (lambda a: a.cumulative_sum().cumulative_max(), 2),
    "two above one": (lambda a: (below := a.cumulative_sum()).cumulative_max() - below.cumulative_min() + a.cumulative_mean(), 2),
    "windows only": (lambda a: a.rolling_mean(-3, 0).rolling_max(-2, 0), 0),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NESTED)
def test_states_that_do_not_wait_for_each_other_are_found_in_one_pass(name: str) -> None:
    made, passes = NESTED[name]
    values = [None, *((n * 7_919 % 101) / 4 for n in range(300_000))]
    expected = list(made(tc.SArray(values)))
    told: list[str] = []

    def run(self: ThreadRunner, works: Sequence[Callable[[], Any]], description: str, tasks: Sequence[Any] = ()) -> list[Any]:
        told.append(description)
        return [work() for work in works]

    side_by_side = mock.patch.object(task_runners, "local_threads", lambda: 8)
    with side_by_side, mock.patch.object(ThreadRunner, "run", run), tc.config.using(default_segments=5):
        assert list(made(tc.SArray(values))) == expected
    assert sum(description.startswith("summarising") for description in told) == passes
    assert sum(description.startswith("computing") for description in told) == 1


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["sum", "max", "mean"])
def test_every_range_is_a_task(spark: Any, kind: str) -> None:
    column = tc.SArray([None, None, *range(40, 0, -1)])
    running = getattr(column, f"cumulative_{kind}")()
    executor = Executor(MaterializeOptions(segments=7))
    with tc.config.using(small_rows=0):
        executor.execute(optimize(running._node))
    assert executor.log == ["segments: cumulative in 7 task(s) over 42 rows"]


@pytest.mark.usefixtures("called_functions")
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
    tasks = range_tasks(column._node, 42, 1, ThreadRunner())
    assert bytes_of(tasks) == size


@pytest.mark.usefixtures("called_functions")
@pytest.mark.parametrize(
    ("made", "threads"),
    [
        (lambda numbers: numbers + 1, 1),
        (lambda numbers: tc.SFrame({"a": numbers, "b": numbers / 2}), 2),
        (lambda numbers: numbers.astype(str), 4),
        (lambda numbers: numbers.apply(lambda value: value, dtype=int), 4),
    ],
    ids=["one column", "two columns", "texts", "function"],
)
def test_numbers_of_few_bytes_are_read_by_few_threads(made: Any, threads: int) -> None:
    made_of_numbers = made(tc.SArray(range(900_000)))
    with mock.patch.object(ThreadRunner, "parallelism", lambda self: 4):
        assert len(range_tasks(made_of_numbers._node, 900_000, None, ThreadRunner())) == threads


@pytest.mark.parametrize("made", [lambda numbers: numbers + 1, lambda numbers: numbers.cumulative_sum()], ids=["derived", "running"])
def test_rows_follow_every_range_but_the_last(made: Any) -> None:
    """What an operator gives behind the last row is given once."""
    assert [task.final for task in range_tasks(made(tc.SArray(range(42)))._node, 42, 3, ThreadRunner())] == [False, False, True]
