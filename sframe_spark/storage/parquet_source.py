"""Existing Parquet files as read-only segments."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import pyarrow.fs as pafs
import pyarrow.parquet as pq

from sframe_spark.errors import StorageError
from sframe_spark.storage.footers import footer_of
from sframe_spark.storage.manifest import Manifest, SegmentEntry
from sframe_spark.storage.paths import filesystem_of, normalised
from sframe_spark.values.from_arrow import arrow_column_type


def foreign_manifest(paths: Sequence[str]) -> Manifest:
    """Describe the rows of Parquet files, in natural order of their names, as one dataset without keys.

    Raises
    ------
    StorageError
        If there is no file, or the files have different columns.
    """
    files = [file for path in paths for file in _files(normalised(path))]
    if not files:
        raise StorageError(f"there is no Parquet file at {', '.join(map(str, paths))}")
    schema = pq.read_schema(files[0])
    for file in files[1:]:
        if pq.read_schema(file).names != schema.names:
            raise StorageError(f"{file} has other columns than {files[0]}")
    names = tuple(schema.names)
    entries = tuple(SegmentEntry(file, number, footer_of(file).rows) for number, file in enumerate(files))
    types = tuple(arrow_column_type(field.type) for field in schema)
    return Manifest(types, entries, "/", names, has_key=False, column_names_in_files=names)


def _files(location: str) -> list[str]:
    filesystem, path = filesystem_of(location)
    info = filesystem.get_file_info(path)
    if info.is_file:
        return [location]
    if info.type != pafs.FileType.Directory:
        raise StorageError(f"there is nothing at {location}")
    found = [item.path for item in filesystem.get_file_info(pafs.FileSelector(path)) if item.is_file]
    return sorted((name for name in found if not os.path.basename(name).startswith(("_", "."))), key=natural)


def natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key by which ``part-2`` comes before ``part-10``."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name)]
