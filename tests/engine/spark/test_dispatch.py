"""Works as tasks of one job: results in order, errors as they were raised, by a job and by a query alike."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sframe_spark.engine.spark import callables_as_job
from sframe_spark.engine.spark.callables_as_job import outcomes_from_job, outcomes_from_query, run_callables, shares_of
from sframe_spark.engine.spark.error_translation import translated_errors
from sframe_spark.errors import ConversionError, ExecutionError, StorageError
from sframe_spark.explain.executed_spark_plans import recorded_plans
from sframe_spark.session import default_parallelism, get_session
from sframe_spark.session.spark_start_and_settings import WORKER_PYTHON

pytestmark = pytest.mark.spark


@pytest.fixture(params=[outcomes_from_job, outcomes_from_query], ids=lambda run: run.__name__)
def transport(request: pytest.FixtureRequest, spark: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Each way to run works, in turn the one that is taken."""
    monkeypatch.setattr(callables_as_job, "jobs_start_python_of_queries", lambda session: request.param is outcomes_from_job)
    return request.param


def raised(error: Exception) -> None:
    raise error


def test_results_come_in_the_order_of_the_works(transport: Any) -> None:
    works = [partial(divmod, number, 3) for number in range(50)]
    assert run_callables(works, "dividing") == [divmod(number, 3) for number in range(50)]


def test_a_core_takes_several_works(transport: Any) -> None:
    import os

    processes = run_callables([os.getpid] * 9, "asking")
    assert os.getpid() not in processes and len(set(processes)) <= default_parallelism(get_session())


def test_the_first_error_of_ours_is_raised_as_it_was(transport: Any) -> None:
    works = [int, partial(raised, ConversionError("'x'", "int", 7)), partial(raised, ExecutionError("later"))]
    with pytest.raises(ConversionError, match="row 7: 'x' cannot be cast to int"):
        run_callables(works, "casting")


def test_a_storage_error_fails_its_task_and_is_told_as_what_it_is(transport: Any) -> None:
    with pytest.raises(StorageError, match="the disk is full"), translated_errors("writing"):
        run_callables([partial(raised, StorageError("the disk is full"))], "writing")


def test_what_is_no_error_of_ours_is_told_in_a_line(transport: Any) -> None:
    with pytest.raises(ExecutionError) as caught, translated_errors("computing"):
        run_callables([partial(raised, ZeroDivisionError("nothing to share"))], "computing")
    assert str(caught.value) == "Spark failed while computing: ZeroDivisionError: nothing to share"


def test_a_function_that_ends_its_process_is_called_once(transport: Any, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    with pytest.raises(ExecutionError, match=r"^one of your functions raised SystemExit\(3\): functions must not end their process$"):
        run_callables([partial(leave, str(calls))], "computing")
    assert calls.read_text("ascii") == "called\n"


def leave(notes: str) -> None:
    with open(notes, "a", encoding="ascii") as file:
        file.write("called\n")
    raise SystemExit(3)


def test_a_worker_that_dies_is_told_in_a_line(transport: Any) -> None:
    import os

    words = r"Python worker exited unexpectedly each [^\n]* functions must not [^\n]* memory[^\n]*"
    with pytest.raises(ExecutionError, match=rf"^Spark failed while computing: {words}$"), translated_errors("computing"):
        run_callables([partial(os._exit, 3)], "computing")


GIGABYTE = 1 << 30


@pytest.mark.spark
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("works", "size", "tasks"),
    [(3, None, 3), (100, None, 32), (100, 0, 8), (100, GIGABYTE, 8), (100, 4 * GIGABYTE - 1, 8), (100, 4 * GIGABYTE, 16), (100, 5 * GIGABYTE, 16),
     (12, 5 * GIGABYTE, 12), (5, 5 * GIGABYTE, 5), (100, 500 * GIGABYTE, 32)],
)  # fmt: skip
def test_on_a_cluster_few_bytes_are_few_tasks_for_each_core(works: int, size: int | None, tasks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callables_as_job, "default_parallelism", lambda session: 8)
    monkeypatch.setattr(callables_as_job, "is_remote", lambda session: False)
    monkeypatch.setattr(callables_as_job, "is_one_process", lambda session: False)
    assert callables_as_job.task_count_for(get_session(), works, size) == tasks


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("each", range(1, 5))
@pytest.mark.parametrize("cores", range(1, 7))
def test_cores_that_take_task_after_task_end_together(cores: int, each: int) -> None:
    for works in range(1, 60):
        shares = shares_of(works, min(works, each * cores))
        assert [number for share in shares for number in share] == list(range(works))
        ends = [0] * cores
        for share in shares:
            heapq.heapreplace(ends, ends[0] + len(share))
        assert max(ends) == -(-works // cores)


def tracked() -> int:
    """How many objects a collection of garbage in this process looks at."""
    import gc

    return len(gc.get_objects())


def test_workers_collect_garbage_among_what_tasks_brought(transport: Any) -> None:
    # What a worker imports is set aside when its first task has ended: 100,000 objects, at which it would look after each task.
    works = [tracked] * default_parallelism(get_session())
    for _ in range(8):
        found = run_callables(works, "counting")
    assert max(found) < 20_000


def left_behind(number: int) -> int:
    """Leave garbage in a worker that only a collection finds, import something, and count what earlier ones left."""
    import gc
    import sys
    import types

    class Left(list[Any]):
        """Known by its name: each task has a class of its own."""

    left = Left()
    left.append(left)
    name = f"sframe_spark_test_{number}"
    sys.modules[name] = types.ModuleType(name)
    gc.unfreeze()
    return sum(type(found).__name__ == "Left" for found in gc.get_objects())


def test_garbage_of_tasks_that_import_is_collected(transport: Any) -> None:
    """It was set aside with the modules, for as long as the worker lives."""
    cores = default_parallelism(get_session())
    found = [max(run_callables([partial(left_behind, round_ * cores + work) for work in range(cores)], "leaving")) for round_ in range(5)]
    assert max(found) <= cores


def test_our_own_session_runs_works_without_a_query(spark: Any) -> None:
    with recorded_plans() as plans:
        run_callables([int, int], "counting")
    assert [plan.names() for plan in plans] == [["MapPartitions", "RDDScan"]]


def test_a_session_whose_queries_start_another_python_runs_works_as_a_query(spark: Any) -> None:
    session = get_session()
    python = session.conf.get(WORKER_PYTHON)
    session.conf.set(WORKER_PYTHON, "python-of-another-environment")
    try:
        with recorded_plans() as plans, pytest.raises(Exception, match="python-of-another-environment"):
            run_callables([int], "counting")
    finally:
        session.conf.set(WORKER_PYTHON, python)
    # Spark 3.5 calls the step PythonMapInArrow.
    assert [[name.removeprefix("Python") for name in plan.names()] for plan in plans] == [["MapInArrow", "Range"]]
