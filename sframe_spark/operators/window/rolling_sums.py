"""Sums and spreads of every so many consecutive floats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sframe_spark.compute.arrow_buffers import new_array
from sframe_spark.compute.exact_sum import RoomForWords, largest_of, sums_of_windows
from sframe_spark.compute.exact_window_sum import deviations_of_windows, means_of_windows

States = tuple[np.ndarray, ...]
NONE = np.zeros(0, dtype=np.int64)
# Floats of one array are 64 KiB: several stay in the cache of a core, and are given from memory that the process has.
ROWS_IN_CACHE = 8_192
# Of running sums, which have fewer arrays.
ROWS_OF_SUMS = 16_384
# A sum in pairs of floats that is believed is wrong by less than this share of the distance between two floats.
NEAR_HALF = 2.0**-8
# A sum in pairs of floats is believed where what it has rounded off on the way is this much less: it is wrong by 2**-62 of itself at most.
LEAST_SHARE = 2.0**10
# A spread is believed where it is this share of the mean, which is a millionth, squared: of less, what rounding the mean has made of it is seen.
LEAST_SPREAD = 2.0**-40


def over_windows(states: States, width: int, merge: Callable[[States, States], States]) -> States:
    """Merge every ``width`` consecutive states, in pairs of pairs: logarithmically many passes.

    Nothing outside a window takes part in it, as it would in differences of running sums: a large value spoils the last digits
    of its own windows only, and results do not depend on where the rows are cut.

    Examples
    --------
    >>> over_windows((np.array([1.0, 2.0, 4.0, 8.0]), np.zeros(4)), 3, exactly_added)[0].tolist()
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


def in_pair(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums, and what rounding them has lost.

    Source: Knuth (1969), The Art of Computer Programming, volume 2, section 4.2.2, theorem B.
    """
    total = first + second
    part = total - first
    return total, (first - (total - part)) + (second - part)


def exactly_added(first: States, second: States) -> States:
    """Sums of sums, each with what rounding it has lost."""
    total, lost = in_pair(first[0], second[0])
    return total, first[1] + second[1] + lost


def added_with_rests(first: States, second: States) -> States:
    """The same, and the sum of the sizes of all that rounding has lost."""
    total, lost = in_pair(first[0], second[0])
    return total, first[1] + second[1] + lost, first[2] + second[2] + np.abs(lost)


def exact_sums(values: np.ndarray, width: int) -> np.ndarray:
    """Sum of every ``width`` consecutive floats, rounded once; sums on the way may be larger than any float.

    Examples
    --------
    >>> exact_sums(np.array([1e300, 1e16, 1.0, -1e16, -1e300, 1e308, 1e308, -1e308]), 5)[0].item()
    1.0
    >>> exact_sums(np.array([1e308, 1e308, -1e308]), 3).item()
    1e+308
    """

    block = max(ROWS_OF_SUMS, 4 * width)
    room = RoomForWords.of(min(block + width, len(values) + 1))

    def of_block(part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = sums_of_windows(part, width, room)
        return (found, NONE) if found is not None else sums_in_pairs(part, width)

    result, left = in_blocks((values,), width, of_block, block)
    if len(left):
        result[left] = means_of_windows(*rows_of(values, np.ones(len(left)), left, width))
    return result


def sums_in_pairs(values: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The same by pairs of floats, and which of the windows these leave open."""
    sums, lost = over_windows((values, np.zeros(len(values))), width, exactly_added)
    with np.errstate(invalid="ignore", over="ignore"):
        total: np.ndarray = np.add(sums, lost)
        rest = np.abs(lost - (total - sums)) / np.spacing(np.abs(total))
        # Half way to the next float, which is nearer below a power of two, what is lost of a pair would decide.
        half = np.where(np.abs(np.frexp(total)[0]) == 0.5, 0.25, 0.5)
        is_open = (np.abs(rest - half) <= NEAR_HALF) | (np.abs(rest - 0.5) <= NEAR_HALF)
    left = NONE if all_believed(values, total, width) else left_open(values, width)
    return total, np.union1d(left, np.flatnonzero(is_open)) if is_open.any() else left


def rows_of(values: np.ndarray, sizes: np.ndarray, windows: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, sizes, starts and stops of some windows: of few of them no number of others, so that no time is spent on these."""
    starts = windows
    if len(windows) * width < len(values):
        values = np.lib.stride_tricks.sliding_window_view(values, width)[windows].ravel()
        starts = np.arange(len(windows)) * width
    return values, sizes, starts, starts + width


def steps_of(width: int) -> float:
    """How many additions a number of a window goes through at most, times what has to be left of it."""
    return 2 * width.bit_length() * LEAST_SHARE


def all_believed(values: np.ndarray, totals: np.ndarray, width: int) -> bool:
    """Whether none of the windows can be among those that are left open: known from the largest number, so a pass for each window is spared."""
    sizes = np.abs(totals)
    largest = largest_of(values)
    # Each of these steps rounds off at most 2**-53 of all numbers; a sum that is NaN is less than nothing.
    if sizes.min() >= steps_of(width) * 2 * width.bit_length() * 2.0**-53 * width * largest and sizes.max() < np.inf:
        return True
    # Sums of whole numbers are often zero, and nothing of them was rounded off.
    return bool(largest * width < 2.0**53 and (values == np.rint(values)).all())


def left_open(values: np.ndarray, width: int) -> np.ndarray:
    """Windows whose sum in pairs of floats may lack a digit: what cancels is more than twice as long as a float, or beyond all floats.

    A window's own numbers decide that, so it does not matter what else is in a batch. Nothing is left open where nothing was rounded off.

    Examples
    --------
    >>> left_open(np.array([1e300, 1e16, 1.0, -1e16, -1e300, 0.1]), 5).tolist(), left_open(np.array([1.0, -1.0]), 2).tolist()
    ([0], [])
    """
    nothing = np.zeros(len(values))
    total, lost, rests = over_windows((values, nothing, nothing), width, added_with_rests)
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = np.abs(total + lost)
        return np.flatnonzero(~((sizes >= rests * steps_of(width)) & (sizes < np.inf)))


def squared_deviations(counts: np.ndarray, values: np.ndarray, width: int) -> np.ndarray:
    """Sum of squared deviations from their mean of every ``width`` consecutive floats, of which some count and the others are zero.

    Examples
    --------
    >>> squared_deviations(np.ones(3, dtype=bool), np.array([1.0, 3.0, 7.0]), 2).tolist()
    [2.0, 8.0]
    >>> squared_deviations(np.ones(3, dtype=bool), np.array([1e16, 1e16 + 2, 1e16 + 6]), 3).tolist()
    [18.666666666666668]
    """

    def of_block(number: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        means, squares = over_windows((number.astype(np.float64), part, np.zeros(len(part))), width, merged_moments)[1:]
        with np.errstate(over="ignore", invalid="ignore"):
            # Equal numbers have none, which is right. What is infinite or NaN may be so on the way only.
            believed = squares >= np.square(means) * (LEAST_SPREAD * width)
            believed &= squares < np.inf
        left = np.flatnonzero(~believed)
        return squares, left[squares[left] != 0.0]

    result, left = in_blocks((counts, values), width, of_block, max(ROWS_IN_CACHE, 4 * width))
    if len(left):
        sizes = window_sums(counts, width)[left]
        result[left] = deviations_of_windows(*rows_of(values, sizes, left, width))
    return result


def in_blocks(states: States, width: int, of_block: Callable[..., tuple[np.ndarray, np.ndarray]], block: int) -> tuple[np.ndarray, np.ndarray]:
    """Floats of every ``width`` consecutive entries, and which of them are left open.

    Some are made at a time: what stays in the processor's cache takes a quarter of the time.
    """
    rows = max(len(states[0]) - width + 1, 0)
    result, left = new_array(rows, np.float64), [NONE]
    for start in range(0, rows, block):
        result[start : start + block], places = of_block(*(state[start : start + block + width - 1] for state in states))
        if len(places):
            left.append(places + start)
    return result, np.concatenate(left)


def window_sums(values: np.ndarray, width: int) -> np.ndarray:
    """Sum of every ``width`` consecutive ints, or how many of them are true."""
    total = new_array(len(values) + 1, np.int64)
    total[0] = 0
    with np.errstate(over="ignore"):
        np.cumsum(values, out=total[1:])
        return total[width:] - total[:-width]


def merged_moments(first: States, second: States) -> States:
    """Count, mean and sum of squared deviations of the values behind two of each.

    Source: Chan, Golub and LeVeque (1979), updating formulae for sample variances. Equal means add nothing, so the spread of
    equal values is zero and not almost zero.
    """
    counts = first[0] + second[0]
    share = second[0] / np.maximum(counts, 1.0)
    distance = second[1] - first[1]
    return counts, first[1] + distance * share, first[2] + second[2] + distance * distance * (first[0] * share)
