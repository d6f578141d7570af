"""Runs of whole numbers: groups of 128 with a header, a base and packed numbers.

Where a group ends follows from its first two bytes, so a loop over groups finds them, some ten nanoseconds a group. The numbers themselves are
decoded only when they are asked for, all groups of one form at a time: five to ten nanoseconds a number.
"""

from __future__ import annotations

import numpy as np

from sframe_spark.turicreate.payload import NUMBER_BYTES, Payload

GROUP = 128
# Bits of each packed number, by the width code of a group.
WIDTHS = (0, 1, 2, 4, 8, 16, 32, 64)
OFFSET, DIFFERENCE, SIGNED_DIFFERENCE = range(3)
# Groups decoded at a time: their numbers take 2 MB.
GROUPS_AT_ONCE = 2_048
# Heads of groups that are kept as Python's numbers.
HEADS_AT_ONCE = 65_536
# What a group takes of a block's allowance: more than its head takes, so that a loop over very many ends soon.
BYTES_OF_GROUP = 32
# Longer than any payload: what an unknown header says of its group.
BEYOND = 1 << 40
_NUMBER_BYTES = np.frombuffer(NUMBER_BYTES, np.uint8)
_PLACES = np.arange(9)


def packed_bytes(header: int, numbers: int) -> int:
    """Return how many bytes the packed numbers of a group take; more than there can be if the header is none.

    Examples
    --------
    >>> packed_bytes(0x05, 128), packed_bytes(0x10, 128), packed_bytes(0x03, 128) == 0, packed_bytes(0x07, 128) == BEYOND
    (16, 128, True, True)
    """
    codec, width = header & 3, header >> 2
    if width >= len(WIDTHS) or (codec > SIGNED_DIFFERENCE and width):
        return BEYOND
    return ((numbers - (codec != OFFSET)) * WIDTHS[width] + 7) // 8


# For each header the bytes of a group of 128, but for its base.
_GROUP_BYTES = tuple(1 + packed_bytes(header, GROUP) for header in range(256))
# For each byte the numbers of 1, 2 or 4 bits in it.
_UNPACKED = {
    bits: np.array([[(byte >> (bits * slot)) & ((1 << bits) - 1) for slot in range(8 // bits)] for byte in range(256)], np.uint8) for bits in (2, 4)
}


class NumberRun:
    """Whole numbers that follow each other in a payload, decoded where they are asked for.

    Parameters
    ----------
    payload
        Read to the first of them; to the end of the last one afterwards.
    count
        How many there are.

    Examples
    --------
    >>> NumberRun(Payload(bytes.fromhex("0c 14 00 31 f0")), 5).values(0, 5).tolist()
    [10, 11, 13, 10, 25]
    """

    __slots__ = ("_content", "_heads", "count")

    def __init__(self, payload: Payload, count: int) -> None:
        self.count = count
        self._content = payload.array
        groups = -(-count // GROUP)
        payload.require(2 * groups, f"a run of {count} numbers")
        payload.allowance.take(BYTES_OF_GROUP * groups, payload.place)
        self._heads = _heads(payload, groups, count)

    def values(self, first: int, last: int) -> np.ndarray:
        """Return the numbers from one on up to, not including, another: 64 bits, without a sign."""
        if first >= last:
            return np.empty(0, np.uint64)
        low, high = first // GROUP, -(-last // GROUP)
        found = np.empty((high - low) * GROUP, np.uint64)
        full = min(high, self.count // GROUP)
        for start in range(low, full, GROUPS_AT_ONCE):
            stop = min(start + GROUPS_AT_ONCE, full)
            _decode(self._content, self._heads[start:stop], found[(start - low) * GROUP : (stop - low) * GROUP].reshape(-1, GROUP))
        if full < high:
            rest = self.count - full * GROUP
            tail = found[(full - low) * GROUP :][:rest].reshape(1, rest)
            _decode(self._content, self._heads[full:high], tail)
        return found[first - low * GROUP : last - low * GROUP]


def _heads(payload: Payload, groups: int, count: int) -> np.ndarray:
    """Find the first byte of each group, and go to the end of the last."""
    # No payload has 2**31 bytes.
    found = np.empty(groups, np.int32)
    for before in range(0, groups - 1, HEADS_AT_ONCE):
        heads, payload.place = _walk(payload, min(HEADS_AT_ONCE, groups - 1 - before))
        found[before : before + len(heads)] = heads
    if groups:
        # The last group may be shorter.
        found[-1] = payload.place
        payload.place = _end_of_group(payload, count - (groups - 1) * GROUP)
    return found


def _walk(payload: Payload, groups: int) -> tuple[list[int], int]:
    """Pass so many full groups, and return where each begins, and where the last ends."""
    content, place, size = payload.content, payload.place, payload.size
    heads: list[int] = []
    try:
        for _ in range(groups):
            heads.append(place)
            place += _GROUP_BYTES[content[place]] + NUMBER_BYTES[content[place + 1]]
    except IndexError:
        pass
    if place > size or len(heads) < groups or (heads and heads[-1] + 1 >= size):
        payload.place = min(heads[-1] if heads else place, size)
        raise payload.broken("a group of numbers has an unknown header, or goes beyond the end")
    return heads, place


def _end_of_group(payload: Payload, numbers: int) -> int:
    payload.require(2, "a group of numbers")
    header = payload.content[payload.place]
    size = 1 + NUMBER_BYTES[payload.content[payload.place + 1]] + packed_bytes(header, numbers)
    if size > BEYOND:
        raise payload.broken(f"a group of numbers has the unknown header {header:#04x}")
    payload.require(size, "a group of numbers")
    return payload.place + size


def _decode(content: np.ndarray, heads: np.ndarray, found: np.ndarray) -> None:
    """Decode groups of one length into the rows of an array."""
    heads = heads.astype(np.int64)
    headers = content[heads]
    sizes, bases = _bases(content, heads + 1)
    starts = heads + 1 + sizes
    for header in np.unique(headers).tolist():
        chosen = np.flatnonzero(headers == header)
        if len(chosen) == len(headers):
            _decode_alike(content, header, starts, bases, found)
            continue
        some = np.empty((len(chosen), found.shape[1]), np.uint64)
        _decode_alike(content, header, starts[chosen], bases[chosen], some)
        found[chosen] = some


def _bases(content: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Decode numbers of variable length, and say how many bytes each has."""
    # What is read beyond the end belongs to no number: those that do were refused.
    windows = content[np.minimum(places[:, None] + _PLACES, len(content) - 1)]
    sizes = _NUMBER_BYTES[windows[:, 0]]
    short = np.ascontiguousarray(windows[:, :8]).view("<u8")[:, 0]
    long = np.ascontiguousarray(windows[:, 1:]).view("<u8")[:, 0]
    counts = np.minimum(sizes, 7).astype(np.uint64)
    mask = (np.uint64(1) << (np.uint64(8) * counts)) - np.uint64(1)
    return sizes, np.where(sizes == 9, long, (short & mask) >> counts)


def _decode_alike(content: np.ndarray, header: int, starts: np.ndarray, bases: np.ndarray, found: np.ndarray) -> None:
    """Decode groups with one header into the rows of an array; sums wrap round."""
    codec, bits = header & 3, WIDTHS[header >> 2]
    if not bits:
        found[:] = bases[:, None]
    elif codec == OFFSET:
        np.add(_unpacked(content, starts, bits, found.shape[1]), bases[:, None], out=found)
    else:
        found[:, 0] = bases
        if found.shape[1] > 1:
            steps = _unpacked(content, starts, bits, found.shape[1] - 1)
            found[:, 1:] = _with_signs(steps) if codec == SIGNED_DIFFERENCE else steps
        np.cumsum(found, axis=1, out=found)


def _with_signs(steps: np.ndarray) -> np.ndarray:
    """Return what 0, 1, 2, 3, ... stand for: 0, -1, 1, -2, ..."""
    steps = steps.astype(np.uint64)
    return (steps >> np.uint64(1)) ^ (np.uint64(0) - (steps & np.uint64(1)))


def _unpacked(content: np.ndarray, starts: np.ndarray, bits: int, numbers: int) -> np.ndarray:
    """Return packed numbers, a row for each place at which some begin."""
    size = (numbers * bits + 7) // 8
    windows = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(content, size)[starts])
    if bits >= 8:
        return windows.view(f"<u{bits // 8}")
    found = np.unpackbits(windows, axis=1, bitorder="little") if bits == 1 else _UNPACKED[bits][windows].reshape(len(starts), -1)
    # The byte that is not full comes first, with its numbers in its high bits.
    return found[:, found.shape[1] - numbers :]
