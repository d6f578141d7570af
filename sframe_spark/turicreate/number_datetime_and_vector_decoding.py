"""Decodes the integers, floats, datetimes and vectors of floats of a block.

The structure of the values is checked when the block is read; the values are decoded on access. Integers are stored in groups of 128. Each group
has a header byte, a base of variable length, and values packed with a fixed number of bits.

The length of a group follows from its first two bytes, so finding the start of every group takes only some ten nanoseconds per group. All groups
with the same header are decoded in one NumPy operation, in five to ten nanoseconds per number.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sframe_spark.errors import BrokenPayload, MisfitError, TooLargeError
from sframe_spark.message_text import in_words
from sframe_spark.turicreate.block_payload_reader import MAX_ALLOWED, NUMBER_BYTES, Allowance, Payload
from sframe_spark.types import DATETIME, ZONED_PHYSICAL, ColumnType
from sframe_spark.values.datetimes import FIRST_MICROSECOND, LAST_MICROSECOND, SECOND, from_microseconds

# --- Integers


# How many integers a full group has.
GROUP = 128
# Bits of each packed number, by the width code of a group.
WIDTHS = (0, 1, 2, 4, 8, 16, 32, 64)
# What the packed values of a group are: offsets from the base, or differences of consecutive values, unsigned or signed.
OFFSET, DIFFERENCE, SIGNED_DIFFERENCE = range(3)
# How many groups are decoded at a time: their numbers take 2 MB.
GROUPS_AT_ONCE = 2_048
# How many group starts are held as Python ints at a time.
HEADS_AT_ONCE = 65_536
# Memory reserved per group: more than the start of the group takes, in order to limit the time of the loop over groups.
BYTES_OF_GROUP = 32
# The length that a group with an invalid header counts as: longer than any block.
BEYOND = 1 << 40
_NUMBER_BYTES = np.frombuffer(NUMBER_BYTES, np.uint8)
_PLACES = np.arange(9)


def packed_bytes(header: int, numbers: int) -> int:
    """Return how many bytes the packed values of a group with this many numbers take; BEYOND for an invalid header.

    Examples
    --------
    >>> packed_bytes(0x05, 128), packed_bytes(0x10, 128), packed_bytes(0x03, 128) == 0, packed_bytes(0x07, 128) == BEYOND
    (16, 128, True, True)
    """
    codec, width = header & 3, header >> 2
    if width >= len(WIDTHS) or (codec > SIGNED_DIFFERENCE and width):
        return BEYOND
    return ((numbers - (codec != OFFSET)) * WIDTHS[width] + 7) // 8


# The size of a full group with its header byte but without its base, by header.
_GROUP_BYTES = tuple(1 + packed_bytes(header, GROUP) for header in range(256))
# For values of 2 and of 4 bits: the values that each byte unpacks to.
_UNPACKED = {
    bits: np.array([[(byte >> (bits * slot)) & ((1 << bits) - 1) for slot in range(8 // bits)] for byte in range(256)], np.uint8) for bits in (2, 4)
}


class NumberRun:
    """Consecutive integers in a payload, decoded on access.

    Parameters
    ----------
    payload
        Positioned at the first integer; afterwards, it is positioned behind the last one.
    count
        The number of integers.

    Examples
    --------
    >>> NumberRun(Payload(bytes.fromhex("0c 14 00 31 f0")), 5).values(0, 5).tolist()
    [10, 11, 13, 10, 25]
    """

    __slots__ = ("_content", "_heads", "count")

    def __init__(self, payload: Payload, count: int) -> None:
        self.count = count
        self._content = payload.array
        groups = -(-count // GROUP)
        payload.require(2 * groups, f"a run of {count} numbers")
        payload.allowance.take(BYTES_OF_GROUP * groups, payload.place)
        self._heads = _heads(payload, groups, count)

    def values(self, first: int, last: int) -> np.ndarray:
        """Return a range of the integers as unsigned 64-bit integers."""
        if first >= last:
            return np.empty(0, np.uint64)
        low, high = first // GROUP, -(-last // GROUP)
        numbers = np.empty((high - low) * GROUP, np.uint64)
        full = min(high, self.count // GROUP)
        for start in range(low, full, GROUPS_AT_ONCE):
            stop = min(start + GROUPS_AT_ONCE, full)
            _decode(self._content, self._heads[start:stop], numbers[(start - low) * GROUP : (stop - low) * GROUP].reshape(-1, GROUP))
        if full < high:
            rest = self.count - full * GROUP
            tail = numbers[(full - low) * GROUP :][:rest].reshape(1, rest)
            _decode(self._content, self._heads[full:high], tail)
        return numbers[first - low * GROUP : last - low * GROUP]


def _heads(payload: Payload, groups: int, count: int) -> np.ndarray:
    """Return the offset of each group, and move the payload behind the last group."""
    # Offsets fit 32 bits, since no block has 2**31 bytes.
    offsets = np.empty(groups, np.int32)
    for before in range(0, groups - 1, HEADS_AT_ONCE):
        heads, payload.place = _walk(payload, min(HEADS_AT_ONCE, groups - 1 - before))
        offsets[before : before + len(heads)] = heads
    if groups:
        offsets[-1] = payload.place
        # The last group may have fewer numbers.
        payload.require(2, "a group of numbers")
        header = payload.content[payload.place]
        size = 1 + NUMBER_BYTES[payload.content[payload.place + 1]] + packed_bytes(header, count - (groups - 1) * GROUP)
        if size > BEYOND:
            raise payload.broken(f"a group of numbers has the unknown header {header:#04x}")
        payload.skip(size, "a group of numbers")
    return offsets


def _walk(payload: Payload, groups: int) -> tuple[list[int], int]:
    """Return the offsets of consecutive full groups, and the end of the last of them."""
    content, offset, size = payload.content, payload.place, payload.size
    heads: list[int] = []
    with contextlib.suppress(IndexError):
        for _ in range(groups):
            heads.append(offset)
            offset += _GROUP_BYTES[content[offset]] + NUMBER_BYTES[content[offset + 1]]
    if offset > size or len(heads) < groups or (heads and heads[-1] + 1 >= size):
        payload.place = min(heads[-1] if heads else offset, size)
        raise payload.broken("a group of numbers has an unknown header, or goes beyond the end")
    return heads, offset


def _decode(content: np.ndarray, heads: np.ndarray, decoded: np.ndarray) -> None:
    """Decode groups with the same number of values into ``decoded``, one row for each group."""
    heads = heads.astype(np.int64)
    headers = content[heads]
    sizes, bases = _bases(content, heads + 1)
    starts = heads + 1 + sizes
    for header in np.unique(headers).tolist():
        chosen = np.flatnonzero(headers == header)
        if len(chosen) == len(headers):
            _decode_alike(content, header, starts, bases, decoded)
            continue
        some = np.empty((len(chosen), decoded.shape[1]), np.uint64)
        _decode_alike(content, header, starts[chosen], bases[chosen], some)
        decoded[chosen] = some


def _bases(content: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths in bytes and the values of the variable-length numbers at some offsets."""
    # Near the end of the content, windows repeat its last byte. No number uses the repeated bytes, as numbers beyond the end were refused.
    windows = content[np.minimum(offsets[:, None] + _PLACES, len(content) - 1)]
    sizes = _NUMBER_BYTES[windows[:, 0]]
    short = np.ascontiguousarray(windows[:, :8]).view("<u8")[:, 0]
    long = np.ascontiguousarray(windows[:, 1:]).view("<u8")[:, 0]
    counts = np.minimum(sizes, 7).astype(np.uint64)
    mask = (np.uint64(1) << (np.uint64(8) * counts)) - np.uint64(1)
    return sizes, np.where(sizes == 9, long, (short & mask) >> counts)


def _decode_alike(content: np.ndarray, header: int, starts: np.ndarray, bases: np.ndarray, decoded: np.ndarray) -> None:
    """Decode groups with the same header into ``decoded``, one row for each group; sums are modulo 2**64."""
    codec, bits = header & 3, WIDTHS[header >> 2]
    if not bits:
        decoded[:] = bases[:, None]
    elif codec == OFFSET:
        np.add(_unpacked(content, starts, bits, decoded.shape[1]), bases[:, None], out=decoded)
    else:
        decoded[:, 0] = bases
        if decoded.shape[1] > 1:
            steps = _unpacked(content, starts, bits, decoded.shape[1] - 1)
            if codec == SIGNED_DIFFERENCE:
                # Zigzag encoding: 0, 1, 2, 3 are 0, -1, 1, -2. Negative values are unsigned integers modulo 2**64.
                steps = steps.astype(np.uint64)
                steps = (steps >> np.uint64(1)) ^ (np.uint64(0) - (steps & np.uint64(1)))
            decoded[:, 1:] = steps
        np.cumsum(decoded, axis=1, out=decoded)


def _unpacked(content: np.ndarray, starts: np.ndarray, bits: int, numbers: int) -> np.ndarray:
    """Return the packed values of several groups, one row for each group."""
    size = (numbers * bits + 7) // 8
    windows = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(content, size)[starts])
    if bits >= 8:
        return windows.view(f"<u{bits // 8}")
    decoded = np.unpackbits(windows, axis=1, bitorder="little") if bits == 1 else _UNPACKED[bits][windows].reshape(len(starts), -1)
    # If the values do not fill all bytes, the first byte is the partial one, and its values are in the high bits.
    return decoded[:, decoded.shape[1] - numbers :]


# --- Datetimes: UTC seconds in 56 bits, a byte with the zone code, and in newer archives microseconds


# Zone codes from -24 to 24 are of the older format: half hours from UTC, without microseconds. Other codes are of the newer format:
# quarter hours from UTC, moved away from 0 by 25, and followed by microseconds.
NEWER, LARGEST_ZONE = 25, 48
NO_ZONE = 64 + NEWER
NEWER_BYTES, OLDER_BYTES = 12, 8
OUT_OF_YEARS = "a date-time lies outside the years 1 to 9999, which is all that Python has"


def minutes_of(code: int) -> int | None:
    """Return the offset of a zone code in minutes east of UTC; None for the code of datetimes without a zone.

    Raises
    ------
    BrokenPayload
        If the code is unknown.

    Examples
    --------
    >>> minutes_of(25), minutes_of(47), minutes_of(-26), minutes_of(-3), minutes_of(89)
    (0, 330, -15, -90, None)
    """
    if code == NO_ZONE:
        return None
    if -NEWER < code < NEWER:
        return 30 * code
    quarters = code - NEWER if code > 0 else code + NEWER
    if abs(quarters) > LARGEST_ZONE:
        raise BrokenPayload(f"the zone of a date-time has the unknown code {code}")
    return 15 * quarters


def read_datetime(payload: Payload) -> datetime.datetime:
    """Read a datetime from a payload.

    Raises
    ------
    BrokenPayload
        If the zone code is unknown, or the microseconds are not between 0 and 999999.
    OverflowError
        If the datetime is outside the years 1 to 9999.
    """
    start = payload.skip(OLDER_BYTES, "a date-time")
    seconds = int.from_bytes(payload.content[start : start + 7], "little", signed=True)
    code = int.from_bytes(payload.content[start + 7 : start + 8], "little", signed=True)
    fraction = 0
    if not -NEWER < code < NEWER:
        fraction = int.from_bytes(payload.take(NEWER_BYTES - OLDER_BYTES, "a date-time"), "little", signed=True)
        if not 0 <= fraction < SECOND:
            raise payload.broken(f"a date-time has {fraction} microseconds")
    return from_microseconds(seconds * SECOND + fraction, minutes_of(code))


class DatetimeRun:
    """Consecutive datetimes in a payload that all have the same length in bytes, decoded on access.

    Parameters
    ----------
    payload
        Positioned at the first datetime; its remaining bytes are the datetimes. Afterwards, it is positioned behind the last one.
    count
        The number of datetimes.
    """

    __slots__ = ("_start", "_width", "count", "payload")

    def __init__(self, payload: Payload, count: int) -> None:
        self.payload, self.count = payload, count
        self._width = payload.left // count if count else NEWER_BYTES
        self._start = payload.skip(count * self._width, "date-times")

    def values(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the UTC microseconds of a range of datetimes, their offsets in minutes, and for each whether it has no zone.

        Raises
        ------
        BrokenPayload
            If a zone code is unknown or of the other format, or the microseconds are not between 0 and 999999.
        OverflowError
            If a datetime is outside the years 1 to 9999; the argument of the error is the index of the datetime in the run.
        """
        start, width = self._start + first * self._width, self._width
        rows = self.payload.array[start : start + (last - first) * width].reshape(last - first, width)
        words = np.ascontiguousarray(rows[:, :8]).view("<i8")[:, 0]
        # Shifting left and then right extends the sign of the lower 56 bits.
        seconds, codes = (words << 8) >> 8, words >> 56
        older = np.abs(codes) < NEWER
        fractions = np.ascontiguousarray(rows[:, 8:]).view("<i4")[:, 0].astype(np.int64) if width == NEWER_BYTES else np.zeros(len(rows), np.int64)
        quarters = np.abs(codes) - NEWER
        naive = codes == NO_ZONE
        wrong = (older != (width == OLDER_BYTES)) | ((quarters > LARGEST_ZONE) & ~naive) | (fractions < 0) | (fractions >= SECOND)
        if wrong.any():
            raise BrokenPayload("a date-time has an unknown zone or too many microseconds", int(start + width * np.argmax(wrong)))
        minutes = np.where(older, 30 * codes, 15 * np.sign(codes) * quarters)
        minutes[naive] = 0
        walls = seconds + 60 * minutes
        outside = (walls < FIRST_MICROSECOND // SECOND) | (walls > LAST_MICROSECOND // SECOND)
        if outside.any():
            raise OverflowError(first + int(np.argmax(outside)))
        return seconds * SECOND + fractions, minutes, naive


def are_alike(payload: Payload, count: int) -> bool:
    """Return whether the remaining bytes of a payload can be ``count`` datetimes of equal length, as one version of Turi Create writes them."""
    return payload.left in (count * NEWER_BYTES, count * OLDER_BYTES)


# --- Cells: the values of a block that are not missing, all of one type


# How floats are stored as integers: by their bits, or, if they are whole numbers, by their value.
AS_BITS, AS_INTEGERS = 0, 1


class Cells(Protocol):
    """The values of a block that are not missing, all of one type."""

    def rows(self, first: int, last: int) -> pa.Array:
        """Return a range of the values.

        Raises
        ------
        BrokenPayload
            If a value is damaged.
        MisfitError
            If a value does not fit the narrower type of the column.
        UnicodeDecodeError, OverflowError
            If a string cannot be decoded, or a datetime is outside the years 1 to 9999.
        """

    def size(self, first: int, last: int) -> float:
        """Return an estimate of the bytes that a range of the values takes in memory."""


class FixedSizeCells:
    """Values of a block that take the same number of bytes each.

    Parameters
    ----------
    values
        Returns a range of the values.
    to_array
        Returns these values as a column.
    bytes_each
        The number of bytes that a value takes in memory.
    """

    def __init__(self, values: Callable[[int, int], Any], to_array: Callable[[Any], pa.Array], bytes_each: float = 8.0) -> None:
        self._values, self._to_array, self._bytes_each = values, to_array, bytes_each

    def rows(self, first: int, last: int) -> pa.Array:
        """Return a range of the values as a column."""
        return self._to_array(self._values(first, last))

    def size(self, first: int, last: int) -> float:
        """Return the bytes that a range of the values takes in memory."""
        return self._bytes_each * (last - first)


def integers(payload: Payload, count: int) -> Cells:
    """Read the ints of a block."""
    return FixedSizeCells(NumberRun(payload, count).values, lambda values: pa.array(values.view(np.int64)))


class FloatRun:
    """Consecutive floats in a payload, decoded on access.

    Parameters
    ----------
    payload
        Positioned at the first float, or at the mode byte; afterwards, it is positioned behind the last float.
    count
        The number of floats.
    has_mode
        Whether a byte before the floats says how they are stored; without it, they are stored by their bits.
    """

    __slots__ = ("_mode", "_run")

    def __init__(self, payload: Payload, count: int, has_mode: bool) -> None:
        self._mode = payload.byte("how floats are stored") if has_mode else AS_BITS
        if self._mode not in (AS_BITS, AS_INTEGERS):
            raise payload.broken(f"floats are stored in the unknown way {self._mode}")
        self._run = NumberRun(payload, count)

    def values(self, first: int, last: int) -> np.ndarray:
        """Return a range of the floats."""
        numbers = self._run.values(first, last)
        if self._mode == AS_INTEGERS:
            return numbers.view(np.int64).astype(np.float64)
        # The stored integer has the sign bit as its lowest bit.
        signs = numbers << np.uint64(63)
        numbers >>= np.uint64(1)
        numbers |= signs
        return numbers.view(np.float64)


def floats(payload: Payload, count: int, has_mode: bool) -> Cells:
    """Read the floats of a block; the parameters are those of :class:`FloatRun`."""
    return FixedSizeCells(FloatRun(payload, count, has_mode).values, pa.array)


def datetimes(payload: Payload, count: int, column_type: ColumnType) -> Cells:
    """Read the datetimes of a block, which all have the same length in bytes, for a column with or without offsets from UTC.

    ``rows`` of the result raises MisfitError if the column holds datetimes without an offset, and a value has one.
    """

    def to_array(values: tuple[np.ndarray, np.ndarray, np.ndarray]) -> pa.Array:
        microseconds, minutes, naive = values
        instants = pa.array(microseconds).view(DATETIME.physical)
        if column_type.is_zoned:
            return pa.StructArray.from_arrays([instants, pa.array(minutes.astype(np.int32), mask=naive)], fields=list(ZONED_PHYSICAL))
        if not naive.all():
            raise MisfitError("a date-time has an offset")
        return instants

    # Twelve bytes for the instant and the offset.
    return FixedSizeCells(DatetimeRun(payload, count).values, to_array, 12.0)


class Vectors:
    """Vectors of floats of a block, stored as the lengths of all vectors, followed by all floats.

    Parameters
    ----------
    payload
        Positioned at the first length, or at the byte before it.
    count
        The number of vectors.
    is_newer
        Whether the block is of the newer format, with a byte before the lengths and a mode byte before the floats.
    """

    def __init__(self, payload: Payload, count: int, is_newer: bool) -> None:
        if is_newer:
            payload.byte("how vectors are stored")
        self.offsets = offsets_of(payload, count, payload.size * GROUP)
        self._floats = FloatRun(payload, int(self.offsets[-1]), is_newer)
        self._allowance = payload.allowance

    def rows(self, first: int, last: int) -> pa.Array:
        """Return a range of the vectors as an array column."""
        floats, offsets = floats_between(self._floats, self._allowance, self.offsets, first, last)
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(floats))

    def size(self, first: int, last: int) -> float:
        """Return the bytes that a range of the vectors takes in memory: eight for each float, and four for each vector."""
        return 8.0 * int(self.offsets[last] - self.offsets[first]) + 4.0 * (last - first)


def offsets_of(payload: Payload, count: int, limit: int) -> np.ndarray:
    """Read the lengths of ``count`` items, and return the offset of each item, followed by the total length.

    Raises
    ------
    BrokenPayload
        If a length is larger than ``limit``.
    """
    payload.allowance.take(16 * count, payload.place)
    lengths = NumberRun(payload, count).values(0, count)
    if count and int(lengths.max()) > limit:
        raise payload.broken(f"something is {int(lengths.max())} long, more than the block can hold")
    offsets = np.zeros(count + 1, np.int64)
    # The sum cannot overflow: there are at most 2**24 lengths, of at most 2**38 each.
    np.cumsum(lengths.view(np.int64), out=offsets[1:])
    return offsets


def floats_between(run: FloatRun, allowance: Allowance, offsets: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the floats of a range of items, and the offsets of the items in these floats.

    Raises
    ------
    BrokenPayload
        If a single item is requested and would take more memory than is left of the block's allowance.
    TooLargeError
        If the floats do not fit one Arrow array.
    """
    low, high = int(offsets[first]), int(offsets[last])
    size = 8 * (high - low)
    if last - first == 1 and size > allowance.left:
        raise BrokenPayload(f"a value would take {in_words(size)} of memory, more than a block of its length is given")
    if size > MAX_ALLOWED:
        raise TooLargeError(f"{last - first} values take {in_words(size)}, more than is read at once: read fewer rows at a time")
    return run.values(low, high), offsets[first : last + 1] - low
