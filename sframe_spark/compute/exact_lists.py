"""Exact sums of groups as columns of Arrow: a list of ints for each group, each a digit above its place.

A sum has no digit if it is zero, three or so if it is a usual one, and equal sums have equal lists.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_grouped_sum import FIRST_PLACE, GROUPS_TOGETHER, Digits

PLACE_BITS = 8
# A place for what is not finite, and the codes of that.
OTHERS = (1 << PLACE_BITS) - 1
INFINITE, NEGATIVE, NOT_A_NUMBER = 1, 2, 3
OTHER_FLOATS = np.array([0.0, math.inf, -math.inf, math.nan])
# Lists of so many digits on average are not made shorter.
MOST_KEPT = 6


def lists_of(digits: Digits) -> pa.ListArray:
    """The digits of each group, without zeros.

    Examples
    --------
    >>> digits = Digits(2)
    >>> digits.add(np.array([3.0]), np.array([1]))
    >>> lists_of(digits).to_pylist() == [[], [(3 << 8) + 64]]
    True
    """
    lengths, values = [np.zeros(1, dtype=np.int32)], [np.zeros(0, dtype=np.int64)]
    for _, part in digits.in_parts():
        places = sorted(place for place, found in part.places.items() if found.any())
        coded = np.zeros((part.count, len(places) + 1), dtype=np.int64)
        for column, place in enumerate(places):
            found = part.places[place]
            coded[:, column] = np.where(found == 0, 0, (found << PLACE_BITS) | (place - FIRST_PLACE))
        if part.others is not None:
            kinds = np.select([part.others == math.inf, part.others == -math.inf, np.isnan(part.others)], [INFINITE, NEGATIVE, NOT_A_NUMBER], 0)
            coded[kinds > 0] = 0
            coded[:, -1] = np.where(kinds > 0, (kinds << PLACE_BITS) | OTHERS, 0)
        there = coded != 0
        lengths.append(np.count_nonzero(there, axis=1))
        values.append(coded[there])
    offsets = np.concatenate(lengths).cumsum(dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate(values)))


def digits_of(lists: pa.ListArray, groups: np.ndarray | None = None, count: int | None = None) -> Digits:
    """The sums of lists that groups have, one each or those of the numbers that are told.

    Examples
    --------
    >>> digits_of(pa.array([[(3 << 8) + 64], [], [(5 << 8) + 64]], pa.list_(pa.int64())), np.array([0, 0, 1]), 2).rounded().tolist()
    [3.0, 5.0]
    """
    offsets = lists.offsets.to_numpy(zero_copy_only=False)
    coded = lists.values.to_numpy(zero_copy_only=False)[offsets[0] : offsets[-1]]
    codes = np.repeat(np.arange(len(lists)) if groups is None else groups, np.diff(offsets))
    found = Digits(len(lists) if count is None else count)
    places = coded & OTHERS
    for place in np.unique(places).tolist():
        here = places == place
        if place == OTHERS:
            found.others = np.bincount(codes[here], OTHER_FLOATS[coded[here] >> PLACE_BITS], found.count)
        else:
            digits = found.places[place + FIRST_PLACE] = np.zeros(found.count, dtype=np.int64)
            np.add.at(digits, codes[here], coded[here] >> PLACE_BITS)
    return found


def longer(lists: pa.ListArray, starts: np.ndarray) -> pa.ListArray:
    """The sums of neighbouring lists together: one list for all from each start to the next.

    Examples
    --------
    >>> longer(pa.array([[(3 << 8) + 64], [], [(5 << 8) + 64]], pa.list_(pa.int64())), np.array([0, 2])).to_pylist()
    [[832], [1344]]
    """
    offsets = lists.offsets.to_numpy(zero_copy_only=False)
    joined = np.append(offsets[starts], offsets[-1])
    if joined[-1] - joined[0] <= MOST_KEPT * len(starts):
        return pa.ListArray.from_arrays(pa.array(joined), lists.values)
    edges, found = np.append(starts, len(lists)), []
    for start in range(0, len(starts), GROUPS_TOGETHER):
        these = edges[start : start + GROUPS_TOGETHER + 1]
        groups = np.repeat(np.arange(len(these) - 1), np.diff(these))
        found.append(lists_of(digits_of(lists.slice(these[0], these[-1] - these[0]), groups, len(these) - 1)))
    return pa.concat_arrays(found)


def at(lists: pa.ListArray, places: np.ndarray, count: int) -> pa.ListArray:
    """So many lists of which those at some places are given, ascending, and all others are empty.

    Examples
    --------
    >>> at(pa.array([[7], [8, 9]]), np.array([1, 2]), 4).to_pylist()
    [[], [7], [8, 9], []]
    """
    offsets = lists.offsets.to_numpy(zero_copy_only=False)
    lengths = np.zeros(count + 1, dtype=np.int32)
    lengths[places + 1] = np.diff(offsets)
    lengths[0] = offsets[0]
    return pa.ListArray.from_arrays(pa.array(lengths.cumsum(dtype=np.int32)), lists.values)
