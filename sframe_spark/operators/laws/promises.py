"""Laws of promised orders."""

from __future__ import annotations

from itertools import takewhile

from sframe_spark.operators.assumed_order import AssumeOrder
from sframe_spark.operators.columns import project
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.properties_of import is_in_order


@law("project(assume_order(x, by), c) = assume_order(project(x, c), by as far as it is in c)", stage="pushdown", on="project")
def project_below_promise(node: PlannerNode) -> PlannerNode | None:
    """A promise does not keep columns that nobody reads."""
    child = node.inputs[0]
    if not isinstance(child.operator, AssumeOrder):
        return None
    positions = list(node.operator_parameters["positions"])
    places = {position: place for place, position in reversed(list(enumerate(positions)))}
    kept = tuple((places[position], up) for position, up in takewhile(lambda item: item[0] in places, child.operator.by))
    columns = project(child.inputs[0], positions)
    return AssumeOrder(kept).make_planner_node(columns) if kept else columns


@law("assume_order(x, by) = x where x is in that order", stage="pushdown", on="assume_order")
def promise_of_known(node: PlannerNode) -> PlannerNode | None:
    """What is proved needs no promise."""
    assert isinstance(node.operator, AssumeOrder)
    child = node.inputs[0]
    return child if is_in_order(child, node.operator.by) else None
