"""Sums of values that lose half their weight with every half-life: how runs of rows combine, and scans within groups."""

from __future__ import annotations

import numpy as np

from sframe_spark.operators.running_groups import Components, RowGroups, accumulated, segmented_scan

# Weights grow to two to this power within a scan by plain sums; values of this size stay far from the limits of floats.
MOST_HALF_LIVES = 400
MOST_MAGNITUDE = 1e100


def decayed_together(first: Components, second: Components, half_life: float) -> Components:
    """Earlier values decayed to the time of the later ones, and these.

    Components are the time of the last value, the weighted sum and the sum of weights at that time, and whether there is a value.
    """
    both = first[3] & second[3]
    gap = second[0] - first[0]
    if gap.dtype.kind == "i" and (gap < 0).any():
        # Ints far apart wrap around.
        gap = np.where(gap >= 0, gap, second[0].astype(np.float64) - first[0].astype(np.float64))
    weight = np.where(both, np.exp2(-gap / half_life), 0.0)
    kept = weight > 0
    earlier = np.where(second[3], weight, 1.0)
    # What weighs nothing is left out, or an infinite value would become NaN.
    sums, weights = (np.where(kept | ~second[3], a * earlier, 0.0) + b for a, b in zip(first[1:3], second[1:3], strict=True))
    return (np.where(second[3], second[0], first[0]), sums, weights, first[3] | second[3])


def decayed_scan(times: np.ndarray, values: np.ndarray, present: np.ndarray, all_timed: bool, groups: RowGroups, half_life: float) -> Components:
    """Components of all rows of the group so far, along the order of the groups; values are zero where not present."""
    lengths = groups.stops - groups.starts
    ages = (times - np.repeat(times[groups.starts], lengths)) / half_life
    if all_timed and ages.min() >= 0 and ages.max() <= MOST_HALF_LIVES and is_moderate(values):
        weights = np.exp2(ages)
        sums, totals, counts = accumulated((values * weights, present * weights, present.astype(np.int64)), groups, (np.add, np.add, np.add))
        return (times, sums / weights, totals / weights, counts > 0)
    rows = (times, values, present.astype(np.float64), present)
    return segmented_scan(rows, groups, lambda a, b: decayed_together(a, b, half_life))


def is_moderate(values: np.ndarray) -> bool:
    """True when values times two to the ``MOST_HALF_LIVES`` neither overflow nor lose digits to underflow."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    return not len(sizes) or bool(sizes.min() >= 1 / MOST_MAGNITUDE and sizes.max() <= MOST_MAGNITUDE)
