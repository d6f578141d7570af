"""Reads the decompressed bytes of a block sequentially, and limits the memory that the values of a block may take."""

from __future__ import annotations

import struct

import numpy as np

from sframe_spark.errors import BrokenPayload
from sframe_spark.message_text import in_words

# Memory limit of a decoded block: a constant, plus a factor times its size in the file, which is usually about 64 KiB.
ALLOWED_BYTES = 128 << 20
ALLOWED_FOR_EACH = 32
# The largest number of bytes in one Arrow array.
MAX_ALLOWED = (1 << 31) - 1

# Length of a variable-length number by its first byte: one more than the number of trailing one bits; 9 for 7 or 8 of them.
NUMBER_BYTES = bytes((1, 2, 3, 4, 5, 6, 7, 9, 9)[(~first & (first + 1)).bit_length() - 1 if first < 255 else 8] for first in range(256))
_WORD = struct.Struct("<Q")


class Allowance:
    """The memory that the values of one block may still take, so that a damaged block cannot exhaust the memory.

    Parameters
    ----------
    stored
        The size of the block in its file, in bytes.

    Examples
    --------
    >>> Allowance(64).left >> 20
    128
    """

    __slots__ = ("_all", "left")

    def __init__(self, stored: int) -> None:
        self._all = self.left = min(ALLOWED_BYTES + ALLOWED_FOR_EACH * stored, MAX_ALLOWED)

    @property
    def used(self) -> int:
        """The number of bytes that were reserved."""
        return self._all - self.left

    def take(self, size: int, place: int | None = None) -> None:
        """Reserve ``size`` bytes of memory before they are allocated; ``place`` is the offset in the block, for the error message.

        Raises
        ------
        BrokenPayload
            If fewer bytes are left.
        """
        if size > self.left:
            raise BrokenPayload(f"its values would take {in_words(size)} of memory, more than a block of its length is given", place)
        self.left -= size


class Payload:
    """Reads the decompressed bytes of a block sequentially.

    Parameters
    ----------
    content
        The decompressed bytes.
    stored
        The size of the block in its file, which is usually smaller if the block is compressed; None for the length of ``content``.

    Examples
    --------
    >>> payload = Payload(bytes.fromhex("18 3108 a10f 61"))
    >>> payload.number(), payload.number(), payload.number(), bytes(payload.take(1)), payload.left
    (12, 524, 1000, b'a', 0)
    """

    __slots__ = ("allowance", "array", "content", "place", "size")

    def __init__(self, content: bytes, stored: int | None = None) -> None:
        self.content = content
        self.array = np.frombuffer(content, np.uint8)
        self.size = len(content)
        self.place = 0
        self.allowance = Allowance(len(content) if stored is None else stored)

    @property
    def left(self) -> int:
        """The number of bytes that were not read yet."""
        return self.size - self.place

    def broken(self, reason: str) -> BrokenPayload:
        """Return an error that says that the block is damaged at the current offset."""
        return BrokenPayload(reason, self.place)

    def require(self, count: int, what: str) -> None:
        """Check that ``count`` bytes are left; ``what`` names what they would hold, for the error message.

        Raises
        ------
        BrokenPayload
            If fewer bytes are left.
        """
        if count > self.left:
            raise self.broken(f"{what} would take {count} bytes, and {self.left} are left")

    def skip(self, count: int, what: str) -> int:
        """Skip ``count`` bytes, and return the offset of the first of them."""
        self.require(count, what)
        start = self.place
        self.place += count
        return start

    def take(self, count: int, what: str = "what follows") -> memoryview:
        """Return the next ``count`` bytes as a view, without copying them."""
        start = self.skip(count, what)
        return memoryview(self.content)[start : self.place]

    def byte(self, what: str) -> int:
        """Return the next byte."""
        return self.content[self.skip(1, what)]

    def number(self) -> int:
        """Read an unsigned integer of variable length, one to nine bytes."""
        self.require(1, "a number")
        size = NUMBER_BYTES[self.content[self.place]]
        start = self.skip(size, "a number")
        if size == 9:
            return int(_WORD.unpack_from(self.content, start + 1)[0])
        return int.from_bytes(self.content[start : start + size], "little") >> size

    def end(self) -> None:
        """Check that all bytes were read.

        Raises
        ------
        BrokenPayload
            If bytes are left.
        """
        if self.left:
            raise self.broken(f"{self.left} bytes are left over")
