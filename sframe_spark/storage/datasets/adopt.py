"""Taking over Parquet files that Spark wrote: rows, numbers and order come from footers, never from file names."""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Sequence

import pyarrow as pa

from sframe_spark.errors import StorageError
from sframe_spark.locations import normalised
from sframe_spark.storage.filesystem.listing import files_below
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, KEY_POSITION_MASK, KEY_SHIFT, file_column, require_computed_as
from sframe_spark.storage.parquet.footer import Footer, bounds_of, footer_of, statistics_in_footer
from sframe_spark.types import ColumnType


def adopt(directory: str, types: Sequence[ColumnType], files: Sequence[str] | None = None) -> list[SegmentEntry]:
    """Return entries for the rows of Parquet files that Spark wrote, in the order of their keys.

    Only footers are read. Each file must hold consecutive keys of one segment number, starting at position 0 or, where
    Spark cut a partition into several files, where the file before ends.

    Parameters
    ----------
    directory
        Where Spark wrote columns ``c0..cn`` and ``_key``.
    types
        Types of the columns.
    files
        Files relative to the directory; None for all that are there.

    Raises
    ------
    StorageError
        If a file has no keys, keys are missing, or two files hold the same ones.
    PlanInvariantError
        If a column holds values of another type.
    """
    location = normalised(directory)
    names = files_below(location) if files is None else files
    entries = [
        _entry(location, name, footer, types)
        for name in names
        if _is_data(name) and (footer := footer_of(join(location, name), just_written=True)).rows
    ]
    entries.sort(key=lambda entry: (entry.number, entry.first_position))
    _check_order(location, entries)
    return entries


def _is_data(name: str) -> bool:
    """Say whether a file holds rows by Spark's rule: no part of its path starts with a dot or an underscore."""
    return not any(part.startswith((".", "_")) for part in name.split(posixpath.sep))


def _entry(location: str, name: str, footer: Footer, types: Sequence[ColumnType]) -> SegmentEntry:
    file = join(location, name)
    missing = {KEY_NAME, *map(file_column, range(len(types)))} - set(footer.schema.names)
    if missing:
        raise StorageError(f"{file} has no column {', '.join(sorted(missing))}: it was not written as a segment")
    for place, column_type in enumerate(types):
        require_computed_as(footer.schema.field(file_column(place)).type, place, column_type)
    bounds = bounds_of(footer.chunks(KEY_NAME)) if footer.schema.field(KEY_NAME).type == pa.int64() else None
    if bounds is None or not isinstance(bounds[0], int) or not isinstance(bounds[1], int):
        raise StorageError(f"{file} does not say which rows it holds: its footer has no bounds of {KEY_NAME}")
    first, last = bounds[0], bounds[1]
    # Dense row numbers are computed from keys, so a gap would shift every row after it.
    if last - first + 1 != footer.rows or first >> KEY_SHIFT != last >> KEY_SHIFT:
        raise StorageError(f"{file} has {footer.rows} rows but keys from {first} to {last}: they are not consecutive")
    columns = tuple(statistics_in_footer(footer, file_column(position), column_type) for position, column_type in enumerate(types))
    return SegmentEntry(
        name,
        first >> KEY_SHIFT,
        footer.rows,
        columns,
        size=footer.size,
        first_position=first & KEY_POSITION_MASK,
    )


def _check_order(location: str, entries: Sequence[SegmentEntry]) -> None:
    """Make sure that every segment number is covered from position 0, by each file once."""
    for before, entry in itertools.pairwise([None, *entries]):
        assert entry is not None
        continued = before is not None and before.number == entry.number
        expected = before.first_position + before.rows if before is not None and continued else 0
        if entry.first_position < expected:
            raise StorageError(f"{join(location, entry.file)} holds rows that another file of {location} holds too; write into an empty directory")
        if entry.first_position > expected:
            raise StorageError(
                f"{join(location, entry.file)} starts at position {entry.first_position} of segment {entry.number}: "
                f"the rows from {expected} on are missing; write the dataset again"
            )
