"""Time in cells of a few half-lives, and what is left of the values of earlier cells at the beginning of each: the same however rows are cut.

Within a cell weights count from its beginning, so weighted values add up one after the other, as numpy does quickly.
What is left of earlier cells is added to that.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

# So many half-lives are a cell: weights of one are far from the smallest float.
HALF_LIVES = 64
# Weights are at most the inverse of two to this power: so many values of one moment add up to a float.
ROOM = 40
# Weights of so many moments of a cell are looked up.
MOST_LOOKED_UP = 1 << 16
# After so many half-lives less is left of a weight than any float but zero.
LEAST_EXPONENT = -1075
# After so many, the largest float is less than the last bit of the smallest one.
MOST_HALF_LIVES = 2300.0
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
    some = exponents > LEAST_EXPONENT
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
        if self.length > MOST_LOOKED_UP:
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
        return ~(lasts.astype(np.float64) - times.astype(np.float64) > MOST_HALF_LIVES * self.half_life)


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
    before[:, 1:] = gone_through(before, given[-LAST_CELLS:], added[-LAST_CELLS:], shares[-LAST_CELLS:])[-1, :, :-1]
    found = gone_through(before, given, added, shares)
    while True:
        # NaN is equal to itself here.
        changed = np.flatnonzero((found[-1, :, :-1].view(np.int64) != before[:, 1:].view(np.int64)).any(axis=0)) + 1
        if not len(changed):
            return found.transpose(1, 2, 0).reshape(rows, -1)[:, :count]
        before[:, changed] = found[-1][:, changed - 1]
        found[:, :, changed] = gone_through(before[:, changed], given[:, :, changed], added[:, :, changed], shares[:, changed])


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


def gone_through(before: np.ndarray, given: np.ndarray, added: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """What is left at each step of some stretches, given what is before the first one."""
    found = np.empty_like(given)
    nothing = shares == 0.0
    for step in range(len(found)):
        np.add(before, added[step], out=found[step])
        found[step] *= shares[step]
        np.copyto(found[step], given[step], where=nothing[step])
        before = found[step]
    return found
