"""A damaged Parquet file of somebody else carries no check sums of ours: it gives an error of ours or values, and never ends the process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def outcomes(kind: str, first: int, count: int) -> dict[str, int]:
    """What came of some changed bytes; raises AssertionError if the process ended or raised anything but errors of ours."""
    command = [sys.executable, "-m", "tests.storage.parquet.foreign_flips", kind, str(first), str(count)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False, cwd=ROOT)
    assert answer.returncode == 0, answer.stderr[-500:]
    found = json.loads(answer.stdout)
    assert found["failures"] == []
    numbers: dict[str, int] = found["outcomes"]
    assert sum(numbers.values()) == count
    return numbers


@pytest.mark.parametrize(("kind", "count"), [("footer", 100), ("any", 30)])
def test_a_changed_byte_never_ends_the_process(kind: str, count: int) -> None:
    found = outcomes(kind, 0, count)
    assert found["StorageError"] > count // 4 and found["right"] > count // 10


@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["footer", "any"])
def test_thousands_of_changed_bytes_never_end_the_process(kind: str) -> None:
    outcomes(kind, 1000, 5000)
