"""Computes checksums of the page headers of Parquet files, which the checksums of pages do not cover.

A page header contains the encoding and the number of the values of its page, so a damaged header may lead to wrong values without an error.
Headers have a few bytes each. The position of the first header of a column is in the footer; each header contains the size of its page, from which
the position of the next header follows.
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
# A header is first parsed from this many bytes, and if it is longer, from more, up to a limit that no program that writes Parquet reaches.
COMMON_HEADER, LONGEST_HEADER = 256, 16 << 20
# Files up to this size are read as a whole.
SHORT_FILE = 64 << 10


@attrs.frozen
class PageHeaders:
    """Checksums of the page headers of some columns of a file, and the positions of their pages.

    Parameters
    ----------
    sums
        The checksum of all page headers of each column, in the order of row groups, by column name.
    complete
        Whether all page headers contain a checksum of the page's data.
    ranges
        The range of bytes of each column chunk, in the order of row groups.
    """

    sums: dict[str, int]
    complete: bool
    ranges: tuple[tuple[int, int], ...]

    @property
    def end(self) -> int:
        """The position behind the last page of these columns."""
        return max((end for _, end in self.ranges), default=len(MAGIC))

    @property
    def gapless(self) -> bool:
        """Whether the pages of these columns fill the file, without gaps, from the magic bytes at its start to the end of the last page."""
        return all(end == start for (_, end), (start, _) in itertools.pairwise([(0, len(MAGIC)), *sorted(self.ranges)]))


class FileBytes:
    """The bytes of an open file, which are read by slices; a short file is read as a whole at first.

    Parameters
    ----------
    source
        The open file.

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
    """Return the checksums of the page headers of some columns, and the positions of their pages.

    Parameters
    ----------
    content
        The bytes of the file.
    metadata
        The footer of the file.
    requested
        The names of the columns; None for all columns.
    with_pages
        Whether to compare the data of pages with the checksums in their headers.
    groups
        The row groups; None for all row groups.

    Raises
    ------
    BrokenPages
        If a page header or a position is invalid, or the checksum of the data of a page is another one.
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
    """Return the position of the first page of a column chunk, and the position behind the last one."""
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
    """Return the bytes of a page header, the size of its page, and the checksum of the page's data (None if the header has none)."""
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
    """Return the size of a page header, the size of its page, and the checksum of the page's data (None if the header has none)."""
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
    # Thrift stores the checksum as a signed integer.
    return at + 1, size, None if checksum is None else checksum & 0xFFFFFFFF
