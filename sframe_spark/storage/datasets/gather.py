"""Bringing the rows of datasets into one directory: files are taken over as they are where they fit, short ones are put together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs

from sframe_spark.config import config
from sframe_spark.storage.manifests.manifest import Manifest, SegmentEntry
from sframe_spark.storage.parquet.short_files import SHORT_BYTES
from sframe_spark.storage.rows.neighbours import together
from sframe_spark.storage.rows.reader import iterate_rows
from sframe_spark.storage.rows.writer import write_segment

TakeOver = Callable[[Manifest, SegmentEntry, str], SegmentEntry]

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


def gather_works(
    sources: Sequence[Manifest], directory: str, take_over: TakeOver, least_together: int = LEAST_TOGETHER
) -> list[Callable[[], SegmentEntry]]:
    """What brings the rows of all sources into a directory, file by file in row order: each gives its entry, and none depends on another.

    Parameters
    ----------
    sources
        The datasets, of the same types.
    directory
        Where the rows go.
    take_over
        ``take_over(source, entry, directory)`` brings a file there as it is.
    least_together
        So many short files at least are put together.
    """
    planned: list[SegmentEntry] = []
    works: list[Callable[[], SegmentEntry]] = []
    for source in sources:
        for stretch in stretches(source, least_together):
            entry, rows = stretch.entries[0], stretch.rows
            fits = source.has_key and source.column_names_in_files is None and _fits_after(planned, entry)
            number = entry.number if fits else planned[-1].number + 1 if planned else 0
            if fits and len(stretch.entries) == 1:
                planned.append(entry)
                works.append(partial(take_over, source, entry, directory))
            else:
                planned.append(SegmentEntry(entry.file, number, rows))
                works.append(partial(_rewrite, source, stretch.offset, rows, directory, number))
    return works


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
