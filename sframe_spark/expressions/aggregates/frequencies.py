"""How often each distinct value of a group occurs, as a state column, and the aggregate ``freq_count``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.collected_values import CollectedValues, ListViews, refuse_more_than_an_array
from sframe_spark.expressions.aggregates.distinct_values import DistinctLists, by_group, previous_equal
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows, group_sizes
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, Growth, State, StateColumn
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import ENCODED_DICT, ColumnType
from sframe_spark.values.arrow_layouts import in_one_array
from sframe_spark.values.nested.json_item_splitting_and_joining import STORED_DICT

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.exact_running_sums_in_two_words import grouped_cumsum
    from sframe_spark.compute.key_equality_and_codes import codes_of
    from sframe_spark.compute.row_groups import GroupsOfRows, first_and_total, first_of_each
    from sframe_spark.compute.sorting_and_searching import order_of, ranks_of
    from sframe_spark.values.nested.json_item_splitting_and_joining import in_brackets, texts_of_items

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]

# The most bytes that a count takes in a stored dict, with the punctuation around it.
MAX_COUNT_BYTES = 26


@attrs.frozen(eq=False)
class FrequencyLists(ListViews):
    """The values and counts of groups; the pool is a column of values and one of their counts."""

    @classmethod
    def joined(cls, states: Sequence[Any]) -> FrequencyLists:
        """Return the lists of several states, one state after the other."""
        views = ListViews.joined([explicit(state) for state in states])
        return cls(views.starts, views.sizes, views.pool)

    def counted(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield for some of the lists after others their sizes, the positions of their values in the pool, and the counts of these."""
        counts = self.pool[1].to_numpy()
        for _, sizes, positions in self.blocks():
            yield sizes, positions, counts[positions]


@attrs.frozen(eq=False)
class FrequenciesSoFar(ListViews):
    """The values of the rows of a group up to each row, with their counts up to that row; the pool is a column of values.

    Parameters
    ----------
    rows
        The row of each list: the row itself is the last that is counted.
    before
        For each value of the pool its count before the first row, minus the number of rows with earlier values of the pool.
    met
        The position in the pool of the value of each row times the number of rows, plus the row; sorted. A binary search tells how often a value
        occurs up to a row.
    """

    rows: np.ndarray
    before: np.ndarray
    met: np.ndarray

    def take(self, entries: np.ndarray | slice) -> FrequenciesSoFar:
        """Return some of the lists."""
        return attrs.evolve(self, starts=self.starts[entries], sizes=self.sizes[entries], rows=self.rows[entries])

    @classmethod
    def joined(cls, states: Sequence[Any]) -> FrequencyLists:
        """Return the lists of several states, one state after the other."""
        return FrequencyLists.joined(states)

    def counted(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield for some of the lists after others their sizes, the positions of their values in the pool, and the counts of these."""
        for lists, sizes, positions in self.blocks():
            last = positions * len(self.met) + np.repeat(self.rows[lists], sizes)
            yield sizes, positions, self.before[positions] + np.searchsorted(self.met, last, "right")


@attrs.frozen(eq=False, slots=False)
class FrequenciesOfWindows(DistinctLists):
    """The values of windows; the pool is the column of values of all rows.

    Parameters
    ----------
    codes
        A code for each row, the same for equal values.
    met
        The code of each row times the number of rows, plus the row; sorted.
    places
        The position of each row in ``met``.
    """

    codes: np.ndarray = attrs.field(kw_only=True)
    met: np.ndarray = attrs.field(kw_only=True)
    places: np.ndarray = attrs.field(kw_only=True)

    def take(self, entries: np.ndarray | slice) -> FrequenciesOfWindows:
        """Return some of the lists."""
        return attrs.evolve(self, starts=self.starts[entries], sizes=self.sizes[entries])

    @classmethod
    def joined(cls, states: Sequence[Any]) -> FrequencyLists:
        """Return the lists of several states, one state after the other."""
        return FrequencyLists.joined(states)

    def counted(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield for some of the lists after others their sizes, the positions of their values in the pool, and the counts of these."""
        for lists, sizes, positions in self.blocks():
            stop = self.codes[positions] * len(self.met) + np.repeat(self.stops[lists], sizes)
            yield sizes, positions, np.searchsorted(self.met, stop) - self.places[positions]


Frequencies = FrequencyLists | FrequenciesSoFar | FrequenciesOfWindows


def explicit(lists: Frequencies) -> FrequencyLists:
    """Return lists with the counts of their values in the pool, one list after the other."""
    if isinstance(lists, FrequencyLists):
        views = lists.packed()
        return FrequencyLists(views.starts, views.sizes, views.pool)
    parts = list(lists.counted())
    nothing = np.zeros(0, dtype=np.int64)
    sizes, positions, counts = (np.concatenate([nothing, *(part[side] for part in parts)]) for side in range(3))
    return FrequencyLists(np.cumsum(sizes) - sizes, sizes, (lists.pool[0].take(pa.array(positions)), pa.array(counts)))


@attrs.frozen
class ValueCounts(StateColumn):
    """The distinct values of a column of ints or strings (missing is one) in order of first occurrence, each with its number of rows.

    Parameters
    ----------
    column, column_type
        Position and type of the column.
    """

    needs_order = True
    growth = Growth.DISTINCT
    column: int
    column_type: ColumnType

    def empty(self, groups: int) -> State:
        nothing = np.zeros(groups, dtype=np.int64)
        return FrequencyLists(nothing, nothing, (pa.array([], self.column_type.physical), pa.array([], pa.int64())))

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        return self._added(rows.column(self.column), None, groups.codes, groups.count)

    def _added(self, values: pa.Array, counts: np.ndarray | None, codes: np.ndarray, groups: int) -> FrequencyLists:
        """Return the distinct values of each group with the sums of their counts (None: of ones), given the group of each value."""
        numbers = codes_of([values])
        width = int(numbers.max(initial=-1)) + 1
        pairs = codes * width + numbers if groups > 1 else numbers
        firsts, totals = first_and_number(pairs, groups * width) if counts is None else first_and_total(pairs, counts, groups * width)
        order, begins, sizes = by_group(codes[firsts], groups)
        return FrequencyLists(begins, sizes, (values.take(pa.array(firsts[order])), pa.array(totals[order])))

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        lists = explicit(state).gathered(groups.order)
        codes = groups.codes[groups.order]
        return self._added(lists.pool[0], lists.pool[1].to_numpy(), codes[lists.list_of_values()], groups.count)

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        groups, sizes, earlier = len(starts), group_sizes(starts, rows.count), explicit(before)
        values = in_one_array([earlier.pool[0], rows.column(self.column)])
        count, groups_of_rows = len(earlier.pool[0]), np.repeat(np.arange(groups), sizes)
        codes = np.concatenate([earlier.list_of_values(), groups_of_rows])
        numbers = codes_of([values])
        pairs = codes * (int(numbers.max(initial=-1)) + 1) + numbers
        firsts, totals = first_and_total(
            pairs, np.concatenate([earlier.pool[1].to_numpy(), np.ones(rows.count, dtype=np.int64)]), int(pairs.max(initial=-1)) + 1
        )
        order, begins, lengths = by_group(codes[firsts], groups)
        chosen, counts = firsts[order], totals[order]
        after = FrequencyLists(begins, lengths, (values.take(pa.array(chosen)), pa.array(counts)))
        grows = np.zeros(rows.count, dtype=np.int64)
        grows[firsts[firsts >= count] - count] = 1
        so_far = grouped_cumsum(grows, starts, earlier.sizes)
        positions = positions_among(pairs[count:], pairs[chosen])
        met = np.sort(positions * rows.count + np.arange(rows.count))
        times = np.bincount(positions, minlength=len(chosen))
        base = counts - np.cumsum(times)
        every = FrequenciesSoFar(np.repeat(after.starts, sizes), so_far, after.pool[:1], np.arange(rows.count), base, met)
        return every, after

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        column = rows.column(self.column)
        codes, order, places, previous = rows.once(("occurrences", self.column), lambda: occurrences(column))
        met = codes[order] * rows.count + order
        return FrequenciesOfWindows(windows.starts, windows.lengths, (column,), previous, codes=codes, met=met, places=places)

    def to_arrow(self, state: State) -> list[pa.Array]:
        return CollectedValues((), ()).to_arrow(explicit(state))

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        views = CollectedValues((), ()).of_arrow(columns)
        return FrequencyLists(views.starts, views.sizes, views.pool)

    @property
    def arrow_width(self) -> int:
        return 2


def occurrences(column: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a code for each row, the rows sorted by code, the position of each row among these, and for each row the one before with its code."""
    codes = codes_of([column])
    order = order_of([codes])
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return codes, order, places, previous_equal(codes)


def first_and_number(codes: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each code that occurs, in row order, and the number of rows with the code.

    Examples
    --------
    >>> [[part.tolist() for part in first_and_number(np.array([7, 3, 7, 3, 7]), count)] for count in (8, 1 << 40)]
    [[[0, 1], [3, 2]], [[0, 1], [3, 2]]]
    """
    if count > 4 * len(codes):
        codes, count = ranks_of([codes])
    firsts = first_of_each(codes, count)
    return firsts, np.bincount(codes, minlength=count)[codes[firsts]]


def positions_among(wanted: np.ndarray, distinct: np.ndarray) -> np.ndarray:
    """Return the position of each wanted number among distinct numbers, which have them all.

    Examples
    --------
    >>> positions_among(np.array([5, 7, 5]), np.array([7, 5])).tolist()
    [1, 0, 1]
    """
    order = order_of([distinct]) if len(distinct) else distinct
    return order[np.searchsorted(distinct[order], wanted)]


def stored_counts(lists: Frequencies, *, last: bool) -> pa.Array:
    """Return the dicts in their stored form, as JSON.

    Raises
    ------
    ArrowCapacityError
        If they may be more than an array can hold; this is raised before any dict is built.
    """
    keys = texts_of_items(lists.pool[0])
    refuse_more_than_an_array(lists, [keys], MAX_COUNT_BYTES)
    if isinstance(lists, FrequencyLists) and lists.are_packed:
        entries = pc.binary_join_element_wise("[", keys, ",", lists.pool[1].cast(pa.string()), "]", "")
        return in_brackets(lists.sizes, entries, STORED_DICT)
    dicts, keys = [], pc.binary_join_element_wise("[", keys, ",", "")
    for sizes, positions, counts in lists.counted():
        entries = pc.binary_join_element_wise(keys.take(pa.array(positions)), pa.array(counts).cast(pa.string()), "]", "")
        dicts.append(in_brackets(sizes, entries, STORED_DICT))
    return in_one_array(dicts) if dicts else pa.array([], pa.string())


def freq_count(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    """Return how often each distinct value occurs, in order of first occurrence."""
    return ColumnAggregate((ValueCounts(columns[0], types[0]),), stored_counts)


def _infer_frequencies(types: Types, parameters: Parameters) -> ColumnType:
    require("FREQ_COUNT", types[0], ("int", "str"))
    return ENCODED_DICT


define_aggregate("freq_count", _infer_frequencies, of_columns=freq_count)
