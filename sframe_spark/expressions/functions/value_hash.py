"""A scalar function that hashes any value to 64 bits, and one that decides from a row id and a seed whether a row is in a sample.

A value has the same hash in every run and on every machine. A list or dict has the same hash whether it is stored as an Arrow list or map, or as
tagged JSON.

Ints, floats, strings and arrays have the hashes of Turi Create, so that programs written for it draw the same rows for a seed. The formulas were
found by comparing outputs: the bits of numbers are mixed, strings and arrays are hashed by CityHash64, and the result is mixed with the seed's hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.expressions.functions.scalar_function import Argument, always_by_arrow, array_of, define_function
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, FLOAT_KIND, INT, INT_KIND, NDARRAY_KIND, STR_KIND, ColumnType
from sframe_spark.values.ndarrays import numbers_of

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.key_equality_and_codes import one_float
    from sframe_spark.compute.string_hashing import city_hashes, city_hashes_of_bytes, text_hashes
    from sframe_spark.values.column_cast import canonical_text, microseconds_of

_MISSING = np.uint64(0)
_START = np.uint64(0xC3A5C85C97CB3127)
_FACTOR = np.uint64(0xC6A4A7935BD1E995)
_SHIFT = np.uint64(47)
# Floats have eight bytes.
_WIDTH = 8


def _infer_int(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    return INT


def _compute_hash(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    """Return the hash of each value, also of missing values. All NaN have the same hash, and so have 0.0 and -0.0. Parameter: the seed."""
    values = array_of(arguments[0], rows)
    words = _words(values, types[0])
    if values.null_count:
        words = np.where(values.is_valid().to_numpy(zero_copy_only=False), words, _MISSING)
    return pa.array(_mixed(words ^ _word_of_seed(parameters[0] if parameters else 0)).view(np.int64))


def _compute_drawn(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    """Return 1 for rows that are drawn, otherwise 0; the argument is the row id. Parameters: the seed, and the fraction of rows to draw."""
    numbers = array_of(arguments[0], rows).to_numpy(zero_copy_only=False).view(np.uint64)
    seed, fraction = parameters
    return pa.array((_mixed(numbers ^ _word_of_seed(seed)) <= np.uint64(largest_drawn(fraction))).astype(np.int64))


def largest_drawn(fraction: float) -> int:
    """Return the largest 64-bit hash that is drawn for a fraction of rows, which is rounded to a 32-bit float, as in Turi Create.

    Examples
    --------
    >>> largest_drawn(0.5) == 2**63 and largest_drawn(1.0) == 2**64 - 1
    True
    """
    part = int(float(np.float32(fraction)) * 2.0**63)
    return min(2**63, part) + min(2**63 - 1, part)


def _word_of_seed(seed: int) -> np.uint64:
    return np.uint64(_mixed(np.array([seed], np.int64).view(np.uint64))[0])


def _words(values: pa.Array, column_type: ColumnType) -> np.ndarray:
    """Return an unsigned 64-bit int for each value, the same for equal values of the column."""
    if column_type.kind == INT_KIND:
        return _mixed(values.fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64))
    if column_type.kind == FLOAT_KIND:
        return _mixed(one_float(values.fill_null(0.0)).to_numpy(zero_copy_only=False).view(np.uint64))
    if column_type.kind == DATETIME_KIND:
        return _mixed(microseconds_of(values, column_type).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64))
    if column_type.kind == ARRAY_KIND:
        return _array_words(values)
    if column_type.kind == NDARRAY_KIND:
        # As in Turi Create, the shape makes no difference.
        return _array_words(numbers_of(values))
    if column_type.kind == STR_KIND:
        return city_hashes(values.fill_null(""))
    return text_hashes(canonical_text(values, column_type).fill_null(""))


def _array_words(values: pa.Array) -> np.ndarray:
    """Return the hash of the bytes of each array's elements."""
    lengths = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    data = one_float(values.flatten().fill_null(np.nan)).to_numpy(zero_copy_only=False).astype("<f8").view(np.uint8)
    return city_hashes_of_bytes(data, np.concatenate([[0], np.cumsum(lengths)]) * _WIDTH)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Return each 64-bit int with its bits mixed; different ints give different results."""
    mixed = words ^ _START
    mixed *= _FACTOR
    shifted = mixed >> _SHIFT
    shifted ^= mixed
    shifted *= _FACTOR
    return shifted


define_function("hash", _infer_int, _compute_hash, by_arrow=always_by_arrow)
define_function("drawn", _infer_int, _compute_drawn, by_arrow=always_by_arrow)
