"""A shuffle by messages: Spark tasks send one another the rows of each partition, and other tasks of the job compute their results.

Unlike tasks that fill a :class:`ShuffleStore`, they share no directory: Spark's own shuffle moves the rows.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import BinaryIO, Protocol, Self

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.engine import costs
from sframe_spark.engine.runtime.row_range_tasks_and_sequential_states import RangeTask
from sframe_spark.engine.runtime.shuffle_store import (
    PartitionKernel,
    PartitionRows,
    RowPartitioner,
    RowsOfTask,
    ShuffleIndex,
    SplitRows,
    packed_runs,
    unpacked_rows,
    write_results,
)
from sframe_spark.engine.runtime.task_runners import SparkTaskRunner
from sframe_spark.engine.spark.messages_between_tasks import Message
from sframe_spark.engine.task_pickling import SharedValue
from sframe_spark.errors import StorageError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Schema
from sframe_spark.storage.filesystem.files_kept_by_spark import directory_of_executor
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.manifest.manifest import SegmentEntry

# Sending.


@attrs.frozen(eq=False)
class RowSending(SharedValue):
    """The information that tasks need to send their rows.

    Parameters
    ----------
    partitioner, schema
        As in :class:`ShuffleStore`.
    room
        Bytes of rows that a task buffers before it sends them: longer runs are fewer.
    receivers
        The number of the receiver of each partition.
    offset
        Added to the numbers of partitions in messages.
    """

    partitioner: RowPartitioner
    schema: Schema
    room: int
    receivers: np.ndarray
    offset: int = 0

    def of_task(self, number: int, task: RangeTask, rows_of: RowsOfTask) -> Generator[Message, None, ShuffleIndex]:
        """Run a task, yield its rows as messages, and return what was sent."""
        return self.messages(number, rows_of(number, task))

    def messages(self, number: int, rows: Iterable[Chunk]) -> Generator[Message, None, ShuffleIndex]:
        """Yield rows of a task as messages, and return what was sent."""
        index = ShuffleIndex.empty(self.partitioner.count)
        buffered, size = list[SplitRows](), 0
        for chunk in rows:
            if not chunk.rows:
                continue
            split = SplitRows.of(number, chunk, self.partitioner)
            index.count(split, split.sizes())
            buffered.append(split)
            size += chunk.size
            if size > self.room:
                yield from self._sent(buffered, index)
                buffered, size = [], 0
        yield from self._sent(buffered, index)
        return index

    def _sent(self, full: Sequence[SplitRows], index: ShuffleIndex) -> Iterator[Message]:
        for run in packed_runs(full, self.schema, costs.MAX_BYTES_OF_MESSAGE):
            index.written += len(run.payload)
            yield Message(int(self.receivers[run.partition]), (run.partition + self.offset, run.rows, run.unpacked, run.check), run.payload)


# Receiving.


@attrs.frozen(eq=False)
class ReceivedRun:
    """Rows of one task in one partition, in memory or in a file of the receiver.

    Parameters
    ----------
    place
        As of :class:`RunOfRows`.
    load
        Returns the bytes.
    size, check, unpacked
        Their number and their checksum, and the length before compression.
    """

    place: tuple[int, float]
    load: Callable[[], bytes | pa.Buffer]
    size: int
    check: int
    unpacked: int

    def read(self, schema: pa.Schema) -> Chunk:
        """Return the rows, given their columns.

        Raises
        ------
        StorageError
            If they are not those that were sent.
        """
        return unpacked_rows(self.load(), self.size, self.check, self.unpacked, schema, "a shuffle of Spark")


@attrs.define(eq=False)
class Inbox:
    """The rows that a receiver has received: in memory as long as there is room, then in a file of this task alone.

    Parameters
    ----------
    schema
        Types of the columns.
    room
        Memory limit in bytes.
    """

    schema: Schema
    room: int
    rows: dict[int, int] = attrs.field(factory=dict, init=False)
    sizes: dict[int, int] = attrs.field(factory=dict, init=False)
    _runs: dict[int, list[ReceivedRun]] = attrs.field(factory=dict, init=False)
    _spilled: BinaryIO | None = attrs.field(default=None, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runs.clear()
        if self._spilled is not None:
            self._spilled.close()

    def add(self, message: Message) -> None:
        """Add rows of a partition."""
        partition, rows, unpacked, check = message.tags
        size, content = message.content.size, message.content
        if size <= self.room:
            self.room -= size
            load = partial(_as_it_is, content)
        else:
            self.room = 0
            load = partial(self._read, self._write(content), size)
        run = ReceivedRun((message.sender, message.number), load, size, check, unpacked)
        self._runs.setdefault(partition, []).append(run)
        self.rows[partition] = self.rows.get(partition, 0) + rows
        self.sizes[partition] = self.sizes.get(partition, 0) + unpacked

    def partition(self, number: int) -> PartitionRows:
        """Return the rows of a partition, in the order of the senders."""
        return PartitionRows(self._runs.get(number, ()), self.rows.get(number, 0), self.schema)

    def _write(self, content: pa.Buffer) -> int:
        """Write bytes to the file, and return where they start."""
        directory = directory_of_executor()
        with translate_os_errors("write temporary rows to", directory):
            if self._spilled is None:
                # Closed at the end of the inbox.
                self._spilled = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115
            start = self._spilled.seek(0, os.SEEK_END)
            self._spilled.write(content)
        return start

    def _read(self, start: int, size: int) -> bytes:
        assert self._spilled is not None
        with translate_os_errors("read temporary rows from", directory_of_executor()):
            self._spilled.seek(start)
            return self._spilled.read(size)


def _as_it_is(content: pa.Buffer) -> pa.Buffer:
    return content


class ReceivedRows(Protocol):
    """The return value of a receiver or a relay."""

    @property
    def rows(self) -> Mapping[int, int]:
        """The number of rows that it got of each of its partitions."""


@attrs.frozen(eq=False)
class ReceivedResult:
    """The results that a receiver has computed from its partitions.

    Parameters
    ----------
    rows
        The number of rows of each partition.
    entry
        The segment of the result; None if a partition is too large.
    """

    rows: Mapping[int, int]
    entry: SegmentEntry | None


@attrs.frozen(eq=False)
class RowReceiving(SharedValue):
    """The information that tasks need to compute the results of their partitions.

    Parameters
    ----------
    schema
        Types of the columns.
    passed
        For each partition, whether the kernel returns its rows unchanged.
    max_bytes
        The largest size of other partitions.
    room
        Memory for received rows, before their kernel runs.
    kernel, result
        Computes the result rows, and the types of their columns.
    """

    schema: Schema
    passed: np.ndarray
    max_bytes: int
    room: int
    kernel: PartitionKernel
    result: Schema

    def write(self, directory: str, number: int, messages: Iterator[Message]) -> ReceivedResult:
        """Receive the rows of some partitions, and write their result as the segment of the given number."""
        with Inbox(self.schema, self.room) as inbox:
            for message in messages:
                inbox.add(message)
            if any(size > self.max_bytes and not self.passed[partition] for partition, size in inbox.sizes.items()):
                return ReceivedResult(inbox.rows, None)
            partitions = [(inbox.partition(number), bool(self.passed[number])) for number in sorted(inbox.rows)]
            return ReceivedResult(inbox.rows, write_results(self.kernel, self.result, partitions, directory, number))


@attrs.frozen(eq=False)
class WrittenPartitions:
    """The partitions that receivers have written.

    Parameters
    ----------
    entries
        The segments of the result; partitions without rows have none.
    are_all
        Whether no partition was too large.
    sent
        The bytes of all messages.
    """

    entries: list[SegmentEntry]
    are_all: bool
    sent: int

    @classmethod
    def of(cls, sent: Sequence[ShuffleIndex], received: Mapping[int, ReceivedResult]) -> Self:
        """Return what receivers have written, given what was sent.

        Raises
        ------
        StorageError
            If they have got fewer or more rows than were sent.
        """
        require_all_received(sent, received.values())
        entries = [received[number].entry for number in sorted(received)]
        return cls([entry for entry in entries if entry is not None], None not in entries, sum(index.written for index in sent))


def require_all_received(sent: Sequence[ShuffleIndex], received: Iterable[ReceivedRows]) -> None:
    """Require that all rows of each partition came to its receiver, and no others.

    Raises
    ------
    StorageError
        If there are fewer or more.
    """
    expected = sum((index.rows for index in sent), np.zeros(1, dtype=np.int64))
    found = np.zeros(len(expected), dtype=np.int64)
    for result in received:
        for partition, rows in result.rows.items():
            found[partition] += rows
    if not np.array_equal(found, expected):
        lost = f"{found.sum():,} rows came through a shuffle of Spark, but {expected.sum():,} were sent"
        raise StorageError(f"{lost}: this is a fault of the engine, please report it")


def shuffled_by_messages(
    workers: SparkTaskRunner,
    tasks: Sequence[RangeTask],
    rows_of: RowsOfTask,
    sending: RowSending,
    receiving: RowReceiving,
    directory: str,
    description: str,
) -> WrittenPartitions:
    """Run tasks, send the rows that ``rows_of`` yields of them, and write the results of all partitions to a directory."""
    senders = [partial(sending.of_task, number, task, rows_of) for number, task in enumerate(tasks)]
    receivers = [partial(receiving.write, directory, number) for number in range(int(sending.receivers.max(initial=-1)) + 1)]
    results = workers.exchange(senders, receivers, description, tasks)
    return WrittenPartitions.of(results.senders, results.receivers)
