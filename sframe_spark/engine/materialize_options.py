"""The options of a materialisation, and Spark's metrics of a section."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import attrs

from sframe_spark.planner.chunk import Chunk

# Results and external files of at most this many rows stay in the driver's memory if they fit; larger ones are written as segments.
IN_MEMORY_ROWS = 100_000


@attrs.define
class Work:
    """Spark's metrics of one section: how many tasks completed, and how many bytes were spilled; None where unknown."""

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
        Run every operator as a Spark query, without laws, sections and kernels. For comparing results.
    directory
        The directory to write the segments to, which the caller publishes; None writes them to a temporary directory that lives as long as its rows
        are referenced.
    in_memory
        Keep results of at most this many rows in the driver's memory.
    converts
        Also rewrite archives in other formats as segments, as their rows would be decoded at each read.
    measure
        Called for each section; returns a context manager that collects Spark's metrics. None collects none.
    """

    segments: int | None = None
    on_batch: Callable[[Chunk], None] | None = None
    naive: bool = False
    directory: str | None = None
    in_memory: int = IN_MEMORY_ROWS
    converts: bool = False
    measure: Callable[[], AbstractContextManager[Work]] | None = None
