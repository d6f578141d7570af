"""States of running aggregates: one entry per group, brought forward by runs of rows and merged across ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.expressions.aggregates.aggregate_function import ReduceColumns
from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition
from sframe_spark.operators.window.groups import Components, RowGroups
from sframe_spark.operators.window.segmented_scan import NOWHERE, Scan
from sframe_spark.types import ColumnType
from sframe_spark.values.encode import encode_plain

ArgumentColumns = Sequence[pa.Array]


class RunningAggregate(Protocol):
    """What the operator asks of a running aggregate; states are its own business, and none is ever changed."""

    def empty(self, groups: int) -> Any:
        """State of groups without rows."""

    def widened(self, state: Any, groups: int) -> Any:
        """The state with groups without rows added up to that many."""

    def advance(self, state: Any, columns: ArgumentColumns, groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, Any]:
        """Running values of a run, row by row, and the state after it; ``slots`` are the places of the groups in the state."""

    def summarized(self, state: Any, columns: ArgumentColumns, groups: RowGroups, slots: np.ndarray) -> Any:
        """State after a run."""

    def merged(self, first: Any, second: Any, slots: np.ndarray) -> Any:
        """State of both; ``slots`` are the places of the second's groups in the first, which has them all."""


@attrs.frozen(eq=False)
class ScanState:
    """Components of each group so far, and the values that they point at (one per group)."""

    components: Components
    pool: pa.Array | None = None


@attrs.frozen(eq=False)
class ScanAggregate:
    """A running aggregate whose state has a fixed size per group.

    Parameters
    ----------
    scan
        The aggregate as a monoid.
    types
        Types of the argument columns.
    """

    scan: Scan
    types: tuple[ColumnType, ...]

    def empty(self, groups: int) -> ScanState:
        """State of groups without rows."""
        pooled = self.scan.pooled
        return ScanState(self.scan.identity(groups), None if pooled is None else pa.nulls(groups, self.types[pooled].physical))

    def advance(self, state: ScanState, columns: ArgumentColumns, groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, ScanState]:
        """Running values of a run, row by row, and the state after it; ``slots`` are the groups' places in the state."""
        with np.errstate(all="ignore"):
            values, pool = self._lifted(state, columns, groups)
            total = self._total(state, values, groups, slots)
            result = self.scan.finish(tuple(groups.to_row_order(component) for component in total), pool)
        return result, self._replaced(state, total, groups, slots, pool)

    def summarized(self, state: ScanState, columns: ArgumentColumns, groups: RowGroups, slots: np.ndarray) -> ScanState:
        """State after a run."""
        with np.errstate(all="ignore"):
            values, pool = self._lifted(state, columns, groups)
            return self._replaced(state, self._total(state, values, groups, slots), groups, slots, pool)

    def _total(self, state: ScanState, values: Components, groups: RowGroups, slots: np.ndarray) -> Components:
        before = tuple(component[slots][groups.group_of_rows()] for component in state.components)
        return self.scan.combine(before, self.scan.scan(values, groups))

    def _lifted(self, state: ScanState, columns: ArgumentColumns, groups: RowGroups) -> tuple[Components, pa.Array | None]:
        """Components along the order of the groups, and the values pointed at: those of the state, then those of the run."""
        values = self.scan.lift(columns, groups.rows)
        pool = None
        if self.scan.pooled is not None and state.pool is not None:
            pool = pa.concat_arrays([state.pool, columns[self.scan.pooled]])
            values = (*values, np.arange(groups.rows) + len(state.pool))
        return tuple(component[groups.order] for component in values), pool

    def _replaced(self, state: ScanState, total: Components, groups: RowGroups, slots: np.ndarray, pool: pa.Array | None) -> ScanState:
        components = tuple(component.copy() for component in state.components)
        for component, new in zip(components, total, strict=True):
            component[slots] = new[groups.stops - 1]
        return settled(components, pool)

    def merged(self, first: ScanState, second: ScanState, slots: np.ndarray) -> ScanState:
        """State of both; ``slots`` are the places of the second's groups in the first, which has them all."""
        components = tuple(component.copy() for component in first.components)
        later, pool = second.components, None
        if first.pool is not None and second.pool is not None:
            pool = pa.concat_arrays([first.pool, second.pool])
            moved = np.where(later[-1] == NOWHERE, NOWHERE, later[-1] + len(first.pool))
            later = (*later[:-1], moved)
        with np.errstate(all="ignore"):
            combined = self.scan.combine(tuple(component[slots] for component in components), later)
        for component, new in zip(components, combined, strict=True):
            component[slots] = new
        return settled(components, pool)

    def widened(self, state: ScanState, groups: int) -> ScanState:
        """The state with groups without rows added up to that many."""
        added = self.empty(groups - len(state.components[0]))
        pool = None if state.pool is None else pa.concat_arrays([state.pool, added.pool])
        return ScanState(tuple(np.concatenate([a, b]) for a, b in zip(state.components, added.components, strict=True)), pool)


def settled(components: Components, pool: pa.Array | None) -> ScanState:
    """A state that keeps only the values it points at."""
    if pool is None:
        return ScanState(components)
    pointers = components[-1]
    nowhere = pointers == NOWHERE
    kept = pool.take(pa.array(np.where(nowhere, 0, pointers), mask=nowhere))
    return ScanState((*components[:-1], np.where(nowhere, NOWHERE, np.arange(len(pointers)))), kept)


@attrs.frozen(eq=False)
class PartsAggregate:
    """A running aggregate whose state is one partial result per group; None where a group has no row yet.

    Parameters
    ----------
    parts
        The aggregate from partial results.
    types
        Types of the argument columns.
    parameters
        Static parameters.
    result
        Type of the result.
    """

    parts: Decomposition
    types: tuple[ColumnType, ...]
    parameters: tuple[Any, ...]
    result: ColumnType

    def empty(self, groups: int) -> list[Any]:
        """Nothing of any group."""
        return [None] * groups

    def widened(self, state: list[Any], groups: int) -> list[Any]:
        """The state with groups without rows added up to that many."""
        return state + self.empty(groups - len(state))

    def advance(self, state: list[Any], columns: ArgumentColumns, groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, list[Any]]:
        """One value per row, from what is known of the rows before and of the row."""
        after = list(state)
        results: list[Any] = [None] * groups.rows
        for slot, start, stop in zip(slots.tolist(), groups.starts.tolist(), groups.stops.tolist(), strict=True):
            for row in groups.order[start:stop].tolist():
                after[slot] = self._with(after[slot], [column.slice(row, 1) for column in columns], 1)
                results[row] = self.parts.finish(after[slot], self.types, self.parameters)
        return encode_plain(results, self.result), after

    def summarized(self, state: list[Any], columns: ArgumentColumns, groups: RowGroups, slots: np.ndarray) -> list[Any]:
        """Each group's rows at once."""
        after = list(state)
        for slot, start, stop in zip(slots.tolist(), groups.starts.tolist(), groups.stops.tolist(), strict=True):
            rows = pa.array(groups.order[start:stop])
            after[slot] = self._with(after[slot], [column.take(rows) for column in columns], len(rows))
        return after

    def merged(self, first: list[Any], second: list[Any], slots: np.ndarray) -> list[Any]:
        """Group by group."""
        after = list(first)
        for slot, part in zip(slots.tolist(), second, strict=True):
            if part is not None:
                after[slot] = part if after[slot] is None else self.parts.combine(after[slot], part, self.types)
        return after

    def _with(self, part: Any, columns: ArgumentColumns, rows: int) -> Any:
        lifted = self.parts.lift(columns, rows, self.types, self.parameters)
        return lifted if part is None else self.parts.combine(part, lifted, self.types)


@attrs.frozen(eq=False)
class CollectedAggregate:
    """A running aggregate whose state is all rows so far: any aggregate, in time quadratic in the rows of a group.

    Parameters
    ----------
    reduce
        The aggregate's Arrow implementation.
    types
        Types of the argument columns.
    parameters
        Static parameters.
    result
        Type of the result.
    """

    reduce: ReduceColumns
    types: tuple[ColumnType, ...]
    parameters: tuple[Any, ...]
    result: ColumnType

    def empty(self, groups: int) -> list[tuple[pa.Array, ...]]:
        """No rows in any group."""
        nothing = tuple(pa.array([], column_type.physical) for column_type in self.types)
        return [nothing] * groups

    def advance(
        self, state: list[tuple[pa.Array, ...]], columns: ArgumentColumns, groups: RowGroups, slots: np.ndarray
    ) -> tuple[pa.Array, list[tuple[pa.Array, ...]]]:
        """One reduction per row over the rows of its group so far."""
        after = self.summarized(state, columns, groups, slots)
        results: list[Any] = [None] * groups.rows
        for slot, start, stop in zip(slots.tolist(), groups.starts.tolist(), groups.stops.tolist(), strict=True):
            before = len(state[slot][0])
            for place, row in enumerate(groups.order[start:stop].tolist()):
                seen = [column.slice(0, before + place + 1) for column in after[slot]]
                results[row] = self.reduce(seen, self.types, self.parameters)
        return encode_plain(results, self.result), after

    def summarized(
        self, state: list[tuple[pa.Array, ...]], columns: ArgumentColumns, groups: RowGroups, slots: np.ndarray
    ) -> list[tuple[pa.Array, ...]]:
        """The rows of each group with those of a run."""
        after = list(state)
        for slot, start, stop in zip(slots.tolist(), groups.starts.tolist(), groups.stops.tolist(), strict=True):
            rows = pa.array(groups.order[start:stop])
            after[slot] = joined(state[slot], [column.take(rows) for column in columns])
        return after

    def merged(self, first: list[tuple[pa.Array, ...]], second: list[tuple[pa.Array, ...]], slots: np.ndarray) -> list[tuple[pa.Array, ...]]:
        """Rows of both, those of the first before."""
        after = list(first)
        for slot, columns in zip(slots.tolist(), second, strict=True):
            after[slot] = joined(first[slot], columns)
        return after

    def widened(self, state: list[tuple[pa.Array, ...]], groups: int) -> list[tuple[pa.Array, ...]]:
        """The state with groups without rows added up to that many."""
        return state + self.empty(groups - len(state))


def joined(first: ArgumentColumns, second: ArgumentColumns) -> tuple[pa.Array, ...]:
    """Columns of two runs of rows, one after the other."""
    return tuple(pa.concat_arrays([a, b]) for a, b in zip(first, second, strict=True))
