"""Sums of squared deviations from the mean, of many groups, from their exact sums and sums of squares."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sframe_spark.operators.kernels.exact_digits import BITS, Digits
from sframe_spark.operators.kernels.exact_sums import room_for
from sframe_spark.operators.kernels.products import lacking_product
from sframe_spark.operators.kernels.products import squares as squared

# Where deviations are smaller than this beside the numbers, pairs of floats have too few digits for their squares.
CANCELS = 2.0**-40
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
    found = np.empty(len(counts))
    for (start, part), (_, its_squares) in zip(sums.in_parts(), squares.in_parts(), strict=True):
        stop = start + part.count
        found[start:stop] = of_a_few(counts[start:stop], part, its_squares)
    return found


def of_a_few(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """The same of groups whose numbers stay in the cache of a core."""
    is_finite = np.ones(len(counts), dtype=bool) if sums.others is None else sums.others == 0.0
    several = (counts > 1) & is_finite
    found = np.where(is_finite | (counts <= 1), 0.0, math.nan)
    for reach, here in by_reach(squares, several):
        its_sums, its_squares = sums.taken(here).moved(-reach * IN_REACH // 2), squares.taken(here).moved(-reach * IN_REACH)
        with np.errstate(over="ignore", under="ignore"):
            found[here] = np.ldexp(of_usual_squares(counts[here], its_sums, its_squares), reach * IN_REACH * BITS)
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
    found, about = in_pairs(counts, sums.pairs(), squares.pairs())
    # Zeros only, as of all rows so far of a column that begins with them, are spread by zero.
    near = np.flatnonzero((found <= CANCELS * about) & (about > 0.0))
    if len(near):
        found[near] = from_a_mean(counts[near], sums.taken(near), squares.taken(near))
    return found


def in_pairs(counts: np.ndarray, sums: Pair, squares: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Squares less the square of the sum by the count, of sums in pairs of floats; and the squares."""
    (high, low), (about, below) = sums, squares
    counts = counts.astype(np.float64)
    square, rest = squared(high, room_for(len(high), 4))
    rest += 2.0 * high * low
    share = square / counts
    product = share * counts
    rest = ((square - product) - lacking_product(share, counts, product) + rest) / counts
    return (about - share) + (below - rest), about


def from_a_mean(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """The same from deviations of a float near the mean, which are small, without rounding until they are known."""
    means, groups = sums.means(counts), np.arange(len(counts))
    moved, left = squares.taken(groups), sums.taken(groups)
    for place, digits in sums.places.items():
        moved.add_product(-2.0 * means, digits.astype(np.float64), groups, place)
    square = means * means
    for part in (square, lacking_product(means, means, square)):
        moved.add_product(part, counts.astype(np.float64), groups)
    left.add_product(-means, counts.astype(np.float64), groups)
    return np.maximum(moved.rounded() - left.rounded() ** 2 / counts, 0.0)
