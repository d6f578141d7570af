"""Temporary datasets: they live as long as someone refers to them, and no longer than the process."""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import shutil
import tempfile
import weakref

from sframe_spark.config import config

PREFIX = "sframe_spark-"


class DatasetHandle:
    """Keeps a temporary dataset alive; its directory is deleted with the last reference to the handle."""

    __slots__ = ("__weakref__", "directory")

    def __init__(self, directory: str) -> None:
        self.directory = directory
        weakref.finalize(self, _remove, directory, os.getpid())


class TemporaryStore:
    """The temporary directory of one process, with one directory per dataset.

    Parameters
    ----------
    root
        Where the process's directory is made.
    """

    def __init__(self, root: str) -> None:
        self._owner = os.getpid()
        os.makedirs(root, exist_ok=True)
        remove_stale(root)
        self.directory = tempfile.mkdtemp(prefix=f"{PREFIX}{self._owner}-", dir=root)
        self._numbers = itertools.count()
        atexit.register(_remove, self.directory, self._owner)

    def new_dataset(self) -> DatasetHandle:
        """A handle on a new, empty directory."""
        directory = os.path.join(self.directory, f"d{next(self._numbers)}")
        os.makedirs(directory)
        return DatasetHandle(directory)


def remove_stale(root: str) -> None:
    """Delete what processes that are gone have left behind."""
    for name in os.listdir(root):
        owner = name.removeprefix(PREFIX).partition("-")[0]
        if name.startswith(PREFIX) and owner.isdigit() and not _is_alive(int(owner)):
            shutil.rmtree(os.path.join(root, name), ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _remove(directory: str, owner: int) -> None:
    """Delete a directory, but only in the process that made it: forked workers inherit the finalizers."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


@functools.lru_cache(maxsize=8)
def _store(root: str, process: int) -> TemporaryStore:
    return TemporaryStore(root)


def temporary_store() -> TemporaryStore:
    """The store of this process in the configured temporary directory."""
    return _store(str(config.temporary_directory or tempfile.gettempdir()), os.getpid())
