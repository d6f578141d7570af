"""Converts Arrow arrays of any type to the column type that fits them, and warns of decimals that lose digits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import DateTimeRangeError, InexactDecimalWarning, SchemaError, listed, users_level
from sframe_spark.message_text import visible
from sframe_spark.pyarrow_versions import local_timestamp
from sframe_spark.types import (
    ARRAY,
    DATETIME,
    ENCODED_DICT,
    ENCODED_LIST,
    FLOAT,
    INT,
    NDARRAY,
    STR,
    ZONED_DATETIME,
    ZONED_PHYSICAL,
    ColumnType,
    dict_of,
    list_of,
)
from sframe_spark.values.arrow_layouts import TENSOR, TICKS_PER_SECOND, in_one_array, is_list, maps_of_dicts, parts_of, standard_parts
from sframe_spark.values.datetimes import DAY, MAX_OFFSET, MINUTE, SECOND, arrow_microseconds, floored
from sframe_spark.values.plain_values import LARGEST_INT, plain, plain_dict, plain_list
from sframe_spark.values.rounding_warnings import DIGITS_OF_FLOAT
from sframe_spark.values.spark_variant_decoding_and_json import VariantType, is_stored_variant, variant_value
from sframe_spark.values.struct_kinds import STRUCT_KINDS, struct_kind_of
from sframe_spark.values.tagged_json_display_and_canonical_text import encode_value

# Decimals without a fraction and of at most 18 digits become ints. Others become floats, with a warning if they have too many digits.

# Every int with this many digits fits in 64 bits.
DIGITS_OF_INT = 18


def is_whole_decimal(data_type: pa.DataType) -> bool:
    """Return whether a type is a decimal type without a fraction whose values all fit in 64-bit ints.

    Examples
    --------
    >>> is_whole_decimal(pa.decimal128(18, 0)), is_whole_decimal(pa.decimal128(19, 0)), is_whole_decimal(pa.decimal128(3, 2))
    (True, False, False)
    """
    return bool(pa.types.is_decimal(data_type)) and data_type.scale == 0 and data_type.precision <= DIGITS_OF_INT


def warn_of_decimal_types(columns: Iterable[tuple[str, pa.DataType]]) -> None:
    """Warn once of columns whose type allows decimals with more digits than floats hold, if their values are not known yet."""
    _warn([f"{name!r} ({kind.precision} digits)" for name, data_type in columns if (kind := _long_decimal(data_type)) is not None])


def warn_of_long_decimals(columns: Iterable[tuple[str | None, pa.Array | pa.ChunkedArray]]) -> None:
    """Warn once of columns with decimals that have more digits than floats hold; for nested columns, if their type allows such decimals."""
    rounded = []
    for name, values in columns:
        kind = _long_decimal(values.type)
        if kind is not None and (not pa.types.is_decimal(values.type) or _has_long_values(values)):
            rounded.append(f"{'the column' if name is None else repr(name)} ({kind.precision} digits)")
    _warn(rounded)


def _long_decimal(data_type: pa.DataType) -> pa.DataType | None:
    """Return the type, or the first type inside it, that is a decimal whose values become floats and may have too many digits; else None."""
    if pa.types.is_decimal(data_type):
        return data_type if data_type.precision > DIGITS_OF_FLOAT and not is_whole_decimal(data_type) else None
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        return _long_decimal(data_type.value_type)
    inner = (_long_decimal(data_type.field(index).type) for index in range(data_type.num_fields))
    return next((decimal for decimal in inner if decimal is not None), None)


def _has_long_values(values: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether a decimal has more digits than floats hold, not counting zeros at both ends."""
    digits = pc.replace_substring_regex(pc.replace_substring_regex(values.cast(pa.string()), "E.*$", ""), "[-.]", "")
    longest = pc.max(pc.utf8_length(pc.utf8_trim(digits, "0"))).as_py()
    return longest is not None and longest > DIGITS_OF_FLOAT


def _warn(rounded: list[str]) -> None:
    if rounded:
        message = (
            f"decimals become floats, which hold {DIGITS_OF_FLOAT} digits: longer values of {listed(rounded, str)} are rounded; "
            "cast the column to a string first to keep all digits, or to a decimal of 15 digits, or of 18 without a fraction"
        )
        warnings.warn(InexactDecimalWarning(message), stacklevel=users_level())


BEYOND_64_BITS = (
    "an int column has 64 bits with a sign, but some uint64 values are larger: cast them to another type first, to texts to keep all digits"
)

# How many bytes of rows are converted to Python objects at a time; the objects take several times as much memory.
_BYTES_AS_OBJECTS = 64 << 20

WITH_OFFSET = "arrow.timestamp_with_offset"
OFFSET_FIELDS = [pa.field("timestamp", pa.timestamp("us", "UTC"), nullable=False), pa.field("offset_minutes", pa.int16(), nullable=False)]
"""The fields in which Arrow's canonical extension stores date-times with an offset."""


def normalize(values: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, ColumnType]:
    """Convert values to the physical type of the column type that fits them; return both.

    Values that have this physical type already are not copied, as Arrow data never changes.

    Raises
    ------
    SchemaError
        If no column can hold the Arrow type.

    Examples
    --------
    >>> array, column_type = normalize(pa.array([1, None], pa.int8()))
    >>> str(array.type), str(column_type)
    ('int64', 'int')
    """
    parts, column_type = normalized_parts(values)
    return in_one_array(parts), column_type


def normalized_parts(values: pa.Array | pa.ChunkedArray) -> tuple[list[pa.Array], ColumnType]:
    """Do the same as :func:`normalize`, but return a list of arrays: several if there are more than 2 GiB of strings or lists, or several chunks.

    Raises
    ------
    SchemaError
        If no column can hold the Arrow type.
    TooLargeError
        If a single value has more than an array can hold.
    """
    column_type = arrow_column_type(values.type)
    try:
        return [converted for part in standard_parts(values) for converted in _converted(part, column_type)], column_type
    except pa.ArrowException as error:
        # Arrow has no kernel for the type, or cannot convert a value.
        raise SchemaError(f"Arrow cannot convert {visible(str(values.type)):.200} values: {visible(str(error)):.200}") from error


def arrow_column_type(data_type: pa.DataType) -> ColumnType:
    """Return the column type for an Arrow type; values are not examined.

    Lists of floats become arrays, other lists stay lists; structs and maps become dicts. Timestamps with a zone become datetimes with an offset.
    Decimal types without a fraction that fit 64 bits become ints, other decimals floats.

    Raises
    ------
    SchemaError
        If no column can hold the Arrow type.
    """
    types = pa.types
    if data_type == ZONED_PHYSICAL or is_with_offset(data_type):
        return ZONED_DATETIME
    struct_kind = struct_kind_of(data_type)
    if struct_kind is not None:
        return struct_kind.column_type
    if isinstance(data_type, VariantType):
        # A VARIANT inside a list or dict; the type of a column of VARIANTs is found from its values.
        return ENCODED_DICT
    if isinstance(data_type, pa.BaseExtensionType):
        if data_type.extension_name not in _EXTENSIONS:
            name = visible(data_type.extension_name)
            raise SchemaError(f"a column cannot hold values of the Arrow extension {name!r}: pass its storage, {data_type.storage_type}")
        return _EXTENSIONS[data_type.extension_name]
    if types.is_dictionary(data_type) or types.is_run_end_encoded(data_type):
        return arrow_column_type(data_type.value_type)
    if types.is_boolean(data_type) or types.is_integer(data_type) or is_whole_decimal(data_type):
        return INT
    if types.is_null(data_type) or types.is_floating(data_type) or types.is_decimal(data_type):
        return FLOAT
    if types.is_duration(data_type) or types.is_time(data_type):
        return FLOAT
    if data_type.id in _STRINGS:
        return STR
    if types.is_date(data_type):
        return DATETIME
    if types.is_timestamp(data_type):
        return DATETIME if data_type.tz is None else ZONED_DATETIME
    return _nested_column_type(data_type)


# The extensions of Arrow that columns can hold; JSON stays a string.
_EXTENSIONS = {"arrow.json": STR, "arrow.bool8": INT, "arrow.uuid": STR, TENSOR: NDARRAY, WITH_OFFSET: ZONED_DATETIME}
# Binary values are strings in UTF-8.
_STRINGS = {
    data_type.id for data_type in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))
}


def _nested_column_type(data_type: pa.DataType) -> ColumnType:
    types = pa.types
    if types.is_struct(data_type):
        if is_stored_variant(data_type):
            reason = "its bytes of 'metadata' and values are VARIANTs, which only Spark can read"
            raise SchemaError(f"{reason}: make the frame of a DataFrame, as of spark.read.parquet(...)")
        items = {arrow_column_type(field.type) for field in data_type}
        return dict_of(STR, items.pop()) if len(items) == 1 else ENCODED_DICT
    if types.is_map(data_type):
        key = arrow_column_type(data_type.key_type)
        if key.is_encoded or (pa.types.is_nested(key.physical) and not key.is_zoned):
            raise SchemaError(f"a dict cannot have lists or dicts as keys, so a column cannot hold Arrow {data_type} values")
        return dict_of(key, arrow_column_type(data_type.item_type))
    if is_list(data_type):
        element = arrow_column_type(data_type.value_type)
        if types.is_null(data_type.value_type):
            return ENCODED_LIST
        return ARRAY if element == FLOAT else list_of(element)
    raise SchemaError(f"a column cannot hold Arrow {data_type} values")


def _converted(values: pa.Array, column_type: ColumnType) -> list[pa.Array]:
    """Convert values of a standard layout to the physical type of a column type; encoded lists and dicts may need several arrays."""
    if values.type == column_type.physical:
        if column_type.is_zoned:
            _check_offsets(values.field("offset").filter(values.is_valid()))
        return [STRUCT_KINDS[column_type.kind].sound(values) if column_type.kind in STRUCT_KINDS else values]
    if column_type.kind in STRUCT_KINDS:
        return [STRUCT_KINDS[column_type.kind].sound(values.cast(column_type.physical))]
    if column_type in _CONVERSIONS:
        return [_CONVERSIONS[column_type](values)]
    if column_type.is_encoded or not is_list(values.type):
        return [converted for rows in _few_rows(values) for converted in parts_of(_from_python(rows, column_type))]
    return [_list_values(values, column_type)]


def _few_rows(values: pa.Array) -> Iterator[pa.Array]:
    """Yield consecutive slices that are small enough to be converted to Python objects."""
    step = max(1, len(values) * _BYTES_AS_OBJECTS // max(values.nbytes, 1))
    yield from (values.slice(start, step) for start in range(0, max(len(values), 1), step))


def _int_values(values: pa.Array) -> pa.Array:
    if pa.types.is_uint64(values.type):
        try:
            return values.cast(pa.int64())
        except pa.ArrowInvalid as error:
            raise SchemaError(BEYOND_64_BITS) from error
    if pa.types.is_decimal(values.type):
        # Arrow does not cast 32-bit decimals to ints.
        values = values.cast(pa.decimal128(DIGITS_OF_INT, 0))
    return values.cast(pa.int64())


def _float_values(values: pa.Array) -> pa.Array:
    if pa.types.is_decimal(values.type):
        # Arrow's own cast of decimals to floats gets the last bit wrong for one in ten.
        values = values.cast(pa.string())
    return values.cast(pa.float64(), safe=False)


def _text_values(values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise SchemaError("a str column holds text: the binary values are not UTF-8") from error


def _datetime_values(values: pa.Array) -> pa.Array:
    _check_microseconds(values)
    return arrow_microseconds(values) if pa.types.is_timestamp(values.type) else values.cast(DATETIME.physical)


def _check_microseconds(values: pa.Array) -> None:
    """Raise if days, seconds or milliseconds do not fit in 64 bits as microseconds: the cast would let them wrap around.

    Raises
    ------
    DateTimeRangeError
        If a value does not fit.
    """
    # The type date64 counts days in milliseconds.
    unit = "days" if pa.types.is_date32(values.type) else "ms" if pa.types.is_date64(values.type) else values.type.unit
    factor = DAY if unit == "days" else SECOND // TICKS_PER_SECOND[unit]
    if factor <= 1:
        return
    ticks_type = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
    limits = pc.min_max(values.cast(ticks_type)).as_py()
    for ticks in limits.values():
        if ticks is not None and not -(2**63) <= ticks * factor < 2**63:
            raise DateTimeRangeError(
                f"a time stamp of {ticks} {unit} since 1970 is no date-time of a column: its microseconds need more than 64 bits"
            )


def _zoned_values(values: pa.Array) -> pa.Array:
    """Convert timestamps to datetimes with an offset: the offset that their zone had at that time, or that is stored with them."""
    if is_with_offset(values.type):
        _check_microseconds(values.field(0))
        _check_offsets(values.field(1).filter(values.is_valid()))
        # In a missing row, the timestamp may be null instead of the whole struct.
        valid = pc.and_(values.is_valid(), values.field(0).is_valid())
        return zoned_array(arrow_microseconds(values.field(0)).cast(pa.int64()), values.field(1).cast(pa.int32()), valid)
    _check_microseconds(values)
    instant = arrow_microseconds(values)
    utc = instant.cast(pa.int64())
    if values.type.tz in ("UTC", "+00:00", "Z"):
        # Most columns are of this zone, in which nothing need be looked up row by row.
        return zoned_array(utc, pa.array(np.zeros(len(utc), np.int32)), values.is_valid())
    wall = local_timestamp(instant).cast(pa.int64())
    # Before about 1900 the offsets of zones have seconds; they are rounded down to minutes. The instant is not rounded.
    offset = floored(pc.subtract(wall, utc), MINUTE).cast(pa.int32())
    return zoned_array(utc, offset, values.is_valid())


def _check_offsets(minutes: pa.Array) -> None:
    """Raise if an offset is a day or more, which Python's ``datetime`` does not allow.

    Raises
    ------
    DateTimeRangeError
        If there is such an offset.
    """
    for limit in pc.min_max(minutes).as_py().values():
        if limit is not None and abs(limit) > MAX_OFFSET:
            raise DateTimeRangeError(f"an offset of {limit} minutes from UTC is none of a date-time: offsets are less than a day")


def zoned_array(utc: pa.Array, offset: pa.Array, valid: pa.Array) -> pa.Array:
    """Return zoned datetimes from microseconds in UTC and offsets in minutes, in rows where ``valid``; a null offset means that there is none."""
    return pa.StructArray.from_arrays([utc.cast(pa.timestamp("us")), offset], fields=list(ZONED_PHYSICAL), mask=pc.invert(valid))


def _list_values(values: pa.Array, column_type: ColumnType) -> pa.Array:
    """Convert the elements of lists; in an array column, missing elements become NaN."""
    elements, _ = normalize(values.flatten())
    if column_type == ARRAY:
        elements = elements.fill_null(float("nan"))
    lengths = pc.list_value_length(values)
    return list_from_lengths(lengths, elements, column_type.physical)


def list_from_lengths(lengths: pa.Array, elements: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Return a list array from the length of each row (null for a missing row) and the concatenated elements."""
    ends = pc.cumulative_sum(lengths.fill_null(0).cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    mask = pc.is_null(lengths) if lengths.null_count else None
    return pa.ListArray.from_arrays(offsets, elements, type=data_type, mask=mask)


def _from_python(values: pa.Array, column_type: ColumnType) -> pa.Array | pa.ChunkedArray:
    """Convert nested values as Python objects, for types that Arrow cannot convert."""
    read = _reader(values.type)
    try:
        cells = [None if cell is None else read(cell) for cell in values.to_pylist()]
    except OverflowError as error:
        raise DateTimeRangeError(f"in a list or dict, a date-time lies outside the years 1 to 9999, which Python cannot represent: {error}") from None
    except UnicodeDecodeError:
        raise SchemaError("in a list or dict, texts must be UTF-8: some binary values are not UTF-8") from None
    if not column_type.is_encoded:
        return maps_of_dicts([None if cell is None else plain_dict(cell) for cell in cells], column_type.physical)
    write: Callable[[Any], Any] = plain_list if column_type == ENCODED_LIST else plain_dict
    return pa.array([None if cell is None else encode_value(write(cell)) for cell in cells], pa.string())


def _reader(data_type: pa.DataType) -> Callable[[Any], Any]:
    """Return a function that turns what ``to_pylist`` yields for a type into a cell (maps come as lists of pairs)."""
    if pa.types.is_map(data_type):
        key, item = _reader(data_type.key_type), _reader(data_type.item_type)
        return lambda cell: {key(k): None if v is None else item(v) for k, v in cell}
    struct_kind = struct_kind_of(data_type)
    if struct_kind is not None:
        return struct_kind.of_cell
    if pa.types.is_struct(data_type):
        readers = {field.name: _reader(field.type) for field in data_type}
        return lambda cell: {name: None if v is None else readers[name](v) for name, v in cell.items()}
    if is_list(data_type):
        element = _reader(data_type.value_type)
        return lambda cell: [None if v is None else element(v) for v in cell]
    if isinstance(data_type, VariantType):
        return lambda cell: variant_value(cell["value"], cell["metadata"])
    if is_whole_decimal(data_type):
        return int
    if isinstance(data_type, pa.BaseExtensionType) and data_type.extension_name == "arrow.uuid":
        return str
    if pa.types.is_uint64(data_type):
        return _signed
    if pa.types.is_decimal(data_type):
        # Users have already been warned that digits are rounded, because the type shows it.
        return float
    return plain


def _signed(value: int) -> int:
    if value > LARGEST_INT:
        raise SchemaError(BEYOND_64_BITS)
    return value


_CONVERSIONS: dict[ColumnType, Callable[[pa.Array], pa.Array]] = {
    INT: _int_values,
    FLOAT: _float_values,
    STR: _text_values,
    DATETIME: _datetime_values,
    ZONED_DATETIME: _zoned_values,
}


def is_with_offset(data_type: pa.DataType) -> bool:
    """Return whether a type is the storage type of Arrow's extension for timestamps with an offset, with any unit of time.

    Examples
    --------
    >>> is_with_offset(pa.struct(OFFSET_FIELDS)), is_with_offset(pa.int64())
    (True, False)
    """
    if not pa.types.is_struct(data_type) or [field.name for field in data_type] != [field.name for field in OFFSET_FIELDS]:
        return False
    instant, offset = (field.type for field in data_type)
    if pa.types.is_dictionary(offset) or pa.types.is_run_end_encoded(offset):
        offset = offset.value_type
    return pa.types.is_timestamp(instant) and instant.tz in ("UTC", "Etc/UTC") and pa.types.is_int16(offset)
