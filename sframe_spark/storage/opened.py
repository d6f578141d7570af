"""Datasets that this process has open: when one is replaced by a save, its old rows stay for whoever still refers to them."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import defaultdict

from sframe_spark.session.owner import claim
from sframe_spark.storage.manifest import Manifest
from sframe_spark.storage.temporary import DatasetHandle


class OpenDatasets:
    """Manifests of saved datasets in use, by directory.

    Examples
    --------
    >>> datasets = OpenDatasets()
    >>> manifest = datasets.opened(Manifest((), (), "/data/frame"))
    >>> datasets.manifests("/data/frame") == [manifest]
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._references: defaultdict[str, list[weakref.ref[Manifest]]] = defaultdict(list)

    def opened(self, manifest: Manifest) -> Manifest:
        """Remember a manifest for as long as someone refers to it, and return it."""
        with self._lock:
            known = [reference for reference in self._references[manifest.directory] if reference() is not None]
            self._references[manifest.directory] = [*known, weakref.ref(manifest)]
        return manifest

    def manifests(self, directory: str) -> list[Manifest]:
        """Return the manifests in use of the dataset in a directory."""
        with self._lock:
            found = [reference() for reference in self._references.get(directory, ())]
        return [manifest for manifest in found if manifest is not None]

    def retire(self, directory: str, place: str) -> bool:
        """Let the manifests of a dataset follow its files, which are now in another place, until nobody refers to them.

        Returns
        -------
        bool
            Whether anyone refers to them; the files are not needed otherwise.
        """
        users = self.manifests(directory)
        if not users:
            return False
        with contextlib.suppress(OSError):
            # Without the note, on a full disk, the files stay should this process be killed.
            claim(place)
        handle = DatasetHandle(place)
        for manifest in users:
            manifest.follow_to(place)
            # The handle, and with it the directory, lives as long as one of the manifests.
            weakref.finalize(manifest, _let_go, handle).atexit = False
        with self._lock:
            self._references.pop(directory, None)
            self._references[place] = [weakref.ref(manifest) for manifest in users]
        return True


def _let_go(handle: DatasetHandle) -> None:
    """Drop a reference."""


OPEN_DATASETS = OpenDatasets()
