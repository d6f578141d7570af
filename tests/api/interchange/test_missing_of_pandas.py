"""What pandas calls missing is missing, whatever stands for it in a column of objects, at every door that takes one."""

from __future__ import annotations

import datetime
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import MixedTypesError
from sframe_spark.values.plain_values import agree

VALUES: dict[str, Any] = {
    "text": "x",
    "bytes": b"x",
    "list": [1, "a"],
    "array": np.array([1.5, 2.0]),
    "dict": {"a": 1},
    "date": datetime.date(2024, 2, 29),
    "date-time": datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC),
}
MISSING: dict[str, Any] = {"None": None, "NaN": math.nan, "NaN of numpy": np.float32("nan"), "NA": pd.NA, "NaT": pd.NaT}
DOORS: dict[str, Callable[[pd.Series], SArray]] = {
    "SFrame": lambda series: SFrame(pd.DataFrame({"k": range(3), "a": series}))["a"],
    "from_pandas": lambda series: SFrame.from_pandas(pd.DataFrame({"a": series}), naive=True)["a"],
    "SArray": SArray,
    "a dict of columns": lambda series: SFrame({"a": series})["a"],
    "assigned": lambda series: SFrame({"k": [1, 2, 3]}).add_column(series, "a")["a"],
    "join": lambda series: SFrame({"k": [0, 1, 2]}).join(pd.DataFrame({"k": range(3), "a": series}), on="k")["a"],
    "append": lambda series: SFrame({"a": SArray(series)}).head(0).append(pd.DataFrame({"a": series}))["a"],
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("value", VALUES)
def test_missing_among_objects(value: str, missing: str, door: str) -> None:
    for place in range(3):
        cells = [VALUES[value]] * 3
        cells[place] = MISSING[missing]
        found = list(DOORS[door](pd.Series(cells, dtype=object)))
        whole = list(DOORS[door](pd.Series([VALUES[value]] * 3, dtype=object)))
        assert agree(found, [None if row == place else whole[row] for row in range(3)])


def test_nan_among_numbers_stays_a_number() -> None:
    for cells in ([1, math.nan], [1.5, math.nan, None], [math.nan]):
        column = SArray(pd.Series(cells, dtype=object))
        assert column.dtype is float
        assert [value is not None and math.isnan(value) for value in column] == [cell is not None and math.isnan(cell) for cell in cells]


def test_tables_that_pandas_makes() -> None:
    read = pd.read_csv(io.StringIO("a,b\n,1\nx,2\n"))
    assert list(SFrame(read)["a"]) == [None, "x"]
    joined = pd.DataFrame({"k": [1, 2]}).merge(pd.DataFrame({"k": [2], "l": [["a"]]}), how="left")
    assert list(SFrame(joined)["l"]) == [None, ["a"]]


@pytest.mark.parametrize("values", [["x", math.nan], [math.nan, ["a"]], np.array([math.nan, "x"], dtype=object), pd.Series(["x", 1, math.nan])])
def test_elsewhere_nan_is_a_number_and_the_error_tells_what_is_missing(values: Any) -> None:
    told = "" if isinstance(values, pd.Series) else "; NaN is a number, and None is a missing value"
    with pytest.raises(MixedTypesError, match=f"no common type: .*{told}$"):
        SArray(values)
