"""Makes manifest entries for Parquet files that Spark wrote; row counts, segment numbers and the order of files are read from their footers."""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Sequence

import pyarrow as pa

from sframe_spark.errors import StorageError
from sframe_spark.paths_and_uris import normalised
from sframe_spark.storage.filesystem.local_files import files_below
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, KEY_POSITION_MASK, KEY_SHIFT, file_column, require_computed_as
from sframe_spark.storage.parquet.footer import Footer, bounds_of, footer_of, statistics_in_footer
from sframe_spark.storage.segments.row_sizes import bytes_in_footer
from sframe_spark.types import ColumnType


def adopt(directory: str, types: Sequence[ColumnType], files: Sequence[str] | None = None) -> list[SegmentEntry]:
    """Return segment entries for Parquet files that Spark wrote, in the order of their row keys.

    Only the footers of the files are read. Each file must hold consecutive keys of one segment number, which start at position 0 or, if
    Spark split a partition into several files, where the previous file ends.

    Parameters
    ----------
    directory
        The directory to which Spark wrote the columns ``c0..cn`` and ``_key``.
    types
        The types of the columns.
    files
        Paths of the files, relative to the directory; None for all files in the directory.

    Raises
    ------
    StorageError
        If a file lacks a column, its keys are not consecutive, keys are missing between files, or two files hold the same keys.
    PlanInvariantError
        If the type of a column in a file is not the expected one.
    """
    location = normalised(directory)
    names = files_below(location) if files is None else files
    entries = [
        _entry(location, name, footer, types)
        for name in names
        # As in Spark, a file is data if no part of its path starts with a dot or an underscore.
        if not any(part.startswith((".", "_")) for part in name.split(posixpath.sep))
        and (footer := footer_of(join(location, name), just_written=True)).rows
    ]
    entries.sort(key=lambda entry: (entry.number, entry.first_position))
    _check_order(location, entries)
    return entries


def _entry(location: str, name: str, footer: Footer, types: Sequence[ColumnType]) -> SegmentEntry:
    file = join(location, name)
    missing = {KEY_NAME, *map(file_column, range(len(types)))} - set(footer.schema.names)
    if missing:
        raise StorageError(f"{file} has no column {', '.join(sorted(missing))}: it was not written as a segment")
    for position, column_type in enumerate(types):
        require_computed_as(footer.schema.field(file_column(position)).type, position, column_type)
    bounds = bounds_of(footer.chunks(KEY_NAME)) if footer.schema.field(KEY_NAME).type == pa.int64() else None
    if bounds is None or not isinstance(bounds[0], int) or not isinstance(bounds[1], int):
        raise StorageError(f"the footer of {file} has no bounds of {KEY_NAME}, so it is unknown which rows it holds")
    first, last = bounds[0], bounds[1]
    # Row numbers are computed from keys, so a gap would give all later rows wrong numbers.
    if last - first + 1 != footer.rows or first >> KEY_SHIFT != last >> KEY_SHIFT:
        raise StorageError(f"{file} has {footer.rows} rows but keys from {first} to {last}: they are not consecutive")
    columns = tuple(statistics_in_footer(footer, file_column(position), column_type) for position, column_type in enumerate(types))
    sizes = tuple(bytes_in_footer(footer, file_column(position)) for position in range(len(types)))
    number, position = first >> KEY_SHIFT, first & KEY_POSITION_MASK
    return SegmentEntry(name, number, footer.rows, columns, size=footer.size, first_position=position, column_bytes=sizes)


def _check_order(location: str, entries: Sequence[SegmentEntry]) -> None:
    """Raise if the row positions of a segment number do not start at 0 or have gaps, or if one position is in two files."""
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
