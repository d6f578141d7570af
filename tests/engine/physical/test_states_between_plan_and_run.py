"""What becomes of a process between planning and running, or beside planning, changes no rows; and planning asks nothing of functions that run."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.engine.execution.action_planning_and_function_call_claims import IN_FLIGHT
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize, read_all
from sframe_spark.engine.shapes.section_planner import SectionPlanner
from sframe_spark.planner.node import PlannerNode
from tests.interpreters import run_program
from tests.random_programs.plans import random_program
from tests.watched_planning import Plan

OTHERS: list[threading.Thread] = []


def by_another_thread(work: Callable[[], object]) -> None:
    """Let another thread work for a while; it may have to wait for this one, so the test waits for it at its end."""
    OTHERS.append(threading.Thread(target=work))
    OTHERS[-1].start()
    OTHERS[-1].join(0.2)


# What happens once the first plan is made, given the nodes of the program and a directory.
CHANGES: dict[str, Callable[[tuple[PlannerNode, ...], Path], Any]] = {
    "all rows are few": lambda nodes, place: setattr(config, "small_rows", 10**6),
    "short segments": lambda nodes, place: setattr(config, "segment_rows", 2),
    "short batches": lambda nodes, place: setattr(config, "batch_rows", 1),
    "no memory": lambda nodes, place: setattr(config, "memory_budget", 1),
    "another temporary directory": lambda nodes, place: setattr(config, "temporary_directory", str(place / "other")),
    "another working directory": lambda nodes, place: os.chdir(place),
    "inputs are materialised": lambda nodes, place: by_another_thread(lambda: [materialize(node) for node in nodes[:-1]]),
    "rows are read": lambda nodes, place: by_another_thread(lambda: [read_all(node) for node in nodes]),
    "explained": lambda nodes, place: [Plan.of(node) for node in nodes],
    "garbage is collected": lambda nodes, place: gc.collect(),
}


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Options and the working directory are put back."""
    monkeypatch.chdir(tmp_path)
    # Each assignment of an option replaces the mapping.
    monkeypatch.setattr(config, "_assigned", config._assigned)
    yield
    while OTHERS:
        OTHERS.pop().join()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("change", CHANGES)
def test_rows_are_those_of_an_undisturbed_run(change: str, seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = random_program(random.Random(seed))
    expected = repr(read_all(program.copy().nodes[-1]).to_table().to_pydict())
    plan, changed = SectionPlanner.plan, list[str]()

    def then_changed(self: SectionPlanner, *arguments: Any) -> Any:
        section = plan(self, *arguments)
        if not changed:
            changed.append(change)
            CHANGES[change](program.nodes, tmp_path)
        return section

    Plan.of(program.nodes[-1])
    monkeypatch.setattr(SectionPlanner, "plan", then_changed)
    assert repr(read_all(program.nodes[-1]).to_table().to_pydict()) == expected


def test_plans_do_not_depend_on_the_hashes_of_texts() -> None:
    """As sets of names are in another order in each process."""
    program = """
import hashlib, random
from tests.random_programs.plans import random_program
from tests.watched_planning import Plan
text = hashlib.md5()
for seed in range(6):
    for node in random_program(random.Random(seed), on_disk=False).nodes:
        text.update(repr(Plan.of(node)).encode())
print(text.hexdigest())
"""
    # Of an interpreter that other tests share, and of one whose hashes are certainly others.
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    other = run_program(program, directory=Path(__file__).parents[3])
    assert not other.returncode, other.stderr
    found = {done.stdout, other.stdout}
    assert len(found) == 1 and found != {""}


def test_explain_does_not_wait_for_a_function_that_runs() -> None:
    running, may_end = threading.Event(), threading.Event()

    def slow(value: int) -> int:
        running.set()
        assert may_end.wait(60)
        return value

    column = SArray(range(5)).apply(slow, int)
    thread = threading.Thread(target=lambda: list(column))
    thread.start()
    assert running.wait(60)
    began = time.monotonic()
    assert column.explain() and (column + 1).explain()
    assert time.monotonic() - began < 30 and thread.is_alive()
    may_end.set()
    thread.join()


def test_a_function_may_explain_the_column_that_it_makes() -> None:
    columns: list[SArray] = []

    def explaining(value: int) -> int:
        assert "lambda_transform" in columns[0].explain()
        return value

    columns.append(SArray([1, 2, 3]).apply(explaining, int))
    assert list(columns[0]) == [1, 2, 3]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_plan_that_failed_leaves_nothing_behind(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    column = SArray([3, 1, 2]).apply(lambda value: calls.append(value) or value, int)

    def failing(self: SectionPlanner, *arguments: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(SectionPlanner, "plan", failing)
        with pytest.raises(error):
            column.explain()
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(list(column + 1)))
    thread.start()
    thread.join(60)
    assert found == [[4, 2, 3]] and calls == [3, 1, 2] and not IN_FLIGHT


def test_threads_that_explain_at_once_get_one_text() -> None:
    sf = SFrame({"a": list(range(2_000)), "b": [str(row % 7) for row in range(2_000)]})
    made = sf.groupby("b", {"s": aggregate.SUM("a")}).sort("b")
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(str(made.explain()))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and len(set(found)) == 1
