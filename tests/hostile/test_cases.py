"""Hostile files and texts end in an error of ours, or in what they say, within seconds and without running code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hostile import hostile_frames, hostile_texts
from tests.interpreters import run_program

ROOT = Path(__file__).parents[2]
REFUSED = {**hostile_frames.REFUSED, **hostile_texts.REFUSED}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, Any]]:
    """What all cases ended in, one after the other in one process with limits."""
    answer = run_program(module="tests.hostile.run_cases", directory=ROOT, timeout=600)
    assert answer.returncode == 0, answer.stderr[-2000:]
    found: dict[str, dict[str, Any]] = json.loads(answer.stdout)
    return found


def test_there_are_enough() -> None:
    assert len(REFUSED) + len(hostile_texts.ENDED) >= 100


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_things_are_refused_in_our_words(name: str, outcomes: dict[str, dict[str, Any]]) -> None:
    assert (outcomes[name]["ended"], outcomes[name]["canary"]) == ("refused", False), outcomes[name]
    assert outcomes[name]["error"].partition(": ")[2]


@pytest.mark.parametrize("name", hostile_texts.ENDED)
def test_strange_things_come_to_an_end(name: str, outcomes: dict[str, dict[str, Any]]) -> None:
    assert outcomes[name]["ended"] in ("done", "refused"), outcomes[name]
    assert not outcomes[name]["canary"]
