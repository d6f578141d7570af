"""Access to parts of lists, arrays, dicts and strings: lengths, elements, slices, and the items that ``unpack`` makes columns of.

Unpacking takes two steps: ``slots`` gathers all requested items of a row in one list, and ``slot`` extracts a column from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import ExecutionError, InvalidArgumentError, SchemaError
from sframe_spark.expressions.functions.column_packing import even_offsets, parameter_value
from sframe_spark.expressions.functions.dicts import ITEM_TYPES, class_of_key, native_keys, possible_keys, require_like_keys
from sframe_spark.expressions.functions.predicates_if_else_and_fill import map_lengths
from sframe_spark.expressions.functions.scalar_function import Argument, always_by_arrow, array_of, define_function, unsupported
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import ARRAY, ARRAY_KIND, DICT_KIND, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, LIST_KIND, STR, STR_KIND, ColumnType, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.plain_values import plain_key
from sframe_spark.values.python_to_arrow import encode_plain
from sframe_spark.values.tagged_json_display_and_canonical_text import canonical_value, decode_value, encode_value

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.values.arrow_to_column_types import list_from_lengths
    from sframe_spark.values.nested.json_item_splitting_and_joining import FlatItems, any_items, item_counts, joined_items
    from sframe_spark.values.nested.text_and_json_to_columns import column_of
    from sframe_spark.values.single_value_conversion import construct_value

# Lengths, elements and slices.


def _infer_length(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    if types[0].kind in (LIST_KIND, ARRAY_KIND, DICT_KIND):
        return INT
    raise SchemaError(f"values of {types[0].kind} have no items to count: item_length() takes list, array or dict")


def _compute_length(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    values = array_of(arguments[0], rows)
    if pa.types.is_list(values.type):
        return pc.list_value_length(values)
    if pa.types.is_map(values.type):
        return map_lengths(values)
    counts = item_counts(values, types[0].kind)
    return pa.array([None if cell is None else len(cell) for cell in decode(values, types[0])], pa.int64()) if counts is None else counts


def _build_length(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return None if types[0].is_encoded else F.when(columns[0].isNotNull(), F.size(columns[0]).cast("bigint"))


def _infer_element(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the element. Parameters: the index or key, and the requested type."""
    if types[0].kind in (LIST_KIND, ARRAY_KIND, DICT_KIND):
        return parameters[1]
    raise unsupported("element_at", types)


def _compute_element(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    """Return the element of each cell; missing if there is none, or if it does not convert to the requested type."""
    key, requested = parameters
    cells = decode(array_of(arguments[0], rows), types[0])
    key = plain_key(key)
    if types[0].kind == DICT_KIND:
        elements = [None if cell is None else cell.get(key) for cell in cells]
    else:
        elements = [cell[key] if cell is not None and 0 <= key < len(cell) else None for cell in cells]
    return encode_plain([_as_kind(element, requested.kind) for element in elements], requested)


def _as_kind(value: Any, kind: str) -> Any:
    try:
        return construct_value(value, kind)
    except SchemaError:
        return None  # the element is missing in a column that cannot hold it


def _infer_vector_slice(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result: for a single element of an array a float, otherwise the type of the argument.

    Parameters: start and end; if the end is None, the slice has one element.
    """
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
            return joined_items(_slice_native(items, list_of(STR), start, end))
        slices = [cell[start:end] if cell is not None and start < end <= len(cell) else None for cell in decode(values, types[0])]
        return encode_plain(slices, types[0])
    return _slice_native(values, types[0], start, end)


def _slice_native(values: pa.Array, column_type: ColumnType, start: int, end: int) -> pa.Array:
    """Return the slice of each list or array; missing for rows that are too short for the whole slice."""
    lengths = pc.list_value_length(values)
    fits = pc.and_(pc.greater_equal(lengths, max(end, start + 1)), start < end).fill_null(False).to_numpy(zero_copy_only=False)
    width, is_number = end - start, end == start + 1 and column_type.kind == ARRAY_KIND
    if not fits.any():
        return pa.nulls(len(values), pa.float64() if is_number else values.type)
    firsts = values.offsets.to_numpy(zero_copy_only=False)[:-1][fits] + start
    elements = values.values.take(pa.array((firsts[:, None] + np.arange(width)).ravel(), pa.int64()))
    if is_number:
        numbers = np.zeros(len(values))
        numbers[fits] = elements.to_numpy(zero_copy_only=False)
        return pa.array(numbers, mask=~fits)
    return list_from_lengths(pa.array(np.full(len(values), width, np.int32), mask=~fits), elements, values.type)


def _infer_element_slice(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result; parameters: start, stop and step of a Python slice."""
    if parameters[2] == 0:
        raise InvalidArgumentError("the step of a slice must not be zero")
    if types[0].kind in (STR_KIND, LIST_KIND, ARRAY_KIND):
        return types[0]
    raise SchemaError(f"values of {types[0].kind} have no slices: element_slice() takes str, list or array")


def _compute_element_slice(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    """Return the slice of each string (in characters), list or array, as Python's slices do."""
    values, window = array_of(arguments[0], rows), slice(*parameters)
    if types[0].kind == STR_KIND and (window.step is None or window.step > 0):
        return pc.utf8_slice_codeunits(values, window.start or 0, window.stop, window.step or 1)
    if types[0].kind != STR_KIND and not types[0].is_encoded:
        return _sliced_lists(values, window)
    items = items_as_texts(values) if types[0].is_encoded else None
    if items is not None:
        return joined_items(_sliced_lists(items, window))
    cells: list[Any] = decode(values, types[0])
    return encode_plain([None if cell is None else cell[window] for cell in cells], types[0])


def items_as_texts(values: pa.Array) -> pa.Array | None:
    """Convert encoded lists to native lists of items as JSON; return None if the items are nested too deep."""
    flat = any_items(values, LIST_KIND)
    return None if flat is None else pa.ListArray.from_arrays(flat.offsets, flat.items)


def _sliced_lists(values: pa.Array, window: slice) -> pa.Array:
    """Return the items of each list at the positions that Python's ``slice.indices`` gives for its length."""
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
    result_lengths = pa.array(counts.astype(np.int32), mask=values.is_null().to_numpy(zero_copy_only=False))
    return list_from_lengths(result_lengths, values.values.take(pa.array(starts + within * step)), values.type)


define_function("item_length", _infer_length, _compute_length, _build_length, by_arrow=always_by_arrow)
define_function("element_at", _infer_element, _compute_element)
define_function("vector_slice", _infer_vector_slice, _compute_vector_slice, by_arrow=always_by_arrow)
define_function("element_slice", _infer_element_slice, _compute_element_slice, by_arrow=always_by_arrow)


# Items for unpack.


def item_type(column_type: ColumnType) -> ColumnType | None:
    """Return the type of the items of a list or array, or of the values of a dict; None if these are encoded, each with its own type."""
    if column_type.is_encoded:
        return None
    physical = column_type.physical
    return ITEM_TYPES[physical.item_type if column_type.kind == DICT_KIND else physical.value_type]


def _infer_slots(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the list of requested items; encoded items are strings, which :func:`_compute_slot` decodes.

    Parameter: the keys of a dict, or positions in a list.
    """
    if types[0].kind not in (LIST_KIND, ARRAY_KIND, DICT_KIND):
        raise SchemaError(f"values of {types[0].kind} have no items: lists, arrays or dicts are needed")
    item = item_type(types[0])
    if types[0].kind != DICT_KIND and not all(isinstance(position, int) for position in parameters[0]):
        raise SchemaError(f"positions in lists must be ints, but one of {parameters[0]!r:.80} is not")
    if types[0].kind == DICT_KIND and item is not None:
        native_keys(types[0], parameters[0])
    return ARRAY if types[0].kind == ARRAY_KIND else list_of(item or STR)


def _compute_slots(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    requested = parameters[0]
    even_offsets(rows, len(requested))
    values = array_of(arguments[0], rows)
    result = _infer_slots(types, parameters).physical
    flat = any_items(values, types[0].kind) if types[0].is_encoded else None
    if flat is not None:
        items = _flat_texts(flat, requested)
    elif types[0].is_encoded:
        cells = decode(values, types[0])
        if types[0].kind == DICT_KIND and are_alike(requested):
            require_like_keys(cells, requested)
        items = pa.array(chain.from_iterable(_texts_at(cell, requested) for cell in cells), pa.string())
    elif types[0].kind == DICT_KIND:
        items = _taken(values.items, _indices_of_keys(values, native_keys(types[0], requested)))
    else:
        items = _taken(values.values, _indices_in_lists(values, requested))
    return pa.ListArray.from_arrays(even_offsets(rows, len(requested)), items, type=result)


def _taken(items: pa.Array, indices: np.ndarray) -> pa.Array:
    """Return the items at some indices; missing for an index of -1."""
    return items.take(pa.array(indices, mask=indices < 0))


def _flat_texts(flat: FlatItems, requested: Sequence[Any]) -> pa.Array:
    """Return the requested items of encoded values, each as JSON."""
    if flat.keys is None:
        indices = _indices_in_lists(pa.ListArray.from_arrays(flat.offsets, flat.items), requested)
    else:
        values, column_type = flat.by_keys()
        keys_of = native_keys if len(values.keys) and are_alike(requested) else possible_keys
        indices = _indices_of_keys(values, keys_of(column_type, requested))
    items = _taken(flat.items, indices)
    return if_else(pc.equal(items, "null"), pa.scalar(None, pa.string()), items)


def are_alike(keys: Sequence[Any]) -> bool:
    """Return whether all keys have the same class. Keys that a user lists must have one class; keys collected from rows may have several.

    Examples
    --------
    >>> are_alike([1, 2.5]), are_alike([1, "a"])
    (True, False)
    """
    return len(set(map(class_of_key, keys))) == 1


def _texts_at(cell: Any, requested: Sequence[Any]) -> list[str | None]:
    """Return the requested items of a decoded list or dict, each as tagged JSON; None for an item that is absent or missing."""
    if cell is None:
        return [None] * len(requested)
    is_dict = isinstance(cell, dict)
    items = [cell.get(key) if is_dict else cell[key] if key < len(cell) else None for key in requested]
    return [None if item is None else encode_value(item) for item in items]


def _indices_in_lists(values: pa.Array, requested: Sequence[int]) -> np.ndarray:
    """Return, for each row and requested position, the index of the item in the flattened array; -1 if there is no such item."""
    offsets = values.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    starts, ends = offsets[:-1, None], offsets[1:, None]
    indices = starts + np.asarray([min(position, 2**40) for position in requested], dtype=np.int64)[None, :]
    exists = (indices < ends) & values.is_valid().to_numpy(zero_copy_only=False)[:, None]
    return np.where(exists, indices, -1).ravel()


def _indices_of_keys(values: pa.Array, requested: Sequence[Any]) -> np.ndarray:
    """Return, for each row and requested key, the index of the item in the flattened map; -1 if there is no such item."""
    offsets = values.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    column = pc.index_in(values.keys, pa.array(requested, values.type.key_type)).fill_null(-1).to_numpy(zero_copy_only=False)
    result = np.full((len(values), len(requested)), -1, dtype=np.int64)
    lengths = np.where(values.is_valid().to_numpy(zero_copy_only=False), np.diff(offsets), 0)
    rows = np.repeat(np.arange(len(values)), lengths)
    items = np.repeat(offsets[:-1] - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(rows))
    chosen = column[items] >= 0
    result[rows[chosen], column[items[chosen]]] = items[chosen]
    return result.ravel()


def _build_slots(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if types[0].is_encoded:
        return None
    if types[0].kind == DICT_KIND:
        keys = native_keys(types[0], parameters[0])
        kind = "bigint" if types[0].physical.key_type == pa.int64() else "string"
        return F.array(*[F.try_element_at(columns[0], F.lit(key).cast(kind)) for key in keys])
    return F.array(*[F.get(columns[0], F.lit(min(position, 2**31 - 1))) for position in parameters[0]])


def _infer_slot(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the requested type.

    Parameters: the position in the list of slots, the requested type, whether items are encoded, and a value that counts as missing.
    """
    return parameters[1]


def _compute_slot(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    position, requested, are_texts, absent = parameters
    # All lists have the same length, and none is missing.
    item = pc.list_element(array_of(arguments[0], rows), position)
    if types[0].kind == ARRAY_KIND:
        item = if_else(pc.is_nan(item), pa.scalar(None, pa.float64()), item)
    # Both an encoded value and a string are stored as strings, but mean different things.
    if not are_texts and not requested.is_encoded and item.type == requested.physical and not isinstance(absent, tuple):
        return item if absent is None else _without(item, absent)
    if are_texts and absent is None:
        result = column_of(item.fill_null("null"), requested)
        if result is not None:
            return result
    cells = [None if cell is None else decode_value(cell) if are_texts else cell for cell in item.to_pylist()]
    if absent is not None:
        text = canonical_value(parameter_value(absent))
        cells = [None if cell is None or canonical_value(cell) == text else cell for cell in cells]
    return encode_plain([_as_requested(cell, requested) for cell in cells], requested)


def _slot_by_arrow(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> bool:
    """Return whether items have the requested type, or are encoded in a form that Arrow kernels can read."""
    _, requested, are_texts, absent = parameters
    if are_texts:
        return absent is None and requested in (INT, FLOAT, STR, ARRAY, ENCODED_LIST, ENCODED_DICT)
    return requested == item_type(types[0]) and not isinstance(absent, tuple)


def _without(items: pa.Array, absent: int | float | str) -> pa.Array:
    if pa.types.is_string(items.type) != isinstance(absent, str):
        return items
    same = pc.is_nan(items) if absent != absent else pc.equal(items, pa.scalar(absent))
    return if_else(same, pa.scalar(None, items.type), items)


def _as_requested(value: Any, requested: ColumnType) -> Any:
    try:
        return construct_value(value, requested.kind)
    except SchemaError:
        raise ExecutionError(f"{brief(value)} is not {requested.kind}: use another class for its column in unpack(); str takes every value") from None


def _build_slot(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    position, requested, are_texts, absent = parameters
    if are_texts or absent is not None or requested != item_type(types[0]):
        return None
    item = F.get(columns[0], F.lit(position))
    return F.when(~F.isnan(item), item) if types[0].kind == ARRAY_KIND else item


# May fail: it raises if no key of a row has the class of a requested key.
define_function("slots", _infer_slots, _compute_slots, _build_slots, may_fail=True, by_arrow=always_by_arrow)
define_function("slot", _infer_slot, _compute_slot, _build_slot, may_fail=True, by_arrow=_slot_by_arrow)
