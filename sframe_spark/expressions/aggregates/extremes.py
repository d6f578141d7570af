"""The smallest and the largest value of a column, as a kind of state column and as aggregates with their rules for NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_runs import POSITIVE_ZERO
from sframe_spark.expressions.aggregates.aggregate_function import UNRECORDED, define_aggregate, require
from sframe_spark.expressions.aggregates.chosen_rows import ORDERED, BestRow, best_row, following, limits_of
from sframe_spark.expressions.aggregates.counts import HasValue, known
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows, group_sizes, last_rows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, RunningOrder, State, StateColumn
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.storage.manifest.column_statistics import ColumnStatistics
from sframe_spark.types import FLOAT_KIND, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.key_runs import unsigned_zero, unsigned_zeros
    from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
    from sframe_spark.compute.row_groups import GroupsOfRows
    from sframe_spark.compute.segmented_scan import RowGroups, accumulated
    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.compute.window_folds import fold_by_two

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]


@attrs.frozen
class Extreme(StateColumn):
    """The smallest or largest value of a column of numbers or of date-times without offset; missing values are ignored.

    A state is the numbers; which groups have a value is told by :class:`HasValue`.

    Parameters
    ----------
    column, column_type
        Position and type of the column.
    largest
        Whether the largest value is meant.
    nan
        NaN ``spreads``: it is the extreme of all values among which it is. Or it is ``skipped``, unless there is no other value.
    """

    column: int
    column_type: ColumnType
    largest: bool
    nan: Literal["spreads", "skipped"] = "spreads"

    @property
    def choose(self) -> np.ufunc:
        """The function that returns the better of two numbers."""
        if self.nan == "skipped":
            return np.fmax if self.largest else np.fmin
        return np.maximum if self.largest else np.minimum

    @property
    def worst(self) -> float:
        """The smallest or largest number of the type, which every other number replaces."""
        lowest, highest = limits_of(self.dtype)
        return lowest if self.largest else highest

    @property
    def neutral(self) -> float:
        """The number of groups without values."""
        return math.nan if self.nan == "skipped" and self.dtype.kind == "f" else self.worst

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""
        return np.dtype(np.float64 if self.column_type.kind == FLOAT_KIND else np.int64)

    def empty(self, groups: int) -> State:
        return np.full(groups, self.neutral, dtype=self.dtype)

    def numbers(self, rows: InputRows, missing: float) -> np.ndarray:
        """Return the number of each row, for missing values a given number."""
        numbers, valid = rows.numbers(self.column), rows.valid((self.column,))
        return numbers if valid is None else np.where(valid, numbers, missing)

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        return groups.extremes(self.numbers(rows, self.neutral), self.choose, self.neutral)

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        return groups.extremes(state, self.choose, self.neutral)

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        # If all groups have a number already, missing values need not be NaN, which takes longer.
        numbers, choose = self.numbers(rows, self.neutral if np.isnan(before).any() else self.worst), self.choose
        if self.dtype.kind == "i":
            # Of ints these functions give the same, and accumulate in a third of the time.
            choose = np.fmax if self.largest else np.fmin
        if len(starts) == 1:
            every = choose.accumulate(numbers, out=new_array(rows.count, numbers.dtype))
            if choose(before[0], numbers[0]) != numbers[0]:
                choose(every, before[0], out=every)
        else:
            (every,) = accumulated((numbers,), RowGroups([], np.arange(rows.count), starts), (choose,))
            choose(every, np.repeat(before, group_sizes(starts, rows.count)), out=every)
        return every, every[last_rows(starts, rows.count)]

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        numbers = self.numbers(rows, self.neutral)
        if windows.width:
            return rolling_extremes(numbers, windows.width, self.choose)
        return fold_by_two((numbers,), lambda a, b: (self.choose(a[0], b[0]),), (self.neutral,), windows.starts, windows.stops)[0]

    def to_arrow(self, state: State) -> list[pa.Array]:
        if self.dtype.kind == "f":
            # Which of both zeros was found, and which bits of NaN, depends on how rows were divided.
            state = np.where(np.isnan(state), math.nan, unsigned_zeros(state))
        return [pa.array(state, from_pandas=False)]


def rolling_extremes(numbers: np.ndarray, width: int, choose: np.ufunc) -> np.ndarray:
    """Return the extreme of every ``width`` consecutive numbers: ranges of 1, 2, 4, ... numbers, of which two overlapping ones cover a window.

    Examples
    --------
    >>> rolling_extremes(np.array([5, 1, 4, 2, 8]), 3, np.minimum).tolist()
    [1, 1, 2]
    """
    if len(numbers) < width:
        return numbers[:0]
    size, result = 1, numbers
    while 2 * size <= width:
        result = choose(result[:-size], result[size:])
        size *= 2
    left = width - size
    return choose(result[: len(result) - left], result[left:]) if left else result


NO_VALUE, NUMBER, NAN = np.arange(3, dtype=np.int8)


@attrs.frozen
class KindOfFirstValue(StateColumn):
    """Whether the first value of a column of floats is a number or NaN, or whether there is none.

    Parameters
    ----------
    column
        Position of the column.
    """

    needs_order = True
    column: int

    def empty(self, groups: int) -> State:
        return np.full(groups, NO_VALUE, dtype=np.int8)

    def kinds(self, rows: InputRows) -> np.ndarray:
        """Return the kind of the value of each row."""
        kinds = np.isnan(rows.numbers(self.column)).view(np.int8) + NUMBER
        valid = rows.valid((self.column,))
        return kinds if valid is None else kinds * valid

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        return self.merge(self.kinds(rows), groups)

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        if not len(state):
            return self.empty(groups.count)
        if state.all():
            return state[groups.firsts]
        entries, is_known = groups.first_where(state != NO_VALUE)
        return np.where(is_known, state[entries], NO_VALUE)

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        if len(starts) == 1:
            return self._running_of_all(rows, before)
        kinds, sizes = self.kinds(rows), group_sizes(starts, rows.count)
        if kinds.all():
            every = np.repeat(np.where(before != NO_VALUE, before, kinds[starts]), sizes)
        else:
            firsts = following(kinds != NO_VALUE)[starts]
            here = np.where(np.arange(rows.count) >= np.repeat(firsts, sizes), np.repeat(np.append(kinds, NO_VALUE)[firsts], sizes), NO_VALUE)
            every = np.where(np.repeat(before, sizes) != NO_VALUE, np.repeat(before, sizes), here)
        return every, every[last_rows(starts, rows.count)]

    def _running_of_all(self, rows: InputRows, before: State) -> tuple[State, State]:
        """Return the kinds for one group: only its first value is looked at."""
        valid, after = rows.valid((self.column,)), before
        first = 0 if valid is None else int(valid.argmax())
        if before[0] == NO_VALUE and (valid is None or valid[first]):
            after = np.where(np.isnan(rows.numbers(self.column)[first : first + 1]), NAN, NUMBER)
        every = np.full(rows.count, after[0], dtype=np.int8)
        every[:first] = before[0]
        return every, after

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        if not np.isnan(rows.numbers(self.column)).any():
            return np.where(HasValue(self.column).windows(rows, windows), NUMBER, NO_VALUE)
        kinds = self.kinds(rows)
        firsts = np.append(following(kinds != NO_VALUE), rows.count)[windows.starts]
        return np.where(firsts < windows.stops, np.append(kinds, NO_VALUE)[firsts], NO_VALUE)


def extreme(column: int, column_type: ColumnType, largest: bool, nan: Literal["spreads", "skipped", "first"] = "spreads") -> ColumnAggregate:
    """Return the smallest or largest value, never -0.0; missing without a value.

    Parameters
    ----------
    column, column_type
        Position and type of the column. Of date-times of one instant, the one without an offset is the smallest; then offsets ascend. Where a
        ``first`` NaN counts, the first of them is the result instead.
    largest
        Whether the largest value is meant.
    nan
        NaN ``spreads``, is ``skipped`` unless there is no number, or counts only if it is the ``first`` value.
    """
    if column_type.is_zoned:
        return best_row(BestRow(column, column_type, largest, column, column_type, "first" if nan == "first" else "offset"))
    is_plain = nan == "spreads" or column_type.kind != FLOAT_KIND
    state = Extreme(column, column_type, largest, "spreads" if is_plain else "skipped")

    def finish(has_value: State, numbers: State, *, last: bool) -> pa.Array:
        # States that were sent are not writable.
        result = unsigned_zeros(numbers, out=numbers if last and numbers.flags.writeable else None)
        return known(result, has_value).cast(column_type.physical)

    def finish_by_first(has_value: State, numbers: State, kinds: State, *, last: bool) -> pa.Array:
        is_nan = kinds == NAN
        return finish(has_value, np.where(is_nan, math.nan, numbers) if is_nan.any() else numbers, last=last)

    if is_plain or nan == "skipped":
        return ColumnAggregate((HasValue(column), state), finish, running_order=running_order_of(column_type, largest, nan))
    return ColumnAggregate((HasValue(column), state, KindOfFirstValue(column)), finish_by_first)


def running_order_of(column_type: ColumnType, largest: bool, nan: str) -> RunningOrder | None:
    """Return how extremes of the rows so far are ordered: NaN that spreads stays, and follows all numbers; NaN that is skipped comes before some."""
    if column_type.kind == FLOAT_KIND and not (largest and nan == "spreads"):
        return None
    return RunningOrder.MAXIMA if largest else RunningOrder.MINIMA


# The aggregates.


def _extreme(name: str, largest: bool, skip_nan: bool) -> None:
    """Define the aggregate for the smallest or largest value; -0.0 becomes 0.0.

    The result is NaN if any value is NaN; with ``skip_nan``, only if there is no other value.
    """

    def infer(types: Types, parameters: Parameters) -> ColumnType:
        require("MAX" if largest else "MIN", types[0], ORDERED)
        return types[0].of_values

    def column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
        value = columns[0]
        if types[0].kind != FLOAT_KIND:
            return F.max(value) if largest else F.min(value)
        if not skip_nan:
            # NaN is the largest number in Spark, so a maximum is NaN if there is a NaN. The minimum is minus the maximum of the negated values.
            return (F.max(value) if largest else -F.max(-value)) + POSITIVE_ZERO
        number = F.when(~F.isnan(value), value)
        return F.coalesce(F.max(number) if largest else F.min(number), F.max(value)) + POSITIVE_ZERO

    def of_columns(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
        return extreme(positions[0], types[0], largest, "skipped" if skip_nan else "spreads")

    def recorded(facts: ColumnStatistics, column_type: ColumnType) -> Any:
        # Statistics record instants without their offsets, and bounds without NaN.
        if column_type.is_zoned or not facts.bounds_known or facts.has_nan is not False:
            return UNRECORDED
        return unsigned_zero(facts.maximum if largest else facts.minimum)

    define_aggregate(name, infer, column=column, order_sensitive=False, of_columns=of_columns, skips_missing=True, recorded=recorded)


_extreme("min", largest=False, skip_nan=False)
_extreme("max", largest=True, skip_nan=False)
_extreme("column_min", largest=False, skip_nan=True)
_extreme("column_max", largest=True, skip_nan=True)
