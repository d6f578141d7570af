"""Laws for few rows, for which a query costs more than the work: they are sorted in memory, and what needs an order finds it."""

from __future__ import annotations

from sframe_spark.config import config
from sframe_spark.laws.algorithm_choice import can_be_searched, in_runs, one_value_per_group
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.groupby.streaming_groupby import StreamingGroupBy
from sframe_spark.operators.joins.join import SEARCHED, Join
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.slice import slice_rows
from sframe_spark.operators.sort import MOST_TIES, Sort, SuffixSort, TopRows, sort_rows
from sframe_spark.planner.graph import runs_as_kernels, sizes_of
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.row_sizes import row_bytes


@law("sort(x, by) = suffix_sort(x, by) where x has few rows", stage="pushdown", on="sort")
def sort_of_few(node: PlannerNode) -> PlannerNode | None:
    """Few rows are sorted where they are, as if they tied in no column at all."""
    assert isinstance(node.operator, Sort)
    return SuffixSort(node.operator.by, 0).make_planner_node(*node.inputs) if are_few(node.inputs[0], config.small_rows) else None


@law("top_rows(x, by, n) = slice(sort(x, by), 0, n) where x has few rows", stage="pushdown", on="top_rows")
def top_of_few(node: PlannerNode) -> PlannerNode | None:
    """The first rows of few rows."""
    assert isinstance(node.operator, TopRows)
    child = node.inputs[0]
    return slice_rows(sort_rows(child, node.operator.by), 0, node.operator.rows) if are_few(child, config.small_rows) else None


@law("group_by(x, k) = streaming_group_by(sort(x, k), k) where x has few rows", stage="pushdown", on="group_by")
def group_by_of_few(node: PlannerNode) -> PlannerNode | None:
    """Few rows are put next to their equals."""
    assert isinstance(node.operator, GroupBy)
    operator, child = node.operator, node.inputs[0]
    if not operator.keys or not are_few(child, config.small_rows) or not one_value_per_group(child, operator.keys):
        return None
    ordered = sort_rows(child, [(key, True) for key in operator.keys])
    return StreamingGroupBy(operator.keys, in_runs(ordered, operator.keys, operator.aggregations)).make_planner_node(ordered)


@law("join(x, y, k) = sorted_join(x, sort(y, k), k) where y has few rows", stage="pushdown", on="join")
def join_with_few(node: PlannerNode) -> PlannerNode | None:
    """Few rows are sorted, so that matches can be searched in them; a stable sort leaves the matches of a row in their order."""
    operator = node.operator
    assert isinstance(operator, Join)
    left, right = node.inputs
    if operator.how not in SEARCHED or not are_few(right, MOST_TIES) or not can_be_searched(operator, left, right):
        return None
    ordered = sort_rows(right, [(operator.right_keys[0], True)])
    return SortedJoin(operator.left_keys[0], operator.right_keys[0], operator.how).make_planner_node(left, ordered)


def are_few(node: PlannerNode, most: int) -> bool:
    """True when a node has at most so many rows, which fit the memory budget, and is computed without a Spark query."""
    bound = node.length.at_most
    if bound is None or bound > min(most, MOST_TIES) or not runs_as_kernels(node):
        return False
    return bound * row_bytes(sizes_of(node)[id(node)], 0) <= config.memory_budget
