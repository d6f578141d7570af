"""Arithmetic on array columns: element by element, over all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.expressions.functions.base import Argument
from sframe_spark.expressions.functions.scalar_function import array_of, float_of
from sframe_spark.types import ARRAY, ARRAY_KIND, ColumnType
from sframe_spark.values.from_arrow import list_from_lengths

Elementwise = Callable[[Any, Any], Any]


def combine_arrays(left: Argument, right: Argument, types: tuple[ColumnType, ColumnType], operation: Elementwise, rows: int) -> pa.Array:
    """Apply a numpy operation to the elements; a number goes with all of them, lengths that differ give missing."""
    lengths = _common_lengths(left, right, types, rows)
    first = _elements(array_of(left, rows), lengths, types[0])
    second = _elements(array_of(right, rows), lengths, types[1])
    with np.errstate(all="ignore"):
        numbers = np.asarray(operation(first, second), dtype=np.float64)
    return list_from_lengths(lengths, pa.array(numbers), ARRAY.physical)


def map_array(values: pa.Array, operation: Callable[[Any], Any]) -> pa.Array:
    """Apply a numpy operation to every element."""
    lengths = pc.list_value_length(values)
    numbers = operation(_elements(values, lengths, ARRAY))
    return list_from_lengths(lengths, pa.array(np.asarray(numbers, dtype=np.float64)), ARRAY.physical)


def _common_lengths(left: Argument, right: Argument, types: tuple[ColumnType, ColumnType], rows: int) -> pa.Array:
    """Length of each result cell: null where a side is missing or the lengths differ."""
    lengths = [
        pc.list_value_length(array_of(argument, rows)) if column_type.kind == ARRAY_KIND else None
        for argument, column_type in zip((left, right), types, strict=True)
    ]
    first, second = (length for length in lengths)
    nothing = pa.scalar(None, pa.int32())
    if first is not None and second is not None:
        return pc.if_else(pc.equal(first, second), first, nothing)
    array_lengths, number = (first, right) if first is not None else (second, left)
    return pc.if_else(array_of(number, rows).is_valid(), array_lengths, nothing)


def _elements(values: pa.Array, lengths: pa.Array, column_type: ColumnType) -> np.ndarray:
    """Elements of the cells that have a result, end to end; a number is repeated along its cell."""
    kept = lengths.is_valid()
    if column_type.kind == ARRAY_KIND:
        cells = values if not lengths.null_count else values.filter(kept)
        return cells.flatten().fill_null(float("nan")).to_numpy(zero_copy_only=False)
    numbers = float_of(values.filter(kept)).to_numpy(zero_copy_only=False)
    return np.repeat(numbers, lengths.filter(kept).to_numpy(zero_copy_only=False))
