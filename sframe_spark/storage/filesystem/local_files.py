"""What tells one content of a path from another, by what the file system says of the file."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from typing import NamedTuple

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_elsewhere
from sframe_spark.storage.filesystem.io_errors import telling

# Clocks of file systems stand still for so long at most, network and memory cards apart.
TICK_NANOSECONDS = 20_000_000


class FileState(NamedTuple):
    """A file as it is at a moment. Lengths are often equal, and times of changes may be set back, or coarse: two in one tick have one time.

    Parameters
    ----------
    size
        Length in bytes.
    modified
        When its content was changed last, in nanoseconds.
    inode
        Number of the file, whatever its name.
    changed
        When anything of it was changed last, in nanoseconds: nobody can set that, but links and rights are among it.
    """

    size: int
    modified: int
    inode: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileState:
        """Return what the system told of a file."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)


def state_of(location: str, size: int | None, may_be_link: bool) -> FileState:
    """Return a file of a dataset as it is now; one elsewhere as it was written, as nobody ever changes it: its length is compared when it is read."""
    if not is_elsewhere(location):
        return file_state(location, may_be_link)
    if size is None:
        raise StorageError(f"{location} has no known length: it was not saved by this package; save the frame again")
    return FileState(size, 0, 0, 0)


def file_state(location: str, may_be_link: bool) -> FileState:
    """Return a file as it is now; what is no file, a named pipe for instance, is not opened."""
    status = os.stat(location) if may_be_link else os.lstat(location)
    if stat.S_ISLNK(status.st_mode):
        raise StorageError(f"{location} is a link: only files inside a saved frame are read; restore it from a copy")
    if not stat.S_ISREG(status.st_mode):
        raise StorageError(f"{location} is no regular file; restore it from a copy")
    return FileState.of(status)


def unchanged(location: str, before: FileState | None) -> FileState:
    """Return a file of somebody else's as it is now, which is as it was when it was read before.

    Raises
    ------
    StorageError
        If it was changed meanwhile, or is no longer there.
    """
    with telling("read", location):
        state = file_state(location, may_be_link=True)
    if before is not None and not is_same(state, before):
        raise changed_meanwhile(location)
    return state


def is_same(state: FileState, before: FileState) -> bool:
    """Say whether a file of somebody else's is one with its content of before: links and rights, of which the last time tells, may be others."""
    return state[:3] == before[:3]


def changed_meanwhile(location: str, host: str = "") -> StorageError:
    """Return the error of a file that is another one by now, or, where others read it too, on the machine that reads it."""
    other = f", or is another file on {host}" if host else ""
    return StorageError(f"{location} was changed while it was read{other}: read it again when nobody writes it, or read a copy")


@attrs.frozen
class Seen:
    """A file as it was when the statistics of its rows were taken, where it has no check sums of ours.

    Parameters
    ----------
    state
        What the file system said of it.
    tail
        How many bytes the footer takes with what follows it, and their check sum; None when it was not read.
    """

    state: FileState
    tail: tuple[int, int] | None = None


def wait_for_tick(locations: Iterable[str]) -> None:
    """Wait until a change of files just written would give them another time than they have; links are followed."""
    newest = max((os.stat(location).st_mtime_ns for location in locations), default=0)
    left = newest + TICK_NANOSECONDS - time.time_ns()
    # Clocks of other machines may be ahead.
    if 0 < left <= TICK_NANOSECONDS:
        time.sleep(left / 1e9)
