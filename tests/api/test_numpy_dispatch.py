"""NumPy's functions of columns and frames: lazy where the table has them, arrays elsewhere, and masks that select what they say."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.api.numpy_dispatch import _FUNCTIONS, _OF_ONE, _OF_TWO
from sframe_spark.errors import LengthMismatchError, SFrameError, UnsupportedOperationError

X = np.arange(6).reshape(3, 2)


@pytest.fixture
def frame() -> Any:
    return SFrame({"x": [1.0, None, 4.0], "n": [1, 2, 3], "label": ["a", "b", "a"]})


def test_masks_select_rows_of_arrays_as_they_select_rows_of_frames(frame: Any) -> None:
    masks = [frame["label"] == "a", frame["x"] > 2, frame["x"] == None, frame["n"] != 2]  # noqa: E711
    masks += [masks[0] & (frame["n"] > 1), masks[1] | (frame["n"] == 2), ~masks[0], ~masks[1], ~(masks[1] | masks[0]), np.logical_not(masks[1])]
    for mask in masks:
        expected = [row["n"] for row in frame[mask]]
        chosen = X[mask]
        assert np.asarray(mask).dtype == np.bool_ and chosen.shape == (len(expected), 2)
        assert (chosen[:, 0] // 2 + 1).tolist() == expected
        assert np.asarray(frame["n"])[mask].tolist() == expected
    assert np.asarray(frame["x"] > 2).tolist() == [False, False, True]
    assert np.asarray(SArray([], int) > 1).dtype == np.bool_


def test_a_mask_that_numbers_were_appended_to_is_numbers() -> None:
    mask = (SArray([1, 2]) > 1).append(SArray([5]))
    assert np.asarray(mask).tolist() == [0, 1, 5]


def test_functions_of_one_and_two_values_are_lazy() -> None:
    calls: list[Any] = []

    def counted(value: int) -> float:
        calls.append(value)
        return value * 1.0

    numbers = SArray([1, 2, 3]).apply(counted, dtype=float)
    calls.clear()
    results = [function(numbers) for function in _OF_ONE if function not in (np.invert,)]
    results += [function(numbers, 2.0) for function in _OF_TWO if "and" not in function.__name__ and "or" not in function.__name__]
    results += [np.where(numbers > 1, numbers, 0), np.clip(numbers, 1, 2), np.round(numbers, 1), np.isin(numbers, [1])]
    assert all(isinstance(result, SArray) for result in results) and not calls


@pytest.mark.parametrize("function", [function for function in _OF_ONE if function not in (np.invert,)], ids=lambda function: function.__name__)
def test_functions_of_one_value_are_those_of_arrays(function: Any) -> None:
    values = [1.5, -0.25, 0.0, 40.0]
    with np.errstate(all="ignore"):
        expected = function(np.array(values))
    assert np.array_equal(np.asarray(function(SArray(values))), expected, equal_nan=True)


@pytest.mark.parametrize("function", _OF_TWO, ids=lambda function: function.__name__)
def test_functions_of_two_values_are_those_of_arrays(function: Any) -> None:
    left, right = SArray([1, 7, 2, 9]), SArray([2, 7, 1, -3])
    if function in (np.bitwise_and, np.bitwise_or, np.logical_and, np.logical_or):
        left, right = left > 1, right > 1
    expected = function(np.asarray(left) * (1.0 if function is np.power else 1), np.asarray(right))
    assert np.allclose(np.asarray(function(left, right)), expected)
    if "and" not in function.__name__ and "or" not in function.__name__:
        assert np.allclose(np.asarray(function(left, 2)), function(np.asarray(left), 2))
        assert np.allclose(np.asarray(function(2, right + 4)), function(2, np.asarray(right + 4)))


def test_numbers_of_numpy_and_columns_are_columns(frame: Any) -> None:
    assert list(np.float64(2) * frame["x"]) == [2.0, None, 8.0] and list(np.array(10) - frame["n"]) == [9, 8, 7]
    assert list(np.equal("a", frame["label"])) == [1, 0, 1]
    assert (
        list(np.mod(frame["n"], 2)) == [1, 0, 1] and list(np.mod(frame["n"], 0)) == [None] * 3 and list(np.mod(frame["x"], 2.5)) == [1.0, None, 1.5]
    )


def test_arrays_beside_columns_give_arrays(frame: Any) -> None:
    for result in (
        np.array([1, 2, 3]) * frame["n"],
        np.maximum(frame["n"], [2, 2, 2]),
        np.multiply(X, frame[["n"]]),
        np.log(frame["n"], out=np.zeros(3)),
        np.add.reduce(frame["n"]),
        np.add.outer(frame["n"], frame["n"]),
        np.unique(frame["label"]),
        np.concatenate([frame["n"], frame["x"]]),
        np.dot(frame["n"], frame["n"]),
        np.percentile(frame["n"], 50),
        np.where(frame["label"] == "a")[0],
    ):
        assert isinstance(result, (np.ndarray, np.generic))
    total = np.zeros(3)
    total += frame["n"]
    assert total.tolist() == [1, 2, 3]


def test_where_takes_numbers_of_two_types(frame: Any) -> None:
    is_a = frame["label"] == "a"
    assert list(np.where(is_a, frame["n"], frame["x"])) == [1.0, None, 3.0]
    assert list(np.where(is_a, 1, 0.5)) == [1.0, 0.5, 1.0] and list(np.where(is_a, "yes", "no")) == ["yes", "no", "yes"]
    assert np.where(is_a, X[:, 0], frame["n"]).tolist() == [0, 2, 4]
    with pytest.raises(SFrameError):
        np.where(is_a, frame["n"], "no")
    with pytest.raises(LengthMismatchError):
        np.where(is_a, frame["n"][:2], 0)


def test_aggregates_of_columns_are_those_of_their_members(frame: Any) -> None:
    for name in ("sum", "mean", "min", "max", "std", "var"):
        assert getattr(np, name)(frame["x"]) == getattr(frame["x"], name)() == getattr(np, name)(frame["x"], axis=0)
        assert getattr(np, name)(frame[["x", "n"]], axis=0).tolist() == [getattr(frame[column], name)() for column in ("x", "n")]
    assert np.std(frame["n"], ddof=1) == 1.0 and np.any(frame["n"] > 2) and not np.all(frame["n"] > 2)
    assert list(np.sum(frame[["x", "n"]], axis=1)) == [2.0, None, 7.0] and list(np.mean(frame[["x", "n"]], axis=1)) == [1.0, None, 3.5]
    assert list(np.max(frame[["x", "n"]], axis=1)) == [1.0, None, 4.0] and list(np.min(frame[["n", "x"]], axis=-1)) == [1.0, None, 3.0]
    assert np.sum(frame[["n"]]) == 6 and np.sum(frame["n"], dtype=np.float32).dtype == np.float32
    assert np.sum(SFrame({"a": [1]}).head(0), axis=0).shape == (1,)


def test_each_column_of_a_frame_is_computed(frame: Any) -> None:
    squares: Any = np.square(frame[["x", "n"]])
    assert squares.column_names() == ["x", "n"] and squares[2] == {"x": 16.0, "n": 9}
    assert np.round(frame[["x", "n"]], 1).column_names() == ["x", "n"]
    with pytest.raises(UnsupportedOperationError, match="log is not defined for str"):
        np.log(frame)


def test_series_of_pandas_keep_their_rules(frame: Any) -> None:
    series = pd.Series([1.0, 2.0, 3.0], index=[5, 6, 7])
    for result in (series + frame["n"], np.add(series, frame["n"]), np.add(frame["n"], series)):
        assert isinstance(result, pd.Series) and result.tolist() == [2, 4, 6]


def test_arrays_of_all_flat_types(frame: Any) -> None:
    moments = SArray([datetime.datetime(2024, 1, 31, 9), None])
    array = np.asarray(moments)
    assert array.dtype == "datetime64[us]" and array[0] == np.datetime64("2024-01-31T09") and np.isnat(array[1])
    assert np.asarray(SFrame({"t": moments, "u": moments})).dtype == "datetime64[us]"
    assert np.asarray(SArray(["é", None])).tolist() == ["é", None] and np.asarray(SArray(["a", "b"])).dtype == "<U1"
    assert np.asarray(frame).dtype == object and np.asarray(frame).shape == (3, 3)
    assert np.asarray(frame[["x", "n"]]).dtype == np.float64 and np.asarray(frame[["n"]]).dtype == np.int64
    assert np.asarray(SFrame({"a": frame["n"] > 1, "b": frame["x"] > 2})).dtype == np.bool_
    assert np.asarray(SFrame()).shape == (0, 0) and np.asarray(SArray([], int)).dtype == np.int64
    assert np.asarray(SArray([], str)).shape == (0,) and np.asarray(SArray([], datetime.datetime)).dtype == "datetime64[us]"


@pytest.mark.parametrize("of", [lambda: SArray([1]), lambda: SFrame({"a": [1]})])
def test_rows_are_always_copied(of: Callable[[], Any]) -> None:
    ours = of()
    with pytest.raises(ValueError, match="copy"):
        ours.__array__(copy=False)
    first = np.asarray(ours)
    first[0] = 7
    assert np.asarray(ours).ravel().tolist() == [1] and not hasattr(ours, "__array_interface__")
    assert np.asarray(ours, dtype=np.float32).dtype == np.float32


def test_shapes_need_no_rows() -> None:
    column = SArray([1, 2, 3]).apply(lambda value: 1 // 0, dtype=int)
    assert np.shape(column) == (3,) and np.ndim(column) == 1 and np.size(column) == 3 and len(_FUNCTIONS) > 10


def test_other_classes_decide_first(frame: Any) -> None:
    units: Any

    class Units:
        def __array_ufunc__(self, *arguments: Any, **options: Any) -> str:
            return "units"

    units = Units()
    assert np.multiply(frame["n"], units) == "units"


def test_what_others_met() -> None:
    """Missing values of a second operand (polars 12212), tests of ints (polars 15862), and functions of all values at once (polars 14811)."""
    assert list(np.maximum(SArray([1.0, None, 3.0]), SArray([None, 2.0, 4.0]))) == [None, None, 4.0]
    assert list(np.isnan(SArray([1, None]))) == [0, None] and list(SArray([1, None]).isfinite()) == [1, None]
    assert np.isnan(np.linalg.norm(SArray([2.0, None]))) and np.isnan(np.median(SArray([2, None, 2])))
