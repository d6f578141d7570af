"""Room in this process for rows of ranges that are brought together."""

from __future__ import annotations

import threading

import attrs

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
    """

    size: int
    most_in_column: int
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
            if self.is_full:
                raise NoRoomError

    @property
    def is_full(self) -> bool:
        """Whether rows were refused."""
        return sum(self._taken) > self.size or max(self._taken, default=0) > self.most_in_column
