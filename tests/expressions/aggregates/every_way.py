"""An aggregate of columns by all ways of its state columns: lift and merge, running, windows, and states sent as Arrow columns."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.state_columns import AggregateSet, ColumnAggregate, State, joined, nbytes, take

Model = Callable[[list[list[Any]]], Any]
"""The aggregate in plain Python: its value from the values of each column."""


@attrs.frozen(eq=False)
class Rows:
    """Columns, and the group of each row."""

    columns: Sequence[pa.Array]
    codes: np.ndarray
    groups: int

    def cut(self, choose: random.Random) -> list[tuple[int, int]]:
        """Ranges of rows, in row order, none of them empty."""
        rows = len(self.codes)
        ends = sorted({0, rows, *(choose.randrange(rows + 1) for _ in range(choose.choice([0, 1, 5, rows])))})
        return list(itertools.pairwise(ends))

    def part(self, start: int, stop: int) -> tuple[InputRows, np.ndarray, np.ndarray]:
        """Rows, the groups that are among them, and the place of each row's group among these."""
        present, codes = np.unique(self.codes[start:stop], return_inverse=True)
        return InputRows([column.slice(start, stop - start) for column in self.columns], stop - start), present, codes

    def values(self, rows: Sequence[int], model: Model) -> Any:
        return model([[column[row].as_py() for row in rows] for column in self.columns])


def lifted(states: AggregateSet, rows: Rows, cut: Sequence[tuple[int, int]], choose: random.Random) -> tuple[State, ...]:
    """States of all groups, merged of those of ranges of rows in one, two or more steps, some of which were sent."""
    parts = []
    for start, stop in cut:
        part, present, codes = rows.part(start, stop)
        state = states.lift(part, GroupsOfRows(codes, len(present)))
        parts.append((present, sent(states, state) if choose.random() < 0.5 else state))
    while len(parts) > 1:
        count = choose.randint(2, len(parts))
        first = choose.randint(0, len(parts) - count)
        parts[first : first + count] = [merged(states, parts[first : first + count])]
    present, state = parts[0]
    assert present.tolist() == list(range(rows.groups))
    return state


def merged(states: AggregateSet, parts: Sequence[tuple[np.ndarray, tuple[State, ...]]]) -> tuple[np.ndarray, tuple[State, ...]]:
    present, codes = np.unique(np.concatenate([part for part, _ in parts]), return_inverse=True)
    together = [joined(each) for each in zip(*(state for _, state in parts), strict=True)]
    return present, states.merge(together, GroupsOfRows(codes, len(present)))


def sent(states: AggregateSet, state: Sequence[State]) -> tuple[State, ...]:
    """A state after it was sent."""
    columns = states.to_arrow(state)
    assert len(columns) == states.arrow_width
    return states.of_arrow(columns)


def wire(states: AggregateSet, state: Sequence[State]) -> bytes:
    """The bytes of a state that is sent."""
    columns = states.to_arrow(state)
    batch = pa.RecordBatch.from_arrays(columns, names=[str(place) for place in range(len(columns))])
    return batch.serialize().to_pybytes()


def running(states: AggregateSet, rows: Rows, cut: Sequence[tuple[int, int]]) -> tuple[list[Any], tuple[State, ...]]:
    """The value of the only aggregate for each row, and the states of all groups after the last row."""
    after = [state.empty(rows.groups) for state in states.states]
    values: list[Any] = [None] * len(rows.codes)
    for start, stop in cut:
        part, present, codes = rows.part(start, stop)
        groups = GroupsOfRows(codes, len(present))
        ordered = part.take(groups.order)
        pairs = [column.running(ordered, groups.starts, take(state, present)) for column, state in zip(states.states, after, strict=True)]
        for row, value in zip(groups.order.tolist(), states.finish([every for every, _ in pairs])[0].to_pylist(), strict=True):
            values[start + row] = value
        chosen = np.arange(rows.groups)
        chosen[present] = rows.groups + np.arange(len(present))
        after = [take(joined([old, new]), chosen) for old, (_, new) in zip(after, pairs, strict=True)]
    return values, tuple(after)


def check_every_way(aggregate: ColumnAggregate, rows: Rows, model: Model, choose: random.Random) -> None:
    """Check that for any cut of rows all ways give the values of a model, and states of equal bytes."""
    states, every = AggregateSet.of([aggregate]), [np.flatnonzero(rows.codes == group).tolist() for group in range(rows.groups)]
    wanted = [plain(rows.values(members, model)) for members in every]
    whole = lifted(states, rows, [(0, len(rows.codes))], choose)
    assert [plain(value) for value in states.finish(whole)[0].to_pylist()] == wanted
    in_parts = lifted(states, rows, rows.cut(choose), choose)
    assert [plain(value) for value in states.finish(in_parts, last=choose.random() < 0.5)[0].to_pylist()] == wanted
    cut = rows.cut(choose)
    values, after = running(states, rows, cut)
    so_far = [[member for member in every[group] if member <= row] for row, group in enumerate(rows.codes.tolist())]
    assert [plain(value) for value in values] == [plain(rows.values(members, model)) for members in so_far]
    assert wire(states, whole) == wire(states, lifted(states, rows, rows.cut(choose), choose)) == wire(states, after)
    assert [plain(value) for value in states.finish(sent(states, after))[0].to_pylist()] == wanted
    assert nbytes(after) >= 0 and all(len(column) == rows.groups for column in states.to_arrow(after))
    check_windows(states, rows, model, choose)
    nothing = states.finish([column.empty(2) for column in states.states])[0]
    assert [plain(value) for value in nothing.to_pylist()] == [plain(rows.values([], model))] * 2


def check_windows(states: AggregateSet, rows: Rows, model: Model, choose: random.Random) -> None:
    count = len(rows.codes)
    starts = np.array([choose.randint(0, count) for _ in range(20)], dtype=np.int64)
    starts = np.sort(starts) if choose.random() < 0.5 else starts
    any_windows = RowWindows(starts, np.array([choose.randint(start, count) for start in starts.tolist()], dtype=np.int64))
    for windows in (any_windows, RowWindows.rolling(count, choose.randint(1, count))):
        found = states.of_windows(InputRows(rows.columns, count), windows)[0].to_pylist()
        members = [range(start, stop) for start, stop in zip(windows.starts.tolist(), windows.stops.tolist(), strict=True)]
        assert [plain(value) for value in found] == [plain(rows.values(each, model)) for each in members]


def plain(value: Any) -> str:
    """Text that tells values apart: -0.0 is not 0.0, and NaN is NaN."""
    return repr(value)
