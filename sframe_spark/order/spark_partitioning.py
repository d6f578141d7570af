"""What Spark's physical operators do to partitions and row order; an operator that is not in the table guarantees nothing.

Partitioning is physical and is decided on the plan that runs; ordering is logical and is decided on our graph. This is the physical side.

Source: ``docs/order.md`` section 4 (observed on Spark 4.3.0 over 7 leaves and 95 operations, with and without adaptive execution), after Flint's
theorem: a chain of preserving nodes above a preserving leaf has the partitions of the leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Preservation(NamedTuple):
    """What an operator preserves; None if nothing is guaranteed.

    Parameters
    ----------
    partitions
        The number of partitions is the same, every surviving row stays in its partition, in the same relative order.
    row_order
        Read in partition order, the surviving rows are in input order, dropped or repeated in place.

    Examples
    --------
    >>> Preservation(True, True).then(Preservation(False, None))
    Preservation(partitions=False, row_order=None)
    """

    partitions: bool | None
    row_order: bool | None

    def then(self, following: Preservation) -> Preservation:
        """What this operator and a following one preserve together."""
        return Preservation(_both(self.partitions, following.partitions), _both(self.row_order, following.row_order))


KEEPS_ALL = Preservation(True, True)
BREAKS_ALL = Preservation(False, False)
SAYS_NOTHING = Preservation(None, None)

# Leaves whose assignment of rows to partitions depends neither on the execution nor on what is pushed into them.
_STABLE_LEAVES = ("RDDScan", "InMemoryTableScan", "Range")
_TRANSPARENT = ("AdaptiveSparkPlan", "WholeStageCodegen", "InputAdapter", "ColumnarToRow", "RowToColumnar")
# A task writes the rows of a partition in their order.
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

# Coalesce concatenates adjacent partitions, a limit without an exchange takes the first rows that it meets, and a union concatenates its
# inputs, but only under conditions that the node's name does not show: so nothing is guaranteed about their row order.
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
# Nodes that may sort: whether the output is sorted by a key is decided by the ordering, not by this table.
SORTING_NODES = frozenset({"Sort", "TakeOrderedAndProject", "SortMergeJoin"})


class PlanNode(NamedTuple):
    """A node of a physical plan.

    Parameters
    ----------
    name
        Spark's name, without the suffix ``Exec``.
    inputs
        Its inputs.
    """

    name: str
    inputs: tuple[PlanNode, ...]


def plan_tree(names: Sequence[str]) -> PlanNode:
    """Build the plan from its nodes in preorder: parents first, left input before right.

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
    """What a plan preserves of the leaf at the end of its leftmost path.

    Parameters
    ----------
    node
        The top of the plan.
    unmatched_rows_added
        Whether a join in the plan also yields unmatched rows of its broadcast side.

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
    """What the operators above a certain node preserve of its rows; None if no such node is on the leftmost path.

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
    """Remove a node and its inputs from the end of a reversed list."""
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
    """Return whether a node after two inputs of a union is a third input, which everything but a broadcast side is."""
    return name not in _BROADCASTS


def _both(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return True if first and second else None
