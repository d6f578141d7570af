"""Functions that say that Arrow computes their lists and dicts decode none of numbers and texts, in whatever form these are stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sframe_spark.expressions.functions.scalar_function import FUNCTIONS, always_by_arrow
from sframe_spark.expressions.functions.text_functions import TEXT_FUNCTIONS
from sframe_spark.types import DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values import arrow_to_python
from sframe_spark.values.nested import json_item_splitting_and_joining as json_items
from sframe_spark.values.python_to_arrow import encode

LISTS = {list_of(INT): [[1, None], [], None, [3]], list_of(STR): [["a"], None, [], [None, "é"]], ENCODED_LIST: [[1, "a"], None, [], [2.5, None]]}
DICTS = {
    dict_of(STR, FLOAT): [{"a": 1.5}, None, {}, {"b": None, "a": 0.5}],
    dict_of(INT, STR): [{1: "x"}, {}, None, {2: None}],
    ENCODED_DICT: [{"a": 1, "b": "x"}, None, {}, {"c": 2.5}],
}
# Parameters of functions of one column, and which columns they take.
ALL, OF_LISTS, OF_DICTS = {**LISTS, **DICTS}, LISTS, DICTS
CALLS: dict[str, list[tuple[dict[ColumnType, list[Any]], tuple[Any, ...]]]] = {
    "is_missing": [(ALL, ())],
    "is_not_missing": [(ALL, ())],
    "fill_missing": [(OF_LISTS, ([],)), (OF_LISTS, ([1],)), (OF_DICTS, ({},)), (OF_DICTS, ({"a": 2.5},))],
    "truth": [(ALL, ())],
    "item_length": [(ALL, ())],
    "vector_slice": [(OF_LISTS, (0, 1)), (OF_LISTS, (0, 2))],
    "element_slice": [(OF_LISTS, (None, None, -1)), (OF_LISTS, (1, None, None))],
    "dict_keys": [(OF_DICTS, ())],
    "dict_values": [(OF_DICTS, ())],
    "dict_has_keys": [(OF_DICTS, ((), True))],
    "dict_trim_keys": [(OF_DICTS, ((), False)), (OF_DICTS, ((), True))],
    "dict_trim_values": [({dict_of(STR, FLOAT): DICTS[dict_of(STR, FLOAT)]}, (1, None))],
    "cast": [(ALL, (STR, False))],
    "recode": [(OF_LISTS, (ENCODED_LIST,)), (OF_DICTS, (ENCODED_DICT,))],
    "hash": [(ALL, ())],
    "is_in": [(OF_LISTS, (([1, None], None),)), (OF_DICTS, (({"a": 1.5},),))],
    "contains": [
        ({list_of(INT): LISTS[list_of(INT)]}, (3,)),
        ({list_of(STR): LISTS[list_of(STR)]}, ("é",)),
        ({ENCODED_DICT: DICTS[ENCODED_DICT]}, ("a",)),
    ],
    "slots": [(OF_LISTS, ((0, 5),)), ({dict_of(STR, FLOAT): DICTS[dict_of(STR, FLOAT)], ENCODED_DICT: DICTS[ENCODED_DICT]}, (("a", "z"),))],
    "slot": [
        ({list_of(INT): [[1], [None]]}, (0, INT, False, None)),
        ({list_of(INT): [[1], [None]]}, (0, INT, False, 1)),
        ({list_of(STR): [['["a",1]'], [None]]}, (0, ENCODED_LIST, True, None)),
    ],
    "literal": [],
    "drawn": [],
}
OF_TWO = ("equal", "not_equal", "and_", "or_", "coalesce", "if_else", "pack_list", "pack_dict")


@pytest.fixture
def no_decoding(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(values: Any, column_type: ColumnType) -> Any:
        raise AssertionError(f"values of {column_type} were decoded")

    with monkeypatch.context() as patched:
        patched.setattr(arrow_to_python, "_decoded", refuse)
        yield


def test_all_that_say_so_are_here() -> None:
    said = {name for name, function in FUNCTIONS.items() if function.by_arrow is not None}
    assert said == {*CALLS, *OF_TWO, *(line.function for line in TEXT_FUNCTIONS.values())}


@pytest.mark.usefixtures("no_decoding")
@pytest.mark.parametrize("name", CALLS)
def test_functions_of_one_column(name: str) -> None:
    function = FUNCTIONS.named(name)
    for columns, parameters in CALLS[name]:
        for column_type, cells in columns.items():
            assert function.by_arrow is not None and function.by_arrow([column_type], parameters), (column_type, parameters)
            values = encode(cells, column_type)
            assert len(function.kernel([values], [column_type], parameters, len(cells))) == len(cells)


NESTED_LISTS = [[["a"], {"b": [1]}], None, [], ['say "a"', None]]
NESTED_DICTS = [{"a": ["x", 1.5], "b": {"c": None}}, None, {}, {"b": "\n"}]


@pytest.mark.usefixtures("no_decoding")
@pytest.mark.parametrize(
    "name", ["item_length", "vector_slice", "element_slice", "dict_keys", "dict_values", "dict_has_keys", "dict_trim_keys", "slots"]
)
def test_functions_of_many_nested_values(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_items, "FEW_ROWS", 4)
    for columns, parameters in CALLS[name]:
        for column_type, cells in ((ENCODED_LIST, NESTED_LISTS), (ENCODED_DICT, NESTED_DICTS)):
            if column_type in columns:
                assert len(FUNCTIONS.named(name).kernel([encode(cells, column_type)], [column_type], parameters, len(cells))) == len(cells)


@pytest.mark.usefixtures("no_decoding")
@pytest.mark.parametrize("column_type", ALL)
def test_functions_of_two_columns(column_type: ColumnType) -> None:
    values = encode(ALL[column_type], column_type)
    for name in ("equal", "not_equal", "and_", "or_", "coalesce"):
        assert len(FUNCTIONS.named(name).kernel([values, values], [column_type, column_type], (), len(values))) == len(values)
    chosen = encode([1, 0, None, 1], INT)
    assert FUNCTIONS.named("if_else").kernel([chosen, values, values], [INT, column_type, column_type], (), len(values)).equals(values)


@pytest.mark.usefixtures("no_decoding")
@pytest.mark.parametrize("types", [(INT, INT), (INT, STR), (FLOAT, STR)])
def test_packing(types: tuple[ColumnType, ColumnType]) -> None:
    cells = {INT: [1, None, 3], FLOAT: [0.5, None, -0.0], STR: ["a", "é", None]}
    columns = [encode(cells[kind], kind) for kind in types]
    for name, parameters in (("pack_list", (None,)), ("pack_dict", (None, ("x", "y")))):
        function = FUNCTIONS.named(name)
        assert function.by_arrow is not None and function.by_arrow(types, parameters)
        assert len(function.kernel(columns, types, parameters, 3)) == 3


def test_what_python_does_is_not_claimed() -> None:
    for name, types, parameters in (
        ("pack_list", (INT, list_of(INT)), (None,)),
        ("pack_dict", (INT, STR), (0, ("x", "y"))),
        ("contains", (list_of(INT),), (None,)),
        ("contains", (list_of(INT),), ("a",)),
        ("slot", (list_of(INT),), (0, STR, False, None)),
        ("slot", (list_of(STR),), (0, DATETIME, True, None)),
    ):
        function = FUNCTIONS.named(name)
        assert function.by_arrow is not None and not function.by_arrow(types, parameters), (name, types)
    assert FUNCTIONS.named("element_at").by_arrow is None and always_by_arrow((ENCODED_LIST,), ())
