"""Ctrl-C: Spark's work stops quickly, nothing half-made stays, every object goes on working; threads share work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.errors import CancelledError
from sframe_spark.process.threads import call_cancellable, raise_if_cancelled
from sframe_spark.session.job_labels_and_cancellation import run_cancellable

SLOW = """
import os, sys, time
from sframe_spark import SArray, SFrame, aggregate, config
from sframe_spark.session import get_session
config.small_rows = 0
PLACE = sys.argv[1]
session = get_session()
tracker = session.sparkContext.statusTracker()
def slow(value):
    if os.path.exists(PLACE + "/slow"):
        if value == 0:
            open(PLACE + "/slow", "a").write("rows")
        time.sleep(0.05)
    return value + 1

def interrupted(kind):
    source = SArray(range(4000))
    column = source.apply(slow, dtype=int)
    frame = SFrame({"a": column})
    actions = {
        "tasks": lambda: column.materialize(),
        "save": lambda: frame.save(PLACE + "/saved"),
        "query": lambda: list(frame.groupby("a", {"n": aggregate.COUNT()})["n"]),
    }
    open(PLACE + "/slow", "w").close()
    print("ready", flush=True)
    try:
        actions[kind]()
    except KeyboardInterrupt:
        interrupted = time.time()
    else:
        raise SystemExit("was not interrupted")
    deadline = time.time() + 10
    while tracker.getActiveJobsIds() and time.time() < deadline:
        time.sleep(0.05)
    print("stopped", interrupted, time.time(), list(tracker.getActiveJobsIds()), sorted(os.listdir(PLACE)), flush=True)
    os.remove(PLACE + "/slow")
    assert list(column)[:3] == [1, 2, 3] and column.sum() == sum(range(1, 4001))
    actions[kind]()
    assert len(source) == 4000
    print("usable", kind, flush=True)

for kind in sys.argv[2:]:
    interrupted(kind)
"""
KINDS = ("query", "tasks", "save")


@pytest.mark.spark
def test_interrupt_stops_spark_and_leaves_everything_usable(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SLOW, str(tmp_path), *KINDS]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    # A process that does not end when it is interrupted must not hold up all tests.
    limit = threading.Timer(180, process.kill)
    limit.start()
    try:
        for kind in KINDS:
            assert next(lines, "") == "ready\n", f"{kind}: {process.communicate()[1][-4000:]}"
            wait_for_slow_rows(tmp_path / "slow")
            sent = time.time()
            os.kill(process.pid, signal.SIGINT)
            check_stopped(next(lines, ""), sent)
            assert next(lines, "") == f"usable {kind}\n", process.communicate()[1][-4000:]
        assert process.wait(60) == 0
    finally:
        limit.cancel()
        process.kill()
        process.communicate()


def wait_for_slow_rows(note: Path) -> None:
    """Wait until a task is among them, and a moment longer."""
    until = time.monotonic() + 60
    while not note.exists() or note.stat().st_size == 0:
        assert time.monotonic() < until, "no task has come to the slow rows"
        time.sleep(0.02)
    time.sleep(0.5)


def check_stopped(line: str, sent: float) -> None:
    """Soon after Ctrl-C nothing runs, and nothing half-made is there."""
    assert line.startswith("stopped"), line or "the process ended"
    _, interrupted, idle, rest = line.strip().split(" ", 3)
    assert float(interrupted) - sent < 5
    assert float(idle) - sent < 10
    assert rest == "[] ['slow']"


@pytest.mark.spark
def test_error_of_the_action_is_raised_in_the_caller(spark: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        run_cancellable(lambda: 1 // 0)
    assert run_cancellable(lambda: 7) == 7


@pytest.mark.spark
def test_interrupted_wait_reaches_the_action(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    def action() -> None:
        try:
            for _ in range(200):
                time.sleep(0.05)
                raise_if_cancelled()
        except CancelledError:
            steps.append("cancelled")
            raise

    def interrupt() -> None:
        time.sleep(0.3)
        signal.raise_signal(signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        run_cancellable(action)
    sender.join(10)
    assert steps == ["cancelled"]


def test_outside_an_action_nothing_is_cancelled() -> None:
    with pytest.raises(CancelledError):
        copy_context().run(call_cancellable, lambda: True, int)
    raise_if_cancelled()
    assert copy_context().run(call_cancellable, lambda: False, int) == 0


@pytest.mark.spark
@pytest.mark.parametrize("small_rows", [0, 100])
def test_threads_that_want_the_same_node_run_it_once(spark: Any, tmp_path: Path, small_rows: int) -> None:
    calls = tmp_path / "calls"

    def noted(value: int) -> int:
        with open(calls, "a") as file:
            file.write("x")
        time.sleep(0.02)
        return value * 2

    column = SArray(range(20)).apply(noted, dtype=int)
    start = threading.Barrier(4)
    seen: list[Any] = []

    def ask() -> None:
        start.wait(30)
        with config.using(small_rows=small_rows):
            materialize(column._node)
            seen.append(list(column))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert seen == [[value * 2 for value in range(20)]] * 4
    assert len(calls.read_text()) == 20


@pytest.mark.spark
def test_failure_in_one_thread_does_not_block_another(spark: Any, tmp_path: Path) -> None:
    def fails_once(value: int) -> int:
        try:
            with open(tmp_path / "first", "x"):
                raise ValueError("first time")
        except FileExistsError:
            return value

    frame = SFrame({"a": range(5)})
    column = frame["a"].apply(fails_once, dtype=int)
    outcomes: list[str] = []

    def ask() -> None:
        try:
            column.materialize()
            outcomes.append("done")
        except ValueError:
            outcomes.append("failed")

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes) == ["done", "done", "failed"]
    assert list(column) == list(range(5))
