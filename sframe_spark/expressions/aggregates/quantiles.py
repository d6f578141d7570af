"""The numbers of groups as a state column from which quantiles are read, and the aggregates of these. NaN counts as the largest number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError, UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.counts import known
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows, group_sizes
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, Growth, State, StateColumn
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import ARRAY, FLOAT, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.exact_running_sums_in_two_words import grouped_cumsum
    from sframe_spark.compute.key_runs import ranges
    from sframe_spark.compute.row_groups import GroupsOfRows
    from sframe_spark.compute.sorting_and_searching import as_ordered_ints, order_of
    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.compute.wavelet_matrix import kth_of_ranges

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
# Lists with more numbers together than this many times those of the pool are not sorted one by one.
MAX_OVERLAP = 4
# In lists of so many numbers on average those at some ranks are selected list by list; shorter ones are sorted all together.
MIN_SELECTED = 512


@attrs.frozen(eq=False)
class NumberLists:
    """Lists of numbers: each is a range of a pool. The ranges may overlap, as those of windows do.

    Parameters
    ----------
    starts, sizes
        The range of each list.
    numbers
        The pool.
    are_sorted
        Whether each list is ascending, with NaN last and equal numbers in row order; otherwise it is in row order, or consists of several lists that
        are ascending.
    """

    starts: np.ndarray
    sizes: np.ndarray
    numbers: np.ndarray
    are_sorted: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def nbytes(self) -> int:
        """Bytes of ranges and numbers."""
        return self.starts.nbytes + self.sizes.nbytes + self.numbers.nbytes

    def take(self, entries: np.ndarray | slice) -> NumberLists:
        """Return some of the lists, with the same pool, or with part of it if that is much smaller."""
        result = attrs.evolve(self, starts=self.starts[entries], sizes=self.sizes[entries])
        return result.packed() if 2 * int(result.sizes.sum()) < len(self.numbers) else result

    @classmethod
    def joined(cls, states: Sequence[NumberLists | NumbersSoFar]) -> NumberLists:
        """Return the lists of several states, one state after the other."""
        lists = [state.as_lists() for state in states]
        before = np.cumsum([0, *(len(state.numbers) for state in lists[:-1])])
        starts = np.concatenate([state.starts + offset for state, offset in zip(lists, before, strict=True)])
        sizes, numbers = (np.concatenate([getattr(state, name) for state in lists]) for name in ("sizes", "numbers"))
        return cls(starts, sizes, numbers, all(state.are_sorted for state in lists))

    def as_lists(self) -> NumberLists:
        """Return the lists themselves."""
        return self

    def packed(self) -> NumberLists:
        """Return the same lists with a pool of just their numbers, one list after the other."""
        ends = np.cumsum(self.sizes)
        starts = ends - self.sizes
        if len(self.numbers) == (int(ends[-1]) if len(ends) else 0) and bool((self.starts == starts).all()):
            return self
        return NumberLists(starts, self.sizes, self.numbers[ranges(self.starts, self.sizes)], self.are_sorted)

    def sorted(self) -> NumberLists:
        """Return the lists sorted, one list after the other."""
        packed = self.packed()
        if packed.are_sorted:
            return packed
        return NumberLists(packed.starts, packed.sizes, packed.numbers[order_within(packed.sizes, packed.numbers)], True)

    def at(self, places: Sequence[RankOfCount]) -> np.ndarray:
        """Return the numbers at some ranks of each list, in a row each; zeros for an empty list."""
        result, present = np.zeros((len(self), len(places))), np.flatnonzero(self.sizes)
        sizes = self.sizes[present]
        ranks = [rank(sizes) for rank in places]
        if not self.are_sorted and MIN_SELECTED * max(len(present), 1) <= sizes.sum() <= MAX_OVERLAP * len(self.numbers):
            chosen, starts = np.stack(ranks, axis=1), self.starts[present]
            for row, (start, size, wanted) in enumerate(zip(starts.tolist(), sizes.tolist(), chosen, strict=True)):
                result[present[row]] = np.partition(self.numbers[start : start + size], np.unique(wanted))[wanted]
            return result
        if self.are_sorted or sizes.sum() <= MAX_OVERLAP * len(self.numbers):
            lists = self if self.are_sorted else self.sorted()
            for column, rank in enumerate(ranks):
                result[present, column] = lists.numbers[lists.starts[present] + rank]
            return result
        order = order_within(np.array([len(self.numbers)]), self.numbers)
        positions = np.empty(len(order), dtype=np.int64)
        positions[order] = np.arange(len(order))
        starts = self.starts[present]
        for column, rank in enumerate(ranks):
            result[present, column] = self.numbers[order[kth_of_ranges(positions, starts, starts + sizes, rank)]]
        return result


RankOfCount = Callable[[np.ndarray], np.ndarray]
"""From counts of numbers to a rank among so many sorted ones; one more number changes it by at most one."""


def rank_of(share: float, counts: np.ndarray) -> np.ndarray:
    """Return the position of a quantile among so many sorted numbers: that share of the numbers comes before it, rounded down."""
    return np.minimum((share * counts).astype(np.int64), counts - 1)


def rank_below(share: float, counts: np.ndarray) -> np.ndarray:
    """Return the position of the number at, or next below, a share of the way from the first to the last of so many sorted numbers.

    Examples
    --------
    >>> rank_below(0.5, np.array([1, 2, 3])).tolist(), rank_above(0.5, np.array([1, 2, 3])).tolist()
    ([0, 0, 1], [0, 1, 1])
    """
    return np.floor(share * (counts - 1)).astype(np.int64)


def rank_above(share: float, counts: np.ndarray) -> np.ndarray:
    """Return the position of the number at, or next above, a share of the way from the first to the last of so many sorted numbers."""
    return np.ceil(share * (counts - 1)).astype(np.int64)


@attrs.frozen(eq=False)
class NumbersSoFar:
    """The numbers of the rows of a group up to each row of a batch.

    Parameters
    ----------
    before
        The sorted numbers of the earlier rows of each group.
    counts
        How many numbers each group has in the batch.
    numbers
        The numbers in the batch, group by group.
    groups
        Group of each row.
    so_far
        How many numbers the group of each row has in the batch up to the row.
    order
        The rows in the order in which their quantiles are wanted, which are computed group by group; None if this is the same.
    """

    before: NumberLists
    counts: np.ndarray
    numbers: np.ndarray
    groups: np.ndarray
    so_far: np.ndarray
    order: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.before.nbytes + self.counts.nbytes + self.numbers.nbytes + self.groups.nbytes + self.so_far.nbytes

    def take(self, entries: np.ndarray | slice) -> NumbersSoFar:
        """Return the numbers up to some of the rows."""
        if self.order is not None:
            entries = self.order[entries]
        if not isinstance(entries, slice) and len(entries) == len(self):
            return attrs.evolve(self, order=entries)
        return attrs.evolve(self, groups=self.groups[entries], so_far=self.so_far[entries], order=None)

    @classmethod
    def joined(cls, states: Sequence[NumberLists | NumbersSoFar]) -> NumberLists:
        """Return the lists of several states, one state after the other."""
        return NumberLists.joined(states)

    def as_lists(self) -> NumberLists:
        """Return the numbers up to each row as lists."""
        both = with_more(self.before.starts, self.before.sizes, self.before.numbers, self.counts, self.numbers)
        lists = NumberLists(both.starts[self.groups], self.before.sizes[self.groups] + self.so_far, both.numbers)
        return lists if self.order is None else lists.take(self.order)

    @property
    def sizes(self) -> np.ndarray:
        """How many numbers each row has."""
        sizes = self.before.sizes[self.groups] + self.so_far
        return sizes if self.order is None else sizes[self.order]

    def at(self, places: Sequence[RankOfCount]) -> np.ndarray:
        """Return the numbers at some ranks for each row, in a row each; zeros where there is no number yet."""
        result = np.zeros((len(self), len(places)))
        for column, rank in enumerate(places):
            result[:, column] = self._at(rank)
        return result if self.order is None else result[self.order]

    def _at(self, rank: RankOfCount) -> np.ndarray:
        earlier, starts, count = self.before.sizes, self.before.starts, len(self.counts)
        totals = earlier[self.groups] + self.so_far
        rows, result = np.flatnonzero(totals), np.zeros(len(totals))
        groups, so_far = self.groups[rows], self.so_far[rows]
        ranks = rank(totals[rows])
        # Each number of the batch moves the position among the earlier numbers by at most one, so only numbers in this range matter.
        low, high = np.full(count, np.iinfo(np.int64).max), np.zeros(count, dtype=np.int64)
        np.minimum.at(low, groups, np.maximum(ranks - so_far, 0))
        np.maximum.at(high, groups, ranks + 1)
        high = np.minimum(high, earlier)
        low = np.minimum(low, high)
        # The earlier numbers in the range, followed by the numbers of the batch, group by group.
        near = with_more(starts + low, high - low, self.before.numbers, self.counts, self.numbers)
        order = order_within(near.sizes, near.numbers)
        positions = np.empty(len(order), dtype=np.int64)
        positions[order] = ranges(np.zeros(count, dtype=np.int64), near.sizes)
        begins = near.starts[groups]
        chosen = kth_of_ranges(positions, begins, begins + (high - low)[groups] + so_far, ranks - low[groups])
        result[rows] = near.numbers[order[begins + chosen]]
        return result


def with_more(starts: np.ndarray, sizes: np.ndarray, numbers: np.ndarray, counts: np.ndarray, more: np.ndarray) -> NumberLists:
    """Return lists, each with further numbers at its end, of which there are ``counts`` for each list, list by list."""
    both = sizes + counts
    ends = np.cumsum(both)
    begins = ends - both
    result = np.empty(int(ends[-1]) if len(ends) else 0)
    result[ranges(begins, sizes)] = numbers[ranges(starts, sizes)]
    result[ranges(begins + sizes, counts)] = more
    return NumberLists(begins, both, result)


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


@attrs.frozen
class CollectedNumbers(StateColumn):
    """The numbers of a column, as floats.

    Parameters
    ----------
    column
        Position of the column.
    """

    # Which of two equal zeros a quantile is depends on their order.
    needs_order = True
    growth = Growth.ROWS
    column: int

    def empty(self, groups: int) -> State:
        nothing = np.zeros(groups, dtype=np.int64)
        return NumberLists(nothing, nothing, np.zeros(0), True)

    def _numbers(self, rows: InputRows) -> np.ndarray:
        return rows.floats(self.column, (self.column,))

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        valid, order, sizes = rows.valid((self.column,)), groups.order, groups.sizes
        if valid is not None:
            order, sizes = order[valid[order]], groups.totals(valid)
        return NumberLists(np.cumsum(sizes) - sizes, sizes, self._numbers(rows)[order])

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        lists = state.as_lists().take(groups.order).packed()
        sizes = np.zeros(groups.count, dtype=np.int64)
        np.add.at(sizes, groups.codes, state.as_lists().sizes)
        return NumberLists(np.cumsum(sizes) - sizes, sizes, lists.numbers, lists.are_sorted and groups.count == len(state))

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        valid, sizes, numbers = rows.valid((self.column,)), group_sizes(starts, rows.count), self._numbers(rows)
        present = np.ones(rows.count, dtype=np.int64) if valid is None else valid.astype(np.int64)
        counts = np.add.reduceat(present, starts) if len(starts) else sizes
        numbers = numbers if valid is None else numbers[valid]
        so_far = grouped_cumsum(present, starts, np.zeros(len(starts), dtype=np.int64)) if len(starts) else present
        earlier = before.as_lists().sorted()
        every = NumbersSoFar(earlier, counts, numbers, np.repeat(np.arange(len(starts)), sizes), so_far)
        return every, self._inserted(earlier, counts, numbers)

    def _inserted(self, earlier: NumberLists, counts: np.ndarray, numbers: np.ndarray) -> NumberLists:
        """Return sorted lists with further numbers, of which there are ``counts`` for each list, list by list."""
        more = numbers[order_within(counts, numbers)]
        first = np.repeat(earlier.starts, counts)
        places = places_behind(earlier.numbers, first, first + np.repeat(earlier.sizes, counts), more)
        both = earlier.sizes + counts
        return NumberLists(np.cumsum(both) - both, both, np.insert(earlier.numbers, places, more), True)

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        valid, numbers = rows.valid((self.column,)), self._numbers(rows)
        if valid is None:
            return NumberLists(windows.starts, windows.lengths, numbers)
        before = np.concatenate([[0], np.cumsum(valid)])
        starts = before[windows.starts]
        return NumberLists(starts, before[windows.stops] - starts, numbers[valid])

    def to_arrow(self, state: State) -> list[pa.Array]:
        lists = state.as_lists().sorted()
        offsets = pa.array(np.append(lists.starts, len(lists.numbers)))
        return [pa.LargeListArray.from_arrays(offsets, pa.array(lists.numbers, from_pandas=False))]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        offsets = columns[0].offsets.to_numpy(zero_copy_only=False)
        return NumberLists(offsets[:-1] - offsets[0], np.diff(offsets), columns[0].values.to_numpy()[offsets[0] : offsets[-1]], True)


def quantile(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    """Return, for each share in ``parameters``, the number below which that share of the numbers lies; zeros if all are missing."""

    def finish(lists: NumberLists | NumbersSoFar, *, last: bool) -> pa.Array:
        # Zeros of both signs are equal, so their order must not decide which sign a quantile has: it has none, as least and greatest values.
        return vectors(lists.at([partial(rank_of, share) for share in parameters]) + 0.0)

    return ColumnAggregate((CollectedNumbers(columns[0]),), finish)


def vectors(numbers: np.ndarray, is_known: np.ndarray | None = None) -> pa.Array:
    """Return the rows of a table of numbers as vectors; missing where ``is_known`` is false."""
    rows, width = numbers.shape
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * width, pa.int32())
    values, mask = pa.array(numbers.ravel(), from_pandas=False), None if is_known is None or is_known.all() else pa.array(~is_known)
    return pa.ListArray.from_arrays(offsets, values, type=ARRAY.physical, mask=mask)


def interpolated(share: float, way: str, counts: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Return the quantile between the numbers next below and above its place.

    Source: the methods of ``numpy.quantile`` with these names; ``linear`` rounds as NumPy does.

    Examples
    --------
    >>> [interpolated(0.25, way, np.array([2]), np.array([1.0]), np.array([3.0])).tolist() for way in INTERPOLATIONS]
    [[1.5], [1.0], [3.0], [2.0], [1.0]]
    """
    if way in ("lower", "higher"):
        return below if way == "lower" else above
    place = share * (counts - 1)
    part, is_between = place - np.floor(place), below != above
    if way == "nearest":
        # Of two numbers equally near the one with the even position is taken.
        return np.where(np.rint(place) > np.floor(place), above, below)
    with np.errstate(invalid="ignore", over="ignore"):
        if way == "midpoint":
            between = 0.5 * below + 0.5 * above
        else:
            step = above - below
            between = np.where(part < 0.5, below + step * part, above - step * (1.0 - part))
        return np.where(is_between & (part > 0.0), between, below)


def interpolated_quantile(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    """Return the quantile for a share, or a vector of those for several, at a share of the way from the least to the greatest number.

    It is missing without a number.
    """
    way, wanted = parameters
    shares = wanted if isinstance(wanted, tuple) else (wanted,)
    places = [partial(rank, share) for share in shares for rank in (rank_below, rank_above)]

    def finish(lists: NumberLists | NumbersSoFar, *, last: bool) -> pa.Array:
        counts = lists.sizes
        numbers, is_known, some = lists.at(places), counts > 0, np.maximum(counts, 1)
        found = [interpolated(share, way, some, numbers[:, 2 * i], numbers[:, 2 * i + 1]) + 0.0 for i, share in enumerate(shares)]
        return vectors(np.stack(found, axis=1), is_known) if isinstance(wanted, tuple) else known(found[0], is_known)

    return ColumnAggregate((CollectedNumbers(columns[0]),), finish)


def _infer_quantile(types: Types, parameters: Parameters) -> ColumnType:
    require("QUANTILE", types[0], ("int", "float"))
    if not all(isinstance(share, (int, float)) and 0 <= share <= 1 for share in parameters):
        raise UnsupportedOperationError(f"quantiles must be numbers between 0 and 1, got {', '.join(map(str, parameters))}")
    return ARRAY


def _infer_interpolated(types: Types, parameters: Parameters) -> ColumnType:
    if len(parameters) != 2:
        raise UnsupportedOperationError(f"an interpolated quantile takes a method and one or more numbers, got {', '.join(map(str, parameters))}")
    way, wanted = parameters
    _infer_quantile(types, wanted if isinstance(wanted, tuple) else (wanted,))
    if way not in INTERPOLATIONS:
        raise InvalidArgumentError(f"interpolate must be one of {', '.join(INTERPOLATIONS)}, got {way!r}")
    return ARRAY if isinstance(wanted, tuple) else FLOAT


def _quantile_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    return F.sort_array(F.collect_list(columns[0].cast("double")))


def _finish_quantile(column: Column, types: Types, parameters: Parameters) -> Column:
    count = F.size(column)
    indices = [F.least(count - 1, F.floor(F.lit(float(share)) * count).cast("int")) for share in parameters]
    values = [F.when(count == 0, F.lit(0.0)).otherwise(F.get(column, index) + F.lit(0.0)) for index in indices]
    return F.array(*values).cast("array<double>")


define_aggregate(
    "quantile",
    _infer_quantile,
    column=_quantile_column,
    finish=_finish_quantile,
    order_sensitive=False,
    of_columns=quantile,
)
define_aggregate("interpolated_quantile", _infer_interpolated, order_sensitive=False, of_columns=interpolated_quantile, skips_missing=True)
