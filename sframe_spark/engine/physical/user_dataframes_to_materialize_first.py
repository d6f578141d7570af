"""Finds the nodes over users' Spark DataFrames that must be materialised before a plan runs, so that all actions see the same rows in one order.

Also keeps the one node that all frames of a DataFrame share.

See docs/decisions/009-one-evaluation.md.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.physical.placement_and_blocking_inputs import too_long_for_spark
from sframe_spark.errors import RowsNotFixedError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, segment_source
from sframe_spark.operators.user_function_calls_and_result_memos import functions_of
from sframe_spark.planner.graph_traversal import consumers, fold, postorder
from sframe_spark.planner.handles import reachable_directly
from sframe_spark.planner.length_and_order_inference import observed_nodes
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need
from sframe_spark.planner.operator_declarations import RowChoice

with lazy_imports(globals()):
    from sframe_spark.operators.sources.spark_frame import SparkSource
    from sframe_spark.session import get_frames
    from sframe_spark.storage.filesystem.temporary_datasets import TemporaryHandle
    from sframe_spark.storage.manifest.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@attrs.define(eq=False)
class SharedFrame:
    """The node of a user's DataFrame. All frames that are derived from the DataFrame share it, while any of these frames is in use.

    Parameters
    ----------
    node
        The node of the DataFrame.
    rows
        The manifest of the DataFrame's rows, once they are stored: frames of some of its columns refer to the manifest, but no longer to the node.
    handle
        The handle of these rows' files, if they are temporary.
    kept
        For each node that was derived from the DataFrame, and later replaced by its own stored rows: a node with the DataFrame's rows, to which the
        replaced node no longer refers.
    """

    node: weakref.ref[PlannerNode]
    rows: weakref.ref[Manifest] | None = None
    handle: weakref.ref[TemporaryHandle] | None = None
    kept: weakref.WeakKeyDictionary[PlannerNode, PlannerNode] = attrs.Factory(weakref.WeakKeyDictionary)

    def below(self, nodes: Mapping[int, PlannerNode], manifests: Mapping[int, PlannerNode]) -> PlannerNode | None:
        """Return the node of the DataFrame, or a node with the same rows, among some nodes; None if neither is among them.

        Parameters
        ----------
        nodes
            The nodes by their ``id``.
        manifests
            Nodes of stored rows, by the ``id`` of their manifests.
        """
        own, manifest = self.node(), None if self.rows is None else self.rows()
        below = nodes.get(id(own)) or manifests.get(id(manifest))
        if below is not None:
            return below
        # The shorter mapping is searched, as there may be many DataFrames and many nodes.
        if len(self.kept) < len(nodes):
            return next((kept for node, kept in list(self.kept.items()) if id(node) in nodes), None)
        return next((self.kept[node] for node in nodes.values() if node in self.kept), None)

    def node_or_rows(self) -> PlannerNode | None:
        """Return the node of the DataFrame, or a new node of its stored rows; None if neither exists any more."""
        node = self.node()
        if node is not None:
            return node
        manifest = None if self.rows is None else self.rows()
        handle = None if self.handle is None else self.handle()
        # A manifest may still be referenced after its files have been deleted.
        if manifest is None or (handle is None and self.handle is not None):
            return None
        node = segment_source(manifest, handle)
        self.node = weakref.ref(node)
        return node


def shared_node(df: DataFrame, make: Callable[[], PlannerNode]) -> PlannerNode:
    """Return the node of a user's DataFrame, which all frames derived from the DataFrame share; ``make`` creates it if no frame is in use."""

    def existing() -> PlannerNode | None:
        shared = get_frames().get(df)
        return None if shared is None else shared.node_or_rows()

    with GRAPH_LOCK:
        node = existing()
    if node is not None:
        return node
    new = make()
    with GRAPH_LOCK:
        # Another thread may have created one meanwhile.
        node = existing()
        if node is None:
            get_frames()[df] = SharedFrame(weakref.ref(new))
    return new if node is None else node


def remember_rows(frame: SparkSource, rows: PlannerNode) -> None:
    """Register the stored rows of a user's DataFrame for frames that are derived from it later; the caller holds the lock."""
    df = frame.given()
    shared = None if df is None else get_frames().get(df)
    if shared is not None and isinstance(rows.operator, SegmentSource):
        shared.rows = weakref.ref(rows.operator.manifest)
        shared.handle = None if rows.operator.handle is None else weakref.ref(rows.operator.handle)


def keep_frames(node: PlannerNode) -> None:
    """Keep stored rows of users' DataFrames alive as long as a node that was derived from them, and the DataFrames themselves.

    Called when the node is about to be replaced by its own rows. A frame that is later made of another column of the DataFrame then has rows in the
    same order. The caller holds the lock.
    """
    frames = list(get_frames().values())
    if not frames:
        return
    below = {id(child): child for child in postorder([node]) if child is not node}
    manifests = {id(child.operator.manifest): child for child in below.values() if isinstance(child.operator, SegmentSource)}
    for shared in frames:
        kept = shared.below(below, manifests)
        if kept is not None:
            shared.kept[node] = kept


def require_fixed(nodes: Iterable[PlannerNode], free: Collection[int] = ()) -> None:
    """Require that no nodes are users' DataFrames, except ``free`` DataFrames, whose rows nothing else uses.

    Raises
    ------
    RowsNotFixedError
        If there are other DataFrames among them.
    """
    frames = [frame_of(node) for node in nodes if isinstance(node.operator, SparkSource) and frame_of(node) not in free]
    if frames:
        raise RowsNotFixedError(frames)


def unfixed_nodes(root: PlannerNode, plan: PlannerNode, becomes: bool, discards: bool, wanted: Collection[int] | None) -> list[PlannerNode]:
    """Return the nodes of a graph that are to be materialised before a plan of it runs.

    If the plan observes the row order of DataFrames, the result is these DataFrames. Otherwise it is the highest nodes that
    derive new rows, such as groups, from DataFrames without observing their order: the next plan might get different rows. A reduction at the root is
    not among them, because no other column is aligned with its single row.

    Parameters
    ----------
    root
        The graph.
    plan
        The plan that is to run.
    becomes
        Whether the result replaces ``root``.
    discards
        Whether the rows of the result are discarded, so that nothing has to agree with them later.
    wanted
        ``id`` of the DataFrames that are fixed whatever the plan observes; None for all DataFrames.
    """
    frames = [node for node in frames_in(root) if not (becomes and node is root)]
    if wanted is None or not frames:
        return frames
    used, observed = frames_in(plan), observed_nodes(plan)
    fixed = {*wanted, *(frame_of(node) for node in used if id(node) in observed)}
    read = {frame_of(node) for node in used}
    return [node for node in frames if frame_of(node) in fixed] or highest_deriving_nodes(
        root, [node for node in frames if frame_of(node) in read], becomes or discards
    )


def frames_in(root: PlannerNode) -> list[PlannerNode]:
    """Return the nodes of users' DataFrames in a graph."""
    return [node for node in postorder([root]) if isinstance(node.operator, SparkSource)]


def frame_of(node: PlannerNode) -> int:
    """Return the identity of a node's DataFrame, which is also that of copies that laws made of the node."""
    assert isinstance(node.operator, SparkSource)
    return id(node.operator.df)


def highest_deriving_nodes(root: PlannerNode, frames: Sequence[PlannerNode], kept: bool) -> list[PlannerNode]:
    """Return the highest nodes that derive new rows (such as groups) from some DataFrames without observing their order; ``kept``: without root."""
    own = {id(node) for node in frames}
    above = fold([root], lambda node, inputs: id(node) in own or any(inputs))
    highest: list[PlannerNode] = []
    waiting, seen = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        inputs = [(slot, child) for slot, child in enumerate(node.inputs) if above[id(child)]]
        if any(node.operator.requires(slot) is Need.ANY for slot, _ in inputs):
            if node is not root or not (kept or node.operator.makes_one_row):
                highest.append(node)
            continue
        new = [child for _, child in inputs if id(child) not in seen]
        seen.update(map(id, new))
        waiting.extend(new)
    return highest


def nodes_in_place_of_frames(
    unfixed: Sequence[PlannerNode], tops: Mapping[int, PlannerNode], root: PlannerNode, becomes: bool, plan_is_chain: bool, whole: Collection[int]
) -> tuple[list[PlannerNode], frozenset[int]]:
    """Return the nodes to be materialised in place of some DataFrames, and the ``id`` of DataFrames that the plan may read as they are.

    Parameters
    ----------
    unfixed
        The nodes that are to be materialised.
    tops
        By ``id`` of DataFrames' nodes, the highest nodes through which alone their rows can be reached.
    root
        The graph.
    becomes
        Whether the result replaces ``root``.
    plan_is_chain
        Whether the plan reads one DataFrame once and derives its rows row by row.
    whole
        ``id`` of DataFrames that are materialised with all rows and columns in any case.
    """
    missing: list[PlannerNode] = []
    free: set[int] = set()
    for node in unfixed:
        top = tops.get(id(node)) if isinstance(node.operator, SparkSource) and frame_of(node) not in whole else None
        if top is root and becomes and plan_is_chain:
            free.add(frame_of(node))
        else:
            missing.append(node if top is None or (top is root and becomes) else top)
    return missing, frozenset(free)


# Subplans with one owner: if a DataFrame can be reached through one node only, that node is materialised, after filters and projections.


def exclusive_tops(root: PlannerNode) -> dict[int, PlannerNode]:
    """Return, by ``id`` of the nodes of users' DataFrames, the highest node above each through which alone its rows can be reached.

    The rows of that node are derived row by row from the rows of the DataFrame. A DataFrame has no such node if another frame or thread, or a frame
    that the user makes of it later, may ask for other rows or columns.
    """
    if not any(isinstance(node.operator, SparkSource) for node in postorder([root])):
        return {}
    nodes = list(postorder([root]))
    external = reachable_directly(root, nodes)
    sources = [node for node in nodes if isinstance(node.operator, SparkSource)]
    makes = row_by_row_origins(nodes)
    readers = consumers([root])
    ways = _only_ways(root, nodes, readers, makes, external)
    tops: dict[int, PlannerNode] = {}
    for source in sources:
        assert isinstance(source.operator, SparkSource)
        top = source if source.operator.given() is None else None
        while top is not None and (above := ways[id(top)]) is not None:
            top = above
        if top is not None and top is not source:
            tops[id(source)] = top
    return tops


def row_by_row_origins(nodes: Sequence[PlannerNode]) -> dict[int, int | None]:
    """Return, by ``id`` of each node, the ``id`` of the one DataFrame node from whose rows its rows are derived row by row.

    A node gets None if there is not exactly one.
    """
    frames: dict[int, int | None] = {}
    for node in nodes:
        below = {frames[id(child)] for child in node.inputs}
        if isinstance(node.operator, SparkSource):
            frames[id(node)] = id(node)
        else:
            frames[id(node)] = below.pop() if len(below) == 1 and is_row_by_row(node) else None
    return frames


def is_row_by_row(node: PlannerNode) -> bool:
    """Return whether a node derives at most one row from each row, in any order, and calls no user's function."""
    operator = node.operator
    if functions_of(node) or too_long_for_spark(node):
        return False
    # A promised order (assume_sorted) is about the sequence of rows: its node, which is row-wise and counts as choosing rows, is excluded.
    return operator.row_choice is RowChoice.FILTER or (operator.row_wise and operator.row_choice is None)


def is_chain(plan: PlannerNode, allows: Callable[[PlannerNode], bool] = is_row_by_row) -> bool:
    """Return whether a plan reads one DataFrame once and derives its rows row by row, or by other nodes that ``allows`` accepts."""
    node = plan
    while not isinstance(node.operator, SparkSource):
        if len(node.inputs) != 1 or not allows(node):
            return False
        node = node.inputs[0]
    return True


def _only_ways(
    root: PlannerNode,
    nodes: Sequence[PlannerNode],
    readers: Mapping[int, Sequence[PlannerNode]],
    makes: Mapping[int, int | None],
    external: set[int],
) -> dict[int, PlannerNode | None]:
    """Return, by ``id``, the next node above each node that all paths to the root pass.

    A node gets None if there is no such node above it, or if a handle reaches it on another path.
    """
    ways: dict[int, PlannerNode | None] = {}
    depths: dict[int, int] = {}
    for node in reversed(nodes):
        above = list({id(reader): reader for reader in readers[id(node)]}.values())
        way: PlannerNode | None = None
        if node is not root and id(node) not in external and above and all(makes[id(reader)] is not None for reader in above):
            way = above[0]
            for other in above[1:]:
                way = _meeting(way, other, ways, depths)
        ways[id(node)] = way
        depths[id(node)] = 0 if way is None else depths[id(way)] + 1
    return ways


def _meeting(
    first: PlannerNode | None, second: PlannerNode | None, ways: Mapping[int, PlannerNode | None], depths: Mapping[int, int]
) -> PlannerNode | None:
    """Return the first node at which the paths up from two nodes meet; None if they do not."""
    while first is not second:
        if first is None or second is None:
            return None
        if depths[id(first)] >= depths[id(second)]:
            first = ways[id(first)]
        else:
            second = ways[id(second)]
    return first
