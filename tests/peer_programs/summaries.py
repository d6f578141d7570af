"""Aggregates as this library, Polars and pandas have them, of the rows of a group, a window or an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl

from sframe_spark import aggregate as agg
from tests.peer_programs.differences import differs
from tests.peer_programs.operation import Draw, without_sign


@attrs.frozen
class Summary:
    """An aggregate of the columns `a` and `b` three times.

    Parameters
    ----------
    here, polars, pandas
        What is asked for here, the expression of Polars, and a function of a frame of pandas.
    nothing
        Its value of no rows.
    """

    here: Callable[[str, str], Any]
    polars: Callable[[Any, Any], Any]
    pandas: Callable[[Any, Any], Any] | None = None
    nothing: Any = None


def both(a: Any, b: Any) -> tuple[Any, Any]:
    """Values of Polars in complete rows."""
    complete = a.is_not_null() & b.is_not_null()
    return a.filter(complete), b.filter(complete)


def pairs(a: Any, b: Any) -> tuple[Any, Any]:
    """Values of pandas in complete rows."""
    complete = a.notna() & b.notna()
    return a[complete], b[complete]


def _spread(name: str, ddof: int) -> Summary:
    def polars(a: Any, b: Any) -> Any:
        if ddof == 0:
            differs("spread of no value")
        found = getattr(a.cast(pl.Float64), name)(ddof)
        return found.fill_null(0.0) if ddof == 0 else found

    def pandas(a: Any, b: Any) -> Any:
        return getattr(a, name)(ddof=ddof) if ddof or a.count() else 0.0

    request = agg.VAR if name == "var" else agg.STD
    if ddof == 0:
        return Summary(lambda a, b: request(a), polars, pandas, 0.0)
    return Summary(lambda a, b: request(a, ddof=1), polars, pandas)


def _extreme(which: str) -> Summary:
    request = getattr(agg, which.upper())
    return Summary(
        lambda a, b: request(a), lambda a, b: without_sign(getattr(a.cast(pl.Float64), f"nan_{which}")()), lambda a, b: getattr(a, which)()
    )


def _weighted_mean_of_polars(a: Any, b: Any) -> Any:
    a, b = both(a, b)
    return (a * b).sum() / pl.when(b.len() > 0).then(b.sum())


def _weighted_mean_of_pandas(a: Any, b: Any) -> Any:
    a, b = pairs(a, b)
    return np.average(a, weights=b) if len(a) else None


def _correlation_of_polars(a: Any, b: Any) -> Any:
    differs("correlation of one row")
    a, b = both(a, b)
    return pl.when(a.len() > 1).then(pl.corr(a, b))


def _correlation_of_pandas(a: Any, b: Any) -> Any:
    a, b = pairs(a, b)
    with np.errstate(all="ignore"):
        return a.corr(b) if len(a) > 1 else None


def _covariance(ddof: int) -> Summary:
    def polars(a: Any, b: Any) -> Any:
        differs("covariance with NaN")
        a, b = both(a, b)
        strange = (a * b * 0).sum() != 0
        return pl.when(a.len() > ddof).then(pl.when(strange).then(float("nan")).otherwise(pl.cov(a, b, ddof=ddof)))

    def pandas(a: Any, b: Any) -> Any:
        a, b = pairs(a, b)
        return a.cov(b, ddof=ddof) if len(a) > ddof else None

    return Summary(lambda a, b: agg.COVARIANCE(a, b, ddof=ddof), polars, pandas)


def _shape_of_pandas(name: str) -> Any:
    def shape(a: Any, b: Any) -> Any:
        differs("shape of equal values")
        return getattr(a, name)() if a.nunique() > 1 else None

    return shape


def _present(values: Any) -> Any:
    return [float(value) for value in values if not math.isnan(value)]


def _weighted_covariance_of_polars(a: Any, b: Any) -> Any:
    a, b = both(a.cast(pl.Float64), b.cast(pl.Float64))
    mean_of_a, mean_of_b = ((values * b).sum() / b.sum() for values in (a, b))
    return pl.when(b.len() > 0).then((b * (a - mean_of_a) * (b - mean_of_b)).sum() / b.sum())


def _weighted_covariance_of_pandas(a: Any, b: Any) -> Any:
    a, b = pairs(a, b)
    return float(np.cov(np.array([a, b]), aweights=b, ddof=0)[0, 1]) if len(a) else None


def _by(a: Any, b: Any, first: bool) -> Any:
    differs("NaN is the last choice")
    b = b.cast(pl.Float64)
    kept, key = b.is_not_null(), b if first else b.fill_nan(float("-inf"))
    ordered = a.filter(kept).sort_by(key.filter(kept), maintain_order=True)
    return ordered.first() if first else ordered.last()


def _by_of_pandas(a: Any, b: Any, first: bool) -> Any:
    places = np.argsort(b.to_numpy(), kind="stable")[: b.count()]
    return a.iloc[places[0 if first else -1]] if len(places) else None


SUMMARIES: dict[str, Summary] = {
    "count": Summary(lambda a, b: agg.COUNT(), lambda a, b: pl.len(), lambda a, b: len(a), 0),
    "count of values": Summary(lambda a, b: agg.COUNT(a), lambda a, b: a.count(), lambda a, b: a.count(), 0),
    "sum": Summary(lambda a, b: agg.SUM(a), lambda a, b: a.sum(), lambda a, b: a.sum(), 0),
    "product": Summary(lambda a, b: agg.PRODUCT(a), lambda a, b: without_sign(a.cast(pl.Float64).product()), lambda a, b: a.prod(), 1),
    "mean": Summary(lambda a, b: agg.MEAN(a), lambda a, b: a.mean(), lambda a, b: a.mean()),
    "geometric mean": Summary(
        lambda a, b: agg.GEOMETRIC_MEAN(b),
        lambda a, b: b.log().mean().exp(),
        lambda a, b: math.exp(np.log(b).mean()) if b.count() else None,
    ),
    "weighted mean": Summary(lambda a, b: agg.WEIGHTED_MEAN(a, b), _weighted_mean_of_polars, _weighted_mean_of_pandas),
    "var": _spread("var", 0),
    "sample var": _spread("var", 1),
    "std": _spread("std", 0),
    "sample std": _spread("std", 1),
    "min": _extreme("min"),
    "max": _extreme("max"),
    "median": Summary(lambda a, b: agg.MEDIAN(a), lambda a, b: a.cast(pl.Float64).quantile(0.5, "linear"), lambda a, b: a.median()),
    "quantile": Summary(
        lambda a, b: agg.QUANTILE(a, 0.3, interpolate="linear"),
        lambda a, b: a.cast(pl.Float64).quantile(0.3, "linear"),
        lambda a, b: a.quantile(0.3),
    ),
    "lower quantile": Summary(
        lambda a, b: agg.QUANTILE(a, 0.7, interpolate="lower"),
        lambda a, b: a.cast(pl.Float64).quantile(0.7, "lower"),
        lambda a, b: a.quantile(0.7, interpolation="lower"),
    ),
    "first": Summary(lambda a, b: agg.FIRST(a), lambda a, b: a.first(), lambda a, b: a.iloc[0] if len(a) else None),
    "last": Summary(lambda a, b: agg.LAST(a), lambda a, b: a.last(), lambda a, b: a.iloc[-1] if len(a) else None),
    "first known": Summary(
        lambda a, b: agg.FIRST(a, skip_missing=True), lambda a, b: a.drop_nulls().first(), lambda a, b: next(iter(a.dropna()), None)
    ),
    "last known": Summary(
        lambda a, b: agg.LAST(a, skip_missing=True), lambda a, b: a.drop_nulls().last(), lambda a, b: next(iter(a.dropna()[::-1]), None)
    ),
    "covariance": _covariance(0),
    "sample covariance": _covariance(1),
    "correlation": Summary(lambda a, b: agg.CORRELATION(a, b), _correlation_of_polars, _correlation_of_pandas),
    "skewness": Summary(lambda a, b: agg.SKEWNESS(a), lambda a, b: a.cast(pl.Float64).skew()),
    "sample skewness": Summary(lambda a, b: agg.SKEWNESS(a, bias=False), lambda a, b: a.cast(pl.Float64).skew(bias=False), _shape_of_pandas("skew")),
    "kurtosis": Summary(lambda a, b: agg.KURTOSIS(a), lambda a, b: a.cast(pl.Float64).kurtosis()),
    "sample kurtosis": Summary(
        lambda a, b: agg.KURTOSIS(a, bias=False), lambda a, b: a.cast(pl.Float64).kurtosis(bias=False), _shape_of_pandas("kurt")
    ),
    "zscore": Summary(
        lambda a, b: agg.ZSCORE(a, ddof=1),
        lambda a, b: (a.last() - a.mean()) / a.cast(pl.Float64).std(1),
        lambda a, b: (a.iloc[-1] - a.mean()) / a.std() if a.count() > 1 else None,
    ),
    "distinct": Summary(
        lambda a, b: agg.COUNT_DISTINCT(a),
        lambda a, b: a.n_unique(),
        lambda a, b: a.nunique(dropna=False),
        0,
    ),
    "moment": Summary(
        lambda a, b: agg.MOMENT(a, 3, central=True),
        lambda a, b: ((a - a.mean()) ** 3).mean(),
        lambda a, b: ((a - a.mean()) ** 3).mean(),
    ),
    "products": Summary(lambda a, b: agg.DOT_PRODUCT(a, b), lambda a, b: (a * b).sum(), lambda a, b: (a * b).sum(), 0),
    "weighted covariance": Summary(lambda a, b: agg.WEIGHTED_COVARIANCE(a, b, b), _weighted_covariance_of_polars, _weighted_covariance_of_pandas),
    "first by": Summary(lambda a, b: agg.FIRST(a, by=b), lambda a, b: _by(a, b, True), lambda a, b: _by_of_pandas(a, b, True)),
    "last by": Summary(lambda a, b: agg.LAST(a, by=b), lambda a, b: _by(a, b, False), lambda a, b: _by_of_pandas(a, b, False)),
    "different values": Summary(lambda a, b: agg.DISTINCT(a), lambda a, b: a.unique(maintain_order=True).implode(), None, []),
    "values": Summary(lambda a, b: agg.CONCAT(a), lambda a, b: a.drop_nulls().implode(), lambda a, b: _present(a), []),
}


# Their values jump where two values are equal but for last digits.
JUMPING = {"distinct", "different values", "skewness", "sample skewness", "kurtosis", "sample kurtosis", "correlation", "zscore"}


def draw_summaries(d: Draw) -> dict[str, tuple[str, str, str]]:
    """Up to three aggregates: names of results, with the aggregate and its columns, the second of which is a weight where there is one."""
    weighted = "w" in d.numbers
    names = [
        name for name, summary in SUMMARIES.items() if (d.peer == "polars" or summary.pandas is not None) and (weighted or name != "geometric mean")
    ]
    found = {}
    for number in range(d.one(1, 2, 3)):
        name = d.choose.choice(names)
        found[f"{d.result}_{number}"] = (name, d.exact() if name in JUMPING else d.number(), "w" if weighted else d.number())
    return found


def requests(p: Any) -> dict[str, Any]:
    """What is asked for here."""
    return {name: SUMMARIES[kind].here(a, b) for name, (kind, a, b) in p.items()}


def expressions(p: Any) -> list[Any]:
    """What is asked of Polars."""
    return [SUMMARIES[kind].polars(pl.col(a), pl.col(b)).alias(name) for name, (kind, a, b) in p.items()]


def values_of(p: Any, rows: pd.DataFrame) -> dict[str, Any]:
    """What pandas makes of rows."""
    found = {}
    for name, (kind, a, b) in p.items():
        function = SUMMARIES[kind].pandas
        assert function is not None
        found[name] = function(rows[a], rows[b])
    return found
