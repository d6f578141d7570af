"""Aggregates of rows in parts: rows become partial results of their groups, partial results are merged, the last ones are finished."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_encoding import comparable
from sframe_spark.compute.key_runs import PLAIN_ZERO, differs, plain_numbers
from sframe_spark.operators.groupby.groups_of_rows import GroupsOfRows
from sframe_spark.types import ColumnType
from sframe_spark.values.encode import encode_plain

if TYPE_CHECKING:
    from sframe_spark.operators.groupby.aggregation import Aggregation

Arrays = list[pa.Array]

NAN_LEVEL, MISSING_LEVEL = 1, 2


@attrs.frozen
class PartialAggregate:
    """Base of the forms of partial results. This one keeps all values, so it serves every aggregate.

    Parameters
    ----------
    aggregation
        The aggregate.
    types
        Types of its arguments.
    width
        Number of columns of a partial result.

    Class attributes
    ----------------
    holds_values
        A partial result grows with the rows that it is of.
    is_small
        It does not, but perhaps with the number of different values.
    """

    holds_values: ClassVar[bool] = True
    is_small: ClassVar[bool] = False
    aggregation: Aggregation
    types: tuple[ColumnType, ...]
    width: int

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """Partial results of groups of single rows: here lists."""
        offsets, order = pa.array(np.append(groups.starts, groups.rows)), pa.array(groups.order)
        return [pa.LargeListArray.from_arrays(offsets, array.take(order)) for array in arrays]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Partial results of groups of consecutive partial results: here longer lists."""
        return [longer_lists(column, starts) for column in partial]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """Values of the aggregate from partial results of whole groups."""
        reduce = self.aggregation.reduction()
        groups = zip(*[pairwise(column.offsets.to_pylist()) for column in partial], strict=True)
        values = []
        for bounds in groups:
            group = [column.values.slice(a, b - a) for column, (a, b) in zip(partial, bounds, strict=True)]
            values.append(reduce(group, self.types, self.aggregation.parameters))
        return encode_plain(values, result)

    def of_whole_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows, result: ColumnType) -> pa.Array:
        """Values of the aggregate of groups of which all rows are here."""
        return self.finish(self.of_groups(arrays, groups), result)


# What is found of the arguments of an aggregate, of groups of rows.
FoundOfGroups = Callable[[PartialAggregate, Sequence[pa.Array], GroupsOfRows], Arrays]


def longer_lists(column: pa.Array, starts: np.ndarray) -> pa.Array:
    """Neighbouring lists joined: one list for all from each start to the next."""
    offsets = column.offsets.to_numpy(zero_copy_only=False)
    return pa.LargeListArray.from_arrays(pa.array(np.append(offsets[starts], offsets[-1])), column.values)


def totals(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sum of the values from each start to the next."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.add.reduceat(values, starts) if len(starts) else values[:0]


@attrs.frozen
class Counted(PartialAggregate):
    """Number of rows."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """How many rows there are."""
        return [pa.array(groups.sizes)]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Counts add up."""
        return [pa.array(totals(plain_numbers(partial[0]), starts))]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The counts."""
        return partial[0]


@attrs.frozen
class Summed(Counted):
    """Sum of ints, which wraps around."""

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """The sums."""
        return [pa.array(groups.totals(plain_numbers(arrays[0])))]


@attrs.frozen
class Extreme(PartialAggregate):
    """Smallest or largest number or date-time without offset; NaN if there is one."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """The extreme of each group; missing values are left out."""
        column, largest = arrays[0], self.aggregation.function == "max"
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        numbers = plain_numbers(column)
        start = outermost(numbers.dtype, not largest)
        found = groups.extremes(np.where(valid, numbers, start), largest, start)
        return [pa.array(found, mask=groups.totals(valid) == 0, from_pandas=False).cast(column.type)]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """The extreme of each group; missing values are left out."""
        column = partial[0]
        if not len(starts):
            return [column.slice(0, 0)]
        largest = self.aggregation.function == "max"
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        numbers = plain_numbers(column)
        numbers = np.where(valid, numbers, outermost(numbers.dtype, not largest))
        found = (np.maximum if largest else np.minimum).reduceat(numbers, starts)
        known = np.logical_or.reduceat(valid, starts)
        return [pa.array(found, mask=~known, from_pandas=False).cast(column.type)]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The extremes, of floats no -0.0."""
        return pc.add(partial[0], PLAIN_ZERO) if pa.types.is_floating(partial[0].type) else partial[0]


@attrs.frozen
class Chosen(PartialAggregate):
    """Arguments in one row of each group: the first (``select_one``), or the first where the first argument is extreme."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """The arguments of the chosen rows."""
        places = groups.firsts if self.aggregation.function == "select_one" else self._extreme_rows(arrays[0], groups)
        return [column.take(pa.array(places)) for column in arrays]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """The arguments of the chosen rows."""
        return self.of_groups(partial, GroupsOfRows(np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(partial[0])))), len(starts)))

    def _extreme_rows(self, column: pa.Array, groups: GroupsOfRows) -> np.ndarray:
        ranks, largest = value_ranks(column), self.aggregation.function in ("argmax", "max")
        if self.aggregation.function in ("argmin", "argmax"):
            ranks = ranks[:1]
        # Of date-times those at one instant are compared by what follows.
        level = ranks_of_presence(column, ranks[0])
        chosen = level == groups.extremes(level, False, MISSING_LEVEL)[groups.codes]
        for rank in ranks:
            compared = chosen & (level == 0)
            start = outermost(rank.dtype, not largest)
            found = groups.extremes(np.where(compared, rank, start), largest, start)
            chosen &= ~compared | (rank == found[groups.codes])
        return groups.first_where(chosen)

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The last argument; missing where every first argument is."""
        if self.aggregation.function == "select_one":
            return partial[0]
        known = partial[0].is_valid().to_numpy(zero_copy_only=False)
        return partial[-1].take(pa.array(np.arange(len(known)), mask=~known))


@attrs.frozen
class CountedRuns(PartialAggregate):
    """Number of runs of equal values: their count in each part, and the values at both ends of the part."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """Runs among the rows of each group."""
        values = arrays[0].take(pa.array(groups.order))
        if not groups.rows:
            return [pa.array([], pa.int64()), values, values]
        return self.merge([pa.array(np.ones(groups.rows, dtype=np.int64)), values, values], groups.starts)

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Counts add up; a run that goes on in the next part is counted there."""
        counts, firsts, lasts = partial
        # The end of each part and the beginning of the next stand side by side.
        places = np.stack([np.arange(len(counts) - 1), np.arange(len(counts) + 1, 2 * len(counts))], axis=1)
        edges = pa.concat_arrays([lasts, firsts]).take(pa.array(places.ravel()))
        goes_on = np.append(~differs(comparable(edges, self.types[0]))[::2], False)
        ends = np.append(starts[1:], len(counts)) - 1
        goes_on[ends] = False
        return [pa.array(totals(plain_numbers(counts) - goes_on, starts)), firsts.take(pa.array(starts)), lasts.take(pa.array(ends))]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The counts."""
        return partial[0]


def outermost(dtype: np.dtype, largest: bool) -> float:
    """The largest or the smallest number of a type."""
    if dtype.kind == "f":
        return np.inf if largest else -np.inf
    limits = np.iinfo(dtype)
    return limits.max if largest else limits.min


def ranks_of_presence(column: pa.Array, numbers: np.ndarray) -> np.ndarray:
    """Zero for values that can be extreme; NaN never is, so it comes after all numbers either way, and missing values come last."""
    level = np.zeros(len(column), dtype=np.int64)
    if numbers.dtype.kind == "f":
        level[np.isnan(numbers)] = NAN_LEVEL
    if column.null_count:
        level[column.is_null().to_numpy(zero_copy_only=False)] = MISSING_LEVEL
    return level


def value_ranks(column: pa.Array) -> list[np.ndarray]:
    """Numbers that order as the values do, compared one after the other: of date-times the instant, whether there is an offset, the offset."""
    if not pa.types.is_struct(column.type):
        return [plain_numbers(column)]
    offsets = pc.struct_field(column, "offset")
    return [
        plain_numbers(pc.struct_field(column, "instant")),
        offsets.is_valid().to_numpy(zero_copy_only=False).astype(np.int64),
        plain_numbers(offsets).astype(np.int64),
    ]
