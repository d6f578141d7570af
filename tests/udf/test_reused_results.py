"""A function, or a generator, may fill one object again and again: every row has what it held when the row was made."""

from __future__ import annotations

import array
import collections
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.values.plain_values import agree

Filler = Callable[[], Callable[[Any], Any]]


def with_dict() -> Callable[[Any], Any]:
    out: dict[str, Any] = {}

    def fill(value: Any) -> Any:
        out["v"] = value
        return out

    return fill


def with_inner_list() -> Callable[[Any], Any]:
    out: dict[str, Any] = {"v": [0, "x"]}

    def fill(value: Any) -> Any:
        out["v"][0] = value
        return out

    return fill


def with_subclass_of_dict() -> Callable[[Any], Any]:
    out: Any = collections.Counter()

    def fill(value: Any) -> Any:
        out["v"] = value
        return out

    return fill


def filled(out: Any) -> Filler:
    """A function that puts its value into the first place of one object."""

    def make() -> Callable[[Any], Any]:
        def fill(value: Any) -> Any:
            out[0] = value
            return out

        return fill

    return make


def with_inner_places() -> Callable[[Any], Any]:
    out: list[Any] = ["x", ([0], {"k": [0]})]

    def fill(value: Any) -> Any:
        out[1][0][0] = value
        out[1][1]["k"][0] = value
        return out

    return fill


def with_set() -> Callable[[Any], Any]:
    out: set[Any] = set()

    def fill(value: Any) -> Any:
        out.clear()
        out.add(f"{value}")
        return out

    return fill


def with_generator() -> Callable[[Any], Any]:
    cell: list[Any] = ["x", 0]

    def fill(value: Any) -> Iterator[Any]:
        for number in range(2):
            cell[1] = value + number
            yield cell

    return fill


FILLERS: dict[str, tuple[Filler, Any]] = {
    "dict": (with_dict, dict),
    "a list in a dict": (with_inner_list, dict),
    "Counter": (with_subclass_of_dict, dict),
    "list": (filled([0, "x"]), list),
    "lists in a list": (with_inner_places, list),
    "deque": (filled(collections.deque([0, "x"])), list),
    "set": (with_set, list),
    "generator": (with_generator, list),
    "list of numbers": (filled([0, 1]), array.array),
    "array": (filled(array.array("d", [0, 1])), array.array),
    "numpy": (filled(np.zeros(2)), np.ndarray),
    "numpy objects": (filled(np.array([0, "x"], dtype=object)), list),
    "text of a list": (filled([0, "x"]), str),
    "text of a dict": (with_dict, str),
    "text of numpy": (filled(np.zeros(2)), str),
}


def as_cell(value: Any) -> Any:
    return list(value) if hasattr(type(value), "__next__") else value


def each_alone(make: Filler, dtype: Any) -> list[Any]:
    """The results by one call per column."""
    return [SArray([number]).apply(make(), dtype=dtype)[0] for number in (1, 2, 3)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FILLERS)
@pytest.mark.parametrize("rows", [False, True], ids=["of values", "of rows"])
def test_apply(name: str, rows: bool) -> None:
    make, dtype = FILLERS[name]
    fill = make()
    column = SFrame({"a": [1, 2, 3]}).apply(lambda row: fill(row["a"]), dtype) if rows else SArray([1, 2, 3]).apply(fill, dtype)
    found = list(column)
    assert agree(found, each_alone(make, dtype))
    assert not agree(found[0], found[1])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [name for name, (_, dtype) in FILLERS.items() if dtype is not str])
@pytest.mark.parametrize("count", [3, 300])
def test_apply_without_a_type(name: str, count: int) -> None:
    make, _ = FILLERS[name]
    found = list(SArray(range(1, count + 1)).apply(make()))
    wanted = each_alone(make, type(found[0]))
    assert agree(found[:3], wanted)
    assert len(set(map(str, found))) == count


@pytest.mark.parametrize("dtype", [None, dict])
def test_missing_values_are_not_given(dtype: Any) -> None:
    assert list(SArray([1, None, 3]).apply(with_dict(), dtype)) == [{"v": 1}, None, {"v": 3}]


@pytest.mark.parametrize("types", ["auto", [int, list, dict]])
def test_flat_map(types: Any) -> None:
    row: list[Any] = [0, ["x", 0], {"v": 0}]
    rows = [row, row]

    def fill(given: dict[str, Any]) -> list[Any]:
        row[0] = row[1][1] = row[2]["v"] = given["a"]
        return rows

    frame = SFrame({"a": range(1, 31)}).flat_map(["n", "l", "d"], fill, types)
    wanted = [number for number in range(1, 31) for _ in range(2)]
    assert list(frame["n"]) == wanted
    assert list(frame["l"]) == [["x", number] for number in wanted]
    assert list(frame["d"]) == [{"v": number} for number in wanted]


@pytest.mark.parametrize("row", [[0.0, 0.0], array.array("d", [0.0, 0.0])])
def test_flat_map_with_rows_of_numbers(row: Any) -> None:
    def fill(given: dict[str, Any]) -> list[Any]:
        row[0], row[1] = given["a"], given["a"] * 2.0
        return [row, row]

    frame = SFrame({"a": range(1, 31)}).flat_map(["n", "m"], fill, [float, float])
    assert list(frame["n"]) == [float(number) for number in range(1, 31) for _ in range(2)]
    assert list(frame["m"]) == [2.0 * number for number in range(1, 31) for _ in range(2)]


@pytest.mark.parametrize("dtypes", [None, dict])
def test_cycles(dtypes: Any) -> None:
    out, values = {"v": 0}, [{}]

    def fill(rows: list[dict[str, Any]]) -> list[Any]:
        out["v"] = rows[0]["a"]
        values[0] = out
        return values

    frame = SFrame({"t": range(30), "a": range(30)})
    given = {} if dtypes is None else {"dtypes": dtypes}
    assert list(frame.add_columns_by_cycle(fill, "d", "t", **given)["d"]) == [{"v": number} for number in range(30)]


class Stream:
    """What can be gone through again, and gives one object each time."""

    def __init__(self, fill: Callable[[Any], Any]) -> None:
        self.fill = fill

    def __iter__(self) -> Iterator[Any]:
        return (as_cell(self.fill(number)) for number in (1, 2, 3))


def assigned(values: Any) -> SArray:
    frame = SFrame({"a": [1, 2, 3]})
    frame["x"] = values
    return frame["x"]


DOORS: dict[str, Callable[[Any], SArray]] = {
    "SArray": SArray,
    "SFrame": lambda values: SFrame(values)["X1"],
    "SFrame of a dict": lambda values: SFrame({"x": values})["x"],
    "assignment": assigned,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", [name for name, (_, dtype) in FILLERS.items() if dtype is not str])
@pytest.mark.parametrize("again", [False, True], ids=["generator", "iterable"])
def test_values_that_come_one_by_one(name: str, door: str, again: bool) -> None:
    make, _ = FILLERS[name]
    stream = Stream(make())
    found = list(DOORS[door](stream if again else iter(stream)))
    assert [str(cell) for cell in found] == [str(SArray([as_cell(make()(number))])[0]) for number in (1, 2, 3)]


def test_a_result_that_holds_itself_is_refused_in_words() -> None:
    cell: list[Any] = []
    cell.append(cell)
    with pytest.raises(TypeError, match="does not fit a column of list"):
        list(SArray([1, 2]).apply(lambda value: cell, list))


def test_arrays_as_rows_of_flat_map_are_refused() -> None:
    for types in ("auto", [float]):
        with pytest.raises(TypeError, match="row"):
            list(SFrame({"a": [1]}).flat_map(["x"], lambda row: [np.zeros(1)], types))


def test_columns_side_by_side_from_a_generator() -> None:
    columns = [SArray([1, 2]), SArray(["a", "b"])]
    assert list(SFrame(iter(columns))) == [{"X1": 1, "X2": "a"}, {"X1": 2, "X2": "b"}]
