"""Exact sums and squared deviations of floats, for many groups at once.

A sum is a number in base 2**40. At each place (power of the base) there is an array with the digits of all groups. Floats are split into digits by
float arithmetic, digits of rows add up exactly in 64 bits, and overflow is carried to the next place. With digits from -2**39 up to 2**39 the
representation is unique, so sums of the same floats have the same digits, whatever the order of rows and however they are partitioned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_running_sums_in_two_words import TwoInts
from sframe_spark.compute.exact_sum_and_variance import (
    LOWEST,
    ExactSum,
    largest_magnitude,
    product_error,
    quotient,
    scaled,
    scratch_arrays,
    split_int_digit,
    squares_with_errors,
)

BITS = 40
HALF = 1 << (BITS - 1)
# The lowest digit of a float is at place -LOWEST_PLACE or higher.
LOWEST_PLACE = 27
# Digits are carried before they could exceed MAX_MAGNITUDE. For at most FEW_GROUPS groups carrying is cheap, so that the first digit of a float may
# have FIRST_BITS bits.
MAX_MAGNITUDE, FIRST_BITS, FEW_GROUPS = 2.0**62, 46, 1 << 14
# How many rows, and how many groups, are processed at a time.
BLOCK, GROUPS_PER_BLOCK = 1 << 16, 1 << 13
# A place below all digits of squares of floats.
FIRST_PLACE = -64
# Sums that overflow are scaled down by this many bits.
SMALLER = 200
# Outside this range the square of a number, or its rounding error, may overflow or underflow: such numbers are scaled by SQUARED_PLACES places first.
MIN_SQUARED, MAX_SQUARED, SQUARED_PLACES = 2.0**-480, 2.0**480, 15
NEAREST_SQUARED = np.float64(MIN_SQUARED).view(np.uint64) - np.uint64(1)


@attrs.define(eq=False)
class Digits:
    """Exact sums of groups, as digits, to which rows are added.

    Parameters
    ----------
    count
        Number of groups.
    places
        The digits of all groups by place: a digit ``d`` at place ``p`` is worth ``d * 2**(40 * p)``.
    others
        For each group the sum of its infinite and NaN numbers, zero if it has none; None if no group has any.

    Examples
    --------
    >>> digits = Digits(2)
    >>> digits.add(np.array([1e100, 2.5, 1.0, -1e100]), np.array([0, 1, 0, 0]))
    >>> digits.rounded().tolist()
    [1.0, 2.5]
    """

    count: int
    places: dict[int, np.ndarray] = attrs.field(factory=dict)
    others: np.ndarray | None = None
    _magnitude: float = attrs.field(default=0.0, init=False)

    def add(self, values: np.ndarray, codes: np.ndarray, moved: int = 0) -> None:
        """Add floats times ``2**(40 * moved)`` to the groups given by ``codes``."""
        scratch = scratch_arrays(min(len(values), BLOCK))
        for start in range(0, len(values), BLOCK):
            block, groups = values[start : start + BLOCK], codes[start : start + BLOCK]
            largest = largest_magnitude(block)
            if not math.isfinite(largest):
                finite = np.isfinite(block)
                self._add_non_finite(block[~finite], groups[~finite])
                block, groups = block[finite], groups[finite]
                largest = largest_magnitude(block)
            self._add_finite(block, groups, largest, moved, scratch)

    def add_squares(self, values: np.ndarray, codes: np.ndarray) -> None:
        """Add the exact squares of finite floats to the groups given by ``codes``."""
        scratch, products = scratch_arrays(min(len(values), BLOCK)), scratch_arrays(min(len(values), BLOCK), 4)
        for start in range(0, len(values), BLOCK):
            groups = codes[start : start + BLOCK]
            for part, moved in squarable_parts(values[start : start + BLOCK]):
                for numbers in squares_with_errors(part, products):
                    self._add_finite(numbers, groups, largest_magnitude(numbers), moved, scratch)

    def add_product(self, first: np.ndarray, second: np.ndarray, codes: np.ndarray, moved: int = 0) -> None:
        """Add exact products, times ``2**(40 * moved)``, to the groups given by ``codes``; the products must not overflow or underflow."""
        product = first * second
        self.add(product, codes, moved)
        self.add(product_error(first, second, product), codes, moved)

    def _add_finite(self, values: np.ndarray, codes: np.ndarray, largest: float, moved: int, scratch: Sequence[np.ndarray]) -> None:
        bits = FIRST_BITS if self.count <= FEW_GROUPS else BITS
        place = first_place(largest, bits)
        if self._magnitude > MAX_MAGNITUDE:
            self.places, self._magnitude = self.carried().places, 2.0**BITS
        self._magnitude += len(values) * 2.0 ** max(math.frexp(largest)[1] - place * BITS, BITS)
        while largest:
            digits, values = split_int_digit(values, place * BITS, scratch)
            if place + moved not in self.places:
                self.places[place + moved] = np.zeros(self.count, dtype=np.int64)
            np.add.at(self.places[place + moved], codes, digits)
            place -= 1
            # NumPy counts booleans five times faster than floats.
            is_left = values != 0.0
            if np.count_nonzero(is_left) <= len(values) // 4:
                left = np.flatnonzero(is_left)
                values, codes = values[left], codes[left]
                largest = largest_magnitude(values)
                # The bound on magnitudes assumes that all digits but the first have BITS bits.
                place = min(place, first_place(largest, BITS))

    def _add_non_finite(self, values: np.ndarray, codes: np.ndarray) -> None:
        self.others = np.zeros(self.count) if self.others is None else self.others
        with np.errstate(invalid="ignore"):
            np.add.at(self.others, codes, values)

    def __add__(self, other: Digits) -> Digits:
        """Return the sums of each group over the rows of both sums."""
        first, second = self.carried(), other.carried()
        nothing = np.zeros(self.count, dtype=np.int64)
        places = {place: first.places.get(place, nothing) + second.places.get(place, nothing) for place in {*first.places, *second.places}}
        with np.errstate(invalid="ignore"):
            others = second.others if self.others is None else self.others if second.others is None else self.others + second.others
        return Digits(self.count, places, others)

    def grouped(self, codes: np.ndarray, count: int) -> Digits:
        """Return the sums of groups of these sums; ``codes`` assigns each of them to one of ``count`` groups.

        Examples
        --------
        >>> digits = Digits(3)
        >>> digits.add(np.array([1.0, 2.5, 4.0]), np.arange(3))
        >>> digits.grouped(np.array([1, 0, 1]), 2).rounded().tolist()
        [2.5, 5.0]
        """
        result = Digits(count)
        for place, digits in self.carried().places.items():
            np.add.at(result.places.setdefault(place, np.zeros(count, dtype=np.int64)), codes, digits)
        if self.others is not None:
            with np.errstate(invalid="ignore"):
                # Of no sums NumPy counts in ints, whatever the weights.
                result.others = np.bincount(codes, self.others, count).astype(np.float64, copy=False)
        result._magnitude = len(codes) * 2.0**BITS
        return result

    def replaced(self, other: Digits, groups: np.ndarray) -> Digits:
        """Return these sums with the sums of ``groups`` replaced by the sums of ``other``."""
        result = Digits(self.count, {place: digits.copy() for place, digits in self.places.items()})
        for place in {*self.places, *other.places}:
            result.places.setdefault(place, np.zeros(self.count, dtype=np.int64))[groups] = other.places.get(place, 0)
        if self.others is not None or other.others is not None:
            result.others = np.zeros(self.count) if self.others is None else self.others.copy()
            result.others[groups] = 0.0 if other.others is None else other.others
        return result

    def carried(self) -> Digits:
        """Return the same sums with digits from ``-2**39`` up to ``2**39``: equal sums have equal digits."""
        result = dict(self.places)
        place = min(result, default=0)
        while result and place <= max(result):
            digits = result.get(place)
            if digits is not None:
                more = (digits + HALF) >> BITS
                # A place at the top is only added if it is needed, as every later step would process it.
                if place < max(result) or more.any():
                    result[place] = digits - (more << BITS)
                    above = result.get(place + 1)
                    result[place + 1] = more if above is None else above + more
            place += 1
        return Digits(self.count, result, self.others)

    def rounded(self) -> np.ndarray:
        """Return the float nearest to each sum; infinite if it overflows."""
        return self.means(np.ones(self.count))

    def means(self, counts: np.ndarray) -> np.ndarray:
        """Return each sum divided by its number of rows, which is at least one; finite if all numbers of the group are finite."""
        means = np.empty(self.count)
        for start, sums in self.in_parts():
            stop = start + sums.count
            means[start:stop] = sums.nearest() / counts[start:stop]
            # A sum may overflow although its mean does not.
            large = np.flatnonzero(~np.isfinite(means[start:stop]))
            if len(large):
                with np.errstate(over="ignore"):
                    means[start + large] = np.ldexp(sums.select(large).nearest(SMALLER) / counts[start + large], SMALLER)
        return means

    def in_parts(self) -> Iterator[tuple[int, Digits]]:
        """Yield the sums in blocks of groups that fit the cache of a core, carried; each with the index of its first group."""
        for start in range(0, self.count, GROUPS_PER_BLOCK):
            part = slice(start, start + GROUPS_PER_BLOCK)
            yield start, self.select(part).carried()

    def first_places(self) -> np.ndarray:
        """Return the highest place with a nonzero digit of each carried sum; ``FIRST_PLACE`` for zero."""
        result = np.full(self.count, FIRST_PLACE)
        for place in sorted(self.places):
            result[self.places[place] != 0] = place
        return result

    def moved(self, places: int) -> Digits:
        """Return the sums times ``2**(40 * places)``."""
        return Digits(self.count, {place + places: digits for place, digits in self.places.items()}, self.others)

    def nearest(self, smaller: int = 0) -> np.ndarray:
        """Return the float nearest to each carried sum times ``2**-smaller``."""
        with np.errstate(over="ignore", invalid="ignore"):
            result = sum_to_nearest(self.floats(smaller), self.count)
        return result if self.others is None else np.where(self.others == 0.0, result, self.others)

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each carried sum as a pair of floats: about the nearest float, and the rounded rest."""
        floats, low = self.floats(), np.zeros(self.count)
        high = next(floats, low)
        for number in floats:
            total = high + number
            high -= total
            high += number
            low += high
            high = total
        return high, low

    def floats(self, smaller: int = 0) -> Iterator[np.ndarray]:
        """Yield the digits of each place as floats times ``2**-smaller``, the highest place first."""
        for place in sorted(self.places, reverse=True):
            yield scaled(self.places[place], place * BITS - smaller)

    def select(self, groups: np.ndarray | slice) -> Digits:
        """Return the sums of some of the groups."""
        places = {place: digits[groups] for place, digits in self.places.items()}
        count = len(range(self.count)[groups]) if isinstance(groups, slice) else len(groups)
        return Digits(count, places, None if self.others is None else self.others[groups])

    @classmethod
    def joined(cls, parts: Sequence[Digits]) -> Digits:
        """Return the sums of the groups of several parts, one part after the other."""
        count = sum(part.count for part in parts)
        result = cls(count)
        for place in {place for part in parts for place in part.places}:
            result.places[place] = np.concatenate([part.places.get(place, np.zeros(part.count, dtype=np.int64)) for part in parts])
        if any(part.others is not None for part in parts):
            result.others = np.concatenate([np.zeros(part.count) if part.others is None else part.others for part in parts])
        return result

    @classmethod
    def of_words(cls, words: TwoInts) -> Digits:
        """Convert sums that are given as two ints each."""
        result, groups = cls(len(words.high)), np.arange(len(words.high))
        result.add(np.ldexp(words.high.astype(np.float64), words.unit + words.bits), groups)
        result.add(np.ldexp(words.low.astype(np.float64), words.unit), groups)
        return result

    @classmethod
    def of_units(cls, units: int, lowest: int, others: float = 0.0) -> Digits:
        """Convert the sum of one group, given in units of ``2**(40 * lowest)``."""
        result = cls(1, others=np.array([others]) if others else None)
        # Usual numbers have no digits at the many lowest places.
        skipped = max((units & -units).bit_length() - 1, 0) // BITS
        units, place = units >> skipped * BITS, lowest + skipped
        while units:
            above = (units + HALF) >> BITS
            if units != above << BITS:
                result.places[place] = np.array([units - (above << BITS)])
            units, place = above, place + 1
        return result

    @classmethod
    def of_sum(cls, total: ExactSum) -> Digits:
        """Convert the exact sum of one group."""
        return cls.of_units(total.units << (BITS * LOWEST_PLACE - LOWEST), -LOWEST_PLACE, total.others)

    def max_bits(self) -> int:
        """Return an exponent ``n`` such that the absolute values of all sums are below ``2**n``."""
        # In carried sums all lower digits together are less than one unit of a digit.
        places = self.carried().places.items()
        bits = (int(np.abs(digits).max(initial=0)).bit_length() + place * BITS for place, digits in places if digits.any())
        return max(bits, default=-BITS * LOWEST_PLACE) + 1

    def words(self, unit: int, bits: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return high and low words of the sums, see :class:`TwoInts`; None if a sum has bits below ``2**unit``."""
        high, low = np.zeros(self.count, dtype=np.int64), np.zeros(self.count, dtype=np.int64)
        for place, digits in self.carried().places.items():
            moved = place * BITS - unit
            if not digits.any():
                continue
            if moved >= bits:
                high += digits << (moved - bits)
            elif moved >= 0:
                above = digits >> (bits - moved)
                high += above
                low += (digits - (above << (bits - moved))) << moved
            elif moved <= -BITS or (digits & ((1 << -moved) - 1)).any():
                return None
            else:
                low += digits >> -moved
        return high, low

    def units(self, group: int, lowest: int) -> int:
        """Return the sum of one group in units of ``2**(40 * lowest)``; no digit may be below place ``lowest``."""
        return sum(int(digits[group]) << (BITS * (place - lowest)) for place, digits in self.places.items())


def places_of(numbers: np.ndarray) -> int:
    """Return the largest number of digits that a sum of these numbers can have, which grows with the range of their exponents.

    Examples
    --------
    >>> places_of(np.array([1.0, 0.5, 0.0])), places_of(np.array([1e300, 1e-300])), places_of(np.array([]))
    (4, 53, 4)
    """
    # Bit patterns of positive floats are ordered as the floats. Subtracting one wraps zero around to the largest.
    magnitudes = np.abs(numbers)
    smallest = (magnitudes.view(np.uint64) - np.uint64(1)).min(initial=np.iinfo(np.uint64).max)
    largest = float(magnitudes.max(initial=0.0))
    if not math.isfinite(largest):
        largest = float(np.max(magnitudes, initial=0.0, where=np.isfinite(magnitudes)))
    if not largest:
        return 4
    return (math.frexp(largest)[1] - math.frexp(float((smallest + np.uint64(1)).view(np.float64)))[1]) // BITS + 4


def first_place(largest: float, bits: int) -> int:
    """Return the place at which floats with absolute values up to ``largest`` have a highest digit of at most ``bits`` bits."""
    return max(-(-(math.frexp(largest)[1] - bits) // BITS), -LOWEST_PLACE)


def sum_to_nearest(floats: Iterator[np.ndarray], count: int) -> np.ndarray:
    """Return the float nearest to the sum of some floats, each at most half an ulp of the one before it.

    Source: Shewchuk, "Adaptive precision floating-point arithmetic" (1997), and ``math.fsum`` of Python for numbers half way between two floats.
    """
    high, low, rest = np.zeros(count), np.zeros(count), np.zeros(count)
    for number in floats:
        total = high + number
        error = number - (total - high)
        is_open = low == 0.0
        rest = np.where(is_open, rest, rest + number)
        high, low = np.where(is_open, total, high), np.where(is_open, error, low)
    # A tie was rounded to even, but because of the smaller floats the other neighbour may be nearer.
    other = high + 2.0 * low
    return np.where((low * np.sign(rest) > 0.0) & (other - high == 2.0 * low), other, high)


def squarable_parts(values: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the finite floats in parts, scaled so that their squares neither overflow nor underflow.

    Each part has zeros in place of the floats of other parts, and comes with the number of places by which its squares are to be scaled back.
    """
    distances = np.abs(values)
    if squares_are_exact(distances):
        yield values, 0
        return
    large, small = distances > MAX_SQUARED, (distances < MIN_SQUARED) & (distances > 0.0)
    yield np.where(large | small, 0.0, values), 0
    yield np.where(large, values, 0.0) * 2.0 ** (-BITS * SQUARED_PLACES), 2 * SQUARED_PLACES
    yield np.where(small, values, 0.0) * 2.0 ** (BITS * SQUARED_PLACES), -2 * SQUARED_PLACES


def squares_are_exact(distances: np.ndarray) -> bool:
    """Return whether the squares of absolute values, and their rounding errors, neither overflow nor underflow; False for infinity and NaN.

    Examples
    --------
    >>> [squares_are_exact(np.array(distances)) for distances in ([0.0, 2.5], [1e-200], [1e200], [np.nan])]
    [True, False, False, False]
    """
    # Bit patterns of positive floats are ordered as the floats; subtracting one wraps zero around to the largest.
    nearest = (distances.view(np.uint64) - np.uint64(1)).min(initial=np.iinfo(np.uint64).max)
    return bool(nearest >= NEAREST_SQUARED and distances.max(initial=0.0) <= MAX_SQUARED)


def sums_and_squares(numbers: np.ndarray, codes: np.ndarray, count: int) -> tuple[Digits, Digits]:
    """Return the sums of groups of rows, and the sums of the squares of the finite numbers."""
    sums, squared = Digits(count), Digits(count)
    sums.add(numbers, codes)
    finite = slice(None) if sums.others is None else np.isfinite(numbers)
    squared.add_squares(numbers[finite], codes[finite])
    return sums, squared


def non_finite_sums(ups: np.ndarray, downs: np.ndarray, nans: np.ndarray) -> np.ndarray:
    """Return the sums of non-finite numbers, given where there are infinities, negative infinities, and NaN; zero where there are none."""
    return np.select([nans | (ups & downs), ups, downs], [math.nan, math.inf, -math.inf], 0.0)


# Exact sums of groups as an Arrow column: for each group a list of ints, each with a digit in its upper bits and its place in its lower bits.

PLACE_BITS = 8
# The place that marks a non-finite sum; its digit is one of the codes that follow.
NON_FINITE = (1 << PLACE_BITS) - 1
INFINITE, NEGATIVE, NOT_A_NUMBER = 1, 2, 3
NON_FINITE_FLOATS = np.array([0.0, math.inf, -math.inf, math.nan])


def digits_to_lists(digits: Digits) -> pa.ListArray:
    """Return the nonzero digits of each group as a list of ints.

    Examples
    --------
    >>> digits = Digits(2)
    >>> digits.add(np.array([3.0]), np.array([1]))
    >>> digits_to_lists(digits).to_pylist() == [[], [(3 << 8) + 64]]
    True
    """
    lengths, values = [np.zeros(1, dtype=np.int32)], [np.zeros(0, dtype=np.int64)]
    for _, part in digits.in_parts():
        places = sorted(place for place, result in part.places.items() if result.any())
        coded = np.zeros((part.count, len(places) + 1), dtype=np.int64)
        for column, place in enumerate(places):
            result = part.places[place]
            coded[:, column] = np.where(result == 0, 0, (result << PLACE_BITS) | (place - FIRST_PLACE))
        if part.others is not None:
            kinds = np.select([part.others == math.inf, part.others == -math.inf, np.isnan(part.others)], [INFINITE, NEGATIVE, NOT_A_NUMBER], 0)
            coded[kinds > 0] = 0
            coded[:, -1] = np.where(kinds > 0, (kinds << PLACE_BITS) | NON_FINITE, 0)
        is_nonzero = coded != 0
        lengths.append(np.count_nonzero(is_nonzero, axis=1))
        values.append(coded[is_nonzero])
    offsets = np.concatenate(lengths).cumsum(dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate(values)))


def digits_of(lists: pa.ListArray, groups: np.ndarray | None = None, count: int | None = None) -> Digits:
    """Return the sums of groups from lists of digits: one list for each group, or the lists that ``groups`` assigns to each group.

    Examples
    --------
    >>> digits_of(pa.array([[(3 << 8) + 64], [], [(5 << 8) + 64]], pa.list_(pa.int64())), np.array([0, 0, 1]), 2).rounded().tolist()
    [3.0, 5.0]
    """
    offsets = lists.offsets.to_numpy(zero_copy_only=False)
    coded = lists.values.to_numpy(zero_copy_only=False)[offsets[0] : offsets[-1]]
    codes = np.repeat(np.arange(len(lists)) if groups is None else groups, np.diff(offsets))
    result = Digits(len(lists) if count is None else count)
    places = coded & NON_FINITE
    for place in np.unique(places).tolist():
        selection = places == place
        if place == NON_FINITE:
            result.others = np.bincount(codes[selection], NON_FINITE_FLOATS[coded[selection] >> PLACE_BITS], result.count)
        else:
            digits = result.places[place + FIRST_PLACE] = np.zeros(result.count, dtype=np.int64)
            np.add.at(digits, codes[selection], coded[selection] >> PLACE_BITS)
    return result


# Sums of squared deviations from the mean, from exact sums and exact sums of squares.

# If squared deviations are smaller than CANCELS times the squares, pairs of floats have too few bits.
CANCELS = 2.0**-40
# If squared deviations are smaller than CANCELS_A_BIT times the squares, and pairs of floats leave the last bit undecided, deviations from a float
# near the mean are faster than Python ints.
CANCELS_A_BIT = 2.0**-20
# Error bound of arithmetic with pairs of floats, relative to the squares; the bound is four times as large if the pairs are made from digits.
PAIR_ERROR = 2.0**-100
# Up to this many groups Python ints are faster.
FEW_SPREAD_GROUPS = 16
# A float, and its rounding error.
Pair = tuple[np.ndarray, np.ndarray]
# Floats can hold squares in the IN_REACH places from FIRST_IN_REACH upwards ("in reach"); other squares are scaled to these places.
FIRST_IN_REACH, IN_REACH = -11, 22


def squared_deviations(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """Return the sum of squared deviations from the mean of each group, accurate to about one ulp.

    The result is zero for groups of at most one number, and NaN for other groups with a non-finite number.

    Examples
    --------
    >>> sums, squares, codes = Digits(1), Digits(1), np.zeros(2, dtype=np.int64)
    >>> sums.add(np.array([1e9 + 1, 1e9 + 3]), codes)
    >>> squares.add_squares(np.array([1e9 + 1, 1e9 + 3]), codes)
    >>> squared_deviations(np.array([2]), sums, squares).tolist()
    [2.0]
    """
    return deviations_by_block(deviations_in_range, counts, sums, squares)


def nearest_deviations(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """Return the sum of squared deviations from the mean of each group, correctly rounded unless it is subnormal.

    Examples
    --------
    >>> sums, squares, codes = Digits(1), Digits(1), np.zeros(3, dtype=np.int64)
    >>> sums.add(np.array([0.1, 0.1, 0.1]), codes)
    >>> squares.add_squares(np.array([0.1, 0.1, 0.1]), codes)
    >>> nearest_deviations(np.array([3]), sums, squares).tolist()
    [0.0]
    """
    return deviations_by_block(nearest_deviations_in_range, counts, sums, squares)


DeviationKernel = Callable[[np.ndarray, Digits, Digits], np.ndarray]


def deviations_by_block(kernel: DeviationKernel, counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """Compute squared deviations of all groups, block by block, with a kernel for groups of several finite numbers with squares in reach."""
    result = np.empty(len(counts))
    for (start, part), (_, its_squares) in zip(sums.in_parts(), squares.in_parts(), strict=True):
        stop = start + part.count
        result[start:stop] = deviations_of_block(kernel, counts[start:stop], part, its_squares)
    return result


def deviations_of_block(kernel: DeviationKernel, counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """Compute squared deviations of a block of groups: groups with several finite numbers go to the kernel, with squares scaled into reach."""
    is_finite = np.ones(len(counts), dtype=bool) if sums.others is None else sums.others == 0.0
    several = (counts > 1) & is_finite
    result = np.where(is_finite | (counts <= 1), 0.0, math.nan)
    for reach, selection in by_reach(squares, several):
        its_sums, its_squares = sums.select(selection).moved(-reach * IN_REACH // 2), squares.select(selection).moved(-reach * IN_REACH)
        with np.errstate(over="ignore", under="ignore"):
            result[selection] = np.ldexp(kernel(counts[selection], its_sums, its_squares), reach * IN_REACH * BITS)
    return result


def by_reach(squares: Digits, selected: np.ndarray) -> Iterator[tuple[int, np.ndarray | slice]]:
    """Yield the selected groups whose squares must be scaled equally far to be in reach, with that distance in units of ``IN_REACH`` places."""
    if all(0 <= place - FIRST_IN_REACH < IN_REACH for place in squares.places):
        yield 0, slice(None) if selected.all() else np.flatnonzero(selected)
        return
    reaches = (squares.first_places() - FIRST_IN_REACH) // IN_REACH
    for reach in np.unique(reaches[selected]).tolist():
        yield reach, np.flatnonzero(selected & (reaches == reach))


def deviations_in_range(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """Return squared deviations with an error of about one ulp, for groups of several numbers with squares in reach."""
    first, second, about = deviations_from_pairs(counts, sums.pairs(), squares.pairs())
    result = np.add(first, second, out=first)
    # Groups of zeros, such as the first rows of a column that begins with zeros, need no correction.
    near = np.flatnonzero((result <= CANCELS * about) & (about > 0.0))
    if len(near):
        result[near] = deviations_around_mean(counts[near], sums.select(near), squares.select(near))
    return result


def deviations_around_mean(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """Return squared deviations, computed from exact sums of deviations from a float near the mean, in which hardly any bits cancel."""
    means = sums.means(counts)
    left, moved = sums_around_means(means, counts, sums), squares_around_means(means, counts, sums, squares)
    return np.maximum(moved.rounded() - left.rounded() ** 2 / counts, 0.0)


def nearest_deviations_in_range(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """Return correctly rounded squared deviations, for groups of several numbers with squares in reach."""
    result = np.full(len(counts), math.nan) if len(counts) <= FEW_SPREAD_GROUPS else nearest_from_pairs(counts, sums, squares)
    for group in np.flatnonzero(np.isnan(result)).tolist():
        result[group] = deviation_from_ints(int(counts[group]), sums, squares, group)
    return result


def nearest_from_pairs(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """Return correctly rounded squared deviations, computed with pairs of floats; NaN where pairs leave the last bit undecided."""
    first, second, about = deviations_from_pairs(counts, sums.pairs(), squares.pairs())
    result = rounded_or_nan(first, second, 4.0 * PAIR_ERROR * about)
    near = np.flatnonzero(np.isnan(result) & (first <= CANCELS_A_BIT * about))
    if len(near):
        near_counts, its_sums, its_squares = counts[near], sums.select(near), squares.select(near)
        means = its_sums.means(near_counts)
        # One Newton step makes the mean of equal numbers exact, so that all deviations are zero.
        means += sums_around_means(means, near_counts, its_sums).rounded() / near_counts
        left, moved = sums_around_means(means, near_counts, its_sums), squares_around_means(means, near_counts, its_sums, its_squares)
        first, second, about = deviations_from_pairs(near_counts, left.carried().pairs(), moved.carried().pairs())
        result[near] = rounded_or_nan(first, second, 4.0 * PAIR_ERROR * about)
    return result


def rounded_or_nan(first: np.ndarray, second: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Round sums of two floats, the larger one first, that have an error of at most ``wrong``; NaN where the rounding is undecided.

    Source: Ziv, "Fast evaluation of elementary mathematical functions with correctly rounded last bit" (1991).

    Examples
    --------
    >>> rounded_or_nan(np.array([1.0, 1.0]), np.array([2.0**-60, 2.0**-53]), 2.0**-70).tolist()
    [1.0, nan]
    """
    result = first + second
    scratch = np.subtract(result, first)
    np.subtract(second, scratch, out=scratch)
    np.abs(scratch, out=scratch)
    scratch += wrong
    # The spacing of floats below the result is not larger than above, so testing one side suffices.
    np.copyto(result, math.nan, where=np.subtract(result, scratch, out=scratch) != result)
    return result


def deviations_from_pairs(counts: np.ndarray, sums: Pair, squares: Pair) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``squares - sum**2 / count`` as a pair of floats, from sums in pairs of floats; and the leading part of the squares."""
    (high, low), (about, below) = sums, squares
    counts = counts.astype(np.float64)
    square, rest = squares_with_errors(high, scratch_arrays(len(high), 4))
    rest += 2.0 * high * low
    share = square / counts
    product = share * counts
    square -= product
    square -= product_error(share, counts, product)
    rest += square
    rest /= counts
    first = np.subtract(about, share, out=product)
    # The rounding error of the difference, and all lower-order terms.
    second = np.subtract(about, first, out=square)
    second -= share
    second += np.subtract(below, rest, out=rest)
    return first, second, about


def sums_around_means(means: np.ndarray, counts: np.ndarray, sums: Digits) -> Digits:
    """Return the exact sums of deviations from a float near the mean."""
    groups = np.arange(len(counts))
    left = sums.select(groups)
    left.add_product(-means, counts.astype(np.float64), groups)
    return left


def squares_around_means(means: np.ndarray, counts: np.ndarray, sums: Digits, squares: Digits) -> Digits:
    """Return the exact sums of squared deviations from a float near the mean."""
    groups = np.arange(len(counts))
    moved = squares.select(groups)
    for place, digits in sums.places.items():
        moved.add_product(-2.0 * means, digits.astype(np.float64), groups, place)
    square = means * means
    for part in (square, product_error(means, means, square)):
        moved.add_product(part, counts.astype(np.float64), groups)
    return moved


def deviation_from_ints(count: int, sums: Digits, squares: Digits, group: int) -> float:
    """Return the correctly rounded sum of squared deviations of one group, computed with Python ints."""
    place = min(sums.places, default=0)
    lowest = min(2 * place, min(squares.places, default=0))
    squared_sum = sums.units(group, place) ** 2 << (BITS * (2 * place - lowest))
    left, moved = count * squares.units(group, lowest) - squared_sum, BITS * lowest
    return quotient(left << max(moved, 0), count << max(-moved, 0))
