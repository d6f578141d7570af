"""Bins: every number lies in one, between edges that people read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.expressions.aggregates.histograms_summaries_and_rank_counts import bin_numbers
from sframe_spark.plotting.chart_data import Bins, round_bins, time_bins
from tests.examples import examples

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def is_round(step: float) -> bool:
    """Whether it is 1, 2 or 5 times a power of ten."""
    return f"{step:e}".split("e")[0].rstrip("0").rstrip(".") in ("1", "2", "5")


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=20), st.integers(2, 60))
def test_bins_of_floats_hold_all(numbers: list[float], most: int) -> None:
    bins = round_bins(min(numbers), max(numbers), False, most)
    assert 1 <= bins.count <= most + 2 and is_round(bins.step)
    places = bin_numbers(np.array(numbers), *bins.parameters)
    assert places.min() == 0 and places.max() == bins.count - 1


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20), st.integers(2, 60))
def test_bins_of_ints_are_whole(numbers: list[int], most: int) -> None:
    bins = round_bins(float(min(numbers)), float(max(numbers)), True, most)
    assert 1 <= bins.count <= most + 2 and bins.step >= 1 and float(bins.step).is_integer() and is_round(bins.step)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(-5000, 5000), st.integers(0, 300), st.sampled_from([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 200]))
def test_a_number_at_an_edge_is_in_the_bin_that_begins_there(first: int, place: int, step: float) -> None:
    bins = Bins(first, step, 400)
    assert bin_numbers(np.array([bins.edge(place)]), *bins.parameters).tolist() == [place]


@pytest.mark.parametrize(
    ("seconds", "step"),
    [(0.01, 0.001), (0, 86400), (60, 5), (3600, 300), (86400, 7200), (86400 * 20, 86400), (86400 * 365, 86400 * 20), (86400 * 36500, 86400 * 2000)],
)
def test_times_are_divided_as_clocks_and_calendars_do(seconds: float, step: float) -> None:
    assert time_bins(0, seconds, 20).step == pytest.approx(step)


def test_finer_bins_have_the_same_edges() -> None:
    coarse = round_bins(-3.3, 9.1, False, 30)
    fine = coarse.finer(100)
    assert fine.count == coarse.count * 100
    assert all(math.isclose(coarse.edge(place), fine.edge(100 * place), abs_tol=1e-9) for place in range(coarse.count + 1))
