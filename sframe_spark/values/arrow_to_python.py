"""Converts the Arrow arrays of a column to Python values; the inverse of :mod:`~sframe_spark.values.python_to_arrow`."""

from __future__ import annotations

import array
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import DateTimeRangeError, InvalidArgumentError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import ARRAY_KIND, DATETIME, DATETIME_KIND, DICT_KIND, FLOAT_KIND, INT_KIND, LIST_KIND, ColumnType
from sframe_spark.values.invalid_unicode_errors import invalid_string_message
from sframe_spark.values.struct_kinds import STRUCT_KINDS
from sframe_spark.values.tagged_json_display_and_canonical_text import decode_value

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.values.datetimes import from_microseconds, is_in_years_of_python, timestamp_text
    from sframe_spark.values.nested.json_item_splitting_and_joining import FlatItems, is_known, items_of
    from sframe_spark.values.nested.python_and_tagged_json import python_values

# As many numbers as Arrow converts in the time in which it makes an array of numpy.
FEW = 64


def decode(values: pa.Array | pa.ChunkedArray, column_type: ColumnType) -> list[Any]:
    """Return the values of a column as Python objects; missing values are None.

    Examples
    --------
    >>> from sframe_spark.types import ARRAY
    >>> decode(pa.array([[1.0], None], ARRAY.physical), ARRAY)
    [array('d', [1.0]), None]

    Raises
    ------
    DateTimeRangeError
        If a datetime is outside the years 1 to 9999.
    InvalidArgumentError
        If a string is not valid UTF-8.
    """
    if isinstance(values, pa.ChunkedArray):
        return list(itertools.chain.from_iterable(decode(chunk, column_type) for chunk in values.chunks))
    try:
        return _decoded(values, column_type)
    except UnicodeDecodeError as error:
        # Spark strings may hold bytes that are not UTF-8.
        raise InvalidArgumentError(invalid_string_message(error.object)) from None
    except (OverflowError, ValueError) as error:
        out_of_range = _range_error(values, column_type)
        if out_of_range is None:
            raise
        raise out_of_range from error


def _decoded(values: pa.Array, column_type: ColumnType) -> list[Any]:
    if column_type.kind in (INT_KIND, FLOAT_KIND):
        return _numbers(values)
    if column_type.kind == ARRAY_KIND:
        return _arrays(values)
    if column_type.kind in STRUCT_KINDS:
        return STRUCT_KINDS[column_type.kind].to_python(values)
    if column_type.is_zoned:
        return _zoned(values)
    if column_type.is_encoded:
        return _stored(values, column_type)
    if column_type.kind not in (LIST_KIND, DICT_KIND):
        return values.to_pylist()
    flat = items_of(values)
    if flat is None:
        cells = values.to_pylist()
        return cells if column_type.kind == LIST_KIND else [None if cell is None else dict(cell) for cell in cells]
    return _lists_or_dicts(flat)


def _stored(values: pa.Array, column_type: ColumnType) -> list[Any]:
    """Decode lists and dicts from tagged JSON, all at once if :func:`is_known` allows it, otherwise one by one."""
    # Values that are nested four levels deep are not decoded all at once: decoding them one by one is as fast.
    if is_known(values, column_type.kind, many_rows=len(values) + 1):
        try:
            return python_values(values.fill_null("null"), decode_value)
        except ValueError:
            # Some number has thousands of digits: decoding the values one by one raises an error that shows which.
            pass
    return [None if cell is None else decode_value(cell) for cell in values.to_pylist()]


def _lists_or_dicts(flat: FlatItems) -> list[Any]:
    items, bounds = _plain(flat.items), itertools.pairwise([0, *np.cumsum(flat.counts).tolist()])
    if flat.keys is None:
        return _with_missing([items[start:end] for start, end in bounds], flat.missing)
    keys = _plain(flat.keys)
    return _with_missing([dict(zip(keys[start:end], items[start:end], strict=True)) for start, end in bounds], flat.missing)


def _with_missing(cells: list[Any], missing: np.ndarray) -> list[Any]:
    """Replace the values of missing rows by None."""
    for row in np.flatnonzero(missing).tolist():
        cells[row] = None
    return cells


def _plain(items: pa.Array) -> list[Any]:
    return _numbers(items) if pa.types.is_int64(items.type) or pa.types.is_float64(items.type) else items.to_pylist()


def _range_error(values: pa.Array, column_type: ColumnType) -> DateTimeRangeError | None:
    """Return the error for the first datetime outside the years 1 to 9999, or None if there is none."""
    if column_type.kind == LIST_KIND and not column_type.is_encoded and pa.types.is_timestamp(values.type.value_type):
        error = _range_error(values.flatten(), DATETIME)
        return None if error is None else DateTimeRangeError(f"in a list, {error.message}")
    if column_type.kind != DATETIME_KIND:
        return None
    instants, offsets = values.flatten() if column_type.is_zoned else (values, pa.nulls(len(values), pa.int32()))
    for row, (instant, offset) in enumerate(zip(instants.cast(pa.int64()).to_pylist(), offsets.to_pylist(), strict=True)):
        if instant is not None and not is_in_years_of_python(instant, offset):
            time = timestamp_text(instant) + (" UTC" if offset is not None else "")
            advice = "filter out such rows, move them with +, or cast the column to int, which counts seconds"
            return DateTimeRangeError(f"the date-time {time} lies outside the years 1 to 9999, which Python cannot represent: {advice}", row)
    return None


def decode_columns(columns: Sequence[pa.Array], types: Sequence[ColumnType]) -> list[list[Any]]:
    """Return the Python values of several columns, in one list per column.

    Examples
    --------
    >>> from sframe_spark.types import INT, STR
    >>> decode_columns([pa.array([1, None]), pa.array(["a", "b"])], [INT, STR])
    [[1, None], ['a', 'b']]
    """
    return [decode(column, column_type) for column, column_type in zip(columns, types, strict=True)]


def scalar_array(value: pa.Scalar, rows: int = 1) -> pa.Array:
    """Return an array that repeats a scalar.

    Examples
    --------
    >>> scalar_array(pa.scalar(7), 2).to_pylist()
    [7, 7]
    """
    if value.is_valid and pa.types.is_nested(value.type):
        # Not every version of pa.repeat takes nested values.
        return pa.array([value.as_py()], value.type).take(pa.array(np.zeros(rows, dtype=np.int64)))
    return pa.repeat(value, rows) if value.is_valid else pa.nulls(rows, value.type)


def _numbers(values: pa.Array) -> list[Any]:
    """Return numbers as Python objects, converted by numpy, which is several times faster than Arrow's ``to_pylist`` where they are many."""
    if len(values) <= FEW:
        # Arrow imports pandas for arrays of numpy.
        return values.to_pylist()
    if not values.null_count:
        return values.to_numpy(zero_copy_only=False).tolist()
    cells = values.fill_null(0).to_numpy(zero_copy_only=False).tolist()
    return _with_missing(cells, pc.is_null(values).to_numpy(zero_copy_only=False))


def _arrays(values: pa.Array) -> list[Any]:
    elements = array.array("d", values.values.fill_null(float("nan")).to_numpy(zero_copy_only=False).tobytes())
    cells: list[Any] = [elements[start:end] for start, end in itertools.pairwise(values.offsets.to_numpy().tolist())]
    return _with_missing(cells, pc.is_null(values).to_numpy(zero_copy_only=False)) if values.null_count else cells


def _zoned(values: pa.Array) -> list[Any]:
    instant_field, offset_field = values.flatten()
    instants = instant_field.cast(pa.int64()).to_pylist()
    offsets = offset_field.to_pylist()
    valid = values.is_valid().to_pylist()
    return [from_microseconds(instant, offset) if present else None for instant, offset, present in zip(instants, offsets, valid, strict=True)]
