"""Columns of a dataset that were decoded, as long as somebody has its manifest."""

from __future__ import annotations

import attrs
import pyarrow as pa


@attrs.define(eq=False)
class DecodedColumns:
    """What is in memory of a dataset of many short segments (:mod:`sframe_spark.storage.segments.packs`).

    Parameters
    ----------
    edges
        Where packs of segments begin, and the last one ends; None before somebody has looked, and empty where there are none.
    apart
        The first rows of those that are no packs, but a long segment each.
    arrays
        Columns of packs, by the first row of the pack and the position of the column. Dicts of Python may be read and added to by several threads.
    """

    edges: tuple[int, ...] | None = None
    apart: frozenset[int] = frozenset()
    arrays: dict[tuple[int, int], pa.Array] = attrs.field(factory=dict, repr=False)
