"""Equal operators that look rows up in one input and in different others, side by side in a plan, do not take each other's notes for their own."""

from __future__ import annotations

from typing import Any

import pytest

from sframe_spark.config import config
from sframe_spark.engine.execution.materialize_count_and_read_rows import read_all
from sframe_spark.engine.runtime.pipeline import Pipeline
from sframe_spark.operators.append import append
from sframe_spark.operators.project_zip_arrange import zip_columns
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from sframe_spark.testing.contract import Example
from sframe_spark.testing.oracle import Oracle, rows_of
from sframe_spark.testing.row_comparison import same_rows
from tests.operator_examples import EXAMPLES
from tests.random_tables import table_source


def looks_up(example: Example) -> bool:
    """True for operators of two inputs that look rows up in one of them."""
    node = example.node()
    return len(node.inputs) == 2 and any(node.operator.requires(slot) is Need.LOOKUP for slot in range(2))


LOOKUPS = [example for example in EXAMPLES if not example.needs_spark and looks_up(example)]


def with_other_rows(node: PlannerNode, slot: int) -> PlannerNode:
    """The node over every second row of an input, each twice: in the same order, and as many as before."""
    before = Oracle().rows(node.inputs[slot])
    rows = [row for row in before[::2] for _ in range(2)][: len(before)]
    columns = [list(values) for values in zip(*rows, strict=True)]
    inputs = list(node.inputs)
    inputs[slot] = table_source(columns, node.inputs[slot].schema, len(rows))
    return node.operator.make_planner_node(*inputs)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("slot", [0, 1])
@pytest.mark.parametrize("example", LOOKUPS, ids=str)
def test_equal_operators_with_one_input_in_common(example: Example, slot: int) -> None:
    first = example.node()
    second = with_other_rows(first, slot)
    both: Any = append(first, second)
    assert same_rows(rows_of_both(both), Oracle().rows(both))
    if first.length.rows is not None and first.length.rows == second.length.rows:
        both = zip_columns(first, second)
        assert same_rows(rows_of_both(both), Oracle().rows(both))


def rows_of_both(both: PlannerNode) -> list[Any]:
    """All rows, computed a few at a time as one section."""
    assert len({id(child) for child in both.inputs}) == 2
    assert Pipeline.of(both).lookup_slots()
    with config.using(batch_rows=3):
        return rows_of(read_all(both).columns, both.schema)
