"""``python -m sframe_spark verify``: reads every byte of saved frames, local or remote, and reports damaged files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sframe_spark.errors import SFrameError
from sframe_spark.paths_and_uris import is_remote_location, location_of
from sframe_spark.storage.datasets.dataset_verification import damage_in
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_referred, read_manifest
from sframe_spark.storage.datasets.numbered_versions_of_remote_frames import load_remote
from sframe_spark.storage.filesystem.local_files import sizes_below
from sframe_spark.storage.manifest.manifest import Manifest

WHOLE, DAMAGED = 0, 1


def run_verify(paths: Sequence[str], show: Callable[[str], None]) -> int:
    """Show a line for each frame that is undamaged, or for each damaged file of a frame; return 0 if all frames are undamaged, otherwise 1.

    Parameters
    ----------
    paths
        Paths or URIs of saved frames or columns; the newest version of each is read.
    show
        Called with each line.
    """
    return max([_verify(path, show) for path in paths], default=WHOLE)


def _verify(path: str, show: Callable[[str], None]) -> int:
    try:
        location = location_of(path)
        manifest = load_remote(location) if is_remote_location(location) else read_manifest(location, verify=True)
        referred = load_referred(manifest, verify=True) if manifest.references is not None else []
        problems: list[SFrameError] = [*damage_in(manifest)]
    except SFrameError as error:
        problems = [error]
    for problem in problems:
        show(" ".join(str(problem).split()))
    if problems:
        return DAMAGED
    rows = manifest.rows if manifest.references is None else manifest.references.rows
    also = "".join(f", and rows in {other.directory}" for other in referred)
    show(f"{manifest.directory}: ok, {rows:,} rows, {len(manifest.segments):,} files, {_size_of(manifest):,} bytes{also}")
    return WHOLE


def _size_of(manifest: Manifest) -> int:
    """Return the bytes of the files of an undamaged frame."""
    if is_remote_location(manifest.directory):
        # All sizes are recorded, and have been compared with the files.
        return sum(entry.size for entry in manifest.segments if entry.size is not None)
    sizes = sizes_below(manifest.directory)
    return sum(sizes[entry.file] for entry in manifest.segments)
