"""Reads a column from a path: a saved column, the lines of text files (one value per line), or the elements of JSON arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from sframe_spark.api.io import saved_frames
from sframe_spark.api.io.csv.options import CsvRequest
from sframe_spark.api.io.csv.reader import read_csv
from sframe_spark.api.io.json.reader import read_json_values
from sframe_spark.api.io.saved_frames import STRICT
from sframe_spark.api.node_value_conversion import node_from_values
from sframe_spark.errors import CsvLineError, JsonError, NotSavedError, SchemaError, UnsupportedOperationError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import is_remote_location, location_of, normalised, scheme_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.storage.filesystem.format_recognition import ARCHIVE_INDEXES
from sframe_spark.storage.filesystem.input_files import resolve
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import WEB
from sframe_spark.storage.filesystem.remote_operations import is_file


def column_from_path(
    path: str,
    dtype: Any,
    verify: bool,
    references: Sequence[str | os.PathLike[str]] = (),
    encoding_errors: str = STRICT,
    version: int | None = None,
) -> PlannerNode:
    """Return a column that was saved at a path by this package or Turi Create; if there is none, the lines of the text files at the path.

    Raises
    ------
    StorageError
        If there is neither a saved column nor a text file.
    UnsupportedOperationError
        If a line cannot be converted to ``dtype``.
    """
    if verify or version is not None or not is_text(path):
        try:
            return saved_frames.load_column(path, verify, references, encoding_errors, version)
        except NotSavedError:
            is_remote_file = scheme_of(path) is not None and is_remote_location(location := location_of(path)) and is_file(location)
            if verify or version is not None or not is_remote_file:
                raise
    return read_lines(path, dtype)


def is_text(path: str) -> bool:
    """Return whether a path names text files, not a saved column: a pattern, an http(s) URL, or a local file that is not the index of an archive."""
    if any(wildcard in path for wildcard in "*?[") or (scheme_of(path) or "").lower() in WEB:
        return True
    return scheme_of(path) is None and not path.endswith(ARCHIVE_INDEXES) and os.path.isfile(normalised(path))


def read_lines(url: Any, dtype: Any = None) -> PlannerNode:
    """Return the values on the lines of text files: strings, or values of class ``dtype``, where blank lines are missing values.

    Raises
    ------
    RuntimeError
        If a line cannot be converted to ``dtype``.
    """
    request = CsvRequest(
        url,
        delimiter="\n",
        header=False,
        error_bad_lines=True,
        skip_initial_space=False,
        column_type_hints=str if dtype is None else dtype,
        na_values=(),
        verbose=False,
    )
    try:
        node = read_csv(request)[0]
    except CsvLineError as error:
        if dtype is None:
            raise
        advice = "omit dtype to read texts, and use astype(..., undefined_on_failure=True)"
        raise UnsupportedOperationError(f"{visible(str(url))}: a line is not {getattr(dtype, '__name__', dtype)}: {advice}") from error
    # A file without lines gives a frame without columns.
    return node if node.schema else node_from_values([], str if dtype is None else dtype)


def read_json_column(url: Any, encoding: str = "utf-8") -> PlannerNode:
    """Return the elements of the JSON array in each file as one column.

    Raises
    ------
    JsonError
        If a file does not contain one JSON array, or the values have no common type.
    SchemaError
        If ``url`` is not a path.
    """
    files = resolve(url, str)
    try:
        return read_json_values(files, encoding)
    except SchemaError as error:
        raise JsonError(f"{visible(str(url))}: {error}") from None
