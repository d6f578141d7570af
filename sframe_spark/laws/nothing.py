"""Laws of rows that are not there: what is known to have none is not computed."""

from __future__ import annotations

import pyarrow as pa

from sframe_spark.expressions.program import Literal, Program, Register
from sframe_spark.laws.filter_pushdown import never_true
from sframe_spark.laws.fusion import computed
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.joins.join import Join
from sframe_spark.operators.slice import slice_rows
from sframe_spark.operators.sources.memory import memory_source
from sframe_spark.planner.inference import properties_of
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode

READING = ("append", "asof_join", "filter_rows", "group_by", "join", "key_window", "reverse", "slice", "sort", "top_rows", "zip")


@law("f(x) = nothing where f(x) has no rows", stage="pushdown", on=READING)
def no_rows(node: PlannerNode) -> PlannerNode | None:
    """Nothing is read to make no rows of it."""
    if node.length.at_most != 0 or not node.inputs:
        return None
    return memory_source([pa.array([], column_type.physical) for column_type in node.schema], node.schema, 0)


@law("filter_rows(f(x), m) = slice(f(x), 0, 0) where m is true in no row", stage="pushdown", on="filter_rows")
def filter_of_none(node: PlannerNode) -> PlannerNode | None:
    """A comparison that no value within known bounds meets drops all rows."""
    child = node.inputs[0]
    if not isinstance(child.operator, GeneralizedTransform):
        return None
    program, below = child.operator.computation, child.inputs[0]
    if program.may_fail or not never_true(program, below.schema, properties_of(below)):
        return None
    return slice_rows(computed(program.pruned(range(len(program.outputs) - 1)), below), 0, 0)


@law("join(x, y, k, left) = x beside missing values where y has no rows", stage="pushdown", on="join")
def join_with_nothing(node: PlannerNode) -> PlannerNode | None:
    """Rows that are kept without a match have none; of a full join too."""
    operator = node.operator
    assert isinstance(operator, Join)
    left, right = node.inputs
    if operator.how not in ("left", "outer") or right.length.at_most != 0:
        return None
    missing = [Literal(None, right.schema[position]) for position in operator.right_values(right.facts.width)]
    columns = [Register(position) for position in range(left.facts.width)]
    return computed(Program(left.facts.width, (), (*columns, *missing)), left)
