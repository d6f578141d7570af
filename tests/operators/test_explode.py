"""``stack`` gives what the reference gives, on the driver and on Spark, and explode keeps what holds of the rows."""

from __future__ import annotations

import array
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark import SFrame, config
from sframe_spark.errors import ColumnsOfRowsError, InvalidArgumentError, SchemaError, TakenNameError, UnknownNameError
from sframe_spark.operators.explode import rows_of_items

LISTS = {"id": [1, 2, 3, 4], "l": [[1, 2], [], None, [None, 5]]}
DICTS = {"id": [1, 2, 3], "d": [{"a": 1, "b": 2}, {}, None]}
MIXED = {"id": [1, 2, 3], "l": [[1, "a"], [2.5, None], [[1, 2]]]}
MIXED_DICTS = {"id": [1, 2], "d": [{3: "x"}, {"a": 1.5}]}


def stacked(data: dict[str, Any], *arguments: Any, **options: Any) -> tuple[list[str], list[type], list[tuple[Any, ...]]]:
    found = SFrame(data).stack(*arguments, **options)
    return found.column_names(), found.column_types(), [tuple(row.values()) for row in found]


# As the reference has it.
CASES: list[tuple[dict[str, Any], tuple[Any, ...], dict[str, Any], list[str], list[type], list[tuple[Any, ...]]]] = [
    (LISTS, ("l",), {}, ["id", "X2"], [int, int], [(1, 1), (1, 2), (2, None), (3, None), (4, None), (4, 5)]),
    (LISTS, ("l", "x"), {"drop_na": True}, ["id", "x"], [int, int], [(1, 1), (1, 2), (4, None), (4, 5)]),
    (LISTS, ("l", "x"), {"new_column_type": float}, ["id", "x"], [int, float], [(1, 1.0), (1, 2.0), (2, None), (3, None), (4, None), (4, 5.0)]),
    (LISTS, ("l", "l"), {"drop_na": True, "new_column_type": [str]}, ["id", "l"], [int, str], [(1, "1"), (1, "2"), (4, None), (4, "5")]),
    (DICTS, ("d",), {}, ["id", "X2", "X3"], [int, str, int], [(1, "a", 1), (1, "b", 2), (2, None, None), (3, None, None)]),
    (DICTS, ("d", ["k", "v"]), {"drop_na": True}, ["id", "k", "v"], [int, str, int], [(1, "a", 1), (1, "b", 2)]),
    (DICTS, ("d",), {"new_column_type": [str, str], "drop_na": True}, ["id", "X2", "X3"], [int, str, str], [(1, "a", "1"), (1, "b", "2")]),
    (
        {"id": [1, 2, 3], "a": [array.array("d", [1, 2]), array.array("d", []), None]},
        ("a",),
        {},
        ["id", "X2"],
        [int, float],
        [(1, 1.0), (1, 2.0), (2, None), (3, None)],
    ),
    ({"id": [1, 2], "l": [["a"], ["b", "c"]]}, ("l",), {}, ["id", "X2"], [int, str], [(1, "a"), (2, "b"), (2, "c")]),
    ({"id": [1, 2], "l": [[{"a": 1}], [{"b": 2}]]}, ("l",), {}, ["id", "X2"], [int, dict], [(1, {"a": 1}), (2, {"b": 2})]),
    ({"id": [1, 2], "l": [[], []]}, ("l",), {}, ["id", "X2"], [int, float], [(1, None), (2, None)]),
    ({"X2": [1], "l": [["a"]]}, ("l",), {}, ["X2", "X2.1"], [int, str], [(1, "a")]),
    ({"l": [["a"], ["b"]]}, ("l",), {}, ["X1"], [str], [("a",), ("b",)]),
    # Items of several types become one where the caller names it, wherever they stand.
    (MIXED, ("l",), {"new_column_type": str}, ["id", "X2"], [int, str], [(1, "1"), (1, "a"), (2, "2.5"), (2, None), (3, "[1 2]")]),
    (MIXED_DICTS, ("d",), {"new_column_type": [str, str]}, ["id", "X2", "X3"], [int, str, str], [(1, "3", "x"), (2, "a", "1.5")]),
    ({"l": [[0]] * 120 + [["x"]]}, ("l", "i"), {"new_column_type": str}, ["i"], [str], [("0",)] * 120 + [("x",)]),
    ({"id": [1], "l": [[]]}, ("l",), {"new_column_type": list}, ["id", "X2"], [int, list], [(1, None)]),
    ({"id": [1], "d": [{}]}, ("d",), {"new_column_type": [dict, list]}, ["id", "X2", "X3"], [int, dict, list], [(1, None, None)]),
]


@pytest.mark.spark
@pytest.mark.sampled(3)
@pytest.mark.behaviour
@pytest.mark.parametrize(("data", "arguments", "options", "names", "types", "rows"), CASES)
def test_stack(data: Any, arguments: Any, options: Any, names: list[str], types: list[type], rows: list[Any]) -> None:
    assert stacked(data, *arguments, **options) == (names, types, rows)


@pytest.mark.spark
@pytest.mark.behaviour
def test_rows_stay_in_order_and_are_read_by_number() -> None:
    sf = SFrame({"id": range(400), "l": [[i] * (i % 3) for i in range(400)]}).sort("id", ascending=False)
    found = sf.stack("l", "item", drop_na=True)
    expected = [i for i in range(399, -1, -1) for _ in range(i % 3)]
    assert list(found["item"]) == list(found["id"]) == expected
    assert list(found["id"][100:103]) == expected[100:103]
    assert found[found["id"] == 7]["item"].sum() == 7
    assert len(found) == len(expected)


def test_a_filter_goes_below_and_an_order_stays() -> None:
    sf = SFrame({"id": range(400), "l": [[i] * (i % 3) for i in range(400)]})
    with config.using(small_rows=0):
        stacked = sf.stack("l", "item")
        plan = str(stacked[stacked["id"] > 390].explain()).split("-- optimized plan")[1].split("-- physical")[0]
        assert plan.index("filter_rows") < plan.index("explode")
        assert "sort" not in str(stacked.sort("id").explain()).split("-- optimized plan")[1].split("-- physical")[0]
        narrow = str(stacked[["item"]].explain()).split("-- optimized plan")[1].split("-- physical")[0]
    assert "[1 columns" in narrow


def test_wrong_calls() -> None:
    sf, ds = SFrame(LISTS), SFrame(DICTS)
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: sf.stack("id"), SchemaError, "takes lists, arrays and dicts"),
        (lambda: sf.stack("zz"), UnknownNameError, "no column is named 'zz'"),
        (lambda: sf.stack("l", "id"), TakenNameError, "already has a column 'id'"),
        (lambda: sf.stack("l", ["a", "b"]), SchemaError, "new_column_name must be a name"),
        (lambda: sf.stack("l", 1), SchemaError, "new_column_name must be a name"),
        (lambda: ds.stack("d", "k"), SchemaError, "a list of two names"),
        (lambda: ds.stack("d", ["k", "k"]), TakenNameError, "choose two names"),
        (lambda: ds.stack("d", ["k"]), SchemaError, "a list of two names"),
        (lambda: ds.stack("d", new_column_type=str), InvalidArgumentError, "2 are needed"),
        (lambda: ds.stack("d", new_column_type=[int, 5]), ColumnsOfRowsError, "must be a class such as int"),
        (lambda: sf.stack("l", new_column_type=list), SchemaError, "items of int cannot become list"),
        (lambda: SFrame({"l": [["3"]]}).stack("l", new_column_type=int), SchemaError, "items of str cannot become int"),
    ]
    for call, kind, message in wrong:
        with pytest.raises(kind, match=message):
            call()


@pytest.mark.parametrize(("keeps_empty", "rows", "items"), [(True, [0, 1, 2, 3], [1, None, None, 2]), (False, [0, 3], [1, 2])])
def test_rows_without_items_are_kept_or_left_out(keeps_empty: bool, rows: list[int], items: list[int | None]) -> None:
    found = rows_of_items(pa.array([[9], [7], [], None, [8]], pa.list_(pa.int64()))[1:], keeps_empty)
    assert [column.to_pylist() for column in found] == [rows, items]
