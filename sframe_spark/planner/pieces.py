"""Pieces: rows in memory that were made one part after the other, and stay so."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.planner.chunk import MOST_BYTES_OF_ARRAY, Chunk, concatenate, stacked
from sframe_spark.planner.facts import Schema
from sframe_spark.values.arrow_layouts import in_one_array

# Shorter pieces are put together: each has a price of its own, whoever goes through them.
FEW_ROWS = 32_768
# A piece that is a part of longer arrays holds all of them: it is copied where they take so many times its bytes.
MOST_HELD = 4


@attrs.frozen(eq=False)
class Pieces:
    """Consecutive runs of rows of the same columns, read by row number as if they were one.

    Nothing is copied until rows of several are asked for in one array.

    Parameters
    ----------
    chunks
        At least two, none of them empty.
    remembered
        A place for facts that follow from the values and are costly to find twice.

    Examples
    --------
    >>> rows = Pieces((Chunk.of([pa.array([1, 2, 3])]), Chunk.of([pa.array([4])])))
    >>> rows.rows, rows.between(2, 4).columns[0].to_pylist()
    (4, [3, 4])
    """

    chunks: tuple[Chunk, ...]
    remembered: dict[str, Any] = attrs.field(factory=dict, repr=False, kw_only=True)
    # The number of the first row of each, and that of all rows.
    starts: tuple[int, ...] = attrs.field(init=False, repr=False)

    @starts.default
    def _find_starts(self) -> tuple[int, ...]:
        return tuple(itertools.accumulate((chunk.rows for chunk in self.chunks), initial=0))

    @property
    def rows(self) -> int:
        """Of all pieces."""
        return self.starts[-1]

    @property
    def types(self) -> list[pa.DataType]:
        """The Arrow types of the columns."""
        return self.chunks[0].types

    @property
    def size(self) -> int:
        """Bytes of the rows."""
        return sum(chunk.size for chunk in self.chunks)

    def select(self, positions: Sequence[int]) -> Pieces:
        """The columns at these positions, in this order."""
        return Pieces(tuple(chunk.select(positions) for chunk in self.chunks))

    def column(self, position: int, start: int, stop: int) -> pa.ChunkedArray:
        """One column of rows ``start`` (inclusive) to ``stop`` (exclusive), without copying."""
        parts = [chunk.columns[0] for chunk in self.parts_between(start, stop, [position])]
        return pa.chunked_array(parts, self.types[position])

    def parts_between(self, start: int, stop: int, positions: Sequence[int]) -> Iterator[Chunk]:
        """Some columns of rows ``start`` (inclusive) to ``stop`` (exclusive), piece by piece, without copying."""
        start, stop = max(0, start), min(stop, self.rows)
        place = bisect.bisect_right(self.starts, start) - 1
        while start < stop:
            first = self.starts[place]
            yield self.chunks[place].select(positions).slice(start - first, stop - first)
            place += 1
            start = self.starts[place]

    def between(self, start: int, stop: int, positions: Sequence[int] | None = None) -> Chunk:
        """Some columns of rows ``start`` (inclusive) to ``stop`` (exclusive), each in one array."""
        wanted = range(len(self.types)) if positions is None else positions
        parts = list(self.parts_between(start, stop, wanted))
        if len(parts) > 1:
            return stacked(parts)
        return parts[0] if parts else self.chunks[0].select(wanted).slice(0, 0)

    def end_of_piece(self, start: int, stop: int) -> int:
        """Where to end some rows so that those of few pieces are copied: behind the first piece, or the last that is whole; else ``stop``."""
        place = bisect.bisect_right(self.starts, start)
        if self.starts[place] - start < FEW_ROWS:
            place = max(place, bisect.bisect_right(self.starts, stop) - 1)
        return min(self.starts[place], stop)


def in_pieces(chunks: Iterable[Chunk], schema: Schema) -> Chunk | Pieces:
    """Rows of chunks as they are but for short ones, which are put together; one chunk where that is all.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> in_pieces([Chunk.of([pa.array([1, 2])]), Chunk.of([pa.array([3])])], (INT,)).rows
    3
    """
    found = [own(run[0]) if len(run) == 1 else stacked(run) for run in _runs(chunks)]
    return Pieces(tuple(found)) if len(found) > 1 else concatenate(found, schema)


def aligned(columns: Sequence[Sequence[pa.Array]], schema: Schema) -> Chunk | Pieces:
    """Rows of columns that are each cut into arrays at places of its own.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> aligned([[pa.array([1, 2]), pa.array([3])], [pa.array([4, 5, 6])]], (INT, INT)).between(1, 3).columns[1].to_pylist()
    [5, 6]
    """
    return in_pieces(aligned_chunks(columns), schema)


def aligned_chunks(columns: Sequence[Sequence[pa.Array]]) -> Iterator[Chunk]:
    """The same rows, cut wherever one of the columns is; without rows, none.

    Examples
    --------
    >>> [chunk.rows for chunk in aligned_chunks([[pa.array([1, 2]), pa.array([3])], [pa.array([4]), pa.array([5, 6])]])]
    [1, 1, 1]
    """
    table = pa.table({str(place): pa.chunked_array(list(parts)) for place, parts in enumerate(columns)})
    return (Chunk.of(batch.columns) for batch in table.to_batches())


def _runs(chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    """Chunks that have rows, short ones with their neighbours, as far as an array holds the texts of all."""
    waiting: list[Chunk] = []
    rows, size = 0, 0
    for chunk in chunks:
        if not chunk.rows:
            continue
        more = chunk.size
        if waiting and (rows + chunk.rows > 2 * FEW_ROWS or size + more > MOST_BYTES_OF_ARRAY):
            yield waiting
            waiting, rows, size = [], 0, 0
        waiting.append(chunk)
        rows += chunk.rows
        size += more
    if waiting:
        yield waiting


def own(chunk: Chunk) -> Chunk:
    """The rows of a chunk without the much longer arrays that they are parts of."""
    columns = chunk.columns
    if not any(_holds_more(column) for column in columns):
        return chunk
    half = chunk.rows // 2
    return Chunk(tuple(in_one_array([column[:half], column[half:]]) if _holds_more(column) else column for column in columns), chunk.rows)


def _holds_more(column: pa.Array) -> bool:
    return bool(column.get_total_buffer_size() > MOST_HELD * (column.nbytes + FEW_ROWS))
