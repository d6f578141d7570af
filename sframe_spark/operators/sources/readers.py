"""Those who read sources for one plan: rows that follow those read last are not looked for anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.storage.segments.row_group_decoder import Cursor, DecodedPart

if TYPE_CHECKING:
    from sframe_spark.operators.sources.source import SegmentSource, Source

# So many ranges, some way behind each other, are read in turn by plans that are not odd.
MOST_GOERS = 4


class Reader:
    """Reads a source by row numbers, for one plan.

    Parameters
    ----------
    source
        The source.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def read(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` (inclusive) to ``stop`` (exclusive) of the source."""
        return self.source.read(start, stop)

    def bytes_between(self, start: int, stop: int) -> float:
        """About how many bytes rows that are to be read next take in memory."""
        return self.source.bytes_between(start, stop)

    def close(self) -> None:
        """Nothing more is read soon."""


class SegmentReader(Reader):
    """Reads stored rows; from the second of ranges that follow or overlap each other on, each row group is decoded once.

    Several may go through the rows at once, some way behind each other: a column and the same one shifted.

    Parameters
    ----------
    source
        The source.
    threads
        How many decode rows that were not asked for yet.
    most_bytes
        Row groups that take more are decoded in steps.
    coded
        Places of columns of texts that may come as numbers in a dictionary.
    """

    def __init__(self, source: SegmentSource, threads: int, most_bytes: int, coded: Iterable[int] = ()) -> None:
        super().__init__(source)
        self._stored = source
        self._threads, self._most_bytes = threads, most_bytes
        self._coded = frozenset(source.positions[place] for place in coded)
        # The range that was read last by each who goes through the rows, and what it reads with; who was last asked for comes last.
        self._goers: list[tuple[int, int, Cursor]] = []

    def read(self, start: int, stop: int) -> Chunk:
        """Rows of the source, from what was decoded before where it is there."""
        first, last = self._stored.start + start, min(self._stored.start + stop, self._stored.stop)
        if not self._stored.positions or first >= last:
            return self._stored.read(start, stop)
        packed = self._stored.packed(first, last)
        if packed is not None:
            return packed
        found = [goer for goer in self._goers if follows(goer[:2], first, last) or goer[2].can_go_on(first)]
        if not found:
            # One range alone is not where somebody goes through the rows.
            cursor = self._cursor(len(self._goers)) if len(self._goers) < MOST_GOERS else self._goers.pop(0)[2]
            cursor.close()
            self._goers.append((first, last, cursor))
            return self._stored.read(start, stop)
        goer = min(found, key=lambda goer: abs(goer[1] - first))
        self._goers.remove(goer)
        self._goers.append((first, last, goer[2]))
        return self._stored.chunk_of(self._columns(goer[2].read(first, last)), first, last)

    def _cursor(self, number: int) -> Cursor:
        """All of them together decode about twice as much at a time as one may."""
        stored, threads = self._stored, 0 if number else self._threads
        return Cursor(
            stored.manifest, stored.positions, stored.stop, partial(size_between, stored), self._most_bytes / (number + 1), threads, self._coded
        )

    def in_pieces(self) -> Iterator[Chunk]:
        """All rows, in pieces as they are decoded."""
        first, stop = self._stored.start, self._stored.stop
        if first == stop or not self._stored.positions:
            yield self._stored.read_all()
            return
        cursor = self._cursor(0)
        try:
            for part in cursor.rest(first, config.batch_rows):
                last = first + len(part[0])
                yield self._stored.chunk_of(self._columns([part]), first, last)
                first = last
        finally:
            cursor.close()
        if first != stop:
            raise PlanInvariantError(f"reading {self._stored.manifest.directory} up to row {stop} ended with row {first}")

    def close(self) -> None:
        """Decode nothing more."""
        for _, _, cursor in self._goers:
            cursor.close()

    def _columns(self, parts: list[DecodedPart]) -> list[pa.ChunkedArray]:
        kinds = [kind.physical for kind in self._stored.infer_type(())]
        if self._coded:
            parts = [list(part) for part in zip(*map(alike, zip(*parts, strict=True)), strict=True)]
            kinds = [values.type for values in parts[0]] if parts else kinds
        return [pa.chunked_array([part[place] for part in parts], kind) for place, kind in enumerate(kinds)]


def alike(parts: Sequence[pa.Array]) -> Sequence[pa.Array]:
    """Texts of a column, as numbers in dictionaries only if all parts are.

    Examples
    --------
    >>> coded = pa.array(["a"]).dictionary_encode()
    >>> [part.type == pa.string() for part in alike([coded, pa.array(["b"])])], alike([coded, coded])[0] is coded
    ([True, True], True)
    """
    if len({part.type for part in parts}) == 1:
        return parts
    return [part.dictionary_decode() if pa.types.is_dictionary(part.type) else part for part in parts]


def follows(before: tuple[int, int], first: int, last: int) -> bool:
    """Say whether a range follows one, overlaps its end, or comes after a gap that has no more rows than it, which are decoded with it.

    Examples
    --------
    >>> follows((0, 10), 8, 18), follows((0, 10), 20, 30), follows((0, 10), 21, 30), follows((5, 10), 0, 5)
    (True, True, False, False)
    """
    return before[0] <= first <= before[1] + (last - first) and before[1] <= last


def size_between(source: SegmentSource, first: int, last: int) -> float | None:
    """About how many bytes the rows of a dataset between two take in memory, of the columns of a source; None where nobody knows."""
    sizes = source.sizes_between(first - source.start, last - source.start)
    return None if None in sizes else row_bytes(sizes, 0)
