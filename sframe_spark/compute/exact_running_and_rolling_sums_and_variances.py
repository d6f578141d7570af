"""Exact running and rolling sums, means and variances of floats: results do not depend on how rows are partitioned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sframe_spark.compute.exact_running_sums_in_two_words import LOWER, UPPER, WORDS_BLOCK
from sframe_spark.compute.exact_squared_deviations import PAIR_ERROR
from sframe_spark.compute.exact_sum_and_variance import LOWEST, MAX_EXPONENT, MIN_EXPONENT
from sframe_spark.compute.exact_sums_of_groups import BITS, LOWEST_PLACE
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.exact_running_sums_in_two_words import grouped_cumsum
    from sframe_spark.compute.exact_squared_deviations import deviations_from_pairs, nearest_deviations, rounded_or_nan
    from sframe_spark.compute.exact_sum_and_variance import largest_magnitude, scratch_arrays, split_int_digit, squares_with_errors
    from sframe_spark.compute.exact_sums_of_groups import (
        Digits,
        Pair,
        TwoWords,
        first_place,
        non_finite_sums,
        squarable_parts,
        squares_are_exact,
        sums_and_squares,
    )
    from sframe_spark.compute.key_runs import ranges
    from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array

# The most bits of a digit with which the sum of the digits of a block of rows fits 64 bits.
MAX_BITS = 45
# The shift that converts multiples of 2**-2148, the square of the smallest float, to multiples of 2**-2160, the unit of the lowest place of squares.
SQUARE_SHIFT = 2 * (BITS * LOWEST_PLACE - LOWEST)


def row_digits(parts: list[tuple[np.ndarray, int]], starts: np.ndarray, before: Digits) -> Digits:
    """Return running sums within groups; each part is floats with the place ``p`` of their factor ``2**(40 * p)``."""
    others = None if before.others is None else np.repeat(before.others, np.diff(np.append(starts, len(parts[0][0]))))
    left = []
    for numbers, moved in parts:
        if math.isfinite(largest_magnitude(numbers)):
            left.append((numbers, moved))
        else:
            finite = np.isfinite(numbers)
            others = running_non_finite(numbers, finite, starts, before.others)
            left.append((np.where(finite, numbers, 0.0), moved))
    result = by_place(left, MAX_BITS)
    # Sums of a block may need all 64 bits, so the carries of the sums of earlier rows are propagated first.
    nothing, earlier = np.zeros(len(starts), dtype=np.int64), before.carried().places
    for place in {*result, *earlier}:
        digits = result.get(place, np.zeros(len(parts[0][0]), dtype=np.int64))
        result[place] = grouped_cumsum(digits, starts, earlier.get(place, nothing))
    return Digits(len(parts[0][0]), result, others)


def squares_of(numbers: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Return the exact squares of finite floats as parts: floats with the place ``p`` of their factor ``2**(40 * p)``."""
    return [(pair, place) for part, place in squarable_parts(numbers) for pair in squares_with_errors(part, scratch_arrays(len(part), 4))]


def by_place(parts: list[tuple[np.ndarray, int]], bits: int) -> dict[int, np.ndarray]:
    """Return the digits of each row by place, from parts of finite floats; the first digit of a number has at most ``bits`` bits.

    Examples
    --------
    >>> {place: digits.tolist() for place, digits in by_place([(np.array([3.0, 2.0**41 + 1.0]), 0)], 40).items()}
    {1: [0, 2], 0: [3, 1]}
    """
    result: dict[int, np.ndarray] = {}
    _, *scratch = scratch_arrays(len(parts[0][0]))
    for left, moved in parts:
        largest = largest_magnitude(left)
        place = first_place(largest, bits)
        while largest:
            digits, left = split_int_digit(left, place * BITS, [new_array(len(left), np.float64), *scratch])
            earlier = result.get(place + moved)
            result[place + moved] = digits if earlier is None else np.add(earlier, digits, out=earlier)
            largest = largest_magnitude(left)
            place = min(place - 1, first_place(largest, BITS))
    return result


def running_non_finite(numbers: np.ndarray, finite: np.ndarray, starts: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """Return running sums of the non-finite numbers within groups; zero before the first non-finite number."""
    others = np.where(finite, 0.0, numbers)
    if before is not None:
        with np.errstate(invalid="ignore"):
            others[starts] += before
    kinds = [others == math.inf, others == -math.inf, np.isnan(others)]
    nothing = np.zeros(len(starts), dtype=np.int64)
    ups, downs, nans = (grouped_cumsum(kind.astype(np.int64), starts, nothing) > 0 for kind in kinds)
    return non_finite_sums(ups, downs, nans)


# Rolling sums and variances, computed as differences of exact running sums, which lose no accuracy.

Numbers = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]
# How many bits sums of a window may have.
MAX_WINDOW_BITS = 62
# Windows per block. There is only one block if rows would be read more than MAX_READ times on average.
WINDOWS_IN_CACHE, MAX_READ = 1 << 14, 2
# The sum of the digits of this many rows fits 64 bits, also for squares, which have two numbers per place.
MAX_ROWS = 1 << 20


def deviations_of_windows(numbers: Numbers, counts: Positions, starts: Positions, stops: Positions) -> Numbers:
    """Return the sum of squared deviations from the mean of each window, as :func:`nearest_deviations` does.

    ``counts`` are the numbers of values in each window that are not missing; missing values are zero in ``numbers``.

    Examples
    --------
    >>> deviations_of_windows(np.array([1e6, 1.0, 2.0, 3.0]), np.array([2, 3]), np.array([0, 1]), np.array([2, 4])).tolist()
    [499999000000.5, 2.0]
    """
    result = new_array(len(starts), np.float64)
    for windows, first, last in window_blocks(len(numbers), starts, stops):
        result[windows] = deviations_in_pairs(numbers[first:last], counts[windows], starts[windows] - first, stops[windows] - first)
    result[counts <= 1] = 0.0
    left = np.flatnonzero(np.isnan(result))
    # Usually few windows are undecided, so the undecided windows of all blocks are recomputed together.
    for windows, first, last in window_blocks(len(numbers), starts[left], stops[left]):
        selection = left[windows]
        sums = sums_and_squares_of_windows(numbers[first:last], starts[selection] - first, stops[selection] - first)
        result[selection] = nearest_deviations(counts[selection], *sums)
    return result


def sums_and_squares_of_windows(numbers: Numbers, starts: Positions, stops: Positions) -> tuple[Digits, Digits]:
    """Return the exact sum of each window and of its squares; short windows are summed directly instead of by differences of running sums."""
    lengths = stops - starts
    if int(lengths.sum()) <= MAX_READ * len(numbers):
        codes = np.repeat(np.arange(len(starts)), lengths)
        return sums_and_squares(numbers[ranges(starts, lengths)], codes, len(starts))
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    return digits_of_windows(numbers, starts, stops), digits_of_parts(squares_of(finite), starts, stops)


def deviations_in_pairs(numbers: Numbers, counts: Positions, starts: Positions, stops: Positions) -> Numbers:
    """Return squared deviations of all windows, computed with pairs of floats; NaN where pairs leave the last bit undecided."""
    unknown = np.full(len(starts), math.nan)
    if not squares_are_exact(np.abs(numbers)):
        return unknown
    longest = longest_of(starts, stops)
    rests = np.zeros(len(numbers) + 1)
    running = [
        running_ints(numbers, longest),
        *(running_ints(part, longest, rests[1:]) for part in squares_with_errors(numbers, scratch_arrays(len(numbers), 4))),
    ]
    # These sums are rounded, but they are so small that this almost never makes the last bit undecided.
    np.cumsum(rests, out=rests)
    for windows in window_slices(len(starts)):
        pairs = [None if part is None else pairs_of_windows(part, starts[windows], stops[windows]) for part in running]
        if pairs[0] is None or pairs[1] is None or pairs[2] is None or running[1] is None:
            return unknown
        rest = pairs[1][1] + (pairs[2][0] + (rests[stops[windows]] - rests[starts[windows]]))
        about = pairs[1][0] + rest
        first, second, _ = deviations_from_pairs(np.maximum(counts[windows], 1), pairs[0], (about, rest - (about - pairs[1][0])))
        # The second term bounds the error of differences of running sums of floats below 2**unit.
        wrong = PAIR_ERROR * about + math.ldexp((len(numbers) + 8.0) * longest, running[1].unit - 53)
        unknown[windows] = rounded_or_nan(first, second, wrong)
    return unknown


def digits_of_windows(numbers: Numbers, starts: Positions, stops: Positions) -> Digits:
    """Return the exact sum of each window, also of infinities and NaN.

    Examples
    --------
    >>> digits_of_windows(np.array([1e300, 1e-300, -1e300, np.inf]), np.array([0, 2]), np.array([3, 4])).rounded().tolist()
    [1e-300, inf]
    """
    finite = np.isfinite(numbers)
    result = digits_of_parts([(np.where(finite, numbers, 0.0), 0)], starts, stops)
    if not finite.all():
        totals = (np.concatenate([[0], np.cumsum(kind)]) for kind in (numbers == math.inf, numbers == -math.inf, np.isnan(numbers)))
        ups, downs, nans = (total[stops] > total[starts] for total in totals)
        result.others = non_finite_sums(ups, downs, nans)
    return result


def digits_of_parts(parts: list[tuple[Numbers, int]], starts: Positions, stops: Positions) -> Digits:
    """Return exact window sums of parts of finite floats, as differences of running sums of digits; long windows take several steps."""
    running = {place: np.concatenate([[0], np.cumsum(digits)]) for place, digits in by_place(parts, BITS).items()}
    result, begins = Digits(len(starts)), starts
    while (begins < stops).any():
        ends = np.minimum(begins + MAX_ROWS, stops)
        result += Digits(len(starts), {place: totals[ends] - totals[begins] for place, totals in running.items()})
        begins = ends
    return result


def longest_of(starts: Positions, stops: Positions) -> int:
    """Return the number of rows of the longest window."""
    return int((stops - starts).max(initial=0))


def window_blocks(rows: int, starts: Positions, stops: Positions) -> Iterator[tuple[slice, int, int]]:
    """Yield blocks of windows, each with the range of rows that it covers, so that the rows of a block mostly fit the cache of a core.

    There is one block of all windows if the ranges of blocks would overlap too much.

    Examples
    --------
    >>> list(window_blocks(9, np.array([2, 3]), np.array([5, 7])))
    [(slice(0, 16384, None), 2, 7)]
    """
    bounds = range(0, len(starts), WINDOWS_IN_CACHE)
    if not bounds:
        yield slice(None), 0, 0
        return
    firsts, lasts = np.minimum.reduceat(starts, bounds), np.maximum.reduceat(stops, bounds)
    if int((lasts - firsts).sum()) > MAX_READ * rows:
        yield slice(None), 0, rows
        return
    for low, first, last in zip(bounds, firsts.tolist(), lasts.tolist(), strict=True):
        yield slice(low, low + WINDOWS_IN_CACHE), first, last


def window_slices(count: int) -> Iterator[slice]:
    """Return slices of at most a block of windows each."""
    return (slice(start, start + WORDS_BLOCK) for start in range(0, count, WORDS_BLOCK))


def pairs_of_windows(running: TwoWords, starts: Positions, stops: Positions) -> Pair:
    """Return the sum of each window as a pair of floats: the nearest float and its rounding error."""
    high, low = running.high[stops], running.low[stops]
    high -= running.high[starts]
    low -= running.low[starts]
    return TwoWords.of_ints(high, low, running.unit, running.bits).pairs(last=True)


def running_ints(numbers: Numbers, longest: int, rests: Numbers | None = None) -> TwoWords | None:
    """Return running sums, starting with zero, whose differences over at most ``longest`` rows are exact; None if two ints cannot hold all bits.

    The ints are not carried, and their overflow beyond 64 bits cancels out in differences. If ``rests`` is given, it has a float for each number, to
    which the bits below the two ints are added.
    """
    largest, length = largest_magnitude(numbers), longest.bit_length()
    top_bit = math.frexp(largest)[1] + length + 1
    scratch = scratch_arrays(min(len(numbers), WORDS_BLOCK))
    bits = min(LOWER, MAX_WINDOW_BITS - length - 1)
    unit = top_bit - UPPER - bits
    if not (math.isfinite(largest) and unit >= MIN_EXPONENT and top_bit <= MAX_EXPONENT and bits > 0):
        return None
    high, low = new_array(len(numbers) + 1, np.int64), new_array(len(numbers) + 1, np.int64)
    high[0] = low[0] = 0
    for start in range(0, len(numbers), WORDS_BLOCK):
        rows = slice(start + 1, start + 1 + WORDS_BLOCK)
        high[rows], left = split_int_digit(numbers[start : start + WORDS_BLOCK], unit + bits, scratch)
        low[rows], left = split_int_digit(left, unit, scratch)
        if rests is not None:
            rests[start : start + WORDS_BLOCK] += left
        elif left.any():
            return None
    return TwoWords(np.cumsum(high, out=high), np.cumsum(low, out=low), unit, bits)
