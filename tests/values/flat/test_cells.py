"""Python's lists and dicts are stored all of a batch at once as each is by itself."""

from __future__ import annotations

import array
import datetime
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sframe_spark.errors import SchemaError
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, ColumnType
from sframe_spark.values import encode as encoding
from sframe_spark.values.flat.cells import stored_cells
from sframe_spark.values.text import encode_value
from tests.examples import examples
from tests.values.flat.test_flat import FLOATS, INTS, SCALARS, TEXTS
from tests.values.flat.test_nested import DICTS, LISTS

CLASSES = [True, (1, 2), np.float64(0.5), np.int32(3), b"a", {1}, datetime.date(2020, 1, 1), array.array("f", [0.5]), object(), "\ud800"]
EDGES = [2**63, -(2**63) - 1, 10**400, 2**53 + 1, [2**60 + 1, 0.5], [True, 1], [[]], [None], [1, None], {None: 1}, {1.0: 2}, {(1, 2): 3}]
OTHERS = st.sampled_from([*CLASSES, *EDGES])
INNER = st.one_of(SCALARS, OTHERS, st.lists(st.one_of(SCALARS, OTHERS), max_size=2), st.lists(st.one_of(INTS, FLOATS), max_size=3))
ROUGH_LISTS = st.lists(INNER, max_size=3)
ROUGH_DICTS = st.dictionaries(st.one_of(TEXTS, INTS, st.none(), st.booleans(), FLOATS), st.one_of(SCALARS, OTHERS, ROUGH_LISTS), max_size=3)


def outcome(make: Callable[[Any, ColumnType], Any], cells: Any, column_type: ColumnType) -> Any:
    """What it gives, or the class of the error."""
    try:
        return make(cells, column_type).to_pylist()
    except Exception as error:
        return type(error)


def check(cells: list[Any], makers: list[Callable[[Any, ColumnType], Any]]) -> None:
    """With and without what is done at once."""
    column_type = ENCODED_DICT if any(isinstance(cell, dict) for cell in cells) else ENCODED_LIST
    for make in makers:
        found = outcome(make, cells, column_type)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(encoding, "stored_cells", lambda *arguments, **named: None)
            assert found == outcome(make, cells, column_type)


@given(st.one_of(*(st.lists(st.one_of(st.none(), cells), max_size=4) for cells in (*LISTS, *DICTS))))
@settings(max_examples=examples(80))
def test_plain_values_are_stored_as_each_is(cells: list[Any]) -> None:
    check(cells, [encoding.encode, encoding.encode_plain])


@given(st.one_of(*(st.lists(st.one_of(st.none(), cells), max_size=4) for cells in (ROUGH_LISTS, ROUGH_DICTS))))
@settings(max_examples=examples(150))
def test_users_values_are_stored_as_each_is_or_refused(cells: list[Any]) -> None:
    check(cells, [encoding.encode])


@pytest.mark.parametrize("are_plain", [True, False])
def test_nested_values_are_stored_at_once(are_plain: bool) -> None:
    cells = [{"a": [["b", None], {"c": 0.1, "\n": float("nan")}], 1: array.array("d", [1, float("-inf")])}, None, {}]
    found = stored_cells(cells, "dict", are_plain)
    assert found is not None and found.to_pylist() == [None if cell is None else encode_value(cell) for cell in cells]
    assert json.loads(found[0].as_py())


def test_values_that_hold_themselves_are_refused() -> None:
    endless: list[Any] = []
    endless.extend([endless] * 1000)
    with pytest.raises(SchemaError, match="inside each other"):
        encoding.encode([["a"], endless], ENCODED_LIST)
