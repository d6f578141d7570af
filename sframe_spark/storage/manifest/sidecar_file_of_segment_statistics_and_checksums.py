"""Writes and reads the Arrow file beside a manifest of many segments, from which their statistics and checksums are read in blocks when needed.

A file ``_segments-<uuid>.arrow`` has one block with a row for each segment, blocks of checksums for ranges of segments, and blocks of statistics for
groups of columns. The manifest has the positions and checksums of the blocks, and the statistics and sizes of the columns over all rows.
Tasks get sequences with the values of only those columns that they read.
"""

from __future__ import annotations

import itertools
import os
import re
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import StorageError
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.storage.filesystem.io_errors import missing, translate_os_errors
from sframe_spark.storage.filesystem.local_files import open_regular
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.remote_operations import read_range
from sframe_spark.storage.manifest.validation import class_of_values, impossible_segments
from sframe_spark.types import ColumnType
from sframe_spark.values.arrow_layouts import stream_of, table_of

if TYPE_CHECKING:
    from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
    from sframe_spark.storage.manifest.manifest import Manifest


# Blocks: the file is a sequence of Arrow streams, each with its own checksum.

# The start, the end and the checksum of a block.
StoredBlock = tuple[int, int, int]


class BlockWriter:
    """Writes blocks into a file.

    Parameters
    ----------
    stream
        The file, from its start.

    Examples
    --------
    >>> import io
    >>> stream = io.BytesIO()
    >>> start, stop, _ = BlockWriter(stream).add({"number": pa.array([1, 2])})
    >>> start, stop == len(stream.getvalue())
    (0, True)
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.size = 0

    def add(self, columns: dict[str, pa.Array]) -> StoredBlock:
        """Append values, as an Arrow stream of one batch, and return the block."""
        batch = pa.record_batch(list(columns.values()), names=list(columns))
        content = stream_of([batch])
        self._stream.write(content)
        start, self.size = self.size, self.size + content.size
        return start, self.size, zlib.crc32(content)


def block_from_json(value: Any, size: int) -> StoredBlock:
    """Return the start, end and checksum of a block from a JSON value; ``size`` is the size of the file.

    Raises
    ------
    ValueError
        If the value is not a list of these three numbers, or the block is not inside the file.
    """
    if not isinstance(value, list) or len(value) != 3 or not all(type(item) is int and item >= 0 for item in value):
        raise ValueError(f"{value!r:.80} is no block")
    start, stop, checksum = value
    if not start < stop <= size or checksum >= 1 << 32:
        raise ValueError(f"{value!r:.80} is no block of {size} bytes")
    return start, stop, checksum


def read_block(location: str, size: int, block: StoredBlock, schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return the record batch in a block.

    Parameters
    ----------
    location
        The path or URI of the file.
    size
        The size of the file.
    block
        The start, end and checksum of the block.
    schema, rows
        The expected schema and number of rows.

    Raises
    ------
    StorageError
        If the file is missing, is damaged, or was replaced.
    """
    start, stop, checksum = block
    content = read_range(location, start, stop) if is_remote_location(location) else _read_local(location, size, start, stop)
    if len(content) != stop - start or zlib.crc32(content) != checksum:
        raise damaged_file(location, f"the check sum of bytes {start} to {stop} is another one")
    try:
        table = table_of(content)
        # This refuses arrays whose offsets are outside of their buffers.
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise damaged_file(location, str(error).splitlines()[0][:200]) from error
    if not table.schema.equals(schema):
        raise damaged_file(location, f"bytes {start} to {stop} hold other values than they should")
    if table.num_rows != rows:
        raise damaged_file(location, f"bytes {start} to {stop} hold {table.num_rows} values, not {rows}")
    return table.combine_chunks().to_batches()[0] if rows else pa.RecordBatch.from_pylist([], schema)


def _read_local(location: str, size: int, start: int, stop: int) -> bytes:
    with translate_os_errors("read", location):
        try:
            descriptor, status = open_regular(location)
        except FileNotFoundError:
            raise StorageError(missing(location)) from None
        with os.fdopen(descriptor, "rb") as stream:
            if status.st_size != size:
                raise damaged_file(location, f"it has {status.st_size} of {size} bytes")
            stream.seek(start)
            return stream.read(stop - start)


def damaged_file(location: str, reason: str) -> StorageError:
    """Return an error that says that a sidecar file is damaged, and why."""
    return StorageError(f"{location} is damaged or was replaced: {reason}; restore it from a copy or save the frame again")


# Lazy sequences: the values of fields of segment entries, read from the file on access.


class LazyValues(Sequence[Any]):
    """A sequence of values of a segment, read on access. It is equal to any sequence of the same values, and is pickled as a tuple.

    Parameters
    ----------
    stored
        The sidecar file.
    row
        The index of the segment.
    """

    __slots__ = ("row", "stored")

    def __init__(self, stored: StoredSegments, row: int) -> None:
        self.stored, self.row = stored, row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(other) == len(self) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)

    def __repr__(self) -> str:
        return f"<{len(self)} values of segment {self.row} in {self.stored.file}>"

    def _from_start(self, index: int) -> int:
        """Return an index, which may be negative, counted from the start."""
        length = len(self)
        if not -length <= index < length:
            raise IndexError(index)
        return index % length


class SegmentFacts(LazyValues):
    """The statistics of each column of a segment, read on access."""

    __slots__ = ()

    def __len__(self) -> int:
        return self.stored.width

    def __getitem__(self, index: Any) -> Any:
        return self.stored.facts_of(self.row, self._from_start(index))


class SegmentChecksums(LazyValues):
    """The checksums of the page headers of each column of a segment and of its key, read on access."""

    __slots__ = ()

    def __len__(self) -> int:
        return self.stored.width + 1

    def __getitem__(self, index: Any) -> Any:
        return int(self.stored.sums_of(self.row)[self._from_start(index)])

    def __iter__(self) -> Iterator[int]:
        values: list[int] = self.stored.sums_of(self.row).tolist()
        return iter(values)


class GroupChecksums(LazyValues):
    """The checksums of page headers for each row group of a segment, read on access."""

    __slots__ = ("_count",)

    def __init__(self, stored: StoredSegments, row: int, count: int) -> None:
        super().__init__(stored, row)
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        return self.stored.group_sums_of(self.row, self._from_start(index))


# A sidecar file is written for at least this many cells (segments times columns, including the key). With fewer cells, the manifest is a JSON file
# of up to 10 MB, which is parsed in half a second.
MIN_CELLS = 50_000
# Up to this many cells, the statistics of all columns are stored (36 MB); with more, only those of the first columns and of ordered columns.
MAX_FACTS = 1 << 20
FIRST_COLUMNS = 32
# The approximate largest number of values in a block.
BLOCK_VALUES = 1 << 18
# The largest number of cached blocks.
MAX_BLOCKS = 32

_NAME = re.compile(r"(?:data/[0-9a-f]{32}(?:-[0-9a-z-]{1,80})?/)?_segments-[0-9a-f]{32}\.arrow")
_SEGMENTS = pa.schema(
    [
        ("file", pa.string()), ("number", pa.int64()), ("rows", pa.int64()), ("checksum", pa.string()), ("size", pa.int64()),
        ("first_position", pa.int64()), ("tail_length", pa.int64()), ("tail_sum", pa.int64()), ("group_bytes", pa.int64()),
        ("whole", pa.int64()), ("has_sums", pa.bool_()), ("groups", pa.int32()), ("has_facts", pa.bool_()),
    ]
)  # fmt: skip
_SUMS = pa.schema([("sums", pa.uint32())])
_FACT_TYPES: dict[type | None, pa.DataType] = {int: pa.int64(), float: pa.float64(), str: pa.string(), None: pa.null()}
_FLAGS = ("ascending", "descending", "strictly_ascending", "strictly_descending", "constant", "has_missing", "has_nan")
_SCALARS = ("first", "last", "minimum", "maximum")
_EDGES, _BOUNDS, _ALL_FLAGS = 1 << 14, 1 << 15, (1 << 16) - 1
# The lower bits of the flags: each flag has two bits, which are 0 for unknown, 1 for false and 2 for true.
_LOWER_BITS = 0x1555


def needs_sidecar(manifest: Manifest) -> bool:
    """Return whether a manifest has so many segments and columns that a sidecar file is written; False if it has external files."""
    return len(manifest.segments) * (len(manifest.types) + 1) >= MIN_CELLS and all(entry.seen is None for entry in manifest.segments)


def new_name() -> str:
    """Return a new unique name for a sidecar file."""
    return f"_segments-{uuid.uuid4().hex}.arrow"


def is_file_of_segments(name: str) -> bool:
    """Return whether a file name is that of a sidecar file.

    Examples
    --------
    >>> is_file_of_segments(new_name()), is_file_of_segments("_segments-1.arrow")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


class StoredSegments:
    """A sidecar file with the segments of a dataset.

    Parameters
    ----------
    directory
        The directory of the dataset; it is changed when the dataset is moved.
    reference
        The reference to the file in the manifest.
    types
        The types of the columns.
    make
        The class of column statistics.

    Raises
    ------
    ValueError
        If the reference is invalid.
    """

    def __init__(self, directory: str, reference: Mapping[str, Any], types: Sequence[ColumnType], make: type[ColumnStatistics]) -> None:
        self.directory = directory
        self.file, self._size, self.count = reference["file"], _number(reference["size"]), _number(reference["count"])
        if type(self.file) is not str or not is_file_of_segments(self.file):
            raise ValueError(f"{self.file!r:.200} is no name of a file of segments")
        self.width, self._make, self._rows_per_block = len(types), make, max(1, _number(reference["together"]))
        self._kinds = [class_of_values(column_type) for column_type in types]
        self._segments = block_from_json(reference["segments"], self._size)
        self._sums = [block_from_json(block, self._size) for block in reference["sums"]]
        self._group_sums = [block_from_json(block, self._size) for block in reference["group_sums"]]
        self._facts = [(tuple(item["columns"]), block_from_json(item["block"], self._size)) for item in reference["facts"]]
        # For each column, the number of its block of statistics, and its index in the block.
        self._in_blocks = {column: (number, index) for number, (columns, _) in enumerate(self._facts) for index, column in enumerate(columns)}
        self.summary = tuple(make.from_json(facts) for facts in reference["summary"])
        self.column_bytes = tuple(None if total is None else _number(total) for total in reference.get("column_bytes") or (None,) * self.width)
        self._groups: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._read: dict[int, pa.RecordBatch] = {}
        self._segments_id = -1
        if len(self.summary) != self.width or len(self.column_bytes) != self.width or not set(self._in_blocks) <= set(range(self.width)):
            raise ValueError("facts about other columns than there are")
        if len(self._sums) != -(-self.count // self._rows_per_block) or len(self._group_sums) not in (0, len(self._sums)):
            raise ValueError("check sums of other segments than there are")

    def __reduce__(self) -> tuple[Any, ...]:
        # The file is not sent to tasks, which get the statistics and checksums that they need in the entries.
        return _nothing, ()

    def entries(self) -> Iterator[tuple[Any, ...]]:
        """Return an iterator of tuples with the field values of each segment entry, in the order of the fields.

        Raises
        ------
        StorageError
            If the file is missing or damaged.
        """
        batch = self._block(self._segments, _SEGMENTS, self.count)
        if wrong := impossible_segments(batch):
            raise damaged_file(self._location, wrong)
        columns = {name: batch.column(name).to_pylist() for name in _SEGMENTS.names}
        groups = [-1 if count is None else count for count in columns["groups"]]
        if any(count > 0 for count in groups) and not self._group_sums:
            raise damaged_file(self._location, "row groups have no check sums")
        self._groups = np.maximum(np.array(groups, np.int64), 0)
        tails = zip(columns["tail_length"], columns["tail_sum"], strict=True)
        return zip(
            columns["file"],
            columns["number"],
            columns["rows"],
            (SegmentFacts(self, row) if known else () for row, known in enumerate(columns["has_facts"])),
            columns["checksum"],
            columns["size"],
            columns["first_position"],
            (None if None in tail else tail for tail in tails),
            (SegmentChecksums(self, row) if known else None for row, known in enumerate(columns["has_sums"])),
            itertools.repeat(None),
            itertools.repeat(()),
            columns["group_bytes"],
            (None if count < 0 else GroupChecksums(self, row, count) for row, count in enumerate(groups)),
            columns["whole"],
            strict=False,
        )

    def remember(self, segments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Record that a tuple of entries was created from this file, and return it."""
        self._segments_id = id(segments)
        return segments

    def is_of(self, segments: tuple[Any, ...]) -> bool:
        """Return whether a tuple of entries is the one for which :meth:`remember` was called."""
        return id(segments) == self._segments_id

    @property
    def _location(self) -> str:
        return join(self.directory, self.file)

    def _block(self, block: StoredBlock, schema: pa.Schema, rows: int) -> pa.RecordBatch:
        return read_block(self._location, self._size, block, schema, rows)

    def _cached(self, block: StoredBlock, schema: pa.Schema, rows: int) -> pa.RecordBatch:
        batch = self._read.get(block[0])
        if batch is None:
            batch = self._block(block, schema, rows)
            # The dict is replaced instead of changed, since other threads may read it.
            self._read = {**(self._read if len(self._read) < MAX_BLOCKS else {}), block[0]: batch}
        return batch

    def check_all(self) -> None:
        """Read and check all blocks of checksums and statistics.

        Raises
        ------
        StorageError
            If the file is missing or damaged.
        """
        for row in range(0, self.count, self._rows_per_block):
            self.sums_of(row)
            if self._groups[row : row + self._rows_per_block].sum():
                self.group_sums_of(row, 0)
        for columns, _ in self._facts:
            self._facts_block(columns[0])

    def sums_of(self, row: int) -> npt.NDArray[np.uint32]:
        """Return the checksums of the page headers of the columns of a segment and of its key."""
        number, index = divmod(row, self._rows_per_block)
        width = self.width + 1
        rows = min(self._rows_per_block, self.count - number * self._rows_per_block) * width
        sums: npt.NDArray[np.uint32] = self._cached(self._sums[number], _SUMS, rows).column(0).to_numpy(zero_copy_only=False)
        return sums[index * width : (index + 1) * width]

    def group_sums_of(self, row: int, group: int) -> tuple[int, ...]:
        """Return the checksums of the page headers of the columns and the key in one row group of a segment."""
        number = row // self._rows_per_block
        counts = self._groups[number * self._rows_per_block : (number + 1) * self._rows_per_block]
        width = self.width + 1
        first = (int(counts[: row - number * self._rows_per_block].sum()) + group) * width
        sums = self._cached(self._group_sums[number], _SUMS, int(counts.sum()) * width).column(0)
        return tuple(sums.slice(first, width).to_pylist())

    def facts_of(self, row: int, column: int) -> ColumnStatistics:
        """Return the statistics of a column of a segment; unknown statistics if the file has none of the column."""
        if column not in self._in_blocks:
            return self._make()
        batch, first = self._facts_block(column)
        flags, *scalars = (values[first + row].as_py() for values in batch.columns)
        known: dict[str, Any] = {name: (None, False, True)[flags >> 2 * bit & 3] for bit, name in enumerate(_FLAGS)}
        return self._make(**known, edges_known=bool(flags & _EDGES), bounds_known=bool(flags & _BOUNDS), **dict(zip(_SCALARS, scalars, strict=True)))

    def bounds_of(self, column: int) -> tuple[npt.NDArray[np.bool_], pa.Array, pa.Array] | None:
        """Return for all segments whether the bounds of a column are known, the minima, and the maxima; None if the file has none of the column."""
        if column not in self._in_blocks:
            return None
        batch, first = self._facts_block(column)
        part = batch.slice(first, self.count)
        known = (part.column("flags").to_numpy() & _BOUNDS).astype(bool)
        return known, part.column("minimum"), part.column("maximum")

    def _facts_block(self, column: int) -> tuple[pa.RecordBatch, int]:
        """Return the block with the statistics of a column, and the row of the block at which they start."""
        number, index = self._in_blocks[column]
        columns, block = self._facts[number]
        is_new = block[0] not in self._read
        batch = self._cached(block, facts_schema(self._kinds[column]), len(columns) * self.count)
        if is_new and (wrong := _impossible_fact(batch)):
            raise damaged_file(self._location, wrong)
        return batch, index * self.count


def _impossible_fact(batch: pa.RecordBatch) -> str | None:
    """Return what is wrong with a block of statistics; None if all values are possible."""
    if any(column.null_count for column in batch.columns[:1]):
        return "facts about a column are missing"
    flags = batch.column("flags").to_numpy()
    if ((flags & ~_ALL_FLAGS) | (flags & flags >> 1 & _LOWER_BITS)).any():
        return "a fact about a column is neither true nor false"
    low, high = batch.column("minimum"), batch.column("maximum")
    if pa.types.is_null(low.type):
        return None
    is_known = pa.array((flags & _BOUNDS).astype(bool))
    in_order = pc.fill_null(pc.less_equal(low, high), pc.and_(pc.is_null(low), pc.is_null(high)))
    return None if pc.all(pc.or_(in_order, pc.invert(is_known)), min_count=0).as_py() else "no values lie between bounds of a column"


def facts_schema(kind: type | None) -> pa.Schema:
    """Return the schema of a block of statistics whose values are of the Python class ``kind``, or are not recorded if it is None."""
    return pa.schema([("flags", pa.int32()), *((name, _FACT_TYPES[kind]) for name in _SCALARS)])


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"{value!r:.30} is no number of anything")
    return value


def _nothing() -> None:
    """Return None, which replaces a :class:`StoredSegments` when it is unpickled."""


def write_segments(stream: BinaryIO, file: str, manifest: Manifest, summary: Sequence[ColumnStatistics]) -> dict[str, Any]:
    """Write the segments of a manifest to a sidecar file, and return the reference to the file for the manifest.

    Parameters
    ----------
    stream, file
        The open file, and its name in the directory of the dataset.
    manifest
        The manifest.
    summary
        The statistics of each column over all rows.
    """
    entries, width, writer = manifest.segments, len(manifest.types), BlockWriter(stream)
    rows_per_block = max(1, BLOCK_VALUES // (width + 1))
    segments = writer.add(_segment_columns(entries))
    runs = [entries[start : start + rows_per_block] for start in range(0, len(entries), rows_per_block)]
    nothing = [0] * (width + 1)
    sums = [writer.add({"sums": _sums(value for entry in run for value in (nothing if entry.pages is None else entry.pages))}) for run in runs]
    has_groups = any(entry.group_pages for entry in entries)
    group_sums = [
        writer.add({"sums": _sums(value for entry in run for group in entry.group_pages or () for value in group)}) for run in runs if has_groups
    ]
    facts = [{"columns": columns, "block": writer.add(_facts_columns(manifest, columns))} for columns in _column_blocks(manifest, summary)]
    return {
        "file": file,
        "size": writer.size,
        "count": len(entries),
        "segments": segments,
        "together": rows_per_block,
        "sums": sums,
        "group_sums": group_sums,
        "facts": facts,
        "summary": [known.to_json() for known in summary],
        "column_bytes": list(manifest.column_bytes),
    }


def _sums(values: Iterator[int]) -> pa.Array:
    return pa.array(np.fromiter(values, np.uint32), pa.uint32())


def _segment_columns(entries: Sequence[Any]) -> dict[str, pa.Array]:
    values: dict[str, list[Any]] = {
        **{name: [getattr(entry, name) for entry in entries] for name in ("file", "number", "rows", "checksum", "size", "first_position")},
        "tail_length": [None if entry.tail is None else entry.tail[0] for entry in entries],
        "tail_sum": [None if entry.tail is None else entry.tail[1] for entry in entries],
        "group_bytes": [entry.group_bytes for entry in entries],
        "whole": [entry.whole for entry in entries],
        "has_sums": [entry.pages is not None for entry in entries],
        "groups": [None if entry.group_pages is None else len(entry.group_pages) for entry in entries],
        "has_facts": [len(entry.columns) > 0 for entry in entries],
    }
    return {field.name: pa.array(values[field.name], field.type) for field in _SEGMENTS}


def _column_blocks(manifest: Manifest, summary: Sequence[ColumnStatistics]) -> Iterator[list[int]]:
    """Yield, for each block of statistics, the positions of its columns, whose values are all of one Python class."""
    width, count = len(manifest.types), len(manifest.segments)
    indexed = set(range(width if width * count <= MAX_FACTS else min(width, FIRST_COLUMNS)))
    indexed |= {column for ordering in manifest.order.orderings for column, _ in ordering}
    indexed |= {column for column, known in enumerate(summary) if known.ascending or known.descending}
    for _, run in itertools.groupby(sorted(indexed), key=lambda column: class_of_values(manifest.types[column])):
        columns, per_block = list(run), max(1, BLOCK_VALUES // count)
        yield from (columns[start : start + per_block] for start in range(0, len(columns), per_block))


def _facts_columns(manifest: Manifest, columns: Sequence[int]) -> dict[str, pa.Array]:
    facts = [entry.columns[column] if len(entry.columns) else None for column in columns for entry in manifest.segments]
    kind = _FACT_TYPES[class_of_values(manifest.types[columns[0]])]
    scalars = {name: pa.array([None if known is None else getattr(known, name) for known in facts], kind, from_pandas=False) for name in _SCALARS}
    return {"flags": pa.array([0 if known is None else _flags(known) for known in facts], pa.int32()), **scalars}


def _flags(known: ColumnStatistics) -> int:
    values = [getattr(known, name) for name in _FLAGS]
    pairs = sum((0 if value is None else 1 + value) << 2 * bit for bit, value in enumerate(values))
    return pairs | (_EDGES if known.edges_known else 0) | (_BOUNDS if known.bounds_known else 0)


# Sequences for tasks, with the values of only those columns that a task reads.


class SelectedValues(Sequence[Any]):
    """A sequence of which only some values are known, at their original indices.

    Parameters
    ----------
    length
        The length of the sequence.
    values
        The known values, by index.
    otherwise
        The value at all other indices; if it is None, accessing one raises a StorageError.

    Examples
    --------
    >>> some = SelectedValues.of([10, 11, 12, 13], [2, -1])
    >>> len(some), some[2], some[-1]
    (4, 12, 13)
    """

    __slots__ = ("length", "otherwise", "values")

    def __init__(self, length: int, values: dict[int, Any], otherwise: Any = None) -> None:
        self.length, self.values, self.otherwise = length, values, otherwise

    @classmethod
    def of(cls, values: Sequence[Any], indices: Iterable[int], otherwise: Any = None) -> SelectedValues:
        """Return a sequence with the values at some indices of another sequence, whose other values are not accessed, as that might read a file."""
        return cls(len(values), {index % len(values): values[index] for index in indices}, otherwise)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Any) -> Any:
        if not -self.length <= index < self.length:
            raise IndexError(index)
        value = self.values.get(index % self.length, self.otherwise)
        if value is None:
            raise StorageError(f"a task does not know column {index} of a segment: this is a fault of the engine, please report it")
        return value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SelectedValues):
            return (self.length, self.values, self.otherwise) == (other.length, other.values, other.otherwise)
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.length, frozenset(self.values)))

    def __reduce__(self) -> tuple[Any, ...]:
        return SelectedValues, (self.length, self.values, self.otherwise)
