"""Runs of consecutive rows with equal keys: where they begin, and groups within a run; and helpers for NumPy arrays of keys and lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import Chunk
from sframe_spark.types import ColumnType

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.key_equality_and_codes import comparable

# Adding this turns -0.0 into 0.0 and changes no other number.
POSITIVE_ZERO = 0.0


def run_starts(columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int) -> np.ndarray:
    """Return the positions at which runs begin: the first row, and rows that differ from the row before in some column.

    Missing equals missing, and NaN equals NaN.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> run_starts([pa.array([1, 1, None, None, 2])], [INT], 5).tolist()
    [0, 2, 4]
    """
    if not rows:
        return np.zeros(0, dtype=np.int64)
    starts = np.zeros(rows, dtype=bool)
    starts[0] = True
    for column, column_type in zip(columns, types, strict=True):
        starts[1:] |= differs(comparable(column, column_type))
    return np.flatnonzero(starts)


def run_numbers(starts: np.ndarray, rows: int) -> np.ndarray:
    """Return for each row the number of its run, counting from zero.

    Examples
    --------
    >>> run_numbers(np.array([0, 2]), 3).tolist()
    [0, 0, 1]
    """
    begins = np.zeros(rows, dtype=np.int64)
    begins[starts[1:]] = 1
    return np.cumsum(begins)


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the concatenation of ranges ``start, start + 1, ...``, given the start and the length of each.

    Examples
    --------
    >>> ranges(np.array([5, 0, 9]), np.array([2, 3, 0])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)


def members(lists: pa.ListArray | pa.LargeListArray) -> tuple[pa.Array, np.ndarray]:
    """Return the items of all lists, and for each item the index of its list; no list may be missing.

    Examples
    --------
    >>> values, numbers = members(pa.array([[1, 2], [], [3]]))
    >>> values.to_pylist(), numbers.tolist()
    ([1, 2, 3], [0, 0, 2])
    """
    offsets = lists.offsets.to_numpy(zero_copy_only=False)
    values = lists.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    return values, np.repeat(np.arange(len(lists)), np.diff(offsets))


def differs(values: pa.Array) -> np.ndarray:
    """Return, for each row but the first, whether its value differs from the value of the row before.

    Examples
    --------
    >>> differs(pa.array(["a", "a", None])).tolist(), differs(pa.array([], pa.string())).tolist()
    ([False, True], [])
    """
    if pa.types.is_string(values.type):
        unequal = pc.fill_null(pc.not_equal(values.slice(1), values.slice(0, max(0, len(values) - 1))), False).to_numpy(zero_copy_only=False)
    else:
        numbers = plain_numbers(values)
        later, earlier = numbers[1:], numbers[:-1]
        unequal = later != earlier
        if numbers.dtype.kind == "f":
            unequal &= ~(np.isnan(later) & np.isnan(earlier))
    if not values.null_count:
        return unequal
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    return (unequal & valid[1:] & valid[:-1]) | (valid[1:] != valid[:-1])


def plain_numbers(values: pa.Array) -> np.ndarray:
    """Convert a column of numbers or datetimes to a NumPy array of ints, floats or microseconds; missing values become zero."""
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    filled = pc.fill_null(values, pa.scalar(0, values.type)) if values.null_count else values
    return filled.to_numpy(zero_copy_only=False)


def raw_numbers(values: pa.Array) -> np.ndarray:
    """Return a view of a column of numbers or datetimes as ints, floats or microseconds; where a value is missing, the number is arbitrary."""
    kind = np.float64 if pa.types.is_floating(values.type) else np.int64
    return np.frombuffer(values.buffers()[1], kind)[values.offset : values.offset + len(values)] if len(values) else np.zeros(0, kind)


def unsigned_zero(extreme: Any) -> Any:
    """Return a minimum or maximum with -0.0 replaced by 0.0: both zeros tie, and which one is found depends on how rows are divided.

    Examples
    --------
    >>> unsigned_zero(-0.0), unsigned_zero("a")
    (0.0, 'a')
    """
    return extreme + POSITIVE_ZERO if isinstance(extreme, float) else extreme


def unsigned_zeros(extremes: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return an array with -0.0 replaced by 0.0; the result is written to ``out`` if given, which may be the input.

    Examples
    --------
    >>> unsigned_zeros(np.array([-0.0, -1.5])).tolist()
    [0.0, -1.5]
    """
    return np.add(extremes, POSITIVE_ZERO, out=out) if extremes.dtype.kind == "f" else extremes


@attrs.frozen(eq=False)
class Grouping:
    """An assignment of rows to groups.

    Parameters
    ----------
    order
        Row positions, group by group, and within a group in row order; None if the rows are in this order already.
    starts
        The index in ``order`` at which each group begins.
    runs
        For each group the number of the run to which it belongs, counting from zero.
    """

    order: np.ndarray | None
    starts: np.ndarray
    runs: np.ndarray


def group_runs(table: Chunk, types: Sequence[ColumnType], key_count: int, within_count: int) -> Grouping:
    """Return the groups of rows that are in the same run and equal in the columns that divide a run.

    A run is a sequence of consecutive rows that are equal in the first ``key_count`` columns; the next ``within_count`` columns divide its rows into
    groups, which are in order of first appearance.
    """
    starts = run_starts(table.columns[:key_count], types[:key_count], table.rows)
    if not within_count:
        return Grouping(None, starts, np.arange(len(starts)))
    dividing = slice(key_count, key_count + within_count)
    return group_within(run_numbers(starts, table.rows), table.columns[dividing], types[dividing])


def group_within(run: np.ndarray, columns: Sequence[pa.Array], types: Sequence[ColumnType]) -> Grouping:
    """Group the rows of each run (given as the run number of each row) by columns, groups in order of first appearance.

    Examples
    --------
    >>> from sframe_spark.types import STR
    >>> grouping = group_within(np.array([0, 0, 0, 1]), [pa.array(["b", "a", "b", "b"])], [STR])
    >>> grouping.order.tolist(), grouping.starts.tolist(), grouping.runs.tolist()
    ([0, 2, 1, 3], [0, 2, 3], [0, 0, 1])
    """
    group, first = run, np.flatnonzero(np.diff(run, prepend=-1))
    for column, column_type in zip(columns, types, strict=True):
        encoded = comparable(column, column_type).dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        group, first = by_appearance(group * (len(encoded.dictionary) + 1) + codes)
    counts = np.bincount(group, minlength=len(first))
    is_ordered = bool(np.all(group[1:] >= group[:-1]))
    # NumPy sorts 16-bit ints in linear time.
    narrow = group.astype(np.uint16) if len(first) <= 2**16 else group
    order = None if is_ordered else np.argsort(narrow, kind="stable")
    return Grouping(order, np.cumsum(counts) - counts, run[first])


def by_appearance(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Renumber codes in order of first appearance; return the new codes, and the position at which each code appears first.

    Examples
    --------
    >>> [part.tolist() for part in by_appearance(np.array([7, 3, 7, 5]))]
    [[0, 1, 0, 2], [0, 1, 3]]
    """
    size = int(codes.max()) + 1 if len(codes) else 0
    if size > 8 * len(codes):
        codes = np.unique(codes, return_inverse=True)[1]
        size = int(codes.max()) + 1
    first = np.full(size, len(codes))
    # Of several assignments to one index the last one wins.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    result = np.flatnonzero(first < len(codes))
    result = result[np.argsort(first[result])]
    numbers = np.empty(size, dtype=np.int64)
    numbers[result] = np.arange(len(result))
    return numbers[codes], first[result]
