"""Join of few rows: keys of any type are numbered in memory, so the pairs are counted before one is made, and found by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.arrow_buffers import new_array
from sframe_spark.compute.key_encoding import comparable_values, matched_codes
from sframe_spark.compute.sorting import order_of
from sframe_spark.operators.joins.join import Join
from sframe_spark.operators.joins.sorted_join import Matches
from sframe_spark.operators.lookup.numeric_keys import Positions
from sframe_spark.operators.lookup.source_lookup import Lookup, RowBlock, as_lookup
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.operator import ALL_ROWS, Need
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes, fixed_size, row_bytes, uneven_bytes

# Numbers of right rows that come behind all left ones are larger by this.
BEHIND = 1 << 62
# So many pairs of pieces are made at a time, or fewer where they are long.
PAIRS_AT_A_TIME = 131_072

# So many rows are looked at together: what is made between stays in the cache of a core.
ROWS_PER_STEP = 1 << 14
# Pairs of which none is longer than so many times the mean are taken to be as long as that: others are made to be weighed.
MAX_TIMES_MEAN = 1.5


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
    pairs: Pairs | None = attrs.field(default=None, eq=False, metadata={"portable": False})

    @property
    def is_counted(self) -> bool:
        """True once the pairs are numbered."""
        return self.pairs is not None

    def as_read(self) -> Join:
        """The join that this is: nobody else's plan decides what is few."""
        return Join(self.left_keys, self.right_keys, self.how)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """That of the join; once pairs are counted, their number."""
        return super().infer_length(inputs) if self.pairs is None else Length.exactly(self.pairs.rows)

    def requires(self, slot: int) -> Need:
        """Keys of both inputs are read as a whole, rows by number."""
        return Need.LOOKUP

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """All pairs at once."""
        return self.run_interval(inputs, facts, 0, ALL_ROWS, ())

    def run_interval(self, inputs: Sequence[Any], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """The pairs numbered ``start`` (inclusive) to ``stop`` (exclusive); no other is made."""
        left, right = (as_lookup(rows, item.schema) for rows, item in zip(inputs, facts, strict=True))
        pairs = self.pairs or self._pairs(left, right)
        rows, partners = pairs.between(start, min(stop, pairs.rows))
        columns = list(left.take(rows, range(len(left.schema))).columns)
        if self.how in ("right", "outer") and bool((rows < 0).any()):
            alone = pa.array(rows < 0)
            keys = right.take(np.where(rows < 0, partners, -1), self.right_keys).columns
            for position, values in zip(self.left_keys, keys, strict=True):
                columns[position] = pc.if_else(alone, values, columns[position])
        return Chunk((*columns, *right.take(partners, self.right_values(len(right.schema))).columns), len(rows))

    @property
    def numbered_slots(self) -> Sequence[int]:
        """The side whose rows come in order; of an outer join both, as right rows come behind."""
        return {"right": (1,), "outer": (0, 1)}.get(self.how, (0,))

    def pairs_of_pieces(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> NumberedPairs:
        """The pairs of two pieces, with the numbers of their rows."""
        sides = [in_one_block(rows, item.schema) for rows, item in zip(inputs, facts, strict=True)]
        numbers = [rows.columns[-1].to_numpy() if slot in self.numbered_slots else None for slot, rows in enumerate(inputs)]
        pairs = self._pairs(*sides)
        return NumberedPairs(attrs.evolve(self, pairs=pairs), pairs, sides, facts, numbers)

    def counted(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> HashJoin:
        """The join with its pairs by number."""
        return attrs.evolve(self, pairs=self._pairs(*inputs))

    def bytes_between(self, start: int, stop: int) -> float:
        """Those of the values that differ in length; nothing before the pairs are counted."""
        if self.pairs is None:
            return super().bytes_between(start, stop)
        return self.pairs.bytes_between(start, min(stop, self.pairs.rows))

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """Those of the join; once pairs are counted, as often as each row is one of a pair."""
        sizes = super().column_sizes(inputs, facts, schema)
        if self.pairs is None:
            return sizes
        uneven = [place for place, kind in enumerate(schema) if fixed_size(kind) is None]
        sides = [place for place in uneven if place < facts[0].width], [place for place in uneven if place >= facts[0].width]
        for places, total in zip(sides, self.pairs.total_bytes, strict=True):
            share = total / max(self.pairs.rows * len(places), 1)
            sizes = tuple(share if place in places else size for place, size in enumerate(sizes))
        return sizes

    def _pairs(self, left: Lookup, right: Lookup) -> Pairs:
        """Keys of both sides get numbers; the other side's rows with the number of a row are a range, once these are sorted by it."""
        keys = [
            [array for position in positions for array in comparable_keys(side, position)]
            for side, positions in ((left, self.left_keys), (right, self.right_keys))
        ]
        of_left, of_right, count = matched_codes(*keys)
        looking, others = (of_right, of_left) if self.how == "right" else (of_left, of_right)
        order = _rows_in_order(others)
        # Behind the numbers of all keys stands the one of none, -1, which no row in that order has.
        found = _matches(looking, np.bincount(others[order], minlength=count + 1), keep_all=self.how != "inner")
        alone = _rows_alone(of_right, of_left, count) if self.how == "outer" else np.zeros(0, dtype=np.int64)
        lengths = bytes_of(left, range(len(left.schema))), bytes_of(right, self.right_values(len(right.schema)))
        shown_keys = bytes_of(right, self.right_keys if self.how in ("right", "outer") else ())
        return Pairs(found, order, alone, self.how == "right", (*lengths, shown_keys))


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
    lengths
        About how many bytes each left row has, each right row, and the keys of each right row that are shown where it has no left one, in columns
        whose values differ in length.
    """

    found: Matches
    order: Positions
    alone: Positions
    turned: bool
    lengths: tuple[Positions, Positions, Positions]

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.found.rows + len(self.alone)

    def between(self, start: int, stop: int) -> tuple[Positions, Positions]:
        """Left row and right row of the pairs numbered ``start`` (inclusive) to ``stop`` (exclusive), -1 for none.

        Examples
        --------
        >>> found = Matches.between(np.array([0, -1]), np.array([1, -1]), keep_all=True)
        >>> pairs = Pairs(found, np.array([4, 7]), np.array([5]), False, (np.array([2, 3]), np.zeros(8), np.zeros(8)))
        >>> [rows.tolist() for rows in pairs.between(1, pairs.rows)]
        [[0, 1, -1], [7, -1, 5]]
        """
        rows, places = self.found.pairs(start, min(stop, self.found.rows))
        tail = self.alone[max(start - self.found.rows, 0) : max(stop - self.found.rows, 0)]
        looking = np.concatenate([rows, np.full(len(tail), -1)])
        # The place -1, of no match, is that of the -1 at the end.
        partners = np.concatenate([np.append(self.order, -1)[places], tail])
        return (partners, looking) if self.turned else (looking, partners)

    def bytes_between(self, start: int, stop: int) -> float:
        """About how many bytes the values of some pairs take that differ in length.

        Examples
        --------
        >>> found = Matches.between(np.array([0, 1]), np.array([1, 1]), keep_all=False)
        >>> lengths = np.array([10, 20]), np.array([1, 2]), np.array([0, 0])
        >>> Pairs(found, np.array([0, 1]), np.zeros(0, dtype=int), False, lengths).bytes_between(0, 3)
        45.0
        """
        if self._bytes_of_a_pair is not None:
            return self._bytes_of_a_pair * (stop - start)
        of_left, of_right, of_keys = self.lengths
        rows, partners = self.between(start, stop)
        return float(of_left[rows[rows >= 0]].sum() + of_right[partners[partners >= 0]].sum() + of_keys[partners[rows < 0]].sum())

    @cached_property
    def _bytes_of_a_pair(self) -> float | None:
        """About how many bytes the values of each pair take that differ in length; None where some have many more than others."""
        mean = sum(self.total_bytes) / max(self.rows, 1)
        of_left, of_right, of_keys = (int(lengths.max(initial=0)) for lengths in self.lengths)
        # Keys of the right row are shown where there is no left one.
        return mean if max(of_left, of_keys) + of_right <= MAX_TIMES_MEAN * mean else None

    @cached_property
    def total_bytes(self) -> tuple[float, float]:
        """About how many bytes the left and the right values that differ in length take in all pairs."""
        of_left, of_right, of_keys = self.lengths
        of_looking, of_others = (of_right, of_left) if self.turned else (of_left, of_right)
        so_far = np.concatenate([[0], np.cumsum(of_others[self.order])])
        looking, others, keys = 0, int(of_others[self.alone].sum()), 0 if self.turned else int(of_keys[self.alone].sum())
        for start in range(0, len(self.found.first), ROWS_PER_STEP):
            part = slice(start, start + ROWS_PER_STEP)
            first, counts = self.found.first[part], np.diff(self.found.ends[part], prepend=self.found.ends[start - 1] if start else 0)
            matched = first >= 0
            looking += int(np.dot(of_looking[part], counts))
            others += int((so_far[first[matched] + counts[matched]] - so_far[first[matched]]).sum())
            keys += int(of_keys[part][~matched].sum()) if self.turned else 0
        return (others + keys, looking) if self.turned else (looking + keys, others)


@attrs.frozen(eq=False)
class NumberedPairs:
    """The rows of a join of two pieces, with a number each: in the order of these numbers, ties as they come, those of all pieces are the join.

    Parameters
    ----------
    join
        The join of the pieces, whose numbered sides have the numbers of their rows as their last columns.
    pairs
        Its pairs.
    sides, facts
        The pieces.
    numbers
        Numbers of the rows of each side; None where it has none.
    """

    join: HashJoin
    pairs: Pairs
    sides: Sequence[Lookup]
    facts: Sequence[Facts]
    numbers: Sequence[Positions | None]

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.pairs.rows

    @property
    def size(self) -> float:
        """About how many bytes they take."""
        return self.rows * self._fixed_bytes + sum(self.pairs.total_bytes)

    def sampled(self, count: int) -> Positions:
        """The numbers of so many of the rows, from everywhere among them."""
        places = np.arange(count) * self.rows // count if self.rows else np.zeros(0, dtype=np.int64)
        found = self.pairs.found
        rows, tail = np.searchsorted(found.ends, places[places < found.rows], side="right"), places[places >= found.rows] - found.rows
        left, right = self.numbers
        looking = right if self.pairs.turned else left
        assert looking is not None
        return looking[rows] if right is None else np.concatenate([looking[rows], right[self.pairs.alone[tail]] + BEHIND])

    def are_alone(self) -> np.ndarray:
        """For each row of the side whose rows come in order whether it has no match."""
        return self.pairs.found.first < 0

    def of_matches(self) -> NumberedPairs:
        """The same without the rows that have no match."""
        pairs = attrs.evolve(self.pairs, found=self.pairs.found.without_those_alone(), alone=self.pairs.alone[:0])
        return attrs.evolve(self, join=attrs.evolve(self.join, pairs=pairs), pairs=pairs)

    def chunks(self, max_bytes: int) -> Iterator[Chunk]:
        """All rows, as they are asked for, in chunks of no more than so many bytes, or of one row."""
        start, max_rows = 0, int(max(1, min(PAIRS_AT_A_TIME, max_bytes // max(1, self._fixed_bytes))))
        while start < self.rows:
            stop = min(start + max_rows, self.rows)
            while stop - start > 1 and self.pairs.bytes_between(start, stop) > max_bytes:
                stop = start + (stop - start) // 2
            yield self._with_number(self.join.run_interval(self.sides, self.facts, start, stop, ()))
            start = stop

    @property
    def _fixed_bytes(self) -> float:
        return row_bytes(tuple(map(fixed_size, self.join.infer_type(self.facts))), 0)

    def _with_number(self, rows: Chunk) -> Chunk:
        """Rows with one number last, instead of that of the left row, of the right one, or of both."""
        columns, numbers = list(rows.columns), []
        if self.numbers[1] is not None:
            numbers.append(columns.pop())
        if self.numbers[0] is not None:
            numbers.append(columns.pop(self.facts[0].width - 1))
        last = numbers[-1]
        if len(numbers) > 1 and last.null_count:
            last = pc.coalesce(last, pc.add(numbers[0], BEHIND))
        return Chunk((*columns, last), rows.rows)


def in_one_block(rows: Chunk, schema: Schema) -> Lookup:
    """A look-up in rows that are not cut into blocks."""
    source = MemorySource.of(rows, schema)
    return Lookup(source, (RowBlock(0),), np.array([0, rows.rows], dtype=np.int64)) if rows.rows else Lookup.of(source)


def comparable_keys(side: Lookup, position: int) -> list[pa.Array]:
    """Arrays that are equal where keys of a column are."""
    return comparable_values(side.read(0, side.rows, [position]).columns[0], side.schema[position])


def _rows_in_order(codes: Positions) -> Positions:
    """Rows that have a number, in the order of these."""
    if codes.min(initial=0) >= 0:
        return order_of([codes])
    rows = np.flatnonzero(codes >= 0)
    return rows[order_of([codes[rows]])]


def _rows_alone(codes: Positions, others: Positions, count: int) -> Positions:
    """Rows whose number no row of the other side has; none is -1 on both sides."""
    return np.flatnonzero(np.bincount(others + 1, minlength=count + 1)[codes + 1] == 0)


def _matches(codes: Positions, sizes: Positions, keep_all: bool) -> Matches:
    """For each row, given the number of its key, the rows of the other side with that number: how many there are of each is given.

    Examples
    --------
    >>> found = _matches(np.array([1, -1, 0]), np.array([2, 1, 0]), keep_all=True)
    >>> found.first.tolist(), found.ends.tolist()
    ([2, -1, 0], [1, 2, 4])
    """
    firsts = np.where(sizes > 0, np.cumsum(sizes) - sizes, -1)
    counts = np.maximum(sizes, 1) if keep_all else sizes
    first, ends = new_array(len(codes), np.int64), new_array(len(codes), np.int64)
    for start in range(0, len(codes), ROWS_PER_STEP):
        part = slice(start, start + ROWS_PER_STEP)
        first[part], ends[part] = firsts[codes[part]], counts[codes[part]]
    return Matches(first, np.cumsum(ends, out=ends))


def bytes_of(side: Lookup, positions: Sequence[int]) -> Positions:
    """About how many bytes each row has in those of some columns whose values differ in length."""
    uneven = [position for position in positions if fixed_size(side.schema[position]) is None]
    return uneven_bytes(side.read(0, side.rows, uneven).columns if uneven else (), side.rows)
