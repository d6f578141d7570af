"""Publishes segment files as a dataset, by writing a manifest that names them, atomically and after all files are complete."""

from __future__ import annotations

import contextlib
import itertools
import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sframe_spark.errors import StorageError
from sframe_spark.paths_and_uris import is_remote_location, normalised
from sframe_spark.process.directory_trees import remove_tree
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import files_below, sizes_below
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.manifest.manifest import SFRAME, Manifest, SecondOrder, SegmentEntry
from sframe_spark.storage.manifest.recorded_order import NO_RECORDED_ORDER, RecordedOrder
from sframe_spark.storage.manifest.sidecar_file_of_segment_statistics_and_checksums import (
    is_file_of_segments,
    needs_sidecar,
    new_name,
    write_segments,
)
from sframe_spark.storage.parquet.checksums import with_checksums
from sframe_spark.storage.segments.column_statistics_collection import dataset_statistics
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
    """Publish segments as the dataset of a directory, and return its manifest; the rows are ordered by segment number.

    The new manifest replaces the old one atomically, so that the directory always holds either the old or the new dataset. Segment files of
    failed attempts, which no entry names, are then removed. Entries without rows are left out.

    For a remote directory nothing is written, and the manifest is only returned.

    Parameters
    ----------
    directory
        The directory of the segment files.
    types
        The types of the columns.
    entries
        The entries that segment writers returned, in any order.
    names
        The names of the columns of a saved frame; None for intermediate results.
    kind
        ``sframe`` or ``sarray``.
    durable
        Whether to compute checksums and wait until all data is on disk. Data that is deleted with the process needs neither.
    order
        The known orderings and keys of the rows.

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
    # Remote files need no check: they are complete when they become visible. A save writes the manifest of a remote frame as a version.
    return manifest if is_remote_location(location) else publish_manifest(manifest, durable)


def publish_manifest(manifest: Manifest, durable: bool) -> Manifest:
    """Publish a manifest whose segment files are in its local directory, and return it, with checksums if ``durable`` (see :func:`publish`)."""
    location = manifest.directory
    with translate_os_errors("create dataset", location):
        os.makedirs(location, exist_ok=True)
    files = sizes_below(location)
    check_files(manifest, files)
    if durable:
        seconds = tuple(SecondOrder(second.column, with_checksums(second.rows)) for second in manifest.second_orders)
        manifest = with_checksums(manifest).with_second_orders(seconds)
        # The files are flushed to disk before the manifest names them.
        for entry in manifest.every_segment:
            file = join(location, entry.file)
            with translate_os_errors("flush segment", file):
                _flush(file)
    sidecar = write_manifest(manifest, durable)
    # The directory is listed again to find files that a late attempt has written meanwhile; there is no need if it is deleted with the process.
    remove_unnamed(manifest, files_below(location) if durable else files, sidecar)
    return manifest


def in_row_order(entries: Iterable[SegmentEntry], location: str) -> tuple[SegmentEntry, ...]:
    """Return the non-empty entries in the order of their row keys.

    Raises
    ------
    StorageError
        If two entries of one segment number do not follow each other without a gap.
    """
    ordered = sorted((entry for entry in entries if entry.rows), key=lambda entry: (entry.number, entry.first_position))
    for before, after in itertools.pairwise(ordered):
        if before.number == after.number and before.first_position + before.rows != after.first_position:
            raise StorageError(
                f"cannot publish {location}: {before.file} and {after.file} both claim rows of segment {after.number}; "
                "keep the entry of one attempt only"
            )
    return tuple(ordered)


def check_files(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Check that every file of a manifest exists and has its recorded size.

    Parameters
    ----------
    manifest
        The manifest.
    sizes
        The size of each regular file in its directory (see :func:`sizes_below`).

    Raises
    ------
    StorageError
        If a file is missing, is not a regular file, or has another size.
    """
    for entry in manifest.every_segment:
        check_file(manifest, entry, sizes)


def check_file(manifest: Manifest, entry: SegmentEntry, sizes: Mapping[str, int]) -> None:
    """Check that one file of a manifest exists and has its recorded size, if one is recorded (see :func:`check_files`)."""
    size = sizes.get(entry.file)
    if size is not None and size == entry.size:
        return
    file = join(manifest.directory, entry.file)
    if size is None:
        link = os.path.lexists(file)
        reason = "is a link or not a regular file: only files inside its directory are read" if link else "is missing"
        raise StorageError(f"{file} {reason}; restore it from a copy or write the frame again")
    if entry.size is not None and size != entry.size:
        raise StorageError(f"{file} is damaged: it has {size} of {entry.size} bytes; restore it from a copy or write the frame again")


def write_manifest(manifest: Manifest, durable: bool) -> str | None:
    """Replace the manifest file atomically; return the name of its sidecar file, or None if the segments are in the manifest file itself."""
    target = join(manifest.directory, MANIFEST_FILE)
    sidecar = write_sidecar(manifest, manifest.directory, durable)
    name = None if sidecar is None else str(sidecar["file"])
    text = manifest.to_json(sidecar=sidecar).encode()
    with translate_os_errors("write manifest", target):
        _replace(target, text, durable)
        # Remove the sidecar files of the replaced manifest.
        for other in () if name is None else os.listdir(manifest.directory):
            if is_file_of_segments(other) and other != name:
                os.remove(join(manifest.directory, other))
    return name


def write_sidecar(manifest: Manifest, directory: str, durable: bool) -> dict[str, Any] | None:
    """Write the segments of a manifest to a new sidecar file; return the reference to the file for the manifest.

    Return None, without writing, if there are so few segments that they are stored in the manifest itself.
    """
    if not needs_sidecar(manifest):
        return None
    summary = dataset_statistics(manifest)
    name = new_name()
    target = join(directory, name)
    with translate_os_errors("write manifest", target), open(target, "xb") as stream:
        reference = write_segments(stream, name, manifest, summary)
        stream.flush()
        if durable:
            os.fsync(stream.fileno())
    return reference


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


def flush_directory(location: str) -> None:
    """Flush the entries of a local directory to disk; does nothing on Windows, or without permission to open the directory."""
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
    """Remove files that failed attempts and Spark's writer left in the directory of a dataset.

    Of ``files``, those are removed that are named neither by the manifest nor by ``sidecar``, and whose names show that a segment writer
    created them (see :func:`is_orphan`).
    """
    named = {entry.file for entry in manifest.every_segment} | {sidecar}
    with translate_os_errors("clean", manifest.directory):
        for file in files:
            if file in named or not is_orphan(file):
                continue
            # The temporary file of a manifest no longer exists if writing the manifest has replaced it.
            with contextlib.suppress(FileNotFoundError):
                os.remove(join(manifest.directory, file))
        unfinished = join(manifest.directory, "_temporary")
        if os.path.isdir(unfinished) and not os.path.islink(unfinished):
            remove_tree(unfinished)


def is_orphan(file: str) -> bool:
    """Return whether the name of a file, which no manifest names, is one that writers of segments use.

    Examples
    --------
    >>> [is_orphan(name) for name in ("_SUCCESS", "segment-1.parquet", ".a.parquet.crc", "readme.txt")]
    [True, True, True, False]
    """
    name = posixpath.basename(file)
    return name == "_SUCCESS" or is_file_of_segments(name) or name.endswith((".parquet", ".crc", MANIFEST_FILE + TEMPORARY_SUFFIX))
