"""Random columns by codes of one letter: what a row holds follows from the seed, the place of the column and the number of the row.

Words of 64 bits are drawn by counters (Philox), whose results numpy promises not to change, so that rows are the same however they are cut.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.types import ARRAY, FLOAT, INT, STR, ColumnType, dict_of, list_of

# Words that a counter stands for.
WORDS = 4
SHARE_OF_NAN = 0.01


@attrs.frozen
class Draws:
    """Random words of some rows.

    Parameters
    ----------
    seed
        Any whole number of 64 bits.
    column
        What tells the column from others.
    start, stop
        Numbers of the rows, the last one excluded.
    """

    seed: int
    column: int
    start: int
    stop: int

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.stop - self.start

    def words(self, width: int, stream: int = 0) -> np.ndarray:
        """So many words for each row, a row of the table each; another table for each stream."""
        counters = -(-width // WORDS)
        found = words_at(self.seed, self.column, stream, self.start * counters, self.rows * counters)
        return found.reshape(self.rows, counters * WORDS)[:, :width]

    def shares(self, width: int, stream: int = 0) -> np.ndarray:
        """As many floats from 0 to 1, the last one excluded."""
        return as_shares(self.words(width, stream))


def words_at(seed: int, column: int, stream: int, start: int, counters: int) -> np.ndarray:
    """The words of some counters, four each, no two of which have the same four."""
    key = np.array([seed % (1 << 64), column << 8 | stream], dtype=np.uint64)
    return np.random.Philox(key=key, counter=start).random_raw(counters * WORDS)


def as_shares(words: np.ndarray) -> np.ndarray:
    """Words as floats from 0 to 1, the last one excluded."""
    return (words >> np.uint64(11)) * 2.0**-53


def _numbers(draws: Draws, low: float, high: float, with_nan: bool) -> pa.Array:
    table = draws.shares(2)
    return pa.array(_with_nan(low + table[:, 0] * (high - low), table[:, 1], with_nan))


def _with_nan(values: np.ndarray, shares: np.ndarray, with_nan: bool) -> np.ndarray:
    return np.where(shares < SHARE_OF_NAN, np.nan, values) if with_nan else values


def _ints(draws: Draws, first: int, last: int) -> pa.Array:
    return pa.array(_choices(draws.shares(1)[:, 0], last - first + 1) + first)


def _choices(shares: np.ndarray, count: int) -> np.ndarray:
    return (shares * count).astype(np.int64)


def _named(prefix: str, numbers: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar(prefix), pa.array(numbers).cast(pa.string()), "")


def _categories(draws: Draws, count: int) -> pa.Array:
    return _named("C-", _choices(draws.shares(1)[:, 0], count))


def _hashes(draws: Draws, words: int) -> pa.Array:
    return _hexadecimal(draws.words(WORDS)[:, :words])


def _hash_categories(draws: Draws, words: int, count: int) -> pa.Array:
    chosen, places = np.unique(_choices(draws.shares(1)[:, 0], count), return_inverse=True)
    pool = words_at(draws.seed, draws.column, 1, 0, count).reshape(count, WORDS)
    return _hexadecimal(pool[chosen, :words]).take(pa.array(places.reshape(-1)))


def _hexadecimal(words: np.ndarray) -> pa.Array:
    """Each row of a table of words as a text of 16 digits for each word."""
    digits = np.ascontiguousarray(words, dtype=">u8").tobytes().hex().encode()
    offsets = np.arange(len(words) + 1, dtype=np.int32) * (16 * words.shape[1])
    return pa.StringArray.from_buffers(len(words), pa.py_buffer(offsets), pa.py_buffer(digits))


def _some_items(draws: Draws, most: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """For each row how many items it has, ``most`` at most, and all items one after the other: whole numbers below ``count``."""
    table = draws.shares(most + 1)
    lengths = _choices(table[:, 0], most + 1)
    chosen = np.arange(most) < lengths[:, None]
    return lengths, _choices(table[:, 1:][chosen], count)


def _offsets(lengths: np.ndarray) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def _int_lists(draws: Draws, most: int, count: int) -> pa.Array:
    lengths, items = _some_items(draws, most, count)
    return pa.ListArray.from_arrays(_offsets(lengths), pa.array(items))


def _text_lists(draws: Draws, most: int, count: int) -> pa.Array:
    lengths, items = _some_items(draws, most, count)
    return pa.ListArray.from_arrays(_offsets(lengths), _named("C-", items))


def _vectors(draws: Draws, length: int, with_nan: bool) -> pa.Array:
    values = _with_nan(draws.shares(length), draws.shares(length, 1), with_nan)
    return pa.ListArray.from_arrays(_offsets(np.full(draws.rows, length)), pa.array(values.reshape(-1)))


def _dicts(draws: Draws, most: int, count: int) -> pa.Array:
    lengths, items = _some_items(draws, most, count)
    rows = np.repeat(np.arange(draws.rows), lengths)
    # A key that is drawn twice is there once; keys are in order.
    kept = np.unique(rows * count + items)
    values = draws.shares(most, 1)
    places = np.arange(len(kept)) - np.searchsorted(kept, (kept // count) * count)
    counts = np.bincount(kept // count, minlength=draws.rows)
    return pa.MapArray.from_arrays(_offsets(counts), _named("K-", kept % count + 1), pa.array(values[kept // count, places]))


@attrs.frozen
class RandomColumn:
    """What the letter of a column stands for.

    Parameters
    ----------
    type
        Of its values.
    values
        Those of some rows.
    """

    type: ColumnType
    values: Callable[[Draws], pa.Array]


RANDOM_COLUMNS = {
    "n": RandomColumn(FLOAT, partial(_numbers, low=0, high=1, with_nan=False)),
    "N": RandomColumn(FLOAT, partial(_numbers, low=0, high=1, with_nan=True)),
    "r": RandomColumn(FLOAT, partial(_numbers, low=-100, high=100, with_nan=False)),
    "R": RandomColumn(FLOAT, partial(_numbers, low=-1000, high=1000, with_nan=True)),
    "b": RandomColumn(INT, partial(_ints, first=0, last=1)),
    "z": RandomColumn(INT, partial(_ints, first=1, last=10)),
    "Z": RandomColumn(INT, partial(_ints, first=1, last=100)),
    "s": RandomColumn(STR, partial(_categories, count=10)),
    "S": RandomColumn(STR, partial(_categories, count=100)),
    "c": RandomColumn(STR, partial(_categories, count=1000)),
    "C": RandomColumn(STR, partial(_categories, count=100_000)),
    "x": RandomColumn(STR, partial(_hash_categories, words=2, count=1000)),
    "X": RandomColumn(STR, partial(_hash_categories, words=4, count=100_000)),
    "h": RandomColumn(STR, partial(_hashes, words=2)),
    "H": RandomColumn(STR, partial(_hashes, words=4)),
    "l": RandomColumn(list_of(INT), partial(_int_lists, most=10, count=101)),
    "L": RandomColumn(list_of(INT), partial(_int_lists, most=100, count=1001)),
    "m": RandomColumn(list_of(STR), partial(_text_lists, most=10, count=101)),
    "M": RandomColumn(list_of(STR), partial(_text_lists, most=100, count=1001)),
    "v": RandomColumn(ARRAY, partial(_vectors, length=10, with_nan=False)),
    "V": RandomColumn(ARRAY, partial(_vectors, length=100, with_nan=False)),
    "w": RandomColumn(ARRAY, partial(_vectors, length=10, with_nan=True)),
    "W": RandomColumn(ARRAY, partial(_vectors, length=100, with_nan=True)),
    "d": RandomColumn(dict_of(STR, FLOAT), partial(_dicts, most=10, count=100)),
    "D": RandomColumn(dict_of(STR, FLOAT), partial(_dicts, most=100, count=1000)),
}
