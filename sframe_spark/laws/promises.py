"""Laws of promised orders."""

from __future__ import annotations

from sframe_spark.operators.sort import AssumeOrder
from sframe_spark.planner.inference import is_in_order
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law("assume_order(x, by) = x where x is in that order", stage="pushdown", on="assume_order")
def promise_of_known(node: PlannerNode) -> PlannerNode | None:
    """What is proved needs no promise."""
    assert isinstance(node.operator, AssumeOrder)
    child = node.inputs[0]
    return child if is_in_order(child, node.operator.by) else None
