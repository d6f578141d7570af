"""Saving to a local directory, whole or not at all: files are written into a directory alongside, which then takes the name of the target."""

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
from sframe_spark.storage.parquet.small_files import SHORT_BYTES
from sframe_spark.storage.segments.reader import coalesced_segments, iterate_rows
from sframe_spark.storage.segments.writer import delivering, segment_file_name, segment_schema, write_segment

# What a save may replace: a saved frame and what its writers leave beside it, told by name; everything else is somebody's.

_SEGMENT = r"segment-\d{8,}-[0-9a-f]{32}\.parquet"
_MANIFEST = rf"{re.escape(MANIFEST_FILE)}|_segments-[0-9a-f]{{32}}\.arrow"
# Hadoop's file systems put a hidden file of check sums beside every file that they write.
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
    # The manifest is asked only where names do not tell: it may be long.
    if any(not _OUR_FILES.fullmatch(name) for name in names) and (strange := _strange(location, names)):
        raise StorageError(f"{location} holds {strange}, which saving would delete: move it away, or choose another path")


def refuse_what_no_directory_replaces(location: str, action: str) -> bool:
    """Make sure that a directory can have a name: nothing has it, or a directory; say which, True for a directory.

    Raises
    ------
    StorageError
        If there is something else.
    """
    with translate_os_errors(action, location):
        try:
            # What stands in the way of the directory, such as a file in the place of one above it, is told here.
            os.lstat(location)
        except FileNotFoundError:
            return False
    if os.path.islink(location) and not os.path.exists(location):
        raise StorageError(f"{location} is a link to {os.readlink(location)}, where nothing is: remove the link, or choose another path")
    if os.path.lexists(location) and not os.path.isdir(location):
        raise StorageError(f"{location} is a file, not a directory: choose another path, or remove it first")
    return True


def _strange(location: str, names: list[str]) -> str | None:
    """The first file or directory that is no part of the saved frame in a location, None if there is none."""
    try:
        named = {entry.file for entry in read_manifest(location).segments}
    except StorageError:
        # A damaged frame may be replaced, too; only its names tell what belongs to it.
        named = set()
    known = named | {checksums_of(file) for file in named}
    for name in (*files_below(location), *names):
        if name not in known and not _OUR_FILES.fullmatch(name) and not (name.endswith("/") and any(file.startswith(name) for file in named)):
            return name
    return None


def checksums_of(file: str) -> str:
    """Where Hadoop keeps the check sums of a file.

    Examples
    --------
    >>> checksums_of("part-0.parquet"), checksums_of("x/part-0.parquet")
    ('.part-0.parquet.crc', 'x/.part-0.parquet.crc')
    """
    directory, name = os.path.split(file)
    return os.path.join(directory, f".{name}.crc")


# Two places change names at one stroke: from linux/fs.h and fcntl.h.
RENAME_EXCHANGE = 2
AT_FDCWD = -100

NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)
# What a system or a file system without such a change says.
NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


class PendingSave(Protocol):
    """A dataset that is being saved: files go into its directory, and nobody sees any before the commit."""

    @property
    def directory(self) -> str:
        """Where its files go."""

    def commit(self, made: Manifest, names: Sequence[str], kind: str) -> Manifest:
        """Make the rows that were brought into the directory what is saved, and return their manifest."""


@attrs.frozen
class PendingDirectory:
    """A local directory that takes the name of the target when its block ends.

    Parameters
    ----------
    directory
        The directory, alongside the target.
    """

    directory: str

    def commit(self, made: Manifest, names: Sequence[str] | None, kind: str = SFRAME) -> Manifest:
        """Write the manifest; the directory may be renamed from then on."""
        named, segments = None if names is None else tuple(names), in_row_order(made.segments, self.directory)
        return publish_manifest(attrs.evolve(made, segments=segments, names=named, kind=kind), durable=True)


@contextlib.contextmanager
def saving_directory(target: str) -> Iterator[PendingDirectory]:
    """A save to a local directory: new, empty, or holding a saved frame, which is replaced when the block ends and not if an error ends it.

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
    """A new directory beside a local target, which takes its name at the end of the block, or is deleted if an error ends it.

    What interrupted saves left beside the target is removed first. ``swap`` puts it in place; a saved frame's is the usual one.
    """
    # What a link leads to is replaced, not the link.
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
        # The old frame, unless it is in use, or the new one where something kept it from its place.
        if staging is not None:
            OPEN_DATASETS.remove_unused(staging)


def _take_over_rights(target: str, staging: str) -> None:
    """Let nobody into a directory, from before it holds anything, who may not enter the one that it is to replace."""
    try:
        old, new = os.stat(target), os.stat(staging)
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(old.st_mode) | stat.S_IRWXU
    if old.st_gid != new.st_gid:
        try:
            os.chown(staging, -1, old.st_gid)
        except OSError:
            # The rights were those of another group, which only its members and the administrator can give a directory to.
            mode &= ~stat.S_IRWXG
    if mode != stat.S_IMODE(new.st_mode):
        os.chmod(staging, mode)


def swap_into_place(staging: str, target: str) -> None:
    """Give a complete local directory the name of the target; a saved frame that was there goes with its last user.

    At every moment the target is the old or the new frame, whole, and what is beside it has a name that says whose it is.
    """
    check_replaceable(target)
    with translate_os_errors("save to", target):
        OPEN_DATASETS.replace(target, staging, put_in_place)
        flush_directory(os.path.dirname(target))


def put_in_place(staging: str, target: str, switch: Callable[[str, str], None] | None = None) -> None:
    """Let a directory take the place of what is at the target, and hold that afterwards if there was anything.

    ``switch`` moves the files instead where the directories cannot change places; by the manifest, unless another is given.
    """
    switch = switch or switch_by_manifest
    if _is_worked_in(target):
        # It would be taken from under the process, and with it every relative path.
        switch(staging, target)
        return
    while True:
        try:
            # A directory may take the place of none, or of an empty one.
            os.rename(staging, target)
            return
        except OSError as error:
            if error.errno not in NOT_EMPTY:
                raise
        number = _exchange(staging, target)
        if number == 0:
            return
        if number == errno.ENOENT:
            # It has gone meanwhile.
            continue
        if number in NO_EXCHANGE:
            switch(staging, target)
            return
        raise OSError(number, os.strerror(number), target)


def _is_worked_in(directory: str) -> bool:
    """Say whether a directory is, or holds, the working directory of this process."""
    if not os.path.lexists(directory):
        # The path of a working directory is looked up link by link, and this is none.
        return False
    try:
        place = os.path.realpath(directory)
        return os.path.commonpath([os.getcwd(), place]) == place
    except (FileNotFoundError, ValueError):
        return False


def _exchange(first: str, second: str) -> int:
    """Let two directories change names at one stroke; the number of the error, 0 for none."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return errno.ENOSYS
    done = rename(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) == 0
    return 0 if done else ctypes.get_errno()


def switch_by_manifest(staging: str, target: str) -> None:
    """Let two frames change places where directories cannot: files go beside those of the other frame, then the manifest is the switch."""
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
                # What is left of a directory that it was in: the next save would take that for somebody's.
                os.removedirs(os.path.dirname(join(target, file)))


def move(file: str, origin: str, place: str) -> None:
    """Move a file between directories, to the same name."""
    os.makedirs(os.path.dirname(join(place, file)), exist_ok=True)
    os.rename(join(origin, file), join(place, file))


# Copies of datasets, or of some of their columns, in a new directory, local or remote: files and pages are taken over where they fit.

# So many links are made one after the other.
FEW_FILES = 16
# Files that are put together are no more than this: rows are in one row group then, or in few.
MAX_COMBINED_BYTES = 64 << 20
# So many short files, one after the other, a save does not pass on; copying fewer is quicker than writing them anew.
MIN_COMBINED = 64


@attrs.frozen
class ShortRun:
    """Neighbouring segments that become one file.

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
    """Bring the rows of a dataset into a new directory, local or remote; files that fit are taken over as they are.

    Files are hard-linked, or copied within their file system, where it can do that. A file is rewritten only when it has no row keys, or is one of
    many short ones, which are put together.

    Parameters
    ----------
    source
        The dataset.
    directory
        Where the rows go.
    min_combined
        So many short files at least, one after the other, become one.

    Returns
    -------
    Manifest
        The rows there, which nobody sees before somebody commits them.
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
    """Return whether pages of all files may be copied for a dataset of some columns."""
    schema = segment_schema([manifest.types[position] for position in positions])
    return all(may_copy(manifest, entry, positions, schema) for entry in manifest.segments if entry.rows)


def copied_columns(manifest: Manifest, positions: Sequence[int], directory: str) -> Manifest:
    """Copy the pages of some columns of a dataset, as :func:`may_copy_columns` allows, into a new directory; no row is decoded.

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
    """Bring a file into a directory as it is; one of another file system is compared with its check sums first."""
    origin, file = join(source.directory, entry.file), segment_file_name(entry.number)
    place, known = join(directory, file), attrs.evolve(entry, file=file)
    if _is_duplicated(origin, place):
        # The same bytes: what is known of the file is known of the other one.
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
    """Let a file system link or copy a file; False where it cannot, or the two places are on two file systems."""
    if is_remote_location(origin) or is_remote_location(place):
        return is_remote_location(origin) and is_remote_location(place) and copy_within(origin, place)
    try:
        os.link(origin, place)
    except OSError:
        # A file that is not there is told by the copy that follows.
        return False
    return True


def _checked(origin: str, entry: SegmentEntry, source: Manifest) -> SegmentEntry:
    """Return an entry with its check sums, with which every byte was compared as far as it had any."""
    if None in (entry.tail, entry.pages):
        (complete,) = with_checksums(source.with_segments((entry,))).segments
        return complete
    check_bytes(origin, entry, len(source.types))
    return entry


def _copy(origin: str, place: str) -> None:
    with translate_os_errors("read", origin), open(origin, "rb") as reading, translate_os_errors("write", place), open(place, "xb") as writing:
        shutil.copyfileobj(reading, writing)


def stretches(source: Manifest, min_count: int) -> Iterator[ShortRun]:
    """The segments of a dataset that have rows, those in one that are to be one file; most stay alone.

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
    # A segment of which a writer made several files has its keys in all of them.
    return entry.size is not None and entry.size < SHORT_BYTES and entry.first_position == 0


def _size_of(entry: SegmentEntry) -> int | None:
    return entry.size if entry.group_bytes is None else entry.group_bytes


def _fits_after(entries: Sequence[SegmentEntry], entry: SegmentEntry) -> bool:
    """Say whether the keys of a segment come after all keys so far, and tell row numbers as they are."""
    if not entries or entries[-1].number < entry.number:
        return entry.first_position == 0
    last = entries[-1]
    return last.number == entry.number and last.first_position + last.rows == entry.first_position


def _rewrite(source: Manifest, offset: int, rows: int, directory: str, number: int) -> SegmentEntry:
    """Write rows of a source as a new segment with keys of its own."""
    return write_segment(directory, number, source.types, iterate_rows(source, range(len(source.types)), offset, offset + rows))
