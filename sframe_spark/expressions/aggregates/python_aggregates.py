"""Aggregates that are Python functions, as those of plug-ins: computed from parts, or from all values of a group at once."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.expressions.aggregates.collected_values import CollectedValues, ListViews
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows, group_sizes
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, Growth, State, StateColumn
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import ColumnType
from sframe_spark.values.python_to_arrow import encode_plain

with lazy_imports(globals()):
    from sframe_spark.compute.row_groups import GroupsOfRows

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
ReduceFunction = Callable[[Sequence[pa.Array], Types, Parameters], Any]
# Results of so many groups or windows are Python objects at a time, because objects take several times the bytes of a column.
VALUES_AT_ONCE = 4_096
# Rows of a group wait until there are so many, or until no more can come.
ROWS_WORTH_A_CALL = 256


@attrs.frozen(eq=False)
class Decomposition:
    """How an aggregate is computed from parts: the partial states of consecutive rows, which are merged in any grouping.

    Parameters
    ----------
    lift
        ``lift(arrays, rows, types, parameters)``: returns the part of ``rows`` consecutive rows, which should be small, and can be pickled.
    combine
        ``combine(first, second, types)``: returns the part of the rows of both parts. It must not depend on how rows were divided; sums of floats
        therefore use :class:`ExactSum`.
    finish
        ``finish(part, types, parameters)``: returns the value of the aggregate, as a Python object (None for missing).
    """

    lift: Callable[[Sequence[pa.Array], int, Types, Parameters], Any]
    combine: Callable[[Any, Any, Types], Any]
    finish: Callable[[Any, Types, Parameters], Any]

    def reduce(self, arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
        """Return the value of the aggregate for all rows of at least one column."""
        return self.finish(self.lift(arrays, len(arrays[0]), types, parameters), types, parameters)


@attrs.frozen(eq=False)
class PythonParts:
    """The part of each group, and rows that have not been lifted to parts yet.

    Parameters
    ----------
    parts
        The part of the first rows of each group, a Python object; None if there is none yet.
    waiting
        The rows of each group that come after those of its part.
    """

    parts: list[Any]
    waiting: ListViews

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def nbytes(self) -> int:
        """About the bytes of all parts, from the pickled size of a few, and of the waiting rows."""
        some = self.parts[:: max(len(self.parts) // 16, 1)]
        return len(self.parts) * len(pickle.dumps(some)) // max(len(some), 1) + self.waiting.nbytes

    def take(self, entries: np.ndarray | slice) -> PythonParts:
        """Return parts and waiting rows of some of the groups."""
        parts = self.parts[entries] if isinstance(entries, slice) else [self.parts[entry] for entry in entries.tolist()]
        return PythonParts(parts, self.waiting.take(entries))

    @classmethod
    def joined(cls, states: Sequence[PythonParts]) -> PythonParts:
        """Return parts and waiting rows of several states, one state after the other."""
        return cls([part for state in states for part in state.parts], ListViews.joined([state.waiting for state in states]))


@attrs.frozen
class PartsOfGroups(StateColumn):
    """Parts of groups of a :class:`Decomposition`.

    A call of ``lift`` costs as much as hundreds of rows. The few rows that a batch may have of a group therefore wait for those of later batches.

    Parameters
    ----------
    decomposition
        How the aggregate is computed from parts.
    columns, types
        Positions and types of the argument columns.
    parameters
        Parameters of the aggregate.
    """

    needs_order = True
    growth = Growth.FIXED
    decomposition: Decomposition
    columns: tuple[int, ...]
    types: tuple[ColumnType, ...]
    # Parameters may be lists, and 1 is not True for every function.
    parameters: tuple[Any, ...] = attrs.field(eq=repr)

    @property
    def _collected(self) -> CollectedValues:
        return CollectedValues(self.columns, self.types)

    def _only(self, parts: list[Any]) -> PythonParts:
        """Return parts without waiting rows."""
        nothing = np.zeros(len(parts), dtype=np.int64)
        return PythonParts(parts, ListViews(nothing, nothing, tuple(pa.array([], kind.physical) for kind in self.types) or (pa.nulls(0),)))

    def empty(self, groups: int) -> State:
        return self._only([None] * groups)

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        if not self.columns:
            return self._only([self._lifted([], 0, size) for size in groups.sizes.tolist()])
        if groups.count == 1 and rows.count >= ROWS_WORTH_A_CALL:
            return self._only([self._lifted([rows.column(position) for position in self.columns], 0, rows.count)])
        views = self._collected.lift(rows, groups)
        return self._with_lifted(PythonParts([None] * groups.count, views), views.sizes >= ROWS_WORTH_A_CALL)

    def _lifted(self, columns: Sequence[pa.Array], start: int, stop: int) -> Any:
        return self.decomposition.lift([column.slice(start, stop - start) for column in columns], stop - start, self.types, self.parameters)

    def _with_lifted(self, state: PythonParts, chosen: np.ndarray) -> PythonParts:
        """Return a state in which no rows wait in the chosen groups."""
        chosen = chosen & (state.waiting.sizes > 0)
        if not chosen.any():
            return state
        parts, waiting = list(state.parts), state.waiting
        for group in np.flatnonzero(chosen).tolist():
            start = int(waiting.starts[group])
            parts[group] = self._combined(parts[group], self._lifted(waiting.pool, start, start + int(waiting.sizes[group])))
        left = ListViews(waiting.starts, np.where(chosen, 0, waiting.sizes), waiting.pool)
        return PythonParts(parts, left.packed())

    def all_lifted(self, state: PythonParts) -> list[Any]:
        """Return the part of all rows of each group, including those that wait; None for a group without rows."""
        return self._with_lifted(state, np.ones(len(state), dtype=bool)).parts

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        order = groups.order
        codes = groups.codes[order]
        has_part = np.array([part is not None for part in state.parts], dtype=bool)[order]
        last_part = np.full(groups.count, -1)
        # Of several assignments to one group the last remains.
        last_part[codes[has_part]] = np.flatnonzero(has_part)
        is_before_a_part = np.zeros(len(state), dtype=bool)
        is_before_a_part[order] = np.arange(len(order)) < last_part[codes]
        state = self._with_lifted(state, is_before_a_part)
        parts: list[Any] = [None] * groups.count
        for entry, code in zip(order.tolist(), codes.tolist(), strict=True):
            parts[code] = self._combined(parts[code], state.parts[entry])
        if not state.waiting.sizes.any():
            return self._only(parts)
        waiting = self._collected.merge(state.waiting, groups)
        return self._with_lifted(PythonParts(parts, waiting), waiting.sizes >= ROWS_WORTH_A_CALL)

    def _combined(self, first: Any, second: Any) -> Any:
        if first is None or second is None:
            return second if first is None else first
        return self.decomposition.combine(first, second, self.types)

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        columns = [rows.column(position) for position in self.columns]
        every, after = [], []
        for part, start, size in zip(self.all_lifted(before), starts.tolist(), group_sizes(starts, rows.count).tolist(), strict=True):
            for row in range(start, start + size):
                part = self._combined(part, self._lifted(columns, row, row + 1))
                every.append(part)
            after.append(part)
        return self._only(every), self._only(after)

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        columns = [rows.column(position) for position in self.columns]
        return self._only(each_once(windows.starts, windows.stops, lambda start, stop: self._lifted(columns, start, stop)))

    def to_arrow(self, state: State) -> list[pa.Array]:
        parts = self.all_lifted(state)
        return [pa.array([None if part is None else pickle.dumps(part) for part in parts], pa.large_binary())]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        return self._only([None if part is None else pickle.loads(part) for part in columns[0].to_pylist()])


def each_once(starts: np.ndarray, stops: np.ndarray, compute: Callable[[int, int], Any]) -> list[Any]:
    """Return the result of each range; equal consecutive ranges share one call.

    Examples
    --------
    >>> each_once(np.array([0, 0, 1]), np.array([2, 2, 2]), lambda start, stop: print(start, stop) or stop - start)
    0 2
    1 2
    [2, 2, 1]
    """
    result: list[Any] = []
    last: tuple[int, int] | None = None
    for window in zip(starts.tolist(), stops.tolist(), strict=True):
        result.append(result[-1] if window == last else compute(*window))
        last = window
    return result


def of_parts(
    decomposition: Decomposition, types: Sequence[ColumnType], columns: Sequence[int], parameters: tuple[Any, ...], result: ColumnType
) -> ColumnAggregate:
    """Return an aggregate that is computed from parts."""
    column = PartsOfGroups(decomposition, tuple(columns), tuple(types), parameters)
    nothing = [pa.array([], column_type.physical) for column_type in types]

    def value(part: Any) -> Any:
        # A group without rows has no part. Only windows and whole columns can be without rows.
        part = decomposition.lift(nothing, 0, types, parameters) if part is None else part
        return decomposition.finish(part, types, parameters)

    def finish(state: PythonParts, *, last: bool) -> pa.Array:
        parts = column.all_lifted(state)
        return in_batches(len(parts), lambda start, stop: [value(part) for part in parts[start:stop]], result)

    return ColumnAggregate((column,), finish, calls_python=True)


def of_all_values(
    reduce: ReduceFunction, types: Sequence[ColumnType], columns: Sequence[int], parameters: tuple[Any, ...], result: ColumnType
) -> ColumnAggregate:
    """Return an aggregate that is a function of all values of a group, called once for each group, row or window."""

    def finish(views: ListViews, *, last: bool) -> pa.Array:
        def values(first: int, stop: int) -> list[Any]:
            block = views.take(np.arange(first, stop))
            return each_once(block.starts, block.stops, lambda a, b: reduce([column.slice(a, b - a) for column in block.pool], types, parameters))

        return in_batches(len(views), values, result)

    return ColumnAggregate((CollectedValues(tuple(columns), tuple(types)),), finish, calls_python=True)


def in_batches(count: int, values: Callable[[int, int], list[Any]], result: ColumnType) -> pa.Array:
    """Return a column of Python values, encoded batch by batch."""
    batches = [encode_plain(values(start, min(start + VALUES_AT_ONCE, count)), result) for start in range(0, count, VALUES_AT_ONCE)]
    return pa.concat_arrays(batches) if batches else encode_plain([], result)
