"""Sums of squared deviations from the mean, of many groups, from their exact sums and sums of squares."""

from __future__ import annotations

import math

import numpy as np

from sframe_spark.operators.kernels.exact_digits import BITS, FIRST_PLACE, LEAST_SQUARED, MOST_SQUARED, Digits
from sframe_spark.operators.kernels.exact_sums import quotient
from sframe_spark.operators.kernels.products import lacking_product

# Where deviations are smaller than this beside the numbers, pairs of floats have too few digits for their squares.
CANCELS = 2.0**-40
# A float, and what it lacks.
Pair = tuple[np.ndarray, np.ndarray]


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
    sizes = np.maximum(counts, 1)
    is_finite = np.ones(len(counts), dtype=bool) if sums.others is None else sums.others == 0.0
    several = (counts > 1) & is_finite
    # Where numbers are near the ends of floats these results are not used.
    with np.errstate(all="ignore"):
        found, about = in_pairs(sizes, sums.pairs(), squares.pairs())
        # Zeros only, as of all rows so far of a column that begins with them, are spread by zero: no number of them is looked at.
        near = np.flatnonzero(several & squares.are_there() & ~((found > CANCELS * about) & (about > LEAST_SQUARED) & (about < MOST_SQUARED)))
        if len(near):
            found[near] = from_a_mean(sizes[near], sums.taken(near), squares.taken(near))
    return np.where(several, found, np.where(is_finite | (counts <= 1), 0.0, math.nan))


def in_pairs(counts: np.ndarray, sums: Pair, squares: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Squares less the square of the sum by the count, of sums in pairs of floats; and the squares."""
    (high, low), (about, below) = sums, squares
    square = high * high
    rest = lacking_product(high, high, square) + 2.0 * high * low
    share = square / counts
    product = share * counts
    rest = ((square - product) - lacking_product(share, counts, product) + rest) / counts
    return (about - share) + (below - rest), about


def from_a_mean(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """The same from deviations of a float near the mean, which are small, without rounding until they are known."""
    means, groups = sums.means(counts), np.arange(len(counts))
    distances = np.abs(means)
    far = (distances > MOST_SQUARED) | ((distances < LEAST_SQUARED) & (distances > 0.0))
    means = np.where(far, 0.0, means)
    moved, left = squares.taken(groups), sums.taken(groups)
    for place, digits in sums.places.items():
        moved.add_product(-2.0 * means, digits.astype(np.float64), groups, place)
    square = means * means
    for part in (square, lacking_product(means, means, square)):
        moved.add_product(part, counts.astype(np.float64), groups)
    left.add_product(-means, counts.astype(np.float64), groups)
    found = np.maximum(moved.rounded() - left.rounded() ** 2 / counts, 0.0)
    # A mean of zero says nothing of groups whose numbers are far from it; of these one is looked at after the other.
    extreme = far | ~(found < MOST_SQUARED) | ((found < LEAST_SQUARED) & (found > 0.0)) | ((means == 0.0) & (found == 0.0))
    for group in np.flatnonzero(extreme).tolist():
        found[group] = of_one_group(int(counts[group]), sums, squares, group)
    return found


def of_one_group(count: int, sums: Digits, squares: Digits, group: int) -> float:
    """The same in whole numbers, for any floats."""
    units = sums.units(group, FIRST_PLACE)
    below = -FIRST_PLACE * BITS
    return quotient(count * (squares.units(group, FIRST_PLACE) << below) - units * units, count << (2 * below))
