"""What the benchmark of messages counts, and what its tables say."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchmarks import messages
from benchmarks.messages import BY_HAND, DEMANDS, JOB, MARK, SHARED, WAYS, Processors, Taken, show


def test_processes_that_have_ended_still_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MARK, f"test {os.getpid()}")
    processors = Processors()
    before = processors.seconds()
    # It works for a fifth of a second, says so, and waits for its end.
    code = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        busy = processors.seconds()
        process.kill()
    assert busy >= before + 0.1 and processors.seconds() >= busy


def test_demands_are_between_ways_that_are_run() -> None:
    assert all({demand.way, demand.other} <= {*WAYS[demand.operation]} for demand in DEMANDS)
    assert {demand.operation for demand in DEMANDS} == set(WAYS) == set(messages.ROWS)


def test_a_table_says_what_is_missed_by_the_median(capsys: pytest.CaptureFixture[str]) -> None:
    found = {
        SHARED: Taken.of([(1.0, 1.0), (1.0, 2.0), (2.0, 2.0)]),
        JOB: Taken.of([(5.0, 3.0), (1.0, 3.0), (6.0, 3.0)]),
        BY_HAND: Taken.of([(10.0, 10.0)]),
    }
    show("join", 3, found)
    lines = [line for line in capsys.readouterr().out.splitlines() if "/" in line]
    assert lines == [
        "| as it comes, in a shared directory / PySpark by hand | 0.4 | 0.10 | 0.10 | 0.10 | 0.20 | ok |",
        "| messages of a job / PySpark by hand | 0.4 | 0.10 | 0.50 | 0.30 | 0.30 | missed |",
    ]


@pytest.mark.parametrize("way", [way for way in messages.WORDS if way not in (BY_HAND, messages.IN_ORDER)])
def test_what_a_way_replaces_is_there(way: str) -> None:
    """Each name that a way replaces has to be one of the engine's."""
    with messages.crossing(way):
        assert (messages.range_shuffle.exchanged_in_files is messages.without_files) == (way in (JOB, messages.QUERY))
