"""Options of one materialisation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import attrs

from sframe_spark.planner.chunk import Chunk

# Results and external files of at most this many rows stay in the driver's memory if they fit; larger ones are written as segments.
IN_MEMORY_ROWS = 100_000


@attrs.define
class Work:
    """Spark's metrics of a section: completed tasks and spilled bytes; None where unknown."""

    tasks: int | None = None
    spilled: int | None = None


@attrs.frozen
class MaterializeOptions:
    """How to materialise a node.

    Parameters
    ----------
    segments
        Number of segments (row ranges) to compute and write; None lets the engine choose.
    on_batch
        Called with consecutive batches of the result, in row order, after it is complete.
    naive
        Lower every operator to Spark as it stands: no law, no section, no kernel. For cross-checks.
    directory
        Where to write the segments, which whoever saves commits; None: a temporary place that lives as long as someone refers to it.
    in_memory
        Keep results of at most this many rows in the driver's memory.
    converts
        Also rewrite archives in other formats, whose rows would be decoded at each read, as segments.
    measure
        Opens a context for each section that collects Spark's metrics; None to collect none.
    """

    segments: int | None = None
    on_batch: Callable[[Chunk], None] | None = None
    naive: bool = False
    directory: str | None = None
    in_memory: int = IN_MEMORY_ROWS
    converts: bool = False
    measure: Callable[[], AbstractContextManager[Work]] | None = None
