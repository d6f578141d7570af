"""Search for the nearest row before or after each probe key in a source sorted by key, within groups of rows; and sorting by key if necessary."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.sorting_and_searching import SMALL_SORT, first_break, order_of, search_sorted
from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.lookup.cached_reader import OUT_OF_ORDER, Lookup, LruCache, runs
from sframe_spark.operators.lookup.key_numbers_and_group_codes import Flags, GroupCodes, Numbers, Positions, distances, key_numbers
from sframe_spark.operators.project_zip_arrange import Project, Zip
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.sources.base_and_segment_source import Source, source_statistics
from sframe_spark.planner.length_and_order_inference import is_in_order
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ColumnType

INDEX_BYTES = 64 * 1024 * 1024
# If the range of rows to search has at most this many rows per probe, a merge takes less time than a binary search for each probe.
MAX_MERGED = 8
# Row positions within a block fit into this many bits.
PLACE_BITS = 32


@attrs.frozen(eq=False)
class ProbeKeys:
    """Keys to search for in a source, each within one group.

    Parameters
    ----------
    keys
        One number per probe.
    codes
        Code of the group of each probe.
    present
        Whether each probe has a key and a group; the others match no row.
    """

    keys: Numbers
    codes: Positions
    present: Flags


@attrs.frozen(eq=False)
class GroupEnds:
    """First and last row of each group in one block.

    Parameters
    ----------
    groups
        Codes of the groups, ascending.
    firsts, lasts
        Row numbers of the first and last row of each group, leaving out rows that have no key.
    """

    groups: Positions
    firsts: Positions
    lasts: Positions

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return 3 * self.groups.nbytes

    def outermost(self, codes: Positions, after: bool) -> Positions:
        """Return the last (``after``: the first) row of each group, or -1 if the block does not hold the group."""
        group, is_known = group_positions(self.groups, codes)
        if not is_known.any():
            return np.full(len(codes), -1, dtype=np.int64)
        return np.where(is_known, (self.firsts if after else self.lasts)[group], -1)


@attrs.frozen(eq=False)
class BlockIndex:
    """An index of the rows of one block by group and key.

    Parameters
    ----------
    first
        Index of the block's first row that has a key.
    keys
        Keys of the block that are neither missing nor NaN, ascending.
    groups
        Codes of the groups in the block, ascending.
    located
        For each row with a group ``group * (len(keys) + 1) + row``, ascending: ``group`` is a position in ``groups``, and rows count from
        ``first``. None if all rows are one group.
    edges
        Start of each group in ``located``, followed by the length of ``located``.
    rows, codes
        Rows that have a group, ascending, and the codes of their groups; both empty if all rows are one group.
    """

    first: int
    keys: Numbers
    groups: Positions
    located: Positions | None
    edges: Positions
    rows: Positions
    codes: Positions

    @classmethod
    def of(cls, first: int, keys: Numbers, codes: Positions, present: Flags) -> BlockIndex:
        """Return the index of rows with these keys and groups; ``present``: whether each row has a group."""
        rows = np.flatnonzero(present)
        codes = codes if len(rows) == len(present) else codes[rows]
        order = order_of([codes])
        by_group = codes[order]
        starts = group_starts(by_group)
        edges = np.append(starts, len(rows))
        positions = np.repeat(np.arange(len(starts)) * (len(keys) + 1), np.diff(edges)) + rows[order]
        return cls(first, keys, by_group[starts], positions, edges, rows, codes)

    @classmethod
    def ungrouped(cls, first: int, keys: Numbers) -> BlockIndex:
        """Return the index of rows that are all in group zero."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(first, keys, np.zeros(min(len(keys), 1), dtype=np.int64), None, np.array([0, len(keys)]), nothing, nothing)

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        arrays = (self.keys, self.groups, self.edges, self.rows, self.codes, *([] if self.located is None else [self.located]))
        return sum(array.nbytes for array in arrays)

    def ends(self) -> GroupEnds:
        """Return the first and last row of each group."""
        if not len(self.groups):
            return GroupEnds(self.groups, self.groups, self.groups)
        if self.located is None:
            return GroupEnds(self.groups, np.array([self.first]), np.array([self.first + len(self.keys) - 1]))
        base = np.arange(len(self.groups)) * (len(self.keys) + 1) - self.first
        return GroupEnds(self.groups, self.located[self.edges[:-1]] - base, self.located[self.edges[1:] - 1] - base)

    def counts(self, keys: Numbers, equal: bool) -> Positions:
        """Return how many rows of the block have a smaller key (``equal``: or an equal one)."""
        return search_sorted(self.keys, keys, "right" if equal else "left")

    def order(self) -> Positions:
        """Return the rows that have a group sorted by group, counted from ``first``."""
        if self.located is None:
            return np.arange(len(self.keys))
        group = np.repeat(np.arange(len(self.groups)), np.diff(self.edges))
        return self.located - group * (len(self.keys) + 1)

    def spans(self, low: Numbers, high: Numbers, codes: Positions, open_start: bool = False, open_end: bool = False) -> tuple[Positions, Positions]:
        """Return the range in :meth:`order` of the rows of each group with keys between ``low`` and ``high``, both included unless they are open."""
        starts, stops = self.counts(low, open_start), self.counts(high, not open_end)
        if self.located is not None:
            (group, starts), (_, stops) = self._located(codes, starts), self._located(codes, stops)
            stops = np.where(group >= 0, stops, starts)
        return starts, np.maximum(starts, stops)

    def nearest(self, keys: Numbers, codes: Positions, after: bool, equal: bool) -> Positions:
        """Return the last row before each key in its group (``after``: the first row after it), or -1; ``equal``: or with an equal key."""
        counts = self.counts(keys, equal != after)
        if self.located is None:
            result = counts - (not after)
            return np.where(result < len(self.keys) if after else result >= 0, result + self.first, -1)
        if not len(self.groups):
            return np.full(len(keys), -1, dtype=np.int64)
        group, result = self._located(codes, counts)
        result -= not after
        is_known = (group >= 0) & ((result < self.edges[group + 1]) if after else (result >= self.edges[group]))
        return np.where(is_known, self.located[np.where(is_known, result, 0)] - group * (len(self.keys) + 1) + self.first, -1)

    def _located(self, codes: Positions, counts: Positions) -> tuple[Positions, Positions]:
        """Return the index of each code's group, and where the group's rows among the first ``counts`` rows end in :attr:`located`.

        The index is -1 for a group that the block does not hold.
        """
        assert self.located is not None
        if len(codes) >= SMALL_SORT:
            low, high = np.searchsorted(self.rows, [counts.min(), counts.max()]).tolist()
            if high - low <= MAX_MERGED * len(codes):
                return self._merged(codes, counts, low, high)
        group, is_known = group_positions(self.groups, codes)
        return np.where(is_known, group, -1), np.searchsorted(self.located, group * (len(self.keys) + 1) + counts)

    def _merged(self, codes: Positions, counts: Positions, low: int, high: int) -> tuple[Positions, Positions]:
        """Return the result of :meth:`_located` by a merge: probes and ``rows[low:high]`` are interleaved, then sorted by group.

        A binary search in a large array misses the processor's cache at each step; a merge reads memory sequentially.
        """
        assert self.located is not None
        order = None if bool((counts[1:] >= counts[:-1]).all()) else order_of([counts])
        if order is not None:
            codes, counts = codes[order], counts[order]
        # If all rows have a group, the positions of the probes among the rows are known without a search.
        before = counts - low if len(self.rows) == len(self.keys) else search_sorted(self.rows[low:high], counts, "left")
        probes = np.arange(len(codes)) + before
        passes = np.ones(len(codes) + high - low, dtype=bool)
        passes[probes] = False
        merged = np.empty(len(passes), dtype=np.int64)
        merged[probes], merged[passes] = codes, self.codes[low:high]
        by_group = order_of([merged])
        merged, passes = merged[by_group], passes[by_group]
        starts = group_starts(merged)
        group, is_known = group_positions(self.groups, merged[starts])
        passed = np.cumsum(passes)
        # Number of rows of each group before ``rows[low]``, minus all rows that the merge passes before the group.
        first = self.rows[low] if low < len(self.rows) else len(self.keys)
        earlier = np.searchsorted(self.located, group * (len(self.keys) + 1) + first) - (passed[starts] - passes[starts])
        # Both results are packed into one number, so that they are permuted once.
        answers = (np.where(is_known, group, -1) << PLACE_BITS) + earlier
        located = np.empty(len(merged), dtype=np.int64)
        located[by_group] = passed + np.repeat(answers, np.diff(starts, append=len(merged)))
        located = located[probes]
        if order is not None:
            located[order] = located.copy()
        return located >> PLACE_BITS, located & ((1 << PLACE_BITS) - 1)


def group_starts(codes: Positions) -> Positions:
    """Return the position at which each run of equal codes starts.

    Examples
    --------
    >>> group_starts(np.array([4, 4, 7])).tolist()
    [0, 2]
    """
    return np.flatnonzero(np.concatenate([np.ones(min(len(codes), 1), dtype=bool), codes[1:] != codes[:-1]]))


def key_run(column: pa.Array, column_type: ColumnType, as_float: bool = False) -> tuple[Numbers, int]:
    """Return the keys of an ascending column that are neither missing (sorted first) nor NaN (sorted last), and the row of the first such key.

    Raises
    ------
    PlanInvariantError
        If the column is not in this order.
    """
    keys, present = key_numbers(column, column_type, as_float)
    first, count = (int(np.argmax(present)), int(np.count_nonzero(present))) if len(present) else (0, 0)
    keys = keys[first : first + count]
    if not present[first : first + count].all() or bool((keys[1:] < keys[:-1]).any()):
        raise PlanInvariantError(OUT_OF_ORDER)
    return keys, first


def group_positions(groups: Positions, codes: Positions) -> tuple[Positions, Flags]:
    """Return the position of each code in an ascending array, and whether the array holds the code (if not, the position has no meaning)."""
    if not len(groups):
        return np.zeros(len(codes), dtype=np.int64), np.zeros(len(codes), dtype=bool)
    positions = np.minimum(np.searchsorted(groups, codes), len(groups) - 1)
    return positions, groups[positions] == codes


@attrs.define(eq=False)
class KeySearch:
    """Search for the nearest rows in a source that is in ascending order of a key column.

    Parameters
    ----------
    lookup
        Lookup over the source.
    on
        Position of the key column.
    by
        Positions of the columns whose values define the groups.
    groups
        Codes of the groups, assigned to source rows and probes alike.
    as_float
        Whether to compare int keys as floats.
    """

    lookup: Lookup
    on: int
    by: tuple[int, ...]
    groups: GroupCodes
    as_float: bool = False
    _indexes: LruCache = attrs.field(factory=lambda: LruCache(INDEX_BYTES))
    _ends: LruCache = attrs.field(factory=lambda: LruCache(INDEX_BYTES))

    def nearest(self, probes: ProbeKeys, after: bool, equal: bool, reach: int | float | None) -> Positions:
        """Return the index of the last row before each key (``after``: the first one after it), -1 where there is none.

        Parameters
        ----------
        probes
            Keys and groups to search for.
        after
            Whether to search forwards instead of backwards.
        equal
            Whether a row with an equal key is a match.
        reach
            Maximum distance between keys; None: any. It only ends the search early: rows further away may be returned.
        """
        result = np.full(len(probes.keys), -1, dtype=np.int64)
        blocks = self.lookup.fences(self.on, self.as_float).last_block_from(probes.keys, equal != after)
        if after:
            blocks = np.maximum(blocks, 0)
        rows = np.flatnonzero(probes.present & (blocks >= 0))
        if not self.lookup.rows or not len(rows):
            return result
        for number, part in by_block(blocks, rows):
            result[part] = self.index(number).nearest(probes.keys[part], probes.codes[part], after, equal)
        rows = rows[result[rows] < 0]
        if len(rows):
            result[rows] = self._further(probes, rows, blocks[rows], after, reach)
        return result

    def _further(self, probes: ProbeKeys, rows: Positions, blocks: Positions, after: bool, reach: int | float | None) -> Positions:
        """Search the blocks beyond the first one. The result depends only on the group and on the block where the search starts."""
        keys, codes = probes.keys[rows], probes.codes[rows]
        order = np.lexsort((keys, codes, blocks))
        new = (codes[order][1:] != codes[order][:-1]) | (blocks[order][1:] != blocks[order][:-1])
        heads = np.concatenate([[True], new])
        # Probes with the same group and block share one search, for the key that can reach furthest: the smallest backwards, the largest forwards.
        leaders = order[np.concatenate([new, [True]])] if after else order[heads]
        rows_of_leaders = self._walk(codes[leaders], blocks[leaders], keys[leaders], after, reach)
        result = np.empty(len(rows), dtype=np.int64)
        result[order] = rows_of_leaders[np.cumsum(heads) - 1]
        return result

    def _walk(self, codes: Positions, blocks: Positions, keys: Numbers, after: bool, reach: int | float | None) -> Positions:
        """Return the last (``after``: the first) row of each group in the nearest block beyond ``blocks`` that holds the group, or -1."""
        result = np.full(len(codes), -1, dtype=np.int64)
        step = 1 if after else -1
        current = blocks + step
        active = self._in_reach(np.arange(len(codes)), current, keys, after, reach)
        while len(active):
            number = int(current[active].min() if after else current[active].max())
            at_block = current[active] == number
            part, rest = active[at_block], active[~at_block]
            result[part] = self._ends_of(number).outermost(codes[part], after)
            current[part] += step
            part = self._in_reach(part[result[part] < 0], current, keys, after, reach)
            active = np.concatenate([rest, part])
        return result

    def _in_reach(self, walkers: Positions, current: Positions, keys: Numbers, after: bool, reach: int | float | None) -> Positions:
        """Return the searches whose current block exists and may hold keys within ``reach``."""
        fences = self.lookup.fences(self.on, self.as_float)
        walkers = walkers[(current[walkers] >= 0) & (current[walkers] < self.lookup.block_count)]
        # Keys of a block lie between the fence key of the block and the fence key of the next block.
        edges = current[walkers] + (0 if after else 1) - fences.missing
        if not after:
            walkers, edges = walkers[edges >= 0], edges[edges >= 0]
        is_known = edges >= 0
        if reach is None or not is_known.any():
            return walkers
        limits = fences.keys[np.where(is_known, edges, 0)]
        near = distances(limits, keys[walkers]) <= reach if after else distances(keys[walkers], limits) <= reach
        return walkers[near | ~is_known]

    def index(self, number: int) -> BlockIndex:
        """Return the index of the rows of a block, from the cache if possible."""
        result: BlockIndex | None = self._indexes.get(number)
        if result is None:
            result = self._built(number)
            self._indexes.put(number, result, result.nbytes)
        return result

    def _ends_of(self, number: int) -> GroupEnds:
        result: GroupEnds | None = self._ends.get(number)
        if result is None:
            result = self.index(number).ends()
            self._ends.put(number, result, result.nbytes)
        return result

    def _built(self, number: int) -> BlockIndex:
        chunk = self.lookup.block(number, (self.on, *self.by))
        keys, first = key_run(chunk.columns[0], self.lookup.schema[self.on], self.as_float)
        start = int(self.lookup.starts[number]) + first
        if not self.by:
            return BlockIndex.ungrouped(start, keys)
        codes, grouped = self.groups.of(chunk.columns[1:], chunk.rows)
        rows = slice(first, first + len(keys))
        return BlockIndex.of(start, keys, codes[rows], grouped[rows])


def by_block(blocks: Positions, rows: Positions) -> Iterator[tuple[int, Positions | slice]]:
    """Yield each block that ``blocks`` names, and the positions where it does; consecutive positions as a slice, which copies nothing.

    Examples
    --------
    >>> [*by_block(np.array([4, 4, 4, 7]), np.array([0, 2, 3]))]
    [(4, array([0, 2])), (7, slice(3, 4, None))]
    """
    chosen = blocks[rows]
    if not bool((chosen[1:] >= chosen[:-1]).all()):
        rows = rows[order_of([chosen])]
        chosen = blocks[rows]
    for start, stop in runs(chosen):
        part = rows[start:stop]
        # Strictly ascending rows are consecutive if the last minus the first is their number minus one.
        is_whole = part[-1] - part[0] == len(part) - 1 and bool((part[1:] > part[:-1]).all())
        yield int(chosen[start]), slice(int(part[0]), int(part[-1]) + 1) if is_whole else part


# The order of a column, for operators that need their input sorted by a key.


def known_ascending(node: PlannerNode, position: int) -> bool:
    """Return whether a column is known to be in ascending order (missing first, NaN last) without computing anything.

    Examples
    --------
    >>> from sframe_spark.operators.sources.in_memory import range_source
    >>> known_ascending(range_source(0, 5), 0), known_ascending(range_source(0, 5, -1), 0)
    (True, False)
    """
    return is_in_order(node, [(position, True)])


def ascending_by(node: PlannerNode, position: int) -> PlannerNode:
    """Return the rows in ascending order of a column: the node itself if it is known to be in that order, otherwise a stable sort."""
    return node if known_ascending(node, position) else sort_rows(node, [(position, True)])


def first_row_out_of_order(node: PlannerNode, position: int, ascending: bool = True) -> int | None:
    """Return the index of the first row whose value should come before the value of the row above it.

    The result is None if the column does not come directly from a source whose statistics say that it is not in order.
    """
    while isinstance(operator := node.operator, (Project, Zip)):
        ((slot, position),) = operator.origins_of([position], node.inputs)
        node = node.inputs[slot]
    if not isinstance(operator, Source):
        return None
    recorded = source_statistics(operator)[position]
    if (recorded.ascending if ascending else recorded.descending) is not False:
        return None
    lookup = Lookup.of(operator)
    blocks = (lookup.read(start, stop, [position]) for start, stop in pairwise(lookup.starts.tolist()))
    result = first_break(blocks, (node.schema[position],), [(0, ascending)])
    return None if result is None else result[0]
