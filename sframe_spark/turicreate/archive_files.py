"""Reads the files of a Turi Create archive: INI and JSON index files, the file names in them, and footers and blocks of segment files."""

from __future__ import annotations

import bisect
import contextlib
import functools
import itertools
import json
import os
import re
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import BrokenPayload, StorageError
from sframe_spark.message_text import in_words, visible
from sframe_spark.paths_and_uris import normalised
from sframe_spark.storage.filesystem.io_errors import missing, translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState
from sframe_spark.storage.manifest.manifest import SARRAY, SFRAME
from sframe_spark.storage.manifest.manifest_json import check_length, read_text
from sframe_spark.turicreate.block import COMPRESSED, EXTENDED, MIXED, TYPED
from sframe_spark.turicreate.string_and_object_decoding import MISSING, TENSOR

# --- INI files: bytes, without quoting or escapes


# The bytes that count as blanks at the ends of a line, a key or a name.
BLANKS = b" \t\n\v\f\r"
# Numbers in index files with more digits than this are invalid.
MAX_DIGITS = 18

Key = TypeVar("Key", bytes, str)
Value = TypeVar("Value")


def parse_ini(content: bytes, location: str) -> dict[bytes, dict[bytes, bytes]]:
    """Return the keys and values of an INI file by section; values keep their blanks, and empty sections are left out.

    Raises
    ------
    StorageError
        If a line is neither empty, nor a comment, a section header or a key with a value, or a section or key occurs twice.

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
    """Return an error that says that a file of an archive is damaged, and why."""
    return StorageError(f"{visible(location)} is damaged: {reason}; restore the archive from a copy")


def number_of(value: Any, location: str, what: str) -> int:
    """Return a value of an index file as a non-negative integer; ``what`` names the value in the error message.

    Raises
    ------
    StorageError
        If the value is not a non-negative integer of at most 18 digits.

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
    """Return the values of a section whose keys are 0, 1, 2 ..., in the order of the keys.

    Raises
    ------
    StorageError
        If a key is not a number, or a number is missing or occurs twice.

    Examples
    --------
    >>> sequence({b"0001": b"b", b"0000": b"a"}, "x.ini", "names")
    [b'a', b'b']
    """
    values: dict[int, Value] = {}
    for key, value in section.items():
        number = number_of(key, location, f"a key of {what}")
        if number >= len(section) or number in values:
            raise damaged(location, f"{what} are not numbered one by one: {number}")
        values[number] = value
    return [values[number] for number in range(len(values))]


# --- File names in archives, which must refer to files in the archive's directory or in directories that the caller allows


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_COLUMN = re.compile(r"(.*):([0-9]{1,9})", re.DOTALL)
ALLOWING = "references=[directories] (--references) allows files outside the archive"


@attrs.frozen
class ArchiveFile:
    """A segment file of an archive, with its state when the archive was opened.

    Parameters
    ----------
    path
        The path of the file, without symbolic links.
    state
        The size, times and inode number of the file.
    """

    path: str
    state: FileState


@attrs.frozen
class NamedFile:
    """A file that an archive refers to by name.

    Parameters
    ----------
    name
        The path as it was composed from names. File names in this file are relative to the directory of this path.
    path
        The same path with symbolic links resolved.
    """

    name: str
    path: str


@attrs.frozen
class Allowed:
    """The directories in which files of an archive may be.

    Parameters
    ----------
    directories
        The archive's directory and those that the caller allows, with symbolic links resolved.
    """

    directories: tuple[str, ...]

    @classmethod
    def of(cls, directory: str, references: Sequence[str]) -> Allowed:
        """Return the allowed directories of an archive: its own directory, and those in ``references``."""
        return cls(tuple(os.path.realpath(normalised(path)) for path in (directory, *references)))

    def file(self, name: bytes | str, holder: str) -> NamedFile:
        """Return the file that an index file refers to.

        Parameters
        ----------
        name
            The file name, as it is in the index file.
        holder
            The path of the index file.

        Raises
        ------
        StorageError
            If the name is a URL, is not a valid file name, or leads outside the allowed directories.
        """
        text = os.fsdecode(name)
        if not text or "\0" in text or not _has_bytes(text):
            raise StorageError(f"{visible(holder)} is damaged: it names a file without a name; restore the archive from a copy")
        if _URL.match(text):
            raise StorageError(f"{visible(holder)} names {visible(text)!r:.200}, which is not on a disk of this machine: copy it into the archive")
        with translate_os_errors("read", holder):
            full_name = os.path.join(os.path.dirname(holder), text)
            path = os.path.realpath(full_name)
        if not any(path.startswith(directory.rstrip(os.sep) + os.sep) for directory in self.directories):
            raise StorageError(f"{visible(holder)} names {visible(text)!r:.200}, which is outside the archive: {ALLOWING}")
        return NamedFile(full_name, path)


def _has_bytes(name: str) -> bool:
    """Return whether a name can be encoded as a file name."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def with_column(name: str) -> tuple[str, int | None]:
    """Return the file name and the column number of a name such as ``m_1.sidx:3``; the number is None if the name has none.

    Examples
    --------
    >>> with_column("m_1.sidx:3"), with_column("a:b"), with_column("m_1.0000")
    (('m_1.sidx', 3), ('a:b', None), ('m_1.0000', None))
    """
    match = _COLUMN.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)


# --- Segment files: footers, and the bytes of blocks


WORD = struct.Struct("<Q")
RECORD = np.dtype([("offset", "<u8"), ("length", "<u8"), ("size", "<u8"), ("rows", "<u8"), ("flags", "<u8"), ("content", "<u2"), ("unused", "V6")])
KNOWN_FLAGS = COMPRESSED | TYPED | MIXED | EXTENDED
# Limits of the rows and bytes of a block, and of the bytes of a footer. Turi Create writes at most 2**18 rows per block; the bytes of a block
# must fit an Arrow array; and a footer of this size describes 1.4 million blocks.
MAX_ROWS, MAX_BYTES, MAX_FOOTER_BYTES = 1 << 24, (1 << 31) - 1, 64 << 20
# LZ4 decompresses a block to at most this many times its size, plus a constant.
MAX_TIMES, MAX_EXTRA = 255, 64
# How many footers each process keeps in memory.
REMEMBERED_FOOTERS = 32
# Flags for opening files: symbolic links are not followed, and named pipes are not waited for.
READING = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@attrs.frozen(eq=False, slots=False)
class SegmentFooter:
    """The footer of one segment file, which describes the blocks of each column.

    Parameters
    ----------
    path
        The path of the segment file.
    start
        The offset of the footer in the file. All blocks end before it.
    content
        The bytes of the footer.
    columns
        For each column, the offset of its block records in ``content``, and their number.
    known
        The blocks of the columns that were requested before.
    """

    path: str
    start: int
    content: bytes
    columns: tuple[tuple[int, int], ...]
    known: dict[int, ColumnBlocks] = attrs.field(factory=dict, repr=False)

    def blocks(self, column: int, rows: int, name: str) -> ColumnBlocks:
        """Return the blocks of a column.

        Parameters
        ----------
        column
            Index of the column in the segment file.
        rows
            The number of rows that the index of the archive has for the column in this file.
        name
            The name of the column, for error messages.

        Raises
        ------
        StorageError
            If the file does not have the column, a block has too many rows, or the blocks together do not have ``rows`` rows.
        """
        if column not in self.known:
            if column >= len(self.columns):
                raise damaged(self.path, f"it has {len(self.columns)} columns, and column {name!r} is number {column}")
            offset, count = self.columns[column]
            records = np.frombuffer(self.content, RECORD, count, offset)
            if count and int(records["rows"].max()) > MAX_ROWS:
                number, rows_of_block = int(records["rows"].argmax()), int(records["rows"].max())
                raise damaged(self.path, f"column {name!r}, block {number}: it has {rows_of_block} rows, and no more than {MAX_ROWS} are read")
            starts = tuple(itertools.accumulate(records["rows"].tolist(), initial=0))
            self.known[column] = ColumnBlocks(self.path, self.start, records, starts)
        blocks = self.known[column]
        if blocks.rows != rows:
            raise damaged(self.path, f"the blocks of column {name!r} have {blocks.rows} rows, and the index of the archive says {rows}")
        return blocks


@attrs.frozen(eq=False)
class ColumnBlocks:
    """The blocks of a column in one segment file.

    Parameters
    ----------
    path
        The path of the segment file.
    limit
        The offset of the footer, which no block may exceed.
    records
        The record of each block, as stored in the footer.
    starts
        Row number of the first row of each block, followed by the number of all rows.
    """

    path: str
    limit: int
    records: np.ndarray
    starts: tuple[int, ...]

    @property
    def rows(self) -> int:
        """The number of rows of all blocks."""
        return self.starts[-1]

    def record(self, number: int) -> BlockRecord:
        """Return the checked record of a block.

        Raises
        ------
        BrokenPayload
            If the record has unknown flags, or impossible sizes or offsets.
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
    """A checked block record: offset and length in the file, decompressed size, number of rows, and flags."""

    offset: int
    length: int
    size: int
    rows: int
    flags: int


def parts_between(starts: Sequence[int], first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Yield the index of each part that has rows of a range, with the first and the end row within the part.

    Parameters
    ----------
    starts
        The row number of the first row of each part, followed by the number of all rows.
    first, last
        The first row of the range, and the row behind its last one.

    Examples
    --------
    >>> list(parts_between((0, 5, 5, 8), 4, 6))
    [(0, 4, 5), (2, 0, 1)]
    """
    for number in range(max(bisect.bisect_right(starts, first) - 1, 0), len(starts) - 1):
        start, stop = starts[number], min(starts[number + 1], last)
        if start >= last:
            break
        if max(first, start) < stop:
            yield number, max(first - start, 0), stop - start


@contextlib.contextmanager
def opened(file: ArchiveFile) -> Iterator[int]:
    """Open a segment file and yield its file descriptor; before and after the ``with`` block, check that the file has not changed.

    Raises
    ------
    StorageError
        If the file is missing, was changed since the archive was opened, or is not a regular file.
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


def _missing(path: str) -> StorageError:
    return StorageError(f"{visible(path)} is missing: the archive is not complete; restore it from a copy")


def _no_regular_file(path: str) -> StorageError:
    return StorageError(f"{visible(path)} is not a regular file; restore the archive from a copy")


def state_of(path: str) -> FileState:
    """Return the current state of a segment file.

    Raises
    ------
    StorageError
        If the file does not exist, or is not a regular file.
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
    """Check with one system call that a file has not changed since its archive was opened.

    Raises
    ------
    StorageError
        If the file is missing or was changed.
    """
    with translate_os_errors("read", file.path):
        try:
            status = os.lstat(file.path)
        except FileNotFoundError:
            raise StorageError(missing(file.path)) from None
        _require_same(file, status)


def _require_same(file: ArchiveFile, status: os.stat_result) -> None:
    # Making hard links and changing permissions leave the first three fields as they are.
    if not stat.S_ISREG(status.st_mode) or FileState.of(status)[:3] != file.state[:3]:
        raise StorageError(
            f"{visible(file.path)} was changed since the archive was opened; open it again when it is no longer written to, or read a copy"
        )


@functools.lru_cache(maxsize=REMEMBERED_FOOTERS)
def footer_of(file: ArchiveFile) -> SegmentFooter:
    """Return the footer of a segment file; each process keeps the footers that it used last.

    Raises
    ------
    StorageError
        If the file is damaged or missing, or was changed since the archive was opened.
    """
    size = file.state.size
    with opened(file) as descriptor:
        if size < 2 * WORD.size:
            raise damaged(file.path, f"it has {size} bytes, fewer than any footer")
        length = WORD.unpack(read_bytes(descriptor, file.path, size - WORD.size, WORD.size))[0]
        if not WORD.size <= length <= size - WORD.size:
            raise damaged(file.path, f"it says that its footer has {length} bytes, and there are {size - WORD.size}")
        if length > MAX_FOOTER_BYTES:
            raise damaged(file.path, f"its footer would have {in_words(length)}, more than is read")
        content = read_bytes(descriptor, file.path, size - WORD.size - length, length)
    return SegmentFooter(file.path, size - WORD.size - length, content, _columns_in(file.path, content))


def _columns_in(path: str, content: bytes) -> tuple[tuple[int, int], ...]:
    """Return, for each column, the offset of its block records in a footer, and their number."""
    count = WORD.unpack_from(content)[0]
    offset, columns = WORD.size, []
    if count > len(content) // WORD.size:
        raise damaged(path, f"its footer says that it has {count} columns")
    for column in range(count):
        if offset + WORD.size > len(content):
            raise damaged(path, f"its footer ends before column {column}")
        blocks = WORD.unpack_from(content, offset)[0]
        offset += WORD.size
        if blocks > (len(content) - offset) // RECORD.itemsize:
            raise damaged(path, f"its footer says that column {column} has {blocks} blocks")
        columns.append((offset, blocks))
        offset += blocks * RECORD.itemsize
    if offset != len(content):
        raise damaged(path, "its footer is longer than what it says")
    return tuple(columns)


def read_bytes(descriptor: int, path: str, offset: int, length: int) -> bytes:
    """Return ``length`` bytes of a file from an offset.

    Raises
    ------
    StorageError
        If the file ends before them.
    """
    content = os.pread(descriptor, length, offset)
    while len(content) < length:
        more = os.pread(descriptor, length - len(content), offset + len(content))
        if not more:
            raise damaged(path, f"it ends before byte {offset + length}")
        content += more
    return content


def unpacked(content: bytes, record: BlockRecord) -> bytes:
    """Return the bytes of a block, decompressed if the block is compressed.

    Raises
    ------
    BrokenPayload
        If the compressed bytes are not valid LZ4, or do not have the decompressed size in the block's record.
    """
    if not record.flags & COMPRESSED:
        return content
    codec = pa.Codec("lz4_raw")
    # Arrow accepts a result that is shorter than the given size. So a buffer of one byte less is tried first, and must be too small.
    with contextlib.suppress(OSError):
        codec.decompress(content, decompressed_size=record.size - 1)
        raise BrokenPayload(f"its packed bytes are fewer than {record.size} when they are unpacked")
    try:
        return bytes(codec.decompress(content, decompressed_size=record.size, asbytes=True))
    except OSError:
        raise BrokenPayload(f"its packed bytes are no LZ4, or more than {record.size} when they are unpacked") from None


# --- Index files: the columns, and the segment files of their rows


# The versions of ``dir_archive.ini`` and of ``.sidx`` files that are read.
VERSION, ARRAY_VERSION = 1, 2
# The position, in the list of prefixes, of the prefix of the index file.
CONTENT_PREFIX = 2


@attrs.frozen
class IndexedColumn:
    """A column, as a ``.sidx`` file describes it.

    Parameters
    ----------
    kind
        The archive type; ``MISSING`` if the index has no type for the column.
    parts
        For each segment with rows: the path of its file, the index of the column in the file, and the number of rows.
    """

    kind: int
    parts: tuple[tuple[str, int, int], ...]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(rows for _, _, rows in self.parts)


@attrs.frozen
class IndexedFrame:
    """A frame, as a ``.frame_idx`` file describes it.

    Parameters
    ----------
    names
        The names of the columns as stored, with leading and trailing blanks.
    columns
        The columns.
    rows
        The number of rows.
    """

    names: tuple[bytes, ...]
    columns: tuple[IndexedColumn, ...]
    rows: int


@attrs.define
class IndexReader:
    """Reads the index files of one archive; each ``.sidx`` file is read once, even if it holds several columns.

    Parameters
    ----------
    allowed
        The directories in which files of the archive may be.
    read
        The states of the index files that were read, by path.
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
            If the file does not exist, is not a regular file, is too long, or contains a NUL byte.
        """
        path = file.path
        with translate_os_errors("read", path):
            try:
                descriptor = os.open(path, READING)
            except FileNotFoundError:
                raise _missing(path) from None
            with os.fdopen(descriptor, "rb") as stream:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise _no_regular_file(path)
                check_length(path, status.st_size)
                content = read_text(path, stream, status.st_size)
        self.read[path] = FileState.of(status)
        return content

    def frame(self, file: NamedFile) -> IndexedFrame:
        """Return the names, columns and number of rows in a ``.frame_idx`` file; reads the ``.sidx`` files that it names, too.

        Raises
        ------
        StorageError
            If one of these files is damaged or missing, or names a file outside the allowed directories.
        """
        path = file.name
        sections = parse_ini(self.content(file), path)
        about = sections.get(b"sframe", {})
        count, rows = (number_of(about.get(key, b""), path, key.decode()) for key in (b"num_columns", b"nrows"))
        names = sequence(sections.get(b"column_names", {}), path, "column_names")
        files = sequence(sections.get(b"column_files", {}), path, "column_files")
        if not len(names) == len(files) == count:
            raise damaged(path, f"it says that there are {count} columns, and has {len(names)} names and {len(files)} places of columns")
        columns = []
        for file_name in files:
            name, number = with_column(file_name.strip().decode("utf-8", "surrogateescape"))
            if name not in self._named:
                # Usually all columns name the same file.
                self._named[name] = self.allowed.file(name, path)
            columns.append(self.column(self._named[name], number or 0))
        for column in columns:
            if column.rows != rows:
                raise damaged(path, f"it says that there are {rows} rows, and a column has {column.rows}")
        if rows and not columns:
            raise damaged(path, f"it says that there are {rows} rows without a column")
        return IndexedFrame(tuple(names), tuple(columns), rows)

    def column(self, file: NamedFile, number: int) -> IndexedColumn:
        """Return a column of a ``.sidx`` file by its index in the file.

        Raises
        ------
        StorageError
            If the file does not have the column, or is damaged or missing.
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
        in_files = [(self.allowed.file(name, path).path, number) for name, number in map(with_column, files)]
        for index, column in enumerate(columns):
            described = _object(column, path, "a column")
            metadata = _object(described.get("metadata", {}), path, "metadata")
            kind = number_of(metadata.get("__type__", MISSING), path, "__type__")
            if kind > TENSOR:
                raise damaged(path, f"column {index} is of the unknown type {kind}")
            sizes = [number_of(size, path, "segment_sizes") for size in _entries(described.get("segment_sizes"), segments, path, "segment_sizes")]
            parts = ((file_path, index if number is None else number, size) for (file_path, number), size in zip(in_files, sizes, strict=True))
            yield IndexedColumn(kind, tuple(part for part in parts if part[2]))


def _json(content: bytes, path: str) -> dict[str, Any]:
    def with_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) != len(pairs):
            raise damaged(path, "a key is there twice")
        return values

    if content.lstrip().startswith(b"["):
        raise _old_version(path, "0 or 1")
    try:
        tree = json.loads(content, object_pairs_hook=with_distinct_keys)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"it is no JSON ({type(error).__name__})") from None
    return _object(tree, path, "it")


def _object(value: Any, path: str, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise damaged(path, f"{what} is no JSON object")
    return value


def _entries(value: Any, count: int, path: str, what: str) -> list[Any]:
    """Return the entries of a sequence, which is stored as a JSON list or as an object with the keys 0, 1, 2 ...

    Raises
    ------
    StorageError
        If the value is neither, or does not have ``count`` entries.
    """
    entries = value if isinstance(value, list) else sequence(_object({} if value is None else value, path, what), path, what)
    if len(entries) != count:
        raise damaged(path, f"{what} has {len(entries)} entries for {count} segments")
    return entries


def _old_version(path: str, version: str) -> StorageError:
    return StorageError(
        f"{visible(path)} is an index of arrays of version {version}, which Turi Create 6 does not read either, but version {ARRAY_VERSION}: "
        "load it with an older version of Turi Create, and save it again"
    )


def archive_index(content: bytes, path: str) -> tuple[str, bytes]:
    """Return the kind of an archive (``sframe`` or ``sarray``) and the prefix of its file names from the content of ``dir_archive.ini``.

    Raises
    ------
    StorageError
        If the file is damaged or of an unknown version, or the archive holds neither a frame nor a column.
    """
    sections = parse_ini(content, path)
    about, metadata = sections.get(b"archive", {}), sections.get(b"metadata", {})
    if number_of(about.get(b"version", b""), path, "version") != VERSION:
        raise StorageError(f"{visible(path)} is of an unknown version, {VERSION} is read here: load and save it again with Turi Create 6")
    contents = metadata.get(b"contents", b"").strip().decode("ascii", "replace")
    if contents not in (SFRAME, SARRAY):
        advice = _ADVICE.get(contents, "it is none of both")
        raise StorageError(f"{visible(path)} belongs to an archive of {visible(contents)[:40]!r}, but only frames and columns are read: {advice}")
    prefixes = sequence(sections.get(b"prefixes", {}), path, "prefixes")
    if number_of(about.get(b"num_prefixes", b""), path, "num_prefixes") != len(prefixes) or len(prefixes) <= CONTENT_PREFIX:
        raise damaged(path, f"it names {len(prefixes)} prefixes")
    return contents, prefixes[CONTENT_PREFIX].strip()


# What to do with archives of other contents.
_ADVICE = {
    "graph": "load it with Turi Create, and save its vertices and edges, which are SFrames",
    "model": "load it with Turi Create, and save the SFrames that it holds, or export it; models are not read",
}
