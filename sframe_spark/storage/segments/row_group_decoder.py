"""Row groups of a dataset decoded one after the other, the next ones meanwhile in other threads."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from queue import SimpleQueue

import attrs
import pyarrow as pa

from sframe_spark.process.memory import threads_with_room
from sframe_spark.process.threads import ThreadPool
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.parquet.small_files import SHORT_BYTES
from sframe_spark.storage.segments.reader import DEFAULT_BATCH_ROWS, FEW_ROWS, group_starts, intersecting, segment_batches

# Values of some rows, one array for each column.
DecodedPart = list[pa.Array]
# About how many bytes the rows between two take in memory; None where nobody knows.
SizeOf = Callable[[int, int], float | None]
# Where a thread leaves what it decoded, or why it could not. A future has a lock that Python code takes: an interrupt of who waits may leave
# it taken, for ever, or come as an error of the lock's.
Found = SimpleQueue[tuple[list[DecodedPart], BaseException | None]]
# Bytes of a row group from which on its columns are worth to be decoded side by side.
LONG = 32 << 20
# So many rows are decoded at a time to pass them where nobody knows how long they are.
ROWS_OF_UNKNOWN_LENGTH = 1_024
# Row groups that are decoded as one are no more than this together: each time a file is opened takes as long as decoding 20,000 numbers.
MOST_TOGETHER, MOST_GROUPS = 4 << 20, 8
# A step is changed where rows turn out to be so many times shorter or longer.
OTHER_STEP = 4


@attrs.frozen
class Unit:
    """Rows of a row group of a file, or of some that are small: what is decoded at a time.

    Parameters
    ----------
    entry
        The file.
    low, high
        The first of the rows and the one behind the last, counted in the file.
    size
        About how many bytes they take in memory; None where nobody knows.
    rows
        How many rows its parts have: those of a row group.
    """

    entry: SegmentEntry
    low: int
    high: int
    size: float | None
    rows: int | None = None


class Decoder:
    """Decodes the rows of a dataset once, from one row on; it refers to nothing that refers to it, so that what it holds goes with it.

    Parameters
    ----------
    manifest, columns, stop, size_of, most_bytes, threads, coded
        As of :class:`~sframe_spark.storage.segments.cursor.Cursor`.
    step
        How many rows of row groups that are not short are decoded at a time; it may be set meanwhile.
    """

    def __init__(
        self,
        manifest: Manifest,
        columns: tuple[int, ...],
        stop: int,
        size_of: SizeOf,
        most_bytes: float,
        threads: int,
        coded: frozenset[int],
        step: int,
    ) -> None:
        self._manifest, self._columns, self._stop = manifest, columns, stop
        self._size_of, self._most_bytes, self._threads, self._coded = size_of, most_bytes, threads, coded
        self.step = step
        self._groups = 1
        self._process = os.getpid()
        self._pool: ThreadPool | None = None
        self._coming: deque[tuple[Unit, Found | None]] = deque()

    def close(self) -> None:
        """Let the threads end with what they are at."""
        pool, self._pool = self._pool, None
        self._coming.clear()
        # The threads of a pool stay behind when its process is forked, and with them who holds its locks.
        if pool is not None and self._process == os.getpid():
            pool.shutdown(wait=False, cancel_futures=True)

    def parts(self, start: int) -> Iterator[DecodedPart]:
        """Yield the rows from one on, in the pieces in which they are decoded."""
        units = self._units(start)
        while True:
            self._look_ahead(units)
            if not self._coming:
                return
            unit, found = self._coming.popleft()
            self._groups = min(2 * self._groups, MOST_GROUPS)
            if found is not None:
                yield from taken(found)
            elif self._is_short(unit):
                yield from self._whole(unit)
            else:
                yield from self._in_steps(unit)

    def _units(self, start: int) -> Iterator[Unit]:
        first = start
        for entry, low, high in intersecting(self._manifest, start, self._stop):
            starts = group_starts(self._manifest, entry)
            groups: list[Unit] = []
            for begin, end in itertools.pairwise(starts):
                bounds = max(low, begin), min(high, end)
                if bounds[0] < bounds[1]:
                    rows = bounds[1] - bounds[0]
                    # A short file is not opened only to learn how long some of its columns are.
                    known = entry.group_bytes if entry.group_bytes is not None and entry.group_bytes <= SHORT_BYTES else None
                    groups.append(Unit(entry, *bounds, self._size_of(first, first + rows) if known is None else known * rows / entry.rows))
                    first += rows
            yield from self._together(groups)

    def _together(self, groups: Sequence[Unit]) -> Iterator[Unit]:
        """Row groups of a file, several as one: not at first, as who asks for one may ask for no more, then twice as many each time."""
        place = 0
        while place < len(groups):
            # What is decoded ahead is no more with this than is allowed, though the one before it was shorter.
            count = as_one(groups[place : place + self._groups], min(MOST_TOGETHER, self._most_bytes - sum(self._sizes_ahead())))
            first, last = groups[place], groups[place + count - 1]
            sizes = [unit.size for unit in groups[place : place + count] if unit.size is not None]
            yield first if count == 1 else attrs.evolve(first, high=last.high, size=sum(sizes), rows=first.high - first.low)
            place += count

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
        sizes = self._sizes_ahead()
        return len(sizes) == len(self._coming) <= self._threads and sum(sizes) + sizes[-1] <= self._most_bytes

    def _sizes_ahead(self) -> list[float]:
        """Bytes of each unit that threads decode, or have decoded, and that nobody has asked for."""
        return [unit.size for unit, found in self._coming if found is not None and unit.size is not None]

    def _submitted(self, unit: Unit) -> Found | None:
        if not self._threads or not self._is_short(unit):
            return None
        found: Found = SimpleQueue()
        try:
            if self._pool is None:
                self._threads = threads_with_room(self._threads)
                if not self._threads:
                    return None
                self._pool = ThreadPool(self._threads, thread_name_prefix="sframe_spark read")
            self._pool.submit(copy_context().run, self._leave, found, unit)
        except RuntimeError:
            # Python ends, and waits for this thread: it starts no other.
            self._threads = 0
            return None
        return found

    def _leave(self, found: Found, unit: Unit) -> None:
        parts: list[DecodedPart] = []
        try:
            parts.extend(self._whole(unit))
        except BaseException as error:
            found.put((parts, error))
        else:
            found.put((parts, None))

    def _whole(self, unit: Unit) -> Iterator[DecodedPart]:
        parts: list[DecodedPart] = []
        try:
            parts.extend(self._of_segment(unit))
        except Exception:
            # The rows before what is damaged come first. Ctrl-C comes now: whoever has enough of these rows would not hear of it.
            yield from parts
            raise
        yield from parts

    def _of_segment(self, unit: Unit) -> Iterator[DecodedPart]:
        rows, threads = unit.rows or unit.high - unit.low, None
        size = rows if self._threads or unit.rows else None
        if self._threads:
            # Where units are decoded side by side, columns are not, but of a unit that takes long.
            threads = unit.size is not None and unit.size > LONG
        elif unit.rows:
            threads = rows > FEW_ROWS and len(self._columns) > 1
        return segment_batches(
            self._manifest, unit.entry, self._columns, unit.low, unit.high, size, threads=threads, passing=self._passing(unit), coded=self._coded
        )

    def _passing(self, unit: Unit) -> int:
        """How many rows before a unit may be decoded at a time: as many as take no more than is allowed, if they are as long."""
        if unit.size is None:
            return ROWS_OF_UNKNOWN_LENGTH
        return min(DEFAULT_BATCH_ROWS, int(self._most_bytes * (unit.high - unit.low) / max(unit.size, 1.0)))

    def _in_steps(self, unit: Unit) -> Iterator[DecodedPart]:
        position = unit.low
        while position < unit.high:
            step = self.step
            threads = self._threads > 1 and step > FEW_ROWS
            passing = self._passing(unit)
            for part in segment_batches(
                self._manifest, unit.entry, self._columns, position, unit.high, step, threads=threads, passing=passing, coded=self._coded
            ):
                yield part
                position += len(part[0])
                # Rows that are left are decoded in one more step, however few of them are asked for.
                left = unit.high - position
                if self.step * OTHER_STEP <= min(step, left) or step * OTHER_STEP <= min(self.step, left):
                    break


def as_one(groups: Sequence[Unit], most_bytes: float) -> int:
    """How many of some row groups one behind the other are decoded as one: as many rows each, as parts have, but for the last, and no more bytes.

    Examples
    --------
    >>> groups = [Unit(None, low, low + rows, 8.0 * rows) for low, rows in ((0, 100), (100, 100), (200, 60), (260, 100))]
    >>> as_one(groups, 10_000), as_one(groups, 1_700), as_one(groups[2:], 10_000)
    (3, 2, 1)
    """
    size, rows = groups[0].size, groups[0].high - groups[0].low
    for count, (before, unit) in enumerate(itertools.pairwise(groups), 1):
        size = None if size is None or unit.size is None else size + unit.size
        if size is None or size > most_bytes or unit.high - unit.low > rows or before.high - before.low < rows:
            return count
    return len(groups)


def taken(found: Found) -> Iterator[DecodedPart]:
    """Wait for what a thread decodes; where it could not decode all, what comes before that is told first.

    Examples
    --------
    >>> found = SimpleQueue()
    >>> found.put(([[pa.array([1])]], None))
    >>> [part[0].to_pylist() for part in taken(found)]
    [[1]]
    """
    parts, error = found.get()
    yield from parts
    if error is None:
        return
    try:
        raise error
    finally:
        # It refers to this frame.
        del error
