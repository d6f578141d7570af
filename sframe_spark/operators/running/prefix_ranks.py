"""The k-th smallest of the first rows of a sequence, for many k and many numbers of rows at once."""

from __future__ import annotations

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
    """
    left, right, wanted = firsts.astype(np.int64), stops.astype(np.int64), wanted.astype(np.int64)
    found = np.zeros(len(left), dtype=np.int64)
    before = np.zeros(len(ranks) + 1, dtype=np.int64)
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        is_high = (ranks >> bit) & 1 != 0
        np.cumsum(~is_high, out=before[1:])
        low_left, low_right = before[left], before[right]
        lows = low_right - low_left
        goes_high = wanted >= lows
        found |= goes_high.astype(np.int64) << bit
        wanted -= np.where(goes_high, lows, 0)
        all_low = before[-1]
        left = np.where(goes_high, left - low_left + all_low, low_left)
        right = np.where(goes_high, right - low_right + all_low, low_right)
        ranks = np.concatenate([ranks[~is_high], ranks[is_high]])
    return found
