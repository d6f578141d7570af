"""Trees of Spark's physical plans from the names of their nodes."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.order.spark_order_preservation import BROADCAST_JOINS, BROADCASTS, STABLE_LEAVES, PlanNode

# Nodes that may sort their output, which the table of what nodes preserve does not describe.
SORTING_NODES = frozenset({"Sort", "TakeOrderedAndProject", "SortMergeJoin"})
_TWO_INPUTS = (*BROADCAST_JOINS, "SortMergeJoin", "ShuffledHashJoin", "CartesianProduct", "FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow")


def plan_tree(names: Sequence[str]) -> PlanNode:
    """Build a plan from the names of its nodes in preorder: a node comes before its inputs, the left input before the right one.

    Raises
    ------
    ValueError
        If there are too few or too many names for the inputs of the nodes.

    Examples
    --------
    >>> plan_tree(["Project", "Filter", "RDDScan"]).inputs[0].name
    'Filter'
    """
    remaining = list(reversed(names))
    root = _read_node(remaining)
    if remaining:
        raise ValueError(f"nodes beside the plan: {', '.join(reversed(remaining))}")
    return root


def _read_node(remaining: list[str]) -> PlanNode:
    """Remove the names of a node and of the nodes below it from the end of a reversed list; return the node."""
    if not remaining:
        raise ValueError("the list of nodes ends before the plan does")
    name = remaining.pop()
    if name in (*STABLE_LEAVES, "EmptyRelation") or name.endswith("Scan") or name.startswith("Scan"):
        return PlanNode(name, ())
    inputs = [_read_node(remaining) for _ in range(2 if name in (*_TWO_INPUTS, "Union") else 1)]
    # A union may have more inputs; a broadcast is the second side of a join above the union.
    while name == "Union" and remaining and remaining[-1] not in BROADCASTS:
        inputs.append(_read_node(remaining))
    return PlanNode(name, tuple(inputs))
