"""Finds the input files that a user gives by a path, a directory, a pattern, a URL, an open file, or a list of these; and partition columns in paths.

A string of the user is a pattern only if no file or directory has that name. Names of files in directories are never patterns. Subdirectories of
a directory must be those of a partitioned table, named ``column=value``.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

import attrs

from sframe_spark.errors import InvalidArgumentError, MissingPathError, SchemaError, SFrameError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import normalised, scheme_of
from sframe_spark.storage.filesystem.format_recognition import refuse_saved
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import FileState, is_hidden, require_file
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import (
    METADATA_OF_ICEBERG,
    Download,
    files_in_place,
    other_rows_than_its_files,
)

_PATTERN = re.compile(r"[*?[]")
# The name of the directory for missing values in partitioned tables of Hive, Spark and others.
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


Partition = tuple[tuple[str, str | None], ...]
SortKey = Callable[[str], Any]


@attrs.frozen
class DataFile:
    """An input file.

    Parameters
    ----------
    path
        The local path of the file, or of the downloaded copy of a remote file; or the URI of a remote file that is not downloaded.
    origin
        The path or URL of the original file.
    partition
        The partition columns, with the strings of their values in the names of the directories above the file.
    state
        For a remote file that is not downloaded, its state when it was found; None for other files.
    """

    path: str
    origin: str
    partition: Partition = ()
    state: FileState | None = None


@attrs.frozen
class DataFiles:
    """The input files, in row order.

    Parameters
    ----------
    files
        The files.
    holder
        An object that keeps downloaded copies from being deleted; None if there are none.
    """

    files: tuple[DataFile, ...]
    holder: Any = None

    @property
    def paths(self) -> list[str]:
        """The paths or URIs from which the files are read."""
        return [file.path for file in self.files]

    @contextlib.contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Replace, in the messages of errors in the ``with`` block, the paths of downloaded copies by the URLs of the files."""
        try:
            yield
        except SFrameError as error:
            if self.holder is not None:
                error.args = tuple(self._named(argument) if isinstance(argument, str) else argument for argument in error.args)
            raise

    def _named(self, text: str) -> str:
        for file in self.files:
            text = text.replace(file.path, file.origin)
        return text


def resolve(paths: Any, sort_key: SortKey, kind: str = "file", in_place: bool = False) -> DataFiles:
    """Return the files that a user gave as input; a file that was given twice is returned twice.

    Parameters
    ----------
    paths
        A path, ``file:`` URI, directory, pattern or URL, an open file or another object with ``read()``, or a list of these. Such an object is read
        to its end, and stays open; a copy of what it holds is kept as long as it is needed. Files that were found before are returned.
    sort_key
        The sort key for the names in a directory, and for the paths that match a pattern.
    kind
        The word for a file in error messages.
    in_place
        Whether to read remote files where they are instead of downloading them, if tasks can read ranges of all files, and all are in one bucket.

    Raises
    ------
    StorageError
        If no file is found, or a file is missing or cannot be downloaded; the message names it.
    SchemaError
        If ``paths`` is neither a path nor a list of paths.
    InvalidArgumentError
        If a path or the list is empty.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     for name in ("b.csv", "a.csv", "_SUCCESS"):
    ...         open(os.path.join(directory, name), "w").close()
    ...     [os.path.basename(path) for path in resolve(directory, str).paths]
    ['a.csv', 'b.csv']
    """
    if isinstance(paths, DataFiles):
        return paths
    given = [path if is_open_file(path) else text_of(path) for path in (paths if isinstance(paths, (list, tuple)) else [paths])]
    if not given:
        raise InvalidArgumentError("the list of paths is empty: name at least one")
    download = Download()
    by_text = _files_in_place(given, sort_key) if in_place and not any(map(is_open_file, given)) else None
    resolved: list[DataFile] = []
    for index, path in enumerate(given):
        if is_open_file(path):
            resolved.append(DataFile(*download.keep(path)[:2]))
            continue
        files = _files_of(path, sort_key, download) if by_text is None else by_text[index]
        if not files:
            raise StorageError(f"there is no {kind} in {visible(path)}")
        resolved += files
    widths = {tuple(name for name, _ in file.partition): file for file in resolved}
    if len(widths) > 1:
        first, second = list(widths.values())[:2]
        both = f"{visible(first.origin)} and {visible(second.origin)}"
        raise StorageError(f"{both} are not parts of one partitioned table: the directories above them name other columns; read them one by one")
    return DataFiles(tuple(resolved), download.holder)


def _files_in_place(texts: Sequence[str], sort_key: SortKey) -> list[list[DataFile]] | None:
    """Return the files for each given string, if all files are remote and can be read without downloading them; None otherwise."""
    resolved: list[list[DataFile]] = []
    for text in texts:
        files = None if scheme_of(text) is None else files_in_place(text, sort_key, is_pattern(text))
        if files is None:
            return None
        resolved.append([DataFile(file.uri, file.uri, partition_of(file.inside, file.uri), file.state) for file in files])
    buckets = {"/".join(file.path.split("/")[:3]) for files in resolved for file in files}
    return resolved if len(buckets) < 2 else None


def is_open_file(path: Any) -> bool:
    """Return whether what a user gave as a path is an object to read from, such as an open file or a ``BytesIO``.

    Examples
    --------
    >>> import io
    >>> is_open_file(io.StringIO("a")), is_open_file("a")
    (True, False)
    """
    return not isinstance(path, (str, os.PathLike)) and callable(getattr(path, "read", None))


def text_of(path: Any) -> str:
    """Return a path that a user gave as a string.

    Raises
    ------
    SchemaError
        If it is neither a string nor a path object.
    InvalidArgumentError
        If it is empty, which would be the current directory.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise SchemaError(f"a path must be a str, or an open file, got {type(path).__name__}; several paths are a list of them")
    text = os.fsdecode(path)
    if not text:
        raise InvalidArgumentError("the path is empty: give the place to read from")
    return text


def _files_of(text: str, sort_key: SortKey, download: Download) -> list[DataFile]:
    if scheme_of(text) is not None:
        return [DataFile(path, origin, partition_of(inside, origin)) for path, origin, inside in download.fetch(text, sort_key, is_pattern(text))]
    location = normalised(text)
    with translate_os_errors("read", location):
        if os.path.isdir(location):
            return _in_directory(location, sort_key)
        try:
            os.lstat(location)
        except PermissionError:
            # A directory above the path cannot be entered.
            raise
        except (OSError, ValueError):
            # No file has this name.
            pass
        else:
            require_file(location)
            return [DataFile(location, location)]
    return _matching(location, sort_key)


def is_pattern(text: str) -> bool:
    """Return whether a string contains characters of patterns; callers use it as a pattern only if no file has that name."""
    return _PATTERN.search(text) is not None


def _matching(location: str, sort_key: SortKey) -> list[DataFile]:
    """Return the files that match a pattern; if only directories match, the files in these directories."""
    if not is_pattern(location):
        raise MissingPathError(f"there is no file {location}: check the path")
    directory, name = os.path.split(location)
    # If the directory exists, only the last part of the path is a pattern.
    pattern = os.path.join(glob.escape(directory), name) if os.path.isdir(directory) else location
    with translate_os_errors("read", location):
        # A pattern with several "**" may match the same path several times.
        matches = sorted(dict.fromkeys(glob.glob(pattern, recursive=True)), key=sort_key)
        files = [path for path in matches if not os.path.isdir(path)]
        for path in files:
            require_file(path)
    if not matches:
        raise MissingPathError(f"there is no file {location}: nothing matches; check the path")
    if not files:
        return [file for path in matches for file in _in_directory(path, sort_key)]
    above = {str(parent) for file in files for parent in PurePath(file).parents}
    for path in (path.rstrip(os.sep) for path in matches if os.path.isdir(path)):
        # If the pattern matches files and also a directory with other files, these would be ignored.
        if path not in above and not is_hidden(os.path.basename(path)) and any(not is_hidden(name) for name in os.listdir(path)):
            raise StorageError(
                f"{visible(location)} matches files and the directory {visible(path)} with others: match one kind, or both with '**', or give a list"
            )
    return [DataFile(path, path) for path in files]


def _in_directory(root: str, sort_key: SortKey) -> list[DataFile]:
    """Return the data files in a directory, and in the directories of a partitioned table below it.

    Raises
    ------
    StorageError
        If the directory is a saved frame, or a table of Delta, Hudi or Iceberg or a partition of one, whose files may have rows that were deleted
        or replaced.
    """
    _refuse_table_formats(root)
    refuse_saved(root)
    return [DataFile(path, path, partition_of(os.path.relpath(path, root), path)) for path in _data_below(root, sort_key)]


def _refuse_table_formats(root: str) -> None:
    table = os.path.realpath(root)
    while "=" in os.path.basename(table):
        table = os.path.dirname(table)
    metadata = os.path.join(os.path.dirname(table), "metadata")
    if os.path.lexists(os.path.join(table, "_delta_log")):
        kind, read = "a Delta", "read the table with read_delta()"
    elif os.path.lexists(os.path.join(table, ".hoodie")):
        kind, read = "a Hudi", "read the table with Spark, SFrame(spark.read.format('hudi').load(...))"
    elif os.path.basename(table) == "data" and os.path.isdir(metadata) and _has_metadata_of_iceberg(metadata):
        kind, read = "an Iceberg", "read the table with read_iceberg()"
    else:
        return
    raise other_rows_than_its_files(visible(root), kind, read)


def _has_metadata_of_iceberg(directory: str) -> bool:
    with translate_os_errors("list", directory):
        return any(name.endswith(METADATA_OF_ICEBERG) for name in os.listdir(directory))


def _data_below(directory: str, sort_key: SortKey) -> Iterator[str]:
    """Yield the paths of the data files in a directory, and in partition directories below it, in order; hidden files are left out."""
    with translate_os_errors("list", directory):
        names = sorted((name for name in os.listdir(directory) if not is_hidden(name)), key=sort_key)
    paths = [os.path.join(directory, name) for name in names]
    are_partitions = bool(paths) and all("=" in os.path.basename(path) and os.path.isdir(path) for path in paths)
    for path in paths:
        if are_partitions:
            yield from _data_below(path, sort_key)
            continue
        with translate_os_errors("read", path):
            require_file(path)
        yield path


def partition_of(inside: str, origin: str) -> Partition:
    """Return the partition columns and values in a path relative to a table; values are not decoded, and None for missing ones.

    Raises
    ------
    StorageError
        If a directory in the path is not named ``column=value``, or a column occurs twice.

    Examples
    --------
    >>> partition_of("year=2024/city=New%20York/part-0.parquet", "")
    (('year', '2024'), ('city', 'New%20York'))
    """
    resolved: dict[str, str | None] = {}
    for directory in inside.split(os.sep)[:-1]:
        name, equals, value = directory.partition("=")
        name = _unquoted(name, origin)
        if not equals or not name or not _unquoted(value, origin) or name in resolved:
            reason = "a directory of a partitioned table is named column=value, each column once"
            raise StorageError(f"{visible(origin)} is in a directory {visible(directory)!r}: {reason}; read it by itself, or move it")
        resolved[name] = None if value == HIVE_NULL else value
    return tuple(resolved.items())


def _unquoted(text: str, origin: str) -> str:
    try:
        return urllib.parse.unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise StorageError(f"{visible(origin)} is in a directory whose name is not text in UTF-8: rename it, or read it by itself") from None


def values_of_partitions(files: Sequence[DataFile]) -> list[tuple[str, list[str | None]]]:
    """Return each partition column with the strings of its values, one for each file; None for missing values."""
    names = [name for name, _ in files[0].partition] if files else []
    return [(name, [file.partition[index][1] for file in files]) for index, name in enumerate(names)]
