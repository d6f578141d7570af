"""Validates footers of external Parquet files before pyarrow reads them.

pyarrow reads column chunks and statistics without a way to report an error: a mismatch with the schema is an uncaught C++
exception that ends the process.
"""

from __future__ import annotations

import attrs
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenThrift
from sframe_spark.storage.parquet.thrift import BINARY, INTEGERS, LISTS, STRUCT, field_start, list_start, number, signed, skipped

_PHYSICAL = {"BOOLEAN": 0, "INT32": 1, "INT64": 2, "INT96": 3, "FLOAT": 4, "DOUBLE": 5, "BYTE_ARRAY": 6, "FIXED_LEN_BYTE_ARRAY": 7}
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
_BYTE_ARRAY = 6
# Field numbers, by struct.
_FILE_ROWS, _ROW_GROUPS = 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_CHUNK_METADATA, _CHUNK_ENCRYPTED = 3, (8, 9)
_TYPE, _PATH, _VALUES, _STATISTICS, _SIZES = 1, 3, 5, 12, 16
_BOUNDS = (1, 2, 5, 6)
_TEXT_BYTES, _REPETITIONS, _DEFINITIONS = 1, 2, 3


@attrs.frozen
class _Leaf:
    """The schema of a Parquet leaf column."""

    path: bytes
    physical: int
    width: int | None
    max_repetition: int
    max_definition: int


def check_footer(content: bytes, metadata: pq.FileMetaData) -> None:
    """Make sure that every column chunk matches the schema and has possible statistics.

    Parameters
    ----------
    content
        The bytes of the footer, without its length.
    metadata
        What pyarrow read of it.

    Raises
    ------
    BrokenThrift
        If it is not.
    """
    schema = metadata.schema
    leaves = [_leaf(schema.column(place)) for place in range(len(schema))]
    try:
        groups = _walk_file(content, leaves)
    except IndexError:
        raise BrokenThrift("its footer has no end") from None
    if groups != metadata.num_row_groups:
        raise BrokenThrift("its footer makes no sense")


def _leaf(column: pq.ColumnSchema) -> _Leaf:
    physical = _PHYSICAL.get(column.physical_type)
    if physical is None:
        raise BrokenThrift(f"column {column.name} is of no type of Parquet")
    width = column.length if physical == _PHYSICAL["FIXED_LEN_BYTE_ARRAY"] else _WIDTHS.get(physical)
    return _Leaf(column.path.encode(), physical, width, column.max_repetition_level, column.max_definition_level)


def _walk_file(content: bytes, leaves: list[_Leaf]) -> int:
    groups = field = at = 0
    total, seen = None, 0
    while True:
        field, kind, at = field_start(content, at, field)
        if not kind:
            break
        if field == _ROW_GROUPS and kind in LISTS:
            groups, _, at = list_start(content, at)
            for _ in range(groups):
                rows, at = _walk_group(content, at, leaves)
                seen += rows
        elif field == _FILE_ROWS and kind in INTEGERS:
            total, at = signed(content, at)
        else:
            at = skipped(content, at, kind)
    if total != seen:
        raise BrokenThrift(f"its row groups have {seen} rows, the file {total}")
    return groups


def _walk_group(content: bytes, at: int, leaves: list[_Leaf]) -> tuple[int, int]:
    field, rows = 0, None
    counts: set[int | None] | None = None
    while True:
        field, kind, at = field_start(content, at, field)
        if not kind:
            break
        if field == _COLUMNS and kind in LISTS:
            counts, at = _walk_chunks(content, at, leaves)
        elif field == _GROUP_ROWS and kind in INTEGERS:
            rows, at = signed(content, at)
        else:
            at = skipped(content, at, kind)
    if counts is None or rows is None or rows < 0 or not counts <= {rows}:
        raise BrokenThrift(f"a row group is said to have {rows} rows")
    return rows, at


def _walk_chunks(content: bytes, at: int, leaves: list[_Leaf]) -> tuple[set[int | None], int]:
    """Return the numbers of values of the columns without repetition, and the end of the columns."""
    count, _, at = list_start(content, at)
    if count != len(leaves):
        raise BrokenThrift(f"a row group has {count} columns of {len(leaves)}")
    counts = set()
    for leaf in leaves:
        values, at = _walk_chunk(content, at, leaf)
        if not leaf.max_repetition:
            counts.add(values)
    return counts, at


def _walk_chunk(content: bytes, at: int, leaf: _Leaf) -> tuple[int | None, int]:
    field, found, values = 0, False, None
    while True:
        field, kind, at = field_start(content, at, field)
        if not kind:
            break
        if field == _CHUNK_METADATA and kind == STRUCT:
            (values, at), found = _walk_metadata(content, at, leaf), True
        elif field in _CHUNK_ENCRYPTED:
            raise BrokenThrift("it is encrypted")
        else:
            at = skipped(content, at, kind)
    if not found:
        raise BrokenThrift("a column of a row group has no description")
    return values, at


def _walk_metadata(content: bytes, at: int, leaf: _Leaf) -> tuple[int | None, int]:
    field, physical, values = 0, None, None
    while True:
        field, kind, at = field_start(content, at, field)
        if not kind:
            break
        if field == _TYPE and kind in INTEGERS:
            physical, at = signed(content, at)
        elif field == _VALUES and kind in INTEGERS:
            values, at = signed(content, at)
        elif field == _PATH and kind in LISTS:
            at = _walk_path(content, at, leaf)
        elif field == _STATISTICS and kind == STRUCT:
            at = _walk_statistics(content, at, leaf)
        elif field == _SIZES and kind == STRUCT:
            at = _walk_sizes(content, at, leaf)
        else:
            at = skipped(content, at, kind)
    if physical != leaf.physical:
        raise BrokenThrift("a column of a row group is of another type than the schema says")
    return values, at


def _walk_path(content: bytes, at: int, leaf: _Leaf) -> int:
    count, _, at = list_start(content, at)
    parts = []
    for _ in range(count):
        length, at = number(content, at)
        parts.append(content[at : at + length])
        at += length
    # Names may have dots in them.
    if b".".join(parts) != leaf.path:
        raise BrokenThrift("a column of a row group has another name than the schema says")
    return at


def _walk_statistics(content: bytes, at: int, leaf: _Leaf) -> int:
    field = 0
    while True:
        field, kind, at = field_start(content, at, field)
        if not kind:
            return at
        if field in _BOUNDS and kind == BINARY:
            length, at = number(content, at)
            if leaf.width is not None and length != leaf.width:
                raise BrokenThrift(f"a bound of a column has {length} bytes")
            at += length
        else:
            at = skipped(content, at, kind)


def _walk_sizes(content: bytes, at: int, leaf: _Leaf) -> int:
    field = 0
    while True:
        field, kind, at = field_start(content, at, field)
        if not kind:
            return at
        max_level = {_REPETITIONS: leaf.max_repetition, _DEFINITIONS: leaf.max_definition}.get(field)
        if max_level is not None and kind in LISTS:
            count, _, _ = list_start(content, at)
            if count not in (0, max_level + 1):
                raise BrokenThrift(f"a histogram of levels has {count} of {max_level + 1}")
        if field == _TEXT_BYTES and leaf.physical != _BYTE_ARRAY:
            raise BrokenThrift("numbers are said to have bytes of text")
        at = skipped(content, at, kind)
