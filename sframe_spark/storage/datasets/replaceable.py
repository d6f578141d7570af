"""What a save may replace: a saved frame and what its writers leave beside it, told by name; everything else is somebody's."""

from __future__ import annotations

import os
import re

from sframe_spark.errors import StorageError
from sframe_spark.storage.datasets.commit import TEMPORARY_SUFFIX
from sframe_spark.storage.datasets.load import read_manifest
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.listing import files_below, names_in
from sframe_spark.storage.filesystem.saved_places import MANIFEST_FILE

_SEGMENT = r"segment-\d{8,}-[0-9a-f]{32}\.parquet"
_MANIFEST = rf"{re.escape(MANIFEST_FILE)}|_segments-[0-9a-f]{{32}}\.arrow"
# Hadoop's file systems put a hidden file of check sums beside every file that they write.
_OURS = re.compile(rf"{_SEGMENT}|{_MANIFEST}|{re.escape(MANIFEST_FILE + TEMPORARY_SUFFIX)}|_SUCCESS|\.(?:{_SEGMENT}|{_MANIFEST}|_SUCCESS)\.crc")


def check_replaceable(location: str) -> None:
    """Make sure that saving to a location destroys nothing but a saved frame.

    Raises
    ------
    StorageError
        If there is anything else at the location or in it; the message names it.
    """
    if not refuse_what_no_directory_replaces(location, "save to"):
        return
    names = names_in(location)
    if names and MANIFEST_FILE not in names:
        raise StorageError(f"{location} exists and is not a saved frame: choose another path, or remove it first")
    # The manifest is asked only where names do not tell: it may be long.
    if any(not _OURS.fullmatch(name) for name in names) and (strange := _strange(location, names)):
        raise StorageError(f"{location} holds {strange}, which saving would delete: move it away, or choose another path")


def refuse_what_no_directory_replaces(location: str, action: str) -> bool:
    """Make sure that a directory can have a name: nothing has it, or a directory; say which, True for a directory.

    Raises
    ------
    StorageError
        If there is something else.
    """
    with telling(action, location):
        try:
            # What stands in the way of the directory, such as a file in the place of one above it, is told here.
            os.lstat(location)
        except FileNotFoundError:
            return False
    if os.path.islink(location) and not os.path.exists(location):
        raise StorageError(f"{location} is a link to {os.readlink(location)}, where nothing is: remove the link, or choose another path")
    if os.path.lexists(location) and not os.path.isdir(location):
        raise StorageError(f"{location} is a file, not a directory: choose another path, or remove it first")
    return True


def _strange(location: str, names: list[str]) -> str | None:
    """The first file or directory that is no part of the saved frame in a location, None if there is none."""
    try:
        named = {entry.file for entry in read_manifest(location).segments}
    except StorageError:
        # A damaged frame may be replaced, too; only its names tell what belongs to it.
        named = set()
    known = named | {checksums_of(file) for file in named}
    for name in (*files_below(location), *names):
        if name not in known and not _OURS.fullmatch(name) and not (name.endswith("/") and any(file.startswith(name) for file in named)):
            return name
    return None


def checksums_of(file: str) -> str:
    """Where Hadoop keeps the check sums of a file.

    Examples
    --------
    >>> checksums_of("part-0.parquet"), checksums_of("x/part-0.parquet")
    ('.part-0.parquet.crc', 'x/.part-0.parquet.crc')
    """
    directory, name = os.path.split(file)
    return os.path.join(directory, f".{name}.crc")
