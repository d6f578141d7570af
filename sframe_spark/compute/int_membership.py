"""Membership of ints in a set: by a dense lookup table, or by a Bloom filter in front of an exact lookup."""

from __future__ import annotations

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    import pyarrow.compute as pc

# A dense table has a byte for each int between the smallest and the largest member. It is used if it has at most MAX_SLOTS_IN_CACHE bytes, so that
# it fits the cache of a core, or at most SLOTS_PER_NUMBER bytes per member and MAX_SLOTS bytes.
MAX_SLOTS_IN_CACHE, SLOTS_PER_NUMBER, MAX_SLOTS = 1 << 20, 64, 1 << 26
# The Bloom filter has at least this many slots per key, so that seven in eight slots are empty. Sets with more than MAX_KEYS_SIEVED keys have no
# Bloom filter, as it would not fit the processor's cache.
SLOTS_PER_KEY, MAX_KEYS_SIEVED = 8, 1_000_000
# For smaller batches of values, neither of the two is faster than Arrow's lookup.
FEWEST_SIEVED = 1 << 12
# 2**64 divided by the golden ratio: multiplying by it spreads keys over the leading bits (Fibonacci hashing).
SPREAD = np.uint64(0x9E3779B97F4A7C15)


@attrs.frozen(eq=False)
class KeySieve:
    """A Bloom filter with one hash function over 64-bit keys.

    Parameters
    ----------
    slots
        For each slot whether a key hashes to it. The number of slots is a power of two.

    Source
    ------
    Multiplicative hashing: Knuth, The Art of Computer Programming, 6.4.
    """

    slots: np.ndarray

    @classmethod
    def of(cls, keys: np.ndarray) -> KeySieve:
        """Return the filter for some keys.

        Examples
        --------
        >>> sieve = KeySieve.of(np.array([3, 10**12]))
        >>> sieve.may_be_keys(np.array([3, 10**12])).tolist(), int(sieve.may_be_keys(np.arange(1000)).sum()) < 200
        ([True, True], True)
        """
        sieve = cls(np.zeros(1 << (SLOTS_PER_KEY * len(keys)).bit_length(), dtype=bool))
        sieve.slots[sieve._slots_of(keys)] = True
        return sieve

    def may_be_keys(self, numbers: np.ndarray) -> np.ndarray:
        """Return whether each number may be a key: true for all keys, and for about one in eight other numbers."""
        return self.slots[self._slots_of(numbers)]

    def _slots_of(self, numbers: np.ndarray) -> np.ndarray:
        spread = np.ascontiguousarray(numbers).view(np.uint64) * SPREAD
        return (spread >> np.uint64(65 - len(self.slots).bit_length())).view(np.int64)


@attrs.frozen(eq=False, slots=False)
class NumberSet:
    """A set of 64-bit ints, with a fast membership test for many values at once.

    Parameters
    ----------
    numbers
        An Arrow array of the members in any order. They may be repeated, but not be missing.

    Examples
    --------
    >>> NumberSet(pa.array([7, 3])).holds(pa.array([3, 4, None])).to_pylist()
    [True, False, False]
    """

    numbers: pa.Array

    def holds(self, values: pa.Array) -> pa.Array:
        """Return for each value whether it is a member; False for missing values."""
        if len(values) < FEWEST_SIEVED or not len(self.numbers):
            return pc.is_in(values, self.numbers)
        present = (values.fill_null(0) if values.null_count else values).to_numpy()
        result = self._sifted(present) if self.table is None else self._in_table(present)
        if result is None:
            return pc.is_in(values, self.numbers)
        bits = pa.py_buffer(np.packbits(result, bitorder="little"))
        truths = pa.Array.from_buffers(pa.bool_(), len(result), [None, bits])
        return pc.and_(truths, values.is_valid()) if values.null_count else truths

    @cached_property
    def smallest(self) -> int:
        """The smallest member."""
        return pc.min(self.numbers).as_py()

    @cached_property
    def table(self) -> np.ndarray | None:
        """For each int from the smallest member - 1 to the largest member + 1, whether it is a member; None if the table would be too large."""
        width = pc.max(self.numbers).as_py() - self.smallest + 1
        if width > min(MAX_SLOTS, max(MAX_SLOTS_IN_CACHE, SLOTS_PER_NUMBER * len(self.numbers))):
            return None
        table = np.zeros(width + 2, dtype=bool)
        table[self.numbers.to_numpy() - self.smallest + 1] = True
        return table

    @cached_property
    def sieve(self) -> KeySieve | None:
        """The Bloom filter of the members; None if there are too many."""
        return KeySieve.of(self.numbers.to_numpy()) if len(self.numbers) <= MAX_KEYS_SIEVED else None

    def _in_table(self, present: np.ndarray) -> np.ndarray:
        assert self.table is not None
        # Unsigned differences wrap around, so any value outside the range is clipped to an end of the table, which is False.
        positions = present.view(np.uint64) - np.uint64((self.smallest - 1) % (1 << 64))
        return np.take(self.table, positions.view(np.int64), mode="clip")

    def _sifted(self, present: np.ndarray) -> np.ndarray | None:
        """Return whether each value is a member, by the Bloom filter; None if there is no filter, or most values pass it."""
        if self.sieve is None:
            return None
        result = self.sieve.may_be_keys(present)
        passed = np.flatnonzero(result)
        if 2 * len(passed) > len(present):
            return None
        result[passed] = pc.is_in(pa.array(present[passed]), self.numbers).to_numpy(zero_copy_only=False)
        return result
