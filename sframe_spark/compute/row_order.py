"""The order of rows by arrays of numbers, found by sorting plain numbers: Numpy sorts these many times faster than it finds an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sframe_spark.compute.sorting import ascending_places

BITS = 63
# Below this nothing is gained.
FEW = 1 << 12
# Where so many of the rows share the leading bits of their numbers, these do not tell them apart.
MOST_SHARED = 8


def order_of(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Numbers of rows that ascend by some arrays, compared one after the other; equal rows stay in their order.

    Parameters
    ----------
    parts
        Arrays of ints or floats, at least one, of one length; floats without NaN.

    Examples
    --------
    >>> order_of([np.array([1, 0, 1]), np.array([2.5, 1.0, -1.0])]).tolist()
    [1, 2, 0]
    """
    rows = len(parts[0])
    telling = [part for part in parts if rows and (part != part[0]).any()]
    if not telling:
        return np.arange(rows)
    if len(telling) > 1 or rows < FEW:
        return np.lexsort(telling[::-1])
    numbers = as_ordered_ints(telling[0])
    low, high = int(numbers.min()), int(numbers.max())
    row_bits, bits = rows.bit_length(), (high - low).bit_length()
    left_out = max(0, bits + row_bits - BITS)
    if high - low > np.iinfo(np.int64).max:
        # The difference of two such numbers has 64 bits, and the first of them would be taken for a sign.
        return order_by_leading(numbers.view(np.uint64) ^ np.uint64(1 << 63), row_bits)
    if not left_out:
        return np.sort((numbers - low) << row_bits | np.arange(rows)) & ((1 << row_bits) - 1)
    return order_by_leading((numbers - low).view(np.uint64), row_bits, bits)


def places_in(ascending: np.ndarray, wanted: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    """Where numbers belong among ascending ones, as :func:`numpy.searchsorted` has it.

    Neighbours in order are searched for in places that are near each other, and so in the cache of the processor.

    Examples
    --------
    >>> places_in(np.array([1, 3, 3]), np.array([3, 0]), "right").tolist()
    [3, 0]
    """
    if len(wanted) >= FEW and bool((wanted[1:] >= wanted[:-1]).all()):
        return _places_of_ascending(ascending, wanted, side)
    if len(wanted) < FEW or len(ascending) < FEW:
        return np.searchsorted(ascending, wanted, side)
    order = order_of([wanted])
    found = np.empty(len(wanted), dtype=np.int64)
    found[order] = np.searchsorted(ascending, wanted[order], side)
    return found


def _places_of_ascending(ascending: np.ndarray, wanted: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    """The same where the wanted numbers ascend too: those that are fewer are searched for among the others."""
    first, last = (int(place) for place in np.searchsorted(ascending, wanted[[0, -1]], "left"))
    if np.array_equal(ascending[first : first + len(wanted)], wanted):
        # Numbers that are searched for among themselves: their runs of equal ones tell.
        stops = np.append(np.flatnonzero(wanted[1:] != wanted[:-1]) + 1, len(wanted))
        starts = np.insert(stops[:-1], 0, 0)
        lengths = stops - starts
        stops[-1] = np.searchsorted(ascending, wanted[-1], "right") - first
        return np.repeat(first + (starts if side == "left" else stops), lengths)
    if 2 * (last - first) > len(wanted):
        return ascending_places(ascending, wanted, side)
    # A wanted number has as many before it as there are whose own place among the wanted ones is not behind it.
    between = ascending[first : np.searchsorted(ascending, wanted[-1], side)]
    edges = np.searchsorted(wanted, between, "left" if side == "right" else "right")
    return np.repeat(np.arange(first, first + len(between) + 1), np.diff(edges, prepend=0, append=len(wanted)))


def ranks_of(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """For each row how many different ones come before it, and how many there are, by numbers compared one after the other.

    Examples
    --------
    >>> [found if isinstance(found, int) else found.tolist() for found in ranks_of([np.array([7, 3, 7])])]
    [[1, 0, 1], 2]
    """
    rows = len(parts[0])
    if not rows:
        return np.zeros(0, dtype=np.int64), 0
    order = order_of(parts)
    begins = np.zeros(rows, dtype=bool)
    for part in parts:
        ordered = part[order]
        begins[1:] |= ordered[1:] != ordered[:-1]
    ranks = np.empty(rows, dtype=np.int64)
    ranks[order] = np.cumsum(begins)
    return ranks, int(np.count_nonzero(begins)) + 1


def order_by_leading(numbers: np.ndarray, row_bits: int, bits: int = 64) -> np.ndarray:
    """The order by numbers without sign, found by as many of their leading bits as leave room for the number of the row."""
    left_out = np.uint64(bits + row_bits - BITS)
    leading = (numbers >> left_out).astype(np.int64) << row_bits
    order = np.sort(leading | np.arange(len(numbers))) & ((1 << row_bits) - 1)
    ordered = numbers[order]
    shared = (ordered[1:] >> left_out) == (ordered[:-1] >> left_out)
    if np.count_nonzero(shared) * MOST_SHARED > len(numbers):
        return np.argsort(numbers, kind="stable")
    # Neighbours whose leading bits agree are put in order by the others; each stays within its run.
    inside = np.append(shared, False) | np.insert(shared, 0, False)
    places = np.flatnonzero(inside)
    runs = np.cumsum(np.insert(~shared, 0, True))[places]
    order[places] = order[places[np.lexsort((ordered[places], runs))]]
    return order


def as_ordered_ints(numbers: np.ndarray) -> np.ndarray:
    """Ints of 64 bits that ascend as the numbers do, equal ones equal.

    Examples
    --------
    >>> as_ordered_ints(np.array([0.0, -0.0, -1.0])).tolist()[:2], bool(np.diff(as_ordered_ints(np.array([-2.0, -1.0, 3.5]))).min() > 0)
    ([0, 0], True)
    """
    if numbers.dtype.kind != "f":
        return numbers.astype(np.int64, copy=False)
    bits = (numbers.astype(np.float64, copy=False) + 0.0).view(np.int64)
    # Negative floats descend where their bits ascend.
    return np.where(bits < 0, bits ^ np.int64(np.iinfo(np.int64).max), bits)
