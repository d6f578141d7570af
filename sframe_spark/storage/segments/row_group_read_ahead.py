"""Reads the rows of a dataset in row order, one row group after the other; threads decode the next row groups in advance."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from queue import SimpleQueue

import attrs
import pyarrow as pa

from sframe_spark.process.memory import affordable_threads
from sframe_spark.process.threads import ThreadPool
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.parquet.open_file import SHORT_BYTES
from sframe_spark.storage.segments.reader import DEFAULT_BATCH_ROWS, FEW_ROWS, group_starts, intersecting, segment_batches

# Decoded rows: one array for each column.
DecodedPart = list[pa.Array]
# Returns the estimated bytes of a range of rows; None if unknown.
SizeOf = Callable[[int, int], float | None]
# A queue for the decoded parts of one unit and the error, if decoding failed. It is not a future, since the lock of a future is taken in Python
# code, and could stay locked if the waiting thread is interrupted.
DecodedResult = SimpleQueue[tuple[list[DecodedPart], BaseException | None]]
# The columns of row groups with more bytes than this are decoded in parallel.
LONG = 32 << 20
# The number of rows that are decoded at a time in order to skip them, if their size is unknown.
ROWS_OF_UNKNOWN_LENGTH = 1_024
# Limits of a unit of several row groups, which are decoded together, since opening a file takes as long as decoding 20,000 numbers.
MAX_COMBINED_BYTES, MAX_GROUPS = 4 << 20, 8
# Decoding restarts with a new step if the new step is at least this many times smaller or larger than the old one.
OTHER_STEP = 4


@attrs.frozen
class Unit:
    """Rows of one row group, or of several small ones of a file, which are decoded together.

    Parameters
    ----------
    entry
        The entry of the file.
    low, high
        The first row, and the row behind the last one, within the file.
    size
        The estimated bytes of the rows in memory; None if unknown.
    rows
        For several row groups, the number of rows of each but the last, which is also the size of decoded parts; None for one row group.
    """

    entry: SegmentEntry
    low: int
    high: int
    size: float | None
    rows: int | None = None


@attrs.define(eq=False)
class Decoder:
    """Decodes the rows of a dataset once, from a given row to the end.

    It is in no reference cycle, so its buffers are freed as soon as it is no longer used.

    Parameters
    ----------
    manifest, columns, stop, size_of, max_bytes, threads, coded
        The parameters of :class:`~sframe_spark.storage.segments.row_group_read_ahead.Cursor`.
    step
        The number of rows that are decoded at a time from large row groups; it may be changed while rows are decoded.
    """

    _manifest: Manifest
    _columns: tuple[int, ...]
    _stop: int
    _size_of: SizeOf
    _max_bytes: float
    _threads: int
    _coded: frozenset[int]
    step: int
    _groups: int = attrs.field(default=1, init=False)
    _process: int = attrs.field(factory=os.getpid, init=False)
    _pool: ThreadPool | None = attrs.field(default=None, init=False)
    _coming: deque[tuple[Unit, DecodedResult | None]] = attrs.field(factory=deque, init=False)

    def close(self) -> None:
        """Cancel what has not started yet; the threads end after the units that they are decoding."""
        pool, self._pool = self._pool, None
        self._coming.clear()
        # After a fork, the threads of the pool exist only in the parent process, and its locks may be held by them.
        if pool is not None and self._process == os.getpid():
            pool.shutdown(wait=False, cancel_futures=True)

    def parts(self, start: int) -> Iterator[DecodedPart]:
        """Yield all rows from ``start`` on, in the parts in which they are decoded."""
        units = self._units(start)
        while True:
            self._submit_ahead(units)
            if not self._coming:
                return
            unit, result = self._coming.popleft()
            self._groups = min(2 * self._groups, MAX_GROUPS)
            if result is not None:
                yield from decoded_parts(result)
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
                    # For short files the size is computed from the entry, so that they are not opened only to estimate it.
                    known = entry.group_bytes if entry.group_bytes is not None and entry.group_bytes <= SHORT_BYTES else None
                    groups.append(Unit(entry, *bounds, self._size_of(first, first + rows) if known is None else known * rows / entry.rows))
                    first += rows
            yield from self._combined(groups)

    def _combined(self, groups: Sequence[Unit]) -> Iterator[Unit]:
        """Yield units of one or more row groups of a file.

        The first unit has one row group, since the caller may need no more rows; the limit of row groups per unit then doubles up to ``MAX_GROUPS``.
        """
        index = 0
        while index < len(groups):
            # The bytes of all units that are decoded in advance stay within the limit.
            count = as_one(groups[index : index + self._groups], min(MAX_COMBINED_BYTES, self._max_bytes - sum(self._sizes_ahead())))
            first, last = groups[index], groups[index + count - 1]
            sizes = [unit.size for unit in groups[index : index + count] if unit.size is not None]
            yield first if count == 1 else attrs.evolve(first, high=last.high, size=sum(sizes), rows=first.high - first.low)
            index += count

    def _is_short(self, unit: Unit) -> bool:
        return unit.size is not None and unit.size <= self._max_bytes

    def _submit_ahead(self, units: Iterator[Unit]) -> None:
        """Append the next units to the queue, as many as the limits allow and at least one if there is one, and submit short ones to threads."""
        while not self._coming or self._may_add():
            unit = next(units, None)
            if unit is None:
                return
            self._coming.append((unit, self._submitted(unit)))

    def _may_add(self) -> bool:
        """Return whether one more unit may be submitted; its size is assumed to be that of the last one."""
        sizes = self._sizes_ahead()
        return len(sizes) == len(self._coming) <= self._threads and sum(sizes) + sizes[-1] <= self._max_bytes

    def _sizes_ahead(self) -> list[float]:
        """Return the sizes of the units that were submitted to threads and not yet returned."""
        return [unit.size for unit, result in self._coming if result is not None and unit.size is not None]

    def _submitted(self, unit: Unit) -> DecodedResult | None:
        if not self._threads or not self._is_short(unit):
            return None
        result: DecodedResult = SimpleQueue()
        try:
            if self._pool is None:
                self._threads = affordable_threads(self._threads)
                if not self._threads:
                    return None
                self._pool = ThreadPool(self._threads, thread_name_prefix="sframe_spark read")
            self._pool.submit(copy_context().run, self._put_parts, result, unit)
        except RuntimeError:
            # No thread can be started, as the interpreter is shutting down.
            self._threads = 0
            return None
        return result

    def _put_parts(self, result: DecodedResult, unit: Unit) -> None:
        """Decode a unit in a thread, and put its parts, and the error if there is one, into the queue."""
        parts: list[DecodedPart] = []
        try:
            parts.extend(self._whole(unit))
        except BaseException as error:
            result.put((parts, error))
        else:
            result.put((parts, None))

    def _whole(self, unit: Unit) -> Iterator[DecodedPart]:
        parts: list[DecodedPart] = []
        try:
            parts.extend(self._of_segment(unit))
        except Exception:
            # The rows before the error are returned first. Ctrl-C is not an Exception, and is raised at once, since a caller that needs no more
            # rows would not notice it.
            yield from parts
            raise
        yield from parts

    def _of_segment(self, unit: Unit) -> Iterator[DecodedPart]:
        rows, threads = unit.rows or unit.high - unit.low, None
        size = rows if self._threads or unit.rows else None
        if self._threads:
            # Threads decode several units in parallel. The columns of a unit are decoded in parallel, too, only in large units.
            threads = unit.size is not None and unit.size > LONG
        elif unit.rows:
            threads = rows > FEW_ROWS and len(self._columns) > 1
        return segment_batches(
            self._manifest, unit.entry, self._columns, unit.low, unit.high, size, threads=threads, passing=self._passing(unit), coded=self._coded
        )

    def _passing(self, unit: Unit) -> int:
        """Return how many rows may be decoded at a time in order to skip them, within the memory limit."""
        if unit.size is None:
            return ROWS_OF_UNKNOWN_LENGTH
        return min(DEFAULT_BATCH_ROWS, int(self._max_bytes * (unit.high - unit.low) / max(unit.size, 1.0)))

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
                # If the step was changed much, decoding restarts with the new step, unless only a few rows are left.
                left = unit.high - position
                if self.step * OTHER_STEP <= min(step, left) or step * OTHER_STEP <= min(self.step, left):
                    break


def as_one(groups: Sequence[Unit], max_bytes: float) -> int:
    """Return how many of the first row groups are decoded together: within the size limit, and all of equal length except a shorter last one.

    Examples
    --------
    >>> groups = [Unit(None, low, low + rows, 8.0 * rows) for low, rows in ((0, 100), (100, 100), (200, 60), (260, 100))]
    >>> as_one(groups, 10_000), as_one(groups, 1_700), as_one(groups[2:], 10_000)
    (3, 2, 1)
    """
    size, rows = groups[0].size, groups[0].high - groups[0].low
    for count, (before, unit) in enumerate(itertools.pairwise(groups), 1):
        size = None if size is None or unit.size is None else size + unit.size
        if size is None or size > max_bytes or unit.high - unit.low > rows or before.high - before.low < rows:
            return count
    return len(groups)


def decoded_parts(result: DecodedResult) -> Iterator[DecodedPart]:
    """Wait for the result of a thread, and yield its parts; if decoding failed, raise the error after the parts.

    Examples
    --------
    >>> result = SimpleQueue()
    >>> result.put(([[pa.array([1])]], None))
    >>> [part[0].to_pylist() for part in decoded_parts(result)]
    [[1]]
    """
    parts, error = result.get()
    yield from parts
    if error is None:
        return
    try:
        raise error
    finally:
        # The error refers to this frame by its traceback. Deleting the variable breaks the reference cycle.
        del error


class Cursor:
    """Reads ranges of rows of a dataset in row order, without decoding rows twice. For random access, it is slower than reading rows by number.

    Parameters
    ----------
    manifest
        The manifest of the dataset.
    columns
        The positions of the columns to read, at least one.
    stop
        The row behind the last one to read.
    size_of
        Returns the estimated bytes of a range of rows in memory; None if unknown.
    max_bytes
        Row groups with more bytes are decoded in several steps. It is also the limit of the bytes that are decoded in advance.
    threads
        The number of threads that decode in advance; 0 for none.
    coded
        The positions of string columns that may be returned as dictionary arrays.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from sframe_spark.storage.datasets.manifest_publication import publish
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
        max_bytes: float,
        threads: int = 0,
        coded: frozenset[int] = frozenset(),
    ) -> None:
        self._of = manifest, columns, stop, size_of, max_bytes, threads, coded
        self._process = os.getpid()
        # Decoded parts with the rows from `_first` up to `_end`, which may be requested again.
        self._buffered: deque[DecodedPart] = deque()
        self._first = self._end = -1
        self._decoder = Decoder(*self._of, step=1)
        self._parts: Iterator[DecodedPart] = iter(())

    def can_go_on(self, start: int) -> bool:
        """Return whether a row is buffered, or is the next one to be decoded, so that reading can continue without decoding rows twice."""
        return self._first <= start <= self._end and self._process == os.getpid()

    def read(self, start: int, stop: int) -> list[DecodedPart]:
        """Return a range of rows as decoded parts, with fewer rows at the end of the dataset.

        If reading cannot continue at ``start`` or shortly before it, decoding begins anew at ``start``.
        """
        if self.can_go_on(start) or self._is_near(start, stop):
            self._decoder.step = stop - min(start, self._end)
        else:
            self._begin(start, stop - start)
        try:
            while self._end < stop and (part := next(self._parts, None)) is not None:
                self._buffered.append(part)
                self._end += len(part[0])
        except BaseException:
            # After an error the generator of parts is exhausted. Another call must not take that for the end of the rows.
            self.close()
            raise
        while self._buffered and self._first + len(self._buffered[0][0]) <= start:
            self._first += len(self._buffered.popleft()[0])
        return list(self._between(start, stop))

    def _is_near(self, start: int, stop: int) -> bool:
        """Return whether a range starts so shortly behind the decoded rows that decoding the rows between is faster than beginning anew."""
        return self._first >= 0 and self._end < start <= self._end + (stop - start) and self._process == os.getpid()

    def rest(self, start: int, max_rows: int) -> Iterator[DecodedPart]:
        """Yield the rows from ``start`` to the end as they are decoded; large row groups are decoded in steps of ``max_rows`` rows."""
        self._begin(start, max_rows)
        yield from self._parts

    def close(self) -> None:
        """Stop decoding, and drop all buffered rows; the next read begins anew."""
        self._decoder.close()
        self._buffered.clear()
        self._first = self._end = -1

    def _begin(self, start: int, step: int) -> None:
        self.close()
        self._process = os.getpid()
        self._first = self._end = start
        self._decoder = Decoder(*self._of, step=step)
        self._parts = self._decoder.parts(start)

    def _between(self, start: int, stop: int) -> Iterator[DecodedPart]:
        first = self._first
        for part in self._buffered:
            rows = len(part[0])
            low, high = max(start - first, 0), min(stop - first, rows)
            if low < high:
                yield part if high - low == rows else [column.slice(low, high - low) for column in part]
            first += rows
