"""Sums of digits that Spark has made, put together here: all of their bits count, whatever their signs."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark.compute.spark_exact_sum import BITS, DEFAULT_WINDOW, WIDE_WINDOW, Window, digits_of_totals
from sframe_spark.expressions.aggregates.float_sums import sums, values_of
from sframe_spark.expressions.aggregates.spreads import variances, variances_of_all

MOST = 2**62


@pytest.mark.parametrize(
    "window", [DEFAULT_WINDOW, DEFAULT_WINDOW.of_squares, WIDE_WINDOW, WIDE_WINDOW.of_squares, Window(-116, 1), Window(-119, 2)], ids=str
)
def test_sums_of_digits_are_one_number(window: Window) -> None:
    random = np.random.default_rng(window.places)
    groups = [
        *([sign * MOST] * window.places for sign in (1, -1)),
        *([sign if place == window.places - 1 else -sign * MOST for place in range(window.places)] for sign in (1, -1)),
        *((random.integers(-MOST, MOST, window.places) >> random.integers(0, 63, window.places)).tolist() for _ in range(200)),
        [0] * window.places,
    ]
    found = digits_of_totals([np.array(column) for column in zip(*groups, strict=True)], window.lowest)
    for group, totals in enumerate(groups):
        exact = sum(Fraction(total) * Fraction(2) ** (window.lowest + BITS * place) for place, total in enumerate(totals))
        assert Fraction(found.units(group, -27)) * Fraction(2) ** (-27 * 40) == exact


def as_spark_makes_them(groups: list[list[float]], unusual: list[list[float]], others: list[float | None]) -> list[pa.Array]:
    """What :meth:`DigitSums.columns` are of groups of usual numbers, of unusual ones, and of the sum of those that are no numbers; squares too."""

    def digits(total: Fraction, window: Window) -> list[int]:
        units = total / Fraction(2) ** window.lowest
        assert units.denominator == 1
        return [*(int(units) >> BITS * place & ((1 << BITS) - 1) for place in range(window.places - 1)), int(units) >> BITS * (window.places - 1)]

    made = [
        digits(Fraction(sum(map(Fraction, group))), WIDE_WINDOW)
        + digits(Fraction(sum(Fraction(value) ** 2 for value in group)), WIDE_WINDOW.of_squares)
        for group in groups
    ]
    counts = [len(group) + len(more) + (other is not None) for group, more, other in zip(groups, unusual, others, strict=True)]
    return [
        pa.array(counts, pa.int64()),
        pa.array(others, pa.float64(), from_pandas=False),
        pa.array(unusual, pa.list_(pa.float64())),
        *(pa.array(column, pa.int64()) for column in zip(*made, strict=True)),
    ]


def test_unusual_numbers_and_those_that_are_none_have_their_part() -> None:
    groups = [[1.5, -2.0], [], [0.1], [1.0, 2.0], [], [3.0], [1e-20, 7.0]]
    unusual: list[list[float]] = [[], [1e300, -1e300, 5e-324], [1e200, -1e200], [], [], [], [1e-300, 2e-300]]
    others = [None, None, None, math.inf, None, math.nan, None]
    arrays = as_spark_makes_them(groups, unusual, others)

    def found(values: Any) -> list[str]:
        return list(map(repr, values_of(values, WIDE_WINDOW, True, True, arrays).to_pylist()))

    assert found(sums) == list(map(repr, [-0.5, 5e-324, 0.1, math.inf, 0.0, math.nan, 7.0]))
    exact = []
    for group, more, other in zip(groups, unusual, others, strict=True):
        numbers = [*map(Fraction, [*group, *more])]
        mean = sum(numbers) / max(1, len(numbers))
        variance = sum((number - mean) ** 2 for number in numbers) / max(1, len(numbers))
        exact.append(math.nan if other is not None else math.inf if variance > Fraction(1.7976931348623157e308) else float(variance))
    assert found(partial(variances, 0)) == found(partial(variances_of_all, 0)) == list(map(repr, exact))
    without = values_of(sums, WIDE_WINDOW, True, False, [*arrays[:2], pa.array([0] * len(groups)), *arrays[3:]]).to_pylist()
    assert without[1:3] == [0.0, 0.1]
