"""Partial groups: keys of groups and the states of aggregates of some of their rows, in this process or sent to another."""

from __future__ import annotations

from typing import Any

import attrs

from sframe_spark.expressions.aggregates.state_columns import AggregateSet, State, nbytes
from sframe_spark.planner.chunk import Chunk, from_stream, to_stream


@attrs.frozen(eq=False)
class PartialGroups:
    """Keys and states of groups. A pickled one holds the states as Arrow columns.

    Parameters
    ----------
    keys
        The keys of each group; without key columns the number of groups.
    states
        The states of each group: those of the distinct state columns, or the Arrow columns in which they were sent.
    columns
        The state columns; None if the states are Arrow columns.
    """

    keys: Chunk
    states: tuple[State, ...]
    columns: AggregateSet | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of keys and states."""
        return self.keys.size + nbytes(self.states)

    def live(self, columns: AggregateSet) -> PartialGroups:
        """Return the same groups with states of the given state columns."""
        return self if self.columns is not None else PartialGroups(self.keys, columns.of_arrow(self.states), columns)

    def __reduce__(self) -> tuple[Any, ...]:
        states = self.states if self.columns is None else self.columns.to_arrow(self.states)
        rows, width = self.keys.rows, len(self.keys.columns)
        # A stream without columns has no rows.
        return restored_groups, (bytes(to_stream([Chunk((*self.keys.columns, *states), rows)])) if width or states else b"", rows, width)


def restored_groups(stream: bytes, rows: int, width: int) -> PartialGroups:
    """Rebuild partial groups, of which the first ``width`` columns are keys, from their pickled form."""
    columns = from_stream(stream).columns if stream else ()
    return PartialGroups(Chunk(columns[:width], rows), columns[width:])
