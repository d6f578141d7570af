"""What frames of many columns cost grows as the columns do: calls are counted for two widths, not timed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.api.column_names import FrameNames, with_automatic_names

FEW, MANY = 60, 240
Made = Any


def calls_of(action: Callable[[], object]) -> int:
    """How many functions are called, those written in C among them, and how often generators go on."""
    count = 0

    def counting(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def frame_of(columns: int) -> SFrame:
    """Ints in no order; the first column has ten values."""
    key, shared = pa.array([row * 7 % 10 for row in range(20)]), pa.array([row * 7 % 20 for row in range(20)])
    return SFrame(pa.table({f"c{number}": shared if number else key for number in range(columns)}))


def computed(columns: int) -> SFrame:
    """A frame whose columns are all computed."""
    frame = frame_of(columns)
    return SFrame({name: frame[name] + 1 for name in frame.column_names()})


def chained(columns: int) -> SFrame:
    """Columns added one by one, each made of the one before."""
    frame = SFrame({"c0": list(range(20))})
    for number in range(1, columns):
        frame[f"c{number}"] = frame[f"c{number - 1}"] + 1
    return frame


def shifted(columns: int) -> SFrame:
    """Every fourth column shifted, one after the other."""
    frame = frame_of(columns)
    for number in range(0, columns, 4):
        frame[f"c{number}"] = frame[f"c{number}"].shift(1)
    return frame


def renamed(frame: SFrame) -> SFrame:
    """The columns under other names."""
    return frame.rename({name: name.upper() for name in frame.column_names()})


STEPS: dict[str, tuple[Callable[[int], Made], Callable[[Made], object]]] = {
    "assigned one by one": (lambda columns: columns, chained),
    "replaced one by one": (frame_of, lambda frame: [frame.__setitem__(name, frame[name] + 1) for name in frame.column_names()]),
    "add_columns of a frame": (lambda columns: (frame_of(columns), renamed(frame_of(columns))), lambda made: made[0].add_columns(made[1])),
    "remove_columns": (frame_of, lambda frame: frame.remove_columns(frame.column_names()[::2])),
    "rename": (frame_of, renamed),
    "select_columns": (frame_of, lambda frame: frame.select_columns(frame.column_names()[::-1])),
    "look at a chain": (chained, lambda frame: list(frame.head(3))),
    "print a chain": (chained, str),
    "materialize a chain": (chained, SFrame.materialize),
    "materialize shifted columns": (shifted, SFrame.materialize),
    "filter": (frame_of, lambda frame: frame[frame["c3"] > 5].materialize()),
    "filter a chain": (chained, lambda frame: frame[frame["c3"] > 5].materialize()),
    "sort": (computed, lambda frame: frame.sort("c0").materialize()),
    "sort by all": (frame_of, lambda frame: frame.sort(frame.column_names()).materialize()),
    "unique": (frame_of, lambda frame: frame.unique().materialize()),
    "dropna": (frame_of, lambda frame: frame.dropna().materialize()),
    "append": (lambda columns: (frame_of(columns), computed(columns)), lambda made: made[0].append(made[1]).materialize()),
    "join": (lambda columns: (frame_of(columns), frame_of(columns).head(5)), lambda made: made[0].join(made[1], on="c0").materialize()),
    "group-by of all columns": (frame_of, lambda frame: frame.groupby(frame.column_names(), {"n": aggregate.COUNT()}).materialize()),
    "a sum of each": (frame_of, lambda frame: frame.groupby("c0", {f"s{name}": aggregate.SUM(name) for name in frame.column_names()}).materialize()),
    "to_pandas": (frame_of, SFrame.to_dataframe),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", STEPS)
def test_calls_grow_as_the_columns_do(name: str) -> None:
    make, action = STEPS[name]
    action(make(8))
    few, many = (calls_of(partial(action, make(columns))) for columns in (FEW, MANY))
    # The square would be 16.
    assert 0 < many < 5 * few, (few, many)


def test_saved_frames_are_written_and_opened_by_the_column(tmp_path: Path) -> None:
    few, many = (calls_of(lambda columns=columns: frame_of(columns).save(str(tmp_path / str(columns)))) for columns in (FEW, MANY))
    assert 0 < many < 5 * few
    few, many = (calls_of(lambda columns=columns: list(load_sframe(str(tmp_path / str(columns))))) for columns in (FEW, MANY))
    assert 0 < many < 5 * few


def test_plans_of_columns_added_one_by_one_share_what_they_can() -> None:
    frame = frame_of(300)
    numbers = set()
    for name in frame.column_names()[-5:]:
        frame[name] = frame[name] + 1
        numbers.add(id(frame._node.operator_parameters["positions"][290]))
    assert len(numbers) == 1
    names = frame._names
    frame["c0"] = 1
    assert frame._names is names and frame._node.names is names


def test_names_are_found_where_frames_have_gone_on_from_the_same_names() -> None:
    start = FrameNames(["a", "b"])
    first, second = start.with_appended("c"), start.with_appended("d")
    assert ("c" in first, "d" in first, "c" in second, "d" in second, "c" in start) == (True, False, False, True, False)
    assert (first, second, first.with_appended("d").index("d"), second.with_appended("c").index("c")) == (["a", "b", "c"], ["a", "b", "d"], 3, 3)
    assert first.position("x") is None and first.position(3) is None and [] not in first
    with pytest.raises(ValueError, match="not in list"):
        first.index("x")


def test_copies_of_a_frame_go_on_alone() -> None:
    frame = SFrame({"a": [1, 2], "b": [3, 4]})
    other = frame.copy()
    frame["c"] = frame["a"] + 1
    other["d"] = other["b"] + 1
    other["c"] = other["d"] * 2
    rows = zip(frame, iter(other), strict=True)
    frame["e"] = 0
    assert next(rows) == ({"a": 1, "b": 3, "c": 2}, {"a": 1, "b": 3, "d": 4, "c": 8})
    assert frame.column_names() == ["a", "b", "c", "e"] and other["c"].to_numpy().tolist() == [8, 10]
    frame.swap_columns("a", "e", inplace=True)
    frame.rename({"b": "x", "x": "y"} if "x" in frame else {"b": "x"}, inplace=True)
    assert frame[1] == {"e": 0, "x": 4, "c": 3, "a": 2} and "b" not in frame


def test_names_given_to_columns_without_one_are_counted_with_all() -> None:
    assert with_automatic_names(["a", "a", "", "X3", ""]) == ["a", "a", "X3", "X3", "X5"]
