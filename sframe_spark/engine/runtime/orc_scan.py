"""Reading ORC files as a source: few rows are kept in memory, more are written as segments.

Threads of this process or Spark tasks read the files stripe by stripe.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.engine.materialize_options import IN_MEMORY_ROWS, MaterializeOptions
from sframe_spark.engine.runtime.dataset_writer import new_dataset
from sframe_spark.engine.runtime.scheduler import SparkTaskRunner
from sframe_spark.engine.spark.file_checks import require_writable
from sframe_spark.operators.sources.in_memory import memory_source_of_parts
from sframe_spark.operators.sources.source import segment_source
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.external.orc import OrcTable, StripesSeen
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.values.datetimes import warn_of_lost_nanoseconds

# A compressed file may take many times its size in memory.
WIDENING = 16
BYTES_OF_TASK = 64 << 20


def orc_rows(table: OrcTable) -> PlannerNode:
    """Return a source of all rows of ORC files."""
    stripes = [(number, stripe) for number, file in enumerate(table.files) for stripe in range(file.stripes)]
    seen = StripesSeen()
    if table.rows <= IN_MEMORY_ROWS and table.size * WIDENING <= config.memory_budget:
        runs = list(table.arrays(stripes, seen))
        table.require_rows(seen)
        warn_of_lost_nanoseconds(seen.lost)
        columns = [[run[place] for run in runs] or [pa.array([], kind.physical)] for place, kind in enumerate(table.types)]
        return memory_source_of_parts(columns, list(table.types), table.rows)
    count = max(1, min(len(stripes), max(available_cores(), table.size // BYTES_OF_TASK)))
    parts = [stripes[first:last] for first, last in pairwise(len(stripes) * part // count for part in range(count + 1))]
    with new_dataset(table.types, MaterializeOptions()) as dataset:
        callables = [partial(write_stripes, table, part, dataset.directory, number) for number, part in enumerate(parts)]
        if table.size <= config.memory_budget:
            written = in_threads(lambda work: work(), callables, available_cores())
        else:
            require_writable(dataset.directory)
            written = SparkTaskRunner().run(callables, "reading ORC files")
        for _, part_seen in written:
            seen.add(part_seen)
        table.require_rows(seen)
        manifest = dataset.publish([entry for entry, _ in written])
    warn_of_lost_nanoseconds(seen.lost)
    return segment_source(manifest, dataset.handle)


def write_stripes(table: OrcTable, stripes: Sequence[tuple[int, int]], directory: str, number: int) -> tuple[SegmentEntry, StripesSeen]:
    """Write the rows of some stripes as one segment; return its entry, and what was found while reading the stripes."""
    seen = StripesSeen()
    return write_segment(directory, number, table.types, table.arrays(stripes, seen)), seen
