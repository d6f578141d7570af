"""Membership tests: whether a value is in a set of values (``is_in``), and whether a value contains an item (``contains``)."""

from __future__ import annotations

import array
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.functions.dicts import by_keys, counts_of
from sframe_spark.expressions.functions.scalar_function import Argument, always_by_arrow, array_of, define_function, to_ints, unsupported
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import ARRAY_KIND, DATETIME, DICT_KIND, INT, LIST_KIND, LOGICAL, STR_KIND, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.datetimes import to_microseconds
from sframe_spark.values.plain_values import LARGEST_INT, NUMBERS, SMALLEST_INT, family_of, int_equal_to, plain, plain_list, plain_number
from sframe_spark.values.python_to_arrow import NATIVE_CLASSES
from sframe_spark.values.tagged_json_display_and_canonical_text import canonical_value

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.int_membership import NumberSet
    from sframe_spark.compute.key_equality_and_codes import one_float
    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.values.column_cast import canonical_text
    from sframe_spark.values.nested.json_item_splitting_and_joining import flat_items


def _infer_is_in(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result.

    Parameters: the values as a tuple, and True if they match as keys do, where NaN equals NaN. If all values are numbers, but the column has no
    numbers, an error is raised, as the test is a mistake.
    """
    values = parameters[0]
    classes = set(map(type, values))
    families = {family_of(python_class) for python_class in classes}
    if families and families <= NUMBERS and not types[0].is_numeric:
        raise UnsupportedOperationError(f"a column of {types[0].kind} does not contain numbers to search for")
    for value in values if any(issubclass(python_class, int) for python_class in classes) and not _are_numbers_of_64_bits(values) else ():
        if isinstance(value, int) and not SMALLEST_INT <= value <= LARGEST_INT:
            # Raise now for an int beyond the largest float: plans are printed, and Python does not print such ints.
            plain_number(value)
    return LOGICAL


def _requested_values(column_type: ColumnType, parameters: tuple[Any, ...]) -> tuple[list[Any], bool]:
    """Return the requested values that can equal cells of the column, as plain values, and whether None is requested.

    If all values are numbers, they are compared as in NumPy, so that NaN does not equal NaN; otherwise NaN equals NaN.
    """
    if column_type.kind == STR_KIND and set(map(type, parameters[0])) == {str}:
        return list(parameters[0]), False
    as_keys = len(parameters) > 1 and parameters[1]
    if column_type.is_numeric and _are_numbers_of_64_bits(parameters[0]):
        return [number for number in parameters[0] if as_keys or number == number], False
    # plain() makes an array of floats of a list of numbers, which would change ints beyond 2^53.
    cells = [plain_list(value) if column_type.kind == LIST_KIND and family_of(type(value)) == LIST_KIND else plain(value) for value in parameters[0]]
    if column_type.is_numeric:
        requested = [cell for cell in cells if isinstance(cell, (int, float))]
        if len(requested) == len(cells) and not as_keys:
            requested = [cell for cell in requested if cell == cell]
    else:
        requested = [cell for cell in (_as_cell(cell, column_type, as_keys) for cell in cells) if cell is not None]
    return requested, any(cell is None for cell in cells)


def _are_numbers_of_64_bits(values: tuple[Any, ...]) -> bool:
    """Return whether all values are 64-bit ints of Python, or all are floats of Python; a quick test for large sets."""
    classes = set(map(type, values))
    if classes == {int}:
        return min(values) >= SMALLEST_INT and max(values) <= LARGEST_INT
    return classes == {float}


def _as_cell(value: Any, column_type: ColumnType, as_key: bool) -> Any:
    """Return the value in the form of a cell if it can equal a cell of the column, otherwise None."""
    if column_type.kind == LIST_KIND and isinstance(value, array.array):
        return list(value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and column_type.kind in (ARRAY_KIND, LIST_KIND):
        return array.array("d", value.tobytes()) if column_type.kind == ARRAY_KIND else value.tolist()
    if as_key and column_type == DATETIME and getattr(value, "tzinfo", None) is not None:
        return None  # the instants may be equal, but the values differ
    return value if isinstance(value, column_type.python_class) else None


def _prepare_is_in(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> tuple[Callable[[pa.Array], pa.Array], bool]:
    """Return a membership test for arrays, and whether a missing value is a member; the set is converted once for many batches."""
    requested, includes_none = _requested_values(types[0], parameters)
    if types[0].is_zoned:
        return partial(_find_zoned, keys=list(map(to_microseconds, requested)), as_values=len(parameters) > 1 and parameters[1]), includes_none
    return _find_numbers(types[0], requested) if types[0].is_numeric else _find_cells(types[0], requested), includes_none


def _compute_is_in(arguments: Sequence[Argument], types: Sequence[ColumnType], prepared: Any, rows: int) -> Any:
    find, includes_none = prepared
    values = array_of(arguments[0], rows)
    result = find(values)
    return to_ints(if_else(pc.is_null(values), includes_none, result) if values.null_count else result)


def _find_numbers(column_type: ColumnType, requested: list[Any]) -> Callable[[pa.Array], pa.Array]:
    if column_type == INT:
        # Values that equal no 64-bit int are dropped, so that they do not turn the others into floats.
        all_ints = set(map(type, requested)) == {int}
        exact = requested if all_ints else [number for number in map(int_equal_to, requested) if number is not None]
        return NumberSet(pa.array(exact, pa.int64())).holds
    floats = [math.nan if number != number else float(number) for number in requested]
    bits = NumberSet(one_float(pa.array(floats, pa.float64())).view(pa.int64()))
    # Arrow compares floats by their bits.
    return lambda values: bits.holds(one_float(values).view(pa.int64()))


def _find_cells(column_type: ColumnType, requested: list[Any]) -> Callable[[pa.Array], pa.Array]:
    if column_type.kind == STR_KIND:
        texts = pa.array(requested, pa.string())
        return lambda values: pc.is_in(values, texts)
    if column_type == DATETIME:
        # Compare instants; a value without offset counts as UTC.
        instants = NumberSet(pa.array([to_microseconds(cell)[0] for cell in requested], pa.int64()))
        return lambda values: instants.holds(values.view(pa.int64()))
    canonical = pa.array([canonical_value(cell) for cell in requested], pa.string())
    return lambda values: pc.is_in(canonical_text(values, column_type), canonical)


def _find_zoned(values: pa.Array, keys: list[tuple[int, int | None]], as_values: bool) -> pa.Array:
    """Return which datetimes are members: by instant, or with ``as_values`` by instant and offset.

    A datetime without an offset counts as UTC; with ``as_values`` it differs from one with the offset zero.
    """
    instants = pc.struct_field(values, "instant").view(pa.int64())
    if not as_values:
        return pc.is_in(instants, pa.array([instant for instant, _ in keys], pa.int64()))
    offsets = pc.struct_field(values, "offset")
    by_offset = {offset: [instant for instant, other in keys if other == offset] for _, offset in keys}
    result = pa.array(np.zeros(len(values), dtype=bool))
    for offset, same_offset_instants in by_offset.items():
        same = pc.is_null(offsets) if offset is None else pc.fill_null(pc.equal(offsets, offset), False)
        result = pc.or_(result, pc.and_(same, pc.is_in(instants, pa.array(same_offset_instants, pa.int64()))))
    return result


def _build_is_in(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if types[0].kind != STR_KIND and types[0] != INT:
        return None
    requested, includes_none = _requested_values(types[0], parameters)
    if not all(isinstance(cell, types[0].python_class) for cell in requested):
        return None
    result = columns[0].isin(requested) if requested else F.lit(False)
    return F.when(columns[0].isNull(), F.lit(includes_none)).otherwise(result).cast("bigint")


def _infer_contains(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result.

    Parameter: the item, which is a string for strings, a number for arrays, and any value for lists and for the keys of dicts.
    """
    kind, item = types[0].kind, plain(parameters[0])
    item_classes: dict[str, Any] = {STR_KIND: str, ARRAY_KIND: (int, float), LIST_KIND: object, DICT_KIND: object}
    if kind not in item_classes:
        raise unsupported("contains", types)
    if not isinstance(item, item_classes[kind]):
        raise UnsupportedOperationError(f"a column of {kind} cannot contain {item!r:.60}")
    return LOGICAL


def _compute_contains(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    values, item = array_of(arguments[0], rows), plain(parameters[0])
    if types[0].kind == STR_KIND:
        return to_ints(pc.match_substring(values, item)).fill_null(0)
    native, native_type = values, types[0]
    if types[0].is_encoded and types[0].kind == DICT_KIND:
        # Only the keys matter, whatever the types of the values.
        native, native_type = by_keys(values, types[0])
        native = None if native_type.is_encoded else native
    elif types[0].is_encoded:
        flat = flat_items(values, types[0].kind)
        native, native_type = (flat and flat.natively()) or (None, types[0])
    matches = None if native is None else _items_like(native, native_type, item)
    if matches is not None:
        return pa.array((counts_of(native, matches) > 0).astype(np.int64))
    cells = decode(values, types[0])
    if types[0].kind == ARRAY_KIND:
        return pa.array([int(cell is not None and item in cell) for cell in cells], pa.int64())
    text = canonical_value(item)
    return pa.array([int(cell is not None and any(canonical_value(i) == text for i in cell)) for cell in cells])


def _contains_by_arrow(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> bool:
    """Return whether the column type guarantees that items (or keys) have the same class as the requested item."""
    column_type, item = types[0], plain(parameters[0])
    if column_type.is_encoded:
        return column_type.kind == DICT_KIND and isinstance(item, (int, str))
    physical = column_type.physical
    items = physical.key_type if column_type.kind == DICT_KIND else physical.value_type
    return _is_like_items(item, items)


def _is_like_items(item: Any, items: pa.DataType) -> bool:
    """Return whether a value has the class of the items, and can equal an item: not so for NaN, and for ints beyond 64 bits."""
    return type(item) is NATIVE_CLASSES[items] and item == item and not (isinstance(item, int) and not SMALLEST_INT <= item <= LARGEST_INT)


def _items_like(values: pa.Array, column_type: ColumnType, item: Any) -> pa.Array | None:
    """Return which items of lists and arrays, or keys of dicts, equal a value; None if the value does not have their class."""
    items = values.keys if column_type.kind == DICT_KIND else values.values
    if column_type.kind == ARRAY_KIND and isinstance(item, int) and abs(item) <= 2**53:
        item = float(item)
    if not _is_like_items(item, items.type):
        return None
    return pc.equal(items, pa.scalar(item, items.type)).fill_null(False)


def _build_contains(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if types[0].kind != STR_KIND:
        return None
    return F.coalesce(columns[0].contains(F.lit(plain(parameters[0]))).cast("bigint"), F.lit(0).cast("bigint"))


define_function("is_in", _infer_is_in, _compute_is_in, _build_is_in, by_arrow=always_by_arrow, prepare=_prepare_is_in)
define_function("contains", _infer_contains, _compute_contains, _build_contains, by_arrow=_contains_by_arrow)
