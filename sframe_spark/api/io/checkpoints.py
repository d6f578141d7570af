"""Rows that are saved while the program goes on: what was built on them reads them where they are saved."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sframe_spark.api.io.paths import path_text
from sframe_spark.api.io.saved_frames import load_frame, save_node
from sframe_spark.engine.execution.materialize import is_decoded_anew, materialize
from sframe_spark.engine.execution.runs_actions import awaited
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.physical.user_dataframes import keep_frames
from sframe_spark.errors import ConcurrentSaveError
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.source import SegmentSource, source_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.manifest.manifest import SFRAME, Manifest


def checkpoint_node(node: PlannerNode, path: str | os.PathLike[str], names: Sequence[str], kind: str = SFRAME) -> None:
    """Save all rows, and let the node be a source over what was saved; every graph that holds the node sees it from then on.

    Raises
    ------
    ConcurrentSaveError
        If somebody else saved to the same place meanwhile; the node stays what it was.
    """
    if is_decoded_anew(node):
        # Archives are saved with the types that all their values have, where nobody has seen the node's yet.
        materialize(node, MaterializeOptions(converts=True))
    saved = save_node(node, path, names, kind)
    loaded = load_frame(path)[0]
    source = source_of(loaded)
    if not isinstance(source, SegmentSource) or _identity(source.manifest) != _identity(saved):
        raise ConcurrentSaveError(f"somebody else saved to {visible(path_text(path))} meanwhile: give these rows a place of their own")
    while True:
        with GRAPH_LOCK:
            busy = awaited([node])
            if busy is None:
                keep_frames(node)
                node.splice(loaded)
                return
        busy.wait()


def _identity(manifest: Manifest) -> tuple[object, ...]:
    """What tells a save from others: names that no other gives to its files; without rows there are none, and one of the same types is as good."""
    return (*manifest.types, *(entry.file for entry in manifest.segments if entry.rows))
