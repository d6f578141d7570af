"""Order-demand analysis: at which nodes does anyone observe the row order?"""

from __future__ import annotations

from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need


def observed_nodes(root: PlannerNode, root_observed: bool = True) -> set[int]:
    """``id`` of every node whose row order reaches the result.

    The order of an input is observed when its consumer needs it for its values, or passes it on to an output whose order is observed.
    """
    return set(observers(root, root_observed))


def observers(root: PlannerNode, root_observed: bool = True) -> dict[int, PlannerNode | None]:
    """For each node whose row order reaches the result, by ``id``, a node that needs it for its values; None where the result shows it."""
    found: dict[int, PlannerNode | None] = {id(root): None} if root_observed else {}
    for node in reversed(list(postorder([root]))):
        for slot, child in enumerate(node.inputs):
            need = node.operator.requires(slot)
            if need is Need.ANY or (need is Need.INHERITED and id(node) not in found):
                continue
            found.setdefault(id(child), found[id(node)] if need is Need.INHERITED else node)
    return found
