"""Opens Parquet files with known footers: by ranges, or short ones in one go; and verifies the page headers of their columns."""

from __future__ import annotations

import contextlib
import functools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenThrift, StorageError
from sframe_spark.locations import is_remote_location
from sframe_spark.storage.filesystem.io_errors import missing, translate_os_errors
from sframe_spark.storage.filesystem.local_files import read_regular
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.ranged_reads import GroupBytes, open_file, open_ranges
from sframe_spark.storage.filesystem.remote_files import require_still
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.parquet.footer import INT96_UNIT, VERIFIED_COLUMNS, Footer, damaged_footer, other_length, require_rows
from sframe_spark.storage.parquet.page_headers import FileBytes, chunk_range, page_headers


def check_pages(footer: Footer, location: str, sums: Mapping[str, int], content: bytes | None = None) -> None:
    """Compare page headers of some columns with their checksums, once per process and file.

    Parameters
    ----------
    footer
        Footer of the file.
    location
        The file.
    sums
        Checksum for each column, by its name in the file.
    content
        All bytes of the file, where they were read already.

    Raises
    ------
    StorageError
        If they are not.
    """
    requested = VERIFIED_COLUMNS.unchecked(footer.identity, sums)
    if not requested:
        return
    opening = _whole_columns(location, footer, requested) if content is None else pa.BufferReader(content)
    with translate_os_errors("read", location), opening as source:
        try:
            found = page_headers(FileBytes(source), footer.metadata, requested).sums
        except BrokenThrift as error:
            raise StorageError(f"{location} is damaged: {error}; restore it from a copy") from None
    for name in requested:
        if found.get(name) != sums[name]:
            raise StorageError(f"{location} is damaged: the check sum of page headers of column {name} is another one; restore it from a copy")
    VERIFIED_COLUMNS.add(footer.identity, requested)


def _whole_columns(location: str, footer: Footer, names: Iterable[str]) -> pa.NativeFile:
    if not is_remote_location(location):
        return pa.OSFile(location)
    return open_ranges(location, footer.size, [ranges_of(footer, group, names) for group in range(footer.metadata.num_row_groups)])


@attrs.frozen
class RequestedChunks:
    """The row groups and columns that will be read of a file; a remote file is fetched accordingly.

    Parameters
    ----------
    groups
        Row groups.
    names
        Columns.
    check
        Checks the fetched bytes of a row group.
    coded
        String columns to be read as dictionary arrays.
    """

    groups: range
    names: tuple[str, ...]
    check: Callable[[int, GroupBytes], None] | None = None
    coded: Sequence[str] = ()


def ranges_of(footer: Footer, group: int, names: Iterable[str]) -> list[tuple[int, int]]:
    """Return where the pages of some columns of a row group are."""
    chunks = footer.metadata.row_group(group)
    found = (chunk_range(chunks.column(place)) for name in names for place in footer.leaves.get(name, ()))
    return [(start, stop) for start, stop in found if 0 < start < stop <= footer.size]


def _open_requested(location: str, footer: Footer, requested: RequestedChunks | None) -> pa.NativeFile:
    if requested is None or not is_remote_location(location):
        return open_file(location, footer.size)
    check, groups = requested.check, requested.groups
    ranges = [ranges_of(footer, group, requested.names) for group in groups]
    # Without our checksums nothing else proves that fetched bytes belong to this footer's file.
    still = None if footer.tail is None else functools.partial(require_still, location, footer.identity[1])
    return open_ranges(location, footer.size, ranges, None if check is None else lambda place, content: check(groups[place], content), still)


@contextlib.contextmanager
def opened(location: str, footer: Footer, verify: bool = True, requested: RequestedChunks | None = None) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file with a known footer; with ``verify``, pages are compared with their checksums.

    The file is not memory-mapped: reading a mapped file that is truncated or fails would end this process.
    """
    coded = [] if requested is None else list(requested.coded)
    with (
        _open_requested(location, footer, requested) as source,
        pq.ParquetFile(
            source,
            metadata=footer.metadata,
            pre_buffer=False,
            page_checksum_verification=verify,
            coerce_int96_timestamp_unit=INT96_UNIT,
            read_dictionary=coded,
        ) as file,
    ):
        yield file


# Dictionary-encoded string columns are read as dictionary arrays and decoded then, in half of the time.

# A plain string takes four bytes for its length; columns that take less per value are mostly dictionary-encoded.
MAX_BYTES_OF_CODE = 3
# With fewer rows, most of what is read are the dictionaries.
MIN_ROWS = 4_096
_CODED = "coded texts"


def coded_texts(footer: Footer, names: Iterable[str]) -> list[str]:
    """Return the string columns that a file stores dictionary-encoded.

    Parameters
    ----------
    footer
        The file's.
    names
        Columns of the file.
    """
    return [name for name in dict.fromkeys(names) if _is_coded(footer, name)]


def _is_coded(footer: Footer, name: str) -> bool:
    known = footer.measured.get((_CODED, name))
    if known is None:
        known = footer.measured[_CODED, name] = float(_appears_coded(footer, name))
    return bool(known)


def _appears_coded(footer: Footer, name: str) -> bool:
    place, schema = footer.places.get(name), footer.schema
    if place is None or footer.rows < MIN_ROWS or not pa.types.is_string(schema.field(name).type):
        return False
    groups = footer.metadata.num_row_groups
    # Three row groups are representative; a wrong guess costs time only.
    chunks = [footer.metadata.row_group(group).column(place) for group in {0, groups // 2, groups - 1}]
    return all("RLE_DICTIONARY" in chunk.encodings and chunk.total_uncompressed_size <= MAX_BYTES_OF_CODE * chunk.num_values for chunk in chunks)


def decoded(batch: pa.RecordBatch, names: Iterable[str]) -> pa.RecordBatch:
    """Return rows with some dictionary columns decoded.

    Examples
    --------
    >>> coded = pa.array(["a", "b", "a"]).dictionary_encode()
    >>> decoded(pa.record_batch([coded], ["t"]), ["t"]).column("t").to_pylist()
    ['a', 'b', 'a']
    """
    for name in names:
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, name, batch.column(place).dictionary_decode())
    return batch


# Short files, read in one go: opening one takes longer than reading it.

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
            pa.BufferReader(content), pre_buffer=False, page_checksum_verification=entry.whole is None, coerce_int96_timestamp_unit=INT96_UNIT
        )
    except pa.ArrowInvalid as error:
        raise StorageError(f"{location} is not a readable Parquet file ({error}); restore it from a copy") from error
    footer = Footer(file.metadata, entry.size, (location, state))
    require_rows(location, footer, entry)
    return ShortFile(content, footer, file, entry.whole is not None)
