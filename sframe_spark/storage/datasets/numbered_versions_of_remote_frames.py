"""Saves and loads frames on remote file systems, as numbered versions, and finds and removes versions and files that are no longer needed.

Each version has a manifest ``<root>/_manifests/00000001.json``, which names files ``data/<directory of the save>/segment-....parquet``, relative to
the root. A manifest is created only if there is none of that number yet, so that one of two concurrent saves fails. Files are never changed.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import itertools
import os
import re
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Self

import attrs

from sframe_spark.errors import ConcurrentSaveError, NotSavedError, StorageError
from sframe_spark.process.control_groups import available_cores
from sframe_spark.process.temporary_file_leases import ProcessMark, is_running, mark_of_this_process
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.datasets.manifest_publication import write_sidecar
from sframe_spark.storage.filesystem.format_recognition import MANIFESTS, VERSION_FILE
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.remote_operations import (
    ListedFile,
    create,
    creates_exclusively,
    identity_of,
    listed,
    read_range,
    remote_entry,
    remove,
    require_bucket,
    upload,
)
from sframe_spark.storage.manifest.manifest import Manifest, SecondOrder, SegmentEntry
from sframe_spark.storage.manifest.manifest_json import check_length, damaged, unsealed
from sframe_spark.storage.manifest.sidecar_file_of_segment_statistics_and_checksums import needs_sidecar
from sframe_spark.storage.segments.writer import delivering

DATA = "data"
# The key in the manifest of a version for the time at which it was saved.
SAVED = "saved"
MAX_VERSIONS = 10**18 - 1
# All manifests end with these bytes. A manifest that does not is still being written, on a file system without atomic writes.
_END = b"}\n"
_TRIES, _SECONDS_BETWEEN = 5, 0.2


@attrs.frozen
class Version:
    """One version of a remote frame, whose manifest was listed but not read.

    Parameters
    ----------
    number
        The version number, counted from 1.
    file
        The manifest file.
    """

    number: int
    file: ListedFile


@attrs.frozen
class SavedVersion:
    """One version of a remote frame, whose manifest was read.

    Parameters
    ----------
    number
        The version number, counted from 1.
    saved
        The time at which the version was saved.
    manifest
        The manifest.
    """

    number: int
    saved: datetime.datetime
    manifest: Manifest


def versions_at(root: str) -> list[Version]:
    """Return the versions of a frame in ascending order; an empty list if nothing is saved at the location."""
    versions = []
    for file in listed(join(root, MANIFESTS)):
        name = VERSION_FILE.fullmatch(file.uri.rpartition("/")[2])
        if name is not None and int(name[1]):
            versions.append(Version(int(name[1]), file))
    return sorted(versions, key=lambda version: version.number)


def saved_versions(root: str) -> list[Version]:
    """Return the versions of a frame in ascending order, at least one.

    Raises
    ------
    NotSavedError
        If nothing is saved at the location.
    """
    versions = versions_at(root)
    if not versions:
        require_bucket(root)
        raise NotSavedError(f"there is no saved frame in {root}: check the name")
    return versions


def manifest_location(root: str, number: int) -> str:
    """Return the location of a version's manifest.

    Examples
    --------
    >>> manifest_location("s3://bucket/frame", 12)
    's3://bucket/frame/_manifests/00000012.json'
    """
    return join(root, MANIFESTS, f"{number:08d}.json")


def read_version(root: str, version: Version) -> SavedVersion:
    """Read the manifest of a version.

    Raises
    ------
    StorageError
        If the manifest is damaged, or is not the manifest of a frame that was saved remotely.
    """
    uri = version.file.uri
    check_length(uri, version.file.size)
    text = _complete(root, version, read_range(uri, 0, version.file.size))
    manifest = Manifest.from_json(text, root)
    saved_text = unsealed(text, root).get(SAVED)
    try:
        saved = datetime.datetime.fromisoformat(str(saved_text))
        if saved.tzinfo is None:
            raise ValueError("no offset")
    except ValueError:
        raise damaged(root, f"version {version.number} was saved at {saved_text!r:.60}, which is not a valid time") from None
    _check(manifest, version.number)
    return SavedVersion(version.number, saved, manifest)


def _complete(root: str, version: Version, content: bytes) -> str:
    """Return the text of a version's manifest, given its content as read before; while the end is missing, it is read again, a few times."""
    for attempt in range(_TRIES):
        if content.endswith(_END):
            break
        if attempt:
            time.sleep(_SECONDS_BETWEEN)
        sizes = [file.size for file in listed(join(root, MANIFESTS)) if file.uri == version.file.uri]
        content = read_range(version.file.uri, 0, sizes[0]) if sizes else content
    else:
        before = f", or load version={version.number - 1}" if version.number > 1 else ""
        raise StorageError(
            f"version {version.number} of {root} is incomplete: it was damaged, or its save was interrupted; save the frame again{before}"
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise damaged(root, str(error)) from None


def _check(manifest: Manifest, number: int) -> None:
    """Raise unless all files of a version are in the data directory, and the manifest has their sizes and checksums."""
    if manifest.references is not None or not manifest.has_key or manifest.names is None:
        raise damaged(manifest.directory, f"version {number} is not one that is saved so")
    for entry in manifest.every_segment:
        if not entry.rows or not entry.file.startswith(f"{DATA}/") or None in (entry.size, entry.tail, entry.pages):
            raise damaged(manifest.directory, f"version {number} names {entry.file!r:.200} without all that is to be known of it")


def load_remote(root: str, version: int | None = None) -> Manifest:
    """Return the manifest of a version of a remote frame, of the newest one if ``version`` is None; no data file is read.

    Raises
    ------
    NotSavedError
        If nothing is saved at the location.
    StorageError
        If the frame does not have the version, or its manifest is damaged.
    """
    versions = saved_versions(root)
    requested = [item for item in versions if version is None or item.number == version]
    if not requested:
        first, last = versions[0].number, versions[-1].number
        gaps = ", with gaps" if last - first >= len(versions) else ""
        existing = f"version {first} alone" if first == last else f"versions {first} to {last}{gaps}"
        raise StorageError(f"{root} has no version {version!r:.40}: it has {existing}")
    return read_version(root, requested[-1]).manifest


def with_version_checksums(manifest: Manifest) -> Manifest:
    """Return a manifest of a deserialised plan, which has no checksums, with the checksums of the newest version that has all its files.

    Raises
    ------
    StorageError
        If no version has all its files.
    """
    requested = {(entry.file, entry.size, entry.rows) for entry in manifest.segments}
    for version in reversed(saved_versions(manifest.directory)):
        saved = read_version(manifest.directory, version).manifest
        known = {(entry.file, entry.size, entry.rows): entry for entry in saved.segments}
        if saved.types == manifest.types and requested <= known.keys() and manifest.has_key:
            segments = [attrs.evolve(known[entry.file, entry.size, entry.rows], columns=()) for entry in manifest.segments]
            return attrs.evolve(manifest, segments=tuple(segments))
    raise StorageError(f"the plan reads files of {manifest.directory} that belong to no version of it: make the plan again")


# Saving: data files are written to a new directory with a unique name; then the manifest of the next version is created, if there is none yet.

PROBE = "probe-"


@attrs.define(eq=False)
class NewVersion:
    """A version of a remote frame that is being saved.

    Parameters
    ----------
    root
        The location of the frame.
    number
        The version number.
    data
        The directory of the version's files, relative to the root.
    is_tried
        Whether the manifest may have been written, so that the files of the version must not be removed.
    """

    root: str
    number: int
    data: str
    is_tried: bool = False

    @property
    def directory(self) -> str:
        """The location of the directory to which the files of the version are written."""
        return join(self.root, self.data)

    def commit(self, written: Manifest, names: Sequence[str], kind: str) -> Manifest:
        """Create the manifest of this version, which makes it the newest one, and return it. Files of failed attempts are then removed.

        Raises
        ------
        ConcurrentSaveError
            If another save has created this version meanwhile.
        StorageError
            If a file of the version is missing or has another size, or the manifest cannot be written.
        """
        complete = Manifest(written.types, self._within_root(written), self.root, names=tuple(names), kind=kind, order=written.order)
        seconds = (SecondOrder.of(second.column, complete, self._within_root(second.rows)) for second in written.second_orders)
        complete = complete.with_second_orders(tuple(seconds))
        unnamed = self._unnamed_files(complete)
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        text = complete.to_json({SAVED: now}, self._upload_sidecar(complete)).encode()
        uri = manifest_location(self.root, self.number)
        self.is_tried = True
        try:
            is_created = create(uri, text)
        except StorageError as error:
            # The manifest may have been written although there was no response.
            if not _holds(uri, text):
                raise StorageError(f"{error}; it is unknown whether it was saved: load it, or save it again") from None
            is_created = True
        # If a request is retried, the manifest that exists already may be the one that the first try has written.
        if not is_created and not _holds(uri, text):
            self.is_tried = False
            raise ConcurrentSaveError(
                f"another program saved {self.root} in the meantime, as version {self.number}, which was not changed; check it, or save again"
            )
        # The version is saved; a vacuum removes what cannot be removed now.
        with contextlib.suppress(StorageError):
            in_threads(remove, unnamed, available_cores())
        return complete

    def _within_root(self, manifest: Manifest) -> tuple[SegmentEntry, ...]:
        """Return the non-empty entries of files of the version, with their paths relative to the root."""
        return tuple(attrs.evolve(entry, file=f"{self.data}/{entry.file}") for entry in manifest.segments if entry.rows)

    def _upload_sidecar(self, manifest: Manifest) -> dict[str, Any] | None:
        """Upload the sidecar file of a manifest with many segments, and return the reference to it; None if no sidecar is needed."""
        if not needs_sidecar(manifest):
            return None
        with delivering(self.directory) as delivery:
            reference = write_sidecar(manifest, delivery.directory, durable=False)
            assert reference is not None
            upload(join(delivery.directory, reference["file"]), join(self.directory, reference["file"]))
        return {**reference, "file": f"{self.data}/{reference['file']}"}

    def _unnamed_files(self, manifest: Manifest) -> list[str]:
        """Return the URIs of the version's files that its manifest does not name: of attempts of tasks that failed, or were too late.

        Raises
        ------
        StorageError
            If a file of the manifest is missing or has another size: a copy may have been cut short, or a vacuum may have removed it.
        """
        sizes = {file.uri: file.size for file in listed(self.directory)}
        for entry in manifest.every_segment:
            size = sizes.get(join(self.root, entry.file))
            if size != entry.size:
                has = "is gone" if size is None else f"has {size} bytes, not {entry.size}"
                why = "it is a copy of one that was truncated or replaced" if size is not None else "it was removed"
                raise StorageError(
                    f"cannot save to {self.root}: {entry.file}, which was written for it, {has}: {why}; load the rows again, or save again"
                )
        return list(sizes.keys() - {join(self.root, entry.file) for entry in manifest.every_segment})


def _holds(uri: str, text: bytes) -> bool:
    """Return whether a file has exactly a given content; False if it cannot be read."""
    with contextlib.suppress(StorageError):
        return read_range(uri, 0, len(text) + 1) == text
    return False


@contextlib.contextmanager
def saving_version(root: str) -> Iterator[NewVersion]:
    """Yield a new version of a remote frame, which the ``with`` block writes and commits.

    If the block raises, the files of the version are removed, unless its manifest may have been written. Earlier versions are not changed.

    Raises
    ------
    StorageError
        If the file system cannot be written, or overwrites existing files when they are created, so that concurrent saves would not be noticed.
    """
    before = versions_at(root)
    _proved(_Proof(root, "/".join(root.split("/")[:3]), identity_of(root), os.getpid()))
    number = (before[-1].number if before else 0) + 1
    if number > MAX_VERSIONS:
        raise StorageError(f"{root} has a version {number - 1}, which is the last possible number: save to another place")
    _remove_unfinished_once(_Place(root, before, identity_of(root), os.getpid()))
    new = NewVersion(root, number, f"{DATA}/{SaveDirectory.new(number)}")
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
    """The key under which the result of :func:`_proved` is cached: the file system with its options, and the process.

    The root, which is not a part of the key, is the location at which the test file is created.
    """

    root: str = attrs.field(eq=False)
    bucket: str
    options: str = attrs.field(repr=False)
    process: int


@functools.lru_cache(maxsize=64)
def _proved(proof: _Proof) -> None:
    """Raise if a file system creates a file that exists already; the test is made once for each key, and again after a failure."""
    uri = join(proof.root, MANIFESTS, f"{PROBE}{uuid.uuid4().hex}")
    if not creates_exclusively(proof.root) or not create(uri, b"1"):
        raise _unfit(proof.root)
    try:
        if create(uri, b"2") or read_range(uri, 0, 2) != b"1":
            raise _unfit(proof.root)
    finally:
        # Without permission to delete files the test file stays; its name is not that of a version.
        with contextlib.suppress(StorageError):
            remove(uri)


def _unfit(root: str) -> StorageError:
    return StorageError(
        f"cannot save to {root}: its file system creates files that are there already, so that one of two savers would lose its rows without a word: "
        "save to another one, or to a local or mounted directory"
    )


# Unfinished saves. The name of a directory tells which process saves which version, so that what a killed process has left is known without a note.

# A request of a process that has ended may still arrive, and create the manifest of its version.
SECONDS_OF_REQUEST = 60


@attrs.frozen
class SaveDirectory:
    """The directory of the files of one save, by its name.

    Parameters
    ----------
    token
        32 digits that no other save has.
    number
        The number of the version.
    process
        The process that saves it.
    """

    token: str
    number: int
    process: ProcessMark

    def __str__(self) -> str:
        return f"{self.token}-{self.number}-{self.process}"

    @classmethod
    def new(cls, number: int) -> Self:
        """Return a new directory of this process."""
        return cls(uuid.uuid4().hex, number, mark_of_this_process())

    @classmethod
    def named(cls, name: str) -> Self | None:
        """Return the directory with a name; None for other names, and those of before names told the process.

        Examples
        --------
        >>> str(SaveDirectory.named("0" * 32 + "-7-abcdefgh-17-1f").process), SaveDirectory.named("0" * 32)
        ('abcdefgh-17-1f', None)
        """
        match = _DIRECTORY.fullmatch(name)
        process = None if match is None or match[2] is None else ProcessMark.of_text(match[3])
        return None if match is None or process is None else cls(match[1], int(match[2]), process)

    @property
    def is_of_ended_process(self) -> bool:
        """Whether the process has ended; False if that cannot be found out on this machine."""
        return is_running(self.process) is False


_DIRECTORY = re.compile(r"([0-9a-f]{32})(?:-([1-9][0-9]{0,17})-([a-z0-9-]+))?")


def unfinished_saves(root: str, versions: Sequence[Version]) -> list[str]:
    """Return the locations of directories of saves whose processes have ended on this machine, and which are not in a version.

    A version is read only if two directories were to be its. A directory that alone has the number of a version may be the one of that version.
    """
    found = [directory for name in remote_entry(join(root, DATA)).names if (directory := SaveDirectory.named(name)) is not None]
    by_number, savers = {version.number: version for version in versions}, Counter(directory.number for directory in found)
    result = []
    for directory in found:
        version = by_number.get(directory.number)
        if not directory.is_of_ended_process or (version is not None and savers[directory.number] == 1):
            continue
        inside = f"{DATA}/{directory}/"
        if version is None or not any(entry.file.startswith(inside) for entry in read_version(root, version).manifest.segments):
            result.append(join(root, DATA, str(directory)))
    return result


def remove_unfinished_saves(root: str, versions: Sequence[Version]) -> None:
    """Remove the files of :func:`unfinished_saves`, but for those that were written a moment ago; a vacuum removes what cannot be removed now."""
    limit = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=SECONDS_OF_REQUEST)
    with contextlib.suppress(StorageError):
        for directory in unfinished_saves(root, versions):
            files = [file for file in listed(directory) if _is_of_save(root, file)]
            if all(is_old(file, limit) for file in files):
                in_threads(remove, [file.uri for file in files], available_cores())


@attrs.frozen
class _Place:
    """The key under which a call of :func:`remove_unfinished_saves` is remembered: a frame, the options of its file system, and the process."""

    root: str
    versions: Sequence[Version] = attrs.field(eq=False)
    options: str = attrs.field(repr=False)
    process: int


@functools.lru_cache(maxsize=1024)
def _remove_unfinished_once(place: _Place) -> None:
    """Remove what killed saves have left of a frame, before this process saves it for the first time: it is a request for each frame."""
    remove_unfinished_saves(place.root, place.versions)


# Vacuum: removing old versions and the files of interrupted saves.

# Names of files that are created by saves. Files with other names are not removed.
_OUR_FILES = re.compile(r"segment-[0-9]{8,}-[0-9a-f]{32}\.parquet|_segments-[0-9a-f]{32}\.arrow")


def _is_of_save(root: str, file: ListedFile) -> bool:
    """Return whether a save has created a file, by its name."""
    directory, _, name = file.uri.removeprefix(join(root, DATA, "")).partition("/")
    return _DIRECTORY.fullmatch(directory) is not None and _OUR_FILES.fullmatch(name) is not None


def _is_of_ended_process(root: str, file: ListedFile) -> bool:
    """Return whether the process that has saved a file has ended on this machine."""
    directory = SaveDirectory.named(file.uri.removeprefix(join(root, DATA, "")).partition("/")[0])
    return directory is not None and directory.is_of_ended_process


@attrs.frozen
class Removable:
    """The versions and files of a frame that may be removed.

    Parameters
    ----------
    versions
        The numbers of the versions.
    files
        The files: manifests first, since a version must not be opened after its data files were removed.
    """

    versions: tuple[int, ...]
    files: tuple[ListedFile, ...]


def removable(root: str, older_than: datetime.timedelta) -> Removable:
    """Return the versions whose next version is older than a limit, and the files older than the limit that no remaining version uses.

    Files that no version uses need not be so old if the process that saved them has ended on this machine.

    Parameters
    ----------
    root
        The location of the frame.
    older_than
        The limit: how long a version may still be in use after the next one was saved, and how long a save may take.

    Raises
    ------
    StorageError
        If the manifest of a remaining version cannot be read, so that its files are not known.
    """
    # Files are listed before the manifests are read, so that files of a save that ends meanwhile are not listed.
    files = listed(join(root, DATA), below=True)
    versions = saved_versions(root)
    now = datetime.datetime.now(datetime.UTC)
    limit, limit_of_ended = now - older_than, now - min(older_than, datetime.timedelta(seconds=SECONDS_OF_REQUEST))
    # Versions are checked from the oldest on, so that no version is removed before older ones.
    old = [version for version, _ in itertools.takewhile(lambda pair: is_old(pair[1].file, limit), itertools.pairwise(versions))]
    manifests = [saved.manifest for saved in in_threads(lambda version: read_version(root, version), versions[len(old) :], available_cores())]
    named = {join(root, entry.file) for manifest in manifests for entry in manifest.every_segment}
    named |= {join(root, manifest.stored.file) for manifest in manifests if manifest.stored is not None}
    unused = [file for file in files if file.uri not in named and _is_of_save(root, file)]
    unnamed = [file for file in unused if is_old(file, limit) or (is_old(file, limit_of_ended) and _is_of_ended_process(root, file))]
    probes = [file for file in listed(join(root, MANIFESTS)) if file.uri.rpartition("/")[2].startswith(PROBE) and is_old(file, limit)]
    return Removable(tuple(version.number for version in old), (*(version.file for version in old), *probes, *unnamed))


def is_old(file: ListedFile, limit: datetime.datetime) -> bool:
    """Return whether a file was written at or before a time; False if the time at which it was written is unknown."""
    return file.written is not None and file.written <= limit


def remove_all(removable: Removable) -> None:
    """Remove files that may be removed, manifests first."""
    uris = [file.uri for file in removable.files]
    for uri in uris:
        if uri.endswith(".json"):
            remove(uri)
    in_threads(remove, [uri for uri in uris if not uri.endswith(".json")], available_cores())
