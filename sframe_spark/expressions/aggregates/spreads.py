"""Variance and standard deviation, from a count, an exact sum and an exact sum of squares."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_grouped_sums_and_squared_deviations import (
    CANCELS,
    FIRST_IN_REACH,
    IN_REACH,
    Digits,
    deviation_from_ints,
    deviations_from_pairs,
    squared_deviations,
)
from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import deviations_of_windows
from sframe_spark.compute.exact_sum_and_variance import largest_magnitude
from sframe_spark.compute.rolling_variances_in_floats import rolling_squared_deviations
from sframe_spark.expressions.aggregates.counts import Count
from sframe_spark.expressions.aggregates.float_sums import ExactSums, FloatSum, TwoWordSums, non_finite_sums_of_windows
from sframe_spark.expressions.aggregates.rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State


def deviations(counts: np.ndarray, sums: State, squares: State) -> np.ndarray:
    """Return the sum of squared deviations from the mean of each group; zero for at most one value, NaN for other groups with an odd value."""
    if isinstance(sums, TwoWordSums) and isinstance(squares, ExactSums) and sums.others is None:
        digits = squares.digits.carried()
        if digits.others is None and all(0 <= place - FIRST_IN_REACH < IN_REACH for place in digits.places):
            # Running sums are pairs of floats already. Digits are made of those sums only for which pairs leave bits undecided.
            first, second, about = deviations_from_pairs(np.maximum(counts, 1), sums.pairs(), digits.pairs())
            result = np.add(first, second, out=first)
            near = np.flatnonzero((result <= CANCELS * about) & (about > 0.0))
            if len(near):
                result[near] = squared_deviations(counts[near], sums.take(near).all_digits(), digits.select(near))
            return result
    if isinstance(sums, TwoWordSums) or sums.indices is None or isinstance(squares, TwoWordSums):
        return squared_deviations(counts, sums.all_digits(), squares.all_digits())
    several, result = np.flatnonzero(sums.indices >= 0), np.zeros(len(counts))
    is_like = squares.indices is not None and (squares.indices is sums.indices or np.array_equal(squares.indices, sums.indices))
    result[several] = squared_deviations(counts[several], sums.digits, squares.digits if is_like else squares.take(several).all_digits())
    return result


def deviations_of_one(count: int, sums: Digits, squares: Digits, group: int = 0) -> float:
    """Return the sum of squared deviations from the mean of one group, correctly rounded; NaN with an odd value, zero without values."""
    if not count:
        return 0.0
    if sums.others is not None and sums.others[group] != 0.0:
        return math.nan
    return deviation_from_ints(count, sums, squares, group)


def variance(column: int, is_root: bool = False, is_nan_alone: bool = False) -> ColumnAggregate:
    """Return the population variance, or with ``is_root`` its square root; zero for a group with one value or none.

    With an infinity or NaN it is NaN, but zero if that is the only value; with ``is_nan_alone`` it is NaN then, too.
    """

    def finish(counts: State, squares: State, sums: State, *, last: bool) -> pa.Array:
        result = deviations(counts, sums, squares) / np.maximum(counts, 1)
        odd = sums.non_finite() if is_nan_alone else None
        if odd is not None:
            result[odd] = math.nan
        return pa.array(np.sqrt(result, out=result) if is_root else result, from_pandas=False)

    def finish_of_all(counts: State, squares: State, sums: State, *, last: bool) -> pa.Array:
        count = int(counts[0])
        result = deviations_of_one(count, sums.all_digits(), squares.all_digits()) / count if count > 1 or (count and is_nan_alone) else 0.0
        return pa.array([math.sqrt(result) if is_root else result], from_pandas=False)

    def of_windows(rows: InputRows, windows: RowWindows) -> pa.Array:
        # Pairs of floats, which are exact enough for most windows, take a third of the time of digits.
        counts, numbers = Count((column,)).windows(rows, windows), rows.floats(column, (column,))
        result = deviations_of_windows(numbers, counts, windows.starts, windows.stops)
        result /= np.maximum(counts, 1)
        if is_nan_alone and not math.isfinite(largest_magnitude(numbers)):
            result[non_finite_sums_of_windows(numbers, windows) != 0.0] = math.nan
        return pa.array(np.sqrt(result, out=result) if is_root else result, from_pandas=False)

    # The sum of squares is computed first: in one pass it yields the sum as well.
    return ColumnAggregate((Count((column,)), FloatSum(column, column), FloatSum(column)), finish, of_windows, finish_of_all=finish_of_all)


def rolling_variance(column: int, is_root: bool = False) -> ColumnAggregate:
    """Return the variance that is NaN with any infinity or NaN; for windows of one width its last digits may be wrong, see decision 034.

    Such windows are added up in floats, in less time than exactly; the result for a window does not depend on other rows.
    """
    exact = variance(column, is_root, is_nan_alone=True)

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
