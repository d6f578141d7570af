"""Laws that drop columns nobody reads of operators that look rows up."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sframe_spark.operators.asof_join import AsofJoin
from sframe_spark.operators.columns import project
from sframe_spark.operators.key_window import KeyWindow
from sframe_spark.operators.laws.narrowing import can_narrow, moved
from sframe_spark.operators.merge_sorted import MergeSorted
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


def split_outputs(positions: Sequence[int], kept: int) -> tuple[list[int], list[int]]:
    """The output columns that are used: those kept from the first input, and those found, counted from the first of them."""
    used = sorted(set(positions))
    return [position for position in used if position < kept], [position - kept for position in used if position >= kept]


def picked(node: PlannerNode, positions: Sequence[int]) -> PlannerNode:
    """Columns in the order wanted, out of a node that has those that are used, in ascending order."""
    places = {old: new for new, old in enumerate(sorted(set(positions)))}
    return project(node, [places[position] for position in positions])


@law("project(asof_join(x, y), c) = asof_join of c (x, y)", stage="pushdown", on="project")
def project_into_asof_join(node: PlannerNode) -> PlannerNode | None:
    """Only the columns asked for are looked up."""
    child, positions = node.inputs[0], node.operator_parameters["positions"]
    join = child.operator
    if not isinstance(join, AsofJoin) or len(set(positions)) == child.facts.width:
        return None
    kept, values = split_outputs(positions, len(join.kept))
    if not values:
        return project(child.inputs[0], [join.kept[position] for position in positions])
    narrowed = attrs.evolve(join, kept=tuple(join.kept[i] for i in kept), values=tuple(join.values[i] for i in values))
    return picked(narrowed.make_planner_node(*child.inputs), positions)


@law("asof_join(x, y) = asof_join(x, project(y, used))", stage="pushdown", on="asof_join")
def narrow_asof_join(node: PlannerNode) -> PlannerNode | None:
    """The rows that are searched have only the columns looked up."""
    join = node.operator
    assert isinstance(join, AsofJoin)
    used = sorted({join.on, *join.by, *join.values})
    if not can_narrow(node.inputs[1], used):
        return None
    place = {old: new for new, old in enumerate(used)}
    narrowed = attrs.evolve(join, on=place[join.on], by=tuple(place[p] for p in join.by), values=tuple(place[p] for p in join.values))
    return narrowed.make_planner_node(node.inputs[0], project(node.inputs[1], used))


@law("project(key_window(x, y), c) = key_window of c (x, y)", stage="pushdown", on="project")
def project_into_key_window(node: PlannerNode) -> PlannerNode | None:
    """Only the aggregates asked for are computed."""
    child, positions = node.inputs[0], node.operator_parameters["positions"]
    window = child.operator
    if not isinstance(window, KeyWindow) or len(set(positions)) == child.facts.width:
        return None
    kept, found = split_outputs(positions, len(window.kept))
    if not found:
        return project(child.inputs[0], [window.kept[position] for position in positions])
    narrowed = attrs.evolve(window, kept=tuple(window.kept[i] for i in kept), aggregations=tuple(window.aggregations[i] for i in found))
    return picked(narrowed.make_planner_node(*child.inputs), positions)


@law("key_window(x, y) = key_window(project(x, used), project(y, used))", stage="pushdown", on="key_window")
def narrow_key_window(node: PlannerNode) -> PlannerNode | None:
    """Both inputs, which are often one node, have only the columns that take part."""
    window = node.operator
    assert isinstance(window, KeyWindow)
    used = sorted({window.on, *window.by, *window.kept, *(position for a in window.aggregations for position in a.positions)})
    if not all(can_narrow(child, used) for child in node.inputs):
        return None
    place = {old: new for new, old in enumerate(used)}
    narrowed = attrs.evolve(
        window,
        on=place[window.on],
        by=tuple(place[position] for position in window.by),
        kept=tuple(place[position] for position in window.kept),
        aggregations=tuple(moved(aggregation, place) for aggregation in window.aggregations),
    )
    first, second = node.inputs
    below = project(first, used)
    return narrowed.make_planner_node(below, below if second is first else project(second, used))


@law("project(merge_sorted(x, y), c) = project(merge_sorted(project(x, c and by), project(y, c and by)), c)", stage="pushdown", on="project")
def project_below_merge_sorted(node: PlannerNode) -> PlannerNode | None:
    """Columns that are neither read nor merged by are not merged."""
    child, positions = node.inputs[0], node.operator_parameters["positions"]
    merge = child.operator
    if not isinstance(merge, MergeSorted) or not can_narrow(child, positions):
        return None
    kept = sorted({*positions, *merge.positions})
    place = {old: new for new, old in enumerate(kept)}
    # One projection per distinct input, so that a frame merged with itself stays one node.
    below = {id(item): project(item, kept) for item in child.inputs}
    moved_by = tuple((place[position], up) for position, up in merge.by)
    rows = attrs.evolve(merge, by=moved_by).make_planner_node(*[below[id(item)] for item in child.inputs])
    return project(rows, [place[position] for position in positions])
