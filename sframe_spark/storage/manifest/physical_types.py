"""Physical types of columns: their names in manifests, the names of columns in segment files, and conversions of arrays from files to these types."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.errors import PlanInvariantError, SchemaError, StorageError, UnknownColumnTypeError
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, DICT_KIND, FLOAT_KIND, INT_KIND, LIST_KIND, STR_KIND, ZONED_PHYSICAL, ColumnType
from sframe_spark.values.arrow_to_column_types import normalize
from sframe_spark.values.python_to_arrow import recode
from sframe_spark.values.struct_kinds import STRUCT_KINDS

KEY_NAME = "_key"
KEY_TYPE = pa.int64()
# The lower 33 bits of a row key are the position in the segment, the upper ones the segment number, as in Spark's monotonically_increasing_id.
KEY_SHIFT = 33
KEY_POSITION_MASK = (1 << KEY_SHIFT) - 1

_SCALARS: dict[str, pa.DataType] = {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string()}
PHYSICAL_TYPES: dict[str, pa.DataType] = {
    **_SCALARS,
    "timestamp": pa.timestamp("us"),
    "zoned timestamp": ZONED_PHYSICAL,
    **{name: kind.column_type.physical for name, kind in STRUCT_KINDS.items()},
    **{f"list<{name}>": pa.list_(element) for name, element in _SCALARS.items()},
    **{f"map<{key}, {value}>": pa.map_(_SCALARS[key], element) for key in ("int64", "string") for value, element in _SCALARS.items()},
}
# The kinds of column types that each physical type can store.
_KINDS: dict[str, frozenset[str]] = {
    "int64": frozenset({INT_KIND}),
    "float64": frozenset({FLOAT_KIND}),
    # Lists and dicts whose items have no common type are stored as JSON strings.
    "string": frozenset({STR_KIND, LIST_KIND, DICT_KIND}),
    "timestamp": frozenset({DATETIME_KIND}),
    "zoned timestamp": frozenset({DATETIME_KIND}),
    **{name: frozenset({name}) for name in STRUCT_KINDS},
    **{f"list<{name}>": frozenset({LIST_KIND, ARRAY_KIND} if name == "float64" else {LIST_KIND}) for name in _SCALARS},
    **{name: frozenset({DICT_KIND}) for name in PHYSICAL_TYPES if name.startswith("map<")},
}
_NAMES = {physical: name for name, physical in PHYSICAL_TYPES.items()}


def file_column(position: int) -> str:
    """Return the name of the column at a position in segment files.

    Examples
    --------
    >>> file_column(3)
    'c3'
    """
    # Equal strings are one object, so that the name is pickled only once for all files.
    return sys.intern(f"c{position}")


def order_column(name: str, column_type: ColumnType) -> str:
    """Return the name of the Parquet column whose values determine the order of a column; for zoned datetimes, it is the instant.

    Examples
    --------
    >>> from sframe_spark.types import INT, ZONED_DATETIME
    >>> order_column("c0", INT), order_column("c0", ZONED_DATETIME)
    ('c0', 'c0.instant')
    """
    return f"{name}.instant" if column_type.is_zoned else name


def type_to_json(column_type: ColumnType) -> dict[str, str]:
    """Return a column type as a JSON object.

    Examples
    --------
    >>> from sframe_spark.types import ARRAY
    >>> type_to_json(ARRAY)
    {'kind': 'array', 'physical': 'list<float64>'}
    """
    try:
        return {"kind": column_type.kind, "physical": _NAMES[column_type.physical]}
    except KeyError:
        raise StorageError(f"columns of type {column_type} cannot be stored") from None


def type_from_json(value: Any) -> ColumnType:
    """Return the column type that :func:`type_to_json` has converted to JSON.

    Examples
    --------
    >>> str(type_from_json({"kind": "list", "physical": "list<int64>"}))
    'list:list<item: int64>'
    >>> type_from_json({"kind": "int", "physical": "string"})
    Traceback (most recent call last):
        ...
    sframe_spark.errors.UnknownColumnTypeError: unknown column type {'kind': 'int', 'physical': 'string'}
    """
    try:
        kind, name = value["kind"], value["physical"]
        known = kind in _KINDS[name]
    except (KeyError, TypeError):
        known = False
    if not known:
        raise UnknownColumnTypeError(f"unknown column type {value!r:.200}")
    return ColumnType(kind, PHYSICAL_TYPES[name])


def types_from_json(values: Sequence[Any]) -> tuple[ColumnType, ...]:
    """Return the column types of a list of JSON objects; equal types are one object, so that it is pickled only once."""
    shared: dict[ColumnType, ColumnType] = {}
    return tuple(shared.setdefault(kind, kind) for kind in map(type_from_json, values))


def conform(array: pa.Array | pa.ChunkedArray, column_type: ColumnType) -> pa.Array | pa.ChunkedArray:
    """Return an array with exactly the Arrow type of a column type, and the same values.

    Arrays that other programs have written may have other names of list elements, forbid nulls, be dictionary-encoded, or have timestamps in UTC.

    Raises
    ------
    StorageError
        If the values cannot be cast to the type.
    """
    physical = column_type.physical
    if array.type == physical:
        return array
    try:
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        return array.cast(physical)
    except pa.ArrowException as error:
        raise StorageError(f"a file has {array.type} in a column of {column_type.kind} ({error}): it is not the file that was saved") from error


def is_stored_as(data_type: pa.DataType, physical: pa.DataType) -> bool:
    """Return whether an Arrow type stores the same values as a physical type: they differ at most in field names, dictionaries and time zones.

    Examples
    --------
    >>> is_stored_as(pa.timestamp("us", "UTC"), pa.timestamp("us")), is_stored_as(pa.int64(), pa.float64())
    (True, False)
    """
    leaves = leaf_columns("", data_type.value_type if pa.types.is_dictionary(data_type) else data_type), leaf_columns("", physical)
    for stored, expected in itertools.zip_longest(*leaves):
        if stored is None or expected is None or stored[0] != expected[0]:
            return False
        if stored[1] != expected[1] and not (pa.types.is_timestamp(stored[1]) and pa.types.is_timestamp(expected[1])):
            return False
    return True


def require_computed_as(computed: pa.DataType, position: int, column_type: ColumnType) -> None:
    """Raise if the type of values that Spark computed is not the type of their column, given with its position.

    Raises
    ------
    PlanInvariantError
        If the types differ (see :func:`is_stored_as`).
    """
    if not is_stored_as(computed, column_type.physical):
        reason = "the Spark expression of an operator or a function gives another type than it infers: cast it, or infer the other type"
        raise PlanInvariantError(f"Spark computed {computed} in column {position}, which is one of {column_type.kind}: {reason}")


def convert_foreign(array: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return an array of an external file in the physical type of a column.

    Raises
    ------
    SchemaError
        If a string is not valid UTF-8.
    pyarrow.ArrowInvalid
        If the array is malformed.
    """
    if not pa.types.is_primitive(array.type):
        try:
            array.validate(full=True)
        except pa.ArrowInvalid as error:
            # Programs without a type for byte strings store any bytes as strings.
            if "Invalid UTF8" not in str(error):
                raise
            reason = "its type in the file is text, but not all of it is UTF-8"
            raise SchemaError(f"{reason}: have it written in UTF-8, or other bytes as text such as base64") from error
    if array.type == column_type.physical:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), column_type.physical)
    normalized, normalized_type = normalize(array)
    return normalized if normalized_type == column_type else recode(normalized, normalized_type, column_type)


def leaf_columns(name: str, physical: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the path and the type of each Parquet column in which a field of a name and physical type is stored.

    Examples
    --------
    >>> list(leaf_columns("c0", pa.list_(pa.int64())))
    [('c0.list.element', DataType(int64))]
    """
    if pa.types.is_list(physical):
        yield from leaf_columns(f"{name}.list.element", physical.value_type)
    elif pa.types.is_map(physical):
        yield from leaf_columns(f"{name}.key_value.key", physical.key_type)
        yield from leaf_columns(f"{name}.key_value.value", physical.item_type)
    elif pa.types.is_struct(physical):
        for field in physical:
            yield from leaf_columns(f"{name}.{field.name}", field.type)
    else:
        yield name, physical
