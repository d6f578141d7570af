"""Archives of Turi Create that users name: directories and index files of this machine, or elsewhere. What reads them is an optional part."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sframe_spark.api.io.paths import path_text
from sframe_spark.errors import SchemaError
from sframe_spark.locations import normalised, scheme_of
from sframe_spark.optional_parts import ARCHIVE, ARCHIVE_SOURCE, optional_part
from sframe_spark.storage.filesystem.remote import Download
from sframe_spark.storage.filesystem.saved_places import ARCHIVE_FILE, is_archive

if TYPE_CHECKING:
    from sframe_spark.planner.node import PlannerNode

# Texts of an archive that are not UTF-8 are refused.
STRICT = "strict"


def load_archive(
    path: str | os.PathLike[str], references: Sequence[str | os.PathLike[str]] = (), encoding_errors: str = STRICT, verify: bool = False
) -> tuple[PlannerNode, list[str]] | None:
    """Node and column names of the archive at a path; None where there is something else, or nothing.

    Raises
    ------
    StorageError
        If it is damaged, or leads elsewhere.
    """
    text = path_text(path)
    places = reference_texts(references)
    if scheme_of(text) is None:
        location, handle = normalised(text), None
        if not is_archive(location):
            return None
    else:
        # All its files are fetched, and only these may be read.
        places, download = [], Download()
        fetched = download.fetch_directory(text, ARCHIVE_FILE)
        if fetched is None:
            return None
        location, handle = fetched, download.holder
    found: tuple[PlannerNode, list[str]] = optional_part(ARCHIVE_SOURCE).load_archive(location, places, encoding_errors, verify, handle)
    return found


def kind_of_archive(path: str | os.PathLike[str]) -> str | None:
    """``sframe`` or ``sarray``, whichever the archive at a path holds; None where there is something else, or nothing.

    Raises
    ------
    StorageError
        If it holds neither, or its index is damaged.
    """
    text = path_text(path)
    if scheme_of(text) is not None:
        download = Download()
        fetched = download.fetch_directory(text, ARCHIVE_FILE)
        return None if fetched is None else optional_part(ARCHIVE).open_archive(fetched).contents.kind
    location = normalised(text)
    return optional_part(ARCHIVE).archive_kind(location) if is_archive(location) else None


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
