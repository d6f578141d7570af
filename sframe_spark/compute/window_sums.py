"""Sums and spreads of many windows of consecutive rows as differences of exact running sums, which lose no digit, however long windows are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sframe_spark.compute.arrow_buffers import new_array
from sframe_spark.compute.exact_grouped_sum import BITS, Digits, are_squared, sums_and_squares, sums_of_others
from sframe_spark.compute.exact_spreads import WRONG_IN_PAIRS, in_pairs, nearest_deviations, next_to
from sframe_spark.compute.exact_sum import LEAST_PLACE, MOST_PLACE, largest_of, room_for, whole_piece
from sframe_spark.compute.exact_window_sum import by_place, squares_of
from sframe_spark.compute.exact_words import BLOCK, LOWER, UPPER, TwoInts, as_floats, carry
from sframe_spark.compute.key_runs import ranges
from sframe_spark.compute.products import squares

Numbers = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]
# Sums of a window fit 64 bits.
MOST_BITS = 62
# So many windows are taken at once where no row is then read more often than this, on average.
WINDOWS_IN_CACHE, MOST_READ = 1 << 14, 2
# So many rows of digits add up in 64 bits, of squares too, which have two of a place.
MOST_ROWS = 1 << 20


def means_of_windows(numbers: Numbers, sizes: Numbers, starts: Positions, stops: Positions) -> Numbers:
    """The sum of each window ``starts..stops``, rounded once, by a number, one at least.

    Examples
    --------
    >>> means_of_windows(np.array([1e9, 0.1, 0.2, 0.3]), np.ones(3), np.array([0, 1, 2]), np.array([1, 4, 2])).tolist()
    [1000000000.0, 0.6, 0.0]
    """
    found = new_array(len(starts), np.float64)
    for some, first, last in pieces_of_windows(len(numbers), starts, stops):
        put_means(numbers[first:last], sizes[some], starts[some] - first, stops[some] - first, found[some])
    return found


def put_means(numbers: Numbers, sizes: Numbers, starts: Positions, stops: Positions, found: Numbers) -> None:
    """Put there the same of all windows at once."""
    running = running_ints(numbers, longest_of(starts, stops))
    if running is None:
        found[:] = digits_of_windows(numbers, starts, stops).means(sizes)
        return
    for some in windows_in_cache(len(starts)):
        np.divide(pairs_of_windows(running, starts[some], stops[some])[0], sizes[some], out=found[some])


def deviations_of_windows(numbers: Numbers, counts: Positions, starts: Positions, stops: Positions) -> Numbers:
    """The sum of squared deviations from the mean of each window, of so many numbers that are not missing, as :func:`nearest_deviations` gives it.

    Examples
    --------
    >>> deviations_of_windows(np.array([1e6, 1.0, 2.0, 3.0]), np.array([2, 3]), np.array([0, 1]), np.array([2, 4])).tolist()
    [499999000000.5, 2.0]
    """
    found = new_array(len(starts), np.float64)
    for some, first, last in pieces_of_windows(len(numbers), starts, stops):
        found[some] = deviations_in_pairs(numbers[first:last], counts[some], starts[some] - first, stops[some] - first)
    found[counts <= 1] = 0.0
    left = np.flatnonzero(np.isnan(found))
    # Few are left most often: those of all pieces are looked at together.
    for some, first, last in pieces_of_windows(len(numbers), starts[left], stops[left]):
        here = left[some]
        sums = sums_and_squares_of_windows(numbers[first:last], starts[here] - first, stops[here] - first)
        found[here] = nearest_deviations(counts[here], *sums)
    return found


def sums_and_squares_of_windows(numbers: Numbers, starts: Positions, stops: Positions) -> tuple[Digits, Digits]:
    """The exact sums of each window and those of its squares, of any numbers: of windows of few rows together window by window."""
    lengths = stops - starts
    if int(lengths.sum()) <= MOST_READ * len(numbers):
        codes = np.repeat(np.arange(len(starts)), lengths)
        return sums_and_squares(numbers[ranges(starts, lengths)], codes, len(starts))
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    return digits_of_windows(numbers, starts, stops), digits_of_parts(squares_of(finite), starts, stops)


def deviations_in_pairs(numbers: Numbers, counts: Positions, starts: Positions, stops: Positions) -> Numbers:
    """The same of all windows at once, but NaN where pairs of floats leave the last digit open, or two ints have no room for all bits."""
    unknown = np.full(len(starts), math.nan)
    if not are_squared(np.abs(numbers)):
        return unknown
    longest = longest_of(starts, stops)
    rests = np.zeros(len(numbers) + 1)
    running = [running_ints(numbers, longest), *(running_ints(part, longest, rests[1:]) for part in squares(numbers, room_for(len(numbers), 4)))]
    # Of these sums some digits are lost, which are so far below the squares that the last digit of what is found is almost never open for that.
    np.cumsum(rests, out=rests)
    for some in windows_in_cache(len(starts)):
        pairs = [None if part is None else pairs_of_windows(part, starts[some], stops[some]) for part in running]
        if pairs[0] is None or pairs[1] is None or pairs[2] is None or running[1] is None:
            return unknown
        rest = pairs[1][1] + (pairs[2][0] + (rests[stops[some]] - rests[starts[some]]))
        about = pairs[1][0] + rest
        first, second, _ = in_pairs(np.maximum(counts[some], 1), pairs[0], (about, rest - (about - pairs[1][0])))
        wrong = WRONG_IN_PAIRS * about + wrong_in_rests(len(numbers), longest, running[1].unit)
        unknown[some] = next_to(first, second, wrong)
    return unknown


def wrong_in_rests(rows: int, longest: int, unit: int) -> float:
    """What a difference of running sums of so many floats up to one of ``2**unit`` is wrong by at most, over so many of them."""
    return math.ldexp((rows + 8.0) * longest, unit - 53)


def digits_of_windows(numbers: Numbers, starts: Positions, stops: Positions) -> Digits:
    """The exact sum of each window, of any numbers.

    Examples
    --------
    >>> digits_of_windows(np.array([1e300, 1e-300, -1e300, np.inf]), np.array([0, 2]), np.array([3, 4])).rounded().tolist()
    [1e-300, inf]
    """
    finite = np.isfinite(numbers)
    found = digits_of_parts([(np.where(finite, numbers, 0.0), 0)], starts, stops)
    if not finite.all():
        totals = (np.concatenate([[0], np.cumsum(kind)]) for kind in (numbers == math.inf, numbers == -math.inf, np.isnan(numbers)))
        ups, downs, nans = (total[stops] > total[starts] for total in totals)
        found.others = sums_of_others(ups, downs, nans)
    return found


def digits_of_parts(parts: list[tuple[Numbers, int]], starts: Positions, stops: Positions) -> Digits:
    """The same of finite floats, each times ``2**(40 * place)``: differences of running digits, of long windows a stretch at a time."""
    running = {place: np.concatenate([[0], np.cumsum(digits)]) for place, digits in by_place(parts, BITS).items()}
    found, begins = Digits(len(starts)), starts
    while (begins < stops).any():
        ends = np.minimum(begins + MOST_ROWS, stops)
        found += Digits(len(starts), {place: totals[ends] - totals[begins] for place, totals in running.items()})
        begins = ends
    return found


def longest_of(starts: Positions, stops: Positions) -> int:
    """Rows of the longest window."""
    return int((stops - starts).max(initial=0))


def pieces_of_windows(rows: int, starts: Positions, stops: Positions) -> Iterator[tuple[slice, int, int]]:
    """A few windows after the other and from which row to which one they are, which stay in the cache of a core: that takes half of the time.

    All windows at once where no few of them are of few rows. Rows that are in none are not read.

    Examples
    --------
    >>> list(pieces_of_windows(9, np.array([2, 3]), np.array([5, 7])))
    [(slice(0, 16384, None), 2, 7)]
    """
    bounds = range(0, len(starts), WINDOWS_IN_CACHE)
    if not bounds:
        yield slice(None), 0, 0
        return
    firsts, lasts = np.minimum.reduceat(starts, bounds), np.maximum.reduceat(stops, bounds)
    if int((lasts - firsts).sum()) > MOST_READ * rows:
        yield slice(None), 0, rows
        return
    for low, first, last in zip(bounds, firsts.tolist(), lasts.tolist(), strict=True):
        yield slice(low, low + WINDOWS_IN_CACHE), first, last


def windows_in_cache(count: int) -> Iterator[slice]:
    """A few of so many windows after the other, whose numbers stay in the cache of a core."""
    return (slice(start, start + BLOCK) for start in range(0, count, BLOCK))


def pairs_of_windows(running: TwoInts, starts: Positions, stops: Positions) -> tuple[Numbers, Numbers]:
    """The float next to the sum of each window, and what that lacks."""
    every_high, every_low, unit, bits = running
    high, low = every_high[stops], every_low[stops]
    high -= every_high[starts]
    low -= every_low[starts]
    carry(high, low, bits)
    above, below = as_floats(high, unit + bits), as_floats(low, unit)
    total = above + below
    return total, below - (total - above)


def running_ints(numbers: Numbers, longest: int, rests: Numbers | None = None) -> TwoInts | None:
    """Running sums, from that of no number to that of all, whose differences over so many rows are right; None where there is no room for that.

    What is beyond 64 bits in a running sum does not matter: it is not in the difference. What is below the two ints goes to the rests, if these are
    given: a float for each number.
    """
    largest, length = largest_of(numbers), longest.bit_length()
    most = math.frexp(largest)[1] + length + 1
    room = room_for(min(len(numbers), BLOCK))
    for bits in LOWER if rests is None else LOWER[-1:]:
        unit = most - UPPER - bits
        if not (math.isfinite(largest) and unit >= LEAST_PLACE and most <= MOST_PLACE and length + bits < MOST_BITS):
            return None
        high, low, is_all = new_array(len(numbers) + 1, np.int64), new_array(len(numbers) + 1, np.int64), True
        high[0] = low[0] = 0
        for start in range(0, len(numbers), BLOCK):
            here = slice(start + 1, start + 1 + BLOCK)
            high[here], left = whole_piece(numbers[start : start + BLOCK], unit + bits, room)
            low[here], left = whole_piece(left, unit, room)
            if rests is not None:
                rests[start : start + BLOCK] += left
            elif left.any():
                is_all = False
                break
        if is_all:
            return TwoInts(np.cumsum(high, out=high), np.cumsum(low, out=low), unit, bits)
    return None
