"""Rows of parts of files that were read at once: in memory where those of all parts find room there, else in segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sframe_spark.engine.memory_budget import Room
from sframe_spark.engine.runtime.dataset_writer import NewDataset
from sframe_spark.engine.runtime.result_buffer import BegunRows, as_begun, begun
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import segment_source
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import ColumnType

RowsOfPart = SegmentEntry | BegunRows


def kept_or_written(runs: Iterator[list[pa.Array]], types: Sequence[ColumnType], room: Room | None, directory: str, number: int) -> RowsOfPart:
    """Keep rows of a part in memory where there is room for them, else write them as a segment of that number; no room is given: write them."""
    if room is None:
        return write_segment(directory, number, types, runs)
    rows = begun(map(Chunk.of, runs), room)
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
    kept = [rows for rows in parts if isinstance(rows, BegunRows)]
    if kept and len(kept) == sum(rows is not None for rows in parts):
        dataset.handle.discard()
        return PlannerNode(MemorySource.of(as_begun(kept, dataset.types), dataset.types))

    def written(number: int) -> SegmentEntry | None:
        rows = parts[number]
        return rows.write(dataset.types, dataset.directory, number) if isinstance(rows, BegunRows) else rows

    entries = in_threads(written, range(len(parts)), available_cores())
    return segment_source(dataset.publish([entry for entry in entries if entry is not None]), dataset.handle)
