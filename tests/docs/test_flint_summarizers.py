"""Every summarizer of Flint beside what its page has for it, on rows with missing values, NaN, duplicates, and far from zero.

Flint does not run here. Its formulas are written out, with its divisors, over the rows in which all arguments have a value, in fractions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sframe_spark.aggregate as agg
from sframe_spark import SFrame
from tests.docs.porting import PORTING, Row, pieces_of

Column = list[float]
NAN = math.nan


def mean(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


def moment(order: int, numbers: Sequence[Fraction]) -> Fraction:
    middle = mean(numbers)
    return mean([(number - middle) ** order for number in numbers])


def variance(x: Sequence[Fraction]) -> float:
    return float(moment(2, x) * len(x) / (len(x) - 1)) if len(x) > 1 else NAN


def covariance(x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
    return mean([(a - mean(x)) * (b - mean(y)) for a, b in zip(x, y, strict=True)])


def root(number: Fraction) -> float:
    return math.sqrt(number) if number >= 0 else NAN


def correlation(x: Sequence[Fraction], y: Sequence[Fraction]) -> float:
    spread = moment(2, x) * moment(2, y)
    return math.copysign(root(covariance(x, y) ** 2 / spread), covariance(x, y)) if spread else NAN


def weighted(x: Sequence[Fraction], y: Sequence[Fraction], w: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """The co-moment of two columns, and the sum of the weights."""
    total = sum(w, Fraction(0))
    middles = [sum((a * v for a, v in zip(column, w, strict=True)), Fraction(0)) / total for column in (x, y)]
    return sum(((a - middles[0]) * (b - middles[1]) * v for a, b, v in zip(x, y, w, strict=True)), Fraction(0)), total


def weighted_covariance(x: Sequence[Fraction], w: Sequence[Fraction]) -> float:
    moments, total = weighted(x, x, w)
    divisor = total - sum((v * v for v in w), Fraction(0)) / total
    return float(moments / divisor) if divisor else NAN


def weighted_mean(x: Sequence[Fraction], w: Sequence[Fraction]) -> float:
    total = sum(w, Fraction(0))
    return float(sum((a * v for a, v in zip(x, w, strict=True)), Fraction(0)) / total) if total else NAN


def zscore(x: Sequence[Fraction]) -> float:
    before = x[:-1]
    if len(before) < 2:
        return NAN
    spread = moment(2, before) * len(before) / (len(before) - 1)
    distance = x[-1] - mean(before)
    return math.copysign(root(distance**2 / spread), distance) if spread else math.copysign(math.inf, distance) if distance else NAN


def quantiles(x: Sequence[Fraction]) -> list[float]:
    """R-7, as in Flint."""
    return np.quantile(list(map(float, x)), [0.25, 0.75]).tolist()


def regression(y: Sequence[Fraction], x: Sequence[Fraction], w: Sequence[Fraction] | None = None) -> dict[str, float]:
    """Intercept, slope and share explained of one variable."""
    ones = [Fraction(1)] * len(x) if w is None else w
    xx, yy, xy = weighted(x, x, ones)[0], weighted(y, y, ones)[0], weighted(x, y, ones)[0]
    if not xx:
        return {"intercept": NAN, "coefficient_size": NAN, "r2": NAN}
    slope, total = xy / xx, sum(ones, Fraction(0))
    means = [sum((a * v for a, v in zip(column, ones, strict=True)), Fraction(0)) / total for column in (x, y)]
    left = yy - slope * xy
    return {"intercept": float(means[1] - slope * means[0]), "coefficient_size": float(slope), "r2": float(1 - left / yy) if yy else NAN}


Formula = Callable[..., Any]
# By the name on the page: our aggregate of the same, its columns, the least number of rows of which Flint has a number, and Flint's formula.
PAIRS: dict[str, tuple[Any, tuple[str, ...], int, Formula]] = {
    "summarizers.count": (agg.COUNT("price"), ("price",), 0, len),
    "summarizers.sum": (agg.SUM("price"), ("price",), 0, lambda x: float(sum(x))),
    "summarizers.mean": (agg.MEAN("price"), ("price",), 1, lambda x: float(mean(x))),
    "summarizers.min": (agg.MIN("price"), ("price",), 1, lambda x: float(min(x))),
    "summarizers.max": (agg.MAX("price"), ("price",), 1, lambda x: float(max(x))),
    "summarizers.stddev": (agg.STD("price", ddof=1), ("price",), 2, lambda x: math.sqrt(variance(x))),
    "summarizers.variance": (agg.VAR("price", ddof=1), ("price",), 2, variance),
    "summarizers.quantile": (agg.QUANTILE("price", [0.25, 0.75], interpolate="linear"), ("price",), 1, quantiles),
    "summarizers.nth_moment": (agg.MOMENT("price", 3), ("price",), 1, lambda x: float(mean([a**3 for a in x]))),
    "summarizers.nth_central_moment": (agg.MOMENT("price", 3, central=True), ("price",), 1, lambda x: float(moment(3, x))),
    "summarizers.skewness": (
        agg.SKEWNESS("price"),
        ("price",),
        1,
        lambda x: float(moment(3, x)) / float(moment(2, x)) ** 1.5 if moment(2, x) else NAN,
    ),
    "summarizers.kurtosis": (agg.KURTOSIS("price"), ("price",), 1, lambda x: float(moment(4, x) / moment(2, x) ** 2 - 3) if moment(2, x) else NAN),
    "summarizers.covariance": (agg.COVARIANCE("price", "size"), ("price", "size"), 1, lambda x, y: float(covariance(x, y))),
    "summarizers.correlation": (agg.CORRELATION("price", "size"), ("price", "size"), 2, correlation),
    "summarizers.dot_product": (
        agg.DOT_PRODUCT("price", "size"),
        ("price", "size"),
        0,
        lambda x, y: float(sum(a * b for a, b in zip(x, y, strict=True))),
    ),
    "summarizers.weighted_mean": (agg.WEIGHTED_MEAN("price", "size"), ("price", "size"), 1, weighted_mean),
    "summarizers.weighted_covariance": (agg.WEIGHTED_COVARIANCE("price", "price", "size", ddof=1), ("price", "size"), 2, weighted_covariance),
    "summarizers.weighted_correlation": (
        agg.WEIGHTED_CORRELATION("price", "price", "size"),
        ("price", "size"),
        2,
        lambda x, w: 1.0 if moment(2, x) else NAN,
    ),
    "summarizers.product": (agg.PRODUCT("price"), ("price",), 0, lambda x: float(math.prod(x))),
    "summarizers.geometric_mean": (agg.GEOMETRIC_MEAN("price"), ("price",), 1, lambda x: math.exp(math.fsum(map(math.log, x)) / len(x))),
    "summarizers.zscore": (agg.ZSCORE("price", ddof=1, include_current=False), ("price",), 3, zscore),
    "summarizers.linear_regression": (agg.LINEAR_REGRESSION("price", ["size"]), ("price", "size"), 2, regression),
}
# Those that give no number: lists, columns and averages over time.
OTHERS = {"summarizers.rows", "summarizers.compose", "summarizers.prefix", "Summarizers.where", "summarizers.ewma", "summarizers.ema_halflife"}
OTHERS |= {"Summarizers.exponentialSmoothing"}


def rows_of_page() -> dict[str, Row]:
    tables = (piece for piece in pieces_of(PORTING / "flint.md") if isinstance(piece, list))
    return {row.theirs[0]: row for table in tables for row in table if row.theirs and row.theirs[0].lower().startswith("summarizers.")}


def test_every_summarizer_is_one_call_on_the_page_and_compared_here() -> None:
    page = rows_of_page()
    assert set(page) - OTHERS == set(PAIRS)
    for name, (aggregate, *_) in PAIRS.items():
        calls = [eval(code, {"agg": agg}) for code in page[name].ours]
        parameters = [asked.parameters for asked in calls if asked.name == aggregate.name]
        assert aggregate.parameters in parameters or (parameters and aggregate.name == "linear_regression"), name


def groups(offset: float) -> list[tuple[str, float | None, float | None]]:
    """Rows of groups: with missing values on either side, duplicates, of one row, of equal rows, and without any value."""
    source, rows = random.Random(offset), []
    for key in range(25):
        for _ in range(source.randrange(1, 12)):
            price = None if source.random() < 0.2 else offset + source.choice([1.0, 2.5, 4.0, 8.25]) + source.choice([0.0, source.random()])
            rows.append((f"g{key:02}", price, None if source.random() < 0.2 else float(source.randrange(1, 6))))
    rows += [("same", offset + 1.5, 2.0)] * 4 + [("none", None, 1.0), ("none", None, None), ("alone", offset + 2.0, 3.0)]
    source.shuffle(rows)
    return rows


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_summaries_are_those_of_flint(offset: float) -> None:
    rows = groups(offset)
    sf = SFrame({name: [row[place] for row in rows] for place, name in enumerate(("key", "price", "size"))})
    found = sf.groupby("key", {name: aggregate for name, (aggregate, *_) in PAIRS.items()})
    wrong = []
    for row in found:
        members = [each for each in rows if each[0] == row["key"]]
        for name, (_, columns, least, formula) in PAIRS.items():
            places = [("key", "price", "size").index(column) for column in columns]
            complete = [each for each in members if all(each[place] is not None for place in places)]
            exact = [[Fraction(each[place]) for each in complete] for place in places]
            if name == "summarizers.zscore" and (not members or members[-1][1] is None):
                # Flint leaves the row out; here the z-score of a row without a value is missing.
                wanted = None
            else:
                wanted = formula(*exact) if len(complete) >= least else None
            if not close(row[name], wanted):
                wrong.append((row["key"], name, row[name], wanted))
    assert not wrong


def close(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return got is not None and all(close(got[key], number) for key, number in wanted.items())
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(close, got, wanted))
    if wanted is None or got is None or math.isnan(wanted) or math.isnan(got):
        return repr(got) == repr(wanted)
    # The formulas above round, too; and z-scores of far numbers are of small differences.
    return math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-12)


def test_nan_spreads_to_every_summary() -> None:
    sf = SFrame({"key": ["a"] * 4, "price": [1.0, NAN, 2.0, 3.0], "size": [1.0, 2.0, 3.0, 4.0]})
    found = sf.groupby("key", {name: aggregate for name, (aggregate, *_) in PAIRS.items()})[0]
    quantile, fit = found.pop("summarizers.quantile"), found.pop("summarizers.linear_regression")
    # NaN is a value, and the largest one.
    assert found.pop("summarizers.count") == 4 and quantile[0] == 1.75 and math.isnan(quantile[1])
    assert all(math.isnan(number) for number in [*fit.values(), *(number for name, number in found.items() if name != "key")])
