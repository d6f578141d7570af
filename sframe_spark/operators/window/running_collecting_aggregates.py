"""Running aggregates whose state holds values of each group: lists, distinct values and their number, value counts, run counts, and quantiles."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_equality_and_codes import codes_of, comparable, comparable_values, tokens_of
from sframe_spark.compute.key_runs import by_appearance, differs, ranges
from sframe_spark.compute.sorting_and_searching import as_ordered_ints, order_of
from sframe_spark.operators.window.segmented_scan import RowGroups, totals_so_far, valid
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY
from sframe_spark.types import ARRAY, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType
from sframe_spark.values.arrow_layouts import in_one_array
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.nested.json_items import STORED_DICT, STORED_LIST, in_brackets, texts_of_items
from sframe_spark.values.python_to_arrow import encode_plain

# Number of values that are put into lists at a time, which limits the memory for copies.
VALUES_PER_BATCH = 1 << 18


@attrs.frozen(eq=False)
class GroupValues:
    """The values of some groups, stored group by group.

    Parameters
    ----------
    counts
        Number of values of each group.
    columns
        One or more columns of the values, all of the same length.
    """

    counts: np.ndarray
    columns: tuple[pa.Array, ...]

    @classmethod
    def nothing(cls, groups: int, types: Sequence[pa.DataType]) -> GroupValues:
        """Return groups without values."""
        return cls(np.zeros(groups, dtype=np.int64), tuple(pa.array([], data_type) for data_type in types))

    @property
    def starts(self) -> np.ndarray:
        """Position of the first value of each group."""
        return np.cumsum(self.counts) - self.counts

    def group_of_values(self) -> np.ndarray:
        """Return the group of each value."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def widened(self, groups: int) -> GroupValues:
        """Return the groups with empty groups added, so that there are ``groups`` groups."""
        return GroupValues(widened_with(self.counts, groups, 0), self.columns)

    def of_groups(self, groups: np.ndarray) -> GroupValues:
        """Return the values of some of the groups."""
        if len(groups) == len(self.counts) and bool((groups == np.arange(len(groups))).all()):
            return self
        positions = pa.array(ranges(self.starts[groups], self.counts[groups]))
        return GroupValues(self.counts[groups], tuple(column.take(positions) for column in self.columns))

    def filtered(self, mask: np.ndarray) -> GroupValues:
        """Return the values where a mask is true."""
        if mask.all():
            return self
        counts = np.bincount(self.group_of_values()[mask], minlength=len(self.counts))
        return GroupValues(counts, tuple(column.filter(pa.array(mask)) for column in self.columns))

    def with_more(self, more: GroupValues, groups: np.ndarray) -> GroupValues:
        """Return the values with more values appended to groups; ``groups`` is the group of each entry of ``more``, without duplicates."""
        added = len(more.columns[0])
        if not added:
            return self
        counts = self.counts.copy()
        counts[groups] += more.counts
        columns = tuple(in_one_array([first, second]) for first, second in zip(self.columns, more.columns, strict=True))
        if len(counts) == 1:
            return GroupValues(counts, columns)
        starts, before = np.cumsum(counts) - counts, len(self.columns[0])
        positions = np.empty(before + added, dtype=np.int64)
        positions[ranges(starts, self.counts)] = np.arange(before)
        positions[ranges(starts[groups] + self.counts[groups], more.counts)] = np.arange(before, before + added)
        return GroupValues(counts, tuple(column.take(pa.array(positions)) for column in columns))


def widened_with(numbers: np.ndarray, count: int, filled: int) -> np.ndarray:
    """Return numbers, padded with ``filled`` to ``count`` entries."""
    return np.concatenate([numbers, np.full(count - len(numbers), filled, dtype=numbers.dtype)])


def batches_by_size(lengths: np.ndarray, max_items: int) -> Iterator[slice]:
    """Yield slices of consecutive entries with at most ``max_items`` items together, or with a single entry that has more.

    Examples
    --------
    >>> [(batch.start, batch.stop) for batch in batches_by_size(np.array([3, 1, 1, 9, 0]), 4)]
    [(0, 2), (2, 3), (3, 5)]
    """
    ends, first = np.cumsum(lengths), 0
    while first < len(lengths):
        before = int(ends[first - 1]) if first else 0
        stop = max(int(np.searchsorted(ends, before + max_items, "right")), first + 1)
        # Entries without items go with the entries before them.
        stop = int(np.searchsorted(ends, ends[stop - 1], "right"))
        yield slice(first, stop)
        first = stop


def lists_of_firsts(columns: Sequence[pa.Array], starts: np.ndarray, lengths: np.ndarray, result: ColumnType) -> pa.Array:
    """Return for each row a list or dict of ``lengths`` values from ``starts`` on: an Arrow list or map, or JSON if the values are JSON items.

    Raises
    ------
    ArrowCapacityError
        If the values are more than an array can hold; this is raised before any list is built.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST, INT, list_of
    >>> lists_of_firsts([pa.array([5, 6, 7])], np.array([0, 2, 0]), np.array([1, 1, 2]), list_of(INT)).to_pylist()
    [[5], [7], [5, 6]]
    >>> lists_of_firsts([pa.array(["5", "[6]"])], np.array([0, 0]), np.array([0, 2]), ENCODED_LIST).to_pylist()
    ['[]', '[5,[6]]']
    """
    refuse_more_than_an_array(columns, starts, lengths, extra_bytes=1)
    lists = [
        _lists([column.take(pa.array(positions)) for column in columns], lengths[rows], result) for rows, positions in list_batches(starts, lengths)
    ]
    return in_one_array(lists) if lists else pa.array([], result.physical)


def list_batches(starts: np.ndarray, lengths: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield slices of rows, each with the positions of the values in the lists of these rows."""
    for rows in batches_by_size(lengths, VALUES_PER_BATCH):
        yield rows, ranges(starts[rows], lengths[rows])


def _lists(columns: Sequence[pa.Array], lengths: np.ndarray, result: ColumnType) -> pa.Array:
    if result.is_encoded:
        return in_brackets(lengths, columns[0], brackets_of(result))
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    array_class = pa.MapArray if pa.types.is_map(result.physical) else pa.ListArray
    return array_class.from_arrays(offsets, *columns, type=result.physical)


def brackets_of(result: ColumnType) -> tuple[str, str, str]:
    """Return opening bracket, separator and closing bracket of stored lists or dicts."""
    return STORED_LIST if result.kind == "list" else STORED_DICT


def refuse_more_than_an_array(columns: Sequence[pa.Array], starts: np.ndarray, lengths: np.ndarray, extra_bytes: int = 0) -> None:
    """Check that lists of ``lengths`` values from ``starts`` on, with ``extra_bytes`` for each string, fit into one array.

    Raises
    ------
    ArrowCapacityError
        If they do not fit.
    """
    for column in columns:
        size = (extra_bytes if pa.types.is_string(column.type) else 1) * int(lengths.sum())
        if pa.types.is_string(column.type):
            ends = np.concatenate([[0], np.cumsum(pc.binary_length(column).fill_null(0).to_numpy(), dtype=np.int64)])
            size += int((ends[starts + lengths] - ends[starts]).sum())
        if size > MAX_BYTES_OF_ARRAY:
            raise pa.ArrowCapacityError("values so far are more than an array holds")


# Running lists, distinct values and dicts. They only grow, so the result of each row is a prefix of the last result of its group.

Types = Sequence[ColumnType]


@attrs.frozen(eq=False)
class ListAggregate:
    """A running ``concat`` or ``distinct``. The state is the values of each group, with columns by which they are compared for equality.

    Parameters
    ----------
    function
        ``concat`` of one column (lists) or of a column of keys and one of values (dicts), or ``distinct``.
    types
        Types of the argument columns.
    result
        Type of the result.
    """

    function: str
    types: tuple[ColumnType, ...]
    result: ColumnType

    @property
    def has_each_once(self) -> bool:
        """Whether only the first of equal values (or keys) is kept."""
        return self.function == "distinct" or len(self.types) == 2

    def empty(self, groups: int) -> GroupValues:
        nothing = self._candidates([pa.array([], column_type.physical) for column_type in self.types])
        return GroupValues.nothing(groups, [column.type for column in nothing])

    def widened(self, state: GroupValues, groups: int) -> GroupValues:
        return state.widened(groups)

    def advance(self, state: GroupValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, GroupValues]:
        """Return the lists of each row of a batch, and the state after it."""
        before, (rows, present) = state.of_groups(slots), self._in_order(columns, groups)
        new = self._are_new(before, rows)
        more = rows.filtered(new)
        after, grows = before.with_more(more, np.arange(len(slots))), np.zeros(groups.rows, dtype=np.int64)
        grows[present] = new
        sizes = groups.stops - groups.starts
        lengths = groups.to_row_order(totals_so_far(grows, groups) + np.repeat(before.counts, sizes))
        starts = groups.to_row_order(np.repeat(after.starts, sizes))
        values = after.columns[: self._value_columns()]
        return lists_of_firsts(values, starts, lengths, self.result), state.with_more(more, slots)

    def of_rows(self, columns: Sequence[pa.Array], groups: RowGroups) -> GroupValues:
        values = self._in_order(columns, groups)[0]
        return values.filtered(self._are_new(self.empty(len(groups.starts)), values))

    def merged(self, first: GroupValues, second: GroupValues, slots: np.ndarray) -> GroupValues:
        """Return the values of both states, the values of the first state first."""
        return first.with_more(second.filtered(self._are_new(first.of_groups(slots), second)), slots)

    def _in_order(self, columns: Sequence[pa.Array], groups: RowGroups) -> tuple[GroupValues, np.ndarray]:
        """Return the values that rows add to their groups, and the positions of these rows in group order. Missing values and keys add nothing."""
        order = groups.order
        present = np.arange(groups.rows)
        if self.function == "concat" and columns[0].null_count:
            present = np.flatnonzero(valid(columns[0])[order])
        counts = np.bincount(groups.group_of_rows()[present], minlength=len(groups.starts))
        positions = pa.array(order[present])
        return GroupValues(counts, tuple(self._candidates([column.take(positions) for column in columns]))), present

    def _candidates(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Return the values of rows, followed by columns by which they are compared for equality."""
        values = list(columns)
        if self.function == "distinct" and self.types[0] == FLOAT:
            # -0.0 and 0.0 are one value, stored as 0.0.
            values = [pc.if_else(pc.equal(columns[0], 0.0), 0.0, columns[0])]
        if self.result.is_encoded:
            texts = [texts_within(column, column_type) for column, column_type in zip(columns, self.types, strict=True)]
            values = texts if len(texts) == 1 else [dict_entries(*texts)]
        return [*values, *comparable_values(columns[0], self.types[0])] if self.has_each_once else values

    def _value_columns(self) -> int:
        return 1 if self.result.is_encoded else len(self.types)

    def _are_new(self, before: GroupValues, rows: GroupValues) -> np.ndarray:
        """Return which rows have a value that is new to their group."""
        if not self.has_each_once:
            return np.ones(len(rows.columns[0]), dtype=bool)
        return first_of_each(before, rows, self._value_columns())[0]


def first_of_each(before: GroupValues, rows: GroupValues, skipped: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the values that are new to their groups, comparing all columns except the first ``skipped``.

    Return a mask of the rows with a new value; a code for each pair of a group and a value, of the earlier values followed by those of the rows; and
    the first position of each code.
    """
    columns = [pa.concat_arrays([first, second]) for first, second in zip(before.columns[skipped:], rows.columns[skipped:], strict=True)]
    earlier = len(before.columns[0])
    if len(columns[0]) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing.astype(bool), nothing, nothing
    codes = codes_of(columns)
    groups = np.concatenate([before.group_of_values(), rows.group_of_values()])
    numbers, firsts = by_appearance(groups * (int(codes.max()) + 1) + codes)
    new = np.zeros(len(codes), dtype=bool)
    new[firsts] = True
    return new[earlier:], numbers, firsts


def dict_entries(keys: pa.Array, values: pa.Array) -> pa.Array:
    """Return entries of stored dicts, from the JSON of keys and values.

    Examples
    --------
    >>> dict_entries(pa.array(['"a"']), pa.array(["1"])).to_pylist()
    ['["a",1]']
    """
    return pc.binary_join_element_wise("[", pc.binary_join_element_wise(keys, values, ","), "]", "")


def texts_within(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return the JSON of each value, as in stored lists and dicts.

    Examples
    --------
    >>> from sframe_spark.types import list_of
    >>> texts_within(pa.array([[1], None]), list_of(INT)).to_pylist()
    ['[1]', 'null']
    """
    if column_type in (INT, FLOAT, STR):
        return texts_of_items(column)
    lists = encode_plain([[value] for value in decode(column, column_type)], ENCODED_LIST)
    return pc.utf8_slice_codeunits(lists, 1, -1)


# Running count of distinct values, in time linear in the rows. The state is a set of values per group.

SeenValues = list[frozenset[Any]]


@attrs.frozen(eq=False)
class DistinctCountAggregate:
    """The number of distinct values so far, with missing and NaN as one value each. The state is a set of values per group.

    Parameters
    ----------
    column_type
        Type of the argument column.
    """

    column_type: ColumnType

    def empty(self, groups: int) -> SeenValues:
        return [frozenset()] * groups

    def widened(self, state: SeenValues, groups: int) -> SeenValues:
        return state + self.empty(groups - len(state))

    def advance(self, state: SeenValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, SeenValues]:
        """Return the number of distinct values for each row of a batch, and the state after it."""
        firsts, tokens = self._first_of_each(columns[0], groups)
        slot_of_rows = slots[groups.group_of_rows()]
        is_new = [token not in state[slot] for slot, token in zip(slot_of_rows[firsts].tolist(), tokens, strict=True)]
        new = np.zeros(groups.rows, dtype=np.int64)
        new[firsts] = is_new
        counts = np.array([len(seen) for seen in state], dtype=np.int64)[slot_of_rows] + totals_so_far(new, groups)
        values = values_by_group(groups, firsts[is_new], itertools.compress(tokens, is_new))
        return pa.array(groups.to_row_order(counts)), self.merged(state, values, slots)

    def of_rows(self, columns: Sequence[pa.Array], groups: RowGroups) -> SeenValues:
        return values_by_group(groups, *self._first_of_each(columns[0], groups))

    def merged(self, first: SeenValues, second: SeenValues, slots: np.ndarray) -> SeenValues:
        after = list(first)
        for slot, seen in zip(slots.tolist(), second, strict=True):
            after[slot] = first[slot] | seen if seen else first[slot]
        return after

    def _first_of_each(self, column: pa.Array, groups: RowGroups) -> tuple[np.ndarray, list[Any]]:
        """Return the position of the first row with each value in each group, in group order, and the token of the value."""
        values = comparable_values(column, self.column_type)
        codes = codes_of(values)[groups.order]
        pairs = groups.group_of_rows() * (int(codes.max(initial=0)) + 1) + codes
        firsts = np.unique(pairs, return_index=True)[1]
        positions = pa.array(groups.order[firsts])
        return firsts, tokens_of([array.take(positions) for array in values])


def values_by_group(groups: RowGroups, rows: np.ndarray, tokens: Iterable[Any]) -> SeenValues:
    """Return the tokens of each group, given a token for each of some rows in group order."""
    values: list[set[Any]] = [set() for _ in groups.tokens]
    for group, token in zip(groups.group_of_rows()[rows].tolist(), tokens, strict=True):
        values[group].add(token)
    return list(map(frozenset, values))


# Running counts of each value. The state is each group's values in order of appearance, with their counts.

# The most bytes that a count takes in a stored dict, with the punctuation around it.
MAX_COUNT_BYTES = 24


@attrs.frozen(eq=False)
class FrequencyAggregate:
    """A running ``freq_count``. The state is each group's values (including missing) and their counts.

    Parameters
    ----------
    column_type
        Type of the argument column: int or str.
    """

    column_type: ColumnType

    def empty(self, groups: int) -> GroupValues:
        return GroupValues.nothing(groups, [self.column_type.physical, pa.int64()])

    def widened(self, state: GroupValues, groups: int) -> GroupValues:
        return state.widened(groups)

    def advance(self, state: GroupValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, GroupValues]:
        """Return the dict of counts for each row of a batch, and the state after it."""
        before, rows = state.of_groups(slots), self._in_order(columns, groups)
        after, positions, new = with_counts_added(before, rows)
        sizes = groups.stops - groups.starts
        lengths = totals_so_far(new.astype(np.int64), groups) + np.repeat(before.counts, sizes)
        starts, numbers = (groups.to_row_order(result) for result in (np.repeat(after.starts, sizes), np.arange(groups.rows)))
        texts = stored_counts(after, positions, starts, groups.to_row_order(lengths), numbers)
        return texts, with_groups_replaced(state, after, slots)

    def of_rows(self, columns: Sequence[pa.Array], groups: RowGroups) -> GroupValues:
        return with_counts_added(self.empty(len(groups.starts)), self._in_order(columns, groups))[0]

    def merged(self, first: GroupValues, second: GroupValues, slots: np.ndarray) -> GroupValues:
        """Return the values and counts of both states, values of the first state first."""
        return with_groups_replaced(first, with_counts_added(first.of_groups(slots), second)[0], slots)

    def _in_order(self, columns: Sequence[pa.Array], groups: RowGroups) -> GroupValues:
        return GroupValues(groups.stops - groups.starts, (columns[0].take(pa.array(groups.order)), pa.repeat(1, groups.rows)))


def with_counts_added(before: GroupValues, more: GroupValues) -> tuple[GroupValues, np.ndarray, np.ndarray]:
    """Return groups with more values counted, the position of each of these values in the groups, and which of them are new."""
    earlier = len(before.columns[0])
    new, numbers, firsts = first_of_each(GroupValues(before.counts, before.columns[:1]), GroupValues(more.counts, more.columns[:1]), 0)
    after = before.with_more(more.filtered(new), np.arange(len(before.counts)))
    positions = np.empty(len(numbers), dtype=np.int64)
    positions[:earlier] = ranges(after.starts, before.counts)
    news = np.flatnonzero(new)
    positions[earlier:][news] = ranges(after.starts + before.counts, after.counts - before.counts)
    positions = positions[firsts][numbers]
    counts = np.zeros(len(after.columns[0]), dtype=np.int64)
    np.add.at(counts, positions, np.concatenate([before.columns[1].to_numpy(), more.columns[1].to_numpy()]))
    return GroupValues(after.counts, (after.columns[0], pa.array(counts))), positions[earlier:], new


def with_groups_replaced(state: GroupValues, groups: GroupValues, slots: np.ndarray) -> GroupValues:
    """Return a state with the values of some groups replaced."""
    stays = np.ones(len(state.counts), dtype=bool)
    stays[slots] = False
    return state.filtered(np.repeat(stays, state.counts)).with_more(groups, slots)


def stored_counts(after: GroupValues, positions: np.ndarray, starts: np.ndarray, lengths: np.ndarray, numbers: np.ndarray) -> pa.Array:
    """Return for each row a stored dict of ``lengths`` values from ``starts`` on, with their counts up to that row.

    Parameters
    ----------
    after
        The values, and their counts after the batch.
    positions
        Position in ``after`` of each row's value, in group order.
    starts, lengths
        The range of values in each row's dict.
    numbers
        Position of each row in group order.
    """
    keys = pc.binary_join_element_wise("[", texts_of_items(after.columns[0]), ",", "")
    refuse_more_than_an_array([keys], starts, lengths, MAX_COUNT_BYTES)
    # With sorted pairs of value and row, a binary search tells how often a value occurs up to a row.
    met = np.sort(positions * len(positions) + np.arange(len(positions)))
    times = np.bincount(positions, minlength=len(keys))
    base = after.columns[1].to_numpy() - np.cumsum(times)
    dicts = []
    for rows, chosen in list_batches(starts, lengths):
        counts = base[chosen] + np.searchsorted(met, chosen * len(positions) + np.repeat(numbers[rows], lengths[rows]), "right")
        entries = pc.binary_join_element_wise(keys.take(pa.array(chosen)), pa.array(counts).cast(pa.string()), "]", "")
        dicts.append(in_brackets(lengths[rows], entries, brackets_of(ENCODED_DICT)))
    return in_one_array(dicts) if dicts else pa.array([], pa.string())


# Running count of runs of equal values. The state is each group's count, and its first and last value.


@attrs.frozen(eq=False)
class RunCounts:
    """The runs of equal values in some groups.

    Parameters
    ----------
    counts
        Number of runs; zero for a group without rows.
    firsts, lasts
        Value in the first and in the last row of each group, in a form that can be compared for equality.
    """

    counts: np.ndarray
    firsts: pa.Array
    lasts: pa.Array

    def taken(self, groups: np.ndarray) -> RunCounts:
        """Return the runs of some of the groups."""
        positions = pa.array(groups)
        return RunCounts(self.counts[groups], self.firsts.take(positions), self.lasts.take(positions))

    def replaced(self, other: RunCounts, groups: np.ndarray) -> RunCounts:
        """Return the runs with the runs of some groups replaced."""
        positions = np.arange(len(self.counts))
        positions[groups] = len(positions) + np.arange(len(groups))
        chosen = pa.array(positions)
        firsts, lasts = (pa.concat_arrays(pair).take(chosen) for pair in ((self.firsts, other.firsts), (self.lasts, other.lasts)))
        return RunCounts(np.concatenate([self.counts, other.counts])[positions], firsts, lasts)


@attrs.frozen(eq=False)
class RunCountAggregate:
    """A running ``count_runs``.

    Parameters
    ----------
    column_type
        Type of the argument column.
    """

    column_type: ColumnType

    def empty(self, groups: int) -> RunCounts:
        """Return the state of groups without rows."""
        nothing = comparable(pa.array([], self.column_type.physical), self.column_type)
        return RunCounts(np.zeros(groups, dtype=np.int64), pa.nulls(groups, nothing.type), pa.nulls(groups, nothing.type))

    def widened(self, state: RunCounts, groups: int) -> RunCounts:
        more = self.empty(groups - len(state.counts))
        firsts, lasts = pa.concat_arrays([state.firsts, more.firsts]), pa.concat_arrays([state.lasts, more.lasts])
        return RunCounts(widened_with(state.counts, groups, 0), firsts, lasts)

    def advance(self, state: RunCounts, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, RunCounts]:
        """Return the number of runs for each row of a batch, and the state after it."""
        counts, rows = self._counted(columns[0], groups)
        after = joined_runs(state.taken(slots), rows)
        counts += np.repeat(after.counts - rows.counts, groups.stops - groups.starts)
        return pa.array(groups.to_row_order(counts)), state.replaced(after, slots)

    def of_rows(self, columns: Sequence[pa.Array], groups: RowGroups) -> RunCounts:
        return self._counted(columns[0], groups)[1]

    def merged(self, first: RunCounts, second: RunCounts, slots: np.ndarray) -> RunCounts:
        """Return the runs of both states. A run may continue from the first state to the second."""
        return first.replaced(joined_runs(first.taken(slots), second), slots)

    def _counted(self, column: pa.Array, groups: RowGroups) -> tuple[np.ndarray, RunCounts]:
        """Return running counts within a batch in group order, and its state."""
        values = comparable(column, self.column_type).take(pa.array(groups.order))
        begins = np.concatenate([[True], differs(values)])
        begins[groups.starts] = True
        counts = totals_so_far(begins.astype(np.int64), groups)
        firsts, lasts = (values.take(pa.array(rows)) for rows in (groups.starts, groups.stops - 1))
        return counts, RunCounts(counts[groups.stops - 1], firsts, lasts)


def joined_runs(first: RunCounts, second: RunCounts) -> RunCounts:
    """Return the runs of groups over two adjacent row ranges; a group may have no rows in the first."""
    count = len(first.counts)
    # The last value in the first range alternates with the first value in the second.
    alternating = np.arange(2 * count).reshape(2, count).T.ravel()
    goes_on = ~differs(pa.concat_arrays([first.lasts, second.firsts]).take(pa.array(alternating)))[::2]
    present = first.counts > 0
    firsts = pa.concat_arrays([first.firsts, second.firsts]).take(pa.array(np.arange(count) + np.where(present, 0, count)))
    return RunCounts(first.counts + second.counts - (present & goes_on), firsts, second.lasts)


# Running quantiles. The state is each group's sorted values, and a batch only reads the values near the requested ranks.


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
        """Return the values merged with the values of later rows; ``groups`` is the group of each entry of ``more``, without duplicates."""
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
        numbers, present = present_numbers_and_mask(columns[0], groups)
        group_of_rows, so_far = groups.group_of_rows(), totals_so_far(present.astype(np.int64), groups)
        counts = np.bincount(group_of_rows[present], minlength=len(slots))
        result = np.zeros((groups.rows, len(self.shares)))
        for column, share in enumerate(self.shares):
            result[:, column] = groups.to_row_order(quantiles_so_far(share, state, slots, counts, numbers, group_of_rows, so_far))
        offsets = pa.array(np.arange(groups.rows + 1, dtype=np.int32) * len(self.shares))
        vectors = pa.ListArray.from_arrays(offsets, pa.array(result.ravel(), from_pandas=False), type=ARRAY.physical)
        return vectors, state.merged(sorted_within_groups(counts, numbers), slots)

    def of_rows(self, columns: Sequence[pa.Array], groups: RowGroups) -> OrderedValues:
        numbers, present = present_numbers_and_mask(columns[0], groups)
        return sorted_within_groups(np.bincount(groups.group_of_rows()[present], minlength=len(groups.starts)), numbers)

    def merged(self, first: OrderedValues, second: OrderedValues, slots: np.ndarray) -> OrderedValues:
        return first.merged(second, slots)


def quantiles_so_far(
    share: float, state: OrderedValues, slots: np.ndarray, counts: np.ndarray, values: np.ndarray, groups: np.ndarray, so_far: np.ndarray
) -> np.ndarray:
    """Return for each row of a batch, in group order, the quantile of all values of its group up to the row; zero if there is no value.

    Parameters
    ----------
    share
        The requested quantile, between 0 and 1.
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
    earlier, starts = state.counts[slots], state.starts[slots]
    totals = earlier[groups] + so_far
    rows, result = np.flatnonzero(totals), np.zeros(len(totals))
    groups, so_far = groups[rows], so_far[rows]
    positions = np.minimum(totals[rows] - 1, (share * totals[rows]).astype(np.int64))
    # Each value of the batch moves the quantile's position among the earlier values by at most one, so only values in this range matter.
    low, high = np.full(len(slots), np.iinfo(np.int64).max), np.zeros(len(slots), dtype=np.int64)
    np.minimum.at(low, groups, np.maximum(positions - so_far, 0))
    np.maximum.at(high, groups, positions + 1)
    high = np.minimum(high, earlier)
    low = np.minimum(low, high)
    # The earlier values in the range, followed by the values of the batch, group by group.
    sizes = high - low + counts
    near = GroupValues(high - low, (pa.array(state.values[ranges(starts + low, high - low)]),))
    candidates = near.with_more(GroupValues(counts, (pa.array(values),)), np.arange(len(slots))).columns[0].to_numpy()
    order = order_within(sizes, candidates)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = ranges(np.zeros(len(slots), dtype=np.int64), sizes)
    begins = np.cumsum(sizes) - sizes
    chosen = kth_of_ranges(ranks, begins[groups], begins[groups] + (high - low)[groups] + so_far, positions - low[groups])
    result[rows] = candidates[order[begins[groups] + chosen]]
    return result


def present_numbers_and_mask(column: pa.Array, groups: RowGroups) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers that are not missing, in group order, and a mask of the rows that have one."""
    present = valid(column)[groups.order]
    numbers = column.fill_null(0).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers[groups.order[present]], present


def sorted_within_groups(counts: np.ndarray, values: np.ndarray) -> OrderedValues:
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
