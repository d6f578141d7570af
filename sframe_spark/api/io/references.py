"""Frames saved by reference: columns that are in saved frames stay there, only the others are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.physical.column_lineage import shown_column
from sframe_spark.errors import PlanInvariantError, StorageError
from sframe_spark.laws.optimized import optimize
from sframe_spark.operators.project import project, zip_columns
from sframe_spark.operators.sources.source import SegmentSource, segment_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.datasets.referred import digest_for_reference, load_referred
from sframe_spark.storage.manifest.elsewhere import OWN, DatasetElsewhere, Elsewhere
from sframe_spark.storage.manifest.manifest import Manifest


def stored_columns(node: PlannerNode) -> dict[int, tuple[SegmentSource, int]]:
    """The columns of a node that are columns of datasets, row by row: by position, the rows of which dataset, and the position there."""
    with GRAPH_LOCK:
        plan = optimize(node)
    found = {}
    for column in range(node.facts.width):
        shown, position = shown_column(plan, column)
        if isinstance(shown.operator, SegmentSource):
            found[column] = shown.operator, shown.operator.positions[position]
    return found


def elsewhere_of(node: PlannerNode, names: Sequence[str], target: str) -> Elsewhere | None:
    """What a frame saved at ``target`` can refer to; None where that is nothing."""
    datasets: dict[DatasetElsewhere, int] = {}
    digests: dict[tuple[object, ...], str | None] = {}
    places: dict[int, tuple[int, int]] = {}
    for column, (source, position) in stored_columns(node).items():
        manifest = source.manifest
        if manifest.identity not in digests:
            digests[manifest.identity] = digest_for_reference(manifest, target)
        if (digest := digests[manifest.identity]) is not None:
            item = DatasetElsewhere(manifest.directory, digest, source.start, source.stop)
            places[column] = datasets.setdefault(item, len(datasets)), position
    if not places:
        return None
    own = {column: number for number, column in enumerate(column for column in range(len(names)) if column not in places)}
    columns = tuple(places[column] if column in places else (OWN, own[column]) for column in range(len(names)))
    return Elsewhere(tuple(names), columns, tuple(datasets))


def own_columns(elsewhere: Elsewhere) -> list[int]:
    """Places of the columns that are in no other dataset."""
    return [place for place, (dataset, _) in enumerate(elsewhere.columns) if dataset == OWN]


def with_elsewhere(own: Manifest, elsewhere: Elsewhere) -> Manifest:
    """Return the manifest of a frame of which some columns are in other datasets, and the others in its own files.

    Raises
    ------
    PlanInvariantError
        If its own columns are not as long as the others.
    """
    try:
        elsewhere.check_own(len(own.types), own.rows)
    except ValueError as error:
        raise PlanInvariantError(f"columns of one frame do not fit together: {error}") from error
    return attrs.evolve(own, elsewhere=elsewhere)


def referring_frame(manifest: Manifest, verify: bool) -> tuple[PlannerNode, list[str]]:
    """Node and column names of a frame of which some columns are elsewhere.

    Raises
    ------
    StorageError
        If these cannot be had.
    """
    elsewhere = manifest.elsewhere
    assert elsewhere is not None
    nodes: dict[int, PlannerNode] = {OWN: segment_source(manifest)} if own_columns(elsewhere) else {}
    for number, (item, found) in enumerate(zip(elsewhere.datasets, load_referred(manifest, verify), strict=True)):
        nodes[number] = SegmentSource.of(found).rows_between(item.start, item.stop).make_planner_node()
    firsts = _first_columns(nodes)
    for dataset, position in elsewhere.columns:
        if position >= nodes[dataset].facts.width:
            raise StorageError(f"the manifest of {manifest.directory} is damaged: it names a column that is not there; save the frame again")
    return project(zip_columns(*nodes.values()), [firsts[dataset] + position for dataset, position in elsewhere.columns]), list(elsewhere.names)


def _first_columns(nodes: Mapping[int, PlannerNode]) -> dict[int, int]:
    found, width = {}, 0
    for number, node in nodes.items():
        found[number] = width
        width += node.facts.width
    return found
