"""Plans of others whose operators name columns that are not there are refused when they are read, not when a kernel looks for the column."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all
from sframe_spark.errors import InvalidArgumentError, SFrameError
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.plan_json import graph_from_json, graph_to_json
from sframe_spark.testing.contract import Example
from tests.hostile.fuzz import CALLING_PYTHON
from tests.operator_examples import EXAMPLES

# Parameters that name columns, and nothing else.
POSITIONS = ("by", "keys", "left_keys", "right_keys", "left_key", "right_key", "on", "within", "value", "time", "position")


def with_far_positions(value: Any, far: int) -> Iterator[Any]:
    """The value with one of its whole numbers out of range, for each of them."""
    if type(value) is int:
        yield far
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            yield from ((*value[:place], other, *value[place + 1 :]) for other in with_far_positions(item, far))
    elif attrs.has(type(value)) and not isinstance(value, Operator):
        yield from changed(value, far)


def changed(value: Any, far: int) -> Iterator[Any]:
    """An attrs value with one whole number in it out of range, for each of them."""
    for field in attrs.fields(type(value)):
        if field.init and field.metadata.get("portable", True):
            for other in with_far_positions(getattr(value, field.name), far):
                # Many are refused where they are made, by reading too.
                with contextlib.suppress(InvalidArgumentError):
                    yield attrs.evolve(value, **{field.alias: other})


def portable(example: Example) -> bool:
    """True for operators over rows that a plan's text can hold."""
    return not example.needs_spark and example.operator not in CALLING_PYTHON and bool(example.node().inputs)


@pytest.mark.parametrize("far", [99, -1])
@pytest.mark.parametrize("example", [item for item in EXAMPLES if portable(item)], ids=str)
def test_no_kernel_looks_for_columns_that_are_not_there(example: Example, far: int) -> None:
    node = example.node()
    for field in attrs.fields(type(node.operator)):
        if not field.init or not field.metadata.get("portable", True):
            continue
        for value in with_far_positions(getattr(node.operator, field.name), far):
            try:
                text = graph_to_json(attrs.evolve(node.operator, **{field.alias: value}).make_planner_node(*node.inputs))
                found = graph_from_json(text)
            except (SFrameError, LookupError, ValueError):
                # Types are inferred when a plan is read, too.
                continue
            assert field.name not in POSITIONS, f"{field.name} = {value!r} was read"
            with contextlib.suppress(SFrameError):
                read_all(found)
