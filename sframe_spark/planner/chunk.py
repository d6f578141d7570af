"""Chunk: a run of consecutive rows as Arrow arrays, the currency of kernels."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.planner.facts import Schema
from sframe_spark.values.arrow_ipc import stream_of, table_of
from sframe_spark.values.arrow_layouts import MAX_BYTES, in_one_array

Item = TypeVar("Item")

# Arrow counts the bytes of texts, and the items of lists, in 32 bits.
MAX_BYTES_OF_ARRAY = MAX_BYTES


@attrs.frozen(eq=False)
class Chunk:
    """Columns by position and the number of rows (which is kept even when there is no column).

    ``remembered`` is a place for facts that follow from the values and are costly to find twice.

    Examples
    --------
    >>> Chunk.of([pa.array([1, 2, 3])]).slice(1, 3).columns[0].to_pylist()
    [2, 3]
    """

    columns: tuple[pa.Array, ...]
    rows: int
    remembered: dict[str, Any] = attrs.field(factory=dict, repr=False, kw_only=True)

    @classmethod
    def of(cls, columns: Sequence[pa.Array]) -> Chunk:
        """A chunk of at least one column.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2]), pa.array(["a", "b"])]).rows
        2
        """
        return cls(tuple(columns), len(columns[0]))

    @classmethod
    def empty(cls, schema: Schema) -> Chunk:
        """A chunk without rows.

        Examples
        --------
        >>> from sframe_spark.types import INT
        >>> Chunk.empty((INT,)).types
        [DataType(int64)]
        """
        return cls(tuple(pa.array([], column_type.physical) for column_type in schema), 0)

    @classmethod
    def from_table(cls, table: pa.Table) -> Chunk:
        """All rows of a table.

        Examples
        --------
        >>> Chunk.from_table(pa.table({"a": [1, 2]})).columns[0].to_pylist()
        [1, 2]
        """
        return cls(tuple(combine(column) for column in table.columns), table.num_rows)

    def slice(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` (inclusive) to ``stop`` (exclusive), without copying.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2, 3])]).slice(1, 9).columns[0].to_pylist()
        [2, 3]
        """
        start = max(0, min(start, self.rows))
        stop = max(start, min(stop, self.rows))
        if start == 0 and stop == self.rows:
            return self
        return Chunk(tuple(column.slice(start, stop - start) for column in self.columns), stop - start)

    def select(self, positions: Sequence[int]) -> Chunk:
        """The columns at these positions, in this order.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2]), pa.array(["a", "b"])]).select([1]).columns[0].to_pylist()
        ['a', 'b']
        """
        return Chunk(tuple(self.columns[position] for position in positions), self.rows)

    def take(self, mask: pa.Array) -> Chunk:
        """Rows where a boolean array is true.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2, 3])]).take(pa.array([True, False, True])).columns[0].to_pylist()
        [1, 3]
        """
        if not self.columns:
            return Chunk((), int(mask.true_count))
        return Chunk.of(pa.RecordBatch.from_arrays(list(self.columns), names=column_names(len(self.columns))).filter(mask).columns)

    @property
    def size(self) -> int:
        """Bytes of the rows, without what the arrays hold besides."""
        return sum(column.nbytes for column in self.columns)

    @property
    def types(self) -> list[pa.DataType]:
        """The Arrow types of the columns."""
        return [column.type for column in self.columns]

    def column(self, position: int, start: int, stop: int) -> pa.Array:
        """One column of rows ``start`` (inclusive) to ``stop`` (exclusive), without copying."""
        return self.columns[position].slice(start, stop - start)

    def between(self, start: int, stop: int, positions: Sequence[int] | None = None) -> Chunk:
        """Some columns of rows ``start`` (inclusive) to ``stop`` (exclusive), without copying.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]).between(1, 3, [1]).columns[0].to_pylist()
        ['b', 'c']
        """
        return (self if positions is None else self.select(positions)).slice(start, stop)

    def chunks_between(self, start: int, stop: int, positions: Sequence[int]) -> Iterator[Chunk]:
        """The same rows: there is one piece of them."""
        yield self.between(start, stop, positions)

    def end_of_chunk(self, start: int, stop: int) -> int:
        """Where to end some rows: at ``stop``, as nothing is copied anywhere."""
        return stop

    def rows_at(self, places: np.ndarray) -> Chunk:
        """Rows by number, in the order given; this very chunk when these are all its rows in their order.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2, 3])]).rows_at(np.array([2, 0])).columns[0].to_pylist()
        [3, 1]
        """
        if len(places) == self.rows and bool((places == np.arange(self.rows)).all()):
            return self
        indices = pa.array(places)
        return Chunk(tuple(column.take(indices) for column in self.columns), len(places))

    def to_table(self) -> pa.Table:
        """As an Arrow table with columns ``c0..cn``.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2])]).to_table().to_pydict()
        {'c0': [1, 2]}
        """
        return pa.Table.from_arrays(list(self.columns), names=column_names(len(self.columns)))


def to_stream(chunks: Iterable[Chunk], options: pa.ipc.IpcWriteOptions | None = None) -> pa.Buffer:
    """The rows of chunks, at least one, as an Arrow stream: pickled arrays would take their whole buffers along."""
    return stream_of((chunk.to_table() for chunk in chunks), options)


def from_stream(stream: bytes | pa.Buffer) -> Chunk:
    """The rows of an Arrow stream."""
    return Chunk.from_table(table_of(stream))


def column_names(width: int) -> list[str]:
    """Engine names of columns by position: ``c0``, ``c1`` and so on.

    Examples
    --------
    >>> column_names(2)
    ['c0', 'c1']
    """
    return [f"c{position}" for position in range(width)]


def combine(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One contiguous array from a possibly chunked one."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return column.chunk(0)
        return in_one_array(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column


def joined(first: Chunk, second: Chunk) -> Chunk:
    """Rows of both chunks, which have the same columns."""
    if not first.rows or not second.rows:
        return first if first.rows else second
    return stacked([first, second])


def stacked(chunks: list[Chunk]) -> Chunk:
    """Rows of chunks of the same columns, of which there is at least one, in order; the list is empty then.

    Where nobody else holds the chunks, one column at a time takes room twice.
    """
    rows, columns = sum(chunk.rows for chunk in chunks), list(zip(*(chunk.columns for chunk in chunks), strict=True))
    chunks.clear()
    return Chunk(tuple(map(in_one_array, drained(columns))), rows)


def concatenate(chunks: Iterable[Chunk], schema: Schema) -> Chunk:
    """Rows of all chunks, in order; see :func:`stacked` for the room that they take.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> concatenate([Chunk.of([pa.array([1, 2])]), Chunk.of([pa.array([3])])], (INT,)).columns[0].to_pylist()
    [1, 2, 3]
    """
    found = list(chunks)
    filled = [chunk for chunk in found if chunk.rows]
    if not filled:
        return found[0] if found else Chunk.empty(schema)
    found.clear()
    return filled[0] if len(filled) == 1 else stacked(filled)


def drained(items: list[Item]) -> Iterator[Item]:
    """Items, each let go as it is passed on."""
    while items:
        yield items.pop(0)


# Pieces: rows in memory that were made one part after the other, and stay so.

# Shorter pieces are put together: each has a price of its own, whoever goes through them.
MIN_CHUNK_ROWS = 32_768
# A piece that is a part of longer arrays holds all of them: it is copied where they take so many times its bytes.
MAX_BUFFER_RATIO = 4


@attrs.frozen(eq=False)
class ChunkedRows:
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

    def select(self, positions: Sequence[int]) -> ChunkedRows:
        """The columns at these positions, in this order."""
        return ChunkedRows(tuple(chunk.select(positions) for chunk in self.chunks))

    def column(self, position: int, start: int, stop: int) -> pa.ChunkedArray:
        """One column of rows ``start`` (inclusive) to ``stop`` (exclusive), without copying."""
        parts = [chunk.columns[0] for chunk in self.chunks_between(start, stop, [position])]
        return pa.chunked_array(parts, self.types[position])

    def chunks_between(self, start: int, stop: int, positions: Sequence[int]) -> Iterator[Chunk]:
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
        parts = list(self.chunks_between(start, stop, wanted))
        if len(parts) > 1:
            return stacked(parts)
        return parts[0] if parts else self.chunks[0].select(wanted).slice(0, 0)

    def end_of_chunk(self, start: int, stop: int) -> int:
        """Where to end some rows so that those of few pieces are copied: behind the first piece, or the last that is whole; else ``stop``."""
        place = bisect.bisect_right(self.starts, start)
        if self.starts[place] - start < MIN_CHUNK_ROWS:
            place = max(place, bisect.bisect_right(self.starts, stop) - 1)
        return min(self.starts[place], stop)


def coalesce_chunks(chunks: Iterable[Chunk], schema: Schema) -> Chunk | ChunkedRows:
    """Rows of chunks as they are but for short ones, which are put together; one chunk where that is all.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> coalesce_chunks([Chunk.of([pa.array([1, 2])]), Chunk.of([pa.array([3])])], (INT,)).rows
    3
    """
    found = [compacted(run[0]) if len(run) == 1 else stacked(run) for run in _runs(chunks)]
    return ChunkedRows(tuple(found)) if len(found) > 1 else concatenate(found, schema)


def aligned(columns: Sequence[Sequence[pa.Array]], schema: Schema) -> Chunk | ChunkedRows:
    """Rows of columns that are each cut into arrays at places of its own.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> aligned([[pa.array([1, 2]), pa.array([3])], [pa.array([4, 5, 6])]], (INT, INT)).between(1, 3).columns[1].to_pylist()
    [5, 6]
    """
    return coalesce_chunks(aligned_chunks(columns), schema)


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
        if waiting and (rows + chunk.rows > 2 * MIN_CHUNK_ROWS or size + more > MAX_BYTES_OF_ARRAY):
            yield waiting
            waiting, rows, size = [], 0, 0
        waiting.append(chunk)
        rows += chunk.rows
        size += more
    if waiting:
        yield waiting


def compacted(chunk: Chunk) -> Chunk:
    """The rows of a chunk without the much longer arrays that they are parts of."""
    columns = chunk.columns
    if not any(_holds_more(column) for column in columns):
        return chunk
    half = chunk.rows // 2
    return Chunk(tuple(in_one_array([column[:half], column[half:]]) if _holds_more(column) else column for column in columns), chunk.rows)


def _holds_more(column: pa.Array) -> bool:
    return bool(column.get_total_buffer_size() > MAX_BUFFER_RATIO * (column.nbytes + MIN_CHUNK_ROWS))
