"""Segmented scans: running aggregates within groups, computed with NumPy arrays and an associative operation.

A scan turns rows into *components* (arrays with one entry per row), combines components of earlier rows with components of later rows, and turns
components into values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_equality_and_codes import codes_of, comparable, tokens_of
from sframe_spark.compute.key_runs import unsigned_zeros
from sframe_spark.compute.sorting_and_searching import order_of
from sframe_spark.types import FLOAT, INT, ColumnType

Components = tuple[np.ndarray, ...]
Combine = Callable[[Components, Components], Components]
MIN_ROWS_PER_CALL = 2_000
"""If groups have at least this many rows on average, NumPy is called once for each group."""
STEPS = 16
"""Number of entries in a stretch: a scan takes this many steps, each of which processes one entry of every stretch at once."""


@attrs.frozen(eq=False)
class RowGroups:
    """The rows of a batch, sorted by group.

    Parameters
    ----------
    tokens
        One hashable value per group, which is the same in all batches for equal keys (date-times are compared by instant).
    order
        The rows, group by group, in row order within each group.
    starts
        Start of each group in ``order``.
    """

    tokens: list[Hashable]
    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, columns: Sequence[pa.Array], types: Sequence[ColumnType], rows: int) -> RowGroups:
        """Return the groups of the rows, by some key columns; without key columns all rows are one group."""
        if not rows:
            return cls([], np.zeros(0, np.int64), np.zeros(0, np.int64))
        if not columns:
            return cls([()], np.arange(rows), np.zeros(1, np.int64))
        keys = [comparable(column, column_type) for column, column_type in zip(columns, types, strict=True)]
        codes = codes_of(keys)
        order = order_of([codes])
        sorted_codes = codes[order]
        starts = np.concatenate([[0], np.flatnonzero(sorted_codes[1:] != sorted_codes[:-1]) + 1])
        firsts = pa.array(order[starts])
        return cls(tokens_of([key.take(firsts) for key in keys]), order, starts)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.order)

    @property
    def stops(self) -> np.ndarray:
        """End of each group in ``order``."""
        return np.concatenate([self.starts[1:], [self.rows]]) if len(self.starts) else self.starts

    def are_long(self) -> bool:
        """Return whether groups are so long that one call per group is faster than several passes over all rows."""
        return len(self.starts) <= 1 or len(self.starts) * MIN_ROWS_PER_CALL <= self.rows

    def group_of_rows(self) -> np.ndarray:
        """Return the group of each entry of ``order``."""
        return np.repeat(np.arange(len(self.starts)), self.stops - self.starts)

    def along(self, values: np.ndarray) -> np.ndarray:
        """Return values, which are given in row order, in group order."""
        # If there is one group, group order is row order.
        return values[self.order] if len(self.starts) > 1 else values

    def chosen(self, which: np.ndarray) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray]:
        """Select entries of ``order`` by a mask. Return their positions, the start of each group among them, and which groups have any.

        Examples
        --------
        >>> groups = RowGroups(["a", "b"], np.array([0, 2, 1]), np.array([0, 2]))
        >>> [found.tolist() for found in groups.chosen(np.array([False, True, False]))]
        [[1], [0], [0]]
        """
        if which.all():
            return slice(None), self.starts, np.arange(len(self.starts))
        # np.count_nonzero is much faster than adding bools.
        is_one_group = len(self.starts) == 1
        counts = np.array([np.count_nonzero(which)]) if is_one_group else np.add.reduceat(which, self.starts, dtype=np.int64)
        present = np.flatnonzero(counts)
        return np.flatnonzero(which), (np.cumsum(counts) - counts)[present], present

    def to_row_order(self, values: np.ndarray) -> np.ndarray:
        """Return values, which are given in group order, in row order."""
        if len(self.starts) <= 1:
            return values
        result = np.empty_like(values)
        result[self.order] = values
        return result


def segmented_scan(values: Components, groups: RowGroups, combine: Combine) -> Components:
    """Return each entry (in group order) combined with all earlier entries of its group."""
    goes_on = np.ones(groups.rows, dtype=bool)
    goes_on[groups.starts] = False
    return scan(values, goes_on, combine)


def scan(values: Components, goes_on: np.ndarray, combine: Combine) -> Components:
    """Return each entry combined with those before it, back to the last one for which ``goes_on`` is false.

    Stretches of ``STEPS`` entries are scanned in parallel, step by step. A recursive scan finds what each stretch carries over to the next.

    Examples
    --------
    >>> goes_on = np.array([False, True, False, True, True])
    >>> scan((np.array([1, 2, 3, 4, 5]),), goes_on, lambda a, b: (a[0] + b[0],))[0].tolist()
    [1, 3, 3, 7, 12]
    """
    count = len(goes_on)
    if count <= 1:
        return values
    steps = min(STEPS, count)
    stretches = -(-count // steps)
    # The entries that all stretches process in one step are contiguous.
    laid = tuple(in_steps(component, steps, stretches) for component in values)
    reaches = in_steps(goes_on, steps, stretches)
    for step in range(1, steps):
        update(laid, step, combine(at(laid, step - 1), at(laid, step)), reaches[step])
        reaches[step] &= reaches[step - 1]
    if stretches > 1:
        ends = scan(at(laid, steps - 1), reaches[-1], combine)
        carried = tuple(np.concatenate([end[:1], end[:-1]]) for end in ends)
        for step in range(steps):
            update(laid, step, combine(carried, at(laid, step)), reaches[step])
    return tuple(component.T.reshape(-1)[:count] for component in laid)


def in_steps(component: np.ndarray, steps: int, stretches: int) -> np.ndarray:
    """Return a copy in which the entries of one step are contiguous; the last stretch is padded with the last entry."""
    added = steps * stretches - len(component)
    filled = np.concatenate([component, np.repeat(component[-1:], added)]) if added else component
    return np.array(filled.reshape(stretches, steps).T, order="C")


def at(laid: Components, step: int) -> Components:
    """Return the entries of one step."""
    return tuple(component[step] for component in laid)


def update(laid: Components, step: int, combined: Components, where: np.ndarray) -> None:
    """Overwrite the entries of one step for which a mask is true."""
    for component, new in zip(laid, combined, strict=True):
        np.copyto(component[step], new, where=where)


def accumulated(values: Components, groups: RowGroups, functions: Sequence[np.ufunc]) -> Components:
    """Return the result of :func:`segmented_scan` with one NumPy function per component."""
    results = []
    for component, function in zip(values, functions, strict=True):
        if groups.are_long():
            result = np.empty_like(component)
            for start, stop in zip(groups.starts.tolist(), groups.stops.tolist(), strict=True):
                function.accumulate(component[start:stop], out=result[start:stop])
        elif function is np.add and component.dtype.kind == "i":
            result = totals_so_far(component, groups)
        else:
            (result,) = segmented_scan((component,), groups, combined_by(function))
        results.append(result)
    return tuple(results)


def combined_by(*functions: np.ufunc) -> Combine:
    """Return a function that combines each component with a NumPy function of its own."""
    return lambda first, second: tuple(function(a, b) for function, a, b in zip(functions, first, second, strict=True))


def totals_so_far(numbers: np.ndarray, groups: RowGroups) -> np.ndarray:
    """Return running sums of ints within groups, as differences of running sums of all rows; wrapping around does not change the differences."""
    with np.errstate(over="ignore"):
        sums = np.cumsum(numbers)
        return sums - np.repeat(sums[groups.starts] - numbers[groups.starts], groups.stops - groups.starts)


NOWHERE = np.iinfo(np.int64).max
"""A pointer to no row; the largest value, so that a minimum finds the first row."""
NO_OFFSET = np.iinfo(np.int16).min
"""The missing offset of a date-time; smaller than every offset in minutes."""


class Scan(Protocol):
    """Base class of scans over the argument columns of an aggregate.

    ``pooled`` is the argument column whose values the last component points at by row index; None if no component points at values.
    """

    pooled: int | None = None

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """Return the components of each single row, without the pointer component."""

    def identity(self, count: int) -> Components:
        """Return the components of no rows, ``count`` times."""

    def combine(self, first: Components, second: Components) -> Components:
        """Return the components of earlier and later rows together."""

    def scan(self, values: Components, groups: RowGroups) -> Components:
        """Return for each row the components of all rows of its group up to it, in group order."""
        return segmented_scan(values, groups, self.combine)

    def finish(self, values: Components, pool: pa.Array | None) -> pa.Array:
        """Return the values of the aggregate."""


class NumpyScan(Scan, Protocol):
    """A scan that combines each component with a NumPy function of its own."""

    functions: tuple[np.ufunc, ...] = ()

    def combine(self, first: Components, second: Components) -> Components:
        return combined_by(*self.functions)(first, second)

    def scan(self, values: Components, groups: RowGroups) -> Components:
        """Return the scan; if groups are long, it is computed by the ``accumulate`` method of each function."""
        return accumulated(values, groups, self.functions)


class SumScan(NumpyScan):
    """The sum of ints that are not missing, which wraps around."""

    functions = (np.add,)

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        return (numbers(columns[0], np.dtype(np.int64)),)

    def identity(self, count: int) -> Components:
        return (np.zeros(count, dtype=np.int64),)

    def finish(self, values: Components, pool: pa.Array | None) -> pa.Array:
        return pa.array(values[0])


class CountScan(SumScan):
    """The number of rows."""

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        return (np.ones(rows, dtype=np.int64),)


class ExtremeScan(NumpyScan):
    """The smallest or largest value; NaN if there is a NaN, missing if there is no value."""

    def __init__(self, column_type: ColumnType, largest: bool) -> None:
        self.physical = column_type.physical
        self.dtype = np.dtype(np.float64 if column_type == FLOAT else np.int64)
        limits = (-np.inf, np.inf) if self.dtype.kind == "f" else (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
        self.neutral = limits[0] if largest else limits[1]
        self.functions = (np.maximum if largest else np.minimum, np.logical_or)

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """Return the value (for a missing one a value that is never extreme), and whether there is one."""
        present = valid(columns[0])
        return (np.where(present, numbers(columns[0], self.dtype), self.neutral), present)

    def identity(self, count: int) -> Components:
        return (np.full(count, self.neutral, dtype=self.dtype), np.zeros(count, dtype=bool))

    def finish(self, values: Components, pool: pa.Array | None) -> pa.Array:
        """Return the extreme values, missing if there is no value."""
        return pa.array(unsigned_zeros(values[0]), mask=~values[1], from_pandas=False).cast(self.physical)


class FirstScan(NumpyScan):
    """The value in the first row, even if it is missing."""

    functions = (np.minimum,)
    pooled: int | None = 0

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """Return no components, because the pointer is added by the caller."""
        return ()

    def identity(self, count: int) -> Components:
        return (np.full(count, NOWHERE, dtype=np.int64),)

    def finish(self, values: Components, pool: pa.Array | None) -> pa.Array:
        """Return the values that are pointed at."""
        return pointed(values[-1], pool)


class BetterRowScan(Scan, Protocol):
    """Base class of scans for the best row. Components are two numbers to compare, whether there is a value, and a pointer to the row."""

    dtypes: tuple[Any, Any]

    def identity(self, count: int) -> Components:
        return (*(np.zeros(count, dtype) for dtype in (*self.dtypes, bool)), np.full(count, NOWHERE, dtype=np.int64))

    def improves(self, first: Components, second: Components) -> np.ndarray:
        """Return whether the second of two values is better than the first."""

    def combine(self, first: Components, second: Components) -> Components:
        """Return the better of both rows; the earlier one if they are equal."""
        chosen = second[2] & (~first[2] | self.improves(first, second))
        return tuple(np.where(chosen, b, a) for a, b in zip(first, second, strict=True))

    def finish(self, values: Components, pool: pa.Array | None) -> pa.Array:
        """Return the values that are pointed at, missing if no row had a value to compare."""
        return pointed(np.where(values[2], values[-1], NOWHERE), pool)


class PlaceOfExtremeScan(BetterRowScan):
    """The second argument in the first row in which the first argument is extreme. NaN is chosen only if there is no number."""

    pooled: int | None = 1

    def __init__(self, column_type: ColumnType, largest: bool) -> None:
        self.dtypes = (np.dtype(np.float64 if column_type == FLOAT else np.int64), bool)
        self.better = np.greater if largest else np.less

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """Return the value, whether it is NaN, and whether there is one."""
        column = pc.struct_field(columns[0], "instant") if pa.types.is_struct(columns[0].type) else columns[0]
        values = numbers(column, self.dtypes[0])
        return (values, np.isnan(values), valid(columns[0]))

    def improves(self, first: Components, second: Components) -> np.ndarray:
        """Return whether a number replaces NaN, or a better number another number."""
        return np.asarray((first[1] & ~second[1]) | (~first[1] & ~second[1] & self.better(second[0], first[0])))


class ZonedExtremeScan(BetterRowScan):
    """The first or last date-time with its offset. For one instant, no offset comes before any offset, and then offsets ascend."""

    pooled: int | None = 0
    dtypes = (np.int64, np.int64)

    def __init__(self, largest: bool) -> None:
        self.better = np.greater if largest else np.less

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """Return the instant, the offset and whether there is a value."""
        instants, offsets = (pc.struct_field(columns[0], name) for name in ("instant", "offset"))
        return (numbers(instants, np.dtype(np.int64)), numbers(offsets.fill_null(NO_OFFSET), np.dtype(np.int64)), valid(columns[0]))

    def improves(self, first: Components, second: Components) -> np.ndarray:
        """Return whether the instant is better, or is equal and the offset is better."""
        return np.asarray(self.better(second[0], first[0]) | ((second[0] == first[0]) & self.better(second[1], first[1])))


def valid(column: pa.Array) -> np.ndarray:
    """Return which values are not missing."""
    return column.is_valid().to_numpy(zero_copy_only=False)


def numbers(column: pa.Array, dtype: np.dtype) -> np.ndarray:
    """Return values as numbers, with zero for missing ones; date-times as microseconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.fill_null(0).to_numpy(zero_copy_only=False).astype(dtype)


def pointed(pointers: np.ndarray, pool: pa.Array | None) -> pa.Array:
    """Return the values of a pool at some positions; missing for ``NOWHERE``."""
    assert pool is not None
    nowhere = pointers == NOWHERE
    return pool.take(pa.array(np.where(nowhere, 0, pointers), mask=nowhere))


def scan_of(function: str, types: Sequence[ColumnType]) -> Scan | None:
    """Return the scan of an aggregate over columns of these types; None if there is none."""
    if function == "count":
        return CountScan()
    if function == "select_one":
        return FirstScan()
    if function in ("argmin", "argmax"):
        return PlaceOfExtremeScan(types[0], function == "argmax")
    if function in ("min", "max"):
        return ZonedExtremeScan(function == "max") if types[0].is_zoned else ExtremeScan(types[0], function == "max")
    if function == "sum" and types[0] == INT:
        return SumScan()
    return None
