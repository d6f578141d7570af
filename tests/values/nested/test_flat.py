"""What is done for all values of a batch at once is what is done for each by itself."""

from __future__ import annotations

import array
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sframe_spark.api.io.csv.writer import nested_text
from sframe_spark.types import ARRAY, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values import single_value_conversion
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.column_cast import cast_array
from sframe_spark.values.export_to_arrow_and_json import compact_json_text
from sframe_spark.values.nested import (
    json_item_splitting_and_joining as json_items,
    python_and_tagged_json as python_cells,
    tagged_json_patterns_and_splitting as json_patterns,
    text_and_json_to_columns,
    text_writer,
)
from sframe_spark.values.nested.float_and_datetime_text import brief_floats, compared_floats, display_floats, exact_floats
from sframe_spark.values.python_to_arrow import encode_plain
from sframe_spark.values.single_value_conversion import list_to_array
from sframe_spark.values.tagged_json_display_and_canonical_text import (
    canonical_value,
    decode_value,
    display_text,
    encode_value,
    exact_float_text,
    float_text,
)
from tests.examples import examples

INTS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-5, 5))
FLOATS = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1e15, 1e16, 1e22, 123456.5, 999999.5, 1e6, 2.0**63, -(2.0**63)]))
TEXTS = st.one_of(st.text(max_size=5), st.sampled_from(["", "null", "],[", '"', "\\", "a,b", "é", "日本", "\n", "$dict", "it's"]))
SCALARS = st.one_of(st.none(), INTS, FLOATS, TEXTS)
KEYS = st.one_of(TEXTS, INTS)
LISTS = st.lists(SCALARS, max_size=4)
DICTS = st.dictionaries(KEYS, SCALARS, max_size=4)
ONE_KIND = [st.lists(st.one_of(st.none(), items), max_size=4) for items in (INTS, FLOATS, TEXTS)]
DICTS_OF_ONE_KIND = [st.dictionaries(keys, st.one_of(st.none(), items), max_size=4) for keys in (INTS, TEXTS) for items in (INTS, FLOATS, TEXTS)]
NESTED = st.one_of(LISTS, DICTS, st.lists(LISTS, max_size=2), st.just([array.array("d", [1.5])]))


def same(left: Any, right: Any) -> bool:
    """Equal values of equal classes, NaN too."""
    return repr(left) == repr(right)


def rows(cells: Any) -> Any:
    return st.lists(st.one_of(st.none(), cells), max_size=6)


@given(st.one_of(*map(rows, [LISTS, DICTS, *ONE_KIND, *DICTS_OF_ONE_KIND])))
@settings(max_examples=examples(100))
def test_stored_texts_are_those_of_each_value(cells: list[Any]) -> None:
    kind = "dict" if any(isinstance(cell, dict) for cell in cells) else "list"
    alone = [None if cell is None else encode_value(cell) for cell in cells]
    found = python_cells.stored_cells(cells, kind)
    assert found is None or found.to_pylist() == alone
    texts = pa.array(alone, pa.string())
    assert same(decode(texts, ENCODED_DICT if kind == "dict" else ENCODED_LIST), [None if text is None else decode_value(text) for text in alone])


@given(st.sampled_from([*enumerate(ONE_KIND), *enumerate(DICTS_OF_ONE_KIND, 3)]), st.data())
@settings(max_examples=examples(100))
def test_native_values_and_stored_ones_become_each_other(chosen: tuple[int, Any], data: Any) -> None:
    place, strategy = chosen
    column_type = [*map(list_of, (INT, FLOAT, STR)), *(dict_of(key, item) for key in (INT, STR) for item in (INT, FLOAT, STR))][place]
    cells = data.draw(rows(strategy))
    native = encode_plain(cells, column_type)
    alone = [None if cell is None else encode_value(cell) for cell in cells]
    part = native.slice(1)
    for values, texts in ((native, alone), (part, alone[1:])):
        found = json_items.stored_lists(values)
        assert found is None or found.to_pylist() == texts
        items = json_items.flat_items(pa.array(texts, pa.string()), column_type.kind)
        if items is not None and (typed := items.natively()) is not None:
            assert not items.counts.any() or (typed[1] == column_type and typed[0].equals(pa.concat_arrays([values])))
        assert same(decode(values, column_type), cells[len(cells) - len(values) :])


@given(rows(NESTED))
@settings(max_examples=examples(100))
def test_shown_and_compared_texts_are_those_of_each_value(cells: list[Any]) -> None:
    for kind, column_type in ((list, ENCODED_LIST), (dict, ENCODED_DICT)):
        chosen = [cell for cell in cells if cell is None or type(cell) is kind]
        check_written(encode_plain(chosen, column_type), column_type, chosen)


@given(st.sampled_from([*enumerate(ONE_KIND), *enumerate(DICTS_OF_ONE_KIND, 3)]), st.data())
@settings(max_examples=examples(100))
def test_texts_of_native_values_are_those_of_each_value(chosen: tuple[int, Any], data: Any) -> None:
    place, strategy = chosen
    column_type = [*map(list_of, (INT, FLOAT, STR)), *(dict_of(key, item) for key in (INT, STR) for item in (INT, FLOAT, STR))][place]
    cells = data.draw(rows(strategy))
    check_written(encode_plain(cells, column_type), column_type, cells)


@given(rows(st.lists(FLOATS, max_size=4).map(lambda items: array.array("d", items))))
def test_texts_of_arrays_are_those_of_each_array(cells: list[Any]) -> None:
    check_written(encode_plain(cells, ARRAY), ARRAY, cells)


def csv_text(value: Any) -> str:
    """A value in CSV, without quotes around it."""
    return f"[{' '.join(map(exact_float_text, value))}]" if isinstance(value, array.array) else nested_text(value)


FORMS = [
    (text_writer.DISPLAY, display_text),
    (text_writer.CANONICAL, canonical_value),
    (text_writer.IN_CSV, csv_text),
    (text_writer.IN_JSON, compact_json_text),
]


def check_written(values: pa.Array, column_type: ColumnType, cells: list[Any]) -> None:
    """By all forms."""
    for form, alone in FORMS:
        found = text_writer.written(values, column_type, form)
        assert found is None or found.to_pylist() == [None if cell is None else alone(cell) for cell in cells]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("character", [*map(chr, range(32)), *'"/\\', "\x7f", "\x80", "\x85", "\xa0", "\u2028", "\ufeff"])
def test_each_character_is_written_as_in_a_value_alone(character: str) -> None:
    strings = [character, character * 2, f"a\\{character}", f"{character}f"]
    mapping = {text: text for text in strings}
    for cells, types in ([strings], [list_of(STR), ENCODED_LIST]), ([mapping], [dict_of(STR, STR), ENCODED_DICT]):
        for column_type in types:
            values = encode_plain(cells, column_type)
            for form, alone in FORMS:
                found = text_writer.written(values, column_type, form)
                assert found is not None and found.to_pylist() == list(map(alone, cells))


@given(st.lists(st.one_of(st.none(), FLOATS), max_size=30))
@settings(max_examples=examples(100))
def test_floats_are_written_as_each_is(numbers: list[float | None]) -> None:
    values = pa.array(numbers, pa.float64())
    for write, alone in (
        (display_floats, float_text),
        (compared_floats, canonical_value),
        (exact_floats, float.__repr__),
        (brief_floats, exact_float_text),
    ):
        assert write(values).to_pylist() == [None if number is None else alone(number) for number in numbers]


PIECES = (*"[]{},: '\"\\\t", ", ", ": ", "1", "-2", "007", "2.5", "-0.0", "1e5", "1e400", ".5", "a", '"a"', '"b c"', "'a'", "null")
WELL_FORMED = [
    *('{"a": 1, "b": 2.5}', "{'a': 1, 'b': 'x, y'}", '{"a":1,"a":2}', "{}", "{1: 2}", "{'a': None}", '{"a" : 1}', '{"a": "b\\n"}'),
    *("[]", "[1, 2]", "['a', 'b']", '["a","b, c"]', "[1 2 3]", "[1.5;2]", '["it\'s"]', '["1, 2", 3]', '[{"a": 1}]', "[-0]", "[00]"),
    *('{"a": 123456789012345678901}', " [1]", "[1] x", "[1, ]"),
]


@given(st.lists(st.one_of(st.none(), st.sampled_from(WELL_FORMED), st.lists(st.sampled_from(PIECES), max_size=9).map("".join)), max_size=8))
@settings(max_examples=examples(200))
def test_users_texts_are_read_as_each_is(texts: list[str | None]) -> None:
    values = pa.array(texts, pa.string())
    for target, alone in (
        (ENCODED_LIST, single_value_conversion.parse_list),
        (ENCODED_DICT, single_value_conversion.parse_dict),
        (ARRAY, single_value_conversion.parse_array),
    ):
        found = decode(cast_array(values, STR, target, undefined_on_failure=True), target)
        assert same(found, [None if text is None else alone(text) for text in texts])


@pytest.mark.parametrize(("texts", "kind"), [(["{'a': 1, 'b': 'x'}", '{"a":2.5}', None, "{}"], "dict"), (['["x", 1]', "[2.5,'']", "[]"], "list")])
def test_texts_of_the_usual_kind_are_read_at_once(texts: list[str | None], kind: str) -> None:
    assert text_and_json_to_columns.read_stored(pa.array(texts), kind)[1].to_pylist() == [text is not None for text in texts]


@given(rows(st.lists(st.one_of(st.none(), INTS, FLOATS), max_size=4)))
def test_lists_become_arrays_as_each_does(cells: list[Any]) -> None:
    values = encode_plain(cells, ENCODED_LIST)
    found = decode(cast_array(values, ENCODED_LIST, ARRAY), ARRAY)
    assert same(found, [None if cell is None else list_to_array(cell) for cell in cells])
    whole = [None if cell is None else [item for item in cell if isinstance(item, int)] for cell in cells]
    native = encode_plain(whole, list_of(INT))
    assert same(decode(cast_array(native, list_of(INT), ARRAY), ARRAY), [None if cell is None else list_to_array(cell) for cell in whole])


def test_parts_of_texts() -> None:
    data, bounds = json_patterns.bytes_of(pa.array(["xx", "[1,2]", "[3]"]).slice(1))
    assert bytes(data) == b"[1,2][3]" and bounds.tolist() == [0, 5, 8]
    assert json_patterns.bytes_of(pa.array([], pa.string()))[1].tolist() == [0]


def test_a_number_beyond_the_largest_float_is_read_alone() -> None:
    assert json_items.flat_items(pa.array(["[1e300]"]), "list") is None
    assert math.isinf(decode(pa.array(["[1e400]"]), ENCODED_LIST)[0][0])
