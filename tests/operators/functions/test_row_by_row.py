"""Functions over columns of one type with a native form look at no value by itself."""

from __future__ import annotations

import pytest

from sframe_spark.types import FLOAT, INT, STR
from tests.operators.functions.row_by_row import is_row_by_row, kernels

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


def test_calls_are_counted() -> None:
    by_name = {name: (types, cells, parameters) for name, types, cells, parameters in kernels() if types[0].is_encoded}
    assert is_row_by_row("dict_keys", *by_name["dict_keys"]) and len(KERNELS) > 100
