"""Aggregates as monoids over numpy arrays: what a running aggregate needs to know of one row, and how two runs of rows make one.

Each scan turns the rows of its argument columns into *components* (arrays with one entry a row), combines components of earlier rows with those
of later ones, and makes values of components.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_runs import plain_zeros
from sframe_spark.errors import PlanInvariantError
from sframe_spark.operators.window.groups import Combine, Components, RowGroups, accumulated, componentwise, segmented_scan
from sframe_spark.types import FLOAT, INT, ColumnType

NOWHERE = np.iinfo(np.int64).max
"""A pointer to no row; larger than every other, so that a minimum finds the first row."""
NO_OFFSET = np.iinfo(np.int16).min
"""Stands for the missing offset of a date-time; smaller than every offset in minutes."""


class Scan:
    """Base of the scans over the argument columns of an aggregate.

    ``pooled`` is the argument whose values the last component points at by row number, or None.
    """

    pooled: int | None = None

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """Components of each row on its own; the pointer component, if any, is left out."""
        raise PlanInvariantError(f"{type(self).__name__} does not lift rows")

    def identity(self, count: int) -> Components:
        """Components of no row, ``count`` times."""
        raise PlanInvariantError(f"{type(self).__name__} has no identity")

    def combine(self, first: Components, second: Components) -> Components:
        """Components of earlier and of later rows together."""
        raise PlanInvariantError(f"{type(self).__name__} does not combine")

    def scan(self, values: Components, groups: RowGroups) -> Components:
        """Components of all rows of the group so far, along the order of the groups."""
        combine: Combine = self.combine
        return segmented_scan(values, groups, combine)

    def finish(self, values: Components, pool: pa.Array | None) -> pa.Array:
        """Values of the aggregate."""
        raise PlanInvariantError(f"{type(self).__name__} does not finish")


class NumpyScan(Scan):
    """A scan that combines each component by a numpy function of its own."""

    functions: tuple[np.ufunc, ...] = ()

    def combine(self, first: Components, second: Components) -> Components:
        """Component by component."""
        return componentwise(self.functions, first, second)

    def scan(self, values: Components, groups: RowGroups) -> Components:
        """By the functions' own running form where groups are long."""
        return accumulated(values, groups, self.functions)


class CountScan(NumpyScan):
    """Number of rows."""

    functions = (np.add,)

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """One each."""
        return (np.ones(rows, dtype=np.int64),)

    def identity(self, count: int) -> Components:
        """Zero."""
        return (np.zeros(count, dtype=np.int64),)

    def finish(self, values: Components, pool: pa.Array | None) -> pa.Array:
        """The number."""
        return pa.array(values[0])


class SumScan(NumpyScan):
    """Sum of ints that are not missing, which wraps around."""

    functions = (np.add,)

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """The value."""
        return (numbers(columns[0], np.dtype(np.int64)),)

    def identity(self, count: int) -> Components:
        """Zero."""
        return (np.zeros(count, dtype=np.int64),)

    def finish(self, values: Components, pool: pa.Array | None) -> pa.Array:
        """The sum."""
        return pa.array(values[0])


class ExtremeScan(NumpyScan):
    """Smallest or largest value; NaN if there is one, missing if there is no value."""

    def __init__(self, column_type: ColumnType, largest: bool) -> None:
        self.physical = column_type.physical
        self.dtype = np.dtype(np.float64 if column_type == FLOAT else np.int64)
        limits = (-np.inf, np.inf) if self.dtype.kind == "f" else (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
        self.neutral = limits[0] if largest else limits[1]
        self.functions = (np.maximum if largest else np.minimum, np.logical_or)

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """The value, or one that is never extreme."""
        present = valid(columns[0])
        return (np.where(present, numbers(columns[0], self.dtype), self.neutral), present)

    def identity(self, count: int) -> Components:
        """No value."""
        return (np.full(count, self.neutral, dtype=self.dtype), np.zeros(count, dtype=bool))

    def finish(self, values: Components, pool: pa.Array | None) -> pa.Array:
        """The value, if there is one."""
        return pa.array(plain_zeros(values[0]), mask=~values[1], from_pandas=False).cast(self.physical)


class FirstScan(NumpyScan):
    """The value of the first row, missing or not."""

    functions = (np.minimum,)
    pooled: int | None = 0

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """Nothing but the pointer."""
        return ()

    def identity(self, count: int) -> Components:
        """No row."""
        return (np.full(count, NOWHERE, dtype=np.int64),)

    def finish(self, values: Components, pool: pa.Array | None) -> pa.Array:
        """The value pointed at."""
        return pointed(values[-1], pool)


class BetterRowScan(Scan):
    """The row that is better than others, whose value is pointed at: components are two numbers, whether there is a value, and the place of it."""

    def improves(self, first: Components, second: Components) -> np.ndarray:
        """True where the second of two values is better than the first."""
        raise PlanInvariantError(f"{type(self).__name__} does not compare")

    def combine(self, first: Components, second: Components) -> Components:
        """The better of both; the earlier where they are equal."""
        chosen = second[2] & (~first[2] | self.improves(first, second))
        return tuple(np.where(chosen, b, a) for a, b in zip(first, second, strict=True))

    def finish(self, values: Components, pool: pa.Array | None) -> pa.Array:
        """The value pointed at, if any row had a value to compare."""
        return pointed(np.where(values[2], values[-1], NOWHERE), pool)


class PlaceOfExtremeScan(BetterRowScan):
    """The second argument in the first row where the first is extreme; NaN only counts where there is nothing else."""

    pooled: int | None = 1

    def __init__(self, column_type: ColumnType, largest: bool) -> None:
        self.dtype = np.dtype(np.float64 if column_type == FLOAT else np.int64)
        self.better = np.greater if largest else np.less

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """The value, whether it is NaN and whether it is there."""
        column = pc.struct_field(columns[0], "instant") if pa.types.is_struct(columns[0].type) else columns[0]
        values = numbers(column, self.dtype)
        return (values, np.isnan(values), valid(columns[0]))

    def identity(self, count: int) -> Components:
        """No row."""
        nothing = np.zeros(count, dtype=bool)
        return (np.zeros(count, dtype=self.dtype), nothing, nothing.copy(), np.full(count, NOWHERE, dtype=np.int64))

    def improves(self, first: Components, second: Components) -> np.ndarray:
        """True for any number after NaN, and for a better number."""
        return np.asarray((first[1] & ~second[1]) | (~first[1] & ~second[1] & self.better(second[0], first[0])))


class ZonedExtremeScan(BetterRowScan):
    """First or last date-time with its offset: of one instant the one without an offset comes first, then the smaller offset."""

    pooled: int | None = 0

    def __init__(self, largest: bool) -> None:
        self.better = np.greater if largest else np.less

    def lift(self, columns: Sequence[pa.Array], rows: int) -> Components:
        """The instant, the offset and whether there is a value."""
        instants, offsets = (pc.struct_field(columns[0], name) for name in ("instant", "offset"))
        return (numbers(instants, np.dtype(np.int64)), numbers(offsets.fill_null(NO_OFFSET), np.dtype(np.int64)), valid(columns[0]))

    def identity(self, count: int) -> Components:
        """No value."""
        zeros = np.zeros(count, dtype=np.int64)
        return (zeros, zeros.copy(), np.zeros(count, dtype=bool), np.full(count, NOWHERE, dtype=np.int64))

    def improves(self, first: Components, second: Components) -> np.ndarray:
        """True for a better instant, and of one instant for a better offset."""
        return np.asarray(self.better(second[0], first[0]) | ((second[0] == first[0]) & self.better(second[1], first[1])))


def valid(column: pa.Array) -> np.ndarray:
    """True where a value is not missing."""
    return column.is_valid().to_numpy(zero_copy_only=False)


def numbers(column: pa.Array, dtype: np.dtype) -> np.ndarray:
    """Values as numbers, zero where missing; date-times as microseconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.fill_null(0).to_numpy(zero_copy_only=False).astype(dtype)


def pointed(pointers: np.ndarray, pool: pa.Array | None) -> pa.Array:
    """Values of a pool by place; missing where the pointer points nowhere."""
    assert pool is not None
    nowhere = pointers == NOWHERE
    return pool.take(pa.array(np.where(nowhere, 0, pointers), mask=nowhere))


def scan_of(function: str, types: Sequence[ColumnType]) -> Scan | None:
    """The scan of an aggregate over columns of these types; None where it has none."""
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
