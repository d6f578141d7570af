"""A table of what Spark's physical operators preserve of partitions and row order; an operator that is not in the table guarantees nothing.

This is about Spark's physical plan, which decides how rows are partitioned. The rest of this package is about the order of rows in our graph.

Source: ``docs/order.md`` section 4 (observed on Spark 4.3.0 over 7 leaves and 95 operations, with and without adaptive execution), after a theorem
of the library Flint: a chain of preserving nodes above a stable leaf has the partitions of the leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Preservation(NamedTuple):
    """What an operator preserves: True if it does, False if it does not, None if nothing is guaranteed.

    Parameters
    ----------
    partitions
        The number of partitions is the same, and every row that is not dropped stays in its partition, in the same relative order.
    row_order
        If partitions are read one after another, the rows are in input order; rows may be dropped, or repeated in place.

    Examples
    --------
    >>> Preservation(True, True).then(Preservation(False, None))
    Preservation(partitions=False, row_order=None)
    """

    partitions: bool | None
    row_order: bool | None

    def then(self, following: Preservation) -> Preservation:
        """Return what this operator and a following operator preserve together."""
        return Preservation(_both(self.partitions, following.partitions), _both(self.row_order, following.row_order))


KEEPS_ALL = Preservation(True, True)
BREAKS_ALL = Preservation(False, False)
SAYS_NOTHING = Preservation(None, None)

# Leaves that assign rows to partitions independently of the execution and of filters or projections that are pushed into them.
_STABLE_LEAVES = ("RDDScan", "InMemoryTableScan", "Range")
_TRANSPARENT = ("AdaptiveSparkPlan", "WholeStageCodegen", "InputAdapter", "ColumnarToRow", "RowToColumnar")
# Writes: a task writes the rows of its partition in order.
_WRITES = ("WriteFiles", "Execute InsertIntoHadoopFsRelationCommand")
_ROW_WISE = (
    "Project",
    "Filter",
    "Generate",
    "Expand",
    "Sample",
    "BatchEvalPython",
    "ArrowEvalPython",
    "MapInArrow",
    "MapInPandas",
    "MapPartitions",
    "CollectMetrics",
    "DeserializeToObject",
    "MapElements",
    "SerializeFromObject",
)
_BROADCASTS = ("BroadcastExchange", "BroadcastQueryStage")
_BROADCAST_JOINS = ("BroadcastHashJoin", "BroadcastNestedLoopJoin")
_TWO_INPUTS = (*_BROADCAST_JOINS, "SortMergeJoin", "ShuffledHashJoin", "CartesianProduct", "FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow")

# Coalesce concatenates adjacent partitions, a limit without an exchange takes the first rows that it finds, and a union concatenates its
# inputs, but only under conditions that the node's name does not show. So nothing is guaranteed about their row order.
NODE_PRESERVATION: dict[str, Preservation] = {
    **dict.fromkeys((*_TRANSPARENT, *_WRITES, *_ROW_WISE), KEEPS_ALL),
    **dict.fromkeys(
        (
            "ShuffleExchange",
            "Exchange",
            "AQEShuffleRead",
            "Sort",
            "TakeOrderedAndProject",
            "CollectLimit",
            "CollectTail",
            "HashAggregate",
            "SortAggregate",
            "ObjectHashAggregate",
            "AggregateInPandas",
            "Window",
            "WindowInPandas",
            "FlatMapGroupsInPandas",
            "FlatMapGroupsInArrow",
            "FlatMapCoGroupsInPandas",
            "FlatMapCoGroupsInArrow",
            "SortMergeJoin",
            "ShuffledHashJoin",
            "CartesianProduct",
        ),
        BREAKS_ALL,
    ),
    **dict.fromkeys(("Coalesce", "GlobalLimit", "LocalLimit", "Union"), Preservation(False, None)),
}
# Nodes that may sort their output, which this table does not describe.
SORTING_NODES = frozenset({"Sort", "TakeOrderedAndProject", "SortMergeJoin"})


class PlanNode(NamedTuple):
    """A node of a physical plan.

    Parameters
    ----------
    name
        Spark's name of the node, without the suffix ``Exec``.
    inputs
        The nodes whose output it reads.
    """

    name: str
    inputs: tuple[PlanNode, ...]


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


def plan_preservation(node: PlanNode, unmatched_rows_added: bool = False) -> Preservation:
    """Return what a plan preserves of its leftmost leaf, which is reached by always taking the first input.

    Parameters
    ----------
    node
        The top of the plan.
    unmatched_rows_added
        Whether a broadcast join in the plan also returns unmatched rows of its broadcast side.

    Examples
    --------
    >>> plan_preservation(plan_tree(["Project", "Filter", "RDDScan"]))
    Preservation(partitions=True, row_order=True)
    >>> plan_preservation(plan_tree(["BroadcastHashJoin", "RDDScan", "BroadcastExchange", "HashAggregate", "RDDScan"])).row_order
    True
    >>> plan_preservation(plan_tree(["Project", "ShuffleExchange", "RDDScan"])).row_order
    False
    """
    result = KEEPS_ALL
    while node.inputs:
        if node.name in _BROADCAST_JOINS:
            streamed_left = len(node.inputs) == 2 and node.inputs[1].name in _BROADCASTS and node.inputs[0].name not in _BROADCASTS
            step = KEEPS_ALL if streamed_left and not unmatched_rows_added else BREAKS_ALL
        else:
            step = NODE_PRESERVATION.get(node.name, SAYS_NOTHING)
        result = step.then(result)
        node = node.inputs[0]
    return result if node.name in _STABLE_LEAVES else result.then(SAYS_NOTHING)


def preservation_above(node: PlanNode, is_end: Callable[[PlanNode], bool]) -> Preservation | None:
    """Return what the operators above the first node with ``is_end(node)`` preserve of its rows, or None if there is no such node.

    Only nodes that are reached by always taking the first input are examined.

    Examples
    --------
    >>> plan = plan_tree(["WriteFiles", "Project", "Sort", "ShuffleExchange", "RDDScan"])
    >>> preservation_above(plan, lambda node: node.name == "Sort")
    Preservation(partitions=True, row_order=True)
    >>> preservation_above(plan, lambda node: node.name == "Window") is None
    True
    """
    result = KEEPS_ALL
    while not is_end(node):
        if not node.inputs:
            return None
        result = NODE_PRESERVATION.get(node.name, SAYS_NOTHING).then(result)
        node = node.inputs[0]
    return result


def _read_node(remaining: list[str]) -> PlanNode:
    """Remove the names of a node and of the nodes below it from the end of a reversed list; return the node."""
    if not remaining:
        raise ValueError("the list of nodes ends before the plan does")
    name = remaining.pop()
    if name in (*_STABLE_LEAVES, "EmptyRelation") or name.endswith("Scan") or name.startswith("Scan"):
        return PlanNode(name, ())
    if name == "Union":
        inputs = [_read_node(remaining), _read_node(remaining)]
        while remaining and _is_input_of_union(remaining[-1]):
            inputs.append(_read_node(remaining))
        return PlanNode(name, tuple(inputs))
    return PlanNode(name, tuple(_read_node(remaining) for _ in range(2 if name in _TWO_INPUTS else 1)))


def _is_input_of_union(name: str) -> bool:
    """Return whether the node after the inputs of a union is another input: any node except the broadcast side of a join above the union."""
    return name not in _BROADCASTS


def _both(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return True if first and second else None
