"""An archive of Turi Create: its columns and rows, known from its index files alone."""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

import attrs

from sframe_spark.errors import BrokenPayload, InvalidArgumentError, StorageError
from sframe_spark.locations import normalised
from sframe_spark.storage.files.failures import telling
from sframe_spark.storage.files.file_state import wait_for_tick
from sframe_spark.storage.files.paths import join
from sframe_spark.storage.files.saved_places import ARCHIVE_FILE, ARCHIVE_INDEXES, ARRAY_INDEX, FRAME_INDEX
from sframe_spark.storage.manifests.manifest import SARRAY, SFRAME
from sframe_spark.turicreate.block import COLUMN_TYPES, BlockForm, kind_of
from sframe_spark.turicreate.column_names import named
from sframe_spark.turicreate.indexes import (
    IndexedColumn,
    IndexedFrame,
    IndexReader,
    archive_index,
)
from sframe_spark.turicreate.names import Allowed, ArchiveFile, NamedFile
from sframe_spark.turicreate.segments import damaged_file, footer_of, opened, read_bytes, require_unchanged, state_of, unpacked
from sframe_spark.turicreate.tagged import MISSING
from sframe_spark.types import FLOAT, ColumnType
from sframe_spark.visible import visible

# What a column without a name is called where it makes a frame.
COLUMN_NAME = b"X1"
# A column of which all values are missing, or the same, has half as many.
ROWS_OF_A_BYTE = 64
STRICT, LATIN = "strict", "latin-1"
# What is done about texts that are not UTF-8, as Python calls it; or what such a text is read as.
ENCODING_ERRORS = (STRICT, "replace", "backslashreplace", "ignore", LATIN)


@attrs.frozen
class ColumnPart:
    """Rows of a column that are in one segment file.

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
        """Yield the number of each part that holds some rows, with those of its own rows that are meant.

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
    """What an archive holds.

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
        What tells the index and the segment files from others under the same names.
    narrowed
        Columns that are read as narrower types than those of archives, with these.
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
    """A frame or a column as Turi Create has saved it; nothing of it is ever written.

    Parameters
    ----------
    location
        Its directory, or one of its index files.
    references
        Directories in which files that it names may be, besides its own.
    encoding_errors
        What is done about texts that are not UTF-8: one of :data:`ENCODING_ERRORS`.
    contents
        What was found there when it was opened.
    """

    location: str
    references: tuple[str, ...] = ()
    encoding_errors: str = STRICT
    contents: Contents = attrs.field(default=NOT_OPENED, eq=False, repr=False)

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells its rows from those of any other, a later one in the same place included."""
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
        """Return the same archive with other types, of the same kinds, of some columns."""
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
        """Return what the blocks of a column are read as."""
        return BlockForm(self.contents.columns[position].column_type, functools.partial(decoded, errors=self.encoding_errors))

    def as_read(self) -> Archive:
        """What a plan's text means: the archive as it is now."""
        if normalised(self.location) != self.location:
            raise StorageError(f"the plan reads from {visible(self.location)!r:.200}, which is not an absolute path: write it out")
        return open_archive(self.location, self.references, self.encoding_errors)


def decoded(content: bytes, errors: str = STRICT) -> str:
    """Make a text of bytes in UTF-8, or of others as is said.

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
    """Say what an archive holds, ``sframe`` or ``sarray``; of a directory only the file that tells it is read.

    Raises
    ------
    StorageError
        If it holds neither, or is damaged.
    """
    if location.endswith(ARCHIVE_INDEXES):
        return SFRAME if location.endswith(FRAME_INDEX) else SARRAY
    with telling("read", location):
        return _first_index(location, IndexReader(Allowed.of(location, ())))[0]


def open_archive(location: str, references: Sequence[str] = (), encoding_errors: str = STRICT) -> Archive:
    """Return an archive whose files are all there; only its index files are read.

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
        If an index file is damaged, or something is missing, or elsewhere.
    InvalidArgumentError
        If ``encoding_errors`` is none of those.
    """
    if encoding_errors not in ENCODING_ERRORS:
        raise InvalidArgumentError(f"encoding_errors is one of {', '.join(map(repr, ENCODING_ERRORS))}, got {encoding_errors!r:.80}")
    places = tuple(normalised(place) for place in references)
    is_index = location.endswith(ARCHIVE_INDEXES)
    directory = os.path.dirname(location) if is_index else location
    reader = IndexReader(Allowed.of(directory, places))
    with telling("read", location):
        kind, frame = _index(NamedFile(location, os.path.realpath(location)), reader) if is_index else _indexes_in(location, reader)
    archive = Archive(location, places, encoding_errors)
    return attrs.evolve(archive, contents=_contents(archive, kind, frame, reader))


def _indexes_in(location: str, reader: IndexReader) -> tuple[str, IndexedFrame]:
    kind, prefix, holder = _first_index(location, reader)
    return _index(reader.allowed.file(prefix + (FRAME_INDEX if kind == SFRAME else ARRAY_INDEX).encode(), holder), reader)


def _first_index(location: str, reader: IndexReader) -> tuple[str, bytes, str]:
    """What an archive holds, what names of its files begin with, and which file says so."""
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
    with telling("read", archive.location):
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
    # A column of which nobody knows more than that it is empty.
    return ArchiveColumn(name, COLUMN_TYPES.get(kind, FLOAT), parts)


def _require_plausible(column: ArchiveColumn, files: Sequence[ArchiveFile]) -> None:
    """Ask the footers of files of which the index says that they have more rows than files of their length usually hold."""
    for part in column.parts:
        file = files[part.file]
        if part.rows > ROWS_OF_A_BYTE * file.state.size:
            footer_of(file).blocks(part.column, part.rows, column.name)


def _kind_of_rows(name: str, parts: Sequence[ColumnPart], files: Sequence[ArchiveFile]) -> int:
    """The type of the first values of a column whose index does not tell it; the only place where opening an archive reads rows."""
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
