"""Values of cells of time that may have begun before some rows: they are kept until the rows before are known."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from sframe_spark.compute.sorting import order_of
from sframe_spark.operators.window.smoothing_kernel import TimeCells, summed_within
from sframe_spark.operators.window.smoothing_scan import CellSums, ValuesInTime

# More values are not sent from task to task: those of all ranges are in one process's memory until they are put together.
MOST_VALUES = 1 << 17


@attrs.frozen(eq=False)
class Heads:
    """Values of one cell of each of some owners, all that rows have of it.

    Parameters
    ----------
    owners
        Whose value it is: numbers that ascend.
    times
        They ascend for each owner.
    values
        The values.
    """

    owners: np.ndarray
    times: np.ndarray
    values: np.ndarray

    @classmethod
    def nothing(cls, dtype: np.dtype[Any]) -> Heads:
        """No value; times are of this type."""
        return cls(np.zeros(0, np.int64), np.zeros(0, dtype), np.zeros(0))

    @property
    def are_many(self) -> bool:
        """Whether these are too many to send."""
        return len(self.owners) > MOST_VALUES

    @property
    def starts(self) -> np.ndarray:
        """Where the values of each owner start."""
        return np.flatnonzero(np.diff(self.owners, prepend=-1))

    def taken(self, chosen: np.ndarray) -> Heads:
        """Some of the values."""
        return Heads(self.owners[chosen], self.times[chosen], self.values[chosen])

    def followed_by(self, later: Heads) -> Heads:
        """These values and later ones."""
        if not len(later.owners):
            return self
        pairs = ((self.owners, later.owners), (self.times, later.times), (self.values, later.values))
        both = Heads(*(np.concatenate(pair) for pair in pairs))
        return both.in_order()

    def renamed(self, owners: np.ndarray) -> Heads:
        """The same values, each owner under another number."""
        return attrs.evolve(self, owners=owners[self.owners]).in_order()

    def in_order(self) -> Heads:
        """Owner by owner."""
        return self if (self.owners[1:] >= self.owners[:-1]).all() else self.taken(order_of([self.owners]))

    def begun_elsewhere(self, earlier: Heads, cells: TimeCells) -> np.ndarray:
        """For each value, whether earlier values of its owner are of another cell."""
        if not len(earlier.owners) or not len(self.owners):
            return np.zeros(len(self.owners), dtype=bool)
        places = np.searchsorted(earlier.owners, self.owners, side="right") - 1
        return (places >= 0) & (earlier.owners[places] == self.owners) & (cells.begins(earlier.times)[places] != cells.begins(self.times))

    def in_cells(self, cells: TimeCells) -> CellSums:
        """Their sums in cells, the first of which begins with the first value of its owner."""
        starts = self.starts
        return ValuesInTime(self.times, self.values, starts).in_cells(self.owners[starts], cells)

    def added_to(self, earlier: CellSums, cells: TimeCells) -> CellSums:
        """Earlier cells, with these values in them or in cells after them."""
        if not len(self.owners):
            return earlier
        starts = self.starts
        owners, values = self.owners[starts], ValuesInTime(self.times, self.values, starts)
        begins = cells.begins(self.times)
        before, known = earlier.last_of(owners)
        same = known & (before.begins == begins[starts])
        sums = values.weighted(begins, cells)
        sums[:, starts] += np.where(same, before.sums, 0.0)
        added = CellSums(owners, begins[starts], summed_within(sums, starts)[:, values.lasts], np.where(same, before.before, 0.0))
        return earlier.replaced(added)


def in_two(times: np.ndarray, cells: TimeCells) -> tuple[slice, slice]:
    """Of times that ascend, those of the first cell, and the later ones of cells whose values make a difference at the end."""
    first, last = cells.begins(times[:1]), cells.begins(times[-1:])
    stop = first_place(len(times), lambda place: bool(cells.begins(times[place : place + 1]) != first))
    start = first_place(len(times), lambda place: bool(cells.are_felt(cells.begins(times[place : place + 1]), last)))
    return slice(0, stop), slice(max(start, stop), len(times))


def first_place(count: int, holds: Callable[[int], bool]) -> int:
    """The first of so many places where something holds, as it does in all after it.

    Examples
    --------
    >>> first_place(10, lambda place: place > 6), first_place(3, lambda place: False)
    (7, 3)
    """
    return bisect.bisect_left(range(count), True, key=holds)


@attrs.frozen(eq=False)
class SmoothedCells:
    """What some rows have in cells of time.

    Parameters
    ----------
    first
        The values of the first cell of each owner, which may have begun before; none where it did not; None where they are too many.
    later
        The cells after it.
    are_all
        Whether there are no rows before.
    """

    first: Heads | None
    later: CellSums
    are_all: bool

    @classmethod
    def nothing(cls, dtype: np.dtype[Any], are_all: bool) -> SmoothedCells:
        """No value; times are of this type."""
        return cls(Heads.nothing(dtype), CellSums.nothing(0, dtype), are_all)

    @classmethod
    def of(cls, values: ValuesInTime, owners: np.ndarray, cells: TimeCells) -> SmoothedCells:
        """Of groups of these owners, whose numbers ascend, with rows before that are not known."""
        first: np.ndarray | slice
        later: np.ndarray | slice
        if len(owners) == 1:
            first, later = in_two(values.times, cells)
        else:
            begins = cells.begins(values.times)
            is_first = begins == values.spread(begins[values.starts])
            first = np.flatnonzero(is_first)
            later = np.flatnonzero(~is_first & cells.are_felt(begins, values.spread(begins[values.lasts])))
        spread = values.spread(owners)
        head, rest = (Heads(spread[chosen], values.times[chosen], values.values[chosen]) for chosen in (first, later))
        return cls(head, rest.in_cells(cells), False).in_bounds()

    def in_bounds(self) -> SmoothedCells:
        """The same; nothing is known where values are too many."""
        if self.first is not None and not self.first.are_many:
            return self
        return SmoothedCells(None, CellSums.nothing(0, self.later.begins.dtype), self.are_all)

    def last_ones(self, cells: TimeCells) -> SmoothedCells:
        """The last cell of each owner, of all rows."""
        return attrs.evolve(self, later=self.later.last_ones(cells))

    def gone_on(self, last: CellSums) -> SmoothedCells:
        """The last cells of some owners in place of those before, of all rows."""
        return attrs.evolve(self, later=self.later.only(last))

    def followed_by(self, after: SmoothedCells, owners: np.ndarray, cells: TimeCells) -> SmoothedCells:
        """The cells of both; the owners of the later ones have these numbers here."""
        if self.first is None or after.first is None:
            return attrs.evolve(self, first=None).in_bounds()
        first = after.first.renamed(owners)
        later = CellSums.nothing(0, self.later.begins.dtype).joined(attrs.evolve(after.later, owners=owners[after.later.owners]))
        # Of a cell that begins in these rows the values are added up.
        begun = np.full(len(first.owners), self.are_all)
        begun |= self.later.places_of(first.owners)[1] | first.begun_elsewhere(self.first, cells)
        known = first.taken(np.flatnonzero(begun)).added_to(self.later, cells).joined(later).felt(cells)
        return SmoothedCells(self.first.followed_by(first.taken(np.flatnonzero(~begun))), known, self.are_all).in_bounds()
