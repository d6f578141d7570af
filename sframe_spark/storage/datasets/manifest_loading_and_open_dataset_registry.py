"""Reads the manifests of saved datasets, and keeps track of the datasets in use, so that their files are not deleted meanwhile.

The last part is about saved frames that refer to columns of other saved frames.
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from collections.abc import Callable, Hashable, Mapping
from functools import partial

import attrs

from sframe_spark.errors import MissingPathError, NotSavedError, StorageError
from sframe_spark.message_text import is_unicode
from sframe_spark.paths_and_uris import normalised
from sframe_spark.process.fork_safety import keep_whole_at_fork
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.process.temporary_file_leases import owner_in, remove_own
from sframe_spark.storage.datasets.dataset_verification import damage_in
from sframe_spark.storage.datasets.manifest_publication import check_files
from sframe_spark.storage.filesystem.format_recognition import MANIFEST_FILE, format_of_file
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState, Seen, open_regular, sizes_below, some_below, states_below
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.temporary_datasets import DatasetHandle
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.manifest_json import check_length, is_sealed, read_text
from sframe_spark.storage.parquet.footer import footer_of


def load_manifest(directory: str | os.PathLike[str], verify: bool = False, digest: str | None = None) -> Manifest:
    """Return the manifest of a saved dataset, after checking that its files exist with the recorded sizes.

    Parameters
    ----------
    directory
        The path of the dataset.
    verify
        Whether to read all files completely, compare all checksums, and compare the rows with the manifest.
    digest
        The SHA-256 that the manifest file must have, in hexadecimal digits; None if it may have any.

    Raises
    ------
    StorageError
        If there is no such directory, or no complete dataset in it; if it was saved in a newer format version, or has another digest; if a file is
        missing or damaged; or, with ``verify``, if it was saved without checksums.
    """
    location = normalised(directory)
    manifest = read_manifest(location, verify, digest)
    if all(entry.tail is not None for entry in manifest.segments):
        check_files(manifest, sizes_below(location))
    else:
        states = states_below(location)
        check_files(manifest, {file: state.size for file, state in states.items()})
        manifest = with_current_states(manifest, states)
    for entry in manifest.segments:
        if entry.size is None:
            _check_rows(location, entry)
    if verify and (errors := damage_in(manifest)):
        raise errors[0]
    return manifest


def read_manifest(location: str, verify: bool = False, digest: str | None = None) -> Manifest:
    """Read the manifest of a dataset without checking its files.

    Raises
    ------
    StorageError
        If the manifest is missing or damaged, has another digest than the given one, or, with ``verify``, has no checksum.
    """
    text = _manifest_text(location)
    if digest is not None and digest_of(text) != digest:
        raise StorageError(f"{location} has different rows now")
    manifest = Manifest.from_json(text, location)
    if verify and not is_sealed(text):
        raise StorageError(f"{location} cannot be verified: it was saved without check sums, by an older version; load the frame and save it again")
    return manifest


def digest_of(text: str) -> str:
    """Return the SHA-256 of the content of a manifest file, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def with_saved_checksums(manifest: Manifest) -> Manifest:
    """Return the manifest of a deserialised plan, which lacks checksums, completed with the checksums in the manifest file of its directory.

    The manifest is returned unchanged if there is no manifest file, or it has other types or column names.
    """
    try:
        saved = read_manifest(manifest.directory)
    except StorageError:
        # External files have no manifest file.
        return manifest
    if saved.types != manifest.types or saved.column_names_in_files != manifest.column_names_in_files:
        return manifest
    # Entries are equal if they are about the same file, with checksums or without.
    with_checksums = {entry: entry for entry in saved.segments}
    pairs = [(entry, with_checksums.get(entry, entry)) for entry in manifest.segments]
    entries = (attrs.evolve(entry, tail=known.tail, pages=known.pages, whole=known.whole) for entry, known in pairs)
    return attrs.evolve(manifest, segments=tuple(entries))


def with_current_states(manifest: Manifest, states: Mapping[str, FileState]) -> Manifest:
    """Return a manifest with the current states of those files that have no checksums: files of format version 1, and external files."""
    if all(entry.tail is not None for entry in manifest.segments):
        return manifest
    segments = [entry if entry.tail is not None else attrs.evolve(entry, seen=Seen(states[entry.file])) for entry in manifest.segments]
    return manifest.with_segments(tuple(segments))


def _manifest_text(location: str) -> str:
    with translate_os_errors("open", location):
        if os.path.isfile(location):
            kind = format_of_file(location)
            raise NotSavedError(f"{location} is a file{'' if kind is None else f', {kind.name}: {kind.advice}'}; a saved frame is a directory")
        if os.path.islink(location) and not os.path.exists(location):
            raise MissingPathError(f"{location} is a link to {os.readlink(location)}, which does not exist; check the path")
        if os.path.exists(location) and not os.path.isdir(location):
            raise StorageError(f"{location} is not a directory; a saved frame is a directory")
        file = join(location, MANIFEST_FILE)
        try:
            descriptor, status = open_regular(file)
        except (FileNotFoundError, NotADirectoryError):
            raise (StorageError if os.path.lexists(location) else MissingPathError)(_reason_for_no_manifest(location)) from None
        with os.fdopen(descriptor, "rb") as stream:
            check_length(file, status.st_size)
            content = read_text(file, stream, status.st_size)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise StorageError(f"the manifest of {location} is damaged: {error}; save the frame again") from error


def _reason_for_no_manifest(location: str) -> str:
    if not os.path.lexists(location):
        return f"there is no directory {location}; check the path"
    seen = some_below(location)
    if any(os.path.lexists(join(directory, MANIFEST_FILE)) for directory in seen):
        return f"{location} contains saved frames, but is not one itself: give the path of one of them"
    files = [name for names in seen.values() for name in names]
    if any(file.startswith("segment-") for file in files):
        return f"{location} contains segments but no {MANIFEST_FILE}: saving was interrupted; save the frame again"
    if any(file.endswith(".parquet") for file in files):
        return f"{location} contains Parquet files but no {MANIFEST_FILE}: it is not a saved frame; read it with SFrame.read_parquet()"
    return f"{location} is not a saved frame: it has no {MANIFEST_FILE}"


def _check_rows(location: str, entry: SegmentEntry) -> None:
    """Raise if the footer of a segment file has another number of rows than its entry; for entries without a recorded size."""
    file = join(location, entry.file)
    if (rows := footer_of(file).rows) != entry.rows:
        raise StorageError(f"{file} has {rows} rows, its manifest says {entry.rows}; restore it from a copy")


# Open datasets: when a save replaces a dataset, its old files stay until no manifest object refers to them.

# Datasets that are no longer in use are removed from the registry when it has more entries than this.
FEW_DATASETS = 64


class OpenDatasets:
    """A registry of the manifests in use, by the device and inode of the dataset's directory, as a directory may be renamed or have several paths.

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
        self._limit = FEW_DATASETS

    def open(self, location: str, load: Callable[[], Manifest]) -> Manifest:
        """Return the manifest of a dataset, loaded with ``load``, and register it for as long as it is referenced.

        If another thread or process replaces the dataset meanwhile, it is loaded again.
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
                    # Sources of a second order refer to its manifest alone.
                    seconds = [second.rows for second in manifest.second_orders]
                    self._remember(identity_of(location), [*self.manifests(location), manifest, *seconds])
                    return manifest

    def manifests(self, directory: str) -> list[Manifest]:
        """Return the manifests in use of the dataset in a directory."""
        with self._lock:
            manifests = [reference() for reference in self._references.get(identity_of(directory), ())]
        return [manifest for manifest in manifests if manifest is not None]

    def _remember(self, identity: Hashable, manifests: list[Manifest]) -> None:
        self._references[identity] = [weakref.ref(manifest) for manifest in manifests]
        if len(self._references) > self._limit:
            # The limit is twice the number of entries in use, so that the cost per opened dataset is constant on average.
            references = list(self._references.items())
            self._references = {key: found for key, found in references if any(reference() is not None for reference in found)}
            self._limit = max(FEW_DATASETS, 2 * len(self._references))

    def replace(self, target: str, staging: str, swap: Callable[[str, str], None]) -> None:
        """Exchange two directories with ``swap``, and change the manifests in use of the replaced dataset to its new directory.

        The new directory of the replaced dataset is deleted when none of these manifests is referenced any more.
        """
        with self._lock, interrupts_deferred():
            before, users = identity_of(target), self.manifests(target)
            swap(staging, target)
            self._references.pop(before, None)
            if users:
                self._remember(identity_of(staging), users)
                handle = DatasetHandle(staging)
            for manifest in users:
                manifest.follow_to(staging)
                # The finalizer refers to the handle, which keeps the directory, until the manifest is garbage-collected.
                weakref.finalize(manifest, _let_go, handle).atexit = False

    def remove_unused(self, directory: str) -> None:
        """Delete a hidden directory that this process created, unless a manifest of its dataset is in use."""
        with self._lock:
            if not self.manifests(directory):
                remove_own(directory)


def identity_of(directory: str) -> Hashable:
    """Return the device and inode of a directory; its path if it does not exist."""
    try:
        status = os.stat(directory)
    except OSError:
        return directory
    return status.st_dev, status.st_ino


def version_of(directory: str) -> Hashable:
    """Return a value that changes when the dataset in a directory is replaced."""
    try:
        status = os.stat(join(directory, MANIFEST_FILE))
    except OSError:
        return identity_of(directory)
    return identity_of(directory), status.st_ino, status.st_mtime_ns


def _let_go(handle: DatasetHandle) -> None:
    """Do nothing: as the callback of a finalizer, it holds a reference to the handle until it is called."""


OPEN_DATASETS = OpenDatasets()
keep_whole_at_fork(OPEN_DATASETS._lock, "open datasets")


# References: a saved frame may refer to columns of other saved frames, which are identified by the digest of their manifest files.


def digest_for_reference(manifest: Manifest, target: str) -> str | None:
    """Return the digest with which a frame that is saved at ``target`` may refer to a dataset; None if the rows must be copied.

    Rows are copied from external files, which have no digest; from temporary datasets, which are deleted with their process; and from a
    dataset in the target itself, which is about to be replaced.
    """
    directory = manifest.directory
    if not manifest.has_key or manifest.names is None or not is_unicode(directory):
        return None
    if any(owner_in(part) is not None for part in directory.split(os.sep)) or is_within(directory, target):
        return None
    try:
        text = _manifest_text(directory)
        saved = Manifest.from_json(text, directory)
    except StorageError:
        return None
    # The file must describe the same rows as the manifest.
    is_same = (saved.types, saved.segments, saved.has_key) == (manifest.types, manifest.segments, manifest.has_key)
    return digest_of(text) if is_same and is_sealed(text) else None


def is_within(directory: str, parent: str) -> bool:
    """Return whether a directory is another one, or is inside it, with symbolic links resolved.

    Examples
    --------
    >>> is_within("/data/frame", "/data/frame"), is_within("/data/frames", "/data/frame")
    (True, False)
    """
    directory, parent = os.path.realpath(directory), os.path.realpath(parent)
    return directory == parent or directory.startswith(os.path.join(parent, ""))


def load_referred(manifest: Manifest, verify: bool = False) -> list[Manifest]:
    """Return the manifests of the datasets that a saved frame refers to.

    Raises
    ------
    StorageError
        If a dataset is missing, is damaged, or was changed since the frame was saved.
    """
    assert manifest.references is not None
    frame, referred = manifest.directory, []
    advice = "restore them, or compute them again and save the frame with save(), which copies all rows"
    for item in manifest.references.datasets:
        try:
            dataset = OPEN_DATASETS.open(item.directory, partial(load_manifest, item.directory, verify, item.digest))
        except StorageError as error:
            raise StorageError(f"{frame} refers to rows in {item.directory}, which cannot be read: {error}; {advice}") from error
        if dataset.rows < item.stop:
            raise StorageError(f"the manifest of {frame} is damaged: {item.directory} has {dataset.rows} rows, not {item.stop}; save the frame again")
        referred.append(dataset)
    return referred
