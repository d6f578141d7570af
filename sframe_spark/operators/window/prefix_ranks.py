"""The k-th smallest of the first rows of a sequence, for many k and many numbers of rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np


def kth_of_ranges(ranks: np.ndarray, firsts: np.ndarray, stops: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The rank, of those from one place up to another, that so many are smaller than.

    One bit of all ranks after the other, from the highest on: those without it go before those with it, in their order, and a range of places
    is a range again on either side, of which the counts tell on which side to go on.

    Parameters
    ----------
    ranks
        Whole numbers from zero on; in no range is one twice.
    firsts, stops
        Ranges of places, none of which is empty.
    wanted
        Of each range, how many ranks are smaller; less than it has places.

    Source: Claude, Navarro, Ordonez, "The wavelet matrix: an efficient wavelet tree for large alphabets" (2015).

    Examples
    --------
    >>> kth_of_ranges(np.array([2, 0, 3, 1]), np.array([0, 0, 2]), np.array([1, 3, 4]), np.array([0, 1, 1])).tolist()
    [2, 2, 3]
    >>> kth_of_ranges(np.array([1, 0]), np.array([0]), np.array([2]), np.array([0])).tolist()
    [0]
    """
    # Half of the bytes take less time.
    kind: Any = np.int32 if len(ranks) <= np.iinfo(np.int32).max else np.int64
    numbers: list[np.ndarray] = [given.astype(kind) for given in (ranks, firsts, stops, wanted)]
    ranks, left, right, left_over = numbers
    found, before = np.zeros_like(left), np.zeros(len(ranks) + 1, dtype=kind)
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        is_low = ranks & kind(1 << bit) == 0
        np.cumsum(is_low, out=before[1:])
        low_left, low_right = before[left], before[right]
        lows = low_right - low_left
        is_high = left_over >= lows
        found[is_high] |= kind(1 << bit)
        left_over -= lows * is_high
        left += before[-1] - low_left
        right += before[-1] - low_right
        left, right = np.where(is_high, left, low_left), np.where(is_high, right, low_right)
        ranks = np.concatenate([np.compress(is_low, ranks), np.compress(~is_low, ranks)])
    return found
