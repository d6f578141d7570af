"""Checks of state columns: whatever the groups, the cuts and the order of merges, states are what ``lift`` makes of the same rows."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, State, StateColumn, joined, take
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.testing.kernel_runs import read_all
from sframe_spark.testing.row_comparison import demand, same_value
from sframe_spark.testing.state_checks import places_to_cut
from sframe_spark.values.arrow_to_python import decode


def check_state_columns(aggregation: Aggregation, node: PlannerNode) -> None:
    """Check each state column of an aggregate, and its values for windows."""
    below = node.inputs[0]
    aggregate, again = aggregation.on_columns(below.schema), aggregation.on_columns(below.schema)
    if aggregate.calls_python:
        return
    demand(aggregate.states == again.states, node, "state columns made twice are equal", f"{aggregate.states}, but {again.states}")
    for column in aggregate.states:
        demand(hash(pickle.loads(pickle.dumps(column))) == hash(column), node, "a pickled state column is the same one", repr(column))
        _StatesOfColumn(node, column, read_all(below).columns, read_all(below).rows).check()
    _check_windows(aggregate, node)


@attrs.frozen(eq=False)
class _StatesOfColumn:
    """The checks of one state column on some rows."""

    node: PlannerNode
    column: StateColumn
    arrays: Sequence[pa.Array]
    count: int

    def check(self) -> None:
        self._check_sent()
        self._check_merge()
        self._check_groups()
        self._check_running()
        self._check_windows()

    def rows(self, start: int, stop: int) -> InputRows:
        return InputRows([array.slice(start, stop - start) for array in self.arrays], stop - start)

    def lifted(self, start: int, stop: int) -> State:
        """Return the state of one group of a range of rows."""
        rows = self.rows(start, stop)
        return self.column.lift(rows, GroupsOfRows.of_all(rows.count)) if stop > start else self.column.empty(1)

    def merged(self, *states: State) -> State:
        return self.column.merge(joined(states), GroupsOfRows(np.zeros(len(states), dtype=np.int64), 1))

    def require_same(self, found: State, wanted: State, rule: str, where: str) -> None:
        """Require that two states are equal Arrow columns."""
        first, second = self.column.to_arrow(found), self.column.to_arrow(wanted)
        # NaN is equal to NaN here, and -0.0 is not equal to 0.0.
        same = [repr(array.to_pylist()) for array in first] == [repr(array.to_pylist()) for array in second]
        demand(
            same,
            self.node,
            f"{rule} ({type(self.column).__name__})",
            f"{where}: {[a.to_pylist() for a in first]} and not {[a.to_pylist() for a in second]}",
        )

    def _check_sent(self) -> None:
        for start, stop in ((0, self.count), (0, 1), (0, 0)):
            state = self.lifted(start, stop)
            sent = self.column.to_arrow(state)
            demand(len(sent) == self.column.arrow_width, self.node, "a state has arrow_width Arrow columns", f"{len(sent)}")
            self.require_same(self.column.of_arrow(sent), state, "a state that was sent is the same state", f"rows {start} to {stop}")

    def _check_merge(self) -> None:
        whole, same = self.lifted(0, self.count), self.lifted(0, self.count)
        self.merged(whole)
        self.require_same(whole, same, "a state that is merged stays as it is", "all rows")
        for cut, end in itertools.combinations_with_replacement(places_to_cut(self.count), 2):
            parts = [self.lifted(0, cut), self.lifted(cut, end), self.lifted(end, self.count)]
            before = [self.column.to_arrow(part) for part in parts]
            ways = {
                "the first two first": self.merged(self.merged(parts[0], parts[1]), parts[2]),
                "the last two first": self.merged(parts[0], self.merged(parts[1], parts[2])),
                "all at once": self.merged(*parts),
                "sent": self.merged(*(self.column.of_arrow(sent) for sent in before)),
            }
            for way, found in ways.items():
                rule = "merged states are the same in any grouping: merge is associative, and equal states are equal Arrow columns"
                self.require_same(found, whole, rule, f"rows cut at {cut} and {end}, {way}")

    def _check_groups(self) -> None:
        """Check states of two groups whose rows alternate, and whose states are merged in another order than that of the groups."""
        # As in the engine, each group has a row.
        if self.count < 2:
            return
        codes = np.arange(self.count) * np.arange(self.count) % 3 % 2
        state = self.column.lift(self.rows(0, self.count), GroupsOfRows(codes, 2))
        for cut in sorted(set(places_to_cut(self.count)) - {0, self.count}):
            lower, upper = codes[:cut], codes[cut:]
            parts = [self._of_codes(0, cut, lower), self._of_codes(cut, self.count, upper)]
            groups = GroupsOfRows(np.concatenate([np.unique(lower), np.unique(upper)]), 2)
            self.require_same(self.column.merge(joined(parts), groups), state, "states of groups merge by group", f"rows cut at {cut}")
        for group in (0, 1):
            rows = np.flatnonzero(codes == group)
            alone = self.column.lift(self.rows(0, self.count).take(rows), GroupsOfRows.of_all(len(rows)))
            self.require_same(take(state, np.array([group])), alone, "the state of a group is that of its rows alone", f"rows {rows.tolist()}")

    def _of_codes(self, start: int, stop: int, codes: np.ndarray) -> State:
        present, places = np.unique(codes, return_inverse=True)
        return self.column.lift(self.rows(start, stop), GroupsOfRows(places, len(present)))

    def _check_running(self) -> None:
        """Check the states of all rows so far: of one group after a first part of its rows, and of two groups."""
        for start in sorted(set(places_to_cut(self.count)) - {self.count}):
            every, after = self.column.running(self.rows(start, self.count), np.zeros(1, dtype=np.int64), self.lifted(0, start))
            for row in range(start, self.count):
                found = take(every, np.array([row - start]))
                self.require_same(found, self.lifted(0, row + 1), "running gives the state of all rows so far", f"row {row} after row {start}")
            self.require_same(after, self.lifted(0, self.count), "running gives the state after the last row", f"from row {start}")
        half = self.count // 2
        if not half:
            return
        every, _ = self.column.running(self.rows(0, self.count), np.array([0, half]), self.column.empty(2))
        for row in range(self.count):
            wanted = self.lifted(0 if row < half else half, row + 1)
            self.require_same(take(every, np.array([row])), wanted, "running gives the state of the rows of its group", f"row {row}")

    def _check_windows(self) -> None:
        starts, stops = ranges_within(self.count)
        rolling = [RowWindows.rolling(self.count, width) for width in range(1, self.count + 1)]
        for windows in (RowWindows(starts, stops), *rolling):
            found = self.column.windows(self.rows(0, self.count), windows)
            for number, (start, stop) in enumerate(zip(windows.starts.tolist(), windows.stops.tolist(), strict=True)):
                rule = "windows gives the state of the rows of each window"
                self.require_same(take(found, np.array([number])), self.lifted(start, stop), rule, f"rows {start} to {stop}")


def ranges_within(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and stops of all ranges of rows, including empty ones.

    Examples
    --------
    >>> [bounds.tolist() for bounds in ranges_within(1)]
    [[0, 0, 1], [0, 1, 1]]
    """
    pairs = np.array([(start, stop) for start in range(count + 1) for stop in range(start, count + 1)])
    return pairs[:, 0], pairs[:, 1]


def _check_windows(aggregate: ColumnAggregate, node: PlannerNode) -> None:
    """Check that ``of_windows`` gives the values that ``finish`` makes of the states of windows."""
    if aggregate.of_windows is None:
        return
    chunk, kind = read_all(node.inputs[0]), node.schema[0]
    for windows in (RowWindows(*ranges_within(chunk.rows)), *(RowWindows.rolling(chunk.rows, width) for width in range(1, chunk.rows + 1))):
        rows = InputRows(chunk.columns, chunk.rows)
        found = decode(aggregate.of_windows(rows, windows), kind)
        wanted = decode(aggregate.finish(*(state.windows(rows, windows) for state in aggregate.states), last=False), kind)
        same = len(found) == len(wanted) and all(map(same_value, found, wanted))
        demand(same, node, "of_windows gives the values of the states of windows", f"{found} and not {wanted}")
