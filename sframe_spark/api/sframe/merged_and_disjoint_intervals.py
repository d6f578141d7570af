"""Members of SFrame that unite or divide overlapping intervals; and aggregates over intervals that are longer than the distance of their starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs

from sframe_spark.api import aggregate
from sframe_spark.api.aggregates.argument_types import Aggregates, Distance, Names
from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.column_names import name_list, require_distinct
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.sframe.asof_joins_and_windows import check_groups
from sframe_spark.api.sframe.sort_group_append_filter_and_sample import Relational
from sframe_spark.api.sframe.times_by_calendar_and_zone import shifted
from sframe_spark.compute.interval_grid import Grid
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.expressions.functions.calendars import grid_parameters
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.operators.append import append
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import group_adjacent_equal_keys, narrowed
from sframe_spark.operators.groupby.resampling import AssignIntervals, group_assigned
from sframe_spark.operators.joins.interval_join import IntervalJoin, interval_join
from sframe_spark.operators.lookup.key_numbers_and_group_codes import check_keys
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import FLOAT, INT, ColumnType
from sframe_spark.values.duration_parsing import parse_duration, parse_step

MAX_INTERVALS_OF_A_ROW = 1_000
"""Intervals that begin more often than this within their length are windows, for which there is a member of their own."""
HOUR = 3_600_000_000
DAY = 24 * HOUR


class IntervalSets(Relational):
    """Mixin of SFrame: intervals that are united, and intervals that are divided."""

    @call_example("sf.merge_intervals(start='from', end='to', by='key', operations={'n': aggregate.COUNT()})")
    def merge_intervals(
        self, start: str, end: str, by: Names | None = None, operations: Aggregates | None = None, gap: Distance | None = None
    ) -> SFrame:
        """Return one row for each stretch that intervals cover without a gap: where it starts and ends, the key, and aggregates of its rows.

        Parameters
        ----------
        start, end
            Names of the columns of class int, float or datetime in which intervals start and end. Intervals that touch are united.
        by
            A name or a list of names of columns: only intervals with equal values in these are united; missing values are equal to each other.
        operations
            As in :meth:`groupby`: aggregates of the rows of a stretch, in the order of their starts. None: no aggregates.
        gap
            Intervals at most this far apart are united as well: a number; for date-times, a ``timedelta`` or a string such as ``"1h"``.

        Returns
        -------
        SFrame
            The columns ``by``, the start and the end of each stretch, and the aggregates; in the order of ``by``, then of the starts. Rows with a
            missing or NaN end, or that end before they start, are left out.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If a column or the gap has an unsuitable type.
        ValueError
            If the gap is negative.
        RuntimeError
            If two columns would have the same name.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> calls = SFrame({"from": [1, 3, 9], "to": [4, 6, 10]})
        >>> print(calls.merge_intervals("from", "to", operations={"calls": aggregate.COUNT()}))
        +------+----+-------+
        | from | to | calls |
        +------+----+-------+
        |  1   | 6  |   2   |
        |  9   | 10 |   1   |
        +------+----+-------+
        [2 rows x 3 columns]
        """
        names = self._interval_names(start, end, by)
        aggregations, result = self._aggregates([*names, start, end], *([] if operations is None else [operations]))
        reach = 0 if gap is None else parse_duration(gap, self._node.schema[self._position(start)], "gap")
        if reach < 0:
            raise InvalidArgumentError(f"gap: a distance must not be negative, got {gap!r}")
        rows, keys, wanted = self._whole_intervals(start, end, names, aggregations, True)
        rows = rows.sort([*keys, "start"])
        so_far = rows.running({"so far": aggregate.MAX("end")}, by=keys)
        ended = so_far.shift_time("so far", gap) if gap is not None and reach else so_far
        # The first row of a key is recognised by the key, whatever ended before it.
        rows["stretch"] = (rows["start"] > ended["so far"].shift(1)).fillna(0).cumulative_sum()
        stretches = [rows._position(name) for name in (*keys, "stretch")]
        ends = [rows._aggregation(request) for request in (aggregate.MIN("start"), aggregate.MAX("end"))]
        grouped = group_adjacent_equal_keys(rows._node, stretches, [*ends, *wanted])
        return make_frame(project(grouped, [place for place in range(grouped.facts.width) if place != len(keys)]), result)

    @call_example("sf.disjoint_intervals(start='from', end='to', by='key', operations={'n': aggregate.COUNT()})")
    def disjoint_intervals(self, start: str, end: str, by: Names | None = None, operations: Aggregates | None = None) -> SFrame:
        """Return one row for each stretch between two ends of intervals that is covered: its ends, the key, and aggregates of the rows that cover it.

        Parameters
        ----------
        start, end
            Names of the columns of class int, float or datetime in which intervals start and end; an interval contains its start, not its end.
        by
            A name or a list of names of columns: only intervals with equal values in these divide each other; missing values are equal to each other.
        operations
            As in :meth:`groupby`: aggregates of the rows that cover a stretch, in the order of this frame. None: no aggregates.

        Returns
        -------
        SFrame
            The columns ``by``, the start and the end of each stretch, and the aggregates; in the order of ``by``, then of the starts. Rows with a
            missing or NaN end, or that do not end after they start, are left out.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If a column has an unsuitable type.
        RuntimeError
            If two columns would have the same name.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> calls = SFrame({"from": [1, 3, 9], "to": [4, 6, 10]})
        >>> print(calls.disjoint_intervals("from", "to", operations={"calls": aggregate.COUNT()}))
        +------+----+-------+
        | from | to | calls |
        +------+----+-------+
        |  1   | 3  |   1   |
        |  3   | 4  |   2   |
        |  4   | 6  |   1   |
        |  9   | 10 |   1   |
        +------+----+-------+
        [4 rows x 3 columns]
        """
        names = self._interval_names(start, end, by)
        aggregations, result = self._aggregates([*names, start, end], *([] if operations is None else [operations]))
        rows, keys, wanted = self._whole_intervals(start, end, names, aggregations, False)
        sides = [rows[[*keys, side]].rename({side: "from"}) for side in ("start", "end")]
        cuts = sides[0].append(sides[1]).sort([*keys, "from"]).groupby_runs([*keys, "from"])
        cuts["to"] = cuts.shift("from", -1, by=keys)
        covered = cuts.join_between(rows, on="from", start="start", end="end", by=keys, closed="left")
        stretches = [covered._position(name) for name in (*keys, "from", "to")]
        columns = [covered._position(name) for name in rows._names]
        wanted = [attrs.evolve(item, positions=tuple(columns[position] for position in item.positions)) for item in wanted]
        return make_frame(group_adjacent_equal_keys(covered._node, stretches, wanted), result)

    def _interval_names(self, start: Any, end: Any, by: Any) -> list[str]:
        """Return the names of the key columns, after checking all columns."""
        for what, name in (("start", start), ("end", end)):
            if not isinstance(name, str):
                raise SchemaError(f"{what} must be the name of a column, got {name!r}")
        if (names := name_list(by)) is None:
            raise SchemaError(f"by must be a column name or a list of names, got {by!r}")
        require_distinct([*names, start, end])
        types = [self._node.schema[self._position(name)] for name in (start, end)]
        check_keys(types[0], types[1], f"start {start!r} and end {end!r}")
        if types[0] != types[1]:
            raise SchemaError(f"start {start!r} and end {end!r} hold {types[0].kind} and {types[1].kind}: convert one with astype()")
        for name in names:
            check_groups(f"by {name!r}", self._node.schema[self._position(name)], self._node.schema[self._position(name)])
        return names

    def _whole_intervals(
        self, start: str, end: str, names: Sequence[str], aggregations: Sequence[Aggregation], may_be_points: bool
    ) -> tuple[SFrame, list[str], list[Aggregation]]:
        """Return the rows whose interval holds something, the names of their keys, and the aggregates over them.

        Their columns have unique names, so that none is taken: those of the intervals are ``start`` and ``end``.
        """
        keys = {self._position(name): f"key {place}" for place, name in enumerate(names)}
        ends = {self._position(start): "start", self._position(end): "end"}
        others = {p: f"column {p}" for item in aggregations for p in item.positions if p not in keys and p not in ends}
        columns = {**keys, **ends, **others}
        rows = make_frame(project(self._node, list(columns)), list(columns.values()))
        place_of = {position: place for place, position in enumerate(columns)}
        moved = [attrs.evolve(item, positions=tuple(place_of[position] for position in item.positions)) for item in aggregations]
        return rows[rows["start"] <= rows["end"] if may_be_points else rows["start"] < rows["end"]], list(keys.values()), moved


# Groups by intervals that overlap each other.


def group_by_overlapping_intervals(
    node: PlannerNode, position: int, grid: Grid, period: Any, by: Sequence[int], aggregations: Sequence[Aggregation], name: str
) -> PlannerNode:
    """Return a node with one row for each interval that contains rows, where intervals are longer than the distance of their starts.

    Rows are joined with the intervals in which they lie, in the order of their times, and then grouped as they come. ``name`` is what messages call
    the column.

    Raises
    ------
    InvalidArgumentError
        If the period is not above the distance of the starts, or above the allowed multiple of it.
    """
    zone = None if grid.calendar is None else grid.calendar.zone
    below, positions, moved = narrowed(node, [position, *by], aggregations)
    key = positions[0]
    rows = sort_rows(below, [(key, True)])
    starting = attrs.evolve(grid, label="left")
    starts = [group_assigned(rows, AssignIntervals(key, starting), [key], [])]
    # A point within the interval before is so far from a start.
    back: int | float = 1 if grid.every is None else max(grid.every // 2, 1) if isinstance(grid.every, int) else grid.every / 2
    step = Literal(-back, INT if isinstance(back, int) else FLOAT)
    for _ in range(intervals_of_a_row(grid, period, below.schema[key]) - 1):
        starts.append(apply_function("floor_time", apply_function("add_duration", starts[-1], step), parameters=grid_parameters(starting)))
    distinct = group_adjacent_equal_keys(sort_rows(append(*starts), [(0, True)]), [0], []) if len(starts) > 1 else starts[0]
    ends = shifted(distinct, name, period, zone, None)
    width = below.facts.width
    join = IntervalJoin((0, 1), (key, key), (), (), tuple(range(width)), "inner", grid.closed)
    pairs = interval_join(zip_columns(distinct, ends), rows, join)
    wanted = [attrs.evolve(item, positions=tuple(p + 2 for p in item.positions)) for item in moved]
    grouped = group_adjacent_equal_keys(pairs, [0, 1], wanted, [p + 2 for p in positions[1:]])
    return project(grouped, [0 if grid.label == "left" else 1, *range(2, grouped.facts.width)])


def intervals_of_a_row(grid: Grid, period: Any, key: ColumnType) -> int:
    """Return in how many intervals a row may lie.

    Raises
    ------
    InvalidArgumentError
        If it would be too many.
    """
    length = parse_step(period, key, "period")
    if grid.calendar is None and not length.in_months:
        count = math.ceil(length.length / (grid.every or 1))
    elif grid.calendar is not None and grid.calendar.in_months and length.in_months:
        count = math.ceil(length.length / grid.calendar.step)
    else:
        # Months have 28 to 31 days, and days where the clock changes have an hour more or less, or two.
        shortest = (grid.every if grid.calendar is None else grid.calendar.step * (28 * DAY if grid.calendar.in_months else 1) - 2 * HOUR) or 1
        count = math.ceil((length.length * 31 * DAY if length.in_months else length.length) / max(shortest, 1)) + 1
    if count > MAX_INTERVALS_OF_A_ROW:
        raise InvalidArgumentError(f"period: a row would lie in {count} intervals, and at most {MAX_INTERVALS_OF_A_ROW} are allowed: use window()")
    return count
