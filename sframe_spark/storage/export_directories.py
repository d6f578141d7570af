"""Directories of files for other programs: parts in row order, complete before they are seen, and replaced only where they are ours.

A directory holds ``part-00000-0f3c...parquet``, ``part-00001-0f3c...parquet`` ... with the same long number, which no two writings have, and nothing
else: polars refuses a directory with files of several kinds, so names alone tell that it is ours.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Iterator, Sequence

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_private, is_remote_location, location_of
from sframe_spark.message_text import visible
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.leases import HIDDEN, new_name
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.datasets.commit import flush_directory
from sframe_spark.storage.datasets.load import OPEN_DATASETS
from sframe_spark.storage.datasets.save import checksums_of, move, put_in_place, refuse_what_no_directory_replaces, staged
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import names_in
from sframe_spark.storage.filesystem.object_store import listed, place_within, put_whole, remote_entry, remove, require_bucket, upload
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store

# Where parts of an export are written before anybody sees them: here, and where tasks of other machines write them.


@attrs.define(eq=False)
class Staging:
    """Directories for parts.

    Parameters
    ----------
    here
        One of this machine.
    beside
        One that is where the export goes, under a name that readers take for no data; of exports here the same one.
    is_used
        Whether there may be something in the one elsewhere.
    """

    local: str
    remote: str
    is_used: bool = False

    def for_tasks(self, see_local_files: bool) -> str:
        """Return the directory in which tasks write, ``see_local_files`` if they all see the files of this process."""
        if see_local_files or is_private(self.remote):
            return self.local
        self.is_used = True
        return self.remote


@contextlib.contextmanager
def staged_remotely(target: str) -> Iterator[Staging]:
    """Directories for the parts of an export elsewhere, which go when the block ends."""
    handle = scratch_store().new_dataset()
    staging = Staging(handle.directory, join(target.rpartition("/")[0], HIDDEN + new_name()))
    try:
        yield staging
    finally:
        handle.discard()
        if staging.is_used:
            # What was exported is there, or an error tells why it is not; what may not be removed stays under names that nobody reads.
            with contextlib.suppress(StorageError):
                remove_files([file.uri for file in listed(staging.remote, below=True)])


def remove_files(uris: list[str]) -> None:
    """Remove files elsewhere, side by side."""
    if uris:
        in_threads(remove, uris, available_cores())


# Directories of parts elsewhere, where no two change places: all parts are there before the first is seen, and part 0 comes last.


def require_nothing_remote(target: str) -> None:
    """Make sure, before any work, that a directory can be made elsewhere without a reader seeing parts of two.

    Raises
    ------
    StorageError
        If there is something, or no bucket.
    """
    matches = remote_entry(target)
    if not matches.names:
        require_bucket(target)
    if matches.is_file:
        raise StorageError(f"{target} is a file, not a directory: choose another path, or remove it first")
    if matches.names:
        reason = "directories elsewhere do not change places at one stroke"
        raise StorageError(f"{target} holds {visible(matches.names[0])}, and {reason}: choose another path, or remove it first")


def publish_remotely(staging: Staging, files: Sequence[str], target: str, names: Sequence[str]) -> None:
    """Give parts, in row order, their names in a directory: one part by one request, several by copies that the file system makes.

    Raises
    ------
    StorageError
        If a part cannot be written, or somebody else has written there meanwhile; no part of these is left then.
    """
    places = [join(target, name) for name in names]
    if len(files) > 1:
        staging.is_used = True
        files = in_threads(lambda file: _staged_remotely(file, staging, target), files, available_cores())
    try:
        with interrupts_deferred():
            # Who finds parts and none of number 0 knows that they are not all.
            in_threads(lambda pair: _place(*pair), list(zip(files, places, strict=True))[1:], available_cores())
            _place(files[0], places[0])
            _require_alone(target, names)
    except BaseException:
        # What cannot be removed is told by nobody: the error that is the cause is.
        with contextlib.suppress(StorageError):
            remove_files(places)
        raise


def _staged_remotely(file: str, staging: Staging, target: str) -> str:
    """Where a part is on the file system of the target, under a name that nobody reads."""
    if is_remote_location(file):
        return file
    place = join(staging.remote, os.path.basename(file))
    upload(file, place, target)
    return place


def _place(file: str, place: str) -> None:
    if is_remote_location(file):
        place_within(file, place)
    else:
        put_whole(file, place)


def _require_alone(target: str, names: Sequence[str]) -> None:
    strange = sorted(set(remote_entry(target).names) - set(names))
    if strange:
        raise StorageError(f"somebody else wrote {visible(strange[0])} to {target} meanwhile: nothing of theirs was changed; choose another path")


_PART = re.compile(r"part-([0-9]{5,9})-([0-9a-f]{32}\.(?:parquet|orc))")


def part_names(count: int, ending: str) -> list[str]:
    """Return names of parts of one writing: in name order where numbers are in order, as far as there are 100,000.

    Examples
    --------
    >>> [len(name) for name in part_names(2, "parquet")], part_names(1, "orc")[0][:11]
    ([51, 51], 'part-00000-')
    """
    writing = uuid.uuid4().hex
    return [f"part-{number:05d}-{writing}.{ending}" for number in range(count)]


@contextlib.contextmanager
def exporting(path: str | os.PathLike[str]) -> Iterator[Export]:
    """Something to write parts into, which appear as a directory at the path: when the block ends, and not at all if an error ends it.

    Raises
    ------
    StorageError
        If there is something at the path that no export wrote; elsewhere, if there is anything.
    """
    target = location_of(path)
    if is_remote_location(target):
        require_nothing_remote(target)
        with staged_remotely(target) as staging:
            yield Export(staging, target)
        return
    require_export(target)
    with staged(target, _swap) as directory:
        yield Export(Staging(directory, directory), directory)


@attrs.frozen
class Export:
    """A directory being filled with parts.

    Parameters
    ----------
    staging
        Where parts are written, under hidden names.
    directory
        Where they get names of parts.
    """

    staging: Staging
    directory: str

    def publish(self, files: Sequence[str], ending: str) -> None:
        """Give the files that tasks wrote, in row order, the names of parts, and remove all others, which are of lost attempts."""
        names = part_names(len(files), ending)
        if is_remote_location(self.directory):
            publish_remotely(self.staging, files, self.directory, names)
            return
        with translate_os_errors("write", self.directory):
            for file, name in zip(files, names, strict=True):
                os.rename(file, join(self.directory, name))
            for name in set(names_in(self.directory)) - set(names):
                os.remove(join(self.directory, name))
            flush_directory(self.directory)


def require_export(location: str) -> None:
    """Make sure that writing a directory destroys nothing but what such a writing wrote.

    Raises
    ------
    StorageError
        If there is anything else; the message names it.
    """
    if not refuse_what_no_directory_replaces(location, "write"):
        return
    names = names_in(location)
    if not names:
        return
    checksums = {checksums_of(name) for name in names if _PART.fullmatch(name)}
    matches = {name: _PART.fullmatch(name) for name in names if name not in checksums}
    parts = [part for part in matches.values() if part is not None]
    if not parts:
        raise StorageError(f"{location} exists and was not written by sframe_spark: choose another path, or remove it first")
    strange = next((name for name, part in matches.items() if part is None or part[2] != parts[0][2]), None)
    if strange is not None:
        raise StorageError(f"{location} holds {strange}, which writing would delete: move it away, or choose another path")
    if sorted(int(part[1]) for part in parts) != list(range(len(parts))):
        raise StorageError(
            f"{location} lacks some of the files that were written there: somebody has them elsewhere; remove it, or choose another path"
        )


def _swap(staging: str, target: str) -> None:
    """Put a complete directory in the place of an older one."""
    require_export(target)
    with translate_os_errors("write", target):
        OPEN_DATASETS.replace(target, staging, lambda new, old: put_in_place(new, old, _switch_by_files))
        flush_directory(os.path.dirname(target))


def _switch_by_files(staging: str, target: str) -> None:
    """Move the old files out and the new ones in where directories cannot change places: readers must wait until it is done."""
    old, new = names_in(target), names_in(staging)
    aside = join(staging, "old")
    os.mkdir(aside)
    try:
        for file in old:
            move(file, target, aside)
        for file in new:
            move(file, staging, target)
    except BaseException:
        for file in set(names_in(target)) & set(new):
            move(file, target, staging)
        for file in names_in(aside):
            move(file, aside, target)
        raise
    flush_directory(target)
