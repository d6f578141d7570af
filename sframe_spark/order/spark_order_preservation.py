"""A table of what Spark's physical operators preserve of partitions and row order; an operator that is not in the table guarantees nothing.

This is about Spark's physical plan, which decides how rows are partitioned. The rest of this package is about the order of rows in query graphs.

Source: ``docs/order.md`` section 4 (observed on Spark 4.3.0 over 7 leaves and 95 operations, with and without adaptive execution), after a theorem
of the library Flint: a chain of preserving nodes above a stable leaf has the partitions of the leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Preservation(NamedTuple):
    """The order properties that an operator preserves: True if it does, False if it does not, None if nothing is guaranteed.

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
STABLE_LEAVES = ("RDDScan", "InMemoryTableScan", "Range")
_TRANSPARENT = ("AdaptiveSparkPlan", "WholeStageCodegen", "InputAdapter", "ColumnarToRow", "RowToColumnar")
# Writes: a task writes the rows of its partition in order.
_WRITES = ("WriteFiles", "Execute InsertIntoHadoopFsRelationCommand")
_ROW_WISE = (
    "Project", "Filter", "Generate", "Expand", "Sample", "BatchEvalPython", "ArrowEvalPython", "MapInArrow", "PythonMapInArrow", "MapInPandas",
    "MapPartitions", "CollectMetrics", "DeserializeToObject", "MapElements", "SerializeFromObject",
)  # fmt: skip
_REORDERING = (
    "ShuffleExchange", "Exchange", "AQEShuffleRead", "Sort", "TakeOrderedAndProject", "CollectLimit", "CollectTail", "HashAggregate", "SortAggregate",
    "ObjectHashAggregate", "AggregateInPandas", "Window", "WindowInPandas", "FlatMapGroupsInPandas", "FlatMapGroupsInArrow",
    "FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow", "SortMergeJoin", "ShuffledHashJoin", "CartesianProduct",
)  # fmt: skip
BROADCASTS = ("BroadcastExchange", "BroadcastQueryStage")
BROADCAST_JOINS = ("BroadcastHashJoin", "BroadcastNestedLoopJoin")

# Coalesce concatenates adjacent partitions, a limit without an exchange takes the first rows that it finds, and a union concatenates its
# inputs, but only under conditions that the node's name does not show. So nothing is guaranteed about their row order.
NODE_PRESERVATION: dict[str, Preservation] = {
    **dict.fromkeys((*_TRANSPARENT, *_WRITES, *_ROW_WISE), KEEPS_ALL),
    **dict.fromkeys(_REORDERING, BREAKS_ALL),
    **dict.fromkeys(("Coalesce", "GlobalLimit", "LocalLimit", "Union"), Preservation(False, None)),
}


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
    >>> scan = PlanNode("RDDScan", ())
    >>> plan_preservation(PlanNode("Project", (scan,)))
    Preservation(partitions=True, row_order=True)
    >>> plan_preservation(PlanNode("BroadcastHashJoin", (scan, PlanNode("BroadcastExchange", (scan,))))).row_order
    True
    >>> plan_preservation(PlanNode("ShuffleExchange", (scan,))).row_order
    False
    """
    result = KEEPS_ALL
    while node.inputs:
        if node.name in BROADCAST_JOINS:
            streamed_left = len(node.inputs) == 2 and node.inputs[1].name in BROADCASTS and node.inputs[0].name not in BROADCASTS
            step = KEEPS_ALL if streamed_left and not unmatched_rows_added else BREAKS_ALL
        else:
            step = NODE_PRESERVATION.get(node.name, SAYS_NOTHING)
        result = step.then(result)
        node = node.inputs[0]
    return result if node.name in STABLE_LEAVES else result.then(SAYS_NOTHING)


def preservation_above(node: PlanNode, is_end: Callable[[PlanNode], bool]) -> Preservation | None:
    """Return what the operators above the first node with ``is_end(node)`` preserve of its rows, or None if there is no such node.

    Only nodes that are reached by always taking the first input are examined.

    Examples
    --------
    >>> plan = PlanNode("WriteFiles", (PlanNode("Project", (PlanNode("Sort", (PlanNode("RDDScan", ()),)),)),))
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


def _both(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return True if first and second else None
