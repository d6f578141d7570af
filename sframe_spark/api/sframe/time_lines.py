"""Members of SFrame about time lines: sessions of rows that follow each other closely, and a summary of the times of each key."""

from __future__ import annotations

import math
from typing import Any

from sframe_spark.api import aggregate
from sframe_spark.api.aggregates.argument_types import Distance, Names
from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe.gaps_and_ranks import GapsAndRanks
from sframe_spark.errors import InvalidArgumentError, SchemaError, TakenNameError
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project_zip_arrange import column_of, columns_of, zip_columns
from sframe_spark.operators.window.lagged import shifted_by_key
from sframe_spark.operators.window.session_numbers import SessionNumbers
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND, FLOAT, FLOAT_KIND, ColumnType
from sframe_spark.values.duration_parsing import LONGEST, parse_duration

DESCRIBED = ("count", "first", "last", "granularity", "gaps", "longest_gap")
"""Columns of :meth:`TimeLines.describe_time`, after the keys."""


class TimeLines(GapsAndRanks):
    """Mixin of SFrame: sessions, and what the times of each key are like."""

    @call_example("sf.sessions('time', gap='30min', by='user')")
    def sessions(self, on: str, gap: Distance, *, by: Names | None = None) -> SArray:
        """Return, for each row, the number of its session: a session ends where the next time of the key is more than ``gap`` later.

        Parameters
        ----------
        on
            Name of the column of times, of class int, float or datetime, which must not decrease within a key. A row without a time, or with NaN, is
            in no session.
        gap
            The longest distance within a session: a number; for date-times, a ``timedelta`` or a string such as ``"30min"``.
        by
            A name or a list of names of columns: sessions are of rows that are equal in these; missing values are equal to each other. None: of all
            rows.

        Returns
        -------
        SArray
            One int for each row of this frame, counted from 0 within each key; missing where the time is missing. To get one row per session, group
            by it and the keys.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a column or ``gap`` has an unsuitable type.
        ValueError
            If ``gap`` is negative, or no duration.
        RuntimeError
            When rows are computed, if times decrease.

        Source: ``session_window`` of Spark, where a time at the very distance begins a session.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"user": ["a", "b", "a", "a"], "t": [0, 1, 5, 16]})
        >>> list(sf.sessions("t", gap=10, by="user"))
        [0, 0, 0, 1]
        """
        time, keys = self._position(on), self._running_keys(by)
        longest = _gap(gap, self._node.schema[time], on)
        node = columns_of(self._node, [time, *keys])
        return SArray(_node=SessionNumbers(0, longest, tuple(range(1, 1 + len(keys)))).make_planner_node(node))

    @call_example("sf.describe_time('time', by='sensor')")
    def describe_time(self, on: str, *, by: Names | None = None, gap: Distance | None = None) -> SFrame:
        """Return one row for each key that describes its times: how many, from when to when, how close, and where they are interrupted.

        Parameters
        ----------
        on
            Name of a column of class int, float or datetime. Missing times and NaN are left out. The frame need not be in order.
        by
            A name or a list of names of key columns of class int, float, str or datetime. None: one row for all.
        gap
            The distance above which two neighbouring times have a gap between them: a number; for date-times, a ``timedelta`` or a string. None: the
            granularity of the key.

        Returns
        -------
        SFrame
            The keys in ascending order, and the columns ``count``, ``first``, ``last``, ``granularity`` (the smallest distance between two different
            times, in seconds for date-times; missing if there are no two), ``gaps`` (how many distances are longer than ``gap``) and ``longest_gap``
            (the longest distance between neighbouring times).

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If a column or ``gap`` has an unsuitable type.
        ValueError
            If ``gap`` is negative, or no duration.
        RuntimeError
            If a key has the name of one of these columns.

        Source: ``describe`` of Tempo.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sf = SFrame({"t": [0, 10, 20, 50, 60], "k": ["a"] * 5})
        >>> sf.describe_time("t", by="k")[0]
        {'k': 'a', 'count': 5, 'first': 0, 'last': 60, 'granularity': 10, 'gaps': 1, 'longest_gap': 30}
        """
        time = self._position(on)
        _require_times(self._node.schema[time], on)
        keys = self._running_keys(by)
        names = [self._names[key] for key in keys]
        if taken := set(names).intersection(DESCRIBED):
            raise TakenNameError(f"describe_time() makes a column {min(taken)!r}: rename the key")
        longest = None if gap is None else _gap(gap, self._node.schema[time], on)
        for key in keys:
            self._check_sortable(key)
        node = columns_of(self._node, [time, *keys])
        places = [f"key {place}" for place in range(len(keys))]
        times = _without_nan(column_of(node, 0))
        known = make_frame(zip_columns(times, *[column_of(node, 1 + place) for place in range(len(keys))]), ["time", *places])
        known = known[known["time"] != None].sort([*places, "time"])  # noqa: E711  # a comparison of columns
        before = shifted_by_key(known._node, [(0, 1, None)], list(range(1, 1 + len(keys))))
        distance = SArray(_node=apply_function("subtract", column_of(known._node, 0), before))
        # Equal times do not count as a distance.
        known["distance"] = SArray(_node=apply_function("if_else", (distance > 0)._node, distance._node, Literal(None, distance._node.schema[0])))
        unit = 1_000_000.0 if self._node.schema[time].kind == DATETIME_KIND else 1
        per_distance = known.groupby([*places, "distance"], {"n": aggregate.COUNT(), "low": aggregate.MIN("time"), "high": aggregate.MAX("time")})
        per_distance["is gap"] = per_distance["n"] if longest is None else (per_distance["distance"] > longest / unit) * per_distance["n"]
        per_distance["is gap"] = SArray.where(per_distance["distance"] == None, 0, per_distance["is gap"])  # noqa: E711
        found = per_distance.groupby(
            places,
            {
                "count": aggregate.SUM("n"),
                "first": aggregate.MIN("low"),
                "last": aggregate.MAX("high"),
                "granularity": aggregate.MIN("distance"),
                "all gaps": aggregate.SUM("is gap"),
                "at granularity": aggregate.ARGMIN("distance", "n"),
                "longest_gap": aggregate.MAX("distance"),
            },
        )
        regular = found["at granularity"].fillna(0) if longest is None else 0
        found["gaps"] = found["all gaps"] - regular
        result = found[[*places, *DESCRIBED]]
        return make_frame((result.sort(places) if places else result)._node, [*names, *DESCRIBED])


def _require_times(column_type: ColumnType, on: str) -> None:
    if not column_type.is_number_or_datetime:
        raise SchemaError(f"column {on!r} of type {column_type.kind} does not hold times: only int, float and datetime do")


def _gap(gap: Any, column_type: ColumnType, on: str) -> int | float:
    """Return a distance between times in their unit.

    Raises
    ------
    SchemaError
        If the column holds no times, or the distance does not fit them.
    InvalidArgumentError
        If it is negative, or does not fit 64 bits.
    """
    _require_times(column_type, on)
    longest = parse_duration(gap, column_type, "gap")
    if longest < 0:
        raise InvalidArgumentError(f"gap: a distance must not be negative, got {gap!r}")
    if column_type.kind == FLOAT_KIND:
        return float(longest)
    # Distances between ints are ints, so a fraction makes no difference.
    if math.floor(longest) > LONGEST:
        raise InvalidArgumentError(f"gap: {gap!r} does not fit 64 bits")
    return math.floor(longest)


def _without_nan(times: PlannerNode) -> PlannerNode:
    """Return times with NaN replaced by missing values."""
    if times.schema[0] != FLOAT:
        return times
    return apply_function("if_else", apply_function("isnan", times), Literal(None, FLOAT), times)
