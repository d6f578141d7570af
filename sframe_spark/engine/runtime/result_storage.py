"""Keeping the rows that a section computes: buffered in memory as long as a reservation lasts, or written as segments of a dataset."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import MemoryReservation, bytes_of_rows
from sframe_spark.engine.spark import query
from sframe_spark.engine.spark.place_for_kept_files import require_keeping
from sframe_spark.engine.spark.shared_file_and_row_count_checks import (
    is_shared,
    require_all_rows,
    require_known_rows,
    require_writable,
    require_writable_temporary_data,
    why_unseen,
    why_unshared,
)
from sframe_spark.errors import MemoryReservationError, NotSharedError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, recorded_order, segment_source, source_of
from sframe_spark.operators.sources.in_memory import MemorySource, RangeSource
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.chunk import Chunk, ChunkedRows, coalesce_chunks, concatenate, drained
from sframe_spark.planner.graph_traversal import postorder, rebuild
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.memory import memory_budget, result_memory_left
from sframe_spark.process.threads import even_ranges, in_threads
from sframe_spark.session import get_session
from sframe_spark.session.spark_locality import is_spark_requested, reads_our_files
from sframe_spark.storage.datasets.adoption_of_spark_files import adopt
from sframe_spark.storage.datasets.dataset_copies import copied_dataset
from sframe_spark.storage.datasets.manifest_publication import in_row_order, publish
from sframe_spark.storage.filesystem.files_kept_by_spark import is_kept_by_spark
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.temporary_datasets import kept_store, temporary_directory_in_use, temporary_store
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.recorded_order import NO_RECORDED_ORDER, RecordedOrder
from sframe_spark.storage.segments.writer import ROWS_PER_GROUP, write_segment
from sframe_spark.types import ColumnType

# Buffers in memory, which fill until a memory reservation is exhausted.


def reservation_for_results() -> MemoryReservation:
    """Return a reservation of the memory that is left for results, after what Arrow has allocated in this process."""
    return MemoryReservation(max(0, result_memory_left()))


def has_room(node: PlannerNode) -> bool:
    """Return whether the rows of a node would fit in the memory that is left for results; False if their number is unknown."""
    rows = node.length.rows
    return rows is not None and bytes_of_rows(node, rows) <= result_memory_left()


def may_stay() -> bool:
    """Return whether everything that Arrow has allocated is within the memory limit."""
    return result_memory_left() >= 0


@attrs.define(eq=False)
class PartialRows:
    """The buffered rows of a task, and an iterator of the rows that did not fit in memory.

    Parameters
    ----------
    buffered
        The first rows, in chunks.
    rest
        The other rows, which are not computed yet; None if all rows are buffered.
    """

    buffered: list[Chunk]
    rest: Iterator[Chunk] | None = None

    def runs(self) -> Iterator[Sequence[pa.Array]]:
        """Yield the columns of all rows, chunk by chunk; buffered chunks are released one after the other."""
        return (chunk.columns for chunk in chain(drained(self.buffered), self.rest or ()) if chunk.rows)

    def write(self, types: Sequence[ColumnType], directory: str, number: int) -> SegmentEntry:
        """Write all rows as the segment of the given number."""
        return write_segment(directory, number, types, self.runs())


def partial_rows(chunks: Iterator[Chunk], reservation: MemoryReservation) -> PartialRows:
    """Buffer rows as long as memory can be reserved for them; the remaining rows are computed later."""
    buffered = list[Chunk]()
    while not reservation.is_full:
        chunk = next(chunks, None)
        if chunk is None:
            return PartialRows(buffered)
        buffered.append(chunk)
        try:
            reservation.take(chunk)
        except MemoryReservationError:
            break
    return PartialRows(buffered, chunks)


def rows_as_produced(parts: Sequence[PartialRows], schema: Sequence[ColumnType]) -> Chunk | ChunkedRows:
    """Concatenate completely buffered results in as few chunks as possible, without copying; the buffers are empty afterwards."""
    return coalesce_chunks(_taken_from(parts), tuple(schema))


def in_one_chunk(parts: Sequence[PartialRows], schema: Sequence[ColumnType]) -> Chunk:
    """Concatenate completely buffered results into one array for each column; the buffers are empty afterwards."""
    return concatenate(_taken_from(parts), tuple(schema))


def _taken_from(parts: Sequence[PartialRows]) -> Iterator[Chunk]:
    return (chunk for part in parts for chunk in drained(part.buffered))


# Writing rows as a dataset: a temporary one, which becomes readable as a whole, or the segments of one that is being saved.


@attrs.frozen(eq=False)
class NewDataset:
    """A directory that is being filled with segments.

    Parameters
    ----------
    directory
        The directory of the segments.
    types
        The types of the columns.
    handle
        Keeps a temporary directory alive; None if the user named the directory.
    order
        What is known of the order of the rows.
    target
        A directory that the user named, which Spark's machines do not share: the files, which Spark keeps, are copied there.
    """

    directory: str
    types: Schema
    handle: Any
    order: RecordedOrder = NO_RECORDED_ORDER
    target: str | None = None

    def publish(self, entries: Sequence[SegmentEntry]) -> Manifest:
        """Make a temporary dataset readable and return its manifest; in a directory that the user named, the save publishes the files.

        Raises
        ------
        StorageError
            If the dataset is temporary and exceeds the quota for temporary data.
        """
        if self.handle is None:
            return Manifest(self.types, in_row_order(entries, self.directory), self.directory, order=self.order)
        store = kept_store() if is_kept_by_spark(self.directory) else temporary_store()
        store.usage.count(self.handle, sum(map(self._size_of, entries)))
        manifest = publish(self.directory, self.types, entries, durable=False, order=self.order)
        return manifest if self.target is None else copied_dataset(manifest, self.target)

    def source(self, entries: Sequence[SegmentEntry]) -> PlannerNode:
        """Make a dataset readable, as :meth:`publish` does, and return a source of its rows."""
        manifest = self.publish(entries)
        if self.target is not None:
            self.discard()
        return segment_source(manifest, self.handle if self.target is None else None)

    def discard(self) -> None:
        """Delete a temporary dataset; files without a manifest in a directory that the user named are deleted by the save."""
        if self.handle is not None:
            self.handle.discard()

    def _size_of(self, entry: SegmentEntry) -> int:
        return os.path.getsize(join(self.directory, entry.file)) if entry.size is None else entry.size


@contextmanager
def new_dataset(types: Schema, options: MaterializeOptions, order: RecordedOrder = NO_RECORDED_ORDER, by_spark: bool = False) -> Iterator[NewDataset]:
    """Yield a new directory for a dataset. If the block fails, a temporary directory is deleted; one that the caller named is left to the caller.

    Where Spark's machines write the files (``by_spark``), and are known not to share the directory, Spark keeps them.
    """
    is_kept = by_spark and not has_shared_place(options)
    if is_kept:
        require_keeping(why_unshared(temporary_directory_in_use() if options.directory is None else os.path.dirname(options.directory)))
    handle = kept_store().new_dataset() if is_kept else None if options.directory is not None else temporary_store().new_dataset()
    directory = options.directory if handle is None else handle.directory
    assert directory is not None
    try:
        yield NewDataset(directory, tuple(types), handle, order, options.directory if is_kept else None)
    except BaseException:
        if handle is not None:
            handle.discard()
        raise


def has_shared_place(options: MaterializeOptions) -> bool:
    """Return whether Spark's machines, as far as is known, share the directory that rows are written to."""
    return is_shared(temporary_directory_in_use() if options.directory is None else os.path.dirname(options.directory))


def write_query(node: PlannerNode, options: MaterializeOptions) -> PlannerNode:
    """Return a source of the rows of a Spark query, in order, that Spark or its tasks have written as a dataset."""
    with new_dataset(node.schema, options, recorded_order(node), by_spark=True) as dataset:
        if is_remote_location(dataset.directory):
            # Spark's own writer has other names and settings for remote file systems, so tasks upload the files.
            entries = query.upload_rows(node, dataset.directory)
            require_known_rows(sum(entry.rows for entry in entries), node.length.rows, f"uploaded rows to {dataset.directory}")
            return dataset.source(entries)
        require_writable(dataset.directory)
        counted = query.write_parquet(node, dataset.directory)
        entries = adopt(dataset.directory, node.schema)
        require_all_rows(entries, counted, node.length.rows, dataset.directory)
        return dataset.source(entries)


def write_chunks(chunks: Iterable[Chunk], types: Schema, options: MaterializeOptions, order: RecordedOrder) -> PlannerNode:
    """Return a source of chunks of rows, written as a dataset of one segment."""
    with new_dataset(types, options, order) as dataset:
        return dataset.source([write_segment(dataset.directory, 0, types, (chunk.columns for chunk in chunks if chunk.rows))])


def write_in_memory(rows: Chunk | ChunkedRows, types: Schema, options: MaterializeOptions, order: RecordedOrder) -> PlannerNode:
    """Return a source of rows in memory, written as a dataset; if they are many, each core writes one segment."""
    count = max(1, min(available_cores(), rows.rows // ROWS_PER_GROUP))
    ranges = even_ranges(rows.rows, count)
    with new_dataset(types, options, order) as dataset:

        def write(number: int) -> SegmentEntry:
            parts = rows.chunks_between(*ranges[number], range(len(types)))
            return write_segment(dataset.directory, number, types, (part.columns for part in parts))

        return dataset.source(in_threads(write, range(count), count))


def keep_runs(runs: Iterable[Sequence[pa.Array]], types: Schema) -> PlannerNode:
    """Return a source of rows, given run by run: in memory if all fit and Spark is not in use, otherwise a temporary dataset."""
    if is_spark_requested():
        return write_runs(runs, types)
    rows = partial_rows(map(Chunk.of, runs), reservation_for_results())
    if rows.rest is None:
        return PlannerNode(MemorySource.of(rows_as_produced([rows], types), types))
    return write_runs(rows.runs(), types)


def write_runs(runs: Iterable[Sequence[pa.Array]], types: Schema) -> PlannerNode:
    """Write rows as a temporary dataset, given run by run with one run in memory at a time, and return their source."""
    with new_dataset(types, MaterializeOptions()) as dataset:
        return dataset.source(segments_of_runs(runs, types, dataset.directory))


def segments_of_runs(runs: Iterable[Sequence[pa.Array]], types: Schema, directory: str) -> list[SegmentEntry]:
    """Write rows, given run by run, to a directory, and return the entries of the segments."""
    entries: list[SegmentEntry] = []
    rows = iter(runs)
    while (first := next(rows, None)) is not None:
        entries.append(write_segment(directory, len(entries), types, _until_full(first, rows)))
    return entries


def _until_full(first: Sequence[pa.Array], runs: Iterator[Sequence[pa.Array]]) -> Iterator[Sequence[pa.Array]]:
    """Yield a run of rows, and as many of the following runs as fill a segment."""
    rows = len(first[0])
    yield first
    while rows < config.segment_rows and (run := next(runs, None)) is not None:
        rows += len(run[0])
        yield run


# Large tables in memory are written as segments when Spark first reads them: sending the rows takes longer, and every query would send them again.


def with_stored_tables(root: PlannerNode, are_local: bool = False) -> PlannerNode:
    """Return a plan with segments in place of large tables in memory. The segments exist as long as the table does.

    Unless the readers are known to be on this machine (``are_local``), a table is replaced only if Spark sees this process's files.
    """
    tables = [node.operator for node in postorder([root]) if isinstance(node.operator, MemorySource) and is_worth_storing(node.operator)]
    if not tables or not (are_local or (reads_our_files(get_session()) and is_shared(temporary_directory_in_use()))):
        return root
    columns_read: dict[int, set[int]] = {}
    for table in tables:
        columns_read.setdefault(id(table.data), set()).update(table.positions)
    segments = {id(table): as_segments(table, columns_read[id(table.data)]) for table in tables}
    return rebuild(root, lambda node: segments[id(node.operator)].make_planner_node() if id(node.operator) in segments else node)


def is_worth_storing(table: MemorySource) -> bool:
    """Return whether a source has many rows, or long ones, and at least half of the rows of its table, which would be written."""
    rows = table.stop - table.start
    is_large = rows > ROWS_PER_GROUP or row_bytes(table.sizes_between(0, rows), 0) > costs.MAX_BYTES_SENT
    return bool(table.positions) and is_large and 2 * rows >= table.data.rows


def as_segments(table: MemorySource, columns: Iterable[int]) -> SegmentSource:
    """Return a source of the columns and rows of a table, stored as a temporary dataset of at least the given columns of the table."""
    positions, segments = table.stored or ((), None)
    if segments is None or not set(columns) <= set(positions):
        positions = tuple(sorted({*columns, *positions}))
        whole = attrs.evolve(table, positions=positions, start=0, stop=table.data.rows)
        node = whole.make_planner_node()
        stored = write_in_memory(whole.held, node.schema, MaterializeOptions(), recorded_order(node)).operator
        assert isinstance(stored, SegmentSource)
        segments = stored
        table.store(positions, segments)
    return segments.with_columns([positions.index(position) for position in table.positions]).rows_between(table.start, table.stop)


# Files of this process that Spark's machines do not see: their rows are sent with the query or the tasks if they are within the memory budget, else
# before.


def with_rows_sent(root: PlannerNode, asks: bool = False) -> PlannerNode:
    """Return a plan for Spark with rows that it can read in place of files that Spark's machines do not see.

    Parameters
    ----------
    root
        The plan.
    asks
        Whether to ask Spark about directories not checked yet.
    """
    leaves = {id(node): node for node in postorder([root]) if not node.inputs and node.operator.is_source}
    unseen = {key: node for key, node in leaves.items() if why_unseen(node.operator, asks)}
    if not unseen:
        return root
    reservation = MemoryReservation(memory_budget())
    sent = {key: rows_for_spark(node, reservation) for key, node in unseen.items()}
    return rebuild(root, lambda node: sent.get(id(node), node))


def rows_for_spark(node: PlannerNode, reservation: MemoryReservation) -> PlannerNode:
    """Return a source that Spark can read of the rows of a file that its machines do not see.

    The rows are in memory if a reservation has room for them; otherwise Spark is sent them in parts, and keeps them.
    """
    rows = partial_rows(source_of(node).read_batches(), reservation)
    if rows.rest is None and not reservation.is_full:
        return PlannerNode(MemorySource.of(rows_as_produced([rows], node.schema), node.schema, recorded_order(node)))
    options = MaterializeOptions()
    if has_shared_place(options):
        # If it is found not to be shared, that is remembered: then the dataset is one that Spark keeps.
        with suppress(NotSharedError):
            require_writable_temporary_data()
    with new_dataset(node.schema, options, recorded_order(node), by_spark=True) as dataset:
        return dataset.source(segments_of_runs(rows.runs(), node.schema, dataset.directory))


# Rows of a source for a user's own Spark session, whose settings decide how expressions are evaluated.

# Sources that Spark reads alike whatever the session's settings are.
READ_AS_THEY_ARE = (MemorySource, RangeSource, SegmentSource)


def source_for_users(node: PlannerNode) -> PlannerNode:
    """Return a source whose rows any Spark session reads alike; large tables in memory and sources of other kinds are written as datasets."""
    source = source_of(node)
    if isinstance(source, READ_AS_THEY_ARE):
        return with_stored_tables(node)
    rows, step, reader = source.row_count, config.batch_rows, source.reader()
    chunks = (reader.read(start, min(start + step, rows)) for start in range(0, rows, step))
    return write_chunks(chunks, node.schema, MaterializeOptions(), recorded_order(node))
