"""Aggregates that are Python functions, as those of plug-ins: computed from parts, or from all values of a group at once."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.expressions.aggregates.collected_values import CollectedValues, ListViews
from sframe_spark.expressions.aggregates.counts import group_sizes
from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition
from sframe_spark.expressions.aggregates.rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, Growth, State, StateColumn
from sframe_spark.types import ColumnType
from sframe_spark.values.python_to_arrow import encode_plain

# Results of so many groups or windows are Python objects at a time, because objects take several times the bytes of a column.
VALUES_AT_ONCE = 4_096


@attrs.frozen(eq=False)
class PythonParts:
    """The part of each group, a Python object; None for a group without rows."""

    parts: list[Any]

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def nbytes(self) -> int:
        """About the bytes of all parts, from the pickled size of a few."""
        some = self.parts[:: max(len(self.parts) // 16, 1)]
        return len(self.parts) * len(pickle.dumps(some)) // max(len(some), 1)

    def take(self, entries: np.ndarray) -> PythonParts:
        """Return the parts of some of the groups."""
        return PythonParts([self.parts[entry] for entry in entries.tolist()])

    @classmethod
    def joined(cls, states: Sequence[PythonParts]) -> PythonParts:
        """Return the parts of several states, one state after the other."""
        return cls([part for state in states for part in state.parts])


@attrs.frozen
class PartsOfGroups(StateColumn):
    """PartsOfGroups of a :class:`Decomposition`.

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
    parameters: tuple[Any, ...]

    def empty(self, groups: int) -> State:
        return PythonParts([None] * groups)

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        order = pa.array(groups.order)
        columns = [rows.column(position).take(order) for position in self.columns]
        return PythonParts(
            [self._lifted(columns, a, b) for a, b in zip(groups.starts.tolist(), (groups.starts + groups.sizes).tolist(), strict=True)]
        )

    def _lifted(self, columns: Sequence[pa.Array], start: int, stop: int) -> Any:
        return self.decomposition.lift([column.slice(start, stop - start) for column in columns], stop - start, self.types, self.parameters)

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        result: list[Any] = [None] * groups.count
        for entry, code in zip(groups.order.tolist(), groups.codes[groups.order].tolist(), strict=True):
            result[code] = self._combined(result[code], state.parts[entry])
        return PythonParts(result)

    def _combined(self, first: Any, second: Any) -> Any:
        if first is None or second is None:
            return second if first is None else first
        return self.decomposition.combine(first, second, self.types)

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        columns = [rows.column(position) for position in self.columns]
        every, after = [], []
        for part, start, size in zip(before.parts, starts.tolist(), group_sizes(starts, rows.count).tolist(), strict=True):
            for row in range(start, start + size):
                part = self._combined(part, self._lifted(columns, row, row + 1))
                every.append(part)
            after.append(part)
        return PythonParts(every), PythonParts(after)

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        columns = [rows.column(position) for position in self.columns]
        return PythonParts(each_once(windows.starts, windows.stops, lambda start, stop: self._lifted(columns, start, stop)))

    def to_arrow(self, state: State) -> list[pa.Array]:
        return [pa.array([None if part is None else pickle.dumps(part) for part in state.parts], pa.large_binary())]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        return PythonParts([None if part is None else pickle.loads(part) for part in columns[0].to_pylist()])


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
    state = PartsOfGroups(decomposition, tuple(columns), tuple(types), parameters)
    nothing = [pa.array([], column_type.physical) for column_type in types]

    def value(part: Any) -> Any:
        # A group has no part if it has no rows, which only windows and whole columns can be.
        part = decomposition.lift(nothing, 0, types, parameters) if part is None else part
        return decomposition.finish(part, types, parameters)

    def finish(state: PythonParts, *, last: bool) -> pa.Array:
        return in_batches(len(state), lambda start, stop: [value(part) for part in state.parts[start:stop]], result)

    return ColumnAggregate((state,), finish)


ReduceFunction = Callable[[Sequence[pa.Array], Sequence[ColumnType], tuple[Any, ...]], Any]


def of_all_values(
    reduce: ReduceFunction, types: Sequence[ColumnType], columns: Sequence[int], parameters: tuple[Any, ...], result: ColumnType
) -> ColumnAggregate:
    """Return an aggregate that is a function of all values of a group, called once for each group, row or window."""

    def finish(views: ListViews, *, last: bool) -> pa.Array:
        def values(first: int, stop: int) -> list[Any]:
            block = views.take(np.arange(first, stop))
            return each_once(block.starts, block.stops, lambda a, b: reduce([column.slice(a, b - a) for column in block.pool], types, parameters))

        return in_batches(len(views), values, result)

    return ColumnAggregate((CollectedValues(tuple(columns), tuple(types)),), finish)


def in_batches(count: int, values: Callable[[int, int], list[Any]], result: ColumnType) -> pa.Array:
    """Return a column of Python values, encoded batch by batch."""
    batches = [encode_plain(values(start, min(start + VALUES_AT_ONCE, count)), result) for start in range(0, count, VALUES_AT_ONCE)]
    return pa.concat_arrays(batches) if batches else encode_plain([], result)
