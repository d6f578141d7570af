"""Frames of Arrow tables, whose fields may say what a column was before it left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.api.column_names import require_distinct
from sframe_spark.operators.sources.memory import memory_source_of_parts
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ARRAY, DICT_KIND, ENCODED_DICT, ENCODED_LIST, LIST_KIND, STR, ColumnType
from sframe_spark.values.datetimes import tell_of_nanoseconds
from sframe_spark.values.encode import encode_parts
from sframe_spark.values.export import JSON, KIND, TAGGED, TEXT, kind_of_json, values_of_texts
from sframe_spark.values.from_arrow import normalized_parts, tell_of_values
from sframe_spark.values.inexact_numbers import rounding_told
from sframe_spark.values.input_values import require_known_extensions, require_sound
from sframe_spark.values.value_errors import broken_texts_told, column_named

ENCODED = {LIST_KIND: ENCODED_LIST, DICT_KIND: ENCODED_DICT}
JSON_EXTENSION = "arrow.json"


def frame_from_arrow(table: pa.Table) -> tuple[PlannerNode, list[str]]:
    """The columns of an Arrow table in our physical types.

    Raises
    ------
    SchemaError
        If no column holds the values of one: it is named.
    InvalidArgumentError
        If the data of one is not sound: it is named.
    """
    names = [str(name) for name in table.column_names]
    require_distinct(names)
    pairs = []
    for name, field, column in zip(names, table.schema, table.columns, strict=True):
        with column_named(name):
            pairs.append(column_from_arrow(field, column))
    tell_of_values(zip(names, table.columns, strict=True))
    return memory_source_of_parts([parts for parts, _ in pairs], [kind for _, kind in pairs], table.num_rows), names


def column_from_arrow(field: pa.Field, column: pa.ChunkedArray) -> tuple[list[pa.Array], ColumnType]:
    """A column in our physical form, in one array or several, and its type; of JSON that is all lists or all dicts, these."""
    require_known_extensions(field)
    require_sound(column)
    tell_of_nanoseconds(column, field.name)
    with rounding_told(field.name):
        parts, found = normalized_parts(column)
    kind, text = told(field, KIND), told(field, TEXT)
    if found == STR and kind in ENCODED and text in (JSON, TAGGED):
        return _of_texts(parts, kind, text == TAGGED)
    if found == STR and isinstance(field.type, pa.BaseExtensionType) and field.type.extension_name == JSON_EXTENSION:
        kind = kind_of_json(_texts(parts))
        return (parts, found) if kind is None else _of_texts(parts, kind, False)
    # An array and a list of floats are the same inside.
    return parts, ColumnType(LIST_KIND, found.physical) if kind == LIST_KIND and found == ARRAY else found


def _of_texts(parts: Sequence[pa.Array], kind: str, tagged: bool) -> tuple[list[pa.Array], ColumnType]:
    values = values_of_texts(_texts(parts), kind, tagged)
    with broken_texts_told(values):
        return encode_parts(values, ENCODED[kind]), ENCODED[kind]


def _texts(parts: Sequence[pa.Array]) -> list[Any]:
    return [text for part in parts for text in part.to_pylist()]


def told(field: pa.Field, key: str) -> str | None:
    """What a field's metadata says, which anybody may have written.

    Examples
    --------
    >>> told(pa.field("a", pa.int64(), metadata={"k": "v"}), "k"), told(pa.field("a", pa.int64()), "k")
    ('v', None)
    """
    value: Any = (field.metadata or {}).get(key.encode())
    return None if value is None else value.decode("utf-8", "replace")
