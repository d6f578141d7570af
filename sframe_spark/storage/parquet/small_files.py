"""Short files of datasets, read in one go: opening one takes longer than reading it."""

from __future__ import annotations

import zlib

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_remote_location
from sframe_spark.storage.filesystem.io_errors import missing, translate_os_errors
from sframe_spark.storage.filesystem.local_files import read_regular
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.parquet import footer as int96
from sframe_spark.storage.parquet.footer import Footer, damaged_footer, other_length, require_rows

# Files below this size take longer to open than to read.
SHORT_BYTES = 1 << 20
# Files below this size are always read in one go.
VERY_SHORT_BYTES = 64 << 10
# Other short files are read in one go if at least one row in this many is requested.
SHARE_OF_ROWS = 4


@attrs.frozen
class ShortFile:
    """A short file, all of it.

    Parameters
    ----------
    content
        Its bytes.
    footer
        Its footer.
    file
        What reads its rows.
    is_verified
        Whether all bytes were compared with a checksum, so that no further check is needed.
    """

    content: bytes
    footer: Footer
    file: pq.ParquetFile
    is_verified: bool


def is_short(directory: str, entry: SegmentEntry, rows: int) -> bool:
    """Return whether a file is read in one go for this many rows: a short local one with a footer checksum.

    A few rows of a medium-sized file are read by themselves: a caller that reads row by row would read all bytes each time.
    """
    if entry.size is None or entry.size > SHORT_BYTES or entry.tail is None or is_remote_location(directory):
        return False
    return entry.size <= VERY_SHORT_BYTES or rows * SHARE_OF_ROWS >= entry.rows


def read_short(directory: str, entry: SegmentEntry) -> ShortFile:
    """Read a short file (see :func:`is_short`) and check that it is the one of the manifest.

    Raises
    ------
    StorageError
        If it is missing, a link, damaged or another one.
    """
    assert entry.size is not None and entry.tail is not None
    location = join(directory, entry.file)
    with translate_os_errors("read", location):
        try:
            content, state = read_regular(location, entry.size)
        except FileNotFoundError:
            raise StorageError(missing(location)) from None
    if len(content) != entry.size:
        raise other_length(location, max(state.size, len(content)), entry.size)
    if entry.whole is not None and zlib.crc32(content) != entry.whole:
        raise StorageError(f"{location} is damaged or was replaced: its check sum is another one; restore it from a copy")
    if entry.whole is None and zlib.crc32(memoryview(content)[entry.size - entry.tail[0] :]) != entry.tail[1]:
        raise damaged_footer(location)
    try:
        file = pq.ParquetFile(
            pa.BufferReader(content), pre_buffer=False, page_checksum_verification=entry.whole is None, coerce_int96_timestamp_unit=int96.UNIT
        )
    except pa.ArrowInvalid as error:
        raise StorageError(f"{location} is not a readable Parquet file ({error}); restore it from a copy") from error
    footer = Footer(file.metadata, entry.size, (location, state))
    require_rows(location, footer, entry)
    return ShortFile(content, footer, file, entry.whole is not None)
