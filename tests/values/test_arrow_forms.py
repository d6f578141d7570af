"""What columns go out as: Arrow types that others know, of which the same values come back."""

from __future__ import annotations

import array
import datetime
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark import SArray, SFrame
from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError, SchemaError
from sframe_spark.types import ZONED_PHYSICAL
from sframe_spark.values.arrow_to_column_types import OFFSET_FIELDS
from sframe_spark.values.export_to_arrow_and_json import MAX_FIELDS, MAX_LEVELS
from tests.needs import needs

NOON = datetime.datetime(2024, 2, 29, 12)


def at(minutes: int) -> datetime.datetime:
    return NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(minutes=minutes)))


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


FORMS: dict[str, tuple[list[Any], str, dict[str, str]]] = {
    "ints": ([1, None], "int64", {}),
    "floats": ([0.5, math.nan, None], "double", {}),
    "texts": (["a", None], "string", {}),
    "arrays": ([array.array("d", [1]), None], "list<item: double>", {}),
    "moments": ([NOON, None], "timestamp[us]", {}),
    "moments in UTC": ([at(0), None], "timestamp[us, tz=UTC]", {}),
    "moments east": ([at(120), None], "timestamp[us, tz=Etc/GMT-2]", {}),
    "moments west": ([at(-720), None], "timestamp[us, tz=Etc/GMT+12]", {}),
    "moments of half hours": ([at(330)], "arrow.timestamp_with_offset", {}),
    "moments of two offsets": ([at(0), at(60), None], "arrow.timestamp_with_offset", {}),
    "moments, one without": ([at(0), NOON, None], "struct<instant: timestamp[us], offset: int32>", {}),
    "lists of ints": ([[1, None], None], "list<item: int64>", {}),
    "lists of texts": ([["a"], []], "list<item: string>", {}),
    "lists of lists": ([[["a"], None], [], [[]]], "list<item: list<item: string>>", {}),
    "lists of arrays": ([[array.array("d", [1]), []]], "list<item: list<item: double>>", {}),
    "lists of moments": ([[NOON], None], "list<item: timestamp[us]>", {}),
    "mixed lists": ([[1, "a"], [None, {"k": [array.array("d", [1, 2])]}]], "extension<arrow.json>", {"kind": "list", "text": "json"}),
    "lists with ints and floats": ([[1, 2.5, None]], "extension<arrow.json>", {"kind": "list", "text": "json"}),
    "lists with a moment": ([[NOON, "a"]], "string", {"kind": "list", "text": "tagged"}),
    "lists with NaN": ([["a", math.nan]], "string", {"kind": "list", "text": "tagged"}),
    "dicts": ([{"a": 1}, {"b": None}], "map<string, int64>", {}),
    "dicts by number": ([{1: "a"}], "map<int64, string>", {}),
    "dicts of the same names": ([{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}], "struct<a: int64, b: list<item: string>>", {}),
    "dicts of other names": ([{"a": 1, "b": "x"}, {"b": "x", "a": 1}], "extension<arrow.json>", {"kind": "dict", "text": "json"}),
    "dicts without a name": ([{}, {"a": "x"}, {"a": 1}], "extension<arrow.json>", {"kind": "dict", "text": "json"}),
    "dicts by number and name": ([{1: "a", "b": "c"}], "string", {"kind": "dict", "text": "tagged"}),
    "a NaN before the mixture": ([["a", None], [None, math.nan]], "string", {"kind": "list", "text": "tagged"}),
    "a deep list": ([nested(MAX_LEVELS + 2)], "extension<arrow.json>", {"kind": "list", "text": "json"}),
    "a wide dict": ([{str(n): n if n % 2 else "x" for n in range(MAX_FIELDS + 1)}], "extension<arrow.json>", {"kind": "dict", "text": "json"}),
}


def described(field: pa.Field) -> tuple[str, dict[str, str]]:
    told = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    name = told.pop("ARROW:extension:name", str(field.type))
    return name, {key.removeprefix("sframe_spark."): value for key, value in told.items() if key.startswith("sframe_spark.")}


def doors(frame: SFrame) -> dict[str, SFrame]:
    import polars

    return {
        "table": SFrame(frame.to_arrow()),
        "stream": SFrame(pa.RecordBatchReader.from_stream(frame)),
        "batches": SFrame(frame.to_arrow().to_reader(max_chunksize=1)),
        "polars": SFrame(polars.DataFrame(frame)),
        "pandas": SFrame(frame.to_pandas(arrow=True)),
        "objects of pandas": SFrame.from_pandas(frame.to_pandas(), naive=True),
    }


def shown(column: SArray) -> tuple[type, str]:
    return column.dtype, repr(list(column))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FORMS)
def test_each_form(name: str) -> None:
    values, expected, told = FORMS[name]
    frame = SFrame({"x": values})
    assert described(frame.to_arrow().schema.field("x")) == (expected, told)
    assert pa.schema(frame) == frame.to_arrow().schema == pa.table(frame).schema
    texts_only = told.get("text") == "tagged"
    for door, again in doors(frame).items():
        if door == "objects of pandas" and name in ("ints", "floats"):
            assert again["x"].dtype is float, "as in the reference"
        elif door in ("polars", "pandas") and texts_only:
            assert again["x"].dtype is str, door
        else:
            assert shown(again["x"]) == shown(frame["x"]), door


def test_lists_of_floats_are_told_from_arrays() -> None:
    frame = SFrame({"x": SArray([[1.5, "a"]]).apply(lambda cell: cell[:1], dtype=list), "y": SArray([array.array("d", [1.5])])})
    for again in (SFrame(frame.to_arrow()), SFrame(pa.table(frame))):
        assert again.column_types() == [list, array.array]
        assert list(again) == list(frame)


def test_columns_alone() -> None:
    for values, expected, _ in FORMS.values():
        column = SArray(values)
        assert pa.chunked_array(column).type == column.to_arrow().type == pa.field(column).type
        if "json" not in expected and expected != "string":
            assert shown(SArray(column.to_arrow())) == shown(column)


def test_forms_are_found_over_all_batches() -> None:
    from sframe_spark.config import config

    with config.using(batch_rows=2):
        frame = SFrame({"x": [[None], ["a"], [], None, [["b"]]], "t": [at(0), at(0), at(60), None, at(0)]})
        table = pa.table(frame)
    assert [described(field)[0] for field in table.schema] == ["arrow.timestamp_with_offset", "extension<arrow.json>"]
    assert shown(SFrame(table)["x"]) == shown(frame["x"]) and shown(SFrame(table)["t"]) == shown(frame["t"])


def test_missing_values_only() -> None:
    for values in ([None, None], []):
        for kind in (int, float, str, list, dict, array.array, datetime.datetime):
            column = SArray(values, kind)
            again = SFrame(SFrame({"x": column}).to_arrow())["x"]
            assert shown(again) == shown(column)


OF_JSON = needs("pyarrow>=19")


def json_column(texts: list[str | None]) -> pa.Table:
    return pa.table({"odd name": pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts, pa.string()))})


@OF_JSON
def test_json_of_others() -> None:
    assert list(SFrame(json_column(['{"a": [1, 2.5]}', None, "{}"]))["odd name"]) == [{"a": array.array("d", [1, 2.5])}, None, {}]
    assert list(SFrame(json_column(['["a", null]']))["odd name"]) == [["a", None]]
    assert list(SFrame(json_column(["1", "{}"]))["odd name"]) == ["1", "{}"]


@OF_JSON
@pytest.mark.parametrize("text", ["{", '{"a": }', '{"a": 1, "a": 2}', "[" * 100_000, '{"a": "\\ud800"}'])
def test_texts_that_are_no_json_are_told(text: str) -> None:
    with pytest.raises((InvalidArgumentError, SchemaError), match="column 'odd name': "):
        SFrame(json_column([text]))


@pytest.mark.parametrize("told", [("list", "json"), ("dict", "tagged"), ("list", "pickle"), ("object", "json"), ("dict", ""), ("\x00", "tagged")])
@pytest.mark.parametrize("values", [["{}"], ["__import__('os')"], [1], [[1.5]], [None]])
def test_metadata_of_others_is_no_command(told: tuple[str, str], values: list[Any]) -> None:
    field = pa.field("odd name", pa.array(values).type, metadata={"sframe_spark.kind": told[0], "sframe_spark.text": told[1]})
    table = pa.Table.from_arrays([pa.array(values)], schema=pa.schema([field]))
    try:
        found = list(SFrame(table)["odd name"])
    except InvalidArgumentError as error:
        assert "column 'odd name': the text" in str(error)
    else:
        assert [list(cell) if isinstance(cell, array.array) else cell for cell in found] in (values, [{}])


@needs("pyarrow>=18")
def test_extensions_of_others() -> None:
    import uuid

    key = uuid.UUID(int=5)
    assert list(SArray(pa.array([key.bytes, None], pa.uuid()))) == [str(key), None]
    assert list(SArray(pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8())))) == [1, 0, None]
    opaque = pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "geometry", "postgis"), pa.array([1]))
    with pytest.raises(SchemaError, match=r"column 'where': .* the Arrow extension 'arrow.opaque'"):
        SFrame(pa.table({"where": opaque}))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
INT = st.integers(-(2**63), 2**63 - 1)
MOMENT = st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30))
OFFSET = st.sampled_from([0, 60, -300, 330, 845, -719]).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))
SCALAR = st.one_of(INT, st.floats(), TEXT, MOMENT, st.none())
CELL = st.recursive(SCALAR, lambda cells: st.one_of(st.lists(cells, max_size=3), st.dictionaries(TEXT | INT, cells, max_size=3)), max_leaves=8)
COLUMN = st.one_of(
    st.lists(INT | st.none(), max_size=4),
    st.lists(st.floats() | st.none(), max_size=4),
    st.lists(TEXT | st.none(), max_size=4),
    st.lists(MOMENT | st.none(), max_size=4),
    st.lists(st.datetimes(datetime.datetime(1, 1, 3), datetime.datetime(9999, 12, 29), timezones=OFFSET) | st.none(), max_size=4),
    st.lists(st.lists(CELL, max_size=3) | st.none(), max_size=3),
    st.lists(st.dictionaries(TEXT, CELL, max_size=3) | st.none(), max_size=3),
    st.lists(st.fixed_dictionaries({"a": CELL, "b": INT | st.none()}) | st.none(), max_size=3),
)


@given(COLUMN)
def test_any_column_comes_back_as_it_was(values: list[Any]) -> None:
    frame = SFrame({"x": values})
    for again in (SFrame(frame.to_arrow()), SFrame(pa.RecordBatchReader.from_stream(frame))):
        assert shown(again["x"]) == shown(frame["x"])


@pytest.mark.parametrize("fields", [OFFSET_FIELDS, list(ZONED_PHYSICAL)])
def test_offsets_of_a_day_are_refused(fields: list[pa.Field]) -> None:
    def frame(minutes: int) -> SFrame:
        parts = [pa.array([0, 0], fields[0].type), pa.array([minutes, 5_000], fields[1].type)]
        # What stands where a row is missing is nothing.
        return SFrame(pa.table({"at": pa.StructArray.from_arrays(parts, fields=fields, mask=pa.array([False, True]))}))

    for minutes in (-1_439, 1_439):
        assert [value and value.utcoffset() for value in frame(minutes)["at"]] == [datetime.timedelta(minutes=minutes), None]
    for minutes in (-1_440, 1_440, 32_767):
        with pytest.raises(DateTimeRangeError, match=f"an offset of {minutes} minutes"):
            frame(minutes)
