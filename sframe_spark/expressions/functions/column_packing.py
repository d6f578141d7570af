"""The scalar functions that pack the values of several columns into a list, a dict or an array, and the one that writes encoded values as JSON.

Spark makes VARIANTs of that JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import SchemaError, TooLargeError
from sframe_spark.expressions.functions.scalar_function import Argument, are_numbers, array_of, define_function, float_of, unsupported
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.pyarrow_versions import if_else
from sframe_spark.types import ARRAY, ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.invalid_unicode_errors import require_unicode_values
from sframe_spark.values.nested.tagged_json_patterns_and_splitting import AFTER, BEFORE
from sframe_spark.values.plain_values import plain
from sframe_spark.values.python_to_arrow import encode_plain, infer_type
from sframe_spark.values.tagged_json_display_and_canonical_text import decode_value, encode_value

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.spark_columns import Column, F
    from sframe_spark.values.nested.json_item_splitting_and_joining import texts_of_items
    from sframe_spark.values.spark_variant_decoding_and_json import variant_text


def value_parameter(value: Any) -> Any:
    """Return a value as a function parameter: None, numbers and strings are unchanged, other values become tagged JSON in a tuple.

    Raises
    ------
    InvalidArgumentError
        If a string in it is not valid Unicode.

    Examples
    --------
    >>> value_parameter(0), value_parameter(["a"])
    (0, ('["a"]',))
    """
    result = plain(value)
    require_unicode_values([result])
    return result if result is None or isinstance(result, (int, float, str)) else (encode_value(result),)


def parameter_value(parameter: Any) -> Any:
    """Return the value of a function parameter; inverse of :func:`value_parameter`.

    Examples
    --------
    >>> parameter_value(value_parameter(["a"]))
    ['a']
    """
    return decode_value(parameter[0]) if isinstance(parameter, tuple) else parameter


def _one_type(types: Sequence[ColumnType], filler: Any) -> ColumnType | None:
    """Return the type that all columns and the filler have, if it is int, float or str; otherwise None."""
    kinds = {*types} if filler is None else {*types, infer_type([filler]) if not isinstance(filler, tuple) else ENCODED_LIST}
    return next(iter(kinds)) if len(kinds) == 1 and kinds <= {INT, FLOAT, STR} else None


def _infer_list(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the list type. Parameter: the filler for missing values; None if they stay missing."""
    item = _one_type(types, parameters[0])
    return ENCODED_LIST if item is None else list_of(item)


def _compute_list(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    columns, result = [array_of(argument, rows) for argument in arguments], _infer_list(types, parameters)
    if result.is_encoded:
        texts = _as_json(columns, types, parameters[0])
        if texts is not None:
            between = chain.from_iterable((",", text.fill_null("null")) for text in texts)
            return pc.binary_join_element_wise("[", *islice(between, 1, None), "]", "")
        return encode_plain([list(row) for row in _rows(columns, types, parameters[0])], result)
    items = _row_by_row(columns)
    if parameters[0] is not None:
        items = items.fill_null(parameters[0])
    return pa.ListArray.from_arrays(even_offsets(rows, len(columns)), items, type=result.physical)


def _packs_by_arrow(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> bool:
    """Return whether all columns are numbers or strings, and the filler, if any, has their type."""
    return {INT, FLOAT, STR}.issuperset(types) and (parameters[0] is None or _one_type(types, parameters[0]) is not None)


def _as_json(columns: Sequence[pa.Array], types: Sequence[ColumnType], filler: Any) -> list[pa.Array] | None:
    """Return columns of numbers and strings as JSON, missing values as null; None for other types, and if there is a filler."""
    if filler is not None or not {INT, FLOAT, STR}.issuperset(types):
        return None
    texts = [texts_of_items(column) for column in columns]
    absent = pa.scalar(None, pa.string())
    return [if_else(column.is_valid(), text, absent) if column.null_count else text for column, text in zip(columns, texts, strict=True)]


def _rows(columns: Sequence[pa.Array], types: Sequence[ColumnType], filler: Any) -> Any:
    """Return an iterator over the values of each row, with missing values replaced by the filler."""
    cells = [decode(column, kind) for column, kind in zip(columns, types, strict=True)]
    if filler is not None:
        value = parameter_value(filler)
        cells = [[value if cell is None else cell for cell in column] for column in cells]
    return zip(*cells, strict=True)


def _row_by_row(columns: Sequence[pa.Array]) -> pa.Array:
    """Return the values of columns of one type in one array, row by row."""
    indices = np.arange(sum(map(len, columns))).reshape(len(columns), -1).T.ravel()
    return pa.concat_arrays(columns).take(pa.array(indices))


def even_offsets(rows: int, width: int) -> pa.Array:
    """Return the offsets of lists that all have the length ``width``.

    Raises
    ------
    TooLargeError
        If there are more items than 32-bit offsets can count.
    """
    if rows * width >= 2**31:
        raise TooLargeError(f"{width:,} values for each of {rows:,} rows are too many for one batch: take fewer columns, or lower config.batch_rows")
    return pa.array(np.arange(rows + 1, dtype=np.int32) * width)


def _build_list(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return None if _infer_list(types, parameters).is_encoded else F.array(*_filled(columns, parameters[0]))


def _filled(columns: Sequence[Column], filler: Any) -> Sequence[Column]:
    return columns if filler is None else [F.coalesce(column, F.lit(filler)) for column in columns]


def _infer_array(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the array type. Parameter: the filler for missing values and NaN; None if they become NaN."""
    if not are_numbers(types):
        raise unsupported("an array of several columns", types)
    return ARRAY


def _compute_array(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    numbers = _row_by_row([float_of(array_of(argument, rows)) for argument in arguments]).fill_null(float("nan"))
    if parameters[0] is not None:
        numbers = if_else(pc.is_nan(numbers), float(parameters[0]), numbers)
    return pa.ListArray.from_arrays(even_offsets(rows, len(arguments)), numbers, type=ARRAY.physical)


def _build_array(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column:
    numbers = [F.coalesce(column.cast("double"), F.lit(float("nan"))) for column in columns]
    if parameters[0] is not None:
        numbers = [F.when(F.isnan(number), F.lit(float(parameters[0]))).otherwise(number) for number in numbers]
    return F.array(*numbers)


def _infer_dict(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the dict type. Parameters: the filler for missing values, None if they are left out; and the keys, one per column."""
    item = _one_type(types, parameters[0])
    return ENCODED_DICT if item is None else dict_of(STR, item)


def _compute_dict(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    columns, result, keys = [array_of(argument, rows) for argument in arguments], _infer_dict(types, parameters), parameters[1]
    if result.is_encoded:
        texts = _as_json(columns, types, parameters[0])
        if texts is not None:
            entries = [pc.binary_join_element_wise(f",[{encode_value(key)},", text, "]", "") for key, text in zip(keys, texts, strict=True)]
            # Missing entries become empty strings, as Arrow's result is null for a row with a missing entry.
            joined = pc.binary_join_element_wise(*[entry.fill_null("") for entry in entries], "")
            return pc.binary_join_element_wise(BEFORE, pc.utf8_slice_codeunits(joined, 1), AFTER, "")
        cells = _rows(columns, types, parameters[0])
        return encode_plain([{key: value for key, value in zip(keys, row, strict=True) if value is not None} for row in cells], result)
    items = _row_by_row(columns)
    if parameters[0] is not None:
        items = items.fill_null(parameters[0])
    present = items.is_valid()
    counts = present.to_numpy(zero_copy_only=False).reshape(rows, len(columns)).sum(axis=1)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    names = pa.array(keys, pa.string()).take(pa.array(np.tile(np.arange(len(columns)), rows)))
    return pa.MapArray.from_arrays(offsets, names.filter(present), items.filter(present), type=result.physical)


def _build_dict(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    if _infer_dict(types, parameters).is_encoded:
        return None
    pairs = [part for key, column in zip(parameters[1], _filled(columns, parameters[0]), strict=True) for part in (F.lit(key), column)]
    return F.map_filter(F.create_map(*pairs), lambda key, value: value.isNotNull())


define_function("pack_list", _infer_list, _compute_list, _build_list, by_arrow=_packs_by_arrow)
define_function("pack_array", _infer_array, _compute_array, _build_array)
define_function("pack_dict", _infer_dict, _compute_dict, _build_dict, by_arrow=_packs_by_arrow)


# Conversion of encoded lists and dicts to JSON from which Spark makes VARIANTs.


def _infer_text(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    if not types[0].is_encoded:
        raise SchemaError(f"only lists and dicts of mixed values can become VARIANTs, not {types[0]}")
    return STR


def _compute_text(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    cells = decode(array_of(arguments[0], rows), types[0])
    return pa.array([None if cell is None else variant_text(cell) for cell in cells], STR.physical)


# May fail: two keys may become the same string, and stored values may be damaged.
define_function("variant_text", _infer_text, _compute_text, may_fail=True)
