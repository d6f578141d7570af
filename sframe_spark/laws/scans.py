"""Laws of what goes along the rows: running extremes of rows in order, values moved twice."""

from __future__ import annotations

from sframe_spark.operators.window.cumulative import Cumulative
from sframe_spark.operators.window.shift import Shift, shift_rows
from sframe_spark.planner.inference import is_in_order, properties_of
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, INT

# Of floats both zeros tie, and are different values.
ORDERED = (INT, DATETIME)


@law("cumulative(x, max) = x where x ascends", stage="pushdown", on="cumulative")
def maximum_of_ascending(node: PlannerNode) -> PlannerNode | None:
    """Each value is the largest so far; missing values come first, where there is none."""
    child = node.inputs[0]
    assert isinstance(node.operator, Cumulative)
    return child if node.operator.kind == "max" and child.schema[0] in ORDERED and is_in_order(child, [(0, True)]) else None


@law("cumulative(x, min) = x where x descends and is never missing", stage="pushdown", on="cumulative")
def minimum_of_descending(node: PlannerNode) -> PlannerNode | None:
    """Each value is the smallest so far; missing values, which come last, would have the one before them."""
    child = node.inputs[0]
    assert isinstance(node.operator, Cumulative)
    if node.operator.kind != "min" or child.schema[0] not in ORDERED or not is_in_order(child, [(0, False)]):
        return None
    return child if properties_of(child).order.is_not_null(0) else None


@law("shift(shift(x, a), b) = shift(x, a + b) where both move values one way", stage="pushdown", on="shift")
def shift_of_shift(node: PlannerNode) -> PlannerNode | None:
    """Moving twice is moving once, with one value for the rows that become free. Moved back, values that were lost would return."""
    child = node.inputs[0]
    if not isinstance(node.operator, Shift) or not isinstance(child.operator, Shift):
        return None
    first, second = child.operator, node.operator
    if first.fill != second.fill or first.rows * second.rows < 0:
        return None
    return shift_rows(child.inputs[0], first.rows + second.rows, first.fill)
