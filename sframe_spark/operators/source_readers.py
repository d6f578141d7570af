"""Those who read sources for one plan: rows that follow those read last are not looked for anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.sizes import row_bytes
from sframe_spark.storage.cursor import Cursor

if TYPE_CHECKING:
    from sframe_spark.operators.sources import SegmentSource, Source


class Reader:
    """Reads a source by row numbers, for one plan.

    Parameters
    ----------
    source
        The source.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def read(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` (inclusive) to ``stop`` (exclusive) of the source."""
        return self.source.read(start, stop)

    def close(self) -> None:
        """Nothing more is read soon."""


class SegmentReader(Reader):
    """Reads stored rows; from the second of ranges that follow or overlap each other on, each row group is decoded once.

    Parameters
    ----------
    source
        The source.
    threads
        How many decode rows that were not asked for yet.
    """

    def __init__(self, source: SegmentSource, threads: int) -> None:
        super().__init__(source)
        self._stored = source
        self._cursor = Cursor(source.manifest, source.positions, source.stop, self._size_between, config.batch_bytes, threads)
        self._last = -1, -1

    def read(self, start: int, stop: int) -> Chunk:
        """Rows of the source, from what was decoded before where it is there."""
        first, last = self._stored.start + start, min(self._stored.start + stop, self._stored.stop)
        before, self._last = self._last, (first, last)
        if not self._stored.positions or first >= last:
            return self._stored.read(start, stop)
        if not self._cursor.can_go_on(first):
            if not before[0] <= first <= before[1] <= last:
                return self._stored.read(start, stop)
            self._cursor.begin(first)
        parts = self._cursor.read(first, last)
        columns = [pa.chunked_array([part[place] for part in parts], kind.physical) for place, kind in enumerate(self._stored.infer_type(()))]
        return self._stored.chunk_of(columns, first, last)

    def close(self) -> None:
        """Decode nothing more."""
        self._cursor.close()

    def _size_between(self, first: int, last: int) -> float | None:
        sizes = self._stored.sizes_between(first - self._stored.start, last - self._stored.start)
        return None if None in sizes else row_bytes(sizes, 0)
