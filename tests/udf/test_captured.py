"""Frames and columns that users' functions use, where tasks call these."""

from __future__ import annotations

from typing import Any

import pytest

from sframe_spark import SArray, SFrame, config

NAMES = SFrame({"key": [2, 0, 1], "name": ["c", "a", "b"]})
BY_KEY = NAMES.sort("key")


def name_of(place: int) -> Any:
    return BY_KEY[place]["name"]


class Names:
    def __init__(self) -> None:
        self.column = NAMES.sort("key", ascending=False)["name"]

    def __call__(self, place: int) -> Any:
        return self.column[place]


@pytest.mark.spark
def test_a_function_uses_frames_that_it_captured(spark: Any) -> None:
    with config.using(small_rows=0):
        places = SArray([2, 0, 1, 0])
        joined = NAMES.join(SFrame({"key": [0, 1, 2], "weight": [5, 6, 7]}), on="key").sort("key")
        distinct = NAMES["name"].unique()
        assert list(places.apply(name_of, dtype=str)) == ["c", "a", "b", "a"]
        assert list(places.apply(Names(), dtype=str)) == ["a", "c", "b", "c"]
        assert list(places.apply(lambda place: joined[place]["weight"] + len(joined))) == [10, 8, 9, 8]
        assert list(places.filter(lambda place: distinct[place] != "a")) == [2, 1]
        rows = SFrame({"place": places}).flat_map(["name"], lambda row: [[name_of(row["place"])]] * row["place"], column_types=[str])
        assert list(rows["name"]) == ["c", "c", "b"]
        assert list(places.apply(lambda place, column=joined["weight"]: column[place], dtype=int)) == [7, 5, 6, 5]


def test_few_rows_are_computed_where_they_are_used() -> None:
    column = SArray([3, 1, 2]).sort()
    result = SArray([0, 1]).apply(lambda place: column[place], dtype=int)
    assert not column.is_materialized() and list(result) == [1, 2]
