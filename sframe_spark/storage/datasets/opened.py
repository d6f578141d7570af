"""Datasets that this process has open: when one is replaced by a save, its old rows stay for whoever still refers to them."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Hashable

from sframe_spark.errors import StorageError
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.leases import remove_own
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.saved_places import MANIFEST_FILE
from sframe_spark.storage.filesystem.temporary import DatasetHandle
from sframe_spark.storage.manifest.manifest import Manifest

# So many datasets are remembered before those are looked for that nobody refers to any more.
FEW_DATASETS = 64


class OpenDatasets:
    """Manifests of saved datasets in use, by the directory itself, which may have several paths and get others.

    Examples
    --------
    >>> datasets = OpenDatasets()
    >>> manifest = datasets.open("/data/frame", lambda: Manifest((), (), "/data/frame"))
    >>> datasets.manifests("/data/frame") == [manifest]
    True
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._references: dict[Hashable, list[weakref.ref[Manifest]]] = {}
        self._most = FEW_DATASETS

    def open(self, location: str, load: Callable[[], Manifest]) -> Manifest:
        """Load the manifest of a dataset and remember it for as long as someone refers to it.

        A dataset that is replaced meanwhile, by another thread or process, is loaded again.
        """
        while True:
            before = version_of(location)
            try:
                manifest = load()
            except StorageError:
                if version_of(location) == before:
                    raise
                continue
            with self._lock:
                if version_of(location) == before:
                    self._remember(identity_of(location), [*self.manifests(location), manifest])
                    return manifest

    def manifests(self, directory: str) -> list[Manifest]:
        """Return the manifests in use of the dataset in a directory."""
        with self._lock:
            found = [reference() for reference in self._references.get(identity_of(directory), ())]
        return [manifest for manifest in found if manifest is not None]

    def _remember(self, identity: Hashable, manifests: list[Manifest]) -> None:
        self._references[identity] = [weakref.ref(manifest) for manifest in manifests]
        if len(self._references) > self._most:
            # Each time as many again as are in use: looking costs a little for each dataset that is opened, however many there are.
            in_use = [(key, found) for key, found in list(self._references.items()) if any(reference() is not None for reference in found)]
            self._references = dict(in_use)
            self._most = max(FEW_DATASETS, 2 * len(in_use))

    def replace(self, target: str, staging: str, swap: Callable[[str, str], None]) -> None:
        """Let what is in two directories change places; manifests of the target's dataset follow its files until nobody refers to them."""
        with self._lock, interrupts_deferred():
            before, users = identity_of(target), self.manifests(target)
            swap(staging, target)
            self._references.pop(before, None)
            if users:
                self._remember(identity_of(staging), users)
                handle = DatasetHandle(staging)
            for manifest in users:
                manifest.follow_to(staging)
                # The handle, and with it the directory, lives as long as one of the manifests.
                weakref.finalize(manifest, _let_go, handle).atexit = False

    def remove_unused(self, directory: str) -> None:
        """Delete a directory of this process, unless there is none or someone refers to the dataset in it."""
        with self._lock:
            if not self.manifests(directory):
                remove_own(directory)


def identity_of(directory: str) -> Hashable:
    """What tells one directory from all others; the path where there is none."""
    try:
        status = os.stat(directory)
    except OSError:
        return directory
    return status.st_dev, status.st_ino


def version_of(directory: str) -> Hashable:
    """What changes when the dataset in a directory is replaced."""
    try:
        status = os.stat(join(directory, MANIFEST_FILE))
    except OSError:
        return identity_of(directory)
    return identity_of(directory), status.st_ino, status.st_mtime_ns


def _let_go(handle: DatasetHandle) -> None:
    """Drop a reference."""


OPEN_DATASETS = OpenDatasets()
keep_whole_at_fork(OPEN_DATASETS._lock, "open datasets")
