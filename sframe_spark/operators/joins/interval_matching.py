"""Finds which intervals of two sides meet, where one side may consist of points; vectorized, over rows in memory."""

from __future__ import annotations

import attrs
import numpy as np

from sframe_spark.compute.sorting_and_searching import order_of
from sframe_spark.operators.lookup.key_numbers_and_group_codes import Numbers, Positions
from sframe_spark.operators.lookup.nearest_key_search import BlockIndex


@attrs.frozen(eq=False)
class Intervals:
    """Intervals of some rows. Of points ``low`` and ``high`` are the same array.

    Parameters
    ----------
    low, high
        Where each interval starts and ends, neither missing nor NaN.
    codes
        Code of the group of each row.
    rows
        Number of each row.
    """

    low: Numbers
    high: Numbers
    codes: Positions
    rows: Positions

    def at(self, chosen: Positions | slice | np.ndarray) -> Intervals:
        """Return some of the rows."""
        low = self.low[chosen]
        high = low if self.high is self.low else self.high[chosen]
        return Intervals(low, high, self.codes[chosen], self.rows[chosen])


@attrs.frozen
class Meeting:
    """The rule by which rows of two sides meet.

    Parameters
    ----------
    left_is_point, right_is_point
        Whether the rows of a side are points; a point meets the intervals that contain it.
    closed
        Which ends intervals contain: ``both``, ``left``, ``right`` or ``neither``. Two intervals meet if they overlap: if each starts before the
        other ends, or, with ``both``, where the other ends.
    grouped
        Whether rows must be of one group.
    """

    left_is_point: bool
    right_is_point: bool
    closed: str
    grouped: bool

    @property
    def has_start(self) -> bool:
        """Whether intervals contain their start."""
        return self.closed in ("both", "left")

    @property
    def has_end(self) -> bool:
        """Whether intervals contain their end."""
        return self.closed in ("both", "right")

    def are_whole(self, side: Intervals, is_point: bool) -> np.ndarray | None:
        """Return which intervals contain anything, so that they can overlap; None if that need not be known."""
        if is_point or self.left_is_point or self.right_is_point:
            return None
        return side.low <= side.high if self.closed == "both" else side.low < side.high

    def counts(self, left: Intervals, right: Intervals) -> Positions:
        """Return how many right rows each left row meets."""
        result = np.zeros(len(left.rows), dtype=np.int64)
        if (inside := self._left_points(left, right)) is not None:
            changes = np.bincount(inside.starts, minlength=len(result) + 1) - np.bincount(inside.stops, minlength=len(result) + 1)
            result[inside.order] += np.cumsum(changes[:-1])
        if (inside := self._right_points(left, right)) is not None:
            result += inside.stops - inside.starts
        return result

    def pairs(self, left: Intervals, right: Intervals) -> tuple[Positions, Positions]:
        """Return the positions of the left and the right row of each pair, in the order of the left rows, then in that of the right ones."""
        parts = []
        if (inside := self._left_points(left, right)) is not None:
            parts.append(inside.pairs()[::-1])
        if (inside := self._right_points(left, right)) is not None:
            parts.append(inside.pairs())
        # A right row that starts before a left row comes before those that start within it.
        lefts, rights = (np.concatenate(sides) if len(sides) > 1 else sides[0] for sides in zip(*parts, strict=True))
        if bool((lefts[1:] >= lefts[:-1]).all()):
            return lefts, rights
        order = order_of([lefts])
        return lefts[order], rights[order]

    def _left_points(self, left: Intervals, right: Intervals) -> Spans | None:
        """Return where left rows start within right ones; of two intervals, those that start earlier."""
        if self.right_is_point and not self.left_is_point:
            return None
        if self.left_is_point:
            return spans_of(left, right, not self.has_start, not self.has_end, self.grouped)
        return spans_of(left, right, True, self.closed != "both", self.grouped)

    def _right_points(self, left: Intervals, right: Intervals) -> Spans | None:
        """Return where right rows start within left ones; of two intervals, also where both start."""
        if self.left_is_point:
            return None
        if self.right_is_point:
            return spans_of(right, left, not self.has_start, not self.has_end, self.grouped)
        return spans_of(right, left, False, self.closed != "both", self.grouped)


@attrs.frozen(eq=False)
class Spans:
    """Which points are in which intervals: in interval ``i`` are the points ``order[starts[i] : stops[i]]``."""

    order: Positions
    starts: Positions
    stops: Positions

    def pairs(self) -> tuple[Positions, Positions]:
        """Return the interval and the point of each pair, interval by interval.

        Examples
        --------
        >>> [part.tolist() for part in Spans(np.array([2, 0, 1]), np.array([0, 1]), np.array([2, 2])).pairs()]
        [[0, 0, 1], [2, 0, 0]]
        """
        counts = self.stops - self.starts
        owners = np.repeat(np.arange(len(counts)), counts)
        places = np.arange(len(owners)) + np.repeat(self.starts - (np.cumsum(counts) - counts), counts)
        return owners, self.order[places]


def spans_of(points: Intervals, intervals: Intervals, open_start: bool, open_end: bool, grouped: bool) -> Spans:
    """Return which starts of the one rows are in the intervals of the others, in the order of the points and then of their rows."""
    keys, order = points.low, None
    if bool((keys[1:] < keys[:-1]).any()):
        order = order_of([keys])
        keys = keys[order]
    if not grouped:
        index = BlockIndex.ungrouped(0, keys)
        order = np.arange(len(keys)) if order is None else order
    else:
        codes = points.codes if order is None else points.codes[order]
        index = BlockIndex.of(0, keys, codes, np.ones(len(keys), dtype=bool))
        order = index.order() if order is None else order[index.order()]
    return Spans(order, *index.spans(intervals.low, intervals.high, intervals.codes, open_start, open_end))
