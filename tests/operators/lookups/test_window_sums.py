"""Sums of windows are the floats next to those of exact numbers, spreads near them, whatever other rows hold and however long windows are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sframe_spark.operators.kernels.exact_sums import ExactSum
from sframe_spark.operators.kernels.moments import Moments
from sframe_spark.operators.lookups import window_sums
from sframe_spark.operators.lookups.window_folds import FAST
from sframe_spark.operators.lookups.window_sums import deviations_of_windows, sums_of_windows
from tests.operators.kernels.odd_numbers import FINITE, NUMBERS

WINDOWS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=10)


def bounds_of(windows: list[tuple[int, int]], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Where windows of so many rows begin and end."""
    edges = [sorted(min(edge, rows) for edge in window) for window in windows]
    return tuple(np.array([edge[side] for edge in edges], dtype=np.int64) for side in (0, 1))  # type: ignore[return-value]


@given(st.lists(FINITE, max_size=30), WINDOWS, st.sampled_from([3, 1 << 14]))
def test_sums_are_exact_or_not_given(values: list[float], windows: Any, block: int) -> None:
    numbers, (starts, stops) = np.array(values), bounds_of(windows, len(values))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_sums, "BLOCK", block)
        found = sums_of_windows(numbers, starts, stops)
        squares = deviations_of_windows(numbers, stops - starts, starts, stops)
    for place, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        if found is not None:
            assert found[place] == ExactSum.of(numbers[start:stop]).value
        if squares is not None and stop - start > 1 and not math.isnan(squares[place]):
            assert math.isclose(squares[place], Moments.of(numbers[start:stop]).squares, rel_tol=1e-15)


@given(st.lists(st.one_of(NUMBERS, st.none()), max_size=30), WINDOWS, st.sampled_from(["sum", "mean", "var", "std"]))
def test_aggregates_of_windows_are_those_of_their_rows(values: Any, windows: Any, function: str) -> None:
    numbers, valid = np.array([value or 0.0 for value in values]), np.array([value is not None for value in values], dtype=bool)
    starts, stops = bounds_of(windows, len(values))
    counts = np.array([valid[start:stop].sum() for start, stop in zip(starts, stops, strict=True)], dtype=np.int64)
    found = FAST[function](numbers, valid, counts, starts, stops).to_pylist()
    for value, start, stop in zip(found, starts, stops, strict=True):
        moments = Moments.of(numbers[start:stop][valid[start:stop]])
        if not math.isfinite(moments.total.value) or moments.squares in (math.inf,):
            continue
        if not moments.count:
            assert value == {"sum": 0.0, "mean": None}.get(function, 0.0)
            continue
        variance = moments.squares / moments.count if moments.count > 1 else 0.0
        expected = {"sum": moments.total.value, "mean": moments.mean, "var": variance, "std": math.sqrt(variance)}[function]
        # What is folded, as numbers far apart are, is rounded at each step.
        most = float(np.abs(numbers[start:stop]).max())
        room = {"sum": most * 1e-14, "mean": most * 1e-14, "var": most * most * 1e-14, "std": most * 1e-7}[function]
        assert math.isclose(value, expected, rel_tol=1e-12, abs_tol=max(room, 5e-324)) or math.isinf(room)


def test_usual_numbers_are_added_up_in_two_ints() -> None:
    """Or windows of many rows would take a step for each binary digit of their length."""
    numbers = np.random.default_rng(3).normal(size=50_000)
    starts, stops = np.arange(40_000), np.arange(40_000) + 10_000
    found, squares = sums_of_windows(numbers, starts, stops), deviations_of_windows(numbers, stops - starts, starts, stops)
    assert found is not None and squares is not None and not np.isnan(squares).any()
    for place in range(0, 40_000, 4_999):
        assert found[place] == math.fsum(numbers[place : place + 10_000])
        assert math.isclose(squares[place], Moments.of(numbers[place : place + 10_000]).squares, rel_tol=4e-16)
