"""State columns that count rows and values and add up ints, the aggregates ``count`` and ``count_missing``, and the sum of ints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import PlanInvariantError
from sframe_spark.expressions.aggregates.aggregate_function import UNRECORDED, define_aggregate
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows, last_rows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, RunningOrder, State, StateColumn
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
from sframe_spark.types import INT, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.exact_running_sums_in_two_words import grouped_cumsum
    from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
    from sframe_spark.compute.row_groups import GroupsOfRows
    from sframe_spark.compute.spark_columns import Column, F


@attrs.frozen
class TotalOfInts(StateColumn):
    """Base class of state columns that add up an int of each row; sums wrap around at 64 bits."""

    windows_in_blocks = False

    def ints(self, rows: InputRows) -> np.ndarray:
        """Return the int, or the bool that is counted, of each row."""
        raise PlanInvariantError(f"the state column {type(self).__name__!r} does not return ints: define ints()")

    def empty(self, groups: int) -> State:
        return np.zeros(groups, dtype=np.int64)

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        return groups.totals(state)

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        with np.errstate(over="ignore"):
            totals = grouped_cumsum(self.ints(rows).astype(np.int64), starts, before)
        return totals, totals[last_rows(starts, rows.count)]

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        return windows.totals(self.ints(rows))


@attrs.frozen
class Count(TotalOfInts):
    """The number of rows that have a value in each of some columns; the number of all rows if there are no columns.

    Parameters
    ----------
    where
        Positions of the columns.
    """

    where: tuple[int, ...] = ()

    def ints(self, rows: InputRows) -> np.ndarray:
        valid = rows.valid(self.where)
        return np.ones(rows.count, dtype=bool) if valid is None else valid

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        if groups.count == 1 and len(self.where) == 1:
            return np.array([rows.count - rows.column(self.where[0]).null_count])
        valid = rows.valid(self.where)
        return groups.sizes if valid is None else groups.totals(valid)

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        return windows.lengths if rows.valid(self.where) is None else super().windows(rows, windows)


@attrs.frozen
class CountMissing(TotalOfInts):
    """The number of rows without a value in a column.

    Parameters
    ----------
    column
        Position of the column.
    """

    column: int

    def ints(self, rows: InputRows) -> np.ndarray:
        valid = rows.valid((self.column,))
        return np.zeros(rows.count, dtype=bool) if valid is None else ~valid

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        if groups.count == 1:
            return np.array([rows.column(self.column).null_count])
        valid = rows.valid((self.column,))
        return np.zeros(groups.count, dtype=np.int64) if valid is None else groups.totals(~valid)


@attrs.frozen
class WrappedSum(TotalOfInts):
    """The sum of a column of ints, which wraps around at 64 bits.

    Parameters
    ----------
    column
        Position of the column.
    """

    column: int

    def ints(self, rows: InputRows) -> np.ndarray:
        return rows.numbers(self.column)

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        return groups.totals(rows.numbers(self.column))

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        if len(starts) > 1:
            return super().running(rows, starts, before)
        with np.errstate(over="ignore"):
            totals = np.cumsum(rows.numbers(self.column), out=new_array(rows.count, np.int64))
            totals += before[0]
        return totals, totals[-1:].copy()


@attrs.frozen
class HasValue(StateColumn):
    """Whether a column has a value in any row.

    Parameters
    ----------
    column
        Position of the column.
    """

    windows_in_blocks = False
    column: int

    def empty(self, groups: int) -> State:
        return np.zeros(groups, dtype=bool)

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        valid = rows.valid((self.column,))
        return np.ones(groups.count, dtype=bool) if valid is None else groups.totals(valid) > 0

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        return groups.totals(state) > 0

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        valid = rows.valid((self.column,))
        if valid is None or before.all():
            return np.ones(rows.count, dtype=bool), np.ones(len(starts), dtype=bool)
        totals = grouped_cumsum(valid.astype(np.int64), starts, before.astype(np.int64)) > 0
        return totals, totals[last_rows(starts, rows.count)]

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        valid = rows.valid((self.column,))
        return (windows.lengths if valid is None else windows.totals(valid)) > 0

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        return columns[0].to_numpy(zero_copy_only=False)


def known(values: np.ndarray, has_value: np.ndarray) -> pa.Array:
    """Return values as an Arrow column, missing where ``has_value`` is false."""
    return pa.array(values, mask=None if has_value.all() else ~has_value, from_pandas=False)


def _ints(state: State, *, last: bool) -> pa.Array:
    return pa.array(state)


def count_of_rows() -> ColumnAggregate:
    """Return the aggregate ``count``: the number of rows."""
    return ColumnAggregate((Count(),), _ints, running_order=RunningOrder.NUMBERS_ROWS)


def count_of_missing(column: int) -> ColumnAggregate:
    """Return the aggregate ``count_missing``: the number of rows without a value."""
    return ColumnAggregate((CountMissing(column),), _ints)


def count_of_values(column: int) -> ColumnAggregate:
    """Return the number of rows with a value, which ``rolling_count`` gives."""
    return ColumnAggregate((Count((column,)),), _ints)


def sum_of_ints(column: int) -> ColumnAggregate:
    """Return the sum of ints; of no value it is zero."""
    return ColumnAggregate((WrappedSum(column),), _ints)


def missing_of_none(aggregate: ColumnAggregate, column: int) -> ColumnAggregate:
    """Return an aggregate with the rule that it is missing if a column has no value.

    Examples
    --------
    >>> missing_of_none(sum_of_ints(0), 0).finish(np.array([0, 5]), np.array([False, True]), last=True).to_pylist()
    [None, 5]
    """

    def finish(*states: State, last: bool) -> pa.Array:
        values, has_value = aggregate.finish(*states[:-1], last=last), states[-1]
        return values if has_value.all() else if_else(pa.array(has_value), values, pa.scalar(None, values.type))

    return ColumnAggregate((*aggregate.states, HasValue(column)), finish)


# The aggregates.

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]


def _infer_count(types: Types, parameters: Parameters) -> ColumnType:
    return INT


def _count(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return count_of_rows()


def _count_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    return F.count(F.lit(1))


def _count_missing(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return count_of_missing(positions[0])


def _count_values(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return count_of_values(positions[0])


def _count_values_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    return F.count(columns[0])


def _count_missing_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    return F.count(F.lit(1)) - F.count(columns[0])


def _recorded_missing(facts: ColumnStatistics, column_type: ColumnType) -> Any:
    return 0 if facts.has_missing is False else UNRECORDED


define_aggregate("count", _infer_count, column=_count_column, order_sensitive=False, arguments=(0, 1), of_columns=_count)
define_aggregate("count_values", _infer_count, column=_count_values_column, order_sensitive=False, of_columns=_count_values, skips_missing=True)
define_aggregate(
    "count_missing", _infer_count, column=_count_missing_column, order_sensitive=False, of_columns=_count_missing, recorded=_recorded_missing
)
