"""Frames and columns where numpy, pandas, polars and scikit-learn expect arrays, and their arrays where columns are expected."""

from __future__ import annotations

import datetime
import gc
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import LengthMismatchError, SchemaError, SFrameError
from tests.needs import needs


def test_numbers_of_a_frame_are_a_table() -> None:
    frame = SFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
    table = np.asarray(frame)
    assert (table.dtype, table.tolist()) == (np.int64, [[1, 4], [2, 5], [3, 6]])
    mixed = np.asarray(SFrame({"a": [1, None], "b": [0.5, 1.5]}))
    assert mixed.dtype == np.float64
    assert np.array_equal(mixed, [[1, 0.5], [np.nan, 1.5]], equal_nan=True)
    assert np.asarray(frame, dtype="float32").dtype == np.float32
    assert np.asarray(SFrame({"a": [], "b": []})).shape == (0, 2)


def test_numbers_of_a_column_are_an_array() -> None:
    assert np.asarray(SArray([1, 2])).dtype == np.int64
    with_missing = np.asarray(SArray([1, None]))
    assert with_missing.dtype == np.float64 and np.array_equal(with_missing, [1, np.nan], equal_nan=True)
    assert np.asarray(SArray([1, 2]), dtype="float32").dtype == np.float32
    assert np.asarray(SArray(["a", None])).tolist() == ["a", None]


def test_the_memory_of_an_array_lives_as_long_as_it_is_used() -> None:
    tables = [np.asarray(SFrame({"a": range(5_000), "b": range(5_000)})) for _ in range(20)]
    gc.collect()
    _ = [np.full(10_000, -1) for _ in range(50)]
    assert all((table[:, 0] == np.arange(5_000)).all() for table in tables)
    tables[0][0, 0] = 7  # no frame's memory
    assert tables[1][0, 0] == 0


def test_frames_that_pandas_takes_keep_their_names() -> None:
    assert pd.DataFrame(SFrame({"a": [1, 2], "b": [0.5, 1.5]})).to_dict("list") == {"a": [1, 2], "b": [0.5, 1.5]}


def columns(values: list[Any]) -> list[Any]:
    import polars

    return [
        np.array(values),
        pa.array(values),
        pa.chunked_array([values]),
        polars.Series(values),
        pd.Series(values, index=range(9, 9 - len(values), -1)),
    ]


@pytest.mark.parametrize("place", range(4))
def test_columns_of_others_are_paired_by_position(place: int) -> None:
    column = SArray([1, 2, 3])
    other = columns([10, 20, 30])[place]
    assert list(column + other) == [11, 22, 33]
    assert list(column < other) == [1, 1, 1]
    assert list((column > 1) & columns([True, True, False])[place]) == [0, 1, 0]
    with pytest.raises(LengthMismatchError, match="different lengths"):
        column + columns([1, 2])[place]
    assert list(SArray(["a", "b"]) + columns(["x", "y"])[place]) == ["ax", "by"]


def test_columns_on_the_right_of_arrays_are_arrays() -> None:
    """As in the reference; of one number of NumPy's and a column there is a column."""
    column = SArray([1, 2, 3])
    result = np.array([10, 20, 30]) - column
    assert isinstance(result, np.ndarray) and result.tolist() == [9, 18, 27]
    for product, expected in ((np.float64(2) * column, [2, 4, 6]), (np.int64(1) + column, [2, 3, 4])):
        assert isinstance(product, SArray) and list(product) == expected


@pytest.mark.parametrize("first", ["pandas.DataFrame(frame)", "numpy.asarray(frame)", "pandas.Series(frame['a'])"])
def test_the_first_member_of_a_process_is_the_one_that_is_asked_for(first: str) -> None:
    """Members come with their mixin when one is first used, by a call between: pandas has names of columns from its first frame on."""
    program = f"""
import numpy, pandas
from sframe_spark import SFrame
frame = SFrame({{'a': [1, 2], 'b': [3.5, 4.5]}})
first = {first}
assert first.shape[0] == 2 and list(getattr(first, 'columns', 'ab')) == ['a', 'b']
assert list(pandas.DataFrame(frame[['b', 'a']]).columns) == ['b', 'a']
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=120)


def test_series_of_pandas_are_values() -> None:
    """As in the reference; they would be paired by index."""
    assert list(SArray([1, 2]) == pd.Series([1, 2])) == [0, 0]
    assert list(SArray([1, 2]) == SArray(pd.Series([1, 2]))) == [1, 1]


def test_beside_a_column_of_arrays_an_array_is_a_value() -> None:
    column = SArray([np.array([1.0, 2.0]), np.array([3.0, 4.0])])
    assert [list(row) for row in column + np.array([10.0, 20.0])] == [[11, 22], [13, 24]]


@pytest.mark.parametrize("place", range(5))
def test_boolean_arrays_choose_rows(place: int) -> None:
    mask = columns([True, False, True])[place]
    assert list(SArray([1, 2, 3])[mask]) == [1, 3]
    assert list(SFrame({"a": [1, 2, 3]})[mask]["a"]) == [1, 3]
    with pytest.raises(SFrameError, match="the mask has 3 rows, the SArray has 2"):
        SArray([1, 2])[mask]


def test_nothing_is_computed_to_tell_columns_from_arrays() -> None:
    calls: list[int] = []
    numbers = SArray([1, 2, 3])
    column = numbers[numbers.apply(lambda value: calls.append(value) or value, dtype=int)]
    frame = SFrame({"a": column})
    calls.clear()
    _ = frame[frame["a"] > 1], column[column > 1], column + column, column == column
    assert not calls


def test_missing_booleans_choose_no_row() -> None:
    for mask in (pd.Series([True, None, False], dtype="boolean"), pa.array([True, None, False]), pd.Series([True, False, False])):
        assert list(SArray([1, 2, 3])[mask]) == [1]


@pytest.mark.parametrize("choose", [lambda column: column[np.array([0, 1])], lambda column: column[pd.Series([0.5])], lambda column: column[["a"]]])
def test_other_arrays_choose_no_rows(choose: Callable[[SArray], Any]) -> None:
    with pytest.raises(SchemaError, match="a boolean array"):
        choose(SArray([1, 2]))


# The newest SciPy warns of older ones.
WITH_SCIPY = needs("numpy>=1.26.4")


@WITH_SCIPY
def test_scikit_learn_fits_frames() -> None:
    from sklearn import linear_model, preprocessing

    frame = SFrame({"a": [1, 2, 3, 4], "b": [0.5, 0.25, 4.0, 1.0]})
    frame["y"] = 2 * frame["a"] - frame["b"] + 1
    model = linear_model.LinearRegression().fit(frame[["a", "b"]], frame["y"])
    assert np.allclose(model.coef_, [2, -1])
    frame["predicted"] = model.predict(frame[["a", "b"]])
    assert max(abs(frame["predicted"] - frame["y"])) < 1e-9
    assert np.allclose(preprocessing.StandardScaler().fit_transform(frame[["a"]]).mean(), 0)


@WITH_SCIPY
def test_scikit_learn_scores_columns_as_targets() -> None:
    from sklearn import linear_model, metrics

    frame = SFrame({"a": [1, 2, 3, 4], "b": [0.5, 0.25, 4.0, 1.0], "late": [0, 0, 1, 1], "word": ["no", "no", "yes", "yes"]})
    features = frame[["a", "b"]]
    for target in ("late", "word"):
        model = linear_model.LogisticRegression(C=1e6).fit(features, frame[target])
        assert model.score(features, frame[target]) == 1
        assert metrics.accuracy_score(frame[target], model.predict(features)) == 1
        assert metrics.confusion_matrix(frame[target], frame[target]).tolist() == [[2, 0], [0, 2]]
    assert metrics.roc_auc_score(frame["late"], model.predict_proba(features)[:, 1]) == 1


TAKEN_AS_LISTS = [[1, 2], [1, None], [0.5, 1], ["a", "b"], ["a", None], ["a\0", "b"], [[1, 2], [3, 4]], [[1], []], [{"a": 1}], []]


@pytest.mark.parametrize("values", [*TAKEN_AS_LISTS, [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), None]], ids=repr)
def test_pandas_and_numpy_take_columns_as_they_take_lists(values: list[Any]) -> None:
    column = SArray(values)
    expected = pd.Series(list(column))
    assert pd.Series(column).equals(expected) and pd.Series(column).dtype == expected.dtype
    assert not values or pd.DataFrame({"a": column})["a"].dtype == expected.dtype
    # numpy drops a NUL at the end of a text, refuses lists of several lengths, and has no missing ints.
    if values not in ([[1], []], ["a\0", "b"], [1, None]):
        assert np.asarray(column).dtype == np.asarray(list(column)).dtype
    assert hasattr(column, "__array__") == isinstance(values[0] if values else 0.0, (int, float, str, type(None)))


OF_ONE_VALUE: dict[str, Callable[[Any], Any]] = {
    "+": lambda five: SArray([1, None]) + five,
    "/": lambda five: SArray([1, None]) / five,
    "arrays": lambda five: SArray([[1.0, 2.0]]) * five,
    "==": lambda five: SArray([5, None]) == five,
    "<": lambda five: SArray([1, None, 7]) < five,
    "fillna": lambda five: SArray([1, None]).fillna(five),
    "clip": lambda five: SArray([1, 9]).clip(five, five),
    "where": lambda five: SArray.where(SArray([1, 0]), five, five),
    "from_const": lambda five: SArray.from_const(five, 2),
    "shift": lambda five: SArray([1, 2]).shift(1, five),
    "is_in": lambda five: SArray([1, 5]).is_in([five]),
    "filter_by": lambda five: SFrame({"a": [1, 5]}).filter_by(five, "a"),
    "head": lambda five: SFrame({"a": range(9)}).head(five),
    "rows": lambda five: [SArray(range(9))[five], SFrame({"a": range(9)})[five]],
    "assigned": lambda five: SFrame({"a": [1, 5]}).add_column(SArray([1, 2]) + five, "b").fillna("a", five),
}


@pytest.mark.parametrize("what", OF_ONE_VALUE)
def test_an_array_without_dimensions_is_its_value(what: str) -> None:
    assert list(OF_ONE_VALUE[what](np.array(5))) == list(OF_ONE_VALUE[what](5))


def test_arrays_without_dimensions_of_other_values() -> None:
    frame = SFrame({"a": ["x", None]})
    frame["b"] = np.array("y")
    assert list(frame[np.array("b")]) == ["y", "y"] and list(frame["a"] + np.array("z")) == ["xz", None]
    assert list(SArray([datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)]) == np.array(np.datetime64("2020-01-01"))) == [1]
    assert list(SArray([1, None]) == np.array(None)) == [0, 1]
    # Within a list it is one of its values; a column of them is one of arrays of one item, as in Turi Create, or none.
    assert list(SArray([[np.array(1), "a"]])) == [[1, "a"]]
    assert SArray([np.array(5)])[0].tolist() == [5.0]
    with pytest.raises(SchemaError, match="has no dimension: pass its value"):
        SArray([None, np.array("a")])
    for made in (
        lambda: SArray(np.array(5)),
        lambda: SFrame(np.array(5)),
        lambda: SFrame({"a": np.array(5)}),
        lambda: SArray([1, 2]).is_in(np.array(1)),
    ):
        with pytest.raises(SFrameError):
            made()


def test_no_int_equals_a_number_of_numpy_beyond_64_bits() -> None:
    most = SArray([2**63 - 1])
    for beyond in (np.uint64(2**63), np.array(2**63, np.uint64)):
        assert list(most == beyond) == [0] and list(most < beyond) == [1]


@pytest.mark.parametrize("rows", [np.array([0, 1]), [True, False]])
def test_numbers_of_rows_and_lists_of_truths_are_refused_with_what_chooses_rows(rows: Any) -> None:
    with pytest.raises(SchemaError, match=r"columns are chosen by name or class, got .*; rows by an int, a slice, or a mask"):
        SFrame({"a": [1, 2]})[rows]


@needs("numpy>=2")
@pytest.mark.parametrize("missing", [{}, {"na_object": None}, {"na_object": float("nan")}], ids=str)
def test_strings_of_variable_length(missing: dict[str, Any]) -> None:
    kind = np.dtypes.StringDType(**missing)
    values = ["a", "", "ü" * 40, *missing.values()]
    expected = [value if isinstance(value, str) else None for value in values]
    column = SArray(np.array(values, dtype=kind))
    assert column.dtype is str and list(column) == expected
    assert list(SFrame({"x": np.array(values, dtype=kind)[::-1]})["x"]) == expected[::-1]
    assert list(SArray(np.array([], dtype=kind))) == []


def test_a_row_that_is_not_there_is_named_as_a_number() -> None:
    with pytest.raises(IndexError, match=r"so there is no row -7$"):
        SArray([1, 2])[np.int64(-7)]
