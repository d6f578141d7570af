"""Exact sums of the rows of groups, of as many groups at once as their digits have room for."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sframe_spark.compute.exact_grouped_sum import BITS, GROUPS_TOGETHER, Digits, sums_and_squares

# Digits of groups take no more at once; with squares they are three times as many.
MOST_BYTES = 64 << 20


def digits_of_rows(numbers: np.ndarray, codes: np.ndarray, count: int, has_squares: bool) -> Iterator[list[Digits]]:
    """The digits of sums of groups of rows, and of those of squares, of as many groups at once as there is room for."""
    most = MOST_BYTES // (8 * (3 if has_squares else 1) * places_of(numbers)) if count > GROUPS_TOGETHER else max(count, 1)
    for start in range(0, max(count, 1), most):
        stop = min(start + most, count)
        if stop - start < count:
            rows = np.flatnonzero((codes >= start) & (codes < stop))
            yield digits_of_a_few(numbers[rows], codes[rows] - start, stop - start, has_squares)
        else:
            yield digits_of_a_few(numbers, codes, count, has_squares)


def digits_of_a_few(numbers: np.ndarray, codes: np.ndarray, count: int, has_squares: bool) -> list[Digits]:
    """The same of so many groups."""
    if has_squares:
        return list(sums_and_squares(numbers, codes, count))
    sums = Digits(count)
    sums.add(numbers, codes)
    return [sums]


def places_of(numbers: np.ndarray) -> int:
    """As many digits have sums of these numbers at most: more the further these are apart.

    Examples
    --------
    >>> places_of(np.array([1.0, 0.5, 0.0])), places_of(np.array([1e300, 1e-300]))
    (4, 53)
    """
    distances = np.abs(numbers[np.isfinite(numbers) & (numbers != 0.0)])
    bits = math.frexp(distances.max())[1] - math.frexp(distances.min())[1] if len(distances) else 0
    return bits // BITS + 4
