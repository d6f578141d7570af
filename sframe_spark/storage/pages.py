"""The bytes of a Parquet file that no page's own check sum covers: headers of pages, and all that follows the last page.

A page header tells how its values are encoded and how many there are, so a damaged one gives other values without an error. They are a few bytes
each; the place of the first of a column follows from the footer, and that of each other one from the one before it.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import Any

import pyarrow.parquet as pq

# What a Thrift compact struct holds, by the lower half of the byte before each field.
_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, 12
_COMPRESSED_SIZE = 3
MOST_NESTED = 8
# Headers with longer bounds in them are looked at again with more room.
USUAL_HEADER = 256


class BrokenPages(ValueError):
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
            field, at = _signed(header, at)
        if field == _COMPRESSED_SIZE and kind & 15 in _INTEGERS:
            size, at = _signed(header, at)
        else:
            at = _skipped(header, at, kind & 15, 0)
    if size < 0:
        raise BrokenPages("a page has no length")
    return at + 1, size


def _number(content: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends."""
    value = shift = 0
    while (byte := content[at]) & 128:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise BrokenPages("a number has no end")
    return value | byte << shift, at + 1


def _signed(content: bytes, at: int) -> tuple[int, int]:
    value, at = _number(content, at)
    return (value >> 1) ^ -(value & 1), at


def _skipped(content: bytes, at: int, kind: int, depth: int) -> int:
    """Return where a field ends."""
    if depth > MOST_NESTED:
        raise BrokenPages("a header is too deep")
    if kind in _INTEGERS:
        while content[at] & 128:
            at += 1
        return at + 1
    if kind == _BINARY:
        length, at = _number(content, at)
        return at + length
    if kind == _STRUCT:
        return _skipped_struct(content, at, depth)
    if kind in _BOOLEANS:
        return at
    if kind == _BYTE:
        return at + 1
    if kind == _DOUBLE:
        return at + 8
    # Page headers have no lists and no maps.
    raise BrokenPages("a header holds what no header holds")


def _skipped_struct(content: bytes, at: int, depth: int) -> int:
    while kind := content[at]:
        at += 1
        if not kind >> 4:
            _, at = _signed(content, at)
        at = _skipped(content, at, kind & 15, depth + 1)
    return at + 1
