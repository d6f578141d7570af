"""Rows of a dataset, one range after the other: each row group is decoded once, and the next ones meanwhile in other threads."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context

import attrs
import pyarrow as pa

from sframe_spark.storage.footers import segment_footer
from sframe_spark.storage.manifest import Manifest, SegmentEntry
from sframe_spark.storage.reader import FEW_ROWS, intersecting, segment_batches

# Values of some rows, one array for each column.
Part = list[pa.Array]
# About how many bytes the rows between two take in memory; None where nobody knows.
SizeOf = Callable[[int, int], float | None]
# Bytes of a row group from which on its columns are worth to be decoded side by side.
LONG = 32 << 20
# A step is changed where rows turn out to be so many times shorter or longer.
OTHER_STEP = 4


@attrs.frozen
class Unit:
    """Rows of one row group of a file: what is decoded at a time.

    Parameters
    ----------
    entry
        The file.
    low, high
        The first of the rows and the one behind the last, counted in the file.
    size
        About how many bytes they take in memory; None where nobody knows.
    """

    entry: SegmentEntry
    low: int
    high: int
    size: float | None


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

    Examples
    --------
    >>> import tempfile
    >>> from sframe_spark.storage.commit import publish
    >>> from sframe_spark.storage.writer import write_segment
    >>> from sframe_spark.types import INT
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     manifest = publish(directory, [INT], [write_segment(directory, 0, [INT], [[pa.array([10, 11, 12])]])])
    ...     cursor = Cursor(manifest, (0,), 3, lambda start, stop: 8.0 * (stop - start), 1000)
    ...     [[part[0].to_pylist() for part in cursor.read(*rows)] for rows in ((0, 2), (1, 3))]
    [[[10, 11]], [[11, 12]]]
    """

    def __init__(self, manifest: Manifest, columns: tuple[int, ...], stop: int, size_of: SizeOf, most_bytes: float, threads: int = 0) -> None:
        self._manifest, self._columns, self._stop = manifest, columns, stop
        self._size_of, self._most_bytes, self._threads = size_of, most_bytes, threads
        self._process = os.getpid()
        self._pool: ThreadPoolExecutor | None = None
        self._coming: deque[tuple[Unit, Future[list[Part]] | None]] = deque()
        # What was decoded and may be asked for again: the rows from `_first` to `_end`.
        self._kept: deque[Part] = deque()
        self._first = self._end = -1
        self._step = 0
        self._parts: Iterator[Part] = iter(())

    def can_go_on(self, start: int) -> bool:
        """Say whether a row is among those read last, or follows them, so that nothing is decoded twice."""
        return self._first <= start <= self._end and self._process == os.getpid()

    def begin(self, start: int) -> None:
        """Go to a row, from which the rows are read from now on."""
        self.close()
        self._process = os.getpid()
        self._first = self._end = start
        self._kept.clear()
        self._parts = self._decoded(start)

    def read(self, start: int, stop: int) -> list[Part]:
        """Return rows in pieces; fewer, if the files have no more. The cursor goes to them first where it cannot go on."""
        if not self.can_go_on(start):
            self.begin(start)
        self._step = stop - start
        while self._end < stop:
            part = next(self._parts, None)
            if part is None:
                break
            self._kept.append(part)
            self._end += len(part[0])
        while self._kept and self._first + len(self._kept[0][0]) <= start:
            self._first += len(self._kept.popleft()[0])
        return list(self._between(start, stop))

    def rest(self, most_rows: int) -> Iterator[Part]:
        """Yield the rows from where the cursor is to the end, as they are decoded: row groups that are not short by so many rows."""
        self._step = most_rows
        yield from self._parts

    def close(self) -> None:
        """Let the threads end with what they are at; the cursor can begin anew."""
        pool, self._pool = self._pool, None
        self._coming.clear()
        # The threads of a pool stay behind when its process is forked, and with them who holds its locks.
        if pool is not None and self._process == os.getpid():
            pool.shutdown(wait=False, cancel_futures=True)

    def _between(self, start: int, stop: int) -> Iterator[Part]:
        first = self._first
        for part in self._kept:
            rows = len(part[0])
            low, high = max(start - first, 0), min(stop - first, rows)
            if low < high:
                yield part if high - low == rows else [column.slice(low, high - low) for column in part]
            first += rows

    def _decoded(self, start: int) -> Iterator[Part]:
        units = self._units(start)
        while True:
            self._look_ahead(units)
            if not self._coming:
                return
            unit, found = self._coming.popleft()
            if found is not None:
                yield from found.result()
            elif self._is_short(unit):
                yield from self._whole(unit)
            else:
                yield from self._in_steps(unit)

    def _units(self, start: int) -> Iterator[Unit]:
        first = start
        for entry, low, high in intersecting(self._manifest, start, self._stop):
            starts = segment_footer(self._manifest, entry).starts
            for begin, end in itertools.pairwise(starts):
                bounds = max(low, begin), min(high, end)
                if bounds[0] < bounds[1]:
                    rows = bounds[1] - bounds[0]
                    yield Unit(entry, *bounds, self._size_of(first, first + rows))
                    first += rows

    def _is_short(self, unit: Unit) -> bool:
        return unit.size is not None and unit.size <= self._most_bytes

    def _look_ahead(self, units: Iterator[Unit]) -> None:
        """Have what comes next decoded, as much as is allowed and not more than is needed to keep the threads at work; at least know what it is."""
        while not self._coming or self._may_add():
            unit = next(units, None)
            if unit is None:
                return
            self._coming.append((unit, self._submitted(unit)))

    def _may_add(self) -> bool:
        """Say whether the threads should have one more unit, which is taken to be as long as the last one."""
        sizes = [unit.size for unit, found in self._coming if found is not None and unit.size is not None]
        return len(sizes) == len(self._coming) <= self._threads and sum(sizes) + sizes[-1] <= self._most_bytes

    def _submitted(self, unit: Unit) -> Future[list[Part]] | None:
        if not self._threads or not self._is_short(unit):
            return None
        try:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="sframe_spark read")
            return self._pool.submit(copy_context().run, self._whole, unit)
        except RuntimeError:
            # Python ends, and waits for this thread: it starts no other.
            self._threads = 0
            return None

    def _whole(self, unit: Unit) -> list[Part]:
        rows = unit.high - unit.low
        # Where units are decoded side by side, columns are not, but of a unit that takes long.
        threads = unit.size is not None and unit.size > LONG if self._threads else None
        return list(segment_batches(self._manifest, unit.entry, self._columns, unit.low, unit.high, rows if self._threads else None, threads=threads))

    def _in_steps(self, unit: Unit) -> Iterator[Part]:
        position = unit.low
        while position < unit.high:
            step = self._step
            threads = self._threads > 1 and step > FEW_ROWS
            for part in segment_batches(self._manifest, unit.entry, self._columns, position, unit.high, step, threads=threads):
                yield part
                position += len(part[0])
                # Rows that are left are decoded in one more step, however few of them are asked for.
                left = unit.high - position
                if self._step * OTHER_STEP <= min(step, left) or step * OTHER_STEP <= min(self._step, left):
                    break
