"""Skewness and correlation: as exact as the model in fractions, of numbers of any size, whichever arithmetic decides the last bit."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sframe_spark.aggregate as agg
from sframe_spark import SFrame
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates import product_sums, skewness_and_correlation
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.product_sums import ProductSum, products_of
from sframe_spark.plugin import reduce
from tests.expressions.aggregates import model
from tests.expressions.aggregates.model import Rules

Draw = Callable[[random.Random], float]
DRAWS: dict[str, Draw] = {
    "normal": lambda source: source.gauss(0, 1),
    "skewed": lambda source: source.expovariate(0.01),
    "far from zero": lambda source: 1e9 + source.random(),
    "farther": lambda source: 1e15 + source.randrange(8),
    "of both signs": lambda source: source.choice([-1, 1]) * 0.1,
    "few": lambda source: float(source.randrange(-2, 3)),
    "huge": lambda source: source.choice([-1, 1]) * math.ldexp(source.random(), source.randrange(900, 1024)),
    "small": lambda source: source.gauss(0, 1) * 1e-120,
    "subnormal": lambda source: 5e-324 * source.randrange(-9, 10),
    "of all sizes": lambda source: source.choice([-1, 1]) * math.ldexp(source.random(), source.randrange(-1074, 1024)),
}
ULP = 2.3e-16


def columns(draw: str, groups: int = 30) -> tuple[list[int], list[float], list[float]]:
    source = random.Random(draw)
    keys = [key for key in range(groups) for _ in range(source.randrange(1, 40))]
    source.shuffle(keys)
    first = [DRAWS[draw](source) for _ in keys]
    # Some groups are correlated, some exactly.
    second = [
        3.0 * number if key % 3 == 0 else number + DRAWS[draw](source) if key % 3 == 1 else DRAWS[draw](source)
        for key, number in zip(keys, first, strict=True)
    ]
    return keys, first, [number if math.isfinite(number) else 1.0 for number in second]


def differs(got: float | None, wanted: float | None) -> bool:
    if got is None or wanted is None or math.isnan(wanted) or math.isnan(got):
        return repr(got) != repr(wanted)
    return not math.isclose(got, wanted, rel_tol=ULP, abs_tol=5e-324)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("draw", DRAWS)
def test_groups_are_those_of_the_model(draw: str) -> None:
    keys, first, second = columns(draw)
    made = {"skewness": agg.SKEWNESS("x"), "correlation": agg.CORRELATION("x", "y")}
    found = SFrame({"k": keys, "x": first, "y": second}).groupby("k", made).sort("k")
    wrong = []
    for key, skewness, correlation in zip(*(list(found[name]) for name in ("k", "skewness", "correlation")), strict=True):
        ours, others = ([column[row] for row, other in enumerate(keys) if other == key] for column in (first, second))
        wanted = model.skewness_of(ours, Rules()), model.correlation_of(ours, others, Rules())
        if differs(skewness, wanted[0]) or differs(correlation, wanted[1]):
            wrong.append((key, skewness, correlation, wanted))
        assert math.isnan(correlation or 0.0) or abs(correlation or 0.0) <= 1.0
    assert not wrong


@pytest.mark.sampled(2)
@pytest.mark.parametrize("draw", ["normal", "skewed", "far from zero", "few", "small"])
def test_pairs_of_floats_give_what_ints_give(draw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, first, second = columns(draw, 200)
    sf, met = SFrame({"k": keys, "x": first, "y": second}), []

    def values() -> list[Any]:
        made = {"skewness": agg.SKEWNESS("x"), "correlation": agg.CORRELATION("x", "y")}
        found = sf.groupby("k", made).sort("k")
        return [[number if number is None else number.hex() for number in found[name]] for name in ("skewness", "correlation")]

    by_pairs, signed_root = values(), skewness_and_correlation.signed_root
    monkeypatch.setattr(skewness_and_correlation, "UNSURE", 0.0)
    monkeypatch.setattr(skewness_and_correlation, "signed_root", lambda *ratio: met.append(1) or signed_root(*ratio))
    assert values() == by_pairs and len(met) > 300


@pytest.mark.parametrize("draw", ["normal", "skewed", "far from zero"])
def test_usual_groups_need_no_ints(draw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, first, _ = columns(draw, 300)
    sf, met, signed_root = SFrame({"k": keys, "x": first, "y": np.roll(first, 1)}), [], skewness_and_correlation.signed_root
    monkeypatch.setattr(skewness_and_correlation, "FEW_UNSURE", 0)
    monkeypatch.setattr(skewness_and_correlation, "signed_root", lambda *ratio: met.append(ratio) or signed_root(*ratio))
    found = sf.groupby("k", {"skewness": agg.SKEWNESS("x"), "correlation": agg.CORRELATION("x", "y")}).sort("k")
    # Of two numbers the skewness is exactly zero, of two rows the correlation is exactly one: no pairs decide that.
    few = sum(keys.count(key) == 2 for key in set(keys))
    assert len(found) == 300 and len(met) <= 2 * few + 15


@pytest.mark.parametrize("factors", [2, 3])
@pytest.mark.parametrize("draw", DRAWS)
def test_products_are_exact(draw: str, factors: int) -> None:
    source = random.Random(draw)
    numbers = [np.array([DRAWS[draw](source) for _ in range(50)]) for _ in range(factors)]
    totals = [Fraction(0)] * 50
    for part, place in products_of(numbers):
        unit = Fraction(2) ** (40 * place)
        totals = [total + Fraction(number) * unit for total, number in zip(totals, part.tolist(), strict=True)]
    assert totals == [math.prod(map(Fraction, row)) for row in zip(*(column.tolist() for column in numbers), strict=True)]


@pytest.mark.parametrize("limit", [5, 1 << 14])
def test_states_do_not_depend_on_how_they_are_made(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_sums, "BLOCK", limit)
    source, state = random.Random(1), ProductSum((0, 1, 0))
    numbers = [pa.array([DRAWS[source.choice(list(DRAWS))](source) for _ in range(1000)]) for _ in range(2)]
    rows, codes = InputRows(numbers, 1000), np.arange(1000) % 7
    whole = state.lift(rows, GroupsOfRows(codes, 7))
    halves = slice(500), slice(500, 1000)
    parts = [state.lift(InputRows([column[cut] for column in numbers], 500), GroupsOfRows(codes[cut], 7)) for cut in halves]
    both = [state.of_arrow(state.to_arrow(part)) for part in parts]
    merged = state.merge(both[0].joined(both), GroupsOfRows(np.tile(np.arange(7), 2), 7))
    ordered = pa.array(np.argsort(codes, kind="stable"))
    windows = state.windows(InputRows([column.take(ordered) for column in numbers], 1000), windows_of(codes))
    wanted = state.to_arrow(whole)[0].to_pylist()
    for other in (merged, windows):
        assert [sorted(numbers) for numbers in state.to_arrow(other)[0].to_pylist()] == [sorted(numbers) for numbers in wanted]


def windows_of(codes: np.ndarray) -> RowWindows:
    sizes = np.bincount(codes)
    return RowWindows(np.cumsum(sizes) - sizes, np.cumsum(sizes))


def test_rows_without_a_value_on_either_side_do_not_count() -> None:
    x, y = [1.0, None, 2.0, math.nan, 3.0], [1.0, 5.0, 2.0, None, 3.5]
    sf = SFrame({"x": x, "y": y})
    assert reduce("correlation", sf["x"], sf["y"]) == model.correlation_of([1.0, 2.0, 3.0], [1.0, 2.0, 3.5], Rules())
    assert math.isnan(reduce("skewness", sf["x"]))


@pytest.mark.parametrize("odd", ["a", datetime.datetime(2020, 1, 1), [1.0], {"a": 1}])
def test_only_numbers_are_taken(odd: Any) -> None:
    sf = SFrame({"k": [1, 1], "x": [1, 2], "odd": [odd, odd]})
    requests: Sequence[Any] = (agg.SKEWNESS("odd"), agg.CORRELATION("x", "odd"), agg.CORRELATION("odd", "x"))
    for request in requests:
        with pytest.raises(UnsupportedOperationError, match=r"takes a column of int, float"):
            sf.groupby("k", {"r": request})


def test_products_that_floats_cannot_hold_and_odd_ones_in_every_way() -> None:
    """Of a weighted sum: products beyond the largest float or below the smallest cancel exactly; with an infinity or NaN it is as of floats."""
    infinite, odd = math.inf, math.nan
    for first, second, wanted in [
        ([1e200, -1e200, 3.0], [1e200, 1e200, 2.0], 6.0),
        ([1e-200, 1.0], [1e-120, 1.0], 1.0),
        ([infinite, 1.0], [2.0, 1.0], infinite),
        ([infinite, infinite], [2.0, -2.0], odd),
        ([infinite, 1.0], [0.0, 1.0], odd),
        ([odd, 1.0], [0.0, 1.0], odd),
    ]:
        rows, count = InputRows([pa.array(first, from_pandas=False), pa.array(second, from_pandas=False)], len(first)), len(first)
        column, one = ProductSum((0, 1)), GroupsOfRows(np.zeros(count, dtype=np.int64), 1)
        lifted = column.lift(rows, one)
        each = column.lift(rows, GroupsOfRows(np.arange(count), count))
        running = column.running(rows, np.zeros(1, dtype=np.int64), column.empty(1))[1]
        windows = column.windows(rows, RowWindows(np.zeros(1, dtype=np.int64), np.full(1, count)))
        for state in (lifted, column.merge(each, one), running, windows, column.of_arrow(column.to_arrow(lifted))):
            assert np.array_equal(state.rounded(), [wanted], equal_nan=True), (first, second)
