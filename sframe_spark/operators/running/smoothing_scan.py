"""Sums of values that lose half their weight with every half-life: how runs of rows combine, and scans within groups.

Components are the time of the last value, the weighted sum and the sum of weights at that time, the sum of the values that are not finite (which
never lose their effect: their weight gets small, but not zero), and whether there is a value.
"""

from __future__ import annotations

import numpy as np

from sframe_spark.operators.running.groups import Components, RowGroups, accumulated, segmented_scan

# Weights grow to two to this power within a scan by plain sums; values of this size stay far from the limits of floats.
MOST_HALF_LIVES = 400
MOST_MAGNITUDE = 1e100


def no_values(keys: int, dtype: np.dtype) -> Components:
    """Components of keys without values; ``dtype`` is that of the times."""
    return (np.zeros(keys, dtype), np.zeros(keys), np.zeros(keys), np.zeros(keys), np.zeros(keys, dtype=bool))


def decayed_together(first: Components, second: Components, half_life: float) -> Components:
    """Earlier values decayed to the time of the later ones, and these."""
    gap = second[0] - first[0]
    if gap.dtype.kind == "i" and (gap < 0).any():
        # Ints far apart wrap around.
        gap = np.where(gap >= 0, gap, second[0].astype(np.float64) - first[0].astype(np.float64))
    # Between two equal infinities no time passes, but their difference is NaN.
    gap = np.where(first[0] == second[0], 0, gap)
    weight = np.where(second[4], np.where(first[4], np.exp2(-gap / half_life), 0.0), 1.0)
    times = np.where(second[4], second[0], first[0])
    return (times, first[1] * weight + second[1], first[2] * weight + second[2], first[3] + second[3], first[4] | second[4])


def decayed_scan(times: np.ndarray, values: np.ndarray, present: np.ndarray, groups: RowGroups, half_life: float) -> Components:
    """Components of all rows of the group so far, along the order of the groups; values are zero where not present.

    A row without a time may stand at any: it adds nothing, and the sums are those of the time that it stands at.
    """
    lengths = groups.stops - groups.starts
    ages = (times - np.repeat(times[groups.starts], lengths)) / half_life
    finite = np.where(np.isfinite(values), values, 0.0)
    special = np.where(np.isfinite(values), 0.0, values)
    if ages.min() >= 0 and ages.max() <= MOST_HALF_LIVES and is_moderate(finite):
        weights = np.exp2(ages)
        rows = (finite * weights, present * weights, special, present)
        sums, totals, specials, known = accumulated(rows, groups, (np.add, np.add, np.add, np.logical_or))
        return (times, sums / weights, totals / weights, specials, known)
    return segmented_scan((times, finite, present.astype(np.float64), special, present), groups, lambda a, b: decayed_together(a, b, half_life))


def means(components: Components) -> np.ndarray:
    """Weighted means, wherever there is a value."""
    return np.where(components[3] == 0, components[1] / components[2], components[3])


def is_moderate(values: np.ndarray) -> bool:
    """True when finite values times two to the ``MOST_HALF_LIVES`` neither overflow nor lose digits to underflow."""
    sizes = np.abs(values[values != 0])
    return not len(sizes) or bool(sizes.min() >= 1 / MOST_MAGNITUDE and sizes.max() <= MOST_MAGNITUDE)
