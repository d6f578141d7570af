"""Joins whose matches are searched the other way round, joins of few rows whose matches are not searched, and those of which nobody reads matches."""

from __future__ import annotations

from sframe_spark.config import config
from sframe_spark.laws.algorithm_choice import can_be_searched, is_in_search_order, one_value_per_group
from sframe_spark.laws.few_rows import are_few
from sframe_spark.operators.joins.hash_join import HashJoin
from sframe_spark.operators.joins.join import Join
from sframe_spark.operators.joins.sorted_join import SortedJoin
from sframe_spark.operators.project import project
from sframe_spark.operators.sort import MOST_TIES
from sframe_spark.planner.inference import properties_of
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law("join(x, y, k, right) = project(join(y, x, k, left)) where matches can be searched in x", stage="pushdown", on="join")
def right_join(node: PlannerNode) -> PlannerNode | None:
    """Both have the right rows in order, each with its matches in left order; equal keys that can be searched are the same value."""
    operator = node.operator
    assert isinstance(operator, Join)
    left, right = node.inputs
    turned = Join(operator.right_keys, operator.left_keys, "left")
    if operator.how != "right":
        return None
    if not is_in_search_order(turned, right, left) and not (are_few(left, MOST_TIES) and can_be_searched(turned, right, left)):
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
