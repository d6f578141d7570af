"""The cache directory of this user, and checks that no other user could have written a file in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

# Code is run from the cache directory, so no other user may be able to change it.
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def cache_path() -> Path:
    """Return the path of the cache directory, which may not exist."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sframe_spark"


def own_cache() -> Path:
    """Return the path of the cache directory, with links resolved; the directory is created if it does not exist.

    Raises
    ------
    OSError
        If the directory cannot be created, or if other users can change it.
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
    """Raise an error if another user, except the administrator, could change or replace a file or directory, given by a path without links.

    Raises
    ------
    PermissionError
        If another user could change or replace it. The message names the directory and what to do.
    """
    if os.name != "posix":
        # On other systems users' directories are private, and mode bits are not used.
        return
    # In a directory with the sticky bit, such as /tmp, only the owner of an entry can rename it.
    for checked, owners, may_be_shared in [(path, {os.geteuid()}, False), *((parent, {0, os.geteuid()}, True) for parent in path.parents)]:
        status = os.lstat(checked)
        if status.st_uid not in owners:
            raise PermissionError(f"{str(checked)!r} belongs to another user: let XDG_CACHE_HOME name a directory of yours")
        if status.st_mode & WRITABLE_BY_OTHERS and not (may_be_shared and status.st_mode & stat.S_ISVTX):
            raise PermissionError(f"{str(checked)!r} can be written to by other users: chmod go-w it, or let XDG_CACHE_HOME name another directory")


def is_own_file(path: Path) -> bool:
    """Return whether a path is a regular file, not a link, that only this user can change."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(status.st_mode):
        return False
    return os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & WRITABLE_BY_OTHERS)
