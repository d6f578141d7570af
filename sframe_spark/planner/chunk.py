"""Chunk: consecutive rows as Arrow arrays, the input and output of kernels; ChunkedRows: several chunks read as one."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.planner.node_facts import Schema
from sframe_spark.values.arrow_layouts import MAX_BYTES, in_one_array, stream_of, table_of

Item = TypeVar("Item")

# Arrow's offsets into strings and lists have 32 bits, which limits the bytes of one array.
MAX_BYTES_OF_ARRAY = MAX_BYTES


@attrs.frozen(eq=False)
class Chunk:
    """Consecutive rows as one Arrow array per column. The number of rows is known even if there is no column.

    ``remembered`` caches facts that follow from the values and are costly to compute.

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
        """Return a chunk of some columns, at least one.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2]), pa.array(["a", "b"])]).rows
        2
        """
        return cls(tuple(columns), len(columns[0]))

    @classmethod
    def empty(cls, schema: Schema) -> Chunk:
        """Return a chunk without rows.

        Examples
        --------
        >>> from sframe_spark.types import INT
        >>> Chunk.empty((INT,)).types
        [DataType(int64)]
        """
        return cls(tuple(pa.array([], column_type.physical) for column_type in schema), 0)

    @classmethod
    def from_table(cls, table: pa.Table) -> Chunk:
        """Return a chunk with all rows of an Arrow table.

        Examples
        --------
        >>> Chunk.from_table(pa.table({"a": [1, 2]})).columns[0].to_pylist()
        [1, 2]
        """
        return cls(tuple(combine(column) for column in table.columns), table.num_rows)

    def slice(self, start: int, stop: int) -> Chunk:
        """Return rows ``start`` (inclusive) to ``stop`` (exclusive), without copying.

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
        """Return the columns at these positions, in this order.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2]), pa.array(["a", "b"])]).select([1]).columns[0].to_pylist()
        ['a', 'b']
        """
        return Chunk(tuple(self.columns[position] for position in positions), self.rows)

    def take(self, mask: pa.Array) -> Chunk:
        """Return the rows where a boolean array is true.

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
        """Bytes of the rows, without the parts of Arrow buffers that lie outside of the rows."""
        return sum(column.nbytes for column in self.columns)

    @property
    def types(self) -> list[pa.DataType]:
        """The Arrow types of the columns."""
        return [column.type for column in self.columns]

    def column(self, position: int, start: int, stop: int) -> pa.Array:
        """Return one column of rows ``start`` (inclusive) to ``stop`` (exclusive), without copying."""
        return self.columns[position].slice(start, stop - start)

    def between(self, start: int, stop: int, positions: Sequence[int] | None = None) -> Chunk:
        """Return some columns of rows ``start`` (inclusive) to ``stop`` (exclusive), without copying.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]).between(1, 3, [1]).columns[0].to_pylist()
        ['b', 'c']
        """
        return (self if positions is None else self.select(positions)).slice(start, stop)

    def chunks_between(self, start: int, stop: int, positions: Sequence[int]) -> Iterator[Chunk]:
        """Yield the rows of :meth:`between` as one chunk; the counterpart of :meth:`ChunkedRows.chunks_between`."""
        yield self.between(start, stop, positions)

    def end_of_chunk(self, start: int, stop: int) -> int:
        """Return ``stop``; the counterpart of :meth:`ChunkedRows.end_of_chunk`."""
        return stop

    def rows_at(self, indices: np.ndarray) -> Chunk:
        """Return the rows at some indices, in the order of the indices; the chunk itself if these are all its rows in order.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2, 3])]).rows_at(np.array([2, 0])).columns[0].to_pylist()
        [3, 1]
        """
        if len(indices) == self.rows and bool((indices == np.arange(self.rows)).all()):
            return self
        return Chunk(tuple(column.take(pa.array(indices)) for column in self.columns), len(indices))

    def to_table(self) -> pa.Table:
        """Return the rows as an Arrow table with columns ``c0``, ``c1`` and so on.

        Examples
        --------
        >>> Chunk.of([pa.array([1, 2])]).to_table().to_pydict()
        {'c0': [1, 2]}
        """
        return pa.Table.from_arrays(list(self.columns), names=column_names(len(self.columns)))


def to_stream(chunks: Iterable[Chunk]) -> pa.Buffer:
    """Return the rows of one or more chunks as an Arrow IPC stream. (A pickled slice of an array would include whole buffers.)"""
    return stream_of(chunk.to_table() for chunk in chunks)


def from_stream(stream: bytes | pa.Buffer) -> Chunk:
    """Return the rows of an Arrow IPC stream as a chunk."""
    return Chunk.from_table(table_of(stream))


def column_names(width: int) -> list[str]:
    """Return the engine's names of columns by position: ``c0``, ``c1`` and so on.

    Examples
    --------
    >>> column_names(2)
    ['c0', 'c1']
    """
    return [f"c{position}" for position in range(width)]


def combine(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return one contiguous array with the values of a possibly chunked one."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return column.chunk(0)
        return in_one_array(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column


def joined(first: Chunk, second: Chunk) -> Chunk:
    """Return the rows of two chunks with the same columns, the first before the second."""
    if first.rows and second.rows:
        return stacked([first, second])
    return first if first.rows else second


def stacked(chunks: list[Chunk]) -> Chunk:
    """Return the rows of one or more chunks with the same columns, one after another, and empty the list.

    If nothing else refers to the chunks, at most one column at a time is in memory twice.
    """
    rows, columns = sum(chunk.rows for chunk in chunks), list(zip(*(chunk.columns for chunk in chunks), strict=True))
    chunks.clear()
    return Chunk(tuple(map(in_one_array, drained(columns))), rows)


def concatenate(chunks: Iterable[Chunk], schema: Schema) -> Chunk:
    """Return the rows of any number of chunks, one after another; see :func:`stacked` for the memory that this takes.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> concatenate([Chunk.of([pa.array([1, 2])]), Chunk.of([pa.array([3])])], (INT,)).columns[0].to_pylist()
    [1, 2, 3]
    """
    remaining = list(chunks)
    filled = [chunk for chunk in remaining if chunk.rows]
    if not filled:
        return remaining[0] if remaining else Chunk.empty(schema)
    remaining.clear()
    return filled[0] if len(filled) == 1 else stacked(filled)


def drained(items: list[Item]) -> Iterator[Item]:
    """Yield the items of a list and remove each from it, so that memory is freed while they are used."""
    while items:
        yield items.pop(0)


# Shorter chunks are joined with their neighbours, because each chunk has a fixed cost for everything that iterates over chunks.
MIN_CHUNK_ROWS = 32_768
# A slice keeps its whole array in memory: it is copied if the array takes more than this many times the bytes of the slice.
MAX_BUFFER_RATIO = 4


@attrs.frozen(eq=False)
class ChunkedRows:
    """Several chunks of the same columns, read by row index as if they were one.

    Nothing is copied until rows of several chunks are requested as one array.

    Parameters
    ----------
    chunks
        At least two chunks, none of them empty.
    remembered
        A cache of facts that follow from the values and are costly to compute.

    Examples
    --------
    >>> rows = ChunkedRows((Chunk.of([pa.array([1, 2, 3])]), Chunk.of([pa.array([4])])))
    >>> rows.rows, rows.between(2, 4).columns[0].to_pylist()
    (4, [3, 4])
    """

    chunks: tuple[Chunk, ...]
    remembered: dict[str, Any] = attrs.field(factory=dict, repr=False, kw_only=True)
    # Index of the first row of each chunk, followed by the number of all rows.
    starts: tuple[int, ...] = attrs.field(init=False, repr=False)

    @starts.default
    def _find_starts(self) -> tuple[int, ...]:
        return tuple(itertools.accumulate((chunk.rows for chunk in self.chunks), initial=0))

    @property
    def rows(self) -> int:
        """Number of rows of all chunks."""
        return self.starts[-1]

    @property
    def types(self) -> list[pa.DataType]:
        """The Arrow types of the columns."""
        return self.chunks[0].types

    @property
    def size(self) -> int:
        """Bytes of the rows, as :attr:`Chunk.size`."""
        return sum(chunk.size for chunk in self.chunks)

    def select(self, positions: Sequence[int]) -> ChunkedRows:
        """Return the columns at these positions, in this order."""
        return ChunkedRows(tuple(chunk.select(positions) for chunk in self.chunks))

    def column(self, position: int, start: int, stop: int) -> pa.ChunkedArray:
        """Return one column of rows ``start`` (inclusive) to ``stop`` (exclusive), without copying."""
        arrays = [chunk.columns[0] for chunk in self.chunks_between(start, stop, [position])]
        return pa.chunked_array(arrays, self.types[position])

    def chunks_between(self, start: int, stop: int, positions: Sequence[int]) -> Iterator[Chunk]:
        """Yield some columns of rows ``start`` (inclusive) to ``stop`` (exclusive), chunk by chunk, without copying."""
        start, stop = max(0, start), min(stop, self.rows)
        index = bisect.bisect_right(self.starts, start) - 1
        while start < stop:
            first = self.starts[index]
            yield self.chunks[index].select(positions).slice(start - first, stop - first)
            index += 1
            start = self.starts[index]

    def between(self, start: int, stop: int, positions: Sequence[int] | None = None) -> Chunk:
        """Return some columns of rows ``start`` (inclusive) to ``stop`` (exclusive), each column in one array."""
        positions = range(len(self.types)) if positions is None else positions
        chunks = list(self.chunks_between(start, stop, positions))
        if len(chunks) > 1:
            return stacked(chunks)
        return chunks[0] if chunks else self.chunks[0].select(positions).slice(0, 0)

    def end_of_chunk(self, start: int, stop: int) -> int:
        """Return where a range of rows from ``start`` should end, at most at ``stop``, so that little is copied to read it.

        The range ends with the chunk that holds ``start``, or, if too few rows are left in that chunk, with the last whole chunk before ``stop``.
        """
        index = bisect.bisect_right(self.starts, start)
        if self.starts[index] - start < MIN_CHUNK_ROWS:
            index = max(index, bisect.bisect_right(self.starts, stop) - 1)
        return min(self.starts[index], stop)


def coalesce_chunks(chunks: Iterable[Chunk], schema: Schema) -> Chunk | ChunkedRows:
    """Return the rows of some chunks, with short neighbouring chunks made one; a :class:`Chunk` if only one is left.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> coalesce_chunks([Chunk.of([pa.array([1, 2])]), Chunk.of([pa.array([3])])], (INT,)).rows
    3
    """
    coalesced = [compacted(group[0]) if len(group) == 1 else stacked(group) for group in _groups_of_short(chunks)]
    return ChunkedRows(tuple(coalesced)) if len(coalesced) > 1 else concatenate(coalesced, schema)


def aligned(columns: Sequence[Sequence[pa.Array]], schema: Schema) -> Chunk | ChunkedRows:
    """Return rows from columns that are each split into arrays at different row indices.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> aligned([[pa.array([1, 2]), pa.array([3])], [pa.array([4, 5, 6])]], (INT, INT)).between(1, 3).columns[1].to_pylist()
    [5, 6]
    """
    return coalesce_chunks(aligned_chunks(columns), schema)


def aligned_chunks(columns: Sequence[Sequence[pa.Array]]) -> Iterator[Chunk]:
    """Return an iterator over the rows of :func:`aligned` as chunks, with a new chunk wherever a column is split; no chunk if there are no rows.

    Examples
    --------
    >>> [chunk.rows for chunk in aligned_chunks([[pa.array([1, 2]), pa.array([3])], [pa.array([4]), pa.array([5, 6])]])]
    [1, 1, 1]
    """
    table = pa.table({str(position): pa.chunked_array(list(arrays)) for position, arrays in enumerate(columns)})
    return (Chunk.of(batch.columns) for batch in table.to_batches())


def _groups_of_short(chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    """Yield groups of non-empty chunks: short neighbours together, as long as one array can hold the strings of the group."""
    group: list[Chunk] = []
    rows, size = 0, 0
    for chunk in chunks:
        if not chunk.rows:
            continue
        rows, size = rows + chunk.rows, size + chunk.size
        if group and (rows > 2 * MIN_CHUNK_ROWS or size > MAX_BYTES_OF_ARRAY):
            yield group
            group, rows, size = [], chunk.rows, chunk.size
        group.append(chunk)
    if group:
        yield group


def compacted(chunk: Chunk) -> Chunk:
    """Return the chunk with copies of columns that are small slices of much longer arrays, so that the long arrays can be freed."""
    if not any(map(_is_small_slice, chunk.columns)):
        return chunk
    half = chunk.rows // 2
    return Chunk(tuple(in_one_array([column[:half], column[half:]]) if _is_small_slice(column) else column for column in chunk.columns), chunk.rows)


def _is_small_slice(column: pa.Array) -> bool:
    return bool(column.get_total_buffer_size() > MAX_BUFFER_RATIO * (column.nbytes + MIN_CHUNK_ROWS))
