"""Computes and compares checksums of files, footers and page headers, which show whether a file was damaged or replaced."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import BrokenThrift, StorageError
from sframe_spark.locations import is_remote_location
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads, raise_if_cancelled
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import state_of
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.ranged_reads import GroupBytes
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, file_column
from sframe_spark.storage.parquet.footer import VERIFIED_COLUMNS, Footer, Identity, footer_of, footer_of_entry
from sframe_spark.storage.parquet.open_file import SHORT_BYTES, check_pages
from sframe_spark.storage.parquet.page_headers import MAGIC, FileBytes, page_headers

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
        If a page header or a position is invalid, or the checksum of the data of a page is another one.
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
    """Return a manifest with checksums of all files; checksums that are known are not computed again. External files get none.

    Raises
    ------
    StorageError
        If a file differs from the checksum of the whole file, if it has one, or its pages are damaged.
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
        with translate_os_errors("read", location):
            return checksummed(entry, location, len(manifest.types))
    except (BrokenThrift, KeyError) as error:
        raise StorageError(f"{location} is damaged: {error}; restore it from a copy") from None


def check_whole(location: str, entry: SegmentEntry) -> None:
    """Compare a file with the checksum of the whole file, if its entry has one.

    Raises
    ------
    StorageError
        If the checksum of the file is another one.
    """
    found = None if entry.checksum is None else checksum_of(location)
    if found != entry.checksum:
        raise StorageError(f"{location} is damaged: check sum {found}, not {entry.checksum}; restore it from a copy")


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
    try:
        again = checksummed(entry, location, columns, footer.metadata, with_pages=True)
    except (BrokenThrift, KeyError) as error:
        raise StorageError(f"{location} is damaged: {error}; restore it from a copy") from None
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
    return attrs.evolve(entry, group_pages=tuple(tuple(found[name] for name in names) for found in sums))


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
            found = page_headers(content, footer.metadata, names.keys(), groups=[group]).sums
        except BrokenThrift as error:
            raise StorageError(f"{location} is damaged: {error}; save the frame again") from None
        for name, column in names.items():
            if found.get(name) != by_group[group][column]:
                raise StorageError(f"{location} is damaged: the check sum of page headers of column {name} is another one; save the frame again")

    return check


# Checks of page headers that are made in this process or in a Spark task.


def checksum_positions(manifest: Manifest, columns: Iterable[int], with_key: bool = False) -> dict[str, int]:
    """Return the index of each column's checksum in an entry's ``pages``, by column name in the file."""
    places = {manifest.file_name(column): column for column in columns}
    return {**places, KEY_NAME: -1} if with_key else places


class FileChecksums(Mapping[str, int]):
    """The checksums of the page headers of some columns of a file, by column name. They are read from ``pages`` on access.

    Parameters
    ----------
    places
        The index of each column's checksum in ``pages``, which many files share.
    pages
        The checksums of all columns; None if none are recorded, and the mapping is empty.

    Examples
    --------
    >>> dict(FileChecksums({"c1": 1, "_key": -1}, [7, 8, 9]))
    {'c1': 8, '_key': 9}
    """

    __slots__ = ("_pages", "_places")

    def __init__(self, places: Mapping[str, int], pages: Sequence[int] | None) -> None:
        self._places, self._pages = {} if pages is None else places, pages

    def __getitem__(self, name: str) -> int:
        place = self._places[name]
        assert self._pages is not None
        return self._pages[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __reduce__(self) -> tuple[Any, ...]:
        known = [] if self._pages is None else list(self._pages)
        return dict, ({name: known[place] for name, place in self._places.items()},)


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
        check_pages(footer_of_entry(self.directory, self.entry), join(self.directory, self.entry.file), self.sums)

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
    """Return the path and current state of a segment file; None if it is missing or has another size, which reading its footer reports."""
    location = join(directory, entry.file)
    with contextlib.suppress(OSError, StorageError):
        state = state_of(location, entry.size, may_be_link=entry.tail is None)
        return (location, state) if entry.size in (None, state.size) else None
    return None
