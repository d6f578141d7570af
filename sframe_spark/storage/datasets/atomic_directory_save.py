"""Saves datasets atomically to local directories: files are written to a hidden directory next to the target, which then replaces the target."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.process.temporary_file_leases import Holder, own_hidden_directory, remove_orphans
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import OPEN_DATASETS, read_manifest
from sframe_spark.storage.datasets.manifest_publication import TEMPORARY_SUFFIX, flush_directory, in_row_order, publish_manifest
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import files_below, names_in
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.manifest.manifest import SFRAME, Manifest

# A save may replace only a saved frame, which is recognised by its file names. Any other file is not deleted.

_SEGMENT = r"segment-\d{8,}-[0-9a-f]{32}\.parquet"
_MANIFEST = rf"{re.escape(MANIFEST_FILE)}|_segments-[0-9a-f]{{32}}\.arrow"
# Hadoop's file systems write a hidden checksum file next to every file.
_OUR_FILES = re.compile(rf"{_SEGMENT}|{_MANIFEST}|{re.escape(MANIFEST_FILE + TEMPORARY_SUFFIX)}|_SUCCESS|\.(?:{_SEGMENT}|{_MANIFEST}|_SUCCESS)\.crc")


def check_replaceable(location: str) -> None:
    """Check that saving to a location would delete nothing but a saved frame.

    Raises
    ------
    StorageError
        If the location is a file or a broken link, or a directory with files that do not belong to a saved frame; the message names one.
    """
    if not refuse_what_no_directory_replaces(location, "save to"):
        return
    names = names_in(location)
    if names and MANIFEST_FILE not in names:
        raise StorageError(f"{location} exists and is not a saved frame: choose another path, or remove it first")
    # The manifest may be long, so it is read only if there are file names that writers of segments do not use.
    if any(not _OUR_FILES.fullmatch(name) for name in names) and (strange := _first_foreign_entry(location, names)):
        raise StorageError(f"{location} holds {strange}, which saving would delete: move it away, or choose another path")


def refuse_what_no_directory_replaces(location: str, action: str) -> bool:
    """Return whether a directory exists at a location; False if nothing exists there.

    Raises
    ------
    StorageError
        If something other than a directory is at the location. It must not be replaced by a directory.
    """
    with translate_os_errors(action, location):
        try:
            # Obstacles, such as a file in place of a parent directory, are reported here.
            os.lstat(location)
        except FileNotFoundError:
            return False
    if os.path.islink(location) and not os.path.exists(location):
        raise StorageError(f"{location} is a link to {os.readlink(location)}, which does not exist: remove the link, or choose another path")
    if os.path.lexists(location) and not os.path.isdir(location):
        raise StorageError(f"{location} is a file, not a directory: choose another path, or remove it first")
    return True


def _first_foreign_entry(location: str, names: list[str]) -> str | None:
    """Return the first file or directory at a location that does not belong to the saved frame there; None if all belong to it."""
    try:
        named = {entry.file for entry in read_manifest(location).every_segment}
    except StorageError:
        # A damaged frame may be replaced, too. Without a manifest, only the file names decide.
        named = set()
    of_frame = named | {checksums_of(file) for file in named}
    for name in (*files_below(location), *names):
        if name not in of_frame and not _OUR_FILES.fullmatch(name) and not (name.endswith("/") and any(file.startswith(name) for file in named)):
            return name
    return None


def checksums_of(file: str) -> str:
    """Return the path of the file in which Hadoop keeps the checksums of a file.

    Examples
    --------
    >>> checksums_of("part-0.parquet"), checksums_of("x/part-0.parquet")
    ('.part-0.parquet.crc', 'x/.part-0.parquet.crc')
    """
    directory, name = os.path.split(file)
    return os.path.join(directory, f".{name}.crc")


# Constants of the system call that exchanges two names atomically, from linux/fs.h and fcntl.h.
RENAME_EXCHANGE = 2
AT_FDCWD = -100

NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)
# Errors of systems and file systems that cannot exchange names.
NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def put_in_place(staging: str, target: str, switch: Callable[[str, str], None]) -> None:
    """Rename or exchange directories so that the target has the files of ``staging``; ``staging`` then has the old files of the target, if any.

    If directories cannot be exchanged, ``switch(staging, target)`` is called instead.
    """
    if _contains_working_directory(target):
        # If the directory was renamed, the working directory of this process would be the old one.
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
            # The target was removed meanwhile.
            continue
        if number in NO_EXCHANGE:
            switch(staging, target)
            return
        raise OSError(number, os.strerror(number), target)


def _exchange(first: str, second: str) -> int:
    """Exchange two directories atomically; return 0, or the error number of the system."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return errno.ENOSYS
    done = rename(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) == 0
    return 0 if done else ctypes.get_errno()


def _contains_working_directory(directory: str) -> bool:
    """Return whether a directory contains the current working directory."""
    if not os.path.lexists(directory):
        # A directory that does not exist contains nothing.
        return False
    try:
        path = os.path.realpath(directory)
        return os.path.commonpath([os.getcwd(), path]) == path
    except (FileNotFoundError, ValueError):
        return False


def switch_by_manifest(staging: str, target: str) -> None:
    """Exchange two frames file by file, where directories cannot be exchanged; the frame changes when the manifest is replaced, atomically."""
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
                # The next save would refuse to replace a frame with an empty subdirectory.
                os.removedirs(os.path.dirname(join(target, file)))


def move(file: str, origin: str, target: str) -> None:
    """Move a file from the directory ``origin`` to the directory ``target``, under the same relative path."""
    os.makedirs(os.path.dirname(join(target, file)), exist_ok=True)
    os.rename(join(origin, file), join(target, file))


class PendingSave(Protocol):
    """A save in progress, whose rows cannot be read before the commit."""

    @property
    def directory(self) -> str:
        """The directory to which the segment files are written."""

    def commit(self, written: Manifest, names: Sequence[str], kind: str) -> Manifest:
        """Publish the segments that were written to the directory, and return their manifest with the column names and the kind."""


@attrs.frozen
class PendingDirectory:
    """A save to a hidden local directory, which replaces the target after the commit (see :func:`saving_directory`).

    Parameters
    ----------
    directory
        The hidden directory, which is next to the target.
    """

    directory: str

    def commit(self, written: Manifest, names: Sequence[str] | None, kind: str = SFRAME) -> Manifest:
        """Write the manifest to the hidden directory, and return it."""
        named, segments = None if names is None else tuple(names), in_row_order(written.segments, self.directory)
        return publish_manifest(attrs.evolve(written, segments=segments, names=named, kind=kind), durable=True)


@contextlib.contextmanager
def saving_directory(target: str) -> Iterator[PendingDirectory]:
    """Yield a save to a hidden directory, which replaces the target when the ``with`` block ends without an error.

    The target must be new or empty, or hold a saved frame.

    Raises
    ------
    StorageError
        If the target holds anything else.
    """
    with staged(target) as staging:
        yield PendingDirectory(staging)


@contextlib.contextmanager
def staged(
    target: str, check: Callable[[str], None] = check_replaceable, switch: Callable[[str, str], None] = switch_by_manifest, action: str = "save to"
) -> Iterator[str]:
    """Yield a hidden directory that replaces the target when the ``with`` block ends; it is deleted if the block raises.

    At any time, the target has either all old or all new files. The files of a replaced frame that is in use are kept until it is not used any more.
    Hidden directories that interrupted saves left next to the target are removed first.

    Parameters
    ----------
    target
        The target.
    check
        Called with the target, before the block and before the target is replaced; raises if it must not be replaced.
    switch
        Replaces the target if directories cannot be exchanged (see :func:`put_in_place`).
    action
        What is done, for error messages about replacing the target.
    """
    check(target)
    # If the target is a link, the directory that it leads to is replaced.
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
        check(target)
        with translate_os_errors(action, target):
            OPEN_DATASETS.replace(target, staging, partial(put_in_place, switch=switch))
            flush_directory(os.path.dirname(target))
    finally:
        # The hidden directory now holds the old frame, or the new one if the block raised. An old frame that is in use is not deleted.
        if staging is not None:
            OPEN_DATASETS.remove_unused(staging)


def _take_over_rights(target: str, staging: str) -> None:
    """Give a new, empty directory the group and the permissions of the directory that it will replace, if that exists."""
    try:
        old, new = os.stat(target), os.stat(staging)
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(old.st_mode) | stat.S_IRWXU
    if old.st_gid != new.st_gid:
        try:
            os.chown(staging, -1, old.st_gid)
        except OSError:
            # This user may not give a directory to that group. The group of the new directory gets no permissions.
            mode &= ~stat.S_IRWXG
    if mode != stat.S_IMODE(new.st_mode):
        os.chmod(staging, mode)
