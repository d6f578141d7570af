"""Partial groups: keys of groups and the states of aggregates of some of their rows, in this process or sent to another."""

from __future__ import annotations

from typing import Any, Self

import attrs

from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import Chunk, from_stream, to_stream

with lazy_imports(globals()):
    from sframe_spark.expressions.aggregates.state_columns import AggregateSet, State, nbytes


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

    def to_rows(self) -> Chunk:
        """Return the groups as rows: keys, then states as Arrow columns."""
        states = self.states if self.columns is None else self.columns.to_arrow(self.states)
        return Chunk((*self.keys.columns, *states), self.keys.rows)

    @classmethod
    def of_rows(cls, rows: Chunk, width: int) -> Self:
        """Return the groups with the given rows; their first ``width`` columns are keys."""
        return cls(Chunk(rows.columns[:width], rows.rows), rows.columns[width:])

    def __reduce__(self) -> tuple[Any, ...]:
        rows, width = self.to_rows(), len(self.keys.columns)
        # A stream without columns has no rows.
        return restored_groups, (bytes(to_stream([rows])) if rows.columns else b"", rows.rows, width)


def restored_groups(stream: bytes, rows: int, width: int) -> PartialGroups:
    """Rebuild partial groups from their pickled form; the first ``width`` columns are keys."""
    return PartialGroups.of_rows(Chunk(from_stream(stream).columns if stream else (), rows), width)
