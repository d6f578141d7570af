"""Short files of datasets, opened once and read at once: opening one takes longer than reading it, and nobody reads the same bytes twice."""

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

# A file below this takes longer to open than to read.
SHORT_BYTES = 1 << 20
# Reading all of so many bytes takes no longer than reading some of them.
VERY_SHORT_BYTES = 64 << 10
# Of other short files all is read where more than this part of the rows is wanted: a fourth.
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
        Whether all bytes were compared with a check sum, so that nothing of them needs to be looked at once more.
    """

    content: bytes
    footer: Footer
    file: pq.ParquetFile
    is_verified: bool


def is_short(directory: str, entry: SegmentEntry, rows: int) -> bool:
    """Say whether a file of a dataset is read at once where so many of its rows are wanted: a short one of ours, whose footer has a check sum.

    Few rows of one that is not very short are read by themselves: whoever asks for one after the other would read all bytes each time.
    """
    if entry.size is None or entry.size > SHORT_BYTES or entry.tail is None or is_remote_location(directory):
        return False
    return entry.size <= VERY_SHORT_BYTES or rows * SHARE_OF_ROWS >= entry.rows


def read_short(directory: str, entry: SegmentEntry) -> ShortFile:
    """Return a short file (see :func:`is_short`) that is the one that its manifest means.

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
