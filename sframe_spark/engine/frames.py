"""Rows of users' Spark DataFrames: what has to be materialised before a plan runs, so that every look sees the same rows in the same order.

See docs/decisions/one-evaluation.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sframe_spark.operators.groupby import Reduce
from sframe_spark.operators.spark_source import SparkSource
from sframe_spark.planner.graph import fold, postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.observe import observed_nodes
from sframe_spark.planner.operator import Need


class RowsNotFixedError(Exception):
    """A plan would compute rows of users' DataFrames for itself alone, where others need the same rows; ``frames`` tells which DataFrames."""

    def __init__(self, frames: Iterable[int]) -> None:
        super().__init__("a plan keeps rows of a DataFrame for itself")
        self.frames = frozenset(frames)


def require_fixed(nodes: Iterable[PlannerNode]) -> None:
    """Let nodes pass that are no users' DataFrames.

    Raises
    ------
    RowsNotFixedError
        If some are.
    """
    found = [frame_of(node) for node in nodes if isinstance(node.operator, SparkSource)]
    if found:
        raise RowsNotFixedError(found)


def unfixed_nodes(root: PlannerNode, plan: PlannerNode, becomes: bool, discards: bool, wanted: Collection[int] | None) -> list[PlannerNode]:
    """The nodes of a graph that are to be materialised before a plan of it runs.

    These are DataFrames whose row order the plan observes, and otherwise what makes other rows of theirs without their order: these would be others
    in the next plan. The one row of a reduction is an answer that nobody lines up with anything.

    Parameters
    ----------
    root
        The graph.
    plan
        What is to run.
    becomes
        The result takes the place of ``root``.
    discards
        The rows of the result are seen by nobody, so that nothing has to agree with them later.
    wanted
        DataFrames that are fixed whatever the plan observes; None for all.
    """
    frames = [node for node in frames_in(root) if not (becomes and node is root)]
    if wanted is None or not frames:
        return frames
    used, observed = frames_in(plan), observed_nodes(plan)
    fixed = {*wanted, *(frame_of(node) for node in used if id(node) in observed)}
    found = [node for node in frames if frame_of(node) in fixed]
    read = {frame_of(node) for node in used}
    return found or remade(root, [node for node in frames if frame_of(node) in read], becomes or discards)


def frames_in(root: PlannerNode) -> list[PlannerNode]:
    """The nodes of users' DataFrames."""
    return [node for node in postorder([root]) if isinstance(node.operator, SparkSource)]


def frame_of(node: PlannerNode) -> int:
    """Tells which DataFrame a node is about, also where a law copied it."""
    assert isinstance(node.operator, SparkSource)
    return id(node.operator.df)


def remade(root: PlannerNode, frames: Sequence[PlannerNode], kept: bool) -> list[PlannerNode]:
    """The highest nodes that make rows of DataFrames' rows without looking at their order."""
    own = {id(node) for node in frames}
    above = fold([root], lambda node, inputs: id(node) in own or any(inputs))
    found: list[PlannerNode] = []
    waiting, seen = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        inputs = [(slot, child) for slot, child in enumerate(node.inputs) if above[id(child)]]
        if any(node.operator.requires(slot) is Need.ANY for slot, _ in inputs):
            if node is not root or not (kept or isinstance(node.operator, Reduce)):
                found.append(node)
            continue
        new = [child for _, child in inputs if id(child) not in seen]
        seen.update(map(id, new))
        waiting.extend(new)
    return found
