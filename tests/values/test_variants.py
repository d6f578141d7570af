"""VARIANTs are read as the library that PySpark brings writes them, and damaged or hostile bytes are refused."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import math
import random
import struct
import time
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark.api.interchange.from_spark import kinds_of_variants, may_widen, type_of_kinds, variant_column
from sframe_spark.errors import DateTimeRangeError, SchemaError
from sframe_spark.types import DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ZONED_DATETIME
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.spark_variant_decoding_and_json import MAX_NAME_BYTES, VariantType, variant_kind, variant_value
from tests.needs import VARIANTS

VariantUtils = pytest.importorskip("pyspark.sql.variant_utils", reason=f"needs {VARIANTS}").VariantUtils
VALUES = (type(None), bool, int, float, str, bytes, list, dict, datetime.date, decimal.Decimal)
NO_NAMES = b"\x01\x00\x00"


def primitive(code: int, content: bytes = b"") -> bytes:
    """A value without parts."""
    return bytes([code << 2]) + content


def made(value: Any) -> dict[str, bytes]:
    """A VARIANT of a JSON value."""
    content, names = VariantUtils.parse_json(json.dumps(value))
    return {"value": content, "metadata": names}


def array_of(cells: list[dict[str, bytes] | None]) -> pa.Array:
    return pa.array(cells, VariantType().storage_type)


numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | numbers | st.text(st.characters(codec="utf-8"), max_size=100),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=5),
    max_leaves=30,
)


@given(values)
def test_a_value_of_json_is_what_it_was(value: Any) -> None:
    parts = made(value)
    found = variant_value(parts["value"], parts["metadata"])
    assert found == value and json.dumps(found) == json.dumps(value)


def test_lengths_of_every_width() -> None:
    for value in (
        [1] * 255, [1] * 256, list(range(70_000)), {f"k{n}": n for n in range(300)}, {f"k{n}": "x" * 300 for n in range(300)},
        {f"k{n}": n for n in range(66_000)}, "é" * 40, "x" * 70_000,
        {"b": 1, "a": {"d": [2], "c": None}}, "", {"": ""},
    ):  # fmt: skip
        parts = made(value)
        found = variant_value(parts["value"], parts["metadata"])
        # The order of the fields of the JSON, though Spark keeps them sorted.
        assert found == value and json.dumps(found) == json.dumps(value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (primitive(0), None), (primitive(1), 1), (primitive(2), 0), (primitive(3, b"\x80"), -128), (primitive(6, b"\xff" * 8), -1),
        (primitive(7, struct.pack("<d", -0.0)), -0.0), (primitive(14, struct.pack("<f", 0.5)), 0.5),
        (primitive(7, struct.pack("<d", math.inf)), math.inf),
        (primitive(8, b"\x00\x05\x00\x00\x00"), 5), (primitive(8, b"\x01\x0a\x00\x00\x00"), 1.0),
        (primitive(9, b"\x00" + (10**18 - 1).to_bytes(8, "little")), 10**18 - 1),
        (primitive(10, b"\x00" + (10**38 - 1).to_bytes(16, "little")), 1e38),
        (primitive(10, b"\x26" + (10**38 - 1).to_bytes(16, "little", signed=True)), float(decimal.Decimal(10**38 - 1).scaleb(-38))),
        (primitive(11, b"\xff\xff\xff\xff"), datetime.datetime(1969, 12, 31)),
        (primitive(12, b"\x01" + b"\x00" * 7), datetime.datetime(1970, 1, 1, 0, 0, 0, 1, datetime.UTC)),
        (primitive(13, b"\xff" * 8), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        (primitive(15, b"\x01\x00\x00\x00a"), "a"), (primitive(20, bytes(15) + b"\x01"), "00000000-0000-0000-0000-000000000001"),
    ],
)  # fmt: skip
def test_values_without_parts(content: bytes, expected: Any) -> None:
    found = variant_value(content, NO_NAMES)
    assert repr(found) == repr(expected)
    # The two first bytes tell the same.
    kind = {type(None): "missing", datetime.datetime: "datetime"}.get(type(expected), type(expected).__name__)
    assert variant_kind(content[:2]) == ("zoned" if getattr(expected, "tzinfo", None) else kind)


BOMB = b"\x00"
for _ in range(60):
    # A list whose two items are both what follows.
    BOMB = b"\x03\x02\x00\x00\xff" + BOMB

DAMAGED = {
    "no bytes": (b"", NO_NAMES),
    "an int of three bytes": (primitive(5, b"\x01\x02\x03"), NO_NAMES),
    "a text that is longer than all": (primitive(16, b"\xff\xff\xff\xff"), NO_NAMES),
    "a text that is not UTF-8": (b"\x05\xff", NO_NAMES),
    "four billion items": (b"\x1f\xff\xff\xff\xff", NO_NAMES),
    "an item behind the end": (b"\x03\x01\xf0\xf1\x00", NO_NAMES),
    "a decimal of 200 digits": (primitive(8, b"\xc8\x05\x00\x00\x00"), NO_NAMES),
    "items that stand for several": (BOMB, NO_NAMES),
    "a name that is not there": (b"\x02\x01\x07\x00\x01\x00", b"\x01\x01\x00\x01a"),
    "a name of no bytes": (b"\x02\x01\x00\x00\x01\x00", b""),
    "a name that ends before it starts": (b"\x02\x01\x00\x00\x01\x00", b"\x01\x01\x01\x00a"),
    "a name that is not UTF-8": (b"\x02\x01\x00\x00\x01\x00", b"\x01\x01\x00\x01\xff"),
    "a name twice": (b"\x02\x02\x00\x00\x00\x01\x02\x00\x00", b"\x01\x01\x00\x01a"),
    "names of another version": (b"\x02\x01\x00\x00\x01\x00", b"\x02\x01\x00\x01a"),
    "more names than bytes": (b"\x02\x01\x00\x00\x01\x00", b"\xc1\xff\xff\xff\xff"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_bytes_are_refused(what: str) -> None:
    started = time.monotonic()
    with pytest.raises(SchemaError, match=r"a VARIANT is damaged: .*; write it again"):
        variant_value(*DAMAGED[what])
    assert time.monotonic() - started < 2


def test_names_that_stand_for_many_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_NAME_BYTES == 1 << 30
    monkeypatch.setattr("sframe_spark.values.spark_variant_decoding_and_json.MAX_NAME_BYTES", 5_000)
    parts = made([{"k" * 1_000: 1}] * 5)
    assert len(variant_value(parts["value"], parts["metadata"])) == 5
    parts = made([{"k" * 1_000: 1}] * 6)
    with pytest.raises(SchemaError, match="keys of a VARIANT take more than"):
        variant_value(parts["value"], parts["metadata"])


def test_levels() -> None:
    deepest: Any = 1
    for _ in range(200):
        deepest = [deepest]
    parts = made(deepest)
    assert variant_value(parts["value"], parts["metadata"]) == deepest
    parts = made([deepest])
    with pytest.raises(SchemaError, match="more than 200 lists and dicts"):
        variant_value(parts["value"], parts["metadata"])


@pytest.mark.parametrize(
    ("content", "error", "told"),
    [
        (primitive(11, b"\xff\xff\xff\x7f"), DateTimeRangeError, "years 1 to 9999"),
        (primitive(12, b"\xff" * 7 + b"\x7f"), DateTimeRangeError, "years 1 to 9999"),
        (primitive(15, b"\x01\x00\x00\x00\xff"), SchemaError, "binary values are not UTF-8"),
        (primitive(18, bytes(8)), SchemaError, "kind number 18"),
        (primitive(63), SchemaError, "kind number 63"),
    ],
)
def test_what_no_column_holds_is_refused(content: bytes, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        variant_value(content, NO_NAMES)


@given(st.binary(max_size=60), st.binary(max_size=20))
def test_any_bytes_give_a_value_or_an_error_of_ours(content: bytes, names: bytes) -> None:
    with contextlib.suppress(SchemaError, DateTimeRangeError):
        assert isinstance(variant_value(content, names), VALUES)


def test_changed_bytes_give_a_value_or_an_error_of_ours() -> None:
    drawn = random.Random(7)
    parts = made({"a": [1, {"b": "x" * 70, "c": [1.5, None, True]}], "d": {"a": {}}})
    refused = 0
    for _ in range(3_000):
        content, names = bytearray(parts["value"]), bytearray(parts["metadata"])
        for part in (content, names):
            part[drawn.randrange(len(part))] = drawn.randrange(256)
        try:
            variant_value(bytes(content), bytes(names))
        except (SchemaError, DateTimeRangeError):
            refused += 1
    assert 0 < refused < 3_000


KINDS = {
    frozenset({"int"}): INT, frozenset({"int", "float"}): FLOAT, frozenset({"float"}): FLOAT, frozenset({"str"}): STR,
    frozenset({"list"}): ENCODED_LIST,
    frozenset({"dict"}): ENCODED_DICT, frozenset({"datetime"}): DATETIME, frozenset({"datetime", "zoned"}): ZONED_DATETIME,
    frozenset({"zoned"}): ZONED_DATETIME, frozenset(): FLOAT,
}  # fmt: skip


def test_the_type_of_kinds() -> None:
    assert {kinds: type_of_kinds(kinds) for kinds in KINDS} == KINDS
    for mixed in ({"int", "str"}, {"dict", "list"}, {"zoned", "str"}, {"int", "datetime"}, {"float", "list"}, {"number 18"}):
        with pytest.raises(SchemaError, match=r"try_variant_get\(\.\.\., '\$', '.*'\)"):
            type_of_kinds(mixed)


@given(st.sets(st.sampled_from(["int", "float", "str", "list", "dict", "datetime", "zoned"]), max_size=2), st.sampled_from(["int", "float", "zoned"]))
def test_only_kinds_that_cannot_widen_are_settled(kinds: set[str], other: str) -> None:
    """What the first rows settle is the type with further rows, or there is none."""
    try:
        settled = None if may_widen(kinds) else type_of_kinds(kinds)
        wider = type_of_kinds({*kinds, other})
    except SchemaError:
        return
    assert settled in (None, wider)


def test_a_column() -> None:
    cells = [made({"b": [1, 2], "a": None}), None, made(None), made({})]
    assert kinds_of_variants(array_of(cells)).to_pylist() == ["dict", None, None, "dict"]
    found = variant_column(array_of(cells), ENCODED_DICT)
    assert repr(decode(found, ENCODED_DICT)) == "[{'b': array('d', [1.0, 2.0]), 'a': None}, None, None, {}]"
    assert decode(variant_column(array_of([made([1, 2]), made([])]), ENCODED_LIST), ENCODED_LIST) == [[1, 2], []]
    assert variant_column(array_of([made(1), made(1.5)]), FLOAT).to_pylist() == [1.0, 1.5]
    assert variant_column(array_of([]), INT).to_pylist() == [] and variant_column(array_of([None]).slice(1), STR).to_pylist() == []
    for other, column_type in (("1", INT), (1.5, INT), ([], ENCODED_DICT), ({}, FLOAT), (1, STR), (1, ZONED_DATETIME)):
        with pytest.raises(SchemaError, match=r"some of its VARIANTs are .*, but the first ones, which determined its type, were "):
            variant_column(array_of([None, made(other)]), column_type)


def test_columns_with_variants_of_no_bytes_are_damaged_whatever_the_others_are() -> None:
    for kinds in ({"damaged"}, {"damaged", "int"}, {"damaged", "dict", "str"}):
        with pytest.raises(SchemaError, match="a VARIANT is damaged: it has no bytes"):
            type_of_kinds(kinds)
    cells = array_of([made(1), {"value": b"", "metadata": NO_NAMES}, made("a")])
    assert kinds_of_variants(cells).to_pylist() == ["int", "damaged", "str"]
    with pytest.raises(SchemaError, match="a VARIANT is damaged: it has no bytes"):
        variant_column(cells, INT)
