"""Parts of the texts of a batch, found in their bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

QUOTE, COMMA, OPENING, CLOSING, BACKSLASH, BRACE, CLOSING_BRACE = b'",[]\\{}'
# What stays in the cache of a core while it is looked at.
BLOCK = 1 << 16


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
    """The texts of some bytes between places, which ascend.

    Examples
    --------
    >>> texts_between(np.frombuffer(b"abcde", np.uint8), np.array([0, 3]), np.array([2, 3])).to_pylist()
    ['ab', '']
    """
    if not len(starts):
        return pa.array([], pa.string())
    # Arrow copies every second one of texts that lie in the same bytes, which takes a tenth of the time of an index of each byte.
    bounds = np.empty(2 * len(starts), np.int32)
    bounds[0::2], bounds[1::2] = starts, stops
    texts = pa.StringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(data))
    return texts.take(pa.array(np.arange(0, len(bounds), 2)))


def between_commas(data: np.ndarray, bounds: np.ndarray, commas: np.ndarray, before: int, after: int) -> tuple[np.ndarray, pa.Array]:
    """How many items each text has, and all items: what is between its commas, but for so many bytes before the first and after the last one.

    Examples
    --------
    >>> counts, items = between_commas(np.frombuffer(b"[1,2][][3]", np.uint8), np.array([0, 5, 7, 10]), np.array([2]), 1, 1)
    >>> counts.tolist(), items.to_pylist()
    ([2, 0, 1], ['1', '2', '3'])
    """
    rows = np.flatnonzero(np.diff(bounds) > before + after)
    counts = counts_within(commas, bounds)
    counts[rows] += 1
    total, ends = int(counts.sum()), np.cumsum(counts)
    are_first, are_last = np.zeros(total, bool), np.zeros(total, bool)
    are_first[ends[rows] - counts[rows]] = are_last[ends[rows] - 1] = True
    starts, stops = np.empty(total, np.int64), np.empty(total, np.int64)
    starts[are_first], stops[are_last] = bounds[rows] + before, bounds[rows + 1] - after
    starts[~are_first], stops[~are_last] = commas + 1, commas
    return counts, texts_between(data, starts, stops)


def outside_quotes(data: np.ndarray) -> np.ndarray:
    """Which bytes are in no quotes, where no quoted text has a quote or a backslash."""
    return ~np.bitwise_xor.accumulate((data == QUOTE).view(np.uint8)).view(bool)


def escaped(data: np.ndarray) -> np.ndarray:
    """Places of the bytes that a backslash stands for another one with.

    Examples
    --------
    >>> escaped(np.frombuffer(rb'"a\\"b\\\\"', np.uint8)).tolist()
    [3, 6]
    """
    places = np.flatnonzero(data == BACKSLASH)
    if not len(places):
        return places
    # Of several that follow each other each second one is escaped itself.
    begins = np.concatenate([[True], np.diff(places) != 1])
    within = np.arange(len(places)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    return places[within % 2 == 0] + 1


def places_at(data: np.ndarray, *wanted: tuple[int, int]) -> list[np.ndarray]:
    """Where bytes are, each inside so many brackets, its own among them; what is in quotes does not count.

    Examples
    --------
    >>> [places.tolist() for places in places_at(np.frombuffer(b'[1,[2,3]][","]', np.uint8), (COMMA, 1), (COMMA, 2))]
    [[2], [5]]
    """
    found: list[list[np.ndarray]] = [[] for _ in wanted]
    literal = escaped(data)
    quoted, depth = np.zeros(1, np.uint8), np.zeros(1, np.int8)
    for start in range(0, len(data), BLOCK):
        part = data[start : start + BLOCK]
        quotes = (part == QUOTE).view(np.uint8)
        if len(literal):
            quotes[literal[slice(*np.searchsorted(literal, (start, start + len(part))))] - start] = 0
        quoted = np.bitwise_xor.accumulate(quotes) ^ quoted[-1]
        # Both kinds of brackets differ in one bit.
        brackets = part | (BRACE ^ OPENING)
        steps = (brackets == BRACE).view(np.int8) - (brackets == CLOSING_BRACE).view(np.int8)
        outside = quoted == 0
        # Sums of bytes without a sign take numpy four times as long.
        depth = np.cumsum(steps & -outside.view(np.int8), dtype=np.int8) + depth[-1]
        for places, (byte, level) in zip(found, wanted, strict=True):
            places.append(np.flatnonzero((part == byte) & (depth == level) & outside) + start)
    return [np.concatenate(places) if places else np.empty(0, np.int64) for places in found]


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
