"""Products of a column as state columns, and the aggregates ``product`` and ``geometric_mean``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import PlanInvariantError
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.counts import Count, known
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, group_sizes, last_rows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State, StateColumn, take
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import FLOAT, FLOAT_KIND, INT, INT_KIND, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.pairs_of_floats import PairsOfFloats
    from sframe_spark.compute.row_groups import GroupsOfRows
    from sframe_spark.compute.segmented_scan import Components, RowGroups, segmented_scan

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]


@attrs.frozen
class Folded(StateColumn):
    """Base class of state columns whose states are some arrays, combined entry by entry by an associative function.

    Parameters
    ----------
    column
        Position of the column.
    """

    column: int

    def of_rows(self, rows: InputRows) -> Components:
        """Return the state of each row; that of no rows where the column has no value."""
        raise PlanInvariantError(f"the state column {type(self).__name__!r} has no states of rows: define of_rows()")

    def combine(self, first: Components, second: Components) -> Components:
        """Return the states of rows, followed by others."""
        raise PlanInvariantError(f"the state column {type(self).__name__!r} does not combine states: define combine()")

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        return self._folded(self.of_rows(rows), groups) if rows.count else self.empty(groups.count)

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        return self._folded(state, groups)

    def _folded(self, states: Components, groups: GroupsOfRows) -> Components:
        if not groups.are_runs:
            states = take(states, groups.order)
        sizes = groups.sizes
        while sizes.max(initial=0) > 1:
            # Neighbours are combined two by two; of an odd number the last one remains.
            starts = np.cumsum(sizes) - sizes
            place = np.arange(int(sizes.sum())) - np.repeat(starts, sizes)
            firsts = np.flatnonzero(place % 2 == 0)
            has_second = place[firsts] + 1 < np.repeat(sizes, (sizes + 1) // 2)
            second = firsts[has_second] + 1
            combined = self.combine(take(states, firsts[has_second]), take(states, second))
            states = take(states, firsts)
            for part, new in zip(states, combined, strict=True):
                part[has_second] = new
            sizes = (sizes + 1) // 2
        return states

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        so_far = segmented_scan(self.of_rows(rows), RowGroups([], np.arange(rows.count), starts), self.combine)
        group_of_rows = np.repeat(np.arange(len(starts)), group_sizes(starts, rows.count))
        every = self.combine(take(before, group_of_rows), so_far)
        return every, take(every, last_rows(starts, rows.count))

    def to_arrow(self, state: State) -> list[pa.Array]:
        return [pa.array(part, from_pandas=False) for part in state]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        return tuple(column.to_numpy(zero_copy_only=False) for column in columns)

    @property
    def arrow_width(self) -> int:
        return len(self.empty(0))


@attrs.frozen
class ProductOfInts(Folded):
    """The product of ints, which wraps around at 64 bits."""

    def empty(self, groups: int) -> State:
        return (np.ones(groups, dtype=np.int64),)

    def of_rows(self, rows: InputRows) -> Components:
        numbers, valid = rows.numbers(self.column), rows.valid((self.column,))
        return (numbers if valid is None else np.where(valid, numbers, 1),)

    def combine(self, first: Components, second: Components) -> Components:
        with np.errstate(over="ignore"):
            return (first[0] * second[0],)


@attrs.frozen
class ProductOfFloats(Folded):
    """The product of numbers as floats, with twice the bits of a float and any exponent, so that it is rounded once and does not overflow on the way.

    A state is a pair of floats, of which the first is zero, not finite, or from 0.5 to 1 apart from its sign, and the exponent of a power of two.

    Parameters
    ----------
    has_negative
        Whether negative numbers are multiplied; otherwise they count as NaN.
    """

    has_negative: bool = True

    def empty(self, groups: int) -> State:
        return np.full(groups, 0.5), np.zeros(groups), np.ones(groups, dtype=np.int64)

    def of_rows(self, rows: InputRows) -> Components:
        numbers, valid = rows.floats(self.column, (self.column,)), rows.valid((self.column,))
        numbers = numbers if valid is None else np.where(valid, numbers, 1.0)
        fractions, exponents = np.frexp(numbers if self.has_negative else np.where(numbers < 0.0, np.nan, numbers))
        return fractions, np.zeros(rows.count), exponents.astype(np.int64)

    def combine(self, first: Components, second: Components) -> Components:
        with np.errstate(invalid="ignore"):
            product = PairsOfFloats(first[0], first[1]) * PairsOfFloats(second[0], second[1])
            # The rest of an infinity is NaN.
            is_usual = np.isfinite(first[0]) & np.isfinite(second[0])
            fractions, exponents = np.frexp(np.where(is_usual, product.high, first[0] * second[0]))
        rests = np.ldexp(np.where(is_usual, product.low, 0.0), -exponents)
        return fractions, rests, np.where(np.isfinite(fractions) & (fractions != 0.0), first[2] + second[2] + exponents, 0)


def product(column: int, column_type: ColumnType) -> ColumnAggregate:
    """Return the product of numbers; of no value it is one."""
    if column_type == INT:
        return ColumnAggregate((ProductOfInts(column),), lambda state, *, last: pa.array(state[0]))

    def finish(state: State, *, last: bool) -> pa.Array:
        high, low, exponents = state
        with np.errstate(over="ignore", under="ignore"):
            # Beyond these exponents everything is infinite or zero.
            return pa.array(np.ldexp(high + low, np.clip(exponents, -5_000, 5_000).astype(np.int32)) + 0.0, from_pandas=False)

    return ColumnAggregate((ProductOfFloats(column),), finish)


def geometric_mean(column: int) -> ColumnAggregate:
    """Return the root of the product of numbers; missing without a value, NaN of a negative number."""

    def finish(counts: State, state: State, *, last: bool) -> pa.Array:
        high, low, exponents = state
        some = np.maximum(counts, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            # The exponent of the root is a quotient without its rest, so that the power of two is exact.
            whole, rest = np.divmod(exponents, some)
            roots = np.ldexp(np.exp2((np.log2(high + low) + rest) / some), whole.astype(np.int32))
        return known(roots, counts > 0)

    return ColumnAggregate((Count((column,)), ProductOfFloats(column, has_negative=False)), finish)


def _infer_product(types: Types, parameters: Parameters) -> ColumnType:
    require("PRODUCT", types[0], (INT_KIND, FLOAT_KIND))
    return types[0]


def _infer_geometric_mean(types: Types, parameters: Parameters) -> ColumnType:
    require("GEOMETRIC_MEAN", types[0], (INT_KIND, FLOAT_KIND))
    return FLOAT


def _product(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return product(positions[0], types[0])


def _geometric_mean(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    return geometric_mean(positions[0])


define_aggregate("product", _infer_product, order_sensitive=False, of_columns=_product, skips_missing=True)
define_aggregate("geometric_mean", _infer_geometric_mean, order_sensitive=False, of_columns=_geometric_mean, skips_missing=True)
