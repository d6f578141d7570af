"""Validates the footers of external Parquet files: whether their column chunks, numbers of rows and statistics agree with the schema.

pyarrow cannot report such errors: when it reads column chunks or statistics that disagree with the schema, an uncaught C++ exception ends the
process.
"""

from __future__ import annotations

import functools
from typing import Any

import attrs
import pyarrow.parquet as pq

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.errors import BrokenThrift, EncryptedColumnsError
from sframe_spark.storage.parquet import thrift
from sframe_spark.storage.parquet.thrift import FieldReader, field_readers, read_fields

_PHYSICAL = {"BOOLEAN": 0, "INT32": 1, "INT64": 2, "INT96": 3, "FLOAT": 4, "DOUBLE": 5, "BYTE_ARRAY": 6, "FIXED_LEN_BYTE_ARRAY": 7}
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
_BYTE_ARRAY, _FIXED = 6, 7
# Field numbers, by struct.
_FILE_ROWS, _ROW_GROUPS = 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_CHUNK_METADATA, _CRYPTO_METADATA, _ENCRYPTED_METADATA = 3, 8, 9
_TYPE, _PATH, _VALUES, _STATISTICS, _SIZES = 1, 3, 5, 12, 16
_BOUNDS = (1, 2, 5, 6)
_TEXT_BYTES, _REPETITIONS, _DEFINITIONS = 1, 2, 3


def check_footer(content: bytes, metadata: pq.FileMetaData) -> None:
    """Raise unless each row group has a column chunk for each column of the schema, whose type, name and statistics' sizes are those of the column.

    Parameters
    ----------
    content
        The bytes of the footer, without its length.
    metadata
        The footer as pyarrow reads it.

    Raises
    ------
    BrokenThrift
        If the footer is not valid.
    EncryptedColumnsError
        If columns are encrypted.
    """
    schema = metadata.schema
    leaves = [_leaf(schema.column(index)) for index in range(len(schema))]

    def read_groups(content: bytes, offset: int) -> tuple[tuple[int, int], int]:
        """Read the list of row groups; return their number and the number of their rows."""
        count, _, offset = thrift.read_list_start(content, offset)
        rows = 0
        for _ in range(count):
            rows_of_group, offset = _read_group(content, offset, leaves)
            rows += rows_of_group
        return (count, rows), offset

    try:
        fields, _ = read_fields(
            content, 0, field_readers({_ROW_GROUPS: (thrift.LISTS, read_groups), _FILE_ROWS: (thrift.INTEGERS, thrift.read_signed)})
        )
    except IndexError:
        raise BrokenThrift("its footer has no end") from None
    groups, rows = fields.get(_ROW_GROUPS, (0, 0))
    if fields.get(_FILE_ROWS) != rows:
        raise BrokenThrift(f"its row groups have {rows} rows, the file {fields.get(_FILE_ROWS)}")
    if groups != metadata.num_row_groups:
        raise BrokenThrift("its footer makes no sense")


def _read_group(content: bytes, offset: int, leaves: list[_Leaf]) -> tuple[int, int]:
    """Read a row group; return the number of its rows."""

    def read_chunks(content: bytes, offset: int) -> tuple[set[int | None], int]:
        """Read the list of column chunks; return the numbers of values of the columns without repetition."""
        count, _, offset = thrift.read_list_start(content, offset)
        if count != len(leaves):
            raise BrokenThrift(f"a row group has {count} columns of {len(leaves)}")
        counts = set()
        for leaf in leaves:
            chunk, offset = read_fields(content, offset, leaf.chunk_readers)
            if _CHUNK_METADATA not in chunk:
                raise BrokenThrift("a column of a row group has no description")
            if not leaf.max_repetition:
                counts.add(chunk[_CHUNK_METADATA])
        return counts, offset

    fields, offset = read_fields(
        content, offset, field_readers({_COLUMNS: (thrift.LISTS, read_chunks), _GROUP_ROWS: (thrift.INTEGERS, thrift.read_signed)})
    )
    counts, rows = fields.get(_COLUMNS), fields.get(_GROUP_ROWS)
    if counts is None or rows is None or rows < 0 or not counts <= {rows}:
        raise BrokenThrift(f"a row group is said to have {rows} rows")
    return rows, offset


@attrs.frozen(slots=False)
class _Leaf:
    """The schema of a Parquet leaf column, and functions that read a column chunk and compare it with the schema."""

    path: bytes
    physical: int
    width: int | None
    max_repetition: int
    max_definition: int

    @cached_property
    def chunk_readers(self) -> dict[int, FieldReader]:
        bounds = {} if self.width is None else field_readers(dict.fromkeys(_BOUNDS, ((thrift.BINARY,), self._read_bound)))
        levels = ((_REPETITIONS, self.max_repetition), (_DEFINITIONS, self.max_definition))
        sizes = {field: (thrift.LISTS, functools.partial(_read_histogram, max_level=level)) for field, level in levels}
        text_bytes = {} if self.physical == _BYTE_ARRAY else {_TEXT_BYTES: (thrift.INTEGERS, _refuse_text_bytes)}
        metadata = field_readers(
            {
                _TYPE: (thrift.INTEGERS, thrift.read_signed),
                _VALUES: (thrift.INTEGERS, thrift.read_signed),
                _PATH: (thrift.LISTS, self._read_path),
                _STATISTICS: ((thrift.STRUCT,), functools.partial(read_fields, readers=bounds)),
                _SIZES: ((thrift.STRUCT,), functools.partial(read_fields, readers=field_readers({**sizes, **text_bytes}))),
            }
        )

        def read_metadata(content: bytes, offset: int) -> tuple[int | None, int]:
            """Read the description of a column chunk; return the number of its values."""
            fields, offset = read_fields(content, offset, metadata)
            if fields.get(_TYPE) != self.physical:
                raise BrokenThrift("a column of a row group is of another type than the schema says")
            return fields.get(_VALUES), offset

        return field_readers(
            {
                _CHUNK_METADATA: ((thrift.STRUCT,), read_metadata),
                _CRYPTO_METADATA: ((thrift.STRUCT,), _refuse_encrypted),
                _ENCRYPTED_METADATA: ((thrift.BINARY,), _refuse_encrypted),
            }
        )

    def _read_path(self, content: bytes, offset: int) -> tuple[None, int]:
        count, _, offset = thrift.read_list_start(content, offset)
        parts = []
        for _ in range(count):
            part, offset = thrift.read_binary(content, offset)
            parts.append(part)
        # The parts are joined, since names may contain dots.
        if b".".join(parts) != self.path:
            raise BrokenThrift("a column of a row group has another name than the schema says")
        return None, offset

    def _read_bound(self, content: bytes, offset: int) -> tuple[None, int]:
        bound, offset = thrift.read_binary(content, offset)
        if len(bound) != self.width:
            raise BrokenThrift(f"a bound of a column has {len(bound)} bytes")
        return None, offset


def _leaf(column: pq.ColumnSchema) -> _Leaf:
    physical = _PHYSICAL.get(column.physical_type)
    if physical is None:
        raise BrokenThrift(f"column {column.name} is of no type of Parquet")
    width = column.length if physical == _FIXED else _WIDTHS.get(physical)
    return _Leaf(column.path.encode(), physical, width, column.max_repetition_level, column.max_definition_level)


def _read_histogram(content: bytes, offset: int, max_level: int) -> tuple[None, int]:
    """Skip a histogram of levels, which is empty or has a number for each level."""
    count, _, _ = thrift.read_list_start(content, offset)
    if count not in (0, max_level + 1):
        raise BrokenThrift(f"a histogram of levels has {count} of {max_level + 1}")
    return None, thrift.skip_value(content, offset, thrift.LISTS[0])


def _refuse_text_bytes(content: bytes, offset: int) -> tuple[Any, int]:
    raise BrokenThrift("numbers are said to have bytes of text")


def _refuse_encrypted(content: bytes, offset: int) -> tuple[Any, int]:
    raise EncryptedColumnsError
