"""Opens Parquet files with known footers, and verifies the page headers of their columns."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenThrift, StorageError
from sframe_spark.locations import is_remote_location
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.ranged_reads import GroupBytes, open_file, open_ranges
from sframe_spark.storage.filesystem.remote_files import require_still
from sframe_spark.storage.parquet import footer as int96
from sframe_spark.storage.parquet.footer import VERIFIED_COLUMNS, Footer
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
            coerce_int96_timestamp_unit=int96.UNIT,
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
