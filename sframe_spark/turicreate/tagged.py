"""Serialised values of an archive, as Python's: what lists and dicts hold, and whole lists, dicts and images."""

from __future__ import annotations

import array
import base64
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from sframe_spark.errors import BrokenPayload
from sframe_spark.turicreate.moments import read_moment
from sframe_spark.turicreate.payload import Payload
from sframe_spark.values.text import MOST_LEVELS

INTEGER, REAL, TEXT, VECTOR, LIST, DICTIONARY, MOMENT, MISSING, IMAGE, TENSOR = range(10)
# Who wrote with tags of before this one put four bytes behind each.
NEWER_TAGS = 128
TAGGED_INTEGER, TAGGED_REAL, TAGGED_TEXT, TAGGED_MISSING = (NEWER_TAGS + kind for kind in (INTEGER, REAL, TEXT, MISSING))
BYTES_OF_OLDER_TAG = 4
# What an item takes in Python, and as text.
BYTES_OF_ITEM, BYTES_OF_FLOAT = 96, 48
IMAGE_FORMATS = ("jpeg", "png", "raw", "unknown")
# Numpy has no more than twice as many; and arrays without elements are all of one shape, but for those that nobody wrote.
MOST_DIMENSIONS, MOST_EMPTY = 32, 65_536
_INTEGER, _REAL, _LENGTH = struct.Struct("<q"), struct.Struct("<d"), struct.Struct("<Q")
_IMAGE = struct.Struct("<BQQQQQ")
Decode = Callable[[bytes], str]


class TaggedReader:
    """Reads serialised values of a payload.

    Parameters
    ----------
    payload
        The bytes.
    decode
        Makes a text of bytes.

    Examples
    --------
    >>> TaggedReader(Payload(bytes.fromhex("82 0100000000000000 61")), bytes.decode).value()
    'a'
    """

    __slots__ = ("_decode", "_payload")

    def __init__(self, payload: Payload, decode: Decode) -> None:
        self._payload, self._decode = payload, decode

    def value(self, levels: int = MOST_LEVELS) -> Any:
        """Read a value that says itself what it is.

        Raises
        ------
        BrokenPayload
            If it is none, or has more lists and dicts inside each other than ``levels``.
        """
        return self.content(self._tag(), levels)

    def _tag(self) -> int:
        payload = self._payload
        tag = payload.byte("the type of a value")
        if tag >= NEWER_TAGS:
            return tag - NEWER_TAGS
        payload.skip(BYTES_OF_OLDER_TAG, "the type of a value")
        return tag

    def content(self, kind: int, levels: int = MOST_LEVELS) -> Any:
        """Read a value of a known type."""
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
        if kind == MOMENT:
            return read_moment(self._payload)
        if kind == IMAGE:
            return self.image()
        if kind == TENSOR:
            return self.tensor(levels)
        raise self._payload.broken(f"a value has the unknown type {kind}")

    def _length(self) -> int:
        length: int = _LENGTH.unpack_from(self._payload.content, self._payload.skip(8, "a length"))[0]
        return length

    def _count(self, least_bytes: int, cost: int, what: str) -> int:
        """How many items follow, each of at least so many bytes, and taking so many in memory."""
        payload, count = self._payload, self._length()
        payload.require(count * least_bytes, f"{what} of {count} items")
        payload.allowance.take(count * cost, payload.place)
        return count

    def _inner(self, levels: int) -> int:
        if not levels:
            raise self._payload.broken(f"there are more than {MOST_LEVELS} lists and dicts inside each other")
        return levels - 1

    def text(self) -> str:
        """Read a text."""
        return self._decode(bytes(self._payload.take(self._length(), "a text")))

    def listed(self, levels: int) -> list[Any]:
        """Read a list."""
        inner = self._inner(levels)
        return self._items(self._count(1, BYTES_OF_ITEM, "a list"), inner)

    def mapped(self, levels: int) -> dict[Any, Any]:
        """Read a dict."""
        inner = self._inner(levels)
        items = self._items(2 * self._count(2, 2 * BYTES_OF_ITEM, "a dict"), inner)
        keys = items[::2]
        if not all(type(key) is str for key in keys):
            keys = list(map(as_key, keys))
            if any(isinstance(key, dict) for key in keys):
                raise self._payload.broken("a dict has a dict or an image as key")
        return dict(zip(keys, items[1::2], strict=True))

    def _items(self, count: int, levels: int) -> list[Any]:
        """So many values that say themselves what they are; texts and numbers, which most are, without a call for each."""
        payload, found = self._payload, list[Any]()
        content, size, place, decode = payload.content, payload.size, payload.place, self._decode
        word, real, add = _INTEGER.unpack_from, _REAL.unpack_from, found.append
        for _ in range(count):
            tag = content[place] if place < size else MISSING
            if tag == TAGGED_TEXT and place + 9 <= size and 0 <= (length := word(content, place + 1)[0]) <= size - place - 9:
                start = place + 9
                place = start + length
                add(decode(content[start:place]))
            elif tag == TAGGED_REAL and place + 9 <= size:
                add(real(content, place + 1)[0])
                place += 9
            elif tag == TAGGED_INTEGER and place + 9 <= size:
                add(word(content, place + 1)[0])
                place += 9
            elif tag == TAGGED_MISSING:
                add(None)
                place += 1
            else:
                payload.place = place
                add(self.value(levels))
                place = payload.place
        payload.place = place
        return found

    def floats(self) -> np.ndarray:
        """Read floats with their number before them."""
        count = self._count(8, BYTES_OF_FLOAT, "a vector")
        return np.frombuffer(self._payload.take(8 * count), "<f8")

    def vector(self) -> array.array:
        """Read a vector."""
        return array.array("d", self.floats().tobytes())

    def image(self) -> dict[str, Any]:
        """Read an image as a record of its bytes."""
        payload = self._payload
        _, height, width, channels, form, length = _IMAGE.unpack_from(payload.content, payload.skip(_IMAGE.size, "an image"))
        if form >= len(IMAGE_FORMATS):
            raise payload.broken(f"an image has the unknown format {form}")
        if max(height, width, channels) >= 1 << 63:
            raise payload.broken("an image is larger than there are numbers for")
        payload.require(length, "an image")
        payload.allowance.take(4 * length, payload.place)
        content = base64.b64encode(payload.take(length, "an image")).decode("ascii")
        return {"height": height, "width": width, "channels": channels, "format": IMAGE_FORMATS[form], "data": content}

    def tensor(self, levels: int = MOST_LEVELS) -> Any:
        """Read an array of any number of dimensions as lists in lists, the innermost vectors."""
        payload = self._payload
        payload.byte("an array")
        shape = [self._length() for _ in range(self._count(8, BYTES_OF_ITEM, "a shape"))]
        strides = [self._length() for _ in range(self._count(8, BYTES_OF_ITEM, "strides"))]
        found = tensor_of(self.floats(), shape, strides)
        if found.ndim > levels:
            raise payload.broken(f"an array of {found.ndim} dimensions is inside too many lists and dicts")
        return vectors_of(found)


def as_key(value: Any) -> Any:
    """Return what stands for a value as a key of a dict: a tuple for a list or a vector."""
    return tuple(map(as_key, value)) if isinstance(value, (list, array.array)) else value


def tensor_of(elements: np.ndarray, shape: list[int], strides: list[int]) -> np.ndarray:
    """Return an array over its elements; nothing is copied.

    Raises
    ------
    BrokenPayload
        If shape, strides and elements do not fit each other.

    Examples
    --------
    >>> tensor_of(np.arange(6.0), [3, 2], [1, 3]).tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    count = len(elements)
    if not shape and not strides and not count:
        return np.empty(0)
    if len(shape) != len(strides) or not 0 < len(shape) <= MOST_DIMENSIONS:
        raise BrokenPayload(f"an array has {len(shape)} dimensions and {len(strides)} strides")
    if math.prod(shape) != count or math.prod(filter(None, shape)) > max(count, MOST_EMPTY):
        raise BrokenPayload(f"an array has {count} elements, which do not fit its shape")
    if not count:
        return np.empty(shape)
    if 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) > count:
        raise BrokenPayload(f"an array has {count} elements, which do not fit its strides")
    return np.lib.stride_tricks.as_strided(elements, shape, [8 * stride for stride in strides], writeable=False)


def vectors_of(tensor: np.ndarray) -> Any:
    """Return an array as lists in lists, the innermost vectors, as arrays of numpy's are held in lists.

    Examples
    --------
    >>> vectors_of(np.array([[1.0, 2.0]])), vectors_of(np.array([]))
    ([array('d', [1.0, 2.0])], [])
    """
    if tensor.ndim > 1:
        return [vectors_of(part) for part in tensor]
    return array.array("d", tensor.tobytes()) if len(tensor) else []
