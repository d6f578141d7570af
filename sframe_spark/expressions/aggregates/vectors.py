"""Sums and means of vectors, element by element."""

from __future__ import annotations

import array
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_grouped_sum import BLOCK, Digits, digits_of_rows
from sframe_spark.compute.key_runs import members, ranges
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition
from sframe_spark.types import ColumnType

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
RAGGED = "vectors of different lengths have no sum and no mean: make the lengths equal"


@attrs.frozen(eq=False)
class VectorSum:
    """What some rows add up to.

    Parameters
    ----------
    count
        Number of vectors that are not missing.
    total
        Their sum, place by place, of no place where there is none; None where they have different lengths.
    """

    count: int
    total: Digits | None

    @classmethod
    def nothing(cls, places: int) -> VectorSum:
        """Of no vectors of so many numbers."""
        return cls(0, Digits(places))

    @classmethod
    def of(cls, column: pa.Array) -> VectorSum:
        """Of a column of arrays; infinities of both signs make NaN without a warning.

        Examples
        --------
        >>> VectorSum.of(pa.array([[1.0, 2.0], None, [3.0, 4.0]])).sum
        array('d', [4.0, 6.0])
        """
        column = column.drop_null()
        lengths = np.diff(column.offsets.to_numpy(zero_copy_only=False)) if len(column) else np.zeros(1, np.int32)
        if (lengths != lengths[0]).any():
            return cls(len(column), None)
        width, numbers = int(lengths[0]), elements(column)
        total = Digits(width)
        size = max(BLOCK // max(width, 1), 1) * width
        for start in range(0, len(numbers), max(size, 1)):
            part = numbers[start : start + size]
            total.add(part, np.tile(np.arange(width), len(part) // width))
        return cls(len(column), total)

    def merged(self, other: VectorSum) -> VectorSum:
        """Of the rows of both."""
        if not self.count or not other.count:
            return other if other.count else self
        count = self.count + other.count
        if self.total is None or other.total is None or self.total.count != other.total.count:
            return VectorSum(count, None)
        return VectorSum(count, self.total + other.total)

    @property
    def sum(self) -> array.array | None:
        """The sum; None where lengths differ."""
        return None if self.total is None else array.array("d", self.total.rounded().tolist())

    @property
    def mean(self) -> array.array | None:
        """The mean; None where lengths differ."""
        return None if self.total is None else array.array("d", self.total.means(np.full(self.total.count, max(self.count, 1))).tolist())


def elements(column: pa.Array) -> np.ndarray:
    """The numbers of arrays that are not missing, one after the other."""
    return column.flatten().fill_null(np.nan).to_numpy(zero_copy_only=False)


def added_vectors(kept: pa.ListArray, is_mean: bool) -> pa.ListArray:
    """The sum or mean of the vectors of each group: of no number where it has no vector, missing where their lengths differ.

    Examples
    --------
    >>> kept = pa.array([[[1.0, 2.0], None, [3.0, 4.0]], [], [[1.0], [1.0, 2.0]]], pa.list_(pa.list_(pa.float64())))
    >>> added_vectors(kept, True).to_pylist()
    [[2.0, 3.0], [], None]
    """
    vectors, group = members(kept)
    group = group[vectors.is_valid().to_numpy(zero_copy_only=False)]
    vectors = vectors.drop_null()
    lengths = np.diff(vectors.offsets.to_numpy(zero_copy_only=False))
    widths, counts = np.zeros(len(kept), dtype=np.int64), np.bincount(group, minlength=len(kept))
    widths[group] = lengths
    is_ragged = np.bincount(group[lengths != widths[group]], minlength=len(kept)) > 0
    rows = ~is_ragged[group]
    group, lengths, numbers = group[rows], lengths[rows], elements(vectors.filter(pa.array(rows)))
    widths[is_ragged] = 0
    ends = np.cumsum(widths)
    # For each number the place of what it is added to, of all groups.
    places = ranges((ends - widths)[group], lengths)
    sizes = np.repeat(counts if is_mean else np.ones(len(kept)), widths)
    found, start = np.empty(len(sizes)), 0
    for (sums,) in digits_of_rows(numbers, places, len(sizes), False):
        here = slice(start, start + sums.count)
        found[here], start = sums.means(sizes[here]), here.stop
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(found, from_pandas=False), mask=pa.array(is_ragged))


def lifted(arrays: Sequence[pa.Array], rows: int, types: Types, parameters: Parameters) -> VectorSum:
    """What a run of rows adds up to."""
    return VectorSum.of(arrays[0])


def merged(first: VectorSum, second: VectorSum, types: Types) -> VectorSum:
    """What two runs of rows add up to."""
    return first.merged(second)


def column_sum(part: VectorSum, types: Types, parameters: Parameters) -> array.array:
    """Sum of a whole column of vectors; the empty vector when all are missing.

    Raises
    ------
    UnsupportedOperationError
        If the vectors have different lengths.
    """
    return not_ragged(part.sum)


def column_mean(part: VectorSum, types: Types, parameters: Parameters) -> array.array | None:
    """Mean of a whole column of vectors; missing when all are missing.

    Raises
    ------
    UnsupportedOperationError
        If the vectors have different lengths.
    """
    return not_ragged(part.mean) if part.count else None


def not_ragged(found: array.array | None) -> array.array:
    """A sum or mean, or the error about vectors that have none."""
    if found is None:
        raise UnsupportedOperationError(RAGGED)
    return found


COLUMN_SUMS = Decomposition(lifted, merged, column_sum)
COLUMN_MEANS = Decomposition(lifted, merged, column_mean)
