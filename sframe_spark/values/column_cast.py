"""Casts of columns to another kind, as ``SArray.astype`` does; and canonical strings for the comparison of lists and dicts.

As in SFrame, every cast of a float column makes NaN missing, and floats become strings with six significant digits. Unlike
in SFrame, strings are parsed to floats with all their digits. The module also converts columns of
datetimes to microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import ConversionError, SchemaError, UnsupportedOperationError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import (
    ARRAY,
    ARRAY_KIND,
    DATETIME,
    DATETIME_KIND,
    DICT_KIND,
    ENCODED_DICT,
    ENCODED_LIST,
    FLOAT,
    FLOAT_KIND,
    IMAGE_KIND,
    INT,
    INT_KIND,
    LIST_KIND,
    NDARRAY,
    NDARRAY_KIND,
    STR,
    STR_KIND,
    ColumnType,
    list_of,
)
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.datetimes import FIRST_MICROSECOND, LAST_MICROSECOND, MINUTE, SECOND, all_in_years_of_python, floored, format_datetimes
from sframe_spark.values.ndarrays import numbers_of, vectors_as_ndarrays
from sframe_spark.values.nested.text_writer import CANONICAL, DISPLAY
from sframe_spark.values.plain_values import SMALLEST_INT
from sframe_spark.values.python_to_arrow import encode_plain, recode
from sframe_spark.values.single_value_conversion import parse_array, parse_dict, parse_float, parse_int, parse_list
from sframe_spark.values.tagged_json_display_and_canonical_text import canonical_value, display_text

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.values.nested.float_and_datetime_text import display_floats
    from sframe_spark.values.nested.json_item_splitting_and_joining import flat_items, items_of
    from sframe_spark.values.nested.text_and_json_to_columns import read_arrays, read_stored
    from sframe_spark.values.nested.text_writer import written
    from sframe_spark.values.single_value_conversion import list_to_array

# Strings for which Arrow and our own parsers agree: the only sign is a minus, and the number is in range whatever its digits are.
PLAIN_INT = r"^-?[0-9]{1,18}$"
PLAIN_DECIMAL = r"^-?[0-9]{1,18}(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?$"

_RESULTS: dict[tuple[str, str], ColumnType] = {
    **{(source, STR_KIND): STR for source in (INT_KIND, FLOAT_KIND, DATETIME_KIND, LIST_KIND, DICT_KIND, ARRAY_KIND, NDARRAY_KIND, IMAGE_KIND)},
    **{(source, INT_KIND): INT for source in (FLOAT_KIND, STR_KIND, DATETIME_KIND)},
    **{(source, FLOAT_KIND): FLOAT for source in (INT_KIND, STR_KIND, DATETIME_KIND)},
    **{(source, DATETIME_KIND): DATETIME for source in (INT_KIND, FLOAT_KIND)},
    **{(source, ARRAY_KIND): ARRAY for source in (STR_KIND, LIST_KIND, NDARRAY_KIND)},
    (ARRAY_KIND, NDARRAY_KIND): NDARRAY,
    (ARRAY_KIND, LIST_KIND): list_of(FLOAT),
    (STR_KIND, LIST_KIND): ENCODED_LIST,
    (STR_KIND, DICT_KIND): ENCODED_DICT,
}


def cast_type(source: ColumnType, target: ColumnType) -> ColumnType:
    """Return the type that a cast yields: it has the kind of the target, and the encoding that is cheapest to produce from the source.

    Raises
    ------
    UnsupportedOperationError
        If there is no cast between the kinds.

    Examples
    --------
    >>> str(cast_type(ARRAY, ENCODED_LIST))
    'list:list<item: double>'
    """
    if source.kind == target.kind:
        return source
    result = _RESULTS.get((source.kind, target.kind))
    if result is None:
        instead = ": str_to_datetime() reads date-times from texts" if (source.kind, target.kind) == (STR_KIND, DATETIME_KIND) else ""
        if IMAGE_KIND in (source.kind, target.kind):
            instead = ": images are made of paths, or by pixel_array_to_image() of arrays, and become texts and arrays of their pixels"
        elif NDARRAY_KIND in (source.kind, target.kind):
            instead = f": apply() converts each value{', as by numpy.array' if target.kind == NDARRAY_KIND else ', as by its tolist()'}"
        raise UnsupportedOperationError(f"a column of {source.kind} cannot be cast to {target.kind}{instead}")
    return result


def cast_array(values: pa.Array, source: ColumnType, target: ColumnType, undefined_on_failure: bool = False) -> pa.Array:
    """Cast every value to the kind of ``target``; the array has exactly the physical type of ``target``.

    Raises
    ------
    UnsupportedOperationError
        If there is no cast between the kinds.
    ConversionError
        If a value cannot be cast, unless ``undefined_on_failure`` makes it missing.

    Examples
    --------
    >>> cast_array(pa.array(["1", "x"]), STR, INT, undefined_on_failure=True).to_pylist()
    [1, None]
    """
    natural = cast_type(source, target)
    if source.kind == FLOAT_KIND:
        values = if_else(pc.is_nan(values), pa.scalar(None, pa.float64()), values)
    if source.kind != target.kind:
        converted = _CASTS[source.kind, target.kind](values, source)
        if not undefined_on_failure and converted.null_count > values.null_count:
            raise _failure(values, converted, source, target)
        values = converted
    return recode(values, natural, target)


def _failure(values: pa.Array, converted: pa.Array, source: ColumnType, target: ColumnType) -> ConversionError:
    failed = pc.and_(values.is_valid(), pc.is_null(converted)).index(True).as_py()
    value = decode(values.slice(failed, 1), source)[0]
    return ConversionError(f"{value!r:.60}", target.kind, failed)


def _per_value(convert: Callable[[Any], Any], target: ColumnType) -> Callable[[pa.Array, ColumnType], pa.Array]:
    """Return a cast that converts one value at a time; ``convert`` returns None for values that cannot be cast."""

    def cast(values: pa.Array, source: ColumnType) -> pa.Array:
        cells = [None if value is None else convert(value) for value in decode(values, source)]
        return encode_plain(cells, target)

    return cast


def _float_to_int(values: pa.Array, source: ColumnType) -> pa.Array:
    """Truncate floats to ints; floats that do not fit in 64 bits become the smallest int."""
    numbers = values.fill_null(0.0).to_numpy(zero_copy_only=False)
    fits = (numbers >= SMALLEST_INT) & (numbers < -float(SMALLEST_INT))
    integers = np.where(fits, np.where(fits, numbers, 0.0).astype(np.int64), SMALLEST_INT)
    return pa.array(integers, mask=pc.is_null(values).to_numpy(zero_copy_only=False) if values.null_count else None)


def _int_to_datetime(values: pa.Array, source: ColumnType) -> pa.Array:
    first, last = FIRST_MICROSECOND // SECOND, LAST_MICROSECOND // SECOND
    fits = pc.and_(pc.greater_equal(values, first), pc.less_equal(values, last))
    return pc.multiply(if_else(fits, values, pa.scalar(None, pa.int64())), SECOND).cast(DATETIME.physical)


def _float_to_datetime(values: pa.Array, source: ColumnType) -> pa.Array:
    fits = pc.less(pc.abs(values), LAST_MICROSECOND / SECOND)
    microseconds = seconds_to_microseconds(if_else(fits, values, pa.scalar(None, pa.float64())))
    inside = pc.greater_equal(microseconds, FIRST_MICROSECOND)
    return if_else(inside, microseconds, pa.scalar(None, pa.int64())).cast(DATETIME.physical)


def seconds_to_microseconds(values: pa.Array) -> pa.Array:
    """Convert float seconds to int microseconds: the whole second is rounded down, and the rest above it is truncated.

    Examples
    --------
    >>> seconds_to_microseconds(pa.array([2.9, -2.25])).to_pylist()
    [2899999, -2250000]
    """
    whole = pc.floor(values)
    fraction = pc.trunc(pc.multiply(pc.subtract(values, whole), float(SECOND)))
    return pc.add(pc.multiply(whole.cast(pa.int64()), SECOND), fraction.cast(pa.int64()))


def microseconds_of(values: pa.Array | pa.Scalar, column_type: ColumnType) -> pa.Array | pa.Scalar:
    """Return datetimes as microseconds since 1970 in UTC; a datetime without an offset counts as UTC."""
    instants = pc.struct_field(values, "instant") if column_type.is_zoned else values
    return instants.cast(pa.int64())


def wall_microseconds(microseconds: pa.Array, datetimes: pa.Array, column_type: ColumnType) -> pa.Array:
    """Convert microseconds in UTC to local time at the offsets of ``datetimes``; without offsets they are unchanged."""
    if not column_type.is_zoned:
        return microseconds
    offsets = pc.fill_null(pc.struct_field(datetimes, "offset"), 0).cast(pa.int64())
    return pc.add(microseconds, pc.multiply(offsets, MINUTE))


def _datetime_to_str(values: pa.Array, source: ColumnType) -> pa.Array:
    """Format local times all at once; if one is outside the years 1 to 9999, one by one, which raises an error that names the row."""
    wall = wall_microseconds(microseconds_of(values, source), values, source)
    if not all_in_years_of_python(wall):
        return _per_value(display_text, STR)(values, source)
    return format_datetimes(wall.cast(DATETIME.physical), pa.nulls(len(wall), pa.int32()), "%Y%m%dT%H%M%S%F")


def _plain_or_parsed(values: pa.Array, plain: str, target: pa.DataType, parse: Callable[[str], Any]) -> pa.Array:
    """Cast the strings that match the pattern ``plain`` with Arrow, and parse the other strings one by one."""
    are_plain = pc.match_substring_regex(values, plain)
    if pc.all(are_plain).as_py() is not False:
        return values.cast(target)
    parsed = if_else(are_plain, values, pa.scalar(None, values.type)).cast(target)
    return _with_rest(values, parsed, are_plain.fill_null(False), lambda rest, _: pa.array(map(parse, rest.to_pylist()), target))


def _items_to_str(values: pa.Array, source: ColumnType) -> pa.Array:
    texts = written(values, source, DISPLAY)
    return _per_value(display_text, STR)(values, source) if texts is None else texts


def canonical_text(values: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return a string for each value that is the same for equal values, whatever their encoding, the order of dicts, and int or float.

    Examples
    --------
    >>> native = canonical_text(pa.array([[1, None]]), list_of(INT))
    >>> native == canonical_text(pa.array(["[1.0,null]"]), ENCODED_LIST)
    True
    """
    texts = written(values, column_type, CANONICAL) if column_type.has_items else None
    if texts is not None:
        return texts
    return pa.array([None if cell is None else canonical_value(cell) for cell in decode(values, column_type)], pa.string())


def _with_rest(values: pa.Array, converted: pa.Array, is_converted: pa.Array, cast: Callable[[pa.Array, ColumnType], pa.Array]) -> pa.Array:
    """Return ``converted`` in rows where ``is_converted`` is true, and the result of ``cast`` for the other strings."""
    is_rest = pc.and_not(values.is_valid(), is_converted)
    if not pc.any(is_rest).as_py():
        return converted
    rest = cast(values.filter(is_rest), STR)
    if len(rest) == len(values):
        return rest
    indices = np.arange(len(values))
    indices[is_rest.to_numpy(zero_copy_only=False)] = np.arange(len(values), len(values) + len(rest))
    return pa.concat_arrays([converted, rest]).take(pa.array(indices))


def _list_to_array(values: pa.Array, source: ColumnType) -> pa.Array:
    """Convert lists of numbers to arrays all at once, and lists of other values one by one."""
    native: pa.Array | None = values
    if source.is_encoded:
        items = flat_items(values, LIST_KIND)
        native, _ = (items and items.natively()) or (None, None)
    flat = None if native is None or pa.types.is_string(native.type.value_type) else items_of(native)
    if flat is None:
        return _per_value(_list_cell_to_array, ARRAY)(values, source)
    numbers = flat.items.cast(pa.float64(), safe=False).fill_null(float("nan"))
    return pa.ListArray.from_arrays(flat.offsets, numbers, type=ARRAY.physical)


def _list_cell_to_array(value: list[Any]) -> Any:
    try:
        return list_to_array(value)
    except SchemaError:
        return None  # the caller sees that there are more missing values than before


def _image_texts(values: pa.StructArray) -> pa.Array:
    height, width = (pc.struct_field(values, name).cast(pa.string()) for name in ("height", "width"))
    return pc.binary_join_element_wise("Height: ", height, " Width: ", width, "")


_CASTS: dict[tuple[str, str], Callable[[pa.Array, ColumnType], pa.Array]] = {
    (INT_KIND, FLOAT_KIND): lambda values, _: values.cast(pa.float64(), safe=False),
    (INT_KIND, STR_KIND): lambda values, _: values.cast(pa.string()),
    (INT_KIND, DATETIME_KIND): _int_to_datetime,
    (FLOAT_KIND, INT_KIND): _float_to_int,
    (FLOAT_KIND, STR_KIND): lambda values, _: display_floats(values),
    (FLOAT_KIND, DATETIME_KIND): _float_to_datetime,
    (STR_KIND, INT_KIND): lambda values, _: _plain_or_parsed(values, PLAIN_INT, pa.int64(), parse_int),
    # Arrow rounds decimals of any number of digits as Python does.
    (STR_KIND, FLOAT_KIND): lambda values, _: _plain_or_parsed(values, PLAIN_DECIMAL, pa.float64(), parse_float),
    (STR_KIND, ARRAY_KIND): lambda values, _: _with_rest(values, *read_arrays(values), _per_value(parse_array, ARRAY)),
    (STR_KIND, LIST_KIND): lambda values, _: _with_rest(values, *read_stored(values, LIST_KIND), _per_value(parse_list, ENCODED_LIST)),
    (STR_KIND, DICT_KIND): lambda values, _: _with_rest(values, *read_stored(values, DICT_KIND), _per_value(parse_dict, ENCODED_DICT)),
    (DATETIME_KIND, INT_KIND): lambda values, source: floored(microseconds_of(values, source), SECOND),
    (DATETIME_KIND, FLOAT_KIND): lambda values, source: pc.divide(microseconds_of(values, source).cast(pa.float64(), safe=False), float(SECOND)),
    (DATETIME_KIND, STR_KIND): _datetime_to_str,
    (LIST_KIND, STR_KIND): _items_to_str,
    (LIST_KIND, ARRAY_KIND): _list_to_array,
    (ARRAY_KIND, LIST_KIND): lambda values, _: values,
    (ARRAY_KIND, STR_KIND): _items_to_str,
    (DICT_KIND, STR_KIND): _items_to_str,
    (NDARRAY_KIND, STR_KIND): _items_to_str,
    (NDARRAY_KIND, ARRAY_KIND): lambda values, _: numbers_of(values),
    (ARRAY_KIND, NDARRAY_KIND): lambda values, _: vectors_as_ndarrays(values),
    (IMAGE_KIND, STR_KIND): lambda values, _: _image_texts(values),
}
