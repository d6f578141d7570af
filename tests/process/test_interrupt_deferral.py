"""Ctrl-C at any moment, while Spark starts and while a query is made, leaves the session and all frames usable."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.process.threads import in_threads

PROGRAM = """
import json, os, random, signal, threading, time
from sframe_spark import SFrame, aggregate, config
config.small_rows = 0
sf = SFrame({"k": [i % 5 for i in range(100)], "v": range(100)})
choose = random.Random(1)

def answer():
    return list(sf.groupby("k", {"s": aggregate.SUM("v"), "n": aggregate.COUNT()}).sort("s")["s"])

def interrupted(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        answer()
        timer.join()
        time.sleep(0.05)
    except KeyboardInterrupt:
        return True
    return False

def pressed(count, shortest, longest):
    return sum(interrupted(choose.uniform(shortest, longest)) for _ in range(count))

starts = pressed(2, 0.3, 1.0)
first = answer()
queries, answers = 0, []
for _ in range(10):
    queries += pressed(1, 0.0005, 0.06)
    answers.append(answer())
print(json.dumps({"starts": starts, "first": first, "queries": queries, "same": all(found == first for found in answers)}))
"""


@pytest.mark.spark
def test_any_moment() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {"starts": 2, "first": [950, 970, 990, 1010, 1030], "queries": 10, "same": True}


def test_nothing_is_deferred_without_ctrl_c() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts_deferred():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_in_the_block_and_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, interrupts_deferred():
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError("of the block")
    assert isinstance(caught.value.__context__, ValueError)


def test_other_threads_and_ignored_signals() -> None:
    found = []

    def work() -> None:
        with interrupts_deferred():
            found.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [before]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_deferred():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_block_in_a_block_is_heard_at_the_end_of_the_outer_one() -> None:
    steps: list[str] = []
    told: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupts_deferred(lambda: told.append("outer")):
        with interrupts_deferred():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("inner")
        with interrupts_deferred(lambda: told.append("inner")):
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("told")
        steps.append("outer")
    assert steps == ["inner", "told", "outer"]
    assert sorted(told) == ["inner", "outer", "outer"]
    assert signal.getsignal(signal.SIGINT) is before


def test_one_work_whose_error_leaves_nothing_behind() -> None:
    def fail(item: int) -> None:
        raise ValueError(f"item {item}")

    running = threading.active_count()
    with pytest.raises(ValueError, match="item 7"):
        in_threads(fail, [7], 4)
    assert threading.active_count() == running
