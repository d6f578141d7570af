"""The aggregates that count rows and missing values; sums and means of numbers and vectors; variances and standard deviations of numbers."""

from __future__ import annotations

import array
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_grouped_sums_and_squared_deviations import Digits, squared_deviations
from sframe_spark.compute.exact_sum_and_variance import VarianceState
from sframe_spark.compute.key_runs import members
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.compute.spark_columns import Column, F, arrow_function
from sframe_spark.compute.spark_exact_sum import DEFAULT_WINDOW, WIDE_WINDOW, Window, carried, digits_of_totals, leading, nearest, square_of
from sframe_spark.errors import NumbersLeftOutError, UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import (
    AGGREGATES,
    AggregateFunction,
    QueryProperties,
    SeveralColumns,
    define_aggregate,
    require,
)
from sframe_spark.expressions.aggregates.counts import count_of_missing, count_of_rows, sum_of_ints
from sframe_spark.expressions.aggregates.float_sums import mean, sum_of_floats
from sframe_spark.expressions.aggregates.partial_aggregates import (
    Decomposition,
    VarianceParts,
    added_counts,
    added_pairs,
    added_sums,
    count_and_sum,
    lifted,
    mean_of,
    merged_variances,
    spread_of,
    sum_of,
    summed,
    the_part,
    variance_part,
)
from sframe_spark.expressions.aggregates.rows_and_windows import InputRows
from sframe_spark.expressions.aggregates.spreads import variance
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State, joined
from sframe_spark.expressions.aggregates.vectors import sum_of_vectors, vectors_of_lists
from sframe_spark.planner.spark_relation import SummedFloats
from sframe_spark.types import ARRAY, FLOAT, INT, ColumnType
from sframe_spark.udf.error_transport import error_transport

# Exact sums, means and variances of floats in Spark: they are rounded once, and equal to the results of the kernels.

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
Values = Callable[[np.ndarray, Digits, Digits | None], np.ndarray]
# A position of digits at or below the square of the smallest float.
LOWEST_SQUARE, MORE_BITS = -54, 40 * 54 - 2148
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


def exact_variance(names: Sequence[str], types: Types, parameters: Parameters, way: QueryProperties) -> SeveralColumns:
    """Return the Spark aggregates for the variance of numbers, which is zero if there is at most one."""
    numbers = DigitSums(names[0], types[0], way, has_squares=True)
    return numbers.aggregate(partial(numbers.in_python, variances_of_all if way.is_whole else variances))


def sums(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return the float nearest to the sum of each group."""
    return totals.rounded()


def means(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return the mean of each group; arbitrary for a group without numbers."""
    return totals.means(np.maximum(counts, 1))


def variances(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return the variance of each group: the mean squared deviation."""
    assert squares is not None
    return squared_deviations(counts, totals, squares) / np.maximum(counts, 1)


def variances_of_all(counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return the variance of all rows together, computed as the kernel does; zero for at most one number."""
    assert squares is not None
    result = variance_states(counts, totals, squares)
    return np.array([part.squares / part.count if part.count > 1 else 0.0 for part in result])


def variance_states(counts: np.ndarray, totals: Digits, squares: Digits) -> list[VarianceState]:
    """Return the variance state of each group."""
    return [
        VarianceState(count, totals.sum_of(group), squares.units(group, LOWEST_SQUARE) >> MORE_BITS) for group, count in enumerate(counts.tolist())
    ]


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


# Sums and means of vectors, element by element.

RAGGED = "vectors of different lengths have no sum and no mean: make the lengths equal"


def ragged_error() -> UnsupportedOperationError:
    """Return the error for vectors of different lengths."""
    return UnsupportedOperationError(RAGGED)


def whole_vector(aggregate: ColumnAggregate, arrays: Sequence[pa.Array]) -> array.array | None:
    """Return an aggregate of all vectors of a column."""
    (vector,) = aggregate.finish(*lifted_vectors(aggregate, arrays, len(arrays[0]), (), ()), last=True)
    return array.array("d", vector.values.to_numpy().tolist()) if vector.is_valid else None


def lifted_vectors(aggregate: ColumnAggregate, arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> tuple[State, ...]:
    """Return the states of a run of rows."""
    return tuple(column.lift(InputRows(arrays, rows), GroupsOfRows(np.zeros(rows, dtype=np.int64), 1)) for column in aggregate.states)


def merged_vectors(aggregate: ColumnAggregate, first: tuple[State, ...], second: tuple[State, ...], types: Types) -> tuple[State, ...]:
    """Return the states of two runs of rows."""
    one_group = GroupsOfRows(np.zeros(2, dtype=np.int64), 1)
    return tuple(column.merge(joined(pair), one_group) for column, pair in zip(aggregate.states, zip(first, second, strict=True), strict=True))


def whole_vector_of(aggregate: ColumnAggregate, part: tuple[State, ...], types: Types, parameters: Parameters) -> array.array | None:
    """Return the aggregate of all rows, whose states are given.

    Raises
    ------
    UnsupportedOperationError
        If the vectors have different lengths.
    """
    (vector,) = aggregate.finish(*part, last=False)
    return array.array("d", vector.values.to_numpy().tolist()) if vector.is_valid else None


def _column_vector_sum(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return sum_of_vectors(columns[0], ragged=ragged_error)


def _column_vector_mean(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return sum_of_vectors(columns[0], is_mean=True, is_missing_of_none=True, ragged=ragged_error)


VECTOR_SUMS, VECTOR_MEANS = sum_of_vectors(0), sum_of_vectors(0, is_mean=True)
COLUMN_VECTOR_SUMS, COLUMN_VECTOR_MEANS = (
    sum_of_vectors(0, ragged=ragged_error),
    sum_of_vectors(0, True, is_missing_of_none=True, ragged=ragged_error),
)
COLUMN_SUMS, COLUMN_MEANS = (
    Decomposition(partial(lifted_vectors, aggregate), partial(merged_vectors, aggregate), partial(whole_vector_of, aggregate))
    for aggregate in (_column_vector_sum((), (0,), ()), _column_vector_mean((), (0,), ()))
)


NUMBERS = ("int", "float")
NO_SPREAD = "a column with no more rows than ddof={} has no spread: choose a smaller ddof"


def _count_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    return F.count(F.lit(1))


def _infer_sum(types: Types, parameters: Parameters) -> ColumnType:
    require("SUM", types[0], (*NUMBERS, "array"))
    return types[0].of_values


def _infer_mean(types: Types, parameters: Parameters) -> ColumnType:
    require("MEAN", types[0], (*NUMBERS, "array"))
    return ARRAY if types[0] == ARRAY else FLOAT


def _infer_vector(types: Types, parameters: Parameters) -> ColumnType:
    require("the sum or mean of vectors", types[0], ("array",))
    return ARRAY


def _infer_column_spread(types: Types, parameters: Parameters) -> ColumnType:
    if len(parameters) != 1 or type(parameters[0]) is not int or parameters[0] < 0:
        raise UnsupportedOperationError(f"degrees of freedom are an int from 0, not {parameters!r:.80}")
    return _infer_spread(types, parameters)


def _infer_spread(types: Types, parameters: Parameters) -> ColumnType:
    require("VAR or STD", types[0], NUMBERS)
    return FLOAT


def reduce_sum(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Return the sum of the values that are not missing; zero if there are none (for vectors: the empty vector).

    The sum of vectors of different lengths is None.
    """
    if types[0] == ARRAY:
        return whole_vector(VECTOR_SUMS, arrays)
    return SUMS.reduce(arrays, types, parameters)


def reduce_mean(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Return the mean of the values that are not missing; None if there are none (for vectors: the empty vector).

    The mean of vectors of different lengths is None.
    """
    if types[0] == ARRAY:
        return whole_vector(VECTOR_MEANS, arrays)
    return MEANS.reduce(arrays, types, parameters)


def _sum_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    if types[0] == ARRAY:
        return _vectors_column(columns, types, parameters, order)
    # Spark widens the int literal to the type of the sum.
    return F.coalesce(F.sum(columns[0]), F.lit(0))


def _vectors_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    """Return a Spark column with the list of the vectors of a group, in any order."""
    return F.collect_list(columns[0])


def _add_vectors(rows: Column, is_mean: bool = False) -> Column:
    """Return a Spark column with the sum or mean of collected vectors, element by element, each rounded only once."""

    def exact_vectors(lists: pa.Array) -> pa.Array:
        return vectors_of_lists(lists, VECTOR_MEANS if is_mean else VECTOR_SUMS)

    return arrow_function(exact_vectors, "array<double>")(rows)


def _if_equal_lengths(rows: Column, value: Column, empty: Column, ragged: Column) -> Column:
    """Return a Spark column with ``value``, or ``empty`` for no vectors, or ``ragged`` for vectors of different lengths."""
    differ = F.size(F.array_distinct(F.transform(rows, F.size))) > 1
    return F.when(F.size(rows) == 0, empty).when(differ, ragged).otherwise(value)


def _no_vector() -> Column:
    return F.lit(None).cast("array<double>")


def _empty_vector() -> Column:
    return F.array().cast("array<double>")


def _ragged_error() -> Column:
    return F.raise_error(F.lit(error_transport().packed(UnsupportedOperationError(RAGGED)))).cast("array<double>")


def _finish_sum(column: Column, types: Types, parameters: Parameters) -> Column:
    if types[0] != ARRAY:
        return column
    return _if_equal_lengths(column, _add_vectors(column), _empty_vector(), _no_vector())


def _finish_mean(column: Column, types: Types, parameters: Parameters) -> Column:
    return _if_equal_lengths(column, _add_vectors(column, is_mean=True), _empty_vector(), _no_vector())


def _finish_column_vector_sum(column: Column, types: Types, parameters: Parameters) -> Column:
    return _if_equal_lengths(column, _add_vectors(column), _empty_vector(), _ragged_error())


def _finish_column_vector_mean(column: Column, types: Types, parameters: Parameters) -> Column:
    return _if_equal_lengths(column, _add_vectors(column, is_mean=True), _no_vector(), _ragged_error())


def variance_of(part: VarianceParts, types: Types, parameters: Parameters) -> float:
    """Return the population variance from the variance state of all rows; zero for a group with one value (even NaN) or none."""
    return part[1].squares / part[1].count if part[1].count > 1 else 0.0


def deviation_of(part: VarianceParts, types: Types, parameters: Parameters) -> float:
    """Return the population standard deviation from the variance state of all rows; zero for a group with one value (even NaN) or none."""
    return math.sqrt(variance_of(part, types, parameters))


def column_variance_of(part: VarianceParts, types: Types, parameters: Parameters) -> float | None:
    """Return the variance of a whole column, with the count reduced by degrees of freedom as divisor; None if all values are missing.

    Raises
    ------
    UnsupportedOperationError
        If the column has rows, but not more than degrees of freedom.
    """
    rows, result = part
    if rows and rows <= parameters[0]:
        raise UnsupportedOperationError(NO_SPREAD.format(parameters[0]))
    return spread_of(result.count, result.squares, parameters[0])


def column_deviation_of(part: VarianceParts, types: Types, parameters: Parameters) -> float | None:
    """Return the standard deviation of a whole column; see :func:`column_variance_of`."""
    result = column_variance_of(part, types, parameters)
    return None if result is None else math.sqrt(result)


def _exact_column_variance(names: Sequence[str], types: Types, parameters: Parameters, way: QueryProperties) -> SeveralColumns:
    numbers, freedom = DigitSums(names[0], types[0], way, has_squares=True), parameters[0]

    def finish(made: Sequence[str]) -> Column:
        *sums, all_rows = made
        count, rows = F.col(sums[0]), F.col(all_rows)
        error = F.raise_error(F.lit(error_transport().packed(UnsupportedOperationError(NO_SPREAD.format(freedom))))).cast("double")
        return F.when((rows > 0) & (rows <= freedom), error).when(count > 0, numbers.in_python(partial(column_variances, freedom), sums))

    return SeveralColumns([*numbers.columns(), "count(1)"], finish, helpers=numbers.helpers)


def column_variances(freedom: int, counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return variances of whole columns, with the count reduced by degrees of freedom as divisor; arbitrary for a column without numbers."""
    assert squares is not None
    result = [spread_of(part.count, part.squares, freedom) for part in variance_states(counts, totals, squares)]
    return np.array([0.0 if spread is None else spread for spread in result])


def _root(exact: Callable[..., SeveralColumns]) -> Callable[..., SeveralColumns]:
    """Return a function that builds the Spark aggregates for the square root of an aggregate."""

    def of_root(names: Sequence[str], types: Types, parameters: Parameters, way: QueryProperties) -> SeveralColumns:
        squared = exact(names, types, parameters, way)
        return attrs.evolve(squared, finish=lambda made: F.sqrt(squared.finish(made)))

    return of_root


def _infer_count(types: Types, parameters: Parameters) -> ColumnType:
    return INT


def _count_missing_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    return F.count(F.lit(1)) - F.count(columns[0])


def reduce_count_missing(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Return the number of missing values."""
    return arrays[0].null_count


COUNTS = Decomposition(lambda arrays, rows, types, parameters: rows, added_counts, the_part)
MISSING = Decomposition(lifted(reduce_count_missing), added_counts, the_part)
SUMS = Decomposition(summed, added_sums, sum_of)
MEANS = Decomposition(count_and_sum, added_pairs, mean_of)


def _sums(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate | None:
    if types[0] == ARRAY:
        return sum_of_vectors(columns[0])
    return sum_of_ints(columns[0]) if types[0] == INT else sum_of_floats(columns[0])


def _means(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate | None:
    return sum_of_vectors(columns[0], is_mean=True) if types[0] == ARRAY else mean(columns[0])


def _of_rows(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return count_of_rows()


def _spread(is_root: bool, types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return variance(columns[0], is_root)


def _of_missing(types: Types, columns: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return count_of_missing(columns[0])


define_aggregate(
    "count_missing", _infer_count, reduce_count_missing, parts=MISSING, column=_count_missing_column, order_sensitive=False, of_columns=_of_missing
)
AGGREGATES.add(AggregateFunction("count", _infer_count, _count_column, None, decomposition=COUNTS, arguments=(0, 1), of_columns=_of_rows))
define_aggregate(
    "sum",
    _infer_sum,
    reduce_sum,
    parts=SUMS,
    column=_sum_column,
    finish=_finish_sum,
    order_sensitive=False,
    exact=exact_sum,
    of_columns=_sums,
    skips_missing=True,
)
define_aggregate(
    "mean",
    _infer_mean,
    reduce_mean,
    parts=MEANS,
    column=_vectors_column,
    finish=_finish_mean,
    order_sensitive=False,
    exact=exact_mean,
    of_columns=_means,
    skips_missing=True,
)
for _name, _parts, _finish_column, _of_columns in (
    ("column_vector_sum", COLUMN_SUMS, _finish_column_vector_sum, _column_vector_sum),
    ("column_vector_mean", COLUMN_MEANS, _finish_column_vector_mean, _column_vector_mean),
):
    define_aggregate(_name, _infer_vector, parts=_parts, column=_vectors_column, finish=_finish_column, order_sensitive=False, of_columns=_of_columns)
for _name, _exact, _finish in (
    ("var", exact_variance, variance_of),
    ("std", _root(exact_variance), deviation_of),
    ("column_var", _exact_column_variance, column_variance_of),
    ("column_std", _root(_exact_column_variance), column_deviation_of),
):
    _spreads = Decomposition(variance_part, merged_variances, _finish)
    _of_spread = {"var": partial(_spread, False), "std": partial(_spread, True)}.get(_name)
    _infer = _infer_column_spread if _name.startswith("column_") else _infer_spread
    define_aggregate(
        _name,
        _infer,
        _spreads.reduce,
        parts=_spreads,
        order_sensitive=False,
        exact=_exact,
        of_columns=_of_spread,
        skips_missing=_of_spread is not None,
    )
