"""What users of other libraries have reported of neighbours, gaps and ranks within keys: each answers here as it should have there."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from sframe_spark import SArray, SFrame


def test_windows_on_both_sides_are_cut_at_the_ends_of_a_key() -> None:
    """pandas 37743, 36040: with center=True and min_periods=1 the last row of a group had the sum of a shorter window, or none."""
    frame = SFrame({"k": [number % 5 for number in range(20)], "v": [1] * 20})
    sums = list(frame.rolling_sum("v", -1, 1, 1, by="k"))
    assert sums == list(frame.rolling_count("v", -1, 1, by="k")) == [2] * 5 + [3] * 10 + [2] * 5
    one = SFrame({"k": ["A"] * 10, "v": list(range(10))})
    assert list(one.rolling_max("v", -2, 2, 1, by="k")) == [2, 3, 4, 5, 6, 7, 8, 9, 9, 9]


def test_no_window_reaches_into_another_key() -> None:
    """pandas 37141: windows with center=True went over the rows of the next group."""
    frame = SFrame({"k": ["a"] * 6 + ["b"] * 4, "v": [float(number) for number in range(10)]})
    alone = [frame[frame["k"] == key]["v"].rolling_mean(-3, 2, 1) for key in "ab"]
    assert list(frame.rolling_mean("v", -3, 2, 1, by="k")) == [*alone[0], *alone[1]]


def test_large_values_of_one_key_or_of_earlier_rows_cost_no_digit() -> None:
    """pandas 38752: the sum of a group lost digits by the values of another; 11645: a mean stayed wrong after an extreme value had left."""
    rows = [("big", (math.e + 2.5) ** (number % 40 - 20)) for number in range(200)] + [("small", 1e-13)]
    frame = SFrame({"k": [key for key, _ in rows], "v": [value for _, value in rows]})
    assert frame.rolling_sum("v", -99, 0, 1, by="k")[-1] == 1e-13
    extreme = SFrame({"k": ["a"] * 10, "v": [0.0, 1.0, -9e33, *map(float, range(3, 10))]})
    assert list(extreme.rolling_mean("v", -4, 0, by="k"))[-2:] == [6.0, 7.0]


def test_filling_both_ways_stays_within_the_key() -> None:
    """pandas 60071: groupby().ffill().bfill() filled a group without a value from the next one; 21207: rows were permuted."""
    values = ["x", None, "x", "y", None, None, None, None, None, None, None, "z"]
    frame = SFrame({"key": [key for key in "abcd" for _ in range(3)], "val": values})
    frame["val"] = frame.fill_forward("val", by="key")
    assert list(frame.fill_backward("val", by="key")) == ["x", "x", "x", "y", "y", "y", None, None, None, "z", "z", "z"]
    late = SFrame({"x": [0] * 18, "y": [None] * 9 + [1] * 9})
    assert list(late.fill_forward("y", by="x")) == [None] * 9 + [1] * 9


def test_a_missing_key_is_a_key() -> None:
    """pandas 34725: ffill and bfill filled rows of missing groups from others, or dropped them."""
    frame = SFrame({"k": ["a", None, "a", None, None], "v": [1, None, None, 5, None]})
    assert list(frame.fill_forward("v", by="k")) == [1, None, 1, 5, 5]
    assert list(frame.fill_backward("v", by="k", limit=1)) == [1, 5, None, 5, None]
    assert list(frame.shift("v", by="k")) == [None, None, 1, None, 5]


def test_columns_without_any_value() -> None:
    """Polars 23124: forward_fill of a column of nulls over a group was an error."""
    frame = SFrame({"id": [1, 2, 1, 2], "value": SArray([None] * 4)})
    assert list(frame.fill_forward("value", by="id")) == list(frame.fill_backward("value", by="id")) == [None] * 4
    assert list(frame.rank("value", by="id")) == list(frame.qcut("value", 3)) == list(frame.rolling_rank("value", -1, 1)) == [None] * 4


def test_columns_made_of_shifted_ones_are_shifted_again() -> None:
    """Polars 7181: (v + v.shift().fill_null(0)).shift().over("gr") was wrong, and another at each run."""
    frame = SFrame({"gr": list("ababab"), "val": [1, 20, 100, 2000, 10000, 200000]})
    frame["both"] = frame["val"] + frame.shift("val", by="gr", fill=0)
    for _ in range(3):
        assert list(frame.shift("both", by="gr")) == [None, None, 1, 20, 101, 2020]


def test_no_number_of_rows_is_an_error() -> None:
    """Polars 24105: shift(None) made all values null."""
    with pytest.raises(TypeError):
        SFrame({"k": [1], "v": [1]}).shift("v", None, by="k")  # type: ignore[arg-type]


def test_rows_of_appended_frames() -> None:
    """pandas 43412: with equal labels of rows, shifts and fills of groups were put into wrong rows."""
    one = SFrame({"A": [3, 3, 2, 2, 4], "B": [None, 1.0, 2.0, None, 4.0]})
    both = one.append(one)
    assert list(both.shift("B", by="A")) == [None, None, None, 2.0, None, 1.0, None, None, 2.0, 4.0]
    assert list(both.fill_forward("B", by="A")) == [None, 1.0, 2.0, 2.0, 4.0, 1.0, 1.0, 2.0, 2.0, 4.0]


def test_ranks_with_infinities_nan_and_missing_values() -> None:
    """pandas 20561, 6945: beside NaN, infinities had wrong ranks or none."""
    values = [-math.inf, None, 1.0, math.inf, math.nan, math.inf, None]
    frame = SFrame({"k": ["a"] * 7, "v": SArray(values, float)})
    assert list(frame.rank("v", by="k")) == [1.0, None, 2.0, 3.5, 5.0, 3.5, None]
    assert list(frame.rank("v", by="k", method="first", ascending=False)) == [5, None, 4, 2, 1, 3, None]


def test_quantile_bins_differ_by_one_row_at_most() -> None:
    """pandas 58240: of 181 numbers in ten bins one had 17 and others 19, as quantiles that are values were rounded."""
    assert Counter(SArray(range(1, 182)).qcut(10)) == {0: 19, **dict.fromkeys(range(1, 10), 18)}
