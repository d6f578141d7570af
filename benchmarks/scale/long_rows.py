"""The rows of the long run: each value follows from the number of its row, so that every result can be checked without another engine.

The columns are made twice: by an SFrame, and by NumPy for any rows that are asked for. Nothing is drawn at random.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark import SArray, SFrame

# Each block of so many rows has each key once: r * (61,510 * r + 3) takes each value once modulo 10^6, as does any polynomial whose linear
# coefficient has no factor of 10, and whose quadratic one has both.
KEYS = 10**6
WORDS = 300
NAMES = ("id", "key", "value", "word")
# Values are quarters below 250, so sums of 10^9 of them are exact.
QUARTERS, DIFFERENT_VALUES = 4, 997
RIGHT_NAMES = ("id", "bonus")
Numbers = np.ndarray[Any, np.dtype[np.int64]]


def keys_of(ids: Any) -> Any:
    """Return the keys of rows, given their numbers: a SArray or a NumPy array."""
    place = ids % KEYS
    return (place * place * 61_510 + place * 3 + ids // KEYS * 271_829) % KEYS


def quarters_of(ids: Any, keys: Any) -> Any:
    """Return the values of rows, four times."""
    return (keys * 37 + ids // 7) % DIFFERENT_VALUES


def words_of(ids: Any, keys: Any) -> Any:
    """Return the numbers of the words of rows."""
    return (keys // 7 + ids // KEYS) % WORDS


def made(rows: int) -> SFrame:
    """Return the frame, of which nothing is computed yet."""
    ids = SArray.from_sequence(rows)
    keys = keys_of(ids)
    values = quarters_of(ids, keys) / float(QUARTERS)
    return SFrame({"id": ids, "key": keys, "value": values, "word": "w" + words_of(ids, keys).astype(str)})


@attrs.frozen
class Expected:
    """Rows as NumPy makes them.

    Parameters
    ----------
    ids
        Their numbers.
    """

    ids: Numbers

    @property
    def keys(self) -> Numbers:
        """The keys."""
        found: Numbers = keys_of(self.ids)
        return found

    @property
    def columns(self) -> list[pa.Array]:
        """All columns."""
        keys = self.keys
        words = pa.array([f"w{number}" for number in range(WORDS)]).take(pa.array(words_of(self.ids, keys)))
        return [pa.array(self.ids), pa.array(keys), pa.array(quarters_of(self.ids, keys) / QUARTERS), words]


# The right side of the join: as many rows as were chosen, of which each has the number of another row of the frame; they are in no order.


def right_places(bonus: Any, joined: int) -> Any:
    """Return which of the rows that have a partner right rows belong to: each is there once, as keys are, if ``joined`` has no primes but 2, 3, 5."""
    return (bonus * bonus * 30 + bonus * 7 + 11) % joined


def right_side(rows: int, joined: int) -> SFrame:
    """Return the right side of the join, of which nothing is computed yet."""
    bonus = SArray.from_sequence(joined)
    return SFrame({"id": right_places(bonus, joined) * (rows // joined), "bonus": bonus})
