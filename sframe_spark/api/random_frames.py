"""Frames to try things with: random ones, and all combinations of some values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from sframe_spark.api.files.appended_rows import node_from_runs
from sframe_spark.api.hints import answered
from sframe_spark.api.indexing import is_row_index
from sframe_spark.api.random_columns import RANDOM_COLUMNS, Draws, RandomColumn
from sframe_spark.api.sframe import SFrame
from sframe_spark.errors import (
    ArgumentClassError,
    BeyondRangeError,
    ColumnCodeError,
    EmptyColumnsError,
    RowNumberError,
    SchemaError,
)

# Of the longest columns a row takes 10 kB, and half as much again while it is drawn.
ROWS_PER_RUN = 4096


@answered
def generate_random_sframe(num_rows: int, column_codes: str, random_seed: int = 0) -> SFrame:
    """Random rows, the same for the same seed; the first rows are the same however many there are.

    Parameters
    ----------
    num_rows
        How many.
    column_codes
        A letter for each column, which is named by its number and its letter, such as ``X1-n``:

        ======= ==================================================================================
        n, N    floats from 0 to 1; of N 1% are NaN
        r, R    floats from -100 to 100; of R from -1000 to 1000, and 1% are NaN
        b, z, Z ints 0 and 1; from 1 to 10; from 1 to 100
        s, S    10, and 100, short texts
        c, C    1000, and 100,000, short texts
        x, X    1000, and 100,000, texts of 32 and 64 hexadecimal digits
        h, H    texts of 32 and 64 hexadecimal digits, no two alike
        l, L    lists of at most 10 ints from 0 to 100; of at most 100 from 0 to 1000
        m, M    lists of at most 10 of 101 short texts; of at most 100 of 1001
        v, V    arrays of 10, and 100, floats from 0 to 1
        w, W    the same, of which 1% are NaN
        d, D    dicts of at most 10 of 100 short texts to floats from 0 to 1; of at most 100 of 1000
        ======= ==================================================================================
    random_seed
        A whole number of 64 bits: another one gives other rows.

    Raises
    ------
    AssertionError
        If an argument is of another class (the error is a TypeError, or a ValueError, too).
    RuntimeError
        If a letter stands for no column.

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
    node = node_from_runs(_runs(columns, int(num_rows), int(random_seed)), [column.type for column in columns])
    return SFrame(_node=node, _names=[f"X{place}-{code}" for place, code in enumerate(column_codes, 1)])


def _runs(columns: list[RandomColumn], rows: int, seed: int) -> Iterator[list[pa.Array]]:
    for start in range(0, rows, ROWS_PER_RUN):
        stop = min(start + ROWS_PER_RUN, rows)
        yield [column.values(Draws(seed, place, start, stop)) for place, column in enumerate(columns)]


@answered
def crossproduct(d: Mapping[str, Iterable[Any]]) -> SFrame:
    """A row for each combination of some values, those of the last name changing first.

    Parameters
    ----------
    d
        Values by the names of their columns.

    Raises
    ------
    TypeError
        If it is no dict of values, or a name has none.
    RuntimeError
        If there is no name.

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
    values = {name: list(given) for name, given in d.items()}
    for name, given in values.items():
        if not given:
            raise SchemaError(f"{name!r} has no values: there are no combinations")
    return SFrame([dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]).unpack("X1", column_name_prefix="")
