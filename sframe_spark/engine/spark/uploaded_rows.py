"""Rows of a query that go elsewhere: each partition is written as a segment and uploaded by the task that has it, so no directory is shared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.engine.spark.query import counted, from_spark_table, made_of, work_on
from sframe_spark.engine.spark.spark_actions import run_spark
from sframe_spark.errors import CarriedError, SFrameError
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.lowering import Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session.sockets import acknowledge_at_once
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.udf.errors import ErrorTransport, error_transport

ENTRY = "entry"


@attrs.frozen
class Uploads:
    """What tasks that write partitions are sent.

    Parameters
    ----------
    directory
        Where the files go.
    types
        Types of the columns.
    transport
        How errors come back.
    options
        Of file systems elsewhere.
    """

    directory: str
    types: Schema
    transport: ErrorTransport
    options: Mapping[str, Mapping[str, Any]] = attrs.field(repr=False)

    def written(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of a partition and yield the entry of their file; partitions are in the order of their numbers."""
        from pyspark import TaskContext

        acknowledge_at_once()
        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        try:
            with config.using(storage_options=self.options):
                entry = write_segment(self.directory, number, self.types, map(self._rows, batches))
        except SFrameError as error:
            raise CarriedError(self.transport.packed(error)) from None
        yield pa.RecordBatch.from_pydict({ENTRY: [json.dumps(entry.to_json())]})

    def _rows(self, batch: pa.RecordBatch) -> Sequence[pa.Array] | pa.RecordBatch:
        # Rows without columns have one that stands for them.
        if not self.types:
            return batch.select([])
        chunk = from_spark_table(pa.Table.from_batches([batch]), self.types)
        return list(chunk.columns)


def upload_rows(root: PlannerNode, directory: str) -> list[SegmentEntry]:
    """Write all rows of a relational section in row order into a directory elsewhere, and return the entries of the files.

    Of attempts of one task the entries of one come back; what others have written is named by nobody.
    """
    uploads = Uploads(directory, root.schema, error_transport(), config.storage_options)

    def uploaded(relation: Relation) -> pa.Table:
        rows = counted(relation.sorted().select(*relation.columns), root.schema)
        found = rows.mapInArrow(uploads.written, f"{ENTRY} string")
        return run_spark(found.toArrow, work_on(root, "materialising"))

    table = made_of(root, uploaded)
    return [SegmentEntry.from_json(json.loads(entry)) for entry in table.column(ENTRY).to_pylist()]
