"""Export directories of part files for other programs: published as a whole, and replaced only if an earlier export wrote them.

A directory holds ``part-00000-0f3c...parquet``, ``part-00001-0f3c...parquet`` ... with the same long number, which no two writings have, and nothing
else: polars refuses a directory with files of several kinds, so names alone show that we wrote it.
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

# Staging: where parts are written before they are published.


@attrs.define(eq=False)
class Staging:
    """Directories for parts.

    Parameters
    ----------
    local
        A local one.
    remote
        A hidden one on the target's file system; for local exports the same as ``local``.
    is_used
        Whether the remote one may hold files.
    """

    local: str
    remote: str
    is_used: bool = False

    def for_tasks(self, see_local_files: bool) -> str:
        """Return the directory for tasks; ``see_local_files``: whether all tasks see this machine's files."""
        if see_local_files or is_private(self.remote):
            return self.local
        self.is_used = True
        return self.remote


@contextlib.contextmanager
def staged_remotely(target: str) -> Iterator[Staging]:
    """Yield staging directories for a remote export and remove them afterwards."""
    handle = scratch_store().new_dataset()
    staging = Staging(handle.directory, join(target.rpartition("/")[0], HIDDEN + new_name()))
    try:
        yield staging
    finally:
        handle.discard()
        if staging.is_used:
            # What was exported is there, or an error says why it is not; what may not be removed stays under names that no one reads.
            with contextlib.suppress(StorageError):
                remove_files([file.uri for file in listed(staging.remote, below=True)])


def remove_files(uris: list[str]) -> None:
    """Remove remote files in parallel."""
    if uris:
        in_threads(remove, uris, available_cores())


# Remote exports cannot be swapped in: parts are renamed into place, part 0 last, so that a reader can see that an export is incomplete.


def require_nothing_remote(target: str) -> None:
    """Make sure, before any work, that a remote target is empty, so that readers never see parts of two exports.

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
    """Move parts to their final names in row order: a single one in one request, several by server-side copies.

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
            # Parts without a part 0 are recognisably incomplete.
            in_threads(lambda pair: _place(*pair), list(zip(files, places, strict=True))[1:], available_cores())
            _place(files[0], places[0])
            _require_alone(target, names)
    except BaseException:
        # A failure to clean up must not hide the original error.
        with contextlib.suppress(StorageError):
            remove_files(places)
        raise


def _staged_remotely(file: str, staging: Staging, target: str) -> str:
    """Upload a part under a hidden name unless it is there already; return its URI."""
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
    """Return part names of one export; name order is row order for up to 100,000 parts.

    Examples
    --------
    >>> [len(name) for name in part_names(2, "parquet")], part_names(1, "orc")[0][:11]
    ([51, 51], 'part-00000-')
    """
    writing = uuid.uuid4().hex
    return [f"part-{number:05d}-{writing}.{ending}" for number in range(count)]


@contextlib.contextmanager
def exporting(path: str | os.PathLike[str]) -> Iterator[Export]:
    """Yield an export whose parts appear at the path when the block ends, and not at all if it raises.

    Raises
    ------
    StorageError
        If there is something at the path that no export wrote; remotely, if there is anything.
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
        """Publish the files that tasks wrote, in row order, and remove those of lost attempts."""
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
    """Make sure that an existing directory holds nothing but an earlier export.

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
    """Replace an older export by a complete new one."""
    require_export(target)
    with translate_os_errors("write", target):
        OPEN_DATASETS.replace(target, staging, lambda new, old: put_in_place(new, old, _switch_by_files))
        flush_directory(os.path.dirname(target))


def _switch_by_files(staging: str, target: str) -> None:
    """Replace files one by one where directories cannot be exchanged; readers must wait until it is done."""
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
