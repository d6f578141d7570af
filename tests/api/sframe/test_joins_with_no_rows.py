"""Joins with a frame that has no rows, whose key has the type of an empty list or any other: the other frame's rows count."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from sframe_spark import SArray, SFrame

KEYS: dict[str, list[Any]] = {
    "int": [1, 2**53 + 1],
    "float": [1.0, 2.5],
    "str": ["a", "b"],
    "list": [[1, "a"], [2]],
    "array": [[1.0], [2.0]],
    "dict": [{"a": 1}, {"b": 2}],
    "datetime": [datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)],
}


def _filtered(frame: SFrame) -> SFrame:
    return frame[frame["y"] > 9]


EMPTY: dict[str, Any] = {
    "default": lambda: SFrame({"k": [], "y": []}),
    "text": lambda: SFrame({"k": SArray([], str), "y": SArray([], int)}),
    "filtered": lambda: _filtered(SFrame({"k": [1.0, 2.0], "y": [1.0, 2.0]})),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("kind", KEYS)
def test_joins_with_a_frame_without_rows(kind: str, empty: str) -> None:
    full, none = SFrame({"k": KEYS[kind], "x": [10, 20]}), EMPTY[empty]()
    rows = [dict(row, y=None) for row in full]
    for how in ("inner", "left", "right", "outer"):
        on_the_right, on_the_left = full.join(none, on="k", how=how), none.join(full, on="k", how=how)
        assert list(on_the_right) == (rows if how in ("left", "outer") else []), how
        assert list(on_the_left) == (rows if how in ("right", "outer") else []), how
        assert on_the_right.column_types() == [full["k"].dtype, int, none["y"].dtype]
        assert on_the_left.column_names() == ["k", "y", "x"]
        kept = none if how in ("inner", "left") else full
        assert on_the_left.column_types() == [kept["k"].dtype, none["y"].dtype, int]


def test_several_keys_and_other_names() -> None:
    full, none = SFrame({"k": ["a"], "l": [1]}), SFrame({"p": [], "q": [], "z": []})
    assert list(full.join(none, on={"k": "p", "l": "q"}, how="left")) == [{"k": "a", "l": 1, "z": None}]
    assert list(none.join(full, on={"p": "k", "q": "l"}, how="outer")) == [{"p": "a", "q": 1, "z": None}]


def test_other_types_of_frames_with_rows_are_refused() -> None:
    with pytest.raises(RuntimeError, match="cannot join 'k' of type str with 'k' of type float"):
        SFrame({"k": ["a"]}).join(SFrame({"k": [None]}), on="k")
