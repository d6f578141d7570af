"""Whole numbers that are looked for among many others: in a table, or by a sieve that keeps most others back."""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# A table has a byte for each number from the least to the largest: what stays in a core's cache, or no more than so many for each, and in all.
MOST_PLACES_IN_CACHE, PLACES_PER_NUMBER, MOST_PLACES = 1 << 20, 64, 1 << 26
# A sieve has so many places for each key, of which seven in eight stay empty; more keys than these have none, as it would fill the processor's cache.
PLACES_PER_KEY, MOST_KEYS_SIEVED = 8, 1_000_000
# Of fewer keys that are searched for at a time nothing is gained.
FEWEST_SIEVED = 1 << 12
# 2**64 divided by the golden ratio, an odd number whose bits are neither few nor regular: products with it spread over their leading bits.
SPREAD = np.uint64(0x9E3779B97F4A7C15)


@attrs.frozen(eq=False)
class KeySieve:
    """Tells most numbers that are no keys from those that are, in two steps each.

    Parameters
    ----------
    taken
        Whether some key has the place; as many as a power of two.

    Source
    ------
    A Bloom filter of one hash function; multiplicative hashing: Knuth, The Art of Computer Programming, 6.4.
    """

    taken: np.ndarray

    @classmethod
    def of(cls, keys: np.ndarray) -> KeySieve:
        """A sieve that lets these keys pass.

        Examples
        --------
        >>> sieve = KeySieve.of(np.array([3, 10**12]))
        >>> sieve.may_be_keys(np.array([3, 10**12])).tolist(), int(sieve.may_be_keys(np.arange(1000)).sum()) < 200
        ([True, True], True)
        """
        sieve = cls(np.zeros(1 << (PLACES_PER_KEY * len(keys)).bit_length(), dtype=bool))
        sieve.taken[sieve._places(keys)] = True
        return sieve

    def may_be_keys(self, numbers: np.ndarray) -> np.ndarray:
        """True for each key, and for about one in eight other numbers."""
        return self.taken[self._places(numbers)]

    def _places(self, numbers: np.ndarray) -> np.ndarray:
        spread = np.ascontiguousarray(numbers).view(np.uint64) * SPREAD
        return (spread >> np.uint64(65 - len(self.taken).bit_length())).view(np.int64)


@attrs.frozen(eq=False, slots=False)
class NumberSet:
    """Ints of 64 bits that are looked for.

    Parameters
    ----------
    numbers
        These, in an array of Arrow's, in any order and as often as they come; none is missing.

    Examples
    --------
    >>> NumberSet(pa.array([7, 3])).holds(pa.array([3, 4, None])).to_pylist()
    [True, False, False]
    """

    numbers: pa.Array

    def holds(self, values: pa.Array) -> pa.Array:
        """For each value whether it is one of them; a missing one is not."""
        if len(values) < FEWEST_SIEVED or not len(self.numbers):
            return pc.is_in(values, self.numbers)
        there = (values.fill_null(0) if values.null_count else values).to_numpy()
        found = self._sifted(there) if self.table is None else self._in_table(there)
        if found is None:
            return pc.is_in(values, self.numbers)
        bits = pa.py_buffer(np.packbits(found, bitorder="little"))
        truths = pa.Array.from_buffers(pa.bool_(), len(found), [None, bits])
        return pc.and_(truths, values.is_valid()) if values.null_count else truths

    @cached_property
    def least(self) -> int:
        """The smallest of them."""
        return pc.min(self.numbers).as_py()

    @cached_property
    def table(self) -> np.ndarray | None:
        """For each number from the one before the least to the one after the largest whether it is one of them; None where these are far apart."""
        width = pc.max(self.numbers).as_py() - self.least + 1
        if width > min(MOST_PLACES, max(MOST_PLACES_IN_CACHE, PLACES_PER_NUMBER * len(self.numbers))):
            return None
        table = np.zeros(width + 2, dtype=bool)
        table[self.numbers.to_numpy() - self.least + 1] = True
        return table

    @cached_property
    def sieve(self) -> KeySieve | None:
        """A sieve of them."""
        return KeySieve.of(self.numbers.to_numpy()) if len(self.numbers) <= MOST_KEYS_SIEVED else None

    def _in_table(self, there: np.ndarray) -> np.ndarray:
        assert self.table is not None
        # Differences wrap around: what is not between the least and the largest is beyond one of the ends, which hold none.
        places = there.view(np.uint64) - np.uint64((self.least - 1) % (1 << 64))
        return np.take(self.table, places.view(np.int64), mode="clip")

    def _sifted(self, there: np.ndarray) -> np.ndarray | None:
        """The same by a sieve; None where that lets most pass."""
        if self.sieve is None:
            return None
        found = self.sieve.may_be_keys(there)
        passed = np.flatnonzero(found)
        if 2 * len(passed) > len(there):
            return None
        found[passed] = pc.is_in(pa.array(there[passed]), self.numbers).to_numpy(zero_copy_only=False)
        return found
