"""Sums and spreads of windows are the floats next to those of exact numbers, whatever other rows hold and however long windows are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.compute import exact_running_and_rolling_sums_and_variances as exact_running_and_rolling_sum
from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import deviations_in_pairs, deviations_of_windows, running_ints
from sframe_spark.compute.exact_sum_and_variance import VarianceState
from sframe_spark.expressions.aggregates.aggregates_of_windows import values_of_windows
from sframe_spark.expressions.aggregates.float_sums import sum_of_floats
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.types import FLOAT
from tests.compute.odd_numbers import NUMBERS

WINDOWS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=10)


def bounds_of(windows: list[tuple[int, int]], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Where windows of so many rows begin and end."""
    edges = [sorted(min(edge, rows) for edge in window) for window in windows]
    return tuple(np.array([edge[side] for edge in edges], dtype=np.int64) for side in (0, 1))  # type: ignore[return-value]


@given(
    st.lists(st.one_of(NUMBERS, st.none()), max_size=30),
    WINDOWS,
    st.sampled_from([3, 1 << 14]),
    st.sampled_from([2, 1 << 20]),
    st.sampled_from([2, 99]),
)
def test_aggregates_of_windows_are_those_of_their_rows(values: Any, windows: Any, block: int, max_rows: int, together: int) -> None:
    numbers, valid = np.array([value or 0.0 for value in values]), np.array([value is not None for value in values], dtype=bool)
    starts, stops = bounds_of(windows, len(values))
    rows, names = InputRows([pa.array(values, pa.float64(), from_pandas=False)], len(values)), ("sum", "mean", "var", "std")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_running_and_rolling_sum, "WORDS_BLOCK", block)
        patch.setattr(exact_running_and_rolling_sum, "MAX_ROWS", max_rows)
        patch.setattr(exact_running_and_rolling_sum, "WINDOWS_IN_CACHE", together)
        columns = values_of_windows([Aggregation(name, (0,)).on_columns((FLOAT,)) for name in names], rows, RowWindows(starts, stops))
    found = {name: column.to_pylist() for name, column in zip(names, columns, strict=True)}
    for place, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        moments = VarianceState.of(numbers[start:stop][valid[start:stop]])
        assert repr(found["sum"][place]) == repr(moments.total.value)
        mean = moments.mean if moments.count else None
        assert repr(found["mean"][place]) == repr(mean)
        variance = moments.squares / moments.count if moments.count > 1 else 0.0
        assert same(found["var"][place], variance, 5e-322) and same(found["std"][place], math.sqrt(variance), 1e-160)


def same(found: float, expected: float, room: float) -> bool:
    """Whether two spreads have the same digits; squares of the smallest floats have few."""
    return repr(found) == repr(expected) or (expected < 1e-150 and math.isclose(found, expected, abs_tol=room))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("distance", [0.0, 1.0, 2.0**12, 1e5, 1e6, 2.0**22, 1e8, 1e13, 1e16, -1e200, 1e-200])
@pytest.mark.parametrize("rows", [1, 2, 7, 40])
def test_spreads_are_the_floats_next_to_those_of_exact_numbers(distance: float, rows: int) -> None:
    """However much of the squares cancels: whether pairs of floats tell, digits or whole numbers, and whatever is beside a window."""
    random = np.random.default_rng(rows)
    numbers = distance + random.choice([1.0, 1e-3, 1e3], 300) * random.normal(size=300)
    numbers[100:150], numbers[250:] = distance, np.round(numbers[250:])
    starts = np.arange(len(numbers) - rows)
    expected = [VarianceState.of(numbers[start : start + rows]).squares for start in starts]
    for some in (slice(None), slice(90, 160), slice(0, 300, 7), slice(30, 31)):
        counts = np.full(len(starts), rows)[some]
        assert deviations_of_windows(numbers, counts, starts[some], starts[some] + rows).tolist() == expected[some]
    # What is beside a window leaves two ints room for fewer of its digits.
    for other in (1e10, 1e300, 1e-300):
        beside = np.append(numbers, other)
        found = deviations_of_windows(beside, np.append(np.full(len(starts), rows), 1), np.append(starts, 300), np.append(starts + rows, 301))
        assert found[:-1].tolist() == expected


def test_usual_numbers_are_added_up_in_two_ints() -> None:
    """Or windows of many rows would take a step for each binary digit of their length."""
    numbers = np.random.default_rng(3).normal(size=50_000)
    starts, stops = np.arange(40_000), np.arange(40_000) + 10_000
    (found,) = values_of_windows([sum_of_floats(0)], InputRows([pa.array(numbers)], len(numbers)), RowWindows(starts, stops))
    squares = deviations_in_pairs(numbers, stops - starts, starts, stops)
    assert running_ints(numbers, 10_000) is not None and not np.isnan(squares).any()
    for place in range(0, 40_000, 4_999):
        assert found[place].as_py() == math.fsum(numbers[place : place + 10_000])
        assert squares[place] == VarianceState.of(numbers[place : place + 10_000]).squares


def test_rows_that_are_in_no_window_are_not_read() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert list(exact_running_and_rolling_sum.window_blocks(1_000_000, none, none)) == [(slice(None), 0, 0)]
    assert list(exact_running_and_rolling_sum.window_blocks(1_000_000, np.array([700, 5]), np.array([710, 9]))) == [(slice(0, 1 << 14), 5, 710)]
    assert deviations_of_windows(np.ones(10), none, none, none).tolist() == []
