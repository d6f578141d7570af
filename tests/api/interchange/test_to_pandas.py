"""Frames as pandas DataFrames: the types that pandas gives lists of the values, without the lists where that is dear."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pandas as pd
import pytest

from sframe_spark import SFrame
from sframe_spark.errors import DateTimeRangeError
from tests.docs.interchange_columns import OURS, at

NOON = datetime.datetime(2024, 2, 28, 12, 0, 0, 1)
MORE: dict[str, list[Any]] = {
    "ints of all bits": [2**63 - 1, -(2**63)],
    "large ints, one missing": [2**60 + 1, None],
    "ints, all missing": [None, None],
    "moments": [NOON, None, NOON.replace(year=1700)],
    "early moments": [NOON.replace(year=1), NOON],
    "late moments in UTC": [at(0).replace(year=9999, day=1), at(0)],
    "moments, some with an offset": [NOON, at(0)],
    "NaN": [math.nan, None, -math.inf],
    "texts with NUL": ["a\0", None],
}


@pytest.mark.parametrize("name", [*OURS, *MORE])
def test_columns_are_those_of_lists(name: str) -> None:
    values = {**OURS, **MORE}[name]
    frame = SFrame({"x": values})
    expected = pd.Series(list(frame["x"]), dtype="object" if frame["x"].dtype is str else None)
    found = frame.to_pandas()["x"]
    assert found.dtype == expected.dtype
    assert [repr(value) for value in found] == [repr(value) for value in expected]


def test_without_rows_or_columns() -> None:
    assert SFrame().to_pandas().shape == (0, 0)
    empty = SFrame({"i": [1], "t": ["a"], "d": [NOON], "l": [[1]]})[:0].to_pandas()
    assert [str(dtype) for dtype in empty.dtypes] == ["datetime64[us]", "int64", "object", "object"]


def test_moments_that_python_does_not_show_are_told() -> None:
    frame = SFrame({"when": [datetime.datetime(9999, 12, 31)]})
    frame["when"] = frame["when"] + 864_000
    with pytest.raises(DateTimeRangeError, match="'when'"):
        frame.to_pandas()
