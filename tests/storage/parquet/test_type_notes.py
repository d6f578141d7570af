"""Types that Spark notes in a footer are taken, or refused by name, whatever the other columns are."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from sframe_spark.storage.parquet.unsupported_types_and_spark_type_metadata import PARQUET_NOTE, types_by_notes


def noted(**types: object) -> dict[bytes, bytes]:
    """Metadata of a footer in which Spark notes the types of columns."""
    fields = [{"name": name, "type": note, "nullable": True, "metadata": {}} for name, note in types.items()]
    return {PARQUET_NOTE: json.dumps({"type": "struct", "fields": fields}).encode()}


LIST_OF_UNKNOWN = {"type": "array", "elementType": "geography(4326)", "containsNull": True}


@pytest.mark.parametrize("others", [{}, {"other": "long"}, {"other": "interval day to second"}], ids=["alone", "beside ints", "beside intervals"])
@pytest.mark.parametrize(("note", "stored"), [("geography(4326)", pa.binary()), (LIST_OF_UNKNOWN, pa.list_(pa.binary()))], ids=["scalar", "list"])
def test_an_unknown_type_is_refused_whatever_the_other_columns_are(note: object, stored: pa.DataType, others: dict[str, object]) -> None:
    schema = pa.schema([("column", stored), *((name, pa.int64()) for name in others)])
    types, refused = types_by_notes(noted(column=note, **others), schema)
    assert list(refused) == ["column"] and "GEOGRAPHY(4326), which is not known here" in refused["column"]
    assert types == ({"other": pa.duration("us")} if "interval day to second" in others.values() else {})


@pytest.mark.parametrize("note", ["long", "decimal(38,2)", "string collate UNICODE", {"type": "udt", "class": "a.B", "sqlType": "double"}])
def test_types_that_are_stored_as_they_are_stay(note: object) -> None:
    assert types_by_notes(noted(column=note), pa.schema([("column", pa.int64())])) == ({}, {})
