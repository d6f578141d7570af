"""Laws of groups of single rows."""

from __future__ import annotations

from sframe_spark.laws.algorithm_choice import one_value_per_group
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.groupby.streaming_groupby import StreamingGroupBy
from sframe_spark.operators.project import project
from sframe_spark.operators.sort import sort_rows
from sframe_spark.planner.inference import properties_of
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law("group_by(x, k, select_one) = sort(project(x, k and c), k) where no two rows are equal in k", stage="pushdown", on="group_by")
def group_by_of_distinct(node: PlannerNode) -> PlannerNode | None:
    """Rows of which no two are equal need not be brought together: duplicates of distinct rows are not looked for."""
    assert isinstance(node.operator, GroupBy)
    operator, child = node.operator, node.inputs[0]
    if not operator.keys or any(aggregation.function != "select_one" for aggregation in operator.aggregations):
        return None
    if not properties_of(child).order.has_key(operator.keys) or not one_value_per_group(child, operator.keys):
        return None
    columns = [*operator.keys, *(aggregation.positions[0] for aggregation in operator.aggregations)]
    return sort_rows(project(child, columns), [(place, True) for place in range(len(operator.keys))])


@law("streaming_group_by(x, k, select_one) = project(x, k and c) where no two rows are equal in k", stage="pushdown", on="streaming_group_by")
def streaming_group_by_of_distinct(node: PlannerNode) -> PlannerNode | None:
    """Groups of one row, in the order of the rows, are the rows."""
    assert isinstance(node.operator, StreamingGroupBy)
    operator, child = node.operator, node.inputs[0]
    if not operator.keys or operator.within or any(aggregation.function != "select_one" for aggregation in operator.aggregations):
        return None
    if not properties_of(child).order.has_key(operator.keys):
        return None
    return project(child, [*operator.keys, *(aggregation.positions[0] for aggregation in operator.aggregations)])
