"""Segment files of an archive: their footers, and the bytes of their blocks."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import struct
from collections.abc import Iterator
from typing import BinaryIO

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import BrokenPayload, StorageError
from sframe_spark.storage.files.failures import missing, telling
from sframe_spark.storage.files.file_state import FileState
from sframe_spark.turicreate.block import COMPRESSED, EXTENDED, MIXED, TYPED
from sframe_spark.turicreate.names import ArchiveFile
from sframe_spark.visible import in_words, visible

WORD = struct.Struct("<Q")
RECORD = np.dtype([("offset", "<u8"), ("length", "<u8"), ("size", "<u8"), ("rows", "<u8"), ("flags", "<u8"), ("content", "<u2"), ("unused", "V6")])
KNOWN_FLAGS = COMPRESSED | TYPED | MIXED | EXTENDED
# The engine writes no more than 2**18 rows to a block; none holds more bytes than an array of Arrow's, and no footer more than 1.4 million blocks.
MOST_ROWS, MOST_BYTES, MOST_FOOTER_BYTES = 1 << 24, (1 << 31) - 1, 64 << 20
# LZ4 makes no more of a byte than this, and of nothing these.
MOST_TIMES, MOST_BESIDES = 255, 64
REMEMBERED_FOOTERS = 32
# Links are not followed, and who opens a named pipe does not wait for somebody who writes to it.
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
        """Return the blocks of a column, which has so many rows, and of which messages tell by a name.

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
            if count and int(records["rows"].max()) > MOST_ROWS:
                number, most = int(records["rows"].argmax()), int(records["rows"].max())
                raise damaged_file(self.path, f"column {name!r}, block {number}: it has {most} rows, and no more than {MOST_ROWS} are read")
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
        """Yield the blocks that hold some rows, each with those of its own rows that are meant."""
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
        if max(length, size) > MOST_BYTES or offset + length > self.limit:
            raise BrokenPayload(f"its record says that it has {length} bytes from byte {offset} on, and {size} when it is unpacked, which cannot be")
        if not flags & COMPRESSED and size != length:
            raise BrokenPayload(f"it is not packed, and its record says that {length} bytes are {size}")
        if flags & COMPRESSED and (size > MOST_TIMES * length + MOST_BESIDES or not size):
            raise BrokenPayload(f"its record says that {length} packed bytes are {in_words(size)}, which cannot be")
        return BlockRecord(offset, length, size, rows, flags)


@attrs.frozen
class BlockRecord:
    """What a footer says of a block, each number of which can be: see :class:`ColumnBlocks`."""

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
    """Open a file of an archive for the block, and make sure before and after that it is the one that it was when the archive was opened.

    Raises
    ------
    StorageError
        If it is gone, was changed, or is no regular file any more.
    """
    with telling("read", file.path):
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
def opened_anew(path: str) -> Iterator[tuple[BinaryIO, os.stat_result]]:
    """Open a file of an archive that nobody has looked at yet, and what the system says of it.

    Raises
    ------
    StorageError
        If there is none, or no regular file.
    """
    with telling("read", path):
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
    with telling("read", path):
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
    with telling("read", file.path):
        try:
            status = os.lstat(file.path)
        except FileNotFoundError:
            raise StorageError(missing(file.path)) from None
        _require_same(file, status)


def _require_same(file: ArchiveFile, status: os.stat_result) -> None:
    # Links and rights, of which the time of any change tells, may be others.
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
        if length > MOST_FOOTER_BYTES:
            raise damaged_file(file.path, f"its footer would have {in_words(length)}, more than is read")
        content = read_bytes(descriptor, file.path, size - WORD.size - length, length)
    return SegmentFooter(file.path, size - WORD.size - length, content, _places(file.path, content))


def _places(path: str, content: bytes) -> tuple[tuple[int, int], ...]:
    """Where the records of each column are in a footer."""
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
    # Arrow says nothing where fewer bytes come than were asked for. One fewer must be too few.
    with contextlib.suppress(OSError):
        codec.decompress(content, decompressed_size=record.size - 1)
        raise BrokenPayload(f"its packed bytes are fewer than {record.size} when they are unpacked")
    try:
        found: bytes = codec.decompress(content, decompressed_size=record.size, asbytes=True)
    except OSError:
        raise BrokenPayload(f"its packed bytes are no LZ4, or more than {record.size} when they are unpacked") from None
    return found
