"""Checks that the files that a plan reads are unchanged since their statistics were read, as plans rely on these."""

from __future__ import annotations

from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.sources.base_and_segment_source import Source
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode

with lazy_imports(globals()):
    from sframe_spark.operators.sources.segment_row_ranges import STORED_ROWS
    from sframe_spark.storage.external.changed_files import require_unchanged
    from sframe_spark.storage.manifest.manifest import Manifest


def require_unchanged_files(root: PlannerNode) -> None:
    """Require that the files below a node are as they were when their statistics were read; checked once for each action, before laws use these.

    Raises
    ------
    StorageError
        If a file is missing or has changed.
    """
    if not root.reads_files:
        return
    for manifest in watched_manifests(root):
        require_unchanged(manifest)
    with GRAPH_LOCK:
        inputs = [node.operator.watched for node in postorder([root]) if isinstance(node.operator, Source)]
    for watched in {watched.identity: watched for watched in inputs if watched is not None}.values():
        watched.require_unchanged()


def watched_manifests(root: PlannerNode) -> list[Manifest]:
    """Return the manifests of datasets below a node whose files other programs may change."""
    with GRAPH_LOCK:
        manifests = [node.operator.manifest for node in postorder([root]) if isinstance(node.operator, STORED_ROWS)]
    return list({manifest.identity: manifest for manifest in manifests if manifest.watched}.values())
