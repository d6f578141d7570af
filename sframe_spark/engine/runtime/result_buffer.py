"""Buffers for results in memory, which fill until a memory reservation is exhausted."""

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
    """Return a reservation of the memory that is left for results, after what Arrow has allocated in this process."""
    return MemoryReservation(max(0, result_memory_left()))


def has_room(node: PlannerNode) -> bool:
    """Return whether the rows of a node would fit in memory; False if their number is unknown."""
    rows = node.length.rows
    return rows is not None and bytes_of_rows(node, rows) <= result_memory_left()


def may_stay() -> bool:
    """Return whether everything that Arrow has allocated is within the memory limit."""
    return result_memory_left() >= 0


@attrs.define(eq=False)
class PartialRows:
    """The buffered rows of a task, and an iterator of those that did not fit in memory.

    Parameters
    ----------
    found
        The first rows, in chunks.
    rest
        The other rows, which are not computed yet; None if all rows are buffered.
    """

    found: list[Chunk]
    rest: Iterator[Chunk] | None = None

    def runs(self) -> Iterator[Sequence[pa.Array]]:
        """Yield the columns of all rows, chunk by chunk; buffered chunks are released one after the other."""
        return (chunk.columns for chunk in chain(drained(self.found), self.rest or ()) if chunk.rows)

    def write(self, types: Sequence[ColumnType], directory: str, number: int) -> SegmentEntry:
        """Write all rows as the segment of the given number."""
        return write_segment(directory, number, types, self.runs())


def partial_rows_of_task(task: RangeTask, room: MemoryReservation) -> PartialRows:
    """Run a task, and buffer its rows as long as memory can be reserved for them."""
    return partial_rows(chunks_of(task), room)


def partial_rows(made: Iterator[Chunk], room: MemoryReservation) -> PartialRows:
    """Buffer rows as long as memory can be reserved for them; the others are left to be computed later."""
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
    """Concatenate completely buffered results in as few chunks as possible, without copying; the buffers are empty afterwards."""
    return coalesce_chunks(_taken_from(parts), tuple(schema))


def in_one_chunk(parts: Sequence[PartialRows], schema: Sequence[ColumnType]) -> Chunk:
    """Concatenate completely buffered results into one array for each column; the buffers are empty afterwards."""
    return concatenate(_taken_from(parts), tuple(schema))


def _taken_from(parts: Sequence[PartialRows]) -> Iterator[Chunk]:
    return (chunk for part in parts for chunk in drained(part.found))
