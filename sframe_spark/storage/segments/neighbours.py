"""Short segments that stand next to each other are worked on together: each is a file to open, whatever is in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from sframe_spark.storage.manifest.manifest import SegmentEntry

# A segment, and the number of its first row.
Placed = tuple[SegmentEntry, int]


def together(
    segments: Iterable[Placed], size_of: Callable[[SegmentEntry], int | None], most_rows: int, most_bytes: int, most: float = math.inf
) -> Iterator[list[Placed]]:
    """Neighbouring segments in runs, none of which has more rows, bytes or segments unless it is a single one.

    Parameters
    ----------
    segments
        All of them, in order; those without rows are left out.
    size_of
        How many bytes one has; None of those that stay alone.
    most_rows, most_bytes, most
        What a run may have.

    Examples
    --------
    >>> sizes = [10, 10, 90, None, 10, 10, 10]
    >>> placed = [(SegmentEntry(str(place), place, 1, group_bytes=size), place) for place, size in enumerate(sizes)]
    >>> [[offset for _, offset in run] for run in together(placed, lambda entry: entry.group_bytes, 100, 100, 2)]
    [[0, 1], [2], [3], [4, 5], [6]]
    """
    run: list[Placed] = []
    rows = size = 0
    for entry, offset in segments:
        if not entry.rows:
            continue
        more = size_of(entry)
        if run and (more is None or rows + entry.rows > most_rows or size + more > most_bytes or len(run) >= most):
            yield run
            run, rows, size = [], 0, 0
        if more is None:
            yield [(entry, offset)]
        else:
            run.append((entry, offset))
            rows, size = rows + entry.rows, size + more
    if run:
        yield run
