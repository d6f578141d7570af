"""Order statistics of many ranges of a sequence at once, with a wavelet matrix.

Numbers are stably partitioned by one bit at a time, from the highest bit. A range of positions stays a range on each side of the partition, and
the number of entries on each side tells where to look further.

Source: Claude, Navarro, Ordonez, "The wavelet matrix: an efficient wavelet tree for large alphabets" (2015).
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _number_type(count: int) -> Any:
    """Return the type for positions among ``count`` numbers; 32-bit numbers are faster, and are used if they suffice."""
    return np.int32 if count < np.iinfo(np.int32).max else np.int64


def kth_of_ranges(ranks: np.ndarray, firsts: np.ndarray, stops: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the k-th smallest rank (from zero) in each of many ranges of a sequence.

    Parameters
    ----------
    ranks
        Non-negative ints, which are distinct within each range.
    firsts, stops
        Start and end (exclusive) of each range; no range is empty.
    k
        The position of the requested rank among the sorted ranks of each range, from zero.

    Examples
    --------
    >>> kth_of_ranges(np.array([2, 0, 3, 1]), np.array([0, 0, 2]), np.array([1, 3, 4]), np.array([0, 1, 1])).tolist()
    [2, 2, 3]
    >>> kth_of_ranges(np.array([1, 0]), np.array([0]), np.array([2]), np.array([0])).tolist()
    [0]
    """
    kind = _number_type(len(ranks))
    numbers: list[np.ndarray] = [array.astype(kind) for array in (ranks, firsts, stops, k)]
    ranks, left, right, left_over = numbers
    result, before = np.zeros_like(left), np.zeros(len(ranks) + 1, dtype=kind)
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        is_low = ranks & kind(1 << bit) == 0
        np.cumsum(is_low, out=before[1:])
        low_left, low_right = before[left], before[right]
        lows = low_right - low_left
        is_high = left_over >= lows
        result[is_high] |= kind(1 << bit)
        left_over -= lows * is_high
        left += before[-1] - low_left
        right += before[-1] - low_right
        left, right = np.where(is_high, left, low_left), np.where(is_high, right, low_right)
        ranks = np.concatenate([np.compress(is_low, ranks), np.compress(~is_low, ranks)])
    return result


def counts_below(numbers: np.ndarray, firsts: np.ndarray, stops: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return how many numbers of each of many ranges of a sequence are below the limit of the range.

    Parameters
    ----------
    numbers
        Ints that are not negative and at most the length of the sequence.
    firsts, stops
        Start and end (exclusive) of each range.
    limits
        The limits, which are not negative and at most the length of the sequence.

    Examples
    --------
    >>> counts_below(np.array([2, 0, 3, 0]), np.array([0, 1, 2]), np.array([4, 3, 2]), np.array([3, 1, 4])).tolist()
    [3, 1, 0]
    """
    kind = _number_type(len(numbers))
    bits = max(len(numbers).bit_length(), 1)
    numbers, left, right, limits = (array.astype(kind) for array in (numbers, firsts, stops, limits))
    result, before = np.zeros_like(left), np.zeros(len(numbers) + 1, dtype=kind)
    for bit in reversed(range(bits)):
        is_low = numbers & kind(1 << bit) == 0
        np.cumsum(is_low, out=before[1:])
        low_left, low_right = before[left], before[right]
        is_high = limits & kind(1 << bit) != 0
        result += np.where(is_high, low_right - low_left, 0)
        left += before[-1] - low_left
        right += before[-1] - low_right
        left, right = np.where(is_high, left, low_left), np.where(is_high, right, low_right)
        numbers = np.concatenate([np.compress(is_low, numbers), np.compress(~is_low, numbers)])
    return result.astype(np.int64)
