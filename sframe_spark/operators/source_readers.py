"""Those who read sources for one plan: rows that follow those read last are not looked for anew."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.sizes import row_bytes
from sframe_spark.storage.cursor import Cursor
from sframe_spark.storage.decoder import Part

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
    most_bytes
        Row groups that take more are decoded in steps.
    """

    def __init__(self, source: SegmentSource, threads: int, most_bytes: int) -> None:
        super().__init__(source)
        self._stored = source
        self._cursor = Cursor(source.manifest, source.positions, source.stop, partial(size_between, source), most_bytes, threads)
        self._last = -1, -1

    def read(self, start: int, stop: int) -> Chunk:
        """Rows of the source, from what was decoded before where it is there."""
        first, last = self._stored.start + start, min(self._stored.start + stop, self._stored.stop)
        before, self._last = self._last, (first, last)
        if not self._stored.positions or first >= last:
            return self._stored.read(start, stop)
        # One range alone is not where somebody goes through the rows.
        if not self._cursor.can_go_on(first) and not before[0] <= first <= before[1] <= last:
            return self._stored.read(start, stop)
        return self._stored.chunk_of(self._columns(self._cursor.read(first, last)), first, last)

    def in_pieces(self) -> Iterator[Chunk]:
        """All rows, in pieces as they are decoded."""
        first, stop = self._stored.start, self._stored.stop
        if first == stop or not self._stored.positions:
            yield self._stored.read_all()
            return
        try:
            for part in self._cursor.rest(first, config.batch_rows):
                last = first + len(part[0])
                yield self._stored.chunk_of(self._columns([part]), first, last)
                first = last
        finally:
            self.close()
        if first != stop:
            raise PlanInvariantError(f"reading {self._stored.manifest.directory} up to row {stop} ended with row {first}")

    def close(self) -> None:
        """Decode nothing more."""
        self._cursor.close()

    def _columns(self, parts: list[Part]) -> list[pa.ChunkedArray]:
        return [pa.chunked_array([part[place] for part in parts], kind.physical) for place, kind in enumerate(self._stored.infer_type(()))]


def size_between(source: SegmentSource, first: int, last: int) -> float | None:
    """About how many bytes the rows of a dataset between two take in memory, of the columns of a source; None where nobody knows."""
    sizes = source.sizes_between(first - source.start, last - source.start)
    return None if None in sizes else row_bytes(sizes, 0)
