"""Aggregates of many windows at once: in pieces or not, they are those of each window alone, to the last bit."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sframe_spark.compute import exact_running_and_rolling_sums_and_variances as exact_running_and_rolling_sum
from sframe_spark.operators.joins import key_window_aggregates
from sframe_spark.operators.joins.key_window_aggregates import FAST, extreme_places
from tests.examples import examples

VALUES = [0.0, -0.0, 1.0, -2.5, 1e16, -1e16, 3.0, 1e-9]
SPECIAL = [np.nan, np.inf, -np.inf]


def random_windows(choose: random.Random, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and stops; ascending ones reach over few rows, so that windows are taken in pieces."""
    starts = [choose.randint(0, rows) for _ in range(choose.randrange(60))]
    starts = sorted(starts) if choose.random() < 0.7 else starts
    reach = choose.choice([0, 3, rows])
    return np.array(starts, dtype=np.int64), np.array([min(rows, start + choose.randint(0, reach)) for start in starts], dtype=np.int64)


@pytest.mark.parametrize("function", sorted(FAST))
@pytest.mark.parametrize("is_float", [False, True])
def test_pieces_give_what_each_window_gives_alone(function: str, is_float: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_running_and_rolling_sum, "WINDOWS_IN_CACHE", 4)
    monkeypatch.setattr(exact_running_and_rolling_sum, "WORDS_BLOCK", 3)
    for seed in range(examples(60, every=3)):
        choose = random.Random(seed)
        rows = choose.choice([1, 7, 50])
        some = VALUES + (SPECIAL if seed % 4 == 0 else [])
        values = np.array([choose.choice(some) if is_float else choose.choice([0, -1, 2**62, -(2**63)]) for _ in range(rows)])
        valid = np.array([choose.random() < choose.choice([0.5, 1.0]) for _ in range(rows)])
        values[~valid] = 0
        starts, stops = random_windows(choose, rows)
        counts = key_window_aggregates.window_counts(starts, stops, valid)
        assert counts.tolist() == [int(valid[a:b].sum()) for a, b in zip(starts, stops, strict=True)]
        found = FAST[function](values, valid, counts, starts, stops)
        bounds = list(zip(starts.tolist(), stops.tolist(), strict=True))
        one = {each: slice(place, place + 1) for place, each in enumerate(bounds)}
        alone = {each: repr(FAST[function](values, valid, counts[place], starts[place], stops[place])[0].as_py()) for each, place in one.items()}
        assert [repr(value.as_py()) for value in found] == [alone[each] for each in bounds], seed


@pytest.mark.parametrize("largest", [False, True])
def test_of_equal_extremes_the_first_row_is_told(largest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_running_and_rolling_sum, "WINDOWS_IN_CACHE", 4)
    for seed in range(60):
        choose = random.Random(seed)
        values = np.array([choose.choice([1.0, 2.0, -0.0, 0.0, *SPECIAL]) for _ in range(40)])
        valid = np.array([choose.random() < 0.7 for _ in range(40)])
        starts, stops = random_windows(choose, 40)
        for place, start, stop in zip(extreme_places(values, valid, largest, starts, stops).tolist(), starts.tolist(), stops.tolist(), strict=True):
            there = [row for row in range(start, stop) if valid[row]]
            numbers = [row for row in there if values[row] == values[row]]
            best = max(numbers, key=lambda row: (values[row] if largest else -values[row], -row), default=there[0] if there else -1)
            assert place == best
