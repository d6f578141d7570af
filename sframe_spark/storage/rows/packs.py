"""Packs: neighbouring short segments, of which the columns that were decoded once stay in memory while there is room.

Decoding a segment of 2,000 rows takes 0.2 ms for each look, whatever is in it: of 10,000 ten times what the same rows take in 64. Names of segments
are given once, so what was read under one is what is in it.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from sframe_spark.locations import is_elsewhere
from sframe_spark.session.memory import kept_memory
from sframe_spark.storage.manifests.decoded_columns import DecodedColumns
from sframe_spark.storage.manifests.manifest import Manifest, SegmentEntry
from sframe_spark.storage.rows.reader import intersecting, read_rows

# A segment that takes longer to open than to decode.
SHORT_ROWS, SHORT_BYTES = 8_192, 1 << 20
# A pack has no more segments, rows and bytes than this; look-ups read 64 segments at a time.
MOST_SEGMENTS, MOST_ROWS, MOST_BYTES = 128, 65_536, 8 << 20
# Of fewer short segments nothing is gained.
FEW_SEGMENTS = 64
# Packs are decoded where more than one in so many of their rows is asked for.
SHARE_OF_ROWS = 4
# Who asks for more packs than this, and for more bytes, takes all rows in one piece. Of very short segments, or wide ones, a batch takes many packs.
MOST_AT_ONCE, MOST_BYTES_AT_ONCE = 64, 64 << 20
# Nobody looks for packs, through all segments, who asks for rows of fewer than these.
SEGMENTS_ASKED_FOR = 4
# So much of the room for results is left to results.
SHARE_LEFT = 4


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
    parts = list(pairwise(edges[first : last + 1]))
    if len(parts) > MOST_AT_ONCE and _most_bytes(manifest, columns, start, stop) > MOST_BYTES_AT_ONCE:
        return None
    packs = [part for part in parts if part[0] not in decoded.apart]
    missing = [pack for pack in packs if not all((pack[0], column) in decoded.arrays for column in columns)]
    if missing and not (_are_asked_for(missing, start, stop) and may_keep()):
        return None
    if len(packs) < len(parts) and not _opening_takes_longer(manifest, [part for part in parts if part[0] in decoded.apart], start, stop):
        return None
    found = [_rows_of(manifest, columns, part, decoded, max(start, part[0]), min(stop, part[1])) for part in parts]
    return [
        pa.chunked_array([chunk for part in found for chunk in part[place]], manifest.types[column].physical) for place, column in enumerate(columns)
    ]


def edges_of(manifest: Manifest, decoded: DecodedColumns) -> Sequence[int]:
    """Where packs begin, and the last one ends; none where the dataset has few short segments, is not all here, or not of ours."""
    if decoded.edges is None:
        is_of_ours = manifest.column_names_in_files is None and not manifest.watched
        is_whole = manifest.left_out == (0, 0) and not is_elsewhere(manifest.directory)
        if is_of_ours and is_whole and sum(map(is_short, manifest.segments)) >= FEW_SEGMENTS:
            decoded.apart = frozenset(row for row, entry in zip(manifest.offsets, manifest.segments, strict=True) if not is_short(entry))
            decoded.edges = tuple(_edges(manifest))
        else:
            decoded.edges = ()
    return decoded.edges


def is_short(entry: SegmentEntry) -> bool:
    """Say whether a segment, one row group of ours, takes longer to open than to decode."""
    return entry.rows <= SHORT_ROWS and entry.group_bytes is not None and entry.group_bytes <= SHORT_BYTES and entry.tail is not None


def may_keep() -> bool:
    """Say whether there is room for one more pack, beside all that Arrow holds in this process."""
    most = kept_memory()
    return pa.total_allocated_bytes() + MOST_BYTES <= most - most // SHARE_LEFT


def _edges(manifest: Manifest) -> Iterator[int]:
    """The first rows of packs, and of long segments between them, and the number of all rows."""
    count = rows = size = 0
    is_before_short = True
    for row, entry in zip(manifest.offsets, manifest.segments, strict=True):
        more = entry.group_bytes if is_short(entry) else None
        fits = more is not None and is_before_short and rows + entry.rows <= MOST_ROWS and size + more <= MOST_BYTES
        if rows and not (fits and count < MOST_SEGMENTS):
            yield row - rows
            count = rows = size = 0
        count, rows, size, is_before_short = count + 1, rows + entry.rows, size + (more or 0), more is not None
    if rows:
        yield manifest.rows - rows
    yield manifest.rows


def _are_asked_for(packs: Sequence[tuple[int, int]], start: int, stop: int) -> bool:
    """Say whether enough rows of packs are asked for."""
    asked = sum(min(stop, last) - max(start, first) for first, last in packs)
    return asked * SHARE_OF_ROWS >= sum(last - first for first, last in packs)


def _opening_takes_longer(manifest: Manifest, long: Sequence[tuple[int, int]], start: int, stop: int) -> bool:
    """Say whether the short segments among some rows take longer to open than the long ones to decode, from their first rows on."""
    segments = bisect.bisect_left(manifest.offsets, stop) - bisect.bisect_right(manifest.offsets, start) + 1
    return sum(min(stop, last) - first for first, last in long) <= SHORT_ROWS * (segments - len(long))


def _most_bytes(manifest: Manifest, columns: Sequence[int], start: int, stop: int) -> int:
    """How many bytes some rows take in memory at most, as far as the manifest tells."""
    widths = [kind.physical.bit_width // 8 if pa.types.is_primitive(kind.physical) else None for kind in manifest.types]
    asked, rows = [widths[column] for column in columns], stop - start
    even = rows * sum(width for width in asked if width is not None)
    if None not in asked:
        return even
    return even + sum(entry.group_bytes or 0 for entry, _, _ in intersecting(manifest, start, stop)) - rows * sum(filter(None, widths))


def _rows_of(
    manifest: Manifest, columns: Sequence[int], part: tuple[int, int], decoded: DecodedColumns, start: int, stop: int
) -> Sequence[list[pa.Array]]:
    """Columns of some rows of a pack, or of a long segment, which is read for each look."""
    if part[0] in decoded.apart:
        return [values.chunks for values in read_rows(manifest, columns, start, stop).columns]
    return [[values.slice(start - part[0], stop - start)] for values in _columns_of(manifest, columns, part, decoded)]


def _columns_of(manifest: Manifest, columns: Sequence[int], pack: tuple[int, int], decoded: DecodedColumns) -> list[pa.Array]:
    start, stop = pack
    missing = [column for column in dict.fromkeys(columns) if (start, column) not in decoded.arrays]
    found = {column: decoded.arrays[start, column] for column in columns if column not in missing}
    if missing:
        table = read_rows(manifest, missing, start, stop)
        found.update((column, pa.concat_arrays(values.chunks)) for column, values in zip(missing, table.columns, strict=True))
        if may_keep():
            decoded.arrays.update(((start, column), found[column]) for column in missing)
    return [found[column] for column in columns]
