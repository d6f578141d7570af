"""The directory of this user alone in which something is kept from one process to the next: what is run from there can be nobody else's."""

from __future__ import annotations

import os
import stat
from pathlib import Path

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
