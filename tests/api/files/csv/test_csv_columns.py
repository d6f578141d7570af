"""Fields that Arrow writes are those that are written value by value, whatever the dialect and the value."""

from __future__ import annotations

import array
import datetime
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sframe_spark.api.files.csv.columns import ColumnWriter, lines_of, special_texts
from sframe_spark.api.files.csv.format import CsvFormat
from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError
from sframe_spark.types import ARRAY, DATETIME, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, dict_of, list_of
from sframe_spark.values.encode import encode_plain
from sframe_spark.values.flat.floats import brief_floats
from sframe_spark.values.text import exact_float_text
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


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_fields_are_the_same(kind: Any) -> None:
    @given(form=forms(), values=st.lists(st.none() | VALUES[kind], max_size=6), is_alone=st.booleans(), offset=st.integers(0, 2))
    def check(form: CsvFormat, values: list[Any], is_alone: bool, offset: int) -> None:
        column = encode_plain(values, kind)[offset:]
        writer = ColumnWriter(form, kind, "x", is_alone)
        expected = writer._one_by_one(column).to_pylist()
        assert writer.fields(column, 0).to_pylist() == expected
        lines = bytes(lines_of([writer.fields(column, 0)] * 2, form))
        assert lines.decode() == "".join(form.line_prefix + form.delimiter.join([field] * 2) + form.line_terminator for field in expected)

    check()


@given(st.lists(FLOATS, max_size=examples(200)))
@example([1e6, 1e6 + 1, 1e6 + 10, 999999.0, 1234560.0, 2.0, -0.0, 0.0, 1e9, 1e15, 1e-4, 2.0**53, SIGNALLING_NAN])
def test_floats_are_written_as_one_by_one_and_read_as_the_same(values: list[float]) -> None:
    texts = brief_floats(pa.array(values, pa.float64())).to_pylist()
    assert texts == list(map(exact_float_text, values))
    assert list(map(repr, map(float, texts))) == list(map(repr, values))


def test_plain_texts_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = ColumnWriter(CsvFormat(), STR, "x", False)
    monkeypatch.setattr(CsvFormat, "writer_of", lambda *_: pytest.fail("one by one"))
    nested = ColumnWriter(CsvFormat(), ENCODED_DICT, "x", False).fields(encode_plain([{"a": 1, "b": "x"}, None], ENCODED_DICT), 0)
    assert nested.to_pylist() == ['"{""a"":1,""b"":""x""}"', ""]
    texts = pa.array(["plain", "a b", "naïve", "日本", "x-1.5", "(x)"])
    assert writer.fields(texts, 0).to_pylist() == texts.to_pylist()
    assert special_texts(CsvFormat()) is special_texts(CsvFormat())


def test_dates_that_python_cannot_show_are_told_with_their_row() -> None:
    far = pa.array([0, 2**62], pa.timestamp("us"))
    with pytest.raises(DateTimeRangeError, match=r"column 'when', row 8: "):
        ColumnWriter(CsvFormat(), DATETIME, "when", False).fields(far, 7)
    with pytest.raises(DateTimeRangeError, match=r"column 'when': "):
        ColumnWriter(CsvFormat(), DATETIME, "when", False).fields(far, None)
    first = datetime.datetime(1, 1, 1)
    assert ColumnWriter(CsvFormat(), DATETIME, "when", False).fields(pa.array([first]), 0).to_pylist() == ['"00010101T000000"']
