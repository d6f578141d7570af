"""Statistics beside pandas, Polars, NumPy and SciPy, in groups, intervals, windows and running; and what went wrong in these libraries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats

import sframe_spark.aggregate as agg
from sframe_spark import SArray, SFrame
from sframe_spark.expressions.aggregates import quantiles

NUMBERS = Sequence[float]


def regression(y: NUMBERS, x: NUMBERS) -> Any:
    if len(y) < 2:
        return None
    if len(set(x)) == 1:
        return math.nan
    return scipy.stats.linregress(x, y).slope


# By name: the aggregate, its columns, and another library's value of the rows in which all have one; None where ours is missing.
STATISTICS: dict[str, tuple[Any, tuple[str, ...], Callable[..., Any]]] = {
    "std": (agg.STD("x", ddof=1), ("x",), lambda x: pl.Series(x, dtype=pl.Float64).std()),
    "median": (agg.MEDIAN("x"), ("x",), lambda x: pl.Series(x, dtype=pl.Float64).median()),
    "linear": (agg.QUANTILE("x", 0.3, interpolate="linear"), ("x",), lambda x: pd.Series(x).quantile(0.3) if len(x) else None),
    "lower": (agg.QUANTILE("x", 0.3, interpolate="lower"), ("x",), lambda x: pl.Series(x, dtype=pl.Float64).quantile(0.3, "lower")),
    "higher": (agg.QUANTILE("x", 0.3, interpolate="higher"), ("x",), lambda x: pl.Series(x, dtype=pl.Float64).quantile(0.3, "higher")),
    "product": (agg.PRODUCT("x"), ("x",), lambda x: pd.Series(x, dtype=float).prod()),
    "geometric mean": (agg.GEOMETRIC_MEAN("w"), ("w",), lambda w: scipy.stats.gmean(w) if len(w) else None),
    "skewness": (agg.SKEWNESS("x"), ("x",), lambda x: scipy.stats.skew(x) if len(set(x)) > 1 else math.nan if len(x) else None),
    "skewness of a sample": (agg.SKEWNESS("x", bias=False), ("x",), lambda x: pd.Series(x).skew() if len(x) > 2 else None),
    "kurtosis": (agg.KURTOSIS("x"), ("x",), lambda x: scipy.stats.kurtosis(x) if len(set(x)) > 1 else math.nan if len(x) else None),
    "kurtosis of a sample": (agg.KURTOSIS("x", bias=False), ("x",), lambda x: pd.Series(x).kurt() if len(x) > 3 else None),
    "fourth moment": (agg.MOMENT("x", 4, central=True), ("x",), lambda x: scipy.stats.moment(x, 4) if len(x) else None),
    "zscore": (agg.ZSCORE("w"), ("w",), lambda w: scipy.stats.zscore(w)[-1] if len(set(w)) > 1 else math.nan if len(w) else None),
    "covariance": (agg.COVARIANCE("x", "y", ddof=1), ("x", "y"), lambda x, y: np.cov(x, y)[0, 1] if len(x) > 1 else None),
    "correlation": (
        agg.CORRELATION("x", "y"),
        ("x", "y"),
        lambda x, y: None if len(x) < 2 else math.nan if len(set(x)) == 1 or len(set(y)) == 1 else np.corrcoef(x, y)[0, 1],
    ),
    "dot product": (agg.DOT_PRODUCT("x", "y"), ("x", "y"), lambda x, y: float(np.dot(x, y))),
    "weighted mean": (agg.WEIGHTED_MEAN("x", "w"), ("x", "w"), lambda x, w: np.average(x, weights=w) if len(x) else None),
    "weighted covariance": (
        agg.WEIGHTED_COVARIANCE("x", "y", "w", ddof=1),
        ("x", "y", "w"),
        lambda x, y, w: np.cov(x, y, aweights=w)[0, 1] if len(x) > 1 else None,
    ),
    "slope": (agg.LINEAR_REGRESSION("y", "x"), ("y", "x"), regression),
    "first": (agg.FIRST("x", skip_missing=True), ("x",), lambda x: pl.Series(x, dtype=pl.Float64).first() if len(x) else None),
    "last": (agg.LAST("x", skip_missing=True), ("x",), lambda x: x[-1] if len(x) else None),
    "count": (agg.COUNT("x"), ("x",), len),
}


def frame(seed: int, rows: int = 120) -> SFrame:
    """Rows in order of time, with ties, missing values and few different numbers."""
    random = np.random.default_rng(seed)

    def numbers(found: np.ndarray) -> list[float | None]:
        return [None if random.random() < 0.15 else value for value in found.tolist()]

    return SFrame(
        {
            "t": np.sort(random.integers(0, 60, rows)).tolist(),
            "k": random.integers(0, 9, rows).tolist(),
            "x": numbers(random.choice([1.0, 2.5, -3.0, 0.7], rows) + random.choice([0.0, 1.0], rows) * random.normal(size=rows)),
            "y": numbers(random.normal(size=rows)),
            "w": random.integers(1, 5, rows).tolist(),
        }
    )


def rows_by(sf: SFrame, how: str) -> tuple[SFrame, list[list[dict[str, Any]]]]:
    """The result by a driver, and the rows of which each of its rows is."""
    requests, rows = {name: aggregate for name, (aggregate, *_) in STATISTICS.items()}, list(sf)
    if how == "groups":
        found = sf.groupby("k", requests)
        return found, [[row for row in rows if row["k"] == each["k"]] for each in found]
    if how == "intervals":
        found = sf.groupby_intervals("t", 7, requests)
        return found, [[row for row in rows if each["t"] <= row["t"] < each["t"] + 7] for each in found]
    if how == "running":
        return sf.running(requests, by="k"), [[row for row in rows[: place + 1] if row["k"] == each["k"]] for place, each in enumerate(rows)]
    if how == "windows":
        near = [[row for row in rows if row["k"] == each["k"] and each["t"] - 5 <= row["t"] <= each["t"] + 1] for each in rows]
        return sf.window("t", requests, before=5, after=1, by="k"), near
    return sf.groupby([], requests), [rows]


def close(got: Any, wanted: Any) -> bool:
    if isinstance(got, dict):
        got = got["coefficient_x"]
    if got is None or wanted is None or math.isnan(got) or math.isnan(wanted):
        return (got is None) == (wanted is None) and (got is None or math.isnan(got) == math.isnan(wanted))
    return math.isclose(got, wanted, rel_tol=1e-8, abs_tol=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("how", ["groups", "intervals", "running", "windows", "all rows"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_statistics_are_those_of_other_libraries(how: str, seed: int) -> None:
    found, of_rows = rows_by(frame(seed), how)
    wrong = []
    for row, members in zip(found, of_rows, strict=True):
        for name, (_, columns, other) in STATISTICS.items():
            complete = [each for each in members if all(each[column] is not None for column in columns)]
            wanted = other(*[[each[column] for each in complete] for column in columns])
            if not close(row[name], wanted):
                wrong.append((name, row[name], wanted, members))
    assert not wrong, wrong[:3]


# What others met.


@pytest.mark.parametrize("value", [0.3, 1.1, 7.0 / 3.0, 1e8 + 0.1])
def test_equal_numbers_do_not_vary(value: float) -> None:
    """Polars issues 12681, 29344: the correlation with 254 times 0.3 was 0.05. pandas 18044: rolling skewness of 1.1 was -1e8."""
    sf = SFrame({"x": [value] * 254, "y": list(range(254))})
    assert math.isnan(sf["x"].correlation(sf["y"])) and sf["x"].covariance(sf["y"]) == 0.0
    assert math.isnan(sf["x"].skewness()) and math.isnan(sf["x"].kurtosis())
    found = sf.window("y", {"r": agg.CORRELATION("x", "y"), "s": agg.SKEWNESS("x"), "k": agg.KURTOSIS("x"), "z": agg.ZSCORE("x")}, before=9)
    assert all(math.isnan(number) for name in ("s", "k", "z") for number in found[name])
    assert all(number is None or math.isnan(number) for number in found["r"])
    fit = sf.groupby([], {"f": agg.LINEAR_REGRESSION("y", "x")})["f"][0]
    assert math.isnan(fit["coefficient_x"]) and fit["count"] == 254


def test_a_window_does_not_know_what_came_before_it() -> None:
    """pandas issue 47461: the kurtosis of ten numbers near 7.7e9, behind others, was -4e10. Polars 21491: a rolling correlation was 5.9."""
    near = [7729971558, 7729972633, 7729973171, 7729973171, 7729973171, 7729969406, 7729969406, 7729969944, 7729969406, 7729969406]
    values = [-2] * 36 + [7729964027, 7729965641, 7729965103] + near
    sf = SFrame({"t": list(range(len(values))), "v": values, "o": [float(value % 7) for value in values]})
    found = sf.window("t", {"k": agg.KURTOSIS("v", bias=False), "s": agg.SKEWNESS("v"), "r": agg.CORRELATION("v", "o")}, before=9)[-1]
    assert math.isclose(found["k"], pd.Series(near, dtype=float).sub(near[0]).kurt(), rel_tol=1e-12)
    assert math.isclose(found["s"], scipy.stats.skew(np.array(near, dtype=float) - near[0]), rel_tol=1e-12)
    assert math.isclose(found["r"], np.corrcoef(np.array(near, dtype=float) - near[0], [value % 7 for value in near])[0, 1], rel_tol=1e-12)


def test_numbers_one_step_apart_far_from_zero() -> None:
    """pandas issue 68934: the kurtosis of four such numbers near 1e8 was 213, where it is at most 4."""
    step = math.ulp(1e8)
    assert SArray([1e8, 1e8 + step, 1e8 + 2 * step, 1e8 + 9 * step]).kurtosis(bias=False) == SArray([0, 1, 2, 9]).kurtosis(bias=False)


def test_small_spreads_are_spreads() -> None:
    """pandas issue 62946: skewness and kurtosis were NaN for standard deviations below 1e-7."""
    numbers = np.random.default_rng(505).normal(scale=1e-8, size=10)
    assert math.isclose(SArray(numbers.tolist()).skewness(), scipy.stats.skew(numbers), rel_tol=1e-12)
    assert math.isclose(SArray((numbers * 1e-150).tolist()).kurtosis(), scipy.stats.kurtosis(numbers), rel_tol=1e-9)


def test_first_is_of_a_row_unless_missing_values_are_skipped() -> None:
    """pandas issue 58611: the first value of a group came from another row than that of the column beside it."""
    sf = SFrame({"k": [1, 1], "a": [None, "late"], "b": ["early", "late"]})
    assert sf.groupby("k", {"a": agg.FIRST("a"), "b": agg.FIRST("b")})[0] == {"k": 1, "a": None, "b": "early"}
    assert sf.groupby("k", {"a": agg.FIRST("a", skip_missing=True)})[0]["a"] == "late"


def test_a_missing_row_before_changes_no_later_correlation() -> None:
    """Polars issue 18217: a row with a missing value in front turned 0.62 into -0.22."""
    a, lag = [1.06, 1.07, 0.93, 0.78, 0.85], [1.0, 1.06, 1.07, 0.93, 0.78]
    with_one = SFrame({"a": [1.0, *a], "lag": [None, *lag]}).running({"r": agg.CORRELATION("a", "lag")})["r"][-1]
    assert with_one == SFrame({"a": a, "lag": lag}).running({"r": agg.CORRELATION("a", "lag")})["r"][-1] == SArray(a).correlation(SArray(lag))


def test_selected_quantiles_are_those_of_sorted_values(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    special = [math.nan, math.inf, -math.inf, 0.0, -0.0, None]
    values = [special[place] if place < len(special) else random.normal() for place in random.integers(0, 40, 3000)]
    sf = SFrame({"k": random.integers(0, 7, 3000).tolist(), "t": list(range(3000)), "v": values})
    wanted = {"old": agg.QUANTILE("v", 0.0, 0.3, 1.0), "new": agg.QUANTILE("v", [0.1, 0.5, 0.9], interpolate="linear"), "median": agg.MEDIAN("v")}
    found = []
    for fewest in (1, 1 << 60):
        monkeypatch.setattr(quantiles, "MIN_SELECTED", fewest)
        frames = sf.groupby("k", wanted), sf.window("t", wanted, before=2, by="k"), sf.groupby_intervals("t", 700, wanted)
        found.append([repr(row) for frame in frames for row in frame])
    assert found[0] == found[1]
