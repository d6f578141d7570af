"""Builders: what is appended comes out in order, whatever its size; what does not fit is told and loses nothing."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArrayBuilder, SFrameBuilder, config, load_sframe
from sframe_spark.api import node_value_conversion
from sframe_spark.errors import SFrameError

UTC = datetime.UTC
VALUES: dict[type, list[Any]] = {
    int: [1, None, -(2**63)],
    float: [1.5, None, float("inf")],
    str: ["a", "", None],
    list: [[1, "a"], [], None],
    dict: [{"a": 1}, {}, None, {1: "x"}],
    datetime.datetime: [datetime.datetime(2024, 2, 29), None, datetime.datetime(2024, 2, 29, tzinfo=UTC)],
}


@pytest.mark.parametrize("dtype", VALUES)
def test_values_come_out_as_they_went_in(dtype: type) -> None:
    builder = SArrayBuilder(dtype, num_segments=2)
    builder.append_multiple(VALUES[dtype], segment=1)
    builder.append(VALUES[dtype][0])
    column = builder.close()
    assert column.dtype is dtype and list(column) == [VALUES[dtype][0], *VALUES[dtype]]


@pytest.mark.parametrize("budget", [1 << 27, 100])
def test_many_rows_go_to_disk(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_value_conversion, "ROWS_PER_BATCH", 16)
    builder = SFrameBuilder([int, str], ["n", "text"], num_segments=3)
    with config.using(memory_budget=budget):
        for number in range(200):
            builder.append([number, str(number) * 9], segment=number % 3)
        frame = builder.close()
    assert list(frame["n"]) == [number for segment in range(3) for number in range(segment, 200, 3)]
    assert list(frame["text"]) == [str(number) * 9 for number in frame["n"]]


WRONG: list[tuple[type, Any, type[Exception]]] = [
    *[(int, value, RuntimeError) for value in (2.5, "x", [1], 2**63)],
    (int, object(), TypeError),
    *[(float, value, RuntimeError) for value in (1, "1.5")],
    *[(str, value, RuntimeError) for value in (1, 1.5, [1], [])],
    (str, None.__class__, TypeError),
    (dict, [1], RuntimeError),
    (datetime.datetime, 5, RuntimeError),
]


@pytest.mark.parametrize(("dtype", "value", "error"), WRONG)
def test_a_value_of_another_class_is_refused_and_the_others_stay(dtype: type, value: Any, error: type[Exception]) -> None:
    builder = SArrayBuilder(dtype)
    builder.append(VALUES[dtype][0])
    with pytest.raises(error) as told:
        builder.append_multiple([VALUES[dtype][0], value, VALUES[dtype][0]])
    assert isinstance(told.value, SFrameError)
    assert list(builder.close()) == [VALUES[dtype][0]] * 2


def test_rows_are_converted_and_counted() -> None:
    builder = SFrameBuilder([int, str])
    builder.append([2.7, 5])
    for row, error in (([1], RuntimeError), ([1, "a", 2], RuntimeError), (["x", "y"], TypeError), (5, TypeError), ("ab", TypeError), ({}, TypeError)):
        with pytest.raises(error) as told:
            builder.append(row)  # type: ignore[arg-type]
        assert isinstance(told.value, SFrameError)
    assert builder.column_names() == ["X1", "X2"] and builder.column_types() == [int, str]
    assert list(builder.close()) == [{"X1": 2, "X2": "5"}]


def test_the_last_rows_are_kept() -> None:
    builder = SArrayBuilder(int, num_segments=2, history_size=2)
    builder.append_multiple(range(5))
    assert builder.read_history() == [3, 4] and builder.read_history(1) == [4] and builder.read_history(-1) == builder.read_history(5, 1) == []


def test_nothing_comes_after_the_end() -> None:
    for builder in (SArrayBuilder(int), SFrameBuilder([int])):
        builder.close()
        for call in (lambda b=builder: b.append(1), lambda b=builder: b.append_multiple([]), builder.close, builder.read_history):
            with pytest.raises(RuntimeError, match="closed"):
                call()
    with pytest.raises(RuntimeError, match="no segment 3"):
        SArrayBuilder(int).append(1, segment=3)


def test_a_frame_is_saved_where_it_was_asked_for(tmp_path: Path) -> None:
    builder = SFrameBuilder([int], ["n"], save_location=str(tmp_path / "frame"))
    builder.append([7])
    assert list(builder.close()) == list(load_sframe(str(tmp_path / "frame"))) == [{"n": 7}]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([int], "a"), TypeError),
        (([int], ["a", "b"]), AssertionError),
        (([int, int], ["a", "a"]), RuntimeError),
        ((["integ"],), TypeError),
        ((int,), TypeError),
        (([None],), TypeError),
        (([int], None, "a"), TypeError),
        (([int], None, 1, -1), OverflowError),
    ],
)
def test_wrong_builders_are_refused(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error) as told:
        SFrameBuilder(*arguments)
    assert isinstance(told.value, SFrameError)
