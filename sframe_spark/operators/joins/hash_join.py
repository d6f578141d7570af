"""The hash join in memory, of whole inputs or of hash partitions: keys become integer codes, by which matches are counted before rows are built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.joins.equi_join import HashedOrSearched, Join
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import ALL_ROWS, Need
from sframe_spark.planner.operator_capabilities import PartitionJoining, RowCounting
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes, fixed_size, row_bytes
from sframe_spark.pyarrow_versions import if_else

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.bytes_of_array_values import uneven_bytes
    from sframe_spark.compute.key_equality_and_codes import comparable_values, matched_codes
    from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
    from sframe_spark.compute.sorting_and_searching import order_of
    from sframe_spark.operators.joins.sorted_join import Matches
    from sframe_spark.operators.lookup.cached_reader import Lookup, RowBlock, as_lookup
    from sframe_spark.operators.lookup.key_numbers_and_group_codes import Positions

# Added to the row ids of unmatched right rows, so that these rows sort after all left rows.
BEHIND = 1 << 62
# At most this many output rows of a hash partition are built at a time; fewer if rows are long.
PAIRS_AT_A_TIME = 131_072
# Rows processed per step, so that intermediate arrays stay in a core's cache.
ROWS_PER_STEP = 1 << 14
# If the largest possible pair is at most this many times the mean, all pairs are taken to have the mean size. Otherwise sizes are summed up.
MAX_TIMES_MEAN = 1.5


@register
@attrs.frozen
class HashJoin(Join):
    """A join of two inputs that fit into memory; output rows can be addressed by index.

    Only the planner chooses it. It is never read from a saved plan, because what fits into memory depends on the machine.
    """

    name: ClassVar[str] = "hash_join"
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    pairs: Pairs | None = attrs.field(default=None, eq=False, metadata={"portable": False})

    @property
    def joining(self) -> HashedPartitions:
        """Rows match by equal keys, in whole inputs or in hash partitions."""
        return HashedPartitions(self.key_pairs, self)

    @property
    def counting(self) -> CountedPairs:
        """Pairs of rows are found before the rows are built."""
        return CountedPairs(self)

    def as_read(self) -> Join:
        """Return the logical join, because what fits into memory depends on the machine."""
        return Join(self.left_keys, self.right_keys, self.how)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return the exact length after the matches have been counted."""
        return super().infer_length(inputs) if self.pairs is None else Length.exactly(self.pairs.rows)

    def requires(self, slot: int) -> Need:
        """Return ``LOOKUP``: all keys of both inputs are read, and rows by index."""
        return Need.LOOKUP

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """Return all output rows at once."""
        return self.run_interval(inputs, facts, 0, ALL_ROWS, ())

    def run_interval(self, inputs: Sequence[Any], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """Return only the output rows ``start`` (inclusive) to ``stop`` (exclusive)."""
        left, right = (as_lookup(rows, item.schema) for rows, item in zip(inputs, facts, strict=True))
        pairs = self.pairs or self.pairs_of(left, right)
        rows, partners = pairs.between(start, min(stop, pairs.rows))
        columns = list(left.take(rows, range(len(left.schema))).columns)
        if self.how in ("right", "outer") and bool((rows < 0).any()):
            alone = pa.array(rows < 0)
            keys = right.take(np.where(rows < 0, partners, -1), self.right_keys).columns
            for position, values in zip(self.left_keys, keys, strict=True):
                columns[position] = if_else(alone, values, columns[position])
        return Chunk((*columns, *right.take(partners, self.right_values(len(right.schema))).columns), len(rows))

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """Return sizes as for the logical join; after matches have been counted, weighted by how often each input row occurs in the output."""
        sizes = super().column_sizes(inputs, facts, schema)
        if self.pairs is None:
            return sizes
        uneven = [position for position, kind in enumerate(schema) if fixed_size(kind) is None]
        sides = [position for position in uneven if position < facts[0].width], [position for position in uneven if position >= facts[0].width]
        for positions, total in zip(sides, self.pairs.total_bytes, strict=True):
            share = total / max(self.pairs.rows * len(positions), 1)
            sizes = tuple(share if position in positions else size for position, size in enumerate(sizes))
        return sizes

    def pairs_of(self, left: Lookup, right: Lookup) -> Pairs:
        """Return the pairs of matching rows.

        Keys become codes, and the build side is sorted by code, so that the matches of a probe row are a range.
        """
        keys = [
            [array for key in keys for array in comparable_values(side.read(0, side.rows, [key]).columns[0], side.schema[key])]
            for side, keys in ((left, self.left_keys), (right, self.right_keys))
        ]
        of_left, of_right, count = matched_codes(*keys)
        probe, build = (of_right, of_left) if self.how == "right" else (of_left, of_right)
        # The first count belongs to code -1 (no key).
        sizes = np.bincount(build + 1, minlength=count + 1)[1:]
        order = _rows_in_order(build, sizes)
        # The last count is that of code -1, which matches no row.
        result = _matches(probe, np.append(sizes, 0), keep_all=self.how != "inner")
        # Code -1 (no key) occurs on one side at most.
        is_alone = np.bincount(of_left + 1, minlength=count + 1)[of_right + 1] == 0 if self.how == "outer" else np.zeros(0, dtype=bool)
        return Pairs(result, order, np.flatnonzero(is_alone), self.how == "right", self.bytes_of_sides(left, right))

    def bytes_of_sides(self, left: Lookup, right: Lookup) -> tuple[Positions, Positions, Positions]:
        """Return the ``lengths`` of :class:`Pairs`."""
        lengths = bytes_of(left, range(len(left.schema))), bytes_of(right, self.right_values(len(right.schema)))
        return *lengths, bytes_of(right, self.right_keys if self.how in ("right", "outer") else ())


@attrs.frozen
class CountedPairs(RowCounting):
    """The number of rows of a hash join is that of its pairs of matching rows."""

    join: HashJoin

    @property
    def is_counted(self) -> bool:
        """Whether the matches have been counted."""
        return self.join.pairs is not None

    def counted(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> HashJoin:
        """Return the join with its matches counted."""
        return attrs.evolve(self.join, pairs=self.join.pairs_of(*inputs))

    def bytes_between(self, start: int, stop: int) -> float:
        """Return the bytes in variable-width columns, after the matches have been counted."""
        pairs = self.join.pairs
        assert pairs is not None
        return pairs.bytes_between(start, min(stop, pairs.rows))


@attrs.frozen
class HashedPartitions(HashedOrSearched):
    """The matches of a hash join, which can also join one hash partition of each input."""

    join: HashJoin

    @property
    def by_partitions(self) -> JoinOfPartitions:
        """The probe side has row ids, as it determines the row order; for an outer join both sides have, because unmatched right rows come last."""
        return JoinOfPartitions({"right": (1,), "outer": (0, 1)}.get(self.join.how, (0,)), self.join)


@attrs.frozen
class JoinOfPartitions(PartitionJoining):
    """The rows of a hash join, computed from one hash partition of each input."""

    join: HashJoin

    def pairs(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> NumberedPairs:
        """Return the join of one hash partition of each input; the last column of a side in ``numbered_slots`` holds its row ids."""
        sides = [in_one_block(rows, item.schema) for rows, item in zip(inputs, facts, strict=True)]
        numbers = tuple(rows.columns[-1].to_numpy() if slot in self.numbered_slots else None for slot, rows in enumerate(inputs))
        pairs = self.join.pairs_of(*sides)
        return NumberedPairs(attrs.evolve(self.join, pairs=pairs), pairs, sides, facts, numbers)

    def without_row_ids(self) -> JoinOfPartitions:
        """Return the same join of inputs without row ids."""
        return JoinOfPartitions((), self.join)

    def finding_partners(self) -> HashJoin:
        """Return an inner join, or an outer one if rows of the second input without a match are in the output."""
        keys = (self.join.left_keys, self.join.right_keys)
        of_partners = keys[1 - self.probe_slot]
        return HashJoin(tuple(range(len(of_partners))), of_partners, "outer" if self.join.how == "outer" else "inner")

    def partner_columns(self, width: int) -> Sequence[int]:
        """Return all columns, but not the keys if those of the left rows are in the output."""
        return self.join.right_values(width) if self.join.how in ("inner", "left") else range(width)

    def with_partners(self, probe: Chunk, partners: Chunk, counts: np.ndarray, schemas: Sequence[Schema], max_bytes: int) -> Iterator[Chunk]:
        """Yield the rows of the join of probe rows with their partners, whose matches are known."""
        slot = self.probe_slot
        arrays: list[pa.Array | None] = [None] * len(schemas[1 - slot])
        for position, column in zip(self.partner_columns(len(arrays)), partners.columns, strict=True):
            arrays[position] = column
        # Keys that are not in the output were not sent.
        whole = [pa.nulls(partners.rows, kind.physical) if array is None else array for array, kind in zip(arrays, schemas[1 - slot], strict=True)]
        both = [probe, Chunk(tuple(whole), partners.rows)][:: -1 if slot else 1]
        if probe.rows == partners.rows and probe.size + partners.size <= max_bytes and bool((counts == 1).all()):
            # Neither side needs to be copied.
            yield Chunk((*both[0].columns, *both[1].select(self.join.right_values(len(schemas[1]))).columns), probe.rows)
            return
        left, right = (in_one_block(rows, schema) for rows, schema in zip(both, schemas, strict=True))
        found, places = _matches(np.arange(len(counts)), counts, keep_all=self.join.how != "inner"), np.arange(partners.rows)
        pairs = Pairs(found, places, places[counts.sum() :], bool(slot), self.join.bytes_of_sides(left, right))
        facts = [Facts(schema, Length.exactly(side.rows)) for schema, side in zip(schemas, (left, right), strict=True)]
        yield from NumberedPairs(attrs.evolve(self.join, pairs=pairs), pairs, (left, right), facts, (None, None)).chunks(max_bytes)


@attrs.frozen(eq=False)
class Pairs:
    """The output rows of a join, as pairs of a left and a right row.

    Parameters
    ----------
    found
        The matches of each probe row, as a range of ``order``.
    order
        Rows of the build side that have a key, in a stable sort by key.
    alone
        Right rows without a match, which an outer join puts after all other rows.
    turned
        Whether the right side is the probe side.
    lengths
        Estimated bytes in variable-width columns of each left row, each right row, and the keys of each right row (which replace the keys of a
        missing left row).
    """

    found: Matches
    order: Positions
    alone: Positions
    turned: bool
    lengths: tuple[Positions, Positions, Positions]

    @property
    def rows(self) -> int:
        """Number of output rows."""
        return self.found.rows + len(self.alone)

    def between(self, start: int, stop: int) -> tuple[Positions, Positions]:
        """Return left and right row of the pairs ``start`` (inclusive) to ``stop`` (exclusive); -1 if the pair has no such row.

        Examples
        --------
        >>> found = Matches.between(np.array([0, -1]), np.array([1, -1]), keep_all=True)
        >>> pairs = Pairs(found, np.array([4, 7]), np.array([5]), False, (np.array([2, 3]), np.zeros(8), np.zeros(8)))
        >>> [rows.tolist() for rows in pairs.between(1, pairs.rows)]
        [[0, 1, -1], [7, -1, 5]]
        """
        rows, positions = self.found.pairs(start, min(stop, self.found.rows))
        tail = self.alone[max(start - self.found.rows, 0) : max(stop - self.found.rows, 0)]
        probe = np.concatenate([rows, np.full(len(tail), -1)])
        # Index -1 (no match) picks the -1 at the end.
        partners = np.concatenate([np.append(self.order, -1)[positions], tail])
        return (partners, probe) if self.turned else (probe, partners)

    def bytes_between(self, start: int, stop: int) -> float:
        """Return the estimated bytes of some pairs in variable-width columns.

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
        """Estimated bytes of each pair in variable-width columns; None if pairs differ too much in size."""
        of_left, of_right, of_keys = (int(lengths.max(initial=0)) for lengths in self.lengths)
        if not of_left + of_right + of_keys:
            return 0.0
        mean = sum(self.total_bytes) / max(self.rows, 1)
        # The keys of the right row are counted if there is no left row.
        return mean if max(of_left, of_keys) + of_right <= MAX_TIMES_MEAN * mean else None

    @cached_property
    def total_bytes(self) -> tuple[float, float]:
        """Estimated bytes of all pairs in the left and in the right variable-width columns."""
        of_left, of_right, of_keys = self.lengths
        of_probe, of_build = (of_right, of_left) if self.turned else (of_left, of_right)
        so_far = np.concatenate([[0], np.cumsum(of_build[self.order])])
        probe, build, keys = 0, int(of_build[self.alone].sum()), 0 if self.turned else int(of_keys[self.alone].sum())
        for start in range(0, len(self.found.first), ROWS_PER_STEP):
            part = slice(start, start + ROWS_PER_STEP)
            first, counts = self.found.first[part], np.diff(self.found.ends[part], prepend=self.found.ends[start - 1] if start else 0)
            matched = first >= 0
            probe += int(np.dot(of_probe[part], counts))
            build += int((so_far[first[matched] + counts[matched]] - so_far[first[matched]]).sum())
            keys += int(of_keys[part][~matched].sum()) if self.turned else 0
        return (build + keys, probe) if self.turned else (probe + keys, build)


@attrs.frozen(eq=False)
class NumberedPairs:
    """The join of one hash partition of each input, with a row id for each output row.

    A stable sort of the output of all partitions by row id gives the output of the whole join in its row order.

    Parameters
    ----------
    join
        The join of the two partitions; the last column of a numbered side holds its row ids.
    pairs
        The output rows as pairs.
    sides, facts
        The partitions, and facts about them.
    numbers
        Row ids of each side; None for a side without row ids.
    """

    join: HashJoin
    pairs: Pairs
    sides: Sequence[Lookup]
    facts: Sequence[Facts]
    numbers: Sequence[Positions | None]

    @property
    def rows(self) -> int:
        """Number of output rows."""
        return self.pairs.rows

    @property
    def size(self) -> float:
        """Estimated bytes of the output rows."""
        return self.rows * self._fixed_bytes + sum(self.pairs.total_bytes)

    def sampled(self, count: int) -> Positions:
        """Return the row ids of evenly spaced output rows."""
        positions = np.arange(count) * self.rows // count if self.rows else np.zeros(0, dtype=np.int64)
        result = self.pairs.found
        rows, tail = np.searchsorted(result.ends, positions[positions < result.rows], side="right"), positions[positions >= result.rows] - result.rows
        left, right = self.numbers
        probe = right if self.pairs.turned else left
        assert probe is not None
        return probe[rows] if right is None else np.concatenate([probe[rows], right[self.pairs.alone[tail]] + BEHIND])

    def are_alone(self) -> np.ndarray:
        """Return for each probe row whether it has no match."""
        return self.pairs.found.first < 0

    def of_matches(self) -> NumberedPairs:
        """Return only the output rows that have a left and a right row."""
        pairs = attrs.evolve(self.pairs, found=self.pairs.found.without_those_alone(), alone=self.pairs.alone[:0])
        return attrs.evolve(self, join=attrs.evolve(self.join, pairs=pairs), pairs=pairs)

    def chunks(self, max_bytes: int) -> Iterator[Chunk]:
        """Yield all output rows in chunks of at most ``max_bytes``, or of one row."""
        for start, stop in self._intervals(max_bytes):
            yield self._with_number(self.join.run_interval(self.sides, self.facts, start, stop, ()))

    def partners(self, columns: Sequence[int], max_bytes: int) -> Iterator[Chunk]:
        """Yield some columns of the right rows of pairs, with row ids; no right row may be a probe row."""
        of_left, of_right = self.numbers
        assert of_left is not None and not self.pairs.turned
        for start, stop in self._intervals(max_bytes):
            rows, partners = self.pairs.between(start, stop)
            if self.join.how != "inner":
                rows, partners = rows[partners >= 0], partners[partners >= 0]
            # Row -1 (no left row) picks what stands at the end.
            numbers = of_left[rows] if of_right is None else np.where(rows < 0, of_right[partners] + BEHIND, np.append(of_left, -1)[rows])
            yield Chunk((*self.sides[1].take(partners, columns).columns, pa.array(numbers)), len(rows))

    def _intervals(self, max_bytes: int) -> Iterator[tuple[int, int]]:
        """Yield intervals of rows of at most ``max_bytes``, or of one row."""
        start, max_rows = 0, int(max(1, min(PAIRS_AT_A_TIME, max_bytes // max(1, self._fixed_bytes))))
        while start < self.rows:
            stop = min(start + max_rows, self.rows)
            while stop - start > 1 and self.pairs.bytes_between(start, stop) > max_bytes:
                stop = start + (stop - start) // 2
            yield start, stop
            start = stop

    @property
    def _fixed_bytes(self) -> float:
        return row_bytes(tuple(map(fixed_size, self.join.infer_type(self.facts))), 0)

    def _with_number(self, rows: Chunk) -> Chunk:
        """Return rows with the row ids of the two sides, if there are any, replaced by one row id, as the last column."""
        columns, numbers = list(rows.columns), []
        if all(numbers is None for numbers in self.numbers):
            return rows
        if self.numbers[1] is not None:
            numbers.append(columns.pop())
        if self.numbers[0] is not None:
            numbers.append(columns.pop(self.facts[0].width - 1))
        last = numbers[-1]
        if len(numbers) > 1 and last.null_count:
            last = pc.coalesce(last, pc.add(numbers[0], BEHIND))
        return Chunk((*columns, last), rows.rows)


def in_one_block(rows: Chunk, schema: Schema) -> Lookup:
    """Return a lookup over rows that form one block."""
    source = MemorySource.of(rows, schema)
    return Lookup(source, (RowBlock(0),), np.array([0, rows.rows], dtype=np.int64)) if rows.rows else Lookup.of(source)


def _rows_in_order(codes: Positions, sizes: Positions) -> Positions:
    """Return the rows that have a code, sorted by code, given the number of rows with each code."""
    if sizes.max(initial=0) <= 1:
        result = new_array(len(sizes) + 1, np.int32)
        # Rows without a code, -1, are assigned at the end, which is left out.
        result[codes] = np.arange(len(codes), dtype=np.int32)
        return result[:-1] if sizes.all() else result[:-1][sizes > 0]
    if codes.min(initial=0) >= 0:
        return order_of([codes])
    rows = np.flatnonzero(codes >= 0)
    return rows[order_of([codes[rows]])]


def _matches(codes: Positions, sizes: Positions, keep_all: bool) -> Matches:
    """Return the matches of each probe row, from the codes of the probe rows and the number of build rows with each code.

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
    """Return the estimated bytes of each row in the variable-width columns among some columns."""
    uneven = [position for position in positions if fixed_size(side.schema[position]) is None]
    return uneven_bytes(side.read(0, side.rows, uneven).columns if uneven else (), side.rows)
