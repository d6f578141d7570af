"""State columns, from which aggregates are computed, and aggregates as the state columns that they read and a function of these.

A *state* has one entry for each group (or row, or window). A *state column* knows how states are made of rows, how states of the same groups are
merged, and what the states of all rows so far and of windows are. It is a value: equal state columns of several aggregates are computed once.
Drivers (whole columns, group-by, running aggregates, windows, Spark) call state columns and aggregates; they know no aggregate by name.
"""

from __future__ import annotations

import collections
import enum
import itertools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import PlanInvariantError
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.row_groups import GroupsOfRows

State = Any
"""Arrays with one entry for each group: a NumPy array, an Arrow array, a tuple of states, or an object with the methods of :class:`StateObject`."""


class StateObject(Protocol):
    """A state that is no array. It may have a method ``replaced(entries, other)``, see :func:`replaced`, which is faster than joining and taking."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """Bytes of the state."""

    def take(self, entries: np.ndarray | slice) -> State:
        """Return some of the entries, given by index or as a range."""

    @classmethod
    def joined(cls, states: Sequence[State]) -> State:
        """Return the entries of several states, one state after the other."""


def take(state: State, entries: np.ndarray | slice) -> State:
    """Return some of the entries of a state, given by index or as a range, of which nothing is copied where that is possible.

    Examples
    --------
    >>> take((np.array([5, 6]), pa.array(["a", None])), np.array([1]))[0].tolist()
    [6]
    """
    if isinstance(state, np.ndarray):
        return state[entries]
    if isinstance(state, pa.Array):
        return state[entries] if isinstance(entries, slice) else state.take(pa.array(entries))
    if isinstance(state, tuple):
        return tuple(take(part, entries) for part in state)
    return state.take(entries)


def joined(states: Sequence[State]) -> State:
    """Return the entries of several states of one state column, one state after the other."""
    first = states[0]
    if len(states) == 1:
        return first
    if isinstance(first, np.ndarray):
        return np.concatenate(states)
    if isinstance(first, pa.Array):
        return pa.concat_arrays(states)
    if isinstance(first, tuple):
        return tuple(joined(parts) for parts in zip(*states, strict=True))
    return type(first).joined(states)


def replaced(state: State, entries: np.ndarray, other: State) -> State:
    """Return a state in which some entries are those of another state of the same state column.

    Examples
    --------
    >>> replaced(np.array([5, 6, 7]), np.array([2, 0]), np.array([1, 2])).tolist()
    [2, 6, 1]
    >>> replaced(pa.array(["a", "b"]), np.array([1]), pa.array(["c"])).to_pylist()
    ['a', 'c']
    """
    if isinstance(state, np.ndarray):
        result = state.copy()
        result[entries] = other
        return result
    if isinstance(state, tuple):
        return tuple(replaced(part, entries, new) for part, new in zip(state, other, strict=True))
    if hasattr(state, "replaced"):
        return state.replaced(entries, other)
    positions = np.arange(len(state))
    positions[entries] = len(state) + np.arange(len(entries))
    return take(joined([state, other]), positions)


def entry_count(state: State) -> int:
    """Return the number of entries of a state.

    Examples
    --------
    >>> entry_count((np.zeros(3), np.ones(3)))
    3
    """
    return entry_count(state[0]) if isinstance(state, tuple) else len(state)


def nbytes(state: State) -> int:
    """Return the bytes of a state."""
    return sum(map(nbytes, state)) if isinstance(state, tuple) else state.nbytes


class Growth(enum.IntEnum):
    """What the size of the state of a group grows with."""

    FIXED = 0
    DISTINCT = 1
    ROWS = 2


@attrs.frozen
class StateColumn:
    """Base class of state columns, which are values. Column positions are those of the rows that the driver gives.

    A class defines at least :meth:`empty`, :meth:`lift` and :meth:`merge`, and :meth:`to_arrow` and :meth:`of_arrow` if its state is no NumPy
    array. States of rows so far and of windows are merged from states of single rows, if there is no faster way.

    Class attributes
    ----------------
    needs_order
        Whether rows, and the states that are merged, must be given in row order.
    growth
        What the state of a group grows with.
    rows_per_block
        The most rows for which :meth:`running` is called at once, so that the states of these rows stay in the cache of a core.
    windows_in_blocks
        Whether windows are computed in blocks that fit the cache of a core, because that takes many steps; otherwise all together.
    """

    needs_order: ClassVar[bool] = False
    growth: ClassVar[Growth] = Growth.FIXED
    rows_per_block: ClassVar[int] = 1 << 17
    windows_in_blocks: ClassVar[bool] = True

    def empty(self, groups: int) -> State:
        """Return the states of groups without rows."""
        raise PlanInvariantError(f"the state column {type(self).__name__!r} has no state of no rows: define empty()")

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        """Return the states of groups of rows."""
        raise PlanInvariantError(f"the state column {type(self).__name__!r} does not lift rows: define lift()")

    def bytes_ahead(self, rows: InputRows, groups: GroupsOfRows) -> int:
        """Return about how many bytes the states of groups of rows will have, if these may be many times those of the rows; otherwise zero."""
        return 0

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        """Return merged states: ``groups`` assigns the entries of the given state to the groups of the result."""
        raise PlanInvariantError(f"the state column {type(self).__name__!r} does not merge states: define merge()")

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        """Return the state of all rows of its group up to each row, and the state of each group after its last row.

        Parameters
        ----------
        rows
            Rows, group by group.
        starts
            Where each group begins; no group is empty.
        before
            The state of each group before its first row here.
        """
        sizes = np.diff(np.append(starts, rows.count))
        of_rows, numbers = np.repeat(np.arange(len(starts)), sizes), np.arange(rows.count)
        state, place, distance = self._of_rows(rows), numbers - starts[of_rows], 1
        # After each step an entry is the state of twice as many rows up to its own.
        while distance < sizes.max(initial=0):
            later = np.flatnonzero(place >= distance)
            entries = joined([take(state, later - distance), state])
            state = self.merge(entries, GroupsOfRows(np.concatenate([later, numbers]), rows.count))
            distance *= 2
        every = self.merge(joined([take(before, of_rows), state]), GroupsOfRows(np.tile(numbers, 2), rows.count))
        return every, take(every, starts + sizes - 1)

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        """Return the states of windows of rows."""
        state, position, numbers, size = self.empty(len(windows)), windows.starts.copy(), np.arange(len(windows)), 1
        blocks, longest = self._of_rows(rows), int(windows.lengths.max(initial=0))
        # A window consists of blocks of different powers of two rows. There is a block at each row at which it can begin.
        while size <= longest:
            chosen = np.flatnonzero(windows.lengths & size)
            if len(chosen):
                entries = joined([state, take(blocks, position[chosen])])
                state = self.merge(entries, GroupsOfRows(np.concatenate([numbers, chosen]), len(windows)))
                position[chosen] += size
            count = max(rows.count - 2 * size + 1, 0)
            pairs = joined([take(blocks, slice(0, count)), take(blocks, slice(size, size + count))])
            blocks = self.merge(pairs, GroupsOfRows(np.tile(np.arange(count), 2), count))
            size *= 2
        return state

    def _of_rows(self, rows: InputRows) -> State:
        """Return the state of each row."""
        return self.lift(rows, GroupsOfRows.of_runs(np.arange(rows.count), rows.count))

    def to_arrow(self, state: State) -> list[pa.Array]:
        """Return a state as Arrow columns, in which it is sent; equal states give equal columns, however rows were divided."""
        if not isinstance(state, np.ndarray) or state.ndim != 1:
            what = f"the state column {type(self).__name__!r} has states that are no array of NumPy with one entry for each group"
            raise PlanInvariantError(f"{what}, but a {type(state).__name__}: define to_arrow(), of_arrow() and arrow_width")
        return [pa.array(state, from_pandas=False)]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        """Return the state that :meth:`to_arrow` converted."""
        return columns[0].to_numpy(zero_copy_only=False)

    @property
    def arrow_width(self) -> int:
        """Number of Arrow columns of a state."""
        return 1


class RunningOrder(enum.Enum):
    """How the values of an aggregate of all rows so far are ordered, from row to row."""

    NUMBERS_ROWS = enum.auto()
    """The rows are numbered."""
    MAXIMA = enum.auto()
    """Values are maxima of the first argument, which are missing before its first value; they never descend, and NaN stays."""
    MINIMA = enum.auto()
    """Values are minima of the first argument, which are missing before its first value; they never ascend."""


@attrs.frozen(eq=False)
class ColumnAggregate:
    """An aggregate of columns of given types.

    Parameters
    ----------
    states
        The state columns from which it is computed.
    finish
        ``finish(*states, last)``: the values from the states, for groups, for rows, and for windows; with ``last`` nobody reads the states
        afterwards, so that they may be overwritten.
    of_windows
        ``of_windows(rows, windows)``: the values of all windows, where that is much faster than ``finish`` of their states; usually None.
    calls_python
        Whether a Python function is called for each group.
    running_order
        How the values of all rows so far are ordered; None: nothing is known.
    finish_of_all
        Like ``finish``, for one group of all rows of a column, where this is rounded more exactly; usually None.
    """

    states: tuple[StateColumn, ...]
    finish: Callable[..., pa.Array]
    of_windows: Callable[[InputRows, RowWindows], pa.Array] | None = None
    calls_python: bool = False
    running_order: RunningOrder | None = None
    finish_of_all: Callable[..., pa.Array] | None = None

    def of_all(self) -> ColumnAggregate:
        """Return the aggregate for one group of all rows of a column."""
        return self if self.finish_of_all is None else attrs.evolve(self, finish=self.finish_of_all)

    @property
    def needs_order(self) -> bool:
        """Whether rows must be given in row order."""
        return any(state.needs_order for state in self.states)

    @property
    def growth(self) -> Growth:
        """What the state of a group grows with."""
        return max((state.growth for state in self.states), default=Growth.FIXED)

    @property
    def windows_in_blocks(self) -> bool:
        """Whether windows are computed in blocks. States that grow are views of all rows, whose values are counted before lists of them are built."""
        return self.of_windows is None and self.growth == Growth.FIXED and any(state.windows_in_blocks for state in self.states)


@attrs.frozen(eq=False)
class AggregateSet:
    """Several aggregates that are computed together, with each state column once.

    Parameters
    ----------
    aggregates
        The aggregates.
    states
        The distinct state columns of all of them.
    positions
        For each aggregate the positions of its state columns among ``states``.
    """

    aggregates: tuple[ColumnAggregate, ...]
    states: tuple[StateColumn, ...]
    positions: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, aggregates: Sequence[ColumnAggregate]) -> AggregateSet:
        """Return the aggregates with their distinct state columns."""
        positions: dict[StateColumn, int] = {}
        found = tuple(tuple(positions.setdefault(state, len(positions)) for state in aggregate.states) for aggregate in aggregates)
        return cls(tuple(aggregates), tuple(positions), found)

    def empty(self, groups: int) -> tuple[State, ...]:
        """Return the states of groups without rows."""
        return tuple(state.empty(groups) for state in self.states)

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> tuple[State, ...]:
        """Return the states of groups of rows."""
        return tuple(state.lift(rows, groups) for state in self.states)

    def lift_all(self, rows: InputRows) -> tuple[State, ...]:
        """Return the states of one group of all rows, of which there may be none."""
        return self.lift(rows, GroupsOfRows.of_all(rows.count)) if rows.count else self.empty(1)

    def bytes_ahead(self, rows: InputRows, groups: GroupsOfRows) -> int:
        """Return about how many bytes the states of groups of rows will have, as far as these may be many times those of the rows."""
        return sum(state.bytes_ahead(rows, groups) for state in self.states)

    def merge(self, states: Sequence[State], groups: GroupsOfRows) -> tuple[State, ...]:
        """Return merged states, see :meth:`StateColumn.merge`."""
        return tuple(column.merge(state, groups) for column, state in zip(self.states, states, strict=True))

    def finish(self, states: Sequence[State], last: bool = False) -> list[pa.Array]:
        """Return the values of each aggregate; with ``last`` the states may be overwritten."""
        return [
            aggregate.finish(*[states[position] for position in positions], last=last and is_alone)
            for aggregate, positions, is_alone in zip(self.aggregates, self.positions, self._read_alone(), strict=True)
        ]

    def _read_alone(self) -> list[bool]:
        """Return, for each aggregate, whether no other aggregate reads its state columns."""
        if len(self.positions) == 1:
            return [True]
        readers = collections.Counter(itertools.chain.from_iterable(map(set, self.positions)))
        return [all(readers[position] == 1 for position in positions) for positions in self.positions]

    def of_windows(self, rows: InputRows, windows: RowWindows) -> list[pa.Array]:
        """Return the values of each aggregate in each window. They may be in arrays of ``rows.scratch``, which the next block overwrites."""
        computed: dict[int, State] = {}

        def state(position: int) -> State:
            if position not in computed:
                computed[position] = self.states[position].windows(rows, windows)
            return computed[position]

        return [
            aggregate.finish(*[state(position) for position in positions], last=is_alone)
            if aggregate.of_windows is None
            else aggregate.of_windows(rows, windows)
            for aggregate, positions, is_alone in zip(self.aggregates, self.positions, self._read_alone(), strict=True)
        ]

    def to_arrow(self, states: Sequence[State]) -> list[pa.Array]:
        """Return all states as Arrow columns, in which they are sent."""
        return [array for column, state in zip(self.states, states, strict=True) for array in column.to_arrow(state)]

    def of_arrow(self, columns: Sequence[pa.Array]) -> tuple[State, ...]:
        """Return the states that :meth:`to_arrow` converted."""
        result, start = [], 0
        for column in self.states:
            result.append(column.of_arrow(columns[start : start + column.arrow_width]))
            start += column.arrow_width
        return tuple(result)

    @property
    def arrow_width(self) -> int:
        """Number of Arrow columns of all states."""
        return sum(column.arrow_width for column in self.states)
