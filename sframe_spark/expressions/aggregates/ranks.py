"""What finds the number of some rank without sorting: how many numbers lie in each of many ranges, and the numbers of one.

Numbers are told by keys, whole numbers in their order: of ints from the smallest one, of floats by their bits. Zeros have one key whatever their
sign, and so has NaN, the largest.
"""

from __future__ import annotations

import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition
from sframe_spark.types import ARRAY, FLOAT_KIND, INT, INT_KIND, ColumnType, list_of

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
RANGES = 1 << 14
LARGEST_KEY = (1 << 64) - 1
_SIGN = np.uint64(1 << 63)


def keys_of(column: pa.Array) -> np.ndarray:
    """Keys of the numbers that are not missing.

    Examples
    --------
    >>> keys_of(pa.array([2, None, -1])).tolist() == [2**63 + 2, 2**63 - 1]
    True
    """
    numbers = column.drop_null().to_numpy(zero_copy_only=False)
    if pa.types.is_integer(column.type):
        return numbers.view(np.uint64) ^ _SIGN
    numbers = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    bits = numbers.view(np.uint64)
    return np.where(numbers < 0, ~bits, bits | _SIGN)


def key_of(number: int | float, column_type: ColumnType) -> int:
    """Key of a number of a column.

    Examples
    --------
    >>> key_of(1, INT) < key_of(2, INT)
    True
    """
    return int(keys_of(pa.array([number], column_type.physical))[0])


def number_of(key: int, column_type: ColumnType) -> int | float:
    """The number of a key.

    Examples
    --------
    >>> number_of(key_of(-7, INT), INT)
    -7
    """
    if column_type.kind == INT_KIND:
        return key - (1 << 63)
    bits = key ^ (1 << 63) if key >> 63 else LARGEST_KEY - key
    return float(np.array([bits], np.uint64).view(np.float64)[0])


def shift_between(low: int, high: int) -> int:
    """How many bits of keys between two are left out, so that no more than so many ranges are told apart.

    Examples
    --------
    >>> shift_between(0, RANGES - 1), shift_between(0, RANGES)
    (0, 1)
    """
    return max(0, (high - low).bit_length() - (RANGES.bit_length() - 1))


def _chosen(column: pa.Array, parameters: Parameters) -> np.ndarray:
    """How far above the low one the keys between two are, both included."""
    low, high = map(np.uint64, parameters)
    keys = keys_of(column)
    return keys[(keys >= low) & (keys <= high)] - low


def _counts(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Parameters are the lowest and the highest key that are counted."""
    ranges = _chosen(arrays[0], parameters) >> np.uint64(shift_between(*parameters))
    return np.bincount(ranges.astype(np.int64), minlength=RANGES)


def _added(first: np.ndarray, second: np.ndarray, types: Types) -> np.ndarray:
    return first + second


def _counts_as_array(part: np.ndarray, types: Types, parameters: Parameters) -> array.array:
    return array.array("d", part.astype(np.float64))


def _keys(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Parameters are the lowest and the highest key that are told."""
    return _chosen(arrays[0], parameters)


def _joined(first: np.ndarray, second: np.ndarray, types: Types) -> np.ndarray:
    return np.concatenate([first, second])


def _keys_in_order(part: np.ndarray, types: Types, parameters: Parameters) -> list[int]:
    found: list[int] = np.sort(part).view(np.int64).tolist()
    return found


def _require_keys(types: Types, parameters: Parameters) -> None:
    require("a rank", types[0], (INT_KIND, FLOAT_KIND))
    if len(parameters) != 2 or not all(type(key) is int and 0 <= key <= LARGEST_KEY for key in parameters):
        raise UnsupportedOperationError(f"keys are two ints of 64 bits, not {parameters!r:.80}")


def _infer_counts(types: Types, parameters: Parameters) -> ColumnType:
    _require_keys(types, parameters)
    return ARRAY


def _infer_keys(types: Types, parameters: Parameters) -> ColumnType:
    """Keys are told by how far above the lowest one they are."""
    _require_keys(types, parameters)
    if parameters[1] - parameters[0] >= 1 << 63:
        raise UnsupportedOperationError("keys that are told lie within half of all")
    return list_of(INT)


define_aggregate("key_counts", _infer_counts, parts=Decomposition(_counts, _added, _counts_as_array), order_sensitive=False)
define_aggregate("keys_between", _infer_keys, parts=Decomposition(_keys, _joined, _keys_in_order), order_sensitive=False)
