"""Directory trees: walked and deleted without following links; and the one directory of this user that outlives a process."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Container, Iterator
from pathlib import Path


def entries_below(directory: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield what is below a directory and no directory itself, with its name relative to it; links are not followed."""
    waiting = [(directory, "")]
    while waiting:
        path, prefix = waiting.pop()
        try:
            scan = os.scandir(path)
        except FileNotFoundError:
            # It has gone meanwhile.
            continue
        with scan:
            for entry in scan:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, f"{prefix}{entry.name}/"))
                else:
                    yield prefix + entry.name, entry


def size_on_disk(path: str) -> int:
    """Bytes that a file or directory takes on the disk; links are not followed, and a file with other names elsewhere counts nothing."""
    total, waiting = 0, [path]
    while waiting:
        # What cannot be looked at counts nothing.
        with contextlib.suppress(OSError):
            place = waiting.pop()
            status = os.lstat(place)
            if not stat.S_ISDIR(status.st_mode):
                total += getattr(status, "st_blocks", 0) * 512 if status.st_nlink == 1 else 0
                continue
            with os.scandir(place) as entries:
                waiting.extend(entry.path for entry in entries)
    return total


def remove_tree(path: str, ignore_errors: bool = False) -> None:
    """Delete a directory with all that is in it; links are not followed."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if not os.path.lexists(path):
        return
    if os.rename in os.supports_dir_fd:
        # Perhaps too deep: it calls itself, and keeps a directory open, for each level.
        with contextlib.suppress(OSError):
            _flatten(path)
    shutil.rmtree(path, ignore_errors=ignore_errors)


def remove_all_except(directory: str, present: Container[str]) -> None:
    """Delete what is in a directory but for what has one of some names."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name in present:
                continue
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                os.unlink(entry.path)


def _flatten(path: str) -> None:
    """Move every directory below one into that one."""
    with _opened(path) as top:
        waiting = _directories_in(top)
        while waiting:
            with contextlib.suppress(OSError), _opened(waiting.pop(), top) as place:
                for name in _directories_in(place):
                    moved = f"moved-{secrets.token_hex(8)}"
                    os.rename(name, moved, src_dir_fd=place, dst_dir_fd=top)
                    waiting.append(moved)


def _directories_in(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


@contextlib.contextmanager
def _opened(path: str, above: int | None = None) -> Iterator[int]:
    """Open a directory that is no link, relative to another one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


# The directory that is kept: what is run from there can be nobody else's.

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def cache_path() -> Path:
    """Where the directory is, whether it is there or not."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sframe_spark"


def own_cache() -> Path:
    """Return the directory, with no link on the way to it, and make it if need be.

    Raises
    ------
    OSError
        If it cannot be made, or is not this user's alone.
    """
    try:
        path = cache_path()
    except RuntimeError as error:
        raise OSError(str(error)) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    path = path.resolve(strict=True)
    require_own(path)
    return path


def require_own(path: Path) -> None:
    """Make sure that nobody else can change what is at a path without links, or put something else there; the administrator can.

    Raises
    ------
    PermissionError
        If somebody can. The message names what is theirs, and what to do.
    """
    if os.name != "posix":
        # Directories of users are their own there, and bits of modes say nothing.
        return
    # Of what is in a directory like /tmp only the owners change names.
    for place, owners, may_be_shared in [(path, {os.geteuid()}, False), *((parent, {0, os.geteuid()}, True) for parent in path.parents)]:
        status = os.lstat(place)
        if status.st_uid not in owners:
            raise PermissionError(f"{str(place)!r} belongs to another user: let XDG_CACHE_HOME name a directory of yours")
        if status.st_mode & WRITABLE_BY_OTHERS and not (may_be_shared and status.st_mode & stat.S_ISVTX):
            raise PermissionError(f"{str(place)!r} can be written to by other users: chmod go-w it, or let XDG_CACHE_HOME name another directory")


def is_own_file(path: Path) -> bool:
    """Say whether a path is a plain file, no link, that this user alone can change."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(status.st_mode):
        return False
    return os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & WRITABLE_BY_OTHERS)
