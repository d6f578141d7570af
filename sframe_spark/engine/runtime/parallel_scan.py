"""Parallel scans of external files: byte ranges are read by Spark tasks on a cluster, and by threads on one machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import attrs
import pyarrow as pa

from sframe_spark.engine.memory_budget import MemoryReservation
from sframe_spark.engine.runtime.dataset_writer import NewDataset
from sframe_spark.engine.runtime.result_buffer import PartialRows, partial_rows, reservation_for_results, rows_as_produced
from sframe_spark.engine.runtime.scheduler import SparkTaskRunner, ThreadRunner
from sframe_spark.engine.spark.file_checks import require_writable, why_not_in_tasks
from sframe_spark.locations import is_remote_location
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.memory import MemorySource, memory_source
from sframe_spark.operators.sources.source import segment_source, source_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import memory_for_batches, work_memory
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.redaction import redacted, without_secrets
from sframe_spark.session.deployment import is_spark_local, is_spark_requested
from sframe_spark.session.progress import open_counted
from sframe_spark.storage.filesystem.byte_streams import FileRange, divided
from sframe_spark.storage.filesystem.compression import packing_of
from sframe_spark.storage.filesystem.local_files import FileState
from sframe_spark.storage.filesystem.path_resolution import DataFile
from sframe_spark.storage.filesystem.remote_files import AT_A_TIME
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import ColumnType

Result = TypeVar("Result")
LOG = logging.getLogger("sframe_spark")

# What a task reads at most, and at least where there is enough for all cores.
MAX_BYTES, MIN_BYTES = 64 << 20, 8 << 20
# Cores take several parts, as some take longer than others.
PARTS_OF_CORE = 4
# A block as it came, as columns of text and of values, and rows on their way to disk: measured 200 MB.
THREADS_OF_CORE, BYTES_OF_THREAD = 2, 256 << 20
# Of shorter files most of the time is spent waiting for the first byte.
SHORT_BYTES = 1 << 20
# So little is read by the driver: few files one after the other, into memory if there are few rows.
FEW_BYTES, FEW_FILES, FEW_ROWS = 32 << 20, 8, 100_000
# Tasks are asked what they see first, and start their Python.
FEW_BYTES_SHARED = 256 << 20


def whole_files(files: Iterable[DataFile]) -> list[FileRange]:
    """Return files, each as a whole."""
    return [FileRange(file.path, file.state, number) for number, file in enumerate(files)]


def read_in_parts(
    files: Sequence[DataFile],
    has_lines: bool,
    are_few: Callable[[int], bool],
    seen: Callable[[str], FileState],
    by_threads: Callable[[DataFile], bool],
) -> Sequence[DataFile] | None:
    """Return files with what is known of each, where they are read in parts; None where one reader goes from the first to the last.

    Elsewhere these are all but few bytes. Of paths it is many bytes that threads read, or a cluster's machines that see what this one does.

    Parameters
    ----------
    files
        The files.
    has_lines
        Whether lines of a file that is not packed are found from any place on.
    are_few
        Whether so many bytes of this machine take one thread less long than it is worth to begin with several.
    seen
        Tells how a file of this machine was found.
    by_threads
        Whether several threads read files of this machine sooner than one, asked of the longest where they are many bytes: the first may be empty.
    """
    if any(file.state is not None for file in files):
        return None if len(files) <= FEW_FILES and _are_few_bytes(whole_files(files)) else files
    is_here = is_spark_local()
    if is_here and ThreadRunner().parallelism() < 2:
        return None
    found = [attrs.evolve(file, state=seen(file.path)) for file in files]
    whole = whole_files(found)
    # A file that is packed, or an array, is one part: a task would take as long.
    size = _bytes_in(whole)
    if (are_few(size) if is_here else size <= FEW_BYTES_SHARED) or len(parts_of(whole, has_lines)) < 2:
        return None
    if is_here:
        return found if not _are_short(whole) and by_threads(max(found, key=lambda file: -1 if file.state is None else file.state.size)) else None
    reason = why_not_in_tasks({_directory_of(file): file.path for file in found})
    if reason:
        shown = visible(without_secrets(files[0].origin))
        LOG.warning("%s: %d bytes are read by this process alone: %s", shown, _bytes_in(whole), visible(redacted(reason)))
    return None if reason else found


def _directory_of(file: DataFile) -> str:
    """The directory of a file; of a partitioned table the one above all."""
    directory = os.path.dirname(file.path)
    for _ in file.partition:
        directory = os.path.dirname(directory)
    return directory


def parts_of(files: Sequence[FileRange], has_lines: bool) -> list[tuple[FileRange, ...]]:
    """Return parts of whole files for those who work: some bytes of one whose lines are found from any place on, or several files."""
    return divided(files, _bytes_of_part(files), lambda file: has_lines and packing_of(file.path) is None)


def _are_few_bytes(files: Sequence[FileRange]) -> bool:
    return _bytes_in(files) <= FEW_BYTES


def _bytes_in(files: Sequence[FileRange]) -> int:
    """Return how many bytes files have, as far as that is known."""
    return sum(file.state.size for file in files if file.state is not None)


def _bytes_of_part(files: Sequence[FileRange]) -> int:
    """Return how many bytes one of those who work reads at a time."""
    if _are_short(files):
        return MIN_BYTES
    workers = ThreadRunner() if is_spark_local() or _are_few_bytes(files) else SparkTaskRunner()
    return max(MIN_BYTES, min(MAX_BYTES, _bytes_in(files) // (PARTS_OF_CORE * workers.parallelism())))


def _are_short(files: Sequence[FileRange]) -> bool:
    return _bytes_in(files) < SHORT_BYTES * len(files)


def run_parts(callables: Sequence[Callable[[], Result]], files: Sequence[FileRange], directory: str, description: str) -> list[Result]:
    """Return results of works that read parts of files and write rows in a directory, in order; the first error ends the rest."""
    if is_spark_local() or _are_few_bytes(files):
        with open_counted(len(callables), description) as done, memory_for_batches():
            return in_threads(lambda work: done(work()), callables, _threads(files))
    require_writable(directory)
    return SparkTaskRunner().run(callables, description)


def reservation_for_rows(files: Sequence[FileRange]) -> MemoryReservation | None:
    """Return room for the rows of files here, where threads of this process make them and no Spark is to read them; None: they are written."""
    return reservation_for_results() if _are_here(files) and is_spark_local() and not is_spark_requested() else None


def _are_here(files: Sequence[FileRange]) -> bool:
    return not any(is_remote_location(file.path) for file in files)


def brought(node: PlannerNode, files: Sequence[FileRange]) -> PlannerNode:
    """Return a source of the rows that parts of files had; few are in memory, so that Spark needs no directory to see them."""
    rows = source_of(node).row_count
    if rows > FEW_ROWS or not _are_few_bytes(files):
        return node
    return memory_source(source_of(node).read_all().columns, node.schema, rows)


def _threads(files: Sequence[FileRange]) -> int:
    """Return how many threads read at a time: elsewhere more than there are cores, as each waits for a store as long as it works."""
    if _are_here(files):
        return threads_that_read()
    return AT_A_TIME if _are_short(files) else min(AT_A_TIME, THREADS_OF_CORE * ThreadRunner().parallelism(), _threads_in_memory())


def threads_that_read() -> int:
    """Return how many threads read files of this machine at a time."""
    return min(ThreadRunner().parallelism(), _threads_in_memory())


def _threads_in_memory() -> int:
    return max(1, work_memory() // BYTES_OF_THREAD)


# Rows of parts of files that were read at once: in memory where those of all parts find room there, else in segments.

RowsOfPart = SegmentEntry | PartialRows


def buffered_or_written(
    runs: Iterator[list[pa.Array]], types: Sequence[ColumnType], room: MemoryReservation | None, directory: str, number: int
) -> RowsOfPart:
    """Keep rows of a part in memory where there is room for them, else write them as a segment of that number; no room is given: write them."""
    if room is None:
        return write_segment(directory, number, types, runs)
    rows = partial_rows(map(Chunk.of, runs), room)
    return rows if rows.rest is None else rows.write(types, directory, number)


def source_of_parts(parts: Sequence[RowsOfPart | None], dataset: NewDataset) -> PlannerNode:
    """Return a source of the rows of all parts, in order: in memory where all of them found room, else of segments of the dataset.

    Parameters
    ----------
    parts
        What each part has; None where that is nothing.
    dataset
        Where their segments are; without any it is discarded.
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
