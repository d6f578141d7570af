"""An exchange in this process: rows of all tasks in parts by their values, in memory, and on disk where they find no room there."""

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

from sframe_spark.compute.range_partitioning import RangePartitioner, RowRangePartitioner
from sframe_spark.engine.runtime.pipeline import require_inferred
from sframe_spark.engine.runtime.tasks import RangeTask, chunks_of
from sframe_spark.errors import StorageError
from sframe_spark.planner.chunk import MAX_BYTES_OF_ARRAY, Chunk, concatenate, from_stream, to_stream
from sframe_spark.planner.facts import Facts, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.row_sizes import bytes_of_runs
from sframe_spark.process.threads import POLL_SECONDS, raise_if_cancelled
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.temporary_datasets import DatasetHandle, scratch_store
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.values.arrow_ipc import QUICK

# Rows of a task and a range, with the numbers of the task and of the file that put them in order, and what reads them.
OrderedChunk = tuple[int, float, Callable[[], Chunk]]
# What is lost is temporary.
RETRY_ADVICE = "do the same again, with config.temporary_directory (SFRAME_SPARK_TMP) in another place if that goes on"


class RowPartitioner(Protocol):
    """What tells where each row belongs: ranges of the values of a column, or pieces by hashes of several."""

    @property
    def count(self) -> int:
        """How many there are."""

    def partition_numbers(self, rows: Chunk) -> np.ndarray:
        """The number of the range or piece of each row."""


@attrs.frozen(eq=False)
class SplitRows:
    """Consecutive rows of a task, those of a range next to each other and in their order.

    Parameters
    ----------
    task
        Number of the task.
    rows
        The rows, range by range.
    edges
        Where each range begins, and the number of rows.
    """

    task: int
    rows: Chunk
    edges: np.ndarray

    @classmethod
    def of(cls, task: int, chunk: Chunk, parts: RowPartitioner) -> SplitRows:
        """Rows of a task, split by ranges."""
        places = parts.partition_numbers(chunk)
        # Short numbers are put in order by their digits; there may be more ranges than the shortest tell apart.
        order = np.argsort(places.astype(np.min_scalar_type(parts.count)), kind="stable")
        edges = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=parts.count))])
        return cls(task, chunk.rows_at(order), edges)

    def sizes(self) -> np.ndarray:
        """Bytes that the rows of each range take."""
        return sum((bytes_of_runs(column, self.edges) for column in self.rows.columns), np.zeros(len(self.edges) - 1, dtype=np.int64))

    def of_range(self, number: int) -> Chunk:
        """The rows of a range."""
        return self.rows.slice(int(self.edges[number]), int(self.edges[number + 1]))


@attrs.frozen(eq=False)
class StoredRows:
    """Rows of a task and a range on disk.

    Parameters
    ----------
    task
        Number of the task.
    file
        Number of the file: rows of one task come in the order of files.
    path
        Where it is.
    start, size
        Where in it they are, in bytes.
    check
        The check sum of these bytes.
    """

    task: int
    file: int
    path: str
    start: int
    size: int
    check: int

    def read(self) -> Chunk:
        """The rows.

        Raises
        ------
        StorageError
            If they are not what was written.
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
    """Rows that threads give, to be taken again range by range.

    Parameters
    ----------
    parts
        The ranges; or pieces by hashes, of which all that is said of ranges holds.
    schema
        Types of the columns.
    room
        Bytes of rows beyond which those in memory are written; while they are, as many may be added, and no more.
    rows, sizes
        How many there are of each range, and how many bytes they take in memory.
    held
        Bytes of rows in memory.
    written
        Bytes in files.
    written_again
        Those in files of exchanges that were made of a range of this one.
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
        """Let all rows go, those in files too; how many there were is still known."""
        self._buffered, self.buffered_bytes = [], 0
        if self._handle is not None:
            self._handle.discard()
            self._handle = None

    def add(self, task: int, chunk: Chunk) -> None:
        """Take further rows of a task, in their order."""
        if not chunk.rows:
            return
        split = SplitRows.of(task, chunk, self.parts)
        sizes = split.sizes()
        with self._changed:
            # However many threads there are: what is written, and waits to be, takes no more than twice the room.
            while self._writing and self._writing + self.buffered_bytes >= 2 * self.room:
                self._changed.wait(POLL_SECONDS)
                raise_if_cancelled()
            self.rows += np.diff(split.edges)
            self.sizes += sizes
            self._buffered.append(split)
            self.buffered_bytes += chunk.size
            if self.buffered_bytes <= self.room:
                return
            begun = self._begin_to_write()
        self._write_out(*begun)

    def flush_to_disk(self) -> None:
        """Write the rows that are still in memory, once all were given."""
        with self._changed:
            if not self._buffered:
                return
            begun = self._begin_to_write()
        self._write_out(*begun)

    def count_rewritten(self, of_range: Exchange) -> None:
        """Count what was written of one that was made of a range of this one."""
        with self._changed:
            self.written_again += of_range.written + of_range.written_again

    def take(self, number: int) -> Chunk:
        """All rows of a range, in the order of their tasks; those in files are read.

        Raises
        ------
        StorageError
            If rows were lost or damaged.
        """
        return concatenate(self.passed(number), self.schema)

    def passed(self, number: int) -> Iterator[Chunk]:
        """The same rows in pieces, of which no more than one is read at a time."""
        return in_order(self._chunks(number), int(self.rows[number]))

    def _begin_to_write(self) -> tuple[list[SplitRows], int, DatasetHandle, int]:
        """Take the rows in memory, and what they are written as; others go on with none, and rows of a task come in the order of files."""
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

    def _chunks(self, number: int) -> Iterator[OrderedChunk]:
        """Rows of a range with what puts them in order: the task, and the file; those in memory were the last."""
        for stored in self._stored[number]:
            yield stored.task, stored.file, stored.read
        for split in self._buffered:
            if split.edges[number] < split.edges[number + 1]:
                yield split.task, math.inf, partial(split.of_range, number)

    def _write(self, full: list[SplitRows], handle: DatasetHandle, number: int) -> None:
        """Write rows as a file, range by range, those of one task as one run, or several where an array does not hold them."""
        path = join(handle.directory, f"exchange-{number:06d}")
        with translate_os_errors("write temporary rows to", path), open(path, "xb") as file:
            stored = list(written_runs(full, self.schema, file, number))
        with self._changed:
            self.written += sum(part.size for _, part in stored)
            scratch_store().usage.count(handle, self.written)
            for of_range, part in stored:
                self._stored[of_range].append(part)


def written_runs(full: Sequence[SplitRows], schema: Schema, file: BinaryIO, number: int) -> Iterator[tuple[int, StoredRows]]:
    """Write rows to a file, range by range, those of one task as one run, or several where an array does not hold them; where each stands."""
    for run in runs_of(full, MAX_BYTES_OF_ARRAY):
        for of_range in range(len(run[0].edges) - 1):
            rows = concatenate([split.of_range(of_range) for split in run], schema)
            if rows.rows:
                start, payload = file.tell(), to_stream([rows], QUICK)
                file.write(payload)
                yield of_range, StoredRows(run[0].task, number, file.name, start, len(payload), zlib.crc32(payload))
        raise_if_cancelled()


def in_order(chunks: Iterable[OrderedChunk], count: int) -> Iterator[Chunk]:
    """Rows of a range, of which there are to be so many, in the order of the tasks that gave them, and of their files.

    Raises
    ------
    StorageError
        If there are more or fewer.
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
    """Rows of one task each, in the order they were given, of at most so many bytes together if there is more than one piece of them."""
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


# An exchange between Spark's tasks: each writes its rows, range by range of a key, into a file of a directory that all see.

# What a task holds before it writes: longer runs are fewer pieces to read.
BYTES_OF_RUN = 128 << 20


@attrs.frozen(eq=False)
class TaskOutput:
    """What a task has written.

    Parameters
    ----------
    pieces
        The number of a range, and where rows of it are.
    rows, sizes
        How many rows of each range there are, and what they take in memory.
    """

    chunks: list[tuple[int, StoredRows]]
    rows: np.ndarray
    sizes: np.ndarray


@attrs.frozen(eq=False)
class RangeRows:
    """All rows of a range.

    Parameters
    ----------
    pieces
        Where they are.
    rows
        How many there are.
    are_the_result
        Whether a kernel makes nothing else of them.
    """

    chunks: list[StoredRows]
    rows: int
    are_the_result: bool = False

    def passed(self) -> Iterator[Chunk]:
        """The rows, in the order of the tasks that gave them.

        Raises
        ------
        StorageError
            If rows were lost or damaged.
        """
        return in_order(((chunk.task, chunk.file, chunk.read) for chunk in self.chunks), self.rows)


def write_exchange_rows(task: RangeTask, number: int, position: int, ranges: RangePartitioner, directory: str) -> TaskOutput:
    """Run a task and write its rows by ranges of a column; a task that Spark starts again writes another file."""
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
            if size > BYTES_OF_RUN:
                write()
                size = 0
        write()
    return output


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """A new file that rows are written to; its last bytes are written when it is closed, and a disk that has no room for them is told as before."""
    with translate_os_errors("write temporary rows to", path):
        file = open(path, "xb")  # noqa: SIM115 - closed below, whatever happens meanwhile
    try:
        yield file
    finally:
        with translate_os_errors("write temporary rows to", path):
            file.close()


def ranges_of_outputs(outputs: Sequence[TaskOutput], are_the_result: np.ndarray) -> list[RangeRows]:
    """All rows of each range, of all tasks; which of them a kernel makes nothing else of."""
    chunks: list[list[StoredRows]] = [[] for _ in outputs[0].rows]
    for of_task in outputs:
        for number, chunk in of_task.chunks:
            chunks[number].append(chunk)
    rows = np.sum([of_task.rows for of_task in outputs], axis=0)
    return [RangeRows(found, int(count), bool(are)) for found, count, are in zip(chunks, rows, are_the_result, strict=True)]


def write_ranges(operator: Operator, facts: Facts, schema: Schema, ranges: Sequence[RangeRows], directory: str, number: int) -> SegmentEntry:
    """Write what a kernel makes of some ranges, one after the other, as one segment."""
    from sframe_spark.storage.segments.writer import write_segment

    return write_segment(directory, number, schema, (chunk.columns for chunk in made_of(operator, facts, schema, ranges) if chunk.rows))


def made_of(operator: Operator, facts: Facts, schema: Schema, ranges: Sequence[RangeRows]) -> Iterator[Chunk]:
    """What a kernel makes of each of some ranges."""
    for of_range in ranges:
        if of_range.are_the_result:
            yield from of_range.passed()
        else:
            rows = concatenate(of_range.passed(), facts.schema)
            yield require_inferred(operator, (), operator.kernel([rows], [facts]), schema)
