"""Variances of every ``width`` consecutive floats, added up in floats: faster than exact sums, and right to nine digits or more."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sframe_spark.lazy_imports import lazy_imports

with lazy_imports(globals()):
    from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import deviations_of_windows
    from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array

States = tuple[np.ndarray, ...]
# Rows per block, so that arrays have 64 KiB: several of them fit into a core's cache and into memory that the process already has.
ROWS_IN_CACHE = 8_192
# A variance is accepted if it is at least this share of the squared mean (a millionth, squared). Below, the rounded mean would affect it.
MIN_SPREAD = 2.0**-40


def rolling_squared_deviations(counts: np.ndarray, values: np.ndarray, width: int) -> np.ndarray:
    """Return the sum of squared deviations from the mean of every ``width`` consecutive floats.

    ``counts`` says which numbers count; the others must be zero. Where additions in floats lose digits, sums are exact.

    Examples
    --------
    >>> rolling_squared_deviations(np.ones(3, dtype=bool), np.array([1.0, 3.0, 7.0]), 2).tolist()
    [2.0, 8.0]
    >>> rolling_squared_deviations(np.ones(3, dtype=bool), np.array([1e16, 1e16 + 2, 1e16 + 6]), 3).tolist()
    [18.666666666666668]
    """
    rows, block = max(len(values) - width + 1, 0), max(ROWS_IN_CACHE, 4 * width)
    result, accepted = new_array(rows, np.float64), new_array(rows, np.bool_)
    for start in range(0, rows, block):
        part = slice(start, start + block + width - 1)
        states = (counts[part].astype(np.float64), values[part], np.zeros(len(values[part])))
        means, squares = over_windows(states, width, merged_variances)[1:]
        result[start : start + block] = squares
        with np.errstate(over="ignore", invalid="ignore"):
            # Zero is right for equal numbers. An infinite or NaN result may come from an overflow in between.
            is_accepted = np.greater_equal(squares, np.square(means) * (MIN_SPREAD * width), out=accepted[start : start + block])
            is_accepted &= squares < np.inf
    left = np.flatnonzero(~accepted)
    left = left[result[left] != 0.0]
    if len(left):
        totals = np.concatenate([[0], np.cumsum(counts)])
        sizes, starts = totals[left + width] - totals[left], left
        if len(left) * width < len(values):
            # If the windows are few, only their numbers are read.
            values = np.lib.stride_tricks.sliding_window_view(values, width)[left].ravel()
            starts = np.arange(len(left)) * width
        result[left] = deviations_of_windows(values, sizes, starts, starts + width)
    return result


def over_windows(states: States, width: int, merge: Callable[[States, States], States]) -> States:
    """Return the merged state of every ``width`` consecutive states, by doubling: the number of passes is logarithmic in ``width``.

    Unlike differences of running sums, the result for a window depends on nothing outside of the window: a large value costs digits only in its
    own windows, and results do not depend on batch boundaries.

    Examples
    --------
    >>> over_windows((np.array([1.0, 2.0, 4.0, 8.0]),), 3, lambda first, second: (first[0] + second[0],))[0].tolist()
    [7.0, 14.0]
    """
    rows = len(states[0]) - width + 1
    result: States | None = None
    size, offset = 1, 0
    with np.errstate(over="ignore", invalid="ignore"):
        while size <= width:
            if width & size:
                part = tuple(state[offset : offset + rows] for state in states)
                result = part if result is None else merge(result, part)
                offset += size
            if 2 * size <= width:
                states = merge(tuple(state[:-size] for state in states), tuple(state[size:] for state in states))
            size *= 2
    assert result is not None
    return result


def merged_variances(first: States, second: States) -> States:
    """Return the merged state of two states of count, mean and sum of squared deviations.

    Source: Chan, Golub and LeVeque (1979), updating formulae for sample variances. Equal means add nothing, so the variance of equal values is
    exactly zero.
    """
    counts = first[0] + second[0]
    share = second[0] / np.maximum(counts, 1.0)
    distance = second[1] - first[1]
    return counts, first[1] + distance * share, first[2] + second[2] + distance * distance * (first[0] * share)
