"""The bytes of a Parquet file that no page's own check sum covers: headers of pages, and all that follows the last page.

A page header tells how its values are encoded and how many there are, so a damaged one gives other values without an error. They are a few bytes
each; the place of the first of a column follows from the footer, and that of each other one from the one before it.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import Any

import pyarrow.parquet as pq

from sframe_spark.storage.thrift import INTEGERS, BrokenThrift, signed, skipped

_COMPRESSED_SIZE = 3
# Headers with longer bounds in them are looked at again with more room.
USUAL_HEADER = 256


class BrokenPages(BrokenThrift):
    """The pages of a column are not where the footer says."""


def end_of_pages(metadata: pq.FileMetaData) -> int:
    """Return where the last page of a file ends."""
    chunks = (_chunk_range(metadata.row_group(group).column(column)) for group, column in _all_chunks(metadata))
    return max((end for _, end in chunks), default=len(b"PAR1"))


def header_checksums(content: Any, metadata: pq.FileMetaData, wanted: Collection[str] | None = None) -> dict[str, int]:
    """Return the check sum of all page headers of each column, in order of row groups.

    Parameters
    ----------
    content
        The bytes of the file.
    metadata
        Its footer.
    wanted
        Names of the columns; None for all.

    Raises
    ------
    BrokenPages
        If headers make no sense.
    """
    names = column_names(metadata)
    places = [(place, name) for place, name in enumerate(names) if wanted is None or name in wanted]
    found: dict[str, int] = dict.fromkeys((name for _, name in places), 0)
    for group in range(metadata.num_row_groups):
        chunks = metadata.row_group(group)
        for place, name in places:
            start, end = _chunk_range(chunks.column(place))
            if not 0 < start <= end <= len(content):
                raise BrokenPages(f"column {name} is said to be at {start}")
            found[name] = _add_headers(content, start, end, found[name])
    return found


def column_names(metadata: pq.FileMetaData) -> list[str]:
    """Return for each leaf of a file's columns the name of the column, which is not nested in another."""
    schema = metadata.schema
    return [schema.column(place).path.partition(".")[0] for place in range(len(schema))]


def _all_chunks(metadata: pq.FileMetaData) -> list[tuple[int, int]]:
    return [(group, column) for group in range(metadata.num_row_groups) for column in range(metadata.num_columns)]


def _chunk_range(chunk: Any) -> tuple[int, int]:
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    return start, start + chunk.total_compressed_size


def _add_headers(content: Any, start: int, end: int, value: int) -> int:
    """Go from header to header of a column's pages, and add each to a check sum."""
    while start < end:
        length, size = _header(content, start, end)
        value = zlib.crc32(content[start : start + length], value)
        start += length + size
    if start != end:
        raise BrokenPages("page headers are damaged")
    return value


def _header(content: Any, start: int, end: int) -> tuple[int, int]:
    """Return how long the header of a page is, and how long the page behind it."""
    window = USUAL_HEADER
    while True:
        # Looking at bytes that were copied out is several times faster than at those of a mapped file.
        stop = min(start + window, end)
        try:
            return _parsed_header(bytes(content[start:stop]))
        except IndexError:
            if stop == end:
                raise BrokenPages("a page header has no end") from None
            window *= 16


def _parsed_header(header: bytes) -> tuple[int, int]:
    field, size, at = 0, -1, 0
    while kind := header[at]:
        at += 1
        if kind >> 4:
            field += kind >> 4
        else:
            field, at = signed(header, at)
        if field == _COMPRESSED_SIZE and kind & 15 in INTEGERS:
            size, at = signed(header, at)
        else:
            at = skipped(header, at, kind & 15)
    if size < 0:
        raise BrokenPages("a page has no length")
    return at + 1, size
