"""Orders of external files: footers suggest them, and comparing rows proves them."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterable, Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_remote_location
from sframe_spark.storage.filesystem.io_errors import missing, translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState, Seen
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.remote_files import changed, require_all_still
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.statistics import Scalar
from sframe_spark.storage.parquet.footer import Footer, footer_of, segment_footer
from sframe_spark.storage.segments.reader import iterate_rows
from sframe_spark.storage.segments.statistics import has_order_statistics, steps

Ordering = tuple[tuple[int, bool], ...]
# Minimum and maximum, None where all are missing, and whether any is missing.
Range = tuple[Scalar | bytes, Scalar | bytes, bool]

# Further columns decide nothing; all columns of an order are read together.
MAX_COLUMNS = 8
# Physical types whose stored numbers have the order of the values.
_NUMBERS = frozenset({"INT32", "INT64", "FLOAT", "DOUBLE"})


def claimed_orders(manifest: Manifest, column: int) -> tuple[Ordering, ...]:
    """Return possible orders, with a given first column, of a dataset of external files.

    They come from the sorting columns that all row groups declare, unless bounds contradict them, or from row groups whose
    ranges of values do not overlap. The rows need not be in such an order.

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
    # Bounds in the manifest are checked first, without reading a footer.
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
    """Return the directions (ascending: True) in which the ranges are in order."""
    return [up for up in (True, False) if _follow(ranges, up)]


def _follow(ranges: Sequence[Range], up: bool) -> bool:
    """Return whether each range follows the one before it; missing values are smallest."""
    ordered = ranges if up else list(reversed(ranges))
    last: Scalar | bytes = None
    for low, high, has_missing in ordered:
        if has_missing and last is not None:
            return False
        if low is None:
            continue
        if last is not None and low < last:  # type: ignore[operator]  # all are values of one column
            return False
        last = high
    return True


def _all_ranges(manifest: Manifest, entries: Sequence[SegmentEntry], column: int) -> list[Range] | None:
    """Return the range of each row group in row order; None if one is unknown."""
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
    # Bounds of strings are bytes in footers, but not those from directory names.
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
    """Return whether numbers or bytes in a footer are in the order of the values."""
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
    """Return bounds as stored; None for types whose stored form has another order."""
    if chunk.physical_type == "BYTE_ARRAY" or chunk.physical_type in _NUMBERS:
        return chunk.min_raw, chunk.max_raw
    return None, None


def _said_by_all(manifest: Manifest, entries: Sequence[SegmentEntry]) -> Ordering:
    """Return the longest common prefix of the sorting columns that all row groups declare."""
    common: Ordering | None = None
    for entry in entries:
        for said in _said_by(manifest, segment_footer(manifest, entry)):
            pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(said if common is None else common, said, strict=False))
            common = tuple(item for item, _ in pairs)
            if not common:
                return ()
    return common or ()


def _said_by(manifest: Manifest, footer: Footer) -> list[Ordering]:
    """Return the declared sorting columns of each row group, as far as they agree with our order of missing values."""
    names = {name: position for position in range(len(manifest.types)) if (name := manifest.file_name(position)) in footer.places}
    positions = {footer.places[name]: position for name, position in names.items()}
    found = []
    for group in range(footer.metadata.num_row_groups):
        row_group = footer.metadata.row_group(group)
        if not row_group.num_rows:
            continue
        said: list[tuple[int, bool]] = []
        for item in row_group.sorting_columns[:MAX_COLUMNS]:
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


# Comparing rows with an ordering.


@attrs.frozen
class VerifiedOrder:
    """How much of an ordering some rows have.

    Parameters
    ----------
    columns
        Number of leading columns that the rows are sorted by.
    untied
        The shortest prefix of these in which no two rows tie; None where some tie in all.
    """

    columns: int
    untied: int | None = None

    @classmethod
    def in_all(cls, parts: Iterable[VerifiedOrder]) -> VerifiedOrder:
        """Combine results of row ranges, each of which begins with the last row of the one before.

        Examples
        --------
        >>> VerifiedOrder.in_all([VerifiedOrder(2, 1), VerifiedOrder(2, 2)]), VerifiedOrder.in_all([VerifiedOrder(2, 2), VerifiedOrder(1, None)])
        (VerifiedOrder(columns=2, untied=2), VerifiedOrder(columns=1, untied=None))
        """
        found = list(parts)
        columns = min(part.columns for part in found)
        untied = [part.untied for part in found]
        longest = None if None in untied else max(part.untied or 0 for part in found)
        return cls(columns, longest if longest is not None and longest <= columns else None)


def verified_order(manifest: Manifest, ordering: Ordering, start: int = 0, stop: int | None = None) -> VerifiedOrder:
    """Return how much of an ordering some rows have; reading ends when nothing of it holds.

    Parameters
    ----------
    manifest
        The dataset.
    ordering
        Columns, none of them twice, that :func:`~sframe_spark.storage.segments.statistics.has_order_statistics` of, and whether each ascends.
    start, stop
        The rows, by their numbers.
    """
    columns = [column for column, _ in ordering]
    verified_columns, tied = len(ordering), np.zeros(len(ordering), dtype=bool)
    last: list[pa.Array] | None = None
    for arrays in iterate_rows(manifest, columns, start, stop):
        seam = [] if last is None else [[pa.concat_arrays([old, new[:1]]) for old, new in zip(last, arrays, strict=True)]]
        for rows in (*seam, arrays):
            verified_columns = _compare(manifest, ordering[:verified_columns], rows, tied)
            if not verified_columns:
                return VerifiedOrder(0)
        last = [array[-1:] for array in arrays]
    untied = next((place + 1 for place in range(verified_columns) if not tied[place]), None)
    return VerifiedOrder(verified_columns, untied)


def _compare(manifest: Manifest, ordering: Ordering, rows: list[pa.Array], tied: np.ndarray) -> int:
    """Return how many leading columns hold between neighbours, and record in ``tied`` the prefixes in which some tie."""
    if len(rows[0]) < 2:
        return len(ordering)
    equal = np.ones(len(rows[0]) - 1, dtype=bool)
    for place, (column, up) in enumerate(ordering):
        step = steps(rows[place], manifest.types[column])
        if (equal & (step > 0 if up else step < 0)).any():
            return place
        equal &= step == 0
        if not equal.any():
            return len(ordering)
        tied[place] = True
    return len(ordering)


def parts_of(rows: int, size: int) -> list[tuple[int, int]]:
    """Return ranges of row numbers, each of which begins with the last row of the one before.

    Examples
    --------
    >>> parts_of(5, 2), parts_of(0, 2)
    ([(0, 2), (1, 4), (3, 5)], [])
    """
    return [(max(start - 1, 0), min(start + size, rows)) for start in range(0, rows, size)]


# Change detection: statistics of external files hold only while the files are unchanged.

# Cached results for datasets whose files were touched.
REMEMBERED_ORDERS = 64


def require_unchanged(manifest: Manifest) -> None:
    """Make sure that external files are as they were when their statistics were taken; one system call for each local one.

    If one was touched since its rows were compared with an order, they are compared again: footers do not prove order.

    Parameters
    ----------
    manifest
        The dataset. Saved frames with checksums are not checked here: a changed file is noticed when it is read, and the manifest
        describes the frame that was loaded, whatever has become of its directory since.

    Raises
    ------
    StorageError
        If a file has gone, or is another one.
    """
    if is_remote_location(manifest.directory):
        require_all_still({join(manifest.directory, entry.file): entry.seen.state for entry in manifest.watched if entry.seen is not None})
        return
    touched = []
    for entry in manifest.watched:
        location, seen = join(manifest.directory, entry.file), entry.seen
        try:
            status = os.stat(location)
        except FileNotFoundError:
            raise StorageError(missing(location)) from None
        except OSError:
            with translate_os_errors("read", location):
                raise
        state = FileState.of(status)
        if seen is None or seen.state == state:
            continue
        if not _is_same(location, state, seen):
            raise changed(location)
        # Programs cannot set this time, so an equal one proves equal content.
        if seen.state.changed != state.changed:
            touched.append((location, state))
    order = manifest.order
    was_ordered = any(columns for _, columns in order.compared)
    if touched and was_ordered and not _is_in_order(_Touched(manifest, order.compared, order.keys, tuple(touched))):
        raise changed(touched[0][0])


def _is_same(location: str, state: FileState, seen: Seen) -> bool:
    """Return whether a file with another state still has the same content."""
    if (state.size, state.modified) != (seen.state.size, seen.state.modified):
        return False
    # Permissions or links changed, the file was restored with its times, or the file system invents inodes.
    return state.inode == seen.state.inode if seen.tail is None else footer_of(location).tail == seen.tail


@attrs.frozen(cache_hash=True)
class _Touched:
    """A dataset with touched files, and the results of earlier comparisons."""

    manifest: Manifest
    compared: tuple[tuple[tuple[tuple[int, bool], ...], int], ...]
    keys: tuple[tuple[int, ...], ...]
    files: tuple[tuple[str, FileState], ...]


@functools.lru_cache(maxsize=REMEMBERED_ORDERS)
def _is_in_order(touched: _Touched) -> bool:
    """Return whether rows still have the orders that were found: other rows may have the same footer."""
    for ordering, verified_columns in touched.compared:
        columns = tuple(column for column, _ in ordering[:verified_columns])
        found = verified_order(touched.manifest, ordering[:verified_columns]) if verified_columns else None
        if found is None:
            continue
        keys = [len(key) for key in touched.keys if key == columns[: len(key)]]
        if found.columns < verified_columns or (keys and (found.untied is None or found.untied > min(keys))):
            return False
    return True
