"""Running sums of floats in two words, floats or ints, where these have room for all bits: most often they do, and take a third of the time."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from sframe_spark.compute.arrow_buffers import new_array
from sframe_spark.compute.exact_sum import LEAST_PLACE, MOST_PLACE, bits_of, constant_of, largest_of, room_for, whole_piece

# So many rows are looked at together.
BLOCK = 1 << 16
# Bits of the upper int, which is a float; and of the lower one, of which as many as there are in a block are a float or none.
UPPER, LOWER = 51, (34, 46)
# With so many the sums of all rows of a block are floats.
IS_FLOAT = LOWER[0]
# Differences of ints of so many bits are floats, too.
MOST_OF_FLOAT = 52


class TwoInts(NamedTuple):
    """Sums in two ints.

    Parameters
    ----------
    high, low
        The ints of each sum; both are floats without rounding.
    unit
        The lower one counts units of ``2**unit``.
    bits
        The upper one counts ``2**bits`` of them.
    """

    high: np.ndarray
    low: np.ndarray
    unit: int
    bits: int


class Before(Protocol):
    """Sums of earlier rows, one for each group."""

    def most_bits(self) -> int:
        """The largest sum is less than two to the power of this."""

    def words(self, unit: int, bits: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The sums in units of ``2**unit``, as ints of so many bits and what is above these; None where that is not all of one."""


def accumulated(numbers: np.ndarray, starts: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Running sums of numbers within groups, in their place; what is beyond 64 bits of ints on the way does not matter."""
    if len(starts) == 1:
        numbers[0] += before[0]
        return np.cumsum(numbers, out=numbers)
    firsts = numbers[starts]
    np.cumsum(numbers, out=numbers)
    numbers += np.repeat(before - (numbers[starts] - firsts), np.diff(np.append(starts, len(numbers))))
    return numbers


class RoomForWords(NamedTuple):
    """Arrays that are used for one block after the other: new ones each time would be memory that is new to the process.

    Parameters
    ----------
    part, left
        Of floats.
    sums
        Of two floats for each row.
    """

    part: np.ndarray
    left: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, rows: int) -> RoomForWords:
        """For blocks of at most so many rows."""
        part, left = room_for(rows, 2)
        return cls(part, left, new_array(rows, np.complex128))


def in_two_words(numbers: np.ndarray, starts: np.ndarray, before: Before, room: RoomForWords) -> tuple[np.ndarray, TwoInts] | None:
    """Running sums of at most a block of rows within groups; None where two words have no room for all bits.

    Also the last sum of each group. The sums are in an array of the room, or in a new one.
    """
    largest = largest_of(numbers)
    most = max(math.frexp(largest)[1] + len(numbers).bit_length(), before.most_bits()) + 1
    for bits in LOWER:
        unit = most - UPPER - bits
        if not (math.isfinite(largest) and unit >= LEAST_PLACE and most <= MOST_PLACE):
            return None
        found = in_two_floats(numbers, starts, before, (unit, bits), room) if bits <= IS_FLOAT else in_two_ints(numbers, starts, before, (unit, bits))
        if found is not None:
            return found
    return None


def in_two_floats(
    numbers: np.ndarray, starts: np.ndarray, before: Before, places: tuple[int, int], room: RoomForWords
) -> tuple[np.ndarray, TwoInts] | None:
    """Running sums whose words are floats without rounding all the way; None where they do not hold all bits.

    Both words of a row are one complex number: adding up waits for the sum of the row before, so two sums take no longer than one.
    """
    unit, bits = places
    part, left, sums = (array[: len(numbers)] for array in room)
    words = before.words(unit, bits) if put_words(numbers, places, (part, left), sums) else None
    if words is None:
        return None
    earlier = np.empty(len(starts), dtype=np.complex128)
    earlier.real, earlier.imag = np.ldexp(words[0], unit + bits), np.ldexp(words[1], unit)
    accumulated(sums, starts, earlier)
    last = sums[np.append(starts[1:], len(numbers)) - 1]
    high, low = np.ldexp(last.real, -unit - bits).astype(np.int64), np.ldexp(last.imag, -unit).astype(np.int64)
    return np.add(sums.real, sums.imag, out=part), TwoInts(high, low, unit, bits)


def sums_of_windows(numbers: np.ndarray, width: int, room: RoomForWords) -> np.ndarray | None:
    """Sum of every ``width`` consecutive numbers, rounded once; None where two words have no room for all bits of the running sums.

    It is in an array of the room, which has one row more than there are numbers.

    Examples
    --------
    >>> sums_of_windows(np.array([1e9, 0.1, 0.2, 0.3]), 3, RoomForWords.of(5)).tolist()
    [1000000000.3, 0.6]
    """
    largest, length = largest_of(numbers), len(numbers).bit_length()
    most, bits = math.frexp(largest)[1] + length + 1, MOST_OF_FLOAT - length
    unit = most - MOST_OF_FLOAT - bits
    if not (math.isfinite(largest) and unit >= LEAST_PLACE and most <= MOST_PLACE and bits > 0):
        return None
    part, left = (array[: len(numbers)] for array in room[:2])
    sums = room.sums[: len(numbers) + 1]
    sums[0] = 0.0
    if not put_words(numbers, (unit, bits), (part, left), sums[1:]):
        return None
    np.cumsum(sums, out=sums)
    rows = len(numbers) - width + 1
    high = np.subtract(sums.real[width:], sums.real[:-width], out=part[:rows])
    return np.add(high, np.subtract(sums.imag[width:], sums.imag[:-width], out=left[:rows]), out=high)


def put_words(numbers: np.ndarray, places: tuple[int, int], room: tuple[np.ndarray, np.ndarray], words: np.ndarray) -> bool:
    """Put both words of each number there, and say whether these are all of it."""
    unit, bits = places
    part, left = room
    words.real = near(numbers, unit + bits, part)
    np.subtract(numbers, part, out=left)
    words.imag = near(left, unit, part)
    return np.array_equal(part, left)


def near(numbers: np.ndarray, place: int, out: np.ndarray) -> np.ndarray:
    """Floats next to numbers that are whole multiples of ``2**place``, in an array of their own."""
    constant = constant_of(place)
    np.add(numbers, constant, out=out)
    return np.subtract(out, constant, out=out)


def in_two_ints(numbers: np.ndarray, starts: np.ndarray, before: Before, places: tuple[int, int]) -> tuple[np.ndarray, TwoInts] | None:
    """Running sums whose words are ints, the lower one with room for more than a float holds; None where they do not hold all bits."""
    unit, bits = places
    high, left = whole_piece(numbers, unit + bits)
    low, left = whole_piece(left, unit)
    words = None if left.any() else before.words(unit, bits)
    if words is None:
        return None
    return rounded_words(TwoInts(accumulated(high, starts, words[0]), accumulated(low, starts, words[1]), unit, bits), starts)


def rounded_words(sums: TwoInts, starts: np.ndarray) -> tuple[np.ndarray, TwoInts]:
    """Floats next to sums of rows in words of more bits than a float has, and the last sum of each group."""
    high, low, unit, bits = sums
    carry(high, low, bits)
    ends = np.append(starts[1:], len(high)) - 1
    last = TwoInts(high[ends], low[ends], unit, bits)
    # Both are floats without rounding, so their sum is rounded once.
    above, below = as_floats(high, unit + bits), as_floats(low, unit)
    return np.add(above, below, out=above), last


def carry(high: np.ndarray, low: np.ndarray, bits: int) -> None:
    """Give the upper ints what the lower ones have beyond so many bits, which makes both floats; in their places."""
    more = (low + (1 << (bits - 1))) >> bits
    high += more
    low -= more << bits


def as_floats(numbers: np.ndarray, place: int) -> np.ndarray:
    """Ints below ``2**51`` times ``2**place``, in their place."""
    numbers += bits_of(place)
    floats = numbers.view(np.float64)
    floats -= constant_of(place)
    return floats


class OneSum:
    """The sum of all earlier rows, of one group.

    Parameters
    ----------
    units
        The sum in units of the smallest float.
    """

    def __init__(self, units: int) -> None:
        self.units = units

    def most_bits(self) -> int:
        """The sum is less than two to the power of this."""
        return self.units.bit_length() + LEAST_PLACE

    def words(self, unit: int, bits: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The sum in units of ``2**unit``, as an int of so many bits and what is above it; None where that is not all of it."""
        whole = self.units >> (unit - LEAST_PLACE)
        if whole << (unit - LEAST_PLACE) != self.units:
            return None
        above = whole >> bits
        return np.array([above]), np.array([whole - (above << bits)])

    @staticmethod
    def units_of(sums: TwoInts) -> int:
        """The first sum in units of the smallest float."""
        return ((int(sums.high[0]) << sums.bits) + int(sums.low[0])) << (sums.unit - LEAST_PLACE)
