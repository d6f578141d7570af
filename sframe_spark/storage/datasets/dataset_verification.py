"""Verifies a saved dataset: compares all bytes with their checksums, and all rows with the statistics and types in the manifest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import StorageError
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.storage.datasets.manifest_publication import check_file
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import sizes_below
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.temporary_datasets import local_file
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.manifest_json import damaged
from sframe_spark.storage.manifest.physical_types import KEY_NAME, KEY_SHIFT, conform, is_stored_as
from sframe_spark.storage.parquet.checksums import check_bytes
from sframe_spark.storage.segments.pruning import recorded_bounds
from sframe_spark.storage.segments.statistics_order_and_key_verification import SegmentClaims, check_order, check_summary, column_label

BATCH_ROWS = 65_536


def damage_in(manifest: Manifest) -> list[StorageError]:
    """Verify a dataset, and return the errors that were found; an empty list if there are none.

    There is one error for each damaged segment file, in row order; or a single error about the manifest's sidecar file, or about the order, the keys
    or the statistics of all rows.

    Parameters
    ----------
    manifest
        The manifest of the dataset. All files are read completely, several at the same time.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from sframe_spark.storage.datasets.manifest_publication import publish
    >>> from sframe_spark.storage.segments.writer import write_segment
    >>> from sframe_spark.types import INT
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     manifest = publish(directory, [INT], [write_segment(directory, 0, [INT], [[pa.array([1, 2])]])])
    ...     damage_in(manifest)
    []
    """
    try:
        if manifest.stored is not None:
            manifest.stored.check_all()
    except StorageError as error:
        return [error]
    if is_remote_location(manifest.directory):
        check = partial(_remote_damage, manifest)
    else:
        check = partial(_damage, manifest, sizes=sizes_below(manifest.directory))
    errors = [error for error in in_threads(check, manifest.segments, available_cores()) if error is not None]
    if errors:
        return errors
    try:
        check_order(manifest)
        check_summary(manifest)
    except StorageError as error:
        return [error]
    # Its row numbers are a key, so they are those of all rows if they are in range, and as many as rows.
    return [error for second in manifest.second_orders for error in damage_in(second.rows) or _strange_row_numbers(second.rows)]


def _strange_row_numbers(second: Manifest) -> list[StorageError]:
    """Return an error if the last column of a second order, whose values are known to differ, has not the numbers of all rows."""
    bounds = recorded_bounds(second, len(second.types) - 1)
    if second.rows and bounds != (0, second.rows - 1):
        return [damaged(second.directory, f"a second order has the row numbers {bounds} for {second.rows} rows")]
    return []


def _remote_damage(manifest: Manifest, entry: SegmentEntry) -> StorageError | None:
    """Download a remote file, verify the copy, and return the error that was found; None if there is none."""
    location = join(manifest.directory, entry.file)
    try:
        with local_file(location) as copy:
            directory, file = os.path.split(copy)
            local = attrs.evolve(manifest, segments=(attrs.evolve(entry, file=file),), directory=directory)
            damage = _damage(local, local.segments[0], {file: os.path.getsize(copy)})
            return None if damage is None else StorageError(str(damage).replace(copy, location))
    except StorageError as error:
        return error


def _damage(manifest: Manifest, entry: SegmentEntry, sizes: Mapping[str, int]) -> StorageError | None:
    location = join(manifest.directory, entry.file)
    try:
        check_file(manifest, entry, sizes)
        if None in (entry.tail, entry.pages, entry.size):
            advice = "it was saved without check sums, by an older version; load the frame and save it again"
            raise StorageError(f"{location} cannot be verified: {advice}")
        check_bytes(location, entry, len(manifest.types))
        _check_rows(manifest, entry)
    except StorageError as error:
        return error
    return None


def _check_rows(manifest: Manifest, entry: SegmentEntry) -> None:
    """Decode all rows of a file and compare them with the manifest, which finds values that were damaged before the checksums were computed.

    Raises
    ------
    StorageError
        If the number of rows, a type, a row key, or a statistic in the manifest does not agree with the rows.
    """
    location = join(manifest.directory, entry.file)
    claims = SegmentClaims(manifest, entry)
    rows = _decoded(manifest, entry, location, claims)
    if rows != entry.rows:
        raise StorageError(f"{location} has {rows} rows, its manifest says {entry.rows}; restore it from a copy")
    wrong = claims.untrue()
    if wrong is not None:
        raise damaged(manifest.directory, wrong)


def _decoded(manifest: Manifest, entry: SegmentEntry, location: str, claims: SegmentClaims) -> int:
    """Decode all rows of a file, pass them to ``claims``, check their types and keys, and return the number of rows."""
    position, first_key = 0, (entry.number << KEY_SHIFT) + entry.first_position
    with translate_os_errors("read", location), pa.OSFile(location) as source:
        for batch in pq.ParquetFile(source, pre_buffer=False, page_checksum_verification=True).iter_batches(batch_size=BATCH_ROWS):
            raise_if_cancelled()
            for column, column_type in enumerate(manifest.types):
                stored = batch.column(manifest.file_name(column))
                if not is_stored_as(stored.type, column_type.physical):
                    raise damaged(
                        manifest.directory, f"column {column_label(manifest, column)} is said to be {column_type}, and {entry.file} has {stored.type}"
                    )
                claims.add(column, conform(stored, column_type))
            keys = batch.column(KEY_NAME).to_numpy(zero_copy_only=False)
            if not np.array_equal(keys, np.arange(first_key + position, first_key + position + len(keys))):
                raise StorageError(f"{location} is damaged: its rows are not those of segment {entry.number}; restore it from a copy")
            position += len(keys)
    return position
