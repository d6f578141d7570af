"""The source operator that reads rows of an archive of Turi Create, in this process or in Spark tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.spark_columns import spark_type
from sframe_spark.config import config
from sframe_spark.errors import CarriedError, InvalidArgumentError, SFrameError
from sframe_spark.operators.sources.base_and_segment_source import MAX_CHUNK_BYTES, Reader, Saved, Source, TableSource, check_range
from sframe_spark.planner.chunk import Chunk, column_names, combine
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator_declarations import SourceKind
from sframe_spark.planner.operator_parameters import at_least, column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes, fixed_size
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation
from sframe_spark.session import default_parallelism
from sframe_spark.session.worker_sockets import acknowledge_at_once
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.turicreate.archive import Archive, open_archive
from sframe_spark.turicreate.archive_row_reader import ArchiveReader
from sframe_spark.turicreate.conversion_and_verification import archive_segments, require_readable_rows, task_bounds
from sframe_spark.turicreate.narrow_archive_types import with_narrow_types
from sframe_spark.udf.error_transport import ErrorTransport, error_transport

# --- Lowering to Spark, where each task decodes a range of rows


# The size of the batches that tasks return.
BATCH_BYTES = 8 << 20
# The column with the row numbers.
KEY = "k0"


@attrs.frozen
class ScanTasks:
    """The function, with its arguments, that Spark tasks run to read an archive.

    Parameters
    ----------
    archive, positions
        The archive, and the positions of its columns to read.
    start
        The row of the archive that gets the row number 0.
    bounds
        The first archive row of each task, followed by the end of the last task's rows.
    batch_rows
        The largest number of rows in a batch.
    transport
        Packs errors so that the driver can raise them.
    """

    archive: Archive
    positions: tuple[int, ...]
    start: int
    bounds: tuple[int, ...]
    batch_rows: int
    transport: ErrorTransport

    def batches(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the ranges whose indices are in the incoming batches, with their row numbers."""
        acknowledge_at_once()
        ranges = list(pairwise(self.bounds))
        try:
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    yield from self._rows(*ranges[number])
        except SFrameError as error:
            raise CarriedError(self.transport.packed(error)) from None

    def _rows(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        reader, names = ArchiveReader(self.archive), [*column_names(len(self.positions)), KEY]
        for count, columns in reader.batches(self.positions, first, last, self.batch_rows, BATCH_BYTES):
            keys = pa.array(np.arange(first - self.start, first - self.start + count))
            yield from pa.table([*columns, keys], names=names).combine_chunks().to_batches()
            first += count


def open_scan(source: ArchiveSource, context: LoweringContext) -> Relation:
    """Return a new relation that reads the source, with one partition for each range of rows, and the row number as the key."""
    schema, rows = source.infer_type(()), source.stop - source.start
    columns = "".join(f"{name} {spark_type(kind)}, " for name, kind in zip(column_names(len(schema)), schema, strict=True))
    bounds = tuple(source.start + bound for bound in task_bounds(rows, default_parallelism(context.spark)))
    tasks = ScanTasks(source.archive, source.positions, source.start, bounds, config.batch_rows, error_transport())
    numbers = context.spark.range(0, len(bounds) - 1, 1, len(bounds) - 1)
    df = numbers.mapInArrow(tasks.batches, f"{columns}{KEY} bigint")
    return Relation(df, schema, (KeyColumn(KEY),), KEY)


# --- The operator


# How many times as many bytes strings, lists and dicts are assumed to take in memory as in the files.
PACKED_TO_A = 3.0


@register
@attrs.frozen
class ArchiveSource(TableSource):
    """A source that reads some columns and a range of rows of an archive of Turi Create.

    Parameters
    ----------
    archive
        The archive.
    positions
        The positions of the columns in the archive.
    start, stop
        The first row, and the row behind the last one.
    handle
        An object that keeps the local copy of a remote archive until it is garbage-collected; None for a local archive.
    """

    name: ClassVar[str] = "archive_source"
    source_kind: ClassVar[SourceKind] = SourceKind.ENCODED_FILES
    archive: Archive = attrs.field(eq=lambda archive: archive.identity)
    positions: tuple[int, ...] = attrs.field(validator=column_positions)
    start: int = attrs.field(validator=at_least(0))
    stop: int = attrs.field(validator=at_least(0))
    handle: Any = attrs.field(default=None, eq=False, metadata={"portable": False})

    @classmethod
    def of(cls, archive: Archive, handle: Any = None) -> ArchiveSource:
        """Return a source of all rows and columns of an archive."""
        return cls(archive, tuple(range(len(archive.contents.columns))), 0, archive.rows, handle)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the selected columns."""
        return tuple(self.archive.contents.columns[position].column_type for position in self.positions)

    def read(self, start: int, stop: int) -> Chunk:
        """Return a range of rows; only the blocks that hold them are read."""
        return self.read_by(ArchiveReader(self.archive), start, stop)

    def read_by(self, reader: ArchiveReader, start: int, stop: int) -> Chunk:
        """Return a range of rows, read with a given reader, which may have cached some of the blocks."""
        first = self.start + start
        last = max(first, min(self.start + stop, self.stop))
        return Chunk(tuple(map(combine, reader.read(self.positions, first, last))), last - first)

    def reader(self, threads: int = 0, coded: Iterable[int] = ()) -> Reader:
        """Return a reader that decompresses each block only once when rows are read in order."""
        return _BlockReader(self)

    def read_batches(self, threads: int = 0) -> Iterator[Chunk]:
        """Yield all rows in order, in batches that are limited in rows and in bytes; a source without rows yields one empty batch."""
        for rows, columns in ArchiveReader(self.archive).batches(self.positions, self.start, self.stop, config.batch_rows, MAX_CHUNK_BYTES):
            yield Chunk(tuple(map(combine, columns)), rows)
        if self.start == self.stop:
            yield self.read_all()

    @property
    def stored_names(self) -> Sequence[str]:
        """The names of all columns of the archive."""
        return self.archive.names

    @property
    def watched(self) -> Archive:
        """The archive, whose files other programs may change at any time."""
        return self.archive

    @property
    def shared_file(self) -> str | None:
        """The path of a segment file, which Spark tasks must be able to open; None if the archive has no segment files."""
        return next((file.path for file in self.archive.contents.files), None)

    def saved_by(self, save: Callable[[Source], Saved]) -> Saved:
        """Return the result of ``save``, called with this source with narrower column types, and again with wider ones if values do not fit."""
        return with_narrow_types(self.archive, self.positions, lambda archive: save(attrs.evolve(self, archive=archive)))

    def write_segments(self, directory: str) -> list[SegmentEntry]:
        """Write the rows as segments to a directory, in parallel, and return the entries of the segments in row order.

        Raises
        ------
        StorageError
            If the archive is damaged, or is changed meanwhile.
        """
        entries = archive_segments(self.archive, self.positions, (self.start, self.stop), directory)
        self.archive.require_unchanged()
        return entries

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """Return an estimate of the bytes of a range of rows for each column, without reading rows.

        Types of fixed size have that size. The total size of the files is divided evenly among the other columns of the archive.
        """
        columns, rows = self.archive.contents.columns, max(self.archive.rows, 1)
        open_ended = sum(fixed_size(column.column_type) is None for column in columns)
        bytes_per_value = PACKED_TO_A * self.archive.size / rows / max(open_ended, 1)
        return tuple((bytes_per_value if (size := fixed_size(kind)) is None else size) * (stop - start) for kind in self.infer_type(()))

    def as_read(self) -> ArchiveSource:
        """Return this source after checking that the archive has its columns and rows.

        Raises
        ------
        InvalidArgumentError
            If the archive does not have one of the columns or rows.
        """
        count = len(self.archive.contents.columns)
        if not all(0 <= position < count for position in self.positions):
            raise InvalidArgumentError(f"the plan's text names columns that {self.archive.location} does not have: {list(self.positions)!r:.200}")
        check_range(self.start, self.stop, self.archive.rows)
        return self

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a relation whose tasks decode a range of rows each; scans of the same rows of the same archive share one relation."""
        key = ("archive", self.archive.identity, self.positions, self.start, self.stop, config.batch_rows)
        return context.open_source(key, partial(open_scan, self, context))

    def describe(self) -> str:
        """Return the location of the archive, the positions of the columns and the range of rows, as a string."""
        return f"{self.archive.location}, columns {list(self.positions)}, rows {self.start}..{self.stop}"


class _BlockReader(Reader):
    """Reads rows of an archive source; caches decompressed blocks, but not the arrays that are decoded from them."""

    def __init__(self, source: ArchiveSource) -> None:
        super().__init__(source)
        self._rows, self._blocks = source, ArchiveReader(source.archive)
        self._open_ended = tuple(position for position, kind in zip(source.positions, source.infer_type(()), strict=True) if fixed_size(kind) is None)

    def read(self, start: int, stop: int) -> Chunk:
        """Return a range of rows of the source."""
        return self._rows.read_by(self._blocks, start, stop)

    def bytes_between(self, start: int, stop: int) -> float:
        """Return an estimate of the bytes of a range of rows; blocks of columns whose types have no fixed size are read and cached for it."""
        first, last = self._rows.start + start, min(self._rows.start + stop, self._rows.stop)
        fixed = sum(size for size in map(fixed_size, self._rows.infer_type(())) if size is not None) * max(last - first, 0)
        return fixed + sum(self._blocks.bytes_between(self._open_ended, first, last))

    def close(self) -> None:
        """Clear the cache."""
        self._blocks.close()


def load_archive(location: str, references: Sequence[str], encoding_errors: str, verify: bool, handle: Any = None) -> tuple[PlannerNode, list[str]]:
    """Open the archive at a path; return a planner node of all its rows and columns, and the names of the columns.

    Raises
    ------
    StorageError
        If an index file is damaged or a file is missing; with ``verify``, all rows are decoded, and damaged blocks are found, too.
    """
    archive = open_archive(location, references, encoding_errors)
    if verify:
        require_readable_rows(archive)
    return archive_source(archive, handle), archive.names


def archive_source(archive: Archive, handle: Any = None) -> PlannerNode:
    """Return a planner node of all rows and columns of an archive."""
    return ArchiveSource.of(archive, handle).make_planner_node()
