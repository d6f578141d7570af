"""The state of local files (size, times, inode), listings of directories, and opening regular files only."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import time
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import attrs

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_remote_location
from sframe_spark.process.directory_trees import entries_below
from sframe_spark.storage.filesystem.io_errors import translate_os_errors

# The coarsest clock of common local file systems; network drives and memory cards may be coarser.
TICK_NANOSECONDS = 20_000_000


class FileState(NamedTuple):
    """What identifies one content of a path. The size alone is not enough, times can be set back, and two writes in one clock tick share a time.

    Parameters
    ----------
    size
        Length in bytes.
    modified
        When its content was changed last, in nanoseconds.
    inode
        Number of the file, whatever its name.
    changed
        Time of the last change of content, links or permissions, in nanoseconds; programs cannot set it.
    """

    size: int
    modified: int
    inode: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileState:
        """Return the state in a system status."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)


def state_of(location: str, size: int | None, may_be_link: bool) -> FileState:
    """Return the state of a dataset's file. A remote file is never changed in place, so its state is its recorded size, checked when it is read."""
    if not is_remote_location(location):
        return file_state(location, may_be_link)
    if size is None:
        raise StorageError(f"{location} has no known length: it was not saved by this package; save the frame again")
    return FileState(size, 0, 0, 0)


def file_state(location: str, may_be_link: bool) -> FileState:
    """Return the state of a local file without opening it; links and special files are refused."""
    status = os.stat(location) if may_be_link else os.lstat(location)
    if stat.S_ISLNK(status.st_mode):
        raise StorageError(f"{location} is a link: only files inside a saved frame are read; restore it from a copy")
    if not stat.S_ISREG(status.st_mode):
        raise StorageError(f"{location} is no regular file; restore it from a copy")
    return FileState.of(status)


def unchanged(location: str, before: FileState | None) -> FileState:
    """Return the state of an external file, which must be the same as before.

    Raises
    ------
    StorageError
        If it was changed meanwhile, or is no longer there.
    """
    with translate_os_errors("read", location):
        state = file_state(location, may_be_link=True)
    if before is not None and not is_same(state, before):
        raise changed_meanwhile(location)
    return state


def is_same(state: FileState, before: FileState) -> bool:
    """Return whether an external file still has the same content: size, time and inode agree; permissions and links may have changed."""
    return state[:3] == before[:3]


def changed_meanwhile(location: str, host: str = "") -> StorageError:
    """Return the error of a file that was changed while it was read, or that another machine sees differently."""
    other = f", or is another file on {host}" if host else ""
    return StorageError(f"{location} was changed while it was read{other}: read it again when nobody writes it, or read a copy")


@attrs.frozen
class Seen:
    """The state of an external file (one without our checksums) when its statistics were taken.

    Parameters
    ----------
    state
        What the file system said of it.
    tail
        Length of the end of the file from the footer on, and its checksum; None when it was not read.
    """

    state: FileState
    tail: tuple[int, int] | None = None


def wait_for_tick(locations: Iterable[str]) -> None:
    """Wait until a later change of files just written would get another modification time; links are followed."""
    newest = max((os.stat(location).st_mtime_ns for location in locations), default=0)
    left = newest + TICK_NANOSECONDS - time.time_ns()
    # Clocks of other machines may be ahead.
    if 0 < left <= TICK_NANOSECONDS:
        time.sleep(left / 1e9)


# Listings of directories; links are listed as links and not followed.

# Limits of :func:`some_below`: entries in all, entries of one directory, and levels.
MAX_SEEN, MAX_SEEN_IN_EACH, DEEPEST_SEEN = 1000, 200, 4


def files_below(directory: str) -> list[str]:
    """Return the files below a directory, relative to it and sorted by name; empty when there is no such directory."""
    with translate_os_errors("list", directory):
        return sorted(name for name, _ in entries_below(directory))


def some_below(directory: str) -> dict[str, list[str]]:
    """Return a directory and the nearest ones below it, each with some of its file names: a bounded sample for error messages.

    Subdirectories that cannot be listed are left out.
    """
    seen: dict[str, list[str]] = {}
    waiting, left = deque([(directory, 0)]), MAX_SEEN
    while waiting:
        path, depth = waiting.popleft()
        names = seen[path] = []
        with contextlib.suppress(OSError) if depth else translate_os_errors("list", path), os.scandir(path) as scan:
            for entry in itertools.islice(scan, min(left, MAX_SEEN_IN_EACH)):
                left -= 1
                if not entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
                elif depth < DEEPEST_SEEN:
                    waiting.append((entry.path, depth + 1))
    return seen


def names_in(directory: str) -> list[str]:
    """Return what is in a directory, directories with a slash at their end, sorted by name; nothing when there is no directory."""
    with translate_os_errors("list", directory):
        try:
            scan = os.scandir(directory)
        except FileNotFoundError:
            return []
        with scan:
            return sorted(f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name for entry in scan)


def sizes_below(directory: str) -> dict[str, int]:
    """Return the size of every regular file below a directory, by its relative name."""
    with translate_os_errors("list", directory):
        statuses = ((name, entry.stat(follow_symlinks=False)) for name, entry in entries_below(directory))
        return {name: status.st_size for name, status in statuses if stat.S_ISREG(status.st_mode)}


def states_below(directory: str) -> dict[str, FileState]:
    """Return the state of every regular file below a directory, by its relative name."""
    with translate_os_errors("list", directory):
        statuses = ((name, entry.stat(follow_symlinks=False)) for name, entry in entries_below(directory))
        return {name: FileState.of(status) for name, status in statuses if stat.S_ISREG(status.st_mode)}


def is_hidden(name: str) -> bool:
    """Return whether a file name is hidden: metadata or unfinished files of its writer, not data.

    Examples
    --------
    >>> is_hidden("_SUCCESS"), is_hidden(".part-0.crc"), is_hidden("_day=1")
    (True, True, False)
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def require_file(path: str) -> None:
    """Make sure that a path is a regular file, or a link to one.

    Raises
    ------
    StorageError
        If it is not.
    """
    if os.path.isfile(path):
        return
    if os.path.islink(path) and not os.path.exists(path):
        raise StorageError(f"{path} is a link to {os.readlink(path)}, where nothing is: mount or fetch what it leads to, or remove it")
    if os.path.isdir(path):
        raise StorageError(f"{path} is a directory among files: its rows would be left out; read it by itself, or move it")
    raise StorageError(f"{path} is a pipe, a socket or a device, which cannot be read twice: copy what it gives into a file, or leave it out")


# Regular files: checked through the open descriptor, so that no one can swap the file between check and read.

# Opening a named pipe would otherwise wait for someone to write into it.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLLOWS_NONE = getattr(os, "O_NOFOLLOW", 0)
_FOLLOWS = not hasattr(os, "O_NOFOLLOW")


def open_regular(location: str, may_be_link: bool = False) -> tuple[int, os.stat_result]:
    """Open a regular file (and links only if allowed); return the descriptor, which the caller closes, and its status.

    Raises
    ------
    StorageError
        If it is a link, or no regular file.
    OSError
        As the system says, where there is none or it cannot be opened.
    """
    if _FOLLOWS and not may_be_link:
        file_state(location, may_be_link=False)
    try:
        descriptor = os.open(location, _FLAGS if may_be_link else _FLAGS | _FOLLOWS_NONE)
    except OSError as error:
        if error.errno == errno.ELOOP and os.path.islink(location):
            raise StorageError(f"{location} is a link: only files inside a saved frame are read; restore it from a copy") from error
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise StorageError(f"{location} is no regular file; restore it from a copy")
    return descriptor, status


def read_regular(location: str, max_bytes: int) -> tuple[bytes, FileState]:
    """Return at most ``max_bytes + 1`` bytes of a regular file, so that a longer file shows, and its state.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with open(f"{directory}/a", "wb") as stream:
    ...         _ = stream.write(b"abcdef")
    ...     content, state = read_regular(f"{directory}/a", 3)
    >>> content, state.size
    (b'abcd', 6)
    """
    descriptor, status = open_regular(location)
    try:
        content = os.read(descriptor, max_bytes + 1)
        # A system may give less than there is, as network file systems do.
        while len(content) <= max_bytes and (more := os.read(descriptor, max_bytes + 1 - len(content))):
            content += more
    finally:
        os.close(descriptor)
    return content, FileState.of(status)
