"""Counts, ranges and histograms of the rows that hold each of a few labels, or lie in each of some bins: what charts of groups need, in one pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.histograms import added_counts, as_floats, bin_numbers, with_nan
from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition
from sframe_spark.types import ARRAY, FLOAT_KIND, INT_KIND, STR_KIND, ColumnType

_NUMBERS = (INT_KIND, FLOAT_KIND)
Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]


def _infer_counts(types: Types, parameters: Parameters) -> ColumnType:
    for column_type in types:
        require("a count of labels", column_type, (STR_KIND,))
    return ARRAY


def _infer_labelled(types: Types, parameters: Parameters) -> ColumnType:
    require("a label", types[0], (STR_KIND,))
    require("a number of a label", types[1], _NUMBERS)
    return ARRAY


def _infer_binned(types: Types, parameters: Parameters) -> ColumnType:
    for column_type in types:
        require("a number of a bin", column_type, _NUMBERS)
    return ARRAY


def _places(column: pa.Array, labels: Sequence[str | None]) -> np.ndarray:
    """The place of each value among some labels, of which None is one like any other; -1 where it is none of them."""
    found = pc.index_in(column, value_set=pa.array(labels, column.type), skip_nulls=False)
    return found.fill_null(-1).to_numpy(zero_copy_only=False)


def _label_counts(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Parameters are the labels of each column; a row counts where all columns hold one of theirs."""
    places, size, inside = np.zeros(rows, dtype=np.int64), 1, np.ones(rows, dtype=bool)
    for column, labels in zip(arrays, parameters, strict=True):
        found = _places(column, labels)
        inside &= found >= 0
        places = places * len(labels) + found
        size *= len(labels)
    return np.bincount(places[inside], minlength=size)


def _label_histograms(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Parameters are the labels, and for each its bins as ``(first, step, bins)``; what lies outside is in the bin at that end."""
    labels, bins = parameters
    places, numbers = _places(arrays[0], labels), with_nan(arrays[1])
    is_finite = np.isfinite(numbers)
    return np.concatenate(
        [np.bincount(bin_numbers(numbers[is_finite & (places == place)], *of_label), minlength=of_label[2]) for place, of_label in enumerate(bins)]
    )


def _ranges(places: np.ndarray, numbers: np.ndarray, size: int) -> np.ndarray:
    """For each place a row: how many finite numbers there are, the least, the largest, and their mean (of none: zero)."""
    inside = np.isfinite(numbers) & (places >= 0)
    places, numbers = places[inside], numbers[inside]
    counts = np.bincount(places, minlength=size)
    least, largest = np.full(size, math.inf), np.full(size, -math.inf)
    np.minimum.at(least, places, numbers)
    np.maximum.at(largest, places, numbers)
    # Shares of a mean stay within the numbers; their sum might not stay within floats.
    means = np.bincount(places, numbers / counts[places], size)
    return np.stack([counts.astype(np.float64), least, largest, means], axis=1)


def _label_ranges(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Parameters are the labels."""
    return _ranges(_places(arrays[0], parameters), with_nan(arrays[1]), len(parameters))


def _bin_ranges(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Parameters are ``first, step, bins`` of the first column."""
    across, numbers = with_nan(arrays[0]), with_nan(arrays[1])
    inside = np.isfinite(across)
    return _ranges(bin_numbers(across[inside], *parameters), numbers[inside], parameters[2])


def _merged_ranges(first: np.ndarray, second: np.ndarray, types: Types) -> np.ndarray:
    counts = first[:, 0] + second[:, 0]
    some = np.maximum(counts, 1.0)
    means = first[:, 3] * (first[:, 0] / some) + second[:, 3] * (second[:, 0] / some)
    return np.stack([counts, np.minimum(first[:, 1], second[:, 1]), np.maximum(first[:, 2], second[:, 2]), means], axis=1)


_OF_COUNTS, _OF_RANGES = (added_counts, as_floats), (_merged_ranges, as_floats)
define_aggregate("label_counts", _infer_counts, parts=Decomposition(_label_counts, *_OF_COUNTS), order_sensitive=False, arguments=(1, 2))
define_aggregate("label_histograms", _infer_labelled, parts=Decomposition(_label_histograms, *_OF_COUNTS), order_sensitive=False, arguments=2)
define_aggregate("label_ranges", _infer_labelled, parts=Decomposition(_label_ranges, *_OF_RANGES), order_sensitive=False, arguments=2)
define_aggregate("bin_ranges", _infer_binned, parts=Decomposition(_bin_ranges, *_OF_RANGES), order_sensitive=False, arguments=2)
