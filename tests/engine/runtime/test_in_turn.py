"""Running values are made in the order of the rows where threads would only go through the rows again; they are the same either way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import sframe_spark as tc
from sframe_spark.config import config
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime import task_runners
from sframe_spark.engine.runtime.division_into_row_ranges import range_tasks, sequential_if_faster
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import collect_rows
from sframe_spark.engine.runtime.task_runners import SequentialRunner, ThreadRunner
from sframe_spark.engine.shapes import stream
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import MemoryReservation
from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.chunk import from_stream
from sframe_spark.rewrite_laws import optimize
from tests.examples import square

ROWS = 18_000
Made = Callable[[tc.SFrame], tc.SFrame]
PROGRAMS: dict[str, tuple[Made, int]] = {
    "cumulative": (lambda sf: tc.SFrame({"x": sf["f"].cumulative_sum()}), 1),
    "one above the other": (lambda sf: tc.SFrame({"x": sf["f"].cumulative_sum().cumulative_max()}), 2),
    "by a key": (lambda sf: sf.running({"x": tc.aggregate.MEAN("f"), "n": tc.aggregate.COUNT_DISTINCT("i")}, by="k"), 1),
    "smoothed": (lambda sf: sf.add_column(sf.exponential_smoothing("f", half_life=3.0), "x"), 1),
    "of a filter": (lambda sf: sf[sf["i"] % 3 > 0].add_row_number("n")[["f"]].running({"x": tc.aggregate.SUM("f")}), 1),
    "moved by rows": (lambda sf: tc.SFrame({"x": sf["f"].shift(2)}), 0),
    "of no rows before": (lambda sf: sf.add_column(sf["f"] + 1, "x"), 0),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tc.SFrame:
    """Rows in several segments."""
    path = str(tmp_path_factory.mktemp("stored") / "rows")
    sf = tc.SFrame({"i": range(ROWS), "k": [f"k{n % 7}" for n in range(ROWS)], "f": [(n * 7_919 % 101) / 3 if n % 11 else None for n in range(ROWS)]})
    with config.using(segment_rows=4_200):
        sf.save(path)
    return tc.load_sframe(path)


def run_by(threads: int, made: tc.SFrame, **options: Any) -> tuple[list[str], list[list[Any]]]:
    """What was logged, and the rows, where so many threads are at work."""
    executor = Executor(MaterializeOptions(**options))
    with mock.patch.object(task_runners, "local_threads", lambda: threads), config.using(small_rows=1_000):
        found = executor.execute(optimize(made._node))
    rows = tc.SFrame(_node=found, _names=made.column_names())
    return executor.log, [list(rows[name]) for name in rows.column_names()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "written"), square(2, PROGRAMS, [False, True]))
def test_rows_are_the_same_in_turn_and_side_by_side(stored: tc.SFrame, name: str, written: bool, tmp_path: Path) -> None:
    program, passes = PROGRAMS[name]
    with config.using(segment_rows=4_200):
        to: list[dict[str, Any]] = [{"directory": str(tmp_path / str(number))} if written else {} for number in range(3)]
        for directory in [place["directory"] for place in to if written]:
            Path(directory).mkdir()
        side_by_side, expected = run_by(8, program(stored), **to[0])
        in_turn, found = run_by(1 + passes, program(stored), **to[1])
        in_turn_of_two, rows = run_by(2, program(stored), **to[2], segments=3)
    assert found == expected and rows == expected
    assert [" one after the other " in line for log in (side_by_side, in_turn, in_turn_of_two) for line in log] == [False, passes > 0, passes > 0]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_that_find_no_room_are_written_in_turn(stored: tc.SFrame, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, passes = PROGRAMS[name]
    _, expected = run_by(1 + passes, program(stored))
    monkeypatch.setattr(stream, "reservation_for_results", lambda: MemoryReservation(60_000))
    with config.using(segment_rows=4_200, batch_rows=1_500, memory_budget=1):
        log, found = run_by(1 + passes, program(stored))
    assert found == expected and any(line.startswith("disk: ") for line in log)


@pytest.mark.parametrize(("threads", "expected"), [(1, SequentialRunner), (2, SequentialRunner), (3, ThreadRunner)])
def test_more_threads_than_passes_work_side_by_side(stored: tc.SFrame, threads: int, expected: type) -> None:
    made = stored["f"].cumulative_sum()
    with mock.patch.object(task_runners, "local_threads", lambda: threads):
        assert type(sequential_if_faster(optimize(made._node), ThreadRunner())) is expected


def made_beside(sf: tc.SFrame) -> tc.SFrame:
    return tc.SFrame({"x": sf["f"].cumulative_sum(), "t": sf["k"] + "-" + sf["k"] + "-" + sf["i"].astype(str)})


def test_much_that_is_made_beside_running_values_is_made_by_all_threads(stored: tc.SFrame) -> None:
    """The pass reads one column of numbers; to spare it would have one thread make all texts."""
    programs: list[tuple[Made, int, type]] = [(made_beside, 2, ThreadRunner), (made_beside, 1, SequentialRunner)]
    programs += [(PROGRAMS[name][0], 1 + passes, SequentialRunner) for name, (_, passes) in PROGRAMS.items() if passes]
    for program, threads, expected in programs:
        with mock.patch.object(task_runners, "local_threads", partial(int, threads)):
            assert type(sequential_if_faster(optimize(program(stored)._node), ThreadRunner())) is expected
    assert run_by(2, made_beside(stored), segments=3)[1] == run_by(1, made_beside(stored), segments=3)[1]


def test_a_task_is_not_run_before_the_one_it_goes_on_from(stored: tc.SFrame) -> None:
    node = optimize(stored["f"].cumulative_sum()._node)
    first, second, third = range_tasks(node, ROWS, 3, SequentialRunner())
    with pytest.raises(PlanInvariantError, match="are made before those in front of them, from whose states they go on"):
        collect_rows(second)
    parts = SequentialRunner().run([partial(collect_rows, task) for task in (first, second, third)], "computing", [first, second, third])
    assert sum(from_stream(part).rows for part in parts) == ROWS
    # States of many groups are large: those that were told are not kept, and a task whose states went on to another is not run again.
    assert not second.states and not third.states
    with pytest.raises(PlanInvariantError, match="are made before those in front"):
        collect_rows(second)
