"""How temporary rows were made: when their files are lost they are made again, from what is left.

See docs/decisions/025-lost-temporary-files.md.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import attrs

from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.errors import StorageError
from sframe_spark.locations import is_remote_location
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import SegmentSource, Source
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.operators.udf_calls import functions_of
from sframe_spark.planner.graph import fold, postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.filesystem.io_errors import lost
from sframe_spark.storage.filesystem.local_files import files_below
from sframe_spark.storage.filesystem.object_store import listed
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.temporary_datasets import TemporaryHandle

MAX_BYTES, MAX_GENERATIONS = 16 << 20, 32
# About what a node, and what is known of a column of a segment, takes.
BYTES_OF_NODE, BYTES_OF_ENTRY = 1_000, 200

TOO_LONG = "how they were made is too much to be kept"
CALLS_USERS = "functions of yours made them, which are called once for each row"
FROM_SPARK = "they are of a Spark DataFrame, whose rows may be others when it is evaluated again"
NOT_DETERMINISTIC = "what made them may give other rows the next time"
# Of rows that were read, converted or uploaded, and not made of others.
UNKNOWN = "nobody knows how they were made"

Make = Callable[[PlannerNode], object]


@attrs.frozen(eq=False)
class ForgottenDataset:
    """Stands for a temporary dataset that nobody kept alive.

    Parameters
    ----------
    recipe
        How its rows were made.
    """

    lineage: RowLineage


@attrs.define(eq=False)
class RowLineage:
    """How the rows of a temporary dataset are made; it keeps no other temporary dataset alive.

    Parameters
    ----------
    plan
        The graph, of which nobody else holds a node; None if they cannot be made again.
    reason
        Why they cannot.
    leaves
        By ``id`` of the plan's nodes over temporary datasets: what keeps one alive, if somebody does, and its recipe.
    size, generations
        Bytes that the recipe keeps, with those of its leaves, about; how many stand one above the other.
    found
        The rows, if they were made again.
    """

    plan: PlannerNode | None = None
    reason: str = UNKNOWN
    leaves: dict[int, tuple[weakref.ref[TemporaryHandle], RowLineage]] = attrs.Factory(dict)
    size: int = 0
    generations: int = 1
    found: Source | None = None


def lineage_of(root: PlannerNode) -> RowLineage:
    """How the rows of a node are made; the caller holds the graph's lock."""
    nodes = []
    for node in postorder([root]):
        nodes.append(node)
        reason = TOO_LONG if len(nodes) * BYTES_OF_NODE > MAX_BYTES else _refusal(node)
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
    if lineage.size > MAX_BYTES or lineage.generations > MAX_GENERATIONS:
        return RowLineage(reason=TOO_LONG)
    return lineage


def remember_lineage(node: PlannerNode, result: PlannerNode) -> None:
    """Keep with temporary rows how they were made, before they take the place of a node; the caller holds the graph's lock."""
    source = result.operator
    if isinstance(source, SegmentSource) and isinstance(source.handle, TemporaryHandle) and source.handle.lineage is None:
        source.handle.lineage = lineage_of(node) if source == SegmentSource.of(source.manifest) else RowLineage()


def lineage_behind(handle: TemporaryHandle | ForgottenDataset) -> RowLineage:
    """The recipe of a temporary dataset."""
    return handle.lineage if isinstance(handle.lineage, RowLineage) else RowLineage()


def _refusal(node: PlannerNode) -> str:
    """Why a node's rows cannot be made again from those of its inputs; empty if they can."""
    if isinstance(node.operator, SparkSource):
        return FROM_SPARK
    if functions_of(node):
        return CALLS_USERS
    return "" if node.operator.deterministic else NOT_DETERMINISTIC


def restore_lost_rows(root: PlannerNode, make: Make) -> bool:
    """Make again the temporary rows below a node whose files are lost, and let the graph read these; False where none is lost.

    Parameters
    ----------
    root
        A graph.
    make
        Materialises a node.

    Raises
    ------
    StorageError
        If rows are lost that cannot be made again, or are others then.
    """
    with GRAPH_LOCK:
        sources = [node.operator for node in postorder([root]) if isinstance(node.operator, SegmentSource)]
    gone = {id(source.handle): source for source in sources if lost_file(source) is not None}
    for source in gone.values():
        _made_again(source, make)
    with GRAPH_LOCK:
        for node in postorder([root]):
            if isinstance(node.operator, SegmentSource) and id(node.operator.handle) in gone:
                node.splice(_over(node.operator, node))
                node.known = None
    return bool(gone)


def lost_file(source: SegmentSource) -> str | None:
    """A file of temporary rows that is not there any more; None where all are, or rows are not temporary."""
    if not isinstance(source.handle, (TemporaryHandle, ForgottenDataset)):
        return None
    directory = source.manifest.directory
    if is_remote_location(directory):
        present = {file.uri for file in listed(directory, below=True)}
    else:
        present = {join(directory, name) for name in files_below(directory)}
    files = (join(directory, entry.file) for entry in source.manifest.segments if entry.rows)
    return next((file for file in files if file not in present), None)


def _made_again(source: SegmentSource, make: Make) -> None:
    """Make the rows of a temporary dataset again, once for all who read it."""
    lineage, file = lineage_behind(source.handle), lost_file(source)
    if lineage.found is not None and not (isinstance(lineage.found, SegmentSource) and lost_file(lineage.found) is not None):
        return
    if lineage.plan is None:
        raise StorageError(lost(str(file), lineage.reason)) from None
    plan = fold([lineage.plan], lambda node, inputs: _with_leaves(lineage, node, inputs, make))[id(lineage.plan)]
    make(plan)
    made = plan.operator
    if not isinstance(made, (SegmentSource, MemorySource)) or not _are_same(source, made):
        raise StorageError(lost(str(file), "made again they were others: what they were made of has changed")) from None
    lineage.found = made
    for reference, below in lineage.leaves.values():
        if reference() is None:
            # What was made on the way is kept by nobody.
            below.found = None


def _with_leaves(lineage: RowLineage, node: PlannerNode, inputs: Sequence[PlannerNode], make: Make) -> PlannerNode:
    """A node of a recipe's plan over what is left of the rows that it reads."""
    if id(node) not in lineage.leaves:
        return PlannerNode(node.operator, inputs, node.facts)
    reference, below = lineage.leaves[id(node)]
    handle = reference() or ForgottenDataset(below)
    assert isinstance(node.operator, SegmentSource)
    leaf = PlannerNode(attrs.evolve(node.operator, handle=handle), (), node.facts)
    restore_lost_rows(leaf, make)
    return leaf


def _over(old: SegmentSource, node: PlannerNode) -> PlannerNode:
    """A node over the rows that were made again: the columns and rows that it had of those that are lost, in what order it knew them."""
    made = lineage_behind(old.handle).found
    assert isinstance(made, (SegmentSource, MemorySource))
    part = made.with_columns(old.positions).rows_between(old.start, old.stop)
    if isinstance(part, SegmentSource):
        part = attrs.evolve(part, manifest=part.manifest.with_order(old.manifest.order))
    return PlannerNode(part, (), node.facts)


def _are_same(old: SegmentSource, made: SegmentSource | MemorySource) -> bool:
    """Whether rows are those that they were, by what was recorded of the whole dataset; sums of floats depend on how rows were divided."""
    if made.row_count != old.manifest.rows or made.infer_type(()) != tuple(old.manifest.types):
        return False
    for kind, one, other in zip(old.manifest.types, SegmentSource.of(old.manifest).statistics(), made.statistics(), strict=False):
        if kind.kind in ("int", "str", "datetime") and (
            (one.bounds_known and other.bounds_known and (one.minimum, one.maximum) != (other.minimum, other.maximum))
            or (one.edges_known and other.edges_known and (one.first, one.last) != (other.first, other.last))
        ):
            return False
    return True
