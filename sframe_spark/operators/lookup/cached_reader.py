"""Lookup: reads rows of a source by index, or finds its blocks by key, through a cache of limited size; only the blocks that are needed are read."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.errors import PlanInvariantError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, Source
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.process.memory import work_memory
from sframe_spark.pyarrow_versions import has_bounds

with lazy_imports(globals()):
    from sframe_spark.compute.bytes_of_array_values import uneven_bytes
    from sframe_spark.compute.sorting_and_searching import order_of, search_sorted
    from sframe_spark.operators.lookup.key_numbers_and_group_codes import Numbers, Positions, key_numbers
    from sframe_spark.operators.sources.segments_read_in_spark import segments_in_range
    from sframe_spark.storage.manifest.manifest import SegmentEntry
    from sframe_spark.storage.manifest.physical_types import order_column
    from sframe_spark.storage.parquet.footer import segment_footer
    from sframe_spark.storage.segments.reader import coalesced_segments

# A block is the unit that a lookup reads and caches.

# Rows per block of a source without segments, and the most rows of several segments combined into one block.
BLOCK_ROWS = 131_072
# Limits of a block that combines several segments. Each segment is a file to open, and parallel tasks may each read the same block.
MAX_BLOCK_BYTES = 32 * 1024 * 1024
MAX_BLOCK_SEGMENTS = 64
# Row groups larger than this many bytes are divided into several blocks. Only files that other programs wrote have such row groups.
LARGEST_BLOCK_BYTES = 128 * 1024 * 1024


@attrs.frozen(eq=False)
class RowBlock:
    """A block: consecutive rows of a source that a lookup reads together.

    Parameters
    ----------
    start
        Index of the first row.
    entry
        The segment in which the block starts; None for sources without segments.
    group
        Index of the row group whose first row starts the block; None if the block starts inside a row group, or the source has no segments.
    segments
        Number of segments in the block.
    """

    start: int
    entry: SegmentEntry | None = None
    group: int | None = None
    segments: int = 1


def blocks_of(source: Source) -> tuple[RowBlock, ...]:
    """Divide the rows of a source into blocks.

    A block of a stored segment is one row group, or a part of a very large one. Short segments that hold one row group each according to the
    manifest are combined into one block, without opening their files.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sframe_spark.operators.sources.in_memory import MemorySource
    >>> from sframe_spark.planner.chunk import Chunk
    >>> from sframe_spark.types import INT
    >>> [block.start for block in blocks_of(MemorySource.of(Chunk.of([pa.array([1, 4, 9])]), (INT,)))]
    [0]
    """
    if not isinstance(source, SegmentSource):
        return tuple(RowBlock(start) for start in range(0, source.row_count, BLOCK_ROWS))
    result: list[RowBlock] = []
    entries = ((entry, offset) for offset, entry in segments_in_range(source))
    for run in coalesced_segments(entries, lambda entry: entry.group_bytes, BLOCK_ROWS, MAX_BLOCK_BYTES, MAX_BLOCK_SEGMENTS):
        entry, offset = run[0]
        if entry.group_bytes is None:
            result += _row_groups(source, entry, offset)
        else:
            result.append(RowBlock(max(offset - source.start, 0), entry, 0, len(run)))
    return tuple(result)


def _row_groups(source: SegmentSource, entry: SegmentEntry, offset: int) -> Iterator[RowBlock]:
    """Yield a block for each row group of a segment that holds rows of the source; a row group that is too large is divided into several blocks."""
    starts = segment_footer(source.manifest.directory, entry).starts
    for group, (low, high) in enumerate(itertools.pairwise(starts)):
        first, parts = offset + low - source.start, 1
        if not source.manifest.has_key and high - low > 1:
            size = row_bytes(source.sizes_between(first, first + high - low), 0)
            parts = max(1, min(high - low, int(size) // LARGEST_BLOCK_BYTES))
        bounds = [first + (high - low) * part // parts for part in range(parts + 1)]
        for part, (start, stop) in enumerate(itertools.pairwise(bounds)):
            if start < source.row_count and stop > 0:
                yield RowBlock(max(start, 0), entry, None if part else group)


def recorded_first_key(source: Source, block: RowBlock, column: int) -> tuple[bool, Any]:
    """Return a lower bound of the keys in a block of a source that is sorted by a column, without reading rows.

    The result is a pair: whether a bound is known, and the bound, usually the first key of the block (None: the first key is missing).
    """
    entry, group = block.entry, block.group
    # Files of other writers may hold the column in another type, and their bounds may be truncated.
    if not isinstance(source, SegmentSource) or source.manifest.column_names_in_files is not None or entry is None or group is None:
        return False, None
    manifest, position = source.manifest, source.positions[column]
    if not group and len(entry.columns) > position and entry.columns[position].edges_known:
        first = entry.columns[position].first
        # If NaN is recorded as the first value, the first value counts as unknown.
        return (True, first) if first == first else (False, None)
    footer = segment_footer(manifest.directory, entry)
    name = order_column(manifest.file_name(position), manifest.types[position])
    statistics = footer.metadata.row_group(group).column(footer.places[name]).statistics
    if statistics is None or not statistics.has_null_count:
        return False, None
    if statistics.null_count:
        return True, None
    is_known = has_bounds(statistics) and statistics.min_raw == statistics.min_raw
    return is_known, statistics.min_raw if is_known else None


def recorded_maximum(source: Source, block: RowBlock, column: int) -> tuple[bool, Any]:
    """Return a number that no value of a column in a block exceeds (None if all are missing or NaN), without reading rows.

    The result is a pair: whether such a number is known, and the number.
    """
    entry = block.entry
    if not isinstance(source, SegmentSource) or source.manifest.column_names_in_files is not None or entry is None or block.segments > 1:
        return False, None
    position = source.positions[column]
    if len(entry.columns) <= position or not entry.columns[position].bounds_known:
        return False, None
    return True, entry.columns[position].maximum


# Limit of cached block columns: so many bytes, or one part in SHARE_OF_WORK of the memory for work if that is less. Each thread has its own cache.
CACHE_BYTES, SHARE_OF_WORK = 128 * 1024 * 1024, 8

OUT_OF_ORDER = "the rows to search are not in ascending order of the key; if assume_sorted() was used without a check, it was wrong"

Value = TypeVar("Value")


@attrs.frozen(eq=False)
class Fences:
    """Keys at the starts of the blocks of a source sorted by key: no key of block *b* is below ``keys[b - missing]``.

    Parameters
    ----------
    keys
        Lower bounds of the keys of each block, without the first ``missing`` blocks; ascending, NaN last.
    missing
        Number of leading blocks that start with a missing key.
    """

    keys: Numbers
    missing: int

    def last_block_from(self, keys: Numbers, including: bool) -> Positions:
        """Return for each key the last block that starts with a smaller key (``including``: or an equal one); -1 if there is none."""
        return search_sorted(self.keys, keys, "right" if including else "left") + (self.missing - 1)


@attrs.define(eq=False)
class LruCache:
    """A least-recently-used cache with a size limit, which only the values of the same family as the latest value may together exceed.

    Examples
    --------
    >>> cache = LruCache(10)
    >>> cache.put("a", 1, 6)
    >>> cache.put("b", 2, 6)
    >>> cache.get("a"), cache.get("b")
    (None, 2)
    >>> cache.put("c", 3, 9, "cd"), cache.put("d", 4, 9, "cd")
    (None, None)
    >>> [cache.get(key) for key in "bcd"]
    [None, 3, 4]
    """

    max_size: int
    _total: int = 0
    _values: OrderedDict[Hashable, tuple[Any, int, Hashable]] = attrs.field(factory=OrderedDict)

    def get(self, key: Hashable) -> Any:
        """Return the cached value and mark it as used; None if it is not cached."""
        result = self._values.get(key)
        if result is None:
            return None
        self._values.move_to_end(key)
        return result[0]

    def put(self, key: Hashable, value: Any, size: int, family: Hashable = None) -> None:
        """Cache a value. Above the size limit the least recently used values of other families are evicted, but no value of ``family``."""
        family = key if family is None else family
        replaced = self._values.pop(key, None)
        self._values[key] = (value, size, family)
        self._total += size - (0 if replaced is None else replaced[1])
        while self._total > self.max_size:
            other = next((other for other, (_, _, value_family) in self._values.items() if value_family != family), None)
            if other is None:
                break
            self._total -= self._values.pop(other)[1]


@attrs.define(eq=False)
class Lookup:
    """A source whose rows are read by index, or found by key if the source is sorted by a column.

    Whole columns of a block are read and cached, up to the cache limit.

    Parameters
    ----------
    source
        The source to read.
    blocks
        Blocks of the source.
    starts
        Index of the first row of each block, followed by the number of rows of the source.
    blocks_read
        Number of block reads so far.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> lookup = Lookup.of(MemorySource.of(Chunk.of([pa.array([1, 4, 9])]), (INT,)))
    >>> lookup.rows, lookup.read(1, 3).columns[0].to_pylist()
    (3, [4, 9])
    >>> lookup.take(np.array([2, -1]), [0]).columns[0].to_pylist()
    [9, None]
    """

    source: Source
    blocks: tuple[RowBlock, ...]
    starts: Positions
    blocks_read: int = 0
    _columns: LruCache = attrs.field(factory=lambda: LruCache(min(CACHE_BYTES, work_memory() // SHARE_OF_WORK)))
    _fences: dict[tuple[int, bool], Fences] = attrs.field(factory=dict)
    _notes: dict[Hashable, Any] = attrs.field(factory=dict)

    @classmethod
    def of(cls, source: Source) -> Lookup:
        """Return a lookup over the rows of a source."""
        blocks = blocks_of(source)
        return cls(source, blocks, np.array([*(block.start for block in blocks), source.row_count] if blocks else [0], dtype=np.int64))

    @classmethod
    def of_rows(cls, rows: Chunk, schema: Schema) -> Lookup:
        """Return a lookup over rows in memory. Nothing is read or copied, so the cache limit does not depend on free memory."""
        source = MemorySource.of(rows, schema)
        return cls(source, blocks := blocks_of(source), np.array([*(block.start for block in blocks), rows.rows]), columns=LruCache(CACHE_BYTES))

    @cached_property
    def schema(self) -> Schema:
        """Types of the columns of the source."""
        return self.source.infer_type(())

    @property
    def rows(self) -> int:
        """Number of rows of the source."""
        return int(self.starts[-1])

    @property
    def block_count(self) -> int:
        """Number of blocks."""
        return len(self.starts) - 1

    def for_reader(self) -> Lookup:
        """Return a lookup with the same blocks and cache but without notes.

        Notes are found by operator, and another operator that is equal may search another input.
        """
        return attrs.evolve(self, notes={})

    def note(self, owner: Hashable, build: Callable[[], Value]) -> Value:
        """Return a value that an operator reuses between the batches of one task; ``build`` makes it on first use."""
        if owner not in self._notes:
            self._notes[owner] = build()
        result: Value = self._notes[owner]
        return result

    def block(self, number: int, columns: Sequence[int]) -> Chunk:
        """Return some columns of a block; those that are not cached are read together."""
        result = {column: self._columns.get((number, column)) for column in columns}
        unread = [column for column, values in result.items() if values is None]
        if unread and self.blocks[number].segments > 1:
            # Opening many files takes most of the time: reading one column takes about as long as reading all.
            unread += [column for column in range(len(self.schema)) if column not in result and self._columns.get((number, column)) is None]
        if unread:
            result.update(zip(unread, self._read(number, unread), strict=True))
        first = int(self.starts[number])
        return Chunk(tuple(result[column] for column in columns), int(self.starts[number + 1]) - first)

    def _read(self, number: int, columns: Sequence[int]) -> list[pa.Array]:
        arrays = self._columns_between(int(self.starts[number]), int(self.starts[number + 1]), columns)
        self.blocks_read += 1
        for column, values in zip(columns, arrays, strict=True):
            # The columns of one block are one family, so that even a block larger than the cache limit stays cached for the next batch.
            self._columns.put((number, column), values, values.nbytes, number)
        return arrays

    def _columns_between(self, start: int, stop: int, columns: Sequence[int]) -> list[pa.Array]:
        narrowed = self.source.with_columns(columns)
        if narrowed is None:
            return list(self.source.read(start, stop).select(columns).columns)
        return list(narrowed.read(start, stop).columns)

    def read(self, start: int, stop: int, columns: Sequence[int] | None = None) -> Chunk:
        """Return rows ``start`` (inclusive) to ``stop`` (exclusive) of some columns (default: all), read through the block cache."""
        chosen = range(len(self.schema)) if columns is None else columns
        parts = []
        number = max(int(np.searchsorted(self.starts, start, side="right")) - 1, 0)
        while number < self.block_count and self.starts[number] < stop:
            first = int(self.starts[number])
            parts.append(self.block(number, chosen).slice(max(start - first, 0), stop - first))
            number += 1
        return concatenate(parts, tuple(self.schema[column] for column in chosen))

    def next_rows(self, start: int, stop: int) -> Chunk:
        """Return rows ``start`` to ``stop`` with all columns, for sequential reads: each row is decoded once and no block is cached."""
        return self.note("reader", lambda: self.source.reader(0)).read(start, stop)

    def take(self, positions: Positions, columns: Sequence[int]) -> Chunk:
        """Return the rows at some indices, in the order of ``positions``; for each -1 a row of missing values."""
        result = positions >= 0
        if not result.any():
            return Chunk(tuple(pa.nulls(len(positions), self.schema[column].physical) for column in columns), len(positions))
        numbers = search_sorted(self.starts, positions, "right") - 1
        # An index of -1 gets the block of the index before it, so that block numbers of ascending indices stay ascending.
        numbers = numbers if result.all() else filled_forward(numbers, result)
        order = None if bool((numbers[1:] >= numbers[:-1]).all()) else order_of([numbers])
        if order is not None:
            numbers, positions = numbers[order], positions[order]
        parts = [self._take_from(int(numbers[a]), positions[a:b], columns) for a, b in runs(numbers)]
        rows = concatenate(parts, tuple(self.schema[column] for column in columns))
        if order is None:
            return rows
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        return rows.rows_at(back)

    def _take_from(self, number: int, positions: Positions, columns: Sequence[int]) -> Chunk:
        missing = positions < 0
        places = pa.array(positions - int(self.starts[number]), mask=missing if missing.any() else None)
        block = self.block(number, columns)
        return Chunk(tuple(column.take(places) for column in block.columns), len(positions))

    def uneven_bytes(self, positions: Positions, columns: Sequence[int]) -> Positions:
        """Estimate the bytes that rows take in columns of variable width, for each row index; 0 for an index of -1."""
        sizes = np.zeros(len(positions), dtype=np.int64)
        numbers = np.where(positions >= 0, np.searchsorted(self.starts, positions, side="right") - 1, -1)
        for number in np.unique(numbers[numbers >= 0]) if columns else ():
            block, in_block = self.block(int(number), columns), numbers == number
            sizes[in_block] = uneven_bytes(block.columns, block.rows)[positions[in_block] - self.starts[number]]
        return sizes

    def fences(self, column: int, as_float: bool = False) -> Fences:
        """Return the keys at the starts of the blocks; the source must be in ascending order of the column.

        Raises
        ------
        PlanInvariantError
            If these keys are not in ascending order (missing first, NaN last).
        """
        result = self._fences.get((column, as_float))
        if result is None:
            firsts = [self._first(number, column) for number in range(self.block_count)]
            missing = next((position for position, first in enumerate(firsts) if first is not None), len(firsts))
            is_float = as_float or self.schema[column].kind == "float"
            if None in firsts[missing:]:
                raise PlanInvariantError(OUT_OF_ORDER)
            keys = np.array(firsts[missing:], dtype=np.float64 if is_float else np.int64)
            # NaN must come last. Comparisons with NaN are false, so NaN needs a test of its own.
            if bool((keys[1:] < keys[:-1]).any() or (np.isnan(keys[:-1]) & ~np.isnan(keys[1:])).any()):
                raise PlanInvariantError(OUT_OF_ORDER)
            result = Fences(keys, missing)
            self._fences[(column, as_float)] = result
        return result

    def _first(self, number: int, column: int) -> Any:
        """Return the first key of a block: from statistics if known, otherwise read from the first row; None if the key is missing."""
        is_known, value = recorded_first_key(self.source, self.blocks[number], column)
        if is_known:
            return value
        (cell,) = self._columns_between(int(self.starts[number]), int(self.starts[number]) + 1, [column])
        return key_numbers(cell, self.schema[column])[0][0].item() if cell[0].is_valid else None


def as_lookup(rows: Any, schema: Schema) -> Lookup:
    """Return ``rows`` if it is a lookup already, otherwise a lookup over the rows of a chunk."""
    return rows if isinstance(rows, Lookup) else Lookup.of_rows(rows, schema)


def runs(numbers: Positions) -> list[tuple[int, int]]:
    """Return start and end (exclusive) of each run of equal numbers.

    Examples
    --------
    >>> runs(np.array([4, 4, 7]))
    [(0, 2), (2, 3)]
    """
    if not len(numbers):
        return []
    edges = [0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist(), len(numbers)]
    return list(itertools.pairwise(edges))


def filled_forward(numbers: Positions, valid: np.ndarray[Any, Any]) -> Positions:
    """Replace each number that is not valid by the last valid one before it, or by the first valid one if none is before it.

    Examples
    --------
    >>> filled_forward(np.array([9, 5, 9, 6]), np.array([False, True, False, True])).tolist()
    [5, 5, 5, 6]
    """
    positions = np.maximum.accumulate(np.where(valid, np.arange(len(numbers)), -1))
    positions[positions < 0] = int(np.argmax(valid))
    filled: Positions = numbers[positions]
    return filled
