"""Python's lists and dicts are stored all of a batch at once as each is by itself."""

from __future__ import annotations

import array
import datetime
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.errors import SchemaError
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, ColumnType
from sframe_spark.values import python_to_arrow as encoding
from sframe_spark.values.nested.python_and_tagged_json import stored_cells
from sframe_spark.values.plain_values import plain
from sframe_spark.values.tagged_json_display_and_canonical_text import encode_value
from tests.examples import examples
from tests.values.nested.test_flat import FLOATS, INTS, SCALARS, TEXTS
from tests.values.nested.test_nested import DICTS, LISTS

CLASSES = [True, (1, 2), ("a", (None, 0.5)), (), b"a", {1}, datetime.date(2020, 1, 1), array.array("f", [0.5]), object(), "\ud800"]
OF_NUMPY = [np.float64(0.5), np.float32(0.1), np.int32(3), np.int64(-(2**63)), np.uint64(2**64 - 1), np.bool_(True), np.str_("a"), np.array(7)]
ARRAYS_OF_NUMPY = [
    *(np.array([1, 0, 3], kind) for kind in ("f8", "f4", "f2", "i8", "u8", "?", "M8[s]", "U1", "O")),
    *(np.array(items) for items in ([], [[1, 2], [3, 4]], [float("nan"), float("-inf"), -0.0], [2**63], [2**53 + 1])),
    np.ma.masked_array([1, 2], [True, False]),
]
MOMENTS = [
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(minutes=330))),
    datetime.datetime(9999, 12, 31, tzinfo=datetime.timezone(datetime.timedelta(seconds=-90))),
    datetime.datetime(2020, 10, 25, 2, 30, fold=1),
]
EDGES = [2**63, -(2**63) - 1, 10**400, 2**53 + 1, [2**60 + 1, 0.5], [True, 1], [[]], [None], [1, None], {None: 1}, {1.0: 2}, {(1, 2): 3}]
OTHERS = st.sampled_from([*CLASSES, *OF_NUMPY, *ARRAYS_OF_NUMPY, *MOMENTS, *EDGES])
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


@pytest.mark.parametrize("value", [True, np.int64(5), np.float64(-0.0), (1, "a"), (1, True, 2.5), np.array([1, 2.5]), *MOMENTS])
def test_usual_classes_are_stored_at_once(value: Any) -> None:
    for cells, column_type in (([["a", value]], ENCODED_LIST), ([{"a": value, "b": [[value]]}], ENCODED_DICT)):
        found = stored_cells(cells, column_type.kind, are_plain=False)
        assert found is not None and found.to_pylist() == [
            encode_value(plain(cell) if isinstance(cell, dict) else [*map(plain, cell)]) for cell in cells
        ]


@pytest.mark.parametrize("value", [True, (1, 2), np.int64(5), np.array([1.5])])
def test_what_is_no_plain_value_is_not_stored_as_one(value: Any) -> None:
    assert stored_cells([["a", value]], "list") is None and stored_cells([{"a": value}], "dict") is None


def test_values_that_hold_themselves_are_refused() -> None:
    endless: list[Any] = []
    endless.extend([endless] * 1000)
    with pytest.raises(SchemaError, match="inside each other"):
        encoding.encode([["a"], endless], ENCODED_LIST)
