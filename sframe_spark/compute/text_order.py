"""The order of texts by their bytes, found by sorting eight of these at a time as a number: several times faster than comparing texts."""

from __future__ import annotations

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.row_order import FEW, order_of
from sframe_spark.values.nested.text_spans import bytes_of

WORD = 8
# Texts that so many words do not tell apart are compared as texts.
MOST_WORDS = 4
_SIGN = np.uint64(1 << 63)


def text_ranks(texts: pa.StringArray) -> tuple[np.ndarray, int]:
    """For each text, none of which is missing, how many different ones come before it, and how many there are.

    Examples
    --------
    >>> [found if isinstance(found, int) else found.tolist() for found in text_ranks(pa.array(["b", "a", "b", "ab"]))]
    [[2, 0, 2, 1], 3]
    """
    words = Words.of(texts) if len(texts) >= FEW else None
    if words is None:
        found = compared_ranks(texts)
        return found, int(found.max(initial=-1)) + 1
    numbers = words.at(0)
    order = order_of([numbers])
    begins = _changes(numbers[order])
    for number in range(1, MOST_WORDS + 1):
        # Neighbours that are alike so far, and may go on.
        inside = (~begins | np.append(~begins[1:], False)) & words.are_full(number, order)
        places = np.flatnonzero(inside)
        if not len(places):
            break
        rows, runs = order[places], np.cumsum(begins)[places]
        further = words.at(number, rows) if number < MOST_WORDS else compared_ranks(texts.take(pa.array(rows)))
        within = order_of([further])
        within = within[order_of([runs[within]])]
        order[places] = rows[within]
        begins[places] = _changes(runs) | _changes(further[within])
    ranks = np.empty(len(texts), dtype=np.int64)
    ranks[order] = np.cumsum(begins) - 1
    return ranks, int(np.count_nonzero(begins))


def compared_ranks(texts: pa.StringArray) -> np.ndarray:
    """For each text, none of which is missing, how many different ones come before it, found by comparing them."""
    return np.asarray(pc.rank(texts, "ascending", tiebreaker="dense").to_numpy().astype(np.int64) - 1)


def _changes(values: np.ndarray) -> np.ndarray:
    """Whether each differs from the one before it."""
    return np.append(True, values[1:] != values[:-1])


@attrs.frozen(eq=False)
class Words:
    """The bytes of texts behind what all of them begin with, eight at a time.

    Parameters
    ----------
    view
        The eight bytes that begin at each byte, the first one as the highest.
    starts
        Where each text begins.
    lengths
        How many bytes each has.
    """

    view: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, texts: pa.StringArray) -> Words | None:
        """Those of some texts; None where a text has a byte of zero, which cannot be told from none."""
        data, bounds = bytes_of(texts)
        if not data.all():
            return None
        ends = pc.min_max(texts)
        least, most = (np.frombuffer(ends[end].as_buffer(), np.uint8) for end in ("min", "max"))
        alike = least == most[: len(least)] if len(least) <= len(most) else least[: len(most)] == most
        common = int(np.append(alike, False).argmin())
        padded = np.zeros(len(data) + WORD, dtype=np.uint8)
        padded[: len(data)] = data
        view = np.ndarray((len(data) + 1,), dtype=">u8", buffer=padded.data, strides=(1,))
        return cls(view, bounds[:-1] + common, np.diff(bounds) - common)

    def at(self, number: int, rows: np.ndarray | None = None) -> np.ndarray:
        """The words of a number as ints that are in their order, the smallest one for texts that have ended; of some rows."""
        starts, lengths = (self.starts, self.lengths) if rows is None else (self.starts[rows], self.lengths[rows])
        left = np.clip(lengths - WORD * number, 0, WORD)
        words = self.view[np.minimum(starts + WORD * number, len(self.view) - 1)].astype(np.uint64)
        # No shift is by all bits: what is left of no bytes is zero by two.
        half = ((WORD - left) * (WORD // 2)).astype(np.uint64)
        words = ((words >> half) >> half) << half << half
        found: np.ndarray = (words ^ _SIGN).view(np.int64)
        return found

    def are_full(self, number: int, rows: np.ndarray) -> np.ndarray:
        """Which of some rows have so many words with a byte of their own in each place: others that are alike are equal."""
        found: np.ndarray = self.lengths[rows] >= WORD * number
        return found
