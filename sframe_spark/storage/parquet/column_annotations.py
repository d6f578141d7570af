"""Reads from a Parquet footer what pyarrow does not: unsupported types, types that Spark annotates, and the hybrid calendar.

pyarrow reads values of an unknown logical type as what they are stored as: an interval of months as twelve bytes, a geometry as
bytes, and bytes that happen to be UTF-8 would become text. For some types it reads no footer at all, and calls it broken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenThrift, SchemaError
from sframe_spark.message_text import visible
from sframe_spark.storage.hybrid_calendar import UTC, HybridColumns, zone_of
from sframe_spark.storage.parquet.page_headers import MAGIC
from sframe_spark.storage.parquet.thrift import (
    BYTE,
    INTEGERS,
    LISTS,
    STRUCT,
    Struct,
    Value,
    field_start,
    list_start,
    read_struct,
    skipped,
    write_struct,
)

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


# A footer's number of rows, and its row groups.
_NO_ROWS: Struct = {3: Value(INTEGERS[2], 0), 4: Value(LISTS[0], (STRUCT, []))}
GEO_NOTE = b"geo"


def geometries_by_note(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    """Return why geometry columns of GeoParquet cannot be read; only a metadata key marks them.

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


@attrs.frozen
class _Element:
    """An element of a schema: a column, a part of one, or the whole row."""

    name: str
    children: int
    refused: str | None


def refused_columns(footer: bytes) -> dict[str, str]:
    """Return why columns cannot be read whose type, or a nested type, is unknown or has no counterpart, by name.

    Parameters
    ----------
    footer
        The bytes of a footer, without its length.

    Raises
    ------
    BrokenThrift
        If they are none.
    """
    try:
        elements = _elements(footer)
    except (IndexError, UnicodeDecodeError):
        raise BrokenThrift("its footer makes no sense") from None
    found: dict[str, str] = {}
    # Remaining children of each open group, and the path of names; the row itself is the first group.
    to_come, path = [elements[0].children if elements else 0], list[str]()
    for element in elements[1:]:
        while to_come and not to_come[-1]:
            to_come.pop()
            if path:
                path.pop()
        if not to_come:
            break
        to_come[-1] -= 1
        path.append(element.name)
        if element.refused is not None and path[0] not in found:
            where = f"its part {visible('.'.join(path[1:]))!r}" if len(path) > 1 else "it"
            found[path[0]] = f"{where} is {element.refused}"
        if element.children:
            to_come.append(element.children)
        else:
            path.pop()
    return found


def column_not_read(footer: bytes) -> tuple[str, str] | None:
    """Return the first column whose type pyarrow does not read, and its error; None where it reads each by itself.

    pyarrow's error for a file says what it does not read, but not in which column.
    """
    try:
        schema = read_struct(footer)[0][_SCHEMA].content[1]
        row = {**schema[0], _CHILDREN: Value(INTEGERS[1], 1)}
        for column in _columns(schema):
            alone = write_struct({1: Value(INTEGERS[1], 2), _SCHEMA: Value(LISTS[0], (STRUCT, [row, *column])), **_NO_ROWS})
            content = MAGIC + alone + len(alone).to_bytes(4, "little") + MAGIC
            try:
                pq.read_metadata(pa.BufferReader(content)).schema.to_arrow_schema()
            except (pa.ArrowException, OSError) as error:
                said = (str(error).strip().splitlines() or [""])[0]
                return column[0][_NAME].content.decode(), f"pyarrow does not read its type ({visible(said)}): {_LEAVE_OUT}"
    except (IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError, BrokenThrift):
        # A malformed schema has no single faulty column.
        return None
    return None


def _columns(schema: list[Struct]) -> Iterator[list[Struct]]:
    """Yield the schema elements of each column."""
    place = 1
    while place < len(schema):
        start, open_elements = place, 1
        while open_elements and place < len(schema):
            open_elements += _children(schema[place]) - 1
            place += 1
        yield schema[start:place]


def _elements(footer: bytes) -> list[_Element]:
    field = at = 0
    while True:
        field, kind, at = field_start(footer, at, field)
        if not kind:
            raise BrokenThrift("its footer has no schema")
        if field == _SCHEMA and kind in LISTS:
            break
        at = skipped(footer, at, kind)
    count, _, at = list_start(footer, at)
    found = []
    for _ in range(count):
        element, at = _element(footer, at)
        found.append(element)
    return found


def _element(content: bytes, at: int) -> tuple[_Element, int]:
    """Parse a schema element; return it and its end."""
    fields, at = read_struct(content, at)
    name = fields[_NAME].content.decode() if _NAME in fields else ""
    return _Element(name, max(_children(fields), 0), _refusal(fields)), at


def _children(fields: Struct) -> int:
    """The number of children of an element; 0 for a column."""
    return _number(fields, _CHILDREN) or 0


def _number(fields: Struct, field: int) -> int | None:
    value = fields.get(field)
    return value.content if value is not None and value.kind in INTEGERS else None


def _refusal(fields: Struct) -> str | None:
    """Return why values of an element cannot be read; None where they can."""
    physical, converted = _number(fields, _TYPE), _number(fields, _CONVERTED)
    if physical is not None and not 0 <= physical <= _LAST_PHYSICAL:
        return _unknown(f"of physical type {physical}")
    logical = fields.get(_LOGICAL)
    if logical is not None and logical.kind == STRUCT and logical.content:
        number, value = next(iter(logical.content.items()))
        inner = value.content if value.kind == STRUCT else {}
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
    if number not in READ_LOGICAL:
        return _unknown(f"of logical type {number}")
    name = READ_LOGICAL[number]
    if number == _DECIMAL:
        return _refusal_of_digits(_number(inner, 2), _number(inner, 1), _number(fields, _TYPE))
    if number == _INTEGER:
        width = inner.get(1)
        bits = width.content[0] if width is not None and width.kind == BYTE and width.content else 0
        if bits > _MAX_BITS:
            return f"INTEGER of {bits} bits, of which {_MAX_BITS} are read: {_LEAVE_OUT}"
        name = "INT_64" if bits == _MAX_BITS else "INT_32"
    elif number in _WITH_UNIT:
        unit = inner.get(_UNIT)
        units = [*unit.content] if unit is not None and unit.kind == STRUCT else []
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
    """Return why a type with an invalid physical type cannot be read: pyarrow would fail, or misread the values."""
    physical, stored = _number(fields, _TYPE), STORED_AS.get(name)
    if physical is None or stored is None:
        return None
    width = _number(fields, _LENGTH) if physical == _FIXED else None
    if (physical, width) == stored:
        return None
    return f"{name} stored as {_PHYSICAL[physical]}{'' if width is None else f' of {width} bytes'}, which Parquet does not have: {_LEAVE_OUT}"


def _named(name: str, advice: str) -> str:
    return f"of Parquet's type {name}, which no column can have: {advice}"


def _unknown(what: str) -> str:
    return f"{what}, which is not known here: a later version of this package or of pyarrow may know it, or {_LEAVE_OUT}"


# Types that Spark stores as plain numbers, with an annotation in the metadata.

PARQUET_NOTE = b"org.apache.spark.sql.parquet.row.metadata"
ORC_NOTE = b"spark.sql.catalyst.type"
_MAX_NESTED = 100
# Annotated types that need no conversion.
_PLAIN = frozenset({
    "boolean", "byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint", "float", "double", "decimal", "string", "char", "varchar",
    "binary", "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "time", "interval", "void", "null", "variant", "array", "map", "struct",
})  # fmt: skip
# The first word of each type that an annotation names, and those words of which no type needs a conversion or is refused.
_NAMED_TYPE = re.compile(rb'"(?:type|sqlType|elementType|keyType|valueType)" ?: ?"([^" (]*)')
_NO_CONVERSION = {word.encode() for word in _PLAIN - {"interval"}} | {b"udt"}


def type_by_note(stored: pa.DataType, note: Any, depth: int = 0) -> pa.DataType:
    """Return the type that Spark's annotation gives to values of a stored type, at any depth.

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
    """Return the annotations of a struct's fields by name."""
    fields = note.get("fields") if isinstance(note, dict) else None
    if not isinstance(fields, list):
        return {}
    return {field["name"]: field.get("type") for field in fields if isinstance(field, dict) and isinstance(field.get("name"), str)}


def types_by_notes(metadata: Mapping[bytes, bytes] | None, schema: pa.Schema) -> tuple[dict[str, pa.DataType], dict[str, str]]:
    """Return the annotated types of columns that Spark stores as others, and why columns cannot be read, by name.

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
    # Most files have no such type, and some have thousands of columns: their JSON is parsed only if it names one.
    if _NO_CONVERSION.issuperset(_NAMED_TYPE.findall(text)):
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
    """Return an ORC field with the types that its metadata annotates.

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
    """Return the type that an annotation of a scalar means."""
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


# Which columns of a Parquet file are in the hybrid calendar, according to its writer.

SPARK_VERSION, SPARK_ZONE = b"org.apache.spark.version", b"org.apache.spark.timeZone"
SPARK_HYBRID, SPARK_HYBRID_INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
# From these Spark versions on, files are hybrid only if they say so.
FIRST_PROLEPTIC, FIRST_PROLEPTIC_INT96 = (3, 0), (3, 1)
HIVE_PROLEPTIC_DATES = b"writer.date.proleptic"
_VERSION = re.compile(rb"([0-9]{1,9})\.([0-9]{1,9})")


def hybrid_columns(metadata: Mapping[bytes, bytes] | None) -> HybridColumns | None:
    """Return which columns of a file are in the hybrid calendar; None where none is.

    Parameters
    ----------
    metadata
        Keys and values of the footer.

    Examples
    --------
    >>> hybrid_columns({b"org.apache.spark.version": b"2.4.5"})
    HybridColumns(dates=True, instants=True, unzoned=True, zone=HybridZone(offset=0, differences=()))
    >>> hybrid_columns({b"org.apache.spark.version": b"4.1.0"}) is None
    True
    """
    metadata = metadata or {}
    if SPARK_VERSION not in metadata:
        says_hybrid = metadata.get(HIVE_PROLEPTIC_DATES, b"").strip().lower() == b"false"
        return HybridColumns(dates=True, instants=False, unzoned=False) if says_hybrid else None
    found = _VERSION.match(metadata[SPARK_VERSION])
    version = None if found is None else (int(found[1]), int(found[2]))
    common = SPARK_HYBRID in metadata or (version is not None and version < FIRST_PROLEPTIC)
    int96 = SPARK_HYBRID_INT96 in metadata or (version is not None and version < FIRST_PROLEPTIC_INT96)
    if not common and not int96:
        return None
    # Without a recorded zone Spark assumes that of the reading machine; we take UTC.
    zone = zone_of(metadata[SPARK_ZONE].decode("utf-8", "replace")) if SPARK_ZONE in metadata else UTC
    return HybridColumns(dates=common, instants=common, unzoned=int96, zone=zone)
