"""The function ``generate_random_sframe``, which makes a frame of seeded random values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.error_hints import call_hint
from sframe_spark.api.index_argument_checks import is_row_index
from sframe_spark.api.node_value_conversion import node_from_batches
from sframe_spark.api.sframe import SFrame
from sframe_spark.errors import ArgumentClassError, BeyondRangeError, ColumnCodeError, RowNumberError
from sframe_spark.types import ARRAY, FLOAT, INT, STR, dict_of, list_of

# 64-bit words that the Philox generator makes for one value of its counter.
WORDS = 4
NAN_SHARE = 0.01


@attrs.frozen
class Draws:
    """The random 64-bit words for one column and a range of rows.

    Parameters
    ----------
    seed
        The user's seed, a 64-bit integer.
    column
        Index of the column; each column has its own random stream.
    start, stop
        The range of row indices, without ``stop``.
    """

    seed: int
    column: int
    start: int
    stop: int

    @property
    def rows(self) -> int:
        """Return the number of rows in the range."""
        return self.stop - self.start

    def words(self, width: int, stream: int = 0) -> np.ndarray:
        """Return an array with one line per row and ``width`` words in each; different numbers of ``stream`` give independent words."""
        counters = -(-width // WORDS)
        words = words_at(self.seed, self.column, stream, self.start * counters, self.rows * counters)
        return words.reshape(self.rows, counters * WORDS)[:, :width]

    def shares(self, width: int, stream: int = 0) -> np.ndarray:
        """Return an array with one line per row and ``width`` floats from 0 to below 1 in each; see :meth:`words` for ``stream``."""
        return (self.words(width, stream) >> np.uint64(11)) * 2.0**-53


def words_at(seed: int, column: int, stream: int, start: int, counters: int) -> np.ndarray:
    """Return four random words for each counter from ``start`` to ``start + counters - 1``; different counters never give the same four words."""
    key = np.array([seed % (1 << 64), column << 8 | stream], dtype=np.uint64)
    return np.random.Philox(key=key, counter=start).random_raw(counters * WORDS)


def _floats(draws: Draws, low: float, high: float, with_nan: bool) -> pa.Array:
    shares = draws.shares(2)
    return pa.array(_with_nan(low + shares[:, 0] * (high - low), shares[:, 1], with_nan))


def _with_nan(values: np.ndarray, shares: np.ndarray, with_nan: bool) -> np.ndarray:
    return np.where(shares < NAN_SHARE, np.nan, values) if with_nan else values


def _ints(draws: Draws, first: int, last: int) -> pa.Array:
    return pa.array(_ints_below(last - first + 1, draws.shares(1)[:, 0]) + first)


def _ints_below(count: int, shares: np.ndarray) -> np.ndarray:
    return (shares * count).astype(np.int64)


def _prefixed(prefix: str, numbers: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar(prefix), pa.array(numbers).cast(pa.string()), "")


def _categories(draws: Draws, count: int) -> pa.Array:
    return _prefixed("C-", _ints_below(count, draws.shares(1)[:, 0]))


def _hashes(draws: Draws, words: int) -> pa.Array:
    return _hexadecimal(draws.words(WORDS)[:, :words])


def _hash_categories(draws: Draws, words: int, count: int) -> pa.Array:
    categories, indices = np.unique(_ints_below(count, draws.shares(1)[:, 0]), return_inverse=True)
    hashes = words_at(draws.seed, draws.column, 1, 0, count).reshape(count, WORDS)
    return _hexadecimal(hashes[categories, :words]).take(pa.array(indices.reshape(-1)))


def _hexadecimal(words: np.ndarray) -> pa.Array:
    """Return a string for each line of a two-dimensional array of words, with 16 hexadecimal digits per word."""
    digits = np.ascontiguousarray(words, dtype=">u8").tobytes().hex().encode()
    offsets = np.arange(len(words) + 1, dtype=np.int32) * (16 * words.shape[1])
    return pa.StringArray.from_buffers(len(words), pa.py_buffer(offsets), pa.py_buffer(digits))


def _items(draws: Draws, max_items: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a random length for each row, from 0 to ``max_items``, and the items of all rows in one array, each from 0 to ``count - 1``."""
    shares = draws.shares(max_items + 1)
    lengths = _ints_below(max_items + 1, shares[:, 0])
    return lengths, _ints_below(count, shares[:, 1:][np.arange(max_items) < lengths[:, None]])


def _offsets(lengths: np.ndarray) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def _lists(draws: Draws, max_items: int, count: int, of_strings: bool) -> pa.Array:
    lengths, items = _items(draws, max_items, count)
    return pa.ListArray.from_arrays(_offsets(lengths), _prefixed("C-", items) if of_strings else pa.array(items))


def _arrays(draws: Draws, length: int, with_nan: bool) -> pa.Array:
    values = _with_nan(draws.shares(length), draws.shares(length, 1), with_nan)
    return pa.ListArray.from_arrays(_offsets(np.full(draws.rows, length)), pa.array(values.reshape(-1)))


def _dicts(draws: Draws, max_items: int, count: int) -> pa.Array:
    lengths, items = _items(draws, max_items, count)
    rows = np.repeat(np.arange(draws.rows), lengths)
    # A key is kept once per row; the keys of a row are sorted.
    distinct = np.unique(rows * count + items)
    key_rows = distinct // count
    key_indices = np.arange(len(distinct)) - np.searchsorted(distinct, key_rows * count)
    values = draws.shares(max_items, 1)[key_rows, key_indices]
    key_counts = np.bincount(key_rows, minlength=draws.rows)
    return pa.MapArray.from_arrays(_offsets(key_counts), _prefixed("K-", distinct % count + 1), pa.array(values))


# For each letter, the column type and the function that returns the values for the rows of a ``Draws``.
RANDOM_COLUMNS = {
    "n": (FLOAT, partial(_floats, low=0, high=1, with_nan=False)),
    "N": (FLOAT, partial(_floats, low=0, high=1, with_nan=True)),
    "r": (FLOAT, partial(_floats, low=-100, high=100, with_nan=False)),
    "R": (FLOAT, partial(_floats, low=-1000, high=1000, with_nan=True)),
    "b": (INT, partial(_ints, first=0, last=1)),
    "z": (INT, partial(_ints, first=1, last=10)),
    "Z": (INT, partial(_ints, first=1, last=100)),
    "s": (STR, partial(_categories, count=10)),
    "S": (STR, partial(_categories, count=100)),
    "c": (STR, partial(_categories, count=1000)),
    "C": (STR, partial(_categories, count=100_000)),
    "x": (STR, partial(_hash_categories, words=2, count=1000)),
    "X": (STR, partial(_hash_categories, words=4, count=100_000)),
    "h": (STR, partial(_hashes, words=2)),
    "H": (STR, partial(_hashes, words=4)),
    "l": (list_of(INT), partial(_lists, max_items=10, count=101, of_strings=False)),
    "L": (list_of(INT), partial(_lists, max_items=100, count=1001, of_strings=False)),
    "m": (list_of(STR), partial(_lists, max_items=10, count=101, of_strings=True)),
    "M": (list_of(STR), partial(_lists, max_items=100, count=1001, of_strings=True)),
    "v": (ARRAY, partial(_arrays, length=10, with_nan=False)),
    "V": (ARRAY, partial(_arrays, length=100, with_nan=False)),
    "w": (ARRAY, partial(_arrays, length=10, with_nan=True)),
    "W": (ARRAY, partial(_arrays, length=100, with_nan=True)),
    "d": (dict_of(STR, FLOAT), partial(_dicts, max_items=10, count=100)),
    "D": (dict_of(STR, FLOAT), partial(_dicts, max_items=100, count=1000)),
}


# A row of the widest columns takes 10 kB, and 5 kB more while it is generated.
ROWS_PER_BATCH = 4096


@call_hint
def generate_random_sframe(num_rows: int, column_codes: str, random_seed: int = 0) -> SFrame:
    """Return a frame of random values that depend only on the arguments; a longer frame begins with the same rows as a shorter one.

    Parameters
    ----------
    num_rows
        Number of rows.
    column_codes
        One letter per column. A column is named by its number, from 1, and its letter, such as ``X1-n``:

        ======= ==================================================================================
        n, N    floats from 0 to 1; in N about 1% are NaN
        r, R    r: floats from -100 to 100; R: from -1000 to 1000, about 1% are NaN
        b, z, Z ints: b: 0 or 1; z: from 1 to 10; Z: from 1 to 100
        s, S    short strings; s: 10 distinct values; S: 100
        c, C    short strings; c: 1000 distinct values; C: 100,000
        x, X    hexadecimal strings; x: 1000 distinct values of 32 digits; X: 100,000 of 64 digits
        h, H    hexadecimal strings, practically all distinct; h: 32 digits; H: 64 digits
        l, L    lists of ints; l: at most 10, from 0 to 100; L: at most 100, from 0 to 1000
        m, M    lists of short strings; m: at most 10, of 101 distinct values; M: at most 100, of 1001
        v, V    arrays of floats from 0 to 1; v: 10 floats; V: 100
        w, W    like v and V, but about 1% of the floats are NaN
        d, D    dicts from short strings to floats from 0 to 1; d: at most 10 of 100 keys; D: at most 100 of 1000
        ======= ==================================================================================
    random_seed
        Signed 64-bit integer; different seeds give different values.

    Raises
    ------
    AssertionError
        If ``num_rows`` is negative or not an integer, ``column_codes`` is not a string, or ``random_seed`` is not an integer.
    OverflowError
        If ``num_rows`` or ``random_seed`` has more than 64 bits.
    RuntimeError
        If ``column_codes`` contains a letter that is not in the table above.

    Examples
    --------
    >>> from sframe_spark.util import generate_random_sframe
    >>> frame = generate_random_sframe(1000, "zs")
    >>> frame.column_names(), frame["X1-z"].min(), frame["X1-z"].max(), sorted(frame["X2-s"].unique())[0]
    (['X1-z', 'X2-s'], 1, 10, 'C-0')
    """
    if not is_row_index(num_rows) or num_rows < 0:
        raise RowNumberError(f"num_rows must be a number of rows, not negative, got {num_rows!r:.60}")
    if not isinstance(column_codes, str):
        raise ArgumentClassError(f"column_codes must be a str with one letter for each column, got {column_codes!r:.60}")
    if not is_row_index(random_seed):
        raise ArgumentClassError(f"random_seed must be a whole number, got {random_seed!r:.60}")
    for name, number in (("num_rows", num_rows), ("random_seed", random_seed)):
        if not -(2**63) <= number < 2**63:
            raise BeyondRangeError(f"{name} must be a number that fits 64 bits, got {number!r:.60}")
    unknown = next((code for code in column_codes if code not in RANDOM_COLUMNS), None)
    if unknown is not None:
        raise ColumnCodeError(f"no random column has the code {unknown!r}: the codes are {''.join(RANDOM_COLUMNS)}")
    if not column_codes:
        return SFrame()
    node = node_from_batches(_batches(column_codes, int(num_rows), int(random_seed)), [RANDOM_COLUMNS[code][0] for code in column_codes])
    return SFrame(_node=node, _names=[f"X{number}-{code}" for number, code in enumerate(column_codes, 1)])


def _batches(column_codes: str, rows: int, seed: int) -> Iterator[list[pa.Array]]:
    for start in range(0, rows, ROWS_PER_BATCH):
        stop = min(start + ROWS_PER_BATCH, rows)
        yield [RANDOM_COLUMNS[code][1](Draws(seed, column, start, stop)) for column, code in enumerate(column_codes)]
