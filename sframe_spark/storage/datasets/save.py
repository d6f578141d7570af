"""Saving to a local directory, whole or not at all: files are written into a directory alongside, which then takes the name of the target."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import attrs

from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.leases import Holder, own_directory_beside, remove_leftovers
from sframe_spark.storage.datasets.commit import flush_directory, in_row_order, publish_manifest
from sframe_spark.storage.datasets.opened import OPEN_DATASETS
from sframe_spark.storage.datasets.replaceable import check_replaceable
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.listing import files_below
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.saved_places import MANIFEST_FILE
from sframe_spark.storage.manifest.manifest import SFRAME, Manifest

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
        with telling("save to", target):
            os.makedirs(parent, exist_ok=True)
            remove_leftovers(parent)
            with interrupts_deferred():
                staging = own_directory_beside(parent, holder)
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
    with telling("save to", target):
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
