"""Aggregates of many windows of consecutive rows. No differences of rounded running totals are used, because they would lose digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.python_aggregates import VALUES_AT_ONCE
from sframe_spark.expressions.aggregates.state_columns import AggregateSet, ColumnAggregate
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.values.arrow_layouts import in_one_array

with lazy_imports(globals()):
    from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import window_blocks

Blocks = Iterator[tuple[InputRows, RowWindows]]


def values_of_windows(aggregates: Sequence[ColumnAggregate], rows: InputRows, windows: RowWindows) -> list[pa.Array]:
    """Return the values of aggregates in each window.

    Examples
    --------
    >>> import numpy as np
    >>> from sframe_spark.expressions.aggregates.counts import count_of_rows, sum_of_ints
    >>> windows = RowWindows(np.array([0, 1]), np.array([2, 1]))
    >>> values = values_of_windows([sum_of_ints(0), count_of_rows()], InputRows([pa.array([5, 7])], 2), windows)
    >>> [column.to_pylist() for column in values]
    [[12, 0], [2, 0]]
    """
    divisions = [division_of(aggregate) for aggregate in aggregates]
    result: dict[int, pa.Array] = {}
    for divided in dict.fromkeys(divisions):
        chosen = [index for index, other in enumerate(divisions) if other is divided]
        together = AggregateSet.of([aggregates[index] for index in chosen])
        blocks = [together.of_windows(*block) for block in divided(rows, windows)]
        result.update(zip(chosen, map(in_one_array, zip(*blocks, strict=True)), strict=True))
    return [result[index] for index in range(len(aggregates))]


def division_of(aggregate: ColumnAggregate) -> Callable[[InputRows, RowWindows], Blocks]:
    """Return how windows are divided for an aggregate."""
    if aggregate.calls_python:
        return few_windows
    return windows_in_cache if aggregate.windows_in_blocks else all_windows


def windows_in_cache(rows: InputRows, windows: RowWindows) -> Blocks:
    """Yield blocks of rows with their windows, whose states mostly fit the cache of a core."""
    for block, first, last in window_blocks(rows.count, windows.starts, windows.stops):
        yield rows.slice(first, last), RowWindows(windows.starts[block] - first, windows.stops[block] - first)


def all_windows(rows: InputRows, windows: RowWindows) -> Blocks:
    """Yield all windows together, with the range of rows that they cover."""
    first, last = (int(windows.starts.min()), int(windows.stops.max())) if len(windows) else (0, 0)
    if last - first == rows.count:
        yield rows, windows
    else:
        yield rows.slice(first, last), RowWindows(windows.starts - first, windows.stops - first)


def few_windows(rows: InputRows, windows: RowWindows) -> Blocks:
    """Yield a few thousand windows at a time, because states and results may be Python objects, which take several times the bytes of a column."""
    for start in range(0, max(len(windows), 1), VALUES_AT_ONCE):
        block = slice(start, start + VALUES_AT_ONCE)
        yield rows, RowWindows(windows.starts[block], windows.stops[block])
