"""Decodes the strings, lists, dicts, images and tensors in a block of a column that Turi Create has saved."""

from __future__ import annotations

import array
import datetime
import math
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import BrokenPayload, InvalidArgumentError, MisfitError, SchemaError, TooLargeError
from sframe_spark.images import FORMATS, Image
from sframe_spark.message_text import in_words
from sframe_spark.turicreate.block_payload_reader import MAX_ALLOWED, Payload
from sframe_spark.turicreate.number_datetime_and_vector_decoding import GROUP, Cells, FloatRun, NumberRun, floats_between, offsets_of, read_datetime
from sframe_spark.types import LIST_KIND, ColumnType
from sframe_spark.values.ndarrays import ndarray_column
from sframe_spark.values.python_to_arrow import encode_plain
from sframe_spark.values.tagged_json_display_and_canonical_text import MAX_LEVELS

# --- Strings, stored one after the other or dictionary-encoded


# The two values of the byte that says how the strings of a block are stored.
DIRECT, BY_DICTIONARY = 0, 1
# Bytes of memory reserved per dictionary entry: so many that damaged files cannot cause long loops; Turi Create writes at most 64 entries.
BYTES_OF_ENTRY = 1_024


def texts(payload: Payload, count: int, decode: Decode) -> Cells:
    """Read ``count`` strings; ``decode`` returns the string of encoded bytes, or raises UnicodeDecodeError."""
    form = payload.byte("how texts are stored")
    if form == DIRECT:
        return _DirectTexts(payload, count, decode)
    if form == BY_DICTIONARY:
        return RepeatedTexts(payload, count, decode)
    raise payload.broken(f"texts are stored in the unknown way {form}")


class _DirectTexts:
    def __init__(self, payload: Payload, count: int, decode: Decode) -> None:
        self._offsets = offsets_of(payload, count, payload.left)
        self._start = payload.skip(int(self._offsets[-1]), "texts")
        self._content, self._decode = payload.content, decode

    def rows(self, first: int, last: int) -> pa.Array:
        # The Arrow array shares the bytes of the block. Only if they are not valid UTF-8, each string is decoded by itself.
        data = pa.py_buffer(self._content).slice(self._start + int(self._offsets[first]))
        offsets = (self._offsets[first : last + 1] - self._offsets[first]).astype(np.int32)
        strings = pa.StringArray.from_buffers(last - first, pa.py_buffer(offsets), data)
        if is_valid_utf8(strings):
            return strings
        bounds = (self._offsets[first : last + 1] + self._start).tolist()
        return pa.array([self._decode(self._content[low:high]) for low, high in pairwise(bounds)], pa.string())

    def size(self, first: int, last: int) -> float:
        return float(self._offsets[last] - self._offsets[first]) + 4.0 * (last - first)


class RepeatedTexts:
    """Dictionary-encoded strings of a block; the parameters are those of :func:`texts`."""

    def __init__(self, payload: Payload, count: int, decode: Decode) -> None:
        entries = payload.number()
        payload.require(entries, f"a dictionary of {entries} texts")
        payload.allowance.take(entries * BYTES_OF_ENTRY, payload.place)
        contents = [bytes(payload.take(payload.number(), "a text")) for _ in range(entries)]
        self._lengths = np.fromiter(map(len, contents), np.int64, entries)
        self._entries, self._broken = _decoded(contents, decode)
        self._is_broken = np.zeros(entries, bool)
        self._is_broken[list(self._broken)] = True
        self._run = NumberRun(payload, count)

    def rows(self, first: int, last: int) -> pa.Array:
        """Return a range of the values as a string column."""
        return self._entries.take(pa.array(self._numbers(first, last)))

    def spread(self, first: int, last: int, missing: np.ndarray) -> pa.Array:
        """Return one row for each item of ``missing``: null where it is true, otherwise the next string of the range."""
        numbers = np.zeros(len(missing), np.int32)
        numbers[~missing] = self._numbers(first, last)
        return self._entries.take(pa.array(numbers, mask=missing))

    def _numbers(self, first: int, last: int) -> np.ndarray:
        """Return the index in the dictionary of each of a range of the strings."""
        stored = self._run.values(first, last)
        if len(stored) and int(stored.max()) >= len(self._lengths):
            raise BrokenPayload(f"a text is number {int(stored.max())} of a dictionary of {len(self._lengths)}")
        numbers = stored.astype(np.int32)
        size = int(self._lengths[numbers].sum())
        if size > MAX_ALLOWED:
            raise TooLargeError(f"{last - first} texts take {in_words(size)}, more than is read at once: read fewer rows at a time")
        if self._broken and (broken := self._is_broken[numbers]).any():
            raise self._broken[int(numbers[np.argmax(broken)])]
        return numbers

    def size(self, first: int, last: int) -> float:
        """Return an upper bound of the bytes that a range of the strings takes in memory: each counts as the longest dictionary entry."""
        return (float(self._lengths.max(initial=0)) + 4.0) * (last - first)


def _decoded(entries: list[bytes], decode: Decode) -> tuple[pa.Array, dict[int, UnicodeDecodeError]]:
    """Return the decoded dictionary entries, and by index the errors of entries that cannot be decoded, which become empty strings."""
    strings: list[str] = []
    broken: dict[int, UnicodeDecodeError] = {}
    for number, entry in enumerate(entries):
        try:
            strings.append(decode(entry))
        except UnicodeDecodeError as error:
            strings.append("")
            broken[number] = error
    return pa.array(strings, pa.string()), broken


def is_valid_utf8(strings: pa.Array) -> bool:
    """Return whether all strings of an Arrow array are valid UTF-8.

    Examples
    --------
    >>> is_valid_utf8(pa.array(["a", "é"])), is_valid_utf8(pa.array([b"a", bytes([0xE9])]).view(pa.string()))
    (True, False)
    """
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


# --- Values with type tags: the items of lists and dicts, and the values of blocks of mixed types


# The archive types. FLEX_UNDEFINED of Turi Create is MISSING, the type of missing values.
INTEGER, REAL, TEXT, VECTOR, LIST, DICTIONARY, TIMESTAMP, MISSING, IMAGE, TENSOR = range(10)
# Tags of the newer format are this number plus the type. Tags of the older format are the type itself, followed by four unused bytes.
NEWER_TAGS = 128
TAGGED_INTEGER, TAGGED_REAL, TAGGED_TEXT, TAGGED_MISSING = (NEWER_TAGS + kind for kind in (INTEGER, REAL, TEXT, MISSING))
BYTES_OF_OLDER_TAG = 4
# Memory reserved per item and per float, for the Python object and its JSON.
BYTES_OF_ITEM, BYTES_OF_FLOAT = 96, 48
# Limits of tensors: the number of dimensions, and for tensors without elements the product of the dimensions that are not 0.
MAX_DIMENSIONS, MAX_EMPTY = 32, 65_536
_INTEGER, _REAL, _LENGTH = struct.Struct("<q"), struct.Struct("<d"), struct.Struct("<Q")
_IMAGE = struct.Struct("<BQQQQQ")
Decode = Callable[[bytes], str]


class TaggedReader:
    """Reads values with type tags from a payload, as Python objects.

    Parameters
    ----------
    payload
        The bytes of the block.
    decode
        Returns the string of encoded bytes, or raises UnicodeDecodeError.

    Examples
    --------
    >>> TaggedReader(Payload(bytes.fromhex("82 0100000000000000 61")), bytes.decode).value()
    'a'
    """

    __slots__ = ("_decode", "_payload")

    def __init__(self, payload: Payload, decode: Decode) -> None:
        self._payload, self._decode = payload, decode

    def value(self, levels: int = MAX_LEVELS) -> Any:
        """Read a type tag and the value after it.

        Raises
        ------
        BrokenPayload
            If the value is damaged, or lists and dicts are nested deeper than ``levels``.
        UnicodeDecodeError, OverflowError
            If a string cannot be decoded, or a datetime is outside the years 1 to 9999.
        """
        return self.content(self._tag(), levels)

    def _tag(self) -> int:
        payload = self._payload
        tag = payload.byte("the type of a value")
        if tag >= NEWER_TAGS:
            return tag - NEWER_TAGS
        payload.skip(BYTES_OF_OLDER_TAG, "the type of a value")
        return tag

    def content(self, kind: int, levels: int = MAX_LEVELS) -> Any:
        """Read a value of the given archive type, without a tag before it; raises as :meth:`value`."""
        if kind == TEXT:
            return self.text()
        if kind == INTEGER:
            return _INTEGER.unpack_from(self._payload.content, self._payload.skip(8, "an int"))[0]
        if kind == REAL:
            return _REAL.unpack_from(self._payload.content, self._payload.skip(8, "a float"))[0]
        if kind == MISSING:
            return None
        if kind == LIST:
            return self.listed(levels)
        if kind == DICTIONARY:
            return self.mapped(levels)
        if kind == VECTOR:
            return self.vector()
        if kind == TIMESTAMP:
            return read_datetime(self._payload)
        if kind == IMAGE:
            return self.image()
        if kind == TENSOR:
            return self.tensor()
        raise self._payload.broken(f"a value has the unknown type {kind}")

    def _length(self) -> int:
        length: int = _LENGTH.unpack_from(self._payload.content, self._payload.skip(8, "a length"))[0]
        return length

    def _count(self, min_bytes: int, cost: int, what: str) -> int:
        """Read and return a number of items; check that enough bytes are left for them, and reserve their memory."""
        payload, count = self._payload, self._length()
        payload.require(count * min_bytes, f"{what} of {count} items")
        payload.allowance.take(count * cost, payload.place)
        return count

    def _inner(self, levels: int) -> int:
        if not levels:
            raise self._payload.broken(f"there are more than {MAX_LEVELS} lists and dicts inside each other")
        return levels - 1

    def text(self) -> str:
        """Read a string."""
        return self._decode(bytes(self._payload.take(self._length(), "a text")))

    def listed(self, levels: int) -> list[Any]:
        """Read a list; at most ``levels`` lists and dicts may be nested, including this one."""
        inner = self._inner(levels)
        return self._items(self._count(1, BYTES_OF_ITEM, "a list"), inner)

    def mapped(self, levels: int) -> dict[Any, Any]:
        """Read a dict; at most ``levels`` lists and dicts may be nested, including this one. Keys that are lists or vectors become tuples."""
        inner = self._inner(levels)
        items = self._items(2 * self._count(2, 2 * BYTES_OF_ITEM, "a dict"), inner)
        keys = items[::2]
        if not all(type(key) is str for key in keys):
            keys = list(map(as_key, keys))
            if any(isinstance(key, dict) for key in keys):
                raise self._payload.broken("a dict has a dict or an image as key")
        return dict(zip(keys, items[1::2], strict=True))

    def _items(self, count: int, levels: int) -> list[Any]:
        """Read ``count`` values with tags; strings, numbers and missing values, the most common ones, are decoded in this method for speed."""
        payload, items = self._payload, list[Any]()
        content, size, offset, decode = payload.content, payload.size, payload.place, self._decode
        word, real, add = _INTEGER.unpack_from, _REAL.unpack_from, items.append
        for _ in range(count):
            tag = content[offset] if offset < size else MISSING
            if tag == TAGGED_TEXT and offset + 9 <= size and 0 <= (length := word(content, offset + 1)[0]) <= size - offset - 9:
                start = offset + 9
                offset = start + length
                add(decode(content[start:offset]))
            elif tag == TAGGED_REAL and offset + 9 <= size:
                add(real(content, offset + 1)[0])
                offset += 9
            elif tag == TAGGED_INTEGER and offset + 9 <= size:
                add(word(content, offset + 1)[0])
                offset += 9
            elif tag == TAGGED_MISSING:
                add(None)
                offset += 1
            else:
                payload.place = offset
                add(self.value(levels))
                offset = payload.place
        payload.place = offset
        return items

    def floats(self) -> np.ndarray:
        """Read the number of floats, and the floats."""
        count = self._count(8, BYTES_OF_FLOAT, "a vector")
        return np.frombuffer(self._payload.take(8 * count), "<f8")

    def vector(self) -> array.array:
        """Read a vector of floats."""
        return array.array("d", self.floats().tobytes())

    def image(self) -> Image:
        """Read an image."""
        payload = self._payload
        _, height, width, channels, form, length = _IMAGE.unpack_from(payload.content, payload.skip(_IMAGE.size, "an image"))
        if form >= len(FORMATS):
            raise payload.broken(f"an image has the unknown format {form}")
        if max(height, width, channels) >= 1 << 63:
            raise payload.broken("an image is larger than there are numbers for")
        payload.require(length, "an image")
        payload.allowance.take(4 * length, payload.place)
        try:
            return Image.of_parts(bytes(payload.take(length, "an image")), FORMATS[form], height, width, channels)
        except InvalidArgumentError as error:
            raise payload.broken(str(error)) from None

    def tensor(self) -> np.ndarray:
        """Read a tensor as an array of numpy."""
        payload = self._payload
        payload.byte("an array")
        shape = [self._length() for _ in range(self._count(8, BYTES_OF_ITEM, "a shape"))]
        strides = [self._length() for _ in range(self._count(8, BYTES_OF_ITEM, "strides"))]
        return np.ascontiguousarray(tensor_of(self.floats(), shape, strides), dtype=np.float64)


def as_key(value: Any) -> Any:
    """Return a value in a form that can be a dict key: lists, vectors and tensors as tuples, other values unchanged."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(map(as_key, value)) if isinstance(value, (list, array.array)) else value


def tensor_of(elements: np.ndarray, shape: list[int], strides: list[int]) -> np.ndarray:
    """Return a tensor as a view of its elements; strides are in elements, not in bytes.

    Raises
    ------
    BrokenPayload
        If the shape, the strides and the number of elements do not fit each other.

    Examples
    --------
    >>> tensor_of(np.arange(6.0), [3, 2], [1, 3]).tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    count = len(elements)
    if not shape and not strides and not count:
        return np.empty(0)
    if len(shape) != len(strides) or not 0 < len(shape) <= MAX_DIMENSIONS:
        raise BrokenPayload(f"an array has {len(shape)} dimensions and {len(strides)} strides")
    if math.prod(shape) != count or math.prod(filter(None, shape)) > max(count, MAX_EMPTY):
        raise BrokenPayload(f"an array has {count} elements, which do not fit its shape")
    if not count:
        return np.empty(shape)
    if 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) > count:
        raise BrokenPayload(f"an array has {count} elements, which do not fit its strides")
    return np.lib.stride_tricks.as_strided(elements, shape, [8 * stride for stride in strides], writeable=False)


# --- Cells of lists and dicts, which become JSON strings, and of images and tensors


# The Python class of the values of each kind of column.
_CLASSES: dict[str, type] = {
    "int": int,
    "float": float,
    "str": str,
    "array": array.array,
    "ndarray": np.ndarray,
    "list": list,
    "dict": dict,
    "image": Image,
    "datetime": datetime.datetime,
}


class WrittenCells:
    """Values of a block that are all decoded when the block is read.

    Parameters
    ----------
    values
        Yields the values, decoding them.
    column_type
        The type of the column.

    Raises
    ------
    BrokenPayload
        If a value is damaged, or is of a type that the column cannot hold.
    MisfitError
        If a value does not fit the narrower type of the column.
    """

    def __init__(self, values: Iterator[Any], column_type: ColumnType) -> None:
        decoded: list[Any] = []
        self._failure: Exception | None = None
        try:
            decoded.extend(values)
        except (UnicodeDecodeError, OverflowError) as error:
            # The values before the invalid one can still be read; the error is raised when rows behind them are requested.
            self._failure = error
        self._values = encoded([fitting(value, column_type) for value in decoded], column_type)
        self._bytes_each = self._values.nbytes / max(len(decoded), 1)

    @property
    def used_bytes(self) -> int:
        """The number of bytes that the decoded values take in memory."""
        return int(self._values.nbytes)

    @property
    def is_cut(self) -> bool:
        """Whether decoding stopped at an invalid string or datetime."""
        return self._failure is not None

    def rows(self, first: int, last: int) -> pa.Array:
        """Return a range of the values; raise UnicodeDecodeError or OverflowError if the range has the invalid value or values behind it."""
        if self._failure is not None and last > len(self._values):
            raise self._failure
        return self._values.slice(first, last - first)

    def size(self, first: int, last: int) -> float:
        """Return an estimate of the bytes that a range of the values takes in memory, from their average size."""
        return self._bytes_each * (last - first)


def encoded(values: list[Any], column_type: ColumnType) -> pa.Array:
    """Return an Arrow array of Python values in the physical type of a column.

    Raises
    ------
    MisfitError
        If a value does not fit the physical type.
    """
    try:
        return encode_plain(values, column_type)
    except SchemaError as error:
        raise MisfitError(str(error)) from None


def fitting(value: Any, column_type: ColumnType) -> Any:
    """Return a value as the column's kind: ints become floats in a float column, vectors and tensors become lists in a list column.

    Raises
    ------
    BrokenPayload
        If the value is not of the column's kind, and cannot be converted in this way.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST
    >>> fitting(array.array("d", [1.0]), ENCODED_LIST), fitting({}, ENCODED_LIST)
    Traceback (most recent call last):
        ...
    sframe_spark.errors.BrokenPayload: ('it holds a value of type dict, and its column is of type list', None)
    """
    kind = column_type.kind
    if value is None or type(value) is _CLASSES[kind]:
        return value
    if kind == "float" and type(value) is int:
        return float(value)
    if kind == LIST_KIND and isinstance(value, (array.array, np.ndarray)):
        return value.tolist()
    name = {encoded: kind for kind, encoded in _CLASSES.items()}[type(value)]
    raise BrokenPayload(f"it holds a value of type {name}, and its column is of type {kind}")


class WidenedCells:
    """Values of a block whose type differs from that of the column: ints in a float column, or vectors in a list column.

    Parameters
    ----------
    cells
        The values in their own type.
    widen
        Returns an array of these values in the type of the column.
    times
        How many times as much memory the values take in the type of the column, as an estimate.
    """

    def __init__(self, cells: Cells, widen: Callable[[pa.Array], pa.Array], times: float) -> None:
        self._cells, self._widen, self._times = cells, widen, times

    def rows(self, first: int, last: int) -> pa.Array:
        """Return a range of the values in the type of the column."""
        return self._widen(self._cells.rows(first, last))

    def size(self, first: int, last: int) -> float:
        """Return an estimate of the bytes that a range of the values takes in memory, in the type of the column."""
        return self._cells.size(first, last) * self._times


class Tensors:
    """Tensors of a block, stored as all ranks, numbers of elements, shapes and strides, followed by all elements.

    Parameters
    ----------
    payload
        Positioned at the byte before the ranks.
    count
        The number of tensors.
    """

    def __init__(self, payload: Payload, count: int) -> None:
        payload.byte("how arrays are stored")
        # The offsets of each tensor in the shapes and strides, and in the elements of all tensors.
        self._dimensions = offsets_of(payload, count, MAX_DIMENSIONS)
        self._offsets = offsets_of(payload, count, payload.size * GROUP)
        dimensions = int(self._dimensions[-1])
        self._shapes = _numbers(payload, dimensions)
        self._strides = _numbers(payload, dimensions)
        self._floats = FloatRun(payload, int(self._offsets[-1]), has_mode=True)
        self._allowance = payload.allowance

    def rows(self, first: int, last: int) -> pa.Array:
        """Return a range of the tensors."""
        return ndarray_column(list(self._between(first, last)))

    def _between(self, first: int, last: int) -> Iterator[np.ndarray]:
        elements, offsets = floats_between(self._floats, self._allowance, self._offsets, first, last)
        for number, (begin, end) in enumerate(pairwise(offsets.tolist()), first):
            low, high = (int(offset) for offset in self._dimensions[number : number + 2])
            yield tensor_of(elements[begin:end], self._shapes[low:high].tolist(), self._strides[low:high].tolist())

    def size(self, first: int, last: int) -> float:
        """Return the bytes that a range of the tensors takes in memory: 8 for each element, and 24 for each tensor."""
        return 8.0 * int(self._offsets[last] - self._offsets[first]) + 24.0 * (last - first)


def _numbers(payload: Payload, count: int) -> np.ndarray:
    payload.allowance.take(8 * count, payload.place)
    return NumberRun(payload, count).values(0, count)
