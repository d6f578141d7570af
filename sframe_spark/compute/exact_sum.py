"""Sums of floats without rounding: what floats add up to does not depend on the order of the additions, nor on cuts between them.

Finite floats are whole multiples of the smallest one, and whole numbers add up exactly. Blocks of floats are cut into
pieces on a fixed grid, by adding and subtracting one constant; pieces of one place of the grid add up exactly in
64 bits. A sum is rounded once, when somebody asks for it.

Source: Demmel, Nguyen, "Fast reproducible floating-point summation" (2013), for the pieces; here all of them are kept.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import attrs
import numpy as np

from sframe_spark.compute.arrow_buffers import new_array

# Floats are multiples of 2**-1074.
LOWEST = 1074
# Of one block a piece has so many bits, and their sum fits 64. The arrays of longer blocks are more than a processor keeps near; threads at work on
# shorter ones wait for each other, as only one of them has Python.
PIECE, BLOCK = 45, 1 << 16
# A float has no bits further below its first one.
PRECISION = 53
# So many numbers tell mostly whether pieces are all of them.
FIRST = 64
# Above this the constants of the pieces are infinite: such numbers are made smaller first.
LARGE, LARGE_BITS = 2.0**900, 200
# Powers of two below this are floats, as are their inverses.
LARGEST = 1023
# Of constants within these, floats near them hold pieces in their last bits.
LEAST_PLACE, MOST_PLACE = -1074, 970


@attrs.frozen
class ExactSum:
    """What some floats add up to.

    Parameters
    ----------
    units
        The finite ones, in units of the smallest float, ``2**-1074``.
    others
        The sum of those that are infinite or NaN; zero where there are none.

    Examples
    --------
    >>> tenths = np.array([0.1] * 10)
    >>> ExactSum.of(tenths).value, float(tenths[::-1].cumsum()[-1])
    (1.0, 0.9999999999999999)
    """

    units: int = 0
    others: float = 0.0

    @classmethod
    def of(cls, values: np.ndarray) -> ExactSum:
        """Of an array of floats."""
        units, others, room = 0, 0.0, room_for(min(len(values), BLOCK), 2)
        for start in range(0, len(values), BLOCK):
            block = values[start : start + BLOCK]
            reach = reach_of(block)
            if not math.isfinite(reach[1]):
                finite = np.isfinite(block)
                with np.errstate(invalid="ignore"):
                    others += float(block[~finite].sum())
                block = block[finite]
                reach = reach_of(block)
            if reach[1]:
                units += units_of(block, reach, room)
        return cls(units, others)

    def __add__(self, other: ExactSum) -> ExactSum:
        """Of the floats of both."""
        return ExactSum(self.units + other.units, self.others + other.others)

    @property
    def value(self) -> float:
        """The float next to the sum; infinite where it is beyond all of them."""
        return self.others if self.others else quotient(self.units, 1 << LOWEST)

    def mean(self, count: int) -> float:
        """The sum by the number of floats, one at least; finite where they are."""
        value = self.value
        if self.others or math.isfinite(value):
            return value / count
        # A sum beyond all floats is made smaller before it is a float.
        return math.ldexp(quotient(self.units, 1 << (LOWEST + LARGE_BITS)) / count, LARGE_BITS)


def wrapped(total: int) -> int:
    """A sum of ints in 64 bits, where what is beyond them does not matter.

    Examples
    --------
    >>> wrapped(2**63)
    -9223372036854775808
    """
    return (total + 2**63) % 2**64 - 2**63


def quotient(numerator: int, denominator: int) -> float:
    """The float next to a quotient of whole numbers.

    Examples
    --------
    >>> quotient(1, 3), quotient(-(10**400), 1)
    (0.3333333333333333, -inf)
    """
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def largest_of(block: np.ndarray) -> float:
    """The largest distance from zero in a block; infinite or NaN where there is such a float."""
    return reach_of(block)[1]


def reach_of(block: np.ndarray) -> tuple[float, float]:
    """No float of a block is nearer to zero than this, if it is above zero, nor further than that; infinite or NaN where there is such a float.

    Examples
    --------
    >>> reach_of(np.array([-3.0, -2.0])), reach_of(np.array([-3.0, 2.0])), reach_of(np.array([]))
    ((2.0, 3.0), (-2.0, 3.0), (0.0, 0.0))
    """
    if not len(block):
        return 0.0, 0.0
    most, least = float(block.max()), float(block.min())
    return max(least, -most), max(most, -least)


def units_of(block: np.ndarray, reach: tuple[float, float], room: Sequence[np.ndarray]) -> int:
    """The sum of at most a block of finite floats of this reach, in units of the smallest one; two arrays of the room are used."""
    least, largest = reach
    if largest >= LARGE:
        large = np.abs(block) >= LARGE
        low, high = block[~large], block[large] * math.ldexp(1.0, -LARGE_BITS)
        return (units_of(high, reach_of(high), room) << LARGE_BITS) + units_of(low, reach_of(low), room)
    total, left, parts = 0, block, itertools.cycle(array[: len(block)] for array in room[:2])
    # All floats are multiples of two to the power of this.
    lowest = math.frexp(least)[1] - PRECISION if least > 0 else -LOWEST
    place = max(math.frexp(largest)[1] - PIECE, -LOWEST)
    while True:
        constant = constant_of(place)
        part = np.add(left, constant, out=next(parts))
        total += wrapped(int(part.view(np.int64).sum()) - len(block) * bits_of(place)) << (place + LOWEST)
        if place <= lowest:
            return total
        part -= constant
        # Where the first numbers leave something nobody need look at all.
        if np.array_equal(part[:FIRST], left[:FIRST]) and np.array_equal(part, left):
            return total
        # In place of the part: two arrays at a time stay nearer to the processor than three.
        left = np.subtract(left, part, out=part)
        place = max(place - PIECE, -LOWEST)


def room_for(rows: int, arrays: int = 3) -> list[np.ndarray]:
    """Arrays that are used for one block after the other: new ones each time would be memory that is new to the process."""
    return [new_array(rows, np.float64) for _ in range(arrays)]


def cut(values: np.ndarray, place: int, room: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Floats near a constant that hold pieces in their last bits, and what is left of each value; both in arrays of the room, of three.

    Values may be what is left of others.
    """
    constant = constant_of(place)
    moved, part, left = (array[: len(values)] for array in room)
    np.add(values, constant, out=moved)
    np.subtract(moved, constant, out=part)
    return moved, np.subtract(values, part, out=left)


def constant_of(place: int) -> float:
    """The float to which others are added so that they are rounded to whole multiples of ``2**place``.

    Examples
    --------
    >>> (5.3 + constant_of(-1)) - constant_of(-1)
    5.5
    """
    return math.ldexp(1.5, 52 + place)


def bits_of(place: int) -> int:
    """The constant for pieces of a place, as a whole number."""
    return int(np.float64(constant_of(place)).view(np.int64))


def whole_piece(values: np.ndarray, place: int, room: Sequence[np.ndarray] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Finite floats as ints, in units of ``2**place``, of which they have less than ``2**51``, and what is left of each value.

    Both are in arrays of the room, or in new ones.

    Examples
    --------
    >>> [part.tolist() for part in whole_piece(np.array([5.25, -0.75]), -1)]
    [[10, -2], [0.25, 0.25]]
    """
    if not LEAST_PLACE <= place <= MOST_PLACE:
        whole, left = piece(values, place)
        return whole.astype(np.int64), left
    moved, left = cut(values, place, room or room_for(len(values)))
    whole = moved.view(np.int64)
    whole -= bits_of(place)
    return whole, left


def piece(values: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Finite floats as whole numbers of ``2**place``, and what is left of each value.

    Examples
    --------
    >>> [part.tolist() for part in piece(np.array([5.25, -0.75]), -1)]
    [[10.0, -2.0], [0.25, 0.25]]
    """
    if LEAST_PLACE <= place <= MOST_PLACE:
        moved, left = cut(values, place, room_for(len(values)))
        moved -= constant_of(place)
        return scaled(moved, -place), left
    # Of large numbers no piece is larger than its number; below the smallest float there is nothing left.
    whole = np.trunc(np.ldexp(values, -place))
    return whole, values - np.ldexp(whole, place)


def scaled(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Numbers times ``2**bits``.

    Examples
    --------
    >>> scaled(np.array([3, -5]), 1), scaled(np.array([3.0]), -1074)
    (array([  6., -10.]), array([1.5e-323]))
    """
    # A product is quicker, where its factor is a float.
    return numbers * math.ldexp(1.0, bits) if abs(bits) < LARGEST else np.ldexp(numbers.astype(np.float64, copy=False), bits)
