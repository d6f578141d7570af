"""Versions of a frame saved elsewhere: numbered manifests, of which each is put where none was, so that of two savers one is told.

``<root>/_manifests/00000001.json`` names files ``data/<uuid>/segment-....parquet``, relative to the root. None of these is ever changed.
"""

from __future__ import annotations

import datetime
import time
from typing import Any

import attrs

from sframe_spark.errors import NotSavedError, StorageError
from sframe_spark.storage.filesystem.object_store import FoundFile, listed, read_range, require_bucket
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.saved_places import MANIFESTS, VERSION_FILE
from sframe_spark.storage.manifest.length import check_length
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.manifest.manifest_json import damaged, unsealed

DATA = "data"
# What a manifest says, beside what every one does, of when it was saved.
SAVED = "saved"
MOST_VERSIONS = 10**18 - 1
# What every manifest ends with; file systems without whole writes show the beginning of one that is being written.
_END = b"}\n"
_TRIES, _SECONDS_BETWEEN = 5, 0.2


@attrs.frozen
class Version:
    """One version of a frame.

    Parameters
    ----------
    number
        Its number, from 1.
    file
        Its manifest.
    """

    number: int
    file: FoundFile


@attrs.frozen
class SavedVersion:
    """What a version says of itself.

    Parameters
    ----------
    number
        Its number.
    saved
        When it was saved.
    manifest
        Its files.
    """

    number: int
    saved: datetime.datetime
    manifest: Manifest


def versions_at(root: str) -> list[Version]:
    """Return the versions of a frame, the newest last; none where nothing is saved."""
    found = []
    for file in listed(join(root, MANIFESTS)):
        if name := VERSION_FILE.fullmatch(file.uri.rpartition("/")[2]):
            found.append(Version(int(name[1]), file))
    return sorted((version for version in found if version.number), key=lambda version: version.number)


def saved_versions(root: str) -> list[Version]:
    """Return the versions of a frame, of which there is one at least.

    Raises
    ------
    NotSavedError
        If there is none.
    """
    found = versions_at(root)
    if not found:
        require_bucket(root)
        raise NotSavedError(f"there is no saved frame in {root}: check the name")
    return found


def manifest_place(root: str, number: int) -> str:
    """Return where the manifest of a version is.

    Examples
    --------
    >>> manifest_place("s3://bucket/frame", 12)
    's3://bucket/frame/_manifests/00000012.json'
    """
    return join(root, MANIFESTS, f"{number:08d}.json")


def manifest_text(manifest: Manifest, saved: datetime.datetime, beside: dict[str, Any] | None = None) -> bytes:
    """Return the text of a version's manifest, and of the file of its segments that it names, if there is one."""
    return manifest.to_json({SAVED: saved.isoformat(timespec="milliseconds")}, beside).encode()


def read_version(root: str, version: Version) -> SavedVersion:
    """Return what a version says.

    Raises
    ------
    StorageError
        If it is damaged, or not one of a frame that was saved elsewhere.
    """
    uri = version.file.uri
    check_length(uri, version.file.size)
    text = _complete(root, version, read_range(uri, 0, version.file.size))
    manifest = Manifest.from_json(text, root)
    said = unsealed(text, root).get(SAVED)
    try:
        saved = datetime.datetime.fromisoformat(str(said))
        if saved.tzinfo is None:
            raise ValueError("no offset")
    except ValueError:
        raise damaged(root, f"version {version.number} was saved at {said!r:.60}, which is no time") from None
    _check(manifest, version.number)
    return SavedVersion(version.number, saved, manifest)


def _complete(root: str, version: Version, content: bytes) -> str:
    for attempt in range(_TRIES):
        if content.endswith(_END):
            break
        if attempt:
            time.sleep(_SECONDS_BETWEEN)
        found = [file for file in listed(join(root, MANIFESTS)) if file.uri == version.file.uri]
        content = read_range(version.file.uri, 0, found[0].size) if found else content
    else:
        before = f", or load version={version.number - 1}" if version.number > 1 else ""
        raise StorageError(f"version {version.number} of {root} has no end: it was damaged, or its save was cut off; save the frame again{before}")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise damaged(root, str(error)) from None


def _check(manifest: Manifest, number: int) -> None:
    """Versions name only files with check sums of all bytes, in the one directory of data."""
    if manifest.elsewhere is not None or not manifest.has_key or manifest.names is None:
        raise damaged(manifest.directory, f"version {number} is not one that is saved so")
    for entry in manifest.segments:
        if not entry.rows or not entry.file.startswith(f"{DATA}/") or None in (entry.size, entry.tail, entry.pages):
            raise damaged(manifest.directory, f"version {number} names {entry.file!r:.200} without all that is to be known of it")


def load_remote(root: str, version: int | None = None) -> Manifest:
    """Return the newest version of a frame saved elsewhere, or one that is named; no file of rows is asked for.

    Raises
    ------
    NotSavedError
        If nothing is saved there.
    StorageError
        If there is no such version, or its manifest is damaged.
    """
    found = saved_versions(root)
    wanted = [item for item in found if version is None or item.number == version]
    if not wanted:
        raise StorageError(f"{root} has no version {version!r:.40}: it has {_numbers(found)}")
    return read_version(root, wanted[-1]).manifest


def _numbers(found: list[Version]) -> str:
    first, last = found[0].number, found[-1].number
    return f"version {first} alone" if first == last else f"versions {first} to {last}" + (", with gaps" if last - first >= len(found) else "")


def with_version_checksums(manifest: Manifest) -> Manifest:
    """Return a manifest that a plan's text gave, with the check sums of the version that names its files.

    Raises
    ------
    StorageError
        If no version does.
    """
    wanted = {(entry.file, entry.size, entry.rows) for entry in manifest.segments}
    for version in reversed(saved_versions(manifest.directory)):
        saved = read_version(manifest.directory, version).manifest
        known = {(entry.file, entry.size, entry.rows): entry for entry in saved.segments}
        if saved.types == manifest.types and wanted <= known.keys() and manifest.has_key:
            segments = [attrs.evolve(known[entry.file, entry.size, entry.rows], columns=()) for entry in manifest.segments]
            return attrs.evolve(manifest, segments=tuple(segments))
    raise StorageError(f"the plan reads files of {manifest.directory} that no version of it names: make the plan again")
