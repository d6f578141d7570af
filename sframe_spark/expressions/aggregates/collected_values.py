"""The values of groups as a state column, and aggregates of all values of a group: lists, dicts, and those that only have a ``reduce`` function."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_running_sums_in_two_words import grouped_cumsum
from sframe_spark.compute.key_runs import ranges
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.expressions.aggregates.counts import group_sizes
from sframe_spark.expressions.aggregates.rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.state_columns import Growth, State, StateColumn
from sframe_spark.types import ColumnType
from sframe_spark.values.arrow_layouts import in_one_array


@attrs.frozen(eq=False)
class ListViews:
    """Lists of values: each is a range of the values of a pool. The ranges may overlap, as those of the rows so far and of windows do.

    Parameters
    ----------
    starts, sizes
        The range of each list.
    pool
        One or more columns of values, all of the same length.
    """

    starts: np.ndarray
    sizes: np.ndarray
    pool: tuple[pa.Array, ...]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def nbytes(self) -> int:
        """Bytes of the ranges and of the pool."""
        return self.starts.nbytes + self.sizes.nbytes + sum(column.nbytes for column in self.pool)

    @property
    def stops(self) -> np.ndarray:
        """End of the range of each list."""
        return self.starts + self.sizes

    def take(self, entries: np.ndarray | slice) -> ListViews:
        """Return some of the lists, with the same pool."""
        return ListViews(self.starts[entries], self.sizes[entries], self.pool)

    @classmethod
    def joined(cls, states: Sequence[ListViews]) -> ListViews:
        """Return the lists of several states, one state after the other."""
        before = np.cumsum([0, *(len(state.pool[0]) for state in states[:-1])])
        starts = np.concatenate([state.starts + offset for state, offset in zip(states, before, strict=True)])
        pool = tuple(in_one_array(list(columns)) for columns in zip(*(state.pool for state in states), strict=True))
        return cls(starts, np.concatenate([state.sizes for state in states]), pool)

    @property
    def are_packed(self) -> bool:
        """Whether the lists are the whole pool, one after the other."""
        ends = np.cumsum(self.sizes)
        return len(self.pool[0]) == (int(ends[-1]) if len(ends) else 0) and bool((self.starts == ends - self.sizes).all())

    @property
    def overlap(self) -> bool:
        """Whether the lists have more values together than the pool."""
        return int(self.sizes.sum()) > len(self.pool[0])

    def packed(self) -> ListViews:
        """Return the same lists with a pool of just their values, one list after the other."""
        if self.are_packed:
            return self
        chosen = pa.array(ranges(self.starts, self.sizes))
        return ListViews(np.cumsum(self.sizes) - self.sizes, self.sizes, tuple(column.take(chosen) for column in self.pool))

    def list_of_values(self) -> np.ndarray:
        """Return for each value of packed lists the index of its list."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


@attrs.frozen
class CollectedValues(StateColumn):
    """The values of some columns in row order.

    Parameters
    ----------
    columns
        Positions of the columns.
    skips_missing
        Whether rows in which the first column has no value are left out.
    """

    needs_order = True
    growth = Growth.ROWS
    columns: tuple[int, ...]
    types: tuple[ColumnType, ...]
    skips_missing: bool = False

    def empty(self, groups: int) -> State:
        nothing = np.zeros(groups, dtype=np.int64)
        return ListViews(nothing, nothing, tuple(pa.array([], column_type.physical) for column_type in self.types))

    def chosen(self, rows: InputRows) -> np.ndarray | None:
        """Return a mask of the rows whose values are kept; None if all are."""
        return rows.valid(self.columns[:1]) if self.skips_missing else None

    def lift(self, rows: InputRows, groups: GroupsOfRows) -> State:
        valid, order, sizes = self.chosen(rows), groups.order, groups.sizes
        if valid is not None:
            order, sizes = order[valid[order]], groups.totals(valid)
        positions = pa.array(order)
        return ListViews(np.cumsum(sizes) - sizes, sizes, tuple(rows.column(position).take(positions) for position in self.columns))

    def merge(self, state: State, groups: GroupsOfRows) -> State:
        sizes = np.zeros(groups.count, dtype=np.int64)
        np.add.at(sizes, groups.codes, state.sizes)
        return ListViews(np.cumsum(sizes) - sizes, sizes, state.take(groups.order).packed().pool)

    def running(self, rows: InputRows, starts: np.ndarray, before: State) -> tuple[State, State]:
        groups = len(starts)
        after = self.merge(ListViews.joined([before, self._of_sorted(rows, starts)]), GroupsOfRows(np.tile(np.arange(groups), 2), groups))
        valid = self.chosen(rows)
        sizes = grouped_cumsum(np.ones(rows.count, dtype=np.int64) if valid is None else valid.astype(np.int64), starts, before.sizes)
        return ListViews(np.repeat(after.starts, group_sizes(starts, rows.count)), sizes, after.pool), after

    def _of_sorted(self, rows: InputRows, starts: np.ndarray) -> ListViews:
        stops = np.append(starts[1:], rows.count)
        return self.windows(rows, RowWindows(starts, stops))

    def windows(self, rows: InputRows, windows: RowWindows) -> State:
        valid, columns = self.chosen(rows), [rows.column(position) for position in self.columns]
        if valid is None:
            return ListViews(windows.starts, windows.lengths, tuple(columns))
        before = np.concatenate([[0], np.cumsum(valid)])
        starts = before[windows.starts]
        return ListViews(starts, before[windows.stops] - starts, tuple(column.filter(pa.array(valid)) for column in columns))

    def to_arrow(self, state: State) -> list[pa.Array]:
        packed = state.packed()
        offsets = pa.array(np.append(packed.starts, len(packed.pool[0])))
        return [pa.LargeListArray.from_arrays(offsets, column) for column in packed.pool]

    def of_arrow(self, columns: Sequence[pa.Array]) -> State:
        offsets = columns[0].offsets.to_numpy(zero_copy_only=False)
        return ListViews(offsets[:-1] - offsets[0], np.diff(offsets), tuple(c.values.slice(offsets[0], offsets[-1] - offsets[0]) for c in columns))

    @property
    def arrow_width(self) -> int:
        return len(self.columns)


def ranges_of(views: ListViews) -> list[tuple[int, int]]:
    """Return start and stop of each list in the pool."""
    return list(zip(views.starts.tolist(), views.stops.tolist(), strict=True))
