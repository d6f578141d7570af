"""Columns own their values: what a caller does later to the object they came from changes no column."""

from __future__ import annotations

import array
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.types import ZONED_DATETIME
from sframe_spark.values.python_to_arrow import encode


def times(*days: int) -> np.ndarray:
    return np.array([f"2024-01-{day:02}" for day in days], dtype="datetime64[us]")


NUMPY: list[np.ndarray] = [
    *(np.array([1, 2, 3], dtype=dtype) for dtype in ("int64", "int32", "uint8", "uint64", "float64", "float32")),
    np.array([True, False, True]),
    np.array(["x", "y", "z"]),
    np.array([b"x", b"y", b"z"]),
    np.array(["x", "y", "z"], dtype=object),
    np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    times(1, 2, 3),
    times(1, 2, 3).astype("datetime64[ns]"),
    np.arange(6)[::2],
    np.ma.masked_array([1, 2, 3], mask=[False, True, False]),
]

SERIES: list[pd.Series] = [
    pd.Series([1, 2, 3]),
    pd.Series([0.5, 1.5, 2.5]),
    pd.Series([True, False, True]),
    pd.Series(["x", "y", "z"], dtype=object),
    pd.Series(["x", "y", "z"], dtype="string"),
    pd.Series([1, None, 3], dtype="Int64"),
    pd.Series([0.5, None, 1.5], dtype="Float64"),
    pd.Series([True, None, False], dtype="boolean"),
    pd.Series(times(1, 2, 3)),
    pd.Series(times(1, 2, 3)).dt.tz_localize("UTC"),
    pd.Series(["x", "y", "x"], dtype="category"),
]


def spoil(values: Any) -> None:
    """Make every value the last one, in place."""
    if isinstance(values, pd.Series):
        values.iloc[:] = values.iloc[-1]
        # What owners of the memory below change is changed too, where pandas itself copies before it writes.
        held = getattr(values.array, "_data", getattr(values.array, "_ndarray", None))
        if isinstance(held, np.ndarray) and held.flags.writeable:
            held[:] = held[-1]
    else:
        for place in range(len(values)):
            values[place] = values[-1]


def assigned(values: Any) -> SArray:
    frame = SFrame({"row": [0] * len(values)})
    frame["x"] = values
    return frame["x"]


DOORS: dict[str, Callable[[Any], SArray]] = {
    "SArray": SArray,
    "SFrame of a dict": lambda values: SFrame({"x": values, "y": values})["x"],
    "assignment": assigned,
    "add_column": lambda values: SFrame({"row": [0] * len(values)}).add_column(SArray(values), "x")["x"],
    "append": lambda values: SArray(values).append(SArray(values))[: len(values)],
    "a column of it": lambda values: SArray(values)[:],
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("values", NUMPY, ids=lambda values: f"{values.dtype} {values.ndim}")
def test_numpy_values(values: np.ndarray, door: str) -> None:
    values = values.copy()
    column = DOORS[door](values)
    before = [str(value) for value in SArray(values.copy())]
    spoil(values)
    assert [str(value) for value in column] == before


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("values", SERIES, ids=lambda values: str(values.dtype))
def test_pandas_series(values: pd.Series, door: str) -> None:
    values = values.copy()
    column = DOORS[door](values)
    before = [str(value) for value in SArray(values.copy())]
    spoil(values)
    assert [str(value) for value in column] == before


def test_a_pandas_frame() -> None:
    given = pd.DataFrame({str(number): series for number, series in enumerate(SERIES)})
    frame, before = SFrame(given), [str(row) for row in SFrame(given.copy(deep=True))]
    # pandas 2 warns that a column is changed, and pandas 3 changes a copy.
    with warnings.catch_warnings(action="ignore"):
        for name in given:
            spoil(given[name])
    given.loc[0, "0"] = 100
    given["1"] *= 10
    assert [str(row) for row in frame] == before


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_arrays_of_the_standard_library(code: str, door: str) -> None:
    values = array.array(code, [1, 2, 3])
    column = DOORS[door](values)
    spoil(values)
    values.append(4)  # fails while anybody holds the memory
    assert list(column) == [1, 2, 3]


@pytest.mark.parametrize("door", DOORS)
def test_views_of_memory(door: str) -> None:
    values = array.array("q", [1, 2, 3])
    column = DOORS[door](memoryview(values))
    spoil(values)
    assert list(column) == [1, 2, 3]


def test_cells() -> None:
    vectors, lists = [np.array([1.0, 2.0]), array.array("d", [1.0, 2.0])], [array.array("d", [1.0, 2.0]), [1.0, 2.0]]
    for cells in (vectors, lists):
        column = SArray(cells)
        for cell in cells:
            cell[0] = 9.0
        assert [list(cell) for cell in column] == [[1.0, 2.0]] * 2


def test_a_buffer_that_is_used_again() -> None:
    buffer, columns = np.zeros(3), []
    for number in range(3):
        buffer[:] = number
        columns.append(SArray(buffer))
    assert [list(column) for column in columns] == [[0.0] * 3, [1.0] * 3, [2.0] * 3]


def test_what_is_built_on_a_column() -> None:
    values = np.array([0.5, 1.5])
    frame = SFrame({"x": values})
    frame["y"] = frame["x"] * 2
    values[:] = 100.0
    assert list(frame) == [{"x": 0.5, "y": 1.0}, {"x": 1.5, "y": 3.0}]


def test_arrow_values_are_not_copied() -> None:
    values = pa.array([1, 2, 3])
    stored = encode(values, SArray(values)._node.schema[0])
    assert stored.buffers()[1].address == values.buffers()[1].address


def test_date_times_of_numpy() -> None:
    values = times(1, 2)
    stored = encode(values, ZONED_DATETIME)
    before = stored.to_pylist()
    values[:] = values[1]
    assert stored.to_pylist() == before
