"""Checksums of files, footers and page headers, which distinguish a damaged or swapped file from a good one."""

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
    """Return the entry of a file with the checksums of its footer and of the page headers of each column.

    Together with the checksums in the pages they cover every byte; the whole file gets one only where some page has none.

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
        Whether to compare the data of pages with the checksums in their headers.

    Raises
    ------
    BrokenPages
        If pages are not where they should be, or have other checksums.
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
    """Return a manifest with checksums for all files; known ones are not computed again.

    Raises
    ------
    StorageError
        If a file is not what its checksum as a whole says, where it has one, or its pages are not where they should be.
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
    """Compare a whole file with its checksum, where its entry has one.

    Raises
    ------
    StorageError
        If it is another one.
    """
    found = None if entry.checksum is None else checksum_of(location)
    if found != entry.checksum:
        raise StorageError(f"{location} is damaged: check sum {found}, not {entry.checksum}; restore it from a copy")


def check_bytes(location: str, entry: SegmentEntry, columns: int) -> None:
    """Compare every byte of a file with the checksums of its entry before anything is decoded.

    Raises
    ------
    StorageError
        If it is damaged or another file, or if there is no checksum for some of its bytes.
    """
    check_whole(location, entry)
    # The footer first: pyarrow may crash on a damaged one.
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
    """Return the checksum of a file: ``crc32:`` and eight hexadecimal digits."""
    value = 0
    with translate_os_errors("read", location), open(location, "rb") as source:
        while block := source.read(BLOCK_BYTES):
            raise_if_cancelled()
            value = zlib.crc32(block, value)
    return f"crc32:{value:08x}"


# Checksums by row group for remote files: fetched bytes are checked by themselves.


def with_group_sums(entry: SegmentEntry, location: str, columns: int) -> SegmentEntry:
    """Return the entry of a local file with page header checksums for each of its row groups, if it has several.

    Parameters
    ----------
    entry
        The entry, with checksums of the file.
    location
        The file.
    columns
        How many columns it has, besides the key.
    """
    with pa.OSFile(location) as source:
        footer, content = pq.read_metadata(source), FileBytes(source)
        if footer.num_row_groups < 2:
            return attrs.evolve(entry, group_pages=None)
        names = [*map(file_column, range(columns)), KEY_NAME]
        sums = [page_headers(content, footer, groups=[group]).sums for group in range(footer.num_row_groups)]
    return attrs.evolve(entry, group_pages=tuple(tuple(found[name] for name in names) for found in sums))


def checking(manifest: Manifest, entry: SegmentEntry, footer: Footer, columns: Iterable[int]) -> Callable[[int, GroupBytes], None] | None:
    """Return a function that checks the page headers of fetched row groups of a remote file; None where the whole file must be checked."""
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


# Checks of page headers that run in this process or in a Spark task.


def checksum_positions(manifest: Manifest, columns: Iterable[int], with_key: bool = False) -> dict[str, int]:
    """Return the index of each column's checksum in an entry's ``pages``, by column name in the file."""
    places = {manifest.file_name(column): column for column in columns}
    return {**places, KEY_NAME: -1} if with_key else places


class FileChecksums(Mapping[str, int]):
    """Page header checksums of some columns by name; many files share the index, and a checksum is read on access.

    Parameters
    ----------
    places
        Index of each column's checksum.
    pages
        All of them; None where none was recorded.

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
    """A pending check of page headers of some columns of one file.

    Parameters
    ----------
    directory
        Directory of the dataset.
    entry
        The file.
    sums
        Checksum for each column, by its name in the file.
    """

    directory: str
    entry: SegmentEntry
    sums: Mapping[str, int]

    def sent(self) -> PageCheck:
        """Return the check without statistics and unneeded checksums, as it is sent to a task."""
        return attrs.evolve(self, entry=attrs.evolve(self.entry, columns=(), pages=None, group_pages=None))

    def run_if_due(self) -> None:
        """Run the check unless it is known to pass; then not even the footer is read."""
        file = self.file()
        if file is None or self.is_due(file):
            self.run()

    def run(self) -> None:
        """Check the footer and the page headers, as far as this process has not done so.

        Raises
        ------
        StorageError
            If the file is missing, damaged or another one.
        """
        check_pages(footer_of_entry(self.directory, self.entry), join(self.directory, self.entry.file), self.sums)

    def file(self) -> Identity | None:
        """Return the current path and state of the file (see :func:`as_it_is`)."""
        return as_it_is(self.directory, self.entry)

    def is_due(self, file: Identity) -> bool:
        """Return whether some columns of the file have not been verified in this process."""
        return bool(VERIFIED_COLUMNS.unchecked(file, self.sums))

    def mark_done(self, file: Identity) -> None:
        """Record that a task has run the check."""
        VERIFIED_COLUMNS.add(file, self.sums)


@attrs.frozen
class PageChecks:
    """The checks of one task, pickled as one value.

    Parameters
    ----------
    checks
        What it makes, as :meth:`PageCheck.sent` says of them.
    """

    travels_as_one: ClassVar[bool] = True

    checks: tuple[PageCheck, ...]

    def run(self) -> None:
        """Run them, one after the other."""
        for check in self.checks:
            check.run()


def as_it_is(directory: str, entry: SegmentEntry) -> Identity | None:
    """Return the path and current state of a segment file; None if it is missing or has another size, which reading its footer reports."""
    location = join(directory, entry.file)
    with contextlib.suppress(OSError, StorageError):
        state = state_of(location, entry.size, may_be_link=entry.tail is None)
        return (location, state) if entry.size in (None, state.size) else None
    return None
