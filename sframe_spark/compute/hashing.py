"""CityHash64 of texts, all of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_encoding import comparable_values
from sframe_spark.compute.sorting import mostly_differ
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Schema
from sframe_spark.values.nested.text_spans import bytes_of

if TYPE_CHECKING:
    from pyspark.sql import Column


# Hashes of texts, all of a batch at once.

KEY = b"sframe_spark key"
WORD = 8
# The lanes of so many texts stay in a processor's cache.
CACHED_ROWS = 8192
_START = tuple(np.frombuffer(b"somepseudorandomlygeneratedbytes", ">u8").astype(np.uint64))
# Where the bytes of no text are read, nothing is of use; they are taken away.
_MASKS = np.array([(1 << (8 * count)) - 1 for count in range(WORD)], dtype=np.uint64)
Lanes = list[np.ndarray]
HashesOfBytes = Callable[[np.ndarray, np.ndarray], np.ndarray]


def text_hashes(texts: pa.Array) -> np.ndarray:
    """A word of 64 bits for each of some texts, none of which is missing: SipHash-2-4 of their bytes in UTF-8.

    Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).

    Examples
    --------
    >>> text_hashes(pa.array(["a", "b", "a"])).tolist()[0] == text_hashes(pa.array(["a"])).tolist()[0]
    True
    """
    return hashes_of_texts(texts, hashes_of_bytes)


def hashes_of_texts(texts: pa.Array, hashed: HashesOfBytes) -> np.ndarray:
    """A word for each of some texts, none of which is missing, by a hash of bytes; texts that come again and again are hashed once."""
    encoded = None if mostly_differ(texts) else texts.dictionary_encode()
    if encoded is None or 2 * len(encoded.dictionary) > len(texts):
        parts = [texts.slice(start, CACHED_ROWS) for start in range(0, len(texts), CACHED_ROWS)]
        return np.concatenate([hashed(*bytes_of(part)) for part in parts] or [np.empty(0, np.uint64)])
    return hashed(*bytes_of(encoded.dictionary))[encoded.indices.to_numpy()]


def hashes_of_bytes(data: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The same of texts of some bytes, by where they begin and the last one ends."""
    lengths = np.diff(bounds)
    # Texts with as many whole words are worked on together: those with more come first.
    order = np.argsort(-(lengths // WORD), kind="stable")
    starts, lengths = bounds[:-1][order], lengths[order]
    whole = lengths // WORD
    keys = np.frombuffer(KEY, "<u8").astype(np.uint64)
    lanes = [np.full(len(order), keys[place % 2] ^ word) for place, word in enumerate(_START)]
    words = words_at(data)
    with np.errstate(over="ignore"):
        for place in range(int(whole.max(initial=0))):
            count = int(np.searchsorted(-whole, -place))
            compress([lane[:count] for lane in lanes], words[starts[:count] + place * WORD])
        rest = words[starts + whole * WORD] & _MASKS[lengths % WORD]
        compress(lanes, rest | ((lengths.astype(np.uint64) & np.uint64(0xFF)) << np.uint64(56)))
        lanes[2] ^= np.uint64(0xFF)
        for _ in range(4):
            mix(lanes)
    hashes = np.empty(len(order), np.uint64)
    hashes[order] = lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3]
    return hashes


def words_at(data: np.ndarray) -> np.ndarray:
    """The word that begins at each byte, and at the end of all."""
    padded = np.concatenate([data, np.zeros(WORD, np.uint8)])
    return np.ndarray(len(data) + 1, np.dtype("<u8"), padded, strides=(1,))


def compress(lanes: Lanes, words: np.ndarray) -> None:
    """Take a word each into the lanes, in place."""
    lanes[3] ^= words
    mix(lanes)
    mix(lanes)
    lanes[0] ^= words


def mix(lanes: Lanes) -> None:
    """One round, in place."""
    first, second, third, fourth = lanes
    first += second
    turn(second, 13)
    second ^= first
    turn(first, 32)
    third += fourth
    turn(fourth, 16)
    fourth ^= third
    first += fourth
    turn(fourth, 21)
    fourth ^= first
    third += second
    turn(second, 17)
    second ^= third
    turn(third, 32)


def turn(words: np.ndarray, bits: int) -> None:
    """Turn the bits of words to the left, in place."""
    upper = words << np.uint64(bits)
    words >>= np.uint64(64 - bits)
    words |= upper


BLOCK = 64
_K0, _K1, _K2 = (np.uint64(number) for number in (0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F))
_MULTIPLIER = np.uint64(0x9DDFEA08EB382D69)
_HALF = np.uint64(0xFFFFFFFF)
Pair = tuple[np.ndarray, np.ndarray]


def city_hashes(texts: pa.Array) -> np.ndarray:
    """A word of 64 bits for each of some texts, none of which is missing: CityHash64, version 1.1, of their bytes in UTF-8.

    Source: Pike and Alakuijala, "CityHash" (Google, 2011, version 1.1 of 2013), https://github.com/google/cityhash.

    Examples
    --------
    >>> [hex(word) for word in city_hashes(pa.array(["", "abc"])).tolist()]
    ['0x9ae16a3b2f90404f', '0x24a5b3a074e7f369']
    """
    return hashes_of_texts(texts, city_hashes_of_bytes)


def city_hashes_of_bytes(data: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The same of pieces of some bytes, by where they begin and the last one ends."""
    lengths, starts = np.diff(bounds), bounds[:-1]
    hashes = np.full(len(lengths), _K2, np.uint64)
    read = Bytes(data)
    with np.errstate(over="ignore"):
        for shortest, longest, hashed in _BY_LENGTH:
            (chosen,) = np.nonzero((lengths >= shortest) & (lengths <= longest))
            if len(chosen):
                hashes[chosen] = hashed(read, starts[chosen], lengths[chosen])
    return hashes


class Bytes:
    """Bytes of which words of 64 bits, and of 32, are read at any place."""

    def __init__(self, data: np.ndarray) -> None:
        self._data, self._words = data, words_at(data)

    def at(self, positions: np.ndarray) -> np.ndarray:
        """One byte each."""
        return self._data[positions].astype(np.uint64)

    def words(self, positions: np.ndarray) -> np.ndarray:
        """Eight bytes each, the first one is the lowest."""
        return self._words[positions]

    def halves(self, positions: np.ndarray) -> np.ndarray:
        """Four bytes each, the first one is the lowest."""
        return self._words[positions] & _HALF


def _of_3(read: Bytes, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Of 1 to 3 bytes."""
    low = read.at(starts) + (read.at(starts + (lengths >> 1)) << np.uint64(8))
    high = lengths.astype(np.uint64) + (read.at(starts + lengths - 1) << np.uint64(2))
    return _folded((low * _K2) ^ (high * _K0)) * _K2


def _of_7(read: Bytes, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Of 4 to 7."""
    counts = lengths.astype(np.uint64)
    return _of_two(counts + (read.halves(starts) << np.uint64(3)), read.halves(starts + lengths - 4), _multipliers(counts))


def _of_16(read: Bytes, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Of 8 to 16."""
    multipliers = _multipliers(lengths.astype(np.uint64))
    first, last = read.words(starts) + _K2, read.words(starts + lengths - 8)
    return _of_two(_turned(last, 37) * multipliers + first, (_turned(first, 25) + last) * multipliers, multipliers)


def _of_32(read: Bytes, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Of 17 to 32."""
    multipliers = _multipliers(lengths.astype(np.uint64))
    ends = starts + lengths
    a, b = read.words(starts) * _K1, read.words(starts + 8)
    c, d = read.words(ends - 8) * multipliers, read.words(ends - 16) * _K2
    return _of_two(_turned(a + b, 43) + _turned(c, 30) + d, a + _turned(b + _K2, 18) + c, multipliers)


def _of_64(read: Bytes, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Of 33 to 64."""
    multipliers = _multipliers(lengths.astype(np.uint64))
    ends = starts + lengths
    a, b = read.words(starts) * _K2, read.words(starts + 8)
    c, d = read.words(ends - 24), read.words(ends - 32)
    e, f = read.words(starts + 16) * _K2, read.words(starts + 24) * np.uint64(9)
    g, h = read.words(ends - 8), read.words(ends - 16) * multipliers
    u = _turned(a + g, 43) + (_turned(b, 30) + c) * np.uint64(9)
    v = ((a + g) ^ d) + f + np.uint64(1)
    w = ((u + v) * multipliers).byteswap() + h
    x = _turned(e + f, 42) + c
    y = (((v + w) * multipliers).byteswap() + g) * multipliers
    z = e + f + c
    a = ((x + z) * multipliers + y).byteswap() + b
    return _folded((z + a) * multipliers + d + h) * multipliers + x


def _of_more(read: Bytes, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Of more than 64, in blocks of 64. Pieces of more blocks come first, so that those that still have one are a prefix."""
    blocks = (lengths - 1) // BLOCK
    order = np.argsort(-blocks, kind="stable")
    starts, lengths, blocks = starts[order], lengths[order], blocks[order]
    ends, counts = starts + lengths, lengths.astype(np.uint64)
    x = read.words(ends - 40)
    y = read.words(ends - 16) + read.words(ends - 56)
    z = _of_two(read.words(ends - 48) + counts, read.words(ends - 24), _MULTIPLIER)
    v = _of_half_block(read, ends - 64, counts, z)
    w = _of_half_block(read, ends - 32, y + _K1, x)
    state = [x * _K1 + read.words(starts), y, z, *v, *w]
    for block in range(int(blocks.max())):
        still = int(np.searchsorted(-blocks, -block))
        changed = _after_block(read, starts[:still] + block * BLOCK, [words[:still] for words in state])
        for words, new in zip(state, changed, strict=True):
            words[:still] = new
    x, y, z, v0, v1, w0, w1 = state
    hashes = np.empty(len(order), np.uint64)
    first = _of_two(v0, w0, _MULTIPLIER) + _folded(y) * _K1 + z
    hashes[order] = _of_two(first, _of_two(v1, w1, _MULTIPLIER) + x, _MULTIPLIER)
    return hashes


def _after_block(read: Bytes, positions: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
    """What is kept from block to block."""
    x, y, z, v0, v1, w0, w1 = state
    x = _turned(x + y + v0 + read.words(positions + 8), 37) * _K1
    y = _turned(y + v1 + read.words(positions + 48), 42) * _K1
    x = x ^ w1
    y = y + v0 + read.words(positions + 40)
    z = _turned(z + w0, 33) * _K1
    v0, v1 = _of_half_block(read, positions, v1 * _K1, x + w0)
    w0, w1 = _of_half_block(read, positions + 32, z + w1, y + read.words(positions + 16))
    return [z, y, x, v0, v1, w0, w1]


def _of_half_block(read: Bytes, positions: np.ndarray, a: np.ndarray, b: np.ndarray) -> Pair:
    """Two words of 32 bytes and two words."""
    first, second, third, fourth = (read.words(positions + offset) for offset in (0, 8, 16, 24))
    a = a + first
    b = _turned(b + a + fourth, 21)
    total = a + second + third
    return total + fourth, b + _turned(total, 44) + a


def _of_two(first: np.ndarray, second: np.ndarray, multipliers: np.ndarray | np.uint64) -> np.ndarray:
    """One word of two."""
    a = _folded((first ^ second) * multipliers)
    return _folded((second ^ a) * multipliers) * multipliers


def _folded(words: np.ndarray) -> np.ndarray:
    return words ^ (words >> np.uint64(47))


def _turned(words: np.ndarray, bits: int) -> np.ndarray:
    """Turned to the right."""
    return (words >> np.uint64(bits)) | (words << np.uint64(64 - bits))


def _multipliers(counts: np.ndarray) -> np.ndarray:
    return _K2 + counts * np.uint64(2)


_BY_LENGTH = ((1, 3, _of_3), (4, 7, _of_7), (8, 16, _of_16), (17, 32, _of_32), (33, 64, _of_64), (65, 1 << 62, _of_more))


# Whole numbers that are looked for among many others: in a table, or by a sieve that keeps most others back.

# A table has a byte for each number from the least to the largest: what stays in a core's cache, or no more than so many for each, and in all.
MAX_SLOTS_IN_CACHE, SLOTS_PER_NUMBER, MAX_SLOTS = 1 << 20, 64, 1 << 26
# A sieve has so many positions for each key, seven in eight of them empty.
SLOTS_PER_KEY, MAX_KEYS_SIEVED = 8, 1_000_000
# Of fewer keys that are searched for at a time nothing is gained.
FEWEST_SIEVED = 1 << 12
# 2**64 divided by the golden ratio, an odd number whose bits are neither few nor regular: products with it spread over their leading bits.
SPREAD = np.uint64(0x9E3779B97F4A7C15)


@attrs.frozen(eq=False)
class KeySieve:
    """Tells most numbers that are no keys from those that are, in two steps each.

    Parameters
    ----------
    slots
        Whether some key has the place; as many as a power of two.

    Source
    ------
    A Bloom filter of one hash function; multiplicative hashing: Knuth, The Art of Computer Programming, 6.4.
    """

    slots: np.ndarray

    @classmethod
    def of(cls, keys: np.ndarray) -> KeySieve:
        """A sieve that lets these keys pass.

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
        """True for each key, and for about one in eight other numbers."""
        return self.slots[self._slots_of(numbers)]

    def _slots_of(self, numbers: np.ndarray) -> np.ndarray:
        spread = np.ascontiguousarray(numbers).view(np.uint64) * SPREAD
        return (spread >> np.uint64(65 - len(self.slots).bit_length())).view(np.int64)


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
        result = self._sifted(there) if self.table is None else self._in_table(there)
        if result is None:
            return pc.is_in(values, self.numbers)
        bits = pa.py_buffer(np.packbits(result, bitorder="little"))
        truths = pa.Array.from_buffers(pa.bool_(), len(result), [None, bits])
        return pc.and_(truths, values.is_valid()) if values.null_count else truths

    @cached_property
    def smallest(self) -> int:
        """The smallest of them."""
        return pc.min(self.numbers).as_py()

    @cached_property
    def table(self) -> np.ndarray | None:
        """For each number from the one before the least to the one after the largest whether it is one of them; None where these are far apart."""
        width = pc.max(self.numbers).as_py() - self.smallest + 1
        if width > min(MAX_SLOTS, max(MAX_SLOTS_IN_CACHE, SLOTS_PER_NUMBER * len(self.numbers))):
            return None
        table = np.zeros(width + 2, dtype=bool)
        table[self.numbers.to_numpy() - self.smallest + 1] = True
        return table

    @cached_property
    def sieve(self) -> KeySieve | None:
        """A sieve of them."""
        return KeySieve.of(self.numbers.to_numpy()) if len(self.numbers) <= MAX_KEYS_SIEVED else None

    def _in_table(self, there: np.ndarray) -> np.ndarray:
        assert self.table is not None
        # Differences wrap around: what is not between the least and the largest is beyond one of the ends, which hold none.
        positions = there.view(np.uint64) - np.uint64((self.smallest - 1) % (1 << 64))
        return np.take(self.table, positions.view(np.int64), mode="clip")

    def _sifted(self, there: np.ndarray) -> np.ndarray | None:
        """The same by a sieve; None where that lets most pass."""
        if self.sieve is None:
            return None
        result = self.sieve.may_be_keys(there)
        passed = np.flatnonzero(result)
        if 2 * len(passed) > len(there):
            return None
        result[passed] = pc.is_in(pa.array(there[passed]), self.numbers).to_numpy(zero_copy_only=False)
        return result


# A whole number looked up in a table that a plan of Spark holds: made by a few calls of the JVM, whatever its length.

# Of numbers that are rarer than this the table would be longer than it need be.
MAX_GAPS, FEW = 8, 1024
# Digits of numbers that are rare: each one has its own part of the table.
DIGIT_BITS, NUMBER_BITS = 6, 30


def lookup_column(number: Column, values: Mapping[int, int]) -> Column:
    """Return what belongs to each number; there must be something.

    Parameters
    ----------
    number
        Numbers, not negative and of 30 bits.
    values
        What belongs to each number.
    """
    from pyspark.sql import functions as F

    if max(values) < FEW + MAX_GAPS * len(values):
        return F.get(_array([values.get(place, 0) for place in range(max(values) + 1)]), number.cast("int"))
    table = _array(digit_table(values))
    result = F.lit(0).cast("bigint")
    for shift in shifts():
        digit = F.shiftright(number, shift).bitwiseAND(F.lit((1 << DIGIT_BITS) - 1))
        result = F.get(table, (result + digit).cast("int"))
    return result


def digit_table(values: Mapping[int, int]) -> list[int]:
    """Return parts of 64 entries each: what is at the place of a digit says where the part for the next one starts, at last the value itself.

    Examples
    --------
    >>> table = digit_table({5: 70, 2**30 - 1: 80})
    >>> len(table), table[0], table[63], table[table[table[table[table[0]]]] + 5]
    (576, 64, 320, 70)
    """
    width = 1 << DIGIT_BITS
    table = [0] * width
    for number, value in values.items():
        part = 0
        for shift in shifts():
            place = part + (number >> shift & (width - 1))
            if not shift:
                table[place] = value
            elif not table[place]:
                # No part but the first one starts at zero.
                table[place] = len(table)
                table += [0] * width
            part = table[place]
    return table


def shifts() -> Iterator[int]:
    """Where the digits of a number are, the highest first."""
    return reversed(range(0, NUMBER_BITS, DIGIT_BITS))


def _array(values: list[int]) -> Column:
    """Numbers as one constant: Spark computes it once, while it plans."""
    from pyspark.sql import functions as F

    return F.split(F.lit(",".join(map(str, values))), ",").cast("array<bigint>")


# Pieces of rows by their keys: rows with equal keys are in pieces of the same number, whichever input they are of.

HALF = np.uint64(32)


@attrs.frozen
class HashPartitioner:
    """Pieces by the hashes of keys, which are equal values.

    Parameters
    ----------
    positions
        Columns of the keys.
    types
        Their types.
    count
        How many pieces there are.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> positions = HashPartitioner((0,), (INT,), 16).partition_numbers(Chunk.of([pa.array([5, None, 7, None, 5])]))
    >>> bool(positions[0] == positions[4]), bool(positions[1] == positions[3]), bool(positions.max() < 16)
    (True, True, True)
    """

    positions: tuple[int, ...]
    types: Schema
    count: int

    def partition_numbers(self, rows: Chunk) -> np.ndarray:
        """The number of the piece of each row."""
        result = np.zeros(rows.rows, np.uint64)
        for position, column_type in zip(self.positions, self.types, strict=True):
            for values in comparable_values(rows.columns[position], column_type):
                result ^= words_of(values)
                # The upper half of a product depends on all bits, which the lower half gets from it.
                result *= SPREAD
                result ^= result >> HALF
                result *= SPREAD
        return ((result >> HALF) * np.uint64(self.count) >> HALF).view(np.int64)


def words_of(values: pa.Array) -> np.ndarray:
    """A word of 64 bits for each value of :func:`comparable_values`, equal where they are; a missing one has that of another."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.zeros(len(values), np.uint64)
    if pa.types.is_string(kind):
        return text_hashes(values.fill_null("") if values.null_count else values)
    numbers = values.view(pa.int64()) if pa.types.is_timestamp(kind) else values if pa.types.is_floating(kind) else values.cast(pa.int64())
    return (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy(zero_copy_only=False).view(np.uint64)
