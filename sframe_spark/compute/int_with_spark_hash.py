"""Ints whose hash in Spark is a given number, so that ``repartition`` by a column of them puts a row into a partition that is asked for by number."""

from __future__ import annotations

# Spark repartitions rows by Murmur3 hashes of 32 bits, modulo the number of partitions. For an int that hash can be inverted.
WORD, SEED, BYTES_OF_INT = 1 << 32, 42, 4


def int_with_hash(number: int) -> int:
    """Return the 32-bit int whose hash in Spark is a number: so ``repartition`` by a column of it puts a row into the partition of that number.

    Source: A. Appleby, MurmurHash3 (2011), public domain; each of its steps for one word of input has an inverse.

    Examples
    --------
    >>> int_with_hash(933211791)
    0
    """
    hashed = undo_shift(number, 16) * pow(0xC2B2AE35, -1, WORD) % WORD
    hashed = undo_shift(hashed, 13) * pow(0x85EBCA6B, -1, WORD) % WORD
    hashed = (undo_shift(hashed, 16) ^ BYTES_OF_INT) - 0xE6546B64
    mixed = rotated(hashed * pow(5, -1, WORD) % WORD, 32 - 13) ^ SEED
    value = rotated(mixed * pow(0x1B873593, -1, WORD) % WORD, 32 - 15) * pow(0xCC9E2D51, -1, WORD) % WORD
    return value - WORD if value >= WORD // 2 else value


def rotated(word: int, bits: int) -> int:
    """Return a word of 32 bits rotated to the left."""
    return (word << bits | word >> (32 - bits)) % WORD


def undo_shift(word: int, bits: int) -> int:
    """Return the word that gives ``word`` when it is combined, by exclusive or, with itself shifted to the right by at least 11 bits."""
    return word ^ word >> bits ^ word >> 2 * bits
