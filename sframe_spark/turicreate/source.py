"""The operator over rows of an archive, decoded in this process or by Spark tasks."""

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
from sframe_spark.operators.sources.source import MAX_CHUNK_BYTES, Reader, Saved, Source, check_range
from sframe_spark.planner.chunk import Chunk, column_names, combine
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.lowering import KeyColumn, LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.parameters import at_least, column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes, fixed_size
from sframe_spark.session import default_parallelism
from sframe_spark.session.sockets import acknowledge_at_once
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.turicreate.archive import Archive, ArchiveReader, open_archive, with_narrow_types
from sframe_spark.turicreate.convert import archive_segments, require_readable_rows
from sframe_spark.udf.errors import ErrorTransport, error_transport

# --- Lowering to Spark: each task decodes a range of rows


# Smaller tasks are not worth their start.
MIN_TASK_ROWS = 65_536
# Batch size of Spark's own readers.
BATCH_BYTES = 8 << 20
KEY = "k0"


@attrs.frozen
class ScanTasks:
    """The arguments of tasks that scan an archive.

    Parameters
    ----------
    archive, positions
        What is read.
    start
        The row of the archive that is number 0.
    bounds
        First row of each task, and the end of the last.
    batch_rows
        Most rows at a time.
    transport
        How errors come back.
    """

    archive: Archive
    positions: tuple[int, ...]
    start: int
    bounds: tuple[int, ...]
    batch_rows: int
    transport: ErrorTransport

    def batches(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the tasks with the incoming numbers."""
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


def scan_archive(source: ArchiveSource, context: LoweringContext) -> Relation:
    """Return a DataFrame with ranges of rows as partitions; open scans are shared by the archive's identity."""
    key = ("archive", source.archive.identity, source.positions, source.start, source.stop, config.batch_rows)
    return context.open_source(key, partial(open_scan, source, context))


def open_scan(source: ArchiveSource, context: LoweringContext) -> Relation:
    """The scan itself."""
    schema, rows = source.infer_type(()), source.stop - source.start
    columns = "".join(f"{name} {spark_type(kind)}, " for name, kind in zip(column_names(len(schema)), schema, strict=True))
    bounds = tuple(source.start + bound for bound in task_bounds(rows, default_parallelism(context.spark)))
    tasks = ScanTasks(source.archive, source.positions, source.start, bounds, config.batch_rows, error_transport())
    numbers = context.spark.range(0, len(bounds) - 1, 1, len(bounds) - 1)
    df = numbers.mapInArrow(tasks.batches, f"{columns}{KEY} bigint")
    return Relation(df, schema, (KeyColumn(KEY),), KEY)


def task_bounds(rows: int, cores: int) -> Sequence[int]:
    """Return the task boundaries: enough tasks for all cores, none too small or too large.

    Examples
    --------
    >>> task_bounds(10, 4), task_bounds(200_000, 2)
    ([0, 10], [0, 100000, 200000])
    """
    count = max(1, min(cores, rows // MIN_TASK_ROWS), -(-rows // config.segment_rows))
    return [rows * number // count for number in range(count + 1)]


# --- The operator


# The size of strings, lists and dicts is estimated from that of the files, assuming this compression ratio.
PACKED_TO_A = 3.0


@register
@attrs.frozen
class ArchiveSource(Source):
    """Rows of an archive of Turi Create: some of its columns, a range of its rows.

    Parameters
    ----------
    archive
        The archive.
    positions
        The columns.
    start, stop
        The rows.
    handle
        Keeps the local copy of a remote archive alive.
    """

    name: ClassVar[str] = "archive_source"
    decodes: ClassVar[bool] = True
    archive: Archive = attrs.field(eq=lambda archive: archive.identity)
    positions: tuple[int, ...] = attrs.field(validator=column_positions)
    start: int = attrs.field(validator=at_least(0))
    stop: int = attrs.field(validator=at_least(0))
    handle: Any = attrs.field(default=None, eq=False, metadata={"portable": False})

    @classmethod
    def of(cls, archive: Archive, handle: Any = None) -> ArchiveSource:
        """A source of all rows and columns."""
        return cls(archive, tuple(range(len(archive.contents.columns))), 0, archive.rows, handle)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The types of the selected columns, from the index."""
        return tuple(self.archive.contents.columns[position].column_type for position in self.positions)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """The exact number of rows, from the index."""
        return Length.exactly(self.stop - self.start)

    def read(self, start: int, stop: int) -> Chunk:
        """Rows from the blocks that hold them; no others are read."""
        return self.read_by(ArchiveReader(self.archive), start, stop)

    def read_by(self, reader: ArchiveReader, start: int, stop: int) -> Chunk:
        """Read rows with a reader that may have cached some blocks."""
        first = self.start + start
        last = max(first, min(self.start + stop, self.stop))
        return Chunk(tuple(map(combine, reader.read(self.positions, first, last))), last - first)

    def reader(self, threads: int = 0, coded: Iterable[int] = ()) -> Reader:
        """One that decodes each block once for who reads rows in order."""
        return _BlockReader(self)

    def read_batches(self, threads: int = 0) -> Iterator[Chunk]:
        """All rows, some at a time, of long ones fewer."""
        for rows, columns in ArchiveReader(self.archive).batches(self.positions, self.start, self.stop, config.batch_rows, MAX_CHUNK_BYTES):
            yield Chunk(tuple(map(combine, columns)), rows)
        if self.start == self.stop:
            yield self.read_all()

    @property
    def exposed(self) -> Sequence[int]:
        """The selected columns."""
        return self.positions

    @property
    def stored_names(self) -> Sequence[str]:
        """Those of the index."""
        return self.archive.names

    @property
    def watched(self) -> Archive:
        """Others may change the files at any time."""
        return self.archive

    @property
    def shared_file(self) -> str | None:
        """A segment file: tasks open it."""
        return next((file.path for file in self.archive.contents.files), None)

    def saved_by(self, save: Callable[[Source], Saved]) -> Saved:
        """What all values of a column are is known when they are written."""
        return with_narrow_types(self.archive, self.positions, lambda archive: save(attrs.evolve(self, archive=archive)))

    def write_segments(self, directory: str) -> list[SegmentEntry]:
        """Ranges of rows side by side, block by block."""
        entries = archive_segments(self.archive, self.positions, (self.start, self.stop), directory)
        self.archive.require_unchanged()
        return entries

    def rows_between(self, start: int, stop: int) -> ArchiveSource:
        """The same archive with another range."""
        return attrs.evolve(self, start=self.start + start, stop=self.start + stop)

    def with_columns(self, positions: Sequence[int]) -> ArchiveSource:
        """The same archive with other columns."""
        return attrs.evolve(self, positions=tuple(self.positions[position] for position in positions))

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """Sizes by type where fixed, else estimated from the sizes of the files; no row is read."""
        columns, rows = self.archive.contents.columns, max(self.archive.rows, 1)
        open_ended = sum(fixed_size(column.column_type) is None for column in columns)
        each = PACKED_TO_A * self.archive.size / rows / max(open_ended, 1)
        return tuple((each if (size := fixed_size(kind)) is None else size) * (stop - start) for kind in self.infer_type(()))

    def as_read(self) -> ArchiveSource:
        """The archive as it is now; refuses columns and rows that it does not have."""
        count = len(self.archive.contents.columns)
        if not all(0 <= position < count for position in self.positions):
            raise InvalidArgumentError(f"the plan's text names columns that {self.archive.location} does not have: {list(self.positions)!r:.200}")
        check_range(self.start, self.stop, self.archive.rows)
        return self

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Tasks that decode a range of rows each; the row number is the key."""
        return scan_archive(self, context)

    def describe(self) -> str:
        """Archive, columns and rows."""
        return f"{self.archive.location}, columns {list(self.positions)}, rows {self.start}..{self.stop}"


class _BlockReader(Reader):
    """Reads an archive; decoded values are not cached, but blocks are."""

    def __init__(self, source: ArchiveSource) -> None:
        super().__init__(source)
        self._rows, self._blocks = source, ArchiveReader(source.archive)
        self._open_ended = tuple(position for position, kind in zip(source.positions, source.infer_type(()), strict=True) if fixed_size(kind) is None)

    def read(self, start: int, stop: int) -> Chunk:
        """Rows of the source."""
        return self._rows.read_by(self._blocks, start, stop)

    def bytes_between(self, start: int, stop: int) -> float:
        """Exact for the blocks of these rows, which are read and cached."""
        first, last = self._rows.start + start, min(self._rows.start + stop, self._rows.stop)
        fixed = sum(size for size in map(fixed_size, self._rows.infer_type(())) if size is not None) * max(last - first, 0)
        return fixed + sum(self._blocks.bytes_between(self._open_ended, first, last))

    def close(self) -> None:
        """Clear the cache."""
        self._blocks.close()


def load_archive(location: str, references: Sequence[str], encoding_errors: str, verify: bool, handle: Any = None) -> tuple[PlannerNode, list[str]]:
    """Return a node over all rows of the archive at a path, and the names of its columns.

    Raises
    ------
    StorageError
        If it is damaged; with ``verify`` all rows are decoded to find out.
    """
    archive = open_archive(location, references, encoding_errors)
    if verify:
        require_readable_rows(archive)
    return archive_source(archive, handle), archive.names


def archive_source(archive: Archive, handle: Any = None) -> PlannerNode:
    """A node over all rows of an archive."""
    return ArchiveSource.of(archive, handle).make_planner_node()
