"""What dead processes left behind: found by name and owner alone, so that nothing in a directory others can write to is ever opened."""

from __future__ import annotations

import os
import stat
import tempfile

from sframe_spark.process.leases import PREFIX, delete, owner_in
from sframe_spark.process.processes import is_running

# Of processes that cannot be seen from here; a process shows itself every ten minutes.
SECONDS_WITHOUT_HEARTBEAT = 24 * 60 * 60


def remove_leftovers(parent: str) -> list[str]:
    """Delete what dead processes of this user left in a directory, and return the paths."""
    paths = leftovers_in(parent)
    for path in paths:
        delete(path)
    return paths


def leftovers_in(parent: str) -> list[str]:
    """Paths of what dead processes of this user left in a directory; of one that cannot be listed, or that anyone may rename things in, none."""
    if may_be_renamed_by_anyone(parent):
        return []
    try:
        # Of the many names in a directory few are ours, and each save looks at all of them.
        names = sorted(name for name in [name for name in os.listdir(parent) if PREFIX in name] if owner_in(name) is not None)
    except OSError:
        # The caller's own work in it will say what is wrong.
        return []
    clock = Clock(parent)
    return [path for name in names if is_leftover(path := os.path.join(parent, name), clock)]


class Clock:
    """The time of the file system that holds a directory, asked for once and only if need be: it may be another machine's."""

    def __init__(self, parent: str) -> None:
        self._parent = parent
        self._now: float | None = None

    def now(self) -> float | None:
        """Seconds, or None where nothing can be written."""
        if self._now is None:
            try:
                with tempfile.TemporaryFile(dir=self._parent) as stream:
                    self._now = os.fstat(stream.fileno()).st_mtime
            except OSError:
                return None
        return self._now


def is_leftover(path: str, clock: Clock) -> bool:
    """Say whether something is this user's and its process is known to have ended."""
    owner = owner_in(os.path.basename(path))
    if owner is None:
        return False
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if not is_ours(status) or not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return False
    running = is_running(owner)
    if running is not None:
        return not running
    now = clock.now()
    return now is not None and now - status.st_mtime > SECONDS_WITHOUT_HEARTBEAT


def is_ours(status: os.stat_result) -> bool:
    """Say whether a file belongs to this user; the administrator's processes leave other users' files alone, too."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def may_be_renamed_by_anyone(parent: str) -> bool:
    """Say whether any user may give another user's directory a name of ours in this directory."""
    try:
        mode = os.stat(parent).st_mode
    except OSError:
        return False
    return os.name == "posix" and bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX
