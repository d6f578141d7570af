"""The join with an input sorted by key: matches are found by binary search or in a table, so neither side is shuffled.

The hash join also uses the class :class:`Matches` of this module, the ranges of matching rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.int_membership import FEWEST_SIEVED, MAX_KEYS_SIEVED
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.joins.equi_join import SEARCHED, EquiJoin
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Facts
from sframe_spark.planner.operator import ExpandingOperator, Need, Operator
from sframe_spark.planner.operator_capabilities import Joining, MatchCounting
from sframe_spark.planner.operator_parameters import column_positions, one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import fixed_size

with lazy_imports(globals()):
    from sframe_spark.compute.bytes_of_array_values import uneven_bytes
    from sframe_spark.compute.int_membership import KeySieve
    from sframe_spark.operators.lookup.cached_reader import Lookup, as_lookup
    from sframe_spark.operators.lookup.key_numbers_and_group_codes import Flags, GroupCodes, Numbers, Positions, key_numbers
    from sframe_spark.operators.lookup.nearest_key_search import KeySearch, ProbeKeys, key_run

# Finding the rows with a key in a source sorted by integer keys: with a table of all keys, or by binary search.

# A table of keys takes 8 bytes for each integer in their range. It is limited to 64 MB, and to a size that pays off for the rows of both sides.
MAX_NUMBERS = 8_000_000
NUMBERS_PER_ROW = 64


def key_places(lookup: Lookup, position: int, searched: int) -> DenseKeys | SearchedKeys:
    """Return what finds rows by key in a source sorted by an int or date-time column, for ``searched`` probe keys per batch."""
    return dense_keys(lookup, position, searched) or SearchedKeys(KeySearch(lookup, position, (), GroupCodes(())), _sieve(lookup, position))


def _sieve(lookup: Lookup, position: int) -> KeySieve | None:
    if not 0 < lookup.rows <= MAX_KEYS_SIEVED:
        return None
    keys, _ = key_run(lookup.read(0, lookup.rows, [position]).columns[0], lookup.schema[position])
    return KeySieve.of(keys) if len(keys) and keys.dtype == np.int64 else None


@attrs.frozen(eq=False)
class DenseKeys:
    """A table with the first and last row of every integer in a range, for keys that are dense in the range.

    Parameters
    ----------
    low
        The smallest key, for which the table has its first entry.
    firsts, lasts
        First and last row of each integer from ``low`` on, -1 if it is not a key; both are the same array if keys are unique.
    """

    low: int
    firsts: np.ndarray
    lasts: np.ndarray

    def matches(self, keys: Numbers, present: Flags) -> tuple[Positions, Positions]:
        """Return the first and last row with each key, -1 if there is none.

        Examples
        --------
        >>> dense = DenseKeys(5, np.array([0, -1, 1]), np.array([0, -1, 2]))
        >>> [found.tolist() for found in dense.matches(np.array([7, 6, 99]), np.array([True, True, True]))]
        [[1, -1, -1], [2, -1, -1]]
        """
        inside = present & (keys >= self.low) & (keys <= self.low + len(self.firsts) - 1)
        positions = np.where(inside, keys, self.low) - self.low
        first = np.where(inside, self.firsts[positions], -1).astype(np.int64)
        return first, first if self.lasts is self.firsts else np.where(inside, self.lasts[positions], -1).astype(np.int64)


def dense_keys(lookup: Lookup, position: int, searched: int) -> DenseKeys | None:
    """Return the table of a source's keys; None if the keys are not dense enough for a table to pay off for ``searched`` probe keys per batch."""
    if not 0 < lookup.rows <= MAX_NUMBERS:
        return None
    keys, first = key_run(lookup.read(0, lookup.rows, [position]).columns[0], lookup.schema[position])
    if not len(keys) or int(keys[-1]) - int(keys[0]) >= min(NUMBERS_PER_ROW * (len(keys) + searched), MAX_NUMBERS):
        return None
    low, width = int(keys[0]), int(keys[-1]) - int(keys[0]) + 1
    lasts = np.full(width, -1, dtype=np.int32)
    rows = np.arange(first, first + len(keys), dtype=np.int32)
    # If keys are equal, the row assigned last remains.
    lasts[keys - low] = rows
    if bool((keys[1:] != keys[:-1]).all()):
        return DenseKeys(low, lasts, lasts)
    firsts = np.full(width, -1, dtype=np.int32)
    firsts[keys[::-1] - low] = rows[::-1]
    return DenseKeys(low, firsts, lasts)


@attrs.frozen(eq=False)
class SearchedKeys:
    """Binary search for keys, after a sieve has removed most probe keys without a match.

    Parameters
    ----------
    search
        The binary search.
    sieve
        A sieve of all keys; None if there are too many keys.
    """

    search: KeySearch
    sieve: KeySieve | None

    def matches(self, keys: Numbers, present: Flags) -> tuple[Positions, Positions]:
        """Return the first and last row with each key, -1 if there is none."""
        if self.sieve is None or len(keys) < FEWEST_SIEVED:
            return _searched(self.search, keys, present)
        chosen = np.flatnonzero(present & self.sieve.may_be_keys(keys))
        if 2 * len(chosen) > len(keys):
            return _searched(self.search, keys, present)
        result = _searched(self.search, keys[chosen], np.ones(len(chosen), dtype=bool))
        first, last = np.full((2, len(keys)), -1, dtype=np.int64)
        first[chosen], last[chosen] = result
        return first, last


def _searched(search: KeySearch, keys: Numbers, present: Flags) -> tuple[Positions, Positions]:
    """Return the first and last row with each key, -1 if there is none; the last row is only searched if there is a first."""
    first = search.nearest(ProbeKeys(keys, np.zeros(len(keys), dtype=np.int64), present), True, True, 0)
    candidates = np.flatnonzero(first >= 0)
    column = search.lookup.take(first[candidates], [search.on]).columns[0]
    equal = key_numbers(column, search.lookup.schema[search.on])[0] == keys[candidates]
    first[candidates[~equal]] = -1
    matched = candidates[equal]
    last = np.full(len(keys), -1, dtype=np.int64)
    all_present = np.ones(len(matched), dtype=bool)
    last[matched] = search.nearest(ProbeKeys(keys[matched], np.zeros(len(matched), dtype=np.int64), all_present), False, True, 0)
    return first, last


# Output chunks have at most this many bytes, unless a single row has more.
MAX_CHUNK_BYTES = 64 << 20


@register
@attrs.frozen
class SortedJoin(EquiJoin, ExpandingOperator):
    """Pairs of rows of two inputs that are equal in one key column; the second input is in ascending order of the key.

    The output has all columns of the first input, followed by the columns of the second without its key. Rows of the first input come in order, each
    with its matches in order. A missing key matches no row, so the operator replaces a join only if one side has no missing key.

    Parameters
    ----------
    left_key, right_key
        Positions of the key columns, which have one type.
    how
        ``inner``, or ``left``: rows without a match are kept, with missing values in the columns of the second input.
    """

    name: ClassVar[str] = "sorted_join"
    left_key: int = attrs.field(validator=column_positions)
    right_key: int = attrs.field(validator=column_positions)
    how: str = attrs.field(validator=one_of(*SEARCHED))

    @property
    def left_keys(self) -> tuple[int, ...]:  # type: ignore[override]
        """The key column of the first input."""
        return (self.left_key,)

    @property
    def right_keys(self) -> tuple[int, ...]:  # type: ignore[override]
        """The key column of the second input."""
        return (self.right_key,)

    @property
    def joining(self) -> SearchedMatches:
        """Rows match by equal keys, for which the second input is searched."""
        return SearchedMatches(self.key_pairs, self)

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        left, right = (columns.index(key) for columns, key in zip(kept, (self.left_key, self.right_key), strict=True))
        return SortedJoin(left, right, self.how), self.yielded(kept, inputs)

    def requires(self, slot: int) -> Need:
        """Return ``LOOKUP`` for the second input, whose rows are searched by key, and ``INHERITED`` for the first."""
        return Need.LOOKUP if slot else Need.INHERITED

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """Return all output rows at once, whatever their size."""
        left, lookup = inputs[0], as_lookup(inputs[1], facts[1].schema)
        result = self.matches_of(left, lookup, facts)
        return self.rows_of(left, lookup, result, 0, result.rows)

    def chunks(self, inputs: Sequence[Any], facts: Sequence[Facts], max_rows: Callable[[], int]) -> Iterator[Chunk]:
        """Find the first and last match of each row, then yield the output rows, which are built on demand."""
        left, lookup = inputs[0], as_lookup(inputs[1], facts[1].schema)
        result, of_left = self.matches_of(left, lookup, facts), uneven_bytes(left.columns, left.rows)
        start = 0
        while True:
            stop = self._chunk_end(of_left, lookup, result, start, min(start + max_rows(), result.rows))
            yield self.rows_of(left, lookup, result, start, stop)
            start = stop
            if start >= result.rows:
                return

    def _chunk_end(self, of_left: Positions, lookup: Lookup, result: Matches, start: int, stop: int) -> int:
        """Return where to end a chunk so that it stays within its size limit, as rows may differ much in size."""
        while stop - start > 1 and self.bytes_of(of_left, lookup, result, start, stop) > MAX_CHUNK_BYTES:
            stop = start + (stop - start) // 2
        return stop

    def bytes_of(self, of_left: Positions, lookup: Lookup, result: Matches, start: int, stop: int) -> int:
        """Return the estimated bytes of some pairs in variable-width columns, given the bytes of each left row."""
        of_right = [position for position in self.right_values(len(lookup.schema)) if fixed_size(lookup.schema[position]) is None]
        if not of_right and not of_left.any():
            return 0
        rows, partners = result.pairs(start, stop)
        return int(of_left[rows].sum() + lookup.uneven_bytes(partners, of_right).sum())

    def matches_of(self, left: Chunk, lookup: Lookup, facts: Sequence[Facts]) -> Matches:
        """Return the matches of some left rows."""
        search = lookup.note(self, lambda: key_places(lookup, self.right_key, left.rows))
        keys, present = key_numbers(left.columns[self.left_key], facts[0].schema[self.left_key])
        first, last = search.matches(keys, present)
        return Matches.between(first, last, keep_all=self.how == "left")

    def rows_of(self, left: Chunk, lookup: Lookup, result: Matches, start: int, stop: int) -> Chunk:
        """Return the output rows ``start`` (inclusive) to ``stop`` (exclusive) of some matches."""
        rows, partners = result.pairs(start, stop)
        everyone = len(rows) == left.rows and bool((rows == np.arange(left.rows)).all())
        columns = left.columns if everyone else tuple(column.take(pa.array(rows)) for column in left.columns)
        return Chunk((*columns, *lookup.take(partners, self.right_values(len(lookup.schema))).columns), len(rows))


@attrs.frozen
class SearchedMatches(Joining):
    """The matches of a sorted join, which a search counts."""

    join: SortedJoin

    @property
    def match_counting(self) -> CountedMatches:
        """Matches are counted by searching for the first and the last one of each row."""
        return CountedMatches(self.join)


@attrs.frozen
class CountedMatches(MatchCounting):
    """The number of rows of a sorted join follows from the first and the last match of each left row."""

    join: SortedJoin

    def count(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> int:
        """Return the number of output rows, without building any."""
        return self.join.matches_of(inputs[0], as_lookup(inputs[1], facts[1].schema), facts).rows

    def rows_between(self, inputs: Sequence[Any], facts: Sequence[Facts], start: int, stop: int, max_bytes: int) -> Chunk | None:
        """Return only the output rows ``start`` (inclusive) to ``stop`` (exclusive); None if they exceed ``max_bytes``."""
        left, lookup = inputs[0], as_lookup(inputs[1], facts[1].schema)
        result = self.join.matches_of(left, lookup, facts)
        size = self.join.bytes_of(uneven_bytes(left.columns, left.rows), lookup, result, start, stop)
        return self.join.rows_of(left, lookup, result, start, stop) if size <= max_bytes else None


@attrs.frozen(eq=False)
class Matches:
    """For each left row, the range of right rows that match it.

    Parameters
    ----------
    first
        First matching right row of each left row; -1 if there is none.
    ends
        Number of pairs up to and including the pairs of each left row; a kept left row without a match counts as one pair.
    """

    first: Positions
    ends: Positions

    @classmethod
    def between(cls, first: Positions, last: Positions, keep_all: bool) -> Matches:
        """Return matches from the first and last right row of each left row (-1 for none); ``keep_all``: left rows without a match are kept."""
        counts = np.where((first >= 0) & (last >= 0), np.maximum(last - first + 1, 0), 0)
        first = np.where(counts > 0, first, -1)
        return cls(first, np.cumsum(np.maximum(counts, 1) if keep_all else counts))

    @property
    def rows(self) -> int:
        """Number of pairs."""
        return int(self.ends[-1]) if len(self.ends) else 0

    def without_those_alone(self) -> Matches:
        """Return the same matches without the left rows that have no match.

        Examples
        --------
        >>> Matches.between(np.array([2, -1, 0]), np.array([3, 9, 0]), keep_all=True).without_those_alone().ends.tolist()
        [2, 2, 3]
        """
        return Matches(self.first, np.cumsum(np.where(self.first < 0, 0, np.diff(self.ends, prepend=0))))

    def pairs(self, start: int, stop: int) -> tuple[Positions, Positions]:
        """Return left and right row of the pairs ``start`` (inclusive) to ``stop`` (exclusive); -1 if there is no right row.

        Examples
        --------
        >>> found = Matches.between(np.array([2, 4, -1]), np.array([3, 3, 9]), keep_all=True)
        >>> [places.tolist() for places in found.pairs(0, found.rows)]
        [[0, 0, 1, 2], [2, 3, -1, -1]]
        >>> [places.tolist() for places in found.pairs(1, 3)]
        [[0, 1], [3, -1]]
        """
        if stop <= start:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        low, high = (int(np.searchsorted(self.ends, number, side="right")) for number in (start, stop - 1))
        begins = np.concatenate([[start], self.ends[low:high]])
        lengths = np.diff(np.concatenate([begins, [stop]]))
        rows = np.repeat(np.arange(low, low + len(lengths)), lengths)
        before = np.where(rows > 0, self.ends[rows - 1], 0)
        first = self.first[rows]
        return rows, np.where(first < 0, -1, first + np.arange(start, start + len(rows)) - before)
