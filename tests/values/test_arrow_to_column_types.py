"""Arrow arrays of any type become columns."""

from __future__ import annotations

import array
import datetime
import decimal
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.errors import SchemaError
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ZONED_DATETIME, ColumnType, dict_of, list_of
from sframe_spark.values.arrow_to_column_types import arrow_column_type, normalize
from sframe_spark.values.arrow_to_python import decode
from tests.facts import same

DAY = datetime.datetime(2012, 7, 1)
PARIS_SUMMER = datetime.timezone(datetime.timedelta(hours=2))
UTC = datetime.UTC
pairs = pa.struct([("a", pa.int8()), ("b", pa.int64())])

CASES: list[tuple[pa.Array, ColumnType, list[Any]]] = [
    (pa.array([1, None], pa.int8()), INT, [1, None]),
    (pa.array([7], pa.uint64()), INT, [7]),
    (pa.array([True, None]), INT, [1, None]),
    (pa.array([1.5, None], pa.float32()), FLOAT, [1.5, None]),
    (pa.array([1.5], pa.float64()).cast(pa.float16()), FLOAT, [1.5]),
    (pa.array([decimal.Decimal("1.25"), None]), FLOAT, [1.25, None]),
    (pa.nulls(2), FLOAT, [None, None]),
    (pa.array(["é", None], pa.large_string()), STR, ["é", None]),
    (pa.array([b"x"], pa.binary()), STR, ["x"]),
    (pa.array(["a", "b", "a", None]).dictionary_encode(), STR, ["a", "b", "a", None]),
    (pa.array([DAY.date(), None]), DATETIME, [DAY, None]),
    (pa.array([DAY], pa.timestamp("s")), DATETIME, [DAY]),
    (pa.array([1, None], pa.timestamp("ns")), DATETIME, [datetime.datetime(1970, 1, 1), None]),
    (pa.array([DAY, None], pa.timestamp("ms", "UTC")), ZONED_DATETIME, [DAY.replace(tzinfo=UTC), None]),
    (
        pa.array([DAY], pa.timestamp("us", "Europe/Paris")),
        ZONED_DATETIME,
        [datetime.datetime(2012, 7, 1, 2, tzinfo=PARIS_SUMMER)],
    ),
    (pa.array([datetime.timedelta(days=1), None]), FLOAT, [86400.0, None]),
    (pa.array([datetime.time(1, 0, 1)]), FLOAT, [3601.0]),
    (pa.array([[1, None], None, []], pa.list_(pa.int16())), list_of(INT), [[1, None], None, []]),
    (pa.array([["a"]], pa.large_list(pa.large_string())), list_of(STR), [["a"]]),
    (
        pa.array([[1.5, None], None], pa.list_(pa.float32())),
        ARRAY,
        [array.array("d", [1.5, float("nan")]), None],
    ),
    (pa.array([[1.0, 2.0]], pa.list_(pa.float64(), 2)), ARRAY, [array.array("d", [1.0, 2.0])]),
    (pa.array([[[1, 2]], None]), ENCODED_LIST, [[array.array("d", [1.0, 2.0])], None]),
    (pa.array([{"a": 1, "b": None}, None], pairs), dict_of(STR, INT), [{"a": 1, "b": None}, None]),
    (pa.array([{"a": 1, "b": "x"}]), ENCODED_DICT, [{"a": 1, "b": "x"}]),
    (
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())),
        dict_of(STR, INT),
        [{"k": 1}, None],
    ),
    (
        pa.array([[("k", ["v"])]], pa.map_(pa.string(), pa.list_(pa.string()))),
        ENCODED_DICT,
        [{"k": ["v"]}],
    ),
]


@pytest.mark.parametrize(("source", "column_type", "values"), CASES, ids=[str(case[0].type) for case in CASES])
def test_every_arrow_type_has_a_column_type(source: pa.Array, column_type: ColumnType, values: list[Any]) -> None:
    got, got_type = normalize(source)
    got.validate(full=True)
    assert (got.type, got_type) == (column_type.physical, column_type)
    assert arrow_column_type(source.type) == column_type
    assert same(decode(got, column_type), values)
    chunked, _ = normalize(pa.chunked_array([source, source]))
    assert same(decode(chunked, column_type), values * 2)
    sliced, _ = normalize(source.slice(len(source) - 1))
    assert same(decode(sliced, column_type), values[-1:])


def test_what_no_column_holds_is_refused() -> None:
    with pytest.raises(SchemaError):
        normalize(pa.array([2**64 - 1], pa.uint64()))
    with pytest.raises(SchemaError):
        normalize(pa.array([b"\xff"], pa.binary()))
    with pytest.raises(SchemaError):
        arrow_column_type(pa.month_day_nano_interval())


NAMES = pa.field("metadata", pa.binary(), nullable=False)


@pytest.mark.parametrize(
    "stored",
    [
        pa.struct([NAMES, pa.field("value", pa.binary(), nullable=False)]),
        pa.struct([("value", pa.large_binary()), NAMES]),
        pa.struct([NAMES, ("value", pa.binary()), ("typed_value", pa.int64())]),
        pa.struct([NAMES, ("typed_value", pa.struct([("a", pa.struct([("value", pa.binary())]))]))]),
    ],
)
def test_stored_variants_are_no_dicts_of_their_bytes(stored: pa.DataType) -> None:
    for data_type in (stored, pa.list_(stored), pa.struct([("x", stored), ("y", pa.int64())]), pa.map_(pa.string(), stored)):
        with pytest.raises(SchemaError, match="VARIANTs, which only Spark can read"):
            normalize(pa.nulls(1, data_type))
    # A user's own columns of such names.
    assert arrow_column_type(pa.struct([("metadata", pa.binary()), ("value", pa.binary())])) == dict_of(STR, STR)
    assert arrow_column_type(pa.struct([NAMES])) == dict_of(STR, STR)
    assert arrow_column_type(pa.struct([NAMES, ("value", pa.binary()), ("topic", pa.string())])) == dict_of(STR, STR)


@pytest.mark.parametrize("key", [pa.list_(pa.string()), pa.list_(pa.float64()), pairs, pa.map_(pa.string(), pa.int64())], ids=str)
def test_dicts_with_lists_or_dicts_as_keys_are_refused(key: pa.DataType) -> None:
    held = pa.map_(key, pa.int64())
    for data_type in (held, pa.list_(held), pa.struct([("m", held), ("n", pa.string())]), pa.map_(pa.string(), held)):
        with pytest.raises(SchemaError, match="cannot have lists or dicts as keys"):
            arrow_column_type(data_type)
