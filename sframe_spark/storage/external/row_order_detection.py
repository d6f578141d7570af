"""Finds in which order the rows of external Parquet files are: footers say which orders are possible, and the rows are compared with these."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.pyarrow_versions import has_bounds
from sframe_spark.storage.manifest.column_statistics import Scalar
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.parquet.footer import Footer, segment_footer
from sframe_spark.storage.segments.column_statistics_collection import has_order_statistics, steps
from sframe_spark.storage.segments.reader import overlapping_batches

Ordering = tuple[tuple[int, bool], ...]
# The minimum and the maximum, both None if all values are missing, and whether a value is missing.
Range = tuple[Scalar | bytes, Scalar | bytes, bool]

# The largest number of columns of an order. The rows are compared by all of them at once, and further columns rarely matter.
MAX_COLUMNS = 8
# Physical types whose bounds in footers have the order of the values.
_ORDERED = frozenset({"INT32", "INT64", "FLOAT", "DOUBLE", "BYTE_ARRAY"})


def claimed_orders(manifest: Manifest, column: int) -> tuple[Ordering, ...]:
    """Return the orders, with a given first column, in which the rows of external files may be according to the footers; at most one.

    The footers say so if all row groups name the same sorting columns, and their bounds do not contradict this; or if the ranges of values of row
    groups do not overlap. The rows need not be in this order.

    Parameters
    ----------
    manifest
        The manifest of the dataset.
    column
        The position of the column.
    """
    entries = [entry for entry in manifest.segments if entry.rows]
    if not manifest.watched or not has_order_statistics(manifest.types[column]):
        return ()
    # Bounds in the manifest are compared first, since this takes no footer.
    known = [entry.columns[column] for entry in entries if len(entry.columns) > column and entry.columns[column].bounds_known]
    possible = _directions([(facts.minimum, facts.maximum, False) for facts in known])
    ranges = _all_ranges(manifest, entries, column) if possible else None
    if ranges is not None:
        possible = _directions(ranges)
    if not possible:
        return ()
    sorting = _common_sorting(manifest, entries)
    if sorting and sorting[0][0] == column and sorting[0][1] in possible:
        return (sorting,)
    with_values = [low for low, _, _ in ranges or () if low is not None]
    return (((column, possible[0]),),) if len(with_values) > 1 else ()


def _directions(ranges: Sequence[Range]) -> list[bool]:
    """Return in which directions the ranges are in order: True for ascending, False for descending."""
    return [up for up, ordered in ((True, ranges), (False, ranges[::-1])) if _ascend(ordered)]


def _ascend(ranges: Sequence[Range]) -> bool:
    """Return whether no range has a value that is smaller than one of the ranges before it. Missing values are smaller than others."""
    last: Scalar | bytes = None
    for low, high, has_missing in ranges:
        if has_missing and last is not None:
            return False
        if low is None:
            continue
        if last is not None and low < last:  # type: ignore[operator]  # all are values of one column
            return False
        last = high
    return True


def _all_ranges(manifest: Manifest, entries: Sequence[SegmentEntry], column: int) -> list[Range] | None:
    """Return the range of a column in each row group, in row order; None if a range is unknown."""
    ranges: list[Range] = []
    for entry in entries:
        constants = dict(entry.constants)
        if column in constants:
            value = constants[column]
            ranges.append((value, value, value is None))
            continue
        in_file = _ranges_in(segment_footer(manifest.directory, entry), manifest.file_name(column))
        if in_file is None:
            return None
        ranges += in_file
    # Bounds of strings are bytes if they are from footers, and strings if they are from directory names. These are not compared.
    kinds = {type(low) for low, _, _ in ranges if low is not None}
    return ranges if kinds <= {int, float} or len(kinds) <= 1 else None


def _ranges_in(footer: Footer, name: str) -> list[Range] | None:
    """Return the range of a column in each non-empty row group of a file; None if a range is unknown."""
    types, data_type = pa.types, footer.schema.field(name).type
    is_number = types.is_signed_integer(data_type) or types.is_float32(data_type) or types.is_float64(data_type)
    is_time = types.is_timestamp(data_type) or types.is_date(data_type)
    if name not in footer.places or not (is_number or is_time or types.is_string(data_type) or types.is_large_string(data_type)):
        return None
    ranges: list[Range] = []
    for group, chunk in enumerate(footer.chunks(name)):
        rows = footer.starts[group + 1] - footer.starts[group]
        if not rows:
            continue
        if chunk is None:
            return None
        if has_bounds(chunk) and chunk.physical_type in _ORDERED:
            low, high = chunk.min_raw, chunk.max_raw
            if low is None or low != low or high != high:
                return None
            ranges.append((low, high, bool(chunk.has_null_count and chunk.null_count)))
        elif not has_bounds(chunk) and chunk.has_null_count and chunk.null_count == rows:
            ranges.append((None, None, True))
        else:
            return None
    return ranges


def _common_sorting(manifest: Manifest, entries: Sequence[SegmentEntry]) -> Ordering:
    """Return the leading sorting columns that all row groups of all files have in common."""
    common: Ordering | None = None
    for entry in entries:
        for sorting in _sortings(manifest, segment_footer(manifest.directory, entry)):
            pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(sorting if common is None else common, sorting, strict=False))
            common = tuple(item for item, _ in pairs)
            if not common:
                return ()
    return common or ()


def _sortings(manifest: Manifest, footer: Footer) -> Iterator[Ordering]:
    """Yield the sorting columns of each non-empty row group of a file, up to the first column in which missing values are not the smallest."""
    names = {name: position for position in range(len(manifest.types)) if (name := manifest.file_name(position)) in footer.places}
    positions = {footer.places[name]: position for name, position in names.items()}
    for group in map(footer.metadata.row_group, range(footer.metadata.num_row_groups)):
        if not group.num_rows:
            continue
        sorting: dict[int, bool] = {}
        for item in group.sorting_columns[:MAX_COLUMNS]:
            position = positions.get(item.column_index)
            if position is None or not has_order_statistics(manifest.types[position]):
                break
            statistics = group.column(item.column_index).statistics
            has_missing = statistics is not None and statistics.has_null_count and statistics.null_count
            if has_missing and item.nulls_first is item.descending:
                break
            sorting.setdefault(position, not item.descending)
        yield tuple(sorting.items())


# Rows are compared with an ordering.


@attrs.frozen
class VerifiedOrder:
    """The result of comparing rows with an ordering.

    Parameters
    ----------
    columns
        How many of the first columns of the ordering the rows are sorted by.
    untied
        How many of these columns suffice so that no two rows are equal in them; None if two rows are equal in all.
    """

    columns: int
    untied: int | None = None

    @classmethod
    def in_all(cls, parts: Iterable[VerifiedOrder]) -> VerifiedOrder:
        """Return the result for several ranges of rows, each of which begins with the last row of the range before it.

        Examples
        --------
        >>> VerifiedOrder.in_all([VerifiedOrder(2, 1), VerifiedOrder(2, 2)]), VerifiedOrder.in_all([VerifiedOrder(2, 2), VerifiedOrder(1, None)])
        (VerifiedOrder(columns=2, untied=2), VerifiedOrder(columns=1, untied=None))
        """
        results = list(parts)
        columns = min(result.columns for result in results)
        untied = [result.untied for result in results]
        longest = None if None in untied else max(result.untied or 0 for result in results)
        return cls(columns, longest if longest is not None and longest <= columns else None)


def verified_order(manifest: Manifest, ordering: Ordering, start: int = 0, stop: int | None = None) -> VerifiedOrder:
    """Compare a range of rows with an ordering. Reading ends as soon as the rows are not sorted by the first column.

    Parameters
    ----------
    manifest
        The manifest of the dataset.
    ordering
        Distinct columns, and whether each ascends. For each column,
        :func:`~sframe_spark.storage.segments.column_statistics_collection.has_order_statistics` returns True.
    start, stop
        The first row, and the row behind the last one; None for the end.
    """
    columns = [column for column, _ in ordering]
    verified_columns, tied = len(ordering), np.zeros(len(ordering), dtype=bool)
    for _, rows in overlapping_batches(manifest, columns, start, stop):
        verified_columns = _compare(manifest, ordering[:verified_columns], rows, tied)
        if not verified_columns:
            return VerifiedOrder(0)
    untied = next((count + 1 for count in range(verified_columns) if not tied[count]), None)
    return VerifiedOrder(verified_columns, untied)


def _compare(manifest: Manifest, ordering: Ordering, rows: list[pa.Array], tied: np.ndarray) -> int:
    """Return how many of the first columns of an ordering some rows are sorted by.

    ``tied`` has a flag for each column, which is set if two neighbouring rows are equal in this column and all columns before it.
    """
    equal = np.ones(len(rows[0]) - 1, dtype=bool)
    for index, (column, up) in enumerate(ordering):
        step = steps(rows[index], manifest.types[column])
        if (equal & (step > 0 if up else step < 0)).any():
            return index
        equal &= step == 0
        if not equal.any():
            break
        tied[index] = True
    return len(ordering)


def parts_of(rows: int, size: int) -> list[tuple[int, int]]:
    """Return ranges of row numbers of about ``size`` rows, each of which begins with the last row of the range before it.

    Examples
    --------
    >>> parts_of(5, 2), parts_of(0, 2)
    ([(0, 2), (1, 4), (3, 5)], [])
    """
    return [(max(start - 1, 0), min(start + size, rows)) for start in range(0, rows, size)]
