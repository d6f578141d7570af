"""Saving some columns of a dataset, whose rows nobody decodes: pages are copied."""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.session.resources.cores import available_cores
from sframe_spark.session.threads import in_threads
from sframe_spark.storage.datasets.commit import check_files, flush_files, write_manifest
from sframe_spark.storage.datasets.save import check_replaceable, staged
from sframe_spark.storage.files.listing import sizes_below
from sframe_spark.storage.manifests.manifest import SFRAME, Manifest, SegmentEntry
from sframe_spark.storage.manifests.shown_order import shown_order
from sframe_spark.storage.parquet.chunk_copies import copy_columns, may_copy
from sframe_spark.storage.rows.writer import segment_file_name, segment_schema


def may_save_columns(manifest: Manifest, positions: Sequence[int]) -> bool:
    """Say whether pages of all files may be copied for a dataset of some columns."""
    schema = segment_schema([manifest.types[position] for position in positions])
    return all(may_copy(manifest, entry, positions, schema) for entry in manifest.segments if entry.rows)


def save_columns(manifest: Manifest, positions: Sequence[int], target: str, names: Sequence[str], kind: str = SFRAME) -> Manifest:
    """Save some columns of all rows as a dataset, whole or not at all.

    Parameters
    ----------
    manifest
        A dataset of which :func:`may_save_columns` is true.
    positions
        Columns, in the order that they have in the new dataset.
    target
        Local directory to save to: new, empty, or holding a saved frame that is replaced.
    names
        Names of the columns.
    kind
        What they are: a frame, or a column.

    Raises
    ------
    StorageError
        If a file is damaged, or the target holds something else.
    """
    check_replaceable(target)
    types = tuple(manifest.types[position] for position in positions)
    schema = segment_schema(types)
    with staged(target) as staging:

        def copy(entry: SegmentEntry) -> SegmentEntry:
            return copy_columns(manifest, entry, positions, staging, segment_file_name(entry.number), schema)

        entries = in_threads(copy, [entry for entry in manifest.segments if entry.rows], available_cores())
        order = shown_order(manifest.order, positions)
        complete = Manifest(types, tuple(entries), staging, names=tuple(names), kind=kind, order=order)
        check_files(complete, sizes_below(staging))
        flush_files(complete)
        write_manifest(complete, durable=True)
    return complete
