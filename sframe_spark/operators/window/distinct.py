"""Running number of distinct values: linear in the rows, with a state of the distinct values per group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_encoding import codes_of, comparable_values, tokens_of
from sframe_spark.operators.window.groups import RowGroups, totals_so_far
from sframe_spark.types import ColumnType

SeenValues = list[frozenset[Any]]


@attrs.frozen(eq=False)
class DistinctAggregate:
    """Number of distinct values so far, missing and NaN each being one of them; the state is the values of each group.

    Parameters
    ----------
    column_type
        Type of the argument.
    """

    column_type: ColumnType

    def empty(self, groups: int) -> SeenValues:
        """No value in any group."""
        return [frozenset()] * groups

    def widened(self, state: SeenValues, groups: int) -> SeenValues:
        """The state with groups without rows added up to that many."""
        return state + self.empty(groups - len(state))

    def advance(self, state: SeenValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, SeenValues]:
        """Numbers of distinct values of a run, row by row, and the state after it."""
        firsts, tokens = self._first_of_each(columns[0], groups)
        slot_of_rows = slots[groups.group_of_rows()]
        added: dict[int, list[Any]] = {}
        new = np.zeros(groups.rows, dtype=np.int64)
        for place, slot, token in zip(firsts.tolist(), slot_of_rows[firsts].tolist(), tokens, strict=True):
            if token not in state[slot]:
                new[place] = 1
                added.setdefault(slot, []).append(token)
        before = np.array([len(seen) for seen in state], dtype=np.int64)[slot_of_rows]
        counts = before + totals_so_far(new, groups)
        return pa.array(groups.to_row_order(counts)), with_values(state, added)

    def summarized(self, state: SeenValues, columns: Sequence[pa.Array], groups: RowGroups, slots: np.ndarray) -> SeenValues:
        """State after a run."""
        firsts, tokens = self._first_of_each(columns[0], groups)
        added: dict[int, list[Any]] = {}
        for slot, token in zip(slots[groups.group_of_rows()][firsts].tolist(), tokens, strict=True):
            added.setdefault(slot, []).append(token)
        return with_values(state, added)

    def merged(self, first: SeenValues, second: SeenValues, slots: np.ndarray) -> SeenValues:
        """Values of both."""
        return with_values(first, {slot: seen for slot, seen in zip(slots.tolist(), second, strict=True) if seen})

    def _first_of_each(self, column: pa.Array, groups: RowGroups) -> tuple[np.ndarray, list[Any]]:
        """Where each value of each group occurs first along the order of the groups, and a token of it."""
        values = comparable_values(column, self.column_type)
        codes = codes_of(values)[groups.order]
        pairs = groups.group_of_rows() * (int(codes.max(initial=0)) + 1) + codes
        firsts = np.unique(pairs, return_index=True)[1]
        places = pa.array(groups.order[firsts])
        return firsts, tokens_of([array.take(places) for array in values])


def with_values(state: SeenValues, added: dict[int, Any]) -> SeenValues:
    """A state with more values in some groups."""
    after = list(state)
    for slot, values in added.items():
        after[slot] = state[slot].union(values)
    return after
