"""Archives of Turi Create become saved frames: ranges of rows are decoded and written side by side by threads, block by block, without Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import NarrowTypeError
from sframe_spark.process.cores import available_cores
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.storage.datasets.save import check_replaceable, saving_directory
from sframe_spark.storage.manifests.manifest import Manifest, SegmentEntry
from sframe_spark.storage.rows.writer import write_segment
from sframe_spark.turicreate.archive import Archive
from sframe_spark.turicreate.narrowing import with_narrow_types
from sframe_spark.turicreate.reader import ArchiveReader

# Who waits is told of so many rows.
OnRows = Callable[[int], None]


def nobody_waits(rows: int) -> None:
    """Tell nobody."""


def convert_archive(
    archive: Archive,
    target: str,
    names: Sequence[str] | None = None,
    positions: Sequence[int] | None = None,
    rows: tuple[int, int] | None = None,
    on_rows: OnRows = nobody_waits,
) -> Manifest:
    """Save an archive, or some of it, as the frame or the column that it is: whole, or not at all.

    Parameters
    ----------
    archive
        The archive, which stays as it is.
    target
        Directory to save to: new, empty, or holding a saved frame that is replaced.
    names
        Names of the columns; None for those that the archive has.
    positions, rows
        The columns and the rows; None for all.
    on_rows
        Called with the numbers of rows that were written, by several threads; with a negative one where these are to be written once more.

    Raises
    ------
    StorageError
        If the archive is damaged or was changed meanwhile, or nothing can be written there.
    """
    columns = range(len(archive.contents.columns)) if positions is None else positions
    chosen = archive.names if names is None else names
    check_replaceable(target)

    def write(narrowed: Archive) -> Manifest:
        types = tuple(narrowed.contents.columns[position].column_type for position in columns)
        written: list[int] = []

        def tell(count: int) -> None:
            written.append(count)
            on_rows(count)

        try:
            with saving_directory(target) as pending:
                entries = archive_segments(narrowed, columns, rows or (0, archive.rows), pending.directory, tell)
                archive.require_unchanged()
                return pending.commit(Manifest(types, tuple(entries), pending.directory), chosen[: len(types)], archive.contents.kind)
        except NarrowTypeError:
            on_rows(-sum(written))
            raise

    return with_narrow_types(archive, columns, write)


def archive_segments(
    archive: Archive, positions: Sequence[int], rows: tuple[int, int], directory: str, on_rows: OnRows = nobody_waits
) -> list[SegmentEntry]:
    """Write rows of an archive as segments into a directory, some side by side, and return their entries in row order."""
    first, last = rows
    count = max(1, min(available_cores(), (last - first) // LEAST_ROWS), -(-(last - first) // config.segment_rows))
    ranges = list(enumerate(pairwise(first + (last - first) * number // count for number in range(count + 1))))
    types = [archive.contents.columns[position].column_type for position in positions]

    def write(item: tuple[int, tuple[int, int]]) -> SegmentEntry:
        number, bounds = item
        return write_segment(directory, number, types, _runs(archive, positions, bounds, on_rows))

    return in_threads(write, ranges, available_cores())


# A segment should be worth its file.
LEAST_ROWS = 65_536


def _runs(archive: Archive, positions: Sequence[int], bounds: tuple[int, int], on_rows: OnRows) -> Iterator[Sequence[pa.ChunkedArray]]:
    reader = ArchiveReader(archive)
    for rows, columns in reader.batches(positions, *bounds, config.batch_rows, config.batch_bytes):
        raise_if_cancelled()
        yield columns
        on_rows(rows)


def is_beside(target: str, location: str) -> bool:
    """Say whether neither of two places is in the other, or is the other."""
    first, second = (os.path.join(os.path.realpath(place), "") for place in (target, location))
    return not first.startswith(second) and not second.startswith(first)
