"""Ten laws that are wrong on purpose. Each keeps types and known lengths, looks like a law that someone might write, and comes to rest."""

from __future__ import annotations

import attrs

from sframe_spark.operators.elementwise import GeneralizedTransform
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.joins.equi_join import Join
from sframe_spark.operators.project_zip_arrange import Project, Zip, zip_columns
from sframe_spark.operators.row_selection import Filter, SliceRows, slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import Sort, TopRows
from sframe_spark.operators.window.cumulative import Cumulative
from sframe_spark.planner.law import Law, law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.rewrite_laws.filter_pushdown import filters_merged


@law("filter(sort(x, by), m) = filter(x, m)", stage="share", on="filter")
def sort_lost_below_filter(node: PlannerNode) -> PlannerNode | None:
    """The rows are the same, in another order, and the mask belongs to the sorted ones."""
    rows, mask = node.inputs
    return Filter().make_planner_node(rows.inputs[0], mask) if isinstance(rows.operator, Sort) else None


@law("append(x, y) = append(y, x) where y is shorter", stage="share", on="append")
def append_swapped(node: PlannerNode) -> PlannerNode | None:
    """A sum of bags commutes; rows have an order."""
    if len(node.inputs) != 2:
        return None
    first, second = node.inputs
    shorter = (second.length.rows or 0) < (first.length.rows or 0)
    return node.with_inputs([second, first]) if shorter else None


@law("slice(sort(x, by), 0, n) = top_rows(x, by ascending, n)", stage="share", on="slice")
def top_rows_of_the_wrong_end(node: PlannerNode) -> PlannerNode | None:
    """The direction is forgotten on the way to the operator that finds the first rows."""
    operator, child = node.operator, node.inputs[0]
    assert isinstance(operator, SliceRows)
    if not isinstance(child.operator, Sort) or operator.stop is None or (operator.start, operator.step) != (0, 1):
        return None
    return TopRows(tuple((position, True) for position, _ in child.operator.by), operator.stop).make_planner_node(*child.inputs)


@law("slice(slice(x, a, b), c, d) = slice(x, a + c, a + d)", stage="share", on="slice")
def slice_of_slice_beyond_its_end(node: PlannerNode) -> PlannerNode | None:
    """The outer slice may end after the inner one, which is seen only where the length is not known."""
    child = node.inputs[0]
    if not isinstance(child.operator, SliceRows) or child.length.rows is not None:
        return None
    outer, inner = node.operator, child.operator
    assert isinstance(outer, SliceRows)
    if (outer.step, inner.step) != (1, 1) or outer.stop is None:
        return None
    return slice_rows(child.inputs[0], inner.start + outer.start, inner.start + outer.stop)


@law("zip(sort(x, by), y) = sort(zip(x, y), by)", stage="share", on="zip")
def zip_of_other_orders(node: PlannerNode) -> PlannerNode | None:
    """Rows that are side by side after a sort were not before."""
    child = node.inputs[0]
    if not isinstance(child.operator, Sort):
        return None
    return child.operator.make_planner_node(zip_columns(*child.inputs, *node.inputs[1:]))


@law("filter(running(x), m) = running(filter(x, m))", stage="share", on="filter")
def filter_below_running(node: PlannerNode) -> PlannerNode | None:
    """A running value needs the rows that the mask drops."""
    running, mask = node.inputs
    if not isinstance(running.operator, Cumulative):
        return None
    return running.with_inputs([Filter().make_planner_node(running.inputs[0], mask)])


@law("filter_rows(filter_rows(x, m), n) = filter_rows(x, m or n)", stage="pushdown", on="filter_rows")
def filters_merged_by_or(node: PlannerNode) -> PlannerNode | None:
    """Rows must pass both masks."""
    merged = filters_merged(node)
    if merged is None:
        return None
    below = merged.inputs[0]
    assert isinstance(below.operator, GeneralizedTransform)
    program = below.operator.computation
    last = attrs.evolve(program.steps[-1], function="or_")
    wrong = GeneralizedTransform(attrs.evolve(program, steps=(*program.steps[:-1], last)))
    return merged.with_inputs([wrong.make_planner_node(*below.inputs)])


@law("join(x, y) = join(y, x) where y is longer", stage="share", on="join")
def join_swapped(node: PlannerNode) -> PlannerNode | None:
    """The larger side is to come first, of frames with the same columns; values change places with the sides."""
    left, right = node.inputs
    operator = node.operator
    assert isinstance(operator, Join)
    alike = left.schema == right.schema and operator.left_keys == operator.right_keys and operator.how == "inner"
    longer = (right.length.at_most or 0) > (left.length.at_most or 0)
    return node.with_inputs([right, left]) if alike and longer else None


@law("group_by(x, k) = group_by(x, first column of k's type)", stage="share", on="group_by")
def group_by_another_column(node: PlannerNode) -> PlannerNode | None:
    """A position that was not moved with its column."""
    operator = node.operator
    assert isinstance(operator, GroupBy)
    if len(operator.keys) != 1:
        return None
    schema = node.inputs[0].schema
    key = schema.index(schema[operator.keys[0]])
    if key == operator.keys[0]:
        return None
    return attrs.evolve(operator, keys=(key,)).make_planner_node(*node.inputs)


@law("project(zip(x, y), c) = project(zip(x, y), first column of c's type)", stage="share", on="project")
def project_of_another_column(node: PlannerNode) -> PlannerNode | None:
    """A position that was not moved with its column, among inputs side by side."""
    child = node.inputs[0]
    assert isinstance(node.operator, Project)
    positions = tuple(child.schema.index(child.schema[position]) for position in node.operator.positions)
    if not isinstance(child.operator, Zip) or positions == node.operator.positions:
        return None
    return Project(positions).make_planner_node(child)


# With each the operators of programs in which it shows soon: those it names, and what makes lengths unknown or columns alike.
WRONG_LAWS: dict[Law, tuple[str, ...]] = {
    sort_lost_below_filter: ("sort", "filter"),
    append_swapped: ("append", "filter"),
    top_rows_of_the_wrong_end: ("sort", "slice"),
    slice_of_slice_beyond_its_end: ("slice", "join"),
    zip_of_other_orders: ("sort", "zip"),
    filter_below_running: ("cumulative", "filter"),
    filters_merged_by_or: ("filter", "transform"),
    join_swapped: ("join", "slice"),
    group_by_another_column: ("group_by", "project"),
    project_of_another_column: ("project", "zip"),
}
