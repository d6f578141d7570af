"""Footers of Parquet files: read once per process, and the files opened with them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
from collections.abc import Iterator

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import StorageError
from sframe_spark.storage.failures import telling
from sframe_spark.storage.paths import filesystem_of, is_local

REMEMBERED_FOOTERS = 1024


@attrs.frozen(eq=False)
class Footer:
    """The footer of one Parquet file, and where its row groups start.

    Parameters
    ----------
    metadata
        Footer as pyarrow reads it.
    starts
        Row at which each row group starts, and at the end the number of rows.
    """

    metadata: pq.FileMetaData
    starts: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Number of rows in the file."""
        return self.starts[-1]


def footer_of(location: str, size: int | None = None) -> Footer:
    """Return the footer of a file, from memory if the file has not changed since.

    Parameters
    ----------
    location
        Path or URI of the file.
    size
        Length that the file should have, as the manifest says; None when unknown.
    """
    with telling("read", location):
        try:
            found, modified = _identity(location)
        except FileNotFoundError:
            raise StorageError(
                f"{location} is missing: the dataset was overwritten, moved or deleted since it was opened; "
                "load it again"
            ) from None
        if size is not None and found != size:
            raise StorageError(
                f"{location} is damaged or was replaced: it has {found} bytes, its manifest says {size}; "
                "restore it from a copy or save the frame again"
            )
        return _load(location, found, modified)


def _identity(location: str) -> tuple[int, int]:
    """Return size and time of change, which tell one content of a path from another."""
    if is_local(location):
        status = os.stat(location)
        return status.st_size, status.st_mtime_ns
    filesystem, path = filesystem_of(location)
    info = filesystem.get_file_info(path)
    if not info.is_file:
        raise FileNotFoundError(location)
    return info.size, info.mtime_ns or 0


@functools.lru_cache(maxsize=REMEMBERED_FOOTERS)
def _load(location: str, size: int, modified: int) -> Footer:
    """Read a footer; size and time of change are only there to be part of the key."""
    try:
        with _source(location) as source:
            metadata = pq.read_metadata(source)
    except pa.ArrowInvalid as error:
        raise StorageError(f"{location} is not a readable Parquet file ({error}); restore it from a copy") from error
    rows = (metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    return Footer(metadata, tuple(itertools.accumulate(rows, initial=0)))


@contextlib.contextmanager
def opened(location: str, footer: Footer) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file whose footer is known: mapped into memory when it is local, read ahead when it is not."""
    local = is_local(location)
    with _source(location) as source, pq.ParquetFile(source, metadata=footer.metadata, pre_buffer=not local) as file:
        yield file


def _source(location: str) -> pa.NativeFile:
    if is_local(location):
        return pa.memory_map(location)
    filesystem, path = filesystem_of(location)
    return filesystem.open_input_file(path)
