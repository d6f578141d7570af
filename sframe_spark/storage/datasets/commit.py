"""Publishes segment files as a dataset: the manifest is written last, atomically, and names only files that exist."""

from __future__ import annotations

import contextlib
import itertools
import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_remote_location, normalised
from sframe_spark.process.directory_trees import remove_tree
from sframe_spark.storage.filesystem.file_kind import MANIFEST_FILE
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import files_below, sizes_below
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.manifest.manifest import SFRAME, Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, KEY_POSITION_MASK, KEY_SHIFT, file_column, require_computed_as
from sframe_spark.storage.manifest.segment_index import is_file_of_segments, needs_sidecar, new_name, write_segments
from sframe_spark.storage.manifest.statistics import NO_RECORDED_ORDER, RecordedOrder
from sframe_spark.storage.parquet.checksums import with_checksums
from sframe_spark.storage.parquet.footer import Footer, bounds_of, footer_of, statistics_in_footer
from sframe_spark.storage.segments.statistics import dataset_statistics
from sframe_spark.types import ColumnType

TEMPORARY_SUFFIX = ".tmp"


def publish(
    directory: str,
    types: Sequence[ColumnType],
    entries: Iterable[SegmentEntry],
    names: Sequence[str] | None = None,
    kind: str = SFRAME,
    durable: bool = True,
    order: RecordedOrder = NO_RECORDED_ORDER,
) -> Manifest:
    """Make the rows of the entries, ordered by segment number, the dataset in a directory.

    Until this returns the directory holds what it held before; afterwards exactly the given entries. Files of lost
    attempts are removed, entries without rows are dropped.

    Parameters
    ----------
    directory
        Directory that the segment files are in.
    types
        Types of the columns.
    entries
        What the writers returned, in any order.
    names
        Names of the columns of a saved frame.
    kind
        ``sframe`` or ``sarray``.
    durable
        Whether to wait until the disk has the data; without need for data that ends with the process.
    order
        What is known of the row order.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from sframe_spark.storage.segments.writer import SegmentWriter
    >>> from sframe_spark.types import INT
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     writer = SegmentWriter(directory, 4, [INT])
    ...     writer.write([pa.array([1, 2])])
    ...     publish(directory, [INT], [writer.close()]).rows
    2
    """
    location = directory if is_remote_location(directory) else normalised(directory)
    manifest = Manifest(tuple(types), in_row_order(entries, location), location, None if names is None else tuple(names), kind, order=order)
    # Remote files are complete when they become visible; the save creates a version of them.
    return manifest if is_remote_location(location) else publish_manifest(manifest, durable)


def publish_manifest(manifest: Manifest, durable: bool) -> Manifest:
    """Make the segments of a manifest, whose files are in its local directory, the rows of that directory (see :func:`publish`)."""
    location = manifest.directory
    with translate_os_errors("create dataset", location):
        os.makedirs(location, exist_ok=True)
    files = sizes_below(location)
    check_files(manifest, files)
    if durable:
        manifest = with_checksums(manifest)
        flush_files(manifest)
    sidecar = write_manifest(manifest, durable)
    # What a late attempt writes meanwhile stays only in directories that end with the process.
    remove_unnamed(manifest, files_below(location) if durable else files, sidecar)
    return manifest


def in_row_order(entries: Iterable[SegmentEntry], location: str) -> tuple[SegmentEntry, ...]:
    """Return the non-empty entries in key order; refuse two that claim the same keys."""
    ordered = sorted((entry for entry in entries if entry.rows), key=lambda entry: (entry.number, entry.first_position))
    for before, after in itertools.pairwise(ordered):
        if before.number == after.number and before.first_position + before.rows != after.first_position:
            raise StorageError(
                f"cannot publish {location}: {before.file} and {after.file} both claim rows of segment {after.number}; "
                "keep the entry of one attempt only"
            )
    return tuple(ordered)


def check_files(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Make sure that every file of a manifest exists with its recorded size.

    Parameters
    ----------
    manifest
        The dataset.
    sizes
        Length of each regular file in its directory (see :func:`sizes_below`).

    Raises
    ------
    StorageError
        If one is not.
    """
    for entry in manifest.segments:
        check_file(manifest, entry, sizes)


def check_file(manifest: Manifest, entry: SegmentEntry, sizes: Mapping[str, int]) -> None:
    """Make sure that one file of a manifest exists with its recorded size (see :func:`check_files`)."""
    size = sizes.get(entry.file)
    if size is not None and size == entry.size:
        return
    file = join(manifest.directory, entry.file)
    if size is None:
        link = os.path.lexists(file)
        reason = "is a link or no regular file: only files inside its directory are read" if link else "is missing"
        raise StorageError(f"{file} {reason}; restore it from a copy or write the frame again")
    if entry.size is not None and size != entry.size:
        raise StorageError(f"{file} is damaged: it has {size} of {entry.size} bytes; restore it from a copy or write the frame again")


def write_manifest(manifest: Manifest, durable: bool) -> str | None:
    """Replace the manifest file atomically; return the name of the sidecar file that holds its segments if they are many."""
    target = join(manifest.directory, MANIFEST_FILE)
    sidecar = write_sidecar(manifest, manifest.directory, durable)
    name = None if sidecar is None else str(sidecar["file"])
    text = manifest.to_json(sidecar=sidecar).encode()
    with translate_os_errors("write manifest", target):
        _replace(target, text, durable)
        # Sidecars of the manifest that was replaced.
        for other in () if name is None else os.listdir(manifest.directory):
            if is_file_of_segments(other) and other != name:
                os.remove(join(manifest.directory, other))
    return name


def write_sidecar(manifest: Manifest, directory: str, durable: bool) -> dict[str, Any] | None:
    """Write the segments of a manifest into a sidecar file if they are many, and return the manifest's reference to it."""
    if not needs_sidecar(manifest):
        return None
    summary = dataset_statistics(manifest)
    name = new_name()
    target = join(directory, name)
    with translate_os_errors("write manifest", target), open(target, "xb") as stream:
        said = write_segments(stream, name, manifest, summary)
        stream.flush()
        if durable:
            os.fsync(stream.fileno())
    return said


def _replace(target: str, text: bytes, durable: bool) -> None:
    temporary = target + TEMPORARY_SUFFIX
    try:
        with open(temporary, "wb") as stream:
            stream.write(text)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
    if durable:
        flush_directory(os.path.dirname(target))


def flush_files(manifest: Manifest) -> None:
    """Flush the segment files to disk, before the manifest names them."""
    for entry in manifest.segments:
        location = join(manifest.directory, entry.file)
        with translate_os_errors("flush segment", location):
            _flush(location)


def flush_directory(location: str) -> None:
    """Flush the names in a local directory to disk, where the system can do that and lets this user."""
    if os.name == "posix":
        # A directory that may be written but not listed cannot be opened and flushed.
        with contextlib.suppress(PermissionError):
            _flush(location)


def _flush(location: str) -> None:
    descriptor = os.open(location, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_unnamed(manifest: Manifest, files: Iterable[str], sidecar: str | None = None) -> None:
    """Remove the files of lost attempts and of Spark's writer from a dataset's directory.

    Only files that segment writers leave behind are removed; anything else stays.
    """
    named = {entry.file for entry in manifest.segments} | {sidecar}
    with translate_os_errors("clean", manifest.directory):
        for file in files:
            if file in named or not is_orphan(file):
                continue
            # An unfinished manifest was replaced by writing this one.
            with contextlib.suppress(FileNotFoundError):
                os.remove(join(manifest.directory, file))
        unfinished = join(manifest.directory, "_temporary")
        if os.path.isdir(unfinished) and not os.path.islink(unfinished):
            remove_tree(unfinished)


def is_orphan(file: str) -> bool:
    """Return whether a file that no manifest names was left by a writer of segments.

    Examples
    --------
    >>> [is_orphan(name) for name in ("_SUCCESS", "segment-1.parquet", ".a.parquet.crc", "readme.txt")]
    [True, True, True, False]
    """
    name = posixpath.basename(file)
    return name == "_SUCCESS" or is_file_of_segments(name) or name.endswith((".parquet", ".crc", MANIFEST_FILE + TEMPORARY_SUFFIX))


# Adopting Parquet files that Spark wrote: row counts, segment numbers and order come from footers, never from file names.


def adopt(directory: str, types: Sequence[ColumnType], files: Sequence[str] | None = None) -> list[SegmentEntry]:
    """Return entries for the rows of Parquet files that Spark wrote, in the order of their keys.

    Only footers are read. Each file must hold consecutive keys of one segment number, starting at position 0 or, where
    Spark cut a partition into several files, where the file before ends.

    Parameters
    ----------
    directory
        Where Spark wrote columns ``c0..cn`` and ``_key``.
    types
        Types of the columns.
    files
        Files relative to the directory; None for all that are there.

    Raises
    ------
    StorageError
        If a file has no keys, keys are missing, or two files hold the same ones.
    PlanInvariantError
        If a column holds values of another type.
    """
    location = normalised(directory)
    names = files_below(location) if files is None else files
    entries = [
        _entry(location, name, footer, types)
        for name in names
        if _is_data(name) and (footer := footer_of(join(location, name), just_written=True)).rows
    ]
    entries.sort(key=lambda entry: (entry.number, entry.first_position))
    _check_order(location, entries)
    return entries


def _is_data(name: str) -> bool:
    """Return whether a file is data by Spark's rule: no part of its path starts with a dot or an underscore."""
    return not any(part.startswith((".", "_")) for part in name.split(posixpath.sep))


def _entry(location: str, name: str, footer: Footer, types: Sequence[ColumnType]) -> SegmentEntry:
    file = join(location, name)
    missing = {KEY_NAME, *map(file_column, range(len(types)))} - set(footer.schema.names)
    if missing:
        raise StorageError(f"{file} has no column {', '.join(sorted(missing))}: it was not written as a segment")
    for place, column_type in enumerate(types):
        require_computed_as(footer.schema.field(file_column(place)).type, place, column_type)
    bounds = bounds_of(footer.chunks(KEY_NAME)) if footer.schema.field(KEY_NAME).type == pa.int64() else None
    if bounds is None or not isinstance(bounds[0], int) or not isinstance(bounds[1], int):
        raise StorageError(f"{file} does not say which rows it holds: its footer has no bounds of {KEY_NAME}")
    first, last = bounds[0], bounds[1]
    # Row numbers are computed from keys, so a gap would shift every row after it.
    if last - first + 1 != footer.rows or first >> KEY_SHIFT != last >> KEY_SHIFT:
        raise StorageError(f"{file} has {footer.rows} rows but keys from {first} to {last}: they are not consecutive")
    columns = tuple(statistics_in_footer(footer, file_column(position), column_type) for position, column_type in enumerate(types))
    return SegmentEntry(
        name,
        first >> KEY_SHIFT,
        footer.rows,
        columns,
        size=footer.size,
        first_position=first & KEY_POSITION_MASK,
    )


def _check_order(location: str, entries: Sequence[SegmentEntry]) -> None:
    """Make sure that every segment number is covered from position 0, by each file once."""
    for before, entry in itertools.pairwise([None, *entries]):
        assert entry is not None
        continued = before is not None and before.number == entry.number
        expected = before.first_position + before.rows if before is not None and continued else 0
        if entry.first_position < expected:
            raise StorageError(f"{join(location, entry.file)} holds rows that another file of {location} holds too; write into an empty directory")
        if entry.first_position > expected:
            raise StorageError(
                f"{join(location, entry.file)} starts at position {entry.first_position} of segment {entry.number}: "
                f"the rows from {expected} on are missing; write the dataset again"
            )
