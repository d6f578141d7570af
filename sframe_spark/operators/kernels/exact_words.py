"""Running sums of floats in two ints, where these have room for all bits: most often they do, and take a third of the time."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from sframe_spark.operators.kernels.exact_sums import LEAST_PLACE, MOST_PLACE, bits_of, largest_of, whole_piece

# So many rows are looked at together.
BLOCK = 1 << 16
# Bits of the upper int, which is a float; and of the lower one, of which as many as there are in a block are a float or none.
UPPER, LOWER = 51, (34, 46)
# Below 2**51 an int and the bits of a float with so many digits are one number, but for a constant.
IS_FLOAT = LOWER[0]


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
    """Running sums of ints within groups, in their place; what is beyond 64 bits on the way does not matter."""
    if len(starts) == 1:
        numbers[0] += before[0]
        return np.cumsum(numbers, out=numbers)
    firsts = numbers[starts]
    np.cumsum(numbers, out=numbers)
    numbers += np.repeat(before - (numbers[starts] - firsts), np.diff(np.append(starts, len(numbers))))
    return numbers


def in_two_words(numbers: np.ndarray, starts: np.ndarray, before: Before) -> tuple[np.ndarray, TwoInts] | None:
    """Running sums of at most a block of rows within groups; None where two ints have no room for all bits.

    Also the last sum of each group.
    """
    largest = largest_of(numbers)
    most = max(math.frexp(largest)[1] + len(numbers).bit_length(), before.most_bits()) + 1
    for bits in LOWER:
        unit = most - UPPER - bits
        if not (math.isfinite(largest) and unit >= LEAST_PLACE and most <= MOST_PLACE):
            return None
        high, left = whole_piece(numbers, unit + bits)
        low, left = whole_piece(left, unit)
        words = None if left.any() else before.words(unit, bits)
        if words is not None:
            return rounded_words(TwoInts(accumulated(high, starts, words[0]), accumulated(low, starts, words[1]), unit, bits), starts)
    return None


def rounded_words(sums: TwoInts, starts: np.ndarray) -> tuple[np.ndarray, TwoInts]:
    """Floats next to sums of rows, and the last sum of each group."""
    high, low, unit, bits = sums
    if bits > IS_FLOAT:
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
    floats -= math.ldexp(1.5, 52 + place)
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
