"""Members of SFrame that combine rows with near keys: as-of joins, and aggregates over windows of a key."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sframe_spark.api.aggregates.argument_types import Aggregates, Distance, NamesOfBoth
from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.column_names import FrameNames, name_list, unique_names
from sframe_spark.api.error_hints import also_named, call_example
from sframe_spark.api.sframe.columns import without
from sframe_spark.api.sframe.construction import other_frame
from sframe_spark.api.sframe.joins import name_pairs, with_like_keys
from sframe_spark.api.sframe.sort_group_append_filter_and_sample import Relational, narrowed
from sframe_spark.api.utc_offset_checks import with_alike_offsets
from sframe_spark.errors import InvalidArgumentError, SchemaError, TakenNameError
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.joins.asof_join import DIRECTIONS, GROUPS, AsofJoin, asof_join
from sframe_spark.operators.joins.key_window_aggregates import KeyWindow, key_window
from sframe_spark.operators.joins.window_bounds import CLOSED
from sframe_spark.operators.lookup.key_numbers_and_group_codes import check_keys
from sframe_spark.operators.project_zip_arrange import column_of, columns_alongside, columns_of, project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import FLOAT, ColumnType
from sframe_spark.values.duration_parsing import parse_duration

ALL = "all"
"""What users give for a distance without end."""


class NearRows(Relational):
    """Mixin of SFrame: values and aggregates of rows whose key is near."""

    @call_example("sf.asof_join(other, on='time', by='key', tolerance='1min'), with on={'a': 'b'} for other names")
    def asof_join(
        self,
        other: SFrame | Sequence[SFrame],
        on: str | Mapping[str, str] | None = None,
        by: NamesOfBoth | None = None,
        tolerance: Distance | None = None,
        direction: str = "backward",
        allow_exact: bool = True,
        *,
        left_on: str | None = None,
        right_on: str | None = None,
        skip_missing: bool = False,
        keep_time: bool = False,
        suffix: str | Sequence[str] | None = None,
    ) -> SFrame:
        """Return each row with the values from the row of another frame that has the nearest key. Every row appears once, in its order.

        Parameters
        ----------
        other
            The frame to search, which need not be sorted. If it is known to be sorted, no sort is needed. Of rows with equal keys, the later counts
            as having the larger key. A list of frames: the values of each, side by side; the other arguments hold for all of them.
        on
            Name of a key column of class int, float or datetime in both frames; or a dict with one left name and one right name.
        by
            Columns whose values must be equal: a name, a list of names, or a dict from left to right names.
        tolerance
            Maximum distance between the keys: a number for numeric keys; a ``timedelta`` or a string such as ``"3d"`` for date-times. None or
            ``"all"``: no maximum.
        direction
            ``"backward"`` finds the last row whose key is not larger; ``"forward"`` the first row whose key is not smaller; ``"nearest"`` the nearer
            of these two rows, and the one that ``"backward"`` finds if both are equally near.
        allow_exact
            Whether a row with an equal key can be found.
        left_on, right_on
            The key columns of this frame and of the other, instead of ``on``.
        skip_missing
            Whether each column takes its value from the nearest row that has one (NaN counts as missing), not from one row for all columns.
        keep_time
            Whether the key of the row that is found is a column of the result too. With ``skip_missing`` it is that of the nearest row.
        suffix
            What is appended to the names of columns of the other frame that this frame has already, such as ``"_quote"``; for a list of frames, a
            list of as many. None: ``.1``, or the first number that is free.

        Returns
        -------
        SFrame
            All columns of this frame, then the columns of the other frame that are not in ``on`` or ``by``; missing where no row is found. Rows with
            a missing or NaN key, or a missing value in a ``by`` column, find no row and are not found.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If a column or the tolerance has an unsuitable type.
        ValueError
            If the tolerance is negative, or the direction is unknown.
        RuntimeError
            If a name with its suffix is in use.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> trades = SFrame({"time": [3, 7, 9]})
        >>> quotes = SFrame({"time": [1, 3, 8], "bid": [10, 11, 12]})
        >>> print(trades.asof_join(quotes, on="time"))
        +------+-----+
        | time | bid |
        +------+-----+
        |  3   |  11 |
        |  7   |  11 |
        |  9   |  12 |
        +------+-----+
        [3 rows x 2 columns]
        >>> list(trades.asof_join(quotes, on="time", keep_time=True, suffix="_quote")["time_quote"])
        [3, 3, 8]
        """
        if direction not in DIRECTIONS:
            raise InvalidArgumentError(f"direction must be one of {', '.join(DIRECTIONS)}, got {direction!r}")
        for what, flag in (("allow_exact", allow_exact), ("skip_missing", skip_missing), ("keep_time", keep_time)):
            if not isinstance(flag, bool):
                raise SchemaError(f"{what} must be True or False, got {flag!r}")
        if (left_on is None) != (right_on is None) or (on is None) == (left_on is None):
            raise InvalidArgumentError("asof_join takes either on=, or both left_on= and right_on=")
        pair = {left_on: right_on} if on is None else on
        several = isinstance(other, (list, tuple)) and not any(isinstance(item, (dict, list, tuple)) for item in other)
        frames = [other_frame(item, "asof_join") for item in other] if several else [other_frame(other, "asof_join")]
        suffixes = list(suffix) if isinstance(suffix, (list, tuple)) else [suffix] * len(frames)
        if len(suffixes) != len(frames):
            raise InvalidArgumentError(f"suffix: {len(suffixes)} for {len(frames)} frame(s): give one for each, or one text")
        names, added = list(self._names), []
        for frame, ending in zip(frames, suffixes, strict=True):
            matches, found = self._asof_matches(
                frame, pair, by, tolerance, AsofJoin(0, (), (), direction, None, allow_exact), skip_missing, keep_time
            )
            names = suffixed_names(names, found, ending)
            added += matches
        return make_frame(columns_alongside(self._node, *added), names)

    def _asof_matches(
        self, other: SFrame, on: Any, by: Any, tolerance: Any, join: AsofJoin, skip_missing: bool, keep_time: bool
    ) -> tuple[list[PlannerNode], list[str]]:
        """Return nodes with the columns that are found in another frame, for each row of this one, and their names."""
        pairs = name_pairs(by, "by") if by is not None else []
        left_by, right_by = [self._position(name) for name, _ in pairs], [other._position(name, frame="the other frame") for _, name in pairs]
        nodes_of_both, (left_on, right_on), left_key, right_key = key_pair(self, other, on, left_by, right_by)
        for (a, b), left, right in zip(pairs, left_by, right_by, strict=True):
            check_groups(both_names("by", a, b), nodes_of_both[0].schema[left], nodes_of_both[1].schema[right])
        limit = distance_limit(None if tolerance == ALL else tolerance, left_key, right_key, "tolerance")
        values = without(range(len(other._names)), sorted({right_on, *right_by} - ({right_on} if keep_time else set())))
        probe = columns_of(nodes_of_both[0], [left_on, *left_by])
        # Columns without missing values all come from the nearest row, and so are found by one search.
        parts = [[value] for value in values if value != right_on] + [[right_on]] * keep_time if skip_missing else [values] * bool(values)
        places, nodes = [place for part in parts for place in part], []
        for part in parts:
            searched = nodes_of_both[1]
            if skip_missing and part != [right_on]:
                searched = filter_by_mask(searched, apply_function("is_not_missing", column_of(searched, part[0])))
            operator = AsofJoin(right_on, tuple(right_by), tuple(part), join.direction, limit, join.allow_exact)
            nodes.append(asof_join(probe, searched, operator))
        if places != values:
            found = zip_columns(*nodes)
            nodes = [columns_of(found, [places.index(value) for value in values])]
        return nodes, [other._names[value] for value in values]

    @call_example("sf.window('time', {'total': aggregate.SUM('a')}, before='1h', by='key')")
    @also_named(operations="aggregates")
    def window(
        self,
        on: str | Mapping[str, str] | None,
        aggregates: Aggregates,
        before: Distance | None = None,
        after: Distance | None = None,
        by: NamesOfBoth | None = None,
        closed: str = "both",
        *,
        of: SFrame | None = None,
        prevailing: bool = False,
    ) -> SFrame:
        """Return each row with aggregates over the rows whose key is near: from ``before`` below its own key to ``after`` above it.

        Parameters
        ----------
        on
            Name of a key column of class int, float or datetime; with ``of``, also a dict with the name here and the name there. None: windows of
            rows, which are counted within the rows of equal ``by``.
        aggregates
            As in :meth:`groupby`: an aggregate, a list of aggregates, or a dict from output name to aggregate.
        before, after
            Maximum distances to smaller and to larger keys: numbers for numeric keys; a ``timedelta`` or a string such as ``"7d"`` for date-times;
            without ``on``, numbers of rows. None means zero, so that the window contains rows with an equal key; ``"all"``: no maximum. A negative
            distance leaves a gap: ``before="7d", after="-1d"`` are the keys from seven days to one day before the row.
        by
            A name or a list of names of columns: a window contains only rows with equal values in these; missing values are equal to each other.
            With ``of``, also a dict from names here to names there.
        closed
            Which ends of the window are in it: ``"both"``, ``"left"`` (where it starts), ``"right"`` or ``"neither"``.
        of
            The frame whose rows are aggregated, if it is another one; the aggregates name its columns.
        prevailing
            Whether a window also contains the last row at or before its start, however far away: the one that is in force there.

        Returns
        -------
        SFrame
            The columns and rows of this frame in their order, then the aggregates. They see the rows of a window in the order of the key; rows with
            equal keys in the frame's order. A row with a missing or NaN key has an empty window, and is in no window.

        Raises
        ------
        KeyError
            If a column does not exist.
        TypeError
            If a column, ``before`` or ``after`` has an unsuitable type.
        ValueError
            If ``closed`` is unknown, or windows would end before they start.

        Source: the names ``closed`` of pandas and Polars; ``prevailing`` is the difference between kdb+'s ``wj`` and ``wj1``.

        Examples
        --------
        >>> from sframe_spark import SFrame, aggregate
        >>> sf = SFrame({"day": [1, 2, 2, 9], "rain": [4, 0, 2, 5]})
        >>> print(sf.window("day", {"week": aggregate.SUM("rain")}, before=6))
        +-----+------+------+
        | day | rain | week |
        +-----+------+------+
        |  1  |  4   |  4   |
        |  2  |  0   |  6   |
        |  2  |  2   |  6   |
        |  9  |  5   |  5   |
        +-----+------+------+
        [4 rows x 3 columns]
        >>> trips = SFrame({"day": [3, 10]})
        >>> list(trips.window("day", {"rain": aggregate.SUM("rain")}, before=2, after=-1, of=sf)["rain"])
        [6, 5]
        >>> list(sf.window(None, {"last two": aggregate.SUM("rain")}, before=1)["last two"])
        [4, 4, 2, 7]
        """
        if closed not in CLOSED:
            raise InvalidArgumentError(f"closed must be one of {', '.join(CLOSED)}, got {closed!r}")
        if not isinstance(prevailing, bool):
            raise SchemaError(f"prevailing must be True or False, got {prevailing!r}")
        if on is None:
            return self._window_of_rows(aggregates, before, after, by, closed, of, prevailing)
        other: Relational = self if of is None else other_frame(of, "window")
        if of is None and not isinstance(on, str):
            raise SchemaError(f"on must be the name of a column, got {on!r}")
        if isinstance(by, dict) and of is not None:
            pairs = name_pairs(by, "by")
        elif (by_names := name_list(by)) is None:
            raise SchemaError(f"by must be a column name or a list of names, got {by!r}")
        else:
            pairs = [(name, name) for name in by_names]
        left_by, right_by = [self._position(name) for name, _ in pairs], [other._position(name, frame="the other frame") for _, name in pairs]
        nodes_of_both, (left_on, right_on), left_key, right_key = key_pair(self, other, on, left_by, right_by)
        for (a, b), left, right in zip(pairs, left_by, right_by, strict=True):
            check_groups(both_names("by", a, b), nodes_of_both[0].schema[left], nodes_of_both[1].schema[right])
        low, high = (window_distance(value, left_key, right_key, what) for value, what in ((before, "before"), (after, "after")))
        check_ends((low, high), before, after)
        aggregations, names = other._aggregates(self._names, aggregates)
        if not aggregations:
            return make_frame(self._node, names)
        # Only the columns that the aggregates need are read, and sorted if necessary.
        node, (key, *groups), moved = narrowed(nodes_of_both[1], [right_on, *right_by], aggregations)
        window = KeyWindow(key, tuple(groups), low, high, tuple(moved), closed=closed, prevailing=prevailing)
        if of is None:
            return make_frame(columns_alongside(self._node, key_window(node, window)), names)
        probe = columns_of(nodes_of_both[0], [left_on, *left_by])
        return make_frame(columns_alongside(self._node, key_window(probe, window.over_probe(range(len(groups) + 1)), node)), names)

    def _window_of_rows(self, aggregates: Any, before: Any, after: Any, by: Any, closed: str, of: Any, prevailing: bool) -> SFrame:
        """Return each row with aggregates over a number of rows before and after it that have equal values in some columns."""
        if of is not None or prevailing:
            raise InvalidArgumentError("window: of= and prevailing= need a key: name it with on=")
        if (by_names := name_list(by)) is None:
            raise SchemaError(f"by must be a column name or a list of names, got {by!r}")
        low, high = (row_distance(value, what) for value, what in ((before, "before"), (after, "after")))
        check_ends((low, high), before, after)
        groups = [self._position(name) for name in by_names]
        for name, group in zip(by_names, groups, strict=True):
            check_groups(f"by {name!r}", self._node.schema[group], self._node.schema[group])
        aggregations, names = self._aggregates(self._names, aggregates)
        if not aggregations:
            return make_frame(self._node, names)
        node, groups, moved = narrowed(self._node, groups, aggregations)
        ordered = sort_rows(zip_columns(node, row_number(node)), [(group, True) for group in groups]) if groups else node
        # Rows of one group are neighbours, so that numbers of all rows count those of the group.
        numbered, width = zip_columns(ordered, row_number(ordered)), ordered.facts.width
        window = KeyWindow(width, tuple(groups), low, high, tuple(moved), (width - 1,) if groups else (), closed=closed)
        found = window.make_planner_node(numbered, numbered)
        if groups:
            found = project(sort_rows(found, [(0, True)]), range(1, found.facts.width))
        return make_frame(columns_alongside(self._node, found), names)


def key_pair(
    left: Relational, right: Relational, on: Any, left_by: Sequence[int] = (), right_by: Sequence[int] = ()
) -> tuple[tuple[PlannerNode, PlannerNode], tuple[int, int], ColumnType, ColumnType]:
    """Return the nodes of two frames with comparable key columns, the positions of these, and their types.

    The keys and the columns ``by`` of a frame without rows are of any type, as an empty list gives a column of floats.

    Raises
    ------
    SchemaError
        If the names are given in another form, or the keys cannot be compared.
    InvalidArgumentError
        If there is not one key.
    """
    pairs = name_pairs(on, "on")
    if len(pairs) != 1:
        raise InvalidArgumentError(f"on must name one key column, got {len(pairs)}")
    ((left_name, right_name),) = pairs
    positions = left._position(left_name), right._position(right_name, frame="the other frame")
    nodes = with_like_keys(left._node, right._node, [positions, *zip(left_by, right_by, strict=True)])
    nodes = with_alike_offsets(nodes[0], positions[0], nodes[1], positions[1])
    types = nodes[0].schema[positions[0]], nodes[1].schema[positions[1]]
    check_keys(*types, both_names("on", left_name, right_name))
    return nodes, positions, *types


def both_names(what: str, left: str, right: str) -> str:
    """Return an argument with the column names of both frames, for messages.

    Examples
    --------
    >>> both_names("on", "time", "time"), both_names("on", "time", "at")
    ("on 'time'", "on 'time' and 'at'")
    """
    return f"{what} {left!r}" if left == right else f"{what} {left!r} and {right!r}"


def suffixed_names(left: Sequence[str], right: Sequence[str], suffix: Any) -> list[str]:
    """Return the column names of two frames side by side: names that the left one has get a suffix in the right one.

    Raises
    ------
    SchemaError
        If the suffix is not text.
    TakenNameError
        If a name with its suffix is in use.

    Examples
    --------
    >>> suffixed_names(["a", "b"], ["b", "c"], "_right"), suffixed_names(["a", "b"], ["b"], None)
    (['a', 'b', 'b_right', 'c'], ['a', 'b', 'b.1'])
    """
    if suffix is None:
        return unique_names([*left, *right])
    if not isinstance(suffix, str) or not suffix:
        raise SchemaError(f"suffix must be a text such as '_right', got {suffix!r}")
    taken = FrameNames(left)
    renamed = [name + suffix if name in taken else name for name in right]
    used = [name for place, name in enumerate(renamed) if name in taken or name in renamed[:place]]
    if used:
        raise TakenNameError(f"suffix: there is a column {used[0]!r} already: choose another suffix")
    return [*left, *renamed]


def check_groups(what: str, left: ColumnType, right: ColumnType) -> None:
    """Raise an error if the values of two ``by`` columns cannot be compared.

    Raises
    ------
    SchemaError
        If columns of a type cannot be used for ``by``, or the types differ.
    """
    for column_type in (left, right):
        if column_type.kind not in GROUPS:
            raise SchemaError(f"{what}: a column of type {column_type.kind} cannot be grouped by: only {', '.join(GROUPS)} can")
    if left.kind != right.kind:
        raise SchemaError(f"{what}: columns of type {left.kind} and {right.kind} cannot be compared: convert one with astype()")
    if left != right:
        raise SchemaError(f"{what}: date-times with and without a time zone cannot be compared: give both an offset from UTC, or neither")


def distance_limit(value: Any, left: ColumnType, right: ColumnType, what: str) -> int | float | None:
    """Return the maximum distance between keys as a number in the keys' unit; None if ``value`` is None.

    Raises
    ------
    SchemaError
        If the value is not suitable for keys of these types.
    InvalidArgumentError
        If the value is negative.
    """
    if value is None:
        return None
    limit = parse_duration(value, FLOAT if right == FLOAT else left, what)
    if limit < 0:
        raise InvalidArgumentError(f"{what}: a distance must not be negative, got {value!r}")
    # Distances between ints are ints, so a fraction makes no difference.
    return limit if FLOAT in (left, right) else math.floor(limit)


def window_distance(value: Any, left: ColumnType, right: ColumnType, what: str) -> int | float | None:
    """Return how far windows reach in the keys' unit: zero for None, None (without end) for ``"all"``; it may be negative.

    Raises
    ------
    SchemaError
        If the value is not suitable for keys of these types.
    """
    if value is None or (type(value) is int and value == 0):
        return 0
    return None if isinstance(value, str) and value == ALL else parse_duration(value, FLOAT if right == FLOAT else left, what)


def row_distance(value: Any, what: str) -> int | None:
    """Return how many rows windows reach: zero for None, None (without end) for ``"all"``; it may be negative.

    Raises
    ------
    SchemaError
        If the value is not an int.

    Examples
    --------
    >>> row_distance(3, "before"), row_distance(None, "before"), row_distance("all", "before")
    (3, 0, None)
    """
    if value is None or value == ALL:
        return 0 if value is None else None
    if isinstance(value, bool) or not isinstance(value, int):
        raise SchemaError(f"{what}: windows without on= are counted in rows: give an int or 'all', got {value!r}")
    return value


def check_ends(distances: Sequence[int | float | None], before: Any, after: Any) -> None:
    """Raise an error if windows would end before they start.

    Raises
    ------
    InvalidArgumentError
        If they would.
    """
    low, high = distances
    if low is not None and high is not None and low + high < 0:
        raise InvalidArgumentError(f"window: it would end before it starts: before={before!r}, after={after!r}")
