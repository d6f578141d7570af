"""The scalar functions on dicts: lists of keys and values, tests for keys, and removal of entries by keys or values."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.functions.scalar_function import Argument, always_by_arrow, array_of, define_function
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.types import DICT_KIND, ENCODED_LIST, FLOAT, INT, LOGICAL, STR, ColumnType, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.plain_values import LARGEST_INT, NUMBERS, SMALLEST_INT, family_of, int_equal_to
from sframe_spark.values.python_to_arrow import encode_plain, recode
from sframe_spark.values.tagged_json_display_and_canonical_text import canonical_value

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.values.nested.json_item_splitting_and_joining import any_items, flat_items, joined_items, texts_of_items

ITEM_TYPES = {pa.int64(): INT, pa.float64(): FLOAT, pa.string(): STR}
"""The column type of the items of native lists and dicts, by their Arrow type."""


def _require_dicts(types: Sequence[ColumnType]) -> None:
    if types[0].kind != DICT_KIND:
        raise UnsupportedOperationError(f"values of {types[0].kind} have no keys: a column of dicts is needed")


def _infer_list(side: str) -> Callable[[Sequence[ColumnType], tuple[Any, ...]], ColumnType]:
    def infer(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
        _require_dicts(types)
        if types[0].is_encoded:
            return ENCODED_LIST
        return list_of(ITEM_TYPES[types[0].physical.key_type if side == "keys" else types[0].physical.item_type])

    return infer


def _compute_list(side: str) -> Any:
    def compute(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
        values = array_of(arguments[0], rows)
        if types[0].is_encoded:
            stored = any_items(values, DICT_KIND)
            if stored is not None and stored.keys is not None:
                items = texts_of_items(stored.keys) if side == "keys" else stored.items
                return attrs.evolve(stored, keys=None, items=items).stored()
            cells = decode(values, types[0])
            return encode_plain([None if cell is None else list(getattr(cell, side)()) for cell in cells], ENCODED_LIST)
        # Arrow does not accept a sliced offsets array together with a mask.
        offsets = pa.array(values.offsets.to_numpy(zero_copy_only=False), pa.int32())
        items, data_type = values.keys if side == "keys" else values.items, _infer_list(side)(types, parameters).physical
        return pa.ListArray.from_arrays(offsets, items, type=data_type, mask=pc.is_null(values) if values.null_count else None)

    return compute


def _build_list(side: str) -> Any:
    def build(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
        if types[0].is_encoded:
            return None
        return F.map_keys(columns[0]) if side == "keys" else F.map_values(columns[0])

    return build


def _infer_has(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result. Parameters: the keys, and whether a dict must have all of them."""
    _require_dicts(types)
    return LOGICAL


def _compute_has(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    requested, need_all = parameters
    values, column_type = by_keys(array_of(arguments[0], rows), types[0])
    if not need_all:
        _require_comparable(values, column_type, requested)
    if column_type.is_encoded:
        texts = {canonical_value(key) for key in requested}
        common = [None if cell is None else texts.intersection(map(canonical_value, cell)) for cell in decode(values, types[0])]
        return pa.array([None if keys is None else int(len(keys) == len(texts) if need_all else bool(keys)) for keys in common], pa.int64())
    keys, impossible = key_set(column_type, requested)
    counts = counts_of(values, pc.is_in(values.keys, keys))
    has = (counts == len(keys)) & (not impossible) if need_all else counts > 0
    return pa.array(has.astype(np.int64), mask=values.is_null().to_numpy(zero_copy_only=False))


def by_keys(values: pa.Array, column_type: ColumnType) -> tuple[pa.Array, ColumnType]:
    """Convert encoded dicts to maps, with the new column type, if their keys are all strings or all ints; otherwise return them unchanged."""
    result = any_items(values, DICT_KIND) if column_type.is_encoded else None
    # Without any key there is no key type.
    return (values, column_type) if result is None or result.keys is None or not len(result.keys) else result.by_keys()


def _require_comparable(values: pa.Array, column_type: ColumnType, requested: Sequence[Any]) -> None:
    """Raise if there is a row no key of which has the class of a requested key; empty dicts do not count.

    Turi Create compares each key of a row with the requested keys, which fails for a string and a number. Its test for *all* keys
    looks keys up without a comparison, so it does not fail.
    """
    if column_type.is_encoded:
        require_like_keys(decode(values, column_type), requested)
    elif _unlike_keys(column_type, requested) and counts_of(values, pa.array(np.ones(len(values.keys), dtype=bool))).any():
        native_keys(column_type, requested)


def require_like_keys(cells: Sequence[dict[Any, Any] | None], requested: Sequence[Any]) -> None:
    """Raise if a dict is not empty, and none of its keys has the class of a requested key: a string, say, where all keys are numbers."""
    for cell in cells:
        if cell:
            own_classes = set(map(class_of_key, cell))
            for key in requested:
                if class_of_key(key) not in own_classes:
                    raise _unlike(next(iter(cell)), key)


def class_of_key(key: Any) -> str:
    """Return the family of a key, where ints and floats are of one family, "number".

    Examples
    --------
    >>> class_of_key(1) == class_of_key(2.5), class_of_key(1) == class_of_key("1")
    (True, False)
    """
    family = family_of(type(key))
    return "number" if family in NUMBERS else family


def _unlike(key: Any, requested: Any) -> UnsupportedOperationError:
    what = f"the dicts have keys such as {brief(key)} ({type(key).__name__}), but {brief(requested)} is a {type(requested).__name__}"
    return UnsupportedOperationError(f"{what}: search for keys of their class")


def native_keys(column_type: ColumnType, requested: Sequence[Any]) -> list[Any]:
    """Return requested keys in the key type of a column of native dicts; None for keys that the column cannot hold.

    Raises
    ------
    UnsupportedOperationError
        If a key is a string and the keys of the column are numbers, or the other way round.

    Examples
    --------
    >>> from sframe_spark.types import dict_of
    >>> native_keys(dict_of(INT, INT), [1, 2.0, 0.5])
    [1, 2, None]
    """
    for key in _unlike_keys(column_type, requested):
        raise _unlike(1 if column_type.physical.key_type == pa.int64() else "a", key)
    return possible_keys(column_type, requested)


def _unlike_keys(column_type: ColumnType, requested: Sequence[Any]) -> list[Any]:
    """Return the requested keys whose class differs from that of the keys of a column of native dicts."""
    classes = (int, float) if column_type.physical.key_type == pa.int64() else str
    return [key for key in requested if not isinstance(key, classes)]


def possible_keys(column_type: ColumnType, requested: Sequence[Any]) -> list[Any]:
    """Return requested keys in the key type of a column of native dicts; None for keys that it cannot hold, or of a different class."""
    if column_type.physical.key_type == pa.int64():
        return [int_equal_to(key) if isinstance(key, (int, float)) else None for key in requested]
    return [key if isinstance(key, str) else None for key in requested]


def key_set(column_type: ColumnType, requested: Sequence[Any]) -> tuple[pa.Array, bool]:
    """Return the distinct requested keys that a column can hold, and whether it cannot hold some of them."""
    keys = possible_keys(column_type, requested)
    return pa.array(dict.fromkeys(key for key in keys if key is not None), column_type.physical.key_type), None in keys


def counts_of(values: pa.Array, chosen: pa.Array) -> np.ndarray:
    """Return the number of chosen items of each row."""
    before = np.concatenate([[0], np.cumsum(chosen.to_numpy(zero_copy_only=False))])
    offsets = values.offsets.to_numpy(zero_copy_only=False)
    return np.where(values.is_valid().to_numpy(zero_copy_only=False), before[offsets[1:]] - before[offsets[:-1]], 0)


def _build_has(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if types[0].is_encoded:
        return None
    requested, need_all = parameters
    if not need_all and _unlike_keys(types[0], requested):
        return None
    keys, impossible = key_set(types[0], requested)
    contained = [F.map_contains_key(columns[0], key) for key in keys.to_pylist()]
    has = functools.reduce(operator.and_ if need_all else operator.or_, contained, F.lit(need_all and not impossible))
    return F.when(columns[0].isNotNull(), has.cast("bigint"))


def _infer_trimmed(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the trimmed dicts.

    Parameters of ``dict_trim_keys``: the keys, and whether their entries are removed instead of kept. Parameters of ``dict_trim_values``: both
    inclusive bounds, or None; values that are not numbers stay.
    """
    _require_dicts(types)
    return types[0]


def _compute_trim_keys(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    requested, exclude = parameters
    values, column_type = by_keys(array_of(arguments[0], rows), types[0])
    _require_comparable(values, column_type, requested)
    if column_type.is_encoded:
        texts = {canonical_value(key) for key in requested}
        return _trimmed_cells(decode(values, types[0]), types[0], lambda key, value: (canonical_value(key) in texts) != exclude)
    chosen = pc.is_in(values.keys, key_set(column_type, requested)[0])
    trimmed = _trimmed(values, pc.invert(chosen) if exclude else chosen, column_type)
    return joined_items(trimmed) if types[0].is_encoded else trimmed


def _compute_trim_values(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    lower, upper = parameters
    values = array_of(arguments[0], rows)
    if types[0].is_encoded:
        result = flat_items(values, DICT_KIND)
        native = None if result is None else result.natively()
        if native is not None:
            return recode(_compute_trim_values([native[0]], [native[1]], parameters, rows), native[1], types[0])
        return _trimmed_cells(
            decode(values, types[0]), types[0], lambda key, value: not isinstance(value, (int, float)) or _within(value, lower, upper)
        )
    if types[0].physical.item_type == pa.string():
        return values
    items = values.items
    mask = pa.array(np.ones(len(items), dtype=bool))
    lower, upper = _bounds_of(items.type, lower, upper)
    for bound, compare in ((lower, pc.greater_equal), (upper, pc.less_equal)):
        if bound is not None:
            mask = pc.and_(mask, compare(items, pa.scalar(bound)).fill_null(True))
    return _trimmed(values, mask, types[0])


def _bounds_of(items: pa.DataType, lower: float | None, upper: float | None) -> tuple[float | None, float | None]:
    """Convert bounds to the type of the items, so that the same items are within the bounds."""
    if items == pa.int64():
        return _whole_bounds(lower, upper)
    return _float_bound(lower, math.inf), _float_bound(upper, -math.inf)


def _float_bound(bound: float | None, inwards: float) -> float | None:
    """Return the bound as a float; an int that is not a float is rounded towards the inside of the range.

    Examples
    --------
    >>> [int(_float_bound(2**53 + 1, inwards)) - 2**53 for inwards in (-math.inf, math.inf)], _float_bound(0.5, math.inf)
    ([0, 2], 0.5)
    """
    if bound is None or bound != bound:
        return bound
    nearest = float(bound)
    is_outside = nearest < bound if inwards > 0 else nearest > bound
    return math.nextafter(nearest, inwards) if is_outside else nearest


def _whole_bounds(lower: float | None, upper: float | None) -> tuple[int | None, int | None]:
    """Return the smallest and the largest 64-bit int within bounds, None for no limit; ``(1, 0)`` if no int is within them.

    Examples
    --------
    >>> _whole_bounds(0.5, float("inf")), _whole_bounds(None, float("nan")), _whole_bounds(1e300, None)
    ((1, None), (1, 0), (1, 0))
    """
    if any(bound is not None and bound != bound for bound in (lower, upper)):
        return 1, 0
    lowest = SMALLEST_INT if lower in (None, -math.inf) else LARGEST_INT + 1 if lower == math.inf else math.ceil(lower)
    highest = LARGEST_INT if upper in (None, math.inf) else SMALLEST_INT - 1 if upper == -math.inf else math.floor(upper)
    if lowest > LARGEST_INT or highest < SMALLEST_INT:
        return 1, 0
    return (lowest if lowest > SMALLEST_INT else None), (highest if highest < LARGEST_INT else None)


def _within(value: float, lower: float | None, upper: float | None) -> bool:
    return (lower is None or value >= lower) and (upper is None or value <= upper)


def _trimmed_cells(cells: Sequence[dict[Any, Any] | None], column_type: ColumnType, keeps: Callable[[Any, Any], bool]) -> pa.Array:
    return encode_plain([None if cell is None else {k: v for k, v in cell.items() if keeps(k, v)} for cell in cells], column_type)


def _trimmed(values: pa.Array, mask: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return dicts of the chosen items of each row."""
    ends = np.concatenate([[0], np.cumsum(counts_of(values, mask))]).astype(np.int32)
    first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
    chosen = mask.slice(first, last - first)
    keys, items = (side.slice(first, last - first).filter(chosen) for side in (values.keys, values.items))
    # In Arrow, a missing offset means that the row is missing.
    missing = values.is_null().to_numpy(zero_copy_only=False)
    offsets = pa.array(ends, mask=np.append(missing, False)) if values.null_count else pa.array(ends)
    return pa.MapArray.from_arrays(offsets, keys, items, type=column_type.physical)


def _build_trim_keys(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if types[0].is_encoded:
        return None
    requested, exclude = parameters
    if _unlike_keys(types[0], requested):
        return None
    keys = key_set(types[0], requested)[0].to_pylist()
    if not keys:
        return columns[0] if exclude else F.map_filter(columns[0], lambda key, value: F.lit(False))
    return F.map_filter(columns[0], lambda key, value: ~key.isin(keys) if exclude else key.isin(keys))


def _build_trim_values(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if types[0].is_encoded or any(bound is not None and not math.isfinite(bound) for bound in parameters):
        return None
    if types[0].physical.item_type == pa.string():
        return columns[0]
    lower, upper = _bounds_of(types[0].physical.item_type, *parameters)

    def keeps(key: Column, value: Column) -> Column:
        # In Spark NaN is larger than every number; here it is not within any bounds.
        within = F.lit(True) if lower is None and upper is None else ~F.isnan(value.cast("double"))
        if lower is not None:
            within = within & (value >= F.lit(lower))
        if upper is not None:
            within = within & (value <= F.lit(upper))
        return F.coalesce(within, F.lit(True))

    return F.map_filter(columns[0], keeps)


define_function("dict_keys", _infer_list("keys"), _compute_list("keys"), _build_list("keys"), by_arrow=always_by_arrow)
define_function("dict_values", _infer_list("values"), _compute_list("values"), _build_list("values"), by_arrow=always_by_arrow)
# May fail: it raises if no key of a row has the class of a requested key.
define_function("dict_has_keys", _infer_has, _compute_has, _build_has, may_fail=True, by_arrow=always_by_arrow)
define_function("dict_trim_keys", _infer_trimmed, _compute_trim_keys, _build_trim_keys, may_fail=True, by_arrow=always_by_arrow)
# The values of native dicts have one type; other values are compared one by one.
define_function(
    "dict_trim_values", _infer_trimmed, _compute_trim_values, _build_trim_values, by_arrow=lambda types, parameters: not types[0].is_encoded
)
