"""Recovery of temporary rows: if their files are lost, they are computed again from their lineage.

See docs/decisions/025-lost-temporary-files.md.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import attrs

from sframe_spark.engine import costs
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.errors import StorageError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, Source
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.operators.user_function_calls_and_result_memos import functions_of
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.graph_traversal import fold, postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.filesystem.io_errors import lost
from sframe_spark.storage.filesystem.local_files import files_below
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.remote_operations import listed
from sframe_spark.storage.filesystem.temporary_datasets import TemporaryHandle

# Estimated bytes of a node, and of the statistics of a column in a segment.
BYTES_OF_NODE, BYTES_OF_ENTRY = 1_000, 200

TOO_LONG = "their plan is too large to be kept"
CALLS_USERS = "they were computed by your functions, which are called once for each row"
FROM_SPARK = "they come from a Spark DataFrame, which may give other rows when it is evaluated again"
NOT_DETERMINISTIC = "their plan may give other rows the next time"
# For rows that were read, converted or uploaded, not computed from other rows.
UNKNOWN = "it is not known how they were made"

Make = Callable[[PlannerNode], object]


@attrs.frozen(eq=False)
class ForgottenDataset:
    """Stands for the handle of a temporary dataset that was garbage-collected.

    Parameters
    ----------
    lineage
        How the dataset's rows were computed.
    """

    lineage: RowLineage


@attrs.define(eq=False)
class RowLineage:
    """How the rows of a temporary dataset were computed. It keeps no other temporary dataset alive.

    Parameters
    ----------
    plan
        A private copy of the graph; None if the rows cannot be computed again.
    reason
        Why the rows cannot be computed again; empty if they can.
    leaves
        For the plan's nodes over temporary datasets, by ``id``: a weak reference to the dataset's handle, and the dataset's lineage.
    size, generations
        Estimated bytes of the lineage with its leaves, and how deep lineages are nested.
    restored
        A source of the rows, if they were computed again; else None.
    """

    plan: PlannerNode | None = None
    reason: str = UNKNOWN
    leaves: dict[int, tuple[weakref.ref[TemporaryHandle], RowLineage]] = attrs.Factory(dict)
    size: int = 0
    generations: int = 1
    restored: Source | None = None


def lineage_of(root: PlannerNode) -> RowLineage:
    """Return the lineage of a node's rows, without a plan if they cannot be computed again; the caller holds the graph lock."""
    nodes = []
    for node in postorder([root]):
        nodes.append(node)
        reason = TOO_LONG if len(nodes) * BYTES_OF_NODE > costs.MAX_BYTES_OF_KEPT_PLANS else _refusal(node)
        if reason:
            return RowLineage(reason=reason)
    lineage = RowLineage(reason="", size=len(nodes) * BYTES_OF_NODE)

    def copy(node: PlannerNode, inputs: list[PlannerNode]) -> PlannerNode:
        operator = node.operator
        if isinstance(operator, MemorySource):
            lineage.size += operator.data.size
        if not isinstance(operator, SegmentSource) or not isinstance(operator.handle, TemporaryHandle):
            return PlannerNode(operator, inputs, node.facts)
        leaf, below = PlannerNode(attrs.evolve(operator, handle=None), (), node.facts), lineage_behind(operator.handle)
        lineage.leaves[id(leaf)] = weakref.ref(operator.handle), below
        lineage.size += below.size + BYTES_OF_ENTRY * len(operator.manifest.segments) * len(operator.manifest.types)
        lineage.generations = max(lineage.generations, below.generations + 1)
        return leaf

    lineage.plan = fold([root], copy)[id(root)]
    if lineage.size > costs.MAX_BYTES_OF_KEPT_PLANS or lineage.generations > costs.MAX_GENERATIONS_OF_KEPT_PLANS:
        return RowLineage(reason=TOO_LONG)
    return lineage


def remember_lineage(node: PlannerNode, result: PlannerNode) -> None:
    """Store the lineage of a node with the temporary rows that replace it, unless they have one; the caller holds the graph lock."""
    source = result.operator
    if isinstance(source, SegmentSource) and isinstance(source.handle, TemporaryHandle) and source.handle.lineage is None:
        source.handle.lineage = lineage_of(node) if source == SegmentSource.of(source.manifest) else RowLineage()


def lineage_behind(handle: TemporaryHandle | ForgottenDataset) -> RowLineage:
    """Return the lineage of a temporary dataset; an empty lineage if none was stored."""
    return handle.lineage if isinstance(handle.lineage, RowLineage) else RowLineage()


def _refusal(node: PlannerNode) -> str:
    """Return why a node's rows cannot be computed again from its inputs; empty if they can."""
    if isinstance(node.operator, SparkSource):
        return FROM_SPARK
    if functions_of(node):
        return CALLS_USERS
    return "" if node.operator.deterministic else NOT_DETERMINISTIC


def restore_lost_rows(root: PlannerNode, make: Make) -> bool:
    """Compute lost temporary rows below a node again and replace the sources that read them; return whether any were lost.

    Parameters
    ----------
    root
        A graph.
    make
        Materialises a node.

    Raises
    ------
    StorageError
        If lost rows cannot be computed again, or differ from the lost rows.
    """
    with GRAPH_LOCK:
        sources = [node.operator for node in postorder([root]) if isinstance(node.operator, SegmentSource)]
    lost_sources = {id(source.handle): source for source in sources if lost_file(source) is not None}
    for source in lost_sources.values():
        _restore(source, make)
    with GRAPH_LOCK:
        for node in postorder([root]):
            if isinstance(node.operator, SegmentSource) and id(node.operator.handle) in lost_sources:
                node.splice(_restored_node(node.operator, node))
                node.known = None
    return bool(lost_sources)


def lost_file(source: SegmentSource) -> str | None:
    """Return a missing file of temporary rows; None if no file is missing, or if the rows are not temporary."""
    if not isinstance(source.handle, (TemporaryHandle, ForgottenDataset)):
        return None
    directory = source.manifest.directory
    if is_remote_location(directory):
        present = {file.uri for file in listed(directory, below=True)}
    else:
        present = {join(directory, name) for name in files_below(directory)}
    files = (join(directory, entry.file) for entry in source.manifest.segments if entry.rows)
    return next((file for file in files if file not in present), None)


def _restore(source: SegmentSource, make: Make) -> None:
    """Compute the rows of a temporary dataset again, unless another reader has done so."""
    lineage, file = lineage_behind(source.handle), lost_file(source)
    if lineage.restored is not None and not (isinstance(lineage.restored, SegmentSource) and lost_file(lineage.restored) is not None):
        return
    if lineage.plan is None:
        raise StorageError(lost(str(file), lineage.reason)) from None
    plan = fold([lineage.plan], lambda node, inputs: _with_leaves(lineage, node, inputs, make))[id(lineage.plan)]
    make(plan)
    restored = plan.operator
    if not isinstance(restored, (SegmentSource, MemorySource)) or not _are_same(source, restored):
        raise StorageError(lost(str(file), "computed again, they were different: their inputs have changed")) from None
    lineage.restored = restored
    for reference, below in lineage.leaves.values():
        if reference() is None:
            # Restored rows of intermediate datasets without references are released.
            below.restored = None


def _with_leaves(lineage: RowLineage, node: PlannerNode, inputs: Sequence[PlannerNode], make: Make) -> PlannerNode:
    """Return a copy of a node of a lineage's plan; a leaf is restored if its rows are lost."""
    if id(node) not in lineage.leaves:
        return PlannerNode(node.operator, inputs, node.facts)
    reference, below = lineage.leaves[id(node)]
    handle = reference() or ForgottenDataset(below)
    assert isinstance(node.operator, SegmentSource)
    leaf = PlannerNode(attrs.evolve(node.operator, handle=handle), (), node.facts)
    restore_lost_rows(leaf, make)
    return leaf


def _restored_node(old: SegmentSource, node: PlannerNode) -> PlannerNode:
    """Return a source of the restored rows with the columns, row range and recorded order of the old source."""
    restored = lineage_behind(old.handle).restored
    assert isinstance(restored, (SegmentSource, MemorySource))
    part = restored.with_columns(old.positions).rows_between(old.start, old.stop)
    if isinstance(part, SegmentSource):
        part = attrs.evolve(part, manifest=part.manifest.with_order(old.manifest.order))
    return PlannerNode(part, (), node.facts)


def _are_same(old: SegmentSource, restored: SegmentSource | MemorySource) -> bool:
    """Return whether restored rows match the recorded statistics. Floats are not compared, as sums depend on how rows were divided into ranges."""
    if restored.row_count != old.manifest.rows or restored.infer_type(()) != tuple(old.manifest.types):
        return False
    for column_type, before, after in zip(old.manifest.types, SegmentSource.of(old.manifest).statistics(), restored.statistics(), strict=False):
        if column_type.kind in ("int", "str", "datetime") and (
            (before.bounds_known and after.bounds_known and (before.minimum, before.maximum) != (after.minimum, after.maximum))
            or (before.edges_known and after.edges_known and (before.first, before.last) != (after.first, after.last))
        ):
            return False
    return True
