"""Hashes of strings, or of slices of bytes, a whole batch at a time: SipHash-2-4 and CityHash64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.sorting_and_searching import mostly_differ
    from sframe_spark.values.nested.tagged_json_patterns_and_splitting import bytes_of

# SipHash-2-4.

KEY = b"sframe_spark key"
WORD = 8
# The states of the hashes of this many strings (four words each, the lanes) fit a processor's cache.
CACHED_ROWS = 8192
_START = tuple(np.frombuffer(b"somepseudorandomlygeneratedbytes", ">u8").astype(np.uint64))
# Keep the lowest `count` bytes of a word that reads past the end of its string.
_MASKS = np.array([(1 << (8 * count)) - 1 for count in range(WORD)], dtype=np.uint64)
Lanes = list[np.ndarray]
HashesOfBytes = Callable[[np.ndarray, np.ndarray], np.ndarray]


def text_hashes(texts: pa.Array) -> np.ndarray:
    """Return the SipHash-2-4 of the UTF-8 bytes of each string, as unsigned 64-bit ints; no string may be missing.

    Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).

    Examples
    --------
    >>> text_hashes(pa.array(["a", "b", "a"])).tolist()[0] == text_hashes(pa.array(["a"])).tolist()[0]
    True
    """
    return hashes_of_texts(texts, hashes_of_bytes)


def hashes_of_texts(texts: pa.Array, hashed: HashesOfBytes) -> np.ndarray:
    """Hash strings with a function for bytes; if few strings are distinct, each distinct string is hashed once. No string may be missing."""
    encoded = None if mostly_differ(texts) else texts.dictionary_encode()
    if encoded is None or 2 * len(encoded.dictionary) > len(texts):
        parts = [texts.slice(start, CACHED_ROWS) for start in range(0, len(texts), CACHED_ROWS)]
        return np.concatenate([hashed(*bytes_of(part)) for part in parts] or [np.empty(0, np.uint64)])
    return hashed(*bytes_of(encoded.dictionary))[encoded.indices.to_numpy()]


def hashes_of_bytes(data: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the SipHash-2-4 of each slice ``data[bounds[i]:bounds[i + 1]]``."""
    lengths = np.diff(bounds)
    # All slices are processed word by word together; longer slices come first, so that unfinished slices are always the first ones.
    order = np.argsort(-(lengths // WORD), kind="stable")
    starts, lengths = bounds[:-1][order], lengths[order]
    whole = lengths // WORD
    keys = np.frombuffer(KEY, "<u8").astype(np.uint64)
    lanes = [np.full(len(order), keys[position % 2] ^ word) for position, word in enumerate(_START)]
    words = words_at(data)
    with np.errstate(over="ignore"):
        for position in range(int(whole.max(initial=0))):
            count = int(np.searchsorted(-whole, -position))
            compress([lane[:count] for lane in lanes], words[starts[:count] + position * WORD])
        rest = words[starts + whole * WORD] & _MASKS[lengths % WORD]
        compress(lanes, rest | ((lengths.astype(np.uint64) & np.uint64(0xFF)) << np.uint64(56)))
        lanes[2] ^= np.uint64(0xFF)
        for _ in range(4):
            mix(lanes)
    hashes = np.empty(len(order), np.uint64)
    hashes[order] = lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3]
    return hashes


def words_at(data: np.ndarray) -> np.ndarray:
    """Return the 8-byte words that begin at each byte and at the end of the data, padded with zeros, as overlapping views of one buffer."""
    padded = np.concatenate([data, np.zeros(WORD, np.uint8)])
    return np.ndarray(len(data) + 1, np.dtype("<u8"), padded, strides=(1,))


def compress(lanes: Lanes, words: np.ndarray) -> None:
    """Absorb one word per lane, in place (SipHash's two compression rounds)."""
    lanes[3] ^= words
    mix(lanes)
    mix(lanes)
    lanes[0] ^= words


def mix(lanes: Lanes) -> None:
    """Apply one SipHash round, in place."""
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
    """Rotate words to the left, in place."""
    upper = words << np.uint64(bits)
    words >>= np.uint64(64 - bits)
    words |= upper


# CityHash64. Strings are hashed in groups by length, as the algorithm has a formula for each range of lengths.

BLOCK = 64
_K0, _K1, _K2 = (np.uint64(number) for number in (0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F))
_MULTIPLIER = np.uint64(0x9DDFEA08EB382D69)
_HALF = np.uint64(0xFFFFFFFF)
Pair = tuple[np.ndarray, np.ndarray]


def city_hashes(texts: pa.Array) -> np.ndarray:
    """Return the CityHash64 (version 1.1) of the UTF-8 bytes of each string, as unsigned 64-bit ints; no string may be missing.

    Source: Pike and Alakuijala, "CityHash" (Google, 2011, version 1.1 of 2013), https://github.com/google/cityhash.

    Examples
    --------
    >>> [hex(word) for word in city_hashes(pa.array(["", "abc"])).tolist()]
    ['0x9ae16a3b2f90404f', '0x24a5b3a074e7f369']
    """
    return hashes_of_texts(texts, city_hashes_of_bytes)


def city_hashes_of_bytes(data: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the CityHash64 of each slice ``data[bounds[i]:bounds[i + 1]]``."""
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
    """Bytes from which 8-bit, 32-bit and 64-bit words are read at any position."""

    def __init__(self, data: np.ndarray) -> None:
        self._data, self._words = data, words_at(data)

    def at(self, positions: np.ndarray) -> np.ndarray:
        """Return the byte at each position."""
        return self._data[positions].astype(np.uint64)

    def words(self, positions: np.ndarray) -> np.ndarray:
        """Return the little-endian 64-bit word at each position."""
        return self._words[positions]

    def halves(self, positions: np.ndarray) -> np.ndarray:
        """Return the little-endian 32-bit word at each position."""
        return self._words[positions] & _HALF


def _of_3(read: Bytes, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Hash slices of 1 to 3 bytes."""
    low = read.at(starts) + (read.at(starts + (lengths >> 1)) << np.uint64(8))
    high = lengths.astype(np.uint64) + (read.at(starts + lengths - 1) << np.uint64(2))
    return _folded((low * _K2) ^ (high * _K0)) * _K2


def _of_7(read: Bytes, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Hash slices of 4 to 7 bytes."""
    counts = lengths.astype(np.uint64)
    return _of_two(counts + (read.halves(starts) << np.uint64(3)), read.halves(starts + lengths - 4), _multipliers(counts))


def _of_16(read: Bytes, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Hash slices of 8 to 16 bytes."""
    multipliers = _multipliers(lengths.astype(np.uint64))
    first, last = read.words(starts) + _K2, read.words(starts + lengths - 8)
    return _of_two(_turned(last, 37) * multipliers + first, (_turned(first, 25) + last) * multipliers, multipliers)


def _of_32(read: Bytes, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Hash slices of 17 to 32 bytes."""
    multipliers = _multipliers(lengths.astype(np.uint64))
    ends = starts + lengths
    a, b = read.words(starts) * _K1, read.words(starts + 8)
    c, d = read.words(ends - 8) * multipliers, read.words(ends - 16) * _K2
    return _of_two(_turned(a + b, 43) + _turned(c, 30) + d, a + _turned(b + _K2, 18) + c, multipliers)


def _of_64(read: Bytes, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Hash slices of 33 to 64 bytes."""
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
    """Hash slices of more than 64 bytes block by block; longer slices come first, so that unfinished slices are always the first ones."""
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
    """Return the state of each slice after one more block."""
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
    """Hash 32 bytes with two seed words into two words (CityHash's WeakHashLen32WithSeeds)."""
    first, second, third, fourth = (read.words(positions + offset) for offset in (0, 8, 16, 24))
    a = a + first
    b = _turned(b + a + fourth, 21)
    total = a + second + third
    return total + fourth, b + _turned(total, 44) + a


def _of_two(first: np.ndarray, second: np.ndarray, multipliers: np.ndarray | np.uint64) -> np.ndarray:
    """Hash two words into one (CityHash's HashLen16)."""
    a = _folded((first ^ second) * multipliers)
    return _folded((second ^ a) * multipliers) * multipliers


def _folded(words: np.ndarray) -> np.ndarray:
    return words ^ (words >> np.uint64(47))


def _turned(words: np.ndarray, bits: int) -> np.ndarray:
    """Rotate words to the right."""
    return (words >> np.uint64(bits)) | (words << np.uint64(64 - bits))


def _multipliers(counts: np.ndarray) -> np.ndarray:
    return _K2 + counts * np.uint64(2)


_BY_LENGTH = ((1, 3, _of_3), (4, 7, _of_7), (8, 16, _of_16), (17, 32, _of_32), (33, 64, _of_64), (65, 1 << 62, _of_more))
