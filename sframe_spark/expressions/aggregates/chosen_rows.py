"""Aggregates that choose a row: the value in the first or last row, and the value of one column where another is smallest or largest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.expressions.aggregates.aggregate_function import UNRECORDED, define_aggregate, require
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows, group_sizes, last_rows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State, StateColumn, take
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
from sframe_spark.types import FLOAT_KIND, INT_KIND, ColumnType

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.key_runs import plain_numbers
    from sframe_spark.compute.row_groups import GroupsOfRows, first_rows
    from sframe_spark.compute.segmented_scan import Components, RowGroups, accumulated, segmented_scan
    from sframe_spark.compute.sorting_and_searching import as_ordered_ints
    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.compute.window_folds import fold_by_two

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
ORDERED = ("int", "float", "datetime")

WORST = np.iinfo(np.int64).max
"""The rank of a row without a value. An int may have the same rank, so that rows without a value are also told apart by a mask."""
RANK_OF_NAN = WORST - 1
"""Greater than the rank of every other float."""
NO_OFFSET = np.iinfo(np.int32).min
"""The missing offset of a date-time; smaller than every offset."""
NOWHERE = WORST
"""The position of no row."""
BY_ORDER = ("first", "latest")
"""Ties that row order decides."""


@attrs.frozen
class EdgeRow(StateColumn):
    """The value of a column in the first or the last row. A state is the values and a mask of the groups that have such a row.

    Parameters
    ----------
    column, column_type
        Position and type of the column.
    is_last
        Whether it is the last row.
    is_known
        Whether only rows with a value count; otherwise the value may be missing.
    """

    needs_order = True
    windows_in_blocks = False
    column: int
    column_type: ColumnType
    is_last: bool = False
    is_known: bool = False

    def empty(self, groups: int) -> State:
        return pa.nulls(groups, self.column_type.physical), np.zeros(groups, dtype=bool)

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        if not rows.count:
            return self.empty(groups.count)
        positions, has_row = self._edges(groups, self._counted(rows))
        if has_row.all():
            return rows.values(self.column, positions), has_row
        return values_at(rows.column(self.column), positions, has_row), has_row

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        values, has_row = state
        positions, is_known = self._edges(groups, None if has_row.all() else has_row)
        return values_at(values, positions, is_known), is_known

    def _counted(self, rows: InputRows) -> np.ndarray | None:
        """Return which rows count; None if all do."""
        return rows.valid((self.column,)) if self.is_known else None

    def _edges(self, groups: GroupsOfRows, counted: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the first or last row of each group, of those that count, or any row if it has none, and a mask of the groups that have one."""
        if counted is None:
            return groups.lasts if self.is_last else groups.firsts, np.ones(groups.count, dtype=bool)
        return groups.last_where(counted) if self.is_last else groups.first_where(counted)

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        values, had_row = before
        counted, group_of_rows = self._counted(rows), np.repeat(np.arange(len(starts)), group_sizes(starts, rows.count))
        if self.is_last:
            positions = np.arange(rows.count) if counted is None else preceding(counted)
            has_row, pool = positions >= starts[group_of_rows], rows.column(self.column)
        else:
            # Only the first rows are read.
            firsts = starts if counted is None else following(counted)[starts]
            has_row = np.arange(rows.count) >= firsts[group_of_rows]
            pool, positions = rows.values(self.column, np.minimum(firsts, rows.count - 1)), group_of_rows
        if had_row.any():
            stays = had_row[group_of_rows] & (~has_row | (not self.is_last))
            pool, positions = pa.concat_arrays([values, pool]), np.where(stays, group_of_rows, positions + len(starts))
            has_row = has_row | stays
        every = values_at(pool, positions, has_row), has_row
        return every, take(every, last_rows(starts, rows.count))

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        counted = self._counted(rows)
        if self.is_last:
            positions = windows.stops - 1 if counted is None else np.append(preceding(counted), -1)[windows.stops - 1]
            has_row = (positions >= windows.starts) & (windows.stops > windows.starts)
        else:
            positions = windows.starts if counted is None else np.append(following(counted), rows.count)[windows.starts]
            has_row = positions < windows.stops
        return values_at(rows.column(self.column), positions, has_row), has_row

    def to_arrow(self, state: State) -> list[pa.Array]:
        return [state[0], pa.array(state[1])]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        return columns[0], columns[1].to_numpy(zero_copy_only=False)

    @property
    def arrow_width(self) -> int:
        return 2


@attrs.frozen
class BestRow(StateColumn):
    """The value of a column in the row in which another column is smallest or largest.

    A state is one or two *ranks* for each group (ints that are smallest in the best row), a mask of the groups that have a best row, and the values.
    NaN is best only if there is no number, and a row without a value never.

    Parameters
    ----------
    column, column_type
        Position and type of the column that is compared: numbers or date-times (with offsets: by instant).
    largest
        Whether the largest value is best.
    carried, carried_type
        Position and type of the column whose value is kept.
    ties
        Which of several rows with the best value counts: the ``first``; by ``offset`` that of the smallest offset, or of the largest if ``largest``,
        where a missing offset is the smallest; the ``latest``; or the ``last``, told by the row id, which must then be the column that is carried.
    is_known
        Whether only rows count in which the column that is carried has a value, too.
    """

    column: int
    column_type: ColumnType
    largest: bool
    carried: int
    carried_type: ColumnType
    ties: Literal["first", "offset", "latest", "last"] = "first"
    is_known: bool = False

    @property
    def needs_order(self) -> bool:  # type: ignore[override]
        return self.ties in BY_ORDER

    @property
    def rank_count(self) -> int:
        """Number of ranks of a row."""
        return 1 if self.ties in BY_ORDER else 2

    @property
    def _where(self) -> tuple[int, ...]:
        """Positions of the columns of which each must have a value."""
        return (self.column, self.carried) if self.is_known else (self.column,)

    def empty(self, groups: int) -> State:
        ranks = [np.full(groups, WORST) for _ in range(self.rank_count)]
        return (*ranks, np.zeros(groups, dtype=bool), pa.nulls(groups, self.carried_type.physical))

    def numbers(self, rows: InputRows) -> np.ndarray:
        """Return the numbers that are compared, of date-times the instants."""
        if not self.column_type.is_zoned:
            return rows.numbers(self.column)
        return rows.once(("instants", self.column), lambda: plain_numbers(pc.struct_field(rows.column(self.column), "instant")))

    def ranks(self, rows: InputRows) -> Components:
        """Return the ranks of each row, which are the worst ones for rows without a value."""
        valid = rows.valid(self._where)
        ranks, ties = rows.once(("ranks", self.column, self.largest), lambda: self.ranks_of(self.numbers(rows))), self.ranks_of_ties(rows)
        every = (ranks,) if ties is None else (ranks, ties)
        return every if valid is None else tuple(np.where(valid, rank, WORST) for rank in every)

    def ranks_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the ranks of numbers."""
        ranks = as_ordered_ints(numbers)
        if self.largest:
            # Flipping the bits of an int reverses the order without overflow.
            ranks = ~ranks
        is_nan = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(1, dtype=bool)
        return np.where(is_nan, RANK_OF_NAN, ranks) if is_nan.any() else ranks

    def ranks_of_ties(self, rows: InputRows, positions: np.ndarray | slice = slice(None)) -> np.ndarray | None:
        """Return the second rank of some rows, if there is one."""
        if self.ties in BY_ORDER:
            return None
        if self.ties == "last":
            # The last row is the row with the largest id, as the rows may have been collected in any order.
            return ~rows.numbers(self.carried)[positions]
        offsets = rows.once(("offsets", self.column), lambda: offsets_of(rows.column(self.column)))[positions]
        return ~offsets if self.largest else offsets

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        if not rows.count:
            return self.empty(groups.count)
        numbers, valid = self.numbers(rows), rows.valid(self._where)
        # Numbers are compared as they are, which is faster than ranks, unless there are groups with NaN.
        lowest, highest = limits_of(numbers.dtype)
        choose, worst = (np.maximum, lowest) if self.largest else (np.minimum, highest)
        best = groups.extremes(numbers if valid is None else np.where(valid, numbers, worst), choose, worst)
        is_best = numbers == best[groups.codes]
        if best.dtype.kind == "f" and np.isnan(best).any():
            ranks = self.ranks(rows)[0]
            is_best = ranks == groups.extremes(ranks, np.minimum, WORST)[groups.codes]
        candidates = np.flatnonzero(is_best if valid is None else is_best & valid)
        positions, is_known = best_of(candidates, self.ranks_of_ties(rows, candidates), groups, self.ties == "latest")
        ties = self.ranks_of_ties(rows, positions)
        ranks_of_best = [self.ranks_of(numbers[positions])] if ties is None else [self.ranks_of(numbers[positions]), ties]
        return state_of_rows(ranks_of_best, positions, is_known, rows.column(self.carried))

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        *ranks, has_value, carried = state
        candidates = np.flatnonzero((ranks[0] == groups.extremes(ranks[0], np.minimum, WORST)[groups.codes]) & has_value)
        positions, is_known = best_of(candidates, ranks[1][candidates] if self.rank_count > 1 else None, groups, self.ties == "latest")
        return state_of_rows([rank[positions] for rank in ranks], positions, is_known, carried)

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        *ranks_before, had_value, values = before
        ranks, has_value, is_new = self._running_ranks(rows, starts)
        # Few rows become best, so that these are a small pool of values.
        pool = pa.concat_arrays([values, rows.values(self.carried, np.flatnonzero(is_new))])
        positions = np.cumsum(is_new) + (len(starts) - 1)
        if had_value.any():
            group_of_rows = np.repeat(np.arange(len(starts)), group_sizes(starts, rows.count))
            earlier, stays = tuple(rank[group_of_rows] for rank in ranks_before), had_value[group_of_rows]
            stays &= ~has_value | (is_less(earlier, ranks) if self.ties == "latest" else ~is_less(ranks, earlier))
            ranks = tuple(np.where(stays, a, b) for a, b in zip(earlier, ranks, strict=True))
            has_value, positions = has_value | stays, np.where(stays, group_of_rows, positions)
        every = (*ranks, has_value, values_at(pool, positions, has_value))
        return every, take(every, last_rows(starts, rows.count))

    def _running_ranks(self, rows: InputRows, starts: np.ndarray) -> tuple[Components, np.ndarray, np.ndarray]:
        """Return for each row the best ranks of its group up to it, whether there is a value up to it, and whether the row itself is the best row."""
        ranks, valid, every = self.ranks(rows), rows.valid(self._where), np.arange(rows.count)
        groups = RowGroups([], every, starts)
        best = accumulated(ranks, groups, (np.minimum,)) if len(ranks) == 1 else segmented_scan(ranks, groups, lesser)
        # A row in which the best ranks change is the best row, until they change again.
        is_new = np.zeros(rows.count, dtype=bool)
        is_new[starts] = True
        for rank in best:
            is_new[1:] |= rank[1:] != rank[:-1]
        if self.ties == "latest":
            is_new |= ranks[0] == best[0] if valid is None else (ranks[0] == best[0]) & valid
        has_value = np.ones(rows.count, dtype=bool)
        if valid is not None:
            # The first row with a value is best even if its ranks are those of no value.
            firsts = following(valid)[starts]
            has_value = every >= np.repeat(firsts, group_sizes(starts, rows.count))
            is_new[firsts[firsts < rows.count]] = True
        return best, has_value, is_new

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        ranks, valid, positions, is_latest = self.ranks(rows), rows.valid(self._where), np.arange(rows.count), self.ties == "latest"
        if is_latest:
            # Of equal ranks the least of these numbers is that of the last row.
            positions = rows.count - positions
        if valid is not None:
            positions = np.where(valid, positions, NOWHERE)
        # Of rows with equal ranks the first is found without comparing positions, but one without a value may have the ranks of one with a value.
        compared = self.rank_count + (is_latest or valid is not None)
        neutral = (*(WORST for _ in ranks), NOWHERE)
        *best, chosen = fold_by_two((*ranks, positions), partial(lesser, compared=compared), neutral, windows.starts, windows.stops)
        has_value = chosen != NOWHERE
        if is_latest:
            chosen = rows.count - chosen
        return (*best, has_value, values_at(rows.column(self.carried), chosen, has_value))

    def to_arrow(self, state: State) -> list[pa.Array]:
        *ranks, has_value, carried = state
        mask = ~has_value
        return [*(pa.array(np.where(has_value, rank, 0), mask=mask) for rank in ranks), carried]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        *ranks, carried = columns
        has_value = ranks[0].is_valid().to_numpy(zero_copy_only=False)
        return (*(rank.fill_null(WORST).to_numpy(zero_copy_only=False) for rank in ranks), has_value, carried)

    @property
    def arrow_width(self) -> int:
        return self.rank_count + 1


def is_less(first: Components, second: Components) -> np.ndarray:
    """Return whether rows of numbers come before others in lexicographic order.

    Examples
    --------
    >>> is_less((np.array([1, 2, 2]), np.array([9, 3, 5])), (np.array([2, 2, 2]), np.array([0, 5, 5]))).tolist()
    [True, True, False]
    """
    result = first[-1] < second[-1]
    for a, b in zip(first[:-1][::-1], second[:-1][::-1], strict=True):
        result = (a < b) | ((a == b) & result)
    return np.asarray(result)


def lesser(first: Components, second: Components, compared: int | None = None) -> Components:
    """Return the lesser of two rows of numbers, compared by all or only the first numbers; the first row if they are equal."""
    is_second = is_less(second[:compared], first[:compared])
    return tuple(np.where(is_second, b, a) for a, b in zip(first, second, strict=True))


def following(chosen: np.ndarray) -> np.ndarray:
    """Return for each row the first chosen row from it on; the number of rows if there is none.

    Examples
    --------
    >>> following(np.array([False, True, True, False])).tolist()
    [1, 1, 2, 4]
    """
    rows = np.where(chosen, np.arange(len(chosen)), len(chosen))
    return np.minimum.accumulate(rows[::-1])[::-1]


def preceding(chosen: np.ndarray) -> np.ndarray:
    """Return for each row the last chosen row up to it; -1 if there is none.

    Examples
    --------
    >>> preceding(np.array([False, True, True, False])).tolist()
    [-1, 1, 2, 2]
    """
    return np.maximum.accumulate(np.where(chosen, np.arange(len(chosen)), -1))


def values_at(column: pa.Array, positions: np.ndarray, has_value: np.ndarray) -> pa.Array:
    """Return the values of a column at some positions; missing where ``has_value`` is false."""
    return column.take(pa.array(positions, mask=None if has_value.all() else ~has_value))


def limits_of(dtype: np.dtype) -> tuple[float, float]:
    """Return the lowest and the highest number of a type."""
    return (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def offsets_of(column: pa.Array) -> np.ndarray:
    """Return the offsets of date-times as ints that compare as offsets do, where a missing offset comes before all others."""
    return pc.struct_field(column, "offset").cast(pa.int64()).fill_null(NO_OFFSET).to_numpy()


def best_of(candidates: np.ndarray, ties: np.ndarray | None, groups: GroupsOfRows, is_latest: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return for each group its candidate of the least rank, or the first or last if ``ties`` are not ranked, and which groups have a candidate.

    Candidates are rows; groups without one get any row.
    """
    if ties is not None:
        few = GroupsOfRows(groups.codes[candidates], groups.count)
        candidates = candidates[ties == few.extremes(ties, np.minimum, WORST)[few.codes]]
    if is_latest:
        candidates = candidates[::-1]
    firsts = first_rows(groups.codes[candidates], groups.count)
    return np.append(candidates, 0)[firsts], firsts < len(candidates)


def state_of_rows(ranks: Sequence[np.ndarray], positions: np.ndarray, is_known: np.ndarray, carried: pa.Array) -> State:
    """Return the state of groups, given the ranks of their best rows. The given ranks of groups without a best row do not matter."""
    if not is_known.all():
        ranks = [np.where(is_known, rank, WORST) for rank in ranks]
    return (*ranks, is_known, values_at(carried, positions, is_known))


def edge_row(state: EdgeRow) -> ColumnAggregate:
    """Return the value in the first or last row; missing if there is no such row."""
    return ColumnAggregate((state,), lambda state, *, last: state[0])


def best_row(state: BestRow) -> ColumnAggregate:
    """Return the value of the column that is carried in the best row; missing if no row has a value to compare."""
    return ColumnAggregate((state,), lambda state, *, last: state[-1])


# The aggregates.


def _infer_any(types: Types, parameters: Parameters) -> ColumnType:
    return types[0].of_values


def _infer_second(types: Types, parameters: Parameters) -> ColumnType:
    require("ARGMIN or ARGMAX", types[0], ORDERED)
    return types[1]


def comparable(column: Column, column_type: ColumnType) -> Column:
    """Return a Spark column that sorts as the values do."""
    return column["instant"] if column_type.is_zoned else column


def _descending(column: Column, column_type: ColumnType) -> Column:
    """Return a Spark column that sorts in the opposite order."""
    if column_type.kind == INT_KIND:
        return F.bitwise_not(column)
    if column_type.kind == FLOAT_KIND:
        return -column
    return -F.unix_micros(column.cast("timestamp"))


def _value_at(name: str, largest: bool, last: bool = False) -> None:
    """Define the aggregate for the value of the second argument in the row where the first argument is smallest or largest.

    NaN counts only if there is no other value. Of rows with equal values the first counts, or with ``last`` the last; the second argument must
    then be the row id.
    """

    def column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
        by = comparable(columns[0], types[0])
        ranked = _descending(by, types[0]) if largest else by
        tie_breaker = F.bitwise_not(columns[1]) if last else order
        return F.min_by(columns[1], F.when(columns[0].isNotNull(), F.struct(ranked, tie_breaker)))

    def of_columns(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
        return best_row(BestRow(positions[0], types[0], largest, positions[1], types[1], "last" if last else "first"))

    define_aggregate(name, _infer_second, column=column, order_sensitive=not last, arguments=2, of_columns=of_columns)


_value_at("argmin", largest=False)
_value_at("argmax", largest=True)
_value_at("argmin_row", largest=False, last=True)
_value_at("argmax_row", largest=True, last=True)


def _value_by(name: str, is_last: bool, is_known: bool) -> None:
    """Define the value of the second argument in the first or last row in the order of the first argument; equal rows are in row order.

    With ``is_known`` only rows count in which the second argument has a value.
    """

    def of_columns(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
        return best_row(BestRow(positions[0], types[0], is_last, positions[1], types[1], "latest" if is_last else "first", is_known))

    define_aggregate(name, _infer_second, arguments=2, of_columns=of_columns)


_value_by("first_known_by", is_last=False, is_known=True)
_value_by("last_by", is_last=True, is_known=False)
_value_by("last_known_by", is_last=True, is_known=True)


def _edge(name: str, is_last: bool, is_known: bool) -> None:
    """Define the value in the first or last row, or with ``is_known`` in the first or last row with a value."""

    def of_columns(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
        return edge_row(EdgeRow(positions[0], types[0], is_last, is_known))

    def column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
        row = F.when(columns[0].isNotNull(), order) if is_known else order
        return (F.max_by if is_last else F.min_by)(columns[0], row)

    def recorded(facts: ColumnStatistics, column_type: ColumnType) -> Any:
        # Statistics record instants without their offsets.
        if not facts.edges_known or column_type.is_zoned or (is_known and facts.has_missing is not False):
            return UNRECORDED
        return facts.last if is_last else facts.first

    options: dict[str, Any] = {"recorded": recorded, "of_first_row": not is_last and not is_known, "skips_missing": is_known}
    define_aggregate(name, _infer_any, column=column, of_columns=of_columns, **options)


_edge("select_one", is_last=False, is_known=False)
_edge("first_known", is_last=False, is_known=True)
_edge("last", is_last=True, is_known=False)
_edge("last_known", is_last=True, is_known=True)
