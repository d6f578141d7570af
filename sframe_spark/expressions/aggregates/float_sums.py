"""Exact sums of floats, of squares and of products of two columns as state columns, and the sum of floats and the mean of numbers.

Sums are rounded once, when an aggregate is finished, so results do not depend on the order in which rows and states are added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import SQUARE_SHIFT
from sframe_spark.compute.exact_running_sums_in_two_words import WORDS_BLOCK
from sframe_spark.compute.exact_sums_of_groups import LOWEST_PLACE, Digits
from sframe_spark.compute.spark_exact_sum import DEFAULT_WINDOW, WIDE_WINDOW
from sframe_spark.errors import NumbersLeftOutError
from sframe_spark.expressions.aggregates.aggregate_function import QueryProperties, SeveralColumns
from sframe_spark.expressions.aggregates.counts import Count, known
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows, last_rows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State, StateColumn
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import FLOAT, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import (
        digits_of_parts,
        digits_of_windows,
        longest_of,
        row_digits,
        running_ints,
        squares_of,
    )
    from sframe_spark.compute.exact_running_sums_in_two_words import WordScratch, two_word_running_sums, words_of_windows
    from sframe_spark.compute.exact_sum_and_variance import ExactSum, VarianceState, largest_magnitude
    from sframe_spark.compute.exact_sums_of_groups import FloatsAndDigits, TwoWords, digits_of, digits_to_lists, non_finite_sums, places_of
    from sframe_spark.compute.key_runs import members
    from sframe_spark.compute.row_groups import GroupsOfRows
    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.compute.spark_exact_sum import Window, carried, digits_of_totals, leading, nearest, square_of
    from sframe_spark.planner.spark_relation import SummedFloats
    from sframe_spark.session.spark_versions import arrow_function
    from sframe_spark.udf.error_transport import error_transport


@attrs.frozen
class FloatSum(StateColumn):
    """The exact sum of a column of numbers as floats, or of their squares, over the rows in which some columns have a value.

    Parameters
    ----------
    column
        Position of the column.
    is_squared
        Whether the squares of the column are summed. Infinities and NaN have no squares; they are in the sum of the numbers.
    where
        Positions of the columns that must have a value; by default the column itself.
    """

    # Two words hold the running sums of so many usual numbers.
    rows_per_block: ClassVar[int] = WORDS_BLOCK
    column: int
    is_squared: bool = False
    where: tuple[int, ...] = attrs.field()

    @where.default
    def _own_column(self) -> tuple[int, ...]:
        return (self.column,)

    def empty(self, groups: int) -> State:
        return Digits(groups)

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        if groups.count == 1:
            return self._of_all(rows)
        numbers = rows.floats(self.column, self.where)
        if groups.several is None:
            digits = Digits(groups.count)
            digits.add_numbers(numbers, groups.codes, self.is_squared)
            return digits
        indices, chosen, codes = groups.several
        digits = Digits(int(indices.max(initial=-1)) + 1)
        digits.add_numbers(numbers[chosen], codes, self.is_squared)
        return FloatsAndDigits(digits, indices, numbers[groups.firsts], self.is_squared)

    def bytes_ahead(self, rows: InputRows, groups: GroupsOfRows) -> int:
        # Groups of one row have no digits.
        several = int(np.count_nonzero(groups.sizes > 1))
        return (16 if self.is_squared else 8) * several * places_of(rows.floats(self.column, self.where)) if several else 0

    def _of_all(self, rows: InputRows) -> Digits:
        """Return the sum of all rows. The sum and the sum of squares are computed in one pass if the latter is computed first."""
        numbers = rows.known_floats(self.column) if self.where == (self.column,) else rows.floats(self.column, self.where)
        key = ("sum and squares", self.column, self.where)
        if self.is_squared:
            state = rows.once(key, lambda: VarianceState.of(numbers))
            return Digits.of_units(state.square_units << SQUARE_SHIFT, -2 * LOWEST_PLACE)
        known_state = rows.converted(key)
        return Digits.of_sum(ExactSum.of(numbers) if known_state is None else known_state.total)

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        if groups.count == len(state):
            return state.take(np.argsort(groups.codes))
        return state.grouped(groups.codes, groups.count).carried()

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        if not self.is_squared:
            numbers = rows.floats(self.column, self.where)
            words = two_word_running_sums(numbers, starts, before) if rows.count else None
            if words is not None:
                return words, words.take(last_rows(starts, rows.count))
        every = row_digits(self._parts(rows), starts, before.all_digits())
        return every, every.take(last_rows(starts, rows.count))

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        if self.is_squared:
            return digits_of_parts(self._parts(rows), windows.starts, windows.stops)
        numbers = rows.floats(self.column, self.where)
        words = self._words_of_windows(numbers, rows, windows)
        if words is None and not math.isfinite(largest_magnitude(numbers)):
            words = self._words_of_windows(np.where(np.isfinite(numbers), numbers, 0.0), rows, windows)
            if words is not None:
                words.others = non_finite_sums_of_windows(numbers, windows)
        return digits_of_windows(numbers, windows.starts, windows.stops) if words is None else words

    def _words_of_windows(self, numbers: np.ndarray, rows: InputRows, windows: RowWindows) -> TwoWords | None:
        """Return the sums of finite numbers, in scratch arrays if windows have one width; None if two words cannot hold all bits of all numbers."""
        if windows.width:
            words = words_of_windows(numbers, windows.width, self._scratch(rows))
            if words is not None:
                return words
        running = running_ints(numbers, longest_of(windows.starts, windows.stops))
        if running is None:
            return None
        return TwoWords.of_ints(windows.differences(running.high), windows.differences(running.low), running.unit, running.bits)

    def _scratch(self, rows: InputRows) -> WordScratch:
        scratch: WordScratch | None = rows.scratch.get(self)
        if scratch is None or len(scratch.part) <= rows.count:
            scratch = rows.scratch[self] = WordScratch.of(rows.count + 1)
        return scratch

    def _parts(self, rows: InputRows) -> list[tuple[np.ndarray, int]]:
        """Return the numbers or exact squares of each row as parts: floats with the place ``p`` of their factor ``2**(40 * p)``."""
        numbers = rows.floats(self.column, self.where)
        if not self.is_squared:
            return [(numbers, 0)]
        return squares_of(numbers if math.isfinite(largest_magnitude(numbers)) else np.where(np.isfinite(numbers), numbers, 0.0))

    def to_arrow(self, state: State) -> list[pa.Array]:
        return [digits_to_lists(state.all_digits())]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        return digits_of(columns[0])


def non_finite_sums_of_windows(numbers: np.ndarray, windows: RowWindows) -> np.ndarray:
    """Return the sum of the infinities and NaN in each window; zero in windows without any.

    Examples
    --------
    >>> non_finite_sums_of_windows(np.array([1.0, np.inf, 2.0, -np.inf]), RowWindows.rolling(4, 2)).tolist()
    [inf, inf, -inf]
    """
    nans = windows.totals(np.isnan(numbers)) > 0
    if not np.isinf(numbers).any():
        return np.where(nans, math.nan, 0.0)
    ups, downs = (windows.totals(numbers == infinity) > 0 for infinity in (math.inf, -math.inf))
    return non_finite_sums(ups, downs, nans)


def sum_of_floats(column: int) -> ColumnAggregate:
    """Return the sum of floats, rounded once; of no value it is zero."""
    return ColumnAggregate((FloatSum(column),), lambda sums, *, last: pa.array(sums.rounded(last), from_pandas=False))


def mean(column: int) -> ColumnAggregate:
    """Return the mean of numbers; missing without a value."""

    def finish(counts: State, sums: State, *, last: bool) -> pa.Array:
        if counts.all():
            return pa.array(sums.means(counts, last), from_pandas=False)
        return known(sums.means(np.maximum(counts, 1), last), counts > 0)

    return ColumnAggregate((Count((column,)), FloatSum(column)), finish)


# Exact sums, means and variances of floats in Spark: they are rounded once, and equal to those of state columns.

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
Values = Callable[[np.ndarray, Digits, Digits | None], np.ndarray]
INFINITE = "DOUBLE('Infinity')"
LEFT_OUT = "numbers that are not usual ones were left out"


@attrs.frozen
class DigitSums:
    """The Spark aggregates from which exact sums of one column follow.

    Parameters
    ----------
    name
        Name of the column.
    column_type
        Type of the column.
    way
        Which floats the query can sum, see :class:`QueryProperties`.
    has_squares
        Whether the squares of the numbers are summed, too.
    """

    name: str
    column_type: ColumnType
    way: QueryProperties
    has_squares: bool = False

    @property
    def window(self) -> Window:
        """The range of digits that have columns in the query."""
        return DEFAULT_WINDOW if self.way.summed is SummedFloats.COMMON else WIDE_WINDOW

    @property
    def number(self) -> str:
        """SQL for the numbers as floats."""
        return self.name if self.column_type == FLOAT else f"CAST({self.name} AS DOUBLE)"

    @property
    def helpers(self) -> list[dict[str, str]]:
        """SQL for helper columns: the number, or zero if the window does not hold it; if needed, its square and the square's rounding error."""
        # In ANSI mode (a Spark Connect session) casting numbers outside the window to ints would fail.
        # And as the column is not nullable, Spark's generated code does not check for null at each step.
        columns = {self._in_window: f"coalesce(CASE WHEN {self.window.holds(self.number)} THEN {self.number} END, 0.0D)"}
        return [columns, dict(zip(self._of_square, square_of(self._in_window), strict=True))] if self.has_squares else [columns]

    @property
    def _in_window(self) -> str:
        return f"{self.name}_usual"

    @property
    def _of_square(self) -> tuple[str, str]:
        return f"{self.name}_square", f"{self.name}_lacking"

    def columns(self) -> list[str]:
        """Return SQL for the count, the sum of infinite and NaN numbers, a mark of finite numbers outside the window, and the sums of digits."""
        number = self.number
        is_finite = f"abs({number}) < {INFINITE}"
        non_finite = f"sum(CASE WHEN NOT {is_finite} THEN {number} END)"
        left_out = f"CASE WHEN {is_finite} AND {self._in_window} != {number} THEN {number} END"
        digits = self.window.digits(self._in_window)
        if self.has_squares:
            of_squares = (self.window.of_squares.digits(part) for part in self._of_square)
            digits += [f"{first} + {second}" for first, second in zip(*of_squares, strict=True)]
        unusual = f"collect_list({left_out})" if self.way.has_every_number else f"count({left_out})"
        return [f"count({number})", non_finite, unusual, *(f"coalesce(sum({digit}), 0L)" for digit in digits)]

    def aggregate(self, finish: Callable[[Sequence[str]], Column], is_in_spark: bool = False) -> SeveralColumns:
        """Return the aggregate that ``finish`` computes from the columns or, with ``is_in_spark``, from the result of further steps in Spark."""
        steps = [lambda made: [*made[:3], *carried(made[3:])], lambda made: [*made[:3], *leading(made[3:], self.window.lowest)]]
        return SeveralColumns(self.columns(), finish, steps if is_in_spark else (), self.helpers)

    def in_python(self, values: Values, made: Sequence[str]) -> Column:
        """Return a Spark column with the result of a Python function for the counts and exact sums of groups, which Spark has computed."""
        function = partial(values_of, values, self.window, self.has_squares, self.way.has_every_number)

        def exact_sums(*arrays: pa.Array) -> pa.Array:
            return function(arrays)

        result = arrow_function(exact_sums, "double")(*made)
        return result if self.way.has_every_number else F.when(F.col(made[2]) == 0, result).otherwise(refused())

    def sum_in_spark(self, made: Sequence[str]) -> Column:
        """Return a Spark column with the rounded sum, from the columns that the steps in Spark computed."""
        _, non_finite, unusual, *parts = made
        return F.when(F.col(unusual) != 0, refused()).otherwise(F.expr(f"coalesce({non_finite}, {nearest(*parts)})"))


def refused() -> Column:
    """Return a Spark column that raises an error: after it the query is built again in a way that can sum more floats."""
    return F.raise_error(F.lit(error_transport().packed(NumbersLeftOutError(LEFT_OUT)))).cast("double")


def exact_sum(names: Sequence[str], types: Types, parameters: Parameters, way: QueryProperties) -> SeveralColumns | None:
    """Return the Spark aggregates for the sum of floats; None for other types, whose sums need no digits."""
    if types[0] != FLOAT:
        return None
    numbers = DigitSums(names[0], types[0], way)
    if way.has_every_number:
        return numbers.aggregate(partial(numbers.in_python, sums))
    return numbers.aggregate(numbers.sum_in_spark, is_in_spark=True)


def exact_mean(names: Sequence[str], types: Types, parameters: Parameters, way: QueryProperties) -> SeveralColumns | None:
    """Return the Spark aggregates for the mean of numbers, which is missing if there are none; None for other types."""
    if not types[0].is_numeric:
        return None
    numbers = DigitSums(names[0], types[0], way)

    def finish(made: Sequence[str]) -> Column:
        count = F.col(made[0])
        return F.when(count > 0, numbers.in_python(means, made) if way.has_every_number else numbers.sum_in_spark(made) / count)

    return numbers.aggregate(finish, is_in_spark=not way.has_every_number)


def sums(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return the float nearest to the sum of each group."""
    return totals.rounded()


def means(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return the mean of each group; arbitrary for a group without numbers."""
    return totals.means(np.maximum(counts, 1))


def values_of(values: Values, window: Window, has_squares: bool, every_number: bool, arrays: Sequence[pa.Array]) -> pa.Array:
    """Return the result of ``values`` for each group, from the columns of :meth:`DigitSums.columns` that Spark has computed."""
    counts, non_finite, unusual, *digits = arrays
    totals = [column.to_numpy(zero_copy_only=False) for column in digits]
    result = digits_of_totals(totals[: window.places], window.lowest)
    squares = digits_of_totals(totals[window.places :], window.of_squares.lowest) if has_squares else None
    if non_finite.null_count < len(non_finite):
        result.others = non_finite.fill_null(0.0).to_numpy(zero_copy_only=False)
    if every_number:
        left, codes = members(unusual)
        numbers = left.to_numpy(zero_copy_only=False)
        more = Digits(result.count)
        more.add(numbers, codes)
        result = result + more
        if squares is not None:
            its_squares = Digits(result.count)
            its_squares.add_squares(numbers, codes)
            squares = squares + its_squares
    return pa.array(values(counts.to_numpy(zero_copy_only=False), result, squares), pa.float64(), from_pandas=False)
