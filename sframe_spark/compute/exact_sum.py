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
from typing import NamedTuple, Protocol

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
MIN_PLACE, MAX_PLACE = -1074, 970


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
    if not MIN_PLACE <= place <= MAX_PLACE:
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
    if MIN_PLACE <= place <= MAX_PLACE:
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


# Running sums of floats in two words, floats or ints, where these have room for all bits: most often they do, and take a third of the time.

# So many rows are looked at together.
WORDS_BLOCK = 1 << 16
# Bits of the upper int, which is a float; and of the lower one, of which as many as there are in a block are a float or none.
UPPER, LOWER = 51, (34, 46)
# With so many the sums of all rows of a block are floats.
IS_FLOAT = LOWER[0]
# Differences of ints of so many bits are floats, too.
MAX_OF_FLOAT = 52


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

    def max_bits(self) -> int:
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
    most = max(math.frexp(largest)[1] + len(numbers).bit_length(), before.max_bits()) + 1
    for bits in LOWER:
        unit = most - UPPER - bits
        if not (math.isfinite(largest) and unit >= MIN_PLACE and most <= MAX_PLACE):
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
    most, bits = math.frexp(largest)[1] + length + 1, MAX_OF_FLOAT - length
    unit = most - MAX_OF_FLOAT - bits
    if not (math.isfinite(largest) and unit >= MIN_PLACE and most <= MAX_PLACE and bits > 0):
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

    def max_bits(self) -> int:
        """The sum is less than two to the power of this."""
        return self.units.bit_length() + MIN_PLACE

    def words(self, unit: int, bits: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The sum in units of ``2**unit``, as an int of so many bits and what is above it; None where that is not all of it."""
        whole = self.units >> (unit - MIN_PLACE)
        if whole << (unit - MIN_PLACE) != self.units:
            return None
        above = whole >> bits
        return np.array([above]), np.array([whole - (above << bits)])

    @staticmethod
    def units_of(sums: TwoInts) -> int:
        """The first sum in units of the smallest float."""
        return ((int(sums.high[0]) << sums.bits) + int(sums.low[0])) << (sums.unit - MIN_PLACE)


# What products of floats lack.

SPLITTER = float(2**27 + 1)


def halves(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Floats as sums of two with half of the digits, whose products are floats."""
    scaled = numbers * SPLITTER
    high = scaled - (scaled - numbers)
    return high, numbers - high


def lacking_product(first: np.ndarray, second: np.ndarray, product: np.ndarray) -> np.ndarray:
    """What the float next to a product lacks, where neither is near the ends of floats.

    Source: Dekker, "A floating-point technique for extending the available precision" (1971).

    Examples
    --------
    >>> number = np.array([1.0 + 2.0**-30])
    >>> lacking_product(number, number, number * number).tolist() == [2.0**-60]
    True
    """
    high, low = halves(first)
    other, below = halves(second)
    return ((high * other - product) + high * below + low * other) + low * below


def squares(values: np.ndarray, room: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The floats next to the squares, and what these lack, of floats that are not near the ends of floats; in arrays of the room, of four.

    Examples
    --------
    >>> square, lacking = squares(np.array([1.0 + 2.0**-30]), [np.empty(1) for _ in range(4)])
    >>> float(square[0] - 1.0), lacking.tolist() == [2.0**-60]
    (1.862645149230957e-09, True)
    """
    square, high, low, lacking = (array[: len(values)] for array in room)
    np.multiply(values, SPLITTER, out=high)
    np.subtract(high, values, out=low)
    np.subtract(high, low, out=high)
    np.subtract(values, high, out=low)
    np.multiply(values, values, out=square)
    np.multiply(high, high, out=lacking)
    lacking -= square
    high *= low
    high *= 2.0
    lacking += high
    low *= low
    lacking += low
    return square, lacking


# Count, sum and sum of squares of numbers, of parts and of parts together, without rounding.

# Products of two pieces of so many bits add up exactly in a float, of so many numbers.
MOMENT_DIGIT_BITS, MOMENT_BLOCK = 20, 1 << 13


@attrs.frozen
class Moments:
    """What means and spreads of some numbers are made of.

    Parameters
    ----------
    count
        How many numbers there are.
    total
        Their sum.
    square_units
        The sum of the squares of the finite ones, in units of the square of the smallest float, ``2**-2148``.
    """

    count: int = 0
    total: ExactSum = attrs.field(factory=ExactSum)
    square_units: int = 0

    @classmethod
    def of(cls, values: np.ndarray) -> Moments:
        """Of floats.

        Examples
        --------
        >>> found = Moments.of(np.array([1e9 + 1, 1e9 + 3]))
        >>> found.count, found.mean, found.squares
        (2, 1000000002.0, 2.0)
        """
        units = squares = 0
        others = 0.0
        for start in range(0, len(values), MOMENT_BLOCK):
            block = values[start : start + MOMENT_BLOCK]
            if not math.isfinite(largest_of(block)):
                finite = np.isfinite(block)
                with np.errstate(invalid="ignore"):
                    others += float(block[~finite].sum())
                block = block[finite]
            more = moment_units_of(block)
            units, squares = units + more[0], squares + more[1]
        return cls(len(values), ExactSum(units, others), squares)

    def merged(self, other: Moments) -> Moments:
        """Of both groups of numbers.

        Examples
        --------
        >>> Moments.of(np.array([1.0])).merged(Moments.of(np.array([3.0]))) == Moments.of(np.array([1.0, 3.0]))
        True
        """
        return Moments(self.count + other.count, self.total + other.total, self.square_units + other.square_units)

    @property
    def mean(self) -> float:
        """The mean, finite where the numbers are; zero of none."""
        return self.total.mean(self.count) if self.count else 0.0

    @property
    def squares(self) -> float:
        """The float next to the sum of squared deviations from the mean; NaN where a number is not finite, zero of none."""
        if not self.count:
            return 0.0
        if self.total.others:
            return math.nan
        # Whole numbers: what cancels here leaves no rounding behind.
        return quotient(self.count * self.square_units - self.total.units**2, self.count << (2 * LOWEST))


def moment_units_of(block: np.ndarray) -> tuple[int, int]:
    """The sum of at most a block of finite floats, and that of their squares, in units of the smallest one and of its square."""
    pieces: list[tuple[int, np.ndarray]] = []
    largest, left = largest_of(block), block
    place = math.frexp(largest)[1] - MOMENT_DIGIT_BITS
    while largest:
        whole, left = piece(left, place)
        pieces.append((place + LOWEST, whole))
        largest, place = float(left.any()), place - MOMENT_DIGIT_BITS
    # Below the smallest float there are zeros only, which a shift to the right keeps.
    total = sum(shifted(int(whole.sum()), place) for place, whole in pieces)
    squares = 0
    for number, (place, whole) in enumerate(pieces):
        squares += shifted(int(whole.dot(whole)), 2 * place)
        squares += sum(shifted(2 * int(whole.dot(other)), place + below) for below, other in pieces[number + 1 :])
    return total, squares


def shifted(number: int, places: int) -> int:
    """A whole number with so many binary zeros more, or less."""
    return number << places if places >= 0 else number >> -places
