"""States of aggregates of the rows so far: each row of a batch gets the values of the rows of its group up to it.

Rows of a batch are brought together by key. State columns do the work; nothing here knows an aggregate.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.compute.segmented_scan import RowGroups
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows
from sframe_spark.expressions.aggregates.state_columns import AggregateSet, ColumnAggregate, Growth, State, joined, replaced, take
from sframe_spark.operators.groupby.partial_groups import PartialGroups
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Schema
from sframe_spark.values.arrow_layouts import in_one_array

# Bytes of the columns of a block of rows.
BYTES_PER_BLOCK = 1 << 24


@attrs.frozen(eq=False)
class RunningState:
    """The state of running aggregates after some rows.

    Parameters
    ----------
    schema
        Types of the columns of the input.
    slots
        By its token, the position of each group in the states.
    groups
        The states of the groups, without their keys.
    """

    schema: Schema
    slots: dict[Hashable, int]
    groups: PartialGroups


ALL_ROWS = RowGroups([()], np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64))


@attrs.frozen(eq=False)
class RunningAggregates:
    """Aggregates of the rows so far with the same key.

    Parameters
    ----------
    schema
        Types of the columns of the rows.
    keys
        Positions of the key columns; without keys all rows are one group.
    aggregates
        The aggregates.
    arguments
        Positions of the columns that the aggregates read.

    Examples
    --------
    >>> from sframe_spark.expressions.aggregates.counts import sum_of_ints
    >>> from sframe_spark.types import INT, STR
    >>> sums = RunningAggregates.of((STR, INT), [0], [sum_of_ints(1)], [1])
    >>> rows = Chunk.of([pa.array(["a", "b", "a"]), pa.array([1, 2, 3])])
    >>> columns, state = sums.advanced(rows, sums.empty())
    >>> columns[0].to_pylist(), sums.advanced(rows, state)[0][0].to_pylist()
    ([1, 2, 4], [5, 4, 8])
    >>> both = sums.combined(state, sums.summarized(rows))
    >>> sums.advanced(rows, both)[0][0].to_pylist()
    [9, 6, 12]
    """

    schema: Schema
    keys: tuple[int, ...]
    aggregates: AggregateSet
    arguments: frozenset[int]

    @classmethod
    def of(cls, schema: Schema, keys: Sequence[int], aggregates: Sequence[ColumnAggregate], arguments: Collection[int]) -> RunningAggregates:
        """Return some running aggregates by some key columns."""
        return cls(schema, tuple(keys), AggregateSet.of(aggregates), frozenset(arguments))

    def empty(self) -> RunningState:
        """Return the state before the first row."""
        return self._state({}, self.aggregates.empty(0))

    def _state(self, slots: dict[Hashable, int], states: tuple[State, ...]) -> RunningState:
        return RunningState(self.schema, slots, PartialGroups(Chunk((), len(slots)), states, self.aggregates))

    def groups(self, chunk: Chunk) -> RowGroups:
        """Return the groups of some rows; a single group has no order, since it is not used."""
        if not self.keys:
            return ALL_ROWS
        return RowGroups.of([chunk.columns[key] for key in self.keys], [self.schema[key] for key in self.keys], chunk.rows)

    def summarized(self, chunk: Chunk) -> RunningState:
        """Return the state of some rows by themselves."""
        if not chunk.rows or not self.aggregates.aggregates:
            return self.empty()
        groups = self.groups(chunk)
        if len(groups.tokens) == 1:
            divided = GroupsOfRows.of_runs(groups.starts, chunk.rows)
        else:
            codes = np.empty(chunk.rows, dtype=np.int64)
            codes[groups.order] = groups.group_of_rows()
            divided = GroupsOfRows(codes, len(groups.tokens))
        states = self.aggregates.lift(InputRows(chunk.columns, chunk.rows), divided)
        return self._state({token: slot for slot, token in enumerate(groups.tokens)}, states)

    def combined(self, first: RunningState, second: RunningState) -> RunningState:
        """Return the state of the rows of two states, the rows of the first state first."""
        if not first.slots or not second.slots:
            return second if second.slots else first
        slots, later = placed(first.slots, second.slots)
        groups = GroupsOfRows(np.concatenate([np.arange(len(first.slots)), later]), len(slots))
        states = [joined(pair) for pair in zip(self._live(first), self._live(second), strict=True)]
        return self._state(slots, self.aggregates.merge(states, groups))

    def _live(self, state: RunningState) -> tuple[State, ...]:
        return state.groups.live(self.aggregates).states

    def advanced(self, chunk: Chunk, state: RunningState) -> tuple[list[pa.Array], RunningState]:
        """Return the values of each aggregate in each of some rows, and the state after them; the given state does not change."""
        if not self.aggregates.aggregates:
            return [], state
        groups = self.groups(chunk)
        slots, batch_slots = placed(state.slots, groups.tokens)
        states, is_all = self._live(state), len(slots) == len(batch_slots) and bool((batch_slots == np.arange(len(slots))).all())
        if len(slots) > len(state.slots):
            added = len(slots) - len(state.slots)
            states = tuple(joined([before, column.empty(added)]) for before, column in zip(states, self.aggregates.states, strict=True))
        before = states if is_all else tuple(take(part, batch_slots) for part in states)
        columns, after = self._values(self._rows(chunk, groups), groups, before)
        if not is_all:
            after = tuple(replaced(state, batch_slots, new) for state, new in zip(states, after, strict=True))
        return columns, self._state(slots, after)

    def _rows(self, chunk: Chunk, groups: RowGroups) -> InputRows:
        """Return the columns that the aggregates read, with the rows group by group."""
        columns = [column if position in self.arguments else None for position, column in enumerate(chunk.columns)]
        rows = InputRows(columns, chunk.rows)
        return rows if len(groups.tokens) == 1 else rows.take(groups.order)

    def _values(self, rows: InputRows, groups: RowGroups, before: Sequence[State]) -> tuple[list[pa.Array], tuple[State, ...]]:
        """Return the values in row order, and the states of the groups after the rows."""
        starts, finished = groups.starts, list[tuple[State, ...]]()
        blocks, order = list(self._blocks(rows)), groups.order if len(starts) > 1 else None
        places = None
        if order is not None and len(blocks) == 1 and any(column.growth > Growth.FIXED for column in self.aggregates.states):
            # Lists and dicts are made in row order, as moving them costs more than moving states.
            places, order = inverted(order), None
        columns = [ValuesInRowOrder(order, rows.count) for _ in self.aggregates.aggregates]
        carried: tuple[State, ...] | None = None
        for low, high in blocks:
            # The groups of this block: the first may have begun in an earlier block, and the last may go on in the next block.
            first, last = int(np.searchsorted(starts, low, "right")) - 1, int(np.searchsorted(starts, high))
            states = tuple(before)
            if last - first < len(starts) or carried is not None:
                states = tuple(take(state, np.arange(first if carried is None else first + 1, last)) for state in before)
            if carried is not None:
                states = carried if last - first == 1 else tuple(joined(pair) for pair in zip(carried, states, strict=True))
            block_rows = rows if high - low == rows.count else rows.slice(low, high)
            values, after = self._of_block(block_rows, starts[first:last], low, states, places)
            for column, block in zip(columns, values, strict=True):
                column.add(block, low)
            if high < rows.count and (last == len(starts) or starts[last] > high):
                carried = after if last - first == 1 else tuple(take(state, np.array([last - first - 1])) for state in after)
                after = tuple(take(state, np.arange(last - first - 1)) for state in after) if last - first > 1 else ()
            else:
                carried = None
            if after:
                finished.append(after)
        return [column.finish() for column in columns], tuple(joined(states) for states in zip(*finished, strict=True))

    def _of_block(
        self, rows: InputRows, starts: np.ndarray, low: int, before: Sequence[State], places: np.ndarray | None
    ) -> tuple[list[pa.Array], tuple[State, ...]]:
        """Return the values in the rows of a block, in the order ``places`` if given, and the states of its groups after them."""
        starts = np.maximum(starts - low, 0)
        pairs = [column.running(rows, starts, state) for column, state in zip(self.aggregates.states, before, strict=True)]
        every = [state if places is None else take(state, places) for state, _ in pairs]
        return self.aggregates.finish(every, last=True), tuple(after for _, after in pairs)

    def _blocks(self, rows: InputRows) -> Iterator[tuple[int, int]]:
        """Yield the first row and the end of each block."""
        size = rows.count
        # States that grow with rows would be copied for each block.
        if all(column.growth < Growth.ROWS for column in self.aggregates.states):
            width = rows.nbytes // rows.count
            most = min(column.rows_per_block for column in self.aggregates.states)
            size = min(most, max(BYTES_PER_BLOCK // max(width, 1), 1))
        for start in range(0, rows.count, size):
            yield start, min(start + size, rows.count)


@attrs.define(eq=False)
class ValuesInRowOrder:
    """A column that is given in blocks, group by group, and put into row order.

    Parameters
    ----------
    order
        The rows, group by group; None if this is row order.
    count
        Number of rows.

    Examples
    --------
    >>> column = ValuesInRowOrder(np.array([1, 0, 2]), 3)
    >>> column.add(pa.array([5, None]), 0)
    >>> column.add(pa.array([7]), 2)
    >>> column.finish().to_pylist()
    [None, 5, 7]
    """

    order: np.ndarray | None
    count: int
    _blocks: list[pa.Array] = attrs.field(factory=list, init=False)
    _numbers: np.ndarray | None = attrs.field(default=None, init=False)
    _missing: np.ndarray | None = attrs.field(default=None, init=False)

    def add(self, block: pa.Array, start: int) -> None:
        """Add the values of the rows from ``start`` on."""
        kind = block.type
        if not (pa.types.is_int64(kind) or pa.types.is_float64(kind)) or (self.order is None and len(block) == self.count):
            self._blocks.append(block)
            return
        if self._numbers is None:
            self._numbers = new_array(self.count, np.dtype(np.int64 if pa.types.is_int64(kind) else np.float64))
        # Numbers are copied at once, while they are in the cache.
        rows = slice(start, start + len(block)) if self.order is None else self.order[start : start + len(block)]
        self._numbers[rows] = plain_numbers(block)
        if block.null_count:
            if self._missing is None:
                self._missing = np.zeros(self.count, dtype=bool)
            self._missing[rows] = block.is_null().to_numpy(zero_copy_only=False)

    def finish(self) -> pa.Array:
        """Return the column."""
        if self._numbers is not None:
            return pa.array(self._numbers, mask=self._missing, from_pandas=False)
        column = in_one_array(self._blocks)
        if self.order is None:
            return column
        return column.take(pa.array(inverted(self.order)))


def inverted(order: np.ndarray) -> np.ndarray:
    """Return the position of each row in an order of the rows."""
    result = np.empty(len(order), dtype=np.int64)
    result[order] = np.arange(len(order))
    return result


def placed(slots: dict[Hashable, int], tokens: Collection[Hashable]) -> tuple[dict[Hashable, int], np.ndarray]:
    """Return the slots of all groups, and the slots of ``tokens``; groups that have no slot get one, in a copy of ``slots``.

    Examples
    --------
    >>> slots, found = placed({"a": 0}, ["b", "a"])
    >>> slots, found.tolist()
    ({'a': 0, 'b': 1}, [1, 0])
    """
    result = list(map(slots.get, tokens))
    if None in result:
        slots = dict(slots)
        result = [slots.setdefault(token, len(slots)) if position is None else position for token, position in zip(tokens, result, strict=True)]
    return slots, np.array(result, dtype=np.int64)
