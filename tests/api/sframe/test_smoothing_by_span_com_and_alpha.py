"""Exponential smoothing of rows by span, com and alpha, beside pandas and Polars, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sframe_spark import SFrame, config
from sframe_spark.errors import InvalidArgumentError, SchemaError

VALUES = [None, 1.0, 4.0, None, None, 2.5, -3.0, 2.5, None, 8.0]
GIVEN: list[dict[str, Any]] = [{"span": 1}, {"span": 5.5}, {"com": 0}, {"com": 2}, {"alpha": 1}, {"alpha": 0.3}, {"alpha": 1e-6}]


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_smoothed_rows_are_those_of_pandas_and_polars(given: dict[str, Any]) -> None:
    found = list(SFrame({"v": VALUES}).exponential_smoothing("v", **given))
    by_pandas = pd.Series(VALUES, dtype=float).ewm(**given).mean()
    assert np.allclose([math.nan if value is None else value for value in found], by_pandas, rtol=1e-9, equal_nan=True)
    by_polars = pl.Series(VALUES).ewm_mean(**given, ignore_nulls=False)
    # Polars gives missing rows no value.
    assert all(value is None or math.isclose(value, ours, rel_tol=1e-9) for value, ours in zip(by_polars, found, strict=True))


@pytest.mark.parametrize("segment_rows", [3, 100])
def test_keys_are_smoothed_on_their_own(segment_rows: int) -> None:
    keys = [place % 3 for place in range(40)]
    values = np.random.default_rng(1).normal(size=40)
    with config.using(segment_rows=segment_rows, batch_rows=4):
        found = list(SFrame({"k": keys, "v": values.tolist()}).exponential_smoothing("v", span=4, by="k"))
    wanted = pd.Series(values).groupby(keys).transform(lambda column: column.ewm(span=4).mean())
    assert np.allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("given", [{}, {"span": 3, "com": 1}, {"half_life": 1, "alpha": 0.5}], ids=str)
def test_one_number_is_given(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="takes one of half_life=, span=, com= and alpha="):
        SFrame({"v": VALUES}).exponential_smoothing("v", **given)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [({"span": 0.5}, "from 1"), ({"com": -1}, "from 0"), ({"alpha": 0}, "above 0"), ({"alpha": 1.5}, "up to 1"), ({"alpha": math.nan}, "up to 1")],
)
def test_numbers_have_ranges(given: dict[str, Any], wrong: str) -> None:
    with pytest.raises(InvalidArgumentError, match=wrong):
        SFrame({"v": VALUES}).exponential_smoothing("v", **given)


def test_times_and_texts_are_refused() -> None:
    sf = SFrame({"t": list(range(10)), "v": VALUES})
    with pytest.raises(InvalidArgumentError, match="span counts rows"):
        sf.exponential_smoothing("v", on="t", span=3)
    with pytest.raises(SchemaError, match="com must be a number"):
        sf.exponential_smoothing("v", com="2")
