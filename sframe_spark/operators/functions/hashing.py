"""A 64 bit hash of every value: deterministic across runs, machines and encodings, for sampling and splitting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.operators.functions.base import Argument
from sframe_spark.operators.functions.support import always_by_arrow, array_of, define_function
from sframe_spark.operators.kernels.text_hashes import text_hashes
from sframe_spark.types import ARRAY_KIND, DATETIME_KIND, FLOAT, FLOAT_KIND, INT, INT_KIND, STR_KIND, ColumnType
from sframe_spark.values.canonical import canonical_text
from sframe_spark.values.cast import microseconds_of

_MISSING = np.uint64(0x6A09E667F3BCC909)
_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def _infer_hash(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    return INT


def _compute_hash(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    """Parameter: the seed. Missing values have a hash too; NaN has one, and 0.0 that of -0.0."""
    values = array_of(arguments[0], rows)
    seed = np.uint64(parameters[0] & 0xFFFFFFFFFFFFFFFF) if parameters else np.uint64(0)
    words = _words(values, types[0])
    if values.null_count:
        words = np.where(values.is_valid().to_numpy(zero_copy_only=False), words, _MISSING)
    with np.errstate(over="ignore"):
        mixed = _mix(words ^ _mix(seed + _GAMMA))
    return pa.array(mixed.view(np.int64))


def _words(values: pa.Array, column_type: ColumnType) -> np.ndarray:
    """One unsigned word for each value, equal for equal values of the column."""
    if column_type.kind == INT_KIND:
        return values.fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    if column_type.kind == FLOAT_KIND:
        numbers = values.fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
    if column_type.kind == DATETIME_KIND:
        return microseconds_of(values, column_type).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    if column_type.kind == ARRAY_KIND:
        return _array_words(values)
    texts = values if column_type.kind == STR_KIND else canonical_text(values, column_type)
    with np.errstate(over="ignore"):
        return np.asarray(_mix(text_hashes(texts.fill_null(""))))


def _array_words(values: pa.Array) -> np.ndarray:
    """The sum of one word for each element and its place."""
    lengths = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    numbers = values.flatten().fill_null(np.nan)
    ends = np.cumsum(lengths)
    places = np.arange(len(numbers), dtype=np.int64) - np.repeat(ends - lengths, lengths)
    with np.errstate(over="ignore"):
        words = _mix(_words(numbers, FLOAT) + _mix(places.view(np.uint64) + _GAMMA))
        sums = np.concatenate([[np.uint64(0)], np.cumsum(words, dtype=np.uint64)])
        return sums[ends] - sums[ends - lengths] + _mix(lengths.view(np.uint64))


def _mix(words: Any) -> Any:
    """Spread every input bit over the whole word (the finalizer of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


define_function("hash", _infer_hash, _compute_hash, by_arrow=always_by_arrow)
