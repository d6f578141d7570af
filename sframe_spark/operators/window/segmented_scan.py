"""Running aggregates within groups as segmented scans.

A scan turns rows into *components* (arrays with one entry per row), combines components of earlier rows with components of later rows, and turns
components into values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_runs import unsigned_zeros
from sframe_spark.compute.segmented_scan import Components, RowGroups, accumulated, combined_by, segmented_scan
from sframe_spark.types import FLOAT, INT, ColumnType

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
