"""Exact sums, means and variances of float arrays, rounded only once: results do not depend on the order of rows, nor on how they are divided.

Finite floats are integer multiples of the smallest float, and integers add up exactly. Blocks of floats are split into digits on a fixed grid of
exponents, by adding and subtracting one constant; digits of the same exponent add up exactly in 64 bits. A sum is rounded once, when its value is
requested. The module also has exact products and squares, as a float and its rounding error, and the state from which variances are computed.

Source: Demmel, Nguyen, "Fast reproducible floating-point summation" (2013), for the splitting; here no digit is dropped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import attrs
import numpy as np

from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array

# Floats are multiples of 2**-1074.
LOWEST = 1074
# Bits per digit, so that the digits of a block of rows add up in 64 bits. Longer blocks would not fit the processor's cache; with shorter ones
# threads would spend more time waiting for the GIL.
DIGIT_BITS, BLOCK = 45, 1 << 16
# Significant bits of a float.
PRECISION = 53
# Sample size of a cheap test for remainders: if the first numbers have remainders, the other numbers need not be compared.
FIRST = 64
# Above LARGE the rounding constants overflow: such numbers are scaled down by LARGE_BITS bits first.
LARGE, LARGE_BITS = 2.0**900, 200
# Powers of two with a smaller exponent are floats, and so are their inverses.
LARGEST = 1023
# Exponents for which the rounding trick works: floats near the constant hold the digit in their last bits.
MIN_EXPONENT, MAX_EXPONENT = -1074, 970


@attrs.frozen
class ExactSum:
    """The exact sum of some floats.

    Parameters
    ----------
    units
        The sum of the finite floats, in units of the smallest float, ``2**-1074``.
    others
        The sum of the infinite and NaN floats; zero if there are none.

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
        """Return the exact sum of an array of floats."""
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
        """Return the sum of all floats that are in either sum."""
        return ExactSum(self.units + other.units, self.others + other.others)

    @property
    def value(self) -> float:
        """The float nearest to the sum; infinite if it overflows."""
        return self.others if self.others else quotient(self.units, 1 << LOWEST)

    def mean(self, count: int) -> float:
        """Return the sum divided by the number of floats, which is at least one; finite if all floats are finite."""
        value = self.value
        if self.others or math.isfinite(value):
            return value / count
        # The sum overflows although the mean does not: scale it down before rounding.
        return math.ldexp(quotient(self.units, 1 << (LOWEST + LARGE_BITS)) / count, LARGE_BITS)


def wrapped(total: int) -> int:
    """Return an int wrapped around to 64 bits.

    Examples
    --------
    >>> wrapped(2**63)
    -9223372036854775808
    """
    return (total + 2**63) % 2**64 - 2**63


def quotient(numerator: int, denominator: int) -> float:
    """Return the float nearest to a quotient of ints.

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
    """Return the largest absolute value in a block; infinite or NaN if a float is."""
    return magnitude_range(block)[1]


def magnitude_range(block: np.ndarray) -> tuple[float, float]:
    """Return a lower and an upper bound of the absolute values in a block; infinite or NaN if a float is.

    The lower bound says nothing if it is not positive.

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
    """Return the sum of at most a block of finite floats, in units of the smallest float.

    ``reach`` are the bounds of their absolute values, see :func:`magnitude_range`; two scratch arrays are overwritten.
    """
    smallest, largest = reach
    if largest >= LARGE:
        large = np.abs(block) >= LARGE
        low, high = block[~large], block[large] * math.ldexp(1.0, -LARGE_BITS)
        return (units_of(high, magnitude_range(high), scratch) << LARGE_BITS) + units_of(low, magnitude_range(low), scratch)
    total, left, parts = 0, block, itertools.cycle(array[: len(block)] for array in scratch[:2])
    # All floats are multiples of 2**lowest.
    lowest = math.frexp(smallest)[1] - PRECISION if smallest > 0 else -LOWEST
    exponent = max(math.frexp(largest)[1] - DIGIT_BITS, -LOWEST)
    while True:
        constant = rounding_constant(exponent)
        part = np.add(left, constant, out=next(parts))
        total += wrapped(int(part.view(np.int64).sum()) - len(block) * rounding_constant_bits(exponent)) << (exponent + LOWEST)
        if exponent <= lowest:
            return total
        part -= constant
        # If the first numbers have a remainder, the others need not be compared.
        if np.array_equal(part[:FIRST], left[:FIRST]) and np.array_equal(part, left):
            return total
        # In place: two arrays fit the cache better than three.
        left = np.subtract(left, part, out=part)
        exponent = max(exponent - DIGIT_BITS, -LOWEST)


def scratch_arrays(rows: int, arrays: int = 3) -> list[np.ndarray]:
    """Allocate arrays that are reused from block to block, so that no new memory is mapped for each block."""
    return [new_array(rows, np.float64) for _ in range(arrays)]


def split_at(values: np.ndarray, exponent: int, scratch: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Round values to multiples of ``2**exponent``; return the rounded values plus the rounding constant, and the remainders.

    Both results are in ``scratch``, which has three arrays; ``values`` may be remainders that an earlier call returned.
    """
    constant = rounding_constant(exponent)
    moved, part, left = (array[: len(values)] for array in scratch)
    np.add(values, constant, out=moved)
    np.subtract(moved, constant, out=part)
    return moved, np.subtract(values, part, out=left)


def rounding_constant(exponent: int) -> float:
    """Return the constant whose addition to and subtraction from a float rounds it to a multiple of ``2**exponent``.

    Examples
    --------
    >>> (5.3 + rounding_constant(-1)) - rounding_constant(-1)
    5.5
    """
    return math.ldexp(1.5, 52 + exponent)


def rounding_constant_bits(exponent: int) -> int:
    """Return the bit pattern of the rounding constant, as an int."""
    return int(np.float64(rounding_constant(exponent)).view(np.int64))


def split_int_digit(values: np.ndarray, exponent: int, scratch: Sequence[np.ndarray] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Split finite floats below ``2**(51 + exponent)`` into ints, in units of ``2**exponent``, and remainders.

    Both results are in ``scratch``, or in new arrays if it is None.

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
    """Split finite floats into integer-valued floats, in units of ``2**exponent``, and remainders.

    Examples
    --------
    >>> [part.tolist() for part in split_digit(np.array([5.25, -0.75]), -1)]
    [[10.0, -2.0], [0.25, 0.25]]
    """
    if MIN_EXPONENT <= exponent <= MAX_EXPONENT:
        moved, left = split_at(values, exponent, scratch_arrays(len(values)))
        moved -= rounding_constant(exponent)
        return scaled(moved, -exponent), left
    # Rounding to the nearest multiple could overflow for the largest floats; truncation cannot. If the unit is below the smallest float, the
    # remainder is zero.
    whole = np.trunc(np.ldexp(values, -exponent))
    return whole, values - np.ldexp(whole, exponent)


def scaled(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Return numbers times ``2**bits``.

    Examples
    --------
    >>> scaled(np.array([3, -5]), 1), scaled(np.array([3.0]), -1074)
    (array([  6., -10.]), array([1.5e-323]))
    """
    # A product is faster than ldexp, but the factor must be a float.
    return numbers * math.ldexp(1.0, bits) if abs(bits) < LARGEST else np.ldexp(numbers.astype(np.float64, copy=False), bits)


# Products and squares with their rounding errors.

SPLITTER = float(2**27 + 1)


def split_halves(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split each float into the sum of two floats with half of the bits each, so that products of such floats are exact."""
    scaled = numbers * SPLITTER
    high = scaled - (scaled - numbers)
    return high, numbers - high


def product_error(first: np.ndarray, second: np.ndarray, product: np.ndarray) -> np.ndarray:
    """Return the rounding error of products, for factors that cause neither overflow nor underflow.

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
    """Return the squares of floats and their rounding errors; the squares must neither overflow nor underflow.

    Both results are in ``scratch``, which has four arrays.

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


# Count, exact sum and exact sum of squares: the mergeable state of mean and variance.

# Products of two digits of SQUARE_DIGIT_BITS bits add up exactly in a float, over a block of SQUARE_BLOCK numbers.
SQUARE_DIGIT_BITS, SQUARE_BLOCK = 20, 1 << 13


@attrs.frozen
class VarianceState:
    """The count and exact sums of some numbers, from which their mean and variance are computed; states can be merged.

    Parameters
    ----------
    count
        Number of numbers.
    total
        The exact sum of the numbers.
    square_units
        The sum of the squares of the finite numbers, in units of the square of the smallest float, ``2**-2148``.
    """

    count: int = 0
    total: ExactSum = attrs.field(factory=ExactSum)
    square_units: int = 0

    @classmethod
    def of(cls, values: np.ndarray) -> VarianceState:
        """Return the state of an array of floats.

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
        """Return the state of the numbers of both states together.

        Examples
        --------
        >>> VarianceState.of(np.array([1.0])).merged(VarianceState.of(np.array([3.0]))) == VarianceState.of(np.array([1.0, 3.0]))
        True
        """
        return VarianceState(self.count + other.count, self.total + other.total, self.square_units + other.square_units)

    @property
    def mean(self) -> float:
        """The mean of the numbers, finite if all numbers are finite; zero if there are none."""
        return self.total.mean(self.count) if self.count else 0.0

    @property
    def squares(self) -> float:
        """The float nearest to the sum of squared deviations from the mean; NaN if a number is not finite, zero if there are none."""
        if not self.count:
            return 0.0
        if self.total.others:
            return math.nan
        # Integer arithmetic, so cancellation leaves no rounding error.
        return quotient(self.count * self.square_units - self.total.units**2, self.count << (2 * LOWEST))


def sum_and_square_units(block: np.ndarray) -> tuple[int, int]:
    """Return the sum of at most a block of finite floats, in units of the smallest float, and of their squares, in units of its square."""
    digits: list[tuple[int, np.ndarray]] = []
    largest, left = largest_magnitude(block), block
    exponent = math.frexp(largest)[1] - SQUARE_DIGIT_BITS
    while largest:
        whole, left = split_digit(left, exponent)
        digits.append((exponent + LOWEST, whole))
        largest, exponent = float(left.any()), exponent - SQUARE_DIGIT_BITS
    # Digits below the smallest float are zero, so shifting them right loses nothing.
    total = sum(shifted(int(whole.sum()), exponent) for exponent, whole in digits)
    squares = 0
    for number, (exponent, whole) in enumerate(digits):
        squares += shifted(int(whole.dot(whole)), 2 * exponent)
        squares += sum(shifted(2 * int(whole.dot(other)), exponent + below) for below, other in digits[number + 1 :])
    return total, squares


def shifted(number: int, places: int) -> int:
    """Return an int shifted left, or right for negative ``places``."""
    return number << places if places >= 0 else number >> -places
