"""Exchanges: the rows of all tasks are partitioned by their values, in memory, and written to disk if they do not fit."""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import BinaryIO, Protocol

import attrs
import numpy as np

from sframe_spark.compute.range_and_hash_partitioning import RangePartitioner, RowRangePartitioner
from sframe_spark.engine import costs
from sframe_spark.engine.runtime.pipeline import require_inferred
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask, chunks_of
from sframe_spark.errors import StorageError
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY, Chunk, concatenate, from_stream, to_stream
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.row_sizes import bytes_of_runs
from sframe_spark.process.threads import POLL_SECONDS, raise_if_cancelled
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.temporary_datasets import DatasetHandle, scratch_store
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.values.arrow_layouts import QUICK

# The task number and file number of a chunk, which decide its position in a partition, and a function that reads the chunk.
OrderedChunk = tuple[int, float, Callable[[], Chunk]]
RETRY_ADVICE = "do the same again, with config.temporary_directory (SFRAME_SPARK_TMP) in another place if that goes on"


class RowPartitioner(Protocol):
    """Assigns each row to a partition: by ranges of a column's values, or by hashes of several columns."""

    @property
    def count(self) -> int:
        """The number of partitions."""

    def partition_numbers(self, rows: Chunk) -> np.ndarray:
        """Return the number of the partition of each row."""


@attrs.frozen(eq=False)
class SplitRows:
    """Consecutive rows of a task, stably sorted by partition.

    Parameters
    ----------
    task
        The number of the task.
    rows
        The rows, partition by partition.
    edges
        The index of the first row of each partition, and the number of rows as the last item.
    """

    task: int
    rows: Chunk
    edges: np.ndarray

    @classmethod
    def of(cls, task: int, chunk: Chunk, parts: RowPartitioner) -> SplitRows:
        """Partition rows of a task."""
        numbers = parts.partition_numbers(chunk)
        # Numpy sorts integers of few bytes by radix sort.
        order = np.argsort(numbers.astype(np.min_scalar_type(parts.count)), kind="stable")
        edges = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=parts.count))])
        return cls(task, chunk.rows_at(order), edges)

    def sizes(self) -> np.ndarray:
        """Return the bytes of each partition."""
        return sum((bytes_of_runs(column, self.edges) for column in self.rows.columns), np.zeros(len(self.edges) - 1, dtype=np.int64))

    def of_range(self, number: int) -> Chunk:
        """Return the rows of a partition."""
        return self.rows.slice(int(self.edges[number]), int(self.edges[number + 1]))


@attrs.frozen(eq=False)
class StoredRows:
    """The rows of one task in one partition, stored in a file.

    Parameters
    ----------
    task
        The number of the task.
    file
        The number of the file, in the order of the task's rows.
    path
        Path of the file.
    start, size
        The byte range in the file: its first byte and its length.
    check
        The checksum of these bytes.
    """

    task: int
    file: int
    path: str
    start: int
    size: int
    check: int

    def read(self) -> Chunk:
        """Return the rows, read from the file.

        Raises
        ------
        StorageError
            If the file is missing or damaged.
        """
        with translate_os_errors("read", self.path):
            try:
                with open(self.path, "rb") as file:
                    file.seek(self.start)
                    payload = file.read(self.size)
            except FileNotFoundError:
                raise StorageError(f"temporary rows in {self.path} are missing: somebody has deleted what is in use; {RETRY_ADVICE}") from None
        if len(payload) != self.size or zlib.crc32(payload) != self.check:
            raise StorageError(f"temporary rows in {self.path} are not those that were written: the file or the disk is damaged; {RETRY_ADVICE}")
        return from_stream(payload)


@attrs.define(eq=False)
class Exchange:
    """A store to which threads add rows, and from which the rows are read partition by partition.

    Parameters
    ----------
    parts
        Assigns rows to partitions.
    schema
        Types of the columns.
    room
        Memory limit in bytes: when the buffered rows exceed it they are written to a file, and meanwhile as many more may be added.
    rows, sizes
        The number of rows of each partition, and their bytes in memory.
    buffered_bytes
        The bytes of buffered rows.
    written
        The bytes in files.
    written_again
        The bytes in files of other exchanges that partitioned a range of this one again.
    """

    parts: RowPartitioner
    schema: Schema
    room: int
    rows: np.ndarray = attrs.field(init=False)
    sizes: np.ndarray = attrs.field(init=False)
    buffered_bytes: int = attrs.field(default=0, init=False)
    written: int = attrs.field(default=0, init=False)
    written_again: int = attrs.field(default=0, init=False)
    _buffered: list[SplitRows] = attrs.field(factory=list, init=False)
    _writing: int = attrs.field(default=0, init=False)
    _stored: list[list[StoredRows]] = attrs.field(init=False)
    _files: int = attrs.field(default=0, init=False)
    _handle: DatasetHandle | None = attrs.field(default=None, init=False)
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False)

    @rows.default
    @sizes.default
    def _no_rows(self) -> np.ndarray:
        return np.zeros(self.parts.count, dtype=np.int64)

    @_stored.default
    def _nothing_stored(self) -> list[list[StoredRows]]:
        return [[] for _ in range(self.parts.count)]

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Drop all rows and files; the counts of rows and bytes remain."""
        self._buffered, self.buffered_bytes = [], 0
        if self._handle is not None:
            self._handle.discard()
            self._handle = None

    def add(self, task: int, chunk: Chunk) -> None:
        """Add the next rows of a task; if the buffered rows exceed the limit, write them to a file."""
        if not chunk.rows:
            return
        split = SplitRows.of(task, chunk, self.parts)
        sizes = split.sizes()
        with self._changed:
            # Rows that are being written and buffered rows together take at most about twice the limit, however many threads there are.
            while self._writing and self._writing + self.buffered_bytes >= 2 * self.room:
                self._changed.wait(POLL_SECONDS)
                raise_if_cancelled()
            self.rows += np.diff(split.edges)
            self.sizes += sizes
            self._buffered.append(split)
            self.buffered_bytes += chunk.size
            if self.buffered_bytes <= self.room:
                return
            started = self._begin_to_write()
        self._write_out(*started)

    def flush_to_disk(self) -> None:
        """Write the rows that are still buffered to a file, after all rows have been added."""
        with self._changed:
            if not self._buffered:
                return
            started = self._begin_to_write()
        self._write_out(*started)

    def count_rewritten(self, narrower: Exchange) -> None:
        """Add the bytes that another exchange wrote when it partitioned a range of this one again."""
        with self._changed:
            self.written_again += narrower.written + narrower.written_again

    def take(self, number: int) -> Chunk:
        """Return all rows of a partition, in task order.

        Raises
        ------
        StorageError
            If stored rows are missing or damaged.
        """
        return concatenate(self.passed(number), self.schema)

    def passed(self, number: int) -> Iterator[Chunk]:
        """Yield the rows of a partition in chunks, in task order."""
        return in_order(self._chunks(number), int(self.rows[number]))

    def _begin_to_write(self) -> tuple[list[SplitRows], int, DatasetHandle, int]:
        """Return the buffered rows, their size, the directory and the number of a new file to write them to; the caller holds the lock."""
        full, self._buffered = self._buffered, []
        size, self.buffered_bytes = self.buffered_bytes, 0
        self._files += 1
        if self._handle is None:
            self._handle = scratch_store().new_dataset()
        self._writing += size
        return full, size, self._handle, self._files

    def _write_out(self, full: list[SplitRows], size: int, handle: DatasetHandle, number: int) -> None:
        try:
            self._write(full, handle, number)
        finally:
            full.clear()
            with self._changed:
                self._writing -= size
                self._changed.notify_all()

    def _write(self, full: list[SplitRows], handle: DatasetHandle, number: int) -> None:
        """Write buffered rows as one file, partition by partition."""
        path = join(handle.directory, f"exchange-{number:06d}")
        with translate_os_errors("write temporary rows to", path), open(path, "xb") as file:
            stored = list(written_runs(full, self.schema, file, number))
        with self._changed:
            self.written += sum(rows.size for _, rows in stored)
            scratch_store().usage.count(handle, self.written)
            for partition, rows in stored:
                self._stored[partition].append(rows)

    def _chunks(self, number: int) -> Iterator[OrderedChunk]:
        """Yield the chunks of a partition with their task and file numbers; buffered rows come after those in files."""
        for stored in self._stored[number]:
            yield stored.task, stored.file, stored.read
        for split in self._buffered:
            if split.edges[number] < split.edges[number + 1]:
                yield split.task, math.inf, partial(split.of_range, number)


def written_runs(full: Sequence[SplitRows], schema: Schema, file: BinaryIO, number: int) -> Iterator[tuple[int, StoredRows]]:
    """Write rows to a file, task by task and partition by partition, and yield each partition number with the stored rows.

    The rows are divided so that no array gets too large.
    """
    for run in runs_of(full, MAX_BYTES_OF_ARRAY):
        for partition in range(len(run[0].edges) - 1):
            rows = concatenate([split.of_range(partition) for split in run], schema)
            if rows.rows:
                start, payload = file.tell(), to_stream([rows], QUICK)
                file.write(payload)
                yield partition, StoredRows(run[0].task, number, file.name, start, len(payload), zlib.crc32(payload))
        raise_if_cancelled()


def in_order(chunks: Iterable[OrderedChunk], count: int) -> Iterator[Chunk]:
    """Yield chunks in the order of tasks and files, and check the number of rows at the end.

    Raises
    ------
    StorageError
        If there are fewer or more rows than expected.
    """
    rows = 0
    for _, _, read in sorted(chunks, key=lambda chunk: chunk[:2]):
        chunk = read()
        rows += chunk.rows
        yield chunk
    if rows != count:
        lost = f"{rows:,} temporary rows of a range were read, of {count:,} that were written"
        raise StorageError(f"{lost}: this is a fault of the engine, please report it")


def runs_of(full: Sequence[SplitRows], most: int) -> list[list[SplitRows]]:
    """Group rows by task, in the order in which they were added, into runs of at most ``most`` bytes, unless a single item is larger."""
    runs: list[list[SplitRows]] = []
    last: dict[int, tuple[list[SplitRows], int]] = {}
    for split in full:
        size = split.rows.size
        run, before = last.get(split.task, (None, 0))
        if run is None or before + size > most:
            run, before = [], 0
            runs.append(run)
        run.append(split)
        last[split.task] = run, before + size
    return runs


# Exchanges between Spark tasks: each task writes its rows, partition by partition, to a file in a shared directory.


@attrs.frozen(eq=False)
class TaskOutput:
    """The files that a task has written for an exchange.

    Parameters
    ----------
    chunks
        Partition numbers, each with the stored rows.
    rows, sizes
        The number of rows in each partition, and their bytes in memory.
    """

    chunks: list[tuple[int, StoredRows]]
    rows: np.ndarray
    sizes: np.ndarray


@attrs.frozen(eq=False)
class RangeRows:
    """All rows of a partition, stored in files of tasks.

    Parameters
    ----------
    chunks
        The stored rows of each task.
    rows
        The number of rows.
    are_the_result
        Whether the kernel leaves the rows as they are.
    """

    chunks: list[StoredRows]
    rows: int
    are_the_result: bool = False

    def passed(self) -> Iterator[Chunk]:
        """Yield the rows in task order.

        Raises
        ------
        StorageError
            If stored rows are missing or damaged.
        """
        return in_order(((chunk.task, chunk.file, chunk.read) for chunk in self.chunks), self.rows)


def write_exchange_rows(task: RangeTask, number: int, position: int, ranges: RangePartitioner, directory: str) -> TaskOutput:
    """Run a task and write its rows to a new file, partitioned by ranges of a column. If Spark runs the task again, that writes another file."""
    path = join(directory, f"exchange-{number:06d}-{uuid.uuid4().hex}")
    output = TaskOutput([], np.zeros(ranges.count, dtype=np.int64), np.zeros(ranges.count, dtype=np.int64))
    buffered: list[SplitRows] = []
    schema, runs, size = task.plan.facts[-1].schema, itertools.count(), 0

    def write() -> None:
        with translate_os_errors("write temporary rows to", path):
            output.chunks.extend(written_runs(buffered, schema, file, next(runs)))
        buffered.clear()

    with new_file(path) as file:
        for chunk in chunks_of(task):
            buffered.append(SplitRows.of(number, chunk, RowRangePartitioner(position, ranges)))
            output.rows[:] += np.diff(buffered[-1].edges)
            output.sizes[:] += buffered[-1].sizes()
            size += buffered[-1].rows.size
            if size > costs.BYTES_BUFFERED_BY_SHUFFLE_TASK:
                write()
                size = 0
        write()
    return output


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Open a new file for rows. Errors when it is closed, for example of a full disk, are reported like errors of writing."""
    with translate_os_errors("write temporary rows to", path):
        file = open(path, "xb")  # noqa: SIM115 - closed below, whatever happens meanwhile
    try:
        yield file
    finally:
        with translate_os_errors("write temporary rows to", path):
            file.close()


def ranges_of_outputs(outputs: Sequence[TaskOutput], are_the_result: np.ndarray) -> list[RangeRows]:
    """Return the rows of each partition, collected from the outputs of all tasks."""
    chunks: list[list[StoredRows]] = [[] for _ in outputs[0].rows]
    for output in outputs:
        for partition, chunk in output.chunks:
            chunks[partition].append(chunk)
    counts = np.sum([output.rows for output in outputs], axis=0)
    return [RangeRows(stored, int(count), bool(are)) for stored, count, are in zip(chunks, counts, are_the_result, strict=True)]


def write_ranges(operator: Operator, facts: Facts, schema: Schema, ranges: Sequence[RangeRows], directory: str, number: int) -> SegmentEntry:
    """Run a kernel on some partitions, one after the other, and write the results as one segment."""

    def results() -> Iterator[Chunk]:
        for partition in ranges:
            if partition.are_the_result:
                yield from partition.passed()
            else:
                rows = concatenate(partition.passed(), facts.schema)
                yield require_inferred(operator, (), operator.kernel([rows], [facts]), schema)

    return write_segment(directory, number, schema, (chunk.columns for chunk in results() if chunk.rows))
