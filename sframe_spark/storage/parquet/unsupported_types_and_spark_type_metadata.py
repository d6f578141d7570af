"""Finds columns of external Parquet files whose types are not supported, and the types that Spark's metadata gives columns of Parquet and ORC files.

pyarrow reads the values of an unknown logical type as they are stored, for example an interval of months as twelve bytes, and bytes of an
unsupported type as strings if they happen to be UTF-8. For some types it does not read the footer, and reports a damaged file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark import pyarrow_versions
from sframe_spark.errors import BrokenThrift, SchemaError
from sframe_spark.message_text import visible
from sframe_spark.storage.parquet import thrift
from sframe_spark.storage.parquet.thrift import Struct, Value

# Field numbers of a footer and of a schema element.
_SCHEMA = 2
_TYPE, _LENGTH, _NAME, _CHILDREN, _CONVERTED, _SCALE, _PRECISION, _LOGICAL = 1, 2, 4, 5, 6, 7, 8, 10
_PHYSICAL = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_LAST_PHYSICAL = len(_PHYSICAL) - 1
_INT32, _INT64, _BYTES, _FIXED = 1, 2, 6, 7

# Logical types and the older converted types, by their numbers in Parquet's definition.
READ_LOGICAL = {
    1: "STRING", 2: "MAP", 3: "LIST", 4: "ENUM", 5: "DECIMAL", 6: "DATE", 7: "TIME", 8: "TIMESTAMP", 10: "INTEGER", 11: "UNKNOWN", 12: "JSON",
    14: "UUID", 15: "FLOAT16",
}  # fmt: skip
READ_CONVERTED = {
    0: "UTF8", 1: "MAP", 2: "MAP_KEY_VALUE", 3: "LIST", 4: "ENUM", 5: "DECIMAL", 6: "DATE", 7: "TIME_MILLIS", 8: "TIME_MICROS",
    9: "TIMESTAMP_MILLIS", 10: "TIMESTAMP_MICROS", 11: "UINT_8", 12: "UINT_16", 13: "UINT_32", 14: "UINT_64", 15: "INT_8", 16: "INT_16",
    17: "INT_32", 18: "INT_64", 19: "JSON",
}  # fmt: skip
# The physical type, and the byte width of a fixed-length one, in which Parquet stores each type.
STORED_AS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("UTF8", "STRING", "ENUM", "JSON"), (_BYTES, None)),
    **dict.fromkeys(("DATE", "TIME_MILLIS", "UINT_8", "UINT_16", "UINT_32", "INT_8", "INT_16", "INT_32"), (_INT32, None)),
    **dict.fromkeys(("TIME_MICROS", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS", "UINT_64", "INT_64"), (_INT64, None)),
    "UUID": (_FIXED, 16),
    "FLOAT16": (_FIXED, 2),
}
_OF_DECIMAL = (_INT32, _INT64, _BYTES, _FIXED)
_LEAVE_OUT = "have it written as another type, or without this column"
_BSON = ("BSON", "have it written as JSON, or without this column")
_IN_SPARK = "make the frame of a DataFrame, as of spark.read.parquet(...)"
_AS_TEXT = "have it written as text, as ST_AsText(...) gives it, or without this column"
REFUSED_LOGICAL = {13: _BSON, 16: ("VARIANT", _IN_SPARK), 17: ("GEOMETRY", _AS_TEXT), 18: ("GEOGRAPHY", _AS_TEXT)}
REFUSED_CONVERTED = {20: _BSON, 21: ("INTERVAL", "have its months, days and milliseconds written as numbers, or without this column")}
# Types with a unit: milliseconds, microseconds or nanoseconds.
_WITH_UNIT, _UNIT, _LAST_UNIT = (7, 8), 2, 3
_DECIMAL, _CONVERTED_DECIMAL, _MAX_DIGITS = 5, 5, 76
_INTEGER, _MAX_BITS = 10, 64
_UUID = 14


# The number of rows and the list of row groups in the footer of a file without rows.
_NO_ROWS: Struct = {3: Value(thrift.INTEGERS[2], 0), 4: Value(thrift.LISTS[0], (thrift.STRUCT, []))}
GEO_NOTE = b"geo"


def geometries_by_note(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    """Return, by column name, why geometry columns of GeoParquet cannot be read; only the metadata of the file says that they are geometries.

    Examples
    --------
    >>> list(geometries_by_note({b"geo": b'{"columns": {"where": {"encoding": "WKB"}}}'}))
    ['where']
    """
    try:
        columns = json.loads((metadata or {}).get(GEO_NOTE, b"{}")).get("columns", {})
        return {name: f"it is {_named('GEOMETRY', _AS_TEXT)}" for name, said in columns.items() if str(said.get("encoding")).upper() == "WKB"}
    except (ValueError, RecursionError, AttributeError, TypeError):
        return {}


def refused_columns(footer: bytes) -> dict[str, str]:
    """Return, by column name, why columns cannot be read: their type, or a type nested in it, is unknown or not supported.

    Parameters
    ----------
    footer
        The bytes of a footer, without its length.

    Raises
    ------
    BrokenThrift
        If the bytes are not a footer.
    """
    try:
        fields, _ = thrift.read_fields(footer, 0, thrift.field_readers({_SCHEMA: (thrift.LISTS, _read_elements)}), last=_SCHEMA)
        elements = [(_name(element), max(_children(element), 0), _refusal(element)) for element in fields.get(_SCHEMA, ())]
    except (IndexError, UnicodeDecodeError):
        raise BrokenThrift("its footer makes no sense") from None
    if _SCHEMA not in fields:
        raise BrokenThrift("its footer has no schema")
    refused: dict[str, str] = {}
    # The numbers of children that are still to come of each open group, and the names of the groups. The row itself is the first group.
    to_come, path = [elements[0][1] if elements else 0], list[str]()
    for name, children, reason in elements[1:]:
        while to_come and not to_come[-1]:
            to_come.pop()
            if path:
                path.pop()
        if not to_come:
            break
        to_come[-1] -= 1
        path.append(name)
        if reason is not None and path[0] not in refused:
            where = f"its part {visible('.'.join(path[1:]))!r}" if len(path) > 1 else "it"
            refused[path[0]] = f"{where} is {reason}"
        if children:
            to_come.append(children)
        else:
            path.pop()
    return refused


def _read_elements(content: bytes, offset: int) -> tuple[list[Struct], int]:
    """Read the list of schema elements: the row, the columns and their parts."""
    count, _, offset = thrift.read_list_start(content, offset)
    elements = []
    for _ in range(count):
        element, offset = thrift.read_struct(content, offset)
        elements.append(element)
    return elements, offset


def column_not_read(footer: bytes) -> tuple[str, str] | None:
    """Return the first column whose type pyarrow does not read, and pyarrow's error; None if pyarrow can read each column by itself.

    pyarrow's error for a file says which type it does not read, but not in which column.
    """
    try:
        schema = thrift.read_struct(footer)[0][_SCHEMA].content[1]
        row = {**schema[0], _CHILDREN: Value(thrift.INTEGERS[1], 1)}
        for column in _columns(schema):
            alone = {1: Value(thrift.INTEGERS[1], 2), _SCHEMA: Value(thrift.LISTS[0], (thrift.STRUCT, [row, *column])), **_NO_ROWS}
            try:
                pq.read_metadata(pa.BufferReader(thrift.MAGIC + thrift.footer_bytes(alone))).schema.to_arrow_schema()
            except (pa.ArrowException, OSError) as error:
                said = (str(error).strip().splitlines() or [""])[0]
                return column[0][_NAME].content.decode(), f"pyarrow does not read its type ({visible(said)}): {_LEAVE_OUT}"
    except (IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError, BrokenThrift):
        # In a damaged schema, no single column is to blame.
        return None
    return None


def _columns(schema: list[Struct]) -> Iterator[list[Struct]]:
    """Yield the schema elements of each column."""
    end = 1
    while end < len(schema):
        start, open_elements = end, 1
        while open_elements and end < len(schema):
            open_elements += _children(schema[end]) - 1
            end += 1
        yield schema[start:end]


def _name(fields: Struct) -> str:
    return fields[_NAME].content.decode() if _NAME in fields else ""


def _children(fields: Struct) -> int:
    """Return the number of children of a schema element; 0 for a leaf column."""
    return _number(fields, _CHILDREN) or 0


def _number(fields: Struct, field: int) -> int | None:
    value = fields.get(field)
    return value.content if value is not None and value.kind in thrift.INTEGERS else None


def _refusal(fields: Struct) -> str | None:
    """Return why the values of a schema element cannot be read; None if they can."""
    physical, converted = _number(fields, _TYPE), _number(fields, _CONVERTED)
    if physical is not None and not 0 <= physical <= _LAST_PHYSICAL:
        return _unknown(f"of physical type {physical}")
    logical = fields.get(_LOGICAL)
    if logical is not None and logical.kind == thrift.STRUCT and logical.content:
        number, value = next(iter(logical.content.items()))
        inner = value.content if value.kind == thrift.STRUCT else {}
        return _refusal_of_logical(number, inner, fields)
    if converted is None:
        return None
    if converted in REFUSED_CONVERTED:
        return _named(*REFUSED_CONVERTED[converted])
    if converted not in READ_CONVERTED:
        return _unknown(f"of converted type {converted}")
    if converted == _CONVERTED_DECIMAL:
        return _refusal_of_digits(_number(fields, _PRECISION), _number(fields, _SCALE), physical)
    return _refusal_of_storage(READ_CONVERTED[converted], fields)


def _refusal_of_logical(number: int, inner: Struct, fields: Struct) -> str | None:
    if number in REFUSED_LOGICAL:
        return _named(*REFUSED_LOGICAL[number])
    if number == _UUID and not pyarrow_versions.READS_UUIDS:
        return f"of Parquet's type UUID, which pyarrow before version 21 reads as bytes: install a later one, or {_LEAVE_OUT}"
    if number not in READ_LOGICAL:
        return _unknown(f"of logical type {number}")
    name = READ_LOGICAL[number]
    if number == _DECIMAL:
        return _refusal_of_digits(_number(inner, 2), _number(inner, 1), _number(fields, _TYPE))
    if number == _INTEGER:
        width = inner.get(1)
        bits = width.content[0] if width is not None and width.kind == thrift.BYTE and width.content else 0
        if bits > _MAX_BITS:
            return f"INTEGER of {bits} bits, of which {_MAX_BITS} are read: {_LEAVE_OUT}"
        name = "INT_64" if bits == _MAX_BITS else "INT_32"
    elif number in _WITH_UNIT:
        unit = inner.get(_UNIT)
        units = [*unit.content] if unit is not None and unit.kind == thrift.STRUCT else []
        if not units or not 1 <= units[0] <= _LAST_UNIT:
            return _unknown(f"{name} in unit {units[0]}" if units else f"{name} in no unit")
        name = "TIME_MILLIS" if name == "TIME" and units[0] == 1 else "TIME_MICROS"
    return _refusal_of_storage(name, fields)


def _refusal_of_digits(precision: int | None, scale: int | None, physical: int | None) -> str | None:
    if precision is not None and precision > _MAX_DIGITS:
        return f"DECIMAL of {precision} digits, of which {_MAX_DIGITS} are read: {_LEAVE_OUT}"
    if precision is None or precision < 1 or not 0 <= (scale or 0) <= precision:
        said = "no" if precision is None else precision
        return f"DECIMAL of {said} digits, {scale or 0} of them behind the point, which Parquet does not have: {_LEAVE_OUT}"
    return None if physical in (None, *_OF_DECIMAL) else f"DECIMAL stored as {_PHYSICAL[physical]}, which Parquet does not have: {_LEAVE_OUT}"


def _refusal_of_storage(name: str, fields: Struct) -> str | None:
    """Return why a type whose physical type is not allowed cannot be read, since pyarrow would fail or read wrong values; None if it is allowed."""
    physical, stored = _number(fields, _TYPE), STORED_AS.get(name)
    if physical is None or stored is None:
        return None
    width = _number(fields, _LENGTH) if physical == _FIXED else None
    if (physical, width) == stored:
        return None
    return f"{name} stored as {_PHYSICAL[physical]}{'' if width is None else f' of {width} bytes'}, which Parquet does not have: {_LEAVE_OUT}"


def _named(name: str, advice: str) -> str:
    return f"of Parquet's type {name}, which no column can have: {advice}"


def _unknown(described: str) -> str:
    return f"{described}, which is not known here: a later version of this package or of pyarrow may know it, or {_LEAVE_OUT}"


# Types that Spark stores as integers, with a note in the metadata of the file that says what they are.

PARQUET_NOTE = b"org.apache.spark.sql.parquet.row.metadata"
ORC_NOTE = b"spark.sql.catalyst.type"
_MAX_NESTED = 100
# The first words of types that need no conversion, and the word for intervals, of which some need one.
_PLAIN = frozenset({
    "boolean", "byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint", "float", "double", "decimal", "string", "char", "varchar",
    "binary", "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "time", "interval", "void", "null", "variant", "array", "map", "struct",
})  # fmt: skip
# A pattern that finds the first word of each type in a note, and the words of those types that never need a conversion.
_NAMED_TYPE = re.compile(rb'"(?:type|sqlType|elementType|keyType|valueType)" ?: ?"([^" (]*)')
_NO_CONVERSION = {word.encode() for word in _PLAIN - {"interval"}} | {b"udt"}


def type_by_note(stored: pa.DataType, note: Any, depth: int = 0) -> pa.DataType:
    """Return the type that values of a stored type have according to Spark's note; types within lists, maps and structs are replaced, too.

    Parameters
    ----------
    stored
        The type in the file.
    note
        Spark's name of a type, or the parsed JSON with which Spark describes a list, a map or a struct. Other values are ignored.
    depth
        The number of lists, maps and structs around the type.

    Raises
    ------
    SchemaError
        If no column can have the type.

    Examples
    --------
    >>> type_by_note(pa.int64(), "interval day to second"), type_by_note(pa.int64(), "long")
    (DurationType(duration[us]), DataType(int64))
    """
    if isinstance(note, str):
        return _scalar(stored, note)
    if not isinstance(note, dict) or depth > _MAX_NESTED:
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
    """Return the notes about the fields of a struct, by name."""
    fields = note.get("fields") if isinstance(note, dict) else None
    if not isinstance(fields, list):
        return {}
    return {field["name"]: field.get("type") for field in fields if isinstance(field, dict) and isinstance(field.get("name"), str)}


def types_by_notes(metadata: Mapping[bytes, bytes] | None, schema: pa.Schema) -> tuple[dict[str, pa.DataType], dict[str, str]]:
    """Return the types of columns that Spark stores as another type, and why columns cannot be read, both by column name.

    Parameters
    ----------
    metadata
        The keys and values in the footer of the file.
    schema
        The columns, with their types in the file.
    """
    text = (metadata or {}).get(PARQUET_NOTE, b"")
    types: dict[str, pa.DataType] = {}
    refused: dict[str, str] = {}
    # Most files have no type that needs a conversion, and some have thousands of columns: their JSON is parsed only if it names such a type.
    if _NO_CONVERSION.issuperset(_NAMED_TYPE.findall(text)):
        return types, refused
    try:
        notes = notes_of_fields(json.loads(text))
    except (ValueError, RecursionError):
        return types, refused
    for field in schema:
        try:
            data_type = type_by_note(field.type, notes.get(field.name))
        except SchemaError as error:
            refused[field.name] = str(error)
            continue
        if data_type != field.type:
            types[field.name] = data_type
    return types, refused


def field_by_note(field: pa.Field) -> pa.Field:
    """Return an ORC field with the types that Spark has noted in its metadata and in that of the fields in it.

    Raises
    ------
    SchemaError
        If no column can have such a type.
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
    """Return the type that values of a stored type have according to Spark's name of a type that is not nested."""
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
