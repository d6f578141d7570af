"""Checks paths that users pass as arguments; and the error about ``verify=True`` for data that has no check sums."""

from __future__ import annotations

import os
from typing import Any

from sframe_spark.errors import InvalidArgumentError, SchemaError, StorageError


def path_text(path: str | os.PathLike[str]) -> str:
    """Return a path as a string.

    Raises
    ------
    SchemaError
        If it is neither a string nor path-like (the error is also a ``TypeError``).
    InvalidArgumentError
        If it is empty, which would name the current directory.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise SchemaError(f"a path must be a str, got {type(path).__name__}")
    # The path of a path-like object may be bytes.
    text = os.fsdecode(path)
    if not text:
        raise InvalidArgumentError("the path is empty: name the place to save to or to load from")
    return text


def file_path_text(path: str | os.PathLike[str]) -> str:
    """Return the path of a file to write as a string.

    Raises
    ------
    StorageError
        If the path names a directory; an extension appended to it would make a hidden file such as ``.csv``.
    SchemaError, InvalidArgumentError
        As for :func:`path_text`.
    """
    text = path_text(path)
    if os.path.basename(text) in ("", os.curdir, os.pardir):
        raise StorageError(f"{text} names a directory, not a file: add the name of a file")
    return text


def nothing_to_verify(data: Any) -> InvalidArgumentError:
    """Return the error to raise if ``verify=True`` is passed with data that was not saved, and so has no check sums."""
    data_text = repr(data) if isinstance(data, str) else type(data).__name__
    return InvalidArgumentError(f"verify=True compares the check sums of a saved SFrame or SArray, but {data_text} has none")
