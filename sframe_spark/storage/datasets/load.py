"""Opening saved datasets, refusing anything incomplete."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

import attrs

from sframe_spark.errors import NotSavedError, StorageError
from sframe_spark.locations import normalised
from sframe_spark.storage.datasets.commit import check_files
from sframe_spark.storage.datasets.integrity import damage_in
from sframe_spark.storage.filesystem.file_kind import kind_of_file
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.listing import sizes_below, some_below, states_below
from sframe_spark.storage.filesystem.local_files import FileState, Seen
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.regular import open_regular
from sframe_spark.storage.filesystem.saved_places import MANIFEST_FILE
from sframe_spark.storage.manifest.length import check_length, read_text
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.manifest_json import is_sealed
from sframe_spark.storage.parquet.footer import footer_of


def load_manifest(directory: str | os.PathLike[str], verify: bool = False, digest: str | None = None) -> Manifest:
    """Return the manifest of a saved dataset whose files are all there and as long as they should be; read no rows unless asked to verify them.

    Parameters
    ----------
    directory
        Its path.
    verify
        Whether to read every file to its end and compare all check sums.
    digest
        SHA-256 of the manifest file that is wanted, in hexadecimal digits; None: any.

    Raises
    ------
    StorageError
        If there is no such directory, nothing complete is saved in it, it is of a newer version, or a file is missing or damaged; also if it
        should be verified and was saved without check sums.
    """
    location = normalised(directory)
    manifest = read_manifest(location, verify, digest)
    if all(entry.tail is not None for entry in manifest.segments):
        check_files(manifest, sizes_below(location))
    else:
        states = states_below(location)
        check_files(manifest, {file: state.size for file, state in states.items()})
        manifest = with_seen(manifest, states)
    for entry in manifest.segments:
        if entry.size is None:
            _check_rows(location, entry)
    if verify and (found := damage_in(manifest)):
        raise found[0]
    return manifest


def read_manifest(location: str, verify: bool = False, digest: str | None = None) -> Manifest:
    """Return what the manifest in a directory says, whether or not the files are there; if it is to verify, it must carry a check sum."""
    text = _manifest_text(location)
    if digest is not None and digest_of(text) != digest:
        raise StorageError(f"{location} holds other rows now")
    manifest = Manifest.from_json(text, location)
    if verify and not is_sealed(text):
        raise StorageError(f"{location} cannot be verified: it was saved without check sums, by an older version; load the frame and save it again")
    return manifest


def digest_of(text: str) -> str:
    """SHA-256 of the text of a manifest, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_rows(manifest: Manifest) -> str | None:
    """SHA-256 of the manifest file in the directory of a dataset, in hexadecimal digits; None where the file is not one of the same rows."""
    try:
        text = _manifest_text(manifest.directory)
        saved = Manifest.from_json(text, manifest.directory)
    except StorageError:
        return None
    same = (saved.types, saved.segments, saved.has_key) == (manifest.types, manifest.segments, manifest.has_key)
    return digest_of(text) if same and is_sealed(text) else None


def with_saved_checksums(manifest: Manifest) -> Manifest:
    """Return a manifest that a plan's text gave, with the check sums of parts of files, which no text holds, of what is saved in its directory."""
    try:
        saved = read_manifest(manifest.directory)
    except StorageError:
        # Files of others have no manifest: their footers are checked as such.
        return manifest
    if saved.types != manifest.types or saved.column_names_in_files != manifest.column_names_in_files:
        return manifest
    known = {entry: entry for entry in saved.segments}
    pairs = [(entry, known.get(entry, entry)) for entry in manifest.segments]
    seen = (attrs.evolve(entry, tail=found.tail, pages=found.pages, whole=found.whole) for entry, found in pairs)
    return attrs.evolve(manifest, segments=tuple(seen))


def with_seen(manifest: Manifest, states: Mapping[str, FileState]) -> Manifest:
    """Return a manifest that says how its files are now, of those that have no check sums: of frames of version 1, and of others."""
    if all(entry.tail is not None for entry in manifest.segments):
        return manifest
    segments = [entry if entry.tail is not None else attrs.evolve(entry, seen=Seen(states[entry.file])) for entry in manifest.segments]
    return manifest.with_segments(tuple(segments))


def _manifest_text(location: str) -> str:
    with telling("open", location):
        if os.path.isfile(location):
            found = kind_of_file(location)
            raise NotSavedError(f"{location} is a file{'' if found is None else f', {found.name}: {found.advice}'}; a saved frame is a directory")
        if os.path.islink(location) and not os.path.exists(location):
            raise StorageError(f"{location} is a link to {os.readlink(location)}, where nothing is; check the path")
        if os.path.exists(location) and not os.path.isdir(location):
            raise StorageError(f"{location} is no directory; a saved frame is a directory")
        content = _read_whole(join(location, MANIFEST_FILE))
    if content is None:
        raise StorageError(_reason_for_no_manifest(location))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise StorageError(f"the manifest of {location} is damaged: {error}; save the frame again") from error


def _read_whole(file: str) -> bytes | None:
    """Return the content of a regular file, not of what a link points to; None when there is none."""
    try:
        descriptor, status = open_regular(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(descriptor, "rb") as stream:
        check_length(file, status.st_size)
        return read_text(file, stream, status.st_size)


def _reason_for_no_manifest(location: str) -> str:
    if not os.path.lexists(location):
        return f"there is no directory {location}; check the path"
    seen = some_below(location)
    if any(os.path.lexists(join(directory, MANIFEST_FILE)) for directory in seen):
        return f"{location} holds saved frames, but is none itself: give the path of one of them"
    files = [name for names in seen.values() for name in names]
    if any(file.startswith("segment-") for file in files):
        return f"{location} holds segments but no {MANIFEST_FILE}: saving did not come to its end; save the frame again"
    if any(file.endswith(".parquet") for file in files):
        return f"{location} holds Parquet files but no {MANIFEST_FILE}: it is not a saved frame; read it with SFrame.read_parquet()"
    return f"{location} is not a saved frame: it has no {MANIFEST_FILE}"


def _check_rows(location: str, entry: SegmentEntry) -> None:
    """Nothing said how long the file should be, so its footer must tell."""
    file = join(location, entry.file)
    if (rows := footer_of(file).rows) != entry.rows:
        raise StorageError(f"{file} has {rows} rows, its manifest says {entry.rows}; restore it from a copy")
