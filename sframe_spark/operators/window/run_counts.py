"""Running number of runs of equal values: a group's count, and its first and last value."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_encoding import comparable
from sframe_spark.compute.key_runs import differs
from sframe_spark.operators.window.groups import RowGroups, totals_so_far
from sframe_spark.operators.window.running_collections import widened_with
from sframe_spark.types import ColumnType


@attrs.frozen(eq=False)
class RunCounts:
    """What is known of the runs of some groups.

    Parameters
    ----------
    counts
        How many there are; none where a group has no row.
    firsts, lasts
        The value of the first and of the last row of each group, as they compare.
    """

    counts: np.ndarray
    firsts: pa.Array
    lasts: pa.Array

    def taken(self, groups: np.ndarray) -> RunCounts:
        """Of some of the groups."""
        places = pa.array(groups)
        return RunCounts(self.counts[groups], self.firsts.take(places), self.lasts.take(places))

    def replaced(self, other: RunCounts, groups: np.ndarray) -> RunCounts:
        """The same with others in place of the groups of these numbers."""
        places = np.arange(len(self.counts))
        places[groups] = len(places) + np.arange(len(groups))
        chosen = pa.array(places)
        firsts, lasts = (pa.concat_arrays(pair).take(chosen) for pair in ((self.firsts, other.firsts), (self.lasts, other.lasts)))
        return RunCounts(np.concatenate([self.counts, other.counts])[places], firsts, lasts)


@attrs.frozen(eq=False)
class RunCountAggregate:
    """A running ``count_runs``.

    Parameters
    ----------
    column_type
        Type of the argument.
    """

    column_type: ColumnType

    def empty(self, groups: int) -> RunCounts:
        """No row in any group."""
        nothing = comparable(pa.array([], self.column_type.physical), self.column_type)
        return RunCounts(np.zeros(groups, dtype=np.int64), pa.nulls(groups, nothing.type), pa.nulls(groups, nothing.type))

    def widened(self, state: RunCounts, groups: int) -> RunCounts:
        """The state with groups without rows added up to that many."""
        more = self.empty(groups - len(state.counts))
        firsts, lasts = pa.concat_arrays([state.firsts, more.firsts]), pa.concat_arrays([state.lasts, more.lasts])
        return RunCounts(widened_with(state.counts, groups, 0), firsts, lasts)

    def advance(self, state: RunCounts, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, RunCounts]:
        """Numbers of runs, row by row, and the state after these rows."""
        found, after = self._of_run(state, columns[0], groups, slots)
        return pa.array(groups.to_row_order(found)), after

    def summarized(self, state: RunCounts, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> RunCounts:
        """State after a run."""
        return self._of_run(state, columns[0], groups, slots)[1]

    def merged(self, first: RunCounts, second: RunCounts, slots: np.ndarray) -> RunCounts:
        """Runs of both; where they meet, one may go on."""
        return first.replaced(together(first.taken(slots), second), slots)

    def _of_run(self, state: RunCounts, column: pa.Array, groups: RowGroups, slots: np.ndarray) -> tuple[np.ndarray, RunCounts]:
        """Numbers of runs along the order of the groups, and the state after these rows."""
        if not groups.rows:
            return np.zeros(0, dtype=np.int64), state
        values = comparable(column, self.column_type).take(pa.array(groups.order))
        begins = np.concatenate([[True], differs(values)])
        begins[groups.starts] = True
        counts, before = totals_so_far(begins.astype(np.int64), groups), state.taken(slots)
        firsts, lasts = values.take(pa.array(groups.starts)), values.take(pa.array(groups.stops - 1))
        after = together(before, RunCounts(counts[groups.stops - 1], firsts, lasts))
        added = after.counts - counts[groups.stops - 1]
        return counts + np.repeat(added, groups.stops - groups.starts), state.replaced(after, slots)


def together(first: RunCounts, second: RunCounts) -> RunCounts:
    """Runs of the same groups, in rows one after the other; of the first rows a group may have none."""
    count = len(first.counts)
    # The last value of the one beside the first of the other.
    beside = np.arange(2 * count).reshape(2, count).T.ravel()
    goes_on = ~differs(pa.concat_arrays([first.lasts, second.firsts]).take(pa.array(beside)))[::2]
    there = first.counts > 0
    firsts = pa.concat_arrays([first.firsts, second.firsts]).take(pa.array(np.arange(count) + np.where(there, 0, count)))
    return RunCounts(first.counts + second.counts - (there & goes_on), firsts, second.lasts)
