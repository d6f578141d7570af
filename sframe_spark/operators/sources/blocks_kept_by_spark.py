"""Files of segments as blocks in DataFrames that Spark keeps: jobs give tasks the blocks that they read, and keep those of the files that they write.

A block is a row: the file, the position of its first byte, and the bytes. See ``docs/decisions/056-rows-kept-by-spark.md``.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.int_with_spark_hash import int_with_hash
from sframe_spark.errors import StorageError
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.process.place_of_cluster import PLACE_OF_CLUSTER
from sframe_spark.session import QuerySize, get_session
from sframe_spark.session.dataframes_kept_by_spark import KeptDataFrame, kept_in
from sframe_spark.session.spark_versions import dataframe_of, to_arrow
from sframe_spark.session.worker_sockets import acknowledge_at_once
from sframe_spark.storage.filesystem.files_kept_by_spark import (
    BYTES_OF_BLOCK,
    BYTES_OF_FETCH,
    KEPT_FILES,
    FileBlock,
    FilesOfTask,
    Range,
    blocks_of,
    is_below,
)
from sframe_spark.storage.filesystem.io_errors import NOT_KEPT
from sframe_spark.storage.filesystem.temporary_datasets import kept_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The columns of a block, in what tasks give: rows without a file are results.
FILE, START, CONTENT = "file", "start", "content"
BLOCK_COLUMNS = f"{FILE} string, {START} bigint, {CONTENT} binary"
# The columns of what tasks are given: the partition that they are in, the number of the task, and a block, or none.
PLACE, NUMBER = "place", "number"
# Blocks that were fetched last stay in this process.
BLOCKS_IN_MEMORY = 8


# In this process.


@attrs.define(eq=False)
class KeptFile:
    """Where the blocks of a file are.

    Parameters
    ----------
    size
        Its size in bytes.
    parts
        For each block, by its position, the DataFrame and the part of it that have the block.
    """

    size: int = 0
    parts: dict[int, tuple[KeptDataFrame, Any]] = attrs.field(factory=dict)


class FilesKeptBySpark:
    """The files that Spark keeps for this process."""

    def __init__(self) -> None:
        self._files: dict[str, KeptFile] = {}
        self._fetched: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._lock = threading.RLock()
        keep_whole_at_fork(self._lock, "files kept by Spark")

    def add(self, kept: KeptDataFrame, blocks: Iterable[tuple[str, int, int, Any]]) -> None:
        """Add blocks of a DataFrame, each as a file, a position, a size and a part. Without blocks, the DataFrame is released."""
        is_empty = True
        with self._lock:
            for file, start, size, part in blocks:
                is_empty = False
                found = self._files.setdefault(file, KeptFile())
                found.size = max(found.size, start + size)
                found.parts[start] = (kept, part)
        if is_empty:
            kept.release()

    def read(self, file: str, ranges: Sequence[Range]) -> list[bytes]:
        """Return some ranges of bytes of a file; jobs fetch the blocks that they are in."""
        starts = sorted({start for first, stop in ranges for start in range(first - first % BYTES_OF_BLOCK, stop, BYTES_OF_BLOCK)})
        with self._lock:
            blocks = {start: self._fetched[file, start] for start in starts if (file, start) in self._fetched}
        blocks.update(self._fetch(file, [start for start in starts if start not in blocks]))
        with self._lock:
            for start in starts:
                self._fetched[file, start] = blocks[start]
                self._fetched.move_to_end((file, start))
            while len(self._fetched) > BLOCKS_IN_MEMORY:
                self._fetched.popitem(last=False)
        return [b"".join(part_of(blocks[start], start, *wanted) for start in starts if start < wanted[1]) for wanted in ranges]

    def _fetch(self, file: str, starts: Sequence[int]) -> dict[int, bytes]:
        wanted: dict[tuple[KeptDataFrame, Any], list[int]] = {}
        for start in starts:
            wanted.setdefault(self._kept(file).parts[start], []).append(start)
        found: dict[int, bytes] = {}
        for (kept, part), of_it in wanted.items():
            rows = kept.some_rows(part, {FILE: [file], START: of_it})
            found.update(zip(rows.column(START).to_pylist(), map(bytes, rows.column(CONTENT).to_pylist()), strict=True))
        if len(found) != len(starts):
            raise FileNotFoundError(file)
        return found

    def write(self, local: str, file: str) -> None:
        """Send a local file to Spark, some blocks at a time."""
        session = get_session(QuerySize.LARGE_VALUES)
        of_file = blocks_of(local, file)
        while blocks := [block for _, block in zip(range(BYTES_OF_FETCH // BYTES_OF_BLOCK), of_file, strict=False)]:
            kept = kept_in(dataframe_of(session, table_of(blocks), BLOCK_COLUMNS), place_of_blocks())
            self.add(kept, listing_of(kept))

    def sizes_below(self, directory: str) -> Mapping[str, int]:
        """Return the sizes of the files below a directory that Spark still has."""
        with self._lock:
            files = {file: kept for file, kept in self._files.items() if is_below(file, directory)}
        there = {kept: is_there(kept) for kept in frames_of(files.values())}
        return {file: found.size for file, found in files.items() if all(there[kept] for kept, _ in found.parts.values())}

    def frames_with(self, files: Collection[str]) -> list[KeptDataFrame]:
        """Return the DataFrames that have the blocks of some files.

        Raises
        ------
        StorageError
            If a file is not kept any more.
        """
        with self._lock:
            gone = next((file for file in files if file not in self._files), None)
            if gone is not None:
                raise StorageError(f"{gone} is missing: {NOT_KEPT}")
            return frames_of(map(self._kept, files))

    def forget(self, directory: str) -> None:
        """Release the files below a directory."""
        with self._lock:
            gone = [self._files.pop(file) for file in list(self._files) if is_below(file, directory)]
        for kept in frames_of(gone):
            # The session may have been stopped, with all that it has kept.
            with contextlib.suppress(Exception):
                kept.release()

    def _kept(self, file: str) -> KeptFile:
        found = self._files.get(file)
        if found is None:
            raise FileNotFoundError(file)
        return found


def frames_of(files: Iterable[KeptFile]) -> list[KeptDataFrame]:
    """Return the DataFrames that have the blocks of some files, each once."""
    return list(dict.fromkeys(kept for file in files for kept, _ in file.parts.values()))


def part_of(content: bytes, position: int, start: int, stop: int) -> bytes:
    """Return the bytes of a block at a position that are in a range of the file.

    Examples
    --------
    >>> part_of(b"cdef", 2, 0, 4), part_of(b"cdef", 2, 6, 9)
    (b'cd', b'')
    """
    return content[max(start - position, 0) : max(stop - position, 0)]


def is_there(kept: KeptDataFrame) -> bool:
    """Return whether Spark still has all rows of a DataFrame that it keeps."""
    try:
        kept.df.count()
    except Exception:
        return False
    return True


def table_of(blocks: Sequence[FileBlock]) -> pa.Table:
    """Return blocks as a table of three columns."""
    columns = [[block.file for block in blocks], [block.start for block in blocks], [block.content.to_pybytes() for block in blocks]]
    return pa.table([pa.array(columns[0], pa.string()), pa.array(columns[1], pa.int64()), pa.array(columns[2], pa.binary())], [FILE, START, CONTENT])


def listing_of(kept: KeptDataFrame) -> list[tuple[str, int, int, Any]]:
    """Return all blocks of a DataFrame: the file, the position, the size and the part of each."""
    return [row[1] for row in results_and_blocks(kept, []) if row[1] is not None]


def results_and_blocks(kept: KeptDataFrame, names: Sequence[str]) -> list[tuple[tuple[Any, ...], tuple[str, int, int, Any] | None]]:
    """Return all rows of a DataFrame with the columns of its results, and the block that each has, if any, without the bytes."""
    from pyspark.sql import functions as F

    table = to_arrow(kept.df.select(*names, FILE, START, F.length(CONTENT).alias("size"), kept.parts().alias("part")))
    columns = [column.to_pylist() for column in table.columns]
    return [(row[:-4], None if row[-4] is None else row[-4:]) for row in zip(*columns, strict=True)]


def collect_keeping(rows: DataFrame, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Run a query whose tasks give results and blocks of the files that they have written; keep the blocks and return the results.

    Parameters
    ----------
    rows
        The query. Its last columns are those of a block.
    names
        The names of the other columns.
    """
    kept = kept_in(rows, place_of_blocks())
    found = results_and_blocks(kept, names)
    keeper = keeper_of_this_process()
    keeper.add(kept, [block for _, block in found if block is not None])
    return [result for result, block in found if block is None]


def place_of_blocks() -> str | None:
    """Return the directory of this process on a file system of Spark's for blocks; None if they are on disks of executors."""
    return None if PLACE_OF_CLUSTER.blocks is None else f"{PLACE_OF_CLUSTER.blocks}/{kept_store().name}"


@functools.lru_cache(maxsize=1)
def keeper_of_this_process() -> FilesKeptBySpark:
    """Return what keeps the files of this process; from the first call on it can read them."""
    keeper = FilesKeptBySpark()
    KEPT_FILES.keeper = keeper
    return keeper


def task_rows(session: SparkSession, needs: Sequence[Collection[str]]) -> DataFrame:
    """Return a DataFrame with a partition for each task: a row with its number, and the blocks of the files that it needs.

    Parameters
    ----------
    session
        The session of the DataFrame.
    needs
        The URIs of the files that each task needs.
    """
    count = len(needs)
    blocks = blocks_for(session, needs)
    if blocks is None:
        return session.range(0, count, 1, count)
    tasks = pa.table([places_of(range(count)), pa.array(range(count), pa.int32())], [PLACE, NUMBER])
    markers = dataframe_of(session, tasks, f"{PLACE} int, {NUMBER} int")
    rows = markers.selectExpr("*", f"CAST(NULL AS string) {FILE}", f"0L {START}", f"CAST(NULL AS binary) {CONTENT}").unionAll(blocks)
    return rows.repartition(count, PLACE).select(NUMBER, FILE, START, CONTENT)


def blocks_for(session: SparkSession, needs: Sequence[Collection[str]]) -> DataFrame | None:
    """Return the blocks of files, each with the place and the number of a task that needs it; None if no task needs any.

    Raises
    ------
    StorageError
        If Spark does not keep a file any more.
    """
    from pyspark.sql import functions as F

    pairs = [(number, file) for number, of_task in enumerate(needs) for file in of_task]
    if not pairs:
        return None
    numbers = [number for number, _ in pairs]
    columns = [places_of(numbers), pa.array(numbers, pa.int32()), pa.array([file for _, file in pairs])]
    wanted = F.broadcast(dataframe_of(session, pa.table(columns, [PLACE, NUMBER, FILE]), f"{PLACE} int, {NUMBER} int, {FILE} string"))
    frames = [kept.in_session(session).select(FILE, START, CONTENT) for kept in keeper_of_this_process().frames_with({file for _, file in pairs})]
    return functools.reduce(type(frames[0]).unionAll, (blocks.join(wanted, FILE).select(PLACE, NUMBER, FILE, START, CONTENT) for blocks in frames))


def places_of(numbers: Iterable[int]) -> pa.Array:
    """Return the ints by which ``repartition`` puts rows into the partitions of these numbers."""
    return pa.array([int_with_hash(number) for number in numbers], pa.int32())


# In tasks.


def in_tasks(
    work: Callable[[list[int], FilesOfTask], Iterator[pa.RecordBatch]],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` over :func:`task_rows`: it gives the work the numbers of its tasks when the files have come."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        acknowledge_at_once()
        with FilesOfTask() as files:
            numbers = numbers_received(batches, files)
            with KEPT_FILES.kept_by(files):
                yield from work(numbers, files)

    return run


def numbers_received(batches: Iterable[pa.RecordBatch], files: FilesOfTask) -> list[int]:
    """Return the numbers of tasks in the rows of a partition, whose blocks are added to the files of the task."""
    numbers = []
    for batch in batches:
        if batch.num_columns == 1:
            numbers += batch.column(0).to_pylist()
            continue
        for number, file, start, content in zip(*batch.columns, strict=True):
            if file.is_valid:
                files.add(FileBlock(file.as_py(), start.as_py(), content.as_buffer()))
            else:
                numbers.append(number.as_py())
    return numbers


def with_blocks(batches: Iterator[pa.RecordBatch], files: FilesOfTask) -> Iterator[pa.RecordBatch]:
    """Yield batches of results, each with empty columns of a block, and then the blocks of the files that were written meanwhile, one in a batch."""
    for batch in batches:
        empty = [pa.nulls(batch.num_rows, kind) for kind in (pa.string(), pa.int64(), pa.binary())]
        yield pa.RecordBatch.from_arrays([*batch.columns, *empty], [*batch.schema.names, FILE, START, CONTENT])
        for block in files.drained():
            results = [pa.nulls(1, column.type) for column in batch.columns]
            columns = [pa.array([block.file]), pa.array([block.start]), one_value(block.content)]
            yield pa.RecordBatch.from_arrays([*results, *columns], [*batch.schema.names, FILE, START, CONTENT])


def one_value(content: pa.Buffer) -> pa.Array:
    """Return an array of one binary value, without copying it."""
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(np.array([0, content.size], dtype=np.int32)), content])
