"""Orders that files of others seem to be in: what their footers say of it is a reason to compare the rows, and no proof."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.statistics import Scalar
from sframe_spark.storage.parquet.footer import Footer, segment_footer
from sframe_spark.storage.segments.statistics import has_order_statistics

Ordering = tuple[tuple[int, bool], ...]
# Smallest and largest value of some rows, None where all are missing; and whether any is missing.
Range = tuple[Scalar | bytes, Scalar | bytes, bool]

# More columns than these decide nothing, and all of an order are read together.
MOST_COLUMNS = 8
# Numbers as they are stored, which are in the order of the values.
_NUMBERS = frozenset({"INT32", "INT64", "FLOAT", "DOUBLE"})


def claimed_orders(manifest: Manifest, column: int) -> tuple[Ordering, ...]:
    """Return the orders by a column first that the rows of a dataset of others' files seem to be in.

    That is what all row groups say that they are sorted by, where their bounds do not tell otherwise; and an order of two row groups or more whose
    ranges of values follow each other. It may not be so.

    Parameters
    ----------
    manifest
        The dataset.
    column
        Position of a column.
    """
    entries = [entry for entry in manifest.segments if entry.rows]
    if not manifest.watched or not has_order_statistics(manifest.types[column]):
        return ()
    # Bounds of files cost no look at a footer.
    known = [entry.columns[column] for entry in entries if len(entry.columns) > column and entry.columns[column].bounds_known]
    possible = _directions([(facts.minimum, facts.maximum, False) for facts in known])
    ranges = _all_ranges(manifest, entries, column) if possible else None
    if ranges is not None:
        possible = _directions(ranges)
    if not possible:
        return ()
    said = _said_by_all(manifest, entries)
    if said and said[0][0] == column and said[0][1] in possible:
        return (said,)
    ranges_of_values = [low for low, _, _ in ranges or () if low is not None]
    return (((column, possible[0]),),) if len(ranges_of_values) > 1 else ()


def _directions(ranges: Sequence[Range]) -> list[bool]:
    """Return the directions, ascending or not, in which ranges may follow each other."""
    return [up for up in (True, False) if _follow(ranges, up)]


def _follow(ranges: Sequence[Range], up: bool) -> bool:
    """Say whether each range is behind the one before it; missing values are the smallest."""
    ordered = ranges if up else list(reversed(ranges))
    last: Scalar | bytes = None
    for low, high, missing in ordered:
        if missing and last is not None:
            return False
        if low is None:
            continue
        if last is not None and low < last:  # type: ignore[operator]  # all are values of one column
            return False
        last = high
    return True


def _all_ranges(manifest: Manifest, entries: Sequence[SegmentEntry], column: int) -> list[Range] | None:
    """Return the range of each row group, in row order; None where one does not tell."""
    found: list[Range] = []
    for entry in entries:
        constants = dict(entry.constants)
        if column in constants:
            value = constants[column]
            part: list[Range] | None = [(value, value, value is None)]
        else:
            part = _ranges_in(segment_footer(manifest, entry), manifest.file_name(column))
        if part is None:
            return None
        found += part
    # Bounds of texts are bytes here, those of directories are not.
    kinds = {type(low) for low, _, _ in found if low is not None}
    return found if kinds <= {int, float} or len(kinds) <= 1 else None


def _ranges_in(footer: Footer, name: str) -> list[Range] | None:
    data_type = footer.schema.field(name).type
    if name not in footer.places or not _is_as_stored(data_type):
        return None
    found: list[Range] = []
    for group, chunk in enumerate(footer.chunks(name)):
        rows = footer.starts[group + 1] - footer.starts[group]
        if not rows:
            continue
        if chunk is None:
            return None
        missing = bool(chunk.has_null_count and chunk.null_count)
        if chunk.has_min_max:
            low, high = _bounds(chunk)
            if low is None or low != low or high != high:
                return None
            found.append((low, high, missing))
        elif chunk.has_null_count and chunk.null_count == rows:
            found.append((None, None, True))
        else:
            return None
    return found


def _is_as_stored(data_type: pa.DataType) -> bool:
    """Say whether numbers or bytes in a footer are in the order of the values."""
    return bool(
        pa.types.is_signed_integer(data_type)
        or pa.types.is_float32(data_type)
        or pa.types.is_float64(data_type)
        or pa.types.is_timestamp(data_type)
        or pa.types.is_date(data_type)
        or pa.types.is_string(data_type)
        or pa.types.is_large_string(data_type)
    )


def _bounds(chunk: pq.Statistics) -> tuple[Scalar | bytes, Scalar | bytes]:
    """Return bounds as they are stored; None for types whose values no number tells."""
    if chunk.physical_type == "BYTE_ARRAY" or chunk.physical_type in _NUMBERS:
        return chunk.min_raw, chunk.max_raw
    return None, None


def _said_by_all(manifest: Manifest, entries: Sequence[SegmentEntry]) -> Ordering:
    """Return the columns that all row groups say that they are sorted by, as many of the first ones as are the same."""
    common: Ordering | None = None
    for entry in entries:
        for said in _said_by(manifest, segment_footer(manifest, entry)):
            pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(said if common is None else common, said, strict=False))
            common = tuple(item for item, _ in pairs)
            if not common:
                return ()
    return common or ()


def _said_by(manifest: Manifest, footer: Footer) -> list[Ordering]:
    """Return what each row group says that it is sorted by: columns that can be compared, with missing values where ours would be."""
    names = {name: position for position in range(len(manifest.types)) if (name := manifest.file_name(position)) in footer.places}
    positions = {footer.places[name]: position for name, position in names.items()}
    found = []
    for group in range(footer.metadata.num_row_groups):
        row_group = footer.metadata.row_group(group)
        if not row_group.num_rows:
            continue
        said: list[tuple[int, bool]] = []
        for item in row_group.sorting_columns[:MOST_COLUMNS]:
            position = positions.get(item.column_index)
            if position is None or not has_order_statistics(manifest.types[position]):
                break
            statistics = row_group.column(item.column_index).statistics
            has_missing = statistics is not None and statistics.has_null_count and statistics.null_count
            if has_missing and item.nulls_first is item.descending:
                break
            if position not in dict(said):
                said.append((position, not item.descending))
        found.append(tuple(said))
    return found
