"""Where the rows of a source that is sorted by whole numbers are that have a key: in a table, or searched for."""

from __future__ import annotations

import attrs
import numpy as np

from sframe_spark.compute.hashing import FEWEST_SIEVED, MOST_KEYS_SIEVED, KeySieve
from sframe_spark.operators.lookup.key_search import KeySearch, WantedKeys, key_run
from sframe_spark.operators.lookup.numeric_keys import Flags, GroupCodes, Numbers, Positions, key_numbers
from sframe_spark.operators.lookup.source_lookup import Lookup

# Tables of keys take 8 bytes for each number of their range: at most 64 MB, and no more than building them is worth to the rows of both sides.
MOST_NUMBERS = 8_000_000
NUMBERS_PER_ROW = 64


def key_places(lookup: Lookup, position: int, searched: int) -> DenseKeys | SearchedKeys:
    """How to find the rows of a source, sorted by a column of whole numbers or times, where ``searched`` keys are looked for at a time."""
    return dense_keys(lookup, position, searched) or SearchedKeys(KeySearch(lookup, position, (), GroupCodes(())), _sieve(lookup, position))


def _sieve(lookup: Lookup, position: int) -> KeySieve | None:
    if not 0 < lookup.rows <= MOST_KEYS_SIEVED:
        return None
    keys, _ = key_run(lookup.read(0, lookup.rows, [position]).columns[0], lookup.schema[position])
    return KeySieve.of(keys) if len(keys) and keys.dtype == np.int64 else None


@attrs.frozen(eq=False)
class DenseKeys:
    """First and last row of every whole number in a range, for keys that fill much of it: a search is one step.

    Parameters
    ----------
    low
        The smallest key.
    firsts, lasts
        For each number from there its first and last row, -1 where it is no key: one table where no key is there twice.
    """

    low: int
    firsts: np.ndarray
    lasts: np.ndarray

    def matches(self, keys: Numbers, there: Flags) -> tuple[Positions, Positions]:
        """First and last row with each key, -1 where there is none.

        Examples
        --------
        >>> dense = DenseKeys(5, np.array([0, -1, 1]), np.array([0, -1, 2]))
        >>> [found.tolist() for found in dense.matches(np.array([7, 6, 99]), np.array([True, True, True]))]
        [[1, -1, -1], [2, -1, -1]]
        """
        inside = there & (keys >= self.low) & (keys <= self.low + len(self.firsts) - 1)
        places = np.where(inside, keys, self.low) - self.low
        first = np.where(inside, self.firsts[places], -1).astype(np.int64)
        return first, first if self.lasts is self.firsts else np.where(inside, self.lasts[places], -1).astype(np.int64)


def dense_keys(lookup: Lookup, position: int, searched: int) -> DenseKeys | None:
    """The keys of a source sorted by them as a table, if they lie close enough to each other for so many rows that are searched for at a time."""
    if not 0 < lookup.rows <= MOST_NUMBERS:
        return None
    keys, first = key_run(lookup.read(0, lookup.rows, [position]).columns[0], lookup.schema[position])
    if not len(keys) or int(keys[-1]) - int(keys[0]) >= min(NUMBERS_PER_ROW * (len(keys) + searched), MOST_NUMBERS):
        return None
    low, width = int(keys[0]), int(keys[-1]) - int(keys[0]) + 1
    lasts = np.full(width, -1, dtype=np.int32)
    rows = np.arange(first, first + len(keys), dtype=np.int32)
    # Of equal keys the row assigned last stays.
    lasts[keys - low] = rows
    if bool((keys[1:] != keys[:-1]).all()):
        return DenseKeys(low, lasts, lasts)
    firsts = np.full(width, -1, dtype=np.int32)
    firsts[keys[::-1] - low] = rows[::-1]
    return DenseKeys(low, firsts, lasts)


@attrs.frozen(eq=False)
class SearchedKeys:
    """Keys that are searched for, but for those that a sieve keeps back.

    Parameters
    ----------
    search
        Searches.
    sieve
        Of all keys; None where they are many.
    """

    search: KeySearch
    sieve: KeySieve | None

    def matches(self, keys: Numbers, there: Flags) -> tuple[Positions, Positions]:
        """First and last row with each key, -1 where there is none."""
        if self.sieve is None or len(keys) < FEWEST_SIEVED:
            return _searched(self.search, keys, there)
        chosen = np.flatnonzero(there & self.sieve.may_be_keys(keys))
        if 2 * len(chosen) > len(keys):
            return _searched(self.search, keys, there)
        found = _searched(self.search, keys[chosen], np.ones(len(chosen), dtype=bool))
        first, last = np.full((2, len(keys)), -1, dtype=np.int64)
        first[chosen], last[chosen] = found
        return first, last


def _searched(search: KeySearch, keys: Numbers, there: Flags) -> tuple[Positions, Positions]:
    """First and last row with each key, -1 where there is none; the last one is only searched where there is a first."""
    first = search.nearest(WantedKeys(keys, np.zeros(len(keys), dtype=np.int64), there), True, True, 0)
    candidates = np.flatnonzero(first >= 0)
    column = search.lookup.take(first[candidates], [search.on]).columns[0]
    equal = key_numbers(column, search.lookup.schema[search.on])[0] == keys[candidates]
    first[candidates[~equal]] = -1
    matched = candidates[equal]
    last = np.full(len(keys), -1, dtype=np.int64)
    everyone = np.ones(len(matched), dtype=bool)
    last[matched] = search.nearest(WantedKeys(keys[matched], np.zeros(len(matched), dtype=np.int64), everyone), False, True, 0)
    return first, last
