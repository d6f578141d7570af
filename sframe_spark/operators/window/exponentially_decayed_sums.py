"""Exponentially decayed sums over time, with results that do not depend on batch boundaries.

Time is divided into cells of a few half-lives. Within a cell, weights are relative to the start of the cell, so a plain cumulative sum adds up
the weighted values. What remains (decayed) of the sums of earlier cells is added to it.
"""

from __future__ import annotations

import bisect
import math
from typing import Any

import attrs
import numpy as np

from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
from sframe_spark.compute.segmented_scan import RowGroups, accumulated
from sframe_spark.compute.sorting_and_searching import order_of

# Half-lives per cell; with so few, weights within a cell stay far above the smallest float.
HALF_LIVES = 64
# Weights are at most 2**-ROOM, so that sums of many large values stay finite.
ROOM = 40
# For cells of at most this many time units, weights are looked up in a table.
MAX_WEIGHTS_TABLED = 1 << 16
# After this many half-lives, even the largest float has decayed to less than the smallest one.
MAX_HALF_LIVES = 2300.0
# A run of equally long cells that has more values than this is summed by one cumulative sum; shorter runs step by step in parallel.
LONG_CELL = 128
# Number of cells in a stretch: hardly anything remains of a sum after so many cells. The last few cells of a stretch give a first guess of what
# remains at its end.
STRETCH, LAST_CELLS = 60, 6
# If there are fewer cells than this, processing them one at a time is faster.
FEW_CELLS = 1000


def decays(earlier: np.ndarray, later: np.ndarray, half_life: float) -> np.ndarray:
    """Return the factor by which a weight decays between two times.

    Examples
    --------
    >>> decays(np.array([0, -(2**63)]), np.array([3, 2**63 - 1]), 3.0).tolist()
    [0.5, 0.0]
    """
    gap = later - earlier
    if gap.dtype.kind == "f":
        # Between two equal infinities no time passes, but their difference would be NaN.
        gap = np.where(earlier == later, 0.0, gap)
    elif len(gap) and gap.min() < 0:
        # The difference of ints that are far apart has wrapped around.
        gap = np.where(gap >= 0, gap, later.astype(np.float64) - earlier.astype(np.float64))
    return np.exp2(gap / -half_life)


@attrs.frozen(eq=False)
class TimeCells:
    """Cells of time, counted from time zero.

    Parameters
    ----------
    half_life
        The half-life, in the unit of the times.
    length
        The length of a cell, in the type of the times.
    """

    half_life: float
    length: Any

    @classmethod
    def of(cls, half_life: float, dtype: np.dtype[Any]) -> TimeCells:
        """Return cells that are a few half-lives long.

        Examples
        --------
        >>> [TimeCells.of(half_life, np.dtype(np.int64)).length for half_life in (0.01, 3.0, 1e300)]
        [1, 192, 4611686018427387904]
        """
        if dtype.kind == "f":
            # If the length is a power of two, dividing floats by it does not round.
            return cls(half_life, math.ldexp(0.5, math.frexp(min(half_life * HALF_LIVES, 1e308))[1]))
        return cls(half_life, max(1, round(min(half_life * HALF_LIVES, 2.0**62))))

    def begins(self, times: np.ndarray) -> np.ndarray:
        """Return the start of the cell of each time.

        Examples
        --------
        >>> TimeCells.of(1.0, np.dtype(np.int64)).begins(np.array([-1, 0, 65])).tolist()
        [-64, 0, 64]
        """
        if times.dtype.kind == "f":
            cells = np.floor(times / self.length) * self.length
            # Infinite times, and times whose cell number overflows, are cells of their own.
            return np.where(np.isfinite(cells), cells, times)
        if self.length == 1:
            return times
        cells = times // self.length
        cells *= self.length
        # The first cell of ints might begin before the smallest int.
        return np.where(cells > times, np.int64(-(2**63)), cells) if len(times) and times.min() < self.length - 2**63 else cells

    def weights(self, times: np.ndarray, begins: np.ndarray) -> np.ndarray:
        """Return the weight of a value at each time relative to its cell, scaled down so that sums stay finite."""
        if times.dtype.kind == "f":
            return self._weights_after(np.where(times == begins, 0.0, times - begins))
        if self.length > MAX_WEIGHTS_TABLED:
            return self._weights_after((times - begins).astype(np.float64))
        return self._weights_after(np.arange(self.length, dtype=np.float64)).take(times - begins)

    def _weights_after(self, passed: np.ndarray) -> np.ndarray:
        """Return the weights of values at some distance from the start of a cell."""
        longest = float(self.length if isinstance(self.length, float) else self.length - 1)
        whole = np.floor(passed / self.half_life)
        # Weights of values that are a half-life apart differ by exactly a factor of two.
        parts = np.exp2((passed - whole * self.half_life) / self.half_life)
        max_half_lives = math.ceil(longest / self.half_life)
        parts *= np.ldexp(1.0, np.arange(-max_half_lives, 1) - ROOM).take(whole.astype(np.int64))
        return parts

    def are_still_effective(self, times: np.ndarray, lasts: np.ndarray) -> np.ndarray:
        """Return whether a value at each time can still affect results at a later time."""
        return ~(lasts.astype(np.float64) - times.astype(np.float64) > MAX_HALF_LIVES * self.half_life)


def summed_within(numbers: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Compute cumulative sums of two rows of numbers within segments, in place, and return them.

    Parameters
    ----------
    numbers
        Two rows, interleaved in memory.
    starts
        Start of each segment.

    Examples
    --------
    >>> summed_within(np.array([[1.0, 0.5], [2.0, 0.5], [4.0, 1.0], [8.0, 2.0]]).T, np.array([0, 2])).tolist()
    [[1.0, 3.0, 4.0, 12.0], [0.5, 1.0, 1.0, 3.0]]
    """
    # Both rows are summed together as complex numbers.
    pairs = numbers.T.view(np.complex128)[:, 0]
    counts = np.diff(starts, append=len(pairs))
    # Consecutive segments of equal length are summed as a table.
    firsts = np.flatnonzero(np.diff(counts, prepend=-1))
    stops = np.append(firsts[1:], len(starts))
    are_long = (stops - firsts) * counts[firsts] > LONG_CELL
    for first, stop in zip(firsts[are_long].tolist(), stops[are_long].tolist(), strict=True):
        part = pairs[starts[first] : starts[first] + counts[first] * (stop - first)].reshape(stop - first, -1)
        np.cumsum(part, axis=1, out=part)
    short = np.flatnonzero(~np.repeat(are_long, stops - firsts) & (counts > 1))
    # NumPy sorts 8-bit ints by counting.
    order = short[np.argsort((LONG_CELL - counts[short]).astype(np.uint8), kind="stable")]
    begins = starts[order]
    # For each step, the number of segments that are longer than this step.
    longer = np.searchsorted(-counts[order], -np.arange(1, counts[order[0]] if len(order) else 1), side="left")
    for step, many in enumerate(longer.tolist(), start=1):
        positions = begins[:many] + step
        pairs[positions] += pairs[positions - 1]
    return numbers


def carried(first: np.ndarray, sums: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return what remains of all earlier cells at the start of each cell.

    The result is exactly that of the recurrence ``carried[i] = (carried[i - 1] + sums[i - 1]) * left[i]``, but stretches of cells are processed in
    parallel, each from a guess of what remains at the end of the stretch before. Stretches with a wrong guess are processed again.

    Parameters
    ----------
    first
        What remains at the start of cells for which ``left`` is zero.
    sums
        The sum of each cell.
    left
        The decay from the start of the cell before to the start of each cell; zero for the first cell of a group.

    Examples
    --------
    >>> carried(np.array([[7.0, 0.0, 0.0]]), np.array([[1.0, 4.0, 2.0]]), np.array([0.0, 0.5, 0.5])).tolist()
    [[7.0, 4.0, 4.0]]
    """
    rows, count = sums.shape
    if count <= FEW_CELLS:
        return np.array([one_by_one(*row, left.tolist()) for row in zip(first.tolist(), sums.tolist(), strict=True)]).reshape(rows, count)
    steps = min(count, STRETCH)
    stretches = -(-count // steps)
    shares = in_stretches(left[np.newaxis], steps, stretches)[:, 0]
    initial, added = (in_stretches(numbers, steps, stretches) for numbers in (first, np.concatenate([np.zeros((rows, 1)), sums[:, :-1]], axis=1)))
    before = np.zeros((rows, stretches))
    # The last few cells of a stretch mostly determine what remains at its end.
    before[:, 1:] = decayed_steps(before, initial[-LAST_CELLS:], added[-LAST_CELLS:], shares[-LAST_CELLS:])[-1, :, :-1]
    result = decayed_steps(before, initial, added, shares)
    while True:
        # Compared by their bits, so that NaN equals itself.
        changed = np.flatnonzero((result[-1, :, :-1].view(np.int64) != before[:, 1:].view(np.int64)).any(axis=0)) + 1
        if not len(changed):
            return result.transpose(1, 2, 0).reshape(rows, -1)[:, :count]
        before[:, changed] = result[-1][:, changed - 1]
        result[:, :, changed] = decayed_steps(before[:, changed], initial[:, :, changed], added[:, :, changed], shares[:, changed])


def one_by_one(first: list[float], sums: list[float], left: list[float]) -> list[float]:
    """Return the result of :func:`carried` for one row, computed cell by cell."""
    result, total = [], 0.0
    for initial, added, share in zip(first, sums, left, strict=True):
        result.append(total * share if share else initial)
        total = result[-1] + added
    return result


def in_stretches(numbers: np.ndarray, steps: int, stretches: int) -> np.ndarray:
    """Return numbers by step, row and stretch; the last stretch is padded with zeros."""
    filled = np.zeros((len(numbers), steps * stretches))
    filled[:, : numbers.shape[1]] = numbers
    return np.ascontiguousarray(filled.reshape(len(numbers), stretches, steps).transpose(2, 0, 1))


def decayed_steps(before: np.ndarray, initial: np.ndarray, added: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return what is carried at each step of some stretches, given what is carried into the stretches."""
    result = np.empty_like(initial)
    nothing = shares == 0.0
    for step in range(len(result)):
        np.add(before, added[step], out=result[step])
        result[step] *= shares[step]
        np.copyto(result[step], initial[step], where=nothing[step])
        before = result[step]
    return result


@attrs.frozen(eq=False)
class CellSums:
    """Decayed sums by owner (a group) and cell of time.

    Parameters
    ----------
    owners
        Owner of each cell, ascending.
    begins
        Start of each cell, ascending for each owner.
    sums
        Two rows: in each cell the sum of the weighted values, and the sum of the weights.
    before
        What remains of earlier cells at the start of the cell; known only for the first cell of an owner.
    """

    owners: np.ndarray
    begins: np.ndarray
    sums: np.ndarray
    before: np.ndarray

    @classmethod
    def nothing(cls, count: int, dtype: np.dtype[Any]) -> CellSums:
        """Return empty cells without an owner."""
        return cls(np.full(count, -1), np.zeros(count, dtype), np.zeros((2, count)), np.zeros((2, count)))

    def at(self, chosen: np.ndarray) -> CellSums:
        """Return some of the cells."""
        return CellSums(self.owners[chosen], self.begins[chosen], self.sums[:, chosen], self.before[:, chosen])

    def joined(self, other: CellSums) -> CellSums:
        """Return these cells and others, sorted by owner; for each owner these cells come first."""
        pairs = ((self.owners, other.owners), (self.begins, other.begins), (self.sums, other.sums), (self.before, other.before))
        both = CellSums(*(np.concatenate(pair, axis=-1) for pair in pairs))
        return both if (both.owners[1:] >= both.owners[:-1]).all() else both.at(order_of([both.owners]))

    def positions_of(self, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the position of the last cell of each owner, and a mask of the owners that have a cell."""
        table = np.full(int(max(self.owners.max(initial=-1), owners.max(initial=-1))) + 1, -1)
        table[self.owners] = np.arange(len(self.owners))
        return table[owners], table[owners] >= 0

    def last_of(self, owners: np.ndarray) -> tuple[CellSums, np.ndarray]:
        """Return the last cell of each owner (an empty one if there is none), and a mask of the owners that have a cell."""
        positions, is_known = self.positions_of(owners)
        if is_known.all():
            return self.at(positions), is_known
        result, cells = CellSums.nothing(len(owners), self.begins.dtype), self.at(positions[is_known])
        result.begins[is_known], result.sums[:, is_known], result.before[:, is_known] = cells.begins, cells.sums, cells.before
        return result, is_known

    def replaced(self, other: CellSums) -> CellSums:
        """Return these cells, with cells of the same owner and time replaced by cells of ``other``, whose remaining cells are added."""
        positions, is_replaced = other.positions_of(self.owners)
        if is_replaced.any():
            is_replaced &= self.begins == other.begins[positions]
        return (self.at(np.flatnonzero(~is_replaced)) if is_replaced.any() else self).joined(other)

    def overlaid(self, other: CellSums) -> CellSums:
        """Return these cells, with the cells of ``other`` instead of the cells with the same owner; both must have at most one cell per owner."""
        positions, is_known = self.positions_of(other.owners)
        result = CellSums(self.owners, self.begins.copy(), self.sums.copy(), self.before.copy())
        for old, new in ((result.begins, other.begins), (result.sums, other.sums), (result.before, other.before)):
            old[..., positions[is_known]] = new[..., is_known]
        return result if is_known.all() else result.joined(other.at(np.flatnonzero(~is_known)))

    def still_effective(self, cells: TimeCells) -> CellSums:
        """Return the cells that can still affect the last cell of their owner."""
        still_effective = cells.are_still_effective(self.begins, self.begins[self.positions_of(self.owners)[0]])
        return self if still_effective.all() else self.at(np.flatnonzero(still_effective))

    def only_last_cells(self, cells: TimeCells) -> CellSums:
        """Return the last cell of each owner, with what remains of earlier cells."""
        goes_on = np.zeros(len(self.owners), dtype=bool)
        goes_on[1:] = self.owners[1:] == self.owners[:-1]
        if not goes_on.any():
            return self
        left = np.zeros(len(self.owners))
        left[1:] = np.where(goes_on[1:], decays(self.begins[:-1], self.begins[1:], cells.half_life), 0.0)
        before = carried(np.where(goes_on, 0.0, self.before), self.sums, left)
        return attrs.evolve(self, before=before).at(np.flatnonzero(np.append(~goes_on[1:], True)))


@attrs.frozen(eq=False)
class ValuesInTime:
    """Values with their times, group by group; times do not descend within a group.

    Parameters
    ----------
    times
        Time of each value.
    values
        The values, as floats.
    starts
        Start of each group; no group is empty.
    """

    times: np.ndarray
    values: np.ndarray
    starts: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Number of values of each group."""
        return np.diff(self.starts, append=len(self.times))

    @property
    def lasts(self) -> np.ndarray:
        """Position of the last value of each group."""
        return self.starts + self.counts - 1

    def spread(self, numbers: np.ndarray) -> np.ndarray:
        """Return one number per group, repeated for each value of the group."""
        return np.broadcast_to(numbers, self.times.shape) if len(numbers) == 1 else np.repeat(numbers, self.counts)

    def _special(self) -> np.ndarray | None:
        """Return the values that are not finite, with zero for the others; None if all are finite."""
        finite = np.isfinite(self.values)
        return None if finite.all() else np.where(finite, 0.0, self.values)

    def specials(self) -> np.ndarray:
        """Return for each group the sum of the values that are not finite."""
        special = self._special()
        return np.zeros(len(self.starts)) if special is None else np.add.reduceat(special, self.starts)

    def specials_so_far(self, before: np.ndarray) -> np.ndarray:
        """Return the sum of non-finite values up to each value, given the sum before each group."""
        special, specials = self._special(), self.spread(before)
        if special is None:
            return specials
        return specials + accumulated((special,), RowGroups([], np.arange(len(self.times)), self.starts), (np.add,))[0]

    def cell_starts(self, begins: np.ndarray) -> np.ndarray:
        """Return the start of each cell of each group."""
        is_start = np.empty(len(begins), dtype=bool)
        np.not_equal(begins[1:], begins[:-1], out=is_start[1:])
        is_start[self.starts] = True
        return np.flatnonzero(is_start)

    def weighted(self, begins: np.ndarray, cells: TimeCells) -> np.ndarray:
        """Return two interleaved rows: weighted values (zero if not finite) and weights."""
        result = new_array(2 * len(self.times), np.float64).reshape(-1, 2).T
        result[1] = cells.weights(self.times, begins)
        np.multiply(self.values, result[1], out=result[0])
        if self._special() is not None:
            result[0][~np.isfinite(self.values)] = 0.0
        return result

    def in_cells(self, owners: np.ndarray, cells: TimeCells) -> CellSums:
        """Return sums by cell. The first value of each group must be the first value of its cell; ``owners`` are the owners of the groups."""
        if not len(owners):
            return CellSums.nothing(0, self.times.dtype)
        begins = cells.begins(self.times)
        starts = self.cell_starts(begins)
        sums = summed_within(self.weighted(begins, cells), starts)[:, np.append(starts[1:], len(begins)) - 1]
        return CellSums(self.spread(owners)[starts], begins[starts], sums, np.zeros_like(sums))

    def scanned(self, owners: np.ndarray, before: CellSums, is_known: np.ndarray, cells: TimeCells) -> tuple[np.ndarray, CellSums]:
        """Return the weighted sum and the sum of weights after each value, and the last cell of each group.

        ``before`` is the last cell of each group before the batch, if ``is_known`` says that there is one.
        """
        begins = cells.begins(self.times)
        starts = self.cell_starts(begins)
        firsts, ends = np.searchsorted(starts, self.starts), np.append(starts[1:], len(begins)) - 1
        same = is_known & (before.begins == begins[self.starts])
        left = np.zeros(len(starts))
        left[1:] = decays(begins[starts[:-1]], begins[starts[1:]], cells.half_life)
        left[firsts] = 0.0
        first = np.zeros((2, len(starts)))
        shares = np.where(is_known, decays(before.begins, begins[self.starts], cells.half_life), 0.0)
        first[:, firsts] = np.where(same, before.before, np.where(shares > 0.0, (before.before + before.sums) * shares, 0.0))
        result = self.weighted(begins, cells)
        result[:, self.starts] += np.where(same, before.sums, 0.0)
        result = summed_within(result, starts)
        sums = result[:, ends]
        earlier = carried(first, sums, left)
        result += np.repeat(earlier, ends + 1 - starts, axis=1)
        lasts = np.append(firsts[1:], len(starts)) - 1
        return result, CellSums(owners, begins[starts[lasts]], sums[:, lasts], earlier[:, lasts])


# Values of cells that may have begun before a row range. They are kept individually until the rows before the range are known.

# More values are not sent between tasks, because one process holds the values of all ranges until they are merged.
MAX_VALUES = 1 << 17


@attrs.frozen(eq=False)
class FirstCellValues:
    """All values of a row range that are in the first cell of their owner.

    Parameters
    ----------
    owners
        Owner of each value, ascending.
    times
        Time of each value; times do not descend for an owner.
    values
        The values, as floats.
    """

    owners: np.ndarray
    times: np.ndarray
    values: np.ndarray

    @classmethod
    def nothing(cls, dtype: np.dtype[Any]) -> FirstCellValues:
        """Return no values; ``dtype`` is the type of times."""
        return cls(np.zeros(0, np.int64), np.zeros(0, dtype), np.zeros(0))

    @property
    def are_many(self) -> bool:
        """Whether there are too many values to send to another process."""
        return len(self.owners) > MAX_VALUES

    @property
    def starts(self) -> np.ndarray:
        """Position of the first value of each owner."""
        return np.flatnonzero(np.diff(self.owners, prepend=-1))

    def at(self, chosen: np.ndarray) -> FirstCellValues:
        """Return some of the values."""
        return FirstCellValues(self.owners[chosen], self.times[chosen], self.values[chosen])

    def followed_by(self, later: FirstCellValues) -> FirstCellValues:
        """Return these values followed by later ones, sorted by owner."""
        pairs = ((self.owners, later.owners), (self.times, later.times), (self.values, later.values))
        return FirstCellValues(*map(np.concatenate, pairs)).in_order()

    def renamed(self, owners: np.ndarray) -> FirstCellValues:
        """Return the same values with other owner numbers."""
        return attrs.evolve(self, owners=owners[self.owners]).in_order()

    def in_order(self) -> FirstCellValues:
        """Return the same values in a stable sort by owner."""
        return self if (self.owners[1:] >= self.owners[:-1]).all() else self.at(order_of([self.owners]))

    def in_other_cells(self, earlier: FirstCellValues, cells: TimeCells) -> np.ndarray:
        """Return for each value whether earlier values of its owner are in another cell."""
        if not len(earlier.owners) or not len(self.owners):
            return np.zeros(len(self.owners), dtype=bool)
        positions = np.searchsorted(earlier.owners, self.owners, side="right") - 1
        return (positions >= 0) & (earlier.owners[positions] == self.owners) & (cells.begins(earlier.times)[positions] != cells.begins(self.times))

    def in_cells(self, cells: TimeCells) -> CellSums:
        """Return sums by cell. The first value of each owner must be the first value of its cell."""
        starts = self.starts
        return ValuesInTime(self.times, self.values, starts).in_cells(self.owners[starts], cells)

    def added_to(self, earlier: CellSums, cells: TimeCells) -> CellSums:
        """Return earlier cells with these values added, to the last cell of their owner or as new cells."""
        starts = self.starts
        owners, values = self.owners[starts], ValuesInTime(self.times, self.values, starts)
        begins = cells.begins(self.times)
        before, is_known = earlier.last_of(owners)
        same = is_known & (before.begins == begins[starts])
        sums = values.weighted(begins, cells)
        sums[:, starts] += np.where(same, before.sums, 0.0)
        added = CellSums(owners, begins[starts], summed_within(sums, starts)[:, values.lasts], np.where(same, before.before, 0.0))
        return earlier.replaced(added)


def first_and_later_times(times: np.ndarray, cells: TimeCells) -> tuple[slice, slice]:
    """Split ascending times into the times of the first cell, and the times of later cells that still affect the last cell."""
    first, last = cells.begins(times[:1]), cells.begins(times[-1:])
    stop = bisect.bisect_left(times, True, key=lambda time: bool(cells.begins(np.array([time])) != first))
    start = bisect.bisect_left(times, True, key=lambda time: bool(cells.are_still_effective(cells.begins(np.array([time])), last)))
    return slice(0, stop), slice(max(start, stop), len(times))


@attrs.frozen(eq=False)
class SmoothedCells:
    """The values of a row range, by cell of time.

    Parameters
    ----------
    first
        The individual values of each owner's first cell, if the cell may have begun before the range; None if they are too many.
    later
        The sums of all other cells.
    are_all
        Whether the range starts with the first of all rows.
    """

    first: FirstCellValues | None
    later: CellSums
    are_all: bool

    @classmethod
    def nothing(cls, dtype: np.dtype[Any], are_all: bool) -> SmoothedCells:
        """Return no values; ``dtype`` is the type of times."""
        return cls(FirstCellValues.nothing(dtype), CellSums.nothing(0, dtype), are_all)

    @classmethod
    def of(cls, values: ValuesInTime, owners: np.ndarray, cells: TimeCells) -> SmoothedCells:
        """Return the cells of a range whose earlier rows are unknown; ``owners`` (ascending) are the owners of the groups."""
        first: np.ndarray | slice
        later: np.ndarray | slice
        if len(owners) == 1:
            first, later = first_and_later_times(values.times, cells)
        else:
            begins = cells.begins(values.times)
            is_first = begins == values.spread(begins[values.starts])
            first = np.flatnonzero(is_first)
            later = np.flatnonzero(~is_first & cells.are_still_effective(begins, values.spread(begins[values.lasts])))
        spread = values.spread(owners)
        head, rest = (FirstCellValues(spread[chosen], values.times[chosen], values.values[chosen]) for chosen in (first, later))
        return cls(head, rest.in_cells(cells), False).in_bounds()

    def in_bounds(self) -> SmoothedCells:
        """Return the same cells; without any values if there are too many individual values."""
        if self.first is not None and not self.first.are_many:
            return self
        return SmoothedCells(None, CellSums.nothing(0, self.later.begins.dtype), self.are_all)

    def only_last_cells(self, cells: TimeCells) -> SmoothedCells:
        """Return only the last cell of each owner; the range must start with the first of all rows."""
        return attrs.evolve(self, later=self.later.only_last_cells(cells))

    def with_last_cells(self, last: CellSums) -> SmoothedCells:
        """Return the cells with the last cells of some owners replaced; the range must start with the first of all rows."""
        return attrs.evolve(self, later=self.later.overlaid(last))

    def followed_by(self, after: SmoothedCells, owners: np.ndarray, cells: TimeCells) -> SmoothedCells:
        """Return the cells of two adjacent ranges; ``owners`` maps owner numbers of the second range to the owner numbers of the first."""
        if self.first is None or after.first is None:
            return attrs.evolve(self, first=None).in_bounds()
        first = after.first.renamed(owners)
        later = CellSums.nothing(0, self.later.begins.dtype).joined(attrs.evolve(after.later, owners=owners[after.later.owners]))
        # Values are summed if their cell is known to begin within the two ranges.
        begins_here = np.full(len(first.owners), self.are_all)
        begins_here |= self.later.positions_of(first.owners)[1] | first.in_other_cells(self.first, cells)
        is_known = first.at(np.flatnonzero(begins_here)).added_to(self.later, cells).joined(later).still_effective(cells)
        return SmoothedCells(self.first.followed_by(first.at(np.flatnonzero(~begins_here))), is_known, self.are_all).in_bounds()
