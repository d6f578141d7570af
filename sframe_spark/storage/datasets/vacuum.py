"""Removing old versions of a frame saved elsewhere, and what saves that did not come to their end have left."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

import attrs

from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.datasets.remote_save import PROBE
from sframe_spark.storage.datasets.versioned_datasets import DATA, SavedVersion, Version, read_version, saved_versions
from sframe_spark.storage.filesystem.object_store import FoundFile, listed, remove
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.saved_places import MANIFESTS

# Names that only our writers give; whatever else there is below a frame's place is somebody's.
_OURS = re.compile(r"[0-9a-f]{32}/(?:segment-[0-9]{8,}-[0-9a-f]{32}\.parquet|_segments-[0-9a-f]{32}\.arrow)")


@attrs.frozen
class Removable:
    """What may be removed of a frame.

    Parameters
    ----------
    versions
        Numbers of versions.
    files
        Manifests first, so that nobody opens a version of which files are gone.
    """

    versions: tuple[int, ...]
    files: tuple[FoundFile, ...]


def removable(root: str, older_than: datetime.timedelta, now: datetime.datetime | None = None) -> Removable:
    """Return what nobody needs of a frame: versions that had a newer one for so long, and files as old that no other version names.

    Parameters
    ----------
    root
        The place of the frame.
    older_than
        How long a version may still be in use after the next one was saved, and how long a save may take.
    now
        The time; None: that of this machine.

    Raises
    ------
    StorageError
        If a version that stays cannot be read: its files are not known, so none is removed.
    """
    # Before the manifests are read: files that come later belong to saves that come later.
    files = listed(join(root, DATA), below=True)
    found = saved_versions(root)
    limit = (now or datetime.datetime.now(datetime.UTC)) - older_than
    old, kept = _split(root, found, limit)
    manifests = [version.manifest for version in kept]
    named = {join(root, entry.file) for manifest in manifests for entry in manifest.segments}
    named |= {join(root, manifest.stored.file) for manifest in manifests if manifest.stored is not None}
    ours = [file for file in files if _OURS.fullmatch(file.uri.removeprefix(join(root, DATA, "")))]
    unnamed = [file for file in ours if file.uri not in named and is_old(file, limit)]
    probes = [file for file in listed(join(root, MANIFESTS)) if file.uri.rpartition("/")[2].startswith(PROBE) and is_old(file, limit)]
    return Removable(tuple(version.number for version in old), (*(version.file for version in old), *probes, *unnamed))


def _split(root: str, found: Sequence[Version], limit: datetime.datetime) -> tuple[list[Version], list[SavedVersion]]:
    """The versions that had a newer one before some time, and the others, read."""
    old: list[Version] = []
    # From the oldest on, so that none goes before those below it.
    while len(found) > 1 and is_old(found[1].file, limit):
        old.append(found[0])
        found = found[1:]
    return old, in_threads(lambda version: read_version(root, version), found, available_cores())


def is_old(file: FoundFile, limit: datetime.datetime) -> bool:
    """Say whether a file was written before some time; of one that does not tell nobody knows."""
    return file.written is not None and file.written <= limit


def remove_all(found: Removable) -> None:
    """Remove what may be removed, manifests before what they name."""
    for file in found.files:
        if file.uri.endswith(".json"):
            remove(file.uri)
    in_threads(lambda file: remove(file.uri), [file for file in found.files if not file.uri.endswith(".json")], available_cores())
