"""Opening saved datasets, refusing anything incomplete."""

from __future__ import annotations

import os
import posixpath

import pyarrow.fs as pafs

from sframe_spark.errors import StorageError
from sframe_spark.storage.checksums import checksum_of
from sframe_spark.storage.commit import files_below
from sframe_spark.storage.failures import telling
from sframe_spark.storage.footers import footer_of
from sframe_spark.storage.manifest import MANIFEST_FILE, Manifest, SegmentEntry
from sframe_spark.storage.paths import filesystem_of, join, normalised


def load_manifest(directory: str | os.PathLike[str], verify_checksums: bool = False) -> Manifest:
    """Return the manifest of a saved dataset whose files are all there and as long as they should be; read no rows.

    Parameters
    ----------
    directory
        Local path or URI.
    verify_checksums
        Whether to read every file to its end and compare check sums, which finds single damaged bytes.

    Raises
    ------
    StorageError
        If there is no such directory, nothing complete is saved in it, it is of a newer version, or a file is missing
        or damaged.
    """
    location = normalised(directory)
    manifest = Manifest.from_json(_manifest_text(location), location)
    sizes = _file_sizes(location)
    for entry in manifest.segments:
        _check_file(location, entry, sizes)
        if verify_checksums:
            _check_content(location, entry)
    return manifest


def _manifest_text(location: str) -> str:
    filesystem, path = filesystem_of(location)
    with telling("open", location):
        info = filesystem.get_file_info(path)
        if info.type == pafs.FileType.File:
            raise StorageError(f"{location} is a file; a saved frame is a directory")
        manifest_path = posixpath.join(path, MANIFEST_FILE)
        if not filesystem.get_file_info(manifest_path).is_file:
            raise StorageError(_reason_for_no_manifest(location, info.type))
        with filesystem.open_input_stream(manifest_path) as stream:
            content: bytes = stream.read()
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise StorageError(f"the manifest of {location} is damaged: {error}; save the frame again") from error


def _reason_for_no_manifest(location: str, kind: pafs.FileType) -> str:
    if kind == pafs.FileType.NotFound:
        return f"there is no directory {location}; check the path"
    files = files_below(location)
    if any(posixpath.basename(file).startswith("segment-") for file in files):
        return f"{location} holds segments but no {MANIFEST_FILE}: saving did not come to its end; save the frame again"
    if any(file.endswith(".parquet") for file in files):
        return f"{location} holds Parquet files but no {MANIFEST_FILE}: it is not a saved frame; read it as Parquet"
    return f"{location} is not a saved frame: it has no {MANIFEST_FILE}"


def _file_sizes(location: str) -> dict[str, int]:
    """Return the length of every file below a directory, by a single listing."""
    filesystem, root = filesystem_of(location)
    with telling("list", location):
        found = filesystem.get_file_info(pafs.FileSelector(root, recursive=True))
    start = len(root.rstrip("/")) + 1
    return {info.path[start:]: info.size for info in found if info.is_file}


def _check_file(location: str, entry: SegmentEntry, sizes: dict[str, int]) -> None:
    file = join(location, entry.file)
    size = sizes.get(entry.file)
    if size is None:
        raise StorageError(f"{file} is missing from the saved frame; restore it from a copy")
    if entry.size is None:
        # Nothing said how long the file should be, so its footer must tell.
        if (rows := footer_of(file).rows) != entry.rows:
            raise StorageError(f"{file} has {rows} rows, its manifest says {entry.rows}; restore it from a copy")
    elif size != entry.size:
        raise StorageError(f"{file} is damaged: it has {size} of {entry.size} bytes; restore it from a copy")


def _check_content(location: str, entry: SegmentEntry) -> None:
    file = join(location, entry.file)
    if entry.checksum is None:
        raise StorageError(f"{file} was saved without a check sum, so its content cannot be verified; save it again")
    found = checksum_of(file)
    if found != entry.checksum:
        raise StorageError(f"{file} is damaged: check sum {found}, not {entry.checksum}; restore it from a copy")
