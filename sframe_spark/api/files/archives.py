"""Archives of Turi Create that users name: directories and index files of this machine, or elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import attrs

from sframe_spark.api.files.paths import path_text
from sframe_spark.errors import SchemaError
from sframe_spark.locations import normalised, scheme_of
from sframe_spark.storage.files.remote import Download
from sframe_spark.storage.files.saved_places import ARCHIVE_FILE
from sframe_spark.turicreate.archive import STRICT, Archive, archive_kind, is_archive, open_archive


@attrs.frozen
class LoadedArchive:
    """An archive, and what keeps the copy of one that is elsewhere."""

    opened: Archive
    handle: Any = None


def load_archive(
    path: str | os.PathLike[str], references: Sequence[str | os.PathLike[str]] = (), encoding_errors: str = STRICT
) -> LoadedArchive | None:
    """The archive at a path; None where there is something else, or nothing.

    Raises
    ------
    StorageError
        If it is damaged, or leads elsewhere.
    """
    text = path_text(path)
    places = reference_texts(references)
    if scheme_of(text) is not None:
        return _fetched(text, encoding_errors)
    location = normalised(text)
    if not is_archive(location):
        return None
    return LoadedArchive(open_archive(location, places, encoding_errors))


def kind_of_archive(path: str | os.PathLike[str]) -> str | None:
    """``sframe`` or ``sarray``, whichever the archive at a path holds; None where there is something else, or nothing.

    Raises
    ------
    StorageError
        If it holds neither, or its index is damaged.
    """
    text = path_text(path)
    if scheme_of(text) is not None:
        found = load_archive(text)
        return None if found is None else found.opened.contents.kind
    location = normalised(text)
    return archive_kind(location) if is_archive(location) else None


def reference_texts(references: Any) -> list[str]:
    """Directories that an archive may refer to, as text.

    Raises
    ------
    SchemaError
        If they are no list of paths.
    InvalidArgumentError
        If one is empty.
    """
    if isinstance(references, (str, os.PathLike)) or not isinstance(references, Sequence):
        raise SchemaError(f"references is a list of directories, got {references!r:.80}")
    return [path_text(place) for place in references]


def _fetched(url: str, encoding_errors: str) -> LoadedArchive | None:
    """An archive that is elsewhere, of which all files are fetched; None where there is none."""
    download = Download()
    directory = download.fetch_directory(url, ARCHIVE_FILE)
    return None if directory is None else LoadedArchive(open_archive(directory, (), encoding_errors), download.holder)
