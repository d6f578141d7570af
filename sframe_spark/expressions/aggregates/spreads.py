"""Variance and standard deviation, from a count, an exact sum and an exact sum of squares, and their aggregates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import QueryProperties, SeveralColumns, define_aggregate, require
from sframe_spark.expressions.aggregates.counts import Count, known
from sframe_spark.expressions.aggregates.float_sums import DigitSums, FloatSum, non_finite_sums_of_windows
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import FLOAT, FLOAT_KIND, INT_KIND, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import deviations_of_windows
    from sframe_spark.compute.exact_squared_deviations import deviation_from_ints, squared_deviations
    from sframe_spark.compute.exact_sum_and_variance import largest_magnitude
    from sframe_spark.compute.exact_sums_of_groups import Digits
    from sframe_spark.compute.rolling_variances_in_floats import rolling_squared_deviations
    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.udf.error_transport import error_transport


def deviations_of_one(count: int, sums: Digits, squares: Digits, group: int = 0) -> float:
    """Return the sum of squared deviations from the mean of one group, correctly rounded; NaN with an odd value, zero without values."""
    if not count:
        return 0.0
    if sums.others is not None and sums.others[group] != 0.0:
        return math.nan
    return deviation_from_ints(count, sums, squares, group)


def variance(column: int, is_root: bool = False, freedom: int = 0) -> ColumnAggregate:
    """Return the variance with the count reduced by degrees of freedom as divisor, or with ``is_root`` its square root; NaN with an infinity or NaN.

    Without degrees of freedom it is zero for a group with one number or none; with these it is missing for a group with no more numbers than them.
    """

    def finished(deviations: np.ndarray, counts: np.ndarray) -> pa.Array:
        deviations /= np.maximum(counts - freedom, 1)
        return known(np.sqrt(deviations, out=deviations) if is_root else deviations, counts >= (freedom + 1 if freedom else 0))

    def finish(counts: State, squares: State, sums: State, *, last: bool) -> pa.Array:
        result, odd = squared_deviations(counts, sums, squares), sums.non_finite()
        if odd is not None:
            result[odd] = math.nan
        return finished(result, counts)

    def finish_of_all(counts: State, squares: State, sums: State, *, last: bool) -> pa.Array:
        return finished(np.array([deviations_of_one(int(counts[0]), sums.all_digits(), squares.all_digits())]), counts)

    def of_windows(rows: InputRows, windows: RowWindows) -> pa.Array:
        # Pairs of floats, which are exact enough for most windows, take a third of the time of digits.
        counts, numbers = Count((column,)).windows(rows, windows), rows.floats(column, (column,))
        result = deviations_of_windows(numbers, counts, windows.starts, windows.stops)
        if not math.isfinite(largest_magnitude(numbers)):
            result[non_finite_sums_of_windows(numbers, windows) != 0.0] = math.nan
        return finished(result, counts)

    # The sum of squares is computed first: in one pass it yields the sum as well.
    return ColumnAggregate((Count((column,)), FloatSum(column, is_squared=True), FloatSum(column)), finish, of_windows, finish_of_all=finish_of_all)


def rolling_variance(column: int, is_root: bool = False) -> ColumnAggregate:
    """Return the population variance; for windows of one width its last digits may be wrong, see decision 034.

    Such windows are added up in floats, in less time than exactly; the result for a window does not depend on other rows.
    """
    exact = variance(column, is_root)

    def of_windows(rows: InputRows, windows: RowWindows) -> pa.Array:
        if windows.width is None:
            assert exact.of_windows is not None
            return exact.of_windows(rows, windows)
        numbers, valid = rows.floats(column, (column,)), rows.valid((column,))
        counted, clean = np.ones(len(numbers), dtype=bool) if valid is None else valid, numbers
        is_finite = math.isfinite(largest_magnitude(numbers))
        if not is_finite:
            finite = np.isfinite(numbers)
            counted, clean = counted & finite, np.where(finite, numbers, 0.0)
        result = rolling_squared_deviations(counted, clean, windows.width)
        result /= windows.width if valid is None else np.maximum(Count((column,)).windows(rows, windows), 1)
        if not is_finite:
            result[non_finite_sums_of_windows(numbers, windows) != 0.0] = math.nan
        return pa.array(np.sqrt(result, out=result) if is_root else result, from_pandas=False)

    return attrs.evolve(exact, of_windows=of_windows)


def spread_of(count: int, squares: float, freedom: int) -> float | None:
    """Return the variance from the sum of squared deviations, with the divisor ``count - freedom``; None if the count is zero.

    Examples
    --------
    >>> spread_of(2, 2.0, 1), spread_of(1, 0.0, 1), spread_of(0, 0.0, 0)
    (2.0, nan, None)
    """
    if not count:
        return None
    left = count - freedom
    if left > 0:
        return squares / left
    return math.inf if left == 0 and squares > 0 else math.nan


def spreads_of_columns(freedom: int, counts: np.ndarray, sums: Digits, squares: Digits) -> list[float | None]:
    """Return for each group the variance with the count reduced by degrees of freedom as divisor, see :func:`spread_of`."""
    return [spread_of(count, deviations_of_one(count, sums, squares, group), freedom) for group, count in enumerate(counts.tolist())]


def column_variance(column: int, freedom: int, is_root: bool = False) -> ColumnAggregate:
    """Return the variance with the count reduced by degrees of freedom as divisor, or with ``is_root`` its square root; missing without a value.

    Groups that have rows, but not more than degrees of freedom, are an error.
    """

    def finish(rows: State, counts: State, squares: State, sums: State, *, last: bool) -> pa.Array:
        if ((rows > 0) & (rows <= freedom)).any():
            raise UnsupportedOperationError(NO_SPREAD.format(freedom))
        result = spreads_of_columns(freedom, counts, sums.all_digits(), squares.all_digits())
        return pa.array([None if spread is None else math.sqrt(spread) for spread in result] if is_root else result, pa.float64())

    return ColumnAggregate((Count(), Count((column,)), FloatSum(column, is_squared=True), FloatSum(column)), finish)


# The aggregates.

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
NO_SPREAD = "ddof={} must be smaller than the number of rows: choose a smaller ddof"


def _infer_spread(types: Types, parameters: Parameters) -> ColumnType:
    require("VAR or STD", types[0], (INT_KIND, FLOAT_KIND))
    if len(parameters) > 1 or (parameters and (type(parameters[0]) is not int or parameters[0] < 0)):
        raise UnsupportedOperationError(f"ddof must be an int, not negative, got {parameters!r:.80}")
    return FLOAT


def _infer_column_spread(types: Types, parameters: Parameters) -> ColumnType:
    return _infer_spread(types, parameters or (None,))


def freedom_of(parameters: Parameters) -> int:
    """Return the degrees of freedom that parameters of a spread give; by default there are none."""
    return parameters[0] if parameters else 0


def exact_variance(names: Sequence[str], types: Types, parameters: Parameters, way: QueryProperties) -> SeveralColumns:
    """Return the Spark aggregates for the variance of numbers."""
    numbers, freedom = DigitSums(names[0], types[0], way, has_squares=True), freedom_of(parameters)

    def finish(made: Sequence[str]) -> Column:
        values = numbers.in_python(partial(variances_of_all if way.is_whole else variances, freedom), made)
        return F.when(F.col(made[0]) > freedom, values) if freedom else values

    return numbers.aggregate(finish)


def variances(freedom: int, counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return the variance of each group; arbitrary for groups with no more numbers than degrees of freedom, if there are any of these."""
    assert squares is not None
    result, odd = squared_deviations(counts, totals, squares), totals.non_finite()
    if odd is not None:
        result[odd] = math.nan
    return result / np.maximum(counts - freedom, 1)


def variances_of_all(freedom: int, counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Return the variance of all rows together, computed as the kernel does."""
    assert squares is not None
    groups = enumerate(counts.tolist())
    return np.array([deviations_of_one(count, totals, squares, group) / max(count - freedom, 1) for group, count in groups])


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
    return np.array([0.0 if spread is None else spread for spread in spreads_of_columns(freedom, counts, totals, squares)])


def _root(exact: Callable[..., SeveralColumns]) -> Callable[..., SeveralColumns]:
    """Return a function that builds the Spark aggregates for the square root of an aggregate."""

    def of_root(names: Sequence[str], types: Types, parameters: Parameters, way: QueryProperties) -> SeveralColumns:
        squared = exact(names, types, parameters, way)
        return attrs.evolve(squared, finish=lambda made: F.sqrt(squared.finish(made)))

    return of_root


def _spread(name: str, is_root: bool) -> None:
    """Define the variance or the standard deviation of the values of a group."""

    def of_columns(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
        return variance(positions[0], is_root, freedom_of(parameters))

    exact = _root(exact_variance) if is_root else exact_variance
    define_aggregate(name, _infer_spread, order_sensitive=False, exact=exact, of_columns=of_columns, skips_missing=True)


def _column_spread(name: str, is_root: bool) -> None:
    """Define the variance or the standard deviation of a column, with degrees of freedom as parameter."""

    def of_columns(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
        return column_variance(positions[0], parameters[0], is_root)

    exact = _root(_exact_column_variance) if is_root else _exact_column_variance
    define_aggregate(name, _infer_column_spread, order_sensitive=False, exact=exact, of_columns=of_columns)


_spread("var", is_root=False)
_spread("std", is_root=True)
_column_spread("column_var", is_root=False)
_column_spread("column_std", is_root=True)
