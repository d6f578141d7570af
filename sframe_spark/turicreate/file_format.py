"""The files of an archive: INI and JSON index files, segment files with footers and blocks, and the names that link them."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TypeVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import BrokenPayload, StorageError
from sframe_spark.locations import normalised
from sframe_spark.message_text import in_words, visible
from sframe_spark.storage.filesystem.io_errors import missing, translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState
from sframe_spark.storage.manifest.manifest import SARRAY, SFRAME
from sframe_spark.storage.manifest.manifest_json import check_length, read_text
from sframe_spark.turicreate.block import COMPRESSED, EXTENDED, MIXED, TYPED
from sframe_spark.turicreate.object_decoding import MISSING, TENSOR

# --- INI files: bytes, without quoting or escapes


# Blanks that are stripped; others belong to column names.
BLANKS = b" \t\n\v\f\r"
# Longer numbers are invalid.
MAX_DIGITS = 18

Key = TypeVar("Key", bytes, str)
Value = TypeVar("Value")


def parse_ini(content: bytes, location: str) -> dict[bytes, dict[bytes, bytes]]:
    """Parse sections of keys and values; values keep their blanks.

    Raises
    ------
    StorageError
        If a line is none of the dialect, or a section or a key is there twice.

    Examples
    --------
    >>> parse_ini(b"[a]\\n; told\\nb = c=d \\n", "x.ini")
    {b'a': {b'b': b' c=d '}}
    """
    sections: dict[bytes, dict[bytes, bytes]] = {}
    current: dict[bytes, bytes] | None = None
    for number, line in enumerate(content.split(b"\n"), 1):
        text = line.strip(BLANKS)
        if not text or text[:1] in (b";", b"#"):
            continue
        if text.startswith(b"["):
            name, closed, _ = text[1:].partition(b"]")
            name = name.strip(BLANKS)
            if not closed or name in sections:
                raise damaged(location, f"line {number} opens no section, or one that is there already")
            current = sections[name] = {}
            continue
        key, equals, value = line.partition(b"=")
        key = key.strip(BLANKS)
        if not equals or not key or current is None or key in current:
            raise damaged(location, f"line {number} is no key with a value, or one that is there already")
        current[key] = value
    return {name: section for name, section in sections.items() if section}


def damaged(location: str, reason: str) -> StorageError:
    """Return the error that says what is wrong with an index file."""
    return StorageError(f"{visible(location)} is damaged: {reason}; restore the archive from a copy")


def number_of(value: Any, location: str, what: str) -> int:
    """Parse a non-negative number of an index file.

    Raises
    ------
    StorageError
        If it is none.

    Examples
    --------
    >>> number_of(b" 12 ", "x.ini", "nrows"), number_of("7", "x.sidx", "version"), number_of(7, "x.sidx", "version")
    (12, 7, 7)
    """
    if type(value) is int and 0 <= value < 10**MAX_DIGITS:
        return value
    text = value.encode("utf-8", "replace") if isinstance(value, str) else value
    if isinstance(text, bytes):
        text = text.strip(BLANKS)
        if text.isdigit() and len(text) <= MAX_DIGITS:
            return int(text)
    raise damaged(location, f"{what} is no number")


def sequence(section: Mapping[Key, Value], location: str, what: str) -> list[Value]:
    """Return the values of a section whose keys are 0, 1, 2 ..., in that order.

    Raises
    ------
    StorageError
        If a number is missing, or there twice.

    Examples
    --------
    >>> sequence({b"0001": b"b", b"0000": b"a"}, "x.ini", "names")
    [b'a', b'b']
    """
    found: dict[int, Value] = {}
    for key, value in section.items():
        place = number_of(key, location, f"a key of {what}")
        if place >= len(section) or place in found:
            raise damaged(location, f"{what} are not numbered one by one: {place}")
        found[place] = value
    return [found[place] for place in range(len(found))]


# --- File names, which must lead into the archive's directory or those that the caller allows


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_COLUMN = re.compile(r"(.*):([0-9]{1,9})", re.DOTALL)
ALLOWING = "references=[directories] (--references) allows what an archive names elsewhere"


@attrs.frozen
class ArchiveFile:
    """A file of an archive in the state in which it was opened.

    Parameters
    ----------
    path
        Where it is; no part of it is a link.
    state
        What the file system said of it.
    """

    path: str
    state: FileState


@attrs.frozen
class NamedFile:
    """A file that an archive names.

    Parameters
    ----------
    name
        How it is called: other names in it are relative to the directory of this one.
    path
        The resolved path, without links.
    """

    name: str
    path: str


@attrs.frozen
class Allowed:
    """Where files of an archive may be.

    Parameters
    ----------
    directories
        Paths without links: the archive's own directory, and those that the caller allows.
    """

    directories: tuple[str, ...]

    @classmethod
    def of(cls, directory: str, references: Sequence[str]) -> Allowed:
        """Return the allowed directories of an archive."""
        return cls(tuple(os.path.realpath(normalised(place)) for place in (directory, *references)))

    def file(self, name: bytes | str, holder: str) -> NamedFile:
        """Return a file that another one names.

        Parameters
        ----------
        name
            What it is called.
        holder
            The index file that names it.

        Raises
        ------
        StorageError
            If it is remote, or no name.
        """
        text = os.fsdecode(name)
        if not text or "\0" in text or not _has_bytes(text):
            raise StorageError(f"{visible(holder)} is damaged: it names a file without a name; restore the archive from a copy")
        if _URL.match(text):
            raise StorageError(f"{visible(holder)} names {visible(text)!r:.200}, which is not on a disk of this machine: copy it into the archive")
        with translate_os_errors("read", holder):
            place = os.path.join(os.path.dirname(holder), text)
            path = os.path.realpath(place)
        if not any(is_below(path, directory) for directory in self.directories):
            raise StorageError(f"{visible(holder)} names {visible(text)!r:.200}, which is outside the archive: {ALLOWING}")
        return NamedFile(place, path)


def _has_bytes(name: str) -> bool:
    """Return whether a name can be encoded as a file name."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def is_below(path: str, directory: str) -> bool:
    """Return whether a path is one of something in a directory, or below it.

    Examples
    --------
    >>> is_below("/data/old/m_1.0000", "/data/old"), is_below("/data/older/m_1.0000", "/data/old")
    (True, False)
    """
    return path.startswith(directory.rstrip(os.sep) + os.sep)


def with_column(name: str) -> tuple[str, int | None]:
    """Split the column number from a file name; None where there is none.

    Examples
    --------
    >>> with_column("m_1.sidx:3"), with_column("a:b"), with_column("m_1.0000")
    (('m_1.sidx', 3), ('a:b', None), ('m_1.0000', None))
    """
    found = _COLUMN.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, None)


# --- Segment files: footers, and the bytes of blocks


WORD = struct.Struct("<Q")
RECORD = np.dtype([("offset", "<u8"), ("length", "<u8"), ("size", "<u8"), ("rows", "<u8"), ("flags", "<u8"), ("content", "<u2"), ("unused", "V6")])
KNOWN_FLAGS = COMPRESSED | TYPED | MIXED | EXTENDED
# Limits: Turi Create writes at most 2**18 rows per block; no block exceeds an Arrow array, no footer 1.4 million blocks.
MAX_ROWS, MAX_BYTES, MAX_FOOTER_BYTES = 1 << 24, (1 << 31) - 1, 64 << 20
# The expansion limit of LZ4: a factor and a constant.
MAX_TIMES, MAX_EXTRA = 255, 64
REMEMBERED_FOOTERS = 32
# Do not follow links, and do not wait on named pipes.
READING = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@attrs.frozen(eq=False, slots=False)
class SegmentFooter:
    """The footer of one segment file.

    Parameters
    ----------
    path
        The file.
    start
        Where the footer begins: blocks end before it.
    content
        Its bytes.
    places
        Where the records of each column begin in it, and how many they are.
    """

    path: str
    start: int
    content: bytes
    places: tuple[tuple[int, int], ...]
    known: dict[int, ColumnBlocks] = attrs.field(factory=dict, repr=False)

    def blocks(self, column: int, rows: int, name: str) -> ColumnBlocks:
        """Return the blocks of a column; the row count of the index is checked, and the name is for messages.

        Raises
        ------
        StorageError
            If there is no such column, or its blocks have others.
        """
        if column not in self.known:
            if column >= len(self.places):
                raise damaged_file(self.path, f"it has {len(self.places)} columns, and column {name!r} is number {column}")
            place, count = self.places[column]
            records = np.frombuffer(self.content, RECORD, count, place)
            if count and int(records["rows"].max()) > MAX_ROWS:
                number, rows_of_block = int(records["rows"].argmax()), int(records["rows"].max())
                raise damaged_file(self.path, f"column {name!r}, block {number}: it has {rows_of_block} rows, and no more than {MAX_ROWS} are read")
            starts = np.zeros(count + 1, np.int64)
            np.cumsum(records["rows"].astype(np.int64), out=starts[1:])
            self.known[column] = ColumnBlocks(self.path, self.start, records, starts)
        found = self.known[column]
        if found.rows != rows:
            raise damaged_file(self.path, f"the blocks of column {name!r} have {found.rows} rows, and the index of the archive says {rows}")
        return found


@attrs.frozen(eq=False)
class ColumnBlocks:
    """The blocks of a column in one segment file.

    Parameters
    ----------
    path
        The file.
    limit
        Where blocks end at the latest.
    records
        A record for each block, as it is in the file.
    starts
        Number of the first row of each block, and at the end the number of rows.
    """

    path: str
    limit: int
    records: np.ndarray
    starts: np.ndarray

    @property
    def rows(self) -> int:
        """How many rows the blocks have."""
        return int(self.starts[-1])

    def between(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Yield the blocks that intersect a range of rows, with the range inside each block."""
        number = max(int(np.searchsorted(self.starts, first, "right")) - 1, 0)
        while number < len(self.records) and self.starts[number] < last:
            start, stop = int(self.starts[number]), int(self.starts[number + 1])
            low, high = max(first - start, 0), min(last, stop) - start
            if low < high:
                yield number, low, high
            number += 1

    def record(self, number: int) -> BlockRecord:
        """Return what the footer says of a block.

        Raises
        ------
        BrokenPayload
            If that cannot be.
        """
        offset, length, size, rows, flags = (int(self.records[name][number]) for name in ("offset", "length", "size", "rows", "flags"))
        if flags & ~KNOWN_FLAGS or not flags & TYPED:
            raise BrokenPayload(f"its record has the unknown flags {flags:#x}")
        if max(length, size) > MAX_BYTES or offset + length > self.limit:
            raise BrokenPayload(f"its record says that it has {length} bytes from byte {offset} on, and {size} when it is unpacked, which cannot be")
        if not flags & COMPRESSED and size != length:
            raise BrokenPayload(f"it is not packed, and its record says that {length} bytes are {size}")
        if flags & COMPRESSED and (size > MAX_TIMES * length + MAX_EXTRA or not size):
            raise BrokenPayload(f"its record says that {length} packed bytes are {in_words(size)}, which cannot be")
        return BlockRecord(offset, length, size, rows, flags)


@attrs.frozen
class BlockRecord:
    """A validated block record: see :class:`ColumnBlocks`."""

    offset: int
    length: int
    size: int
    rows: int
    flags: int


def damaged_file(path: str, reason: str) -> StorageError:
    """Return the error that says what is wrong with a segment file."""
    return StorageError(f"{visible(path)} is damaged: {reason}; restore the archive from a copy")


@contextlib.contextmanager
def opened(file: ArchiveFile) -> Iterator[int]:
    """Open a file of an archive, and check before and after the block that it has not changed.

    Raises
    ------
    StorageError
        If it is gone, was changed, or is no regular file any more.
    """
    with translate_os_errors("read", file.path):
        try:
            descriptor = os.open(file.path, READING)
        except FileNotFoundError:
            raise StorageError(missing(file.path)) from None
        try:
            _require_same(file, os.fstat(descriptor))
            yield descriptor
            _require_same(file, os.fstat(descriptor))
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def opened_regular(path: str) -> Iterator[tuple[BinaryIO, os.stat_result]]:
    """Open a file for the first time, and return its stream and status.

    Raises
    ------
    StorageError
        If there is none, or no regular file.
    """
    with translate_os_errors("read", path):
        try:
            descriptor = os.open(path, READING)
        except FileNotFoundError:
            raise _missing(path) from None
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise _no_regular_file(path)
            yield stream, status


def _missing(path: str) -> StorageError:
    return StorageError(f"{visible(path)} is missing: the archive is not complete; restore it from a copy")


def _no_regular_file(path: str) -> StorageError:
    return StorageError(f"{visible(path)} is no regular file; restore the archive from a copy")


def state_of(path: str) -> FileState:
    """Return a segment file as it is now.

    Raises
    ------
    StorageError
        If there is none, or no regular file.
    """
    with translate_os_errors("read", path):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            raise _missing(path) from None
    if not stat.S_ISREG(status.st_mode):
        raise _no_regular_file(path)
    return FileState.of(status)


def require_unchanged(file: ArchiveFile) -> None:
    """Make sure that a file is as it was when its archive was opened; costs one call of the system.

    Raises
    ------
    StorageError
        If it is not.
    """
    with translate_os_errors("read", file.path):
        try:
            status = os.lstat(file.path)
        except FileNotFoundError:
            raise StorageError(missing(file.path)) from None
        _require_same(file, status)


def _require_same(file: ArchiveFile, status: os.stat_result) -> None:
    # Changes of links and permissions are ignored.
    if not stat.S_ISREG(status.st_mode) or FileState.of(status)[:3] != file.state[:3]:
        raise StorageError(f"{visible(file.path)} was changed since the archive was opened; open it again when nobody writes it, or read a copy")


def footer_of(file: ArchiveFile) -> SegmentFooter:
    """Return the footer of a segment file, read once in a process.

    Raises
    ------
    StorageError
        If the file is damaged, gone or another one.
    """
    return _load(file)


@functools.lru_cache(maxsize=REMEMBERED_FOOTERS)
def _load(file: ArchiveFile) -> SegmentFooter:
    size = file.state.size
    with opened(file) as descriptor:
        if size < 2 * WORD.size:
            raise damaged_file(file.path, f"it has {size} bytes, fewer than any footer")
        length = WORD.unpack(read_bytes(descriptor, file.path, size - WORD.size, WORD.size))[0]
        if not WORD.size <= length <= size - WORD.size:
            raise damaged_file(file.path, f"it says that its footer has {length} bytes, and there are {size - WORD.size}")
        if length > MAX_FOOTER_BYTES:
            raise damaged_file(file.path, f"its footer would have {in_words(length)}, more than is read")
        content = read_bytes(descriptor, file.path, size - WORD.size - length, length)
    return SegmentFooter(file.path, size - WORD.size - length, content, _places(file.path, content))


def _places(path: str, content: bytes) -> tuple[tuple[int, int], ...]:
    """Locate the records of each column in a footer."""
    columns = WORD.unpack_from(content)[0]
    place, found = WORD.size, []
    if columns > len(content) // WORD.size:
        raise damaged_file(path, f"its footer says that it has {columns} columns")
    for column in range(columns):
        if place + WORD.size > len(content):
            raise damaged_file(path, f"its footer ends before column {column}")
        count = WORD.unpack_from(content, place)[0]
        place += WORD.size
        if count > (len(content) - place) // RECORD.itemsize:
            raise damaged_file(path, f"its footer says that column {column} has {count} blocks")
        found.append((place, count))
        place += count * RECORD.itemsize
    if place != len(content):
        raise damaged_file(path, "its footer is longer than what it says")
    return tuple(found)


def read_bytes(descriptor: int, path: str, offset: int, length: int) -> bytes:
    """Read some bytes of a file.

    Raises
    ------
    StorageError
        If they are not there.
    """
    found = os.pread(descriptor, length, offset)
    while len(found) < length:
        more = os.pread(descriptor, length - len(found), offset + len(found))
        if not more:
            raise damaged_file(path, f"it ends before byte {offset + length}")
        found += more
    return found


def unpacked(content: bytes, record: BlockRecord) -> bytes:
    """Return what a block holds.

    Raises
    ------
    BrokenPayload
        If it was packed, and what is packed is not as long as its record says.
    """
    if not record.flags & COMPRESSED:
        return content
    codec = pa.Codec("lz4_raw")
    # Arrow does not notice a short result, so one byte less must be too small.
    with contextlib.suppress(OSError):
        codec.decompress(content, decompressed_size=record.size - 1)
        raise BrokenPayload(f"its packed bytes are fewer than {record.size} when they are unpacked")
    try:
        found: bytes = codec.decompress(content, decompressed_size=record.size, asbytes=True)
    except OSError:
        raise BrokenPayload(f"its packed bytes are no LZ4, or more than {record.size} when they are unpacked") from None
    return found


# --- Index files: the columns, and the segment files of their rows


VERSION, ARRAY_VERSION = 1, 2
# The index of the content's prefix among the prefixes.
CONTENT_PREFIX = 2


@attrs.frozen
class IndexedColumn:
    """A column in an index of arrays.

    Parameters
    ----------
    kind
        Number of its type; that of missing values where the index has none.
    parts
        For each segment the path of its file, the number of the column in it, and how many rows it has there.
    """

    kind: int
    parts: tuple[tuple[str, int, int], ...]

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(rows for _, _, rows in self.parts)


@attrs.frozen
class IndexedFrame:
    """A frame, as its index describes it.

    Parameters
    ----------
    names
        Names of the columns as they stand, with the blanks around them.
    columns
        The columns.
    rows
        How many rows each has.
    """

    names: tuple[bytes, ...]
    columns: tuple[IndexedColumn, ...]
    rows: int


@attrs.define
class IndexReader:
    """Reads each index file of one archive once.

    Parameters
    ----------
    allowed
        Where they, and what they name, may be.
    read
        The states of the files that were read, by path.
    """

    allowed: Allowed
    read: dict[str, FileState] = attrs.Factory(dict)
    _arrays: dict[str, tuple[IndexedColumn, ...]] = attrs.Factory(dict)
    _named: dict[str, NamedFile] = attrs.Factory(dict)

    def content(self, file: NamedFile) -> bytes:
        """Return the bytes of an index file.

        Raises
        ------
        StorageError
            If there is none, or it is no regular file, no text, or too long.
        """
        with opened_regular(file.path) as (stream, status):
            found = _text(file.path, stream, status.st_size)
        self.read[file.path] = FileState.of(status)
        return found

    def frame(self, file: NamedFile) -> IndexedFrame:
        """Return what the index of a frame says.

        Raises
        ------
        StorageError
            If it is damaged, or names what may not be read.
        """
        path = file.name
        sections = parse_ini(self.content(file), path)
        about = sections.get(b"sframe", {})
        count, rows = (number_of(about.get(key, b""), path, key.decode()) for key in (b"num_columns", b"nrows"))
        names = sequence(sections.get(b"column_names", {}), path, "column_names")
        files = sequence(sections.get(b"column_files", {}), path, "column_files")
        if not len(names) == len(files) == count:
            raise damaged(path, f"it says that there are {count} columns, and has {len(names)} names and {len(files)} places of columns")
        columns = tuple(self._column(file.strip(), path) for file in files)
        for column in columns:
            if column.rows != rows:
                raise damaged(path, f"it says that there are {rows} rows, and a column has {column.rows}")
        if rows and not columns:
            raise damaged(path, f"it says that there are {rows} rows without a column")
        return IndexedFrame(tuple(names), columns, rows)

    def _column(self, file: bytes, holder: str) -> IndexedColumn:
        name, number = with_column(file.decode("utf-8", "surrogateescape"))
        if name not in self._named:
            # Most columns name one file.
            self._named[name] = self.allowed.file(name, holder)
        return self.column(self._named[name], number or 0)

    def column(self, file: NamedFile, number: int) -> IndexedColumn:
        """Return a column of an index of arrays.

        Raises
        ------
        StorageError
            If there is none, or the index is damaged.
        """
        if file.name not in self._arrays:
            self._arrays[file.name] = tuple(self._array_index(file))
        columns = self._arrays[file.name]
        if number >= len(columns):
            raise damaged(file.name, f"it has {len(columns)} columns, and number {number} is asked for")
        return columns[number]

    def _array_index(self, file: NamedFile) -> Iterable[IndexedColumn]:
        path = file.name
        tree = _json(self.content(file), path)
        about, columns = _object(tree.get("sarray"), path, "sarray"), tree.get("columns")
        version = number_of(about.get("version", ""), path, "version")
        if version != ARRAY_VERSION:
            raise _old_version(path, str(version))
        segments = number_of(about.get("num_segments", ""), path, "num_segments")
        files = [text for text in _entries(tree.get("segment_files"), segments, path, "segment_files") if isinstance(text, str)]
        if len(files) != segments or not isinstance(columns, list):
            raise damaged(path, "segment_files are no names, or columns no list")
        named = [with_column(file) for file in files]
        places = [(self.allowed.file(name, path).path, number) for name, number in named]
        for place, column in enumerate(columns):
            found = _object(column, path, "a column")
            metadata = _object(found.get("metadata", {}), path, "metadata")
            kind = number_of(metadata.get("__type__", MISSING), path, "__type__")
            if kind > TENSOR:
                raise damaged(path, f"column {place} is of the unknown type {kind}")
            sizes = [number_of(size, path, "segment_sizes") for size in _entries(found.get("segment_sizes"), segments, path, "segment_sizes")]
            files_of = ((where, place if number is None else number, size) for (where, number), size in zip(places, sizes, strict=True))
            yield IndexedColumn(kind, tuple(part for part in files_of if part[2]))


def _text(path: str, stream: BinaryIO, size: int) -> bytes:
    check_length(path, size)
    return read_text(path, stream, size)


def _json(content: bytes, path: str) -> dict[str, Any]:
    if content.lstrip().startswith(b"["):
        raise _old_version(path, "0 or 1")
    try:
        tree = json.loads(content, object_pairs_hook=lambda pairs: _once(pairs, path))
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"it is no JSON ({type(error).__name__})") from None
    return _object(tree, path, "it")


def _once(pairs: list[tuple[str, Any]], path: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise damaged(path, "a key is there twice")
    return found


def _object(value: Any, path: str, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise damaged(path, f"{what} is no JSON object")
    return value


def _entries(value: Any, count: int, path: str, what: str) -> list[Any]:
    """The entries of a sequence, which is a JSON list or an object with numeric keys."""
    found = value if isinstance(value, list) else sequence(_object({} if value is None else value, path, what), path, what)
    if len(found) != count:
        raise damaged(path, f"{what} has {len(found)} entries for {count} segments")
    return found


def _old_version(path: str, version: str) -> StorageError:
    return StorageError(
        f"{visible(path)} is an index of arrays of version {version}, which Turi Create 6 does not read either, but version {ARRAY_VERSION}: "
        "load it with an older version of Turi Create, and save it again"
    )


def archive_index(content: bytes, path: str) -> tuple[str, bytes]:
    """Return what an archive holds, and what the names of its files begin with.

    Raises
    ------
    StorageError
        If the index is damaged, or the archive holds neither a frame nor a column.
    """
    sections = parse_ini(content, path)
    about, metadata = sections.get(b"archive", {}), sections.get(b"metadata", {})
    if number_of(about.get(b"version", b""), path, "version") != VERSION:
        raise StorageError(f"{visible(path)} is of an unknown version, {VERSION} is read here: load and save it again with Turi Create 6")
    contents = metadata.get(b"contents", b"").strip().decode("ascii", "replace")
    if contents not in (SFRAME, SARRAY):
        raise _other_contents(path, contents)
    prefixes = sequence(sections.get(b"prefixes", {}), path, "prefixes")
    if number_of(about.get(b"num_prefixes", b""), path, "num_prefixes") != len(prefixes) or len(prefixes) <= CONTENT_PREFIX:
        raise damaged(path, f"it names {len(prefixes)} prefixes")
    return contents, prefixes[CONTENT_PREFIX].strip()


def _other_contents(path: str, contents: str) -> StorageError:
    advice = {
        "graph": "load it with Turi Create, and save its vertices and edges, which are SFrames",
        "model": "load it with Turi Create, and save the SFrames that it holds, or export it; models are not read",
    }
    what = f"{visible(path)} is of an archive of {visible(contents)[:40]!r}"
    return StorageError(f"{what}, and frames and columns are read here: {advice.get(contents, 'it is none of both')}")
