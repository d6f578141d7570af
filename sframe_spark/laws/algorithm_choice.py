"""Laws that use rows in order: groups that lie next to each other, and matches that can be searched, need no exchange."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.operators.groupby.accumulators import partial_aggregate
from sframe_spark.operators.groupby.aggregation import Aggregation
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.groupby.streaming_groupby import StreamingGroupBy
from sframe_spark.operators.joins.join import SEARCHED, Join
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.sort import Sort
from sframe_spark.order.properties import ValueBounds
from sframe_spark.planner.graph import runs_as_kernels
from sframe_spark.planner.inference import is_in_order, properties_of
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType

# A sorted input of so many rows stays in memory however the keys of the other jump about in it.
MOST_ROWS_TO_ROAM = 1_000_000
# Types whose values are distinct exactly where neighbours of them differ.
COMPARED_ALIKE = (INT, FLOAT, STR, DATETIME)


@law("group_by(x, k) = streaming_group_by(x, k) where x ascends by k", stage="pushdown", on="group_by")
def group_by_of_sorted(node: PlannerNode) -> PlannerNode | None:
    """Equal keys that are neighbours are grouped in one pass over row ranges, in the order that a group-by has."""
    assert isinstance(node.operator, GroupBy)
    operator, child = node.operator, node.inputs[0]
    if not operator.keys or not runs_as_kernels(child):
        return None
    if not is_in_order(child, [(key, True) for key in operator.keys]) or not one_value_per_group(child, operator.keys):
        return None
    return StreamingGroupBy(operator.keys, in_runs(child, operator.keys, operator.aggregations)).make_planner_node(child)


@law("group_by(sort(x, k), k) = streaming_group_by(sort(x, k), k) where groups hold values in order", stage="pushdown", on="group_by")
def group_by_of_sort(node: PlannerNode) -> PlannerNode | None:
    """Where a query would move every value once more, to the other values of its group, the sorted rows have them together."""
    assert isinstance(node.operator, GroupBy)
    operator, child = node.operator, node.inputs[0]
    if not operator.keys or not isinstance(child.operator, Sort) or runs_as_kernels(child):
        return None
    if not is_in_order(child, [(key, True) for key in operator.keys]) or not one_value_per_group(child, operator.keys):
        return None
    aggregations = in_runs(child, operator.keys, operator.aggregations)
    if not any(a.implementation().order_sensitive and partial_aggregate(a, child.schema).holds_values for a in aggregations):
        return None
    return StreamingGroupBy(operator.keys, aggregations).make_planner_node(child)


@law("group_by(x, ()) = streaming_group_by(x, ()) where partial results are small", stage="pushdown", on="group_by")
def group_by_of_all(node: PlannerNode) -> PlannerNode | None:
    """One group of all rows is put together from partial results of row ranges, unless they hold the values."""
    assert isinstance(node.operator, GroupBy)
    operator, child = node.operator, node.inputs[0]
    if operator.keys or not runs_as_kernels(child):
        return None
    aggregations = in_runs(child, (), operator.aggregations)
    if any(partial_aggregate(aggregation, child.schema).holds_values for aggregation in aggregations):
        return None
    return StreamingGroupBy((), aggregations).make_planner_node(child)


@law("join(x, y, k) = sorted_join(x, y, k) where y ascends by k", stage="pushdown", on="join")
def join_of_sorted(node: PlannerNode) -> PlannerNode | None:
    """Matches are searched in the second input, which is read where the keys of the first lie: all of it only if it is not large."""
    operator = node.operator
    assert isinstance(operator, Join)
    if operator.how not in SEARCHED or not is_in_search_order(operator, *node.inputs):
        return None
    return SortedJoin(operator.left_keys[0], operator.right_keys[0], operator.how).make_planner_node(*node.inputs)


def is_in_search_order(operator: Join, left: PlannerNode, right: PlannerNode) -> bool:
    """True when matches can be searched in the second input as it is."""
    if not runs_as_kernels(right) or not can_be_searched(operator, left, right):
        return False
    a, b = operator.left_keys[0], operator.right_keys[0]
    if not is_in_order(right, [(b, True)]):
        return False
    bound = right.length.at_most
    return (bound is not None and bound <= MOST_ROWS_TO_ROAM) or is_in_order(left, [(a, True)])


def can_be_searched(operator: Join, left: PlannerNode, right: PlannerNode) -> bool:
    """True when matches are found by a search, of left rows computed without a query."""
    return operator.has_key_to_search(left, right) and runs_as_kernels(left)


def in_runs(node: PlannerNode, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> tuple[Aggregation, ...]:
    """Aggregates of groups whose rows are neighbours; where equal values are neighbours too, distinct ones are counted as runs."""
    known = properties_of(node).order
    return tuple(
        attrs.evolve(aggregation, function="count_runs")
        if aggregation.function == "count_distinct"
        and node.schema[aggregation.positions[0]] in COMPARED_ALIKE
        and known.satisfies_set({*keys, *aggregation.positions}) is not None
        else aggregation
        for aggregation in aggregations
    )


def one_value_per_group(node: PlannerNode, keys: Sequence[int]) -> bool:
    """True when keys that are equal are the same value; both zeros, or an instant at two offsets, are equal and yet are not."""
    bounds = properties_of(node).bounds
    return all(is_one_value(node.schema[key], bounds.get(key)) for key in keys)


def is_one_value(column_type: ColumnType, bounds: ValueBounds | None) -> bool:
    """True when equal values of a column are the same."""
    if column_type == FLOAT:
        return bounds is not None and (bounds[0] > 0 or bounds[1] < 0)
    return column_type in (INT, STR, DATETIME)
