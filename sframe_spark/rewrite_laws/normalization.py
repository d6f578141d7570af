"""Laws that bring plans to a normal form: flat appends and zips, few types of operators, and one node for equal subplans."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs

from sframe_spark.operators.append import append
from sframe_spark.operators.elementwise import GeneralizedTransform, RowWise
from sframe_spark.operators.project_zip_arrange import Arrange, Project, shows_all, zip_columns
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law("append(append(x, y), z) = append(x, y, z)", stage="expand", on="append")
def append_of_appends(node: PlannerNode) -> PlannerNode | None:
    """Append is associative.

    An input that occurs twice is not flattened: repeatedly appending a frame to itself would double the inputs each time.
    """
    counts = Counter(id(child) for child in node.inputs)
    nested = [child.operator_type == "append" and counts[id(child)] == 1 for child in node.inputs]
    if not any(nested):
        return None
    return append(*[part for child, flat in zip(node.inputs, nested, strict=True) for part in (child.inputs if flat else (child,))])


@law("append(x, nothing) = x", stage="expand", on="append")
def empty_append(node: PlannerNode) -> PlannerNode | None:
    """Inputs without rows are dropped."""
    filled = [child for child in node.inputs if child.length.rows != 0]
    if len(filled) == len(node.inputs):
        return None
    return append(*filled) if filled else node.inputs[0]


@law("append(source of a..b, source of b..c) = source of a..c", stage="pushdown", on="append")
def append_of_neighbours(node: PlannerNode) -> PlannerNode | None:
    """Adjacent row ranges of one source become one range."""
    merged: list[PlannerNode] = [node.inputs[0]]
    for child in node.inputs[1:]:
        last = merged[-1].operator
        if _are_adjacent(last, child.operator):
            merged[-1] = attrs.evolve(last, stop=child.operator.stop).make_planner_node()  # type: ignore[attr-defined, call-arg]
        else:
            merged.append(child)
    return None if len(merged) == len(node.inputs) else append(*merged)


def _are_adjacent(first: object, second: object) -> bool:
    """Return whether two operators are sources of the same rows in memory or in files, the second from the row at which the first ends."""
    if not isinstance(first, (MemorySource, SegmentSource)) or type(first) is not type(second):
        return False
    return first.stop == second.start and attrs.evolve(second, start=first.start, stop=first.stop) == first


@law(
    "transform(x.., f) = generalized_transform(zip(x..), f)",
    stage="expand",
    on=("transform", "binary_transform", "ternary_transform", "lambda_transform"),
)
def generalize(node: PlannerNode) -> PlannerNode | None:
    """Every element-wise operator becomes a program over its zipped inputs."""
    assert isinstance(node.operator, RowWise)
    rows = zip_columns(*node.inputs)
    return GeneralizedTransform(node.operator.program(rows.facts.width)).make_planner_node(rows)


@law("arrange(x.., c) = project(zip(x..), c)", stage="expand", on="arrange")
def arrangement(node: PlannerNode) -> PlannerNode | None:
    """Arranged columns of several inputs become a projection of the zipped inputs."""
    assert isinstance(node.operator, Arrange)
    rows = zip_columns(*node.inputs)
    return Project(node.operator.columns_of_zip([child.facts.width for child in node.inputs])).make_planner_node(rows)


@law("zip(x) = x", stage="expand", on="zip")
def singleton_zip(node: PlannerNode) -> PlannerNode | None:
    """A zip of one input is that input."""
    return node.inputs[0] if len(node.inputs) == 1 else None


@law("zip(zip(x, y), z) = zip(x, y, z)", stage="pushdown", on="zip")
def zip_of_zips(node: PlannerNode) -> PlannerNode | None:
    """Zip is associative. The law runs after fusion, because flattening a chain of zips built column by column would take quadratic time."""
    if not any(child.operator_type == "zip" for child in node.inputs):
        return None
    return zip_columns(*[part for child in node.inputs for part in (child.inputs if child.operator_type == "zip" else (child,))])


@law("project(x, all) = x", stage="expand", on="project")
def identity_projection(node: PlannerNode) -> PlannerNode | None:
    """A projection on all columns in their order is dropped."""
    return node.inputs[0] if shows_all(node.operator_parameters["positions"], node.inputs[0].facts.width) else None


@law("f(x) and f(x) = one shared f(x)", stage="share", whole_graph=True)
def share_equal_subplans(root: PlannerNode) -> PlannerNode | None:
    """Equal deterministic operators over the same inputs (and equal sources) become one node."""
    if not root.inputs:
        return None
    canonical: dict[Any, PlannerNode] = {}
    shared: dict[int, PlannerNode] = {}
    changed = False
    for node in postorder([root]):
        rebuilt = node.with_inputs([shared[id(child)] for child in node.inputs])
        if rebuilt.operator.deterministic:
            key = (type(rebuilt.operator), rebuilt.operator, tuple(id(child) for child in rebuilt.inputs))
            rebuilt = canonical.setdefault(key, rebuilt)
        changed = changed or rebuilt is not node
        shared[id(node)] = rebuilt
    return shared[id(root)] if changed else None
