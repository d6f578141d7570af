"""Values that groups hold, those of one group after those of the other, and lists of the first ones of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_encoding import codes_of, comparable, comparable_values, tokens_of
from sframe_spark.compute.key_runs import by_appearance, differs, ranges
from sframe_spark.operators.window.segmented_scan import RowGroups, totals_so_far, valid
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType
from sframe_spark.values.arrow_layouts import in_one_array
from sframe_spark.values.decode import decode
from sframe_spark.values.encode import encode_plain
from sframe_spark.values.nested.json_items import STORED_DICT, STORED_LIST, in_brackets, texts_of_items

# So many values are put into lists at a time, which then need not have room twice.
VALUES_PER_BATCH = 1 << 18


@attrs.frozen(eq=False)
class GroupValues:
    """Values of some groups.

    Parameters
    ----------
    counts
        How many each group has.
    columns
        The values, group by group: several columns that belong together.
    """

    counts: np.ndarray
    columns: tuple[pa.Array, ...]

    @classmethod
    def nothing(cls, groups: int, types: Sequence[pa.DataType]) -> GroupValues:
        """Of so many groups without values."""
        return cls(np.zeros(groups, dtype=np.int64), tuple(pa.array([], data_type) for data_type in types))

    @property
    def starts(self) -> np.ndarray:
        """Where the values of each group start."""
        return np.cumsum(self.counts) - self.counts

    def group_of_values(self) -> np.ndarray:
        """The group of each value."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def widened(self, groups: int) -> GroupValues:
        """The same with groups without values added up to that many."""
        return GroupValues(widened_with(self.counts, groups, 0), self.columns)

    def taken(self, groups: np.ndarray) -> GroupValues:
        """Those of some of the groups."""
        if len(groups) == len(self.counts) and bool((groups == np.arange(len(groups))).all()):
            return self
        places = pa.array(ranges(self.starts[groups], self.counts[groups]))
        return GroupValues(self.counts[groups], tuple(column.take(places) for column in self.columns))

    def kept(self, which: np.ndarray) -> GroupValues:
        """Some of the values."""
        if which.all():
            return self
        counts = np.bincount(self.group_of_values()[which], minlength=len(self.counts))
        return GroupValues(counts, tuple(column.filter(pa.array(which)) for column in self.columns))

    def with_more(self, more: GroupValues, groups: np.ndarray) -> GroupValues:
        """These values and others, which come behind those of the groups of these numbers; each is named once at most."""
        added = len(more.columns[0])
        if not added:
            return self
        counts = self.counts.copy()
        counts[groups] += more.counts
        columns = tuple(in_one_array([first, second]) for first, second in zip(self.columns, more.columns, strict=True))
        if len(counts) == 1:
            return GroupValues(counts, columns)
        starts, before = np.cumsum(counts) - counts, len(self.columns[0])
        places = np.empty(before + added, dtype=np.int64)
        places[ranges(starts, self.counts)] = np.arange(before)
        places[ranges(starts[groups] + self.counts[groups], more.counts)] = np.arange(before, before + added)
        return GroupValues(counts, tuple(column.take(pa.array(places)) for column in columns))


def widened_with(numbers: np.ndarray, count: int, filled: int) -> np.ndarray:
    """Numbers and behind them one number again and again, up to so many in all."""
    return np.concatenate([numbers, np.full(count - len(numbers), filled, dtype=numbers.dtype)])


def batches_by_size(lengths: np.ndarray, most: int) -> Iterator[slice]:
    """Neighbours that have about so many items together, or one that has more.

    Examples
    --------
    >>> [(piece.start, piece.stop) for piece in batches_by_size(np.array([3, 1, 1, 9, 0]), 4)]
    [(0, 2), (2, 3), (3, 5)]
    """
    ends, first = np.cumsum(lengths), 0
    while first < len(lengths):
        before = int(ends[first - 1]) if first else 0
        stop = max(int(np.searchsorted(ends, before + most, "right")), first + 1)
        # What has no items goes with those before it.
        stop = int(np.searchsorted(ends, ends[stop - 1], "right"))
        yield slice(first, stop)
        first = stop


def lists_of_firsts(columns: Sequence[pa.Array], starts: np.ndarray, lengths: np.ndarray, result: ColumnType) -> pa.Array:
    """For each row a list, or a dict, of so many values from one on: natively, or as text where the values are texts of items.

    Raises
    ------
    ArrowCapacityError
        If they are more than an array holds, before any is made.

    Examples
    --------
    >>> from sframe_spark.types import ENCODED_LIST, INT, list_of
    >>> lists_of_firsts([pa.array([5, 6, 7])], np.array([0, 2, 0]), np.array([1, 1, 2]), list_of(INT)).to_pylist()
    [[5], [7], [5, 6]]
    >>> lists_of_firsts([pa.array(["5", "[6]"])], np.array([0, 0]), np.array([0, 2]), ENCODED_LIST).to_pylist()
    ['[]', '[5,[6]]']
    """
    refuse_more_than_an_array(columns, starts, lengths, beside=1)
    found = [_lists([column.take(pa.array(places)) for column in columns], lengths[piece], result) for piece, places in list_batches(starts, lengths)]
    return in_one_array(found) if found else pa.array([], result.physical)


def list_batches(starts: np.ndarray, lengths: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Some rows after the other, and the places of the values that they have: so many from one on."""
    for piece in batches_by_size(lengths, VALUES_PER_BATCH):
        yield piece, ranges(starts[piece], lengths[piece])


def _lists(columns: Sequence[pa.Array], lengths: np.ndarray, result: ColumnType) -> pa.Array:
    if result.is_encoded:
        return in_brackets(lengths, columns[0], brackets_of(result))
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    array_class = pa.MapArray if pa.types.is_map(result.physical) else pa.ListArray
    return array_class.from_arrays(offsets, *columns, type=result.physical)


def brackets_of(result: ColumnType) -> tuple[str, str, str]:
    """What is before, between and after the items of stored lists or dicts."""
    return STORED_LIST if result.kind == "list" else STORED_DICT


def refuse_more_than_an_array(columns: Sequence[pa.Array], starts: np.ndarray, lengths: np.ndarray, beside: int = 0) -> None:
    """Raise where so many values from each start on, with so many bytes beside each text, are more than an array holds.

    Raises
    ------
    ArrowCapacityError
        If they are.
    """
    for column in columns:
        size = (beside if pa.types.is_string(column.type) else 1) * int(lengths.sum())
        if pa.types.is_string(column.type):
            ends = np.concatenate([[0], np.cumsum(pc.binary_length(column).fill_null(0).to_numpy(), dtype=np.int64)])
            size += int((ends[starts + lengths] - ends[starts]).sum())
        if size > MAX_BYTES_OF_ARRAY:
            raise pa.ArrowCapacityError("values so far are more than an array holds")


# Running lists, distinct values and dicts: what a group holds only grows, so each row's value is so many of the first values of the last one.

Types = Sequence[ColumnType]


@attrs.frozen(eq=False)
class ListAggregate:
    """A running ``concat`` or ``distinct``; the state is what each group's value holds, and what tells equal ones.

    Parameters
    ----------
    function
        ``concat`` of one column, or of a column of keys and one of values, or ``distinct``.
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
        """Whether only the first of equal values, or keys, is held."""
        return self.function == "distinct" or len(self.types) == 2

    def empty(self, groups: int) -> GroupValues:
        nothing = self._candidates([pa.array([], column_type.physical) for column_type in self.types])
        return GroupValues.nothing(groups, [column.type for column in nothing])

    def widened(self, state: GroupValues, groups: int) -> GroupValues:
        return state.widened(groups)

    def advance(self, state: GroupValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, GroupValues]:
        """Values of a run, row by row, and the state after it."""
        before, (rows, there) = state.taken(slots), self._in_order(columns, groups)
        new = self._are_new(before, rows)
        more = rows.kept(new)
        after, grows = before.with_more(more, np.arange(len(slots))), np.zeros(groups.rows, dtype=np.int64)
        grows[there] = new
        sizes = groups.stops - groups.starts
        lengths = groups.to_row_order(totals_so_far(grows, groups) + np.repeat(before.counts, sizes))
        starts = groups.to_row_order(np.repeat(after.starts, sizes))
        shown = after.columns[: self._value_columns()]
        return lists_of_firsts(shown, starts, lengths, self.result), state.with_more(more, slots)

    def summarized(self, state: GroupValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> GroupValues:
        return self.merged(state, self._in_order(columns, groups)[0], slots)

    def merged(self, first: GroupValues, second: GroupValues, slots: np.ndarray) -> GroupValues:
        """What both hold, that of the first before."""
        return first.with_more(second.kept(self._are_new(first.taken(slots), second)), slots)

    def _in_order(self, columns: Sequence[pa.Array], groups: RowGroups) -> tuple[GroupValues, np.ndarray]:
        """What rows would add to their groups, and which these rows are along the order of the groups; missing values and keys add nothing."""
        order = groups.order
        there = np.arange(groups.rows)
        if self.function == "concat" and columns[0].null_count:
            there = np.flatnonzero(valid(columns[0])[order])
        counts = np.bincount(groups.group_of_rows()[there], minlength=len(groups.starts))
        places = pa.array(order[there])
        return GroupValues(counts, tuple(self._candidates([column.take(places) for column in columns]))), there

    def _candidates(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """What is shown of rows, then what tells equal ones."""
        shown = list(columns)
        if self.function == "distinct" and self.types[0] == FLOAT:
            # Both zeros are one value, that without a sign.
            shown = [pc.if_else(pc.equal(columns[0], 0.0), 0.0, columns[0])]
        if self.result.is_encoded:
            texts = [texts_within(column, column_type) for column, column_type in zip(columns, self.types, strict=True)]
            shown = texts if len(texts) == 1 else [entries(*texts)]
        return [*shown, *comparable_values(columns[0], self.types[0])] if self.has_each_once else shown

    def _value_columns(self) -> int:
        return 1 if self.result.is_encoded else len(self.types)

    def _are_new(self, before: GroupValues, rows: GroupValues) -> np.ndarray:
        """Which rows hold what neither their group nor a row of it before them does."""
        if not self.has_each_once:
            return np.ones(len(rows.columns[0]), dtype=bool)
        return first_of_each(before, rows, self._value_columns())[0]


def first_of_each(before: GroupValues, rows: GroupValues, skipped: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which rows are the first of their group with their value, not counting some first columns.

    Also a number of each value of a group, for what it held before and then for rows, and where each of these is first there.
    """
    columns = [pa.concat_arrays([first, second]) for first, second in zip(before.columns[skipped:], rows.columns[skipped:], strict=True)]
    held = len(before.columns[0])
    if len(columns[0]) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing.astype(bool), nothing, nothing
    codes = codes_of(columns)
    groups = np.concatenate([before.group_of_values(), rows.group_of_values()])
    numbers, firsts = by_appearance(groups * (int(codes.max()) + 1) + codes)
    new = np.zeros(len(codes), dtype=bool)
    new[firsts] = True
    return new[held:], numbers, firsts


def entries(keys: pa.Array, values: pa.Array) -> pa.Array:
    """Entries of stored dicts, of texts of keys and of values.

    Examples
    --------
    >>> entries(pa.array(['"a"']), pa.array(["1"])).to_pylist()
    ['["a",1]']
    """
    return pc.binary_join_element_wise("[", pc.binary_join_element_wise(keys, values, ","), "]", "")


def texts_within(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """What stands for each value in stored lists and dicts.

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


# Running number of distinct values: linear in the rows, with a state of the distinct values per group.

SeenValues = list[frozenset[Any]]


@attrs.frozen(eq=False)
class DistinctAggregate:
    """Number of distinct values so far, missing and NaN each being one of them; the state is the values of each group.

    Parameters
    ----------
    column_type
        Type of the argument.
    """

    column_type: ColumnType

    def empty(self, groups: int) -> SeenValues:
        return [frozenset()] * groups

    def widened(self, state: SeenValues, groups: int) -> SeenValues:
        return state + self.empty(groups - len(state))

    def advance(self, state: SeenValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, SeenValues]:
        """Numbers of distinct values of a run, row by row, and the state after it."""
        firsts, tokens = self._first_of_each(columns[0], groups)
        slot_of_rows = slots[groups.group_of_rows()]
        added: dict[int, list[Any]] = {}
        new = np.zeros(groups.rows, dtype=np.int64)
        for place, slot, token in zip(firsts.tolist(), slot_of_rows[firsts].tolist(), tokens, strict=True):
            if token not in state[slot]:
                new[place] = 1
                added.setdefault(slot, []).append(token)
        before = np.array([len(seen) for seen in state], dtype=np.int64)[slot_of_rows]
        counts = before + totals_so_far(new, groups)
        return pa.array(groups.to_row_order(counts)), with_values(state, added)

    def summarized(self, state: SeenValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> SeenValues:
        firsts, tokens = self._first_of_each(columns[0], groups)
        added: dict[int, list[Any]] = {}
        for slot, token in zip(slots[groups.group_of_rows()][firsts].tolist(), tokens, strict=True):
            added.setdefault(slot, []).append(token)
        return with_values(state, added)

    def merged(self, first: SeenValues, second: SeenValues, slots: np.ndarray) -> SeenValues:
        return with_values(first, {slot: seen for slot, seen in zip(slots.tolist(), second, strict=True) if seen})

    def _first_of_each(self, column: pa.Array, groups: RowGroups) -> tuple[np.ndarray, list[Any]]:
        """Where each value of each group occurs first along the order of the groups, and a token of it."""
        values = comparable_values(column, self.column_type)
        codes = codes_of(values)[groups.order]
        pairs = groups.group_of_rows() * (int(codes.max(initial=0)) + 1) + codes
        firsts = np.unique(pairs, return_index=True)[1]
        places = pa.array(groups.order[firsts])
        return firsts, tokens_of([array.take(places) for array in values])


def with_values(state: SeenValues, added: dict[int, Any]) -> SeenValues:
    """A state with more values in some groups."""
    after = list(state)
    for slot, values in added.items():
        after[slot] = state[slot].union(values)
    return after


# Running counts of each value: a group's values are held in the order in which they came, with how often each did.

# Digits of a count, and what stands around it.
MAX_COUNT_BYTES = 24


@attrs.frozen(eq=False)
class FrequencyAggregate:
    """A running ``freq_count``; the state is each group's values, missing included, and their counts.

    Parameters
    ----------
    column_type
        Type of the argument: int or str.
    """

    column_type: ColumnType

    def empty(self, groups: int) -> GroupValues:
        return GroupValues.nothing(groups, [self.column_type.physical, pa.int64()])

    def widened(self, state: GroupValues, groups: int) -> GroupValues:
        return state.widened(groups)

    def advance(self, state: GroupValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, GroupValues]:
        """Counts of a run, row by row, and the state after it."""
        before, rows = state.taken(slots), self._in_order(columns, groups)
        after, places, new = added(before, rows)
        sizes = groups.stops - groups.starts
        lengths = totals_so_far(new.astype(np.int64), groups) + np.repeat(before.counts, sizes)
        starts, numbers = (groups.to_row_order(found) for found in (np.repeat(after.starts, sizes), np.arange(groups.rows)))
        texts = stored_counts(after, places, starts, groups.to_row_order(lengths), numbers)
        return texts, replaced(state, after, slots)

    def summarized(self, state: GroupValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> GroupValues:
        return self.merged(state, self._in_order(columns, groups), slots)

    def merged(self, first: GroupValues, second: GroupValues, slots: np.ndarray) -> GroupValues:
        """Values and counts of both, those of the first before."""
        return replaced(first, added(first.taken(slots), second)[0], slots)

    def _in_order(self, columns: Sequence[pa.Array], groups: RowGroups) -> GroupValues:
        return GroupValues(groups.stops - groups.starts, (columns[0].take(pa.array(groups.order)), pa.repeat(1, groups.rows)))


def added(before: GroupValues, more: GroupValues) -> tuple[GroupValues, np.ndarray, np.ndarray]:
    """What groups hold with more values, the place there of each of these, and which of them are new."""
    held = len(before.columns[0])
    new, numbers, firsts = first_of_each(GroupValues(before.counts, before.columns[:1]), GroupValues(more.counts, more.columns[:1]), 0)
    found = before.with_more(more.kept(new), np.arange(len(before.counts)))
    places = np.empty(len(numbers), dtype=np.int64)
    places[:held] = ranges(found.starts, before.counts)
    news = np.flatnonzero(new)
    places[held:][news] = ranges(found.starts + before.counts, found.counts - before.counts)
    places = places[firsts][numbers]
    counts = np.zeros(len(found.columns[0]), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([before.columns[1].to_numpy(), more.columns[1].to_numpy()]))
    return GroupValues(found.counts, (found.columns[0], pa.array(counts))), places[held:], new


def replaced(state: GroupValues, groups: GroupValues, slots: np.ndarray) -> GroupValues:
    """A state with what some of its groups hold in place of what they did."""
    kept = np.ones(len(state.counts), dtype=bool)
    kept[slots] = False
    others = state.kept(np.repeat(kept, state.counts))
    return GroupValues(others.counts, others.columns).with_more(groups, slots)


def stored_counts(held: GroupValues, places: np.ndarray, starts: np.ndarray, lengths: np.ndarray, numbers: np.ndarray) -> pa.Array:
    """For each row a stored dict of so many values from one on, with the counts they had then.

    Parameters
    ----------
    held
        The values and the counts that they have in the end.
    places
        Of each row along the order of the groups the place of its value.
    starts, lengths
        Row by row which values the dict has.
    numbers
        Where each row is along the order of the groups.
    """
    keys = pc.binary_join_element_wise("[", texts_of_items(held.columns[0]), ",", "")
    refuse_more_than_an_array([keys], starts, lengths, MAX_COUNT_BYTES)
    # Each value's rows, one after the other: those up to a row are in its count, and those behind it are not.
    met = np.sort(places * len(places) + np.arange(len(places)))
    times = np.bincount(places, minlength=len(keys))
    base = held.columns[1].to_numpy() - np.cumsum(times)
    found = []
    for piece, chosen in list_batches(starts, lengths):
        counts = base[chosen] + np.searchsorted(met, chosen * len(places) + np.repeat(numbers[piece], lengths[piece]), "right")
        entries = pc.binary_join_element_wise(keys.take(pa.array(chosen)), pa.array(counts).cast(pa.string()), "]", "")
        found.append(in_brackets(lengths[piece], entries, brackets_of(ENCODED_DICT)))
    return in_one_array(found) if found else pa.array([], pa.string())


# Running number of runs of equal values: a group's count, and its first and last value.


@attrs.frozen(eq=False)
class RunCounts:
    """What is known of the runs of some groups.

    Parameters
    ----------
    counts
        How many there are; none where a group has no row.
    firsts, lasts
        The value of the first and of the last row of each group, as they compare.
    """

    counts: np.ndarray
    firsts: pa.Array
    lasts: pa.Array

    def taken(self, groups: np.ndarray) -> RunCounts:
        """Of some of the groups."""
        places = pa.array(groups)
        return RunCounts(self.counts[groups], self.firsts.take(places), self.lasts.take(places))

    def replaced(self, other: RunCounts, groups: np.ndarray) -> RunCounts:
        """The same with others in place of the groups of these numbers."""
        places = np.arange(len(self.counts))
        places[groups] = len(places) + np.arange(len(groups))
        chosen = pa.array(places)
        firsts, lasts = (pa.concat_arrays(pair).take(chosen) for pair in ((self.firsts, other.firsts), (self.lasts, other.lasts)))
        return RunCounts(np.concatenate([self.counts, other.counts])[places], firsts, lasts)


@attrs.frozen(eq=False)
class RunCountAggregate:
    """A running ``count_runs``.

    Parameters
    ----------
    column_type
        Type of the argument.
    """

    column_type: ColumnType

    def empty(self, groups: int) -> RunCounts:
        """No row in any group."""
        nothing = comparable(pa.array([], self.column_type.physical), self.column_type)
        return RunCounts(np.zeros(groups, dtype=np.int64), pa.nulls(groups, nothing.type), pa.nulls(groups, nothing.type))

    def widened(self, state: RunCounts, groups: int) -> RunCounts:
        more = self.empty(groups - len(state.counts))
        firsts, lasts = pa.concat_arrays([state.firsts, more.firsts]), pa.concat_arrays([state.lasts, more.lasts])
        return RunCounts(widened_with(state.counts, groups, 0), firsts, lasts)

    def advance(self, state: RunCounts, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, RunCounts]:
        """Numbers of runs, row by row, and the state after these rows."""
        found, after = self._of_run(state, columns[0], groups, slots)
        return pa.array(groups.to_row_order(found)), after

    def summarized(self, state: RunCounts, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> RunCounts:
        return self._of_run(state, columns[0], groups, slots)[1]

    def merged(self, first: RunCounts, second: RunCounts, slots: np.ndarray) -> RunCounts:
        """Runs of both; where they meet, one may go on."""
        return first.replaced(together(first.taken(slots), second), slots)

    def _of_run(self, state: RunCounts, column: pa.Array, groups: RowGroups, slots: np.ndarray) -> tuple[np.ndarray, RunCounts]:
        """Numbers of runs along the order of the groups, and the state after these rows."""
        if not groups.rows:
            return np.zeros(0, dtype=np.int64), state
        values = comparable(column, self.column_type).take(pa.array(groups.order))
        begins = np.concatenate([[True], differs(values)])
        begins[groups.starts] = True
        counts, before = totals_so_far(begins.astype(np.int64), groups), state.taken(slots)
        firsts, lasts = values.take(pa.array(groups.starts)), values.take(pa.array(groups.stops - 1))
        after = together(before, RunCounts(counts[groups.stops - 1], firsts, lasts))
        added = after.counts - counts[groups.stops - 1]
        return counts + np.repeat(added, groups.stops - groups.starts), state.replaced(after, slots)


def together(first: RunCounts, second: RunCounts) -> RunCounts:
    """Runs of the same groups, in rows one after the other; of the first rows a group may have none."""
    count = len(first.counts)
    # The last value of the one beside the first of the other.
    beside = np.arange(2 * count).reshape(2, count).T.ravel()
    goes_on = ~differs(pa.concat_arrays([first.lasts, second.firsts]).take(pa.array(beside)))[::2]
    there = first.counts > 0
    firsts = pa.concat_arrays([first.firsts, second.firsts]).take(pa.array(np.arange(count) + np.where(there, 0, count)))
    return RunCounts(first.counts + second.counts - (there & goes_on), firsts, second.lasts)
