"""Saved frames that refer to columns of other saved frames: they are read only if those hold the same rows still."""

from __future__ import annotations

import os
from functools import partial

from sframe_spark.errors import StorageError
from sframe_spark.message_text import is_unicode
from sframe_spark.process.leases import owner_in
from sframe_spark.storage.datasets.load import digest_of_rows, load_manifest
from sframe_spark.storage.datasets.opened import OPEN_DATASETS
from sframe_spark.storage.manifest.elsewhere import DatasetElsewhere
from sframe_spark.storage.manifest.manifest import Manifest


def digest_for_reference(manifest: Manifest, target: str) -> str | None:
    """What tells the rows of a dataset from all others, in a frame saved at ``target`` that refers to them; None where it cannot.

    Files of others have no check sums of all rows, temporary datasets go with their process, and what is at the target is about to be replaced.
    """
    directory = manifest.directory
    if not manifest.has_key or manifest.names is None or not is_unicode(directory):
        return None
    if any(owner_in(part) is not None for part in directory.split(os.sep)) or is_within(directory, target):
        return None
    return digest_of_rows(manifest)


def is_within(directory: str, place: str) -> bool:
    """True for a directory that is, or is below, another one.

    Examples
    --------
    >>> is_within("/data/frame", "/data/frame"), is_within("/data/frames", "/data/frame")
    (True, False)
    """
    directory, place = os.path.realpath(directory), os.path.realpath(place)
    return directory == place or directory.startswith(os.path.join(place, ""))


def load_referred(manifest: Manifest, verify: bool = False) -> list[Manifest]:
    """The datasets that a saved frame refers to.

    Raises
    ------
    StorageError
        If one is gone, damaged, or holds other rows than it did when the frame was saved.
    """
    assert manifest.elsewhere is not None
    return [_load(manifest.directory, item, verify) for item in manifest.elsewhere.datasets]


def _load(frame: str, item: DatasetElsewhere, verify: bool) -> Manifest:
    advice = "bring them back, or make them anew and save the frame with save(), which copies all rows"
    try:
        found = OPEN_DATASETS.open(item.directory, partial(load_manifest, item.directory, verify, item.digest))
    except StorageError as error:
        raise StorageError(f"{frame} refers to rows in {item.directory}, which cannot be had: {error}; {advice}") from error
    if found.rows < item.stop:
        raise StorageError(f"the manifest of {frame} is damaged: {item.directory} has {found.rows} rows, not {item.stop}; save the frame again")
    return found
