"""Members of SFrame that group rows by intervals of time, by cycles (rows with equal times) or by runs of equal rows, or add columns per cycle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from sframe_spark.api.aggregates.argument_types import Aggregates, Distance, Names, Time, Zone
from sframe_spark.api.aggregates.requests import AggregateRequest
from sframe_spark.api.class_registry import ClassRegistry, SFrame, make_frame
from sframe_spark.api.column_names import name_list
from sframe_spark.api.error_hints import also_named, call_example
from sframe_spark.api.interval_arguments import interval_grid, label_bounds
from sframe_spark.api.node_value_conversion import python_columns, rows_of
from sframe_spark.api.sframe.clock_frames import clock_ticks, uniform_clock
from sframe_spark.api.sframe.merged_and_disjoint_intervals import group_by_overlapping_intervals
from sframe_spark.api.sframe.sort_group_append_filter_and_sample import Relational
from sframe_spark.api.user_functions import bind_function, type_for_any_items, type_of_results
from sframe_spark.compute.key_runs import run_numbers, run_starts
from sframe_spark.errors import InvalidArgumentError, SchemaError, TakenNameError
from sframe_spark.expressions.python_function import PythonFunction
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import group_adjacent_equal_keys, narrowed
from sframe_spark.operators.groupby.resampling import FILLS, AssignIntervals, group_by_intervals, resample
from sframe_spark.operators.groupby.user_functions_on_rows_of_equal_time import CycleFunction, MapCycles, cycles_within, group_by_cycles, map_cycles
from sframe_spark.operators.project_zip_arrange import zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.user_function_calls_and_result_memos import remember_first
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.session.progress import counted_calls, showing_work
from sframe_spark.types import INT, ColumnType, of_any_offset
from sframe_spark.udf.result_caching_size_limits_and_storage import Guess
from sframe_spark.values.nested.python_and_tagged_json import named_rows
from sframe_spark.values.python_to_arrow import column_type_for, encode

SAMPLE_ROWS = 100
"""Rows of the first cycles on which a function is tried to infer the types of its results."""


class TimeGroups(Relational):
    """Mixin of SFrame: groups of rows by interval, cycle or run."""

    @also_named(aggregates="operations")
    def groupby_cycles(self, on: str, by: Names | None = None, operations: Aggregates | None = None) -> SFrame:
        """Return one row for each distinct time, or combination of time and key: the time, the key, and aggregates of its rows.

        Parameters
        ----------
        on
            Name of the time column, of class int, float, str or datetime. Missing times form a group before all others, NaN one after them.
            Date-times are equal if they are the same instant.
        by
            A name or a list of names of key columns; missing values are equal to each other.
        operations
            As in ``groupby``: an aggregate, a list of aggregates, or a dict from output name to aggregate. None: no aggregates.

        Returns
        -------
        SFrame
            Sorted by time. Groups of one time are in the order in which their keys first appear among the rows of that time. This frame need not be
            sorted.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If an argument has another form, or times of this class have no order.
        RuntimeError
            If two columns would have the same name, or an aggregate does not accept the class of its column.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"time": [1, 1, 2], "v": [5, 7, 1]})
        >>> print(sf.groupby_cycles("time", operations={"total": aggregate.SUM("v")}))
        +------+-------+
        | time | total |
        +------+-------+
        |  1   |   12  |
        |  2   |   1   |
        +------+-------+
        [2 rows x 2 columns]
        """
        time, keys = self._time_position(on), self._key_positions(by, "by")
        aggregations, names = self._group_aggregates([time, *keys], operations)
        return make_frame(group_by_cycles(self._node, time, keys, aggregations), names)

    @also_named(aggregates="operations")
    def groupby_runs(self, columns: Names, operations: Aggregates | None = None) -> SFrame:
        """Return one row for each run of consecutive rows that are equal in some columns: these columns, and aggregates of the run.

        Parameters
        ----------
        columns
            A name or a list of names of columns of any class. Missing values are equal to each other, and so are NaN. Date-times are equal if they
            are the same instant; the result has the date-time of the run's first row, with its offset from UTC.
        operations
            As in ``groupby``. None: no aggregates.

        Returns
        -------
        SFrame
            The runs in row order. Equal rows that are not consecutive belong to different runs.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If an argument has another form.
        RuntimeError
            If two columns would have the same name, or an aggregate does not accept the class of its column.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"state": ["on", "on", "off", "on"], "v": [1, 2, 3, 4]})
        >>> print(sf.groupby_runs("state", {"rows": aggregate.COUNT(), "total": aggregate.SUM("v")}))
        +-------+------+-------+
        | state | rows | total |
        +-------+------+-------+
        |   on  |  2   |   3   |
        |  off  |  1   |   3   |
        |   on  |  1   |   4   |
        +-------+------+-------+
        [3 rows x 3 columns]
        """
        keys = self._key_positions(columns, "columns")
        if not keys:
            raise InvalidArgumentError("groupby_runs() needs at least one column")
        aggregations, names = self._group_aggregates(keys, operations)
        return make_frame(group_adjacent_equal_keys(*narrowed(self._node, keys, aggregations)), names)

    def add_columns_by_cycle(
        self, fn: Callable[[list[dict[str, Any]]], Any], column_names: Any, on: str, by: Names | None = None, dtypes: Any = None
    ) -> SFrame:
        """Return this frame with new columns that a function computes from all rows of one time (a cycle), or of one time and key, at once.

        Parameters
        ----------
        fn
            Function that is called once for each time and key, with a list of the rows as dicts, in row order. For one new column, it returns a list
            with one value per row; for several, a dict from column name to such a list.
        column_names
            Name of the new column, or a list of names.
        on
            Name of the time column, as for :meth:`groupby_cycles`.
        by
            A name or a list of names of key columns; rows with the same time but different keys are passed to ``fn`` in separate calls.
        dtypes
            Class of the new column, or a list of classes. None: inferred from the results for the first cycles.

        Returns
        -------
        SFrame
            All rows in their order; the new columns come last.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If an argument has another form, or ``fn`` does not return one value per row.
        RuntimeError
            If ``fn`` fails; the message shows the function's traceback and the cycle.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> def share(rows):
        ...     total = sum(row["v"] for row in rows)
        ...     return [row["v"] / total for row in rows]
        >>> sf = SFrame({"time": [1, 1, 2], "v": [1, 3, 7]})
        >>> list(sf.add_columns_by_cycle(share, "share", on="time")["share"])
        [0.25, 0.75, 1.0]
        """
        bound = bind_function(fn, "add_columns_by_cycle", self._node.length.at_most)
        time, keys = self._time_position(on), self._key_positions(by, "by")
        single = isinstance(column_names, str)
        names = name_list(column_names)
        if not names:
            raise SchemaError(f"column_names must be a name or a list of names, got {column_names!r}")
        used = [name for index, name in enumerate(names) if name in self._names or name in names[:index]]
        if used:
            raise TakenNameError(f"there already is a column {used[0]!r}: choose another name for the new one")
        function = CycleFunction(PythonFunction(bound, INT, tuple(self._names)), tuple(names), single)
        sample = self._cycle_sample(function, time, keys) if dtypes is None else None
        bound.record_state(sample is not None)
        requested = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes]
        types = sample.types if sample is not None else [of_any_offset(column_type_for(dtype)) for dtype in requested]
        if len(types) != len(names):
            raise SchemaError(f"add_columns_by_cycle() needs one dtype per column, got {len(names)} name(s) and {len(types)} dtype(s)")
        if sample is not None:
            guess = Guess.of(list(zip(types, sample.values, strict=True)))
            function = attrs.evolve(function, function=attrs.evolve(function.function, guess=guess))
        node = map_cycles(self._node, time, keys, function, types)
        if sample is not None:
            sample.remember(node, function)
        return make_frame(node, [*self._names, *names])

    def _cycle_sample(self, function: CycleFunction, time: int, keys: Sequence[int]) -> CycleSample:
        """Return a function's results for the first cycles whose rows are all known."""
        ordered = sort_rows(zip_columns(self._node, row_number(self._node)), [(time, True)])
        chunk, runs = first_runs(ordered, time)
        rows = list(zip(*python_columns(chunk, ordered.schema, 0, None), strict=True))
        numbers: list[int] = []
        values_by_column: list[list[Any]] = [[] for _ in function.columns]
        with showing_work("computing the first results of a function of cycles"):
            for indices in counted_calls(cycles_within(runs, chunk, keys, ordered.schema) if rows else []):
                cycle = [rows[index] for index in indices]
                numbers += [row[-1] for row in cycle]
                for values, added in zip(values_by_column, function(list(named_rows(self._names, (row[:-1] for row in cycle)))), strict=True):
                    values += added
        present = [[value for value in values if value is not None] for values in values_by_column]
        return CycleSample(
            [type_for_any_items(type_of_results(values, "dtypes to add_columns_by_cycle()")) for values in present], numbers, values_by_column
        )

    def _time_position(self, on: Any) -> int:
        if not isinstance(on, str):
            raise SchemaError(f"on must be the name of a column, got {on!r}")
        position = self._position(on)
        self._check_sortable(position)
        return position

    def _key_positions(self, by: Any, what: str) -> list[int]:
        if (names := name_list(by)) is None:
            hint = "; pass aggregates as operations=" if isinstance(by, (dict, AggregateRequest)) else ""
            raise SchemaError(f"{what} takes a column name or a list of names, got {by!r}{hint}")
        return [self._position(name) for name in names]

    def _group_aggregates(self, keys: Sequence[int], operations: Any) -> tuple[list[Aggregation], list[str]]:
        """Return the aggregations, and the names of the key columns and the aggregates."""
        return self._aggregates([self._names[key] for key in keys], *([] if operations is None else [operations]))

    @call_example("sf.groupby_intervals('time', '1h', operations={'total': aggregate.SUM('a')})")
    @also_named(aggregates="operations")
    def groupby_intervals(
        self,
        on: str,
        every: Distance | None = None,
        operations: Aggregates | None = None,
        by: Names | None = None,
        clock: Any = None,
        closed: str = "left",
        label: str = "left",
        *,
        zone: Zone | None = None,
        origin: Time | None = None,
        offset: Distance | None = None,
        period: Distance | None = None,
    ) -> SFrame:
        """Return one row for each interval that contains rows, or combination of interval and key: its label, the key, and aggregates of its rows.

        Parameters
        ----------
        on
            Name of the time column, of class int, float or datetime. Rows in which it is missing, NaN or infinite are left out.
        every
            Length of the intervals: a number; for date-times, a ``timedelta`` or a string such as ``"15min"``, ``"1mo"``, ``"1q"`` or ``"1y"``.
            Intervals begin at multiples of it: counted from 0; for date-times, from midnight on 1970-01-01, whole weeks from a Monday, months from
            January of year 0. Without ``zone`` the clock is that of UTC (of a column without offsets, its own), and a day is 24 hours.
        operations
            As in ``groupby``: an aggregate, a list of aggregates, or a dict from output name to aggregate. None: no aggregates.
        by
            A name or a list of names of key columns; missing values are equal to each other.
        clock
            Instead of ``every``: an SArray of ascending times, or an SFrame with one column or with a column named ``time`` or like ``on``. Each time
            is the end of an interval and the start of the next. Rows before the first and after the last are left out.
        closed
            ``"left"``: an interval contains its start but not its end; ``"right"``: its end but not its start.
        label
            Whether the column ``on`` of the result has the start (``"left"``) or the end (``"right"``) of the interval. Date-times have the offset
            from UTC of the interval's first row, or that of ``zone``.
        zone
            Name of the time zone whose clock and calendar the intervals follow, such as ``"America/New_York"``; the column has offsets from UTC. Days
            begin at midnight there, and have 23 or 25 hours where the clock changes.
        origin
            A key at which an interval begins, instead of the multiples above: a number, or a date-time. One without an offset is a time of the
            clock in ``zone``, or without ``zone`` in UTC.
        offset
            A duration by which all intervals are moved, such as ``"9h30min"`` for days that begin at 9:30.
        period
            Length of the intervals if it is not ``every``, which then is how far apart they begin: with ``every="1d", period="7d"`` a week begins
            each day, and a row is in seven of them.

        Returns
        -------
        SFrame
            Sorted by interval. Groups of one interval are in the order in which their keys first appear among its rows in order of time.
            This frame need not be sorted.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If an argument has an unsuitable type, or only one of ``clock`` and the time column has offsets from UTC.
        ValueError
            If not exactly one of ``every`` and ``clock`` is given, ``every`` is not positive, or the times of ``clock`` are missing or not ascending.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"time": [1, 9, 10, 35], "v": [1, 2, 3, 4]})
        >>> found = sf.groupby_intervals("time", every=10, operations={"total": aggregate.SUM("v")})
        >>> print(found)
        +------+-------+
        | time | total |
        +------+-------+
        |  0   |   3   |
        |  10  |   3   |
        |  30  |   4   |
        +------+-------+
        [3 rows x 2 columns]
        """
        position = self._clock_position(on)
        if isinstance(operations, (ClassRegistry.array, ClassRegistry.frame)):
            raise SchemaError("pass aggregates after every=, and a clock by name: groupby_intervals('time', clock=clock, operations={...})")
        if (every is None) == (clock is None):
            raise InvalidArgumentError("groupby_intervals() takes either every=, the length of the intervals, or clock=, their ends")
        grid = interval_grid(self._node.schema[position], f"column {on!r}", every, closed, label, zone, origin, offset)
        intervals, node = AssignIntervals(position, grid), self._node
        if clock is not None:
            ticks, clock_type, node = clock_ticks(clock, on, node, position)
            intervals = attrs.evolve(intervals, clock=ticks, clock_type=clock_type)
        keys = self._key_positions(by, "by")
        aggregations, names = self._group_aggregates([position, *keys], operations)
        if period is not None:
            if every is None:
                raise InvalidArgumentError("period= can only be used with every=: intervals of a clock end where the next ones begin")
            return make_frame(group_by_overlapping_intervals(node, position, grid, period, keys, aggregations, f"column {on!r}"), names)
        return make_frame(group_by_intervals(node, intervals, keys, aggregations), names)

    @call_example("sf.resample('time', '1h', {'total': aggregate.SUM('a')})")
    @also_named(aggregates="operations")
    def resample(
        self,
        on: str,
        every: Distance,
        operations: Aggregates | None = None,
        by: Names | None = None,
        fill: str = "missing",
        closed: str = "left",
        label: str = "left",
        *,
        zone: Zone | None = None,
        origin: Time | None = None,
        offset: Distance | None = None,
        start: Time | None = None,
        stop: Time | None = None,
    ) -> SFrame:
        """Return one row for each interval, even without rows, from the first to the last interval that contains rows.

        Parameters
        ----------
        on, every, operations, closed, label, zone, origin, offset
            As in :meth:`groupby_intervals`.
        by
            A name or a list of names of key columns of class int, float, str or datetime. Each key has the intervals from its own first to its own
            last.
        fill
            Aggregates of an interval without rows: ``"missing"``: they are missing; ``"forward"``: those of the last interval before it that
            contains rows.
        start, stop
            If given, all keys have the intervals from the one that contains ``start``, up to the last one that begins before ``stop``; rows outside
            of these are left out, and so are keys without others. Date-times without an offset are times of the clock in ``zone``.

        Returns
        -------
        SFrame
            Sorted by interval, then by key; missing keys come first.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If an argument has an unsuitable type.
        ValueError
            If ``fill``, ``closed`` or ``label`` is unknown, or ``every`` is not positive.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"time": [1, 9, 10, 35], "v": [1, 2, 3, 4]})
        >>> print(sf.resample("time", 10, {"total": aggregate.SUM("v")}, fill="forward"))
        +------+-------+
        | time | total |
        +------+-------+
        |  0   |   3   |
        |  10  |   3   |
        |  20  |   3   |
        |  30  |   4   |
        +------+-------+
        [4 rows x 2 columns]
        >>> list(sf.resample("time", 10, start=-5, stop=30)["time"])
        [-10, 0, 10, 20]
        """
        position = self._clock_position(on)
        if fill not in FILLS:
            raise InvalidArgumentError(f"fill must be one of {', '.join(FILLS)}, got {fill!r}")
        if every is None:
            raise SchemaError("resample() needs every=, the length of the intervals")
        key_type, column = self._node.schema[position], f"column {on!r}"
        grid = interval_grid(key_type, column, every, closed, label, zone, origin, offset)
        bounds = label_bounds(start, stop, key_type, column, grid)
        keys = self._key_positions(by, "by")
        for key in keys:
            self._check_sortable(key)
        aggregations, names = self._group_aggregates([position, *keys], operations)
        return make_frame(resample(self._node, AssignIntervals(position, grid), keys, aggregations, fill == "forward", bounds), names)

    @staticmethod
    def uniform_clock(
        start: Time, stop: Time, every: Distance, *, zone: Zone | None = None, origin: Time | None = None, offset: Distance | None = None
    ) -> SFrame:
        """Return a frame with one column ``time``: times at equal distances from ``start`` to ``stop``, which is included if it is one of them.

        Parameters
        ----------
        start, stop
            Two numbers or two date-times; either both or none with an offset from UTC. The times have the offset of ``start``, or those of ``zone``.
        every
            Distance between times: a number; for date-times, a ``timedelta`` or a string such as ``"1h"``, ``"1mo"``, ``"1q"`` or ``"1y"``.
        zone
            Name of a time zone whose clock and calendar the times follow, such as ``"America/New_York"``. Then ``start`` and ``stop`` without offsets
            are times by its clock.
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
        >>> from sframe_spark import SFrame
        >>> list(SFrame.uniform_clock(0, 10, 4)["time"])
        [0, 4, 8]
        """
        return uniform_clock(start, stop, every, zone=zone, origin=origin, offset=offset)

    def _clock_position(self, on: Any) -> int:
        position = self._time_position(on)
        if self._node.schema[position].kind == "str":
            raise SchemaError(f"column {on!r} of type str has no intervals: only int, float and datetime have them")
        return position


@attrs.frozen
class CycleSample:
    """A function's results for some cycles: the column types, the numbers of the rows, and the results by column."""

    types: list[ColumnType]
    numbers: list[int]
    values: list[list[Any]]

    def remember(self, node: PlannerNode, function: CycleFunction) -> None:
        """Store the results in the node that calls the function, so that it is not called again for these rows."""
        for below in postorder([node]):
            if isinstance(below.operator, MapCycles) and below.operator.function.function is function.function:
                columns = tuple(encode(values, column_type) for values, column_type in zip(self.values, self.types, strict=True))
                remember_first(below, Chunk(columns, len(self.numbers)), numbers=self.numbers)


def first_runs(ordered: PlannerNode, time: int) -> tuple[Chunk, np.ndarray]:
    """Return the first rows, up to the last time whose rows were all read, and for each row the index of its time among the distinct times."""
    count = SAMPLE_ROWS
    while True:
        chunk = rows_of(ordered, 0, count, as_objects=True)
        starts = run_starts([chunk.columns[time]], [ordered.schema[time]], chunk.rows)
        if chunk.rows < count:
            return chunk, run_numbers(starts, chunk.rows)
        if starts.size > 1:
            # Rows after those that were read may have the same time as the last one, so this time is left out.
            complete = int(starts[-1])
            return chunk.slice(0, complete), run_numbers(starts[:-1], complete)
        count *= 10
