"""Running sums of floats, means and spreads by group: states are exact sums, so they do not depend on how rows are cut."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_window_sum import Sums, joined_sums, running_sums
from sframe_spark.operators.window.groups import RowGroups
from sframe_spark.operators.window.segmented_scan import numbers, valid


@attrs.frozen(eq=False)
class ExactAggregate:
    """A running aggregate over exact sums.

    Parameters
    ----------
    kind
        ``sum``, ``mean``, ``var`` or ``std``: zero (the mean: missing) of no number.
    """

    kind: str

    @property
    def has_squares(self) -> bool:
        """Whether squares are added up too."""
        return self.kind in ("var", "std")

    def empty(self, groups: int) -> Sums:
        """State of groups without rows."""
        return Sums.nothing(groups, self.has_squares)

    def widened(self, state: Sums, groups: int) -> Sums:
        """The state with groups without rows added up to that many."""
        return joined_sums([state, self.empty(groups - len(state.counts))])

    def advance(self, state: Sums, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, Sums]:
        """Running values of a run, row by row, and the state after it; ``slots`` are the places of the groups in the state."""
        floats, there = self._in_order(columns, groups)
        found, counts, after = running_sums(self.kind, floats, there, groups.starts, state.taken(slots))
        missing = groups.to_row_order(counts == 0) if self.kind == "mean" else None
        return pa.array(groups.to_row_order(found), mask=missing, from_pandas=False), state.replaced(after, slots)

    def summarized(self, state: Sums, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> Sums:
        """State after a run."""
        floats, there = self._in_order(columns, groups)
        codes = groups.group_of_rows()
        return state.merged(Sums.of(floats, there, codes, len(groups.starts), self.has_squares), slots)

    def merged(self, first: Sums, second: Sums, slots: np.ndarray) -> Sums:
        """State of both; ``slots`` are the places of the second's groups in the first, which has them all."""
        return first.merged(second, slots)

    def _in_order(self, columns: Sequence[pa.Array], groups: RowGroups) -> tuple[np.ndarray, np.ndarray | None]:
        """Numbers group by group, zero where missing, and where there is one; None for everywhere."""
        column = columns[0]
        there = valid(column)[groups.order] if column.null_count else None
        return numbers(column, np.dtype(np.float64))[groups.order], there
