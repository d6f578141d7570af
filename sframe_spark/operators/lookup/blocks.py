"""Blocks of a source: the rows that a look-up reads at a time, each with the row group that it starts with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from sframe_spark.operators.sources.source import SegmentSource, Source
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import order_column
from sframe_spark.storage.parquet.footer import segment_footer
from sframe_spark.storage.segments.reader import together

# Rows of a block that is not a row group.
BLOCK_ROWS = 131_072
# Segments together in a block take no more than this, and are no more: each is a file to open, and neighbouring tasks may need the same block.
TOGETHER_BYTES = 32 * 1024 * 1024
MOST_TOGETHER = 64
# Row groups of other writers may be of any size; one of ours is smaller.
LARGEST_BLOCK_BYTES = 128 * 1024 * 1024


@attrs.frozen(eq=False)
class RowBlock:
    """Consecutive rows of a source.

    Parameters
    ----------
    start
        Number of the first row.
    entry
        The segment that it starts in; None where rows are in no segments.
    group
        The row group of that segment's file that it starts with; None where it starts within one.
    segments
        How many segments it is of.
    """

    start: int
    entry: SegmentEntry | None = None
    group: int | None = None
    segments: int = 1


def blocks_of(source: Source) -> tuple[RowBlock, ...]:
    """The blocks of a source, which together are all its rows.

    Of stored segments they are row groups. Short segments, whose manifest tells that each is one row group, are put together, and no file of them is
    opened.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sframe_spark.operators.sources.memory import MemorySource
    >>> from sframe_spark.planner.chunk import Chunk
    >>> from sframe_spark.types import INT
    >>> [block.start for block in blocks_of(MemorySource.of(Chunk.of([pa.array([1, 4, 9])]), (INT,)))]
    [0]
    """
    if not isinstance(source, SegmentSource):
        return tuple(RowBlock(start) for start in range(0, source.row_count, BLOCK_ROWS))
    found: list[RowBlock] = []
    for run in together(entries(source), lambda entry: entry.group_bytes, BLOCK_ROWS, TOGETHER_BYTES, MOST_TOGETHER):
        entry, offset = run[0]
        if entry.group_bytes is None:
            found += _row_groups(source, entry, offset)
        else:
            found.append(RowBlock(max(offset - source.start, 0), entry, 0, len(run)))
    return tuple(found)


def entries(source: SegmentSource) -> Iterator[tuple[SegmentEntry, int]]:
    """Segments that hold rows of a source, each with the number of its first row in the dataset."""
    for entry, offset in zip(source.manifest.segments, source.manifest.offsets, strict=True):
        if entry.rows and offset < source.stop and offset + entry.rows > source.start:
            yield entry, offset


def _row_groups(source: SegmentSource, entry: SegmentEntry, offset: int) -> Iterator[RowBlock]:
    """The row groups of a segment that hold rows of a source, or parts of those that are too large to be one block."""
    starts = segment_footer(source.manifest, entry).starts
    for group, (low, high) in enumerate(itertools.pairwise(starts)):
        first, parts = offset + low - source.start, 1
        if not source.manifest.has_key and high - low > 1:
            size = row_bytes(source.sizes_between(first, first + high - low), 0)
            parts = max(1, min(high - low, int(size) // LARGEST_BLOCK_BYTES))
        bounds = [first + (high - low) * part // parts for part in range(parts + 1)]
        for part, (start, stop) in enumerate(itertools.pairwise(bounds)):
            if start < source.row_count and stop > 0:
                yield RowBlock(max(start, 0), entry, None if part else group)


def first_keys(source: Source, blocks: Sequence[RowBlock], column: int) -> list[tuple[bool, Any]]:
    """For each block of a source sorted by a column: whether statistics tell its first key, or one before it, and the key (None: missing)."""
    if not isinstance(source, SegmentSource) or source.manifest.column_names_in_files is not None:
        # Files of others may hold the column in another type, and their bounds may be cut short.
        return [(False, None)] * len(blocks)
    position = source.positions[column]
    return [_first_key(source.manifest, block, position) for block in blocks]


def _first_key(manifest: Manifest, block: RowBlock, position: int) -> tuple[bool, Any]:
    entry, group = block.entry, block.group
    if entry is None or group is None:
        return False, None
    if not group and len(entry.columns) > position and entry.columns[position].edges_known:
        first = entry.columns[position].first
        # NaN is looked at: it is last, wherever it stands.
        return (True, first) if first == first else (False, None)
    chunk = segment_footer(manifest, entry).metadata.row_group(group)
    name = order_column(manifest.file_name(position), manifest.types[position])
    statistics = chunk.column(segment_footer(manifest, entry).places[name]).statistics
    if statistics is None or not statistics.has_null_count:
        return False, None
    if statistics.null_count:
        return True, None
    known = bool(statistics.has_min_max) and statistics.min_raw == statistics.min_raw
    return known, statistics.min_raw if known else None
