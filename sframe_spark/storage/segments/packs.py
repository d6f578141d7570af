"""Packs: neighbouring short segments, of which the columns that were decoded once stay in memory while there is room.

Decoding a segment of 2,000 rows takes 0.2 ms for each look, whatever is in it: of 10,000 ten times what the same rows take in 64. Names of segments
are given once, so what was read under one is what is in it.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.locations import is_elsewhere
from sframe_spark.process.memory import arrow_bytes, kept_memory, lasting_pool
from sframe_spark.storage.manifest.decoded_columns import DecodedColumns
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.segments.neighbours import together
from sframe_spark.storage.segments.reader import DEFAULT_BATCH_ROWS, intersecting, segment_batches

# A segment that takes longer to open than to decode.
SHORT_ROWS, SHORT_BYTES = 8_192, 1 << 20
# A pack has no more segments, rows and bytes than this; look-ups read 64 segments at a time.
MOST_SEGMENTS, MOST_ROWS, MOST_BYTES = 128, DEFAULT_BATCH_ROWS, 8 << 20
# Of fewer short segments nothing is gained.
FEW_SEGMENTS = 64
# Packs are decoded where more than one in so many of their rows is asked for, but not for who takes all rows in one piece.
SHARE_OF_ROWS, MOST_AT_ONCE = 4, 64
# Nobody looks for packs, through all segments, who asks for rows of fewer than these.
SEGMENTS_ASKED_FOR = 4
# So much of the room for results is left to results.
SHARE_LEFT = 4
# What whole numbers are kept as where all of a pack fit in: memory that is new is what keeping them takes.
NARROW_INTEGERS = (pa.int8(), pa.int16(), pa.int32())


def packed_rows(manifest: Manifest, columns: Sequence[int], start: int, stop: int) -> list[pa.ChunkedArray] | None:
    """Columns of the rows ``start`` to ``stop`` out of packs; None where they are to be read from segments, as few of them are asked for."""
    decoded = manifest.decoded
    if decoded.edges is None and (stop - start) * len(manifest.segments) < SEGMENTS_ASKED_FOR * manifest.rows:
        return None
    edges = edges_of(manifest, decoded)
    first = bisect.bisect_right(edges, start) - 1
    last = bisect.bisect_left(edges, stop)
    if not edges or first < 0 or last >= len(edges):
        return None
    packs = list(pairwise(edges[first : last + 1]))
    if any(pack[0] in decoded.apart for pack in packs):
        return None
    if len(packs) > MOST_AT_ONCE:
        return None
    missing = [pack for pack in packs if not all((pack[0], column) in decoded.arrays for column in columns)]
    if missing and (stop - start) * SHARE_OF_ROWS < edges[last] - edges[first]:
        return None
    # Looking at how much memory there is takes longer than to read a segment.
    most = most_bytes() if missing else 0
    if missing and not may_keep(most):
        return None
    kinds = [manifest.types[column].physical for column in columns]
    parts = [_cut(_columns_of(manifest, columns, pack, decoded, most), kinds, pack, start, stop) for pack in packs]
    return [pa.chunked_array([part[place] for part in parts], kind) for place, kind in enumerate(kinds)]


def last_pack_start(manifest: Manifest, start: int, stop: int) -> int | None:
    """Return the number of the last row after ``start``, and at most ``stop``, before which a pack ends: rows of several are copied into one array.

    None where there is none, or nobody has looked for packs yet.
    """
    edges = manifest.decoded.edges or ()
    place = bisect.bisect_right(edges, stop) - 1
    return edges[place] if place >= 0 and edges[place] > start else None


def edges_of(manifest: Manifest, decoded: DecodedColumns) -> Sequence[int]:
    """Where packs begin, and the last one ends; none where the dataset has few short segments, is not all here, or not of ours."""
    if decoded.edges is None:
        is_of_ours = manifest.column_names_in_files is None and not manifest.watched
        is_whole = manifest.left_out == (0, 0) and not is_elsewhere(manifest.directory)
        short = list(map(is_short, manifest.segments)) if is_of_ours and is_whole else []
        if sum(short) >= FEW_SEGMENTS:
            decoded.apart = frozenset(row for row, is_one in zip(manifest.offsets, short, strict=True) if not is_one)
            decoded.edges = tuple(_edges(manifest))
        else:
            decoded.edges = ()
    return decoded.edges


def is_short(entry: SegmentEntry) -> bool:
    """Say whether a segment, one row group of ours, takes longer to open than to decode."""
    return entry.rows <= SHORT_ROWS and entry.group_bytes is not None and entry.group_bytes <= SHORT_BYTES and entry.tail is not None


def most_bytes() -> int:
    """How many bytes Arrow may hold in this process where packs are among them."""
    most = kept_memory()
    return most - most // SHARE_LEFT


def may_keep(most: int) -> bool:
    """Say whether there is room for one more pack where Arrow may hold so many bytes."""
    return arrow_bytes() + MOST_BYTES <= most


def _edges(manifest: Manifest) -> Iterator[int]:
    """The first rows of packs, and of long segments between them, and the number of all rows."""
    placed = zip(manifest.segments, manifest.offsets, strict=True)
    yield from (pack[0][1] for pack in together(placed, _size_in_pack, MOST_ROWS, MOST_BYTES, MOST_SEGMENTS))
    yield manifest.rows


def _size_in_pack(entry: SegmentEntry) -> int | None:
    return entry.group_bytes if is_short(entry) else None


def _columns_of(manifest: Manifest, columns: Sequence[int], pack: tuple[int, int], decoded: DecodedColumns, most: int) -> list[pa.Array]:
    start, stop = pack
    missing = [column for column in dict.fromkeys(columns) if (start, column) not in decoded.arrays]
    found = {column: decoded.arrays[start, column] for column in columns if column not in missing}
    if missing:
        read, stays = _read(manifest, missing, start, stop), may_keep(most)
        kept = {column: _kept(chunks) for column, chunks in zip(missing, read, strict=True)} if stays else {}
        decoded.arrays.update(((start, column), values) for column, values in kept.items())
        for column, chunks in zip(missing, read, strict=True):
            found[column] = kept[column] if column in kept and kept[column].type == chunks[0].type else pa.concat_arrays(chunks)
    return [found[column] for column in columns]


def _kept(chunks: Sequence[pa.Array]) -> pa.Array:
    """Values as they stay in memory: whole numbers in as few bytes as all of them fit in.

    Examples
    --------
    >>> kept = _kept([pa.array([1, None]), pa.array([-128])])
    >>> kept.type, kept.to_pylist(), _kept([pa.array([1 << 40])]).type
    (DataType(int8), [1, None, -128], DataType(int64))
    """
    if chunks[0].type == pa.int64():
        bounds = pc.min_max(pa.chunked_array(chunks)).as_py()
        for kind in NARROW_INTEGERS:
            limit = 1 << kind.bit_width - 1
            if bounds["min"] is None or -limit <= bounds["min"] <= bounds["max"] < limit:
                # What stands in the places of missing values may be anything.
                return pa.concat_arrays(chunks).cast(kind, safe=False, memory_pool=lasting_pool())
    return pa.concat_arrays(chunks, memory_pool=lasting_pool())


def _read(manifest: Manifest, columns: Sequence[int], start: int, stop: int) -> list[list[pa.Array]]:
    """Chunks of columns of a pack."""
    parts = intersecting(manifest, start, stop)
    batches = [batch for entry, low, high in parts for batch in segment_batches(manifest, entry, tuple(columns), low, high, None)]
    return [[batch[place] for batch in batches] for place in range(len(columns))]


def _cut(columns: Sequence[pa.Array], kinds: Sequence[pa.DataType], pack: tuple[int, int], start: int, stop: int) -> list[pa.Array]:
    low, high = max(start, pack[0]), min(stop, pack[1])
    parts = (column.slice(low - pack[0], high - low) for column in columns)
    return [part if part.type == kind else part.cast(kind) for part, kind in zip(parts, kinds, strict=True)]
