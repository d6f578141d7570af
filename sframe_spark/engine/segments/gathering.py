"""Rows of ranges brought together in this process, as long as there is room for them."""

from __future__ import annotations

import threading

import attrs

from sframe_spark.engine.segments.tasks import RangeTask, chunks_of
from sframe_spark.errors import NoRoomError
from sframe_spark.planner.chunk import Chunk

# An array of texts or lists ends there.
MOST_BYTES_OF_TEXTS = 2**31 - 1


@attrs.define(eq=False)
class Room:
    """Bytes that rows of several threads may take together.

    Parameters
    ----------
    size
        All of them.
    most_in_column
        Those of a single column.
    is_full
        Rows were refused.
    """

    size: int
    most_in_column: int
    is_full: bool = attrs.field(default=False, init=False)
    _taken: list[int] = attrs.field(factory=list, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def take(self, chunk: Chunk) -> None:
        """Let rows have room.

        Raises
        ------
        NoRoomError
            If there is none left.
        """
        sizes = [column.nbytes for column in chunk.columns]
        with self._lock:
            self._taken = [a + b for a, b in zip(self._taken or [0] * len(sizes), sizes, strict=True)]
            if sum(self._taken) > self.size or max(self._taken, default=0) > self.most_in_column:
                self.is_full = True
                raise NoRoomError


def gathered_rows(task: RangeTask, room: Room) -> list[Chunk]:
    """Rows of a task, which stay in memory.

    Raises
    ------
    NoRoomError
        If the rows of all tasks together take more than there is.
    """
    chunks = []
    for chunk in chunks_of(task):
        room.take(chunk)
        chunks.append(chunk)
    return chunks
