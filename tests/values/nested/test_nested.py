"""Lists and dicts that hold others, cut and typed all of a batch at once, are what the reader of each value makes of them."""

from __future__ import annotations

import array
import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.errors import DamagedValueError, ExecutionError, SchemaError
from sframe_spark.expressions.aggregates.histograms_summaries_and_rank_counts import _kinds
from sframe_spark.expressions.functions.dicts import _compute_has, _compute_list, _compute_trim_keys
from sframe_spark.expressions.functions.element_access import (
    _compute_element_slice,
    _compute_length,
    _compute_slot,
    _compute_slots,
    _compute_vector_slice,
)
from sframe_spark.operators.explode import items_of
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.column_cast import cast_array
from sframe_spark.values.nested import json_item_splitting_and_joining as json_items, tagged_json_patterns_and_splitting as json_patterns, text_writer
from sframe_spark.values.nested.text_and_json_to_columns import column_of
from sframe_spark.values.plain_values import family_of, plain
from sframe_spark.values.python_to_arrow import encode, encode_plain
from sframe_spark.values.single_value_conversion import construct_value
from sframe_spark.values.tagged_json_display_and_canonical_text import decode_value, encode_value
from tests.examples import examples
from tests.values.nested.test_flat import FLOATS, FORMS, INTS, KEYS, TEXTS, same

EAST, WEST = (datetime.timezone(datetime.timedelta(minutes=minutes)) for minutes in (5 * 60 + 30, -9 * 60 - 5))
MOMENTS = st.sampled_from(
    [
        datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
        datetime.datetime(1, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(1, 1, 1, tzinfo=EAST),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=WEST),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
    ]
)
ARRAYS = st.lists(FLOATS, max_size=3).map(lambda items: array.array("d", items))
ESCAPED = st.sampled_from(['"', "\\", 'a\\"', "\\\\", "\x00\x1f\x7f", "\b\f\n\r\t", "],[", '","', "{[", "😀\\", "/"])
SCALARS = st.one_of(st.none(), INTS, FLOATS, TEXTS, ESCAPED, ARRAYS, MOMENTS)
LISTS = [st.lists(SCALARS, max_size=3)]
DICTS = [st.dictionaries(st.one_of(KEYS, ESCAPED), SCALARS, max_size=3)]
for _ in range(3):
    LISTS.append(st.lists(st.one_of(SCALARS, LISTS[-1], DICTS[-1]), max_size=3))
    DICTS.append(st.dictionaries(st.one_of(KEYS, ESCAPED), st.one_of(SCALARS, LISTS[-2], DICTS[-1]), max_size=3))
TEXT_DICTS = st.dictionaries(TEXTS, st.one_of(SCALARS, *LISTS[:2], *DICTS[:2]), max_size=3)
INT_DICTS = st.dictionaries(INTS, st.one_of(SCALARS, *LISTS[:2], *DICTS[:2]), max_size=3)
ITEMS: list[tuple[Any, list[ColumnType]]] = [
    (INTS, [INT, FLOAT, STR]),
    (st.one_of(INTS, FLOATS), [FLOAT, INT, ARRAY]),
    (st.one_of(TEXTS, ESCAPED), [STR, ENCODED_LIST]),
    (ARRAYS, [ARRAY, ENCODED_LIST]),
    (st.lists(st.one_of(st.none(), TEXTS, ESCAPED), max_size=3), [list_of(STR), ENCODED_LIST]),
    (st.lists(st.one_of(st.none(), INTS), max_size=3), [list_of(INT), ENCODED_LIST, ARRAY]),
    (st.dictionaries(TEXTS, INTS, max_size=2), [dict_of(STR, INT), ENCODED_DICT]),
    (st.one_of(*LISTS), [ENCODED_LIST, STR]),
    (st.one_of(*DICTS), [ENCODED_DICT]),
    (MOMENTS, [DATETIME]),
    (st.one_of(SCALARS, *LISTS, *DICTS), [INT, FLOAT, STR, ARRAY, ENCODED_LIST, ENCODED_DICT]),
]


@pytest.fixture(scope="module", autouse=True)
def few_rows() -> Any:
    """Few rows are cut as many are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_items, "FEW_ROWS", 0)
        yield


def nested_items(texts: pa.Array, kind: str) -> json_items.FlatItems | None:
    """What many rows are cut into, however few they are, and by the patterns of values that hold others."""
    levels = range(json_patterns.MAX_PATTERN_LEVELS)
    return json_items._items(texts, kind, (form for level in levels for form in json_items._patterns_of(kind, json_patterns.nested(level))))


def texts_of(cells: list[Any]) -> pa.Array:
    return pa.array([None if cell is None else encode_value(cell) for cell in cells], pa.string())


def column(cells: Any) -> Any:
    return st.lists(st.one_of(st.none(), cells), max_size=5)


@given(st.one_of(*map(column, [*LISTS, TEXT_DICTS, INT_DICTS, *DICTS])))
@settings(max_examples=examples(60))
def test_items_are_those_of_each_value(cells: list[Any]) -> None:
    kind = "dict" if any(isinstance(cell, dict) for cell in cells) else "list"
    texts = texts_of([None, *cells]).slice(1)
    found = nested_items(texts, kind)
    counts = json_items.item_counts(texts, kind)
    assert counts is None or counts.to_pylist() == [None if cell is None else len(cell) for cell in cells]
    if found is None:
        return
    present = [cell for cell in cells if cell is not None]
    items = [item for cell in present for item in (cell.values() if isinstance(cell, dict) else cell)]
    assert counts is not None and found.counts.tolist() == [count or 0 for count in counts.to_pylist()]
    assert found.missing.tolist() == [cell is None for cell in cells]
    assert same([decode_value(text) for text in found.items.to_pylist()], items)
    assert found.keys is None or found.keys.to_pylist() == [key for cell in present for key in cell]
    kinds = [json_items.KINDS[place] for place in json_items.kinds_of(found.items)] if items else []
    assert kinds == [frozenset() if item is None else frozenset([family_of(type(item))]) for item in items]


@pytest.mark.parametrize(
    "cells",
    [
        [[["a", None], {"b": [1.5, float("nan")]}, []], None, [], ['say "a"', array.array("d", [-0.0])]],
        [{"a": {"b": [None]}, "\n": datetime.datetime(2020, 1, 1)}, None, {}],
        [{1: [[2, "a"]], -5: -(2**63)}],
    ],
)
def test_what_is_nested_a_little_is_cut(cells: list[Any]) -> None:
    assert nested_items(texts_of(cells), "dict" if isinstance(cells[0], dict) else "list") is not None


@given(st.sampled_from(ITEMS), st.data())
@settings(max_examples=examples(80))
def test_columns_of_items_are_those_of_each_value(chosen: tuple[Any, list[ColumnType]], data: Any) -> None:
    strategy, types = chosen
    items = [plain(item) if not isinstance(item, list) else item for item in data.draw(st.lists(st.one_of(st.none(), strategy), max_size=5))]
    texts = pa.array(["null", *map(encode_value, items)], pa.string()).slice(1)
    for wanted in types:
        found = column_of(texts, wanted)
        if found is not None:
            assert found.type == wanted.physical
            assert same(decode(found, wanted), decode(encode(items, wanted), wanted))


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ([1, None], INT),
        ([1.0, -0.0, float("nan"), None], FLOAT),
        (['a"', None], STR),
        ([array.array("d", [1.5, float("inf")]), None, array.array("d")], ARRAY),
        ([["a", "\n"], []], list_of(STR)),
        ([["a", ["b"], {"c": [None]}], None], ENCODED_LIST),
        ([{"a": [None, "b"]}, {}], ENCODED_DICT),
    ],
)
def test_columns_of_one_kind_are_made_at_once(items: list[Any], wanted: ColumnType) -> None:
    found = column_of(pa.array(map(encode_value, items), pa.string()), wanted)
    assert found is not None and same(decode(found, wanted), items)


@pytest.mark.parametrize(
    "items",
    [
        [1, "a", 2.50, None, 'say "a"', True, -0.0, float("nan"), 1e300],
        [array.array("d", [1, 2.5]), "x", [1, 2], ["a", [None, "b"]], {"a": {"b": 1}}, {}, []],
        [datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 2, tzinfo=EAST), 2**63 - 1, ["[1,2]"][:0]],
    ],
)
def test_texts_of_items_of_several_types_are_made_at_once(items: list[Any]) -> None:
    found = column_of(pa.array([encode_value(plain(item) if not isinstance(item, list) else item) for item in items], pa.string()), STR)
    assert found is not None and found.to_pylist() == encode(items, STR).to_pylist()


def test_lists_of_numbers_within_items_are_left_to_who_makes_arrays_of_them() -> None:
    assert column_of(pa.array(["1", "[[1,2]]"]), STR) is None and column_of(pa.array(['{"$dict":[["a",[1,2]]]}']), STR) is None
    assert column_of(pa.array(["[1,2]", '["a",["b"]]']), ENCODED_LIST) is not None and column_of(pa.array(["[[1,2]]"]), ENCODED_LIST) is None


PIECES = ['"', "\\", "[", "]", "{", "}", ",", "null", "1", "1e999", "NaN", "true", "$dict", '{"$array":[', " ", "\n", "é", "007", "-"]


@given(column(st.one_of(*LISTS[:3], *DICTS[:3])), st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["", *PIECES])), max_size=2))
@settings(max_examples=examples(80))
def test_damaged_texts_are_left_to_the_reader_of_each(cells: list[Any], damages: list[tuple[int, str]]) -> None:
    texts = [text for text in texts_of(cells).to_pylist() if text is not None]
    for place, piece in damages:
        texts = [text[:place] + piece + text[place + (not piece) :] for text in texts]
    for kind, python_class in (("list", list), ("dict", dict)):
        found = nested_items(pa.array(texts, pa.string()), kind)
        if found is not None:
            whole = [decode_value(text) for text in texts]
            assert all(type(cell) is python_class for cell in whole)
            # Who damages a key may make it one that is there already.
            assert kind == "dict" or found.counts.tolist() == list(map(len, whole))


def outcome(read: Any) -> Any:
    """What it gives, as Python shows it, or the class of the error."""
    try:
        return repr(read())
    except Exception as error:
        return type(error)


@given(st.one_of(*map(column, [*LISTS, TEXT_DICTS, INT_DICTS, *DICTS])), st.lists(st.tuples(st.integers(0, 60), st.sampled_from(PIECES)), max_size=1))
@settings(max_examples=examples(100))
def test_python_values_are_those_of_each_text(cells: list[Any], damages: list[tuple[int, str]]) -> None:
    column_type = ENCODED_DICT if any(isinstance(cell, dict) for cell in cells) else ENCODED_LIST
    texts = texts_of(cells).to_pylist()
    for place, piece in damages:
        texts = [text and text[:place] + piece + text[place:] for text in texts]
    found = outcome(lambda: decode(pa.array([None, *texts], pa.string()).slice(1), column_type))
    assert found == outcome(lambda: [None if text is None else decode_value(text) for text in texts])


@given(st.one_of(*map(column, [*LISTS, TEXT_DICTS, INT_DICTS, *DICTS])), st.lists(st.tuples(st.integers(0, 60), st.sampled_from(PIECES)), max_size=1))
@settings(max_examples=examples(150))
def test_texts_of_nested_values_are_those_of_each(cells: list[Any], damages: list[tuple[int, str]]) -> None:
    column_type = ENCODED_DICT if any(isinstance(cell, dict) for cell in cells) else ENCODED_LIST
    texts = texts_of(cells).to_pylist()
    for place, piece in damages:
        texts = [text and text[:place] + piece + text[place:] for text in texts]
    for form, alone in FORMS:
        found = text_writer.written(pa.array([None, *texts], pa.string()).slice(1), column_type, form)
        if found is not None:
            # Who damages a key may make it one that is there already.
            whole = [text and decode_value(text) for text in texts]
            assert [text for text in texts if text] != [encode_value(cell) for cell in whole if cell is not None] or found.to_pylist() == [
                None if cell is None else alone(cell) for cell in whole
            ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", range(8))
def test_dicts_with_the_same_keys_are_those_of_each_text(count: int) -> None:
    keys = ["a", 'say "a"', 3, "", "é", -1, "g"][:count]
    moments = [datetime.datetime(2020, 1, 1), datetime.datetime(1, 1, 1, tzinfo=EAST)]
    cells: list[Any] = [{key: [row, {"x": moments[row % 2]}] for key in keys} for row in range(4)]
    for rows in (cells, [*cells, {**cells[0], "other": None}], [*cells, dict(reversed(cells[0].items()))], [*cells, None, {}]):
        assert same(decode(texts_of(rows), ENCODED_DICT), rows)
        rows = [{"all": [row]} for row in rows]
        assert same(decode(texts_of(rows), ENCODED_DICT), rows)


@pytest.mark.parametrize(("cell", "column_type"), [([[["a", {"b": None}]], {"é": 0.5}], ENCODED_LIST), ({1: {"a": [{"b": "x"}]}}, ENCODED_DICT)])
def test_one_level_more_is_known_where_there_are_many(cell: Any, column_type: ColumnType) -> None:
    few, deeper = texts_of([cell]), texts_of([[cell] if column_type == ENCODED_LIST else {"a": cell}] * json_items.MANY_ROWS)
    many = texts_of([cell] * json_items.MANY_ROWS)
    assert json_items.is_known(many, column_type.kind) and not any(json_items.is_known(texts, column_type.kind) for texts in (few, deeper))
    assert same(decode(many, column_type)[-1:], [cell])
    counts = json_items.item_counts(many, column_type.kind)
    assert counts is not None and counts.unique().to_pylist() == [len(cell)]
    for form, alone in FORMS:
        found = text_writer.written(many, column_type, form)
        assert found is not None and found.unique().to_pylist() == [alone(cell)]


TWICE = {1: 2, "a": {"1": 0, 1: 0}}


@pytest.mark.parametrize(
    "cells",
    [
        [[["a", None], {"b": [1.5, float("nan")]}, []], None, [], ['say "a"', array.array("d", [-0.0]), array.array("d")]],
        [[[[datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=EAST)], 2**63 - 1, -(2**63), 1e300, 123456.5]]],
        [{"b": {"b": [None], "a": -0.0}, "a b": 1, 'a"': 2, "a": 3, "\n": datetime.datetime(2020, 1, 1, tzinfo=WEST)}, None, {}],
        [{1: [[2, "a"]], 10: 0, "a": 1, -5: -(2**63)}, {"b": {"x": "é", 2: "\x00"}}],
        [TWICE],
    ],
)
def test_texts_of_what_is_nested_a_little_are_made_at_once(cells: list[Any]) -> None:
    column_type = ENCODED_DICT if isinstance(cells[0], dict) else ENCODED_LIST
    for form, alone in FORMS:
        found = text_writer.written(texts_of(cells), column_type, form)
        if form is text_writer.IN_JSON and TWICE in cells:
            # Two keys become one, which is told by who goes value by value.
            assert found is None
        else:
            assert found is not None and found.to_pylist() == [None if cell is None else alone(cell) for cell in cells]


@pytest.mark.parametrize(
    "moment", ['{"$datetime":0,"offset":1440}', '{"$datetime":-62135596800000001,"offset":null}', '{"$datetime":-62135596800000000,"offset":-1}']
)
def test_dates_that_python_has_not_are_left_to_the_reader_of_each(moment: str) -> None:
    for form, _ in FORMS:
        assert text_writer.written(pa.array([f"[[{moment}]]"]), ENCODED_LIST, form) is None


def test_a_number_that_python_does_not_read_is_told() -> None:
    endless = pa.array([f'[["a",{"1" * 5000}]]'])
    with pytest.raises(DamagedValueError):
        decode(endless, ENCODED_LIST)
    with pytest.raises(DamagedValueError):
        cast_array(endless, ENCODED_LIST, STR)


def by_hand(texts: pa.Array, change: Any) -> list[Any]:
    return [None if cell is None else change(cell) for cell in (text and decode_value(text) for text in texts.to_pylist())]


@given(column(LISTS[2]))
@settings(max_examples=examples(40))
def test_lists_are_counted_cut_and_made_rows(cells: list[Any]) -> None:
    texts, types, rows = texts_of(cells), [ENCODED_LIST], len(cells)
    assert _compute_length([texts], types, (), rows).to_pylist() == [None if cell is None else len(cell) for cell in cells]
    for window in ((None, 1, None), (-2, None, None), (None, None, -1)):
        found = decode(_compute_element_slice([texts], types, window, rows), ENCODED_LIST)
        assert same(found, by_hand(texts, lambda cell, window=window: cell[slice(*window)]))
    found = decode(_compute_vector_slice([texts], types, (1, 2), rows), ENCODED_LIST)
    assert same(found, by_hand(texts, lambda cell: cell[1:2] if len(cell) > 1 else None))
    flat = [item for cell in cells if cell is not None for item in cell]
    for wanted in (INT, FLOAT, STR, ARRAY, ENCODED_LIST, ENCODED_DICT):
        check_rows(texts, ENCODED_LIST, (wanted,), [flat])


def check_rows(texts: pa.Array, column_type: ColumnType, types: tuple[ColumnType, ...], flat: list[list[Any]]) -> None:
    """Items as they are encoded alone, also where that fails."""
    try:
        expected = [decode(encode(side, kind), kind) for side, kind in zip(flat, types, strict=True)]
    except SchemaError:
        with pytest.raises(SchemaError):
            items_of(texts, column_type, types)
        return
    assert same([decode(side, kind) for side, kind in zip(items_of(texts, column_type, types)[1], types, strict=True)], expected)


@given(st.one_of(column(TEXT_DICTS), column(INT_DICTS), column(DICTS[1])))
@settings(max_examples=examples(40))
def test_dicts_are_looked_into_and_made_rows(cells: list[Any]) -> None:
    texts, types, rows = texts_of(cells), [ENCODED_DICT], len(cells)
    keys = [*dict.fromkeys(key for cell in cells if cell is not None for key in cell)]
    for side in ("keys", "values"):
        found = decode(_compute_list(side)([texts], types, (), rows), ENCODED_LIST)
        assert same(found, by_hand(texts, lambda cell, side=side: list(getattr(cell, side)())))
    if keys and all(type(key) is type(keys[0]) for key in keys):
        wanted = (keys[0],)
        kept = decode(_compute_trim_keys([texts], types, (wanted, False), rows), ENCODED_DICT)
        assert same(kept, by_hand(texts, lambda cell: {key: value for key, value in cell.items() if key in wanted}))
        assert _compute_has([texts], types, (wanted, True), rows).to_pylist() == by_hand(texts, lambda cell: int(keys[0] in cell))
        places = _compute_slots([texts], types, (wanted,), rows)
        for kind in (INT, FLOAT, STR, ARRAY, ENCODED_LIST, ENCODED_DICT):
            check_slot(places, [None if cell is None else cell.get(keys[0]) for cell in cells], kind)
    for key_type in (STR, INT):
        if all(isinstance(key, key_type.python_class) for key in keys):
            values = [item for cell in cells if cell is not None for item in cell.values()]
            check_rows(texts, ENCODED_DICT, (key_type, ENCODED_LIST), [keys_of(cells), values])
            check_rows(texts, ENCODED_DICT, (key_type, FLOAT), [keys_of(cells), values])
    kinds = {key: frozenset(family_of(type(cell[key])) for cell in cells if cell is not None and cell.get(key) is not None) for key in keys}
    assert _kinds([texts], rows, types, ()) == kinds


def keys_of(cells: list[Any]) -> list[Any]:
    return [key for cell in cells if cell is not None for key in cell]


def check_slot(places: pa.Array, items: list[Any], wanted: ColumnType) -> None:
    """Items of one key as a column, or the error of who converts them one by one."""
    try:
        expected = encode_plain([construct_value(item, wanted.kind) for item in items], wanted)
    except SchemaError:
        with pytest.raises(ExecutionError):
            _compute_slot([places], [list_of(STR)], (0, wanted, True, None), len(items))
        return
    found = _compute_slot([places], [list_of(STR)], (0, wanted, True, None), len(items))
    assert same(decode(found, wanted), decode(expected, wanted))


def test_a_damaged_value_is_told_where_values_are_read() -> None:
    with pytest.raises(DamagedValueError):
        _compute_length([pa.array(["[[1],[2]"])], [ENCODED_LIST], (), 1)
