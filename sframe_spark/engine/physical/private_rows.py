"""Rows of a user's DataFrame that can be asked for through one node alone: that node is fixed in their place, its columns only, after its filters.

See docs/decisions/011-spark-frames.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sframe_spark.engine.physical.holders import held_directly
from sframe_spark.engine.physical.placement import too_long_for_spark
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.operators.udf_calls import functions_of
from sframe_spark.planner.graph import consumers, postorder
from sframe_spark.planner.node import PlannerNode


def private_tops(root: PlannerNode) -> dict[int, PlannerNode]:
    """By ``id`` of the nodes of users' DataFrames, the highest node above each through which alone its rows can be asked for.

    The rows of that node are made one by one of those of the DataFrame. There is none where a handle, another thread, or a frame still to be made
    of the user's own DataFrame may ask for other rows or columns.
    """
    if not any(isinstance(node.operator, SparkSource) for node in postorder([root])):
        return {}
    # First: everything below holds nodes.
    held = held_directly(root)
    nodes = list(postorder([root]))
    sources = [node for node in nodes if isinstance(node.operator, SparkSource)]
    makes = one_by_one(nodes)
    readers = consumers([root])
    ways = _only_ways(root, nodes, readers, makes, held)
    tops: dict[int, PlannerNode] = {}
    for source in sources:
        assert isinstance(source.operator, SparkSource)
        top = source if source.operator.given() is None else None
        while top is not None and (above := ways[id(top)]) is not None:
            top = above
        if top is not None and top is not source:
            tops[id(source)] = top
    return tops


def one_by_one(nodes: Sequence[PlannerNode]) -> dict[int, int | None]:
    """By ``id``, the one DataFrame's node of whose rows those of a node are made one by one; None where there is no such."""
    found: dict[int, int | None] = {}
    for node in nodes:
        below = {found[id(child)] for child in node.inputs}
        if isinstance(node.operator, SparkSource):
            found[id(node)] = id(node)
        else:
            found[id(node)] = below.pop() if len(below) == 1 and is_row_by_row(node) else None
    return found


def is_chain(plan: PlannerNode) -> bool:
    """True for a plan in which one DataFrame is read once, and rows are made of it one by one."""
    node = plan
    while not isinstance(node.operator, SparkSource):
        if len(node.inputs) != 1 or not is_row_by_row(node):
            return False
        node = node.inputs[0]
    return True


def is_row_by_row(node: PlannerNode) -> bool:
    """True for a node that makes at most one row of each row, in whatever order these come, and calls no user's function."""
    operator = node.operator
    if functions_of(node) or too_long_for_spark(node):
        return False
    # What the user promised of rows in their order is none of their columns.
    return operator.filters or (operator.row_wise and not operator.chooses_rows)


def _only_ways(
    root: PlannerNode,
    nodes: Sequence[PlannerNode],
    readers: Mapping[int, Sequence[PlannerNode]],
    makes: Mapping[int, int | None],
    held: set[int],
) -> dict[int, PlannerNode | None]:
    """By ``id``, the next node above a node through which all ways from it lead; None where they part, or others hold it."""
    ways: dict[int, PlannerNode | None] = {}
    depths: dict[int, int] = {}
    for node in reversed(nodes):
        above = list({id(reader): reader for reader in readers[id(node)]}.values())
        way: PlannerNode | None = None
        if node is not root and id(node) not in held and above and all(makes[id(reader)] is not None for reader in above):
            way = above[0]
            for other in above[1:]:
                way = _meeting(way, other, ways, depths)
        ways[id(node)] = way
        depths[id(node)] = 0 if way is None else depths[id(way)] + 1
    return ways


def _meeting(
    first: PlannerNode | None, second: PlannerNode | None, ways: Mapping[int, PlannerNode | None], depths: Mapping[int, int]
) -> PlannerNode | None:
    """The first node at which the ways up from two nodes meet; None where they do not."""
    while first is not second:
        if first is None or second is None:
            return None
        if depths[id(first)] >= depths[id(second)]:
            first = ways[id(first)]
        else:
            second = ways[id(second)]
    return first
