"""Row numbers and slices as users write them."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from sframe_spark.operators.rows import slice_rows
from sframe_spark.planner.node import PlannerNode


def row_number(index: Any, rows: int, what: str) -> int:
    """A row number from 0, from a user's index that may be negative.

    Raises
    ------
    IndexError
        If there is no such row.
    """
    number = int(index)
    if number < 0:
        number += rows
    if not 0 <= number < rows:
        raise IndexError(f"{what} has {rows} rows, so there is no row {index}")
    return number


def is_row_index(key: Any) -> bool:
    """True for whole numbers of any kind."""
    return isinstance(key, numbers.Integral)


def sliced(node: PlannerNode, key: slice, count: Callable[[], int]) -> PlannerNode:
    """Rows of a slice; negative bounds count from the end, the step is positive.

    Raises
    ------
    OverflowError
        If the step is negative.
    ValueError
        If the step is zero.
    """
    step = 1 if key.step is None else int(key.step)
    if step < 0:
        raise OverflowError("rows are read forwards only: the step of a slice must be positive")
    if step == 0:
        raise ValueError("the step of a slice cannot be zero")
    start = 0 if key.start is None else int(key.start)
    stop = None if key.stop is None else int(key.stop)
    if start < 0 or (stop is not None and stop < 0):
        rows = count()
        start, stop, step = slice(start, stop, step).indices(rows)
    if stop is not None and stop < start:
        stop = start
    return slice_rows(node, start, stop, step)


def head_count(n: Any) -> int:
    """A number of rows to take.

    Raises
    ------
    OverflowError
        If it is negative.
    """
    count = int(n)
    if count < 0:
        raise OverflowError(f"the number of rows to take cannot be negative, got {n}")
    return count
