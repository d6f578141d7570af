"""Parallel scans of external files (CSV, JSON, ORC): threads on one machine, or Spark tasks on a cluster, read parts of the files."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import attrs
import pyarrow as pa

from sframe_spark.engine import costs
from sframe_spark.engine.materialize_options import IN_MEMORY_ROWS, MaterializeOptions
from sframe_spark.engine.runtime.result_storage import NewDataset, PartialRows, new_dataset, partial_rows, reservation_for_results, rows_as_produced
from sframe_spark.engine.runtime.task_runners import SparkTaskRunner, ThreadRunner
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import MemoryReservation
from sframe_spark.engine.spark.shared_file_and_row_count_checks import require_writable, why_not_in_tasks
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.base_and_segment_source import segment_source, source_of
from sframe_spark.operators.sources.in_memory import MemorySource, memory_source, memory_source_of_parts
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.memory import memory_budget, memory_for_batches, work_memory
from sframe_spark.process.threads import even_ranges, in_threads
from sframe_spark.redaction import redacted, without_secrets
from sframe_spark.session.progress import open_counted
from sframe_spark.session.spark_locality import is_spark_local, is_spark_requested
from sframe_spark.storage.external.orc_reader import OrcTable, StripesSeen
from sframe_spark.storage.filesystem.compression import packing_of
from sframe_spark.storage.filesystem.external_file_streams_and_line_ranges import FileRange, divided
from sframe_spark.storage.filesystem.input_files import DataFile
from sframe_spark.storage.filesystem.local_files import FileState
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import AT_A_TIME
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import ColumnType
from sframe_spark.values.datetimes import warn_of_lost_nanoseconds

Result = TypeVar("Result")
LOG = logging.getLogger("sframe_spark")


def whole_files(files: Iterable[DataFile]) -> list[FileRange]:
    """Return each file as one range that contains all of it."""
    return [FileRange(file.path, file.state, number) for number, file in enumerate(files)]


def read_in_parts(
    files: Sequence[DataFile],
    has_lines: bool,
    are_few: Callable[[int], bool],
    seen: Callable[[str], FileState],
    by_threads: Callable[[DataFile], bool],
) -> Sequence[DataFile] | None:
    """Return the files, with their states, if they are to be read in parts; None if one reader should read them one after the other.

    Remote files are read in parts unless they are few with few bytes. Local files are read in parts if they have many bytes, and several threads, or
    machines of a cluster that see the same files, read them faster.

    Parameters
    ----------
    files
        The files.
    has_lines
        Whether reading can begin at any line of a file that is not compressed.
    are_few
        Returns whether a given number of bytes of local files is too small to be read by several threads.
    seen
        Returns the state of a local file.
    by_threads
        Called with the largest local file, as the first one may be empty: returns whether several threads read such files faster than one.
    """
    if any(file.state is not None for file in files):
        return None if len(files) <= costs.MAX_FILES_IMPORTED_AT_ONCE and _are_few_bytes(whole_files(files)) else files
    is_local = is_spark_local()
    if is_local and ThreadRunner().parallelism() < 2:
        return None
    with_states = [attrs.evolve(file, state=seen(file.path)) for file in files]
    whole = whole_files(with_states)
    size = _bytes_in(whole)
    # A compressed file, or a JSON array, is one part: a task would take as long as this process.
    if (are_few(size) if is_local else size <= costs.MAX_BYTES_IMPORTED_LOCALLY_ON_CLUSTER) or len(parts_of(whole, has_lines)) < 2:
        return None
    if is_local:
        largest = max(with_states, key=lambda file: -1 if file.state is None else file.state.size)
        return with_states if not _are_short(whole) and by_threads(largest) else None
    directories = {_directory_of(file): file.path for file in with_states}
    return None if are_for_this_process(directories, size, files[0].origin) else with_states


def are_for_this_process(directories: Mapping[str, str], size: int, origin: str = "") -> bool:
    """Return whether Spark's machines on a cluster do not see some files, or share no place for their rows; a warning says so.

    Parameters
    ----------
    directories
        One file of each directory.
    size
        The bytes of all files.
    origin
        The name of the files for the warning, if it is not that of the first one.
    """
    reason = "" if is_spark_local() else why_not_in_tasks(directories)
    if reason:
        shown = visible(without_secrets(origin or next(iter(directories.values()))))
        LOG.warning("%s: %d bytes are read by this process alone: %s", shown, size, visible(redacted(reason)))
    return bool(reason)


def _directory_of(file: DataFile) -> str:
    """Return the directory of a file; for a file of a partitioned table, the directory of the table."""
    directory = os.path.dirname(file.path)
    for _ in file.partition:
        directory = os.path.dirname(directory)
    return directory


def parts_of(files: Sequence[FileRange], has_lines: bool) -> list[tuple[FileRange, ...]]:
    """Return the parts of files to be read separately: a part is a byte range of a file in which reading can begin at any line, or several files."""
    return divided(files, _bytes_of_part(files), lambda file: has_lines and packing_of(file.path) is None)


def _are_few_bytes(files: Sequence[FileRange]) -> bool:
    return _bytes_in(files) <= costs.MAX_BYTES_IMPORTED_AT_ONCE


def _bytes_in(files: Sequence[FileRange]) -> int:
    """Return the bytes of all files whose size is known."""
    return sum(file.state.size for file in files if file.state is not None)


def _bytes_of_part(files: Sequence[FileRange]) -> int:
    """Return how many bytes one thread or task should read at a time."""
    if _are_short(files):
        return costs.MIN_BYTES_OF_IMPORTED_PART
    workers = ThreadRunner() if is_spark_local() or _are_few_bytes(files) else SparkTaskRunner()
    return max(
        costs.MIN_BYTES_OF_IMPORTED_PART,
        min(costs.MAX_BYTES_OF_IMPORTED_PART, _bytes_in(files) // (costs.IMPORTED_PARTS_OF_A_CORE * workers.parallelism())),
    )


def _are_short(files: Sequence[FileRange]) -> bool:
    return _bytes_in(files) < costs.MAX_BYTES_OF_SHORT_REMOTE_FILE * len(files)


def run_parts(callables: Sequence[Callable[[], Result]], files: Sequence[FileRange], directory: str, description: str) -> list[Result]:
    """Run functions that read parts of files and write rows to a directory, in threads or Spark tasks; return the results in order.

    The first error ends the rest.
    """
    if is_spark_local() or _are_few_bytes(files):
        with open_counted([None] * len(callables), description) as counted, memory_for_batches():
            return in_threads(lambda number: counted.run(number, callables[number]), range(len(callables)), _threads(files))
    require_writable(directory)
    return SparkTaskRunner().run(callables, description)


def reservation_for_rows(files: Sequence[FileRange]) -> MemoryReservation | None:
    """Return a memory reservation for the rows of local files that threads of this process read; None if the rows are to be written.

    The rows of remote files are written, and all rows while Spark is in use.
    """
    return reservation_for_results() if _are_local(files) and is_spark_local() and not is_spark_requested() else None


def _are_local(files: Sequence[FileRange]) -> bool:
    return not any(is_remote_location(file.path) for file in files)


def in_memory_if_few(node: PlannerNode, files: Sequence[FileRange]) -> PlannerNode:
    """Return a source of the rows that were read from files; few rows are loaded into memory, so that Spark need not see the segments."""
    rows = source_of(node).row_count
    if rows > costs.MAX_ROWS_IMPORTED_INTO_MEMORY or not _are_few_bytes(files):
        return node
    return memory_source(source_of(node).read_all().columns, node.schema, rows)


def _threads(files: Sequence[FileRange]) -> int:
    """Return how many threads read files at a time.

    For remote files there are more than cores, as a thread waits for the store about as long as it computes.
    """
    if _are_local(files):
        return threads_that_read()
    return AT_A_TIME if _are_short(files) else min(AT_A_TIME, costs.REMOTE_READERS_OF_A_CORE * ThreadRunner().parallelism(), _threads_in_memory())


def threads_that_read() -> int:
    """Return how many threads read local files at a time."""
    return min(ThreadRunner().parallelism(), _threads_in_memory())


def _threads_in_memory() -> int:
    return max(1, work_memory() // costs.BYTES_OF_REMOTE_READER)


# The parts of files are read at the same time. Their rows stay in memory if the rows of all parts fit; otherwise they are written as segments.

RowsOfPart = SegmentEntry | PartialRows


def buffered_or_written(
    runs: Iterator[list[pa.Array]], types: Sequence[ColumnType], reservation: MemoryReservation | None, directory: str, number: int
) -> RowsOfPart:
    """Buffer the rows of a part in memory if they fit, else write them as a segment; without a reservation, always write them."""
    if reservation is None:
        return write_segment(directory, number, types, runs)
    rows = partial_rows(map(Chunk.of, runs), reservation)
    return rows if rows.rest is None else rows.write(types, directory, number)


def source_of_parts(parts: Sequence[RowsOfPart | None], dataset: NewDataset) -> PlannerNode:
    """Return a source of the rows of all parts, in order: in memory if all were buffered, else the segments of a dataset.

    Parameters
    ----------
    parts
        The rows of each part; None for a part without rows.
    dataset
        The dataset of the segments, which is discarded if all rows are in memory.
    """
    kept = [rows for rows in parts if isinstance(rows, PartialRows)]
    if kept and len(kept) == sum(rows is not None for rows in parts):
        dataset.handle.discard()
        return PlannerNode(MemorySource.of(rows_as_produced(kept, dataset.types), dataset.types))

    def written(number: int) -> SegmentEntry | None:
        rows = parts[number]
        return rows.write(dataset.types, dataset.directory, number) if isinstance(rows, PartialRows) else rows

    entries = in_threads(written, range(len(parts)), available_cores())
    return segment_source(dataset.publish([entry for entry in entries if entry is not None]), dataset.handle)


# ORC files: few rows are kept in memory, more are written as segments, by threads of this process or by Spark tasks.


def orc_rows(table: OrcTable) -> PlannerNode:
    """Return a source of all rows of ORC files."""
    stripes = [(number, stripe) for number, file in enumerate(table.files) for stripe in range(file.stripes)]
    seen = StripesSeen()
    if table.rows <= IN_MEMORY_ROWS and table.size * costs.TIMES_BYTES_OF_ORC_FILE <= memory_budget():
        runs = list(table.arrays(stripes, seen))
        table.require_rows(seen)
        warn_of_lost_nanoseconds(seen.lost)
        columns = [[run[position] for run in runs] or [pa.array([], kind.physical)] for position, kind in enumerate(table.types)]
        return memory_source_of_parts(columns, list(table.types), table.rows)
    count = max(1, min(len(stripes), max(available_cores(), table.size // costs.BYTES_OF_ORC_TASK)))
    parts = [stripes[first:last] for first, last in even_ranges(len(stripes), count)]
    with new_dataset(table.types, MaterializeOptions()) as dataset:
        callables = [partial(write_stripes, table, part, dataset.directory, number) for number, part in enumerate(parts)]
        if table.size <= memory_budget() or are_for_this_process({os.path.dirname(file.path): file.path for file in table.files}, table.size):
            outcomes = in_threads(lambda work: work(), callables, available_cores())
        else:
            require_writable(dataset.directory)
            outcomes = SparkTaskRunner().run(callables, "reading ORC files")
        for _, seen_in_part in outcomes:
            seen.add(seen_in_part)
        table.require_rows(seen)
        manifest = dataset.publish([entry for entry, _ in outcomes])
    warn_of_lost_nanoseconds(seen.lost)
    return segment_source(manifest, dataset.handle)


def write_stripes(table: OrcTable, stripes: Sequence[tuple[int, int]], directory: str, number: int) -> tuple[SegmentEntry, StripesSeen]:
    """Write the rows of some stripes as one segment; return its entry, and what was found while reading the stripes."""
    seen = StripesSeen()
    return write_segment(directory, number, table.types, table.arrays(stripes, seen)), seen
