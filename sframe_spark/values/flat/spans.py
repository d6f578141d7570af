"""Parts of the texts of a batch, found in their bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

QUOTE, COMMA, OPENING, CLOSING = b'",[]'


def bytes_of(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of texts, none of which is missing, and where each begins and the last one ends.

    Examples
    --------
    >>> data, bounds = bytes_of(pa.array(["a", "bc"]))
    >>> bytes(data), bounds.tolist()
    (b'abc', [0, 1, 3])
    """
    if not len(texts):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    values = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return values[bounds[0] : bounds[-1]], bounds - bounds[0]


def texts_between(data: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> pa.Array:
    """The texts of some bytes between places.

    Examples
    --------
    >>> texts_between(np.frombuffer(b"abcde", np.uint8), np.array([0, 3]), np.array([2, 3])).to_pylist()
    ['ab', '']
    """
    lengths = stops - starts
    bounds = np.zeros(len(starts) + 1, np.int32)
    np.cumsum(lengths, out=bounds[1:])
    places = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], lengths)
    return pa.StringArray.from_buffers(len(starts), pa.py_buffer(bounds), pa.py_buffer(data[places]))


def outside_quotes(data: np.ndarray) -> np.ndarray:
    """Which bytes are in no quotes, where no quoted text has a quote or a backslash."""
    return (np.cumsum(data == QUOTE, dtype=np.int32) & 1) == 0


def have_twice(counts: np.ndarray, codes: np.ndarray) -> bool:
    """True if a row has a code twice; the rows have so many of them, one after the other.

    Examples
    --------
    >>> have_twice(np.array([2, 1]), np.array([0, 1, 1])), have_twice(np.array([1, 2]), np.array([0, 1, 1]))
    (False, True)
    """
    # Much faster than numpy's search for unique numbers, which hashes them.
    pairs = np.sort(np.repeat(np.arange(len(counts)), counts) * (int(codes.max(initial=0)) + 1) + codes)
    return bool((pairs[1:] == pairs[:-1]).any())


def counts_within(places: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """How many of some places, which ascend, lie in each text."""
    return np.diff(np.searchsorted(places, bounds))
