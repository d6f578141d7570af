"""Rows of neighbouring short segments, read as those of one file."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_elsewhere
from sframe_spark.storage.manifests.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifests.physical import conform, file_column
from sframe_spark.storage.parquet.joined_files import joined_columns, may_join
from sframe_spark.storage.rows.neighbours import Placed, together

# A segment, and a range of its rows.
RowsOfSegment = tuple[SegmentEntry, int, int]
# Short files that are joined have no more rows and bytes than these, and are so many.
MOST_ROWS, MOST_BYTES, LEAST_FILES, MOST_FILES = 131_072, 8 << 20, 4, 128


def runs(manifest: Manifest, parts: Iterable[RowsOfSegment]) -> Iterator[list[RowsOfSegment]]:
    """Parts of a dataset in runs of neighbours, of which those of several segments may be read as one."""
    if is_elsewhere(manifest.directory) or manifest.column_names_in_files is not None:
        yield from ([part] for part in parts)
        return
    coming, errors = deque[RowsOfSegment](), list[StorageError]()

    def placed() -> Iterator[Placed]:
        try:
            for place, part in enumerate(parts):
                coming.append(part)
                yield part[0], place
        except StorageError as error:
            errors.append(error)

    for run in together(placed(), _size, MOST_ROWS, MOST_BYTES, MOST_FILES):
        yield [coming.popleft() for _ in run]
    # Who takes no more than there is does not hear of it.
    if errors:
        raise errors.pop()


def _size(entry: SegmentEntry) -> int | None:
    known = [size for size in (entry.size, entry.group_bytes) if size is not None]
    return max(known) if may_join(entry) and known else None


def joined_rows(manifest: Manifest, run: Sequence[RowsOfSegment], columns: Sequence[int]) -> list[pa.Array] | None:
    """Columns of the rows of a run; None where its files are to be read one by one: few, not of one form, or not as they were written."""
    if len(run) < LEAST_FILES or not columns or not all(may_join(entry) for entry, _, _ in run):
        return None
    names = [file_column(column) for column in columns]
    table = joined_columns(manifest, [entry for entry, _, _ in run], list(dict.fromkeys(names)))
    if table is None:
        return None
    # The first and the last may be read in part.
    part = table.slice(run[0][1], sum(high - low for _, low, high in run))
    try:
        return [conform(in_one_array(part.column(name).chunks), manifest.types[column]) for name, column in zip(names, columns, strict=True)]
    except (StorageError, pa.ArrowException):
        return None


def in_one_array(chunks: Sequence[pa.Array]) -> pa.Array:
    """One array of the values of some, of which there is one at least; the very same where there is only one."""
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)
