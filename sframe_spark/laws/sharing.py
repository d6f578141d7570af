"""Laws that make equal things one."""

from __future__ import annotations

from typing import Any

from sframe_spark.planner.graph import postorder
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode


@law("f(x) and f(x) = one shared f(x)", stage="share", whole_graph=True)
def share_equal_subplans(root: PlannerNode) -> PlannerNode | None:
    """Equal deterministic operators over the same inputs are one node (equal sources among them)."""
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
