"""Laws of aggregates over all rows that need only some of them, or need them as they are."""

from __future__ import annotations

from sframe_spark.expressions.program import Register
from sframe_spark.laws.fusion import computed
from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.groupby.groupby import Reduce
from sframe_spark.operators.slice import slice_rows
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, INT

# To these a missing value and a row that is not there are the same.
SKIPPING = frozenset(("sum", "mean", "min", "max", "var", "std", "column_min", "column_max"))


@law("reduce(x, select_one) = reduce(slice(x, 0, 1), select_one)", stage="pushdown", on="reduce", alone=True)
def first_of_first(node: PlannerNode) -> PlannerNode | None:
    """The first value is in the first row."""
    operator, child = node.operator, node.inputs[0]
    assert isinstance(operator, Reduce)
    if any(a.function != "select_one" for a in operator.aggregations) or (child.length.at_most is not None and child.length.at_most <= 1):
        return None
    return node.with_inputs([slice_rows(child, 0, 1)])


@law("reduce(filter_rows(f(x), c is there), aggregates of c) = reduce(f(x), aggregates of c)", stage="pushdown", on="reduce", alone=2)
def aggregates_skip_missing(node: PlannerNode) -> PlannerNode | None:
    """Missing values need not be dropped before what leaves them out. In floats NaN counts as missing for the mask, and not for the aggregate."""
    operator, filtered = node.operator, node.inputs[0]
    assert isinstance(operator, Reduce)
    if not filtered.operator.filters or not isinstance(filtered.inputs[0].operator, GeneralizedTransform):
        return None
    program, below = filtered.inputs[0].operator.computation, filtered.inputs[0].inputs[0]
    mask = program.outputs[-1]
    if program.may_fail or not isinstance(mask, Register) or mask.index < program.width:
        return None
    step = program.steps[mask.index - program.width]
    types = program.register_types(below.schema)
    if step.function != "is_not_missing" or not isinstance(step.operands[0], Register) or types[step.operands[0].index] not in (INT, DATETIME):
        return None
    of_it = all(a.function in SKIPPING and [program.outputs[p] for p in a.positions] == [step.operands[0]] for a in operator.aggregations)
    return node.with_inputs([computed(program.pruned(range(len(program.outputs) - 1)), below)]) if of_it else None
