"""Check sums of files, of their footers and of their page headers: they tell a damaged or swapped file from a good one."""

from __future__ import annotations

import zlib

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenThrift, StorageError
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, file_column
from sframe_spark.storage.parquet.footer import footer_of
from sframe_spark.storage.parquet.page_headers import MAGIC, FileBytes, page_headers
from sframe_spark.storage.parquet.small_files import SHORT_BYTES

BLOCK_BYTES = 4 * 1024 * 1024


def sealed(entry: SegmentEntry, location: str, columns: int, metadata: pq.FileMetaData | None = None, with_pages: bool = False) -> SegmentEntry:
    """Return the entry of a file with the check sums of its footer and of the page headers of its columns and of its key.

    With the check sums that pages carry these cover every byte. The whole file gets one only where some page carries none.

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
    with_pages
        Whether to compare the data of pages with the check sums in their headers.

    Raises
    ------
    BrokenPages
        If pages are not where they should be, or have other check sums.
    """
    with pa.OSFile(location) as source:
        footer = pq.read_metadata(source) if metadata is None else metadata
        content = FileBytes(source)
        headers = page_headers(content, footer, with_pages=with_pages)
        pages = tuple(headers.sums[name] for name in (*map(file_column, range(columns)), KEY_NAME))
        tail = content[headers.end :]
        return attrs.evolve(
            entry,
            checksum=entry.checksum if (headers.complete and headers.gapless) or entry.checksum is not None else checksum_of(location),
            size=len(content),
            tail=(len(content) - headers.end, zlib.crc32(tail)),
            pages=pages,
            whole=zlib.crc32(content[0:]) if len(content) <= SHORT_BYTES else None,
        )


def with_checksums(manifest: Manifest) -> Manifest:
    """Return a manifest of the same files in which every file has its check sums; those that are known already are not computed again.

    Raises
    ------
    StorageError
        If a file is not what its check sum as a whole says, where it has one, or its pages are not where they should be.
    """
    missing = [place for place, entry in enumerate(manifest.segments) if entry.rows and None in (entry.tail, entry.pages)]
    if not missing or not manifest.has_key:
        return manifest
    segments = list(manifest.segments)
    completed = in_threads(lambda place: _completed(manifest, manifest.segments[place]), missing, available_cores())
    for place, entry in zip(missing, completed, strict=True):
        segments[place] = entry
    return manifest.with_segments(tuple(segments))


def _completed(manifest: Manifest, entry: SegmentEntry) -> SegmentEntry:
    location = join(manifest.directory, entry.file)
    check_whole(location, entry)
    try:
        with telling("read", location):
            return sealed(entry, location, len(manifest.types))
    except (BrokenThrift, KeyError) as error:
        raise StorageError(f"{location} is damaged: {error}; restore it from a copy") from None


def check_whole(location: str, entry: SegmentEntry) -> None:
    """Compare the check sum of a whole file, where its entry has one.

    Raises
    ------
    StorageError
        If it is another one.
    """
    found = None if entry.checksum is None else checksum_of(location)
    if found != entry.checksum:
        raise StorageError(f"{location} is damaged: check sum {found}, not {entry.checksum}; restore it from a copy")


def check_bytes(location: str, entry: SegmentEntry, columns: int) -> None:
    """Compare every byte of a file with the check sums that its entry has; nothing decodes any before that.

    Raises
    ------
    StorageError
        If it is damaged or another file, or if there is no check sum for some of its bytes.
    """
    check_whole(location, entry)
    # The footer first: pyarrow may end the process over a damaged one.
    footer = footer_of(location, entry.size, entry.tail)
    with telling("read", location), open(location, "rb") as source:
        start = source.read(len(MAGIC))
    try:
        again = sealed(entry, location, columns, footer.metadata, with_pages=True)
    except (BrokenThrift, KeyError) as error:
        raise StorageError(f"{location} is damaged: {error}; restore it from a copy") from None
    if start != MAGIC or (again.tail, again.pages) != (entry.tail, entry.pages) or entry.whole not in (None, again.whole):
        raise StorageError(f"{location} is damaged: the check sums of its footer or page headers are others; restore it from a copy")
    if entry.whole is None and again.checksum != entry.checksum:
        raise StorageError(f"{location} cannot be verified: some of its pages have no check sums; load the frame and save it again")


def checksum_of(location: str) -> str:
    """Return the check sum of a file: ``crc32:`` and eight hexadecimal digits."""
    value = 0
    with telling("read", location), open(location, "rb") as source:
        while block := source.read(BLOCK_BYTES):
            raise_if_cancelled()
            value = zlib.crc32(block, value)
    return f"crc32:{value:08x}"
