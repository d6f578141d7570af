"""Which rows of a dataset can hold values in a range, told from recorded bounds without reading a value.

Segments are told apart by the bounds in the manifest; inside the first and the last segment that can match, row groups
are told apart by the bounds in the footer. In a sorted column these are the only ones that match in part.
"""

from __future__ import annotations

from collections.abc import Sequence

from sframe_spark.storage.footers import column_chunks, footer_of
from sframe_spark.storage.manifest import ColumnStatistics, Manifest, Scalar, SegmentEntry
from sframe_spark.storage.paths import join
from sframe_spark.storage.physical import order_column

Bounds = tuple[Scalar, Scalar]


def matching_rows(manifest: Manifest, column: int, wanted: Bounds, start: int, stop: int) -> tuple[int, int]:
    """Return a part of the rows ``start..stop`` outside of which no value lies in a range.

    Parameters
    ----------
    manifest
        The dataset.
    column
        Position of a column of numbers, text or date-times.
    wanted
        Smallest and largest wanted value (date-times in microseconds), None where there is no limit. Missing values and
        NaN are never wanted.
    start, stop
        The rows in question.

    Returns
    -------
    tuple of int
        Dense row numbers; an empty range when nothing can match.
    """
    hits = [
        (max(offset, start), min(offset + entry.rows, stop), offset, entry)
        for offset, entry in zip(manifest.offsets, manifest.segments, strict=True)
        if entry.rows and offset < stop and offset + entry.rows > start and _may_match(entry, column, wanted)
    ]
    if not hits:
        return start, start
    first = _first_row(manifest, column, wanted, hits[0][2], hits[0][3])
    last = _last_row(manifest, column, wanted, hits[-1][2], hits[-1][3])
    low, high = max(first, hits[0][0]), min(last, hits[-1][1])
    return low, max(low, high)


def _may_match(entry: SegmentEntry, column: int, wanted: Bounds) -> bool:
    if len(entry.columns) <= column or not entry.columns[column].bounds_known:
        return True
    return overlap((entry.columns[column].minimum, entry.columns[column].maximum), wanted)


def _all_wanted(facts: ColumnStatistics, wanted: Bounds) -> bool:
    smallest, largest = wanted
    low, high = facts.minimum, facts.maximum
    if low is None or high is None:
        return False
    above = smallest is None or low >= smallest  # type: ignore[operator]  # all are values of one column
    return above and (largest is None or high <= largest)  # type: ignore[operator]


def overlap(found: Bounds, wanted: Bounds) -> bool:
    """Say whether two ranges have a value in common; found bounds of None mean that there is no value at all.

    Examples
    --------
    >>> overlap((1, 5), (5, None)), overlap((1, 5), (None, 0)), overlap((None, None), (None, None))
    (True, False, False)
    """
    low, high = found
    if low is None or high is None:
        return False
    smallest, largest = wanted
    below = smallest is not None and high < smallest  # type: ignore[operator]  # both are values of one column
    above = largest is not None and low > largest  # type: ignore[operator]
    return not (below or above)


def _first_row(manifest: Manifest, column: int, wanted: Bounds, offset: int, entry: SegmentEntry) -> int:
    groups = _row_groups(manifest, column, wanted, entry)
    matching = (start for start, _, bounds in groups if bounds is None or overlap(bounds, wanted))
    return offset + next(matching, entry.rows)


def _last_row(manifest: Manifest, column: int, wanted: Bounds, offset: int, entry: SegmentEntry) -> int:
    groups = _row_groups(manifest, column, wanted, entry)
    matching = (stop for _, stop, bounds in reversed(groups) if bounds is None or overlap(bounds, wanted))
    return offset + next(matching, 0)


def _row_groups(manifest: Manifest, column: int, wanted: Bounds, entry: SegmentEntry) -> Sequence[tuple[int, int, Bounds | None]]:
    """First row, row after the last and bounds of each row group of a segment's file; None where bounds are unknown.

    A segment all of whose values are wanted, or of whose values nothing is known, is taken whole, without a look at its footer.
    """
    if len(entry.columns) <= column or not entry.columns[column].bounds_known or _all_wanted(entry.columns[column], wanted):
        return [(0, entry.rows, None)]
    footer = footer_of(join(manifest.directory, entry.file), entry.size)
    if len(footer.starts) <= 2 or footer.rows != entry.rows:
        return [(0, entry.rows, None)]
    physical = manifest.types[column].physical
    name = manifest.file_name(column)
    if footer.schema.field(name).type != physical:
        return [(0, entry.rows, None)]
    found = []
    for group, chunk in enumerate(column_chunks(footer.metadata, order_column(name, manifest.types[column]))):
        bounds: Bounds | None = None
        if chunk is not None and chunk.has_min_max:
            # Bounds of texts that other writers may have cut short are not recorded, so such segments were taken whole.
            bounds = (chunk.min, chunk.max) if chunk.physical_type == "BYTE_ARRAY" else (chunk.min_raw, chunk.max_raw)
            bounds = None if bounds[0] != bounds[0] or bounds[1] != bounds[1] else bounds
        found.append((footer.starts[group], footer.starts[group + 1], bounds))
    return found
