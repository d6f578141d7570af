"""Columns of a dataset that are in memory, as long as somebody has its manifest."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.define(eq=False)
class HeldColumns:
    """What is in memory of a dataset of many short segments (:mod:`sframe_spark.storage.rows.packs`).

    Parameters
    ----------
    edges
        Where packs of segments begin, and the last one ends; None before somebody has looked, and empty where there are none.
    apart
        The first rows of those that are no packs, but a long segment each.
    columns
        What holds the columns of packs (:class:`~sframe_spark.storage.rows.held_rows.HeldRows`), by the first row of the pack and the position of the
        column. Dicts of Python may be read and added to by several threads.
    """

    edges: tuple[int, ...] | None = None
    apart: frozenset[int] = frozenset()
    columns: dict[tuple[int, int], Any] = attrs.field(factory=dict, repr=False)
