"""Exports directories of part files for other programs. A directory is published as a whole, and replaced only if an earlier export wrote it.

The files of an export are named ``part-00000-0f3c...parquet``, ``part-00001-0f3c...parquet`` ..., with a long number that is new in each export.
There are no other files in the directory, since polars refuses directories with files of several kinds. So only the names show that a directory
was written by an export.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Iterator, Sequence

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import is_in_process_memory, is_remote_location, location_of
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.process.temporary_file_leases import HIDDEN, new_name
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.datasets.atomic_directory_save import checksums_of, move, refuse_what_no_directory_replaces, staged
from sframe_spark.storage.datasets.manifest_publication import flush_directory
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import names_in
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.remote_operations import listed, place_within, put_whole, remote_entry, remove, require_bucket, upload
from sframe_spark.storage.filesystem.temporary_datasets import scratch_store

# Staging: directories to which parts are written before they are published.


@attrs.define(eq=False)
class Staging:
    """The directories to which the parts of an export are written before they are published.

    Parameters
    ----------
    local
        A local directory.
    remote
        A hidden directory on the file system of the target; for local exports the same as ``local``.
    is_used
        Whether the remote directory may have files.
    """

    local: str
    remote: str
    is_used: bool = False

    def for_tasks(self, see_local_files: bool) -> str:
        """Return the directory to which tasks write; ``see_local_files`` is whether all tasks can write to the local directory."""
        if see_local_files or is_in_process_memory(self.remote):
            return self.local
        self.is_used = True
        return self.remote


@contextlib.contextmanager
def staged_remotely(target: str) -> Iterator[Staging]:
    """Yield staging directories for a remote export, which are removed after the ``with`` block."""
    handle = scratch_store().new_dataset()
    staging = Staging(handle.directory, join(target.rpartition("/")[0], HIDDEN + new_name()))
    try:
        yield staging
    finally:
        handle.discard()
        if staging.is_used:
            # Errors of the removal are ignored: the export is complete, or another error was raised. Files that remain have hidden names.
            with contextlib.suppress(StorageError):
                remove_files([file.uri for file in listed(staging.remote, below=True)])


def remove_files(uris: list[str]) -> None:
    """Remove remote files in parallel."""
    if uris:
        in_threads(remove, uris, available_cores())


# Remote directories cannot be exchanged: parts are renamed or copied to the target, part 0 last, so that an incomplete export has no part 0.


def require_nothing_remote(target: str) -> None:
    """Raise, before rows are computed, if a remote target is not empty, so that there are never parts of two exports.

    Raises
    ------
    StorageError
        If the target is a file or a directory with files, or its bucket does not exist.
    """
    matches = remote_entry(target)
    if not matches.names:
        require_bucket(target)
    if matches.is_file:
        raise StorageError(f"{target} is a file, not a directory: choose another path, or remove it first")
    if matches.names:
        reason = "remote directories cannot be replaced atomically"
        raise StorageError(f"{target} holds {visible(matches.names[0])}, and {reason}: choose another path, or remove it first")


def publish_remotely(staging: Staging, files: Sequence[str], target: str, names: Sequence[str]) -> None:
    """Publish parts under their final names, in row order: a single local part is uploaded, several parts are renamed or copied on the server.

    Raises
    ------
    StorageError
        If a part cannot be written, or another program has written to the target meanwhile. The parts of this export are removed then.
    """

    def to_staging(file: str) -> str:
        """Return the URI of a part, which is uploaded to the remote staging directory if it is local."""
        if is_remote_location(file):
            return file
        uri = join(staging.remote, os.path.basename(file))
        upload(file, uri, target)
        return uri

    uris = [join(target, name) for name in names]
    if len(files) > 1:
        staging.is_used = True
        files = in_threads(to_staging, files, available_cores())
    try:
        with interrupts_deferred():
            # Part 0 is published last, so that an export without it is known to be incomplete.
            in_threads(lambda pair: _place(*pair), list(zip(files, uris, strict=True))[1:], available_cores())
            _place(files[0], uris[0])
            strange = sorted(set(remote_entry(target).names) - set(names))
            if strange:
                raise StorageError(
                    f"another program wrote {visible(strange[0])} to {target} in the meantime, which was not changed; choose another path"
                )
    except BaseException:
        # A failure to clean up must not hide the original error.
        with contextlib.suppress(StorageError):
            remove_files(uris)
        raise


def _place(file: str, uri: str) -> None:
    """Put a part in its final place."""
    if is_remote_location(file):
        place_within(file, uri)
    else:
        put_whole(file, uri)


_PART = re.compile(r"part-([0-9]{5,9})-([0-9a-f]{32}\.[\w.-]+)")


@contextlib.contextmanager
def exporting(path: str | os.PathLike[str]) -> Iterator[Export]:
    """Yield an export to a path; a local one is published when the ``with`` block ends, and not at all if the block raises.

    Raises
    ------
    StorageError
        If something exists at a local path that was not written by an export, or anything exists at a remote one.
    """
    target = location_of(path)
    if is_remote_location(target):
        require_nothing_remote(target)
        with staged_remotely(target) as staging:
            yield Export(staging, target)
        return
    with staged(target, require_export, _switch_by_files, "write") as directory:
        yield Export(Staging(directory, directory), directory)


@attrs.frozen
class Export:
    """An export in progress.

    Parameters
    ----------
    staging
        The directories to which parts are written, under hidden names.
    directory
        The directory in which the parts get their final names: the remote target, or the staging directory of a local export.
    """

    staging: Staging
    directory: str

    def publish(self, files: Sequence[str], ending: str) -> None:
        """Give the files that tasks wrote, in row order, their final names; in a local export, files of failed attempts are removed."""
        # Up to 100,000 parts, the order of names is the order of rows.
        writing = uuid.uuid4().hex
        names = [f"part-{number:05d}-{writing}.{ending}" for number in range(len(files))]
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
    """Raise if something other than an empty directory or a complete earlier export exists at a location.

    Raises
    ------
    StorageError
        If there is something else, or a part of the earlier export is missing; the message says what.
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
        raise StorageError(f"{location} lacks some of the files that were written there: they were moved; remove it, or choose another path")


def _switch_by_files(staging: str, target: str) -> None:
    """Replace the files of an export one by one, where directories cannot be exchanged; meanwhile, readers find an incomplete export."""
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
