"""The bytes of a block of an archive, read from the front: whatever is asked for is there, or it is told where it is not."""

from __future__ import annotations

import struct

import numpy as np

from sframe_spark.errors import BrokenPayload
from sframe_spark.visible import in_words

# What a block may become in memory, whatever its length, and how much of that for each byte of it in the file. A block is usually 64 KiB long.
ALLOWED_BYTES = 128 << 20
ALLOWED_FOR_EACH = 32
# What no array of Arrow's exceeds.
MOST_ALLOWED = (1 << 31) - 1

# For each first byte of a variable-length number how many bytes the number has: as many more as it has low bits that are set.
NUMBER_BYTES = bytes((1, 2, 3, 4, 5, 6, 7, 9, 9)[(~first & (first + 1)).bit_length() - 1 if first < 255 else 8] for first in range(256))
_WORD = struct.Struct("<Q")


class Allowance:
    """How much memory the values of one block may still take.

    Parameters
    ----------
    stored
        How many bytes the block has in its file.

    Examples
    --------
    >>> Allowance(64).left >> 20
    128
    """

    __slots__ = ("_all", "left")

    def __init__(self, stored: int) -> None:
        self._all = self.left = min(ALLOWED_BYTES + ALLOWED_FOR_EACH * stored, MOST_ALLOWED)

    @property
    def taken(self) -> int:
        """How much was taken."""
        return self._all - self.left

    def take(self, size: int, place: int | None = None) -> None:
        """Take some bytes, before they are taken of the memory.

        Raises
        ------
        BrokenPayload
            If a block of that length should not need so much.
        """
        if size > self.left:
            raise BrokenPayload(f"its values would take {in_words(size)} of memory, more than a block of its length is given", place)
        self.left -= size


class Payload:
    """Bytes of a block, and how far they were read.

    Parameters
    ----------
    content
        The bytes.
    stored
        How many of them are in the file: fewer, where they were compressed.

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
        """How many bytes were not read yet."""
        return self.size - self.place

    def broken(self, reason: str) -> BrokenPayload:
        """Return the error that something is wrong where reading is."""
        return BrokenPayload(reason, self.place)

    def require(self, count: int, what: str) -> None:
        """Make sure that so many bytes are left.

        Raises
        ------
        BrokenPayload
            If they are not.
        """
        if count > self.left:
            raise self.broken(f"{what} would take {count} bytes, and {self.left} are left")

    def skip(self, count: int, what: str) -> int:
        """Pass some bytes over and return the number of the first of them."""
        self.require(count, what)
        start = self.place
        self.place += count
        return start

    def take(self, count: int, what: str = "what follows") -> memoryview:
        """Read some bytes; they are not copied."""
        start = self.skip(count, what)
        return memoryview(self.content)[start : self.place]

    def byte(self, what: str) -> int:
        """Read one byte."""
        return self.content[self.skip(1, what)]

    def number(self) -> int:
        """Read a number of variable length."""
        self.require(1, "a number")
        size = NUMBER_BYTES[self.content[self.place]]
        start = self.skip(size, "a number")
        if size == 9:
            return int(_WORD.unpack_from(self.content, start + 1)[0])
        return int.from_bytes(self.content[start : start + size], "little") >> size

    def end(self) -> None:
        """Make sure that all bytes were read.

        Raises
        ------
        BrokenPayload
            If some were not.
        """
        if self.left:
            raise self.broken(f"{self.left} bytes are left over")
