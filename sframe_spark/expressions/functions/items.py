"""Looking inside lists, arrays, dicts and text: length, one element, a slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.expressions.functions.base import Argument
from sframe_spark.expressions.functions.logic import map_lengths
from sframe_spark.expressions.functions.scalar_function import always_by_arrow, array_of, define_function, unsupported
from sframe_spark.types import ARRAY, ARRAY_KIND, DICT_KIND, FLOAT, INT, LIST_KIND, STR, STR_KIND, ColumnType, list_of
from sframe_spark.values.convert import construct_value
from sframe_spark.values.decode import decode
from sframe_spark.values.encode import encode_plain
from sframe_spark.values.from_arrow import list_from_lengths
from sframe_spark.values.nested.json_items import any_items, item_counts, items_of
from sframe_spark.values.value_model import plain_key

if TYPE_CHECKING:
    from pyspark.sql import Column


def _infer_length(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    if types[0].kind in (LIST_KIND, ARRAY_KIND, DICT_KIND):
        return INT
    raise SchemaError(f"values of {types[0].kind} have no items to count: item_length takes list, array or dict")


def _compute_length(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    values = array_of(arguments[0], rows)
    if pa.types.is_list(values.type):
        return pc.list_value_length(values)
    if pa.types.is_map(values.type):
        return map_lengths(values)
    found = item_counts(values, types[0].kind)
    return found if found is not None else pa.array([None if cell is None else len(cell) for cell in decode(values, types[0])], pa.int64())


def _build_length(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    from pyspark.sql import functions as F

    if types[0].is_encoded:
        return None
    return F.when(columns[0].isNotNull(), F.size(columns[0]).cast("bigint"))


def _infer_element(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Parameters: the index or key, and the type wanted."""
    if types[0].kind in (LIST_KIND, ARRAY_KIND, DICT_KIND):
        return parameters[1]
    raise unsupported("element_at", types)


def _compute_element(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    """Find the element of each cell; one that is not there, or cannot be of the type wanted, is missing."""
    key, wanted = parameters
    cells = decode(array_of(arguments[0], rows), types[0])
    key = plain_key(key)
    if types[0].kind == DICT_KIND:
        found = [None if cell is None else cell.get(key) for cell in cells]
    else:
        found = [cell[key] if cell is not None and 0 <= key < len(cell) else None for cell in cells]
    return encode_plain([_as_kind(value, wanted.kind) for value in found], wanted)


def _as_kind(value: Any, kind: str) -> Any:
    try:
        return construct_value(value, kind)
    except SchemaError:
        return None  # an element of another kind than the column it goes to is missing there


def _infer_vector_slice(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Parameters: start and end (None: one element). One element of an array is a float, of a list a list."""
    start, end = parameters
    if types[0].kind == ARRAY_KIND:
        return FLOAT if end is None or end == start + 1 else ARRAY
    if types[0].kind == LIST_KIND:
        return types[0]
    raise unsupported("vector_slice", types)


def _compute_vector_slice(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    start = int(parameters[0])
    end = start + 1 if parameters[1] is None else int(parameters[1])
    values = array_of(arguments[0], rows)
    if types[0].is_encoded:
        items = items_as_texts(values)
        if items is not None:
            return stored_texts(_slice_native(items, list_of(STR), start, end))
        cells = decode(values, types[0])
        return encode_plain([_cut(cell, start, end) for cell in cells], types[0])
    return _slice_native(values, types[0], start, end)


def _cut(cell: list[Any] | None, start: int, end: int) -> list[Any] | None:
    return cell[start:end] if cell is not None and start < len(cell) and end <= len(cell) and start < end else None


def _slice_native(values: pa.Array, column_type: ColumnType, start: int, end: int) -> pa.Array:
    """Take the elements by their place among all elements; cells too short for the whole slice are missing."""
    lengths = pc.list_value_length(values)
    kept = pc.and_(pc.greater_equal(lengths, max(end, start + 1)), start < end).fill_null(False)
    if not kept.true_count:
        return pa.nulls(len(values), pa.float64() if end == start + 1 and column_type.kind == ARRAY_KIND else values.type)
    firsts = values.offsets.to_numpy(zero_copy_only=False)[:-1][kept.to_numpy(zero_copy_only=False)] + start
    width = max(end - start, 0)
    places = (firsts[:, None] + np.arange(width)).ravel()
    elements = values.values.take(pa.array(places, pa.int64()))
    if width == 1 and column_type.kind == ARRAY_KIND:
        numbers = np.zeros(len(values))
        numbers[kept.to_numpy(zero_copy_only=False)] = elements.to_numpy(zero_copy_only=False)
        return pa.array(numbers, mask=~kept.to_numpy(zero_copy_only=False))
    return list_from_lengths(pc.if_else(kept, pa.scalar(width, pa.int32()), pa.scalar(None, pa.int32())), elements, values.type)


def _infer_element_slice(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Parameters: start, stop and step of a Python slice."""
    if parameters[2] == 0:
        raise InvalidArgumentError("the step of a slice is not zero")
    if types[0].kind in (STR_KIND, LIST_KIND, ARRAY_KIND):
        return types[0]
    raise SchemaError(f"values of {types[0].kind} have no slices: element_slice takes str, list or array")


def _compute_element_slice(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    """Slice every cell as Python does; text by characters."""
    values, window = array_of(arguments[0], rows), slice(*parameters)
    if types[0].kind == STR_KIND and (window.step is None or window.step > 0):
        return pc.utf8_slice_codeunits(values, window.start or 0, window.stop, window.step or 1)
    if types[0].kind != STR_KIND and not types[0].is_encoded:
        return _sliced_lists(values, window)
    items = items_as_texts(values) if types[0].is_encoded else None
    if items is not None:
        return stored_texts(_sliced_lists(items, window))
    cells: list[Any] = decode(values, types[0])
    return encode_plain([None if cell is None else cell[window] for cell in cells], types[0])


def items_as_texts(values: pa.Array) -> pa.Array | None:
    """Stored lists as lists of their items as JSON; None where these are nested deep."""
    found = any_items(values, LIST_KIND)
    return None if found is None else pa.ListArray.from_arrays(found.offsets, found.items)


def stored_texts(lists: pa.Array) -> pa.Array:
    """Stored lists of which the items are JSON."""
    found = items_of(lists)
    assert found is not None
    return found.stored()


def _sliced_lists(values: pa.Array, window: slice) -> pa.Array:
    """Items of each list at the places that Python's ``slice.indices`` gives for its length."""
    offsets = values.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    lengths, step = np.diff(offsets), window.step or 1
    lowest, highest = (0, lengths) if step > 0 else (-1, lengths - 1)

    def bound(value: int | None, otherwise: Any) -> Any:
        return otherwise if value is None else np.clip(value + lengths if value < 0 else np.full(len(lengths), value), lowest, highest)

    first = bound(window.start, lowest if step > 0 else highest)
    last = bound(window.stop, highest if step > 0 else lowest)
    counts = np.maximum(0, -((first - last) // step)) * values.is_valid().to_numpy(zero_copy_only=False)
    starts = np.repeat(offsets[:-1] + first, counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = pa.array(counts.astype(np.int32), mask=values.is_null().to_numpy(zero_copy_only=False))
    return list_from_lengths(kept, values.values.take(pa.array(starts + within * step)), values.type)


define_function("item_length", _infer_length, _compute_length, _build_length, by_arrow=always_by_arrow)
define_function("element_at", _infer_element, _compute_element)
define_function("vector_slice", _infer_vector_slice, _compute_vector_slice, by_arrow=always_by_arrow)
define_function("element_slice", _infer_element_slice, _compute_element_slice, by_arrow=always_by_arrow)
