"""Fields that Arrow writes are those that are written value by value, whatever the dialect and the value."""

from __future__ import annotations

import array
import datetime
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st

from sframe_spark.api.io.csv import writer as texts
from sframe_spark.api.io.csv.writer import ColumnWriter, CsvFormat, lines_of, special_pattern
from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, dict_of, list_of
from sframe_spark.values.nested import float_and_datetime_text
from sframe_spark.values.nested.conversion_of_repeated_values import int_texts
from sframe_spark.values.nested.float_and_datetime_text import brief_floats
from sframe_spark.values.python_to_arrow import encode_plain
from sframe_spark.values.tagged_json_display_and_canonical_text import exact_float_text
from tests.examples import examples

MARKS = ["", ",", ";", '"', "'", "\\", "\n", "\r\n", "\t", "[", "{", " ", "|", "é", "a", "1", "::", "]", ".", "\ufeff"]


@st.composite
def forms(draw: Any) -> CsvFormat:
    options: dict[str, Any] = {
        "delimiter": draw(st.sampled_from([",", ",", "\t", ";", "::", "a", "1", " ", "é", "|"])),
        "line_terminator": draw(st.sampled_from(["\n", "\n", "\r\n", "<>\n", "x"])),
        "quote_level": draw(st.integers(0, 3)),
        "double_quote": draw(st.booleans()),
        "escape_char": draw(st.sampled_from(["\\", "", "^"])),
        "quote_char": draw(st.sampled_from(['"', "'", "", "1"])),
        "na_rep": draw(st.sampled_from(["", "NA", " ", "a,b", "1"])),
        "line_prefix": draw(st.sampled_from(["", ",", "é"])),
    }
    try:
        return CsvFormat(**options)
    except InvalidArgumentError:
        return CsvFormat()


TEXTS = st.lists(st.sampled_from([*MARKS, "x", "\u2003", "\x1f", "日", "b"]), max_size=4).map("".join)
BITS = st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("d", struct.pack("Q", bits))[0])
# Arithmetic with it warns of an invalid value.
SIGNALLING_NAN = struct.unpack("d", struct.pack("Q", 0x7FF0000000000001))[0]
FLOATS = st.one_of(st.floats(), BITS, st.sampled_from([0.0, -0.0, 1e9, 1e10, 999999999.9999999, 1e-4, 9.99e-5, 1e15, 1e16, 123456789.0, 2.0]))
DATES = st.datetimes() | st.datetimes().map(lambda value: value.replace(microsecond=0))
INTS = st.integers(-(2**63), 2**63 - 1)
ITEMS = st.none() | INTS | FLOATS | TEXTS
VALUES = {
    STR: TEXTS,
    FLOAT: FLOATS,
    INT: INTS,
    DATETIME: DATES,
    ARRAY: st.lists(FLOATS, max_size=3).map(lambda items: array.array("d", items)),
    list_of(STR): st.lists(st.none() | TEXTS, max_size=3),
    dict_of(INT, FLOAT): st.dictionaries(INTS, st.none() | FLOATS, max_size=3),
    ENCODED_LIST: st.lists(ITEMS | st.lists(ITEMS, max_size=2), max_size=3),
    ENCODED_DICT: st.dictionaries(TEXTS, ITEMS, max_size=3),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", VALUES, ids=str)
@pytest.mark.parametrize("seem_repeated", [False, True])
def test_fields_are_the_same(kind: Any, seem_repeated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (texts, float_and_datetime_text):
        monkeypatch.setattr(module, "seem_repeated", lambda _: seem_repeated)

    @given(form=forms(), values=st.lists(st.none() | VALUES[kind], max_size=6), is_alone=st.booleans(), offset=st.integers(0, 2))
    def check(form: CsvFormat, values: list[Any], is_alone: bool, offset: int) -> None:
        column = encode_plain(values, kind)[offset:]
        writer = ColumnWriter(form, kind, "x", is_alone)
        expected = writer._one_by_one(column).to_pylist()
        assert writer.fields(column, 0).to_pylist() == expected
        fields = writer.fields(column, 0)
        lines = "".join(form.line_prefix + form.delimiter.join([field] * 2) + form.line_terminator for field in expected)
        for are_plain in {False, writer.are_plain(fields)}:
            assert b"".join(lines_of([fields] * 2, form, are_plain)).decode() == lines

    check()


@pytest.mark.parametrize("least", [0, -3, 2**63 - 5, -(2**63)])
def test_ints_of_which_few_are_different_are_written_as_one_by_one(least: int) -> None:
    values = [least + number % 5 if number % 3 else None for number in range(60)]
    column = pa.array(values, pa.int64())
    assert int_texts(column[1:]).to_pylist() == [None if value is None else str(value) for value in values[1:]]


def test_many_values_of_which_few_are_different_are_written_as_few() -> None:
    few = [0.0, -0.0, 1.5, float("nan"), 1e6, 1234567.0, None, 0.1]
    assert brief_floats(pa.array(few * 5000)).to_pylist() == brief_floats(pa.array(few)).to_pylist() * 5000
    marked = ["a,b", "plain", "", None, 'say "x"', "[1", " x", "é"]
    writer = ColumnWriter(CsvFormat(), STR, "x", False)
    assert writer.fields(pa.array(marked * 5000), 0).to_pylist() == writer._one_by_one(pa.array(marked)).to_pylist() * 5000


@given(st.lists(FLOATS, max_size=examples(200)))
@example([1e6, 1e6 + 1, 1e6 + 10, 999999.0, 1234560.0, 2.0, -0.0, 0.0, 1e9, 1e15, 1e-4, 2.0**53, SIGNALLING_NAN])
def test_floats_are_written_as_one_by_one_and_read_as_the_same(values: list[float]) -> None:
    found = brief_floats(pa.array(values, pa.float64())).to_pylist()
    assert found == list(map(exact_float_text, values))
    assert list(map(repr, map(float, found))) == list(map(repr, values))


def test_plain_texts_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = ColumnWriter(CsvFormat(), STR, "x", False)
    monkeypatch.setattr(CsvFormat, "writer_of", lambda *_: pytest.fail("one by one"))
    nested = ColumnWriter(CsvFormat(), ENCODED_DICT, "x", False).fields(encode_plain([{"a": 1, "b": "x"}, None], ENCODED_DICT), 0)
    assert nested.to_pylist() == ['"{""a"":1,""b"":""x""}"', ""]
    plain = pa.array(["plain", "a b", "naïve", "日本", "x-1.5", "(x)"])
    assert writer.fields(plain, 0).to_pylist() == plain.to_pylist()
    assert writer.fields(pa.array(["a,b", " x", "", "\t"]), 0).to_pylist() == ['"a,b"', '" x"', '""', '"\\t"']
    assert special_pattern(CsvFormat()) is special_pattern(CsvFormat())


def test_dates_that_python_cannot_show_are_told_with_their_row() -> None:
    far = pa.array([0, 2**62], pa.timestamp("us"))
    with pytest.raises(DateTimeRangeError, match=r"column 'when', row 8: "):
        ColumnWriter(CsvFormat(), DATETIME, "when", False).fields(far, 7)
    with pytest.raises(DateTimeRangeError, match=r"column 'when': "):
        ColumnWriter(CsvFormat(), DATETIME, "when", False).fields(far, None)
    first = datetime.datetime(1, 1, 1)
    assert ColumnWriter(CsvFormat(), DATETIME, "when", False).fields(pa.array([first]), 0).to_pylist() == ['"00010101T000000"']
