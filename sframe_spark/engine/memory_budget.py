"""Room in this process for rows that several threads make or work on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from sframe_spark.errors import NoRoomError
from sframe_spark.planner.chunk import MOST_BYTES_OF_ARRAY, Chunk
from sframe_spark.process.threads import POLL_SECONDS, raise_if_cancelled


@attrs.define(eq=False)
class Room:
    """Bytes that rows of several threads may take together: what finds none is refused.

    Parameters
    ----------
    size
        All of them.
    most_in_column
        Those of a single column, which is to be one array.
    """

    size: int
    most_in_column: int = MOST_BYTES_OF_ARRAY
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


@attrs.define(eq=False)
class SharedRoom:
    """Bytes that threads may work on at a time: who finds too few left waits for others, and takes more than there are alone.

    Parameters
    ----------
    size
        All of them.
    """

    size: int
    _taken: int = attrs.field(default=0, init=False)
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False)

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Let the block have room, once there is some; Ctrl-C ends the wait."""
        with self._changed:
            while self._taken and self._taken + size > self.size:
                self._changed.wait(POLL_SECONDS)
                raise_if_cancelled()
            self._taken += size
        try:
            yield
        finally:
            with self._changed:
                self._taken -= size
                self._changed.notify_all()
