"""Laws that use rows in order: groups that lie next to each other, and matches that can be searched, need no exchange."""

from __future__ import annotations

from sframe_spark.operators.groupby import GroupBy
from sframe_spark.operators.join import Join
from sframe_spark.operators.sorted_join import SortedJoin
from sframe_spark.operators.streaming_groupby import StreamingGroupBy
from sframe_spark.planner.graph import runs_as_kernels
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.properties.relation import Bounds
from sframe_spark.planner.properties_of import properties_of
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType

# A sorted input of so many rows stays in memory however the keys of the other jump about in it.
MOST_ROWS_TO_ROAM = 1_000_000


@law("group_by(x, k) = streaming_group_by(x, k) where x ascends by k", stage="pushdown", on="group_by")
def group_by_of_sorted(node: PlannerNode) -> PlannerNode | None:
    """Equal keys that are neighbours are grouped in one pass over row ranges, in the order that a group-by has."""
    assert isinstance(node.operator, GroupBy)
    child = node.inputs[0]
    if not node.operator.keys or not runs_as_kernels(child):
        return None
    known = properties_of(child)
    ascending = [(key, "asc") for key in node.operator.keys]
    if not known.order.satisfies(ascending):
        return None
    if not all(is_one_value_per_group(child.schema[key], known.bounds.get(key)) for key in node.operator.keys):
        return None
    return StreamingGroupBy(node.operator.keys, node.operator.aggregations).make_planner_node(child)


@law("join(x, y, k) = sorted_join(x, y, k) where y ascends by k", stage="pushdown", on="join")
def join_of_sorted(node: PlannerNode) -> PlannerNode | None:
    """Matches are searched in the second input, which is read where the keys of the first lie: all of it only if it is not large."""
    operator = node.operator
    assert isinstance(operator, Join)
    if operator.how not in ("inner", "left") or len(operator.left_keys) != 1 or not all(map(runs_as_kernels, node.inputs)):
        return None
    (left, right), a, b = node.inputs, operator.left_keys[0], operator.right_keys[0]
    if left.schema[a] not in (INT, DATETIME):
        return None
    known = properties_of(right).order
    if not known.satisfies([(b, "asc")]):
        return None
    bound = right.length.at_most
    left_known = properties_of(left).order
    if not left_known.satisfies([(a, "asc")]) and (bound is None or bound > MOST_ROWS_TO_ROAM):
        return None
    if not left_known.is_not_null(a) and not known.is_not_null(b):
        # Missing keys would match each other.
        return None
    return SortedJoin(a, b, operator.how).make_planner_node(left, right)


def is_one_value_per_group(column_type: ColumnType, bounds: Bounds | None) -> bool:
    """True when equal keys are the same value; both zeros, or an instant at two offsets, are equal and yet are not."""
    if column_type == FLOAT:
        return bounds is not None and (bounds[0] > 0 or bounds[1] < 0)
    return column_type in (INT, STR, DATETIME)
