"""What is in a directory and below it; links are seen as links and not followed."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections import deque

from sframe_spark.errors import StorageError
from sframe_spark.process.directory_trees import entries_below
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.local_files import FileState

# As much as one look at what is below a directory sees: of all, of each directory, and so many levels down.
MOST_SEEN, MOST_SEEN_IN_EACH, DEEPEST_SEEN = 1000, 200, 4


def files_below(directory: str) -> list[str]:
    """Return what is below a directory and no directory itself, relative to it, sorted by name; nothing when there is no directory."""
    with telling("list", directory):
        return sorted(name for name, _ in entries_below(directory))


def some_below(directory: str) -> dict[str, list[str]]:
    """Return some directories, one and those nearest below it, with the names of some files in each: enough to say what it may be of any disk.

    What cannot be listed below it is left out.
    """
    seen: dict[str, list[str]] = {}
    waiting, left = deque([(directory, 0)]), MOST_SEEN
    while waiting:
        path, depth = waiting.popleft()
        names = seen[path] = []
        with contextlib.suppress(OSError) if depth else telling("list", path), os.scandir(path) as scan:
            for entry in itertools.islice(scan, min(left, MOST_SEEN_IN_EACH)):
                left -= 1
                if not entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
                elif depth < DEEPEST_SEEN:
                    waiting.append((entry.path, depth + 1))
    return seen


def names_in(directory: str) -> list[str]:
    """Return what is in a directory, directories with a slash at their end, sorted by name; nothing when there is no directory."""
    with telling("list", directory):
        try:
            scan = os.scandir(directory)
        except FileNotFoundError:
            return []
        with scan:
            return sorted(f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name for entry in scan)


def sizes_below(directory: str) -> dict[str, int]:
    """Return the length of every regular file below a directory, by its name relative to it."""
    with telling("list", directory):
        statuses = ((name, entry.stat(follow_symlinks=False)) for name, entry in entries_below(directory))
        return {name: status.st_size for name, status in statuses if stat.S_ISREG(status.st_mode)}


def states_below(directory: str) -> dict[str, FileState]:
    """Return every regular file below a directory as it is now, by its name relative to it."""
    with telling("list", directory):
        statuses = ((name, entry.stat(follow_symlinks=False)) for name, entry in entries_below(directory))
        return {name: FileState.of(status) for name, status in statuses if stat.S_ISREG(status.st_mode)}


def is_hidden(name: str) -> bool:
    """Say whether a name is that of no data: notes of whoever wrote the files, or what he has not finished.

    Examples
    --------
    >>> is_hidden("_SUCCESS"), is_hidden(".part-0.crc"), is_hidden("_day=1")
    (True, True, False)
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def require_file(path: str) -> None:
    """Make sure that a path is one of a file, or of a link to one.

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
