"""Joins whose rows are counted before they are made: how many there are decides where, and whether, they are made."""

from __future__ import annotations

from sframe_spark.config import config
from sframe_spark.engine.placement import is_small
from sframe_spark.engine.runner import FlatPlan, PlanRunner
from sframe_spark.operators.elementwise import calls_python
from sframe_spark.operators.lookup import Lookup
from sframe_spark.operators.sorted_join import SortedJoin
from sframe_spark.operators.sources import source_of
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.facts import Facts, Length
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode


def with_counted_rows(node: PlannerNode, base_rows: int) -> PlannerNode:
    """A join over a source to be searched, with the number of its rows where it may have many and few rows tell."""
    operator, (left, right) = node.operator, node.inputs
    assert isinstance(operator, SortedJoin)
    bound = node.length.at_most
    if bound is None or bound <= config.small_rows or not can_be_counted(left):
        return node
    lookup, facts = Lookup.of(source_of(right)), [left.facts, right.facts]
    batches = PlanRunner(FlatPlan.of(left)).stream(0, base_rows, config.batch_rows)
    rows = sum(operator.count_rows([batch, lookup], facts) for batch in batches)
    return PlannerNode(operator, node.inputs, Facts(node.schema, Length.exactly(rows), node.facts.domain))


def joined_rows(node: PlannerNode, base_rows: int, start: int, stop: int) -> Chunk | None:
    """Rows ``start..stop`` of a join, or of columns computed of it row by row; pairs before these are counted, not made.

    None where somebody must make them: many rows to be searched for, or a user's function.
    """
    above, join = [], node
    while join.operator.row_wise and len(join.inputs) == 1:
        above.append(join)
        join = join.inputs[0]
    operator = join.operator
    if not isinstance(operator, SortedJoin) or not can_be_counted(join.inputs[0]) or any(map(calls_python, above)):
        return None
    left, right = join.inputs
    lookup, facts = Lookup.of(source_of(right)), [left.facts, right.facts]
    found, passed = [Chunk.empty(join.schema)], 0
    for batch in PlanRunner(FlatPlan.of(left)).stream(0, base_rows, config.batch_rows):
        rows = operator.count_rows([batch, lookup], facts)
        if passed + rows > start:
            found.append(operator.rows_between([batch, lookup], facts, max(0, start - passed), min(rows, stop - passed)))
        passed += rows
        if passed >= stop:
            break
    chunk = concatenate(found, join.schema)
    for step in reversed(above):
        chunk = step.operator.kernel([chunk], [step.inputs[0].facts])
    return chunk


def can_be_counted(left: PlannerNode) -> bool:
    """True for few rows that no function of the user's has a part in, which would be called again."""
    return is_small(left) and not any(map(calls_python, postorder([left])))


def may_have_many(plan: PlannerNode) -> bool:
    """True for the columns of a join of few rows that may have many, and that can be counted without them."""
    join = plan
    while join.operator.row_wise and len(join.inputs) == 1:
        join = join.inputs[0]
    if not isinstance(join.operator, SortedJoin) or join.length.at_most is None or join.length.at_most <= config.small_rows:
        return False
    return all(map(can_be_counted, join.inputs))
