"""Sets of values of a column as closed ranges: ascending, without a value in common, None where there is no limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from sframe_spark.storage.segments.pruning import Bounds

ValueRanges = tuple[Bounds, ...]
# Ranges that the values of some input columns lie in, by the columns' positions.
ColumnRanges = Mapping[int, ValueRanges]


def union(ranges: Iterable[Bounds]) -> ValueRanges:
    """Return the values that lie in any of some ranges, in any order; ranges with a value in common become one.

    Examples
    --------
    >>> union([(8, None), (1, 2), (2, 3)]), union([(5, 5), (None, 0)])
    (((1, 3), (8, None)), ((None, 0), (5, 5)))
    """
    given = list(ranges)
    unlimited = [bounds for bounds in given if bounds[0] is None]
    limited = sorted((bounds for bounds in given if bounds[0] is not None), key=lambda bounds: bounds[0])  # type: ignore[arg-type, return-value]
    result: list[Bounds] = []
    for low, high in [*unlimited, *limited]:
        if result and (low is None or result[-1][1] is None or low <= result[-1][1]):  # type: ignore[operator]  # all are values of one column
            result[-1] = (result[-1][0], None if high is None or result[-1][1] is None else max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def intersection(first: ValueRanges, second: ValueRanges) -> ValueRanges:
    """Return the values that lie in both of two sets of ranges.

    Examples
    --------
    >>> intersection(((None, 3), (8, None)), ((2, 9),)), intersection(((1, 2),), ((4, 5),))
    (((2, 3), (8, 9)), ())
    """
    result: list[Bounds] = []
    i = j = 0
    while i < len(first) and j < len(second):
        (low, high), (lower, upper) = first[i], second[j]
        if _have_common_value(first[i], second[j]):
            result.append((tighter(low, lower, max), tighter(high, upper, min)))
        if high is not None and (upper is None or high <= upper):  # type: ignore[operator]  # both are values of one column
            i += 1
        else:
            j += 1
    return tuple(result)


def _have_common_value(first: Bounds, second: Bounds) -> bool:
    low, high = tighter(first[0], second[0], max), tighter(first[1], second[1], min)
    return low is None or high is None or low <= high


def tighter(first: Any, second: Any, choose: Any) -> Any:
    """Return the tighter of two limits, of which None is none."""
    return second if first is None else first if second is None else choose(first, second)


def both(first: ColumnRanges, second: ColumnRanges) -> ColumnRanges:
    """Return ranges where two masks are true.

    Examples
    --------
    >>> both({0: ((1, None),)}, {0: ((None, 9),), 1: ((5, 5),)})
    {0: ((1, 9),), 1: ((5, 5),)}
    """
    result = dict(first)
    for column, ranges in second.items():
        result[column] = intersection(result[column], ranges) if column in result else ranges
    return result


def either(*masks: ColumnRanges) -> ColumnRanges:
    """Return ranges where at least one of some masks is true; nothing is known of columns of which a mask says nothing.

    Examples
    --------
    >>> either({0: ((1, 2),), 1: ((5, 5),)}, {0: ((8, None),)})
    {0: ((1, 2), (8, None))}
    """
    shared = reduce(lambda kept, mask: [column for column in kept if column in mask], masks[1:], list(masks[0]))
    joined = {column: union(bounds for mask in masks for bounds in mask[column]) for column in shared}
    return {column: ranges for column, ranges in joined.items() if ranges != ((None, None),)}
