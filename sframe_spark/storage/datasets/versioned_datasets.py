"""Versions of a frame saved elsewhere: numbered manifests, of which each is put where none was, so that of two savers one is told.

``<root>/_manifests/00000001.json`` names files ``data/<uuid>/segment-....parquet``, relative to the root. None of these is ever changed.
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
# What a manifest says, beside what every one does, of when it was saved.
SAVED = "saved"
MAX_VERSIONS = 10**18 - 1
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


def manifest_text(manifest: Manifest, saved: datetime.datetime, sidecar: dict[str, Any] | None = None) -> bytes:
    """Return the text of a version's manifest, and of the file of its segments that it names, if there is one."""
    return manifest.to_json({SAVED: saved.isoformat(timespec="milliseconds")}, sidecar).encode()


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
    requested = [item for item in found if version is None or item.number == version]
    if not requested:
        raise StorageError(f"{root} has no version {version!r:.40}: it has {_numbers(found)}")
    return read_version(root, requested[-1]).manifest


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
    requested = {(entry.file, entry.size, entry.rows) for entry in manifest.segments}
    for version in reversed(saved_versions(manifest.directory)):
        saved = read_version(manifest.directory, version).manifest
        known = {(entry.file, entry.size, entry.rows): entry for entry in saved.segments}
        if saved.types == manifest.types and requested <= known.keys() and manifest.has_key:
            segments = [attrs.evolve(known[entry.file, entry.size, entry.rows], columns=()) for entry in manifest.segments]
            return attrs.evolve(manifest, segments=tuple(segments))
    raise StorageError(f"the plan reads files of {manifest.directory} that no version of it names: make the plan again")


# Saving elsewhere: files under a name that nobody else has, then the manifest of the next version, put only where there is none.

PROBE = "probe-"


@attrs.define(eq=False)
class NewVersion:
    """A version of a frame elsewhere that is being made.

    Parameters
    ----------
    root
        The place of the frame.
    number
        The number that it is to have.
    data
        The directory of its files, relative to the root.
    is_tried
        Whether its manifest may have been put, so that its files may be somebody's rows.
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
        """Let a dataset in the directory of this version be the newest one; nothing was seen of it before.

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
            # The answer may have got lost, not the request.
            if not _holds(place, text):
                raise StorageError(f"{error}; nobody knows whether it was saved: load it, or save it again") from None
            return complete
        # A request that was sent once more meets what it has written itself.
        if not put and not _holds(place, text):
            self.is_tried = False
            raise ConcurrentSaveError(
                f"somebody else saved {self.root} meanwhile, as version {self.number}: nothing of theirs was changed; look at it, or save again"
            )
        return complete

    def _upload_sidecar(self, made: Manifest) -> dict[str, Any] | None:
        """Upload the segments of a manifest where they are many, among the files of this version, and return what it is to say of them."""
        if not needs_sidecar(made):
            return None
        with delivering(self.directory) as delivery:
            said = write_sidecar(made, delivery.directory, durable=False)
            assert said is not None
            upload(join(delivery.directory, said["file"]), join(self.directory, said["file"]))
        return {**said, "file": f"{self.data}/{said['file']}"}

    def _require_whole(self, made: Manifest) -> None:
        """Make sure that files are there as long as they should be: one that was cut is copied as it is, and may be removed by a vacuum meanwhile."""
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
    """A new version of a frame elsewhere: of a block that fails nothing is left, and what was saved before stays as it was.

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
    """Which file system it is that keeps savers apart, in which process; the root is where it is tried."""

    root: str = attrs.field(eq=False)
    bucket: str
    options: str = attrs.field(repr=False)
    process: int


@functools.lru_cache(maxsize=64)
def _proved(proof: _Proof) -> None:
    """Make sure that a file system refuses to create a file that is there; a refusal is remembered for no later save."""
    place = join(proof.root, MANIFESTS, f"{PROBE}{uuid.uuid4().hex}")
    if not creates_exclusively(proof.root) or not create(place, b"1"):
        raise _unfit(proof.root)
    try:
        if create(place, b"2") or read_range(place, 0, 2) != b"1":
            raise _unfit(proof.root)
    finally:
        # Where nothing may be removed it stays, and nobody takes it for a version.
        with contextlib.suppress(StorageError):
            remove(place)


def _unfit(root: str) -> StorageError:
    return StorageError(
        f"cannot save to {root}: its file system creates files that are there already, so that one of two savers would lose its rows without a word: "
        "save to another one, or to a local or mounted directory"
    )


# Removing old versions of a frame saved elsewhere, and what saves that did not come to their end have left.

# Names that only our writers give; whatever else there is below a frame's place is somebody's.
_OUR_FILES = re.compile(r"[0-9a-f]{32}/(?:segment-[0-9]{8,}-[0-9a-f]{32}\.parquet|_segments-[0-9a-f]{32}\.arrow)")


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
    files: tuple[ListedFile, ...]


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
    old, remaining = _split(root, found, limit)
    manifests = [version.manifest for version in remaining]
    named = {join(root, entry.file) for manifest in manifests for entry in manifest.segments}
    named |= {join(root, manifest.stored.file) for manifest in manifests if manifest.stored is not None}
    our_files = [file for file in files if _OUR_FILES.fullmatch(file.uri.removeprefix(join(root, DATA, "")))]
    unnamed = [file for file in our_files if file.uri not in named and is_old(file, limit)]
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


def is_old(file: ListedFile, limit: datetime.datetime) -> bool:
    """Say whether a file was written before some time; of one that does not tell nobody knows."""
    return file.written is not None and file.written <= limit


def remove_all(found: Removable) -> None:
    """Remove what may be removed, manifests before what they name."""
    for file in found.files:
        if file.uri.endswith(".json"):
            remove(file.uri)
    in_threads(lambda file: remove(file.uri), [file for file in found.files if not file.uri.endswith(".json")], available_cores())
