"""The shuffle store: takes the rows of tasks, divides them into partitions, and gives back each partition with its rows in the order of the tasks.

It is used in two ways. In this process, threads add to one store, which keeps rows in memory and spills them to temporary files. Tasks in other
processes each fill a store of their own, whose files are in a directory that all share, and send back its index.
"""

from __future__ import annotations

import contextlib
import math
import threading
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import BinaryIO, Protocol

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.bytes_of_array_values import bytes_of_runs
from sframe_spark.engine.runtime.checked_kernel_calls import rows_of_all
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask, chunks_of
from sframe_spark.engine.runtime.task_runners import TaskRunner
from sframe_spark.engine.task_pickling import SharedValue
from sframe_spark.errors import PlanInvariantError, StorageError
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY, Chunk, column_names, concatenate
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.process.memory import require_memory_for_file
from sframe_spark.process.threads import POLL_SECONDS, raise_if_cancelled
from sframe_spark.pyarrow_versions import concat_batches
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.temporary_datasets import QuotaUsage, RemoteStore, TemporaryHandle, TemporaryStore, scratch_store
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.values.arrow_layouts import from_message, to_message

RETRY_ADVICE = "try again, with config.temporary_directory (SFRAME_SPARK_TMP) in another place if this happens repeatedly"
# Yields the rows of a task, given its number and its row range.
RowsOfTask = Callable[[int, RangeTask], Iterator[Chunk]]


def rows_of_task(number: int, task: RangeTask) -> Iterator[Chunk]:
    """Return an iterator over the rows of a task."""
    return chunks_of(task)


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
    def of(cls, task: int, chunk: Chunk, partitioner: RowPartitioner) -> SplitRows:
        """Partition rows of a task."""
        numbers, count = partitioner.partition_numbers(chunk), partitioner.count
        # Numpy sorts integers of few bytes by radix sort.
        order = np.argsort(numbers.astype(np.min_scalar_type(count)), kind="stable")
        edges = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=count))])
        return cls(task, chunk.rows_at(order), edges)

    def sizes(self) -> np.ndarray:
        """Return the bytes of each partition."""
        return sum((bytes_of_runs(column, self.edges) for column in self.rows.columns), np.zeros(len(self.edges) - 1, dtype=np.int64))

    def of_partition(self, number: int) -> Chunk:
        """Return the rows of a partition."""
        return self.rows.slice(int(self.edges[number]), int(self.edges[number + 1]))


# Runs: consecutive rows of one task in one partition.


class RunOfRows(Protocol):
    """Rows of one task in one partition, wherever they are."""

    @property
    def place(self) -> tuple[int, float]:
        """The position of the rows in the partition: the number of the task, and the position among its runs."""

    def read(self, schema: pa.Schema) -> Chunk:
        """Return the rows, given their columns."""


@attrs.frozen(eq=False)
class BufferedRun:
    """Rows of one task in one partition, in memory."""

    split: SplitRows
    number: int

    @property
    def place(self) -> tuple[int, float]:
        """The position of the rows in the partition: the number of the task, and infinity, as all rows in files were added before."""
        return self.split.task, math.inf

    def read(self, schema: pa.Schema) -> Chunk:
        """Return the rows."""
        return self.split.of_partition(self.number)


@attrs.frozen(eq=False)
class StoredRun:
    """Rows of one task in one partition, stored in a file.

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
    unpacked
        The length before compression.
    """

    task: int
    file: int
    path: str
    start: int
    size: int
    check: int
    unpacked: int

    @property
    def place(self) -> tuple[int, float]:
        """The position of the rows in the partition: the number of the task, and that of the file."""
        return self.task, self.file

    def read(self, schema: pa.Schema) -> Chunk:
        """Return the rows, read from the file, given their columns.

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
                raise StorageError(f"temporary rows in {self.path} are missing: files were deleted while in use; {RETRY_ADVICE}") from None
        return unpacked_rows(payload, self.size, self.check, self.unpacked, schema, self.path)


def unpacked_rows(payload: bytes | pa.Buffer, size: int, check: int, unpacked: int, schema: pa.Schema, path: str) -> Chunk:
    """Return rows that were read from a file as bytes.

    Raises
    ------
    StorageError
        If their number or their checksum is not the expected one.
    """
    if len(payload) != size or zlib.crc32(payload) != check:
        raise StorageError(f"temporary rows in {path} differ from those that were written: the file or the disk is damaged; {RETRY_ADVICE}")
    batch = from_message(payload, unpacked, schema)
    return Chunk(tuple(batch.columns), batch.num_rows)


def columns_of(schema: Schema) -> pa.Schema:
    """Return the schema of the record batches in files."""
    return pa.schema(list(zip(column_names(len(schema)), (column_type.physical for column_type in schema), strict=True)))


@attrs.frozen(eq=False)
class PackedRun:
    """Rows of one task in one partition, as bytes.

    Parameters
    ----------
    task, partition
        The numbers of the task and of the partition.
    rows
        The number of rows.
    payload
        The bytes.
    unpacked
        The length before compression.
    """

    task: int
    partition: int
    rows: int
    payload: pa.Buffer
    unpacked: int

    @classmethod
    def of(cls, task: int, partition: int, batch: pa.RecordBatch) -> PackedRun:
        """Pack a record batch."""
        return cls(task, partition, batch.num_rows, *to_message(batch))

    @property
    def check(self) -> int:
        """The checksum of the bytes."""
        return zlib.crc32(self.payload)


def packed_runs(full: Sequence[SplitRows], schema: Schema, max_bytes: int = MAX_BYTES_OF_ARRAY) -> Iterator[PackedRun]:
    """Yield rows as bytes, task by task and partition by partition.

    The rows are divided so that no array gets too large, and so that no run has more than ``max_bytes`` bytes before compression, unless it is a
    single row.
    """
    columns = columns_of(schema)
    for added in in_arrays(full, MAX_BYTES_OF_ARRAY):
        batches = [batch_of(split.rows, columns) for split in added]
        for partition in range(len(added[0].edges) - 1):
            # Slices and concatenates all columns in one call, as there may be thousands of columns, and few rows of each partition.
            ends = [split.edges[partition : partition + 2].tolist() for split in added]
            parts = [batch.slice(start, stop - start) for batch, (start, stop) in zip(batches, ends, strict=True) if start < stop]
            if parts:
                whole = parts[0] if len(parts) == 1 else concat_batches(parts)
                yield from (PackedRun.of(added[0].task, partition, part) for part in slices_of(whole, max_bytes))
        raise_if_cancelled()


def slices_of(batch: pa.RecordBatch, max_bytes: int) -> Iterator[pa.RecordBatch]:
    """Yield a record batch in halves, and halves of these, until each has at most ``max_bytes`` bytes or a single row.

    Examples
    --------
    >>> batch = pa.record_batch({"text": ["a" * 50, "b", "c", "d" * 9]})
    >>> [part.num_rows for part in slices_of(batch, 40)]
    [1, 1, 2]
    """
    if batch.nbytes <= max_bytes or batch.num_rows <= 1:
        yield batch
        return
    middle = batch.num_rows // 2
    for half in (batch.slice(0, middle), batch.slice(middle)):
        yield from slices_of(half, max_bytes)


def write_runs(full: Sequence[SplitRows], schema: Schema, file: BinaryIO, number: int) -> Iterator[tuple[int, StoredRun]]:
    """Write rows to a file, task by task and partition by partition, and yield each partition number with the stored rows."""
    for run in packed_runs(full, schema):
        start = file.tell()
        file.write(run.payload)
        yield run.partition, StoredRun(run.task, number, file.name, start, len(run.payload), run.check, run.unpacked)


def batch_of(rows: Chunk, columns: pa.Schema) -> pa.RecordBatch:
    """Return rows as a record batch of these columns."""
    batch = pa.RecordBatch.from_arrays(list(rows.columns), columns.names)
    if not batch.schema.equals(columns):
        # Files have no schema, so other types would be read as these.
        raise PlanInvariantError(f"rows of {batch.schema.types} are added to a shuffle store for {columns.types}")
    return batch


def in_arrays(full: Sequence[SplitRows], max_bytes: int) -> list[list[SplitRows]]:
    """Group rows by task, in the order in which they were added, so that no group has more than ``max_bytes`` bytes unless it is a single item."""
    groups: list[list[SplitRows]] = []
    last: dict[int, tuple[list[SplitRows], int]] = {}
    for split in full:
        size = split.rows.size
        group, before = last.get(split.task, (None, 0))
        if group is None or before + size > max_bytes:
            group, before = [], 0
            groups.append(group)
        group.append(split)
        last[split.task] = group, before + size
    return groups


@attrs.frozen(eq=False)
class PartitionRows:
    """All rows of a partition; other processes can read them if they are in a shared directory.

    Parameters
    ----------
    runs
        The rows of each task.
    rows
        The number of rows.
    schema
        Types of the columns.
    """

    runs: Sequence[RunOfRows]
    rows: int
    schema: Schema

    def stream(self) -> Iterator[Chunk]:
        """Yield the rows in chunks, in task order.

        Raises
        ------
        StorageError
            If stored rows are missing or damaged, or if there are fewer or more rows than were added.
        """
        rows, columns = 0, columns_of(self.schema)
        for run in sorted(self.runs, key=lambda run: run.place):
            chunk = run.read(columns)
            rows += chunk.rows
            yield chunk
        if rows != self.rows:
            lost = f"{rows:,} temporary rows of a range were read, but {self.rows:,} were written"
            raise StorageError(f"{lost}: this is a fault of the engine, please report it")

    def take(self) -> Chunk:
        """Return the rows in one chunk, in task order; raises the errors of :meth:`stream`."""
        return concatenate(self.stream(), self.schema)


@attrs.define(eq=False)
class ShuffleIndex:
    """The rows that were added to a store, and where they are stored.

    Parameters
    ----------
    rows, sizes
        The number of rows of each partition, and their bytes in memory.
    runs
        The stored rows of each partition.
    written
        The bytes in files.
    """

    rows: np.ndarray
    sizes: np.ndarray
    runs: list[list[StoredRun]]
    written: int = 0

    @classmethod
    def empty(cls, count: int) -> ShuffleIndex:
        """Return the index of a store without rows."""
        return cls(np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64), [[] for _ in range(count)])

    def count(self, split: SplitRows, sizes: np.ndarray) -> None:
        """Count rows that were added."""
        self.rows += np.diff(split.edges)
        self.sizes += sizes

    def store(self, runs: Iterable[tuple[int, StoredRun]]) -> None:
        """Add stored rows that were counted before."""
        for partition, run in runs:
            self.runs[partition].append(run)
            self.written += run.size

    def include(self, other: ShuffleIndex) -> None:
        """Count and add all rows of another index."""
        self.rows += other.rows
        self.sizes += other.sizes
        self.store((partition, run) for partition, runs in enumerate(other.runs) for run in runs)


@attrs.define(eq=False)
class ShuffleFiles:
    """The directory in which a store writes files.

    Parameters
    ----------
    temporary
        Returns the store of temporary data in which the directory is created for the first file; its quota counts the files.
    given
        A directory of another process, which counts and deletes the files; None if there is none.
    """

    temporary: Callable[[], TemporaryStore | RemoteStore] = scratch_store
    given: str | None = None
    _handle: TemporaryHandle | None = attrs.field(default=None, init=False)
    _usage: QuotaUsage = attrs.field(factory=QuotaUsage, init=False)

    def __enter__(self) -> ShuffleFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    @property
    def directory(self) -> str:
        """The directory, created if it was not before."""
        if self.given is not None:
            return self.given
        if self._handle is None:
            store = self.temporary()
            self._handle, self._usage = store.new_dataset(), store.usage
        return self._handle.directory

    def new_path(self, number: int) -> str:
        """Return the path of a new file; a task that runs again gets another one."""
        return join(self.directory, f"shuffle-{number:06d}-{uuid.uuid4().hex}")

    def count(self, written: int) -> None:
        """Compare the bytes of all files with ``config.temporary_quota``."""
        if self._handle is not None:
            self._usage.count(self._handle, written)

    def discard(self) -> None:
        """Delete the directory."""
        if self._handle is not None:
            self._handle.discard()
            self._handle = None


@attrs.define(eq=False)
class ShuffleStore:
    """A store to which tasks add rows, and from which the rows are read partition by partition.

    Parameters
    ----------
    partitioner
        Assigns rows to partitions.
    schema
        Types of the columns.
    room
        Memory limit in bytes: when the buffered rows exceed it they are written to a file, and meanwhile as many more may be added.
    files
        Where files are: by default in a directory that no other process reads.
    index
        What was added, and where it is stored.
    buffered_bytes
        The bytes of buffered rows.
    """

    partitioner: RowPartitioner
    schema: Schema
    room: int
    files: ShuffleFiles = attrs.field(factory=ShuffleFiles)
    index: ShuffleIndex = attrs.field(init=False)
    buffered_bytes: int = attrs.field(default=0, init=False)
    _buffered: list[SplitRows] = attrs.field(factory=list, init=False)
    _writing: int = attrs.field(default=0, init=False)
    _files_written: int = attrs.field(default=0, init=False)
    _written_again: int = attrs.field(default=0, init=False)
    _is_discarded: bool = attrs.field(default=False, init=False)
    _changed: threading.Condition = attrs.field(factory=threading.Condition, init=False)

    @index.default
    def _empty_index(self) -> ShuffleIndex:
        return ShuffleIndex.empty(self.partitioner.count)

    def __enter__(self) -> ShuffleStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def discard(self) -> None:
        """Drop all rows and files; the counts of rows and bytes remain."""
        with self._changed:
            self._is_discarded = True
            self._buffered, self.buffered_bytes = [], 0
            self.index.runs = [[] for _ in self.index.runs]
        self.files.discard()

    @property
    def rows(self) -> np.ndarray:
        """The number of rows of each partition."""
        return self.index.rows

    @property
    def sizes(self) -> np.ndarray:
        """The bytes in memory of each partition."""
        return self.index.sizes

    @property
    def written(self) -> int:
        """The bytes written to files, also by stores that partitioned rows of this one again."""
        return self.index.written + self._written_again

    # Adding rows.

    def fill(self, workers: TaskRunner, tasks: Sequence[RangeTask], description: str, rows_of: RowsOfTask = rows_of_task) -> None:
        """Run tasks and add their rows: those that ``rows_of`` yields."""
        fill = FillsInTask.of(self).index_of if workers.is_out_of_process else self.add_all
        indexes = workers.run([partial(fill, number, task, rows_of) for number, task in enumerate(tasks)], description, tasks)
        if workers.is_out_of_process:
            for index in indexes:
                self.index.include(index)
            self.files.count(self.index.written)

    def add_all(self, number: int, task: RangeTask, rows_of: RowsOfTask) -> None:
        """Run a task and add its rows as those of task ``number``."""
        for chunk in rows_of(number, task):
            self.add(number, chunk)

    def add(self, task: int, chunk: Chunk) -> None:
        """Add the next rows of a task; if the buffered rows exceed the limit, write them to a file."""
        if not chunk.rows:
            return
        split = SplitRows.of(task, chunk, self.partitioner)
        sizes = split.sizes()
        with self._changed:
            # Rows that are being written and buffered rows together take at most about twice the limit, however many threads there are.
            while self._writing and self._writing + self.buffered_bytes >= 2 * self.room:
                self._changed.wait(POLL_SECONDS)
                raise_if_cancelled()
            if self._is_discarded:
                # A thread was late to notice Ctrl-C.
                raise PlanInvariantError("rows are added to a shuffle store that was discarded")
            self.index.count(split, sizes)
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

    def _begin_to_write(self) -> tuple[list[SplitRows], int, str, int]:
        """Return the buffered rows, their size, and the path and the number of a new file to write them to; the caller holds the lock."""
        full, self._buffered = self._buffered, []
        size, self.buffered_bytes = self.buffered_bytes, 0
        self._files_written += 1
        path = self.files.new_path(self._files_written)
        self._writing += size
        return full, size, path, self._files_written

    def _write_out(self, full: list[SplitRows], size: int, path: str, number: int) -> None:
        try:
            require_memory_for_file(path, size)
            self._write(full, path, number)
        finally:
            full.clear()
            with self._changed:
                self._writing -= size
                self._changed.notify_all()

    def _write(self, full: list[SplitRows], path: str, number: int) -> None:
        """Write buffered rows as one file, partition by partition."""
        with translate_os_errors("write temporary rows to", path), open(path, "xb") as file:
            runs = list(write_runs(full, self.schema, file, number))
        with self._changed:
            self.index.store(runs)
            self.files.count(self.index.written)

    # Reading rows.

    def partition(self, number: int) -> PartitionRows:
        """Return the rows of a partition."""
        buffered = [BufferedRun(split, number) for split in self._buffered if split.edges[number] < split.edges[number + 1]]
        return PartitionRows([*self.index.runs[number], *buffered], int(self.rows[number]), self.schema)

    @contextlib.contextmanager
    def narrower(self, partitioner: RowPartitioner, room: int) -> Iterator[ShuffleStore]:
        """Yield an empty store for rows of this one under another partitioner; the bytes that it writes count as written by this one, too."""
        with ShuffleStore(partitioner, self.schema, room) as store:
            try:
                yield store
            finally:
                with self._changed:
                    self._written_again += store.written


@attrs.frozen(eq=False)
class FillsInTask(SharedValue):
    """The information that tasks in other processes need to add their rows to a store.

    Parameters
    ----------
    partitioner, schema, room
        As in :class:`ShuffleStore`.
    directory
        The directory that the processes share.
    """

    partitioner: RowPartitioner
    schema: Schema
    room: int
    directory: str

    @classmethod
    def of(cls, store: ShuffleStore) -> FillsInTask:
        """Return what tasks need for a store, whose files must be where the tasks see them."""
        return cls(store.partitioner, store.schema, store.room, store.files.directory)

    def index_of(self, number: int, task: RangeTask, rows_of: RowsOfTask) -> ShuffleIndex:
        """Run a task, write its rows to new files in the shared directory, and return their index."""
        store = ShuffleStore(self.partitioner, self.schema, self.room, ShuffleFiles(given=self.directory))
        store.add_all(number, task, rows_of)
        store.flush_to_disk()
        return store.index


# Kernels over partitions.


class PartitionKernel(Protocol):
    """Computes the result rows of one partition after the other."""

    def of_all(self, rows: Chunk) -> Chunk:
        """Return the result for all rows of a partition."""

    def of_batch(self, rows: Chunk) -> Chunk:
        """Return the result for consecutive rows of a partition that is passed on.

        A partition is passed on if the kernel would leave its rows in their order and compute each output row from one input row, so that it can be
        streamed and its rows need not fit in memory.
        """


@attrs.frozen(eq=False)
class OperatorKernel(SharedValue):
    """The kernel of an operator with one input.

    Parameters
    ----------
    operator
        The operator.
    facts
        The facts of its input.
    schema
        The schema of its result.
    """

    operator: Operator
    facts: Facts
    schema: Schema

    def of_all(self, rows: Chunk) -> Chunk:
        """See :class:`PartitionKernel`."""
        return rows_of_all(self.operator, rows, self.facts, self.schema)

    def of_batch(self, rows: Chunk) -> Chunk:
        """See :class:`PartitionKernel`."""
        return rows


def results_of(
    kernel: PartitionKernel, rows: PartitionRows, is_passed_on: bool, memory: contextlib.AbstractContextManager[None] | None = None
) -> Iterator[Chunk]:
    """Yield the result rows of a partition. Partitions that are passed on are streamed; for others, ``memory`` is held while the kernel runs."""
    raise_if_cancelled()
    if is_passed_on:
        yield from map(kernel.of_batch, rows.stream())
        return
    with memory or contextlib.nullcontext():
        result = kernel.of_all(rows.take())
    yield result


def write_results(
    kernel: PartitionKernel, schema: Schema, partitions: Sequence[tuple[PartitionRows, bool]], directory: str, number: int
) -> SegmentEntry:
    """Run a kernel on some partitions, one after the other, and write the results as one segment; with each is whether it is passed on."""
    results = (chunk for rows, is_passed_on in partitions for chunk in results_of(kernel, rows, is_passed_on))
    return write_segment(directory, number, schema, (chunk.columns for chunk in results if chunk.rows))
