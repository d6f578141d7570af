"""Sums of values that lose half their weight with every half-life: after each value, after the last one, and of two runs of rows together."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from sframe_spark.compute.arrow_buffers import new_array
from sframe_spark.compute.sorting import order_of
from sframe_spark.operators.window.groups import RowGroups, accumulated
from sframe_spark.operators.window.smoothing_kernel import TimeCells, carried, decays, summed_within


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
