"""Reads the page headers of Parquet files, which no checksum of a page covers.

A page header says how its values are encoded and how many there are, so a damaged one gives other values without an error. They are a few bytes
each; the place of the first of a column follows from the footer, and that of each other one from the one before it.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenPages
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.filesystem.ranged_reads import GroupBytes
from sframe_spark.storage.parquet.thrift import INTEGERS, signed, skipped

MAGIC = b"PAR1"
_COMPRESSED_SIZE, _CHECKSUM = 3, 4
# Headers are parsed from this many bytes, and retried with more, up to a limit that no writer reaches.
COMMON_HEADER, LONGEST_HEADER = 256, 16 << 20
# Files up to this size are read as a whole.
SHORT_FILE = 64 << 10


@attrs.frozen
class PageHeaders:
    """What the headers of a file's pages say.

    Parameters
    ----------
    sums
        Checksum of all page headers of each column, in order of row groups, by the name of the column.
    complete
        Whether every page has a checksum of its own data in its header.
    ranges
        Where the pages of each of these columns start and end, in order of row groups.
    """

    sums: dict[str, int]
    complete: bool
    ranges: tuple[tuple[int, int], ...]

    @property
    def end(self) -> int:
        """Where the last page of these columns ends."""
        return max((end for _, end in self.ranges), default=len(MAGIC))

    @property
    def gapless(self) -> bool:
        """Whether pages of these columns fill the file between the magic bytes and the end of the last page."""
        return all(end == start for (_, end), (start, _) in itertools.pairwise([(0, len(MAGIC)), *sorted(self.ranges)]))


class FileBytes:
    """The bytes of an open file, read on access; a short one is read at once.

    Parameters
    ----------
    source
        The file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> content = FileBytes(pa.BufferReader(b"abcdef"))
    >>> len(content), content[2:4], content[4:]
    (6, b'cd', b'ef')
    """

    def __init__(self, source: pa.NativeFile) -> None:
        self._source = source
        self._length = int(source.size())
        self._whole = source.read_at(self._length, 0) if self._length <= SHORT_FILE else None

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: slice) -> bytes:
        if self._whole is not None and len(self._whole) == self._length:
            return self._whole[place]
        start, stop, _ = place.indices(self._length)
        return bytes(self._source.read_at(max(stop - start, 0), start))


def page_headers(
    content: FileBytes | GroupBytes,
    metadata: pq.FileMetaData,
    requested: Collection[str] | None = None,
    with_pages: bool = False,
    groups: Iterable[int] | None = None,
) -> PageHeaders:
    """Return checksums and ranges of the page headers of some columns.

    Parameters
    ----------
    content
        The bytes of the file.
    metadata
        Its footer.
    requested
        Names of the columns; None for all.
    with_pages
        Whether to compare the data of pages with the checksums in their headers.
    groups
        The row groups; None for all.

    Raises
    ------
    BrokenPages
        If headers make no sense, or the data of a page have another checksum.
    """
    names = column_names(metadata)
    places = [(place, name) for place, name in enumerate(names) if requested is None or name in requested]
    found: dict[str, int] = dict.fromkeys((name for _, name in places), 0)
    complete, ranges = True, []
    for group in range(metadata.num_row_groups) if groups is None else groups:
        chunks = metadata.row_group(group)
        for place, name in places:
            raise_if_cancelled()
            start, end = chunk_range(chunks.column(place))
            ranges.append((start, end))
            if not 0 < start <= end <= len(content):
                raise BrokenPages(f"column {name} is said to be at {start}")
            for header, data, stop, checksum in _pages(content, start, end):
                found[name] = zlib.crc32(header, found[name])
                complete = complete and checksum is not None
                if with_pages and checksum not in (None, zlib.crc32(content[data:stop])):
                    raise BrokenPages(f"column {name} has a page of another check sum than its header says")
    return PageHeaders(found, complete, tuple(ranges))


def column_names(metadata: pq.FileMetaData) -> list[str]:
    """Return the top-level column name of each Parquet leaf column."""
    schema = metadata.schema
    return [schema.column(place).path.partition(".")[0] for place in range(len(schema))]


def chunk_range(chunk: Any) -> tuple[int, int]:
    """Return where the pages of a column chunk start and end."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    return start, start + chunk.total_compressed_size


def _pages(content: FileBytes | GroupBytes, start: int, end: int) -> Iterator[tuple[bytes, int, int, int | None]]:
    """Yield for each page of a column chunk its header, the range of its data, and the checksum in the header."""
    while start < end:
        header, size, checksum = _header(content, start, end)
        data = start + len(header)
        stop = data + size
        if stop > end:
            break
        yield header, data, stop, checksum
        start = stop
    if start != end:
        raise BrokenPages("page headers are damaged")


def _header(content: FileBytes | GroupBytes, start: int, end: int) -> tuple[bytes, int, int | None]:
    """Return a page header, the length of its page, and its checksum if it has one."""
    window = COMMON_HEADER
    while True:
        stop = min(start + window, end)
        found = content[start:stop]
        try:
            length, size, checksum = _parsed_header(found)
            return found[:length], size, checksum
        except IndexError:
            if stop == end or window >= LONGEST_HEADER:
                raise BrokenPages("a page header has no end") from None
            window *= 16


def _parsed_header(header: bytes) -> tuple[int, int, int | None]:
    """Return the length of a header, and the length and checksum of its page."""
    field, at = 0, 0
    found: dict[int, int] = {}
    while kind := header[at]:
        at += 1
        if kind >> 4:
            field += kind >> 4
        else:
            field, at = signed(header, at)
        kind &= 15
        if kind not in INTEGERS:
            at = skipped(header, at, kind)
        elif field in (_COMPRESSED_SIZE, _CHECKSUM):
            found[field], at = signed(header, at)
        else:
            while header[at] & 128:
                at += 1
            at += 1
    size, checksum = found.get(_COMPRESSED_SIZE, -1), found.get(_CHECKSUM)
    if size < 0:
        raise BrokenPages("a page has no length")
    # Thrift has no unsigned numbers.
    return at + 1, size, None if checksum is None else checksum & 0xFFFFFFFF
