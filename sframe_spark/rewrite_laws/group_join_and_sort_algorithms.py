"""Rewrite laws that replace group-bys, joins and sorts by other algorithms, for sorted rows or for few rows; and laws that simplify joins."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.config import config
from sframe_spark.expressions.aggregates.state_columns import Growth
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import GroupByOfAdjacentEqualKeys
from sframe_spark.operators.joins.equi_join import SEARCHED, EquiJoin, Join
from sframe_spark.operators.joins.hash_join import HashJoin
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.project_zip_arrange import project
from sframe_spark.operators.row_selection import slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import MAX_TIES, Sort, SuffixSort, TopRows, sort_rows
from sframe_spark.planner.graph_traversal import runs_as_kernels, sizes_of
from sframe_spark.planner.law import law
from sframe_spark.planner.length_and_order_inference import is_in_order, properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.process.memory import memory_budget
from sframe_spark.types import DATETIME, FLOAT, INT, STR

# A sorted input with at most this many rows may be searched for keys in any order, because it fits into memory.
MAX_RANDOM_ACCESS_ROWS = 1_000_000
# Types whose distinct values can be counted by counting runs of equal values.
RUN_COUNTABLE = (INT, FLOAT, STR, DATETIME)
# Types whose equal values are identical.
IDENTICAL_IF_EQUAL = (INT, STR, DATETIME)


@law("group_by(x, k) = streaming_group_by(x, k) where x ascends by k", stage="pushdown", on="group_by")
def group_by_of_sorted(node: PlannerNode) -> PlannerNode | None:
    """Adjacent rows with equal keys are grouped in one pass over ranges of rows; the groups are in key order, as the group-by requires."""
    assert isinstance(node.operator, GroupBy)
    operator, child = node.operator, node.inputs[0]
    if not operator.keys or not runs_as_kernels(child):
        return None
    if not is_in_order(child, [(key, True) for key in operator.keys]) or not one_value_per_group(child, operator.keys):
        return None
    return GroupByOfAdjacentEqualKeys(operator.keys, for_adjacent_groups(child, operator.keys, operator.aggregations)).make_planner_node(child)


@law("group_by(sort(x, k), k) = streaming_group_by(sort(x, k), k) where groups hold values in order", stage="pushdown", on="group_by")
def group_by_of_sort(node: PlannerNode) -> PlannerNode | None:
    """If a group-by query would shuffle all values to collect them in groups, it is cheaper to use the sorted rows, in which groups are adjacent."""
    assert isinstance(node.operator, GroupBy)
    operator, child = node.operator, node.inputs[0]
    if not operator.keys or not isinstance(child.operator, Sort) or runs_as_kernels(child):
        return None
    if not is_in_order(child, [(key, True) for key in operator.keys]) or not one_value_per_group(child, operator.keys):
        return None
    aggregations = for_adjacent_groups(child, operator.keys, operator.aggregations)
    if not any(a.implementation().order_sensitive and a.on_columns(child.schema).growth > Growth.FIXED for a in aggregations):
        return None
    return GroupByOfAdjacentEqualKeys(operator.keys, aggregations).make_planner_node(child)


@law("group_by(x, ()) = streaming_group_by(x, ()) where partial results are small", stage="pushdown", on="group_by")
def group_by_of_all(node: PlannerNode) -> PlannerNode | None:
    """A single group of all rows is combined from partial results of row ranges, unless partial results contain the values themselves."""
    assert isinstance(node.operator, GroupBy)
    operator, child = node.operator, node.inputs[0]
    if operator.keys or not runs_as_kernels(child):
        return None
    aggregations = for_adjacent_groups(child, (), operator.aggregations)
    if any(aggregation.on_columns(child.schema).growth > Growth.FIXED for aggregation in aggregations):
        return None
    return GroupByOfAdjacentEqualKeys((), aggregations).make_planner_node(child)


@law("join(x, y, k) = sorted_join(x, y, k) where y ascends by k", stage="pushdown", on="join")
def join_of_sorted(node: PlannerNode) -> PlannerNode | None:
    """Matches are found by searching the sorted second input. Unless it is small, the first input must be sorted too, so that it is read in order."""
    operator = node.operator
    assert isinstance(operator, Join)
    if operator.how not in SEARCHED or not is_in_search_order(operator, *node.inputs):
        return None
    return SortedJoin(operator.left_keys[0], operator.right_keys[0], operator.how).make_planner_node(*node.inputs)


def is_in_search_order(operator: Join, left: PlannerNode, right: PlannerNode) -> bool:
    """Return whether matches can be found by searching the second input without sorting it."""
    if not runs_as_kernels(right) or not can_be_searched(operator, left, right):
        return False
    a, b = operator.left_keys[0], operator.right_keys[0]
    if not is_in_order(right, [(b, True)]):
        return False
    bound = right.length.at_most
    return (bound is not None and bound <= MAX_RANDOM_ACCESS_ROWS) or is_in_order(left, [(a, True)])


def can_be_searched(operator: Join, left: PlannerNode, right: PlannerNode) -> bool:
    """Return whether the keys of a join allow a search, and its left rows are computed without a Spark query."""
    return operator.has_key_to_search(left, right) and runs_as_kernels(left)


def for_adjacent_groups(node: PlannerNode, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> tuple[Aggregation, ...]:
    """Return the aggregations for groups of adjacent rows. If equal values are adjacent too, distinct values are counted as runs."""
    order = properties_of(node).order
    return tuple(
        attrs.evolve(aggregation, function=of_runs)
        if (of_runs := aggregation.implementation().of_runs) is not None
        and node.schema[aggregation.positions[0]] in RUN_COUNTABLE
        and order.satisfies_set({*keys, *aggregation.positions}) is not None
        else aggregation
        for aggregation in aggregations
    )


def one_value_per_group(node: PlannerNode, keys: Sequence[int]) -> bool:
    """Return whether equal keys are always identical values (unlike -0.0 and 0.0, or one instant at two offsets)."""
    bounds = properties_of(node).bounds
    without_zero = {key for key in keys if key in bounds and node.schema[key] == FLOAT and (bounds[key][0] > 0 or bounds[key][1] < 0)}
    return all(node.schema[key] in IDENTICAL_IF_EQUAL or key in without_zero for key in keys)


# Few rows are sorted, grouped and joined in memory, because starting a query would cost more.


@law("sort(x, by) = suffix_sort(x, by) where x has few rows", stage="pushdown", on="sort")
def sort_of_few(node: PlannerNode) -> PlannerNode | None:
    """Few rows are sorted in memory. (A suffix sort with no sorted column treats all rows as ties.)"""
    assert isinstance(node.operator, Sort)
    return SuffixSort(node.operator.by, 0).make_planner_node(*node.inputs) if are_few(node.inputs[0], config.small_rows) else None


@law("top_rows(x, by, n) = slice(sort(x, by), 0, n) where x has few rows", stage="pushdown", on="top_rows")
def top_of_few(node: PlannerNode) -> PlannerNode | None:
    """Few rows are sorted completely to find the first ones."""
    assert isinstance(node.operator, TopRows)
    child = node.inputs[0]
    return slice_rows(sort_rows(child, node.operator.by), 0, node.operator.rows) if are_few(child, config.small_rows) else None


@law("group_by(x, k) = streaming_group_by(sort(x, k), k) where x has few rows", stage="pushdown", on="group_by")
def group_by_of_few(node: PlannerNode) -> PlannerNode | None:
    """Few rows are sorted so that rows with equal keys are adjacent."""
    assert isinstance(node.operator, GroupBy)
    operator, child = node.operator, node.inputs[0]
    if not operator.keys or not are_few(child, config.small_rows) or not one_value_per_group(child, operator.keys):
        return None
    ordered = sort_rows(child, [(key, True) for key in operator.keys])
    return GroupByOfAdjacentEqualKeys(operator.keys, for_adjacent_groups(ordered, operator.keys, operator.aggregations)).make_planner_node(ordered)


@law("join(x, y, k) = sorted_join(x, sort(y, k), k) where y has few rows", stage="pushdown", on="join")
def join_with_few(node: PlannerNode) -> PlannerNode | None:
    """Few rows are sorted so that they can be searched. The sort is stable, so matches of a row keep their order."""
    operator = node.operator
    assert isinstance(operator, Join)
    left, right = node.inputs
    if operator.how not in SEARCHED or not are_few(right, MAX_TIES) or not can_be_searched(operator, left, right):
        return None
    ordered = sort_rows(right, [(operator.right_keys[0], True)])
    return SortedJoin(operator.left_keys[0], operator.right_keys[0], operator.how).make_planner_node(left, ordered)


def are_few(node: PlannerNode, max_rows: int) -> bool:
    """Return whether a node has at most ``max_rows`` rows, is computed without a Spark query, and fits into the memory budget."""
    bound = node.length.at_most
    if bound is None or bound > min(max_rows, MAX_TIES) or not runs_as_kernels(node):
        return False
    return bound * row_bytes(sizes_of(node)[id(node)], 0) <= memory_budget()


# Further laws of joins.


@law("join(x, y, k, right) = project(join(y, x, k, left)) where matches can be searched in x", stage="pushdown", on="join")
def right_join(node: PlannerNode) -> PlannerNode | None:
    """Both joins yield right rows in order, each with its matches in left order.

    Searchable keys that are equal are identical, so the keys of either side can be returned.
    """
    operator = node.operator
    assert isinstance(operator, Join)
    left, right = node.inputs
    turned = Join(operator.right_keys, operator.left_keys, "left")
    if operator.how != "right":
        return None
    if not is_in_search_order(turned, right, left) and not (are_few(left, MAX_TIES) and can_be_searched(turned, right, left)):
        return None
    positions = dict(zip(operator.left_keys, operator.right_keys, strict=True))
    positions.update({position: right.facts.width + i for i, position in enumerate(turned.right_values(left.facts.width))})
    of_left = [positions[position] for position in range(left.facts.width)]
    return project(turned.make_planner_node(right, left), [*of_left, *operator.right_values(right.facts.width)])


@law("join(x, y, k, left) = x where y has only k, and no two rows are equal in k", stage="pushdown", on=("join", "sorted_join", "hash_join"))
def join_of_nothing_read(node: PlannerNode) -> PlannerNode | None:
    """Each left row is kept exactly once, and the right input contributes no column."""
    join = node.operator
    assert isinstance(join, EquiJoin)
    left, right = node.inputs
    if join.how != "left" or join.right_values(right.facts.width) or not one_value_per_group(right, join.right_keys):
        return None
    return left if properties_of(right).order.has_key(join.right_keys) else None


@law("join(x, y, k) = hash_join(x, y, k) where x and y have few rows and cannot be searched", stage="pushdown", on="join")
def join_of_few(node: PlannerNode) -> PlannerNode | None:
    """A hash join in memory works for any keys of few rows, also if keys are missing on both sides, or unmatched rows of both sides are kept."""
    operator = node.operator
    assert isinstance(operator, Join)
    left, right = node.inputs
    if not are_few(left, config.small_rows) or not are_few(right, config.small_rows):
        return None
    if operator.how != "outer" and can_be_searched(operator, left, right):
        return None
    return HashJoin(operator.left_keys, operator.right_keys, operator.how).make_planner_node(left, right)
