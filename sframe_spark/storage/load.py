"""Opening saved datasets, refusing anything incomplete."""

from __future__ import annotations

from sframe_spark.errors import StorageError
from sframe_spark.storage.footers import footer_of
from sframe_spark.storage.manifest import MANIFEST_FILE, Manifest
from sframe_spark.storage.paths import filesystem_of, join, normalised


def load_manifest(directory: str) -> Manifest:
    """Return the manifest of a saved dataset whose files are all there and as long as they should be.

    Raises
    ------
    StorageError
        If there is no such directory, nothing complete is saved in it, or a file is missing or damaged.
    """
    location = normalised(directory)
    filesystem, path = filesystem_of(location)
    info = filesystem.get_file_info(path)
    if info.type.name == "NotFound":
        raise StorageError(f"there is nothing at {location}")
    manifest_path = join(path, MANIFEST_FILE)
    if not filesystem.get_file_info(manifest_path).is_file:
        raise StorageError(f"{location} holds no saved frame: it has no {MANIFEST_FILE}, so nothing was ever saved there completely")
    with filesystem.open_input_stream(manifest_path) as stream:
        manifest = Manifest.from_json(stream.read().decode("utf-8"), location)
    for entry in manifest.segments:
        footer = footer_of(join(location, entry.file), entry.size)
        if footer.rows != entry.rows:
            raise StorageError(f"{join(location, entry.file)} has {footer.rows} rows, the manifest says {entry.rows}: restore it from a copy")
    return manifest
