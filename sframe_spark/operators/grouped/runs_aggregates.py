"""Aggregates of runs of rows in parts: each row is lifted into a partial result, partial results are merged, the last one is finished."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.operators.aggregates.extremes import ORDERED
from sframe_spark.operators.kernels.equal_keys import comparable
from sframe_spark.operators.kernels.runs import differs, plain_numbers
from sframe_spark.planner.facts import Schema
from sframe_spark.types import FLOAT, FLOAT_KIND, INT, INT_KIND, STR, ColumnType
from sframe_spark.values.encode import encode_plain

if TYPE_CHECKING:
    from sframe_spark.operators.grouped.aggregation import Aggregation

Arrays = list[pa.Array]


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

    def lift(self, arrays: Sequence[pa.Array], rows: int) -> Arrays:
        """Partial results of single rows: here lists of one value."""
        offsets = pa.array(np.arange(rows + 1, dtype=np.int64))
        return [pa.LargeListArray.from_arrays(offsets, array) for array in arrays]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Partial results of groups of consecutive partial results: here longer lists."""
        return [longer_lists(column, starts) for column in partial]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """Values of the aggregate from partial results of whole groups."""
        reduce = self.aggregation.implementation().reduce
        assert reduce is not None
        groups = zip(*[pairwise(column.offsets.to_pylist()) for column in partial], strict=True)
        values = []
        for bounds in groups:
            group = [column.values.slice(a, b - a) for column, (a, b) in zip(partial, bounds, strict=True)]
            values.append(reduce(group, self.types, self.aggregation.parameters))
        return encode_plain(values, result)


def longer_lists(column: pa.Array, starts: np.ndarray) -> pa.Array:
    """Neighbouring lists joined: one list for all from each start to the next."""
    offsets = column.offsets.to_numpy(zero_copy_only=False)
    return pa.LargeListArray.from_arrays(pa.array(np.append(offsets[starts], offsets[-1])), column.values)


def members(column: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """All values of some lists, one after the other, and the number of the list that each is in."""
    offsets = column.offsets.to_numpy(zero_copy_only=False)
    values = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    return values, np.repeat(np.arange(len(column)), np.diff(offsets))


def lists_of(values: pa.Array, group: np.ndarray, groups: int, result: ColumnType) -> pa.Array:
    """Lists of the values of each group, which stand together in the order of the groups."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=result.physical)


def totals(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sum of the values from each start to the next."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.add.reduceat(values, starts) if len(starts) else values[:0]


@attrs.frozen
class Counted(PartialAggregate):
    """Number of rows."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def lift(self, arrays: Sequence[pa.Array], rows: int) -> Arrays:
        """One for each row."""
        return [pa.array(np.ones(rows, dtype=np.int64))]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Counts add up."""
        return [pa.array(totals(plain_numbers(partial[0]), starts))]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The counts."""
        return partial[0]


@attrs.frozen
class Summed(Counted):
    """Sum of numbers."""

    def lift(self, arrays: Sequence[pa.Array], rows: int) -> Arrays:
        """The numbers, zero for missing ones."""
        return [pa.array(plain_numbers(arrays[0]))]


@attrs.frozen
class Averaged(PartialAggregate):
    """Mean of numbers: their count and sum."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def lift(self, arrays: Sequence[pa.Array], rows: int) -> Arrays:
        """One and the number, or zero and zero."""
        return [arrays[0].is_valid().cast(pa.int64()), pa.array(plain_numbers(arrays[0]).astype(np.float64))]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """Both add up."""
        return [pa.array(totals(plain_numbers(column), starts)) for column in partial]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """Sum by count; missing when there is no number."""
        counts, sums = (plain_numbers(column) for column in partial)
        return pa.array(sums / np.maximum(counts, 1), pa.float64(), mask=counts == 0, from_pandas=False)


@attrs.frozen
class Spread(PartialAggregate):
    """Variance or standard deviation: count, mean and sum of squared deviations.

    Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979), for any number of parts.
    """

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def lift(self, arrays: Sequence[pa.Array], rows: int) -> Arrays:
        """A number is its own mean, without deviation."""
        numbers = plain_numbers(arrays[0]).astype(np.float64)
        return [arrays[0].is_valid().cast(pa.int64()), pa.array(numbers), pa.array(np.zeros(rows))]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """The common mean, then deviations of the parts and of their means."""
        counts, means, squares = (plain_numbers(column) for column in partial)
        present = counts > 0
        with np.errstate(over="ignore", invalid="ignore"):
            total = totals(counts, starts)
            mean = totals(np.where(present, counts * means, 0.0), starts) / np.maximum(total, 1)
            common = np.repeat(mean, np.diff(np.append(starts, len(counts))))
            moved = np.where(present, squares + counts * (means - common) ** 2, 0.0)
            return [pa.array(total), pa.array(mean, from_pandas=False), pa.array(totals(moved, starts), from_pandas=False)]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """Mean squared deviation or its root; zero for one value or none."""
        counts, squares = plain_numbers(partial[0]), plain_numbers(partial[2])
        variance = np.where(counts > 1, squares / np.maximum(counts, 1), 0.0)
        return pa.array(np.sqrt(variance) if self.aggregation.function == "std" else variance, from_pandas=False)


@attrs.frozen
class Extreme(PartialAggregate):
    """Smallest or largest number or date-time without offset; NaN if there is one."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def lift(self, arrays: Sequence[pa.Array], rows: int) -> Arrays:
        """The values."""
        return [arrays[0]]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """The extreme of each group; missing values are left out."""
        column = partial[0]
        if not len(starts):
            return [column.slice(0, 0)]
        largest = self.aggregation.function == "max"
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        numbers = plain_numbers(column)
        limits = (-np.inf, np.inf) if numbers.dtype.kind == "f" else (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
        numbers = np.where(valid, numbers, limits[0 if largest else 1])
        found = (np.maximum if largest else np.minimum).reduceat(numbers, starts)
        known = np.logical_or.reduceat(valid, starts)
        return [pa.array(found, mask=~known, from_pandas=False).cast(column.type)]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The extremes."""
        return partial[0]


@attrs.frozen
class Chosen(PartialAggregate):
    """Arguments in one row of each group: the first (``select_one``), or the first where the first argument is extreme."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def lift(self, arrays: Sequence[pa.Array], rows: int) -> Arrays:
        """The arguments."""
        return list(arrays)

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """The arguments of the chosen rows."""
        places = starts if self.aggregation.function == "select_one" else self._extreme_rows(partial[0], starts)
        return [column.take(pa.array(places)) for column in partial]

    def _extreme_rows(self, column: pa.Array, starts: np.ndarray) -> np.ndarray:
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(column))))
        ranks = value_ranks(column)
        if self.aggregation.function in ("argmin", "argmax"):
            ranks = ranks[:1]
        if self.aggregation.function in ("argmax", "max"):
            ranks = [-rank if rank.dtype.kind == "f" else ~rank for rank in ranks]
        # NaN is never extreme, so it comes after all numbers either way, and missing values come last.
        last = [np.isnan(rank) for rank in ranks if rank.dtype.kind == "f"]
        missing = column.is_null().to_numpy(zero_copy_only=False)
        return np.lexsort((*reversed(ranks), *last, missing, group))[starts]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The last argument; missing where every first argument is."""
        if self.aggregation.function == "select_one":
            return partial[0]
        known = partial[0].is_valid().to_numpy(zero_copy_only=False)
        return partial[-1].take(pa.array(np.arange(len(known)), mask=~known))


@attrs.frozen
class Gathered(PartialAggregate):
    """Ints, floats or texts that are not missing, as lists."""

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The lists without missing values."""
        values, group = members(partial[0])
        return lists_of(values.drop_null(), group[values.is_valid().to_numpy(zero_copy_only=False)], len(partial[0]), result)


@attrs.frozen
class Distinct(PartialAggregate):
    """Distinct ints, floats or texts, missing included, in order of first occurrence; or their number."""

    is_small: ClassVar[bool] = True

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """The first of equal values in each group."""
        values, group = members(longer_lists(partial[0], starts))
        values = comparable(values, self.types[0])
        codes = values.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        places = np.sort(np.unique(group * (len(values) + 1) + codes, return_index=True)[1])
        offsets = np.concatenate([[0], np.cumsum(np.bincount(group[places], minlength=len(starts)))])
        return [pa.LargeListArray.from_arrays(pa.array(offsets), values.take(pa.array(places)))]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The values, or how many there are."""
        values, group = members(partial[0])
        if self.aggregation.function == "distinct":
            return lists_of(values, group, len(partial[0]), result)
        return pa.array(np.bincount(group, minlength=len(partial[0])))


@attrs.frozen
class CountedRuns(PartialAggregate):
    """Number of runs of equal values: their count in each part, and the values at both ends of the part."""

    holds_values: ClassVar[bool] = False
    is_small: ClassVar[bool] = True

    def lift(self, arrays: Sequence[pa.Array], rows: int) -> Arrays:
        """A value is a run."""
        return [pa.array(np.ones(rows, dtype=np.int64)), arrays[0], arrays[0]]

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


@attrs.frozen
class Ranked(PartialAggregate):
    """Quantiles of numbers."""

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """Values at their places in order; zeros where there is no value."""
        values, group = members(partial[0])
        group = group[values.is_valid().to_numpy(zero_copy_only=False)]
        numbers = plain_numbers(values.drop_null()).astype(np.float64)
        numbers = np.append(numbers[np.lexsort((numbers, group))], 0.0)
        counts = np.bincount(group, minlength=len(partial[0]))
        starts = np.cumsum(counts) - counts
        shares = self.aggregation.parameters
        found = np.zeros((len(counts), len(shares)))
        for column, share in enumerate(shares):
            places = starts + np.minimum(np.floor(share * counts).astype(np.int64), np.maximum(counts - 1, 0))
            found[:, column] = np.where(counts > 0, numbers[places], 0.0)
        offsets = np.arange(len(counts) + 1, dtype=np.int32) * len(shares)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(found.ravel(), from_pandas=False), type=result.physical)


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


def partial_aggregate(aggregation: Aggregation, schema: Schema) -> PartialAggregate:
    """The form in which an aggregate over columns of a schema is computed in parts."""
    types = tuple(schema[position] for position in aggregation.positions)
    function = aggregation.function
    if function == "count":
        return Counted(aggregation, types, 1)
    if function == "count_runs":
        return CountedRuns(aggregation, types, 3)
    kind = types[0].kind
    if kind in (INT_KIND, FLOAT_KIND) and function in ("sum", "mean", "var", "std"):
        form, width = {"sum": (Summed, 1), "mean": (Averaged, 2)}.get(function, (Spread, 3))
        return form(aggregation, types, width)
    if function in ("min", "max") and kind in ORDERED:
        return Chosen(aggregation, types, 1) if types[0].is_zoned else Extreme(aggregation, types, 1)
    if function in ("select_one", "argmin", "argmax"):
        return Chosen(aggregation, types, len(types))
    if len(types) == 1 and types[0] in (INT, FLOAT, STR):
        forms = {"concat": Gathered, "distinct": Distinct, "count_distinct": Distinct, "quantile": Ranked}
        return forms.get(function, PartialAggregate)(aggregation, types, 1)
    return PartialAggregate(aggregation, types, len(types))
