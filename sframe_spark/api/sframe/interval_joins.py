"""Members of SFrame that join rows whose times lie in intervals, or whose intervals overlap, and that list the rows around events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sframe_spark.api.aggregates.argument_types import Distance, NamesOfBoth
from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.column_names import unique_names
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.sframe.asof_joins_and_windows import both_names, check_groups, suffixed_names
from sframe_spark.api.sframe.columns import without
from sframe_spark.api.sframe.construction import other_frame
from sframe_spark.api.sframe.joins import name_pairs, with_like_keys
from sframe_spark.api.sframe.sort_group_append_filter_and_sample import Relational
from sframe_spark.api.utc_offset_checks import with_alike_offsets
from sframe_spark.errors import InvalidArgumentError, SchemaError
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.operators.append import append
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.joins.equi_join import KINDS
from sframe_spark.operators.joins.interval_join import IntervalJoin, interval_join
from sframe_spark.operators.joins.window_bounds import CLOSED
from sframe_spark.operators.lookup.key_numbers_and_group_codes import check_keys
from sframe_spark.operators.lookup.nearest_key_search import ascending_by
from sframe_spark.operators.project_zip_arrange import column_of, project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import FLOAT, INT, ColumnType
from sframe_spark.values.duration_parsing import parse_duration


class IntervalJoins(Relational):
    """Mixin of SFrame: joins on intervals."""

    @call_example("sf.join_between(other, on='time', start='from', end='to', by='key')")
    def join_between(
        self,
        other: SFrame,
        on: str,
        start: str,
        end: str,
        by: NamesOfBoth | None = None,
        how: str = "inner",
        closed: str = "both",
        suffix: str | None = None,
    ) -> SFrame:
        """Return the rows of two frames side by side where a value of one lies in an interval of the other; a row may have several matches.

        Parameters
        ----------
        other
            The other frame, or a table that ``SFrame(...)`` accepts. Neither frame need be sorted.
        on
            Name of a column of this frame, of class int, float or datetime.
        start, end
            Names of the columns of the other frame in which its intervals start and end. If the frames lack these columns, but the other frame has
            a column ``on`` and this one has ``start`` and ``end``, the intervals are those of this frame.
        by
            Columns whose values must be equal: a name, a list of names, or a dict from left to right names. Missing values are equal to each other.
        how
            ``inner``: only rows with a match; ``left``, ``right``, ``outer``: also rows without a match of this frame, the other frame, or both.
        closed
            Which ends belong to an interval: ``"both"``, ``"left"`` (its start), ``"right"`` or ``"neither"``.
        suffix
            What is appended to the names of columns of the other frame that this frame has already. None: ``.1``, or the first number that is free.

        Returns
        -------
        SFrame
            All columns of this frame, then those of the other that are not in ``by``. The rows of this frame come in order, each with its matches in
            the other frame's order, then the other frame's rows without a match; with ``how="right"``, the rows of the other frame in order, each
            with its matches. A missing or NaN value or end matches nothing.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If columns cannot be compared.
        ValueError
            If ``how`` or ``closed`` is unknown.
        RuntimeError
            If a name with its suffix is in use.

        Source: ``BETWEEN`` of SQL, ``join_where`` of Polars, ``join_by(between(...))`` of dplyr.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> trades = SFrame({"time": [3, 7, 9]})
        >>> halts = SFrame({"from": [2, 6], "to": [7, 8], "why": ["news", "error"]})
        >>> list(trades.join_between(halts, on="time", start="from", end="to")["why"])
        ['news', 'news', 'error']
        >>> list(trades.join_between(halts, on="time", start="from", end="to", how="left", closed="left")["why"])
        ['news', 'error', None]
        """
        other = other_frame(other, "join_between")
        for what, name in (("on", on), ("start", start), ("end", end)):
            if not isinstance(name, str):
                raise SchemaError(f"{what} must be the name of a column, got {name!r}")
        is_here = on in self._names and {start, end} <= set(other._names)
        if not is_here and on in other._names and {start, end} <= set(self._names):
            left, right = [self._position(start), self._position(end)], [other._position(on, frame="the other frame")] * 2
        else:
            left, right = [self._position(on)] * 2, [other._position(start, frame="the other frame"), other._position(end, frame="the other frame")]
        return self._joined_intervals(other, left, right, by, how, closed, suffix)

    @call_example("sf.join_overlapping(other, start='from', end='to', by='key')")
    def join_overlapping(
        self,
        other: SFrame,
        start: str | Mapping[str, str],
        end: str | Mapping[str, str],
        by: NamesOfBoth | None = None,
        how: str = "inner",
        closed: str = "both",
        suffix: str | None = None,
    ) -> SFrame:
        """Return the rows of two frames side by side where their intervals overlap; a row may have several matches.

        Parameters
        ----------
        other
            As in :meth:`join_between`.
        start, end
            The columns in which intervals start and end: a name that both frames have, or a dict with one left name and one right name.
        by, how, suffix
            As in :meth:`join_between`.
        closed
            With ``"both"``, intervals that only touch, where one ends and the other starts, overlap; with ``"left"``, ``"right"`` or ``"neither"``
            they do not. An interval that holds nothing overlaps none: one that ends before it starts, or, unless ``closed`` is ``"both"``, where it
            starts.

        Returns
        -------
        SFrame
            As from :meth:`join_between`.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If columns cannot be compared.
        ValueError
            If ``how`` or ``closed`` is unknown.
        RuntimeError
            If a name with its suffix is in use.

        Source: ``foverlaps`` of data.table, ``IntervalIndex.overlaps`` of pandas.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> shifts = SFrame({"from": [0, 8], "to": [8, 16], "who": ["ann", "bob"]})
        >>> jobs = SFrame({"from": [7, 8], "to": [9, 9], "job": ["a", "b"]})
        >>> list(shifts.join_overlapping(jobs, start="from", end="to", closed="left")["job"])
        ['a', 'a', 'b']
        """
        other = other_frame(other, "join_overlapping")
        pairs = [name_pairs(names, what) for names, what in ((start, "start"), (end, "end"))]
        if any(len(names) != 1 for names in pairs):
            raise InvalidArgumentError("start and end must name one column of each frame")
        left, right = [self._position(names[0][0]) for names in pairs], [other._position(names[0][1], frame="the other frame") for names in pairs]
        return self._joined_intervals(other, left, right, by, how, closed, suffix)

    @call_example("sf.events(around=other, on='time', before='1h', after='1h', by='key')")
    def events(
        self,
        around: SFrame,
        on: str | Mapping[str, str],
        before: Distance | None = None,
        after: Distance | None = None,
        by: NamesOfBoth | None = None,
        closed: str = "both",
        suffix: str = "_event",
    ) -> SFrame:
        """Return the rows of this frame around each row of another one: those whose key is at most so far before or after the event's.

        Parameters
        ----------
        around
            The events: a frame, or a table that ``SFrame(...)`` accepts.
        on
            Name of a key column of class int, float or datetime in both frames; or a dict with the name here and the name there.
        before, after
            Maximum distances to smaller and to larger keys, as in :meth:`window`; they may be negative. None: zero.
        by
            Columns whose values must be equal: a name, a list of names, or a dict from names here to names there.
        closed
            Which ends of the time around an event are in it, as in :meth:`window`.
        suffix
            What is appended to the names of columns of the events that this frame has already.

        Returns
        -------
        SFrame
            All columns of this frame, then those of the events that are not in ``by``. Events come in their order, each with its rows in the order
            of the key; rows with equal keys in their order. A row is repeated for each event that it is around.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If a column, ``before`` or ``after`` has an unsuitable type.
        ValueError
            If ``closed`` is unknown, or the time around an event would end before it starts.
        RuntimeError
            If a name with its suffix is in use; when rows are computed, if a time leaves the years 1 to 9999.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> prices = SFrame({"day": [1, 2, 3, 4], "price": [5, 6, 9, 8]})
        >>> news = SFrame({"day": [2, 4], "text": ["up", "down"]})
        >>> found = prices.events(around=news, on="day", before=1, after=1)
        >>> list(found["price"]), list(found["day_event"])
        ([5, 6, 9, 9, 8], [2, 2, 2, 4, 4])
        """
        events = other_frame(around, "events")
        if len(pairs := name_pairs(on, "on")) != 1:
            raise InvalidArgumentError(f"on must name one key column, got {len(pairs)}")
        ((name, event_name),) = pairs
        key, event_key = self._position(name), events._position(event_name, frame="the other frame")
        check_closed(closed)
        here, there = self._group_positions(events, by)
        rows, of_events = comparable_nodes(self._node, events._node, [(key, event_key)], here, there)
        types = rows.schema[key], of_events.schema[event_key]
        check_keys(*types, both_names("on", name, event_name))
        self._check_groups(events, rows, of_events, here, there)
        low, high = (parse_around(value, FLOAT if FLOAT in types else types[1], what) for value, what in ((before, "before"), (after, "after")))
        if low + high < 0:
            raise InvalidArgumentError(f"events: the time around an event would end before it starts: before={before!r}, after={after!r}")
        ends = [moved_key(of_events, event_key, distance) for distance in (-low, high)]
        width = of_events.facts.width
        values = without(range(len(self._names)), sorted(here))
        join = IntervalJoin((width, width + 1), (key, key), tuple(there), tuple(here), tuple(values), "inner", closed)
        pairs_of_rows = interval_join(zip_columns(of_events, *ends), ascending_by(rows, key), join)
        kept = without(range(width), sorted(there))
        partner = dict(zip(here, there, strict=True))
        places = [partner.get(column, width + 2 + values.index(column) if column in values else -1) for column in range(len(self._names))]
        names = suffixed_names(self._names, [events._names[column] for column in kept], suffix)
        return make_frame(project(pairs_of_rows, [*places, *kept]), names)

    def _group_positions(self, other: Relational, by: Any) -> tuple[list[int], list[int]]:
        """Return the positions of the columns whose values must be equal in both frames."""
        pairs = [] if by is None else name_pairs(by, "by")
        left, right = [self._position(name) for name, _ in pairs], [other._position(name, frame="the other frame") for _, name in pairs]
        return left, right

    def _check_groups(self, other: Relational, first: PlannerNode, second: PlannerNode, left: Sequence[int], right: Sequence[int]) -> None:
        """Raise an error if columns whose values must be equal cannot be compared."""
        for a, b in zip(left, right, strict=True):
            check_groups(both_names("by", self._names[a], other._names[b]), first.schema[a], second.schema[b])

    def _joined_intervals(
        self, other: SFrame, left: Sequence[int], right: Sequence[int], by: Any, how: str, closed: str, suffix: str | None
    ) -> SFrame:
        """Return the rows of two frames whose intervals overlap, given the positions of the ends (of points one position twice)."""
        if how not in KINDS:
            raise InvalidArgumentError(f"how must be one of {', '.join(KINDS)}, got {how!r}")
        check_closed(closed)
        left_by, right_by = self._group_positions(other, by)
        ends = [(a, b) for a in dict.fromkeys(left) for b in dict.fromkeys(right)]
        first, second = comparable_nodes(self._node, other._node, ends, left_by, right_by)
        for a, b in ends:
            check_keys(first.schema[a], second.schema[b], both_names("columns", self._names[a], other._names[b]))
        self._check_groups(other, first, second, left_by, right_by)
        values = without(range(len(other._names)), sorted(right_by))
        found = [other._names[value] for value in values]
        names = unique_names([*self._names, *found]) if suffix is None else suffixed_names(self._names, found, suffix)
        join = IntervalJoin(
            tuple(left), tuple(right), tuple(left_by), tuple(right_by), tuple(values), "left" if how in ("left", "outer") else "inner", closed
        )
        if how != "right":
            node = interval_join(first, second, join)
        if how in ("right", "outer"):
            rest = with_all_of_right(first, second, join, alone=how == "outer")
            node = rest if how == "right" else append(node, rest)
        return make_frame(node, names)


def with_all_of_right(left: PlannerNode, right: PlannerNode, join: IntervalJoin, alone: bool) -> PlannerNode:
    """Return all rows of the right side in order, each with its matches, in the columns of the join; ``alone``: only the rows without a match."""
    width, kept = right.facts.width, without(range(left.facts.width), sorted(join.left_by))
    numbered = zip_columns(left, row_number(left))
    swapped = IntervalJoin(join.right_ends, join.left_ends, join.right_by, join.left_by, (*kept, left.facts.width), "left", join.closed)
    rows = interval_join(right, numbered, swapped)
    if alone:
        rows = filter_by_mask(rows, apply_function("is_missing", column_of(rows, width + len(kept))))
    partner = dict(zip(join.left_by, join.right_by, strict=True))
    columns = [partner[column] if column in partner else width + kept.index(column) for column in range(left.facts.width)]
    return project(rows, [*columns, *join.values])


def comparable_nodes(
    left: PlannerNode, right: PlannerNode, ends: Sequence[tuple[int, int]], left_by: Sequence[int], right_by: Sequence[int]
) -> tuple[PlannerNode, PlannerNode]:
    """Return two nodes whose columns can be compared if values can: columns without values are of any type, and columns without offsets of both."""
    left, right = with_like_keys(left, right, [*ends, *zip(left_by, right_by, strict=True)])
    for a, b in ends:
        left, right = with_alike_offsets(left, a, right, b)
    return left, right


def check_closed(closed: Any) -> None:
    """Raise an error if ``closed`` does not say which ends are in an interval.

    Raises
    ------
    InvalidArgumentError
        If it does not.
    """
    if closed not in CLOSED:
        raise InvalidArgumentError(f"closed must be one of {', '.join(CLOSED)}, got {closed!r}")


def parse_around(value: Any, column_type: ColumnType, what: str) -> int | float:
    """Return a distance from an event in the unit of its key; zero for None and 0.

    Raises
    ------
    SchemaError
        If the value is not suitable for keys of the type.
    """
    return 0 if value is None or (type(value) is int and value == 0) else parse_duration(value, column_type, what)


def moved_key(node: PlannerNode, key: int, distance: int | float) -> PlannerNode:
    """Return a key column with a distance added."""
    column = column_of(node, key)
    return apply_function("add_duration", column, Literal(distance, INT if isinstance(distance, int) else FLOAT)) if distance else column
