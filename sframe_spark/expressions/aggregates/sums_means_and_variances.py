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

from sframe_spark.compute.exact_grouped_sums_and_squared_deviations import BLOCK, Digits, digits_of_rows, squared_deviations
from sframe_spark.compute.exact_sum_and_variance import VarianceState
from sframe_spark.compute.key_runs import members, ranges
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


@attrs.frozen(eq=False)
class VectorSum:
    """The exact sum of some vectors.

    Parameters
    ----------
    count
        Number of vectors that are not missing.
    total
        The sum of each element, with no elements if there are no vectors; None if the vectors have different lengths.
    """

    count: int
    total: Digits | None

    @classmethod
    def nothing(cls, places: int) -> VectorSum:
        """Return the sum of no vectors, with ``places`` elements."""
        return cls(0, Digits(places))

    @classmethod
    def of(cls, column: pa.Array) -> VectorSum:
        """Return the sum of a column of arrays; infinities of both signs add up to NaN without a warning.

        Examples
        --------
        >>> VectorSum.of(pa.array([[1.0, 2.0], None, [3.0, 4.0]])).sum
        array('d', [4.0, 6.0])
        """
        column = column.drop_null()
        lengths = np.diff(column.offsets.to_numpy(zero_copy_only=False)) if len(column) else np.zeros(1, np.int32)
        if (lengths != lengths[0]).any():
            return cls(len(column), None)
        width, numbers = int(lengths[0]), elements(column)
        total = Digits(width)
        size = max(BLOCK // max(width, 1), 1) * width
        for start in range(0, len(numbers), max(size, 1)):
            part = numbers[start : start + size]
            total.add(part, np.tile(np.arange(width), len(part) // width))
        return cls(len(column), total)

    def merged(self, other: VectorSum) -> VectorSum:
        """Return the sum of the vectors of both sums."""
        if not self.count or not other.count:
            return other if other.count else self
        count = self.count + other.count
        if self.total is None or other.total is None or self.total.count != other.total.count:
            return VectorSum(count, None)
        return VectorSum(count, self.total + other.total)

    @property
    def sum(self) -> array.array | None:
        """The sum, or None if the vectors have different lengths."""
        return None if self.total is None else array.array("d", self.total.rounded().tolist())

    @property
    def mean(self) -> array.array | None:
        """The mean, or None if the vectors have different lengths."""
        return None if self.total is None else array.array("d", self.total.means(np.full(self.total.count, max(self.count, 1))).tolist())


def elements(column: pa.Array) -> np.ndarray:
    """Return the elements of all arrays that are not missing, one after the other; missing elements are NaN."""
    return column.flatten().fill_null(np.nan).to_numpy(zero_copy_only=False)


def added_vectors(lists: pa.ListArray | pa.LargeListArray, is_mean: bool) -> pa.ListArray:
    """Return the sum or mean of the vectors of each group: empty for a group without vectors, missing if their lengths differ.

    Examples
    --------
    >>> lists = pa.array([[[1.0, 2.0], None, [3.0, 4.0]], [], [[1.0], [1.0, 2.0]]], pa.list_(pa.list_(pa.float64())))
    >>> added_vectors(lists, True).to_pylist()
    [[2.0, 3.0], [], None]
    """
    vectors, group = members(lists)
    group = group[vectors.is_valid().to_numpy(zero_copy_only=False)]
    vectors = vectors.drop_null()
    lengths = np.diff(vectors.offsets.to_numpy(zero_copy_only=False))
    widths, counts = np.zeros(len(lists), dtype=np.int64), np.bincount(group, minlength=len(lists))
    widths[group] = lengths
    is_ragged = np.bincount(group[lengths != widths[group]], minlength=len(lists)) > 0
    rows = ~is_ragged[group]
    group, lengths, numbers = group[rows], lengths[rows], elements(vectors.filter(pa.array(rows)))
    widths[is_ragged] = 0
    ends = np.cumsum(widths)
    # For each number the index of the sum to which it is added.
    places = ranges((ends - widths)[group], lengths)
    sizes = np.repeat(counts if is_mean else np.ones(len(lists)), widths)
    result, start = np.empty(len(sizes)), 0
    for (sums,) in digits_of_rows(numbers, places, len(sizes), False):
        block = slice(start, start + sums.count)
        result[block], start = sums.means(sizes[block]), block.stop
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(result, from_pandas=False), mask=pa.array(is_ragged))


def lifted_vectors(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> VectorSum:
    """Return the sum of the vectors of a run of rows."""
    return VectorSum.of(arrays[0])


def merged(first: VectorSum, second: VectorSum, types: Types) -> VectorSum:
    """Return the sum of the vectors of two runs of rows."""
    return first.merged(second)


def column_sum(part: VectorSum, types: Types, parameters: Parameters) -> array.array:
    """Return the sum of a whole column of vectors; the empty vector if all are missing.

    Raises
    ------
    UnsupportedOperationError
        If the vectors have different lengths.
    """
    return not_ragged(part.sum)


def column_mean(part: VectorSum, types: Types, parameters: Parameters) -> array.array | None:
    """Return the mean of a whole column of vectors, or None if all are missing.

    Raises
    ------
    UnsupportedOperationError
        If the vectors have different lengths.
    """
    return not_ragged(part.mean) if part.count else None


def not_ragged(result: array.array | None) -> array.array:
    """Return a sum or mean of vectors; raise if it is None, as the vectors have different lengths."""
    if result is None:
        raise UnsupportedOperationError(RAGGED)
    return result


COLUMN_SUMS = Decomposition(lifted_vectors, merged, column_sum)
COLUMN_MEANS = Decomposition(lifted_vectors, merged, column_mean)


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
        return VectorSum.of(arrays[0]).sum
    return SUMS.reduce(arrays, types, parameters)


def reduce_mean(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Return the mean of the values that are not missing; None if there are none (for vectors: the empty vector).

    The mean of vectors of different lengths is None.
    """
    if types[0] == ARRAY:
        return VectorSum.of(arrays[0]).mean
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
        return added_vectors(lists, is_mean)

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
define_aggregate("count_missing", _infer_count, reduce_count_missing, parts=MISSING, column=_count_missing_column, order_sensitive=False)
AGGREGATES.add(AggregateFunction("count", _infer_count, _count_column, None, decomposition=COUNTS, arguments=(0, 1)))
define_aggregate("sum", _infer_sum, reduce_sum, parts=SUMS, column=_sum_column, finish=_finish_sum, order_sensitive=False, exact=exact_sum)
define_aggregate("mean", _infer_mean, reduce_mean, parts=MEANS, column=_vectors_column, finish=_finish_mean, order_sensitive=False, exact=exact_mean)
for _name, _parts, _finish_column in (
    ("column_vector_sum", COLUMN_SUMS, _finish_column_vector_sum),
    ("column_vector_mean", COLUMN_MEANS, _finish_column_vector_mean),
):
    define_aggregate(_name, _infer_vector, parts=_parts, column=_vectors_column, finish=_finish_column, order_sensitive=False)
for _name, _exact, _finish in (
    ("var", exact_variance, variance_of),
    ("std", _root(exact_variance), deviation_of),
    ("column_var", _exact_column_variance, column_variance_of),
    ("column_std", _root(_exact_column_variance), column_deviation_of),
):
    _spreads = Decomposition(variance_part, merged_variances, _finish)
    _infer = _infer_column_spread if _name.startswith("column_") else _infer_spread
    define_aggregate(_name, _infer, _spreads.reduce, parts=_spreads, order_sensitive=False, exact=_exact)
