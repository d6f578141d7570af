"""Decodes a block of a column of a Turi Create archive: its values, of one type or of mixed types, some of which may be missing."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark import types
from sframe_spark.turicreate.block_payload_reader import Payload
from sframe_spark.turicreate.number_datetime_and_vector_decoding import Cells, Vectors, are_alike, datetimes, floats, integers
from sframe_spark.turicreate.string_and_object_decoding import (
    DICTIONARY,
    IMAGE,
    INTEGER,
    LIST,
    MISSING,
    REAL,
    TENSOR,
    TEXT,
    TIMESTAMP,
    VECTOR,
    Decode,
    RepeatedTexts,
    TaggedReader,
    Tensors,
    WidenedCells,
    WrittenCells,
    encoded,
    texts,
)
from sframe_spark.types import ARRAY, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, NDARRAY, STR, ZONED_DATETIME, ColumnType
from sframe_spark.values.ndarrays import ndarrays

# Flags in the record of a block.
COMPRESSED, TYPED, MIXED, EXTENDED = 1, 2, 4, 8
# The byte with which a block begins: no values, values of one type, or values of one type and missing values.
NONE, ONE_KIND, ONE_KIND_OR_MISSING = 0, 1, 2
# The column type for each archive type.
COLUMN_TYPES: dict[int, ColumnType] = {
    INTEGER: INT,
    REAL: FLOAT,
    TEXT: STR,
    VECTOR: ARRAY,
    LIST: ENCODED_LIST,
    DICTIONARY: ENCODED_DICT,
    TIMESTAMP: ZONED_DATETIME,
    IMAGE: types.IMAGE,
    TENSOR: NDARRAY,
}
# For the type of values and a different type of their column: the conversion, and how many times as much memory the converted values take.
_WIDENED: dict[tuple[str, str], tuple[Callable[[pa.Array, ColumnType], pa.Array], float]] = {
    # Ints beyond 2**53 are rounded.
    (INT.kind, FLOAT.kind): (lambda values, column_type: values.cast(column_type.physical, safe=False), 1.0),
    (ARRAY.kind, ENCODED_LIST.kind): (lambda values, column_type: encoded(values.to_pylist(), column_type), 3.0),
    (NDARRAY.kind, ENCODED_LIST.kind): (lambda values, column_type: encoded([value.tolist() for value in ndarrays(values)], column_type), 3.0),
}
# Estimated memory of a missing value.
BYTES_OF_MISSING = 8.0
_COUNT = struct.Struct("<Q")


@attrs.frozen
class BlockForm:
    """The column type and the string decoder with which the blocks of a column are decoded.

    Parameters
    ----------
    column_type
        The type of the column that the values are returned in.
    decode
        Returns the string of encoded bytes, or raises UnicodeDecodeError.
    """

    column_type: ColumnType
    decode: Decode


class Block:
    """The rows of a block.

    The structure of the block is checked when the object is created. Most values are decoded when rows are requested; lists, dicts, images, mixed
    values, and datetimes that take different numbers of bytes, are decoded when the object is created.

    Parameters
    ----------
    content
        The decompressed bytes of the block.
    stored
        The size of the block in its file, in bytes.
    rows
        The number of rows.
    flags
        The flags in the block's record.
    form
        The column type and the string decoder.

    Raises
    ------
    BrokenPayload
        If the block is damaged, or has values of a type that the column cannot hold.
    MisfitError
        If the column was given a narrower type, and a value does not fit it.

    Examples
    --------
    >>> block = Block(bytes.fromhex("02 00 0400000000000000 040a 80"), 13, 3, TYPED, BlockForm(INT, bytes.decode))
    >>> block.values(0, 3).to_pylist(), block.values(1, 2).to_pylist()
    ([5, 6, None], [6])
    """

    __slots__ = ("_cells", "_missing", "form", "payload_size", "rows", "size")

    def __init__(self, content: bytes, stored: int, rows: int, flags: int, form: BlockForm) -> None:
        payload = Payload(content, stored)
        self.form, self.rows = form, rows
        self._missing: np.ndarray | None = None
        self.size = len(content)
        self._cells: Cells | None = None
        if flags & MIXED:
            self._cells = WrittenCells(_mixed(payload, rows, form), form.column_type)
        else:
            self._read(payload, flags)
        if not (isinstance(self._cells, WrittenCells) and self._cells.is_cut):
            payload.end()
        self.payload_size = len(content)
        # For values that are already decoded, the memory of the decoded array counts; for others, the memory that was reserved while reading.
        decoded_bytes = self._cells.used_bytes if isinstance(self._cells, WrittenCells) else payload.allowance.used
        self.size += decoded_bytes

    def _read(self, payload: Payload, flags: int) -> None:
        kinds = payload.byte("how many types a block has")
        if kinds not in (NONE, ONE_KIND, ONE_KIND_OR_MISSING) or (kinds == NONE and self.rows):
            raise payload.broken(f"a block of {self.rows} rows says that its values have {kinds} types")
        if kinds == NONE:
            return
        kind, count = payload.byte("the type of a block"), self.rows
        if kinds == ONE_KIND_OR_MISSING:
            self._missing = missing_rows(payload, self.rows)
            count -= int(np.count_nonzero(self._missing))
            self.size += self._missing.nbytes
        if kind != MISSING:
            self._cells = cells_of(payload, kind, count, flags, self.form)

    def values(self, first: int, last: int) -> pa.Array:
        """Return a range of rows; row 0 is the first row of the block.

        Raises
        ------
        BrokenPayload
            If the block is damaged in these rows.
        MisfitError
            If a value does not fit the narrower type of the column.
        UnicodeDecodeError, OverflowError
            If a string cannot be decoded, or a datetime is outside the years 1 to 9999 (see :meth:`first_refused`).
        """
        if self._cells is None:
            return pa.nulls(last - first, self.form.column_type.physical)
        if self._missing is None:
            return self._cells.rows(first, last)
        missing = self._missing[first:last]
        low, high = self._present(first), self._present(last)
        if high - low == last - first:
            return self._cells.rows(low, high)
        if low == high:
            return pa.nulls(last - first, self.form.column_type.physical)
        if isinstance(self._cells, RepeatedTexts):
            return self._cells.spread(low, high, missing)
        places = np.cumsum(~missing) - 1
        return self._cells.rows(low, high).take(pa.array(places, mask=missing))

    def _present(self, row: int) -> int:
        """Return how many values before a row are not missing."""
        return row if self._missing is None else row - int(np.count_nonzero(self._missing[:row]))

    def first_refused(self, first: int, last: int) -> int:
        """Return the first row, in a range that contains one, whose string cannot be decoded or whose datetime is out of range."""
        begin = first
        while last - first > 1:
            middle = (first + last) // 2
            try:
                self.values(begin, middle)
            except (UnicodeDecodeError, OverflowError):
                last = middle
            else:
                first = middle
        return first

    def bytes_between(self, first: int, last: int) -> float:
        """Return an estimate of the bytes that a range of rows takes in memory."""
        if self._cells is None:
            return BYTES_OF_MISSING * (last - first)
        low, high = self._present(first), self._present(last)
        return self._cells.size(low, high) + BYTES_OF_MISSING * (last - first - (high - low))


def missing_rows(payload: Payload, rows: int) -> np.ndarray:
    """Read the bitmap of missing values, and return for each row whether its value is missing.

    Raises
    ------
    BrokenPayload
        If the payload ends within the bitmap, or bits after the last row are set.
    """
    size = -(-rows // 64) * 8
    start = payload.skip(size, f"the missing ones of {rows} rows")
    bits = np.unpackbits(payload.array[start : start + size], bitorder="little").view(bool)
    if bits[rows:].any():
        raise payload.broken("rows are missing behind the last one")
    return bits[:rows]


def cells_of(payload: Payload, kind: int, count: int, flags: int, form: BlockForm) -> Cells:
    """Read ``count`` values of an archive type, and return them as values of the column's type.

    Ints may become floats, and vectors lists.

    Raises
    ------
    BrokenPayload
        If the values are damaged, or the column cannot hold values of this type.
    MisfitError
        If a value does not fit the narrower type of the column.
    """
    if kind not in COLUMN_TYPES:
        raise payload.broken(f"its values have the unknown type {kind}")
    own, expected = COLUMN_TYPES[kind].kind, form.column_type.kind
    if own != expected and (own, expected) not in _WIDENED:
        raise payload.broken(f"it holds values of type {own}, and its column is of type {expected}")
    if own == expected:
        return _of_kind(payload, kind, count, bool(flags & EXTENDED), form)
    widen, times = _WIDENED[own, expected]
    cells = _of_kind(payload, kind, count, bool(flags & EXTENDED), BlockForm(COLUMN_TYPES[kind], form.decode))
    return WidenedCells(cells, lambda values: widen(values, form.column_type), times)


def _of_kind(payload: Payload, kind: int, count: int, extended: bool, form: BlockForm) -> Cells:
    if kind == INTEGER:
        return integers(payload, count)
    if kind == REAL:
        return floats(payload, count, extended)
    if kind == TEXT:
        return texts(payload, count, form.decode)
    if kind == VECTOR:
        return Vectors(payload, count, extended)
    if kind == TENSOR:
        return Tensors(payload, count)
    if kind == TIMESTAMP and are_alike(payload, count):
        return datetimes(payload, count, form.column_type)
    tagged = TaggedReader(payload, form.decode)
    return WrittenCells((tagged.content(kind) for _ in range(count)), form.column_type)


def _mixed(payload: Payload, rows: int, form: BlockForm) -> Iterator[Any]:
    """Yield the values of a block in which each value has its own type tag."""
    payload.byte("how many types a block has")
    count = _COUNT.unpack_from(payload.content, payload.skip(8, "the number of values"))[0]
    if count != rows:
        raise payload.broken(f"it holds {count} values, and its record says {rows}")
    payload.require(rows, f"{rows} values")
    tagged = TaggedReader(payload, form.decode)
    for _ in range(rows):
        yield tagged.value()


def kind_of(content: bytes, flags: int) -> int:
    """Return the archive type of a block's values from its first bytes; ``MISSING`` if all values are missing.

    For a block of mixed types it is the type of the first value that is not missing.

    Raises
    ------
    BrokenPayload
        If the block ends before its type.
    """
    payload = Payload(content)
    if not flags & MIXED:
        return payload.byte("the type of a block") if payload.byte("how many types a block has") != NONE else MISSING
    payload.skip(9, "the number of values")
    while payload.left:
        tag = payload.content[payload.place]
        if tag - 128 != MISSING:
            return tag & 0x7F
        payload.skip(1, "a value")
    return MISSING
