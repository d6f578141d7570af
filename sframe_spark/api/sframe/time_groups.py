"""Members of SFrame over intervals of time: aggregates per interval, resampling, clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from sframe_spark.api.aggregate import AggregateRequest
from sframe_spark.api.class_registry import made_frame
from sframe_spark.api.hints import answered, as_in
from sframe_spark.api.node_values import rows_of
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe.cycles import Cycles
from sframe_spark.api.sframe.relational import Relational
from sframe_spark.api.uniform_times import uniform_times
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.operators.grouped.intervals import SIDES, AssignIntervals, Grid, group_by_intervals
from sframe_spark.operators.grouped.intervals_fill import FILLS, resample
from sframe_spark.operators.kernels.equal_keys import comparable
from sframe_spark.operators.kernels.runs import plain_numbers
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ColumnType
from sframe_spark.values.durations import LONGEST, parse_positive_duration

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame

TIME = "time"
"""Name of the column of a clock."""


class Intervals(Cycles):
    """Members that put rows together by intervals of a key."""

    @as_in("sf.groupby_intervals('time', '1h', operations={'total': aggregate.SUM('a')})")
    def groupby_intervals(
        self,
        on: str,
        every: Any = None,
        clock: Any = None,
        closed: str = "left",
        label: str = "left",
        by: Any = None,
        operations: Any = None,
    ) -> SFrame:
        """One row per interval that has rows (and key): the interval's label, the key, then aggregates of its rows.

        Parameters
        ----------
        on
            Name of the key column: int, float or datetime. Rows whose key is missing, NaN or infinite are left out.
        every
            Length of the intervals: a number, for date-times a ``timedelta`` or a text such as ``"15min"``. They begin at its multiples (for
            date-times since 1970-01-01 in UTC; a day is 24 hours whatever the zone).
        clock
            Instead of ``every``: an SArray, or an SFrame with one column or a column named ``time`` or as ``on``, of ascending times, each the
            end of an interval and the start of the next. Rows outside are left out.
        closed
            ``"left"``: an interval holds its start but not its end. ``"right"``: its end but not its start.
        label
            Which end of the interval stands in the column ``on``: ``"left"`` or ``"right"``. Of date-times with an offset from UTC it has the
            offset of the interval's first row.
        by
            Name, or list of names, of key columns (missing equals missing).
        operations
            As for ``groupby``: a dict from output name to an aggregate, an aggregate, or a list of these. None: only intervals and keys.

        Returns
        -------
        SFrame
            Ascending by interval, within an interval in order of first appearance of the key as time passes. The frame need not be sorted by ``on``.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If an argument is of a type that does not fit, or clock and column differ in having time zones.
        ValueError
            If neither or both of ``every`` and ``clock`` are given, a duration is not above zero, or a clock has missing or unsorted times.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"time": [1, 9, 10, 35], "v": [1, 2, 3, 4]})
        >>> found = sf.groupby_intervals("time", every=10, operations={"total": aggregate.SUM("v")})
        >>> found.to_arrow().to_pydict()
        {'time': [0, 10, 30], 'total': [3, 3, 4]}
        """
        position = self._clock_position(on)
        if isinstance(clock, (dict, AggregateRequest)):
            raise SchemaError("clock is a column of times; aggregates are given by name: groupby_intervals('time', '1h', operations={...})")
        if (every is None) == (clock is None):
            raise InvalidArgumentError("groupby_intervals takes either every=, the length of the intervals, or clock=, their ends")
        grid = self._grid(position, every, closed, label)
        intervals = AssignIntervals(position, grid)
        if clock is not None:
            ticks, clock_type = clock_ticks(clock, on, self._node.schema[position])
            intervals = attrs.evolve(intervals, clock=ticks, clock_type=clock_type)
        keys = self._key_positions(by, "by")
        aggregations, names = self._grouped_columns([position, *keys], operations)
        return made_frame(group_by_intervals(self._node, intervals, keys, aggregations), names)

    @as_in("sf.resample('time', '1h', {'total': aggregate.SUM('a')})")
    def resample(
        self,
        on: str,
        every: Any,
        operations: Any = None,
        by: Any = None,
        fill: str = "missing",
        closed: str = "left",
        label: str = "left",
    ) -> SFrame:
        """One row per interval, with or without rows, from the first to the last that has rows.

        Parameters
        ----------
        on, every, operations, closed, label
            As for :meth:`groupby_intervals`.
        by
            Name, or list of names, of key columns (int, float, str or datetime): each key has the intervals from its own first to its last.
        fill
            The aggregates of an interval without rows: ``"missing"``, or ``"forward"``: those of the last interval before it with rows.

        Returns
        -------
        SFrame
            Ascending by interval, then by key (missing first).

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If an argument is of a type that does not fit.
        ValueError
            If ``fill``, ``closed`` or ``label`` is unknown, or the duration is not above zero.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"time": [1, 9, 10, 35], "v": [1, 2, 3, 4]})
        >>> sf.resample("time", 10, {"total": aggregate.SUM("v")}, fill="forward").to_arrow().to_pydict()
        {'time': [0, 10, 20, 30], 'total': [3, 3, 3, 4]}
        """
        position = self._clock_position(on)
        if fill not in FILLS:
            raise InvalidArgumentError(f"fill must be one of {', '.join(FILLS)}, got {fill!r}")
        if every is None:
            raise SchemaError("resample needs every=, the length of the intervals")
        intervals = AssignIntervals(position, self._grid(position, every, closed, label))
        keys = self._key_positions(by, "by")
        for key in keys:
            self._check_sortable(key)
        aggregations, names = self._grouped_columns([position, *keys], operations)
        return made_frame(resample(self._node, intervals, keys, aggregations, fill == "forward"), names)

    @staticmethod
    def uniform_clock(start: Any, stop: Any, every: Any) -> SFrame:
        """A frame with one column ``time``: ``start`` and every so often after it, up to and including ``stop`` if it is hit.

        Parameters
        ----------
        start, stop
            Two numbers or two date-times, both with or both without an offset from UTC (the clock has that of ``start``).
        every
            Time between ticks: a number, for date-times a ``timedelta`` or a text such as ``"1h"``.

        Raises
        ------
        TypeError
            If an argument is of a type that does not fit, or one date-time has an offset and the other none.
        ValueError
            If ``stop`` is before ``start``, or ``every`` is not above zero.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> list(SFrame.uniform_clock(0, 10, 4)["time"])
        [0, 4, 8]
        """
        return uniform_clock(start, stop, every)

    def _clock_position(self, on: Any) -> int:
        position = self._time_position(on)
        if self._node.schema[position].kind == "str":
            raise SchemaError(f"column {on!r} of type str has no intervals: only int, float and datetime have them")
        return position

    def _grid(self, position: int, every: Any, closed: Any, label: Any) -> Grid:
        for what, value in (("closed", closed), ("label", label)):
            if value not in SIDES:
                raise InvalidArgumentError(f"{what} must be 'left' or 'right', got {value!r}")
        length = None if every is None else parse_positive_duration(every, self._node.schema[position], "every")
        if isinstance(length, int) and length > LONGEST:
            raise InvalidArgumentError(
                f"every: intervals of {length} are longer than 64 bits: convert {self._names[position]!r} to float, or choose less"
            )
        return Grid(length, closed, label)


@answered
def uniform_clock(start: Any, stop: Any, every: Any) -> SFrame:
    """A frame with one column ``time``: ``start`` and every so often after it, up to and including ``stop`` if it is hit.

    Raises
    ------
    TypeError
        If an argument is of a type that does not fit, or one date-time has an offset and the other none.
    ValueError
        If ``stop`` is before ``start``, or ``every`` is not above zero.

    Examples
    --------
    >>> from datetime import datetime
    >>> clock = uniform_clock(datetime(2024, 1, 1), datetime(2024, 1, 2), "6h")
    >>> [time.hour for time in clock["time"]]
    [0, 6, 12, 18, 0]
    """
    return made_frame(uniform_times(start, stop, every), [TIME])


def clock_ticks(clock: Any, on: str, key: ColumnType) -> tuple[Chunk, ColumnType]:
    """Times of a clock, checked, and their type.

    Raises
    ------
    SchemaError
        If it is no clock for a key column of this type.
    InvalidArgumentError
        If a time is missing or not after the one before it.
    """
    node = clock_column(clock, on)
    found = node.schema[0]
    if found.kind != key.kind and not (found.is_numeric and key.is_numeric):
        raise SchemaError(f"a clock of {found.kind} does not fit the column {on!r} of type {key.kind}: convert one with astype()")
    if found.is_zoned != key.is_zoned:
        which = ("has", "has none") if found.is_zoned else ("has none", "has")
        raise SchemaError(f"the clock {which[0]} offsets from UTC and the column {on!r} {which[1]}: mixed time zones cannot be compared")
    chunk = rows_of(node)
    column = chunk.columns[0]
    numbers = plain_numbers(comparable(column, found))
    if column.null_count or (numbers.dtype.kind == "f" and not np.isfinite(numbers).all()):
        raise InvalidArgumentError("a clock has a time in every row: leave out rows with missing, NaN or infinite times")
    wrong = np.flatnonzero(numbers[1:] <= numbers[:-1])
    if len(wrong):
        row = int(wrong[0]) + 1
        raise InvalidArgumentError(f"the times of a clock ascend, each once, but row {row} is not after row {row - 1}: sort it and drop doubles")
    return chunk, found


def clock_column(clock: Any, on: str) -> PlannerNode:
    """The column of times of what a user gives as a clock.

    Raises
    ------
    SchemaError
        If there is none.
    """
    if isinstance(clock, SArray):
        return clock._node
    if not isinstance(clock, Relational):
        raise SchemaError(f"a clock is an SFrame or an SArray of times, got {type(clock).__name__}")
    names = clock.column_names()
    for name in (on, TIME):
        if name in names:
            return clock.select_column(name)._node
    if len(names) != 1:
        raise SchemaError(f"a clock has one column, or one named {on!r} or {TIME!r}; this frame has: {', '.join(names)}")
    return clock.select_column(names[0])._node
