"""Values of one type in a block, those that are not missing: looked through when the block is read, decoded where rows are asked for."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa

from sframe_spark.errors import BrokenPayload, MisfitError, TooLargeError
from sframe_spark.turicreate.moments import MomentRun, moment_array
from sframe_spark.turicreate.numbers import GROUP, NumberRun
from sframe_spark.turicreate.payload import MOST_ALLOWED, Allowance, Payload
from sframe_spark.types import DATETIME, ColumnType
from sframe_spark.visible import in_words

# How floats are stored: as their bits, or as whole numbers.
AS_BITS, AS_INTEGERS = 0, 1


class Cells(Protocol):
    """Values that follow each other."""

    def rows(self, first: int, last: int) -> pa.Array:
        """Return some of them.

        Raises
        ------
        BrokenPayload
            If what the block says of one cannot be.
        UnicodeDecodeError, OverflowError
            If one is nothing that a column holds.
        """

    def size(self, first: int, last: int) -> float:
        """Return about how many bytes some of them take in memory."""


class Integers:
    """Whole numbers.

    Parameters
    ----------
    payload
        Read to the first of them.
    count
        How many there are.
    """

    def __init__(self, payload: Payload, count: int) -> None:
        self._run = NumberRun(payload, count)

    def rows(self, first: int, last: int) -> pa.Array:
        """Return some as ints."""
        return pa.array(self._run.values(first, last).view(np.int64))

    def size(self, first: int, last: int) -> float:
        """Eight bytes each."""
        return 8.0 * (last - first)


class FloatRun:
    """Floats that follow each other in a payload.

    Parameters
    ----------
    payload
        Read to the first of them; to the end of the last one afterwards.
    count
        How many there are.
    has_mode
        Whether a byte before them says how they are stored.
    """

    __slots__ = ("_mode", "_run")

    def __init__(self, payload: Payload, count: int, has_mode: bool) -> None:
        self._mode = payload.byte("how floats are stored") if has_mode else AS_BITS
        if self._mode not in (AS_BITS, AS_INTEGERS):
            raise payload.broken(f"floats are stored in the unknown way {self._mode}")
        self._run = NumberRun(payload, count)

    def values(self, first: int, last: int) -> np.ndarray:
        """Return some of them."""
        found = self._run.values(first, last)
        if self._mode == AS_INTEGERS:
            return found.view(np.int64).astype(np.float64)
        # The sign is the lowest bit.
        signs = found << np.uint64(63)
        found >>= np.uint64(1)
        found |= signs
        return found.view(np.float64)


class Floats:
    """Floats; ``has_mode`` as of :class:`FloatRun`."""

    def __init__(self, payload: Payload, count: int, has_mode: bool) -> None:
        self._run = FloatRun(payload, count, has_mode)

    def rows(self, first: int, last: int) -> pa.Array:
        """Return some as floats."""
        return pa.array(self._run.values(first, last))

    def size(self, first: int, last: int) -> float:
        """Eight bytes each."""
        return 8.0 * (last - first)


class MomentCells:
    """Date-times that have one length, as a column with or without offsets holds them."""

    def __init__(self, payload: Payload, count: int, column_type: ColumnType) -> None:
        self._run = MomentRun(payload, count)
        self._is_zoned = column_type.is_zoned

    def rows(self, first: int, last: int) -> pa.Array:
        """Return some as date-times."""
        microseconds, minutes, naive = self._run.values(first, last)
        if self._is_zoned:
            return moment_array(microseconds, minutes, naive)
        if not naive.all():
            raise MisfitError("a date-time has an offset")
        return pa.array(microseconds).view(DATETIME.physical)

    def size(self, first: int, last: int) -> float:
        """An instant and an offset each."""
        return 12.0 * (last - first)


class Vectors:
    """Vectors of floats: their lengths, then all floats.

    Parameters
    ----------
    payload
        Read to the first length.
    count
        How many vectors there are.
    is_newer
        Whether bytes say what follows.
    """

    def __init__(self, payload: Payload, count: int, is_newer: bool) -> None:
        if is_newer:
            payload.byte("how vectors are stored")
        self.offsets = offsets_of(payload, count, payload.size * GROUP)
        self._floats = FloatRun(payload, int(self.offsets[-1]), is_newer)
        self._allowance = payload.allowance

    def rows(self, first: int, last: int) -> pa.Array:
        """Return some as arrays."""
        floats, offsets = floats_between(self._floats, self._allowance, self.offsets, first, last)
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(floats))

    def size(self, first: int, last: int) -> float:
        """Eight bytes for each float, four for each vector."""
        return 8.0 * int(self.offsets[last] - self.offsets[first]) + 4.0 * (last - first)


def offsets_of(payload: Payload, count: int, most: int) -> np.ndarray:
    """Read a run of lengths, none above some number, and return where each thing begins, and where the last ends.

    Raises
    ------
    BrokenPayload
        If one is above it.
    """
    payload.allowance.take(16 * count, payload.place)
    lengths = NumberRun(payload, count).values(0, count)
    if count and int(lengths.max()) > most:
        raise payload.broken(f"something is {int(lengths.max())} long, more than the block can hold")
    offsets = np.zeros(count + 1, np.int64)
    # At most 2**24 of at most 2**38.
    np.cumsum(lengths.view(np.int64), out=offsets[1:])
    return offsets


def floats_between(run: FloatRun, allowance: Allowance, offsets: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the floats of some values, and where each value begins in them, and where the last ends.

    Raises
    ------
    BrokenPayload
        If a single value has more than a block of its length is given.
    TooLargeError
        If all of them do not fit one array.
    """
    low, high = int(offsets[first]), int(offsets[last])
    size = 8 * (high - low)
    if last - first == 1 and size > allowance.left:
        raise BrokenPayload(f"a value would take {in_words(size)} of memory, more than a block of its length is given")
    if size > MOST_ALLOWED:
        raise TooLargeError(f"{last - first} values take {in_words(size)}, more than is read at once: read fewer rows at a time")
    return run.values(low, high), offsets[first : last + 1] - low
