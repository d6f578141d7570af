"""How much of a test the normal run holds: a part of its random examples, and a part of its parameters.

``SFRAME_SPARK_EXAMPLES=1`` asks for all examples, a larger number for so many times as many; ``-m campaign`` for the other parameters.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import Any

import pytest


def examples(full: int, every: int = 5) -> int:
    """How many examples run: one of so many in the normal run, ``SFRAME_SPARK_EXAMPLES`` times all where that is set."""
    asked = os.environ.get("SFRAME_SPARK_EXAMPLES")
    return full * int(asked) if asked else -(-full // every)


def part(values: Iterable[Any], every: int) -> list[Any]:
    """Parameters of a test, of which the normal run takes each of so many, and ``-m campaign`` the others."""
    return [value if number % every == 0 else _in_campaign(value) for number, value in enumerate(values)]


def square(every: int, *axes: Iterable[Any]) -> list[Any]:
    """All combinations, of which the normal run takes those whose places add up to a multiple of `every`, and ``-m campaign`` the others.

    So each value of an axis runs, with each value of another one where that has at least `every` values or a third axis has.
    """
    combinations = itertools.product(*map(enumerate, axes))
    return [
        values if sum(place for place, _ in combination) % every == 0 else _in_campaign(values)
        for combination in combinations
        for values in [tuple(value for _, value in combination)]
    ]


def _in_campaign(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.campaign)
