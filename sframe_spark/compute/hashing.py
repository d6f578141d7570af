"""CityHash64 of texts, all of a batch at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sframe_spark.compute.text_hashes import hashes_of_texts, words_at

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
        for least, most, hashed in _BY_LENGTH:
            (chosen,) = np.nonzero((lengths >= least) & (lengths <= most))
            if len(chosen):
                hashes[chosen] = hashed(read, starts[chosen], lengths[chosen])
    return hashes


class Bytes:
    """Bytes of which words of 64 bits, and of 32, are read at any place."""

    def __init__(self, data: np.ndarray) -> None:
        self._data, self._words = data, words_at(data)

    def at(self, places: np.ndarray) -> np.ndarray:
        """One byte each."""
        return self._data[places].astype(np.uint64)

    def words(self, places: np.ndarray) -> np.ndarray:
        """Eight bytes each, the first one is the lowest."""
        return self._words[places]

    def halves(self, places: np.ndarray) -> np.ndarray:
        """Four bytes each, the first one is the lowest."""
        return self._words[places] & _HALF


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


def _after_block(read: Bytes, places: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
    """What is kept from block to block."""
    x, y, z, v0, v1, w0, w1 = state
    x = _turned(x + y + v0 + read.words(places + 8), 37) * _K1
    y = _turned(y + v1 + read.words(places + 48), 42) * _K1
    x = x ^ w1
    y = y + v0 + read.words(places + 40)
    z = _turned(z + w0, 33) * _K1
    v0, v1 = _of_half_block(read, places, v1 * _K1, x + w0)
    w0, w1 = _of_half_block(read, places + 32, z + w1, y + read.words(places + 16))
    return [z, y, x, v0, v1, w0, w1]


def _of_half_block(read: Bytes, places: np.ndarray, a: np.ndarray, b: np.ndarray) -> Pair:
    """Two words of 32 bytes and two words."""
    first, second, third, fourth = (read.words(places + offset) for offset in (0, 8, 16, 24))
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
