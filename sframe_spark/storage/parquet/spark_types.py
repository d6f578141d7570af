"""Types that Spark writes into files as plain numbers, with a note beside: what the numbers are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from sframe_spark.errors import SchemaError
from sframe_spark.message_text import visible

PARQUET_NOTE = b"org.apache.spark.sql.parquet.row.metadata"
ORC_NOTE = b"spark.sql.catalyst.type"
_MOST_NESTED = 100
# Names of types that are stored as themselves, or as a struct that is recognised.
_PLAIN = frozenset({
    "boolean", "byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint", "float", "double", "decimal", "string", "char", "varchar",
    "binary", "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "time", "interval", "void", "null", "variant", "array", "map", "struct",
})  # fmt: skip


def type_by_note(stored: pa.DataType, note: Any, depth: int = 0) -> pa.DataType:
    """Return the type of values that Spark calls by a name, and stores in another type, at any depth.

    Parameters
    ----------
    stored
        The type in the file.
    note
        Spark's name of a type, or its description of a list, a map or a struct, as JSON has it; anything else says nothing.

    Raises
    ------
    SchemaError
        If no column can have it.

    Examples
    --------
    >>> type_by_note(pa.int64(), "interval day to second"), type_by_note(pa.int64(), "long")
    (DurationType(duration[us]), DataType(int64))
    """
    if isinstance(note, str):
        return _scalar(stored, note)
    if not isinstance(note, dict) or depth > _MOST_NESTED:
        return stored
    types, kind = pa.types, note.get("type")
    if kind == "udt":
        return type_by_note(stored, note.get("sqlType"), depth + 1)
    if kind == "array" and types.is_list(stored):
        return pa.list_(stored.value_field.with_type(type_by_note(stored.value_type, note.get("elementType"), depth + 1)))
    if kind == "map" and types.is_map(stored):
        key = stored.key_field.with_type(type_by_note(stored.key_type, note.get("keyType"), depth + 1))
        return pa.map_(key, stored.item_field.with_type(type_by_note(stored.item_type, note.get("valueType"), depth + 1)))
    if kind == "struct" and types.is_struct(stored):
        by_name = notes_of_fields(note)
        return pa.struct([field.with_type(type_by_note(field.type, by_name.get(field.name), depth + 1)) for field in stored])
    return stored


def notes_of_fields(note: Any) -> dict[str, Any]:
    """Return what a description of a struct says of its fields, by their names."""
    fields = note.get("fields") if isinstance(note, dict) else None
    if not isinstance(fields, list):
        return {}
    return {field["name"]: field.get("type") for field in fields if isinstance(field, dict) and isinstance(field.get("name"), str)}


def types_by_notes(metadata: Mapping[bytes, bytes] | None, schema: pa.Schema) -> tuple[dict[str, pa.DataType], dict[str, str]]:
    """Return the types of columns of a Parquet file that Spark has stored as others, and why columns cannot be read, by their names.

    Parameters
    ----------
    metadata
        Keys and values of its footer.
    schema
        Its columns.
    """
    text = (metadata or {}).get(PARQUET_NOTE, b"")
    types: dict[str, pa.DataType] = {}
    refused: dict[str, str] = {}
    # Most files have none of these types, and some have thousands of columns.
    if b'"interval' not in text:
        return types, refused
    try:
        notes = notes_of_fields(json.loads(text))
    except (ValueError, RecursionError):
        return types, refused
    for field in schema:
        try:
            meant = type_by_note(field.type, notes.get(field.name))
        except SchemaError as error:
            refused[field.name] = str(error)
        else:
            if meant != field.type:
                types[field.name] = meant
    return types, refused


def field_by_note(field: pa.Field) -> pa.Field:
    """Return a field of an ORC file whose metadata, and that of its parts, say what Spark has stored.

    Raises
    ------
    SchemaError
        If no column can have it.
    """
    note = (field.metadata or {}).get(ORC_NOTE)
    data_type, types = field.type, pa.types
    if types.is_list(data_type):
        data_type = pa.list_(field_by_note(data_type.value_field))
    elif types.is_map(data_type):
        data_type = pa.map_(field_by_note(data_type.key_field), field_by_note(data_type.item_field))
    elif types.is_struct(data_type):
        data_type = pa.struct([field_by_note(part) for part in data_type])
    elif note is not None:
        data_type = _scalar(data_type, note.decode("utf-8", "replace"))
    return field.with_type(data_type).with_metadata(None)


def _scalar(stored: pa.DataType, note: str) -> pa.DataType:
    """The type that a note means; a note that says what the type itself says means that type."""
    word = note.partition(" ")[0].partition("(")[0]
    if word == "timestamp_ntz" and pa.types.is_int64(stored):
        return pa.timestamp("us")
    if word == "time" and pa.types.is_int64(stored):
        return pa.time64("ns")
    if word == "interval" and pa.types.is_integer(stored):
        if note.endswith(("year", "month")):
            advice = "cast it in Spark to INT, which gives months, or leave it out"
            raise SchemaError(f"it holds Spark's {visible(note).upper()}, and an interval of months has no length in seconds: {advice}")
        return pa.duration("us") if pa.types.is_int64(stored) else stored
    if word not in _PLAIN:
        raise SchemaError(f"it holds Spark's {visible(note).upper():.80}, which is not known here: cast it in Spark to another type, or leave it out")
    return stored
