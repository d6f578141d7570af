"""Lowering of an archive of Turi Create to Spark: tasks that decode a range of its rows each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import CarriedError, SFrameError
from sframe_spark.operators.kernels.spark_columns import spark_type
from sframe_spark.planner.chunk import column_names
from sframe_spark.planner.relation import KeyColumn, LoweringContext, Relation
from sframe_spark.session import default_parallelism
from sframe_spark.session.sockets import acknowledge_at_once
from sframe_spark.turicreate.archive import Archive
from sframe_spark.turicreate.reader import ArchiveReader
from sframe_spark.udf.errors import ErrorTransport, error_transport

if TYPE_CHECKING:
    from sframe_spark.turicreate.source import ArchiveSource

# A task of Spark's should be worth its start.
LEAST_TASK_ROWS = 65_536
# What Spark's own reader takes at a time.
BATCH_BYTES = 8 << 20
KEY = "k0"


@attrs.frozen
class ScanTasks:
    """What tasks that scan an archive are sent.

    Parameters
    ----------
    archive, positions
        What is read.
    start
        The row of the archive that is number 0.
    bounds
        The first row of each task, and the one behind that of the last.
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
        """Yield the rows of the tasks whose numbers come in."""
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
    """A DataFrame whose partitions are ranges of rows; which archive it was, as its files are now, is what tells an open scan from another."""
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
    """Return where the rows of tasks begin: enough tasks for all cores, none too small or too large.

    Examples
    --------
    >>> task_bounds(10, 4), task_bounds(200_000, 2)
    ([0, 10], [0, 100000, 200000])
    """
    count = max(1, min(cores, rows // LEAST_TASK_ROWS), -(-rows // config.segment_rows))
    return [rows * number // count for number in range(count + 1)]
