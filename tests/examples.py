"""How much of a test the normal run holds: a part of its random examples, and a part of its parameters.

``SFRAME_SPARK_EXAMPLES=1`` asks for all examples, a larger number for so many times as many; ``-m campaign`` for the other parameters.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
# Fewer random examples meet no second value of anything.
FEWEST_EXAMPLES = 4


def examples(full: int, every: int = 20) -> int:
    """How many examples run: one of so many in the normal run, ``SFRAME_SPARK_EXAMPLES`` times all where that is set."""
    asked = os.environ.get("SFRAME_SPARK_EXAMPLES")
    return full * int(asked) if asked else max(-(-full // every), min(full, FEWEST_EXAMPLES))


def by_turns(ways: Sequence[T], every: int, number: int) -> Sequence[T]:
    """Return the ways in which the case of a number is tried: one of so many in the normal run, other ones for the next case."""
    return ways if os.environ.get("SFRAME_SPARK_EXAMPLES") else ways[number % every :: every]


def part(values: Iterable[Any], every: int) -> list[Any]:
    """Parameters of a test, of which the normal run takes each of so many, and ``-m campaign`` the others."""
    return [value if number % every == 0 else _in_campaign(value) for number, value in enumerate(values)]


def square(every: int, *axes: Iterable[Any]) -> list[Any]:
    """All combinations, of which the normal run takes those whose places add up to a multiple of `every`, and ``-m campaign`` the others.

    So each value of an axis runs, with each value of another one where that has at least `every` values or a third axis has.

    Raises
    ------
    ValueError
        If some value of an axis would not run at all, but for a number of a range, which is a seed like any other.
    """
    given = [axis if isinstance(axis, range) else list(axis) for axis in axes]
    combinations = list(itertools.product(*map(enumerate, given)))
    runs = [sum(place for place, _ in combination) % every == 0 for combination in combinations]
    for number, axis in enumerate(given):
        met = {combination[number][0] for combination, is_run in zip(combinations, runs, strict=True) if is_run}
        if len(met) < len(axis) and not isinstance(axis, range):
            raise ValueError(f"{[value for place, value in enumerate(axis) if place not in met]} would not run: take one of fewer than {every}")
    found = [tuple(value for _, value in combination) for combination in combinations]
    return [values if is_run else _in_campaign(values) for values, is_run in zip(found, runs, strict=True)]


def _in_campaign(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.campaign)


def in_one_test(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Run a test for all values, as one test whose failure names the value: of hundreds of quick cases, reporting each takes longer than running it.

    The test takes no fixtures, which all values would share.
    """

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        def run() -> None:
            for value in values:
                given = (value,) if isinstance(names, str) else value
                try:
                    test(*given)
                except Exception as error:
                    error.add_note(f"{names}: {value!r:.300}")
                    raise

        run.__name__, run.__qualname__, run.__doc__, run.__module__ = test.__name__, test.__qualname__, test.__doc__, test.__module__
        return run

    return decorate
