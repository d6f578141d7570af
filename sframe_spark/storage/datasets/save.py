"""Saves to a local directory atomically: files are written into a hidden directory next to the target, which is then swapped in."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

import attrs

from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.locations import is_remote_location
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.leases import Holder, own_hidden_directory, remove_orphans
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.datasets.commit import TEMPORARY_SUFFIX, flush_directory, in_row_order, publish_manifest
from sframe_spark.storage.datasets.load import OPEN_DATASETS, read_manifest
from sframe_spark.storage.filesystem.file_kind import MANIFEST_FILE
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import files_below, names_in
from sframe_spark.storage.filesystem.object_store import copy_within, download, upload
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.temporary_datasets import local_file
from sframe_spark.storage.manifest.manifest import SFRAME, Manifest, SegmentEntry
from sframe_spark.storage.manifest.statistics import projected_order
from sframe_spark.storage.parquet.checksums import check_bytes, with_checksums, with_group_sums
from sframe_spark.storage.parquet.column_copy import copy_columns, may_copy
from sframe_spark.storage.parquet.open_file import SHORT_BYTES
from sframe_spark.storage.segments.reader import coalesced_segments, iterate_rows
from sframe_spark.storage.segments.writer import delivering, segment_file_name, segment_schema, write_segment

# What a save may replace: a saved frame, recognised by file names; everything else is somebody's.

_SEGMENT = r"segment-\d{8,}-[0-9a-f]{32}\.parquet"
_MANIFEST = rf"{re.escape(MANIFEST_FILE)}|_segments-[0-9a-f]{{32}}\.arrow"
# Hadoop's file systems write a hidden checksum file next to every file.
_OUR_FILES = re.compile(rf"{_SEGMENT}|{_MANIFEST}|{re.escape(MANIFEST_FILE + TEMPORARY_SUFFIX)}|_SUCCESS|\.(?:{_SEGMENT}|{_MANIFEST}|_SUCCESS)\.crc")


def check_replaceable(location: str) -> None:
    """Make sure that saving to a location destroys nothing but a saved frame.

    Raises
    ------
    StorageError
        If there is anything else at the location or in it; the message names it.
    """
    if not refuse_what_no_directory_replaces(location, "save to"):
        return
    names = names_in(location)
    if names and MANIFEST_FILE not in names:
        raise StorageError(f"{location} exists and is not a saved frame: choose another path, or remove it first")
    # The manifest is read only if the names do not decide: it may be long.
    if any(not _OUR_FILES.fullmatch(name) for name in names) and (strange := _strange(location, names)):
        raise StorageError(f"{location} holds {strange}, which saving would delete: move it away, or choose another path")


def refuse_what_no_directory_replaces(location: str, action: str) -> bool:
    """Return whether a directory exists at a location; refuse anything else there, for which no directory may be substituted.

    Raises
    ------
    StorageError
        If there is something else.
    """
    with translate_os_errors(action, location):
        try:
            # Obstacles, such as a file in place of a parent directory, are reported here.
            os.lstat(location)
        except FileNotFoundError:
            return False
    if os.path.islink(location) and not os.path.exists(location):
        raise StorageError(f"{location} is a link to {os.readlink(location)}, where nothing is: remove the link, or choose another path")
    if os.path.lexists(location) and not os.path.isdir(location):
        raise StorageError(f"{location} is a file, not a directory: choose another path, or remove it first")
    return True


def _strange(location: str, names: list[str]) -> str | None:
    """The first entry of a location that is no part of its saved frame; None if there is none."""
    try:
        named = {entry.file for entry in read_manifest(location).segments}
    except StorageError:
        # A damaged frame may be replaced too; then only names decide.
        named = set()
    known = named | {checksums_of(file) for file in named}
    for name in (*files_below(location), *names):
        if name not in known and not _OUR_FILES.fullmatch(name) and not (name.endswith("/") and any(file.startswith(name) for file in named)):
            return name
    return None


def checksums_of(file: str) -> str:
    """The file in which Hadoop keeps the checksums of a file.

    Examples
    --------
    >>> checksums_of("part-0.parquet"), checksums_of("x/part-0.parquet")
    ('.part-0.parquet.crc', 'x/.part-0.parquet.crc')
    """
    directory, name = os.path.split(file)
    return os.path.join(directory, f".{name}.crc")


# Atomic exchange of two names; constants from linux/fs.h and fcntl.h.
RENAME_EXCHANGE = 2
AT_FDCWD = -100

NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)
# Errors of systems and file systems that cannot exchange names.
NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


class PendingSave(Protocol):
    """A save in progress: files go into its directory and are invisible before the commit."""

    @property
    def directory(self) -> str:
        """Where its files go."""

    def commit(self, made: Manifest, names: Sequence[str], kind: str) -> Manifest:
        """Publish the rows that were written into the directory and return their manifest."""


@attrs.frozen
class PendingDirectory:
    """A local directory that is renamed to the target when its block ends.

    Parameters
    ----------
    directory
        The directory, alongside the target.
    """

    directory: str

    def commit(self, made: Manifest, names: Sequence[str] | None, kind: str = SFRAME) -> Manifest:
        """Write the manifest; the directory may be renamed afterwards."""
        named, segments = None if names is None else tuple(names), in_row_order(made.segments, self.directory)
        return publish_manifest(attrs.evolve(made, segments=segments, names=named, kind=kind), durable=True)


@contextlib.contextmanager
def saving_directory(target: str) -> Iterator[PendingDirectory]:
    """Save to a local directory that is new, empty or a saved frame; it is replaced when the block ends without an error.

    Raises
    ------
    StorageError
        If the target holds anything else.
    """
    check_replaceable(target)
    with staged(target) as staging:
        yield PendingDirectory(staging)


@contextlib.contextmanager
def staged(target: str, swap: Callable[[str, str], None] | None = None) -> Iterator[str]:
    """Yield a hidden directory that replaces the target when the block ends, or is deleted if it raises.

    Directories of interrupted saves are removed first. ``swap`` replaces the target; by default as for saved frames.
    """
    # A link is followed: its target is replaced.
    target = os.path.realpath(target) if os.path.islink(target) else target
    parent = os.path.dirname(target)
    staging, holder = None, Holder()
    try:
        with translate_os_errors("save to", target):
            os.makedirs(parent, exist_ok=True)
            remove_orphans(parent)
            with interrupts_deferred():
                staging = own_hidden_directory(parent, holder)
            _take_over_rights(target, staging)
        yield staging
        (swap or swap_into_place)(staging, target)
    finally:
        # The old frame (unless it is in use), or the new one if it was not published.
        if staging is not None:
            OPEN_DATASETS.remove_unused(staging)


def _take_over_rights(target: str, staging: str) -> None:
    """Give a new directory the permissions of the one that it replaces, before it holds anything."""
    try:
        old, new = os.stat(target), os.stat(staging)
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(old.st_mode) | stat.S_IRWXU
    if old.st_gid != new.st_gid:
        try:
            os.chown(staging, -1, old.st_gid)
        except OSError:
            # Only members and the administrator can give a directory to that group, so its permissions are dropped.
            mode &= ~stat.S_IRWXG
    if mode != stat.S_IMODE(new.st_mode):
        os.chmod(staging, mode)


def swap_into_place(staging: str, target: str) -> None:
    """Publish a complete directory; a replaced saved frame lives until its last user is gone.

    At any moment the target is either the old or the new frame, and leftovers have names that identify their owner.
    """
    check_replaceable(target)
    with translate_os_errors("save to", target):
        OPEN_DATASETS.replace(target, staging, put_in_place)
        flush_directory(os.path.dirname(target))


def put_in_place(staging: str, target: str, switch: Callable[[str, str], None] | None = None) -> None:
    """Put a directory in place of the target; afterwards it holds what was there, if anything.

    ``switch`` moves single files where directories cannot be exchanged; by default the manifest decides.
    """
    switch = switch or switch_by_manifest
    if _is_worked_in(target):
        # The process, and every relative path in it, would be left in the old directory.
        switch(staging, target)
        return
    while True:
        try:
            # A directory can be renamed over a missing or an empty one.
            os.rename(staging, target)
            return
        except OSError as error:
            if error.errno not in NOT_EMPTY:
                raise
        number = _exchange(staging, target)
        if number == 0:
            return
        if number == errno.ENOENT:
            # It was removed meanwhile.
            continue
        if number in NO_EXCHANGE:
            switch(staging, target)
            return
        raise OSError(number, os.strerror(number), target)


def _is_worked_in(directory: str) -> bool:
    """Return whether a directory contains the current working directory."""
    if not os.path.lexists(directory):
        # The path of a working directory is looked up link by link, and this is none.
        return False
    try:
        place = os.path.realpath(directory)
        return os.path.commonpath([os.getcwd(), place]) == place
    except (FileNotFoundError, ValueError):
        return False


def _exchange(first: str, second: str) -> int:
    """Exchange two directories atomically; return the error number, 0 for success."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return errno.ENOSYS
    done = rename(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) == 0
    return 0 if done else ctypes.get_errno()


def switch_by_manifest(staging: str, target: str) -> None:
    """Exchange two frames file by file where directories cannot be exchanged; replacing the manifest is the atomic switch."""
    old, new = files_below(target), files_below(staging)
    for file in new:
        if file != MANIFEST_FILE:
            move(file, staging, target)
    flush_directory(target)
    os.replace(join(staging, MANIFEST_FILE), join(target, MANIFEST_FILE))
    flush_directory(target)
    for file in old:
        if file != MANIFEST_FILE:
            move(file, target, staging)
            with contextlib.suppress(OSError):
                # An empty directory would be taken for somebody's by the next save.
                os.removedirs(os.path.dirname(join(target, file)))


def move(file: str, origin: str, place: str) -> None:
    """Move a file between directories, to the same name."""
    os.makedirs(os.path.dirname(join(place, file)), exist_ok=True)
    os.rename(join(origin, file), join(place, file))


# Copies of datasets or of some columns into a new directory: whole files and pages are reused where they fit.

# Up to this many links are created sequentially.
FEW_FILES = 16
# Combined files are at most this large, so that their rows are in one or few row groups.
MAX_COMBINED_BYTES = 64 << 20
# At least this many consecutive short files are combined; copying fewer is faster than rewriting.
MIN_COMBINED = 64


@attrs.frozen
class ShortRun:
    """Consecutive segments that become one file.

    Parameters
    ----------
    entries
        The segments.
    offset
        Number of their first row in their dataset.
    """

    entries: tuple[SegmentEntry, ...]
    offset: int

    @property
    def rows(self) -> int:
        """How many rows they have."""
        return sum(entry.rows for entry in self.entries)


def copied_dataset(source: Manifest, directory: str, min_combined: int = MIN_COMBINED) -> Manifest:
    """Copy a dataset into a new directory, local or remote; files that fit are reused as they are.

    Files are hard-linked or copied by the file system where possible. A file is rewritten only if it has no row keys or is one of
    many short ones, which are combined.

    Parameters
    ----------
    source
        The dataset.
    directory
        Where the rows go.
    min_combined
        Minimal number of consecutive short files that are combined.

    Returns
    -------
    Manifest
        The rows there, invisible until they are committed.
    """
    planned: list[SegmentEntry] = []
    copies: list[Callable[[], SegmentEntry]] = []
    for stretch in stretches(source, min_combined):
        entry, rows = stretch.entries[0], stretch.rows
        fits = source.has_key and source.column_names_in_files is None and _fits_after(planned, entry)
        number = entry.number if fits else planned[-1].number + 1 if planned else 0
        if fits and len(stretch.entries) == 1:
            planned.append(entry)
            copies.append(partial(_take_over, source, entry, directory))
        else:
            planned.append(SegmentEntry(entry.file, number, rows))
            copies.append(partial(_rewrite, source, stretch.offset, rows, directory, number))
    # Few links are made before threads have started.
    few = len(copies) <= FEW_FILES and not is_remote_location(directory)
    entries = [copy() for copy in copies] if few else in_threads(lambda copy: copy(), copies, available_cores())
    return Manifest(source.types, tuple(entries), directory, order=source.order)


def may_copy_columns(manifest: Manifest, positions: Sequence[int]) -> bool:
    """Return whether the pages of all files can be copied for a dataset of these columns."""
    schema = segment_schema([manifest.types[position] for position in positions])
    return all(may_copy(manifest, entry, positions, schema) for entry in manifest.segments if entry.rows)


def copied_columns(manifest: Manifest, positions: Sequence[int], directory: str) -> Manifest:
    """Copy the pages of some columns into a new directory without decoding rows (see :func:`may_copy_columns`).

    Raises
    ------
    StorageError
        If a file is damaged.
    """
    types = tuple(manifest.types[position] for position in positions)
    schema = segment_schema(types)

    def copy(entry: SegmentEntry) -> SegmentEntry:
        with delivering(directory) as delivery:
            made = copy_columns(manifest, entry, positions, delivery.directory, segment_file_name(entry.number), schema)
            return delivery.delivered(made, len(types))

    entries = in_threads(copy, [entry for entry in manifest.segments if entry.rows], available_cores())
    return Manifest(types, tuple(entries), directory, order=projected_order(manifest.order, positions))


def _take_over(source: Manifest, entry: SegmentEntry, directory: str) -> SegmentEntry:
    """Reuse a file as it is; if it crosses file systems, it is compared with its checksums first."""
    origin, file = join(source.directory, entry.file), segment_file_name(entry.number)
    place, known = join(directory, file), attrs.evolve(entry, file=file)
    if _is_duplicated(origin, place):
        # The bytes are the same, so the entry stays true.
        return known
    if not is_remote_location(origin):
        known = attrs.evolve(_checked(origin, entry, source), file=file)
        if not is_remote_location(place):
            _copy(origin, place)
            return known
    elif not is_remote_location(place):
        download(origin, place)
        check_bytes(place, entry, len(source.types))
        return known
    with local_file(origin) as copy:
        if copy != origin:
            check_bytes(copy, entry, len(source.types))
        complete = with_group_sums(known, copy, len(source.types))
        upload(copy, place)
    return complete


def _is_duplicated(origin: str, place: str) -> bool:
    """Link or copy a file inside its file system; return False where that is impossible."""
    if is_remote_location(origin) or is_remote_location(place):
        return is_remote_location(origin) and is_remote_location(place) and copy_within(origin, place)
    try:
        os.link(origin, place)
    except OSError:
        # A missing file is reported by the copy that follows.
        return False
    return True


def _checked(origin: str, entry: SegmentEntry, source: Manifest) -> SegmentEntry:
    """Return an entry with its checksums after comparing every byte with those that it had."""
    if None in (entry.tail, entry.pages):
        (complete,) = with_checksums(source.with_segments((entry,))).segments
        return complete
    check_bytes(origin, entry, len(source.types))
    return entry


def _copy(origin: str, place: str) -> None:
    with translate_os_errors("read", origin), open(origin, "rb") as reading, translate_os_errors("write", place), open(place, "xb") as writing:
        shutil.copyfileobj(reading, writing)


def stretches(source: Manifest, min_count: int) -> Iterator[ShortRun]:
    """Yield the non-empty segments, consecutive short ones grouped if they are to be combined.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> entries = [SegmentEntry(name, number, 10, size=size) for number, (name, size) in enumerate([("a", 100), ("b", 200), ("c", 9 << 20)])]
    >>> manifest = Manifest((INT,), tuple(entries), "/data")
    >>> [[entry.file for entry in stretch.entries] for stretch in stretches(manifest, 2)]
    [['a', 'b'], ['c']]
    """
    placed = [(entry, offset) for entry, offset in zip(source.segments, source.offsets, strict=True) if entry.rows]
    for is_short, run in itertools.groupby(placed, key=lambda item: _is_short(item[0])):
        for part in coalesced_segments(run, _size_of, config.segment_rows, MAX_COMBINED_BYTES) if is_short else ([item] for item in run):
            if len(part) >= min_count:
                yield ShortRun(tuple(entry for entry, _ in part), part[0][1])
            else:
                yield from (ShortRun((entry,), offset) for entry, offset in part)


def _is_short(entry: SegmentEntry) -> bool:
    # A segment that a writer split has its keys spread over several files.
    return entry.size is not None and entry.size < SHORT_BYTES and entry.first_position == 0


def _size_of(entry: SegmentEntry) -> int | None:
    return entry.size if entry.group_bytes is None else entry.group_bytes


def _fits_after(entries: Sequence[SegmentEntry], entry: SegmentEntry) -> bool:
    """Return whether a segment's keys follow all keys so far, so that row numbers can be computed from them."""
    if not entries or entries[-1].number < entry.number:
        return entry.first_position == 0
    last = entries[-1]
    return last.number == entry.number and last.first_position + last.rows == entry.first_position


def _rewrite(source: Manifest, offset: int, rows: int, directory: str, number: int) -> SegmentEntry:
    """Write rows as a new segment with new keys."""
    return write_segment(directory, number, source.types, iterate_rows(source, range(len(source.types)), offset, offset + rows))
