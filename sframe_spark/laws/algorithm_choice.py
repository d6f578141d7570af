"""Laws that use rows in order: groups that lie next to each other, and matches that can be searched, need no exchange."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.config import config
from sframe_spark.operators.groupby.accumulators import partial_aggregate
from sframe_spark.operators.groupby.aggregation import Aggregation
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.groupby.streaming_groupby import StreamingGroupBy
from sframe_spark.operators.joins.hash_join import HashJoin
from sframe_spark.operators.joins.join import SEARCHED, Join
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.project import project
from sframe_spark.operators.slice import slice_rows
from sframe_spark.operators.sort import MAX_TIES, Sort, SuffixSort, TopRows, sort_rows
from sframe_spark.order.properties import ValueBounds
from sframe_spark.planner.graph import runs_as_kernels, sizes_of
from sframe_spark.planner.inference import is_in_order, properties_of
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.types import DATETIME, FLOAT, INT, STR, ColumnType

# A sorted input of so many rows stays in memory however the keys of the other jump about in it.
MAX_ROWS_TO_ROAM = 1_000_000
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
    return (bound is not None and bound <= MAX_ROWS_TO_ROAM) or is_in_order(left, [(a, True)])


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


# Laws for few rows, for which a query costs more than the work: they are sorted in memory, and what needs an order finds it.


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
    if operator.how not in SEARCHED or not are_few(right, MAX_TIES) or not can_be_searched(operator, left, right):
        return None
    ordered = sort_rows(right, [(operator.right_keys[0], True)])
    return SortedJoin(operator.left_keys[0], operator.right_keys[0], operator.how).make_planner_node(left, ordered)


def are_few(node: PlannerNode, most: int) -> bool:
    """True when a node has at most so many rows, which fit the memory budget, and is computed without a Spark query."""
    bound = node.length.at_most
    if bound is None or bound > min(most, MAX_TIES) or not runs_as_kernels(node):
        return False
    return bound * row_bytes(sizes_of(node)[id(node)], 0) <= config.memory_budget


# Joins whose matches are searched the other way round, joins of few rows whose matches are not searched, and those of which nobody reads matches.


@law("join(x, y, k, right) = project(join(y, x, k, left)) where matches can be searched in x", stage="pushdown", on="join")
def right_join(node: PlannerNode) -> PlannerNode | None:
    """Both have the right rows in order, each with its matches in left order; equal keys that can be searched are the same value."""
    operator = node.operator
    assert isinstance(operator, Join)
    left, right = node.inputs
    turned = Join(operator.right_keys, operator.left_keys, "left")
    if operator.how != "right":
        return None
    if not is_in_search_order(turned, right, left) and not (are_few(left, MAX_TIES) and can_be_searched(turned, right, left)):
        return None
    places = dict(zip(operator.left_keys, operator.right_keys, strict=True))
    places.update({position: right.facts.width + place for place, position in enumerate(turned.right_values(left.facts.width))})
    of_left = [places[position] for position in range(left.facts.width)]
    return project(turned.make_planner_node(right, left), [*of_left, *operator.right_values(right.facts.width)])


@law("join(x, y, k, left) = x where y has only k, and no two rows are equal in k", stage="pushdown", on=("join", "sorted_join", "hash_join"))
def join_of_nothing_read(node: PlannerNode) -> PlannerNode | None:
    """Each left row is kept, once, and nobody reads what is beside it."""
    operator = node.operator
    assert isinstance(operator, Join | SortedJoin)
    join = operator.as_join() if isinstance(operator, SortedJoin) else operator
    left, right = node.inputs
    if join.how != "left" or join.right_values(right.facts.width) or not one_value_per_group(right, join.right_keys):
        return None
    return left if properties_of(right).order.has_key(join.right_keys) else None


@law("join(x, y, k) = hash_join(x, y, k) where x and y have few rows and cannot be searched", stage="pushdown", on="join")
def join_of_few(node: PlannerNode) -> PlannerNode | None:
    """Of few rows the keys are numbered, whatever they are: what is missing on both sides, and rows that both sides keep, are no matter."""
    operator = node.operator
    assert isinstance(operator, Join)
    left, right = node.inputs
    if not are_few(left, config.small_rows) or not are_few(right, config.small_rows):
        return None
    if operator.how != "outer" and can_be_searched(operator, left, right):
        return None
    return HashJoin(operator.left_keys, operator.right_keys, operator.how).make_planner_node(left, right)
