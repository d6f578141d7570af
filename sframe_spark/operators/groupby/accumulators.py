"""Accumulators of aggregates: rows become partial states of their groups, states are merged, and final states become values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_grouped_sums_and_squared_deviations import (
    GROUPS_PER_BLOCK,
    Digits,
    digit_lists_at,
    digits_of,
    digits_of_rows,
    digits_to_lists,
    merged_digit_lists,
    squared_deviations,
)
from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.expressions.aggregates.rows_and_windows import InputRows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, Growth, State, StateColumn, take
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.planner.node_facts import Schema
from sframe_spark.types import FLOAT_KIND, INT_KIND, ColumnType
from sframe_spark.values.python_to_arrow import encode_plain

Arrays = list[pa.Array]


@attrs.frozen
class PartialAggregate:
    """Base class of accumulators. The base class itself keeps all values, so it works for every aggregate.

    Parameters
    ----------
    aggregation
        The aggregate that is computed.
    types
        Types of the argument columns.
    width
        Number of columns of a partial state.

    Class attributes
    ----------------
    holds_values
        Whether a partial state grows with the number of rows.
    is_small
        Whether a partial state does not grow with the number of rows, except perhaps with the number of distinct values.
    """

    holds_values: ClassVar[bool] = True
    is_small: ClassVar[bool] = False
    aggregation: Aggregation
    types: tuple[ColumnType, ...]
    width: int

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """Return partial states of groups of rows. Here these are lists of all values."""
        offsets, order = pa.array(np.append(groups.starts, groups.rows)), pa.array(groups.order)
        return [pa.LargeListArray.from_arrays(offsets, array.take(order)) for array in arrays]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Return partial states merged for each group; ``starts`` says where the states of each group start. Here lists are joined."""
        return [longer_lists(column, starts) for column in partial]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """Return the values of the aggregate, from the states of all rows of each group."""
        reduce = self.aggregation.reduction()
        groups = zip(*[pairwise(column.offsets.to_pylist()) for column in partial], strict=True)
        values = []
        for bounds in groups:
            group = [column.values.slice(a, b - a) for column, (a, b) in zip(partial, bounds, strict=True)]
            values.append(reduce(group, self.types, self.aggregation.parameters))
        return encode_plain(values, result)

    def of_whole_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows, result: ColumnType) -> pa.Array:
        """Return the values of the aggregate for groups whose rows are all given."""
        return self.finish(self.of_groups(arrays, groups), result)


# Computes columns of an accumulator from its argument columns, by group.
GroupedColumns = Callable[[PartialAggregate, Sequence[pa.Array], GroupsOfRows], Arrays]


def longer_lists(column: pa.Array, starts: np.ndarray) -> pa.Array:
    """Return neighbouring lists joined: one list from each start to the next."""
    offsets = column.offsets.to_numpy(zero_copy_only=False)
    return pa.LargeListArray.from_arrays(pa.array(np.append(offsets[starts], offsets[-1])), column.values)


def totals(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the sum of the values from each start to the next."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.add.reduceat(values, starts) if len(starts) else values[:0]


@attrs.frozen
class Counted(PartialAggregate):
    """The number of rows."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """Return the number of rows of each group."""
        return [pa.array(groups.sizes)]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Return the sums of the counts."""
        return [pa.array(totals(plain_numbers(partial[0]), starts))]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        return partial[0]


@attrs.frozen
class Summed(Counted):
    """The sum of ints, which wraps around."""

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """Return the sum of each group."""
        return [pa.array(groups.totals(plain_numbers(arrays[0])))]


# Sums of floats, means and variances, from exact sums by group that are rounded at the end.


@attrs.frozen
class SummedExactly(PartialAggregate):
    """The sum of floats. The state is the number itself if a group has only one, otherwise the digits of an exact sum."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True
    has_squares: ClassVar[bool] = False

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """Return the numbers of groups of one row, and the digits of the sums of other groups."""
        numbers, several, codes = self._several(arrays, groups)
        lists = self._lists(numbers, codes, len(several))
        if len(several) == groups.count:
            return [pa.nulls(groups.count, pa.float64()), *lists]
        alone = groups.sizes == 1
        kept = pa.array(floats_of(arrays[0])[groups.firsts], mask=~alone, from_pandas=False)
        return [kept, *(digit_lists_at(column, several, groups.count) for column in lists)]

    def of_whole_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows, result: ColumnType) -> pa.Array:
        """Return the rounded sums, without keeping their digits."""
        counts = self._counts(arrays, groups)
        numbers, several, codes = self._several(arrays, groups)
        found = self._of_one(floats_of(arrays[0])[groups.firsts])
        start = 0
        for digits in digits_of_rows(numbers, codes, len(several), self.has_squares):
            block = several[start : start + digits[0].count]
            found[block] = self._of_several(np.maximum(counts[block], 1), digits)
            start += len(block)
        return self._column(counts, found)

    def _several(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the numbers in groups of several rows, these groups, and for each of the numbers the index of its group among them."""
        numbers, is_several = floats_of(arrays[0]), groups.sizes > 1
        several = np.flatnonzero(is_several)
        if len(several) == groups.count:
            return numbers, several, groups.codes
        rows = np.flatnonzero(is_several[groups.codes])
        return numbers[rows], several, (np.cumsum(is_several) - 1)[groups.codes[rows]]

    def _lists(self, numbers: np.ndarray, codes: np.ndarray, count: int) -> Arrays:
        result = ([digits_to_lists(sums) for sums in digits] for digits in digits_of_rows(numbers, codes, count, self.has_squares))
        return [pa.concat_arrays(columns) for columns in zip(*result, strict=True)]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Return sums of sums for groups with several states; a group with one state keeps it."""
        alone, *lists = partial
        sizes = np.diff(np.append(starts, len(alone)))
        mixed = alone.is_valid().to_numpy(zero_copy_only=False) & np.repeat(sizes > 1, sizes)
        if not mixed.any():
            # No group that is merged has a number that is not in digits yet.
            return [alone.take(pa.array(starts)), *(merged_digit_lists(column, starts) for column in lists)]
        rows = np.flatnonzero(mixed)
        numbers = plain_numbers(alone.take(pa.array(rows)))
        digits = self._lists(numbers, np.arange(len(rows)), len(rows))
        kept = pa.array(plain_numbers(alone), mask=mixed | alone.is_null().to_numpy(zero_copy_only=False), from_pandas=False)
        lists = [joined(column, digit_lists_at(more, rows, len(alone))) for column, more in zip(lists, digits, strict=True)]
        return [kept.take(pa.array(starts)), *(merged_digit_lists(column, starts) for column in lists)]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """Return the rounded sums."""
        counts, sums = self._counted(partial)
        return self._column(counts, self._finished(counts, sums))

    def _counts(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> np.ndarray:
        """Return the divisors of the sums."""
        return np.ones(groups.count, dtype=np.int64)

    def _counted(self, partial: Arrays) -> tuple[np.ndarray, Arrays]:
        """Return the divisors of the sums, and the columns with the sums."""
        return np.ones(len(partial[0]), dtype=np.int64), partial

    def _column(self, counts: np.ndarray, values: np.ndarray) -> pa.Array:
        return pa.array(values, from_pandas=False)

    def _finished(self, counts: np.ndarray, partial: Arrays) -> np.ndarray:
        """Return the values of groups, given the number of values of each group."""
        result = np.empty(len(counts))
        for start in range(0, len(counts), GROUPS_PER_BLOCK):
            alone, *lists = (column.slice(start, GROUPS_PER_BLOCK) for column in partial)
            is_alone = alone.is_valid().to_numpy(zero_copy_only=False)
            part = result[start : start + GROUPS_PER_BLOCK]
            part[:] = self._of_one(plain_numbers(alone))
            if not is_alone.all():
                several = np.flatnonzero(~is_alone)
                digits = [digits_of(column.take(pa.array(several))) for column in lists]
                part[several] = self._of_several(np.maximum(counts[start : start + GROUPS_PER_BLOCK][several], 1), digits)
        return result

    def _of_one(self, numbers: np.ndarray) -> np.ndarray:
        # A sum starts with zero, so it is never -0.0.
        return numbers + 0.0

    def _of_several(self, counts: np.ndarray, digits: Sequence[Digits]) -> np.ndarray:
        return digits[0].means(counts)


@attrs.frozen
class Averaged(SummedExactly):
    """The mean of numbers. The state is the count, and the sum as in the base class."""

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """Return counts and sums."""
        return [pa.array(self._counts(arrays, groups)), *super().of_groups(arrays, groups)]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Return the sums of counts and of sums."""
        return [pa.array(totals(plain_numbers(partial[0]), starts)), *super().merge(partial[1:], starts)]

    def _counts(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> np.ndarray:
        return groups.totals(arrays[0].is_valid().to_numpy(zero_copy_only=False))

    def _counted(self, partial: Arrays) -> tuple[np.ndarray, Arrays]:
        return plain_numbers(partial[0]), partial[1:]

    def _column(self, counts: np.ndarray, values: np.ndarray) -> pa.Array:
        """Return the means as a column, missing for groups without a number."""
        return pa.array(values, pa.float64(), mask=counts == 0, from_pandas=False)


@attrs.frozen
class Spread(Averaged):
    """Variance or standard deviation. The state is the count, the sum and the sum of squares."""

    has_squares: ClassVar[bool] = True

    def _column(self, counts: np.ndarray, values: np.ndarray) -> pa.Array:
        """Return variances, or their roots, as a column; zero for groups with one value or none."""
        return pa.array(np.sqrt(values) if self.aggregation.function == "std" else values, from_pandas=False)

    def _of_one(self, numbers: np.ndarray) -> np.ndarray:
        return np.zeros(len(numbers))

    def _of_several(self, counts: np.ndarray, digits: Sequence[Digits]) -> np.ndarray:
        return squared_deviations(counts, *digits) / counts


def floats_of(column: pa.Array) -> np.ndarray:
    """Return numbers as floats, with zero for missing values."""
    return plain_numbers(column).astype(np.float64, copy=False)


def joined(first: pa.ListArray, second: pa.ListArray) -> pa.ListArray:
    """Return the lists of two columns, at least one of which has an empty list in each row."""
    return pa.concat_arrays([first, second]).take(pa.array(rows_of_lists(first, second)))


def rows_of_lists(first: pa.ListArray, second: pa.ListArray) -> np.ndarray:
    """Return for each row the index, in the concatenation of both columns, of its list that is not empty."""
    is_second = np.diff(second.offsets.to_numpy(zero_copy_only=False)) > 0
    return np.arange(len(first)) + np.where(is_second, len(first), 0)


def partial_aggregate(aggregation: Aggregation, schema: Schema) -> PartialAggregate:
    """Return the accumulator of an aggregate over columns of a schema."""
    types = tuple(schema[position] for position in aggregation.positions)
    function = aggregation.function
    if function == "count":
        return Counted(aggregation, types, 1)
    kind = types[0].kind
    if kind in (INT_KIND, FLOAT_KIND) and function in ("sum", "mean", "var", "std"):
        sums = Summed if kind == INT_KIND else SummedExactly
        form, width = {"sum": (sums, 1 if kind == INT_KIND else 2), "mean": (Averaged, 3)}.get(function, (Spread, 4))
        return form(aggregation, types, width)
    return PartialAggregate(aggregation, types, len(types))


@attrs.frozen
class AccumulatedState(StateColumn):
    """The partial state of an accumulator, as Arrow columns.

    Parameters
    ----------
    accumulator
        The accumulator.
    """

    needs_order: ClassVar[bool] = True
    accumulator: PartialAggregate

    @property
    def growth(self) -> Growth:  # type: ignore[override]
        if not self.accumulator.holds_values:
            return Growth.FIXED
        return Growth.DISTINCT if self.accumulator.is_small else Growth.ROWS

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        arguments = [rows.column(position) for position in self.accumulator.aggregation.positions]
        return tuple(self.accumulator.of_groups(arguments, groups))

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        return tuple(self.accumulator.merge(list(take(state, groups.order)), groups.starts))

    def to_arrow(self, state: State) -> list[pa.Array]:
        return list(state)

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        return tuple(columns)

    @property
    def arrow_width(self) -> int:
        return self.accumulator.width


def aggregate_of(aggregation: Aggregation, schema: Schema) -> ColumnAggregate:
    """Return an aggregation of columns of a schema as state columns."""
    accumulator, column_type = partial_aggregate(aggregation, schema), aggregation.infer(schema)
    is_like_others = type(accumulator) is PartialAggregate or aggregation.of_columns(schema) is not None
    if is_like_others:
        return aggregation.on_columns(schema)
    return ColumnAggregate((AccumulatedState(accumulator),), lambda state, *, last: accumulator.finish(list(state), column_type))
