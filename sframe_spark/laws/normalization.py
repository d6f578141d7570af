"""Laws of append."""

from __future__ import annotations

from collections import Counter

import attrs

from sframe_spark.operators.append import append
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law("append(append(x, y), z) = append(x, y, z)", stage="expand", on="append")
def append_of_appends(node: PlannerNode) -> PlannerNode | None:
    """Append is associative. A frame appended to itself stays nested: flat, its inputs would double with every append."""
    counts = Counter(id(child) for child in node.inputs)
    nested = [child.operator_type == "append" and counts[id(child)] == 1 for child in node.inputs]
    if not any(nested):
        return None
    return append(*[part for child, flat in zip(node.inputs, nested, strict=True) for part in (child.inputs if flat else (child,))])


@law("append(x, nothing) = x", stage="expand", on="append")
def empty_append(node: PlannerNode) -> PlannerNode | None:
    """Inputs without rows add nothing."""
    kept = [child for child in node.inputs if child.length.rows != 0]
    if len(kept) == len(node.inputs):
        return None
    return append(*kept) if kept else node.inputs[0]


@law("append(source of a..b, source of b..c) = source of a..c", stage="pushdown", on="append")
def append_of_neighbours(node: PlannerNode) -> PlannerNode | None:
    """Neighbouring rows of one source are read together."""
    merged: list[PlannerNode] = [node.inputs[0]]
    for child in node.inputs[1:]:
        last = merged[-1].operator
        if _neighbours(last, child.operator):
            merged[-1] = attrs.evolve(last, stop=child.operator.stop).make_planner_node()  # type: ignore[attr-defined, call-arg]
        else:
            merged.append(child)
    return None if len(merged) == len(node.inputs) else append(*merged)


def _neighbours(first: object, second: object) -> bool:
    for kind in (MemorySource, SegmentSource):
        if isinstance(first, kind) and isinstance(second, kind):
            return first.stop == second.start and attrs.evolve(second, start=first.start, stop=first.stop) == first
    return False
