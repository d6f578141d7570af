"""What goes in comes out: encode, decode and recode lose nothing."""

from __future__ import annotations

import array
import datetime
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.errors import SchemaError
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STANDARD_TYPES, STR, ZONED_DATETIME, dict_of, list_of
from sframe_spark.values.arrow_to_python import decode, scalar_array
from sframe_spark.values.column_cast import canonical_text
from sframe_spark.values.python_to_arrow import encode, encode_plain, infer_type, recode
from tests.facts import same

ints = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))
naive = st.datetimes(datetime.datetime(2, 1, 1), datetime.datetime(9998, 12, 31))
moments = naive | st.tuples(naive, zones).map(lambda pair: pair[0].replace(tzinfo=pair[1]))
arrays = st.lists(st.floats(), max_size=3).map(lambda items: array.array("d", items))
scalars = st.none() | ints | st.floats() | texts | moments | arrays
keys = ints | texts
nested = st.recursive(
    scalars,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(keys, children, max_size=3),
    max_leaves=8,
)
COLUMNS: dict[str, Any] = {
    "int": ints,
    "float": st.floats(),
    "str": texts,
    "datetime": moments,
    "array": arrays,
    "list": st.lists(nested, max_size=3),
    "dict": st.dictionaries(keys, nested, max_size=3),
}


@pytest.mark.parametrize("kind", sorted(COLUMNS))
@given(data=st.data())
def test_decode_undoes_encode(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | COLUMNS[kind], max_size=5))
    column_type = ZONED_DATETIME if kind == "datetime" else STANDARD_TYPES[kind]
    stored = encode_plain(values, column_type)
    stored.validate(full=True)
    assert stored.type == column_type.physical
    assert same(decode(stored, column_type), values)


@pytest.mark.parametrize("kind", sorted(COLUMNS))
@given(data=st.data())
def test_decode_undoes_encode_with_the_inferred_type(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(COLUMNS[kind], min_size=1, max_size=5))
    column_type = infer_type(values)
    once = decode(encode(values, column_type), column_type)
    assert same(decode(encode(once, column_type), column_type), once)


@given(st.lists(st.none() | st.lists(st.none() | ints, max_size=3), max_size=4))
def test_recode_to_text_and_back_is_the_identity(values: list[list[int | None] | None]) -> None:
    native = list_of(INT)
    stored = encode_plain(values, native)
    text = recode(stored, native, ENCODED_LIST)
    assert recode(text, ENCODED_LIST, native).equals(stored)


@given(st.lists(st.dictionaries(texts, st.none() | st.floats(), max_size=3), max_size=4))
def test_native_dicts_keep_their_order(values: list[dict[str, float | None]]) -> None:
    native = dict_of(STR, FLOAT)
    got = decode(encode_plain(values, native), native)
    assert same(got, values)
    assert [list(cell) for cell in got] == [list(cell) for cell in values]


@given(nested, st.randoms())
def test_canonical_text_does_not_see_order_or_encoding(value: Any, random: Any) -> None:
    def shuffled(item: Any) -> Any:
        if isinstance(item, dict):
            pairs = list(item.items())
            random.shuffle(pairs)
            return {key: shuffled(child) for key, child in pairs}
        return [shuffled(child) for child in item] if isinstance(item, list) else item

    first, second = (encode_plain([[v]], ENCODED_LIST) for v in (value, shuffled(value)))
    assert canonical_text(first, ENCODED_LIST) == canonical_text(second, ENCODED_LIST)


def test_slices_and_scalars_of_arrays_decode_their_own_rows() -> None:
    columns = [
        ([array.array("d", [1.0]), None, array.array("d", [2.0, 3.0])], ARRAY),
        ([[1], None, [2]], list_of(INT)),
        ([{"a": 1}, None, {"b": 2}], dict_of(STR, INT)),
        ([datetime.datetime(2012, 1, 1, tzinfo=datetime.UTC), None, datetime.datetime(2013, 1, 1)], ZONED_DATETIME),
    ]
    for values, column_type in columns:
        assert same(decode(encode(values, column_type).slice(1, 2), column_type), values[1:])
        scalars = [scalar_array(encode(values, column_type)[row]) for row in range(3)]
        assert same([value for scalar in scalars for value in decode(scalar, column_type)], values)


def test_numpy_pandas_and_arrow_have_fast_ways_in() -> None:
    cases = [
        (np.arange(3), INT, [0, 1, 2]),
        (np.array([True, False]), INT, [1, 0]),
        (np.array([1.5, math.nan], dtype="float32"), FLOAT, [1.5, math.nan]),
        (np.array(["a", "b"]), STR, ["a", "b"]),
        (np.array([], dtype="U1"), STR, []),
        (np.array([2**63], dtype="uint64"), FLOAT, [2.0**63]),
        (pd.Series([1.5, None]), FLOAT, [1.5, math.nan]),
        (pd.Series([1, None], dtype="Int64"), INT, [1, None]),
        (pd.Series(["a", None], dtype="string"), STR, ["a", None]),
        (pd.Series(["a", "b"], dtype="category"), STR, ["a", "b"]),
        (pd.Series([{"a": 1}, None], dtype=object), dict_of(STR, INT), [{"a": 1}, None]),
        (array.array("i", [1, 2]), INT, [1, 2]),
        (range(2, 9, 3), INT, [2, 5, 8]),
        (pa.array(["x"], pa.large_string()), STR, ["x"]),
    ]
    for source, column_type, values in cases:
        assert infer_type(source) == column_type
        assert same(decode(encode(source, column_type), column_type), values)


def test_numpy_moments_are_utc() -> None:
    source = np.array(["2012-01-01", "NaT"], dtype="datetime64[D]")
    utc = datetime.UTC
    assert infer_type(source) == ZONED_DATETIME
    assert decode(encode(source, ZONED_DATETIME), ZONED_DATETIME) == [datetime.datetime(2012, 1, 1, tzinfo=utc), None]


def test_rows_that_cannot_be_converted_are_left_out_on_request() -> None:
    assert encode([1, "a", None, 2.5], INT, ignore_cast_failure=True).to_pylist() == [1, None, 2]
    with pytest.raises(SchemaError, match="row 1"):
        encode([1, "a"], INT)
    with pytest.raises(SchemaError):
        encode([1, object()], INT, ignore_cast_failure=True)


def test_a_target_that_loses_something_is_refused() -> None:
    with pytest.raises(SchemaError):
        recode(encode([[1.5]], ENCODED_LIST), ENCODED_LIST, list_of(INT))
    with pytest.raises(SchemaError):
        encode([datetime.datetime(2012, 1, 1, tzinfo=datetime.UTC)], DATETIME)
    with pytest.raises(SchemaError):
        recode(encode([{}], ENCODED_DICT), ENCODED_DICT, ENCODED_LIST)


@pytest.mark.parametrize("values", [{1, 2}, {1: 2}, b"ab", "ab", 5, None, np.array(5)])
def test_what_is_no_sequence_of_cells_is_refused(values: Any) -> None:
    with pytest.raises(SchemaError):
        infer_type(values)
