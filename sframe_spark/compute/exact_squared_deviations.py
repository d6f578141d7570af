"""Sums of squared deviations from the mean of many groups at once, from exact sums and exact sums of squares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from sframe_spark.compute.exact_sums_of_groups import BITS, Digits
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.exact_sum_and_variance import product_error, quotient, scratch_arrays, squares_with_errors
    from sframe_spark.compute.exact_sums_of_groups import ExactSums, FloatsAndDigits, Pair, TwoWords

# If squared deviations are smaller than CANCELS times the squares, pairs of floats have too few bits.
CANCELS = 2.0**-40
# If squared deviations are smaller than CANCELS_A_BIT times the squares, and pairs of floats leave the last bit undecided, deviations from a float
# near the mean are faster than Python ints.
CANCELS_A_BIT = 2.0**-20
# Error bound of arithmetic with pairs of floats, relative to the squares; the bound is four times as large if the pairs are made from digits.
PAIR_ERROR = 2.0**-100
# Up to this many groups Python ints are faster.
FEW_SPREAD_GROUPS = 16
# Floats can hold squares in the IN_REACH places from FIRST_IN_REACH upwards ("in reach"); other squares are scaled to these places.
FIRST_IN_REACH, IN_REACH = -11, 22


def squared_deviations(counts: np.ndarray, sums: ExactSums, squares: ExactSums) -> np.ndarray:
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
    if isinstance(sums, FloatsAndDigits):
        result = np.zeros(len(counts))
        result[sums.several] = squared_deviations(counts[sums.several], sums.digits, squares.take(sums.several))
        return result
    digits = squares.all_digits()
    if isinstance(sums, TwoWords) and sums.others is None:
        digits = digits.carried()
        if is_in_reach(digits):
            # Sums of two words are pairs of floats already. Digits are made of those sums only for which pairs have too few bits.
            first, second, about = deviations_from_pairs(np.maximum(counts, 1), sums.pairs(), digits.pairs())
            result = np.add(first, second, out=first)
            near = too_near(result, about)
            if len(near):
                result[near] = squared_deviations(counts[near], sums.take(near).all_digits(), digits.take(near))
            return result
    return deviations_by_block(deviations_in_range, counts, sums.all_digits(), digits)


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
        its_sums, its_squares = sums.take(selection).moved(-reach * IN_REACH // 2), squares.take(selection).moved(-reach * IN_REACH)
        with np.errstate(over="ignore", under="ignore"):
            result[selection] = np.ldexp(kernel(counts[selection], its_sums, its_squares), reach * IN_REACH * BITS)
    return result


def by_reach(squares: Digits, selected: np.ndarray) -> Iterator[tuple[int, np.ndarray | slice]]:
    """Yield the selected groups whose squares must be scaled equally far to be in reach, with that distance in units of ``IN_REACH`` places."""
    if is_in_reach(squares):
        yield 0, slice(None) if selected.all() else np.flatnonzero(selected)
        return
    reaches = (squares.first_places() - FIRST_IN_REACH) // IN_REACH
    for reach in np.unique(reaches[selected]).tolist():
        yield reach, np.flatnonzero(selected & (reaches == reach))


def is_in_reach(squares: Digits) -> bool:
    """Return whether floats hold all digits of squares."""
    return all(0 <= place - FIRST_IN_REACH < IN_REACH for place in squares.places)


def deviations_in_range(counts: np.ndarray, sums: Digits, squares: Digits) -> np.ndarray:
    """Return squared deviations with an error of about one ulp, for groups of several numbers with squares in reach."""
    first, second, about = deviations_from_pairs(counts, sums.pairs(), squares.pairs())
    result = np.add(first, second, out=first)
    near = too_near(result, about)
    if len(near):
        result[near] = deviations_around_mean(counts[near], sums.take(near), squares.take(near))
    return result


def too_near(deviations: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return the groups whose numbers are so near to each other that pairs of floats have too few bits for their deviations."""
    # Groups of zeros, such as the first rows of a column that begins with zeros, need no correction.
    return np.flatnonzero((deviations <= CANCELS * squares) & (squares > 0.0))


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
        near_counts, its_sums, its_squares = counts[near], sums.take(near), squares.take(near)
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
    left = sums.take(groups)
    left.add_product(-means, counts.astype(np.float64), groups)
    return left


def squares_around_means(means: np.ndarray, counts: np.ndarray, sums: Digits, squares: Digits) -> Digits:
    """Return the exact sums of squared deviations from a float near the mean."""
    groups = np.arange(len(counts))
    moved = squares.take(groups)
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
