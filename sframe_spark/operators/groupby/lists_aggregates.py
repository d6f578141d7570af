"""Aggregates that keep values of their groups, as lists or dicts: all of them, or each once; put together in parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_encoding import comparable
from sframe_spark.compute.key_runs import members, plain_numbers
from sframe_spark.operators.groupby.accumulators import Arrays, PartialAggregate, longer_lists
from sframe_spark.operators.groupby.groups_of_rows import GroupsOfRows, first_and_total, first_of_each
from sframe_spark.types import ColumnType
from sframe_spark.values.nested.json_items import FlatItems


def lists_of(values: pa.Array, group: np.ndarray, groups: int, result: ColumnType) -> pa.Array:
    """Lists of the values of each group, which stand together in the order of the groups."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=result.physical)


@attrs.frozen
class Gathered(PartialAggregate):
    """Ints, floats or texts that are not missing, as lists."""

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The lists without missing values."""
        values, group = members(partial[0])
        return lists_of(values.drop_null(), group[values.is_valid().to_numpy(zero_copy_only=False)], len(partial[0]), result)


@attrs.frozen
class Paired(PartialAggregate):
    """Ints or texts that are not missing as keys of dicts, each with the value in its first row."""

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The dicts, as maps of Arrow."""
        keys, group = members(partial[0])
        values, _ = members(partial[1])
        encoded = keys.dictionary_encode()
        count = len(encoded.dictionary)
        there = np.flatnonzero(keys.is_valid().to_numpy(zero_copy_only=False))
        codes = encoded.indices.take(pa.array(there)).to_numpy(zero_copy_only=False)
        places = there[first_of_each(group[there] * count + codes, len(partial[0]) * count)]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(group[places], minlength=len(partial[0])))]).astype(np.int32)
        kept = pa.array(places)
        return pa.MapArray.from_arrays(pa.array(offsets), keys.take(kept), values.take(kept)).cast(result.physical)


@attrs.frozen
class Distinct(PartialAggregate):
    """Distinct ints, floats or texts, missing included, in order of first occurrence; or their number."""

    is_small: ClassVar[bool] = True

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """The first of equal values in each group."""
        values, codes = arrays[0], groups.codes
        values = comparable(values, self.types[0])
        encoded = values.dictionary_encode(null_encoding="encode")
        count = len(encoded.dictionary)
        places = first_of_each(codes * count + encoded.indices.to_numpy(zero_copy_only=False), groups.count * count)
        found = GroupsOfRows(codes[places], groups.count)
        lists = pa.array(np.append(found.starts, found.rows))
        return [pa.LargeListArray.from_arrays(lists, values.take(pa.array(places[found.order])))]

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """The first of equal values in each group."""
        values, group = members(longer_lists(partial[0], starts))
        return self.of_groups([values], GroupsOfRows(group, len(starts)))

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The values, or how many there are."""
        values, group = members(partial[0])
        if self.aggregation.function == "distinct":
            return lists_of(values, group, len(partial[0]), result)
        return pa.array(np.bincount(group, minlength=len(partial[0])))


@attrs.frozen
class Frequencies(PartialAggregate):
    """Distinct ints or texts, missing included, in order of first occurrence, each with the number of its rows."""

    is_small: ClassVar[bool] = True

    def of_groups(self, arrays: Sequence[pa.Array], groups: GroupsOfRows) -> Arrays:
        """The first of equal values in each group, and how many there are."""
        return self._added(arrays[0], np.ones(groups.rows, dtype=np.int64), groups)

    def merge(self, partial: Arrays, starts: np.ndarray) -> Arrays:
        """The first of equal values in each group; their numbers add up."""
        values, group = members(longer_lists(partial[0], starts))
        counts, _ = members(partial[1])
        return self._added(values, counts.to_numpy(), GroupsOfRows(group, len(starts)))

    def _added(self, values: pa.Array, counts: np.ndarray, groups: GroupsOfRows) -> Arrays:
        encoded = values.dictionary_encode(null_encoding="encode")
        width = len(encoded.dictionary)
        codes = groups.codes * width + encoded.indices.to_numpy(zero_copy_only=False)
        places, totals = first_and_total(codes, counts, groups.count * width)
        found = GroupsOfRows(groups.codes[places], groups.count)
        lists, order = pa.array(np.append(found.starts, found.rows)), found.order
        sides = values.take(pa.array(places[order])), pa.array(totals[order])
        return [pa.LargeListArray.from_arrays(lists, side) for side in sides]

    def finish(self, partial: Arrays, result: ColumnType) -> pa.Array:
        """The dicts as their stored texts."""
        values, group = members(partial[0])
        counts, _ = members(partial[1])
        sizes = np.bincount(group, minlength=len(partial[0]))
        return FlatItems(sizes, np.zeros(len(sizes), dtype=bool), counts.cast(pa.string()), values).stored()


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
