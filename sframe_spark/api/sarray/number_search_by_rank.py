"""Finds the numbers with given ranks in a column without sorting it: in a few passes over the column, each of which narrows the possible range."""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs
import numpy as np

from sframe_spark.api.node_value_conversion import reduce_values
from sframe_spark.expressions.aggregates.histograms_summaries_and_rank_counts import key_of, number_of, shift_between
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import FLOAT

# A range that contains at most this many numbers is read completely.
MAX_KEYS = 1 << 17
Keys = tuple[int, int]


@attrs.frozen
class KeyRange:
    """An inclusive range of keys, the count of numbers with smaller keys, and the count of numbers in the range (None: not counted yet)."""

    keys: Keys
    before: int = 0
    count: int | None = None

    @property
    def is_counted(self) -> bool:
        """Whether the range was counted, and has a single key or few enough numbers to be read."""
        return self.count is not None and (self.keys[0] == self.keys[1] or self.count <= MAX_KEYS)


@attrs.define(eq=False)
class Ranks:
    """Finds numbers by rank in a column of ints or floats. Missing values have no rank; NaN is larger than all other numbers.

    Parameters
    ----------
    node
        The column, which must contain at least one number.
    """

    node: PlannerNode
    _whole: KeyRange | None = None
    _parts: dict[Keys, list[KeyRange]] = attrs.Factory(dict)
    _keys_read: dict[Keys, np.ndarray] = attrs.Factory(dict)

    def number_at(self, rank: int) -> int | float:
        """Return the number with a rank, counted from 0; the rank must be less than the count of numbers."""
        return self.numbers_at([rank])[0]

    def numbers_at(self, ranks: list[int]) -> list[int | float]:
        """Return the numbers with several ranks, which are found in the same passes.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> Ranks(SArray([30, None, 10, 20])._node).numbers_at([0, 2])
        [10, 30]
        """
        ranges = [self._all()] * len(ranks)
        while not all(key_range.is_counted for key_range in ranges):
            self._count(key_range.keys for key_range in ranges if not key_range.is_counted)
            ranges = [key_range if key_range.is_counted else self._part(key_range, rank) for key_range, rank in zip(ranges, ranks, strict=True)]
        self._read_keys(key_range.keys for key_range in ranges)
        return [self._number(key_range, rank) for key_range, rank in zip(ranges, ranks, strict=True)]

    def _all(self) -> KeyRange:
        """Return the range of all numbers except NaN, or of NaN if there are no others; minimum and maximum are often known without a pass."""
        if self._whole is None:
            low, high = reduce_values(self.node, [Aggregation("column_min", (0,)), Aggregation("column_max", (0,))])
            self._whole = KeyRange((key_of(low, self.node.schema[0]), key_of(high, self.node.schema[0])))
        return self._whole

    def _part(self, key_range: KeyRange, rank: int) -> KeyRange:
        """Return the part of a range that contains a rank; NaN if no part does."""
        # The parts of a range count smaller numbers from the start of the range.
        inside = (part for part in self._parts[key_range.keys] if part.count is not None and rank - key_range.before < part.before + part.count)
        part = next(inside, KeyRange((key_of(math.nan, FLOAT),) * 2, count=0))
        return attrs.evolve(part, before=key_range.before + part.before)

    def _count(self, requested: Iterable[Keys]) -> None:
        """Divide each range into parts, and count the numbers in each part."""
        unknown = [keys for keys in dict.fromkeys(requested) if keys not in self._parts]
        if not unknown:
            return
        for keys, counts in zip(unknown, reduce_values(self.node, [Aggregation("key_counts", (0,), keys) for keys in unknown]), strict=True):
            numbers, shift = np.array(counts).astype(np.int64), shift_between(*keys)
            before = np.cumsum(numbers) - numbers
            self._parts[keys] = [
                KeyRange((keys[0] + (part << shift), min(keys[0] + ((part + 1) << shift) - 1, keys[1])), int(before[part]), int(numbers[part]))
                for part in np.flatnonzero(numbers).tolist()
            ]

    def _read_keys(self, requested: Iterable[Keys]) -> None:
        """Read all keys in ranges with few numbers."""
        unknown = [keys for keys in dict.fromkeys(requested) if keys[0] < keys[1] and keys not in self._keys_read]
        if unknown:
            key_lists = reduce_values(self.node, [Aggregation("keys_between", (0,), keys) for keys in unknown])
            self._keys_read |= {keys: np.array(above, np.int64) for keys, above in zip(unknown, key_lists, strict=True)}

    def _number(self, key_range: KeyRange, rank: int) -> int | float:
        above = 0 if key_range.keys[0] == key_range.keys[1] else int(self._keys_read[key_range.keys][rank - key_range.before])
        return number_of(key_range.keys[0] + above, self.node.schema[0])
