"""Folds of many windows of rows with an idempotent operation, such as a minimum, by a sparse table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import Numbers
from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import Positions

Parts = tuple[Numbers, ...]
Combine = Callable[[Parts, Parts], Parts]


def fold_by_two(parts: Parts, combine: Combine, neutral: Sequence[Any], starts: Positions, stops: Positions) -> Parts:
    """Return the combined state of each window ``starts..stops``, for an idempotent operation. Windows may overlap or be empty.

    This is a sparse table: states are combined over ranges of 1, 2, 4, ... rows, and each window is the combination of the two longest ranges that
    cover it, which may overlap.

    Parameters
    ----------
    parts
        The state of each single row, as arrays of one length.
    combine
        Combines the states of two ranges. A state combined with itself must stay the same.
    neutral
        The state of no rows.

    Examples
    --------
    >>> (most,) = fold_by_two((np.array([1, 3, 2]),), lambda a, b: (np.maximum(a[0], b[0]),), (0,), np.array([0, 1, 2]), np.array([3, 3, 2]))
    >>> most.tolist()
    [3, 3, 0]
    """
    lengths = stops - starts
    result = tuple(np.full(len(starts), value, dtype=part.dtype) for value, part in zip(neutral, parts, strict=True))
    longest, width = int(lengths.max(initial=0)), 1
    while width <= longest:
        rows = np.flatnonzero((lengths >= width) & (lengths < 2 * width))
        if len(rows):
            first, last = starts[rows], stops[rows] - width
            for total, value in zip(result, combine(tuple(part[first] for part in parts), tuple(part[last] for part in parts)), strict=True):
                total[rows] = value
        if 2 * width <= longest:
            parts = combine(tuple(part[:-width] for part in parts), tuple(part[width:] for part in parts))
        width *= 2
    return result
