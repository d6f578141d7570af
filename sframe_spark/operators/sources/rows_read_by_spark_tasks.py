"""Scans in Spark of sources whose rows Python reads: each task reads a range of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.spark_columns import spark_type
from sframe_spark.config import config
from sframe_spark.errors import CarriedError, SFrameError
from sframe_spark.operators.sources.base_and_segment_source import Source
from sframe_spark.planner.chunk import column_names
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation
from sframe_spark.process.threads import even_ranges
from sframe_spark.session import default_parallelism
from sframe_spark.session.worker_sockets import acknowledge_at_once
from sframe_spark.udf.error_transport import ErrorTransport, error_transport

# The column with the row numbers.
KEY = "k0"
# Fewer rows are not worth a separate task.
MIN_ROWS_OF_TASK = 10_000
Batches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@attrs.frozen
class CarryingErrors:
    """A function for ``mapInArrow`` whose errors the driver raises as they were."""

    batches: Batches
    transport: ErrorTransport

    def __call__(self, incoming: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        acknowledge_at_once()
        try:
            yield from self.batches(incoming)
        except SFrameError as error:
            raise CarriedError(self.transport.packed(error)) from None


def carrying_errors(batches: Batches) -> CarryingErrors:
    """Return a function for ``mapInArrow`` whose errors the driver raises as they were."""
    return CarryingErrors(batches, error_transport())


@attrs.frozen
class RangeTasks:
    """The function that Spark's tasks run to read ranges of rows of a source.

    Parameters
    ----------
    source
        The source.
    ranges
        The range of rows of each task.
    options
        Settings with which rows are read.
    """

    source: Source
    ranges: tuple[tuple[int, int], ...]
    options: dict[str, Any]

    def batches(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the ranges whose indices are in the incoming batches, with their row numbers."""
        names = [*column_names(len(self.source.infer_type(()))), KEY]
        with config.using(**self.options):
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    first, last = self.ranges[number]
                    part = self.source.rows_between(first, last)
                    assert part is not None, "a source of rows that are numbered has ranges of rows"
                    for chunk in part.read_batches():
                        keys = pa.array(np.arange(first, first + chunk.rows))
                        yield from pa.table([*chunk.columns, keys], names=names).to_batches(max_chunksize=config.batch_rows)
                        first += chunk.rows


def rows_in_ranges(source: Source, context: LoweringContext, **options: Any) -> Relation:
    """Return a new relation that reads a source, with one partition for each range of rows, and the row number as the key.

    ``options`` are settings with which tasks read rows, such as those of remote file systems.
    """
    schema, rows = source.infer_type(()), source.row_count
    columns = "".join(f"{name} {spark_type(kind)}, " for name, kind in zip(column_names(len(schema)), schema, strict=True))
    ranges = even_ranges(rows, max(1, min(default_parallelism(context.spark), -(-rows // MIN_ROWS_OF_TASK))))
    tasks = RangeTasks(source, tuple(ranges), {"batch_rows": config.batch_rows, **options})
    numbers = context.spark.range(0, len(ranges), 1, len(ranges))
    df = numbers.mapInArrow(carrying_errors(tasks.batches), f"{columns}{KEY} bigint")
    return Relation(df, schema, (KeyColumn(KEY),), KEY)
