"""Opens archives of Turi Create: reads columns and row counts from the index files, reads ranges of rows, and finds narrower column types."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TypeVar

import attrs
import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import ArchiveDateError, ArchiveTextError, BrokenPayload, InvalidArgumentError, MisfitError, NarrowTypeError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import normalised
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.filesystem.format_recognition import ARCHIVE_FILE, ARCHIVE_INDEXES, ARRAY_INDEX, FRAME_INDEX
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import wait_for_tick
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.manifest.manifest import SARRAY, SFRAME
from sframe_spark.turicreate import archive_files
from sframe_spark.turicreate.archive_files import Allowed, ArchiveFile, ColumnBlocks, IndexedColumn, IndexedFrame, IndexReader, NamedFile
from sframe_spark.turicreate.block import COLUMN_TYPES, Block, BlockForm, kind_of
from sframe_spark.turicreate.number_datetime_and_vector_decoding import OUT_OF_YEARS
from sframe_spark.turicreate.string_and_object_decoding import MISSING
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, FLOAT, ZONED_DATETIME, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encoding_for

# --- Column names, which the index stores without quoting


def named(stored: Sequence[bytes], decode: Callable[[bytes], str], location: str) -> list[str]:
    """Return the stored column names as unique strings, as Turi Create makes them.

    Leading and trailing blanks are removed, except from names that would then be equal. Names that are still equal get
    a numbered suffix such as ``.1``.

    Raises
    ------
    StorageError
        If a name cannot be decoded.

    Examples
    --------
    >>> named([b" a", b"b", b"b ", b"b"], bytes.decode, "x")
    ['a', 'b', 'b ', 'b.1']
    """
    try:
        texts = list(map(decode, stored))
    except UnicodeDecodeError as error:
        broken = f"{visible(location)}: the name of a column is {error.object[:40]!r}, which is not UTF-8"
        raise StorageError(f"{broken}: encoding_errors='latin-1' or 'replace' (--encoding-errors) reads it all the same") from None
    blanks = archive_files.BLANKS.decode()
    counts = Counter(text.strip(blanks) for text in texts)
    # For each name in use, the number of the next suffix to try.
    used: dict[str, int] = {}
    for text in texts:
        stripped = text.strip(blanks)
        name = unique = stripped if counts[stripped] == 1 else text
        while unique in used:
            unique = f"{name}.{used[name]}"
            used[name] += 1
        used[unique] = 1
    return list(used)


# --- Archives


# The name that a saved column gets when it is opened as a frame with one column.
COLUMN_NAME = b"X1"
# Segment files have fewer rows per byte than this, even if all values are equal; larger row counts in an index are checked.
ROWS_OF_A_BYTE = 64
STRICT, LATIN = "strict", "latin-1"
# How strings that are not valid UTF-8 are decoded: by an error handler of Python, or as Latin-1.
ENCODING_ERRORS = (STRICT, "replace", "backslashreplace", "ignore", LATIN)


@attrs.frozen
class ColumnPart:
    """The part of a column that one segment file holds.

    Parameters
    ----------
    file
        Index of the segment file in :attr:`Contents.files`.
    column
        Index of the column in the segment file.
    rows
        Number of rows in the segment file, at least one.
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
        The name of the column, and the type of the frame column that it is read as.
    parts
        The parts of the column in the segment files, in row order.
    """

    name: str
    column_type: ColumnType
    parts: tuple[ColumnPart, ...]

    @functools.cached_property
    def starts(self) -> tuple[int, ...]:
        """Row number of the first row of each part, followed by the number of all rows."""
        return tuple(itertools.accumulate((part.rows for part in self.parts), initial=0))


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
        The segment files that hold rows of the columns.
    rows
        The number of rows.
    version
        A hash of the paths and file states of the index and segment files; it changes when one of the files changes.
    narrowed
        Positions and types of the columns that are read as narrower types than :data:`COLUMN_TYPES` has for their archive types.
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
    """An archive: a frame or a column that Turi Create saved. Archives are only read, never written.

    Parameters
    ----------
    location
        The directory of the archive, or the path of its ``.frame_idx`` or ``.sidx`` file.
    references
        Directories outside the archive that may also hold files that the archive names.
    encoding_errors
        How strings that are not valid UTF-8 are decoded: one of :data:`ENCODING_ERRORS`.
    contents
        The columns, rows and files of the archive when it was opened.
    """

    location: str
    references: tuple[str, ...] = ()
    encoding_errors: str = STRICT
    contents: Contents = attrs.field(default=NOT_OPENED, eq=False, repr=False)

    @property
    def identity(self) -> tuple[object, ...]:
        """A key that is equal only for archives with the same rows, even if the archive at the location is replaced."""
        return (self.location, self.references, self.encoding_errors, self.contents.version, self.contents.narrowed)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.contents.rows

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.contents.columns]

    @property
    def size(self) -> int:
        """The total size of the segment files in bytes."""
        return sum(file.state.size for file in self.contents.files)

    def with_types(self, types: Mapping[int, ColumnType]) -> Archive:
        """Return a copy of the archive in which the columns at the given positions have the given types, which must be of the same kinds."""
        columns = enumerate(self.contents.columns)
        changed = tuple(attrs.evolve(column, column_type=types.get(position, column.column_type)) for position, column in columns)
        narrowed = tuple(sorted(types.items(), key=itemgetter(0)))
        return attrs.evolve(self, contents=attrs.evolve(self.contents, columns=changed, narrowed=narrowed))

    def require_unchanged(self) -> None:
        """Check that no segment file has changed since the archive was opened; makes one system call for each file.

        Raises
        ------
        StorageError
            If a segment file is missing or was changed.
        """
        for file in self.contents.files:
            archive_files.require_unchanged(file)

    def form(self, position: int) -> BlockForm:
        """Return the column type and the string decoder with which the blocks of a column are decoded."""
        return BlockForm(self.contents.columns[position].column_type, functools.partial(decoded, errors=self.encoding_errors))

    def as_read(self) -> Archive:
        """Open the archive at this location anew, for a plan that was deserialised.

        Raises
        ------
        StorageError
            If the location is not an absolute path, or the archive cannot be opened.
        """
        if normalised(self.location) != self.location:
            raise StorageError(f"the plan reads from {visible(self.location)!r:.200}, which is not an absolute path: write it out")
        return open_archive(self.location, self.references, self.encoding_errors)


def decoded(content: bytes, errors: str = STRICT) -> str:
    """Return UTF-8 bytes as a string; ``errors`` is one of :data:`ENCODING_ERRORS`.

    With ``latin-1``, strings that are not valid UTF-8 are decoded as Latin-1.

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
    """Return whether an archive is an ``sframe`` or an ``sarray``.

    For the path of an index file the file extension decides, and nothing is read. In a directory only ``dir_archive.ini`` is read.

    Raises
    ------
    StorageError
        If the archive holds neither of the two, or ``dir_archive.ini`` is damaged.
    """
    if location.endswith(ARCHIVE_INDEXES):
        return SFRAME if location.endswith(FRAME_INDEX) else SARRAY
    with translate_os_errors("read", location):
        return _first_index(location, IndexReader(Allowed.of(location, ())))[0]


def open_archive(location: str, references: Sequence[str] = (), encoding_errors: str = STRICT) -> Archive:
    """Open an archive.

    The index files are read, and the segment files must exist. Segment files are read only where an index declares no type for a column,
    or an implausible number of rows.

    Parameters
    ----------
    location
        The directory of the archive, or the path of a ``.frame_idx`` or ``.sidx`` file. Of a ``.sidx`` file the first column is opened.
    references
        Directories outside the archive that may also hold files that the archive names.
    encoding_errors
        How strings that are not valid UTF-8 are decoded: one of :data:`ENCODING_ERRORS`.

    Raises
    ------
    StorageError
        If an index file is damaged, a file is missing, or the archive names a file outside its directory and ``references``.
    InvalidArgumentError
        If ``encoding_errors`` is not one of :data:`ENCODING_ERRORS`.
    """
    if encoding_errors not in ENCODING_ERRORS:
        raise InvalidArgumentError(f"encoding_errors is one of {', '.join(map(repr, ENCODING_ERRORS))}, got {encoding_errors!r:.80}")
    directories = tuple(map(normalised, references))
    is_index = location.endswith(ARCHIVE_INDEXES)
    reader = IndexReader(Allowed.of(os.path.dirname(location) if is_index else location, directories))
    with translate_os_errors("read", location):
        if is_index:
            index = NamedFile(location, os.path.realpath(location))
        else:
            kind, prefix, holder = _first_index(location, reader)
            index = reader.allowed.file(prefix + (FRAME_INDEX if kind == SFRAME else ARRAY_INDEX).encode(), holder)
        kind, frame = _index(index, reader)
    archive = Archive(location, directories, encoding_errors)
    return attrs.evolve(archive, contents=_contents(archive, kind, frame, reader))


def _first_index(location: str, reader: IndexReader) -> tuple[str, bytes, str]:
    """Return the kind of the archive in a directory, the prefix of its file names, and the path of the index file that states both."""
    file = reader.allowed.file(ARCHIVE_FILE, join(location, ARCHIVE_FILE))
    return *archive_files.archive_index(reader.content(file), file.name), file.name


def _index(file: NamedFile, reader: IndexReader) -> tuple[str, IndexedFrame]:
    if file.name.endswith(FRAME_INDEX):
        return SFRAME, reader.frame(file)
    column = reader.column(file, 0)
    return SARRAY, IndexedFrame((COLUMN_NAME,), (column,), column.rows)


def _contents(archive: Archive, kind: str, frame: IndexedFrame, reader: IndexReader) -> Contents:
    paths = list(dict.fromkeys(path for column in frame.columns for path, _, _ in column.parts))
    files = tuple(ArchiveFile(path, archive_files.state_of(path)) for path in paths)
    with translate_os_errors("read", archive.location):
        wait_for_tick([*reader.read, *paths])
    numbers = {path: number for number, path in enumerate(paths)}
    names = named(frame.names, functools.partial(decoded, errors=archive.encoding_errors), archive.location)
    columns = tuple(_column(name, column, files, numbers) for name, column in zip(names, frame.columns, strict=True))
    for column in columns:
        for part in column.parts:
            file = files[part.file]
            # If the number of rows in the index is implausibly large, it is compared with the footer of the segment file.
            if part.rows > ROWS_OF_A_BYTE * file.state.size:
                archive_files.footer_of(file).blocks(part.column, part.rows, column.name)
    seen = sorted(reader.read.items()), sorted((file.path, file.state) for file in files)
    version = hashlib.blake2b(repr(seen).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return Contents(kind, columns, files, frame.rows, version)


def _column(name: str, indexed: IndexedColumn, files: Sequence[ArchiveFile], numbers: dict[str, int]) -> ArchiveColumn:
    parts = tuple(ColumnPart(numbers[path], column, rows) for path, column, rows in indexed.parts)
    kind = indexed.kind if indexed.kind != MISSING else _kind_of_rows(name, parts, files)
    # A column whose values are all missing is read as floats.
    return ArchiveColumn(name, COLUMN_TYPES.get(kind, FLOAT), parts)


def _kind_of_rows(name: str, parts: Sequence[ColumnPart], files: Sequence[ArchiveFile]) -> int:
    """Return the archive type of a column for which the index has none: the type of its first block with a value.

    Return ``MISSING`` if all values are missing. This is the only case in which opening an archive reads blocks.
    """
    for part in parts:
        file = files[part.file]
        blocks = archive_files.footer_of(file).blocks(part.column, part.rows, name)
        with archive_files.opened(file) as descriptor:
            for number in range(len(blocks.records)):
                try:
                    record = blocks.record(number)
                    content = archive_files.unpacked(archive_files.read_bytes(descriptor, file.path, record.offset, record.length), record)
                    kind = kind_of(content, record.flags)
                except BrokenPayload as error:
                    raise archive_files.damaged(file.path, f"column {name!r}, block {number}: {error.reason}") from None
                if kind != MISSING:
                    return kind
    return MISSING


# --- Reading ranges of rows, with a cache of the blocks that hold them


# How many segment files are open at the same time.
MAX_OPEN = 32
# While rows are read, the cache may exceed its limit up to this many times the size of the decompressed blocks.
MAX_GROWTH = 8
# Position of the column in the archive, index of its part, and index of the block in the part.
BlockKey = tuple[int, int, int]
CountedColumns = tuple[int, list[pa.ChunkedArray]]


class ArchiveReader:
    """Reads ranges of rows of an archive, and keeps the most recently used blocks in a cache.

    Parameters
    ----------
    archive
        The archive.
    max_bytes
        Limit of the cache in bytes, ``config.batch_bytes`` if None. The blocks of the latest call are kept even if they exceed it.
    """

    def __init__(self, archive: Archive, max_bytes: int | None = None) -> None:
        self.archive = archive
        self._max_bytes = config.batch_bytes if max_bytes is None else max_bytes
        # The least recently used block comes first.
        self._cached: dict[BlockKey, Block] = {}
        self._size = self._payloads = 0

    def read(self, positions: Sequence[int], first: int, last: int) -> list[pa.ChunkedArray]:
        """Return the rows from ``first`` up to, but without, ``last`` of the columns at the given positions.

        Raises
        ------
        StorageError
            If a file is damaged, missing or was changed, or a string cannot be decoded, or a datetime is outside the years 1 to 9999.
            Errors about damaged blocks and invalid values name the file and the column, and the block or the row.
        NarrowTypeError
            If a value does not fit the narrower type with which a column is read (see :meth:`Archive.with_types`).
        """
        with self._keeping() as requested, _OpenFiles(self.archive) as files:
            return [self._column(position, first, last, files, requested) for position in positions]

    def bytes_between(self, positions: Sequence[int], first: int, last: int) -> list[float]:
        """Return an estimate, for each column, of the bytes that a range of rows takes in memory; the blocks of the range are read and cached."""
        with self._keeping() as requested, _OpenFiles(self.archive) as files:
            return [self._bytes(position, first, last, files, requested) for position in positions]

    def batches(self, positions: Sequence[int], first: int, last: int, max_rows: int, max_bytes: float) -> Iterator[CountedColumns]:
        """Yield consecutive batches of a range of rows, each as its number of rows and its columns.

        Batches have at most ``max_rows`` rows, and about ``max_bytes`` bytes unless a single row is larger.
        """
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
        column, chunks = self.archive.contents.columns[position], []
        for key, blocks, low, high in self._blocks(column, position, first, last):
            with _name_block_in_errors(column, key, blocks):
                block = self._block(key, blocks, files, requested)
                with _name_row_in_errors(column, key, blocks, block, low, high):
                    chunks.append(block.values(low, high))
        return pa.chunked_array(chunks, column.column_type.physical)

    def _bytes(self, position: int, first: int, last: int, files: _OpenFiles, requested: set[BlockKey]) -> float:
        column, total = self.archive.contents.columns[position], 0.0
        for key, blocks, low, high in self._blocks(column, position, first, last):
            with _name_block_in_errors(column, key, blocks):
                total += self._block(key, blocks, files, requested).bytes_between(low, high)
        return total

    def _blocks(self, column: ArchiveColumn, position: int, first: int, last: int) -> Iterator[tuple[BlockKey, ColumnBlocks, int, int]]:
        """Yield each block that has rows of a range: its key, the blocks of its part, and the first and the end row within the block."""
        for number, low, high in archive_files.parts_between(column.starts, first, last):
            part = column.parts[number]
            blocks = archive_files.footer_of(self.archive.contents.files[part.file]).blocks(part.column, part.rows, column.name)
            for block, start, stop in archive_files.parts_between(blocks.starts, low, high):
                raise_if_cancelled()
                yield (position, number, block), blocks, start, stop

    def _block(self, key: BlockKey, blocks: ColumnBlocks, files: _OpenFiles, requested: set[BlockKey]) -> Block:
        requested.add(key)
        block = self._cached.get(key)
        if block is not None:
            self._evict(key)
        else:
            position, part, number = key
            record, file = blocks.record(number), self.archive.contents.columns[position].parts[part].file
            content = archive_files.unpacked(archive_files.read_bytes(files.descriptor(file), blocks.path, record.offset, record.length), record)
            block = Block(content, record.length, record.rows, record.flags, self.archive.form(position))
        self._keep(key, block)
        return block

    @contextlib.contextmanager
    def _keeping(self) -> Iterator[set[BlockKey]]:
        """Collect the keys of the blocks that are read in the ``with`` block, then evict other blocks, the least recently used first."""
        requested: set[BlockKey] = set()
        try:
            yield requested
        finally:
            excess = self._size - max(self._max_bytes, sum(self._cached[key].size for key in requested if key in self._cached))
            for key in [key for key in self._cached if key not in requested]:
                if excess <= 0:
                    break
                excess -= self._cached[key].size
                self._evict(key)

    def _keep(self, key: BlockKey, block: Block) -> None:
        """Cache a block; evict the least recently used others while the cache exceeds both its limit and ``MAX_GROWTH`` times the payloads."""
        self._cached[key] = block
        self._size += block.size
        self._payloads += block.payload_size
        for other in list(self._cached):
            if other == key or self._size <= max(self._max_bytes, MAX_GROWTH * self._payloads):
                break
            self._evict(other)

    def _evict(self, key: BlockKey) -> None:
        block = self._cached.pop(key)
        self._size -= block.size
        self._payloads -= block.payload_size


class _OpenFiles(contextlib.ExitStack):
    """Opens segment files of an archive on demand, and closes them at the end of the ``with`` block."""

    def __init__(self, archive: Archive) -> None:
        super().__init__()
        self._archive = archive
        self._open: dict[int, int] = {}

    def descriptor(self, number: int) -> int:
        """Return the file descriptor of the segment file with an index; opens the file if it is not open."""
        if number not in self._open:
            if len(self._open) >= MAX_OPEN:
                self.close()
                self._open.clear()
            self._open[number] = self.enter_context(archive_files.opened(self._archive.contents.files[number]))
        return self._open[number]


@contextlib.contextmanager
def _name_block_in_errors(column: ArchiveColumn, key: BlockKey, blocks: ColumnBlocks) -> Iterator[None]:
    """Turn errors about the content of a block into errors that name the file, the column, the block and its rows.

    A value that does not fit a narrower type becomes a NarrowTypeError with the position of the column.
    """
    try:
        yield
    except MisfitError:
        raise NarrowTypeError(str(key[0])) from None
    except BrokenPayload as error:
        number = key[2]
        before = column.starts[key[1]]
        rows = f"rows {before + int(blocks.starts[number])} to {before + int(blocks.starts[number + 1])}"
        position = "" if error.place is None else f", at byte {error.place} of what it holds"
        raise archive_files.damaged(blocks.path, f"column {column.name!r}, block {number} ({rows}){position}: {error.reason}") from None


@contextlib.contextmanager
def _name_row_in_errors(column: ArchiveColumn, key: BlockKey, blocks: ColumnBlocks, block: Block, low: int, high: int) -> Iterator[None]:
    """Turn the error of an invalid string or datetime into one that names the file, the column and the row."""
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


# --- Narrower column types: sampled values suggest them, and they are confirmed when all values are written


Result = TypeVar("Result")

# Column types for which a narrower type of the same kind may fit all values.
WIDE = (ENCODED_LIST, ENCODED_DICT, ZONED_DATETIME)
# How many samples are taken of a column, and how many rows each of them has.
SAMPLES, SAMPLE_ROWS = 8, 100


def suggested_types(archive: Archive, positions: Sequence[int]) -> dict[int, ColumnType]:
    """Return, by position, the narrower types that fit sampled values of the given columns; columns without such a type are left out."""
    types = {}
    starts = sorted({archive.rows * number // SAMPLES for number in range(SAMPLES)})
    for position in positions:
        column_type = archive.contents.columns[position].column_type
        if column_type in WIDE:
            reader, values = ArchiveReader(archive), list[object]()
            # Damaged rows are reported when all rows are read.
            with contextlib.suppress(StorageError):
                for first in starts:
                    (sample,) = reader.read([position], first, min(first + SAMPLE_ROWS, archive.rows))
                    values += decode(sample, column_type)
            narrow = encoding_for(values, column_type) if any(value is not None for value in values) else column_type
            if narrow != column_type and narrow.kind == column_type.kind:
                types[position] = narrow
    return types


def with_narrow_types(archive: Archive, positions: Sequence[int], write: Callable[[Archive], Result]) -> Result:
    """Return the result of ``write``, called with the archive as read with narrower column types.

    The first call gets the types that samples suggest. After each NarrowTypeError ``write`` is called again, with the archive's own type for
    the column whose values do not fit.
    """
    types: Mapping[int, ColumnType] = suggested_types(archive, positions)
    while True:
        try:
            return write(archive.with_types(types))
        except NarrowTypeError as error:
            types = {position: kind for position, kind in types.items() if position != error.position}
