"""Running quantiles. The state is each group's sorted values, and a batch only reads the values near the requested ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_runs import ranges
from sframe_spark.compute.sorting import as_ordered_ints, order_of
from sframe_spark.operators.window.running_collections import widened_with
from sframe_spark.operators.window.segmented_scan import RowGroups, valid
from sframe_spark.types import ARRAY


def kth_of_ranges(ranks: np.ndarray, firsts: np.ndarray, stops: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the k-th smallest rank (from zero) in each of many ranges of a sequence, found with a wavelet matrix.

    Ranks are stably partitioned by one bit at a time, from the highest bit. A range of positions stays a range on each side of the partition, and
    the number of ranks on each side tells on which side the k-th smallest is.

    Parameters
    ----------
    ranks
        Non-negative ints, which are distinct within each range.
    firsts, stops
        Start and end (exclusive) of each range; no range is empty.
    k
        The position of the requested rank among the sorted ranks of each range, from zero.

    Source: Claude, Navarro, Ordonez, "The wavelet matrix: an efficient wavelet tree for large alphabets" (2015).

    Examples
    --------
    >>> kth_of_ranges(np.array([2, 0, 3, 1]), np.array([0, 0, 2]), np.array([1, 3, 4]), np.array([0, 1, 1])).tolist()
    [2, 2, 3]
    >>> kth_of_ranges(np.array([1, 0]), np.array([0]), np.array([2]), np.array([0])).tolist()
    [0]
    """
    # 32-bit numbers are faster, and are used if they suffice.
    kind: Any = np.int32 if len(ranks) <= np.iinfo(np.int32).max else np.int64
    numbers: list[np.ndarray] = [array.astype(kind) for array in (ranks, firsts, stops, k)]
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


@attrs.frozen(eq=False)
class OrderedValues:
    """The sorted values of some groups.

    Parameters
    ----------
    counts
        Number of values of each group.
    values
        The values group by group, ascending, with NaN last and equal values in row order.
    """

    counts: np.ndarray
    values: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """Position of the first value of each group."""
        return np.cumsum(self.counts) - self.counts

    def taken(self, groups: np.ndarray) -> OrderedValues:
        """Return the values of some of the groups."""
        counts = self.counts[groups]
        return OrderedValues(counts, self.values[ranges(self.starts[groups], counts)])

    def merged(self, more: OrderedValues, groups: np.ndarray) -> OrderedValues:
        """Return the values merged with those of later rows; ``groups`` is the group of each entry of ``more``, without duplicates."""
        # np.insert takes positions in ascending order of the groups.
        by_group = np.argsort(groups)
        more, groups = more.taken(by_group), groups[by_group]
        first = np.repeat(self.starts[groups], more.counts)
        stop = first + np.repeat(self.counts[groups], more.counts)
        counts = self.counts.copy()
        counts[groups] += more.counts
        return OrderedValues(counts, np.insert(self.values, places_behind(self.values, first, stop, more.values), more.values))


@attrs.frozen(eq=False)
class QuantileAggregate:
    """A running ``quantile``. The state is all values.

    Parameters
    ----------
    shares
        The requested quantiles, between 0 and 1.
    """

    shares: tuple[float, ...]

    def empty(self, groups: int) -> OrderedValues:
        return OrderedValues(np.zeros(groups, dtype=np.int64), np.zeros(0))

    def widened(self, state: OrderedValues, groups: int) -> OrderedValues:
        return OrderedValues(widened_with(state.counts, groups, 0), state.values)

    def advance(self, state: OrderedValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, OrderedValues]:
        """Return the quantiles for each row of a batch, and the state after it."""
        numbers, there = numbers_there(columns[0], groups)
        sizes = groups.stops - groups.starts
        so_far = np.cumsum(there) - np.repeat(np.cumsum(there)[groups.starts] - there[groups.starts], sizes)
        counts = np.bincount(groups.group_of_rows()[there], minlength=len(slots))
        run = RowsOfRun(state, slots, counts, numbers, groups.group_of_rows(), so_far)
        found = np.zeros((groups.rows, len(self.shares)))
        for place, share in enumerate(self.shares):
            found[:, place] = groups.to_row_order(run.quantiles(share))
        offsets = pa.array(np.arange(groups.rows + 1, dtype=np.int32) * len(self.shares))
        column = pa.ListArray.from_arrays(offsets, pa.array(found.ravel(), from_pandas=False), type=ARRAY.physical)
        return column, state.merged(in_order(counts, numbers), slots)

    def summarized(self, state: OrderedValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> OrderedValues:
        numbers, there = numbers_there(columns[0], groups)
        return state.merged(in_order(np.bincount(groups.group_of_rows()[there], minlength=len(slots)), numbers), slots)

    def merged(self, first: OrderedValues, second: OrderedValues, slots: np.ndarray) -> OrderedValues:
        return first.merged(second, slots)


@attrs.frozen(eq=False)
class RowsOfRun:
    """A batch of rows by group, with the state before it.

    Parameters
    ----------
    state
        The values of earlier rows.
    slots
        Positions of the batch's groups in the state.
    counts
        Number of values of each group in the batch.
    values
        The values in the batch, group by group.
    groups
        Group of each row, in group order.
    so_far
        Number of values of the row's group in the batch up to each row, in group order.
    """

    state: OrderedValues
    slots: np.ndarray
    counts: np.ndarray
    values: np.ndarray
    groups: np.ndarray
    so_far: np.ndarray

    def quantiles(self, share: float) -> np.ndarray:
        """Return for each row the quantile of all values of its group up to the row; zero if there is none."""
        count = len(self.slots)
        totals = self.state.counts[self.slots][self.groups] + self.so_far
        rows, found = np.flatnonzero(totals), np.zeros(len(totals))
        groups, so_far = self.groups[rows], self.so_far[rows]
        positions = np.minimum(totals[rows] - 1, (share * totals[rows]).astype(np.int64))
        # Each value of the batch moves the quantile's position among the earlier values by at most one, so only values in this range matter.
        low, high = np.full(count, np.iinfo(np.int64).max), np.zeros(count, dtype=np.int64)
        np.minimum.at(low, groups, np.maximum(positions - so_far, 0))
        np.maximum.at(high, groups, positions + 1)
        high = np.minimum(high, self.state.counts[self.slots])
        low = np.minimum(low, high)
        near = self.state.values[ranges(self.state.starts[self.slots] + low, high - low)]
        sizes = high - low + self.counts
        starts = np.cumsum(sizes) - sizes
        values = np.empty(int(sizes.sum()))
        values[ranges(starts, high - low)] = near
        values[ranges(starts + high - low, self.counts)] = self.values
        order = order_within(sizes, values)
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = ranges(np.zeros(count, dtype=np.int64), sizes)
        stops = starts[groups] + (high - low)[groups] + so_far
        chosen = kth_of_ranges(ranks, starts[groups], stops, positions - low[groups])
        found[rows] = values[order[starts[groups] + chosen]]
        return found


def numbers_there(column: pa.Array, groups: RowGroups) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers that are not missing, in group order, and a mask of the rows that have one."""
    there = valid(column)[groups.order]
    numbers = column.fill_null(0).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers[groups.order[there]], there


def in_order(counts: np.ndarray, values: np.ndarray) -> OrderedValues:
    """Return values sorted within their groups, given the number of values of each group."""
    return OrderedValues(counts, values[order_within(counts, values)])


def order_within(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the stable sort order of values within groups of ``counts`` values each, with NaN last.

    Examples
    --------
    >>> order_within(np.array([3, 2]), np.array([2.0, np.nan, 1.0, 0.0, -0.0])).tolist()
    [2, 0, 1, 3, 4]
    """
    keys = as_ordered_ints(values)
    order = order_of([np.where(np.isnan(values), np.iinfo(np.int64).max, keys)])
    if len(counts) <= 1:
        return order
    # A stable sort by group keeps the order of the values of each group.
    return order[order_of([np.repeat(np.arange(len(counts)), counts)[order]])]


def places_behind(values: np.ndarray, firsts: np.ndarray, stops: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Return where to insert each number in a sorted range ``firsts..stops`` of ``values``: behind equal values, with NaN last.

    Examples
    --------
    >>> places_behind(np.array([1.0, 2.0, np.nan, 0.0]), np.array([0, 0, 3]), np.array([3, 3, 4]), np.array([1.0, np.nan, -1.0])).tolist()
    [1, 3, 3]
    """
    low, high = firsts.copy(), stops.copy()
    is_nan = np.isnan(added)
    while (low < high).any():
        middle = (low + high) >> 1
        goes_behind = (low < high) & ((values[np.minimum(middle, len(values) - 1)] <= added) | is_nan)
        low = np.where(goes_behind, middle + 1, low)
        high = np.where(goes_behind, high, middle)
    return low
