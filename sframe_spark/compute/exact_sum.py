"""Sums of floats without rounding: what floats add up to does not depend on the order of the additions, nor on cuts between them.

Finite floats are whole multiples of the smallest one, and whole numbers add up exactly. Blocks of floats are cut into
pieces on a fixed grid, by adding and subtracting one constant; pieces of one exponent of the grid add up exactly in
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
DIGIT_BITS, BLOCK = 45, 1 << 16
# A float has no bits further below its first one.
PRECISION = 53
# So many numbers tell mostly whether pieces are all of them.
FIRST = 64
# Above this the constants of the pieces are infinite: such numbers are made smaller first.
LARGE, LARGE_BITS = 2.0**900, 200
# Powers of two below this are floats, as are their inverses.
LARGEST = 1023
# Of constants within these, floats near them hold pieces in their last bits.
MIN_EXPONENT, MAX_EXPONENT = -1074, 970


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
        units, others, scratch = 0, 0.0, scratch_arrays(min(len(values), BLOCK), 2)
        for start in range(0, len(values), BLOCK):
            block = values[start : start + BLOCK]
            reach = magnitude_range(block)
            if not math.isfinite(reach[1]):
                finite = np.isfinite(block)
                with np.errstate(invalid="ignore"):
                    others += float(block[~finite].sum())
                block = block[finite]
                reach = magnitude_range(block)
            if reach[1]:
                units += units_of(block, reach, scratch)
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


def largest_magnitude(block: np.ndarray) -> float:
    """The largest distance from zero in a block; infinite or NaN where there is such a float."""
    return magnitude_range(block)[1]


def magnitude_range(block: np.ndarray) -> tuple[float, float]:
    """No float of a block is nearer to zero than this, if it is above zero, nor further than that; infinite or NaN where there is such a float.

    Examples
    --------
    >>> magnitude_range(np.array([-3.0, -2.0])), magnitude_range(np.array([-3.0, 2.0])), magnitude_range(np.array([]))
    ((2.0, 3.0), (-2.0, 3.0), (0.0, 0.0))
    """
    if not len(block):
        return 0.0, 0.0
    highest, lowest = float(block.max()), float(block.min())
    return max(lowest, -highest), max(highest, -lowest)


def units_of(block: np.ndarray, reach: tuple[float, float], scratch: Sequence[np.ndarray]) -> int:
    """The sum of at most a block of finite floats of this reach, in units of the smallest one; two arrays of the scratch are used."""
    smallest, largest = reach
    if largest >= LARGE:
        large = np.abs(block) >= LARGE
        low, high = block[~large], block[large] * math.ldexp(1.0, -LARGE_BITS)
        return (units_of(high, magnitude_range(high), scratch) << LARGE_BITS) + units_of(low, magnitude_range(low), scratch)
    total, left, parts = 0, block, itertools.cycle(array[: len(block)] for array in scratch[:2])
    # All floats are multiples of two to the power of this.
    lowest = math.frexp(smallest)[1] - PRECISION if smallest > 0 else -LOWEST
    exponent = max(math.frexp(largest)[1] - DIGIT_BITS, -LOWEST)
    while True:
        constant = rounding_constant(exponent)
        part = np.add(left, constant, out=next(parts))
        total += wrapped(int(part.view(np.int64).sum()) - len(block) * rounding_constant_bits(exponent)) << (exponent + LOWEST)
        if exponent <= lowest:
            return total
        part -= constant
        # Where the first numbers leave something nobody need look at all.
        if np.array_equal(part[:FIRST], left[:FIRST]) and np.array_equal(part, left):
            return total
        # In exponent of the part: two arrays at a time stay nearer to the processor than three.
        left = np.subtract(left, part, out=part)
        exponent = max(exponent - DIGIT_BITS, -LOWEST)


def scratch_arrays(rows: int, arrays: int = 3) -> list[np.ndarray]:
    """Arrays that are used for one block after the other: new ones each time would be memory that is new to the process."""
    return [new_array(rows, np.float64) for _ in range(arrays)]


def split_at(values: np.ndarray, exponent: int, scratch: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Floats near a constant that hold pieces in their last bits, and what is left of each value; both in arrays of the scratch, of three.

    Values may be what is left of others.
    """
    constant = rounding_constant(exponent)
    moved, part, left = (array[: len(values)] for array in scratch)
    np.add(values, constant, out=moved)
    np.subtract(moved, constant, out=part)
    return moved, np.subtract(values, part, out=left)


def rounding_constant(exponent: int) -> float:
    """The float to which others are added so that they are rounded to whole multiples of ``2**exponent``.

    Examples
    --------
    >>> (5.3 + rounding_constant(-1)) - rounding_constant(-1)
    5.5
    """
    return math.ldexp(1.5, 52 + exponent)


def rounding_constant_bits(exponent: int) -> int:
    """The constant for pieces of a exponent, as a whole number."""
    return int(np.float64(rounding_constant(exponent)).view(np.int64))


def split_int_digit(values: np.ndarray, exponent: int, scratch: Sequence[np.ndarray] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Finite floats as ints, in units of ``2**exponent``, of which they have less than ``2**51``, and what is left of each value.

    Both are in arrays of the scratch, or in new ones.

    Examples
    --------
    >>> [part.tolist() for part in split_int_digit(np.array([5.25, -0.75]), -1)]
    [[10, -2], [0.25, 0.25]]
    """
    if not MIN_EXPONENT <= exponent <= MAX_EXPONENT:
        whole, left = split_digit(values, exponent)
        return whole.astype(np.int64), left
    moved, left = split_at(values, exponent, scratch or scratch_arrays(len(values)))
    whole = moved.view(np.int64)
    whole -= rounding_constant_bits(exponent)
    return whole, left


def split_digit(values: np.ndarray, exponent: int) -> tuple[np.ndarray, np.ndarray]:
    """Finite floats as whole numbers of ``2**exponent``, and what is left of each value.

    Examples
    --------
    >>> [part.tolist() for part in split_digit(np.array([5.25, -0.75]), -1)]
    [[10.0, -2.0], [0.25, 0.25]]
    """
    if MIN_EXPONENT <= exponent <= MAX_EXPONENT:
        moved, left = split_at(values, exponent, scratch_arrays(len(values)))
        moved -= rounding_constant(exponent)
        return scaled(moved, -exponent), left
    # Of large numbers no piece is larger than its number; below the smallest float there is nothing left.
    whole = np.trunc(np.ldexp(values, -exponent))
    return whole, values - np.ldexp(whole, exponent)


def scaled(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Numbers times ``2**bits``.

    Examples
    --------
    >>> scaled(np.array([3, -5]), 1), scaled(np.array([3.0]), -1074)
    (array([  6., -10.]), array([1.5e-323]))
    """
    # A product is quicker, where its factor is a float.
    return numbers * math.ldexp(1.0, bits) if abs(bits) < LARGEST else np.ldexp(numbers.astype(np.float64, copy=False), bits)


# Running sums of floats in two words, floats or ints, where these have scratch for all bits: most often they do, and take a third of the time.

# So many rows are looked at together.
WORDS_BLOCK = 1 << 16
# Bits of the upper int, which is a float; and of the lower one, of which as many as there are in a block are a float or none.
UPPER, LOWER = 51, (34, 46)
# With so many the sums of all rows of a block are floats.
FLOAT_BITS = LOWER[0]
# Differences of ints of so many bits are floats, too.
MAX_FLOAT_BITS = 52


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


class EarlierSums(Protocol):
    """Sums of earlier rows, one for each group."""

    def max_bits(self) -> int:
        """The largest sum is less than two to the power of this."""

    def words(self, unit: int, bits: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The sums in units of ``2**unit``, as ints of so many bits and what is above these; None where that is not all of one."""


def grouped_cumsum(numbers: np.ndarray, starts: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Running sums of numbers within groups, in their exponent; what is beyond 64 bits of ints on the way does not matter."""
    if len(starts) == 1:
        numbers[0] += before[0]
        return np.cumsum(numbers, out=numbers)
    firsts = numbers[starts]
    np.cumsum(numbers, out=numbers)
    numbers += np.repeat(before - (numbers[starts] - firsts), np.diff(np.append(starts, len(numbers))))
    return numbers


class WordScratch(NamedTuple):
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
    def of(cls, rows: int) -> WordScratch:
        """For blocks of at most so many rows."""
        part, left = scratch_arrays(rows, 2)
        return cls(part, left, new_array(rows, np.complex128))


def two_word_running_sums(numbers: np.ndarray, starts: np.ndarray, before: EarlierSums, scratch: WordScratch) -> tuple[np.ndarray, TwoInts] | None:
    """Running sums of at most a block of rows within groups; None where two words have no scratch for all bits.

    Also the last sum of each group. The sums are in an array of the scratch, or in a new one.
    """
    largest = largest_magnitude(numbers)
    top_bit = max(math.frexp(largest)[1] + len(numbers).bit_length(), before.max_bits()) + 1
    for bits in LOWER:
        unit = top_bit - UPPER - bits
        if not (math.isfinite(largest) and unit >= MIN_EXPONENT and top_bit <= MAX_EXPONENT):
            return None
        result = (
            two_float_running_sums(numbers, starts, before, (unit, bits), scratch)
            if bits <= FLOAT_BITS
            else two_int_running_sums(numbers, starts, before, (unit, bits))
        )
        if result is not None:
            return result
    return None


def two_float_running_sums(
    numbers: np.ndarray, starts: np.ndarray, before: EarlierSums, places: tuple[int, int], scratch: WordScratch
) -> tuple[np.ndarray, TwoInts] | None:
    """Running sums whose words are floats without rounding all the way; None where they do not hold all bits.

    Both words of a row are one complex number: adding up waits for the sum of the row before, so two sums take no longer than one.
    """
    unit, bits = places
    part, left, sums = (array[: len(numbers)] for array in scratch)
    words = before.words(unit, bits) if split_into_words(numbers, places, (part, left), sums) else None
    if words is None:
        return None
    earlier = np.empty(len(starts), dtype=np.complex128)
    earlier.real, earlier.imag = np.ldexp(words[0], unit + bits), np.ldexp(words[1], unit)
    grouped_cumsum(sums, starts, earlier)
    last = sums[np.append(starts[1:], len(numbers)) - 1]
    high, low = np.ldexp(last.real, -unit - bits).astype(np.int64), np.ldexp(last.imag, -unit).astype(np.int64)
    return np.add(sums.real, sums.imag, out=part), TwoInts(high, low, unit, bits)


def sums_of_windows(numbers: np.ndarray, width: int, scratch: WordScratch) -> np.ndarray | None:
    """Sum of every ``width`` consecutive numbers, rounded once; None where two words have no scratch for all bits of the running sums.

    It is in an array of the scratch, which has one row more than there are numbers.

    Examples
    --------
    >>> sums_of_windows(np.array([1e9, 0.1, 0.2, 0.3]), 3, WordScratch.of(5)).tolist()
    [1000000000.3, 0.6]
    """
    largest, length = largest_magnitude(numbers), len(numbers).bit_length()
    top_bit, bits = math.frexp(largest)[1] + length + 1, MAX_FLOAT_BITS - length
    unit = top_bit - MAX_FLOAT_BITS - bits
    if not (math.isfinite(largest) and unit >= MIN_EXPONENT and top_bit <= MAX_EXPONENT and bits > 0):
        return None
    part, left = (array[: len(numbers)] for array in scratch[:2])
    sums = scratch.sums[: len(numbers) + 1]
    sums[0] = 0.0
    if not split_into_words(numbers, (unit, bits), (part, left), sums[1:]):
        return None
    np.cumsum(sums, out=sums)
    rows = len(numbers) - width + 1
    high = np.subtract(sums.real[width:], sums.real[:-width], out=part[:rows])
    return np.add(high, np.subtract(sums.imag[width:], sums.imag[:-width], out=left[:rows]), out=high)


def split_into_words(numbers: np.ndarray, places: tuple[int, int], scratch: tuple[np.ndarray, np.ndarray], words: np.ndarray) -> bool:
    """Put both words of each number there, and say whether these are all of it."""
    unit, bits = places
    part, left = scratch
    words.real = rounded_to(numbers, unit + bits, part)
    np.subtract(numbers, part, out=left)
    words.imag = rounded_to(left, unit, part)
    return np.array_equal(part, left)


def rounded_to(numbers: np.ndarray, exponent: int, out: np.ndarray) -> np.ndarray:
    """Floats next to numbers that are whole multiples of ``2**exponent``, in an array of their own."""
    constant = rounding_constant(exponent)
    np.add(numbers, constant, out=out)
    return np.subtract(out, constant, out=out)


def two_int_running_sums(numbers: np.ndarray, starts: np.ndarray, before: EarlierSums, places: tuple[int, int]) -> tuple[np.ndarray, TwoInts] | None:
    """Running sums whose words are ints, the lower one with scratch for more than a float holds; None where they do not hold all bits."""
    unit, bits = places
    high, left = split_int_digit(numbers, unit + bits)
    low, left = split_int_digit(left, unit)
    words = None if left.any() else before.words(unit, bits)
    if words is None:
        return None
    return rounded_words(TwoInts(grouped_cumsum(high, starts, words[0]), grouped_cumsum(low, starts, words[1]), unit, bits), starts)


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


def as_floats(numbers: np.ndarray, exponent: int) -> np.ndarray:
    """Ints below ``2**51`` times ``2**exponent``, in their exponent."""
    numbers += rounding_constant_bits(exponent)
    floats = numbers.view(np.float64)
    floats -= rounding_constant(exponent)
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
        return self.units.bit_length() + MIN_EXPONENT

    def words(self, unit: int, bits: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The sum in units of ``2**unit``, as an int of so many bits and what is above it; None where that is not all of it."""
        whole = self.units >> (unit - MIN_EXPONENT)
        if whole << (unit - MIN_EXPONENT) != self.units:
            return None
        above = whole >> bits
        return np.array([above]), np.array([whole - (above << bits)])

    @staticmethod
    def units_of(sums: TwoInts) -> int:
        """The first sum in units of the smallest float."""
        return ((int(sums.high[0]) << sums.bits) + int(sums.low[0])) << (sums.unit - MIN_EXPONENT)


# What products of floats lack.

SPLITTER = float(2**27 + 1)


def split_halves(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Floats as sums of two with half of the digits, whose products are floats."""
    scaled = numbers * SPLITTER
    high = scaled - (scaled - numbers)
    return high, numbers - high


def product_error(first: np.ndarray, second: np.ndarray, product: np.ndarray) -> np.ndarray:
    """What the float next to a product lacks, where neither is near the ends of floats.

    Source: Dekker, "A floating-point technique for extending the available precision" (1971).

    Examples
    --------
    >>> number = np.array([1.0 + 2.0**-30])
    >>> product_error(number, number, number * number).tolist() == [2.0**-60]
    True
    """
    high, low = split_halves(first)
    other, below = split_halves(second)
    return ((high * other - product) + high * below + low * other) + low * below


def squares_with_errors(values: np.ndarray, scratch: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The floats next to the squares, and what these lack, of floats that are not near the ends of floats; in arrays of the scratch, of four.

    Examples
    --------
    >>> square, lacking = squares_with_errors(np.array([1.0 + 2.0**-30]), [np.empty(1) for _ in range(4)])
    >>> float(square[0] - 1.0), lacking.tolist() == [2.0**-60]
    (1.862645149230957e-09, True)
    """
    square, high, low, lacking = (array[: len(values)] for array in scratch)
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
SQUARE_DIGIT_BITS, SQUARE_BLOCK = 20, 1 << 13


@attrs.frozen
class VarianceState:
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
    def of(cls, values: np.ndarray) -> VarianceState:
        """Of floats.

        Examples
        --------
        >>> found = VarianceState.of(np.array([1e9 + 1, 1e9 + 3]))
        >>> found.count, found.mean, found.squares
        (2, 1000000002.0, 2.0)
        """
        units = squares = 0
        others = 0.0
        for start in range(0, len(values), SQUARE_BLOCK):
            block = values[start : start + SQUARE_BLOCK]
            if not math.isfinite(largest_magnitude(block)):
                finite = np.isfinite(block)
                with np.errstate(invalid="ignore"):
                    others += float(block[~finite].sum())
                block = block[finite]
            more = sum_and_square_units(block)
            units, squares = units + more[0], squares + more[1]
        return cls(len(values), ExactSum(units, others), squares)

    def merged(self, other: VarianceState) -> VarianceState:
        """Of both groups of numbers.

        Examples
        --------
        >>> VarianceState.of(np.array([1.0])).merged(VarianceState.of(np.array([3.0]))) == VarianceState.of(np.array([1.0, 3.0]))
        True
        """
        return VarianceState(self.count + other.count, self.total + other.total, self.square_units + other.square_units)

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


def sum_and_square_units(block: np.ndarray) -> tuple[int, int]:
    """The sum of at most a block of finite floats, and that of their squares, in units of the smallest one and of its square."""
    pieces: list[tuple[int, np.ndarray]] = []
    largest, left = largest_magnitude(block), block
    exponent = math.frexp(largest)[1] - SQUARE_DIGIT_BITS
    while largest:
        whole, left = split_digit(left, exponent)
        pieces.append((exponent + LOWEST, whole))
        largest, exponent = float(left.any()), exponent - SQUARE_DIGIT_BITS
    # Below the smallest float there are zeros only, which a shift to the right keeps.
    total = sum(shifted(int(whole.sum()), exponent) for exponent, whole in pieces)
    squares = 0
    for number, (exponent, whole) in enumerate(pieces):
        squares += shifted(int(whole.dot(whole)), 2 * exponent)
        squares += sum(shifted(2 * int(whole.dot(other)), exponent + below) for below, other in pieces[number + 1 :])
    return total, squares


def shifted(number: int, places: int) -> int:
    """A whole number with so many binary zeros more, or less."""
    return number << places if places >= 0 else number >> -places
