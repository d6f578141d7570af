"""Mutated archives: no crash, no hang, no file outside, no more than 256 MiB of memory. ``-m campaign`` reads 10,000 of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.interpreters import run_program
from tests.turicreate import fuzz

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")


def mutated(archives: Path, seed: int, count: int) -> dict[str, int]:
    """What became of so many mutated archives and blocks, read in a process of its own."""
    done = run_program("", str(archives), str(seed), str(count), module="tests.turicreate.fuzz", directory=Path(__file__).parents[2], timeout=3_000)
    assert done.returncode == 0, done.stderr[-3_000:]
    found: dict[str, int] = json.loads(done.stdout)
    return found


def test_some_mutated_archives(archives: Path) -> None:
    outcomes = mutated(archives, 0, 150)
    assert sum(outcomes.values()) == 150
    # Some changes are none that a reader notices, most are.
    assert outcomes["read"] >= 5
    assert outcomes["StorageError"] >= 50
    assert outcomes["BrokenPayload"] >= 20


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100_000, 110_000, 2_500))
def test_very_many_mutated_archives(archives: Path, seed: int) -> None:
    assert sum(mutated(archives, seed, 2_500).values()) == 2_500


def test_the_limits_are_there() -> None:
    """A limit that lets everything pass would find nothing."""
    program = (
        "from tests.turicreate import fuzz\nimport time, signal\nsignal.signal(signal.SIGALRM, fuzz.timed_out)\nfuzz.MOST_SECONDS = 0.1\n"
        "try:\n    with fuzz.limited():\n        bytearray(300 << 20)\nexcept MemoryError:\n    print('memory')\n"
        "try:\n    with fuzz.limited():\n        time.sleep(5)\nexcept TimeoutError:\n    print('time')\n"
        "watch = fuzz.Watch()\nwatch.allowed = '/nowhere'\nopen('/etc/hostname').close()\nprint(watch.escaped)"
    )
    done = run_program(program, directory=Path(__file__).parents[2])
    assert done.stdout.split("\n")[:2] == ["memory", "time"], done.stderr
    assert "/etc/hostname" in done.stdout
    assert fuzz.MOST_MEMORY == 256 << 20
