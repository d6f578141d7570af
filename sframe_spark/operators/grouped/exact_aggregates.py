"""Sums of floats, means and spreads in parts: exact sums of groups, rounded when the last part is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.operators.grouped.groups_of_rows import GroupsOfRows
from sframe_spark.operators.grouped.runs_aggregates import Arrays, PartialAggregate, totals
from sframe_spark.operators.kernels.exact_digits import Digits, longer
from sframe_spark.operators.kernels.exact_spreads import squared_deviations
from sframe_spark.operators.kernels.runs import plain_numbers
from sframe_spark.types import ColumnType


def floats_of(column: pa.Array) -> np.ndarray:
    """Numbers as floats, zero where missing."""
    return plain_numbers(column).astype(np.float64, copy=False)


@attrs.frozen
class SummedExactly(PartialAggregate):
    """Sum of floats."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """The digits of the sums."""
        sums = Digits(groups.count)
        sums.add(floats_of(arrays[0]), groups.codes)
        return [sums.lists()]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Sums of sums."""
        return [longer(partial[0], starts)]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The floats next to the sums."""
        return pa.array(Digits.of_lists(partial[0]).rounded(), from_pandas=False)


@attrs.frozen
class Averaged(PartialAggregate):
    """Mean of numbers: their count and sum."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """How many numbers there are, and the digits of their sum."""
        counts = groups.totals(arrays[0].is_valid().to_numpy(zero_copy_only=False))
        sums = Digits(groups.count)
        sums.add(floats_of(arrays[0]), groups.codes)
        return [pa.array(counts), sums.lists()]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Both add up."""
        return [pa.array(totals(plain_numbers(partial[0]), starts)), longer(partial[1], starts)]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """Sum by count; missing when there is no number."""
        counts = plain_numbers(partial[0])
        means = Digits.of_lists(partial[1]).means(np.maximum(counts, 1))
        return pa.array(means, pa.float64(), mask=counts == 0, from_pandas=False)


@attrs.frozen
class Spread(PartialAggregate):
    """Variance or standard deviation: count, sum and sum of squares."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """How many numbers there are, and the digits of their sum and of that of their squares."""
        counts = groups.totals(arrays[0].is_valid().to_numpy(zero_copy_only=False))
        numbers, codes = floats_of(arrays[0]), groups.codes
        sums, squares = Digits(groups.count), Digits(groups.count)
        sums.add(numbers, codes)
        finite = slice(None) if sums.others is None else np.isfinite(numbers)
        squares.add_squares(numbers[finite], codes[finite])
        return [pa.array(counts), sums.lists(), squares.lists()]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """All add up."""
        counts, sums, squares = partial
        return [pa.array(totals(plain_numbers(counts), starts)), longer(sums, starts), longer(squares, starts)]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """Mean squared deviation or its root; zero for one value or none."""
        counts = plain_numbers(partial[0])
        squares = squared_deviations(counts, Digits.of_lists(partial[1]), Digits.of_lists(partial[2]))
        variance = squares / np.maximum(counts, 1)
        return pa.array(np.sqrt(variance) if self.aggregation.function == "std" else variance, from_pandas=False)
