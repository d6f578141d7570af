"""Opens archives of Turi Create: columns and rows from the index files, and a reader of rows by number."""

from __future__ import annotations

import bisect
import contextlib
import functools
import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from types import TracebackType
from typing import TypeVar

import attrs
import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import ArchiveDateError, ArchiveTextError, BrokenPayload, InvalidArgumentError, MisfitError, NarrowTypeError, StorageError
from sframe_spark.locations import normalised
from sframe_spark.message_text import visible
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.filesystem.file_kind import ARCHIVE_FILE, ARCHIVE_INDEXES, ARRAY_INDEX, FRAME_INDEX
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import wait_for_tick
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.manifest.manifest import SARRAY, SFRAME
from sframe_spark.turicreate.block import COLUMN_TYPES, Block, BlockForm, kind_of
from sframe_spark.turicreate.file_format import (
    BLANKS,
    Allowed,
    ArchiveFile,
    ColumnBlocks,
    IndexedColumn,
    IndexedFrame,
    IndexReader,
    NamedFile,
    archive_index,
    damaged_file,
    footer_of,
    opened,
    read_bytes,
    require_unchanged,
    state_of,
    unpacked,
)
from sframe_spark.turicreate.number_decoding import OUT_OF_YEARS
from sframe_spark.turicreate.object_decoding import MISSING
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, FLOAT, ZONED_DATETIME, ColumnType
from sframe_spark.values.decode import decode
from sframe_spark.values.infer import encoding_for

# --- Column names, which the index stores without quoting


def named(found: Sequence[bytes], decode: Callable[[bytes], str], location: str) -> list[str]:
    """Return unique column names, stripped of surrounding blanks where that keeps them unique, as Turi Create does.

    Names that are equal when stripped keep their blanks; equal ones get numbers.

    Raises
    ------
    StorageError
        If one is no text.

    Examples
    --------
    >>> named([b" a", b"b", b"b ", b"b"], bytes.decode, "x")
    ['a', 'b', 'b ', 'b.1']
    """
    try:
        texts = list(map(decode, found))
    except UnicodeDecodeError as error:
        broken = f"{visible(location)}: the name of a column is {error.object[:40]!r}, which is not UTF-8"
        raise StorageError(f"{broken}: encoding_errors='latin-1' or 'replace' (--encoding-errors) reads it all the same") from None
    blanks = BLANKS.decode()
    counts = Counter(text.strip(blanks) for text in texts)
    # The next suffix to try for each used name.
    used: dict[str, int] = {}
    for text in texts:
        stripped = text.strip(blanks)
        name = _free(stripped if counts[stripped] == 1 else text, used)
        used[name] = 1
    return list(used)


def _free(name: str, used: dict[str, int]) -> str:
    candidate = name
    while candidate in used:
        candidate = f"{name}.{used[name]}"
        used[name] += 1
    return candidate


# --- Archives


# The name of a single column that is opened as a frame.
COLUMN_NAME = b"X1"
# Even a constant column has fewer rows per byte than this.
ROWS_OF_A_BYTE = 64
STRICT, LATIN = "strict", "latin-1"
# Handling of strings that are not UTF-8: an error handler of Python, or another encoding.
ENCODING_ERRORS = (STRICT, "replace", "backslashreplace", "ignore", LATIN)


@attrs.frozen
class ColumnPart:
    """The rows of a column in one segment file.

    Parameters
    ----------
    file
        Number of the file, among those of the archive.
    column
        Number of the column in the file.
    rows
        How many rows it has there, one at least.
    """

    file: int
    column: int
    rows: int


@attrs.frozen
class ArchiveColumn:
    """A column of an archive.

    Parameters
    ----------
    name, column_type
        What it is called, and what it becomes.
    parts
        Where its rows are, in their order.
    """

    name: str
    column_type: ColumnType
    parts: tuple[ColumnPart, ...]

    @functools.cached_property
    def starts(self) -> tuple[int, ...]:
        """Number of the first row of each part, and at the end the number of rows."""
        return tuple(itertools.accumulate((part.rows for part in self.parts), initial=0))

    def between(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Yield each part that intersects a range of rows, with the range inside the part.

        Examples
        --------
        >>> from sframe_spark.types import INT
        >>> list(ArchiveColumn("a", INT, (ColumnPart(0, 0, 5), ColumnPart(1, 0, 3))).between(4, 6))
        [(0, 4, 5), (1, 0, 1)]
        """
        number = max(bisect.bisect_right(self.starts, first) - 1, 0)
        while number < len(self.parts) and self.starts[number] < last:
            start = self.starts[number]
            low, high = max(first - start, 0), min(last - start, self.parts[number].rows)
            if low < high:
                yield number, low, high
            number += 1


@attrs.frozen
class Contents:
    """The columns, rows and files of an archive.

    Parameters
    ----------
    kind
        ``sframe`` or ``sarray``.
    columns
        The columns.
    files
        The segment files that hold rows of them.
    rows
        How many rows there are.
    version
        Identifies the state of the index and segment files.
    narrowed
        Columns that are read as narrower types than the index declares.
    """

    kind: str
    columns: tuple[ArchiveColumn, ...]
    files: tuple[ArchiveFile, ...]
    rows: int
    version: str
    narrowed: tuple[tuple[int, ColumnType], ...] = ()


NOT_OPENED = Contents(SFRAME, (), (), 0, "")


@attrs.frozen
class Archive:
    """A frame or a column that Turi Create saved; it is never written.

    Parameters
    ----------
    location
        Its directory, or one of its index files.
    references
        Directories in which files that it names may be, besides its own.
    encoding_errors
        What is done about texts that are not UTF-8: one of :data:`ENCODING_ERRORS`.
    contents
        Its contents when it was opened.
    """

    location: str
    references: tuple[str, ...] = ()
    encoding_errors: str = STRICT
    contents: Contents = attrs.field(default=NOT_OPENED, eq=False, repr=False)

    @property
    def identity(self) -> tuple[object, ...]:
        """Identifies its rows, also among later archives in the same place."""
        return (self.location, self.references, self.encoding_errors, self.contents.version, self.contents.narrowed)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.contents.rows

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.contents.columns]

    @property
    def size(self) -> int:
        """How many bytes the segment files have."""
        return sum(file.state.size for file in self.contents.files)

    def with_types(self, types: Mapping[int, ColumnType]) -> Archive:
        """Return the archive with other types, of the same kinds, of some columns."""
        columns = enumerate(self.contents.columns)
        changed = tuple(attrs.evolve(column, column_type=types.get(position, column.column_type)) for position, column in columns)
        narrowed = tuple(sorted(types.items(), key=itemgetter(0)))
        return attrs.evolve(self, contents=attrs.evolve(self.contents, columns=changed, narrowed=narrowed))

    def require_unchanged(self) -> None:
        """Make sure that the files are as they were when it was opened; costs one call of the system for each.

        Raises
        ------
        StorageError
            If one is not.
        """
        for file in self.contents.files:
            require_unchanged(file)

    def form(self, position: int) -> BlockForm:
        """Return how the blocks of a column are decoded."""
        return BlockForm(self.contents.columns[position].column_type, functools.partial(decoded, errors=self.encoding_errors))

    def as_read(self) -> Archive:
        """Open the archive again, for a plan that was read from text."""
        if normalised(self.location) != self.location:
            raise StorageError(f"the plan reads from {visible(self.location)!r:.200}, which is not an absolute path: write it out")
        return open_archive(self.location, self.references, self.encoding_errors)


def decoded(content: bytes, errors: str = STRICT) -> str:
    """Decode UTF-8 bytes, with the given error handling.

    Examples
    --------
    >>> [decoded(b"caf\\xe9", errors) for errors in ENCODING_ERRORS[1:]]
    ['caf�', 'caf\\\\xe9', 'caf', 'café']
    """
    if errors != LATIN:
        return content.decode("utf-8", errors)
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode(LATIN)


def archive_kind(location: str) -> str:
    """Return ``sframe`` or ``sarray``, reading only the first index file.

    Raises
    ------
    StorageError
        If it holds neither, or is damaged.
    """
    if location.endswith(ARCHIVE_INDEXES):
        return SFRAME if location.endswith(FRAME_INDEX) else SARRAY
    with translate_os_errors("read", location):
        return _first_index(location, IndexReader(Allowed.of(location, ())))[0]


def open_archive(location: str, references: Sequence[str] = (), encoding_errors: str = STRICT) -> Archive:
    """Open an archive; only its index files are read, and its segment files must exist.

    Parameters
    ----------
    location
        Its directory, or its ``.frame_idx`` or ``.sidx`` file, of which the first column is taken.
    references
        Directories in which files that it names may be, besides its own.
    encoding_errors
        What is done about texts that are not UTF-8: one of :data:`ENCODING_ERRORS`.

    Raises
    ------
    StorageError
        If an index file is damaged, or something is missing or outside the archive.
    InvalidArgumentError
        If ``encoding_errors`` is none of those.
    """
    if encoding_errors not in ENCODING_ERRORS:
        raise InvalidArgumentError(f"encoding_errors is one of {', '.join(map(repr, ENCODING_ERRORS))}, got {encoding_errors!r:.80}")
    places = tuple(normalised(place) for place in references)
    is_index = location.endswith(ARCHIVE_INDEXES)
    directory = os.path.dirname(location) if is_index else location
    reader = IndexReader(Allowed.of(directory, places))
    with translate_os_errors("read", location):
        kind, frame = _index(NamedFile(location, os.path.realpath(location)), reader) if is_index else _indexes_in(location, reader)
    archive = Archive(location, places, encoding_errors)
    return attrs.evolve(archive, contents=_contents(archive, kind, frame, reader))


def _indexes_in(location: str, reader: IndexReader) -> tuple[str, IndexedFrame]:
    kind, prefix, holder = _first_index(location, reader)
    return _index(reader.allowed.file(prefix + (FRAME_INDEX if kind == SFRAME else ARRAY_INDEX).encode(), holder), reader)


def _first_index(location: str, reader: IndexReader) -> tuple[str, bytes, str]:
    """Read from a directory its kind, the prefix of its file names, and the file that says so."""
    file = reader.allowed.file(ARCHIVE_FILE, join(location, ARCHIVE_FILE))
    return *archive_index(reader.content(file), file.name), file.name


def _index(file: NamedFile, reader: IndexReader) -> tuple[str, IndexedFrame]:
    if file.name.endswith(FRAME_INDEX):
        return SFRAME, reader.frame(file)
    column = reader.column(file, 0)
    return SARRAY, IndexedFrame((COLUMN_NAME,), (column,), column.rows)


def _contents(archive: Archive, kind: str, frame: IndexedFrame, reader: IndexReader) -> Contents:
    paths = list(dict.fromkeys(path for column in frame.columns for path, _, _ in column.parts))
    files = tuple(ArchiveFile(path, state_of(path)) for path in paths)
    with translate_os_errors("read", archive.location):
        wait_for_tick([*reader.read, *paths])
    numbers = {path: number for number, path in enumerate(paths)}
    names = named(frame.names, functools.partial(decoded, errors=archive.encoding_errors), archive.location)
    columns = tuple(_column(name, column, files, numbers) for name, column in zip(names, frame.columns, strict=True))
    for column in columns:
        _require_plausible(column, files)
    seen = sorted(reader.read.items()), sorted((file.path, file.state) for file in files)
    version = hashlib.blake2b(repr(seen).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return Contents(kind, columns, files, frame.rows, version)


def _column(name: str, indexed: IndexedColumn, files: Sequence[ArchiveFile], numbers: dict[str, int]) -> ArchiveColumn:
    parts = tuple(ColumnPart(numbers[path], column, rows) for path, column, rows in indexed.parts)
    kind = indexed.kind if indexed.kind != MISSING else _kind_of_rows(name, parts, files)
    # A column without any value.
    return ArchiveColumn(name, COLUMN_TYPES.get(kind, FLOAT), parts)


def _require_plausible(column: ArchiveColumn, files: Sequence[ArchiveFile]) -> None:
    """Check implausible row counts of the index against the footers."""
    for part in column.parts:
        file = files[part.file]
        if part.rows > ROWS_OF_A_BYTE * file.state.size:
            footer_of(file).blocks(part.column, part.rows, column.name)


def _kind_of_rows(name: str, parts: Sequence[ColumnPart], files: Sequence[ArchiveFile]) -> int:
    """The type of a column whose index has none, from its first values; the only place where opening reads rows."""
    for part in parts:
        file = files[part.file]
        blocks = footer_of(file).blocks(part.column, part.rows, name)
        with opened(file) as descriptor:
            for number in range(len(blocks.records)):
                try:
                    record = blocks.record(number)
                    content = unpacked(read_bytes(descriptor, file.path, record.offset, record.length), record)
                    kind = kind_of(content, record.flags)
                except BrokenPayload as error:
                    raise damaged_file(file.path, f"column {name!r}, block {number}: {error.reason}") from None
                if kind != MISSING:
                    return kind
    return MISSING


# --- Rows by number: a block that holds some of them is read once and cached


# Open files.
MAX_OPEN = 32
# A cached block may take this many times its size in the file, as written by Turi Create.
MAX_GROWTH = 8
# The column, its part and the block.
BlockKey = tuple[int, int, int]
CountedColumns = tuple[int, list[pa.ChunkedArray]]


class ArchiveReader:
    """Reads rows of an archive; the blocks used last are cached.

    Parameters
    ----------
    archive
        The archive.
    max_bytes
        Size of the cache besides the blocks of the last read.
    """

    def __init__(self, archive: Archive, max_bytes: int | None = None) -> None:
        self.archive = archive
        self._max_bytes = config.batch_bytes if max_bytes is None else max_bytes
        # In order of last use.
        self._cached: dict[BlockKey, Block] = {}
        self._size = self._payloads = 0

    def read(self, positions: Sequence[int], first: int, last: int) -> list[pa.ChunkedArray]:
        """Return rows ``first`` to ``last`` of some columns.

        Raises
        ------
        StorageError
            If a file is damaged, gone or another one, or a value is nothing that a column holds; the message names file, column and block.
        """
        with self._keeping() as requested, _OpenFiles(self.archive) as files:
            return [self._column(position, first, last, files, requested) for position in positions]

    def bytes_between(self, positions: Sequence[int], first: int, last: int) -> list[float]:
        """Estimate the bytes in memory of rows of each column; their blocks are read and cached."""
        with self._keeping() as requested, _OpenFiles(self.archive) as files:
            return [self._bytes(position, first, last, files, requested) for position in positions]

    def batches(self, positions: Sequence[int], first: int, last: int, max_rows: int, max_bytes: float) -> Iterator[CountedColumns]:
        """Yield batches of rows with their lengths, bounded in rows and, for long rows, in bytes."""
        while first < last:
            stop = min(first + max_rows, last)
            while stop - first > 1 and sum(self.bytes_between(positions, first, stop)) > max_bytes:
                stop = first + (stop - first) // 2
            yield stop - first, self.read(positions, first, stop)
            first = stop

    def close(self) -> None:
        """Clear the cache."""
        self._cached.clear()
        self._size = self._payloads = 0

    def _column(self, position: int, first: int, last: int, files: _OpenFiles, requested: set[BlockKey]) -> pa.ChunkedArray:
        column, found = self.archive.contents.columns[position], []
        for key, blocks, low, high in self._blocks(column, position, first, last):
            with _name_block_in_errors(column, key, blocks):
                block = self._block(key, blocks, files, requested)
                with _name_row_in_errors(column, key, blocks, block, low, high):
                    found.append(block.values(low, high))
        return pa.chunked_array(found, column.column_type.physical)

    def _bytes(self, position: int, first: int, last: int, files: _OpenFiles, requested: set[BlockKey]) -> float:
        column, found = self.archive.contents.columns[position], 0.0
        for key, blocks, low, high in self._blocks(column, position, first, last):
            with _name_block_in_errors(column, key, blocks):
                found += self._block(key, blocks, files, requested).bytes_between(low, high)
        return found

    def _blocks(self, column: ArchiveColumn, position: int, first: int, last: int) -> Iterator[tuple[BlockKey, ColumnBlocks, int, int]]:
        """Yield each block that intersects a range of rows, with the range inside the block."""
        for number, low, high in column.between(first, last):
            part = column.parts[number]
            blocks = footer_of(self.archive.contents.files[part.file]).blocks(part.column, part.rows, column.name)
            for block, start, stop in blocks.between(low, high):
                raise_if_cancelled()
                yield (position, number, block), blocks, start, stop

    def _block(self, key: BlockKey, blocks: ColumnBlocks, files: _OpenFiles, requested: set[BlockKey]) -> Block:
        requested.add(key)
        block = self._cached.get(key)
        if block is not None:
            self._let_go(key)
        else:
            position, part, number = key
            record, file = blocks.record(number), self.archive.contents.columns[position].parts[part].file
            content = unpacked(read_bytes(files.descriptor(file), blocks.path, record.offset, record.length), record)
            block = Block(content, record.length, record.rows, record.flags, self.archive.form(position))
        self._keep(key, block)
        return block

    @contextlib.contextmanager
    def _keeping(self) -> Iterator[set[BlockKey]]:
        """Evict the blocks used longest ago; those of the current read stay."""
        requested: set[BlockKey] = set()
        yield requested
        left = self._size - max(self._max_bytes, sum(self._cached[key].size for key in requested if key in self._cached))
        for key in list(self._cached):
            if left <= 0:
                break
            if key not in requested:
                left -= self._cached[key].size
                self._let_go(key)

    def _keep(self, key: BlockKey, block: Block) -> None:
        """Cache a block, and evict others if they are implausibly large for their payloads."""
        self._cached[key] = block
        self._size += block.size
        self._payloads += block.payload_size
        for other in list(self._cached):
            if other == key or self._size <= max(self._max_bytes, MAX_GROWTH * self._payloads):
                break
            self._let_go(other)

    def _let_go(self, key: BlockKey) -> None:
        block = self._cached.pop(key)
        self._size -= block.size
        self._payloads -= block.payload_size


class _OpenFiles:
    """Segment files, opened on demand and closed at the end of the block."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._open: dict[int, int] = {}
        self._stack = contextlib.ExitStack()

    def descriptor(self, number: int) -> int:
        """Return the descriptor of a file."""
        if number not in self._open:
            if len(self._open) >= MAX_OPEN:
                self._stack.close()
                self._open.clear()
            self._open[number] = self._stack.enter_context(opened(self._archive.contents.files[number]))
        return self._open[number]

    def __enter__(self) -> _OpenFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return self._stack.__exit__(kind, error, trace)


@contextlib.contextmanager
def _name_block_in_errors(column: ArchiveColumn, key: BlockKey, blocks: ColumnBlocks) -> Iterator[None]:
    """Name the damaged block in errors."""
    try:
        yield
    except MisfitError:
        raise NarrowTypeError(str(key[0])) from None
    except BrokenPayload as error:
        number = key[2]
        before = column.starts[key[1]]
        rows = f"rows {before + int(blocks.starts[number])} to {before + int(blocks.starts[number + 1])}"
        place = "" if error.place is None else f", at byte {error.place} of what it holds"
        where = f"column {column.name!r}, block {number} ({rows}){place}"
        raise damaged_file(blocks.path, f"{where}: {error.reason}") from None


@contextlib.contextmanager
def _name_row_in_errors(column: ArchiveColumn, key: BlockKey, blocks: ColumnBlocks, block: Block, low: int, high: int) -> Iterator[None]:
    """Name the row of an invalid value in errors."""
    try:
        yield
    except (UnicodeDecodeError, OverflowError) as error:
        if isinstance(error, StorageError):
            raise
        row = column.starts[key[1]] + int(blocks.starts[key[2]]) + block.first_refused(low, high)
        where = f"{visible(blocks.path)}: column {column.name!r}, row {row}"
        if isinstance(error, UnicodeDecodeError):
            advice = "encoding_errors='latin-1' (--encoding-errors) reads such texts as Latin-1, 'replace' puts signs in place of their bytes"
            raise ArchiveTextError(f"{where}: {error.object[:40]!r} is not UTF-8: {advice}") from None
        raise ArchiveDateError(f"{where}: {OUT_OF_YEARS}") from None


# --- Narrow column types, which depend on all values and are settled when these are written


Result = TypeVar("Result")

# Types that can be narrowed.
WIDE = (ENCODED_LIST, ENCODED_DICT, ZONED_DATETIME)
# Samples that suggest a type.
PLACES, SAMPLE_ROWS = 8, 100


def suggested_types(archive: Archive, positions: Sequence[int]) -> dict[int, ColumnType]:
    """Return narrower types that samples of columns suggest."""
    found = {}
    for position in positions:
        column_type = archive.contents.columns[position].column_type
        if column_type in WIDE:
            values = [value for part in _samples(archive, position) for value in part]
            narrow = encoding_for(values, column_type) if any(value is not None for value in values) else column_type
            if narrow != column_type and narrow.kind == column_type.kind:
                found[position] = narrow
    return found


def _samples(archive: Archive, position: int) -> Iterator[list[object]]:
    reader, column_type = ArchiveReader(archive), archive.contents.columns[position].column_type
    places = sorted({archive.rows * place // PLACES for place in range(PLACES)})
    try:
        for first in places:
            (values,) = reader.read([position], first, min(first + SAMPLE_ROWS, archive.rows))
            yield decode(values, column_type)
    except StorageError:
        # Damage is reported when all rows are read.
        return


def with_narrow_types(archive: Archive, positions: Sequence[int], write: Callable[[Archive], Result]) -> Result:
    """Write an archive with narrow types: start with the suggested ones, and retry without those that do not fit."""
    types: Mapping[int, ColumnType] = suggested_types(archive, positions)
    while True:
        try:
            return write(archive.with_types(types))
        except NarrowTypeError as error:
            types = {position: kind for position, kind in types.items() if position != error.position}
