"""Clocks, which are frames or columns of ascending times: clocks of evenly spaced times, and the checks of clocks that users give."""

from __future__ import annotations

from typing import Any

import numpy as np

from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.error_hints import call_hint
from sframe_spark.api.evenly_spaced_times import uniform_times
from sframe_spark.api.node_value_conversion import rows_of
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe.sort_group_append_filter_and_sample import Relational
from sframe_spark.api.utc_offset_checks import with_alike_offsets
from sframe_spark.compute.key_equality_and_codes import comparable
from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ColumnType

TIME = "time"
"""Name of the column of a clock."""


@call_hint
def uniform_clock(start: Any, stop: Any, every: Any, *, zone: Any = None, origin: Any = None, offset: Any = None) -> SFrame:
    """Return a frame with one column ``time``: times at equal distances from ``start`` to ``stop``, which is included if it is one of them.

    Parameters
    ----------
    start, stop
        Two numbers or two date-times; either both or none with an offset from UTC. The times have the offset of ``start``, or those of ``zone``.
    every
        Distance between times: a number; for date-times, a ``timedelta`` or a string such as ``"1h"``, ``"1mo"``, ``"1q"`` or ``"1y"``.
    zone
        Name of a time zone whose clock and calendar the times follow, such as ``"America/New_York"``. Then ``start`` and ``stop`` without offsets are
        times by its clock.
    origin, offset
        If given, times are the starts of intervals from ``start`` to ``stop``, as in :meth:`SFrame.groupby_intervals`; otherwise the first one is
        ``start``.

    Raises
    ------
    TypeError
        If an argument has an unsuitable type, or only one of the date-times has an offset.
    ValueError
        If ``stop`` is before ``start``, or ``every`` is not positive.

    Examples
    --------
    >>> from datetime import datetime
    >>> clock = uniform_clock(datetime(2024, 1, 1), datetime(2024, 1, 2), "6h")
    >>> [time.hour for time in clock["time"]]
    [0, 6, 12, 18, 0]
    >>> [time.day for time in uniform_clock(datetime(2024, 1, 31), datetime(2024, 4, 30), "1mo")["time"]]
    [31, 29, 31, 30]
    """
    return make_frame(uniform_times(start, stop, every, zone, origin, offset), [TIME])


def clock_ticks(clock: Any, on: str, keyed: PlannerNode, position: int) -> tuple[Chunk, ColumnType, PlannerNode]:
    """Return the times of a clock after checking them, their type, and the node whose key column at ``position`` they fit.

    Raises
    ------
    SchemaError
        If ``clock`` is not a clock, or its type does not fit the time column.
    InvalidArgumentError
        If a time is missing, or not larger than the one before it.
    """
    node, keyed = with_alike_offsets(clock_column(clock, on), 0, keyed, position)
    clock_type, key = node.schema[0], keyed.schema[position]
    if clock_type.kind != key.kind and not (clock_type.is_numeric and key.is_numeric):
        raise SchemaError(f"a clock of {clock_type.kind} does not match the column {on!r} of type {key.kind}: convert one with astype()")
    if clock_type.is_zoned != key.is_zoned:
        which = ("has", "has none") if clock_type.is_zoned else ("has none", "has")
        raise SchemaError(f"the clock {which[0]} offsets from UTC and the column {on!r} {which[1]}: mixed time zones cannot be compared")
    chunk = rows_of(node)
    column = chunk.columns[0]
    numbers = plain_numbers(comparable(column, clock_type))
    if column.null_count or (numbers.dtype.kind == "f" and not np.isfinite(numbers).all()):
        raise InvalidArgumentError("a clock needs a time in every row: leave out rows with missing, NaN or infinite times")
    wrong = np.flatnonzero(numbers[1:] <= numbers[:-1])
    if len(wrong):
        row = int(wrong[0]) + 1
        raise InvalidArgumentError(
            f"the times of a clock must be ascending and distinct, but row {row} is not after row {row - 1}: sort it and drop duplicates"
        )
    return chunk, clock_type, keyed


def clock_column(clock: Any, on: str) -> PlannerNode:
    """Return the column of times in a clock: an SArray, or the column of an SFrame named like ``on``, named ``time``, or its only column.

    Raises
    ------
    SchemaError
        If ``clock`` is neither an SArray nor an SFrame with such a column.
    """
    if isinstance(clock, SArray):
        return clock._node
    if not isinstance(clock, Relational):
        raise SchemaError(f"a clock must be an SFrame or an SArray of times, got {type(clock).__name__}")
    names = clock.column_names()
    candidates = [name for name in (on, TIME) if name in names] or names[:1] * (len(names) == 1)
    if not candidates:
        raise SchemaError(f"a clock must have one column, or one named {on!r} or {TIME!r}, but this frame has: {', '.join(names)}")
    return clock.select_column(candidates[0])._node
