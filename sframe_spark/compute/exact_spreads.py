"""Sums of squared deviations from the mean, of many groups, from their exact sums and sums of squares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from sframe_spark.compute.exact_grouped_sum import BITS, Digits
from sframe_spark.compute.exact_sum import quotient, room_for
from sframe_spark.compute.products import lacking_product
from sframe_spark.compute.products import squares as squared

# Where deviations are smaller than this beside the numbers, pairs of floats have too few digits for their squares.
CANCELS = 2.0**-40
# Where they are smaller than this, a float near the mean takes less time than whole numbers of Python, if pairs leave the last digit open.
CANCELS_A_BIT = 2.0**-20
# What is found in pairs of floats is wrong by less than this beside the squares, and by less than four of it where the pairs are made of digits.
WRONG_IN_PAIRS = 2.0**-100
# So few groups take less time in whole numbers.
FEW_GROUPS = 16
# A float, and what it lacks.
Pair = tuple[np.ndarray, np.ndarray]
# Squares from this place on, and so many places above it, are far from the ends of floats, as is what becomes of them; all others are moved there.
FIRST_IN_REACH, IN_REACH = -11, 22


def squared_deviations(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """The sum of squared deviations from the mean of each group, near the float next to it.

    Zero for groups of one number or none, NaN for others with a number that is not finite.

    Examples
    --------
    >>> sums, squares, codes = Digits(1), Digits(1), np.zeros(2, dtype=np.int64)
    >>> sums.add(np.array([1e9 + 1, 1e9 + 3]), codes)
    >>> squares.add_squares(np.array([1e9 + 1, 1e9 + 3]), codes)
    >>> squared_deviations(np.array([2]), sums, squares).tolist()
    [2.0]
    """
    return of_all(of_usual_squares, counts, sums, squares)


def nearest_deviations(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """The same, but the float next to it, unless that is smaller than floats with all digits.

    Examples
    --------
    >>> sums, squares, codes = Digits(1), Digits(1), np.zeros(3, dtype=np.int64)
    >>> sums.add(np.array([0.1, 0.1, 0.1]), codes)
    >>> squares.add_squares(np.array([0.1, 0.1, 0.1]), codes)
    >>> nearest_deviations(np.array([3]), sums, squares).tolist()
    [0.0]
    """
    return of_all(next_to_usual_squares, counts, sums, squares)


OfUsual = Callable[[np.ndarray, Digits, Digits], np.ndarray]


def of_all(of_usual: OfUsual, counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """What is found of groups of several numbers whose squares are neither large nor small, of all groups."""
    found = np.empty(len(counts))
    for (start, part), (_, its_squares) in zip(sums.in_parts(), squares.in_parts(), strict=True):
        stop = start + part.count
        found[start:stop] = of_a_few(of_usual, counts[start:stop], part, its_squares)
    return found


def of_a_few(of_usual: OfUsual, counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """The same of groups whose numbers stay in the cache of a core."""
    is_finite = np.ones(len(counts), dtype=bool) if sums.others is None else sums.others == 0.0
    several = (counts > 1) & is_finite
    found = np.where(is_finite | (counts <= 1), 0.0, math.nan)
    for reach, here in by_reach(squares, several):
        its_sums, its_squares = sums.taken(here).moved(-reach * IN_REACH // 2), squares.taken(here).moved(-reach * IN_REACH)
        with np.errstate(over="ignore", under="ignore"):
            found[here] = np.ldexp(of_usual(counts[here], its_sums, its_squares), reach * IN_REACH * BITS)
    return found


def by_reach(squares: Digits, looked_at: np.ndarray) -> Iterator[tuple[int, np.ndarray | slice]]:
    """Some of the groups, and how far their squares are from those that are in reach, which is zero of usual ones."""
    if all(0 <= place - FIRST_IN_REACH < IN_REACH for place in squares.places):
        yield 0, slice(None) if looked_at.all() else np.flatnonzero(looked_at)
        return
    reaches = (squares.first_places() - FIRST_IN_REACH) // IN_REACH
    for reach in np.unique(reaches[looked_at]).tolist():
        yield reach, np.flatnonzero(looked_at & (reaches == reach))


def of_usual_squares(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """The same of groups of several numbers, whose squares are neither large nor small."""
    first, second, about = in_pairs(counts, sums.pairs(), squares.pairs())
    found = np.add(first, second, out=first)
    # Zeros only, as of all rows so far of a column that begins with them, are spread by zero.
    near = np.flatnonzero((found <= CANCELS * about) & (about > 0.0))
    if len(near):
        found[near] = from_a_mean(counts[near], sums.taken(near), squares.taken(near))
    return found


def from_a_mean(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """The same from deviations of a float near the mean, which are small, without rounding until they are known."""
    means = sums.means(counts)
    left, moved = sums_around(means, counts, sums), squares_around(means, counts, sums, squares)
    return np.maximum(moved.rounded() - left.rounded() ** 2 / counts, 0.0)


def next_to_usual_squares(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """The same, but the float next to it."""
    found = np.full(len(counts), math.nan) if len(counts) <= FEW_GROUPS else next_to_in_digits(counts, sums, squares)
    for group in np.flatnonzero(np.isnan(found)).tolist():
        found[group] = in_whole_numbers(int(counts[group]), sums, squares, group)
    return found


def next_to_in_digits(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """The same, but NaN where pairs of floats leave the last digit open."""
    first, second, about = in_pairs(counts, sums.pairs(), squares.pairs())
    found = next_to(first, second, 4.0 * WRONG_IN_PAIRS * about)
    near = np.flatnonzero(np.isnan(found) & (first <= CANCELS_A_BIT * about))
    if len(near):
        some, its_sums, its_squares = counts[near], sums.taken(near), squares.taken(near)
        means = its_sums.means(some)
        # The mean of equal numbers is one of them: nothing is left then.
        means += sums_around(means, some, its_sums).rounded() / some
        left, moved = sums_around(means, some, its_sums), squares_around(means, some, its_sums, its_squares)
        first, second, about = in_pairs(some, left.carried().pairs(), moved.carried().pairs())
        found[near] = next_to(first, second, 4.0 * WRONG_IN_PAIRS * about)
    return found


def next_to(first: np.ndarray, second: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """The floats next to sums of two floats, the first of which is larger, that may be wrong by so much; NaN where two floats may be next to it.

    Source: Ziv, "Fast evaluation of elementary mathematical functions with correctly rounded last bit" (1991).

    Examples
    --------
    >>> next_to(np.array([1.0, 1.0]), np.array([2.0**-60, 2.0**-53]), 2.0**-70).tolist()
    [1.0, nan]
    """
    found = first + second
    room = np.subtract(found, first)
    np.subtract(second, room, out=room)
    np.abs(room, out=room)
    room += wrong
    # The other float next to the sum is not nearer above than below.
    np.copyto(found, math.nan, where=np.subtract(found, room, out=room) != found)
    return found


def in_pairs(counts: np.ndarray, sums: Pair, squares: Pair) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Squares less the square of the sum by the count, of sums in pairs of floats, as a float and what that lacks; and the squares."""
    (high, low), (about, below) = sums, squares
    counts = counts.astype(np.float64)
    square, rest = squared(high, room_for(len(high), 4))
    rest += 2.0 * high * low
    share = square / counts
    product = share * counts
    square -= product
    square -= lacking_product(share, counts, product)
    rest += square
    rest /= counts
    first = np.subtract(about, share, out=product)
    # What the difference lacks, and all that is below it.
    second = np.subtract(about, first, out=square)
    second -= share
    second += np.subtract(below, rest, out=rest)
    return first, second, about


def sums_around(means: np.ndarray, counts: np.ndarray, sums: Digits) -> Digits:
    """What numbers less a float near their mean add up to, without rounding."""
    groups = np.arange(len(counts))
    left = sums.taken(groups)
    left.add_product(-means, counts.astype(np.float64), groups)
    return left


def squares_around(means: np.ndarray, counts: np.ndarray, sums: Digits, squares: Digits) -> Digits:
    """The same of their squares."""
    groups = np.arange(len(counts))
    moved = squares.taken(groups)
    for place, digits in sums.places.items():
        moved.add_product(-2.0 * means, digits.astype(np.float64), groups, place)
    square = means * means
    for part in (square, lacking_product(means, means, square)):
        moved.add_product(part, counts.astype(np.float64), groups)
    return moved


def in_whole_numbers(count: int, sums: Digits, squares: Digits, group: int) -> float:
    """The float next to the sum of squared deviations of one group."""
    place = min(sums.places, default=0)
    lowest = min(2 * place, min(squares.places, default=0))
    squared_sum = sums.units(group, place) ** 2 << (BITS * (2 * place - lowest))
    left, moved = count * squares.units(group, lowest) - squared_sum, BITS * lowest
    return quotient(left << max(moved, 0), count << max(-moved, 0))
