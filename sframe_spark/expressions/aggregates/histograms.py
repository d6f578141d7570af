"""How many numbers lie in each bin, of one column and of pairs, of all rows and of those with a label; where bins are needed is asked for before."""

from __future__ import annotations

import array
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_sum import Moments
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition
from sframe_spark.types import ARRAY, FLOAT_KIND, INT_KIND, ColumnType

_KINDS = (INT_KIND, FLOAT_KIND)
Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
# How many numbers are missing, NaN, infinite; the least and the largest finite one, and the moments of the finite ones.
RangePart = tuple[int, int, int, float, float, Moments]


def _infer(types: Types, parameters: Parameters) -> ColumnType:
    for column_type in types:
        require("a histogram", column_type, _KINDS)
    return ARRAY


def _range_part(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> RangePart:
    numbers = with_nan(arrays[0])
    finite = numbers[np.isfinite(numbers)]
    missing, infinite = arrays[0].null_count, int(np.isinf(numbers).sum())
    least, largest = (float(finite.min()), float(finite.max())) if len(finite) else (math.inf, -math.inf)
    return missing, rows - missing - len(finite) - infinite, infinite, least, largest, Moments.of(finite)


def _merged_ranges(first: RangePart, second: RangePart, types: Types) -> RangePart:
    missing, nan, infinite = (one + other for one, other in zip(first[:3], second[:3], strict=True))
    return missing, nan, infinite, min(first[3], second[3]), max(first[4], second[4]), first[5].merged(second[5])


def _range_as_array(part: RangePart, types: Types, parameters: Parameters) -> array.array:
    moments = part[5]
    return array.array("d", [moments.count, *part[:5], moments.mean, moments.squares])


def with_nan(column: pa.Array) -> np.ndarray:
    """Numbers as floats, missing ones as NaN."""
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def bin_numbers(numbers: np.ndarray, first: float, step: float, bins: int) -> np.ndarray:
    """The bin of each finite number: ``[(first + i) * step, (first + i + 1) * step)`` is bin ``i``; those outside are in the bin at that end.

    Edges are decimal numbers: 0.3 begins a bin of width 0.1.

    Examples
    --------
    >>> bin_numbers(np.array([0.3, 0.1, 9.0]), 1, 0.1, 5).tolist()
    [2, 0, 4]
    >>> bin_numbers(np.array([1.005]), 0, 0.005, 300).tolist()
    [201]
    """
    in_one = round(1 / step)
    if step < 1 and abs(1 / step - in_one) < 1e-9 / step and 1 / step < 2**53:
        places = np.floor(numbers * in_one)
        # Neither a quotient nor a product finds all edges: 0.3 / 0.1 is less than 3, 1.005 * 200 less than 201.
        # The edges themselves, 201 / 200, are the floats nearest to the decimal numbers.
        places += (places + 1) / in_one <= numbers
        places -= places / in_one > numbers
    else:
        places = np.floor(numbers / step)
    return np.clip(places - first, 0, bins - 1).astype(np.int64)


def _counts(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> np.ndarray:
    """Parameters are ``first, step, bins`` of each column; a row counts where all of its numbers are finite."""
    columns = [with_nan(column) for column in arrays]
    is_finite = np.logical_and.reduce([np.isfinite(column) for column in columns])
    places, size = np.zeros(int(is_finite.sum()), dtype=np.int64), 1
    for position, column in enumerate(columns):
        first, step, bins = parameters[3 * position : 3 * position + 3]
        places = places * bins + bin_numbers(column[is_finite], first, step, bins)
        size *= bins
    return np.bincount(places, minlength=size)


def added_counts(first: np.ndarray, second: np.ndarray, types: Types) -> np.ndarray:
    """Counts of the rows of both."""
    return first + second


def as_floats(part: np.ndarray, types: Types, parameters: Parameters) -> array.array:
    """A table of numbers, row by row."""
    return array.array("d", part.astype(np.float64).ravel())


define_aggregate("finite_range", _infer, parts=Decomposition(_range_part, _merged_ranges, _range_as_array), order_sensitive=False)
define_aggregate("histogram", _infer, parts=Decomposition(_counts, added_counts, as_floats), order_sensitive=False, arguments=(1, 2))
