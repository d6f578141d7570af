"""Opens archives of Turi Create: reads columns, row counts and places of segments from the index files."""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

import attrs

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.errors import BrokenPayload, InvalidArgumentError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import normalised
from sframe_spark.storage.filesystem.format_recognition import ARCHIVE_FILE, ARCHIVE_INDEXES, ARRAY_INDEX, FRAME_INDEX
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import wait_for_tick
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.manifest.manifest import SARRAY, SFRAME
from sframe_spark.turicreate import archive_files
from sframe_spark.turicreate.archive_files import Allowed, ArchiveFile, IndexedColumn, IndexedFrame, IndexReader, NamedFile
from sframe_spark.turicreate.block import COLUMN_TYPES, BlockForm, kind_of
from sframe_spark.turicreate.string_and_object_decoding import MISSING
from sframe_spark.types import FLOAT, ColumnType

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
        raise StorageError(f"{broken}: encoding_errors='latin-1' or 'replace' (--encoding-errors) reads it anyway") from None
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

    @cached_property
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
        raise InvalidArgumentError(f"encoding_errors must be one of {', '.join(map(repr, ENCODING_ERRORS))}, got {encoding_errors!r:.80}")
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
