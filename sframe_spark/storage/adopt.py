"""Adopting Parquet files that Spark wrote: rows, numbers and order come from footers, never from file names."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sframe_spark.errors import StorageError
from sframe_spark.storage.footers import Footer, footer_of
from sframe_spark.storage.manifest import SegmentEntry
from sframe_spark.storage.paths import filesystem_of, join
from sframe_spark.storage.physical import KEY_NAME, KEY_SHIFT
from sframe_spark.types import ColumnType

KEY_MASK = (1 << KEY_SHIFT) - 1


def adopt(directory: str, types: Sequence[ColumnType]) -> list[SegmentEntry]:
    """Describe the Parquet files that Spark wrote into a directory, in row order.

    Parameters
    ----------
    directory
        Where Spark wrote columns ``c0..cn`` and ``_key``.
    types
        Types of the columns.

    Raises
    ------
    StorageError
        If two files claim the same rows, or a file has no key.
    """
    filesystem, path = filesystem_of(directory)
    import pyarrow.fs as pafs

    infos = filesystem.get_file_info(pafs.FileSelector(path))
    names = sorted(os.path.basename(info.path) for info in infos if info.is_file)
    entries = []
    for name in names:
        if name.startswith((".", "_")):
            continue
        footer = footer_of(join(directory, name))
        if footer.rows:
            entries.append(_entry(name, footer, directory))
    ordered = sorted(entries, key=lambda item: (item[0], item[1]))
    for (_, last, _), (first, _, entry) in zip(ordered, ordered[1:], strict=False):
        if first <= last:
            raise StorageError(f"{join(directory, entry.file)} holds rows that another file of {directory} holds too")
    return [entry for _, _, entry in ordered]


def _entry(name: str, footer: Footer, directory: str) -> tuple[int, int, SegmentEntry]:
    position = footer.metadata.schema.to_arrow_schema().get_field_index(KEY_NAME)
    if position < 0:
        raise StorageError(f"{join(directory, name)} has no row key, so its rows have no place")
    groups = [footer.metadata.row_group(i).column(position).statistics for i in range(footer.metadata.num_row_groups)]
    if any(statistics is None or not statistics.has_min_max for statistics in groups):
        raise StorageError(f"{join(directory, name)} does not say which rows it holds")
    first, last = min(s.min for s in groups), max(s.max for s in groups)
    entry = SegmentEntry(name, first >> KEY_SHIFT, footer.rows, first_position=first & KEY_MASK)
    return first, last, entry
