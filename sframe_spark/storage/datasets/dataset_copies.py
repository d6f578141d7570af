"""Copies datasets to other directories: files are linked or copied, short segments are combined, and single columns are copied without decoding."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs

from sframe_spark.config import config
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.remote_operations import copy_within, download, upload
from sframe_spark.storage.filesystem.temporary_datasets import local_file
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.recorded_order import projected_order
from sframe_spark.storage.parquet.checksums import check_bytes, with_checksums, with_group_sums
from sframe_spark.storage.parquet.column_copy import copy_columns, may_copy
from sframe_spark.storage.parquet.open_file import SHORT_BYTES
from sframe_spark.storage.segments.reader import coalesced_segments, iterate_rows
from sframe_spark.storage.segments.writer import delivering, segment_file_name, segment_schema, write_segment

# Up to this many files are linked or copied one after the other instead of in threads.
FEW_FILES = 16

# The rows of combined files take at most this many bytes, so that they are in one or few row groups.
MAX_COMBINED_BYTES = 64 << 20

# Fewer consecutive short files than this are not combined, since copying them is faster than rewriting them.
MIN_COMBINED = 64


@attrs.frozen
class ShortRun:
    """Consecutive segments of a dataset that become one file of a copy.

    Parameters
    ----------
    entries
        The segments.
    offset
        The row number of their first row in the dataset.
    """

    entries: tuple[SegmentEntry, ...]
    offset: int

    @property
    def rows(self) -> int:
        """The number of rows of all segments."""
        return sum(entry.rows for entry in self.entries)


def copied_dataset(source: Manifest, directory: str, min_combined: int = MIN_COMBINED) -> Manifest:
    """Copy a dataset to a new directory, local or remote.

    Files are hard-linked, or copied by the file system, where possible. Files are rewritten only if they have no row keys, are external, or do
    not continue the row keys of the copy; and many short files are combined.

    Parameters
    ----------
    source
        The manifest of the dataset.
    directory
        The directory to copy to.
    min_combined
        The smallest number of consecutive short files that are combined.

    Returns
    -------
    Manifest
        A manifest of the copy, which still has to be committed.
    """
    planned: list[SegmentEntry] = []
    copies: list[Callable[[], SegmentEntry]] = []
    for stretch in stretches(source, min_combined):
        entry, rows = stretch.entries[0], stretch.rows
        fits = source.has_key and source.column_names_in_files is None and _fits_after(planned, entry)
        number = entry.number if fits else planned[-1].number + 1 if planned else 0
        if fits and len(stretch.entries) == 1:
            planned.append(entry)
            copies.append(partial(_take_over, source, entry, directory))
        else:
            planned.append(SegmentEntry(entry.file, number, rows))
            copies.append(partial(_rewrite, source, stretch.offset, rows, directory, number))
    # Creating a few links takes less time than starting threads.
    few = len(copies) <= FEW_FILES and not is_remote_location(directory)
    entries = [copy() for copy in copies] if few else in_threads(lambda copy: copy(), copies, available_cores())
    return Manifest(source.types, tuple(entries), directory, order=source.order)


def may_copy_columns(manifest: Manifest, positions: Sequence[int]) -> bool:
    """Return whether a dataset of some of the columns can be written by copying the pages of all files (see :func:`copied_columns`)."""
    schema = segment_schema([manifest.types[position] for position in positions])
    return all(may_copy(manifest, entry, positions, schema) for entry in manifest.segments if entry.rows)


def copied_columns(manifest: Manifest, positions: Sequence[int], directory: str) -> Manifest:
    """Copy the pages of some columns to a new directory, without decoding them, and return a manifest of the copy.

    This is possible only if :func:`may_copy_columns` returns True.

    Raises
    ------
    StorageError
        If a file is damaged.
    """
    types = tuple(manifest.types[position] for position in positions)
    schema = segment_schema(types)

    def copy(entry: SegmentEntry) -> SegmentEntry:
        with delivering(directory) as delivery:
            copied = copy_columns(manifest, entry, positions, delivery.directory, segment_file_name(entry.number), schema)
            return delivery.delivered(copied, len(types))

    entries = in_threads(copy, [entry for entry in manifest.segments if entry.rows], available_cores())
    return Manifest(types, tuple(entries), directory, order=projected_order(manifest.order, positions))


def _take_over(source: Manifest, entry: SegmentEntry, directory: str) -> SegmentEntry:
    """Link or copy a file to another directory, and return its new entry.

    A file that cannot be linked, or copied within its remote file system, is compared with its checksums.
    """
    origin, file, columns = join(source.directory, entry.file), segment_file_name(entry.number), len(source.types)
    target, copied = join(directory, file), attrs.evolve(entry, file=file)
    if _is_duplicated(origin, target):
        # The bytes are the same, so the checksums and statistics of the entry are valid for the copy.
        return copied
    if not is_remote_location(origin):
        if None in (entry.tail, entry.pages):
            (entry,) = with_checksums(source.with_segments((entry,))).segments
            copied = attrs.evolve(entry, file=file)
        else:
            check_bytes(origin, entry, columns)
        if not is_remote_location(target):
            with (
                translate_os_errors("read", origin),
                open(origin, "rb") as reader,
                translate_os_errors("write", target),
                open(target, "xb") as writer,
            ):
                shutil.copyfileobj(reader, writer)
            return copied
    elif not is_remote_location(target):
        download(origin, target)
        check_bytes(target, entry, columns)
        return copied
    with local_file(origin) as local:
        if local != origin:
            check_bytes(local, entry, columns)
        copied = with_group_sums(copied, local, columns)
        upload(local, target)
    return copied


def _is_duplicated(origin: str, target: str) -> bool:
    """Hard-link a local file, or copy a remote one within its file system; return whether that was possible."""
    if is_remote_location(origin) or is_remote_location(target):
        return is_remote_location(origin) and is_remote_location(target) and copy_within(origin, target)
    try:
        os.link(origin, target)
    except OSError:
        # If the file is missing, the copy that follows raises the error.
        return False
    return True


def stretches(source: Manifest, min_count: int) -> Iterator[ShortRun]:
    """Yield all non-empty segments in row order: those to be combined in one run, all others in a run each.

    Consecutive short segments are combined if a run has at least ``min_count`` of them.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> entries = [SegmentEntry(name, number, 10, size=size) for number, (name, size) in enumerate([("a", 100), ("b", 200), ("c", 9 << 20)])]
    >>> manifest = Manifest((INT,), tuple(entries), "/data")
    >>> [[entry.file for entry in stretch.entries] for stretch in stretches(manifest, 2)]
    [['a', 'b'], ['c']]
    """
    placed = [(entry, offset) for entry, offset in zip(source.segments, source.offsets, strict=True) if entry.rows]
    for is_short, run in itertools.groupby(placed, key=lambda item: _is_short(item[0])):
        for part in coalesced_segments(run, _size_of, config.segment_rows, MAX_COMBINED_BYTES) if is_short else ([item] for item in run):
            if len(part) >= min_count:
                yield ShortRun(tuple(entry for entry, _ in part), part[0][1])
            else:
                yield from (ShortRun((entry,), offset) for entry, offset in part)


def _is_short(entry: SegmentEntry) -> bool:
    # Files with the later parts of a split segment are not combined.
    return entry.size is not None and entry.size < SHORT_BYTES and entry.first_position == 0


def _size_of(entry: SegmentEntry) -> int | None:
    return entry.size if entry.group_bytes is None else entry.group_bytes


def _fits_after(entries: Sequence[SegmentEntry], entry: SegmentEntry) -> bool:
    """Return whether the row keys of a segment continue those of the entries before it, so that row numbers can be computed from keys."""
    if not entries or entries[-1].number < entry.number:
        return entry.first_position == 0
    last = entries[-1]
    return last.number == entry.number and last.first_position + last.rows == entry.first_position


def _rewrite(source: Manifest, offset: int, rows: int, directory: str, number: int) -> SegmentEntry:
    """Write a range of rows as a new segment with new row keys, and return its entry."""
    return write_segment(directory, number, source.types, iterate_rows(source, range(len(source.types)), offset, offset + rows))
