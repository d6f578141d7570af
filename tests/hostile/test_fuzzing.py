"""Mutated plans and manifests are read right or refused by an error of ours, within the time and the memory that there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interpreters import run_program

ROOT = Path(__file__).parents[2]
FEW = {"plans": 500, "manifests": 150, "sealed": 150}
MANY = {"plans": 60_000, "manifests": 15_000, "sealed": 25_000}
AT_A_TIME = 5_000


def outcomes(first: int, **counts: int) -> dict[str, dict[str, int]]:
    """What came of so many seeds of each kind; raises AssertionError if any was neither right nor refused."""
    asked = [text for kind, count in counts.items() for text in (kind, str(first), str(count))]
    answer = run_program("", *asked, module="tests.hostile.fuzz", directory=ROOT, timeout=3600)
    assert answer.returncode == 0, answer.stderr[-2000:]
    found: dict[str, Any] = json.loads(answer.stdout)
    # A manifest as it is was found right before, or there were no answer.
    assert [failure for told in found.values() for failure in told["failures"]] == []
    assert {kind: sum(told["outcomes"].values()) for kind, told in found.items()} == counts
    return {kind: told["outcomes"] for kind, told in found.items()}


@pytest.fixture(scope="module")
def few() -> dict[str, dict[str, int]]:
    """What came of a few seeds of all kinds, in one process."""
    return outcomes(0, **FEW)


@pytest.mark.parametrize("kind", FEW)
def test_mutated_texts_are_right_or_refused(few: dict[str, dict[str, int]], kind: str) -> None:
    found = few[kind]
    assert found.get("right", 0) + found.get("read", 0) > sum(found.values()) // 200 or kind == "manifests"


@pytest.mark.campaign
@pytest.mark.parametrize("kind", MANY)
def test_a_hundred_thousand_mutated_texts(kind: str) -> None:
    for first in range(10_000, 10_000 + MANY[kind], AT_A_TIME):
        found = outcomes(first, **{kind: AT_A_TIME})[kind]
        assert found.get("right", 0) + found.get("read", 0) > sum(found.values()) // 200 or kind == "manifests"
