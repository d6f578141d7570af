"""Footers of joined files: column chunks of many files of one form become row groups of one, which pyarrow decodes in one go.

A number of variable length takes as many bytes as the longest may, so that footers of all row groups are written at once, by numpy.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import numpy.typing as npt

from sframe_spark.storage.parquet.thrift import field_start, skipped

# Numbers of fields of a footer.
_ROWS, _GROUPS = 3, 4
# Bytes of a number that may have 35 bits, one of which is the sign.
_NUMBER_BYTES = 5
LARGEST_NUMBER = 1 << 34
# What a field starts with that follows the last one, or the one before that, and is a number or holds something.
_NEXT_I32, _NEXT_I64, _AFTER_NEXT_I64, _NEXT_LIST, _NEXT_STRUCT, _NEXT_BINARY = b"\x15", b"\x16", b"\x26", b"\x19", b"\x1c", b"\x18"
_END, _STRUCTS, _NUMBERS, _BINARIES = b"\x00", 12, 5, 8
# Lists of more items say how many in a number of its own.
_FEW_ITEMS = 14
# Numbers that Parquet has for how columns are stored, and compressed, of those that writers of ours use.
PHYSICAL_TYPES = {"BOOLEAN": 0, "INT32": 1, "INT64": 2, "FLOAT": 4, "DOUBLE": 5, "BYTE_ARRAY": 6}
CODECS = {"UNCOMPRESSED": 0, "SNAPPY": 1, "GZIP": 2, "BROTLI": 4, "ZSTD": 6, "LZ4": 7}

Bytes = npt.NDArray[np.uint8]


@attrs.frozen
class Frame:
    """What the footers of files of one form share: the bytes before the number of rows, and those after the row groups.

    Parameters
    ----------
    before, after
        These bytes.
    """

    before: bytes
    after: bytes

    @classmethod
    def of(cls, footer: bytes) -> Frame | None:
        """What is around the rows and row groups of a footer; None where they are not where writers put them.

        Examples
        --------
        >>> import io
        >>> import pyarrow as pa
        >>> import pyarrow.parquet as pq
        >>> sink = io.BytesIO()
        >>> metadata_of = pq.write_table(pa.table({"a": [1]}), sink)
        >>> content = sink.getvalue()
        >>> frame = Frame.of(content[-8 - int.from_bytes(content[-8:-4], "little") : -8])
        >>> b"a" in frame.before, b"pyarrow" in frame.after or b"parquet" in frame.after
        (True, True)
        """
        at = field = 0
        before = None
        while at < len(footer):
            start = at
            field, kind, at = field_start(footer, at, field)
            before = start if field == _ROWS else before
            if not kind:
                break
            at = skipped(footer, at, kind)
            if field == _GROUPS:
                return None if before is None else cls(footer[:before], footer[at:])
        return None


@attrs.frozen
class JoinedColumn:
    """A leaf of the columns of joined files.

    Parameters
    ----------
    path
        Its path in the schema.
    physical_type
        How its values are stored, as pyarrow says it.
    chunks
        For each row group how many values it has, how long it is when it is no longer compressed, how long it is, where its data and where its
        dictionary start, zero where there is none; None of columns that are not read.
    codecs
        The number of how each row group is compressed.
    """

    path: str
    physical_type: str
    chunks: npt.NDArray[np.int64] | None = None
    codecs: Bytes | None = None


def joined_footer(frame: Frame, rows: npt.NDArray[np.int64], columns: Sequence[JoinedColumn]) -> bytes:
    """Return the footer of a file that has a row group of so many rows for each of some files.

    Parameters
    ----------
    frame
        What their footers share.
    rows
        How many rows each one has.
    columns
        All leaves of their columns.
    """
    groups = len(rows)
    parts = [_repeated(_NEXT_LIST + _list_of(len(columns), _STRUCTS), groups)]
    for column in columns:
        parts.extend(_chunk(column, groups))
    parts.extend([_repeated(_NEXT_I64 + _END + _NEXT_I64, groups), numbers(rows), _repeated(_END, groups)])
    total = numbers(np.array([rows.sum()])).tobytes()
    return frame.before + _NEXT_I64 + total + _NEXT_LIST + _list_of(groups, _STRUCTS) + np.hstack(parts).tobytes() + frame.after


def _chunk(column: JoinedColumn, groups: int) -> list[Bytes]:
    """What footers say of one column of all row groups: where its chunk is, and no statistics."""
    path, kind = column.path.encode(), numbers(np.array([PHYSICAL_TYPES[column.physical_type]])).tobytes()
    # A chunk is said to have one encoding: pages say theirs.
    encodings = _NEXT_LIST + _list_of(1, _NUMBERS) + _END
    paths = _NEXT_LIST + _list_of(1, _BINARIES) + _length(len(path)) + path
    start = _AFTER_NEXT_I64 + _END + _NEXT_STRUCT + _NEXT_I32 + kind + encodings + paths + _NEXT_I32
    if column.chunks is None or column.codecs is None:
        nowhere = _END + (_NEXT_I64 + _END) * 3 + _AFTER_NEXT_I64 + _END
        return [_repeated(start + nowhere + _END * 2, groups)]
    values, uncompressed, compressed, data, dictionary = map(numbers, column.chunks.T)
    next_number, after_next = _repeated(_NEXT_I64, groups), _repeated(_AFTER_NEXT_I64, groups)
    known = [next_number, values, next_number, uncompressed, next_number, compressed, after_next, data, after_next, dictionary]
    # A number below 64 takes one byte, of which the lowest bit is the sign.
    return [_repeated(start, groups), (column.codecs << 1)[:, None], *known, _repeated(_END * 2, groups)]


def numbers(values: npt.NDArray[np.int64]) -> Bytes:
    """Numbers as Thrift has them, in a row of bytes each, all of one length.

    Examples
    --------
    >>> from sframe_spark.storage.parquet.thrift import signed
    >>> [signed(row.tobytes(), 0) for row in numbers(np.array([0, 200, 1 << 33]))]
    [(0, 5), (200, 5), (8589934592, 5)]
    """
    left = values.astype(np.uint64)[:, None] << np.uint64(1)
    found: Bytes = (left >> (np.arange(_NUMBER_BYTES, dtype=np.uint64) * np.uint64(7))).astype(np.uint8) | np.uint8(128)
    found[:, -1] &= 127
    return found


def _length(value: int) -> bytes:
    """A number without a sign, in as few bytes as it takes."""
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def _list_of(count: int, kind: int) -> bytes:
    return bytes([count << 4 | kind]) if count <= _FEW_ITEMS else bytes([0xF0 | kind]) + _length(count)


def _repeated(content: bytes, groups: int) -> Bytes:
    return np.broadcast_to(np.frombuffer(content, np.uint8), (groups, len(content)))
