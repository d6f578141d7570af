"""Opens Parquet files whose footers are known, fetches only the requested parts of remote ones, and reads short files as a whole."""

from __future__ import annotations

import contextlib
import functools
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import StorageError
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.storage.filesystem.dataset_file_reads import GroupBytes, open_file, open_ranges
from sframe_spark.storage.filesystem.io_errors import missing, translate_os_errors
from sframe_spark.storage.filesystem.local_files import read_regular
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import require_still
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.parquet.footer import INT96_UNIT, Footer, chunk_range, damaged_footer, other_length, require_rows


@attrs.frozen
class RequestedChunks:
    """The row groups and columns of a file that will be read, so that only their bytes are fetched from a remote file.

    Parameters
    ----------
    groups
        The row groups.
    names
        The names of the columns in the file.
    check
        Called with the number and the fetched bytes of a row group of a remote file; raises if they are damaged.
    coded
        The names of string columns that are read as dictionary arrays.
    """

    groups: range
    names: tuple[str, ...]
    check: Callable[[int, GroupBytes], None] | None = None
    coded: Sequence[str] = ()


_OPTIONS: dict[str, Any] = {"pre_buffer": False, "coerce_int96_timestamp_unit": INT96_UNIT}


def ranges_of(footer: Footer, group: int, names: Iterable[str]) -> list[tuple[int, int]]:
    """Return the ranges of bytes in the file that hold the pages of some columns of a row group."""
    chunks = footer.metadata.row_group(group)
    ranges = (chunk_range(chunks.column(leaf)) for name in names for leaf in footer.leaves.get(name, ()))
    return [(start, stop) for start, stop in ranges if 0 < start < stop <= footer.size]


def _open_requested(location: str, footer: Footer, requested: RequestedChunks | None) -> pa.NativeFile:
    if requested is None or not is_remote_location(location):
        return open_file(location, footer.size)
    check, groups = requested.check, requested.groups
    ranges = [ranges_of(footer, group, requested.names) for group in groups]
    # An external file, which has no checksums in a manifest, is checked for changes after each fetch.
    still = None if footer.tail is None else functools.partial(require_still, location, footer.identity[1])
    return open_ranges(location, footer.size, ranges, None if check is None else lambda index, content: check(groups[index], content), still)


@contextlib.contextmanager
def opened(location: str, footer: Footer, verify: bool = True, requested: RequestedChunks | None = None) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file whose footer is known; with ``verify``, pages are compared with the checksums in their headers.

    The file is not memory-mapped, since reading a mapped file that was truncated, or is on a failing disk, would end the process.
    """
    coded = [] if requested is None else list(requested.coded)
    with (
        _open_requested(location, footer, requested) as source,
        pq.ParquetFile(source, metadata=footer.metadata, page_checksum_verification=verify, read_dictionary=coded, **_OPTIONS) as file,
    ):
        yield file


# Short files, which are read as a whole, since opening them takes longer than reading them.

# The largest size of a short file.
SHORT_BYTES = 1 << 20
# Files up to this size are always read as a whole.
VERY_SHORT_BYTES = 64 << 10
# Other short files are read as a whole if at least one in this many of their rows is requested.
SHARE_OF_ROWS = 4


@attrs.frozen
class ShortFile:
    """A short file that was read as a whole.

    Parameters
    ----------
    content
        All bytes of the file.
    footer
        The footer of the file.
    file
        A Parquet reader of the bytes.
    is_verified
        Whether all bytes were compared with a checksum, so that pages need no further check.
    """

    content: bytes
    footer: Footer
    file: pq.ParquetFile
    is_verified: bool


def is_short(directory: str, entry: SegmentEntry, rows: int) -> bool:
    """Return whether a file is read as a whole when ``rows`` of its rows are requested.

    It must be a short local file whose footer has a checksum in the manifest. Unless it is very short, enough of its rows must be requested, since a
    caller that requests a few rows at a time would read the whole file each time.
    """
    if entry.size is None or entry.size > SHORT_BYTES or entry.tail is None or is_remote_location(directory):
        return False
    return entry.size <= VERY_SHORT_BYTES or rows * SHARE_OF_ROWS >= entry.rows


def read_short(directory: str, entry: SegmentEntry) -> ShortFile:
    """Read a short file (see :func:`is_short`) as a whole, and compare it with its entry in the manifest.

    Raises
    ------
    StorageError
        If the file is missing, is a link, is damaged, or was replaced by another one.
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
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=entry.whole is None, **_OPTIONS)
    except pa.ArrowInvalid as error:
        raise StorageError(f"{location} is not a readable Parquet file ({error}); restore it from a copy") from error
    footer = Footer(file.metadata, entry.size, (location, state))
    require_rows(location, footer, entry)
    return ShortFile(content, footer, file, entry.whole is not None)
