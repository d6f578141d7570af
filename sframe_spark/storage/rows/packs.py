"""Packs: neighbouring short segments that are read as one, of which the columns that were read once stay in memory while there is room.

Reading a segment of 2,000 rows by itself takes 0.2 ms for each look, whatever is in it: of 10,000 ten times what the same rows take in 64. What stays
is as it is stored, not decoded: it is shorter, and memory that is new to a process takes longer than to decode into some that is not. Names of
segments are given once, so what was read under one is what is in it.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from sframe_spark.locations import is_elsewhere
from sframe_spark.session.memory import arrow_bytes, kept_memory
from sframe_spark.storage.manifests.held_columns import HeldColumns
from sframe_spark.storage.manifests.manifest import Manifest, SegmentEntry
from sframe_spark.storage.rows.held_rows import HeldRows
from sframe_spark.storage.rows.reader import DEFAULT_BATCH_ROWS

# A segment that takes longer to open than to decode.
SHORT_ROWS, SHORT_BYTES = 8_192, 1 << 20
# A pack has no more segments, rows and bytes than this; look-ups read 64 segments at a time.
MOST_SEGMENTS, MOST_ROWS, MOST_BYTES = 128, DEFAULT_BATCH_ROWS, 8 << 20
# Of fewer short segments nothing is gained.
FEW_SEGMENTS = 64
# Packs are read where more than one in so many of their rows is asked for, but not for who takes all rows in one piece.
SHARE_OF_ROWS, MOST_AT_ONCE = 4, 64
# Nobody looks for packs, through all segments, who asks for rows of fewer than these.
SEGMENTS_ASKED_FOR = 4
# So much of the room for results is left to results.
SHARE_LEFT = 4


def packed_rows(manifest: Manifest, columns: Sequence[int], start: int, stop: int) -> list[pa.ChunkedArray] | None:
    """Columns of the rows ``start`` to ``stop`` out of packs; None where they are to be read from segments, as few of them are asked for."""
    held = manifest.held
    if held.edges is None and (stop - start) * len(manifest.segments) < SEGMENTS_ASKED_FOR * manifest.rows:
        return None
    edges = edges_of(manifest, held)
    first = bisect.bisect_right(edges, start) - 1
    last = bisect.bisect_left(edges, stop)
    if not edges or first < 0 or last >= len(edges):
        return None
    packs = list(pairwise(edges[first : last + 1]))
    if any(pack[0] in held.apart for pack in packs):
        return None
    if len(packs) > MOST_AT_ONCE:
        return None
    missing = [pack for pack in packs if not all((pack[0], column) in held.columns for column in columns)]
    # Looking at how much memory there is takes longer than to read a segment.
    most = most_bytes() if missing else 0
    if missing and ((stop - start) * SHARE_OF_ROWS < edges[last] - edges[first] or not may_keep(most)):
        return None
    parts = [_part(manifest, columns, pack, start, stop, most) for pack in packs]
    return [pa.chunked_array([part[place] for part in parts], manifest.types[column].physical) for place, column in enumerate(columns)]


def last_pack_start(manifest: Manifest, start: int, stop: int) -> int | None:
    """Return the number of the last row after ``start``, and at most ``stop``, before which a pack ends: rows of several are copied into one array.

    None where there is none, or nobody has looked for packs yet.
    """
    edges = manifest.held.edges or ()
    place = bisect.bisect_right(edges, stop) - 1
    return edges[place] if place >= 0 and edges[place] > start else None


def edges_of(manifest: Manifest, held: HeldColumns) -> Sequence[int]:
    """Where packs begin, and the last one ends; none where the dataset has few short segments, is not all here, or not of ours."""
    if held.edges is None:
        is_of_ours = manifest.column_names_in_files is None and not manifest.watched
        is_whole = manifest.left_out == (0, 0) and not is_elsewhere(manifest.directory)
        short = list(map(is_short, manifest.segments)) if is_of_ours and is_whole else []
        if sum(short) >= FEW_SEGMENTS:
            held.apart = frozenset(row for row, is_one in zip(manifest.offsets, short, strict=True) if not is_one)
            held.edges = tuple(_edges(manifest, short))
        else:
            held.edges = ()
    return held.edges


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


def _edges(manifest: Manifest, short: Sequence[bool]) -> Iterator[int]:
    """The first rows of packs, and of long segments between them, and the number of all rows."""
    count = rows = size = 0
    is_before_short = True
    for row, entry, is_one in zip(manifest.offsets, manifest.segments, short, strict=True):
        more = entry.group_bytes if is_one else None
        fits = more is not None and is_before_short and rows + entry.rows <= MOST_ROWS and size + more <= MOST_BYTES
        if rows and not (fits and count < MOST_SEGMENTS):
            yield row - rows
            count = rows = size = 0
        count, rows, size, is_before_short = count + 1, rows + entry.rows, size + (more or 0), more is not None
    if rows:
        yield manifest.rows - rows
    yield manifest.rows


def _held(manifest: Manifest, columns: Sequence[int], pack: tuple[int, int], most: int) -> dict[int, HeldRows]:
    """Return what holds each of some columns of a pack; what is not in memory is read, and stays there where :func:`may_keep` says so."""
    held = manifest.held.columns
    known = {column: held[pack[0], column] for column in columns if (pack[0], column) in held}
    missing = [column for column in dict.fromkeys(columns) if column not in known]
    if missing:
        read = dict.fromkeys(missing, HeldRows.of(manifest, missing, *pack))
        if may_keep(most):
            held.update(((pack[0], column), rows) for column, rows in read.items())
        known.update(read)
    return known


def _part(manifest: Manifest, columns: Sequence[int], pack: tuple[int, int], start: int, stop: int, most: int) -> list[pa.Array]:
    """Columns of those rows of a pack that are among some of the dataset."""
    known, found = _held(manifest, columns, pack, most), dict[int, pa.Array]()
    for rows in dict.fromkeys(known.values()):
        together = [column for column, place in known.items() if place is rows]
        found.update(zip(together, rows.read(manifest, together, pack[0], max(start, pack[0]), min(stop, pack[1])), strict=True))
    return [found[column] for column in columns]
