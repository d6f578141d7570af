"""Functions over columns of one type with a native form look at no value by itself."""

from __future__ import annotations

from typing import Any

import pytest

from sframe_spark.types import ARRAY, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType
from tests.expressions.functions.row_by_row import is_row_by_row, kernels

# What may be any text is parsed as such, and nested values are compared and written by their texts.
ONE_BY_ONE = {"cast", "contains", "element_at", "fill_missing", "hash", "is_in", "variant_text"}
# Lists and dicts of these have a native form.
ITEMS = (INT, FLOAT, STR)
KERNELS = [
    (name, types, cells, parameters)
    for name, types, cells, parameters in kernels()
    if name not in ONE_BY_ONE and len(set(types)) == 1 and not types[0].is_encoded and (types[0] in ITEMS or name not in ("pack_list", "pack_dict"))
]


@pytest.mark.parametrize("name", sorted({name for name, *_ in KERNELS}))
def test_native_columns_are_computed_at_once(name: str) -> None:
    assert [str(types[0]) for other, types, cells, parameters in KERNELS if other == name and is_row_by_row(name, types, cells, parameters)] == []


@pytest.mark.parametrize("name", ["dict_keys", "dict_values", "dict_has_keys", "dict_trim_keys", "dict_trim_values", "item_length", "hash", "slots"])
def test_stored_dicts_of_numbers_and_texts_are_computed_at_once(name: str) -> None:
    parameters = {"dict_has_keys": (("a",), True), "dict_trim_keys": (("a",), False), "dict_trim_values": (1, 5), "hash": (7,), "slots": (("a",),)}
    assert not is_row_by_row(name, (ENCODED_DICT,), [[{"a": 1, "b": 20}, {}, None, {"c": 3}]], parameters.get(name, ()))


@pytest.mark.parametrize(("target", "cells"), [(STR, [[1, 2], None, []]), (ARRAY, [[1, 2], None, []])])
def test_stored_lists_are_cast_at_once(target: ColumnType, cells: list[Any]) -> None:
    assert not is_row_by_row("cast", (ENCODED_LIST,), [cells], (target, False))


@pytest.mark.parametrize(("target", "text"), [(ENCODED_LIST, "[1, 'a']"), (ENCODED_DICT, '{"a": 1, "b": "x"}'), (ARRAY, "[1 2.5]")])
def test_texts_of_the_usual_kind_are_cast_at_once(target: ColumnType, text: str) -> None:
    assert not is_row_by_row("cast", (STR,), [[text]], (target, False))


@pytest.mark.parametrize(("name", "parameters"), [("pack_list", (None,)), ("pack_dict", (None, ("a", "b", "c")))])
def test_numbers_and_texts_are_packed_at_once(name: str, parameters: tuple[Any, ...]) -> None:
    assert not is_row_by_row(name, (INT, STR, FLOAT), [[1, None], ["x", None, "y"], [1.5, None, float("nan"), float("-inf")]], parameters)


def test_calls_are_counted() -> None:
    nested: list[Any] = [[{"a": [1]}, None]]
    assert is_row_by_row("dict_keys", (ENCODED_DICT,), nested, ()) and len(KERNELS) > 100
