"""Hashes of texts, all of a batch at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from sframe_spark.compute.sort_parts import mostly_differ
from sframe_spark.values.nested.text_spans import bytes_of

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
