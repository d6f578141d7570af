"""An exchange in this process: rows of all tasks by ranges of a key, in memory, and on disk where they find no room there."""

from __future__ import annotations

import math
import threading
import zlib
from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import NoRoomError, StorageError
from sframe_spark.operators.kernels.key_ranges import KeyRanges
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.facts import Schema
from sframe_spark.session.cancel import raise_if_cancelled
from sframe_spark.storage.files.failures import telling
from sframe_spark.storage.files.paths import join
from sframe_spark.storage.files.temporary import DatasetHandle, scratch_store

COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


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
        with telling("read temporary rows in", self.path), open(self.path, "rb") as file:
            file.seek(self.start)
            payload = file.read(self.size)
        if len(payload) != self.size or zlib.crc32(payload) != self.check:
            raise StorageError(f"temporary rows in {self.path} are not those that were written: the file was changed, or the disk is damaged")
        return Chunk.from_table(pa.ipc.open_stream(payload).read_all())


@attrs.define(eq=False)
class Exchange:
    """Rows that threads give, to be taken again range by range.

    Parameters
    ----------
    position
        The column whose ranges they are.
    ranges
        The ranges.
    schema
        Types of the columns.
    room
        Bytes of rows beyond which those in memory are written; while they are, as many may be added.
    rows
        How many there are of each range.
    written
        Bytes in files.
    """

    position: int
    ranges: KeyRanges
    schema: Schema
    room: int
    rows: np.ndarray = attrs.field(init=False)
    size: int = attrs.field(default=0, init=False)
    written: int = attrs.field(default=0, init=False)
    _held: list[SplitRows] = attrs.field(factory=list, init=False)
    _held_size: int = attrs.field(default=0, init=False)
    _stored: list[list[StoredRows]] = attrs.field(init=False)
    _files: int = attrs.field(default=0, init=False)
    _handle: DatasetHandle | None = attrs.field(default=None, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    @rows.default
    def _no_rows(self) -> np.ndarray:
        return np.zeros(self.ranges.count, dtype=np.int64)

    @_stored.default
    def _nothing_stored(self) -> list[list[StoredRows]]:
        return [[] for _ in range(self.ranges.count)]

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._handle.discard()

    def add(self, task: int, chunk: Chunk) -> None:
        """Take further rows of a task, in their order."""
        if not chunk.rows:
            return
        split = self._split(task, chunk)
        with self._lock:
            self.rows += np.diff(split.edges)
            self.size += chunk.size
            self._held.append(split)
            self._held_size += chunk.size
            if self._held_size <= self.room:
                return
            # Others go on with none: what a task gave before is in a file of a smaller number than what it gives now.
            full, self._held, self._held_size = self._held, [], 0
            self._files += 1
            number = self._files
            if self._handle is None:
                self._handle = scratch_store().new_dataset()
            handle = self._handle
        self._write(full, handle, number)

    def take(self, number: int, most: int) -> Chunk:
        """All rows of a range, in the order of their tasks; those in files are read.

        Raises
        ------
        NoRoomError
            If they take more bytes.
        StorageError
            If rows were lost or damaged.
        """
        found: list[tuple[int, float, Chunk]] = []
        size = 0
        for task, file, piece in self._pieces(number):
            size += piece.size
            if size > most:
                raise NoRoomError
            found.append((task, file, piece))
        found.sort(key=lambda piece: piece[:2])
        rows = concatenate([piece for _, _, piece in found], self.schema)
        if rows.rows != self.rows[number]:
            raise StorageError(f"{rows.rows:,} temporary rows of a range were read, of {self.rows[number]:,} that were written")
        return rows

    def _pieces(self, number: int) -> Iterator[tuple[int, float, Chunk]]:
        """Rows of a range with what puts them in order: the task, and the file; those in memory were the last."""
        for stored in self._stored[number]:
            yield stored.task, stored.file, stored.read()
        for split in self._held:
            if split.edges[number] < split.edges[number + 1]:
                yield split.task, math.inf, split.of_range(number)

    def _split(self, task: int, chunk: Chunk) -> SplitRows:
        places = self.ranges.places(chunk.columns[self.position])
        # Short numbers are put in order by their digits.
        order = np.argsort(places.astype(np.uint16), kind="stable")
        edges = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=self.ranges.count))])
        return SplitRows(task, chunk.rows_at(order), edges)

    def _write(self, full: list[SplitRows], handle: DatasetHandle, number: int) -> None:
        """Write rows as a file, range by range, those of one task as one run."""
        path = join(handle.directory, f"exchange-{number:06d}")
        tasks: dict[int, list[SplitRows]] = {}
        for split in full:
            tasks.setdefault(split.task, []).append(split)
        stored: list[tuple[int, StoredRows]] = []
        start = 0
        with telling("write temporary rows to", path), open(path, "xb") as file:
            for task, splits in tasks.items():
                for of_range in range(self.ranges.count):
                    payload = self._packed(splits, of_range)
                    if payload is not None:
                        file.write(payload)
                        stored.append((of_range, StoredRows(task, number, path, start, len(payload), zlib.crc32(payload))))
                        start += len(payload)
                raise_if_cancelled()
        with self._lock:
            self.written += start
            scratch_store().taken.count(handle, self.written)
            for of_range, part in stored:
                self._stored[of_range].append(part)

    def _packed(self, splits: Sequence[SplitRows], number: int) -> pa.Buffer | None:
        """The rows of a range as an Arrow stream; None where there are none."""
        rows = concatenate([split.of_range(number) for split in splits], self.schema)
        if not rows.rows:
            return None
        sink, table = pa.BufferOutputStream(), rows.to_table()
        with pa.ipc.new_stream(sink, table.schema, options=COMPRESSED) as stream:
            stream.write_table(table)
        return sink.getvalue()
