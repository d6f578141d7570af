"""Before anything is told of rows: files of others, whose recorded statistics plans rely on, are still the ones that were opened."""

from __future__ import annotations

from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.operators.sources.segment_subset import STORED_ROWS
from sframe_spark.operators.sources.source import Source, Watched
from sframe_spark.planner.graph import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments.order_verification import require_unchanged


def require_unchanged_files(root: PlannerNode) -> None:
    """Make sure that the files below a node are as they were when their statistics were taken; once for each look, before the laws use these.

    Raises
    ------
    StorageError
        If one has gone, or is another one.
    """
    if not root.reads_files:
        return
    for manifest in watched_manifests(root):
        require_unchanged(manifest)
    for watched in watched_by_sources(root):
        watched.require_unchanged()


def watched_manifests(root: PlannerNode) -> list[Manifest]:
    """The datasets below a node of which others may change the files."""
    with GRAPH_LOCK:
        found = [node.operator.manifest for node in postorder([root]) if isinstance(node.operator, STORED_ROWS)]
        return list({manifest.identity: manifest for manifest in found if manifest.watched}.values())


def watched_by_sources(root: PlannerNode) -> list[Watched]:
    """What else sources below a node read that others may change."""
    with GRAPH_LOCK:
        found = [node.operator.watched for node in postorder([root]) if isinstance(node.operator, Source)]
    return list({watched.identity: watched for watched in found if watched is not None}.values())
