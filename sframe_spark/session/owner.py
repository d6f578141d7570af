"""Who a directory of unfinished work belongs to, so that only what a dead process left is ever cleaned up."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import tempfile

OWNER_FILE = "_owner.json"
PREFIX = "sframe_spark-"


def own_directory(parent: str) -> str:
    """Make a new directory that only this user can enter and that belongs to this process."""
    directory = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent)
    claim(directory)
    return directory


def remove_own(directory: str, process: int) -> None:
    """Delete a local directory, but not in a process forked from the one that made it."""
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)


def claim(directory: str) -> None:
    """Note in a local directory that it belongs to this process."""
    with open(os.path.join(directory, OWNER_FILE), "w", encoding="utf-8") as stream:
        json.dump({"host": platform.node(), "process": os.getpid()}, stream)


def release(directory: str) -> None:
    """Take the note out of a directory that outlives this process."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(directory, OWNER_FILE))


def is_abandoned(directory: str) -> bool:
    """Say whether the process that claimed a directory is known to be gone.

    A claim by another machine, or none (its process may be about to write it), is never taken for abandoned.
    """
    try:
        with open(os.path.join(directory, OWNER_FILE), encoding="utf-8") as stream:
            owner = json.load(stream)
        return owner["host"] == platform.node() and not is_alive(int(owner["process"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def is_alive(process: int) -> bool:
    """Say whether a process of this machine runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def remove_abandoned(parent: str, prefix: str = PREFIX) -> list[str]:
    """Delete the directories with a name prefix that dead processes left; return their paths."""
    try:
        names = os.listdir(parent)
    except OSError:
        # What cannot be listed cannot be cleaned; the caller's own work in it will say what is wrong.
        return []
    found = [os.path.join(parent, name) for name in names if name.startswith(prefix)]
    abandoned = [path for path in found if os.path.isdir(path) and is_abandoned(path)]
    for path in abandoned:
        # Another process may be cleaning up the same directory.
        shutil.rmtree(path, ignore_errors=True)
    return abandoned
