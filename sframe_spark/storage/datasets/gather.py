"""Copies of datasets, or of some of their columns, in a new directory, local or remote: files and pages are taken over where they fit."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs

from sframe_spark.config import config
from sframe_spark.locations import is_elsewhere
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.object_store import copy_within, download, upload
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.temporary import local_file
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.shown_order import shown_order
from sframe_spark.storage.parquet.checksums import check_bytes, with_checksums
from sframe_spark.storage.parquet.column_copy import copy_columns, may_copy
from sframe_spark.storage.parquet.group_sums import with_group_sums
from sframe_spark.storage.parquet.small_files import SHORT_BYTES
from sframe_spark.storage.segments.delivery import delivering
from sframe_spark.storage.segments.neighbours import together
from sframe_spark.storage.segments.reader import iterate_rows
from sframe_spark.storage.segments.writer import segment_file_name, segment_schema, write_segment

# So many links are made one after the other.
FEW_FILES = 16
# Files that are put together are no more than this: rows are in one row group then, or in few.
TOGETHER_BYTES = 64 << 20
# So many short files, one after the other, a save does not pass on; copying fewer is quicker than writing them anew.
LEAST_TOGETHER = 64


@attrs.frozen
class ShortRun:
    """Neighbouring segments that become one file.

    Parameters
    ----------
    entries
        The segments.
    offset
        Number of their first row in their dataset.
    """

    entries: tuple[SegmentEntry, ...]
    offset: int

    @property
    def rows(self) -> int:
        """How many rows they have."""
        return sum(entry.rows for entry in self.entries)


def copied_dataset(source: Manifest, directory: str, min_combined: int = LEAST_TOGETHER) -> Manifest:
    """Bring the rows of a dataset into a new directory, local or remote; files that fit are taken over as they are.

    Files are hard-linked, or copied within their file system, where it can do that. A file is rewritten only when it has no row keys, or is one of
    many short ones, which are put together.

    Parameters
    ----------
    source
        The dataset.
    directory
        Where the rows go.
    min_combined
        So many short files at least, one after the other, become one.

    Returns
    -------
    Manifest
        The rows there, which nobody sees before somebody commits them.
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
    # Few links are made before threads have started.
    few = len(copies) <= FEW_FILES and not is_elsewhere(directory)
    entries = [copy() for copy in copies] if few else in_threads(lambda copy: copy(), copies, available_cores())
    return Manifest(source.types, tuple(entries), directory, order=source.order)


def may_copy_columns(manifest: Manifest, positions: Sequence[int]) -> bool:
    """Return whether pages of all files may be copied for a dataset of some columns."""
    schema = segment_schema([manifest.types[position] for position in positions])
    return all(may_copy(manifest, entry, positions, schema) for entry in manifest.segments if entry.rows)


def copied_columns(manifest: Manifest, positions: Sequence[int], directory: str) -> Manifest:
    """Copy the pages of some columns of a dataset, as :func:`may_copy_columns` allows, into a new directory; no row is decoded.

    Raises
    ------
    StorageError
        If a file is damaged.
    """
    types = tuple(manifest.types[position] for position in positions)
    schema = segment_schema(types)

    def copy(entry: SegmentEntry) -> SegmentEntry:
        with delivering(directory) as delivery:
            made = copy_columns(manifest, entry, positions, delivery.directory, segment_file_name(entry.number), schema)
            return delivery.delivered(made, len(types))

    entries = in_threads(copy, [entry for entry in manifest.segments if entry.rows], available_cores())
    return Manifest(types, tuple(entries), directory, order=shown_order(manifest.order, positions))


def _take_over(source: Manifest, entry: SegmentEntry, directory: str) -> SegmentEntry:
    """Bring a file into a directory as it is; one of another file system is compared with its check sums first."""
    origin, file = join(source.directory, entry.file), segment_file_name(entry.number)
    place, known = join(directory, file), attrs.evolve(entry, file=file)
    if _is_duplicated(origin, place):
        # The same bytes: what is known of the file is known of the other one.
        return known
    if not is_elsewhere(origin):
        known = attrs.evolve(_checked(origin, entry, source), file=file)
        if not is_elsewhere(place):
            _copy(origin, place)
            return known
    elif not is_elsewhere(place):
        download(origin, place)
        check_bytes(place, entry, len(source.types))
        return known
    with local_file(origin) as copy:
        if copy != origin:
            check_bytes(copy, entry, len(source.types))
        complete = with_group_sums(known, copy, len(source.types))
        upload(copy, place)
    return complete


def _is_duplicated(origin: str, place: str) -> bool:
    """Let a file system link or copy a file; False where it cannot, or the two places are on two file systems."""
    if is_elsewhere(origin) or is_elsewhere(place):
        return is_elsewhere(origin) and is_elsewhere(place) and copy_within(origin, place)
    try:
        os.link(origin, place)
    except OSError:
        # A file that is not there is told by the copy that follows.
        return False
    return True


def _checked(origin: str, entry: SegmentEntry, source: Manifest) -> SegmentEntry:
    """Return an entry with its check sums, with which every byte was compared as far as it had any."""
    if None in (entry.tail, entry.pages):
        (complete,) = with_checksums(source.with_segments((entry,))).segments
        return complete
    check_bytes(origin, entry, len(source.types))
    return entry


def _copy(origin: str, place: str) -> None:
    with telling("read", origin), open(origin, "rb") as reading, telling("write", place), open(place, "xb") as writing:
        shutil.copyfileobj(reading, writing)


def stretches(source: Manifest, least: int) -> Iterator[ShortRun]:
    """The segments of a dataset that have rows, those in one that are to be one file; most stay alone.

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
        for part in together(run, _size_of, config.segment_rows, TOGETHER_BYTES) if is_short else ([item] for item in run):
            if len(part) >= least:
                yield ShortRun(tuple(entry for entry, _ in part), part[0][1])
            else:
                yield from (ShortRun((entry,), offset) for entry, offset in part)


def _is_short(entry: SegmentEntry) -> bool:
    # A segment of which a writer made several files has its keys in all of them.
    return entry.size is not None and entry.size < SHORT_BYTES and entry.first_position == 0


def _size_of(entry: SegmentEntry) -> int | None:
    return entry.size if entry.group_bytes is None else entry.group_bytes


def _fits_after(entries: Sequence[SegmentEntry], entry: SegmentEntry) -> bool:
    """Say whether the keys of a segment come after all keys so far, and tell row numbers as they are."""
    if not entries or entries[-1].number < entry.number:
        return entry.first_position == 0
    last = entries[-1]
    return last.number == entry.number and last.first_position + last.rows == entry.first_position


def _rewrite(source: Manifest, offset: int, rows: int, directory: str, number: int) -> SegmentEntry:
    """Write rows of a source as a new segment with keys of its own."""
    return write_segment(directory, number, source.types, iterate_rows(source, range(len(source.types)), offset, offset + rows))
