"""Converts archives of Turi Create to saved frames in parallel threads, without Spark, and verifies archives and converted frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.config import config
from sframe_spark.errors import NarrowTypeError, StorageError
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.storage.datasets.atomic_directory_save import check_replaceable, saving_directory
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.segments.reader import iterate_rows
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.turicreate.archive import Archive
from sframe_spark.turicreate.archive_row_reader import ArchiveReader
from sframe_spark.turicreate.narrow_archive_types import with_narrow_types
from sframe_spark.types import DATETIME, ZONED_DATETIME, ColumnType
from sframe_spark.values.arrow_to_column_types import zoned_array
from sframe_spark.values.python_to_arrow import recode

# --- Conversion


# A progress callback, called with the number of rows written since the last call.
OnRows = Callable[[int], None]


def ignore_progress(rows: int) -> None:
    """Do nothing: the progress callback of callers that show no progress."""


def convert_archive(archive: Archive, target: str, on_rows: OnRows = ignore_progress) -> Manifest:
    """Save an archive as a frame, atomically; return the manifest of the saved frame.

    Parameters
    ----------
    archive
        The archive, which is not changed.
    target
        The directory to save to. It must be new or empty, or hold a saved frame, which is replaced.
    on_rows
        Called from several threads with the number of rows written since the last call. The number is negative if rows will be written again
        with a wider column type.

    Raises
    ------
    StorageError
        If the archive is damaged or is changed meanwhile, or ``target`` cannot be written.
    """
    positions = range(len(archive.contents.columns))
    check_replaceable(target)

    def write(narrowed: Archive) -> Manifest:
        types = tuple(column.column_type for column in narrowed.contents.columns)
        written: list[int] = []

        def report(count: int) -> None:
            written.append(count)
            on_rows(count)

        try:
            with saving_directory(target) as pending:
                entries = archive_segments(narrowed, positions, (0, archive.rows), pending.directory, report)
                archive.require_unchanged()
                return pending.commit(Manifest(types, tuple(entries), pending.directory), archive.names, archive.contents.kind)
        except NarrowTypeError:
            on_rows(-sum(written))
            raise

    return with_narrow_types(archive, positions, write)


def archive_segments(
    archive: Archive, positions: Sequence[int], rows: tuple[int, int], directory: str, on_rows: OnRows = ignore_progress
) -> list[SegmentEntry]:
    """Write a range of rows of an archive as segments to a directory, in parallel, and return the entries of the segments in row order."""
    first, last = rows
    ranges = list(enumerate(pairwise(first + bound for bound in task_bounds(last - first, available_cores()))))
    types = [archive.contents.columns[position].column_type for position in positions]

    def write(item: tuple[int, tuple[int, int]]) -> SegmentEntry:
        number, bounds = item
        return write_segment(directory, number, types, _runs(archive, positions, bounds, on_rows))

    return in_threads(write, ranges, available_cores())


# If a task has fewer rows than this, starting the task takes longer than decoding the rows.
MIN_TASK_ROWS = 65_536


def task_bounds(rows: int, cores: int) -> Sequence[int]:
    """Return the first row of each task, followed by the number of rows.

    There are at most as many tasks as cores, with at least ``MIN_TASK_ROWS`` rows each; there are more if tasks would exceed
    ``config.segment_rows``.

    Examples
    --------
    >>> task_bounds(10, 4), task_bounds(200_000, 2)
    ([0, 10], [0, 100000, 200000])
    """
    count = max(1, min(cores, rows // MIN_TASK_ROWS), -(-rows // config.segment_rows))
    return [rows * number // count for number in range(count + 1)]


def _runs(archive: Archive, positions: Sequence[int], bounds: tuple[int, int], on_rows: OnRows) -> Iterator[Sequence[pa.ChunkedArray]]:
    reader = ArchiveReader(archive)
    for rows, columns in reader.batches(positions, *bounds, config.batch_rows, config.batch_bytes):
        raise_if_cancelled()
        yield columns
        on_rows(rows)


def are_disjoint(target: str, location: str) -> bool:
    """Return whether two paths, with symbolic links resolved, are different and neither is inside the other."""
    first, second = (os.path.join(os.path.realpath(place), "") for place in (target, location))
    return not first.startswith(second) and not second.startswith(first)


# --- Verification: archives have no checksums, so all rows are decoded


def require_readable_rows(archive: Archive) -> None:
    """Decode every row of every column, to find out whether the archive can be read.

    Raises
    ------
    StorageError
        If a block is damaged, a string cannot be decoded, or a datetime is outside the years 1 to 9999; or if a file is missing or was changed.
    """

    def decode(bounds: tuple[int, int]) -> None:
        positions = range(len(archive.contents.columns))
        for _ in ArchiveReader(archive).batches(positions, *bounds, config.batch_rows, config.batch_bytes):
            pass

    in_threads(decode, list(pairwise(task_bounds(archive.rows, 1))), available_cores())
    archive.require_unchanged()


def require_same_rows(archive: Archive, manifest: Manifest) -> None:
    """Compare all values of an archive with those of a saved frame, floats bit by bit.

    Raises
    ------
    StorageError
        If a value differs, or the numbers of rows or the kinds of the columns do. For values the message names the column and a range of rows.
    """
    columns = archive.contents.columns
    if manifest.rows != archive.rows or [kind.kind for kind in manifest.types] != [column.column_type.kind for column in columns]:
        raise StorageError(f"{manifest.directory} has other columns, or another number of rows, than {archive.location}: convert it again")
    reader, first = ArchiveReader(archive), 0
    for arrays in iterate_rows(manifest, range(len(columns)), batch_rows=config.batch_rows):
        last = first + len(arrays[0])
        read = reader.read(range(len(columns)), first, last)
        for column, expected, saved, saved_type in zip(columns, read, arrays, manifest.types, strict=True):
            if not are_same(expected, pa.chunked_array([widened(saved, saved_type, column.column_type)])):
                where = f"column {column.name!r}, rows {first} to {last}"
                raise StorageError(f"{manifest.directory} has other values than {archive.location} in {where}: convert it again")
        first = last


def widened(values: pa.Array, narrow: ColumnType, wide: ColumnType) -> pa.Array:
    """Return an array of saved values in the wider column type that the archive has."""
    if narrow == DATETIME and wide == ZONED_DATETIME:
        return zoned_array(values.cast(pa.int64()), pa.nulls(len(values), pa.int32()), values.is_valid())
    return recode(values, narrow, wide)


def are_same(first: pa.ChunkedArray, second: pa.ChunkedArray) -> bool:
    """Return whether two columns of the same Arrow type hold the same values; floats are compared bit by bit.

    Examples
    --------
    >>> nan, zero = pa.chunked_array([[float("nan")]]), pa.chunked_array([[0.0]])
    >>> are_same(nan, nan), are_same(zero, pa.chunked_array([[-0.0]]))
    (True, False)
    """
    if pa.types.is_struct(first.type):
        return bool(first.is_valid().equals(second.is_valid())) and all(
            are_same(pc.struct_field(first, name), pc.struct_field(second, name)) for name in (field.name for field in first.type)
        )
    if pa.types.is_list(first.type):
        floats = (pc.list_flatten(first), pc.list_flatten(second))
        return bool(pc.list_value_length(first).equals(pc.list_value_length(second))) and are_same(*floats)
    if pa.types.is_floating(first.type):
        first, second = (pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64()) for column in (first, second))
    return bool(first.equals(second))
