"""Time in cells of a few half-lives, and what is left of the values of earlier cells at the beginning of each: the same however rows are cut.

Within a cell weights count from its beginning, so weighted values add up one after the other, as numpy does quickly.
What is left of earlier cells is added to that.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from sframe_spark.compute.arrow_buffers import new_array
from sframe_spark.compute.sorting import order_of
from sframe_spark.operators.window.segmented_scan import RowGroups, accumulated

# So many half-lives are a cell: weights of one are far from the smallest float.
HALF_LIVES = 64
# Weights are at most the inverse of two to this power: so many values of one moment add up to a float.
ROOM = 40
# Weights of so many moments of a cell are looked up.
MAX_WEIGHTS_TABLED = 1 << 16
# After so many half-lives less is left of a weight than any float but zero.
MIN_EXPONENT = -1075
# After so many, the largest float is less than the last bit of the smallest one.
MAX_HALF_LIVES = 2300.0
# Longer cells are added up one by one, others side by side.
LONG_CELL = 128
# So many cells are a stretch: most of the time all that is older is too old to matter.
STRETCH, LAST_CELLS = 60, 6
# Fewer cells take less time one by one.
FEW_CELLS = 1500


def decays(earlier: np.ndarray, later: np.ndarray, half_life: float) -> np.ndarray:
    """What is left of a weight between two times.

    Examples
    --------
    >>> decays(np.array([0, -(2**63)]), np.array([3, 2**63 - 1]), 3.0).tolist()
    [0.5, 0.0]
    """
    gap = later - earlier
    if gap.dtype.kind == "f":
        # Between two equal infinities no time passes, but their difference is NaN.
        gap = np.where(earlier == later, 0.0, gap)
    elif len(gap) and gap.min() < 0:
        # Ints far apart wrap around.
        gap = np.where(gap >= 0, gap, later.astype(np.float64) - earlier.astype(np.float64))
    if len(gap) and gap.min() == gap.max():
        # On a regular grid, as that of row numbers, every step is the same.
        return np.broadcast_to(np.exp2(gap[:1] / -half_life), gap.shape)
    exponents = gap / -half_life
    # Numpy takes long for results that are zero, or almost.
    some = exponents > MIN_EXPONENT
    if some.all():
        return np.exp2(exponents)
    left = np.zeros(len(gap))
    left[some] = np.exp2(exponents[some])
    return left


@attrs.frozen(eq=False)
class TimeCells:
    """Cells of time, counted from zero.

    Parameters
    ----------
    half_life
        The half-life.
    length
        How long a cell is, in the type of the times.
    """

    half_life: float
    length: Any

    @classmethod
    def of(cls, half_life: float, dtype: np.dtype[Any]) -> TimeCells:
        """Those of a few half-lives each.

        Examples
        --------
        >>> [TimeCells.of(half_life, np.dtype(np.int64)).length for half_life in (0.01, 3.0, 1e300)]
        [1, 192, 4611686018427387904]
        """
        if dtype.kind == "f":
            # Floats are cut at multiples of a power of two without rounding.
            return cls(half_life, math.ldexp(0.5, math.frexp(min(half_life * HALF_LIVES, 1e308))[1]))
        return cls(half_life, max(1, round(min(half_life * HALF_LIVES, 2.0**62))))

    def begins(self, times: np.ndarray) -> np.ndarray:
        """When the cell of each time begins.

        Examples
        --------
        >>> TimeCells.of(1.0, np.dtype(np.int64)).begins(np.array([-1, 0, 65])).tolist()
        [-64, 0, 64]
        """
        if times.dtype.kind == "f":
            cells = np.floor(times / self.length) * self.length
            # Infinite times, and those that are so many cells away.
            return np.where(np.isfinite(cells), cells, times)
        if self.length == 1:
            return times
        cells = times // self.length
        cells *= self.length
        # The first one that ints have may begin before the smallest of them.
        return np.where(cells > times, np.int64(-(2**63)), cells) if len(times) and times.min() < self.length - 2**63 else cells

    def weights(self, times: np.ndarray, begins: np.ndarray) -> np.ndarray:
        """What a value of each time weighs in its cell, which begins when it says: little, so that sums stay floats."""
        if times.dtype.kind == "f":
            return self._weights_after(np.where(times == begins, 0.0, times - begins))
        if self.length > MAX_WEIGHTS_TABLED:
            return self._weights_after((times - begins).astype(np.float64))
        return self._weights_after(np.arange(self.length, dtype=np.float64)).take(times - begins)

    def _weights_after(self, passed: np.ndarray) -> np.ndarray:
        """What values weigh so long after the beginning of a cell."""
        longest = float(self.length if isinstance(self.length, float) else self.length - 1)
        whole = np.floor(passed / self.half_life)
        # Values a half-life apart weigh twice as much, to the last bit.
        parts = np.exp2((passed - whole * self.half_life) / self.half_life)
        most = math.ceil(longest / self.half_life)
        parts *= np.ldexp(1.0, np.arange(-most, 1) - ROOM).take(whole.astype(np.int64))
        return parts

    def are_felt(self, times: np.ndarray, lasts: np.ndarray) -> np.ndarray:
        """Whether a value of each time may make a difference at another time."""
        return ~(lasts.astype(np.float64) - times.astype(np.float64) > MAX_HALF_LIVES * self.half_life)


def summed_within(numbers: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Of pairs of numbers, sums so far from each start on, one pair after the other; in their place.

    Parameters
    ----------
    numbers
        Two rows; the numbers of a pair lie side by side in memory.
    starts
        Places of the first pairs.

    Examples
    --------
    >>> summed_within(np.array([[1.0, 0.5], [2.0, 0.5], [4.0, 1.0], [8.0, 2.0]]).T, np.array([0, 2])).tolist()
    [[1.0, 3.0, 4.0, 12.0], [0.5, 1.0, 1.0, 3.0]]
    """
    # To numpy two floats are a complex number: they are added up at once.
    pairs = numbers.T.view(np.complex128)[:, 0]
    counts = np.diff(starts, append=len(pairs))
    # Cells that are as long as those beside them are added up together.
    firsts = np.flatnonzero(np.diff(counts, prepend=-1))
    stops = np.append(firsts[1:], len(starts))
    are_long = (stops - firsts) * counts[firsts] > LONG_CELL
    for first, stop in zip(firsts[are_long].tolist(), stops[are_long].tolist(), strict=True):
        part = pairs[starts[first] : starts[first] + counts[first] * (stop - first)].reshape(stop - first, -1)
        np.cumsum(part, axis=1, out=part)
    short = np.flatnonzero(~np.repeat(are_long, stops - firsts) & (counts > 1))
    # Numpy sorts ints of eight bits in one pass.
    order = short[np.argsort((LONG_CELL - counts[short]).astype(np.uint8), kind="stable")]
    begins = starts[order]
    # How many cells have more numbers than so many.
    longer = np.searchsorted(-counts[order], -np.arange(1, counts[order[0]] if len(order) else 1), side="left")
    for step, many in enumerate(longer.tolist(), start=1):
        places = begins[:many] + step
        pairs[places] += pairs[places - 1]
    return numbers


def carried(first: np.ndarray, sums: np.ndarray, left: np.ndarray) -> np.ndarray:
    """What is left at the beginning of each cell: of the sum of the cell before it, and of what was left at the beginning of that.

    As if cells were gone through one after the other: stretches of them are side by side, with what the one before each
    may give to it. Where it gives something else, that one is gone through anew.

    Parameters
    ----------
    first
        What is left where nothing is of the cell before.
    sums
        The sum of each cell.
    left
        The share that is left from the beginning of the cell before to that of each; zero for the first one.

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
    given, added = (in_stretches(numbers, steps, stretches) for numbers in (first, np.concatenate([np.zeros((rows, 1)), sums[:, :-1]], axis=1)))
    before = np.zeros((rows, stretches))
    # The last few cells of a stretch tell most often what goes over to the next one.
    before[:, 1:] = decayed_steps(before, given[-LAST_CELLS:], added[-LAST_CELLS:], shares[-LAST_CELLS:])[-1, :, :-1]
    found = decayed_steps(before, given, added, shares)
    while True:
        # NaN is equal to itself here.
        changed = np.flatnonzero((found[-1, :, :-1].view(np.int64) != before[:, 1:].view(np.int64)).any(axis=0)) + 1
        if not len(changed):
            return found.transpose(1, 2, 0).reshape(rows, -1)[:, :count]
        before[:, changed] = found[-1][:, changed - 1]
        found[:, :, changed] = decayed_steps(before[:, changed], given[:, :, changed], added[:, :, changed], shares[:, changed])


def one_by_one(first: list[float], sums: list[float], left: list[float]) -> list[float]:
    """What is left at the beginning of each of some cells."""
    found, total = [], 0.0
    for given, added, share in zip(first, sums, left, strict=True):
        before = total * share if share else given
        found.append(before)
        total = before + added
    return found


def in_stretches(numbers: np.ndarray, steps: int, stretches: int) -> np.ndarray:
    """Numbers by step, row and stretch; the last stretch is filled up with zeros."""
    filled = np.zeros((len(numbers), steps * stretches))
    filled[:, : numbers.shape[1]] = numbers
    return np.ascontiguousarray(filled.reshape(len(numbers), stretches, steps).transpose(2, 0, 1))


def decayed_steps(before: np.ndarray, given: np.ndarray, added: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """What is left at each step of some stretches, given what is before the first one."""
    found = np.empty_like(given)
    nothing = shares == 0.0
    for step in range(len(found)):
        np.add(before, added[step], out=found[step])
        found[step] *= shares[step]
        np.copyto(found[step], given[step], where=nothing[step])
        before = found[step]
    return found


# Sums of values that lose half their weight with every half-life: after each value, after the last one, and of two runs of rows together.


@attrs.frozen(eq=False)
class CellSums:
    """Sums of values in cells of time, which some owners have one after the other.

    Parameters
    ----------
    owners
        Whose cell it is: numbers that ascend.
    begins
        When it begins; they ascend for each owner.
    sums
        The weighted values and the weights in it, added up from its first value on.
    before
        What is left when it begins of those before it, known of the first cell of an owner alone.
    """

    owners: np.ndarray
    begins: np.ndarray
    sums: np.ndarray
    before: np.ndarray

    @classmethod
    def nothing(cls, count: int, dtype: np.dtype[Any]) -> CellSums:
        """Cells without values, of no owner."""
        return cls(np.full(count, -1), np.zeros(count, dtype), np.zeros((2, count)), np.zeros((2, count)))

    def taken(self, chosen: np.ndarray) -> CellSums:
        """Some of the cells."""
        return CellSums(self.owners[chosen], self.begins[chosen], self.sums[:, chosen], self.before[:, chosen])

    def joined(self, other: CellSums) -> CellSums:
        """These cells and others, owner by owner; of the same owner these come first."""
        pairs = ((self.owners, other.owners), (self.begins, other.begins), (self.sums, other.sums), (self.before, other.before))
        both = CellSums(*(np.concatenate(pair, axis=-1) for pair in pairs))
        return both if (both.owners[1:] >= both.owners[:-1]).all() else both.taken(order_of([both.owners]))

    def places_of(self, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the last cell of some owners is, and which of these have one."""
        table = np.full(int(max(self.owners.max(initial=-1), owners.max(initial=-1))) + 1, -1)
        table[self.owners] = np.arange(len(self.owners))
        places = table[owners]
        return places, places >= 0

    def last_of(self, owners: np.ndarray) -> tuple[CellSums, np.ndarray]:
        """The last cell of some owners, one without values where there is none, and which of these have one."""
        places, known = self.places_of(owners)
        if known.all():
            return self.taken(places), known
        found = CellSums.nothing(len(owners), self.begins.dtype)
        chosen = self.taken(places[known])
        found.begins[known], found.sums[:, known], found.before[:, known] = chosen.begins, chosen.sums, chosen.before
        return found, known

    def replaced(self, other: CellSums) -> CellSums:
        """These cells but those that are the same as others, and these."""
        places, known = other.places_of(self.owners)
        same = known
        if known.any():
            same = known & (self.begins == other.begins[places])
        return (self if not same.any() else self.taken(np.flatnonzero(~same))).joined(other)

    def only(self, other: CellSums) -> CellSums:
        """The only cell of each owner: another one where there is one."""
        places, known = self.places_of(other.owners)
        mine = places[known]
        pairs = ((self.begins, other.begins), (self.sums, other.sums), (self.before, other.before))
        begins, sums, before = (pair[0].copy() for pair in pairs)
        for copy, (_, new) in zip((begins, sums, before), pairs, strict=True):
            copy[..., mine] = new[..., known]
        found = CellSums(self.owners, begins, sums, before)
        return found if known.all() else found.joined(other.taken(np.flatnonzero(~known)))

    def felt(self, cells: TimeCells) -> CellSums:
        """The cells whose values may make a difference in the last one of their owner."""
        felt = cells.are_felt(self.begins, self.begins[self.places_of(self.owners)[0]])
        return self if felt.all() else self.taken(np.flatnonzero(felt))

    def last_ones(self, cells: TimeCells) -> CellSums:
        """The last cell of each owner, and what is left before it."""
        goes_on = np.zeros(len(self.owners), dtype=bool)
        goes_on[1:] = self.owners[1:] == self.owners[:-1]
        if not goes_on.any():
            return self
        left = np.zeros(len(self.owners))
        left[1:] = np.where(goes_on[1:], decays(self.begins[:-1], self.begins[1:], cells.half_life), 0.0)
        before = carried(np.where(goes_on, 0.0, self.before), self.sums, left)
        return attrs.evolve(self, before=before).taken(np.flatnonzero(np.append(~goes_on[1:], True)))


@attrs.frozen(eq=False)
class ValuesInTime:
    """Values that are there, with their times, group by group; within a group times ascend.

    Parameters
    ----------
    times
        One for each value.
    values
        Floats.
    starts
        Where each group starts; none is empty.
    """

    times: np.ndarray
    values: np.ndarray
    starts: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """How many values each group has."""
        return np.diff(self.starts, append=len(self.times))

    @property
    def lasts(self) -> np.ndarray:
        """Place of the last value of each group."""
        return self.starts + self.counts - 1

    def spread(self, numbers: np.ndarray) -> np.ndarray:
        """The number of its group for each value."""
        return np.broadcast_to(numbers, self.times.shape) if len(numbers) == 1 else np.repeat(numbers, self.counts)

    def _special(self) -> np.ndarray | None:
        """The values that are not finite, zero elsewhere; None where all are finite."""
        finite = np.isfinite(self.values)
        return None if finite.all() else np.where(finite, 0.0, self.values)

    def specials(self) -> np.ndarray:
        """The sum of the values of each group that are not finite."""
        special = self._special()
        return np.zeros(len(self.starts)) if special is None else np.add.reduceat(special, self.starts)

    def specials_so_far(self, before: np.ndarray) -> np.ndarray:
        """The same up to each value, given those before the first one of each group."""
        special, specials = self._special(), self.spread(before)
        if special is None:
            return specials
        return specials + accumulated((special,), RowGroups([], np.arange(len(self.times)), self.starts), (np.add,))[0]

    def cell_starts(self, begins: np.ndarray) -> np.ndarray:
        """Where each cell of a group starts."""
        is_start = np.empty(len(begins), dtype=bool)
        np.not_equal(begins[1:], begins[:-1], out=is_start[1:])
        is_start[self.starts] = True
        return np.flatnonzero(is_start)

    def weighted(self, begins: np.ndarray, cells: TimeCells) -> np.ndarray:
        """Weighted values, zero for those that are not finite, and weights."""
        found = new_array(2 * len(self.times), np.float64).reshape(-1, 2).T
        found[1] = cells.weights(self.times, begins)
        np.multiply(self.values, found[1], out=found[0])
        if self._special() is not None:
            found[0][~np.isfinite(self.values)] = 0.0
        return found

    def in_cells(self, owners: np.ndarray, cells: TimeCells) -> CellSums:
        """Sums in cells of groups of these owners, whose first values are the first ones of a cell."""
        if not len(owners):
            return CellSums.nothing(0, self.times.dtype)
        begins = cells.begins(self.times)
        starts = self.cell_starts(begins)
        sums = summed_within(self.weighted(begins, cells), starts)[:, np.append(starts[1:], len(begins)) - 1]
        return CellSums(self.spread(owners)[starts], begins[starts], sums, np.zeros_like(sums))

    def scanned(self, owners: np.ndarray, before: CellSums, known: np.ndarray, cells: TimeCells) -> tuple[np.ndarray, CellSums]:
        """The weighted sum and the sum of weights after each value, and the last cell of each group, given the last one before the run.

        ``known`` tells of which groups there is one.
        """
        begins = cells.begins(self.times)
        starts = self.cell_starts(begins)
        firsts, ends = np.searchsorted(starts, self.starts), np.append(starts[1:], len(begins)) - 1
        same = known & (before.begins == begins[self.starts])
        left = np.zeros(len(starts))
        left[1:] = decays(begins[starts[:-1]], begins[starts[1:]], cells.half_life)
        left[firsts] = 0.0
        first = np.zeros((2, len(starts)))
        shares = np.where(known, decays(before.begins, begins[self.starts], cells.half_life), 0.0)
        first[:, firsts] = np.where(same, before.before, np.where(shares > 0.0, (before.before + before.sums) * shares, 0.0))
        found = self.weighted(begins, cells)
        found[:, self.starts] += np.where(same, before.sums, 0.0)
        found = summed_within(found, starts)
        sums = found[:, ends]
        earlier = carried(first, sums, left)
        found += np.repeat(earlier, ends + 1 - starts, axis=1)
        lasts = np.append(firsts[1:], len(starts)) - 1
        return found, CellSums(owners, begins[starts[lasts]], sums[:, lasts], earlier[:, lasts])


def means(sums: np.ndarray, lasts: np.ndarray, specials: np.ndarray) -> np.ndarray:
    """Weighted means, of weighted sums and sums of weights, given the last value of each."""
    # Of the floats that are a quotient the last value is taken where it is one: it is the mean where nothing is left of others.
    mean = sums[0] / sums[1]
    # Of sums that are zero the sign tells whether a batch or a cell began there.
    mean += 0.0
    np.copyto(mean, lasts, where=lasts * sums[1] == sums[0])
    return np.where(specials == 0, mean, specials) if specials.any() else mean


# Values of cells of time that may have begun before some rows: they are kept until the rows before are known.

# More values are not sent from task to task: those of all ranges are in one process's memory until they are put together.
MAX_VALUES = 1 << 17


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
        return len(self.owners) > MAX_VALUES

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

    def in_other_cells(self, earlier: Heads, cells: TimeCells) -> np.ndarray:
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

    def with_last_cells(self, last: CellSums) -> SmoothedCells:
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
        begun |= self.later.places_of(first.owners)[1] | first.in_other_cells(self.first, cells)
        known = first.taken(np.flatnonzero(begun)).added_to(self.later, cells).joined(later).felt(cells)
        return SmoothedCells(self.first.followed_by(first.taken(np.flatnonzero(~begun))), known, self.are_all).in_bounds()
