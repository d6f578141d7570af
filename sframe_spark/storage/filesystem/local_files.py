"""Operations on local files: their states (size, times, inode), listings of directories, and opening only regular files."""

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
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.process.directory_trees import entries_below
from sframe_spark.storage.filesystem.io_errors import translate_os_errors

# The coarsest resolution of times on common local file systems; that of network drives and memory cards may be coarser.
TICK_NANOSECONDS = 20_000_000


class FileState(NamedTuple):
    """The properties of a file that show whether its content was changed.

    None of them suffices: a new content may have the same size, programs can set the modification time, and two writes may have the same time.

    Parameters
    ----------
    size
        The size in bytes.
    modified
        The time of the last change of the content, in nanoseconds.
    inode
        The inode number, which does not depend on the name.
    changed
        The time of the last change of content, links or permissions, in nanoseconds, which programs cannot set.
    """

    size: int
    modified: int
    inode: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileState:
        """Return the state of a file from the result of ``os.stat``."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)


def state_of(location: str, size: int | None, may_be_link: bool) -> FileState:
    """Return the state of a file of a dataset.

    Remote files of datasets are never changed, so that the state of a remote file is only its recorded size, which is checked when it is read.

    Raises
    ------
    StorageError
        If a remote file has no recorded size, or a local one is a link, unless that is allowed, or not a regular file.
    """
    if not is_remote_location(location):
        return file_state(location, may_be_link)
    if size is None:
        raise StorageError(f"{location} has no known length: it was not saved by this package; save the frame again")
    return FileState(size, 0, 0, 0)


def file_state(location: str, may_be_link: bool) -> FileState:
    """Return the state of a local file without opening it; raise if it is a link, unless that is allowed, or not a regular file."""
    status = os.stat(location) if may_be_link else os.lstat(location)
    if stat.S_ISLNK(status.st_mode):
        raise StorageError(f"{location} is a link: only files inside a saved frame are read; restore it from a copy")
    if not stat.S_ISREG(status.st_mode):
        raise StorageError(f"{location} is not a regular file; restore it from a copy")
    return FileState.of(status)


def unchanged(location: str, before: FileState | None) -> FileState:
    """Return the state of an external file after comparing it with an earlier state, if one is given.

    Raises
    ------
    StorageError
        If the file was changed since, or does not exist.
    """
    with translate_os_errors("read", location):
        state = file_state(location, may_be_link=True)
    if before is not None and not is_same(state, before):
        raise changed_meanwhile(location)
    return state


def is_same(state: FileState, before: FileState) -> bool:
    """Return whether an external file has the same size, modification time and inode as before; permissions and links may have changed."""
    return state[:3] == before[:3]


def changed_meanwhile(location: str, host: str = "") -> StorageError:
    """Return an error that says that a file was changed while it was read; or, with a host name, that it may be another file on that host."""
    other = f", or is another file on {host}" if host else ""
    return StorageError(f"{location} was changed while it was read{other}: read it again when nobody writes it, or read a copy")


@attrs.frozen
class Seen:
    """The state of an external file, which has no recorded checksums, when its statistics were computed.

    Parameters
    ----------
    state
        The state of the file.
    tail
        The number of bytes from the footer to the end of the file, and their checksum; None if they were not read.
    """

    state: FileState
    tail: tuple[int, int] | None = None


def wait_for_tick(locations: Iterable[str]) -> None:
    """Wait, if some files were just written, until a later change would give them another modification time; links are followed."""
    newest = max((os.stat(location).st_mtime_ns for location in locations), default=0)
    left = newest + TICK_NANOSECONDS - time.time_ns()
    # If the time is in the future, it is of the clock of another machine, and waiting is of no use.
    if 0 < left <= TICK_NANOSECONDS:
        time.sleep(left / 1e9)


# Listings of directories; symbolic links are listed, but not followed.

# Limits of :func:`some_below`: the number of entries in all, the number of entries of one directory, and the depth.
MAX_SEEN, MAX_SEEN_IN_EACH, DEEPEST_SEEN = 1000, 200, 4


def files_below(directory: str) -> list[str]:
    """Return the paths of all files below a directory, relative to it and sorted; an empty list if the directory does not exist."""
    with translate_os_errors("list", directory):
        return sorted(name for name, _ in entries_below(directory))


def some_below(directory: str) -> dict[str, list[str]]:
    """Return, for a directory and directories below it, the names of some of their files; a limited sample for error messages.

    Subdirectories that cannot be listed have no files in the result.
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
    """Return the sorted names in a directory, those of directories with a slash at the end; an empty list if the directory does not exist."""
    with translate_os_errors("list", directory):
        try:
            scan = os.scandir(directory)
        except FileNotFoundError:
            return []
        with scan:
            return sorted(f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name for entry in scan)


def sizes_below(directory: str) -> dict[str, int]:
    """Return the sizes of all regular files below a directory, by their relative paths."""
    return {name: state.size for name, state in states_below(directory).items()}


def states_below(directory: str) -> dict[str, FileState]:
    """Return the states of all regular files below a directory, by their relative paths."""
    with translate_os_errors("list", directory):
        statuses = ((name, entry.stat(follow_symlinks=False)) for name, entry in entries_below(directory))
        return {name: FileState.of(status) for name, status in statuses if stat.S_ISREG(status.st_mode)}


def is_hidden(name: str) -> bool:
    """Return whether a name marks a file or directory without data: it begins with a dot, or it begins with an
    underscore and is no partition (`key=value`).

    Examples
    --------
    >>> is_hidden("_SUCCESS"), is_hidden(".part-0.crc"), is_hidden("_day=1")
    (True, True, False)
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def require_file(path: str) -> None:
    """Raise unless a path is a regular file, or a link to one.

    Raises
    ------
    StorageError
        If the path is a broken link, a directory, a pipe, a socket or a device.
    """
    if os.path.isfile(path):
        return
    if os.path.islink(path) and not os.path.exists(path):
        raise StorageError(f"{path} is a link to {os.readlink(path)}, which does not exist: mount or fetch its target, or remove it")
    if os.path.isdir(path):
        raise StorageError(f"{path} is a directory among files: its rows would be left out; read it by itself, or move it")
    raise StorageError(f"{path} is a pipe, a socket or a device, which cannot be read twice: copy what it gives into a file, or leave it out")


# Opening regular files: the check is made with the open descriptor, so that the file cannot be replaced between the check and reading.

# Without O_NONBLOCK, opening a named pipe would wait for a program that writes to it.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLLOWS_NONE = getattr(os, "O_NOFOLLOW", 0)
_FOLLOWS = not hasattr(os, "O_NOFOLLOW")


def open_regular(location: str, may_be_link: bool = False) -> tuple[int, os.stat_result]:
    """Open a regular file, or a link to one if that is allowed; return the descriptor, which the caller must close, and the status.

    Raises
    ------
    StorageError
        If the path is a link that is not allowed, or not a regular file.
    OSError
        If the file does not exist, or cannot be opened.
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
        raise StorageError(f"{location} is not a regular file; restore it from a copy")
    return descriptor, status


def read_regular(location: str, max_bytes: int) -> tuple[bytes, FileState]:
    """Return the content of a regular file, up to ``max_bytes + 1`` bytes, and its state. One more byte shows that the file is longer.

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
        # A read may return fewer bytes than there are, for example on network file systems.
        while len(content) <= max_bytes and (more := os.read(descriptor, max_bytes + 1 - len(content))):
            content += more
    finally:
        os.close(descriptor)
    return content, FileState.of(status)
