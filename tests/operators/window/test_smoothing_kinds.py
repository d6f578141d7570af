"""Sums, spreads and unadjusted means of exponential smoothing: beside pandas, Polars and formulas, in ranges and batches of any size."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sframe_spark import SFrame, config
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.operators.window.smoothed_column import exponential_smoothing
from tests.examples import examples
from tests.operators.ranges import random_cuts, run_in_ranges
from tests.operators.window.test_smoothing import uneven_rows

WAYS = [("mean", False), ("sum", True), ("std", True), ("std", False), ("var", True), ("var", False)]
NUMBERS: list[dict[str, float]] = [{"alpha": 0.4}, {"span": 7}, {"com": 0.2}, {"half_life": 3}, {"alpha": 0.95}]


def values_of(choose: random.Random, count: int) -> list[float | None]:
    return [None if choose.random() < 0.3 else choose.gauss(10, 3) for _ in range(count)]


def numbers(found: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in found]


def by_pandas(values: Sequence[float | None], given: dict[str, float], kind: str, adjust: bool) -> list[float]:
    renamed = {{"half_life": "halflife"}.get(name, name): number for name, number in given.items()}
    return list(getattr(pd.Series(values, dtype=float).ewm(**renamed, adjust=adjust), kind)())


def by_formula(times: Sequence[float | None], values: Sequence[float | None], half_life: float, kind: str, adjust: bool) -> list[float]:
    """By the definitions: weights of all values at each row, and sums over them."""
    result: list[float] = []
    for row, now in enumerate(times):
        known = [(time, value) for time, value in zip(times[: row + 1], values[: row + 1], strict=True) if None not in (time, value)]
        if now is None or not known:
            result.append(math.nan)
            continue
        last = now if kind == "sum" else known[-1][0]
        weights = np.array([0.5 ** ((last - time) / half_life) for time, _ in known])
        if not adjust:
            weights *= [1.0, *(1 - 0.5 ** ((after[0] - before[0]) / half_life) for before, after in itertools.pairwise(known))]
        column, total = np.array([value for _, value in known]), weights.sum()
        mean = (weights * column).sum() / total
        variance, left = (weights * (column - mean) ** 2).sum() / total, 1 - (weights**2).sum() / total**2
        variance = variance / left if np.count_nonzero(weights) > 1 else math.nan
        result.append({"mean": mean, "sum": total * mean, "var": variance, "std": math.sqrt(variance) if variance >= 0 else math.nan}[kind])
    return result


@pytest.mark.parametrize("given", NUMBERS, ids=str)
@pytest.mark.parametrize(("kind", "adjust"), WAYS)
def test_by_rows_as_pandas(kind: str, adjust: bool, given: dict[str, float]) -> None:
    for seed in range(examples(8)):
        values = values_of(random.Random(seed), 60)
        found = list(SFrame({"v": [*values, 1.0]})[:-1].exponential_smoothing("v", **given, kind=kind, adjust=adjust))
        assert np.allclose(numbers(found), by_pandas(values, given, kind, adjust), rtol=1e-9, atol=0, equal_nan=True), seed


@pytest.mark.parametrize("given", NUMBERS, ids=str)
@pytest.mark.parametrize(("kind", "adjust"), [way for way in WAYS if way[0] != "sum"])
def test_by_rows_as_polars(kind: str, adjust: bool, given: dict[str, float]) -> None:
    values = values_of(random.Random(3), 200)
    found = list(SFrame({"v": values}).exponential_smoothing("v", **given, kind=kind, adjust=adjust))
    wanted = getattr(pl.Series(values), f"ewm_{kind}")(**given, adjust=adjust, ignore_nulls=False).to_list()
    # Polars gives missing rows no value, and of its versions some give 0 and others nothing for the spread of one value. The factor by which a
    # spread is too small cancels in it where long gaps leave next to nothing of what was before: so only spreads of the first rows are compared.
    first = values.index(next(value for value in values if value is not None))
    rows = [row for row in range(first + 1, 200 if kind == "mean" else 60) if values[row] is not None]
    pairs = [(found[row], wanted[row]) for row in rows]
    assert np.allclose(*(numbers(column) for column in zip(*pairs, strict=True)), rtol=1e-9, atol=0, equal_nan=True)
    assert (found[first] is None) == (kind in ("std", "var"))


def test_unadjusted_means_by_time_as_polars() -> None:
    choose = random.Random(5)
    values, times = values_of(choose, 300), np.cumsum([choose.choice([0, 1, 2, 50]) for _ in range(300)]).tolist()
    found = list(SFrame({"v": values, "t": times}).exponential_smoothing("v", on="t", half_life=4, adjust=False))
    wanted = pl.DataFrame({"v": values, "t": times}).select(pl.col("v").ewm_mean_by("t", half_life="4i"))["v"].to_list()
    pairs = [pair for pair in zip(found, wanted, strict=True) if pair[1] is not None]
    assert len(pairs) > 100 and np.allclose(*(numbers(column) for column in zip(*pairs, strict=True)), rtol=1e-9)


@pytest.mark.parametrize(("kind", "adjust"), WAYS)
def test_by_time_as_defined(kind: str, adjust: bool) -> None:
    for seed in range(examples(30)):
        choose = random.Random(seed)
        values, now, times = values_of(choose, choose.randrange(30)), 0, []
        for _ in values:
            now += choose.choice([0, 1, 2, 9])
            times.append(None if choose.random() < 0.1 else float(now))
        sf = SFrame({"v": [*values, 1.0], "t": [*times, 1e9]})[: len(values)]
        found = list(sf.exponential_smoothing("v", on="t", half_life=2.5, kind=kind, adjust=adjust))
        assert np.allclose(numbers(found), by_formula(times, values, 2.5, kind, adjust), rtol=1e-8, atol=1e-13, equal_nan=True), seed


@pytest.mark.parametrize(("kind", "adjust"), WAYS)
@pytest.mark.parametrize("by_rows", [False, True])
def test_no_digit_depends_on_ranges_or_batches(by_rows: bool, kind: str, adjust: bool) -> None:
    for seed in range(examples(12)):
        choose = random.Random(seed)
        rows = uneven_rows(choose)
        columns = zip(*[*rows, (1.0, 1e9, "a")], strict=True)
        sf = SFrame(dict(zip(["a", "b", "c"], map(list, columns), strict=True)))[: len(rows)]
        keys, half_life = [2] if choose.random() < 0.7 else [], choose.choice([0.5, 2.0, 7.3, 1000.0])
        node = exponential_smoothing(compute(sf._node), 0, None if by_rows else 1, keys, half_life, kind, adjust)
        whole = run_in_ranges(node, [0, len(rows)], max(1, len(rows)))
        for _ in range(2):
            cuts, batch = random_cuts(choose, len(rows)), choose.choice([1, 7, 64])
            assert repr(run_in_ranges(node, cuts, batch)) == repr(whole), (seed, cuts, batch)


@pytest.mark.parametrize(("kind", "adjust"), WAYS)
def test_keys_in_segments_with_little_memory(kind: str, adjust: bool) -> None:
    choose = random.Random(1)
    values, keys = values_of(choose, 400), [choose.choice("abc") for _ in range(400)]
    sf = SFrame({"k": keys, "v": values})
    whole = list(sf.exponential_smoothing("v", span=4, by="k", kind=kind, adjust=adjust))
    wanted = pd.Series(values, dtype=float).groupby(keys).transform(lambda column: getattr(column.ewm(span=4, adjust=adjust), kind)())
    assert np.allclose(numbers(whole), wanted, rtol=1e-9, atol=0, equal_nan=True)
    with config.using(segment_rows=50, batch_rows=16, work_memory=20_000):
        assert repr(list(SFrame({"k": keys, "v": values}).exponential_smoothing("v", span=4, by="k", kind=kind, adjust=adjust))) == repr(whole)


@pytest.mark.spark
@pytest.mark.parametrize(("kind", "adjust"), WAYS)
def test_tasks_of_spark(kind: str, adjust: bool, spark: Any) -> None:
    choose = random.Random(2)
    sf = SFrame({"k": [choose.choice("abc") for _ in range(100)], "v": values_of(choose, 100)})
    whole = repr(list(sf.exponential_smoothing("v", span=4, by="k", kind=kind, adjust=adjust)))
    with config.using(small_rows=0, default_segments=3):
        assert repr(list(SFrame(sf.to_spark()).exponential_smoothing("v", span=4, by="k", kind=kind, adjust=adjust))) == whole


@pytest.mark.parametrize("adjust", [True, False])
@pytest.mark.parametrize("gap", [0, 5, 33, 60])
def test_two_values_have_their_spread_at_any_distance(gap: int, adjust: bool) -> None:
    """Met in Polars (28620, 28234): factors cancelled until nothing was known; that of one value was 0."""
    found = list(SFrame({"v": [10.0, *[None] * gap, 12.0]}).exponential_smoothing("v", span=2, adjust=adjust, kind="var"))
    assert found == [*[None] * (gap + 1), pytest.approx(2.0, rel=1e-13)]


def test_sums_decay_by_time() -> None:
    """Met in pandas (51695): sums took no notice of times."""
    sf = SFrame({"t": [0, 5, 15], "s": [1.0, 0.0, 0.0]})
    assert list(sf.exponential_smoothing("s", on="t", half_life=5, kind="sum")) == pytest.approx([1.0, 0.5, 0.125])


def test_missing_rows_between() -> None:
    """Met in Polars (15258, 5749): what a missing row shows, and that rows count where they are missing."""
    found = list(SFrame({"v": [5.6, None, 3.7]}).exponential_smoothing("v", alpha=0.1, adjust=False))
    assert found == pytest.approx([5.6, 5.6, (0.81 * 5.6 + 0.1 * 3.7) / 0.91])
    found = list(SFrame({"v": [1, None, 2, 3, None, 4]}).exponential_smoothing("v", com=0.5))
    assert found[:3] == pytest.approx([1.0, 1.0, 1.9])


def test_many_rows_of_a_long_span() -> None:
    """Met in Polars (4098): ``ewm_std`` differed from pandas by a quarter."""
    values = [float(value) for value in range(-100, 101)]
    found = list(SFrame({"v": values}).exponential_smoothing("v", com=201, kind="std"))
    assert np.allclose(numbers(found), pd.Series(values).ewm(201).std(), equal_nan=True)


def test_spreads_far_from_zero_do_not_cancel() -> None:
    values = np.random.default_rng(0).normal(size=500)
    near, far = (list(SFrame({"v": values + shift}).exponential_smoothing("v", span=9, kind="var")) for shift in (0.0, 2.0**26))
    assert np.allclose(numbers(near)[1:], numbers(far)[1:], rtol=1e-6)
    assert all(value < 1e-16 for value in list(SFrame({"v": [0.1] * 50}).exponential_smoothing("v", span=9, kind="std"))[1:])


def test_after_a_value_that_is_not_finite_nothing_is_known() -> None:
    sf = SFrame({"v": [1.0, 2.0, math.inf, None, 3.0]})
    assert numbers(sf.exponential_smoothing("v", span=3, kind="sum"))[2:] == [math.inf] * 3
    assert all(map(math.isnan, list(sf.exponential_smoothing("v", span=3, kind="var"))[2:]))


def test_nothing_is_left_of_a_sum_after_a_very_long_time_but_spreads_stay() -> None:
    sf = SFrame({"v": [5.0, 7.0, None], "t": [0, 1, 10**9]})
    assert list(sf.exponential_smoothing("v", on="t", half_life=1, kind="sum"))[2] == 0.0
    spread = list(sf.exponential_smoothing("v", on="t", half_life=1, kind="std"))
    assert spread[2] == spread[1] == pytest.approx(math.sqrt(2))


def test_alpha_of_one_and_no_rows() -> None:
    values = [3.0, None, 5.0]
    for kind, adjust in WAYS:
        found = list(SFrame({"v": values}).exponential_smoothing("v", alpha=1, kind=kind, adjust=adjust))
        wanted = by_pandas(values, {"alpha": 1}, kind, adjust)
        # pandas divides by zero where nothing but one value weighs: no spread is known.
        assert np.allclose(numbers(found), wanted, equal_nan=True), (kind, adjust)
        assert list(SFrame({"v": values})[:0].exponential_smoothing("v", alpha=1, kind=kind, adjust=adjust)) == []


def test_what_is_refused() -> None:
    sf = SFrame({"v": [1.0]})
    with pytest.raises(InvalidArgumentError, match="kind must be one of 'mean', 'sum', 'std', 'var', got 'median'"):
        sf.exponential_smoothing("v", span=3, kind="median")
    with pytest.raises(InvalidArgumentError, match="kind='sum' needs adjust=True"):
        sf.exponential_smoothing("v", span=3, kind="sum", adjust=False)
    with pytest.raises(SchemaError, match="adjust must be True or False"):
        sf.exponential_smoothing("v", span=3, adjust="no")  # type: ignore[arg-type]
