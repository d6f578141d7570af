"""The distinct values of groups and counts of runs as state columns, and the aggregates ``distinct``, ``count_distinct`` and ``count_runs``.

Missing and NaN are values like others, -0.0 equals 0.0, and the offset of a date-time counts, except in runs, which are of equal instants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.expressions.aggregates.aggregate_function import ReduceCollected, collect_rows, collect_values, define_aggregate, require
from sframe_spark.expressions.aggregates.collected_values import CollectedValues, ListViews, item_texts_of, lists_of, views_of_windows
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows, group_sizes, last_rows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, Growth, State, StateColumn
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY
from sframe_spark.types import FLOAT, INT, STR, ColumnType, list_of
from sframe_spark.values.arrow_layouts import in_one_array

with lazy_imports(globals()):
    from sframe_spark.compute.exact_running_sums_in_two_words import grouped_cumsum
    from sframe_spark.compute.key_equality_and_codes import codes_of, comparable, comparable_values
    from sframe_spark.compute.key_runs import differs
    from sframe_spark.compute.row_groups import GroupsOfRows, first_of_each
    from sframe_spark.compute.sorting_and_searching import order_of
    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.compute.wavelet_matrix import counts_below

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
PLAIN = (INT, FLOAT, STR)
"""Types whose values Spark compares, hashes and collects as this package does; for other types the rows of groups are aggregated in Python."""


@attrs.frozen(eq=False, slots=False)
class DistinctLists(ListViews):
    """Lists in which each value counts once, where it occurs first.

    Parameters
    ----------
    previous
        For each value of the pool the position of the equal value before it, or -1. A value occurs first in a list if that position is before the
        list. None: no list has a value twice.
    """

    previous: np.ndarray | None = None

    def compact(self) -> ListViews:
        return super().compact() if self.previous is None else self

    @property
    def are_packed(self) -> bool:
        """Whether the lists are the whole pool, one after the other, and have no value twice."""
        return self.previous is None and super().are_packed

    def packed(self) -> DistinctLists:
        """Return the same lists with a pool of just their distinct values, one list after the other."""
        if self.are_packed:
            return self
        parts = [positions for _, _, positions in self.blocks()]
        chosen = pa.array(np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64))
        sizes = self.distinct_sizes
        return DistinctLists(np.cumsum(sizes) - sizes, sizes, tuple(column.take(chosen) for column in self.pool))

    @classmethod
    def joined(cls, states: Sequence[ListViews]) -> ListViews:
        """Return the lists of several states, one state after the other."""
        return super().joined([state.packed() if isinstance(state, DistinctLists) and state.previous is not None else state for state in states])

    def blocks(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        for lists, sizes, positions in super().blocks():
            if self.previous is None:
                yield lists, sizes, positions
                continue
            is_first = self.previous[positions] < np.repeat(self.starts[lists], sizes)
            before = np.concatenate([[0], np.cumsum(is_first)])
            ends = np.cumsum(sizes)
            yield lists, before[ends] - before[ends - sizes], positions[is_first]

    def total(self, bounds: np.ndarray | None = None) -> int:
        most = super().total(bounds)
        if self.previous is None or most <= MAX_BYTES_OF_ARRAY:
            return most
        sizes = None if bounds is None else np.diff(bounds)
        return sum(len(positions) if sizes is None else int(sizes[positions].sum()) for _, _, positions in self.blocks())

    @cached_property
    def distinct_sizes(self) -> np.ndarray:
        """Number of distinct values of each list."""
        if self.previous is None:
            return self.sizes
        return distinct_counts(self.previous, self.starts, self.stops)


def by_group(codes: np.ndarray, count: int) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray]:
    """Return the order that brings rows of ``count`` groups together, and where each group begins in it, with its number of rows.

    Examples
    --------
    >>> [found.tolist() for found in by_group(np.array([1, 0, 1]), 2)]
    [[1, 0, 2], [0, 1], [1, 2]]
    """
    groups = GroupsOfRows(codes, count)
    is_in_order = bool((codes[1:] >= codes[:-1]).all())
    return slice(None) if is_in_order else groups.order, groups.starts, groups.sizes


def previous_equal(codes: np.ndarray) -> np.ndarray:
    """Return for each code the position of the equal code before it; -1 if there is none.

    Examples
    --------
    >>> previous_equal(np.array([1, 0, 1, 1])).tolist()
    [-1, -1, 0, 2]
    """
    order = order_of([codes])
    ordered = codes[order]
    result = np.full(len(codes), -1)
    result[order[1:]] = np.where(ordered[1:] == ordered[:-1], order[:-1], -1)
    return result


def distinct_counts(previous: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the number of distinct values in each of many ranges, which may overlap: of values whose previous equal one is before the range.

    Ranges that end in the order in which they start, as those of neighbouring windows, are followed from one to the next; others are looked up in a
    wavelet matrix.

    Examples
    --------
    >>> distinct_counts(np.array([-1, 0, -1, 1]), np.array([0, 1, 0, 2]), np.array([2, 4, 4, 2])).tolist()
    [1, 2, 2, 0]
    """
    order = np.arange(len(starts)) if bool((np.diff(starts) >= 0).all()) else np.lexsort((stops, starts))
    first, stop = starts[order], stops[order]
    if (np.diff(stop) < 0).any():
        return counts_below(previous + 1, starts, stops, starts + 1)
    # Of the values before the end of a range, count those whose previous equal one is before its start; all values before the start are such ones.
    # If the end moves behind a value, it is counted if its previous one is before the start; if the start moves behind a value, the value that
    # follows it is counted from then on, if that one is before the end.
    count = len(previous)
    following = np.full(count + 1, count)
    following[previous] = np.where(previous >= 0, np.arange(count), count)
    start_then = np.append(0, first)[np.searchsorted(stop, np.arange(count), "right")]
    stop_then = np.append(stop, count)[np.searchsorted(first, np.arange(count), "right")]
    by_stop = np.concatenate([[0], np.cumsum(previous < start_then)])
    by_start = np.concatenate([[0], np.cumsum(following[:count] < stop_then)])
    result = np.empty(len(starts), dtype=np.int64)
    result[order] = by_stop[stop] + by_start[first] - first
    return result


@attrs.frozen
class DistinctValues(StateColumn):
    """The distinct values of a column, in order of first occurrence, in the form in which they are compared.

    Parameters
    ----------
    column, column_type
        Position and type of the column.
    """

    needs_order = True
    growth = Growth.DISTINCT
    column: int
    column_type: ColumnType

    def compared(self, rows: InputRows) -> list[pa.Array]:
        """Return columns in which equal values are the same."""
        return rows.once(("compared", self.column), lambda: comparable_values(rows.column(self.column), self.column_type))

    def kept(self, rows: InputRows) -> list[pa.Array]:
        """Return columns whose values are kept beside each distinct value, from the row in which it occurs first."""
        return []

    def chosen(self, rows: InputRows) -> np.ndarray | None:
        """Return a mask of the rows whose values are kept; None if all are."""
        return None

    @property
    def compared_width(self) -> int:
        """Number of columns of the pool that are compared; the others are kept beside."""
        return 2 if self.column_type.is_zoned else 1

    def pool(self, rows: InputRows) -> tuple[pa.Array, ...]:
        """Return all columns of the pool."""
        return (*self.compared(rows), *self.kept(rows))

    def _no_rows(self) -> tuple[pa.Array, ...]:
        columns: list[pa.Array | None] = [None] * (max(self._positions()) + 1)
        for position, column_type in self._positions().items():
            columns[position] = pa.array([], column_type.physical)
        return self.pool(InputRows(columns, 0))

    def _positions(self) -> dict[int, ColumnType]:
        """Return the columns that are read, with their types."""
        return {self.column: self.column_type}

    def empty(self, groups: int) -> State:
        nothing = np.zeros(groups, dtype=np.int64)
        return DistinctLists(nothing, nothing, self._no_rows())

    def _once(self, pool: Sequence[pa.Array], codes: np.ndarray, count: int) -> tuple[DistinctLists, np.ndarray]:
        """Return the distinct values of each group, given the group of each value, and where they occur first, in row order."""
        values = codes_of(pool[: self.compared_width])
        most = int(values.max(initial=-1)) + 1
        firsts = first_of_each(codes * most + values if count > 1 else values, count * most)
        order, starts, sizes = by_group(codes[firsts], count)
        chosen = pa.array(firsts[order])
        return DistinctLists(starts, sizes, tuple(column.take(chosen) for column in pool)), firsts

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        pool, chosen, codes = self.pool(rows), self.chosen(rows), groups.codes
        if chosen is not None:
            mask = pa.array(chosen)
            pool, codes = tuple(column.filter(mask) for column in pool), codes[chosen]
        return self._once(pool, codes, groups.count)[0]

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        lists = state.gathered(groups.order)
        if groups.count == len(state):
            return lists
        return self._once(lists.pool, groups.codes[groups.order][lists.list_of_values()], groups.count)[0]

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        groups, sizes = len(starts), group_sizes(starts, rows.count)
        earlier, pool, chosen = before.packed(), self.pool(rows), self.chosen(rows)
        codes, positions = np.repeat(np.arange(groups), sizes), np.arange(rows.count)
        if chosen is not None:
            mask = pa.array(chosen)
            pool, positions = tuple(column.filter(mask) for column in pool), np.flatnonzero(chosen)
        count = len(earlier.pool[0])
        both = [in_one_array([a, b]) for a, b in zip(earlier.pool, pool, strict=True)]
        after, firsts = self._once(both, np.concatenate([earlier.list_of_values(), codes[positions]]), groups)
        grows = np.zeros(rows.count, dtype=np.int64)
        grows[positions[firsts[firsts >= count] - count]] = 1
        so_far = grouped_cumsum(grows, starts, earlier.sizes)
        return DistinctLists(np.repeat(after.starts, sizes), so_far, after.pool), after

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        views = views_of_windows(self.pool(rows), self.chosen(rows), windows)
        previous = rows.once(("previous equal", self), lambda: previous_equal(codes_of(views.pool[: self.compared_width])))
        return DistinctLists(views.starts, views.sizes, views.pool, previous)

    def to_arrow(self, state: State) -> list[pa.Array]:
        packed = state.packed()
        offsets = pa.array(np.append(packed.starts, len(packed.pool[0])))
        return [pa.LargeListArray.from_arrays(offsets, column) for column in packed.pool]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        views = CollectedValues((), ()).of_arrow(columns)
        return DistinctLists(views.starts, views.sizes, views.pool)

    @property
    def arrow_width(self) -> int:
        return len(self._no_rows())


@attrs.frozen
class DistinctTexts(DistinctValues):
    """The distinct values of a column, in order of first occurrence, also as the JSON that stored lists hold."""

    def kept(self, rows: InputRows) -> list[pa.Array]:
        return [item_texts_of(rows, self.column, self.column_type)]


def distinct(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    """Return the distinct values as a list."""
    result = list_of(types[0])
    state = (DistinctTexts if result.is_encoded else DistinctValues)(columns[0], types[0])
    return ColumnAggregate((state,), lambda lists, *, last: lists_of(lists, [lists.pool[-1]], result))


def count_distinct(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    """Return the number of distinct values."""
    return ColumnAggregate((DistinctValues(columns[0], types[0]),), lambda lists, *, last: pa.array(lists.distinct_sizes))


def _infer_distinct(types: Types, parameters: Parameters) -> ColumnType:
    return list_of(types[0])


def _infer_int(types: Types, parameters: Parameters) -> ColumnType:
    return INT


def _distinct_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    if types[0] not in PLAIN:
        return collect_rows(columns, types, parameters, order)
    # Spark's distinct distinguishes -0.0 and 0.0; adding zero makes them equal.
    value = columns[0] + F.lit(0.0) if types[0] == FLOAT else columns[0]
    return F.array_distinct(collect_values(value, order, keep_missing=True))


def _finish_distinct(column: Column, types: Types, parameters: Parameters) -> Column:
    return column if types[0] in PLAIN else ReduceCollected(_infer_distinct, distinct)(column, types, parameters)


def is_countable(column_type: ColumnType) -> bool:
    """Return whether values of a type are equal exactly if Spark finds them equal, which does not hold for encoded values and maps."""
    return not column_type.is_encoded and not pa.types.is_map(column_type.physical)


def _count_distinct_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    if not is_countable(types[0]):
        return collect_rows(columns, types, parameters, F.lit(0))
    missing = F.count(F.lit(1)) > F.count(columns[0])
    return F.countDistinct(columns[0]) + missing.cast("bigint")


def _finish_count_distinct(column: Column, types: Types, parameters: Parameters) -> Column:
    return column if is_countable(types[0]) else ReduceCollected(_infer_int, count_distinct)(column, types, parameters)


define_aggregate("distinct", _infer_distinct, column=_distinct_column, finish=_finish_distinct, of_columns=distinct)
define_aggregate(
    "count_distinct",
    _infer_int,
    column=_count_distinct_column,
    finish=_finish_count_distinct,
    order_sensitive=False,
    of_columns=count_distinct,
    of_runs="count_runs",
)


# Runs: consecutive rows with equal values.

COMPARED = ("int", "float", "str", "datetime")


@attrs.frozen(eq=False)
class RunsOfGroups:
    """The runs of equal values in some groups.

    Parameters
    ----------
    counts
        Number of runs; zero for a group without rows.
    firsts, lasts
        Positions in the pool of the first and last value of each group; any position for a group without rows.
    values
        The pool: values in a form that can be compared for equality.
    """

    counts: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray
    values: pa.Array

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """Bytes of counts, positions and values."""
        return self.counts.nbytes + self.firsts.nbytes + self.lasts.nbytes + self.values.nbytes

    def take(self, entries: np.ndarray | slice) -> RunsOfGroups:
        """Return the runs of some of the groups."""
        result = RunsOfGroups(self.counts[entries], self.firsts[entries], self.lasts[entries], self.values)
        return result.packed() if 4 * len(result) < len(self.values) else result

    def packed(self) -> RunsOfGroups:
        """Return the same runs with just their first and last values; missing values for groups without rows."""
        count = len(self.counts)
        nothing = self.counts == 0
        chosen = pa.array(np.concatenate([self.firsts, self.lasts]), mask=np.tile(nothing, 2) if nothing.any() else None)
        return RunsOfGroups(self.counts, np.arange(count), np.arange(count, 2 * count), self.values.take(chosen))

    @classmethod
    def joined(cls, states: Sequence[RunsOfGroups]) -> RunsOfGroups:
        """Return the runs of several states, one state after the other."""
        before = np.cumsum([0, *(len(state.values) for state in states[:-1])])
        firsts, lasts = (
            np.concatenate([getattr(state, side) + offset for state, offset in zip(states, before, strict=True)]) for side in ("firsts", "lasts")
        )
        return cls(np.concatenate([state.counts for state in states]), firsts, lasts, pa.concat_arrays([state.values for state in states]))


@attrs.frozen
class RunCount(StateColumn):
    """The number of runs of equal values of a column, with the values at both ends, since a run may go on in the rows of the next state.

    Parameters
    ----------
    column, column_type
        Position and type of the column. Date-times are compared by instant.
    """

    needs_order = True
    column: int
    column_type: ColumnType

    def _values(self, rows: InputRows) -> pa.Array:
        return rows.once(("compared instants", self.column), lambda: comparable(rows.column(self.column), self.column_type))

    def _begins(self, rows: InputRows) -> np.ndarray:
        """Return which rows differ from the row before; true for the first row."""
        return rows.once(("runs", self.column), lambda: np.append(True, differs(self._values(rows)))[: rows.count])

    def empty(self, groups: int) -> State:
        nothing = np.zeros(groups, dtype=np.int64)
        return RunsOfGroups(nothing, nothing, nothing, comparable(pa.array([], self.column_type.physical), self.column_type))

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        is_sorted = bool((groups.codes[1:] >= groups.codes[:-1]).all())
        values = self._values(rows) if is_sorted else self._values(rows).take(pa.array(groups.order))
        begins = self._begins(rows).copy() if is_sorted else np.append(True, differs(values))[: rows.count]
        begins[groups.starts] = True
        before = np.concatenate([[0], np.cumsum(begins)])
        stops = groups.starts + groups.sizes
        return RunsOfGroups(before[stops] - before[groups.starts], groups.starts, stops - 1, values).packed()

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        entries = groups.order[state.counts[groups.order] > 0]
        codes = groups.codes[entries]
        counts, firsts, lasts = np.zeros(groups.count, dtype=np.int64), *np.zeros((2, groups.count), dtype=np.int64)
        np.add.at(counts, codes, state.counts[entries])
        later = np.flatnonzero(codes[1:] == codes[:-1]) + 1
        goes_on = self._are_equal(state.values, state.lasts[entries[later - 1]], state.firsts[entries[later]])
        np.subtract.at(counts, codes[later[goes_on]], 1)
        lasts[codes] = state.lasts[entries]
        # Of several assignments the last remains.
        firsts[codes[::-1]] = state.firsts[entries[::-1]]
        return RunsOfGroups(counts, firsts, lasts, state.values).packed()

    def _are_equal(self, values: pa.Array, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        pairs = np.stack([first, second], axis=1).ravel()
        return ~differs(values.take(pa.array(pairs)))[::2] if len(pairs) else np.zeros(0, dtype=bool)

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        sizes, values, offset = group_sizes(starts, rows.count), self._values(rows), len(before.values)
        pool = pa.concat_arrays([before.values, values])
        begins = self._begins(rows).astype(np.int64)
        known = np.flatnonzero(before.counts > 0)
        begins[starts] = 1
        begins[starts[known]] -= self._are_equal(pool, before.lasts[known], starts[known] + offset)
        counts = grouped_cumsum(begins, starts, before.counts)
        firsts = np.where(before.counts > 0, before.firsts, starts + offset)
        every = RunsOfGroups(counts, np.repeat(firsts, sizes), np.arange(offset, offset + rows.count), pool)
        return every, every.take(last_rows(starts, rows.count)).packed()

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        before = np.concatenate([[0], np.cumsum(self._begins(rows))])
        has_rows = windows.lengths > 0
        starts = np.where(has_rows, windows.starts, 0)
        lasts = np.where(has_rows, windows.stops - 1, 0)
        counts = np.where(has_rows, before[lasts + has_rows] - before[starts + has_rows] + 1, 0)
        return RunsOfGroups(counts, starts, lasts, self._values(rows))

    def to_arrow(self, state: State) -> list[pa.Array]:
        packed, count = state.packed(), len(state)
        return [pa.array(packed.counts), packed.values.slice(0, count), packed.values.slice(count)]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        counts, firsts, lasts = columns
        count = len(counts)
        return RunsOfGroups(counts.to_numpy(), np.arange(count), np.arange(count, 2 * count), pa.concat_arrays([firsts, lasts]))

    @property
    def arrow_width(self) -> int:
        return 3


def count_runs(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    """Return the number of runs of equal values, where missing equals missing; for sorted values this is the number of distinct values."""
    return ColumnAggregate((RunCount(columns[0], types[0]),), lambda runs, *, last: pa.array(runs.counts))


def _infer_run_count(types: Types, parameters: Parameters) -> ColumnType:
    require("count_runs", types[0], COMPARED)
    return INT


define_aggregate("count_runs", _infer_run_count, of_columns=count_runs)
