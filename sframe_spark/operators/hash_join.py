"""Join of few rows: keys of any type are numbered in memory, so the pairs are counted before one is made, and found by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.operators.equal_keys import codes_of, comparable_values
from sframe_spark.operators.join import Join
from sframe_spark.operators.lookup import Lookup, as_lookup
from sframe_spark.operators.lookup_keys import Positions
from sframe_spark.operators.sorted_join import Matches
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts
from sframe_spark.planner.operator import ALL_ROWS, Need
from sframe_spark.planner.registry import register


@register
@attrs.frozen
class HashJoin(Join):
    """The rows of a join of two inputs that have few, each found by its number.

    A plan is made with it, and never read: how few rows are few depends on where it runs.
    """

    name: ClassVar[str] = "hash_join"
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    counts_rows: ClassVar[bool] = True

    def as_read(self) -> Join:
        """The join that this is: nobody else's plan decides what is few."""
        return Join(self.left_keys, self.right_keys, self.how)

    def requires(self, slot: int) -> Need:
        """Keys of both inputs are read as a whole, rows by number."""
        return Need.LOOKUP

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """All pairs at once."""
        return self.run_interval(inputs, facts, 0, ALL_ROWS, ())

    def run_interval(self, inputs: Sequence[Any], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """The pairs numbered ``start`` (inclusive) to ``stop`` (exclusive); no other is made."""
        left, right = (as_lookup(rows, item.schema) for rows, item in zip(inputs, facts, strict=True))
        pairs = left.note(self, lambda: self._pairs(left, right))
        rows, partners = pairs.between(start, min(stop, pairs.rows))
        columns = list(left.take(rows, range(len(left.schema))).columns)
        if self.how in ("right", "outer"):
            for a, b in zip(self.left_keys, self.right_keys, strict=True):
                columns[a] = either(column_of(left, a), rows, column_of(right, b), partners)
        return Chunk((*columns, *right.take(partners, self.right_values(len(right.schema))).columns), len(rows))

    def count_rows(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> int:
        """How many pairs there are; none is made."""
        return self._pairs(*inputs).rows

    def _pairs(self, left: Lookup, right: Lookup) -> Pairs:
        """Keys of both sides get numbers; of each row in order the other side's rows with its number are a range, once these are sorted by it."""
        columns = [
            pa.concat_arrays(both)
            for a, b in zip(self.left_keys, self.right_keys, strict=True)
            for both in zip(comparable_keys(left, a), comparable_keys(right, b), strict=True)
        ]
        of_left, of_right = np.split(codes_of(columns), [left.rows])
        looking, others = (of_right, of_left) if self.how == "right" else (of_left, of_right)
        order = np.argsort(others, kind="stable")
        first, stop = (np.searchsorted(others[order], looking, side=side) for side in ("left", "right"))
        alone = np.flatnonzero(~np.isin(of_right, of_left)) if self.how == "outer" else np.zeros(0, dtype=np.int64)
        return Pairs(Matches.between(first, stop - 1, keep_all=self.how != "inner"), order, alone, turned=self.how == "right")


@attrs.frozen(eq=False)
class Pairs:
    """The rows of a join by their numbers.

    Parameters
    ----------
    found
        For each row of the side whose rows come in order its matches: a range of ``order``.
    order
        Rows of the other side, next to those of equal keys, these as they stand.
    alone
        Rows of the right side that come after all matches, without a left row.
    turned
        It is the right side whose rows come in order.
    """

    found: Matches
    order: Positions
    alone: Positions
    turned: bool

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.found.rows + len(self.alone)

    def between(self, start: int, stop: int) -> tuple[Positions, Positions]:
        """Left row and right row of the pairs numbered ``start`` (inclusive) to ``stop`` (exclusive), -1 for none.

        Examples
        --------
        >>> found = Matches.between(np.array([0, -1]), np.array([1, -1]), keep_all=True)
        >>> pairs = Pairs(found, np.array([4, 7]), np.array([5]), turned=False)
        >>> [rows.tolist() for rows in pairs.between(1, pairs.rows)]
        [[0, 1, -1], [7, -1, 5]]
        """
        rows, places = self.found.pairs(start, min(stop, self.found.rows))
        tail = self.alone[max(start - self.found.rows, 0) : max(stop - self.found.rows, 0)]
        looking = np.concatenate([rows, np.full(len(tail), -1)])
        # The place -1, of no match, is that of the -1 at the end.
        partners = np.concatenate([np.append(self.order, -1)[places], tail])
        return (partners, looking) if self.turned else (looking, partners)


def column_of(side: Lookup, position: int) -> pa.Array:
    """All values of a column."""
    return side.read(0, side.rows, [position]).columns[0]


def comparable_keys(side: Lookup, position: int) -> list[pa.Array]:
    """Arrays that are equal where keys of a column are."""
    return comparable_values(column_of(side, position), side.schema[position])


def either(first: pa.Array, rows: Positions, second: pa.Array, partners: Positions) -> pa.Array:
    """Values of the first array in some rows, and of the second where the row is -1.

    Examples
    --------
    >>> either(pa.array(["a", "b"]), np.array([1, -1]), pa.array(["c"]), np.array([-1, 0])).to_pylist()
    ['b', 'c']
    """
    return pa.concat_arrays([first, second]).take(pa.array(np.where(rows >= 0, rows, len(first) + partners)))
