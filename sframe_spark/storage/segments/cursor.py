"""Rows of a dataset, one range after the other: those that were decoded for the last one are not decoded again."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator

from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments.row_group_decoder import DecodedPart, Decoder, SizeOf


class Cursor:
    """Where somebody reads a dataset who goes through its rows in order; others should ask for rows by number.

    Parameters
    ----------
    manifest
        The dataset.
    columns
        Positions of the wanted columns, at least one.
    stop
        The row behind the last one that is read.
    size_of
        What is known of the length of rows.
    most_bytes
        Row groups that take more are decoded step by step, and no more than that is decoded before it is asked for.
    threads
        How many decode what comes next; 0: nothing is decoded before it is asked for.
    coded
        Columns of texts that may come as numbers in a dictionary.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from sframe_spark.storage.datasets.commit import publish
    >>> from sframe_spark.storage.segments.writer import write_segment
    >>> from sframe_spark.types import INT
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     manifest = publish(directory, [INT], [write_segment(directory, 0, [INT], [[pa.array([10, 11, 12])]])])
    ...     cursor = Cursor(manifest, (0,), 3, lambda start, stop: 8.0 * (stop - start), 1000)
    ...     [[part[0].to_pylist() for part in cursor.read(*rows)] for rows in ((0, 2), (1, 3))]
    [[[10, 11]], [[11, 12]]]
    """

    def __init__(
        self,
        manifest: Manifest,
        columns: tuple[int, ...],
        stop: int,
        size_of: SizeOf,
        most_bytes: float,
        threads: int = 0,
        coded: frozenset[int] = frozenset(),
    ) -> None:
        self._of = manifest, columns, stop, size_of, most_bytes, threads, coded
        self._process = os.getpid()
        # What was decoded and may be asked for again: the rows from `_first` to `_end`.
        self._kept: deque[DecodedPart] = deque()
        self._first = self._end = -1
        self._decoder = Decoder(*self._of, step=1)
        self._parts: Iterator[DecodedPart] = iter(())

    def can_go_on(self, start: int) -> bool:
        """Say whether a row is among those read last, or follows them, so that nothing is decoded twice."""
        return self._first <= start <= self._end and self._process == os.getpid()

    def read(self, start: int, stop: int) -> list[DecodedPart]:
        """Return rows in pieces; fewer, if the files have no more. The cursor goes to them first where it cannot go on."""
        if self.can_go_on(start) or self._is_near(start, stop):
            self._decoder.step = stop - min(start, self._end)
        else:
            self._begin(start, stop - start)
        try:
            self._decode_to(stop)
        except BaseException:
            # What decodes has ended amid the rows: whoever asks again should not be told that there are no more.
            self.close()
            raise
        while self._kept and self._first + len(self._kept[0][0]) <= start:
            self._first += len(self._kept.popleft()[0])
        return list(self._between(start, stop))

    def _is_near(self, start: int, stop: int) -> bool:
        """Say whether no more rows lie before a range than it has: they cost less than to look for it in its row group."""
        return self._first >= 0 and self._end < start <= self._end + (stop - start) and self._process == os.getpid()

    def rest(self, start: int, most_rows: int) -> Iterator[DecodedPart]:
        """Yield the rows from one to the end, as they are decoded: row groups that are not short by so many rows."""
        self._begin(start, most_rows)
        yield from self._parts

    def close(self) -> None:
        """Let the threads end with what they are at; the cursor begins anew where it is asked for more."""
        self._decoder.close()
        self._kept.clear()
        self._first = self._end = -1

    def _begin(self, start: int, step: int) -> None:
        self.close()
        self._process = os.getpid()
        self._first = self._end = start
        self._decoder = Decoder(*self._of, step=step)
        self._parts = self._decoder.parts(start)

    def _decode_to(self, stop: int) -> None:
        while self._end < stop:
            part = next(self._parts, None)
            if part is None:
                break
            self._kept.append(part)
            self._end += len(part[0])

    def _between(self, start: int, stop: int) -> Iterator[DecodedPart]:
        first = self._first
        for part in self._kept:
            rows = len(part[0])
            low, high = max(start - first, 0), min(stop - first, rows)
            if low < high:
                yield part if high - low == rows else [column.slice(low, high - low) for column in part]
            first += rows
