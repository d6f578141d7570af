"""What tells a directory of a saved frame: whoever reads its files as those of others gets none of the names and types of its columns."""

from __future__ import annotations

import contextlib
import os
import re
import urllib.parse
from collections.abc import Iterable

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_elsewhere, place_of, scheme_of
from sframe_spark.message_text import visible
from sframe_spark.storage.filesystem.object_store import listed
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.regular import read_regular

FORMAT_NAME = "sframe_spark"
# What has the names, types and files of a frame: here, elsewhere (a directory of versions), and in a directory of Turi Create.
MANIFEST_FILE, MANIFESTS, ARCHIVE_FILE = "_manifest.json", "_manifests", "dir_archive.ini"
# An archive of Turi Create is also known by these of its files: of a frame, and of a column.
ARCHIVE_INDEXES = FRAME_INDEX, ARRAY_INDEX = ".frame_idx", ".sidx"
# As they are written: another number of digits would be another file of the same version.
VERSION_FILE = re.compile(r"([0-9]{8}|[1-9][0-9]{8,17})\.json")
_START = f'{{"format": "{FORMAT_NAME}"'.encode()


def is_archive(location: str) -> bool:
    """Return whether a path is that of an archive of Turi Create, or of one of its index files; a saved frame is none, whatever else is there."""
    if location.endswith(ARCHIVE_INDEXES):
        return os.path.isfile(location)
    return os.path.lexists(join(location, ARCHIVE_FILE)) and not os.path.lexists(join(location, MANIFEST_FILE))


def refuse_saved(directory: str) -> None:
    """Refuse to read the files in a directory of this machine as those of others, where it is a saved frame.

    Raises
    ------
    StorageError
        If it is, with what reads it.
    """
    if _is_frame(directory):
        raise _read_as_others(directory, "save()")
    if os.path.isfile(join(directory, ARCHIVE_FILE)):
        raise _read_as_others(directory, "Turi Create")


def refuse_saved_elsewhere(shown: str, inside: Iterable[str]) -> None:
    """Refuse to read the files in a directory elsewhere as those of others, where it is a saved frame.

    Parameters
    ----------
    shown
        The directory, for the message.
    inside
        Paths of files below it.

    Raises
    ------
    StorageError
        If it is, with what reads it.
    """
    for name in inside:
        if _is_version(name):
            raise _read_as_others(shown, "save()")
        if name == ARCHIVE_FILE:
            raise _read_as_others(shown, "Turi Create")


def refuse_files_of_saved(files: Iterable[str]) -> None:
    """Refuse to read files as those of others that look like ours, where one is in a saved frame; those whose manifest is lost may be read.

    Raises
    ------
    StorageError
        If one is, with what reads the frame.
    """
    found = _frame_of(files)
    if found is not None:
        raise _read_as_others(found, "save()")


def refuse_files_of_saved_for_spark(uris: Iterable[str]) -> None:
    """Refuse files with our columns that a query of a user's reads, where one is in a saved frame; those that only Spark can look at may be read.

    Parameters
    ----------
    uris
        The files as Spark names them: escaped, by its own schemes.

    Raises
    ------
    StorageError
        If one is, with what reads the frame.
    """
    found = None
    # A server may see other files under these names, and know others' stores: who cannot look knows nothing against them.
    with contextlib.suppress(StorageError):
        found = _frame_of(dict.fromkeys(map(_file_of_spark, uris)))
    if found is not None:
        raise _read_as_others(found, "save()")


def _file_of_spark(uri: str) -> str:
    return place_of(uri if scheme_of(uri) is None else urllib.parse.unquote(uri))


def _frame_of(files: Iterable[str]) -> str | None:
    """The first saved frame in which one of files is, None where there is none."""
    # A file is where it stands, wherever a link to it is.
    for directory in dict.fromkeys(os.path.dirname(file if is_elsewhere(file) else os.path.realpath(file)) for file in files):
        if not is_elsewhere(directory):
            if _is_frame(directory):
                return directory
            continue
        # Files are two directories below their frame there.
        root = os.path.dirname(os.path.dirname(directory))
        if "://" in root and any(_is_version(f"{MANIFESTS}/{file.uri.rpartition('/')[2]}") for file in listed(join(root, MANIFESTS))):
            return root
    return None


def _is_frame(directory: str) -> bool:
    try:
        start, _ = read_regular(join(directory, MANIFEST_FILE), len(_START))
    except (OSError, StorageError):
        return False
    return start.startswith(_START)


def _is_version(name: str) -> bool:
    directory, _, file = name.rpartition("/")
    return directory == MANIFESTS and VERSION_FILE.fullmatch(file) is not None


def _read_as_others(shown: str, writer: str) -> StorageError:
    read = "read it with load_sframe(), or load_sarray() where it is one column"
    return StorageError(f"{visible(shown)} is a frame that {writer} has written, whose files do not say what its columns are called: {read}")
