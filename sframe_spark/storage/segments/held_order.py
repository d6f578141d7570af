"""Rows of a dataset compared with an order: how much of it holds, and where rows tie."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.segments.reader import iterate_rows
from sframe_spark.storage.segments.statistics import steps

Ordering = tuple[tuple[int, bool], ...]


@attrs.frozen
class Held:
    """What comparing rows with the ones before them told of an ordering.

    Parameters
    ----------
    columns
        How many of its first columns the rows are in order of.
    untied
        With how many of these, from the first on, no two rows tie; None where two tie in all.
    """

    columns: int
    untied: int | None = None

    @classmethod
    def in_all(cls, parts: Iterable[Held]) -> Held:
        """Return what holds of all rows, of which each part begins with the last row of the one before.

        Examples
        --------
        >>> Held.in_all([Held(2, 1), Held(2, 2)]), Held.in_all([Held(2, 2), Held(1, None)])
        (Held(columns=2, untied=2), Held(columns=1, untied=None))
        """
        found = list(parts)
        columns = min(part.columns for part in found)
        untied = [part.untied for part in found]
        longest = None if None in untied else max(part.untied or 0 for part in found)
        return cls(columns, longest if longest is not None and longest <= columns else None)


def held_order(manifest: Manifest, ordering: Ordering, start: int = 0, stop: int | None = None) -> Held:
    """Return how much of an ordering some rows are in; reading ends where nothing of it holds.

    Parameters
    ----------
    manifest
        The dataset.
    ordering
        Columns, none of them twice, that :func:`~sframe_spark.storage.segments.statistics.has_order_statistics` of, and whether each ascends.
    start, stop
        The rows, by their numbers.
    """
    columns = [column for column, _ in ordering]
    held, tied = len(ordering), np.zeros(len(ordering), dtype=bool)
    last: list[pa.Array] | None = None
    for arrays in iterate_rows(manifest, columns, start, stop):
        seam = [] if last is None else [[pa.concat_arrays([old, new[:1]]) for old, new in zip(last, arrays, strict=True)]]
        for rows in (*seam, arrays):
            held = _compare(manifest, ordering[:held], rows, tied)
            if not held:
                return Held(0)
        last = [array[-1:] for array in arrays]
    untied = next((place + 1 for place in range(held) if not tied[place]), None)
    return Held(held, untied)


def _compare(manifest: Manifest, ordering: Ordering, rows: list[pa.Array], tied: np.ndarray) -> int:
    """Return how many columns of an ordering hold between neighbours, and take note of the columns with which some tie."""
    if len(rows[0]) < 2:
        return len(ordering)
    equal = np.ones(len(rows[0]) - 1, dtype=bool)
    for place, (column, up) in enumerate(ordering):
        step = steps(rows[place], manifest.types[column])
        if (equal & (step > 0 if up else step < 0)).any():
            return place
        equal &= step == 0
        if not equal.any():
            return len(ordering)
        tied[place] = True
    return len(ordering)


def parts_of(rows: int, size: int) -> list[tuple[int, int]]:
    """Return ranges of row numbers, each of which begins with the last row of the one before.

    Examples
    --------
    >>> parts_of(5, 2), parts_of(0, 2)
    ([(0, 2), (1, 4), (3, 5)], [])
    """
    return [(max(start - 1, 0), min(start + size, rows)) for start in range(0, rows, size)]
