"""Check sums of files, of their footers and of their page headers: they tell a damaged or swapped file from a good one."""

from __future__ import annotations

import io
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import StorageError
from sframe_spark.session.build import available_cores
from sframe_spark.storage.failures import telling
from sframe_spark.storage.manifest import Manifest, SegmentEntry
from sframe_spark.storage.pages import end_of_pages, header_checksums
from sframe_spark.storage.paths import join
from sframe_spark.storage.physical import KEY_NAME, file_column

BLOCK_BYTES = 4 * 1024 * 1024
# Page headers are short: they go to the system with the pages behind them.
WRITE_BYTES = 256 * 1024


class ChecksummedFile(io.RawIOBase):
    """A new file that knows its check sum as it is written, so that nobody has to read it for that.

    Parameters
    ----------
    location
        Its path; a file of that name is an error.
    """

    def __init__(self, location: str) -> None:
        super().__init__()
        self._file = open(location, "xb", buffering=WRITE_BYTES)  # noqa: SIM115  # closed by close()
        self._value = 0
        self._length = 0

    def write(self, data: Any) -> int:
        """Append bytes."""
        length = memoryview(data).nbytes
        self._value = zlib.crc32(data, self._value)
        self._length += length
        self._file.write(data)
        return length

    def writable(self) -> bool:
        """Say that it can be written."""
        return True

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._length

    def flush(self) -> None:
        """Pass what was written on to the system."""
        if not self._file.closed:
            self._file.flush()

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
        super().close()

    @property
    def checksum(self) -> str:
        """Check sum of what was written."""
        return f"crc32:{self._value:08x}"


def sealed(entry: SegmentEntry, location: str, columns: int, metadata: pq.FileMetaData | None = None) -> SegmentEntry:
    """Return the entry of a file with the check sums of its footer and of the page headers of its columns and of its key.

    Parameters
    ----------
    entry
        The entry, with the length of the file.
    location
        The file.
    columns
        How many columns it has, besides the key.
    metadata
        Its footer; None when it was not read yet.
    """
    with pa.memory_map(location) as source:
        footer = pq.read_metadata(source) if metadata is None else metadata
        content = memoryview(source.read_buffer())
        end = end_of_pages(footer)
        found = header_checksums(content, footer)
        pages = tuple(found[name] for name in (*map(file_column, range(columns)), KEY_NAME))
        return attrs.evolve(entry, size=len(content), tail=(len(content) - end, zlib.crc32(content[end:])), pages=pages)


def with_checksums(manifest: Manifest) -> Manifest:
    """Return a manifest of the same files in which every file has its check sums; those that are known already are not computed again.

    Raises
    ------
    StorageError
        If a file is not what its check sum, from an older version of this package, says.
    """
    missing = [place for place, entry in enumerate(manifest.segments) if entry.rows and None in (entry.checksum, entry.tail, entry.pages)]
    if not missing or not manifest.has_key:
        return manifest
    segments = list(manifest.segments)
    with ThreadPoolExecutor(available_cores()) as pool:
        for place, entry in zip(missing, pool.map(lambda place: _completed(manifest, segments[place]), missing), strict=True):
            segments[place] = entry
    return manifest.with_segments(tuple(segments))


def _completed(manifest: Manifest, entry: SegmentEntry) -> SegmentEntry:
    location = join(manifest.directory, entry.file)
    found = checksum_of(location)
    if entry.checksum not in (None, found):
        raise StorageError(f"{location} is damaged: check sum {found}, not {entry.checksum}; restore it from a copy")
    with telling("read", location):
        return sealed(attrs.evolve(entry, checksum=found), location, len(manifest.types))


def checksum_of(location: str) -> str:
    """Return the check sum of a file: ``crc32:`` and eight hexadecimal digits."""
    with telling("read", location), open(location, "rb") as source:
        return _pump(source, None)


def copy_with_checksum(source: str, target: str) -> str:
    """Copy a file and return its check sum."""
    with telling("read", source), open(source, "rb") as reading, telling("write", target), open(target, "xb") as writing:
        return _pump(reading, writing)


def _pump(source: Any, sink: Any) -> str:
    """Read a stream to its end, write it to the sink if there is one, and return the check sum."""
    value = 0
    while block := source.read(BLOCK_BYTES):
        value = zlib.crc32(block, value)
        if sink is not None:
            sink.write(block)
    return f"crc32:{value:08x}"
