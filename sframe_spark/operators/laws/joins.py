"""Joins that keep rows of their second input, in terms of left joins: what searches and counts the matches of these does so for them too."""

from __future__ import annotations

from sframe_spark.config import config
from sframe_spark.operators.asof_join import AsofJoin
from sframe_spark.operators.columns import project
from sframe_spark.operators.elementwise import apply_program
from sframe_spark.operators.join import Join, join
from sframe_spark.operators.laws.few_rows import are_few
from sframe_spark.operators.laws.streaming import can_be_searched, is_in_search_order
from sframe_spark.operators.program import Literal, Operand, Program, Register, Step
from sframe_spark.operators.rows import FilterRows, append
from sframe_spark.operators.sort import sort_rows
from sframe_spark.operators.suffix_sort import MOST_TIES
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.properties_of import properties_of


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


@law("join(x, y, k, outer) = rowwise(join(append(x, y without k in x), y, k, left)) where x and y have few rows", stage="pushdown", on="join")
def outer_join(node: PlannerNode) -> PlannerNode | None:
    """After the left rows come the right ones that no left row has the key of: these have no key to look for, and bring their own values."""
    operator = node.operator
    assert isinstance(operator, Join)
    left, right = node.inputs
    if operator.how != "outer" or not can_be_searched(operator, left, right):
        return None
    if not are_few(left, config.small_rows) or not are_few(right, config.small_rows):
        return None
    a, b = operator.left_keys[0], operator.right_keys[0]
    values = operator.right_values(right.facts.width)
    rows = append(left_rows(left, a, right.schema, values), right_rows_alone(left, right, (a, b), values))
    joined = join(rows, with_keys(right, b), [rows.facts.width - 1], [b], "left")
    return apply_program(joined, own_or_found(left.facts.width, len(values)))


def left_rows(left: PlannerNode, key: int, right: Schema, values: list[int]) -> PlannerNode:
    """Left rows, room for the values of right ones, and the key to look for."""
    width = left.facts.width
    room = [Literal(None, right[position]) for position in values]
    return apply_program(left, Program(width, (), (*map(Register, range(width)), *room, Register(key))))


def right_rows_alone(left: PlannerNode, right: PlannerNode, keys: tuple[int, int], values: list[int]) -> PlannerNode:
    """Right rows without a match, in the columns of :func:`left_rows`, with a missing key to look for."""
    a, b = keys
    width = right.facts.width
    exact = AsofJoin(0, (), (0,), tolerance=0, kept=tuple(range(1, width + 1)))
    found = exact.make_planner_node(project(right, [b, *range(width)]), sort_rows(project(left, [a]), [(0, True)]))
    of_left: list[Operand] = [Literal(None, column_type) for column_type in left.schema]
    of_left[a] = Register(b)
    outputs = (*of_left, *map(Register, values), Literal(None, left.schema[a]), Register(width + 1))
    is_alone = Step("is_missing", (Register(width),))
    return FilterRows().make_planner_node(apply_program(found, Program(width + 1, (is_alone,), outputs)))


def with_keys(node: PlannerNode, key: int) -> PlannerNode:
    """Rows whose key is not missing: others would match the rows that have no key to look for."""
    if properties_of(node).order.is_not_null(key):
        return node
    width = node.facts.width
    has_key = Step("is_not_missing", (Register(key),))
    return FilterRows().make_planner_node(apply_program(node, Program(width, (has_key,), tuple(map(Register, range(width + 1))))))


def own_or_found(width: int, count: int) -> Program:
    """Left columns, then right values: of a right row alone its own, else those found. A left row without a key has neither."""
    key = width + count
    read = key + 1 + count
    steps = [Step("is_missing", (Register(key),))]
    steps += [Step("if_else", (Register(read), Register(width + place), Register(key + 1 + place))) for place in range(count)]
    outputs = (*map(Register, range(width)), *(Register(read + 1 + place) for place in range(count)))
    return Program(read, tuple(steps) if count else (), outputs)
