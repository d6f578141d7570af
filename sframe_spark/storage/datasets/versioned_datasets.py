"""Remote saved frames: numbered manifests, each created only if it does not exist, so that one of two concurrent saves fails.

``<root>/_manifests/00000001.json`` names files ``data/<uuid>/segment-....parquet``, relative to the root. Files are never changed.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from sframe_spark.errors import ConcurrentSaveError, NotSavedError, StorageError
from sframe_spark.process.resource_limits import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.datasets.commit import write_sidecar
from sframe_spark.storage.filesystem.file_kind import MANIFESTS, VERSION_FILE
from sframe_spark.storage.filesystem.object_store import (
    ListedFile,
    create,
    creates_exclusively,
    identity_of,
    listed,
    read_range,
    remove,
    require_bucket,
    upload,
)
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.manifest.manifest_json import check_length, damaged, unsealed
from sframe_spark.storage.manifest.segment_index import needs_sidecar
from sframe_spark.storage.segments.writer import delivering

DATA = "data"
# The additional key of a version: when it was saved.
SAVED = "saved"
MAX_VERSIONS = 10**18 - 1
# The end of every manifest; file systems without atomic writes show unfinished ones.
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
    file: ListedFile


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
    """Return the versions of a frame in order; empty where nothing is saved."""
    found = []
    for file in listed(join(root, MANIFESTS)):
        if name := VERSION_FILE.fullmatch(file.uri.rpartition("/")[2]):
            found.append(Version(int(name[1]), file))
    return sorted((version for version in found if version.number), key=lambda version: version.number)


def saved_versions(root: str) -> list[Version]:
    """Return the versions of a frame, at least one.

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
    """Return the location of a version's manifest.

    Examples
    --------
    >>> manifest_place("s3://bucket/frame", 12)
    's3://bucket/frame/_manifests/00000012.json'
    """
    return join(root, MANIFESTS, f"{number:08d}.json")


def manifest_text(manifest: Manifest, saved: datetime.datetime, sidecar: dict[str, Any] | None = None) -> bytes:
    """Return the text of a version's manifest, with a reference to its sidecar if it has one."""
    return manifest.to_json({SAVED: saved.isoformat(timespec="milliseconds")}, sidecar).encode()


def read_version(root: str, version: Version) -> SavedVersion:
    """Read a version.

    Raises
    ------
    StorageError
        If it is damaged, or not one of a frame that was saved remotely.
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
    """Versions may name only files in the data directory that have checksums of all bytes."""
    if manifest.elsewhere is not None or not manifest.has_key or manifest.names is None:
        raise damaged(manifest.directory, f"version {number} is not one that is saved so")
    for entry in manifest.segments:
        if not entry.rows or not entry.file.startswith(f"{DATA}/") or None in (entry.size, entry.tail, entry.pages):
            raise damaged(manifest.directory, f"version {number} names {entry.file!r:.200} without all that is to be known of it")


def load_remote(root: str, version: int | None = None) -> Manifest:
    """Return the newest or a given version of a remote frame; no data file is read.

    Raises
    ------
    NotSavedError
        If nothing is saved there.
    StorageError
        If there is no such version, or its manifest is damaged.
    """
    found = saved_versions(root)
    requested = [item for item in found if version is None or item.number == version]
    if not requested:
        raise StorageError(f"{root} has no version {version!r:.40}: it has {_numbers(found)}")
    return read_version(root, requested[-1]).manifest


def _numbers(found: list[Version]) -> str:
    first, last = found[0].number, found[-1].number
    return f"version {first} alone" if first == last else f"versions {first} to {last}" + (", with gaps" if last - first >= len(found) else "")


def with_version_checksums(manifest: Manifest) -> Manifest:
    """Return a manifest that came from a plan's text with the checksums of the version that names its files.

    Raises
    ------
    StorageError
        If no version does.
    """
    requested = {(entry.file, entry.size, entry.rows) for entry in manifest.segments}
    for version in reversed(saved_versions(manifest.directory)):
        saved = read_version(manifest.directory, version).manifest
        known = {(entry.file, entry.size, entry.rows): entry for entry in saved.segments}
        if saved.types == manifest.types and requested <= known.keys() and manifest.has_key:
            segments = [attrs.evolve(known[entry.file, entry.size, entry.rows], columns=()) for entry in manifest.segments]
            return attrs.evolve(manifest, segments=tuple(segments))
    raise StorageError(f"the plan reads files of {manifest.directory} that no version of it names: make the plan again")


# Saving: data files under a new unique directory, then the manifest of the next version, created exclusively.

PROBE = "probe-"


@attrs.define(eq=False)
class NewVersion:
    """A version of a remote frame that is being saved.

    Parameters
    ----------
    root
        The place of the frame.
    number
        Its number.
    data
        The directory of its files, relative to the root.
    is_tried
        Whether its manifest may have been written, so that its files may be in use.
    """

    root: str
    number: int
    data: str
    is_tried: bool = False

    @property
    def directory(self) -> str:
        """Where its files go."""
        return join(self.root, self.data)

    def commit(self, made: Manifest, names: Sequence[str], kind: str) -> Manifest:
        """Publish the files of this version as the newest one.

        Raises
        ------
        ConcurrentSaveError
            If somebody else has saved meanwhile.
        StorageError
            If a file is not there as it was written.
        """
        segments = tuple(attrs.evolve(entry, file=f"{self.data}/{entry.file}") for entry in made.segments if entry.rows)
        complete = Manifest(made.types, segments, self.root, names=tuple(names), kind=kind, order=made.order)
        self._require_whole(complete)
        text = manifest_text(complete, datetime.datetime.now(datetime.UTC), self._upload_sidecar(complete))
        place = manifest_place(self.root, self.number)
        self.is_tried = True
        try:
            put = create(place, text)
        except StorageError as error:
            # The response may have been lost, not the request.
            if not _holds(place, text):
                raise StorageError(f"{error}; nobody knows whether it was saved: load it, or save it again") from None
            return complete
        # A retried request meets the file that it has written itself.
        if not put and not _holds(place, text):
            self.is_tried = False
            raise ConcurrentSaveError(
                f"somebody else saved {self.root} meanwhile, as version {self.number}: nothing of theirs was changed; look at it, or save again"
            )
        return complete

    def _upload_sidecar(self, made: Manifest) -> dict[str, Any] | None:
        """Upload the sidecar of a manifest with many segments, and return the reference to it."""
        if not needs_sidecar(made):
            return None
        with delivering(self.directory) as delivery:
            said = write_sidecar(made, delivery.directory, durable=False)
            assert said is not None
            upload(join(delivery.directory, said["file"]), join(self.directory, said["file"]))
        return {**said, "file": f"{self.data}/{said['file']}"}

    def _require_whole(self, made: Manifest) -> None:
        """Make sure that the files exist with their sizes: a copied one may have been truncated, and a vacuum may remove files."""
        lengths = {file.uri: file.size for file in listed(self.directory)}
        for entry in made.segments:
            found = lengths.get(join(self.root, entry.file))
            if found != entry.size:
                has = "is gone" if found is None else f"has {found} bytes, not {entry.size}"
                why = "it is a copy of one that was cut or replaced" if found is not None else "somebody has removed it"
                raise StorageError(
                    f"cannot save to {self.root}: {entry.file}, which was written for it, {has}: {why}; load the rows anew, or save again"
                )


def _holds(place: str, text: bytes) -> bool:
    with contextlib.suppress(StorageError):
        return read_range(place, 0, len(text) + 1) == text
    return False


@contextlib.contextmanager
def saving_version(root: str) -> Iterator[NewVersion]:
    """Yield a new version of a remote frame; if the block raises, its files are removed and earlier versions stay.

    Raises
    ------
    StorageError
        If the file system cannot be written, or does not keep two savers apart.
    """
    before = versions_at(root)
    _proved(_Proof(root, "/".join(root.split("/")[:3]), identity_of(root), os.getpid()))
    number = (before[-1].number if before else 0) + 1
    if number > MAX_VERSIONS:
        raise StorageError(f"{root} has a version {number - 1}, after which there is none: save to another place")
    new = NewVersion(root, number, f"{DATA}/{uuid.uuid4().hex}")
    try:
        yield new
    except BaseException:
        if not new.is_tried:
            with contextlib.suppress(StorageError):
                for file in listed(new.directory, below=True):
                    remove(file.uri)
        raise


@attrs.frozen
class _Proof:
    """A file system, in one process, whose exclusive creation is tested; the root is where the test is made."""

    root: str = attrs.field(eq=False)
    bucket: str
    options: str = attrs.field(repr=False)
    process: int


@functools.lru_cache(maxsize=64)
def _proved(proof: _Proof) -> None:
    """Make sure that a file system refuses to create an existing file; only success is cached."""
    place = join(proof.root, MANIFESTS, f"{PROBE}{uuid.uuid4().hex}")
    if not creates_exclusively(proof.root) or not create(place, b"1"):
        raise _unfit(proof.root)
    try:
        if create(place, b"2") or read_range(place, 0, 2) != b"1":
            raise _unfit(proof.root)
    finally:
        # Without permission to remove it stays, and is no version.
        with contextlib.suppress(StorageError):
            remove(place)


def _unfit(root: str) -> StorageError:
    return StorageError(
        f"cannot save to {root}: its file system creates files that are there already, so that one of two savers would lose its rows without a word: "
        "save to another one, or to a local or mounted directory"
    )


# Vacuum: removing old versions and the files of interrupted saves.

# File names that only our writers create; anything else is somebody's.
_OUR_FILES = re.compile(r"[0-9a-f]{32}/(?:segment-[0-9]{8,}-[0-9a-f]{32}\.parquet|_segments-[0-9a-f]{32}\.arrow)")


@attrs.frozen
class Removable:
    """The removable versions and files of a frame.

    Parameters
    ----------
    versions
        Numbers of versions.
    files
        Manifests first, so that no one opens a version whose files are gone.
    """

    versions: tuple[int, ...]
    files: tuple[ListedFile, ...]


def removable(root: str, older_than: datetime.timedelta, now: datetime.datetime | None = None) -> Removable:
    """Return the versions that were superseded long enough ago, and files as old that no remaining version names.

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
    # Listed before the manifests are read: later files belong to later saves.
    files = listed(join(root, DATA), below=True)
    found = saved_versions(root)
    limit = (now or datetime.datetime.now(datetime.UTC)) - older_than
    old, remaining = _split(root, found, limit)
    manifests = [version.manifest for version in remaining]
    named = {join(root, entry.file) for manifest in manifests for entry in manifest.segments}
    named |= {join(root, manifest.stored.file) for manifest in manifests if manifest.stored is not None}
    our_files = [file for file in files if _OUR_FILES.fullmatch(file.uri.removeprefix(join(root, DATA, "")))]
    unnamed = [file for file in our_files if file.uri not in named and is_old(file, limit)]
    probes = [file for file in listed(join(root, MANIFESTS)) if file.uri.rpartition("/")[2].startswith(PROBE) and is_old(file, limit)]
    return Removable(tuple(version.number for version in old), (*(version.file for version in old), *probes, *unnamed))


def _split(root: str, found: Sequence[Version], limit: datetime.datetime) -> tuple[list[Version], list[SavedVersion]]:
    """The superseded versions before a time, and the others, read."""
    old: list[Version] = []
    # Oldest first, so that no version is removed before its predecessors.
    while len(found) > 1 and is_old(found[1].file, limit):
        old.append(found[0])
        found = found[1:]
    return old, in_threads(lambda version: read_version(root, version), found, available_cores())


def is_old(file: ListedFile, limit: datetime.datetime) -> bool:
    """Return whether a file was written before a time; False where that is unknown."""
    return file.written is not None and file.written <= limit


def remove_all(found: Removable) -> None:
    """Remove what may be removed, manifests before what they name."""
    for file in found.files:
        if file.uri.endswith(".json"):
            remove(file.uri)
    in_threads(lambda file: remove(file.uri), [file for file in found.files if not file.uri.endswith(".json")], available_cores())
