"""Parameters of operators that a plan's text has changed are refused, or mean what they say: none ends in an error from within."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from sframe_spark.errors import InvalidArgumentError, SFrameError
from sframe_spark.plugin import graph_from_json, graph_to_json
from sframe_spark.testing.contract import Example
from sframe_spark.testing.kernel_runs import kernel_rows, runs_as_kernel
from tests.examples import by_turns
from tests.operator_examples import EXAMPLES
from tests.planner.plan_parameters import leaves, with_leaf

# Texts that are data, and not words of a parameter: constants, and names for people.
DATA = {"value", "columns", "names"}


def others(value: Any) -> list[Any]:
    """What somebody may write instead of a value."""
    if isinstance(value, bool):
        return [2, "yes", None]
    if isinstance(value, int):
        return [-1, 10**6, 2**70, 1.5, "1", None]
    if isinstance(value, float):
        return [float("nan"), -1.0, "x", None]
    return [value + "m", "", value.upper(), 5, None] if isinstance(value, str) else ["x", -1]


def changed(example: Example) -> Iterator[tuple[tuple[Any, ...], Any, Any, str]]:
    """Texts of an example's plan, each with one parameter of the last operator changed."""
    node = example.node()
    plan = json.loads(graph_to_json(node))
    last = len(plan["nodes"]) - 1
    for path, value in leaves(plan["nodes"][last].get("parameters", {})):
        for other in others(value):
            yield path, value, other, json.dumps(with_leaf(plan, ("nodes", last, "parameters", *path), other))
    # Until then, what it reads is there.
    del node


@functools.cache
def portable_examples() -> list[Example]:
    """Examples whose operators a text can hold."""
    found = []
    for example in EXAMPLES:
        if not example.needs_spark:
            try:
                graph_to_json(example.node())
            except SFrameError:
                continue
            found.append(example)
    return found


@pytest.mark.parametrize("part", range(4))
def test_changed_parameters(part: int) -> None:
    checked, understood = 0, []
    for example in portable_examples()[part::4]:
        for path, value, other, text in by_turns(list(changed(example)), 2, part):
            checked += 1
            try:
                node = graph_from_json(text)
                if runs_as_kernel(node):
                    kernel_rows(node)
            except SFrameError:
                continue
            is_word = isinstance(value, str) and isinstance(other, str) and other != value and not DATA & set(map(str, path))
            if is_word:
                understood.append((str(example), path, value, other))
    assert checked > 200
    assert understood == []


def test_texts_that_nobody_changed_are_read() -> None:
    for example in portable_examples():
        node = example.node()
        assert graph_from_json(graph_to_json(node)).schema == node.schema


def test_intervals_of_a_clock_that_a_text_lacks() -> None:
    example = next(example for example in portable_examples() if example.operator == "assign_intervals")
    texts = [text for path, _, other, text in changed(example) if path[-1] == "every" and other is None]
    with pytest.raises(InvalidArgumentError, match="neither of a length nor of a clock"):
        graph_from_json(texts[0])
