"""Sums of floats, means and spreads in parts: exact sums of groups, rounded when the last part is there.

The only number of a group stays as it is, without digits: of as many groups as rows nothing is added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_grouped_sum import GROUPS_TOGETHER, Digits, at, digits_of, digits_of_rows, lists_of, longer, squared_deviations
from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.expressions.aggregates.numeric import added_vectors
from sframe_spark.operators.groupby.accumulators import Arrays, PartialAggregate, totals
from sframe_spark.operators.groupby.groups_of_rows import GroupsOfRows
from sframe_spark.types import ColumnType


@attrs.frozen
class SummedExactly(PartialAggregate):
    """Sum of floats: the only number of a group, or the digits of the sum of several."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True
    has_squares: ClassVar[bool] = False

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """The only numbers, and the digits of sums."""
        numbers, several, codes = self._several(arrays, groups)
        lists = self._lists(numbers, codes, len(several))
        if len(several) == groups.count:
            return [pa.nulls(groups.count, pa.float64()), *lists]
        alone = groups.sizes == 1
        kept = pa.array(floats_of(arrays[0])[groups.firsts], mask=~alone, from_pandas=False)
        return [kept, *(at(column, several, groups.count) for column in lists)]

    def of_whole_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows, result: ColumnType) -> pa.Array:
        """The floats next to the sums, of digits that nobody else looks at."""
        counts = self._counts(arrays, groups)
        numbers, several, codes = self._several(arrays, groups)
        found = self._of_one(floats_of(arrays[0])[groups.firsts])
        start = 0
        for digits in digits_of_rows(numbers, codes, len(several), self.has_squares):
            here = several[start : start + digits[0].count]
            found[here] = self._of_several(np.maximum(counts[here], 1), digits)
            start += len(here)
        return self._column(counts, found)

    def _several(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Numbers of the rows of groups of several, these groups, and for each row which of these it is in."""
        numbers, is_several = floats_of(arrays[0]), groups.sizes > 1
        several = np.flatnonzero(is_several)
        if len(several) == groups.count:
            return numbers, several, groups.codes
        rows = np.flatnonzero(is_several[groups.codes])
        return numbers[rows], several, (np.cumsum(is_several) - 1)[groups.codes[rows]]

    def _lists(self, numbers: np.ndarray, codes: np.ndarray, count: int) -> Arrays:
        found = ([lists_of(sums) for sums in digits] for digits in digits_of_rows(numbers, codes, count, self.has_squares))
        return [pa.concat_arrays(columns) for columns in zip(*found, strict=True)]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Sums of sums, where there are several; only numbers stay what they are."""
        alone, *lists = partial
        sizes = np.diff(np.append(starts, len(alone)))
        mixed = alone.is_valid().to_numpy(zero_copy_only=False) & np.repeat(sizes > 1, sizes)
        if not mixed.any():
            # No sum has a number that is not in digits yet.
            return [alone.take(pa.array(starts)), *(longer(column, starts) for column in lists)]
        places = np.flatnonzero(mixed)
        numbers = plain_numbers(alone.take(pa.array(places)))
        digits = self._lists(numbers, np.arange(len(places)), len(places))
        kept = pa.array(plain_numbers(alone), mask=mixed | alone.is_null().to_numpy(zero_copy_only=False), from_pandas=False)
        lists = [joined(column, at(more, places, len(alone))) for column, more in zip(lists, digits, strict=True)]
        return [kept.take(pa.array(starts)), *(longer(column, starts) for column in lists)]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The floats next to the sums."""
        counts, sums = self._counted(partial)
        return self._column(counts, self._finished(counts, sums))

    def _counts(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> np.ndarray:
        """By what the sums are divided."""
        return np.ones(groups.count, dtype=np.int64)

    def _counted(self, partial: Arrays) -> tuple[np.ndarray, Arrays]:
        """The same, and the sums."""
        return np.ones(len(partial[0]), dtype=np.int64), partial

    def _column(self, counts: np.ndarray, values: np.ndarray) -> pa.Array:
        return pa.array(values, from_pandas=False)

    def _finished(self, counts: np.ndarray, partial: Arrays) -> np.ndarray:
        """Values of groups of so many numbers."""
        found = np.empty(len(counts))
        for start in range(0, len(counts), GROUPS_TOGETHER):
            alone, *lists = (column.slice(start, GROUPS_TOGETHER) for column in partial)
            is_alone = alone.is_valid().to_numpy(zero_copy_only=False)
            part = found[start : start + GROUPS_TOGETHER]
            part[:] = self._of_one(plain_numbers(alone))
            if not is_alone.all():
                several = np.flatnonzero(~is_alone)
                digits = [digits_of(column.take(pa.array(several))) for column in lists]
                part[several] = self._of_several(np.maximum(counts[start : start + GROUPS_TOGETHER][several], 1), digits)
        return found

    def _of_one(self, numbers: np.ndarray) -> np.ndarray:
        # A sum begins with zero: none is -0.0.
        return numbers + 0.0

    def _of_several(self, counts: np.ndarray, digits: Sequence[Digits]) -> np.ndarray:
        return digits[0].means(counts)


@attrs.frozen
class Averaged(SummedExactly):
    """Mean of numbers: their count, and their sum."""

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """How many numbers there are, and their sums."""
        return [pa.array(self._counts(arrays, groups)), *super().of_groups(arrays, groups)]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Both add up."""
        return [pa.array(totals(plain_numbers(partial[0]), starts)), *super().merge(partial[1:], starts)]

    def _counts(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> np.ndarray:
        return groups.totals(arrays[0].is_valid().to_numpy(zero_copy_only=False))

    def _counted(self, partial: Arrays) -> tuple[np.ndarray, Arrays]:
        return plain_numbers(partial[0]), partial[1:]

    def _column(self, counts: np.ndarray, values: np.ndarray) -> pa.Array:
        """Missing where there is no number."""
        return pa.array(values, pa.float64(), mask=counts == 0, from_pandas=False)


@attrs.frozen
class Spread(Averaged):
    """Variance or standard deviation: count, sum and sum of squares."""

    has_squares: ClassVar[bool] = True

    def _column(self, counts: np.ndarray, values: np.ndarray) -> pa.Array:
        """Mean squared deviation or its root; zero for one value or none."""
        return pa.array(np.sqrt(values) if self.aggregation.function == "std" else values, from_pandas=False)

    def _of_one(self, numbers: np.ndarray) -> np.ndarray:
        return np.zeros(len(numbers))

    def _of_several(self, counts: np.ndarray, digits: Sequence[Digits]) -> np.ndarray:
        return squared_deviations(counts, *digits) / counts


@attrs.frozen
class SummedVectors(PartialAggregate):
    """Sum or mean of vectors: these are kept until all of a group are there, and those of all groups are added up together."""

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """A vector for each group, of no number where it has none; missing where their lengths differ."""
        return added_vectors(partial[0], self.aggregation.function == "mean").cast(result.physical)


def floats_of(column: pa.Array) -> np.ndarray:
    """Numbers as floats, zero where missing."""
    return plain_numbers(column).astype(np.float64, copy=False)


def joined(first: pa.ListArray, second: pa.ListArray) -> pa.ListArray:
    """The lists of two columns, of which one at least is empty in each row."""
    return pa.concat_arrays([first, second]).take(pa.array(rows_of_lists(first, second)))


def rows_of_lists(first: pa.ListArray, second: pa.ListArray) -> np.ndarray:
    """For each row which of the lists of both, one after the other, is not the empty one."""
    is_second = np.diff(second.offsets.to_numpy(zero_copy_only=False)) > 0
    return np.arange(len(first)) + np.where(is_second, len(first), 0)
