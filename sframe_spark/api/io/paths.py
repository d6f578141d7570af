"""Validates paths given by users."""

from __future__ import annotations

import os
from typing import Any

from sframe_spark.errors import InvalidArgumentError, SchemaError, StorageError


def path_text(path: str | os.PathLike[str]) -> str:
    """Return a path as text.

    Raises
    ------
    SchemaError
        If it is not a path; in a ``TypeError`` clause as well.
    InvalidArgumentError
        If it is empty: that would be the current directory.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise SchemaError(f"a path is a str, got {type(path).__name__}")
    # A path-like object may give bytes.
    text = os.fsdecode(path)
    if not text:
        raise InvalidArgumentError("the path is empty: give the place to save to or to load from")
    return text


def file_path_text(path: str | os.PathLike[str]) -> str:
    """Return the path of a file to write as text; see :func:`path_text`.

    Raises
    ------
    StorageError
        If it names a directory: the file would become a hidden one in it, ``.csv``, or one next to it.
    """
    text = path_text(path)
    if os.path.basename(text) in ("", os.curdir, os.pardir):
        raise StorageError(f"{text} names a directory, not a file: add the name of a file")
    return text


def nothing_to_verify(data: Any) -> InvalidArgumentError:
    """Return the error that says that only what was saved carries check sums."""
    data_text = repr(data) if isinstance(data, str) else type(data).__name__
    return InvalidArgumentError(f"verify=True compares the check sums of a saved SFrame or SArray; {data_text} has none")
