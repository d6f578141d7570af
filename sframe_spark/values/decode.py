"""Arrow arrays to Python values."""

from __future__ import annotations

import array
import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.types import ARRAY_KIND, DICT_KIND, FLOAT_KIND, INT_KIND, ColumnType
from sframe_spark.values.temporal import from_microseconds
from sframe_spark.values.text import decode_value


def decode(values: pa.Array | pa.ChunkedArray, column_type: ColumnType) -> list[Any]:
    """Return the values as Python objects, None for missing ones.

    Examples
    --------
    >>> from sframe_spark.types import ARRAY
    >>> decode(pa.array([[1.0], None], ARRAY.physical), ARRAY)
    [array('d', [1.0]), None]
    """
    if isinstance(values, pa.ChunkedArray):
        return [value for chunk in values.chunks for value in decode(chunk, column_type)]
    if column_type.kind in (INT_KIND, FLOAT_KIND):
        return _numbers(values)
    if column_type.kind == ARRAY_KIND:
        return _arrays(values)
    if column_type.is_zoned:
        return _zoned(values)
    cells = values.to_pylist()
    if column_type.is_encoded:
        return [None if cell is None else decode_value(cell) for cell in cells]
    if column_type.kind == DICT_KIND:
        return [None if cell is None else dict(cell) for cell in cells]
    return cells


def decode_scalar(value: pa.Scalar, column_type: ColumnType) -> Any:
    """Return one value as a Python object, None if it is missing."""
    return decode(scalar_array(value), column_type)[0]


def scalar_array(value: pa.Scalar, rows: int = 1) -> pa.Array:
    """Repeat a scalar as an array.

    Examples
    --------
    >>> scalar_array(pa.scalar(7), 2).to_pylist()
    [7, 7]
    """
    if value.is_valid and (pa.types.is_nested(value.type)):
        # pa.repeat does not take nested values in every version; take does.
        return pa.array([value.as_py()], value.type).take(pa.array(np.zeros(rows, dtype=np.int64)))
    return pa.repeat(value, rows) if value.is_valid else pa.nulls(rows, value.type)


def _numbers(values: pa.Array) -> list[Any]:
    """Numbers go through numpy, which is several times faster than one Arrow scalar at a time."""
    if not values.null_count:
        return values.to_numpy(zero_copy_only=False).tolist()
    cells = values.fill_null(0).to_numpy(zero_copy_only=False).tolist()
    for position in np.flatnonzero(pc.is_null(values).to_numpy(zero_copy_only=False)).tolist():
        cells[position] = None
    return cells


def _arrays(values: pa.Array) -> list[Any]:
    missing = float("nan")
    elements = array.array("d")
    flat = values.values.fill_null(missing).to_numpy(zero_copy_only=False)
    elements.frombytes(np.ascontiguousarray(flat, dtype=np.float64).tobytes())
    offsets = values.offsets.to_numpy().tolist()
    cells: list[Any] = [elements[start:end] for start, end in itertools.pairwise(offsets)]
    if values.null_count:
        for position in np.flatnonzero(pc.is_null(values).to_numpy(zero_copy_only=False)).tolist():
            cells[position] = None
    return cells


def _zoned(values: pa.Array) -> list[Any]:
    instant_field, offset_field = values.flatten()
    instants = instant_field.cast(pa.int64()).to_pylist()
    offsets = offset_field.to_pylist()
    valid = values.is_valid().to_pylist()
    return [from_microseconds(instant, offset) if present else None for instant, offset, present in zip(instants, offsets, valid, strict=True)]
