"""Texts of a block: their lengths and then their bytes, or numbers of the entries of a dictionary."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from sframe_spark.errors import BrokenPayload, TooLargeError
from sframe_spark.turicreate.cells import Cells, offsets_of
from sframe_spark.turicreate.numbers import NumberRun
from sframe_spark.turicreate.payload import MOST_ALLOWED, Payload
from sframe_spark.turicreate.tagged import Decode
from sframe_spark.visible import in_words

DIRECT, BY_DICTIONARY = 0, 1
# What an entry of a dictionary takes of a block's allowance: a loop makes them, and nobody writes more than 64.
BYTES_OF_ENTRY = 1_024


def texts(payload: Payload, count: int, decode: Decode) -> Cells:
    """Read so many texts of a payload; ``decode`` makes a text of bytes that are not UTF-8, or raises."""
    form = payload.byte("how texts are stored")
    if form == DIRECT:
        return _DirectTexts(payload, count, decode)
    if form == BY_DICTIONARY:
        return RepeatedTexts(payload, count, decode)
    raise payload.broken(f"texts are stored in the unknown way {form}")


class _DirectTexts:
    def __init__(self, payload: Payload, count: int, decode: Decode) -> None:
        self._offsets = offsets_of(payload, count, payload.left)
        self._start = payload.skip(int(self._offsets[-1]), "texts")
        self._content, self._decode = payload.content, decode

    def rows(self, first: int, last: int) -> pa.Array:
        # Not copied: Arrow reads the bytes where they are.
        data = pa.py_buffer(self._content).slice(self._start + int(self._offsets[first]))
        offsets = (self._offsets[first : last + 1] - self._offsets[first]).astype(np.int32)
        found = pa.StringArray.from_buffers(last - first, pa.py_buffer(offsets), data)
        if is_sound(found):
            return found
        bounds = (self._offsets[first : last + 1] + self._start).tolist()
        return pa.array([self._decode(self._content[low:high]) for low, high in pairwise(bounds)], pa.string())

    def size(self, first: int, last: int) -> float:
        return float(self._offsets[last] - self._offsets[first]) + 4.0 * (last - first)


class RepeatedTexts:
    """Texts that are numbers of the entries of a dictionary; ``decode`` as of :func:`texts`."""

    def __init__(self, payload: Payload, count: int, decode: Decode) -> None:
        entries = payload.number()
        payload.require(entries, f"a dictionary of {entries} texts")
        payload.allowance.take(entries * BYTES_OF_ENTRY, payload.place)
        found = [bytes(payload.take(payload.number(), "a text")) for _ in range(entries)]
        self._lengths = np.fromiter(map(len, found), np.int64, entries)
        self._entries, self._broken = _decoded(found, decode)
        self._is_broken = np.zeros(entries, bool)
        self._is_broken[list(self._broken)] = True
        self._run = NumberRun(payload, count)

    def rows(self, first: int, last: int) -> pa.Array:
        """Some of them."""
        return self._entries.take(pa.array(self._places(first, last)))

    def spread(self, first: int, last: int, missing: np.ndarray) -> pa.Array:
        """Some of them, with rows between them that are missing: texts are taken once."""
        places = np.zeros(len(missing), np.int32)
        places[~missing] = self._places(first, last)
        return self._entries.take(pa.array(places, mask=missing))

    def _places(self, first: int, last: int) -> np.ndarray:
        numbers = self._run.values(first, last)
        most = int(numbers.max()) if len(numbers) else 0
        if most >= len(self._lengths) and len(numbers):
            raise BrokenPayload(f"a text is number {most} of a dictionary of {len(self._lengths)}")
        places = numbers.astype(np.int32)
        size = int(self._lengths[places].sum())
        if size > MOST_ALLOWED:
            raise TooLargeError(f"{last - first} texts take {in_words(size)}, more than is read at once: read fewer rows at a time")
        if self._broken and (broken := self._is_broken[places]).any():
            raise self._broken[int(places[np.argmax(broken)])]
        return places

    def size(self, first: int, last: int) -> float:
        """At most as many bytes as the longest entry has for each."""
        return (float(self._lengths.max(initial=0)) + 4.0) * (last - first)


def _decoded(entries: list[bytes], decode: Decode) -> tuple[pa.Array, dict[int, UnicodeDecodeError]]:
    """The texts of a dictionary, and the errors of those that are none, by their numbers."""
    found: list[str] = []
    broken: dict[int, UnicodeDecodeError] = {}
    for place, entry in enumerate(entries):
        try:
            found.append(decode(entry))
        except UnicodeDecodeError as error:
            found.append("")
            broken[place] = error
    return pa.array(found, pa.string()), broken


def is_sound(found: pa.Array) -> bool:
    """Say whether the bytes of texts are UTF-8, each for itself.

    Examples
    --------
    >>> is_sound(pa.array(["a", "é"])), is_sound(pa.array([b"a", bytes([0xE9])]).view(pa.string()))
    (True, False)
    """
    try:
        found.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
