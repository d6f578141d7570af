"""Rows that threads make and that stay in this process's memory, as long as there is room for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import attrs
import pyarrow as pa

from sframe_spark.engine.memory_budget import MemoryReservation, bytes_of_rows
from sframe_spark.engine.runtime.tasks import RangeTask, chunks_of
from sframe_spark.errors import MemoryReservationError
from sframe_spark.planner.chunk import Chunk, ChunkedRows, coalesce_chunks, concatenate, drained
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import result_memory_left
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import ColumnType


def reservation_for_results() -> MemoryReservation:
    """The room that is left for results beside what Arrow holds in this process already, whoever asked for it."""
    return MemoryReservation(max(0, result_memory_left()))


def has_room(node: PlannerNode) -> bool:
    """Whether the rows of a node, of which it is known how many there are, would find room."""
    rows = node.length.rows
    return rows is not None and bytes_of_rows(node, rows) <= result_memory_left()


def may_stay() -> bool:
    """Whether there is room for all that Arrow holds in this process now."""
    return result_memory_left() >= 0


@attrs.define(eq=False)
class PartialRows:
    """The rows of a task that found room, and those that are still to be made.

    Parameters
    ----------
    found
        The first rows.
    rest
        The others; None where all found room.
    """

    found: list[Chunk]
    rest: Iterator[Chunk] | None = None

    def runs(self) -> Iterator[Sequence[pa.Array]]:
        """All rows, of which those that found room are let go one after the other."""
        return (chunk.columns for chunk in chain(drained(self.found), self.rest or ()) if chunk.rows)

    def write(self, types: Sequence[ColumnType], directory: str, number: int) -> SegmentEntry:
        """All rows as a segment."""
        return write_segment(directory, number, types, self.runs())


def partial_rows_of_task(task: RangeTask, room: MemoryReservation) -> PartialRows:
    """Rows of a task, up to where no room is left for them or for those of others."""
    return begun(chunks_of(task), room)


def begun(made: Iterator[Chunk], room: MemoryReservation) -> PartialRows:
    """Rows as they are made, up to where no room is left for them or for those of others."""
    found = list[Chunk]()
    while not room.is_full:
        chunk = next(made, None)
        if chunk is None:
            return PartialRows(found)
        found.append(chunk)
        try:
            room.take(chunk)
        except MemoryReservationError:
            break
    return PartialRows(found, made)


def rows_as_produced(parts: Sequence[PartialRows], schema: Sequence[ColumnType]) -> Chunk | ChunkedRows:
    """Rows of parts that all found room, one after the other, as they were made; the parts are empty then."""
    return coalesce_chunks(_taken_from(parts), tuple(schema))


def in_one_chunk(parts: Sequence[PartialRows], schema: Sequence[ColumnType]) -> Chunk:
    """The same rows, each column in one array."""
    return concatenate(_taken_from(parts), tuple(schema))


def _taken_from(parts: Sequence[PartialRows]) -> Iterator[Chunk]:
    return (chunk for part in parts for chunk in drained(part.found))
