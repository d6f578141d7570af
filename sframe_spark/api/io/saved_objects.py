"""What is saved under a path, here or by Turi Create."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from sframe_spark.api.hints import answered
from sframe_spark.api.io.archives import kind_of_archive
from sframe_spark.api.io.paths import path_text
from sframe_spark.api.io.saved_frames import is_version_elsewhere
from sframe_spark.errors import InvalidArgumentError, NoArchiveError, NotSavedError, SchemaError, StorageError
from sframe_spark.locations import normalised, place_of
from sframe_spark.storage.datasets.load import read_manifest
from sframe_spark.storage.datasets.versioned_datasets import load_remote


@answered
def get_turicreate_object_type(url: str | os.PathLike[str]) -> str:
    """What is saved under a path, here or by Turi Create: ``sframe`` or ``sarray``.

    Parameters
    ----------
    url
        Path or address of a directory.

    Raises
    ------
    TypeError, ValueError
        If it is no path, or an empty one.
    OSError
        If nothing is saved there, or a model or a graph of Turi Create.

    Examples
    --------
    >>> import tempfile
    >>> from sframe_spark import SArray
    >>> from sframe_spark.util import get_turicreate_object_type
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     SArray([1, 2]).save(directory + "/column")
    ...     get_turicreate_object_type(directory + "/column")
    'sarray'
    """
    if is_version_elsewhere(url):
        with contextlib.suppress(NotSavedError):
            return load_remote(place_of(path_text(url))).kind
    return kind_of_archive(url) or read_manifest(normalised(path_text(url))).kind


@answered
def get_archive_type(path: str | os.PathLike[str]) -> str:
    """What is saved under a path, here or by Turi Create: ``sframe`` or ``sarray``.

    Raises
    ------
    TypeError
        If neither is saved there.

    Examples
    --------
    >>> import tempfile
    >>> from sframe_spark import SFrame
    >>> from sframe_spark.util import get_archive_type
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     SFrame({"a": [1]}).save(directory + "/frame")
    ...     get_archive_type(directory + "/frame")
    'sframe'
    """
    try:
        return get_turicreate_object_type(path)
    except (StorageError, SchemaError, InvalidArgumentError) as error:
        raise NoArchiveError(f"nothing is saved under {path!r:.200}: {error}") from error


@answered
def is_directory_archive(path: Any) -> bool:
    """True for a path under which a frame or a column is saved, here or by Turi Create.

    Examples
    --------
    >>> from sframe_spark.util import is_directory_archive
    >>> is_directory_archive("/nothing/is/here")
    False
    """
    try:
        get_archive_type(path)
    except NoArchiveError:
        return False
    return True
