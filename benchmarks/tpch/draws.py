"""Numbers that look random and follow from the name of a column and the number of a row: the same with every version of numpy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SEED = 37
# Of SplitMix64, a public-domain generator: its increment, and the two factors by which it mixes.
INCREMENT, FACTORS = np.uint64(0x9E3779B97F4A7C15), (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def drawn(name: str, rows: int, low: int, high: int) -> np.ndarray:
    """An int for each row, from ``low`` up to and including ``high``, each as probable.

    Parameters
    ----------
    name
        What the numbers are for: those of another name have nothing to do with them.
    rows
        How many.
    low, high
        Both are among the numbers; there are fewer than 2**32.
    """
    start = np.uint64(int.from_bytes(hashlib.blake2b(f"{SEED} {name}".encode(), digest_size=8).digest()))
    mixed = start + np.arange(1, rows + 1, dtype=np.uint64) * INCREMENT
    for factor, shift in zip(FACTORS, (30, 27), strict=True):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= factor
    mixed ^= mixed >> np.uint64(31)
    return ((mixed >> np.uint64(32)) * np.uint64(high - low + 1) >> np.uint64(32)).astype(np.int64) + low


def money(name: str, rows: int, low: int, high: int) -> np.ndarray:
    """Amounts with two digits behind the point."""
    return drawn(name, rows, low * 100, high * 100) / 100


def chosen(name: str, rows: int, texts: Sequence[str]) -> pa.Array:
    """One of some texts for each row."""
    return pa.array(texts, pa.string()).take(pa.array(drawn(name, rows, 0, len(texts) - 1)))


def sentence(name: str, rows: int, words: Sequence[str], count: int) -> pa.Array:
    """Texts of some words each."""
    return pc.binary_join_element_wise(*[chosen(f"{name} {number}", rows, words) for number in range(count)], " ")


def numbered(prefix: str, numbers: np.ndarray, digits: int = 9) -> pa.Array:
    """Texts such as ``Supplier#000000001``."""
    padded = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), digits, "0")
    return pc.binary_join_element_wise(prefix, padded, "")
