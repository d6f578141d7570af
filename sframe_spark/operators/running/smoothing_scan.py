"""Sums of values that lose half their weight with every half-life: after each value, after the last one, and of two runs of rows together.

Components are the time of the last value, the weighted sum and the sum of weights at that time, the sum of the values that are not finite (which
never lose their effect: their weight gets small, but not zero), and whether there is a value.
"""

from __future__ import annotations

import attrs
import numpy as np

from sframe_spark.operators.kernels.new_arrays import new_array
from sframe_spark.operators.running.groups import STEPS, Components, RowGroups, accumulated

# After so many half-lives less is left of a weight than any float but zero.
LEAST_EXPONENT = -1075


def no_values(keys: int, dtype: np.dtype) -> Components:
    """Components of keys without values; ``dtype`` is that of the times."""
    return (np.zeros(keys, dtype), np.zeros(keys), np.zeros(keys), np.zeros(keys), np.zeros(keys, dtype=bool))


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


def decayed_together(first: Components, second: Components, half_life: float) -> Components:
    """Earlier values decayed to the time of the later ones, and these."""
    weight = np.where(second[4], np.where(first[4], decays(first[0], second[0], half_life), 0.0), 1.0)
    times = np.where(second[4], second[0], first[0])
    return (times, first[1] * weight + second[1], first[2] * weight + second[2], first[3] + second[3], first[4] | second[4])


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
    def lasts(self) -> np.ndarray:
        """Place of the last value of each group."""
        return np.append(self.starts[1:], len(self.times))[: len(self.starts)] - 1

    def _parted(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The values, zero where they are not finite, and those that are not, zero elsewhere; None where all are finite."""
        finite = np.isfinite(self.values)
        if finite.all():
            return self.values, None
        return np.where(finite, self.values, 0.0), np.where(finite, 0.0, self.values)

    def _spread(self, numbers: np.ndarray) -> np.ndarray:
        """The number of its group for each value."""
        return np.broadcast_to(numbers, self.times.shape) if len(numbers) == 1 else np.repeat(numbers, np.diff(self.starts, append=len(self.times)))

    def totals(self, half_life: float) -> Components:
        """Components after the last value of each group, of these values alone."""
        if not len(self.times):
            return no_values(0, self.times.dtype)
        lasts = self.lasts
        finite, special = self._parted()
        if len(lasts) == 1:
            # Of one group most values may be so old that nothing is left of their weights.
            first = first_with_weight(self.times, half_life)
            weights = decays(self.times[first:], self.times[-1:], half_life)
            sums, totals = np.sum(finite[first:] * weights, keepdims=True), np.sum(weights, keepdims=True)
        else:
            weights = decays(self.times, self._spread(self.times[lasts]), half_life)
            sums, totals = (np.add.reduceat(each, self.starts) for each in (finite * weights, weights))
        specials = np.zeros(len(lasts)) if special is None else np.add.reduceat(special, self.starts)
        return (self.times[lasts], sums, totals, specials, np.ones(len(lasts), dtype=bool))

    def scanned(self, before: Components, half_life: float) -> Components:
        """Components after each value, given those before the first one of each group."""
        finite, special = self._parted()
        left = new_array(len(self.times), np.float64)
        left[1:] = decays(self.times[:-1], self.times[1:], half_life)
        from_before = np.where(before[4], decays(before[0], self.times[self.starts], half_life), 0.0)
        sums = new_array(2 * len(finite), np.float64).reshape(2, -1)
        sums[0], sums[1] = finite, 1.0
        sums[:, self.starts] += np.stack(before[1:3]) * from_before
        left[self.starts] = 0.0
        sums = decayed_sums(sums, left)
        specials = self._spread(before[3])
        if special is not None:
            order = RowGroups([], np.arange(len(self.times)), self.starts)
            specials = specials + accumulated((special,), order, (np.add,))[0]
        return (self.times, sums[0], sums[1], specials, np.ones(len(self.times), dtype=bool))


def first_with_weight(times: np.ndarray, half_life: float) -> int:
    """A place among ascending times before which nothing is left of a weight at the last of them.

    Examples
    --------
    >>> first_with_weight(np.arange(5000), 2.0), first_with_weight(np.array([0.0, 1.0]), 1e300)
    (2850, 0)
    """
    low, high = 0, len(times) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if decays(times[middle : middle + 1], times[-1:], half_life)[0] else (middle + 1, high)
    return low


def decayed_sums(values: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Along the last axis, each value and what is left of the sum before it: no weight grows, however many values there are.

    Stretches of ``STEPS`` values are summed side by side, step by step; what goes over from one to the next is such a sum itself.

    Parameters
    ----------
    values
        Rows of finite floats.
    left
        For each column the share of the sum before it that is left, from 0 to 1.

    Examples
    --------
    >>> decayed_sums(np.array([[8.0, 1.0, 1.0]]), np.array([0.0, 0.5, 0.5])).tolist()
    [[8.0, 5.0, 3.5]]
    """
    rows, count = values.shape
    if count <= STEPS:
        sums = values.copy()
        for step in range(1, count):
            sums[:, step] += sums[:, step - 1] * left[step]
        return sums
    stretches = -(-count // STEPS)
    # A step of all stretches lies together; the last stretch is filled up with zeros.
    sums = new_array(STEPS * rows * stretches, np.float64).reshape(STEPS, rows, stretches)
    kept = new_array(STEPS * stretches, np.float64).reshape(STEPS, stretches)
    for laid, given in ((sums.transpose(1, 2, 0), values), (kept.T[np.newaxis], left[np.newaxis])):
        whole = count // STEPS
        laid[:, :whole] = given[:, : whole * STEPS].reshape(len(given), whole, STEPS)
        laid[:, whole:] = 0.0
        laid[:, whole:, : count - whole * STEPS] = given[:, np.newaxis, whole * STEPS :]
    part = np.empty((rows, stretches))
    for step in range(1, STEPS):
        sums[step] += np.multiply(sums[step - 1], kept[step], out=part)
        kept[step] *= kept[step - 1]
    carried = np.zeros((rows, stretches))
    carried[:, 1:] = decayed_sums(sums[-1], kept[-1])[:, :-1]
    for step in range(STEPS):
        sums[step] += np.multiply(carried, kept[step], out=part)
    found = new_array(rows * stretches * STEPS, np.float64).reshape(rows, stretches, STEPS)
    found[...] = sums.transpose(1, 2, 0)
    return found.reshape(rows, -1)[:, :count]


def means(components: Components) -> np.ndarray:
    """Weighted means, wherever there is a value."""
    mean = components[1] / components[2]
    return np.where(components[3] == 0, mean, components[3]) if components[3].any() else mean
