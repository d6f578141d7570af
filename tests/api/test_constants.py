"""Columns of one value, of every type and any length, none included."""

from __future__ import annotations

import array
import datetime
from typing import Any

import pytest

from sframe_spark import SArray, SFrame

UTC = datetime.UTC
VALUES: list[Any] = [
    1,
    1.5,
    "a",
    None,
    array.array("d", [1.0, 2.0]),
    array.array("d"),
    [1, "a"],
    [],
    {"a": 1},
    {1: "x", "b": 2},
    {},
    datetime.datetime(2020, 1, 1),
    datetime.datetime(2020, 1, 1, tzinfo=UTC),
]


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_from_const(value: Any, rows: int) -> None:
    column = SArray.from_const(value, rows)
    assert len(column) == rows
    assert repr(list(column)) == repr([value] * rows)
    # A missing value is a float one, as in the reference.
    assert column.dtype is (float if value is None else type(value))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_constant_column_of_a_frame_without_rows(value: Any) -> None:
    frame = SFrame({"v": [1]})
    frame["c"] = SArray.from_const(value, 1)
    kept = frame[frame["v"] > 1]
    assert list(kept["c"]) == []
    assert kept["c"].dtype is frame["c"].dtype
    assert list(kept["c"].apply(repr, str)) == []


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.parametrize("rows", [0, 3])
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_from_const_on_spark(everything_on_spark: None, value: Any, rows: int) -> None:
    assert repr(list(SArray.from_const(value, rows))) == repr([value] * rows)
