"""Each operation on ordered data that other libraries have is one call here, with the values that were worked out by hand."""

from __future__ import annotations

import ast
import math
from typing import Any

import pytest

from tests.docs.ordered_operations import OPERATIONS, Operation, example, values_of


def is_close(found: Any, expected: Any) -> bool:
    """Whether values are equal, floats to nine digits."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and list(found) == list(expected) and all(is_close(found[name], expected[name]) for name in expected)
    if isinstance(expected, list):
        return found is not None and len(found) == len(expected) and all(map(is_close, found, expected))
    if isinstance(found, float) and isinstance(expected, (int, float)):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    return bool(found == expected) and (found is None) == (expected is None)


@pytest.mark.parametrize(
    "operation", [operation for operations in OPERATIONS.values() for operation in operations], ids=lambda operation: operation.what
)
def test_operations_give_what_was_worked_out(operation: Operation) -> None:
    found = values_of(eval(operation.call, example()))
    assert is_close(found, operation.expected), found


def test_operations_are_one_call_of_a_frame_or_column() -> None:
    calls = [operation.call for operations in OPERATIONS.values() for operation in operations]
    assert len(calls) == len(set(calls)) >= 78
    for call in calls:
        frames = [
            node
            for node in ast.walk(ast.parse(call))
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sf"
        ]
        assert len(frames) <= 1, call
