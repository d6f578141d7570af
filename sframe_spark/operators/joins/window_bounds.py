"""Where windows of keys begin and end: the smallest and the largest key that lies within given distances of each key."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sframe_spark.compute.exact_float_distances import first_after, first_from, last_before, last_until
from sframe_spark.errors import SchemaError
from sframe_spark.operators.lookup.key_numbers_and_group_codes import Flags, Numbers

CLOSED = ("both", "left", "right", "neither")
SMALLEST, LARGEST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


@attrs.frozen(eq=False)
class WindowBounds:
    """The windows of some keys. A key is in a window if it is neither below ``low`` nor above ``high``; both are never decreasing in the key.

    Parameters
    ----------
    low, high
        The smallest and the largest key that a window may hold; where ``low`` is above ``high``, it holds none.
    entry
        Where each window starts, whether or not the start itself is in the window.
    has_keys
        Whether an int can lie in the window or before it; of the others nothing else has a meaning.
    is_hollow
        Whether nothing can lie between the ends, because one is beyond all ints, or because an infinite one is left out.
    """

    low: Numbers
    high: Numbers
    entry: Numbers
    has_keys: Flags
    is_hollow: Flags

    @classmethod
    def around(cls, keys: Numbers, before: int | float | None, after: int | float | None, closed: str = "both") -> WindowBounds:
        """Return the windows from ``before`` below each key to ``after`` above it; None: without end.

        Examples
        --------
        >>> around = WindowBounds.around(np.array([5, 8]), 3, -1, "left")
        >>> around.low.tolist(), around.high.tolist()
        ([2, 5], [3, 6])
        """
        open_start, open_end = closed in ("right", "neither"), closed in ("left", "neither")
        everywhere, nowhere = np.ones(len(keys), dtype=bool), np.zeros(len(keys), dtype=bool)
        if keys.dtype.kind == "f":
            low = entry = np.full_like(keys, -np.inf)
            high, is_hollow = np.full_like(keys, np.inf), nowhere
            # The end of a window without end is no number that could be left out.
            if before is not None:
                entry = last_until(keys, -before)
                low = (first_after if open_start else first_from)(keys, -before)
                is_hollow = np.isposinf(entry) if open_start else nowhere
            if after is not None:
                high = (last_before if open_end else last_until)(keys, after)
                is_hollow = is_hollow | np.isneginf(first_from(keys, after)) if open_end else is_hollow
            return cls(low, high, entry, everywhere, is_hollow)
        low, entry, high = np.full_like(keys, SMALLEST), np.full_like(keys, SMALLEST), np.full_like(keys, LARGEST)
        is_hollow = starts_early = nowhere
        if before is not None:
            first, reach = whole_distance(before, open_start), math.ceil(before)
            low, entry = moved(keys, -first), moved(keys, -reach)
            is_hollow, starts_early = is_above(keys, LARGEST + first), is_below(keys, SMALLEST + reach)
        if after is not None:
            last = whole_distance(after, open_end)
            high, ends_early = moved(keys, last), is_below(keys, SMALLEST - last)
            is_hollow, everywhere = is_hollow | ends_early, ~(ends_early & starts_early)
        return cls(low, high, entry, everywhere, is_hollow)


def is_above(keys: Numbers, limit: int) -> Flags:
    """Return which ints are above a number of any size."""
    return keys > limit if SMALLEST <= limit <= LARGEST else np.full(len(keys), limit < SMALLEST)


def is_below(keys: Numbers, limit: int) -> Flags:
    """Return which ints are below a number of any size."""
    return keys < limit if SMALLEST <= limit <= LARGEST else np.full(len(keys), limit > LARGEST)


def whole_distance(distance: int | float, is_open: bool) -> int:
    """Return the distance of the furthest int that is in a window, from an int; ``is_open``: the distance itself is too far.

    Examples
    --------
    >>> whole_distance(2, False), whole_distance(2, True), whole_distance(2.5, True), whole_distance(-0.5, False)
    (2, 1, 2, -1)
    """
    return math.ceil(distance) - 1 if is_open else math.floor(distance)


def smallest(keys: Numbers) -> int | float:
    """Return a number that is above no key."""
    return -np.inf if keys.dtype.kind == "f" else SMALLEST


def moved(keys: Numbers, distance: int | float) -> Numbers:
    """Return int keys plus a distance, which may be negative; they stop at the largest or the smallest int.

    Examples
    --------
    >>> moved(np.array([5, 2**63 - 2]), 2).tolist() == [7, 2**63 - 1]
    True
    >>> moved(np.array([5, -(2**63) + 1]), -2).tolist() == [3, -(2**63)]
    True
    >>> moved(np.array([2**63 - 1]), -(2**63)).tolist(), moved(np.array([2**63 - 1]), -(2**70)).tolist() == [-(2**63)]
    ([-1], True)
    """
    if distance > 0:
        # The bitwise complement reverses the order of ints without overflow.
        return ~moved(~keys, -distance)
    down = -int(distance)
    if down > LARGEST - SMALLEST:
        return np.full_like(keys, SMALLEST)
    # Unsigned arithmetic takes any distance below 2**64, and gives the same bits if nothing wraps around.
    result = (keys.view(np.uint64) - np.uint64(down)).view(np.int64)
    return np.where(keys < SMALLEST + down, SMALLEST, result)


def check_window(before: int | float | None, after: int | float | None) -> None:
    """Check that a window does not end before it starts; None is a window without that end.

    Raises
    ------
    SchemaError
        If it does, or if a distance is NaN.
    """
    for distance in (before, after):
        if distance is not None and distance != distance:
            raise SchemaError(f"a distance between keys must be a number, got {distance!r}")
    if before is not None and after is not None and before + after < 0:
        raise SchemaError(f"a window ends before it starts: it starts {before} before and ends {after} after its row")
