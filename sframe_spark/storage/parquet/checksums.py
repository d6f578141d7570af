"""Computes and compares checksums of page headers, footers and whole Parquet files, which show whether a file was damaged or replaced."""

from __future__ import annotations

import contextlib
import itertools
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenPages, BrokenThrift, StorageError
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.storage.filesystem.dataset_file_reads import GroupBytes, open_ranges
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import state_of
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, file_column
from sframe_spark.storage.parquet.footer import VERIFIED_COLUMNS, Footer, Identity, chunk_range, column_names, footer_of, segment_footer
from sframe_spark.storage.parquet.open_file import SHORT_BYTES, ranges_of
from sframe_spark.storage.parquet.thrift import INTEGERS, MAGIC, field_readers, read_fields, read_signed

# Page headers, which the checksums of pages do not cover.
#
# A page header contains the encoding and the number of the values of its page, so a damaged header may lead to wrong values without an error.
# Headers have a few bytes each. The position of the first header of a column is in the footer; each header contains the size of its page, from
# which the position of the next header follows.

_COMPRESSED_SIZE, _CHECKSUM = 3, 4
_HEADER_READERS = field_readers({_COMPRESSED_SIZE: (INTEGERS, read_signed), _CHECKSUM: (INTEGERS, read_signed)})
# A header is first parsed from this many bytes, and if it is longer, from more, up to a limit that no program that writes Parquet reaches.
COMMON_HEADER, LONGEST_HEADER = 256, 16 << 20
# Files up to this size are read as a whole.
SHORT_FILE = 64 << 10


@attrs.frozen
class PageHeaders:
    """Checksums of the page headers of some columns of a file, and the positions of their pages.

    Parameters
    ----------
    sums
        The checksum of all page headers of each column, in the order of row groups, by column name.
    complete
        Whether all page headers contain a checksum of the page's data.
    ranges
        The range of bytes of each column chunk, in the order of row groups.
    """

    sums: dict[str, int]
    complete: bool
    ranges: tuple[tuple[int, int], ...]

    @property
    def end(self) -> int:
        """The position behind the last page of these columns."""
        return max((end for _, end in self.ranges), default=len(MAGIC))

    @property
    def gapless(self) -> bool:
        """Whether the pages of these columns fill the file, without gaps, from the magic bytes at its start to the end of the last page."""
        return all(end == start for (_, end), (start, _) in itertools.pairwise([(0, len(MAGIC)), *sorted(self.ranges)]))


class FileBytes:
    """The bytes of an open file, which are read by slices; a short file is read as a whole at first.

    Parameters
    ----------
    source
        The open file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> content = FileBytes(pa.BufferReader(b"abcdef"))
    >>> len(content), content[2:4], content[4:]
    (6, b'cd', b'ef')
    """

    def __init__(self, source: pa.NativeFile) -> None:
        self._source = source
        self._length = int(source.size())
        self._whole = source.read_at(self._length, 0) if self._length <= SHORT_FILE else None

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, part: slice) -> bytes:
        if self._whole is not None and len(self._whole) == self._length:
            return self._whole[part]
        start, stop, _ = part.indices(self._length)
        return bytes(self._source.read_at(max(stop - start, 0), start))


def page_headers(
    content: FileBytes | GroupBytes,
    metadata: pq.FileMetaData,
    requested: Collection[str] | None = None,
    with_pages: bool = False,
    groups: Iterable[int] | None = None,
) -> PageHeaders:
    """Return the checksums of the page headers of some columns, and the positions of their pages.

    Parameters
    ----------
    content
        The bytes of the file.
    metadata
        The footer of the file.
    requested
        The names of the columns; None for all columns.
    with_pages
        Whether to compare the data of pages with the checksums in their headers.
    groups
        The row groups; None for all row groups.

    Raises
    ------
    BrokenPages
        If a page header or a position is invalid, or the data of a page does not match its checksum.
    """
    leaves = [(leaf, name) for leaf, name in enumerate(column_names(metadata)) if requested is None or name in requested]
    sums: dict[str, int] = dict.fromkeys((name for _, name in leaves), 0)
    complete, ranges = True, []
    for group in range(metadata.num_row_groups) if groups is None else groups:
        chunks = metadata.row_group(group)
        for leaf, name in leaves:
            raise_if_cancelled()
            start, end = chunk_range(chunks.column(leaf))
            ranges.append((start, end))
            if not 0 < start <= end <= len(content):
                raise BrokenPages(f"column {name} is said to be at {start}")
            for header, data, stop, checksum in _pages(content, start, end):
                sums[name] = zlib.crc32(header, sums[name])
                complete = complete and checksum is not None
                if with_pages and checksum not in (None, zlib.crc32(content[data:stop])):
                    raise BrokenPages(f"column {name} has a page of another check sum than its header says")
    return PageHeaders(sums, complete, tuple(ranges))


def _pages(content: FileBytes | GroupBytes, start: int, end: int) -> Iterator[tuple[bytes, int, int, int | None]]:
    """Yield for each page of a column chunk its header, the range of its data, and the checksum in the header."""
    while start < end:
        header, size, checksum = _header(content, start, end)
        data = start + len(header)
        stop = data + size
        if stop > end:
            break
        yield header, data, stop, checksum
        start = stop
    if start != end:
        raise BrokenPages("page headers are damaged")


def _header(content: FileBytes | GroupBytes, start: int, end: int) -> tuple[bytes, int, int | None]:
    """Return the bytes of a page header, the size of its page, and the checksum of the page's data (None if the header has none)."""
    window = COMMON_HEADER
    while True:
        stop = min(start + window, end)
        header = content[start:stop]
        try:
            fields, length = read_fields(header, 0, _HEADER_READERS)
            break
        except IndexError:
            if stop == end or window >= LONGEST_HEADER:
                raise BrokenPages("a page header has no end") from None
            window *= 16
    size, checksum = fields.get(_COMPRESSED_SIZE, -1), fields.get(_CHECKSUM)
    if size < 0:
        raise BrokenPages("a page has no length")
    # Thrift stores the checksum as a signed integer.
    return header[:length], size, None if checksum is None else checksum & 0xFFFFFFFF


def check_pages(footer: Footer, location: str, sums: Mapping[str, int], content: bytes | None = None) -> None:
    """Compare the page headers of some columns with their checksums; columns that this process has verified are not read again.

    Parameters
    ----------
    footer
        The footer of the file.
    location
        The path or URI of the file.
    sums
        The checksums of the columns' page headers, by column name in the file.
    content
        All bytes of the file, if they were read already; otherwise None.

    Raises
    ------
    StorageError
        If a page header is damaged, or the page headers of a column do not match its checksum.
    """
    requested = VERIFIED_COLUMNS.unchecked(footer.identity, sums)
    if not requested:
        return
    if content is not None:
        opening = pa.BufferReader(content)
    elif is_remote_location(location):
        opening = open_ranges(location, footer.size, [ranges_of(footer, group, requested) for group in range(footer.metadata.num_row_groups)])
    else:
        opening = pa.OSFile(location)
    with translate_os_errors("read", location), opening as source:
        actual = page_headers(FileBytes(source), footer.metadata, requested).sums
    for name in requested:
        if actual.get(name) != sums[name]:
            raise StorageError(f"{location} is damaged: the check sum of page headers of column {name} is another one; restore it from a copy")
    VERIFIED_COLUMNS.add(footer.identity, requested)


# Files and their footers.

BLOCK_BYTES = 4 * 1024 * 1024


def checksummed(entry: SegmentEntry, location: str, columns: int, metadata: pq.FileMetaData | None = None, with_pages: bool = False) -> SegmentEntry:
    """Return the entry of a segment file with its size, and with the checksums of its footer and of the page headers of each column.

    Together with the checksums in page headers, they cover every byte of the file. If a page header has no checksum, or there are gaps between
    pages, a checksum of the whole file is computed.

    Parameters
    ----------
    entry
        The entry of the file.
    location
        The path of the file.
    columns
        The number of its columns, without the key.
    metadata
        The footer of the file; None if it was not read yet.
    with_pages
        Whether to compare the data of pages with the checksums in their headers.

    Raises
    ------
    BrokenPages
        If a page header or a position is invalid, or the data of a page does not match its checksum.
    """
    with pa.OSFile(location) as source:
        footer = pq.read_metadata(source) if metadata is None else metadata
        content = FileBytes(source)
        headers = page_headers(content, footer, with_pages=with_pages)
        names = [*map(file_column, range(columns)), KEY_NAME]
        if not headers.sums.keys() >= set(names):
            raise BrokenPages("columns are missing")
        tail = content[headers.end :]
        return attrs.evolve(
            entry,
            checksum=entry.checksum if (headers.complete and headers.gapless) or entry.checksum is not None else checksum_of(location),
            size=len(content),
            tail=(len(content) - headers.end, zlib.crc32(tail)),
            pages=tuple(headers.sums[name] for name in names),
            whole=zlib.crc32(content[0:]) if len(content) <= SHORT_BYTES else None,
        )


def with_checksums(manifest: Manifest) -> Manifest:
    """Return a manifest with checksums of all files; checksums that are known are not computed again. External files get none.

    Raises
    ------
    StorageError
        If a file differs from the checksum of the whole file, if it has one, or its pages are damaged.
    """

    def completed(index: int) -> SegmentEntry:
        location = join(manifest.directory, segments[index].file)
        check_whole(location, segments[index])
        with translate_os_errors("read", location):
            return checksummed(segments[index], location, len(manifest.types))

    segments = list(manifest.segments)
    incomplete = [index for index, entry in enumerate(segments) if entry.rows and None in (entry.tail, entry.pages)]
    if not incomplete or not manifest.has_key:
        return manifest
    for index, entry in zip(incomplete, in_threads(completed, incomplete, available_cores()), strict=True):
        segments[index] = entry
    return manifest.with_segments(tuple(segments))


def check_whole(location: str, entry: SegmentEntry) -> None:
    """Compare a file with the checksum of the whole file, if its entry has one.

    Raises
    ------
    StorageError
        If the file does not match the checksum.
    """
    if entry.checksum is not None and (actual := checksum_of(location)) != entry.checksum:
        raise StorageError(f"{location} is damaged: check sum {actual}, not {entry.checksum}; restore it from a copy")


def check_bytes(location: str, entry: SegmentEntry, columns: int) -> None:
    """Compare all bytes of a file with the checksums in its entry and in its page headers, without decoding values.

    Raises
    ------
    StorageError
        If the file is damaged or was replaced, or some of its bytes have no checksum.
    """
    check_whole(location, entry)
    # The checksum of the footer is compared before pyarrow reads the footer, since pyarrow may crash on a damaged one.
    footer = footer_of(location, entry.size, entry.tail)
    with translate_os_errors("read", location), open(location, "rb") as source:
        start = source.read(len(MAGIC))
        again = checksummed(entry, location, columns, footer.metadata, with_pages=True)
    if start != MAGIC or (again.tail, again.pages) != (entry.tail, entry.pages) or entry.whole not in (None, again.whole):
        raise StorageError(f"{location} is damaged: the check sums of its footer or page headers are others; restore it from a copy")
    if entry.whole is None and again.checksum != entry.checksum:
        raise StorageError(f"{location} cannot be verified: some of its pages have no check sums; load the frame and save it again")


def checksum_of(location: str) -> str:
    """Return the checksum of a whole local file: ``crc32:`` and eight hexadecimal digits."""
    value = 0
    with translate_os_errors("read", location), open(location, "rb") as source:
        while block := source.read(BLOCK_BYTES):
            raise_if_cancelled()
            value = zlib.crc32(block, value)
    return f"crc32:{value:08x}"


# Checksums for each row group of remote files, with which the bytes of a row group can be checked without fetching others.


def with_group_sums(entry: SegmentEntry, location: str, columns: int) -> SegmentEntry:
    """Return the entry of a segment file with the checksums of page headers for each row group, if it has several row groups.

    Parameters
    ----------
    entry
        The entry, which has the other checksums of the file.
    location
        The path of a local copy of the file.
    columns
        The number of its columns, without the key.
    """
    with pa.OSFile(location) as source:
        footer, content = pq.read_metadata(source), FileBytes(source)
        if footer.num_row_groups < 2:
            return attrs.evolve(entry, group_pages=None)
        names = [*map(file_column, range(columns)), KEY_NAME]
        sums = [page_headers(content, footer, groups=[group]).sums for group in range(footer.num_row_groups)]
    return attrs.evolve(entry, group_pages=tuple(tuple(group[name] for name in names) for group in sums))


def checking(manifest: Manifest, entry: SegmentEntry, footer: Footer, columns: Iterable[int]) -> Callable[[int, GroupBytes], None] | None:
    """Return a function that compares the page headers of a fetched row group of a remote file with their checksums.

    Return None if the file is local, or there are no checksums for each row group.
    """
    location, groups = join(manifest.directory, entry.file), footer.metadata.num_row_groups
    by_group = entry.group_pages or ((entry.pages,) if entry.pages is not None else ())
    if not is_remote_location(location) or len(by_group) != groups:
        return None
    names = {manifest.file_name(column): column for column in columns}

    def check(group: int, content: GroupBytes) -> None:
        try:
            actual = page_headers(content, footer.metadata, names.keys(), groups=[group]).sums
        except BrokenThrift as error:
            raise StorageError(f"{location} is damaged: {error}; save the frame again") from None
        for name, column in names.items():
            if actual.get(name) != by_group[group][column]:
                raise StorageError(f"{location} is damaged: the check sum of page headers of column {name} is another one; save the frame again")

    return check


# Checks of page headers that are made in this process or in a Spark task.


def checksum_positions(manifest: Manifest, columns: Iterable[int], with_key: bool = False) -> dict[str, int]:
    """Return the index of each column's checksum in an entry's ``pages``, by column name in the file."""
    indices = {manifest.file_name(column): column for column in columns}
    return {**indices, KEY_NAME: -1} if with_key else indices


class FileChecksums(Mapping[str, int]):
    """The checksums of the page headers of some columns of a file, by column name. They are read from ``pages`` on access.

    Parameters
    ----------
    indices
        The index of each column's checksum in ``pages``. Many files share this mapping.
    pages
        The checksums of all columns; None if none are recorded, and the mapping is empty.

    Examples
    --------
    >>> dict(FileChecksums({"c1": 1, "_key": -1}, [7, 8, 9]))
    {'c1': 8, '_key': 9}
    """

    __slots__ = ("_indices", "_pages")

    def __init__(self, indices: Mapping[str, int], pages: Sequence[int] | None) -> None:
        self._indices, self._pages = ({}, ()) if pages is None else (indices, pages)

    def __getitem__(self, name: str) -> int:
        return self._pages[self._indices[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)

    def __reduce__(self) -> tuple[Any, ...]:
        sums = list(self._pages)
        return dict, ({name: sums[index] for name, index in self._indices.items()},)


@attrs.frozen
class PageCheck:
    """A check of the footer of a file, and of the page headers of some of its columns, which is still to be made.

    Parameters
    ----------
    directory
        The directory of the dataset.
    entry
        The entry of the file.
    sums
        The checksums of the columns' page headers, by column name in the file.
    """

    directory: str
    entry: SegmentEntry
    sums: Mapping[str, int]

    def sent(self) -> PageCheck:
        """Return a copy to send to a task, without the statistics and the checksums of other columns."""
        return attrs.evolve(self, entry=attrs.evolve(self.entry, columns=(), pages=None, group_pages=None))

    def run_if_due(self) -> None:
        """Make the check, unless this process has already made it for the current state of the file; then the footer is not read, either."""
        file = self.file()
        if file is None or self.is_due(file):
            self.run()

    def run(self) -> None:
        """Make the check for those columns that this process has not verified yet.

        Raises
        ------
        StorageError
            If the file is missing, is damaged, or was replaced.
        """
        check_pages(segment_footer(self.directory, self.entry), join(self.directory, self.entry.file), self.sums)

    def file(self) -> Identity | None:
        """Return the path and the current state of the file; None if it is missing or has another size (see :func:`as_it_is`)."""
        return as_it_is(self.directory, self.entry)

    def is_due(self, file: Identity) -> bool:
        """Return whether this process has not yet verified one of the columns of the file."""
        return bool(VERIFIED_COLUMNS.unchecked(file, self.sums))

    def mark_done(self, file: Identity) -> None:
        """Record that a task has made the check for this state of the file."""
        VERIFIED_COLUMNS.add(file, self.sums)


@attrs.frozen
class PageChecks:
    """The checks that one task makes.

    Parameters
    ----------
    checks
        The checks, as :meth:`PageCheck.sent` returns them.
    """

    travels_as_one: ClassVar[bool] = True

    checks: tuple[PageCheck, ...]

    def run(self) -> None:
        """Make all checks, one after the other."""
        for check in self.checks:
            check.run()


def as_it_is(directory: str, entry: SegmentEntry) -> Identity | None:
    """Return the path and current state of a segment file; None if it is missing or has another size.

    In that case, reading the footer of the file raises an error.
    """
    location = join(directory, entry.file)
    with contextlib.suppress(OSError, StorageError):
        state = state_of(location, entry.size, may_be_link=entry.tail is None)
        return (location, state) if entry.size in (None, state.size) else None
    return None
