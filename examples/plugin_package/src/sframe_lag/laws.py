"""Laws of lag."""

from __future__ import annotations

from sframe_lag.operators import Lag
from sframe_spark.plugin import PlannerNode, law, register_law


@law("lag(lag(x, a), b) = lag(x, a + b)", stage="pushdown", on="lag")
def lag_of_lag(node: PlannerNode) -> PlannerNode | None:
    """Moving down twice is moving down once by the sum. It would not hold for rows below zero, which Lag refuses."""
    child = node.inputs[0]
    if not isinstance(node.operator, Lag) or not isinstance(child.operator, Lag):
        return None
    return Lag(node.operator.rows + child.operator.rows).make_planner_node(child.inputs[0])


LAWS = [lag_of_lag]
for rule in LAWS:
    register_law(rule)
