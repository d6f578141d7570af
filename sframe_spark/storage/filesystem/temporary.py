"""Temporary datasets: they live as long as someone refers to them, and no longer than the process."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Iterator

from sframe_spark.config import config
from sframe_spark.locations import is_elsewhere, normalised
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.process.leases import CLAIMS, delete, directory_of_system, own_directory, remove_leftovers, require_directory
from sframe_spark.storage.filesystem.handles import TemporaryHandle
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.object_store import download, upload
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.quota import TakenBytes
from sframe_spark.storage.filesystem.temporary_datasets import StoreElsewhere


class DatasetHandle(TemporaryHandle):
    """Keeps a temporary dataset alive; its directory is deleted with the last reference to the handle.

    Parameters
    ----------
    directory
        The directory to delete.
    """

    __slots__ = ()

    def __init__(self, directory: str) -> None:
        CLAIMS.add(directory, self)
        super().__init__(directory, remove_directory)


class TemporaryStore:
    """One directory of this process, with one directory per dataset in it; all of it goes when the process ends.

    Starting a store also removes what processes that died on this machine have left.

    Parameters
    ----------
    root
        Directory that all executors reach, in which the directory of the process is made.
    """

    def __init__(self, root: str) -> None:
        self._owner = os.getpid()
        self._numbers = itertools.count()
        self._kept: list[object] = []
        self.taken = TakenBytes()
        location = normalised(root)
        require_directory(location)
        with telling("create a temporary directory in", location):
            remove_leftovers(location)
            self.directory = own_directory(location)

    def new_dataset(self) -> DatasetHandle:
        """Return a handle on a new, empty directory."""
        CLAIMS.remove_abandoned()
        directory = join(self.directory, f"dataset-{next(self._numbers):06d}")
        handle = DatasetHandle(directory)
        with telling("create temporary directory", directory):
            os.makedirs(directory, exist_ok=True)
        return handle

    def keep(self, holder: object) -> None:
        """Keep the datasets that something refers to until the process ends."""
        self._kept.append(holder)


def remove_directory(directory: str, owner: int) -> None:
    """Delete a directory, but only in the process that made it: forked workers inherit the finalizers.

    Nobody is left to be told when deleting fails; the start of the next store tries again.
    """
    if os.getpid() == owner:
        delete(directory)


_STORES: dict[tuple[str, int], TemporaryStore | StoreElsewhere] = {}
_STORES_LOCK = threading.Lock()
keep_whole_at_fork(_STORES_LOCK, "temporary data")


def temporary_root() -> str:
    """Return the place of temporary data: the configured one, here or elsewhere, or the directory of the system."""
    return config.temporary_directory or directory_of_system()


def scratch_root() -> str:
    """Return the directory of this machine for files that nobody else reads."""
    root = temporary_root()
    return directory_of_system() if is_elsewhere(root) else root


def temporary_store() -> TemporaryStore | StoreElsewhere:
    """Return the store of this process in the configured place, for datasets that Spark's tasks read and write; it starts at its first use."""
    root = temporary_root()
    return _store(root)


def scratch_store() -> TemporaryStore:
    """Return the store of this process for files that nobody else reads, which are on this machine; it starts at its first use."""
    found = _store(scratch_root())
    assert isinstance(found, TemporaryStore)
    return found


def _store(root: str) -> TemporaryStore | StoreElsewhere:
    with _STORES_LOCK:
        key = root, os.getpid()
        store = _STORES.get(key)
        if store is None and is_elsewhere(root):
            store = _STORES[key] = StoreElsewhere(root)
        # Someone may have emptied the temporary directory under a process that runs for weeks.
        elif store is None or (isinstance(store, TemporaryStore) and not os.path.isdir(store.directory)):
            store = _STORES[key] = TemporaryStore(root)
        return store


@contextlib.contextmanager
def local_file(location: str) -> Iterator[str]:
    """A path of a file here or elsewhere; of one elsewhere there is a copy, as long as the block is."""
    if not is_elsewhere(location):
        yield location
        return
    handle = scratch_store().new_dataset()
    try:
        place = join(handle.directory, location.rpartition("/")[2])
        download(location, place)
        yield place
    finally:
        handle.discard()


@contextlib.contextmanager
def written_here(directory: str) -> Iterator[str]:
    """A directory of this machine to write files in that go to one here or elsewhere: there they are when the block ends, unless an error ends it."""
    if not is_elsewhere(directory):
        yield directory
        return
    handle = scratch_store().new_dataset()
    try:
        yield handle.directory
        for name in sorted(os.listdir(handle.directory)):
            upload(join(handle.directory, name), join(directory, name))
    finally:
        handle.discard()
