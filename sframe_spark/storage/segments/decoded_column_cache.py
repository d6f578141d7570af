"""Caches decoded columns of datasets with many short segments, in packs: ranges of rows of several consecutive segments."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.process.memory import arrow_bytes, kept_memory, lasting_pool
from sframe_spark.storage.manifest.manifest import DecodedColumns, Manifest, SegmentEntry
from sframe_spark.storage.segments.reader import DEFAULT_BATCH_ROWS, coalesced_segments, intersecting, segment_batches

# The limits of a short segment, for which opening the file takes longer than decoding the rows.
SHORT_ROWS, SHORT_GROUP_BYTES = 8_192, 1 << 20

# The limits of a pack.
MAX_SEGMENTS, MAX_ROWS, MAX_BYTES = 128, DEFAULT_BATCH_ROWS, 8 << 20

# Datasets with fewer short segments have no packs.
FEW_SEGMENTS = 64

# Packs are decoded only if at least one row in SHARE_OF_ROWS of theirs is requested; they are not used for ranges of more than MAX_AT_ONCE packs.
SHARE_OF_ROWS, MAX_AT_ONCE = 4, 64

# The boundaries of packs are computed only when a range is requested that has as many rows as this many segments have on average.
MIN_SEGMENTS_REQUESTED = 4

# One part in this many of the memory for results is not used for packs.
SHARE_LEFT = 4

# Integers are cached in the first of these types that fits all values of a pack, to save memory.
NARROW_INTEGERS = (pa.int8(), pa.int16(), pa.int32())


def packed_rows(manifest: Manifest, columns: Sequence[int], start: int, stop: int) -> list[pa.ChunkedArray] | None:
    """Return some columns of a range of rows from packs, which are decoded if necessary; None if the rows should be read from segments."""
    decoded = manifest.decoded
    if decoded.edges is None and (stop - start) * len(manifest.segments) < MIN_SEGMENTS_REQUESTED * manifest.rows:
        return None
    edges = edges_of(manifest, decoded)
    first = bisect.bisect_right(edges, start) - 1
    last = bisect.bisect_left(edges, stop)
    if not edges or first < 0 or last >= len(edges):
        return None
    packs = list(pairwise(edges[first : last + 1]))
    if len(packs) > MAX_AT_ONCE or any(pack[0] in decoded.long_segments for pack in packs):
        return None
    missing = [pack for pack in packs if not all((pack[0], column) in decoded.arrays for column in columns)]
    if missing and (stop - start) * SHARE_OF_ROWS < edges[last] - edges[first]:
        return None
    # Available memory is determined only if packs are decoded, since that takes longer than reading a segment.
    memory_limit = max_bytes() if missing else 0
    if missing and not may_keep(memory_limit):
        return None
    kinds = [manifest.types[column].physical for column in columns]
    parts = [_cut(_columns_of(manifest, columns, pack, decoded, memory_limit), kinds, pack, start, stop) for pack in packs]
    return [pa.chunked_array([part[index] for part in parts], kind) for index, kind in enumerate(kinds)]


def last_pack_start(manifest: Manifest, start: int, stop: int) -> int | None:
    """Return the last row number in ``(start, stop]`` at which a pack starts or ends.

    Return None if there is none, or the boundaries of packs were not computed. A batch that ends there does not have to be copied from two packs.
    """
    edges = manifest.decoded.edges or ()
    index = bisect.bisect_right(edges, stop) - 1
    return edges[index] if index >= 0 and edges[index] > start else None


def edges_of(manifest: Manifest, decoded: DecodedColumns) -> Sequence[int]:
    """Return the boundaries of packs, computed at the first call; empty if the dataset is remote, external, partial, or has few short segments."""
    if decoded.edges is None:
        is_built_in = manifest.column_names_in_files is None and not manifest.watched
        is_whole = manifest.left_out == (0, 0) and not is_remote_location(manifest.directory)
        short = list(map(is_short, manifest.segments)) if is_built_in and is_whole else []
        if sum(short) >= FEW_SEGMENTS:
            decoded.long_segments = frozenset(row for row, is_one in zip(manifest.offsets, short, strict=True) if not is_one)
            placed = zip(manifest.segments, manifest.offsets, strict=True)
            packs = coalesced_segments(placed, lambda entry: entry.group_bytes if is_short(entry) else None, MAX_ROWS, MAX_BYTES, MAX_SEGMENTS)
            decoded.edges = (*(pack[0][1] for pack in packs), manifest.rows)
        else:
            decoded.edges = ()
    return decoded.edges


def is_short(entry: SegmentEntry) -> bool:
    """Return whether a segment has a single small row group, and a recorded checksum of its footer."""
    return entry.rows <= SHORT_ROWS and entry.group_bytes is not None and entry.group_bytes <= SHORT_GROUP_BYTES and entry.tail is not None


def max_bytes() -> int:
    """Return the limit of the bytes that Arrow has allocated in this process, above which no further pack is cached."""
    memory_limit = kept_memory()
    return memory_limit - memory_limit // SHARE_LEFT


def may_keep(memory_limit: int) -> bool:
    """Return whether Arrow can allocate one more pack within a memory limit."""
    return arrow_bytes() + MAX_BYTES <= memory_limit


def _columns_of(manifest: Manifest, columns: Sequence[int], pack: tuple[int, int], decoded: DecodedColumns, memory_limit: int) -> list[pa.Array]:
    """Return columns of a pack: cached ones, and others from the segments, which are then cached if there is enough memory."""
    start, stop = pack
    missing = [column for column in dict.fromkeys(columns) if (start, column) not in decoded.arrays]
    arrays = {column: decoded.arrays[start, column] for column in columns if column not in missing}
    if missing:
        parts = intersecting(manifest, start, stop)
        batches = [batch for entry, low, high in parts for batch in segment_batches(manifest, entry, tuple(missing), low, high, None)]
        keeps = may_keep(memory_limit)
        for index, column in enumerate(missing):
            chunks = [batch[index] for batch in batches]
            compacted = _compacted(chunks) if keeps else None
            if compacted is not None:
                decoded.arrays[start, column] = compacted
            arrays[column] = compacted if compacted is not None and compacted.type == chunks[0].type else pa.concat_arrays(chunks)
    return [arrays[column] for column in columns]


def _compacted(chunks: Sequence[pa.Array]) -> pa.Array:
    """Return the concatenation of chunks for the cache; integers in the narrowest type that holds all of them.

    Examples
    --------
    >>> compact = _compacted([pa.array([1, None]), pa.array([-128])])
    >>> compact.type, compact.to_pylist(), _compacted([pa.array([1 << 40])]).type
    (DataType(int8), [1, None, -128], DataType(int64))
    """
    if chunks[0].type == pa.int64():
        bounds = pc.min_max(pa.chunked_array(chunks)).as_py()
        for kind in NARROW_INTEGERS:
            limit = 1 << kind.bit_width - 1
            if bounds["min"] is None or -limit <= bounds["min"] <= bounds["max"] < limit:
                # The cast is unchecked, since the slots of missing values may hold numbers that do not fit.
                return pa.concat_arrays(chunks).cast(kind, safe=False, memory_pool=lasting_pool())
    return pa.concat_arrays(chunks, memory_pool=lasting_pool())


def _cut(columns: Sequence[pa.Array], kinds: Sequence[pa.DataType], pack: tuple[int, int], start: int, stop: int) -> list[pa.Array]:
    low, high = max(start, pack[0]), min(stop, pack[1])
    parts = (column.slice(low - pack[0], high - low) for column in columns)
    return [part if part.type == kind else part.cast(kind) for part, kind in zip(parts, kinds, strict=True)]
