"""Rows of a source for a session of a user's, whose settings decide what expressions mean."""

from __future__ import annotations

from sframe_spark.config import config
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime.dataset_writer import write_chunks
from sframe_spark.engine.runtime.stored_tables import with_stored_tables
from sframe_spark.operators.sources.generated import RangeSource
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import SegmentSource, source_of
from sframe_spark.operators.sources.statistics import recorded_order
from sframe_spark.planner.node import PlannerNode

# What Spark reads of these depends on no setting that our options do not name.
READ_AS_THEY_ARE = (MemorySource, RangeSource, SegmentSource)


def source_for_users(node: PlannerNode) -> PlannerNode:
    """The rows of a source in a form that any session of Spark's reads alike; large tables in memory become files, and so do other sources."""
    source = source_of(node)
    if isinstance(source, READ_AS_THEY_ARE):
        return with_stored_tables(node)
    rows, step, reader = source.row_count, config.batch_rows, source.reader()
    chunks = (reader.read(start, min(start + step, rows)) for start in range(0, rows, step))
    return write_chunks(chunks, node.schema, MaterializeOptions(), recorded_order(node))
