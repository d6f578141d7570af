"""Finds the rows that can hold values in given ranges, by the recorded minima and maxima, without reading values.

Segments are excluded by the bounds in the manifest. Row groups are excluded by the bounds in the footer of their file, but only in sorted segments,
and in the first and the last of the segments that remain: if the whole column is sorted and one range is requested, all rows of the segments between
these two match.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.pyarrow_versions import has_bounds
from sframe_spark.storage.manifest.column_statistics import ColumnStatistics, Scalar
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import order_column
from sframe_spark.storage.parquet.footer import segment_footer

Bounds = tuple[Scalar, Scalar]
RowRange = tuple[int, int]

# If at most this many segments remain, footers are also read of those for which it is not recorded whether they are sorted.
MAX_FOOTERS = 16
# With more requested ranges, the bounds of segments are compared one segment at a time instead of all at once.
MAX_RANGES_AT_ONCE = 64


def matching_ranges(manifest: Manifest, column: int, requested: Sequence[Bounds], start: int, stop: int) -> tuple[RowRange, ...]:
    """Return ranges of rows that contain all rows whose values are in one of the requested ranges.

    Parameters
    ----------
    manifest
        The manifest of the dataset.
    column
        The position of a column of numbers, strings or datetimes.
    requested
        The ranges of requested values: the smallest and the largest value of each, None if there is no limit. Datetimes are given in microseconds.
        The ranges are ascending and do not overlap. Missing values and NaN never match.
    start, stop
        The first row to search, and the row behind the last one.

    Returns
    -------
    tuple of (int, int)
        The first row and the row behind the last one of each range, in ascending order. No range is empty, or adjacent to the next one.
    """
    if not requested:
        return ()
    hits = _hits(manifest, column, requested, start, stop)
    ranges: list[RowRange] = []
    for index, (offset, entry) in enumerate(hits):
        # A segment with a single row group (``group_bytes`` is known) is taken as a whole. Reading many footers takes longer than reading the rows.
        if entry.group_bytes is None and (index in (0, len(hits) - 1) or _has_order(entry, column, len(hits))):
            groups = _row_groups(manifest, column, requested, entry)
            ranges += [(offset + a, offset + b) for a, b, bounds in groups if bounds is None or first_overlap(bounds, requested) is not None]
        else:
            ranges.append((offset, offset + entry.rows))
    return tuple(joined((max(first, start), min(last, stop)) for first, last in ranges))


def _hits(manifest: Manifest, column: int, requested: Sequence[Bounds], start: int, stop: int) -> list[tuple[int, SegmentEntry]]:
    """Return the segments that have rows between two row numbers and can hold requested values, each with the row number of its first row."""
    offsets, segments = manifest.offsets, manifest.segments
    first, last = max(bisect_right(offsets, start) - 1, 0), bisect_left(offsets, stop)
    may_match = _may_match_of_many(manifest, column, requested)
    return [
        (offsets[index], segments[index])
        for index in range(first, last)
        if segments[index].rows
        and offsets[index] + segments[index].rows > start
        and (may_match[index] if may_match is not None else _may_match(segments[index], column, requested))
    ]


def _may_match_of_many(manifest: Manifest, column: int, requested: Sequence[Bounds]) -> list[bool] | None:
    """Return for each segment whether it can hold requested values, from the bounds in the sidecar file.

    Return None if there is no sidecar file, or if there are too many ranges: then :func:`_may_match` has to be called for each segment.
    """
    if manifest.stored is None or len(requested) > MAX_RANGES_AT_ONCE:
        return None
    bounds = manifest.stored.bounds_of(column)
    if bounds is None:
        return [True] * len(manifest.segments)
    known, low, high = bounds
    matching = np.zeros(len(known), bool)
    for smallest, largest in requested:
        fits = pa.array(np.ones(len(known), bool))
        fits = fits if smallest is None else pc.and_(fits, pc.greater_equal(high, smallest))
        fits = fits if largest is None else pc.and_(fits, pc.less_equal(low, largest))
        # The bounds of a segment without values are null, and it does not match.
        matching |= pc.fill_null(pc.and_(fits, pc.is_valid(low)), False).to_numpy(zero_copy_only=False)
    result: list[bool] = (matching | ~known).tolist()
    return result


def joined(ranges: Iterable[RowRange]) -> Iterator[RowRange]:
    """Yield ascending ranges without empty ones, and with overlapping or adjacent ones merged.

    Examples
    --------
    >>> list(joined([(0, 2), (2, 5), (6, 6), (7, 9)]))
    [(0, 5), (7, 9)]
    """
    current: RowRange | None = None
    for first, last in ranges:
        if first >= last:
            continue
        if current is not None and first <= current[1]:
            current = (current[0], max(current[1], last))
            continue
        if current is not None:
            yield current
        current = (first, last)
    if current is not None:
        yield current


def common_rows(first: Sequence[RowRange], second: Sequence[RowRange]) -> Iterator[RowRange]:
    """Yield the ranges of rows that are in both of two ascending lists of ranges.

    Examples
    --------
    >>> list(common_rows([(0, 5), (8, 20)], [(3, 9), (12, 13)]))
    [(3, 5), (8, 9), (12, 13)]
    """
    i = j = 0
    while i < len(first) and j < len(second):
        low, high = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if low < high:
            yield low, high
        if first[i][1] <= second[j][1]:
            i += 1
        else:
            j += 1


def recorded_bounds(manifest: Manifest, column: int) -> Bounds | None:
    """Return the minimum and the maximum of a column, without missing values and NaN; None if they are unknown, or there are no other values."""
    if manifest.stored is not None:
        summary = manifest.stored.summary[column]
        return (summary.minimum, summary.maximum) if summary.bounds_known and summary.minimum is not None else None
    segments = [entry for entry in manifest.segments if entry.rows]
    if any(len(entry.columns) <= column or not entry.columns[column].bounds_known for entry in segments):
        return None
    facts: list[Any] = [entry.columns[column] for entry in segments if entry.columns[column].minimum is not None]
    return (min(fact.minimum for fact in facts), max(fact.maximum for fact in facts)) if facts else None


def first_overlap(actual: Bounds, requested: Sequence[Bounds]) -> Bounds | None:
    """Return the first requested range that overlaps ``actual``; None if none does, or if the bounds of ``actual`` are None, as it has no values.

    Examples
    --------
    >>> first_overlap((4, 6), [(1, 2), (5, 5), (9, None)]), first_overlap((6, 8), [(1, 2), (5, 5), (9, None)])
    ((5, 5), None)
    """
    if actual[0] is None or actual[1] is None:
        return None
    limited = len(requested) - (requested[-1][1] is None)
    index = bisect_left(requested, actual[0], hi=limited, key=itemgetter(1))
    return requested[index] if index < len(requested) and overlap(actual, requested[index]) else None


def _has_order(entry: SegmentEntry, column: int, hits: int) -> bool:
    """Return whether a segment is sorted by a column, or, if that is unknown, whether there are so few segments that their footers are read."""
    if len(entry.columns) <= column:
        return False
    facts = entry.columns[column]
    return bool(facts.ascending or facts.descending) or (facts.ascending is None and hits <= MAX_FOOTERS)


def _may_match(entry: SegmentEntry, column: int, requested: Sequence[Bounds]) -> bool:
    if len(entry.columns) <= column or not entry.columns[column].bounds_known:
        return True
    return first_overlap((entry.columns[column].minimum, entry.columns[column].maximum), requested) is not None


def _all_requested(facts: ColumnStatistics, requested: Sequence[Bounds]) -> bool:
    """Return whether all values of a segment are in one requested range."""
    low, high = facts.minimum, facts.maximum
    first = first_overlap((low, high), requested)
    if first is None:
        return False
    smallest, largest = first
    above = smallest is None or low >= smallest  # type: ignore[operator]  # all are values of one column
    return above and (largest is None or high <= largest)  # type: ignore[operator]


def overlap(actual: Bounds, requested: Bounds) -> bool:
    """Return whether a range, which has no values if its bounds are None, overlaps a requested range.

    Examples
    --------
    >>> overlap((1, 5), (5, None)), overlap((1, 5), (None, 0)), overlap((None, None), (None, None))
    (True, False, False)
    """
    low, high = actual
    if low is None or high is None:
        return False
    smallest, largest = requested
    below = smallest is not None and high < smallest  # type: ignore[operator]  # both are values of one column
    above = largest is not None and low > largest  # type: ignore[operator]
    return not (below or above)


def _row_groups(manifest: Manifest, column: int, requested: Sequence[Bounds], entry: SegmentEntry) -> Sequence[tuple[int, int, Bounds | None]]:
    """Return the first row, the end row and the bounds of each row group of a segment; bounds are None if unknown.

    If all values of the segment are requested, or its bounds are unknown, it counts as one row group, and its footer is not read.
    """
    if len(entry.columns) <= column or not entry.columns[column].bounds_known or _all_requested(entry.columns[column], requested):
        return [(0, entry.rows, None)]
    footer = segment_footer(manifest.directory, entry)
    if len(footer.starts) <= 2:
        return [(0, entry.rows, None)]
    name = manifest.file_name(column)
    if footer.schema.field(name).type != manifest.types[column].physical:
        return [(0, entry.rows, None)]
    groups = []
    for group, chunk in enumerate(footer.chunks(order_column(name, manifest.types[column]))):
        bounds: Bounds | None = None
        if chunk is not None and has_bounds(chunk):
            # Other programs may truncate bounds of strings. Such segments have no recorded bounds, and were returned as a whole above.
            bounds = (chunk.min, chunk.max) if chunk.physical_type == "BYTE_ARRAY" else (chunk.min_raw, chunk.max_raw)
            bounds = None if bounds[0] != bounds[0] or bounds[1] != bounds[1] else bounds
        groups.append((footer.starts[group], footer.starts[group + 1], bounds))
    return groups
