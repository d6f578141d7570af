"""Rolling sums, means and spreads beside fractions: of numbers that cancel, are beyond all floats on the way, or far from zero."""

from __future__ import annotations

import array
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark import SArray
from sframe_spark.compute import rolling_variances_in_floats
from sframe_spark.expressions.aggregates import float_sums
from sframe_spark.expressions.aggregates.float_sums import sum_of_floats
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.state_columns import AggregateSet
from tests.api.test_cuts_of_odd_floats import KINDS, numbers_of
from tests.examples import by_turns

# Spreads are added up by floats where they are a millionth of the mean or more: nine digits of the others were right at worst before.
NEARLY = 1e-9


def rounded(number: Fraction) -> float:
    """The nearest float, infinite beyond the largest one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def expected(kind: str, numbers: list[float]) -> Fraction | float:
    """Of a window of numbers, each of which may be none that is finite."""
    if any(math.isnan(number) for number in numbers) or {math.inf, -math.inf} <= set(numbers):
        return math.nan
    odd = [number for number in numbers if math.isinf(number)]
    if odd:
        return odd[0] if kind in ("sum", "mean") else math.nan
    total, count = sum(map(Fraction, numbers), Fraction(0)), len(numbers)
    if kind in ("sum", "mean"):
        return total / (count if kind == "mean" else 1)
    squares = rounded(sum(((Fraction(number) - total / count) ** 2 for number in numbers), Fraction(0)))
    return math.sqrt(squares / count) if kind == "stdv" else squares / count


def is_right(kind: str, found: float, wanted: Fraction | float, count: int) -> bool:
    """Sums are rounded once, and divided by the count; of squares below all floats a few of the smallest are lost."""
    if isinstance(wanted, float) and not math.isfinite(wanted):
        return found == wanted or (math.isnan(found) and math.isnan(wanted))
    if kind == "sum" or not math.isfinite(found):
        return kind in ("sum", "mean") and found == rounded(Fraction(wanted))
    if kind == "mean" and math.isfinite(rounded(Fraction(wanted) * count)):
        return found == rounded(Fraction(wanted) * count) / count
    if kind == "mean":
        return abs(Fraction(found) - wanted) <= Fraction(math.ulp(found))
    return found == pytest.approx(float(wanted), rel=NEARLY, abs=1e-320 if kind == "var" else 1e-160)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("kind", ["sum", "mean", "var", "stdv"])
def test_windows_are_those_of_fractions(kind: str, name: str) -> None:
    for seed in range(3):
        random = np.random.default_rng(seed)
        values = numbers_of(random, name, 90)
        width = int(random.choice([2, 5, 12]))
        found = list(getattr(SArray(values, float), f"rolling_{kind}")(1 - width, 0, 1))
        for row, value in enumerate(found):
            window = [number for number in values[max(row - width + 1, 0) : row + 1] if number is not None]
            assert (value is None) == (not window)
            assert not window or is_right(kind, value, expected(kind, window), len(window)), (seed, row, value, expected(kind, window))


@pytest.mark.parametrize(
    ("kind", "window", "wanted"),
    [
        ("sum", [1e300, 1e16, 1.0, -1e300, -1e16], 1.0),
        ("mean", [1e308, 1e308, 1e308, 1e308, 1e308], 1e308),
        ("var", [1.1e300] * 5, 0.0),
        ("var", [-1e307, 3e306, 1e307, 0.0, 1.0], math.inf),
        ("var", [1e16, 1e16 + 2, 1e16 + 4, 1e16 + 6, 1e16 + 8], 8.0),
    ],
)
def test_a_window_of_such_numbers_among_many(kind: str, window: list[float], wanted: float) -> None:
    """Few windows are looked at once more, wherever they stand, and others not."""
    values = [0.5] * 20_000
    values[17_000:17_005] = window
    assert getattr(SArray(values), f"rolling_{kind}")(-4, 0)[17_004] == wanted
    assert list(getattr(SArray(window), f"rolling_{kind}")(-4, 0))[4] == wanted


@pytest.mark.parametrize("least", [0, -110])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_half_way_between_two_floats_the_smallest_number_decides(sign: float, least: int) -> None:
    """Both where all bits have room in two words, and where they have not; below a power of two floats are nearer to each other."""
    tiny = math.ldexp(1.0, least) if least else math.ldexp(1.0, -88)
    for window in ([1.0, 2.0**-53, tiny], [1.0, 2.0**-53, -tiny], [1.0, -(2.0**-54), tiny], [1.0, -(2.0**-54), -tiny], [1.5, 2.0**-53, tiny]):
        values = [*[0.25] * 5, *(sign * number for number in window), *[0.25] * 5]
        wanted = rounded(sum(map(Fraction, values[5:8]), Fraction(0)))
        assert list(SArray(values).rolling_sum(-2, 0))[7] == wanted, window


def sums_of(values: np.ndarray, width: int) -> list[float]:
    """Of every so many consecutive numbers."""
    windows, rows = RowWindows.rolling(len(values), width), InputRows([pa.array(values)], len(values))
    return AggregateSet.of([sum_of_floats(0)]).of_windows(rows, windows)[0].to_pylist()


def test_sums_are_those_of_fractions_rounded_once() -> None:
    for seed in by_turns(range(60), 6, 0):
        random = np.random.default_rng(seed)
        values = np.ldexp(random.integers(-(2**53), 2**53, 400).astype(float), random.integers(-53 - seed % 30, -52, 400))
        width = int(random.choice([1, 2, 3, 7, 50]))
        wanted = [rounded(sum(map(Fraction, values[row : row + width].tolist()), Fraction(0))) for row in range(401 - width)]
        assert sums_of(values, width) == wanted


def test_usual_numbers_are_not_looked_at_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("usual numbers leave nothing open")

    monkeypatch.setattr(float_sums, "running_ints", refused)
    monkeypatch.setattr(rolling_variances_in_floats, "deviations_of_windows", refused)
    random = np.random.default_rng(1)
    for values in (random.normal(size=30_000), random.choice([-1.0, 0.0, 1.0], 30_000), np.full(30_000, 0.1), np.zeros(30_000)):
        for width in (1, 3, 40, 1000):
            for kind in ("sum", "mean", "var"):
                getattr(SArray(values), f"rolling_{kind}")(1 - width, 0).materialize()


@pytest.mark.parametrize("kind", ["sum", "mean"])
@pytest.mark.parametrize("places", [1, 300])
def test_vectors_are_added_up_exactly(kind: str, places: int) -> None:
    columns = [[1e300, 1e16, 1.0, -1e300, -1e16], [1e308] * 5, [math.inf, -math.inf, 1.0, 2.0, 3.0], [0.1] * 5]
    for column in columns:
        cells = [array.array("d", [number] * places) for number in column]
        found = list(getattr(SArray(cells), f"rolling_{kind}")(-4, 0))[4]
        assert len(found) == places and all(is_right(kind, number, expected(kind, column), 5) for number in found)
