"""Options of one materialisation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import attrs

from sframe_spark.planner.chunk import Chunk

# Of results and files of others so many rows are kept in the driver's memory, where they have room: more are segments, which others can read.
IN_MEMORY_ROWS = 100_000


@attrs.define
class Work:
    """What Spark did for a section: tasks that it completed, and bytes that these put on disk for lack of memory; None where nobody knows."""

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
        Rows that are decoded anew for whoever reads them, of archives in other forms, are written in our form, too.
    measure
        Makes a context for each section, which knows afterwards what Spark did in it; None: nobody asks.
    """

    segments: int | None = None
    on_batch: Callable[[Chunk], None] | None = None
    naive: bool = False
    directory: str | None = None
    in_memory: int = IN_MEMORY_ROWS
    converts: bool = False
    measure: Callable[[], AbstractContextManager[Work]] | None = None
