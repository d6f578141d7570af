"""Exact sums of floats, for many groups at once, in three forms, of which each is the cheapest where it arises.

* :class:`Digits`: numbers in base 2**40. At each place (power of the base) there is an array with the digits of all groups. Floats are split into
  digits by float arithmetic, digits of rows add up exactly in 64 bits, and overflow is carried to the next place. With digits from
  -2**39 to 2**39 - 1 the representation is unique: sums of the same floats have the same digits, whatever the order of rows and however they are
  partitioned.
* :class:`FloatsAndDigits`: the sum of a group of one row is the float of this row.
* :class:`TwoWords`: sums of the rows so far, and of windows, are two ints or two floats each.

All are rounded once, when that is requested. They are sent as lists of digits.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_sum_and_variance import LOWEST
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.exact_sum_and_variance import (
        ExactSum,
        largest_magnitude,
        product_error,
        rounding_constant,
        rounding_constant_bits,
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


# A float, and its rounding error.
Pair = tuple[np.ndarray, np.ndarray]


class ExactSums(abc.ABC):
    """Exact sums, one for each group (or row, or window); the base class of their forms."""

    @abc.abstractmethod
    def __len__(self) -> int:
        """Return the number of sums."""

    @property
    @abc.abstractmethod
    def nbytes(self) -> int:
        """Bytes of the arrays."""

    @abc.abstractmethod
    def take(self, entries: np.ndarray | slice) -> ExactSums:
        """Return some of the sums, given by index or as a range."""

    @abc.abstractmethod
    def all_digits(self) -> Digits:
        """Return the sums as digits."""

    @abc.abstractmethod
    def rounded(self, last: bool = False) -> np.ndarray:
        """Return the float nearest to each sum, never -0.0, and infinite if it overflows; with ``last`` the sums may be overwritten."""

    @abc.abstractmethod
    def means(self, counts: np.ndarray, last: bool = False) -> np.ndarray:
        """Return each sum divided by its number of values, which is at least one; finite if all values are finite."""

    @abc.abstractmethod
    def non_finite(self) -> np.ndarray | None:
        """Return which sums have an infinity or NaN; None if none has."""

    def pairs(self, last: bool = False) -> Pair:
        """Return each sum, of finite numbers, as a pair of floats: about the nearest float, and the rounded rest.

        The caller of :meth:`Digits.pairs` must carry the digits first (:meth:`Digits.carried`).
        """
        return self.all_digits().carried().pairs()

    def grouped(self, codes: np.ndarray, count: int) -> Digits:
        """Return the sums of groups of these sums; ``codes`` assigns each of them to one of ``count`` groups."""
        return self.all_digits().grouped(codes, count)

    def replaced(self, entries: np.ndarray, other: ExactSums) -> ExactSums:
        """Return the sums with those of some entries replaced."""
        return self.all_digits().replaced(entries, other)

    def max_bits(self) -> int:
        """Return an exponent ``n`` such that the absolute values of all sums are below ``2**n``."""
        return self.all_digits().max_bits()

    def words(self, unit: int, bits: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return high and low ints of the sums, see :class:`TwoWords`; None if a sum has bits below ``2**unit`` or is not finite."""
        return self.all_digits().words(unit, bits)

    @classmethod
    def joined(cls, states: Sequence[ExactSums]) -> ExactSums:
        """Return the sums of several states, one state after the other."""
        words = [state for state in states if isinstance(state, TwoWords)]
        found = TwoWords.of_like(words) if len(words) == len(states) else None
        if found is not None:
            return found
        if any(isinstance(state, FloatsAndDigits) for state in states):
            return FloatsAndDigits.of_parts(states)
        return Digits.of_parts([state.all_digits() for state in states])


@attrs.define(eq=False)
class Digits(ExactSums):
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

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        return sum(digits.nbytes for digits in self.places.values()) + (0 if self.others is None else self.others.nbytes)

    def all_digits(self) -> Digits:
        return self

    def non_finite(self) -> np.ndarray | None:
        return None if self.others is None else self.others != 0.0

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

    def add_numbers(self, values: np.ndarray, codes: np.ndarray, are_squared: bool) -> None:
        """Add numbers, or the exact squares of the finite numbers, to the groups given by ``codes``."""
        if not are_squared:
            self.add(values, codes)
            return
        finite = slice(None) if math.isfinite(largest_magnitude(values)) else np.isfinite(values)
        self.add_squares(values[finite], codes[finite])

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

    def negative(self) -> Digits:
        """Return the sums of the negative numbers."""
        return Digits(self.count, {place: -digits for place, digits in self.places.items()}, None if self.others is None else -self.others)

    def grouped(self, codes: np.ndarray, count: int) -> Digits:
        """Return the sums of groups of these sums.

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
                # If there are no sums, `bincount` returns ints even though the weights are floats.
                result.others = np.bincount(codes, self.others, count).astype(np.float64, copy=False)
        result._magnitude = len(codes) * 2.0**BITS
        return result

    def replaced(self, entries: np.ndarray, other: ExactSums) -> Digits:
        result, new = Digits(self.count, {place: digits.copy() for place, digits in self.places.items()}), other.all_digits()
        for place in {*self.places, *new.places}:
            result.places.setdefault(place, np.zeros(self.count, dtype=np.int64))[entries] = new.places.get(place, 0)
        if self.others is not None or new.others is not None:
            result.others = np.zeros(self.count) if self.others is None else self.others.copy()
            result.others[entries] = 0.0 if new.others is None else new.others
        return result

    def carried(self) -> Digits:
        """Return the same sums with digits from ``-2**39`` to ``2**39 - 1``: equal sums have equal digits."""
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

    def rounded(self, last: bool = False) -> np.ndarray:
        return self.means(np.ones(self.count))

    def means(self, counts: np.ndarray, last: bool = False) -> np.ndarray:
        means = np.empty(self.count)
        for start, sums in self.in_parts():
            stop = start + sums.count
            means[start:stop] = sums.nearest() / counts[start:stop]
            # A sum may overflow although its mean does not.
            large = np.flatnonzero(~np.isfinite(means[start:stop]))
            if len(large):
                with np.errstate(over="ignore"):
                    means[start + large] = np.ldexp(sums.take(large).nearest(SMALLER) / counts[start + large], SMALLER)
        return means

    def in_parts(self) -> Iterator[tuple[int, Digits]]:
        """Yield the sums in blocks of groups that fit the cache of a core, carried; each with the index of its first group."""
        for start in range(0, self.count, GROUPS_PER_BLOCK):
            part = slice(start, start + GROUPS_PER_BLOCK)
            yield start, self.take(part).carried()

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

    def pairs(self, last: bool = False) -> Pair:
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

    def take(self, entries: np.ndarray | slice) -> Digits:
        places = {place: digits[entries] for place, digits in self.places.items()}
        count = len(range(self.count)[entries]) if isinstance(entries, slice) else len(entries)
        return Digits(count, places, None if self.others is None else self.others[entries])

    @classmethod
    def of_parts(cls, parts: Sequence[Digits]) -> Digits:
        """Return the sums of several parts, one part after the other."""
        count = sum(part.count for part in parts)
        result = cls(count)
        for place in {place for part in parts for place in part.places}:
            result.places[place] = np.concatenate([part.places.get(place, np.zeros(part.count, dtype=np.int64)) for part in parts])
        if any(part.others is not None for part in parts):
            result.others = np.concatenate([np.zeros(part.count) if part.others is None else part.others for part in parts])
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
        # In carried sums all lower digits together are less than one unit of a digit.
        places = self.carried().places.items()
        bits = (int(np.abs(digits).max(initial=0)).bit_length() + place * BITS for place, digits in places if digits.any())
        return max(bits, default=-BITS * LOWEST_PLACE) + 1

    def words(self, unit: int, bits: int) -> tuple[np.ndarray, np.ndarray] | None:
        if self.others is not None:
            return None
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


@attrs.define(eq=False)
class FloatsAndDigits(ExactSums):
    """Exact sums of groups, in digits, but for groups of one row, whose sum is the float of the row.

    Parameters
    ----------
    digits
        The sums of the groups of several rows.
    indices
        For each group its index in ``digits``; -1 for a group of one row.
    alone
        The float of each group of one row; arbitrary for other groups.
    are_squared
        Whether the sums are of the squares of finite numbers, so that the square of the float is meant.

    Examples
    --------
    >>> sums = FloatsAndDigits(Digits(0), np.array([-1]), np.array([0.1]))
    >>> ExactSums.joined([sums, Digits(2)]).rounded().tolist()
    [0.1, 0.0, 0.0]
    """

    digits: Digits
    indices: np.ndarray
    alone: np.ndarray
    are_squared: bool = False

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def nbytes(self) -> int:
        return self.digits.nbytes + self.indices.nbytes + self.alone.nbytes

    @property
    def several(self) -> np.ndarray:
        """The groups of several rows."""
        return np.flatnonzero(self.indices >= 0)

    def take(self, entries: np.ndarray | slice) -> ExactSums:
        indices = self.indices[entries]
        several = np.flatnonzero(indices >= 0)
        chosen = indices[several]
        # If the indices are consecutive, a slice is taken, which copies no digits.
        is_range = len(chosen) > 0 and np.array_equal(chosen, np.arange(chosen[0], chosen[0] + len(chosen)))
        digits = self.digits.take(slice(int(chosen[0]), int(chosen[-1]) + 1) if is_range else chosen)
        if len(several) == len(indices):
            return digits
        moved = np.full(len(indices), -1)
        moved[several] = np.arange(len(several))
        return FloatsAndDigits(digits, moved, self.alone[entries], self.are_squared)

    @classmethod
    def of_parts(cls, parts: Sequence[ExactSums]) -> FloatsAndDigits:
        """Return the sums of several parts, one part after the other; parts without floats are made digits."""
        digits, indices, alone, before = list[Digits](), list[np.ndarray](), list[np.ndarray](), 0
        for part in parts:
            if isinstance(part, FloatsAndDigits):
                digits.append(part.digits)
                indices.append(np.where(part.indices >= 0, part.indices + before, -1))
                alone.append(part.alone)
            else:
                digits.append(part.all_digits())
                indices.append(np.arange(len(part)) + before)
                alone.append(np.zeros(len(part)))
            before += digits[-1].count
        are_squared = any(isinstance(part, FloatsAndDigits) and part.are_squared for part in parts)
        return cls(Digits.of_parts(digits), np.concatenate(indices), np.concatenate(alone), are_squared)

    def rounded(self, last: bool = False) -> np.ndarray:
        result = self._sums_alone()
        result[self.several] = self.digits.rounded()
        return result

    def means(self, counts: np.ndarray, last: bool = False) -> np.ndarray:
        result, several = self._sums_alone(), self.several
        result /= counts
        result[several] = self.digits.means(counts[several])
        return result

    def _sums_alone(self) -> np.ndarray:
        """Return the rounded sums of groups of one row."""
        if not self.are_squared:
            return self.alone + 0.0
        with np.errstate(over="ignore", under="ignore"):
            return np.square(np.where(np.isfinite(self.alone), self.alone, 0.0))

    def non_finite(self) -> np.ndarray | None:
        if self.are_squared:
            return None
        result, others = ~np.isfinite(self.alone), self.digits.non_finite()
        result[self.several] = False if others is None else others
        return result

    def all_digits(self) -> Digits:
        result, alone, several = Digits(len(self)), np.flatnonzero(self.indices < 0), self.several
        result.add_numbers(self.alone[alone], alone, self.are_squared)
        return result.replaced(several, self.digits) if len(several) else result

    def grouped(self, codes: np.ndarray, count: int) -> Digits:
        several, alone = self.several, np.flatnonzero(self.indices < 0)
        result = self.digits.grouped(codes[several], count)
        result.add_numbers(self.alone[alone], codes[alone], self.are_squared)
        return result


@attrs.define(eq=False)
class TwoWords(ExactSums):
    """Exact sums in two words each: ``high + low`` for floats, ``(high * 2**bits + low) * 2**unit`` for ints.

    Parameters
    ----------
    high, low
        The words: two floats of which the sum is exact, or two ints that convert to floats without rounding.
    unit, bits
        The exponents of ints.
    others
        Sums of infinities and NaN, which are not in the words; zero where there are none. None: there are none at all.

    Examples
    --------
    >>> sums = TwoWords.of_ints(np.array([1, 2]), np.array([1 << 45, 3]), 0, 45)
    >>> sums.rounded().tolist() == [2.0 * 2**45, 2.0 * 2**45 + 3], sums.all_digits().rounded().tolist() == sums.rounded().tolist()
    (True, True)
    """

    high: np.ndarray
    low: np.ndarray
    unit: int = 0
    bits: int = 0
    others: np.ndarray | None = None

    @classmethod
    def of_ints(cls, high: np.ndarray, low: np.ndarray, unit: int, bits: int) -> TwoWords:
        """Carry from the lower to the upper ints, in place, so that the lower ints have at most ``bits`` bits, and return them as sums."""
        more = (low + (1 << (bits - 1))) >> bits
        high += more
        low -= more << bits
        return cls(high, low, unit, bits)

    def __len__(self) -> int:
        return len(self.high)

    @property
    def nbytes(self) -> int:
        return self.high.nbytes + self.low.nbytes + (0 if self.others is None else self.others.nbytes)

    @property
    def are_floats(self) -> bool:
        """Whether the words are floats."""
        return self.high.dtype.kind == "f"

    def take(self, entries: np.ndarray | slice) -> TwoWords:
        return TwoWords(self.high[entries], self.low[entries], self.unit, self.bits, None if self.others is None else self.others[entries])

    @classmethod
    def of_like(cls, states: Sequence[TwoWords]) -> TwoWords | None:
        """Return the sums of several states, one state after the other; None if their words differ in kind or exponents, or a sum is not finite."""
        if len({(state.are_floats, state.unit, state.bits) for state in states}) > 1 or any(state.others is not None for state in states):
            return None
        high, low = np.concatenate([state.high for state in states]), np.concatenate([state.low for state in states])
        return cls(high, low, states[0].unit, states[0].bits)

    def rounded(self, last: bool = False) -> np.ndarray:
        # Both words are exact as floats, so their sum is rounded once.
        high, low = self._floats(last)
        result = np.add(high, low, out=high if last or not self.are_floats else None)
        if self.others is not None:
            np.copyto(result, self.others, where=self.others != 0.0)
        return result

    def means(self, counts: np.ndarray, last: bool = False) -> np.ndarray:
        result = self.rounded(last)
        result /= counts
        return result

    def non_finite(self) -> np.ndarray | None:
        return None if self.others is None else self.others != 0.0

    def pairs(self, last: bool = False) -> Pair:
        above, below = self._floats(last)
        total = above + below
        return total, below - (total - above)

    def _floats(self, last: bool = False) -> Pair:
        """Return the words as floats; with ``last`` ints are overwritten."""
        if self.are_floats:
            return self.high, self.low
        high, low = (self.high, self.low) if last else (self.high.copy(), self.low.copy())
        return as_floats(high, self.unit + self.bits), as_floats(low, self.unit)

    def all_digits(self) -> Digits:
        result, groups = Digits(len(self.high), others=self.others), np.arange(len(self.high))
        for word, exponent in ((self.high, self.unit + self.bits), (self.low, self.unit)):
            result.add(word if self.are_floats else np.ldexp(word.astype(np.float64), exponent), groups)
        return result

    def max_bits(self) -> int:
        return max(int(np.abs(self.high).max(initial=0)).bit_length(), 1) + self.bits + self.unit + 1

    def words(self, unit: int, bits: int) -> tuple[np.ndarray, np.ndarray] | None:
        is_like = self.others is None and not self.are_floats and (self.unit, self.bits) == (unit, bits)
        return (self.high, self.low) if is_like else self.all_digits().words(unit, bits)


def as_floats(numbers: np.ndarray, exponent: int) -> np.ndarray:
    """Return ints, of absolute values below ``2**51``, as floats that are multiplied by ``2**exponent``. The array of ints is overwritten."""
    numbers += rounding_constant_bits(exponent)
    floats = numbers.view(np.float64)
    floats -= rounding_constant(exponent)
    return floats


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
    """Yield floats, which must be finite, in parts that are scaled so that their squares neither overflow nor underflow.

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
