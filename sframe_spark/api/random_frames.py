"""Functions that make frames: ``generate_random_sframe`` from seeded random values, ``crossproduct`` from all combinations of values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.hints import call_hint
from sframe_spark.api.indexing import is_row_index
from sframe_spark.api.node_values import node_from_batches
from sframe_spark.api.sframe import SFrame
from sframe_spark.errors import ArgumentClassError, BeyondRangeError, ColumnCodeError, EmptyColumnsError, RowNumberError, SchemaError
from sframe_spark.types import ARRAY, FLOAT, INT, STR, ColumnType, dict_of, list_of

# 64-bit words that the Philox generator makes for one value of its counter.
WORDS = 4
SHARE_OF_NAN = 0.01


@attrs.frozen
class Draws:
    """The random 64-bit words for one column and a range of rows.

    Parameters
    ----------
    seed
        The user's seed, a 64-bit integer.
    column
        Index of the column; each column has a random stream of its own.
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
        return as_shares(self.words(width, stream))


def words_at(seed: int, column: int, stream: int, start: int, counters: int) -> np.ndarray:
    """Return four random words for each counter from ``start`` to ``start + counters - 1``; different counters never give the same four words."""
    key = np.array([seed % (1 << 64), column << 8 | stream], dtype=np.uint64)
    return np.random.Philox(key=key, counter=start).random_raw(counters * WORDS)


def as_shares(words: np.ndarray) -> np.ndarray:
    """Return 64-bit words as floats from 0 to below 1."""
    return (words >> np.uint64(11)) * 2.0**-53


def _numbers(draws: Draws, low: float, high: float, with_nan: bool) -> pa.Array:
    table = draws.shares(2)
    return pa.array(_with_nan(low + table[:, 0] * (high - low), table[:, 1], with_nan))


def _with_nan(values: np.ndarray, shares: np.ndarray, with_nan: bool) -> np.ndarray:
    return np.where(shares < SHARE_OF_NAN, np.nan, values) if with_nan else values


def _ints(draws: Draws, first: int, last: int) -> pa.Array:
    return pa.array(_whole_below(draws.shares(1)[:, 0], last - first + 1) + first)


def _whole_below(shares: np.ndarray, count: int) -> np.ndarray:
    return (shares * count).astype(np.int64)


def _named(prefix: str, numbers: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar(prefix), pa.array(numbers).cast(pa.string()), "")


def _categories(draws: Draws, count: int) -> pa.Array:
    return _named("C-", _whole_below(draws.shares(1)[:, 0], count))


def _hashes(draws: Draws, words: int) -> pa.Array:
    return _hexadecimal(draws.words(WORDS)[:, :words])


def _hash_categories(draws: Draws, words: int, count: int) -> pa.Array:
    chosen, places = np.unique(_whole_below(draws.shares(1)[:, 0], count), return_inverse=True)
    pool = words_at(draws.seed, draws.column, 1, 0, count).reshape(count, WORDS)
    return _hexadecimal(pool[chosen, :words]).take(pa.array(places.reshape(-1)))


def _hexadecimal(words: np.ndarray) -> pa.Array:
    """Return a string for each line of a two-dimensional array of words, with 16 hexadecimal digits per word."""
    digits = np.ascontiguousarray(words, dtype=">u8").tobytes().hex().encode()
    offsets = np.arange(len(words) + 1, dtype=np.int32) * (16 * words.shape[1])
    return pa.StringArray.from_buffers(len(words), pa.py_buffer(offsets), pa.py_buffer(digits))


def _some_items(draws: Draws, max_items: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a random length for each row, from 0 to ``max_items``, and the items of all rows in one array, each from 0 to ``count - 1``."""
    table = draws.shares(max_items + 1)
    lengths = _whole_below(table[:, 0], max_items + 1)
    chosen = np.arange(max_items) < lengths[:, None]
    return lengths, _whole_below(table[:, 1:][chosen], count)


def _offsets(lengths: np.ndarray) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def _int_lists(draws: Draws, max_items: int, count: int) -> pa.Array:
    lengths, items = _some_items(draws, max_items, count)
    return pa.ListArray.from_arrays(_offsets(lengths), pa.array(items))


def _text_lists(draws: Draws, max_items: int, count: int) -> pa.Array:
    lengths, items = _some_items(draws, max_items, count)
    return pa.ListArray.from_arrays(_offsets(lengths), _named("C-", items))


def _vectors(draws: Draws, length: int, with_nan: bool) -> pa.Array:
    values = _with_nan(draws.shares(length), draws.shares(length, 1), with_nan)
    return pa.ListArray.from_arrays(_offsets(np.full(draws.rows, length)), pa.array(values.reshape(-1)))


def _dicts(draws: Draws, max_items: int, count: int) -> pa.Array:
    lengths, items = _some_items(draws, max_items, count)
    rows = np.repeat(np.arange(draws.rows), lengths)
    # A key is kept once per row; the keys of a row are sorted.
    distinct = np.unique(rows * count + items)
    values = draws.shares(max_items, 1)
    places = np.arange(len(distinct)) - np.searchsorted(distinct, (distinct // count) * count)
    counts = np.bincount(distinct // count, minlength=draws.rows)
    return pa.MapArray.from_arrays(_offsets(counts), _named("K-", distinct % count + 1), pa.array(values[distinct // count, places]))


@attrs.frozen
class RandomColumn:
    """How the values of a random column are made; ``RANDOM_COLUMNS`` has one for each letter.

    Parameters
    ----------
    type
        Column type of the values.
    values
        Function that returns the values for the rows of a ``Draws``.
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
    "l": RandomColumn(list_of(INT), partial(_int_lists, max_items=10, count=101)),
    "L": RandomColumn(list_of(INT), partial(_int_lists, max_items=100, count=1001)),
    "m": RandomColumn(list_of(STR), partial(_text_lists, max_items=10, count=101)),
    "M": RandomColumn(list_of(STR), partial(_text_lists, max_items=100, count=1001)),
    "v": RandomColumn(ARRAY, partial(_vectors, length=10, with_nan=False)),
    "V": RandomColumn(ARRAY, partial(_vectors, length=100, with_nan=False)),
    "w": RandomColumn(ARRAY, partial(_vectors, length=10, with_nan=True)),
    "W": RandomColumn(ARRAY, partial(_vectors, length=100, with_nan=True)),
    "d": RandomColumn(dict_of(STR, FLOAT), partial(_dicts, max_items=10, count=100)),
    "D": RandomColumn(dict_of(STR, FLOAT), partial(_dicts, max_items=100, count=1000)),
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
        raise RowNumberError(f"num_rows is a number of rows, not negative, got {num_rows!r:.60}")
    if not isinstance(column_codes, str):
        raise ArgumentClassError(f"column_codes is a str of letters, one for each column, got {column_codes!r:.60}")
    if not is_row_index(random_seed):
        raise ArgumentClassError(f"random_seed is a whole number, got {random_seed!r:.60}")
    for name, number in (("num_rows", num_rows), ("random_seed", random_seed)):
        if not -(2**63) <= number < 2**63:
            raise BeyondRangeError(f"{name} is a number of 64 bits, got {number!r:.60}")
    unknown = next((code for code in column_codes if code not in RANDOM_COLUMNS), None)
    if unknown is not None:
        raise ColumnCodeError(f"no random column has the code {unknown!r}: the codes are {''.join(RANDOM_COLUMNS)}")
    if not column_codes:
        return SFrame()
    columns = [RANDOM_COLUMNS[code] for code in column_codes]
    node = node_from_batches(_batches(columns, int(num_rows), int(random_seed)), [column.type for column in columns])
    return SFrame(_node=node, _names=[f"X{place}-{code}" for place, code in enumerate(column_codes, 1)])


def _batches(columns: list[RandomColumn], rows: int, seed: int) -> Iterator[list[pa.Array]]:
    for start in range(0, rows, ROWS_PER_BATCH):
        stop = min(start + ROWS_PER_BATCH, rows)
        yield [column.values(Draws(seed, place, start, stop)) for place, column in enumerate(columns)]


@call_hint
def crossproduct(d: Mapping[str, Iterable[Any]]) -> SFrame:
    """Return a frame with a row for each combination of values, one value from each column; the values of the last column change fastest.

    Parameters
    ----------
    d
        Maps the name of each column to its values.

    Raises
    ------
    TypeError
        If ``d`` is not a dict whose keys are strings, or a column has no values.
    RuntimeError
        If ``d`` is empty.

    Examples
    --------
    >>> from sframe_spark.util import crossproduct
    >>> list(crossproduct({"rate": [0.5, 1.0], "kind": ["a", "b"]}))[1]
    {'kind': 'b', 'rate': 0.5}
    """
    if not isinstance(d, Mapping) or not all(isinstance(name, str) for name in d):
        raise SchemaError(f"crossproduct() takes a dict of values by the names of their columns, got {d!r:.60}")
    if not d:
        raise EmptyColumnsError("crossproduct() takes at least one name with its values")
    values = {name: list(column_values) for name, column_values in d.items()}
    for name, column_values in values.items():
        if not column_values:
            raise SchemaError(f"{name!r} has no values: there are no combinations")
    return SFrame([dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]).unpack("X1", column_name_prefix="")
