"""Makes manifests for Parquet files that other programs wrote, from their footers; finds column names and types common to all files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import attrs
import pyarrow as pa

from sframe_spark.errors import SchemaError, StorageError
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.filesystem.format_recognition import PARQUET, refuse_files_of_saved, refuse_other_format
from sframe_spark.storage.filesystem.input_files import DataFile, DataFiles
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import Seen, wait_for_tick
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.remote_input_listing_change_detection_and_download import AT_A_TIME, require_all_still, states_now
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME, file_column
from sframe_spark.storage.parquet.footer import Footer, footer_of, forget_footers, require_rows, shows_nanoseconds, statistics_in_footer
from sframe_spark.storage.segments.partition_columns import facts_of, partition_columns
from sframe_spark.types import FLOAT, ColumnType, common_encoding
from sframe_spark.values.arrow_to_column_types import arrow_column_type, warn_of_decimal_types
from sframe_spark.values.datetimes import warn_of_lost_nanoseconds
from sframe_spark.values.input_copying_simplification_and_validation import require_known_extensions


def manifest_of_files(resolved: DataFiles) -> Manifest:
    """Return a manifest with the rows of all given Parquet files, in the order of the files.

    Only footers are read. All files must have the same column names, but the order of the columns may differ, and so may the Arrow types of a column
    if they are of the same kind. Partition columns come last.

    Raises
    ------
    StorageError
        If the files have different columns, a file occurs twice, is not a Parquet file, is damaged, or belongs to a saved frame.
    SchemaError
        If the type of a column is not supported.
    """
    files = resolved.paths
    # Rows are identified by their file, so no file may occur twice.
    twice = [file for file, count in Counter(files).items() if count > 1]
    if twice:
        raise StorageError(f"{twice[0]} is named twice: read it once, and append the frame to itself")
    footers = _footers(resolved)
    names = footers[0].schema.names
    if names == [*map(file_column, range(len(names) - 1)), KEY_NAME]:
        # Segment files of a saved frame do not contain the names of the columns.
        refuse_files_of_saved(file.origin for file in resolved.files)
    partitions = partition_columns(resolved.files)
    # As in Spark, a partition column replaces a column of the same name in the files.
    in_files = tuple(name for name in common_names(files, footers) if name not in {column.name for column in partitions})
    types = tuple(common_type(name, files, footers) for name in in_files)
    warn_of_decimal_types((name, footers[0].schema.field(name).type) for name in in_files)
    warn_of_lost_nanoseconds({name: None for name in in_files if any(shows_nanoseconds(footer, name) for footer in footers)})
    directory = _common_directory(files)
    entries = tuple(
        SegmentEntry(
            file.removeprefix(directory).lstrip("/"),
            number,
            footer.rows,
            (
                *(statistics_in_footer(footer, name, kind) for name, kind in zip(in_files, types, strict=True)),
                *(facts_of(column.values[number], footer.rows) for column in partitions),
            ),
            size=footer.size,
            seen=Seen(footer.identity[1], footer.tail),
            constants=tuple((len(types) + index, column.values[number]) for index, column in enumerate(partitions)),
        )
        for number, (file, footer) in enumerate(zip(files, footers, strict=True))
        if footer.rows
    )
    all_names = (*in_files, *(column.name for column in partitions))
    types = (*types, *(column.type for column in partitions))
    return Manifest(types, entries, directory, all_names, has_key=False, column_names_in_files=all_names)


def _footers(resolved: DataFiles) -> list[Footer]:
    """Return the footers of all files; raise if a remote file was changed meanwhile."""
    remote = {file.path: file.state for file in resolved.files if file.state is not None}
    if not remote:
        with translate_os_errors("read", resolved.paths[0]):
            wait_for_tick(resolved.paths)
        return list(map(_footer, resolved.files))
    try:
        footers = in_threads(_footer, resolved.files, AT_A_TIME)
        require_all_still(remote)
    except BaseException:
        # A cached footer may be that of a changed file, and must not be used if the file gets its old state again.
        forget_footers()
        raise
    return footers


def with_remote_states(manifest: Manifest) -> Manifest:
    """Return a manifest of remote external files, which comes from a deserialised plan, with the current states of the files.

    Raises
    ------
    StorageError
        If a file does not exist, or has another size or number of rows.
    """
    uris = [join(manifest.directory, entry.file) for entry in manifest.segments]
    states = states_now(uris)
    for entry, uri, state in zip(manifest.segments, uris, states, strict=True):
        if state is None or state.size != entry.size:
            raise StorageError(f"the plan reads {uri!r:.200}, where no such file has {entry.size} bytes")
    files = DataFiles(tuple(DataFile(uri, uri, (), state) for uri, state in zip(uris, states, strict=True)))
    segments = []
    for entry, uri, footer in zip(manifest.segments, uris, _footers(files), strict=True):
        require_rows(uri, footer, entry)
        segments.append(attrs.evolve(entry, seen=Seen(footer.identity[1], footer.tail)))
    return manifest.with_segments(tuple(segments))


def _footer(file: DataFile) -> Footer:
    """Return the footer of a file; if the file is recognised as one of another format, the error says which."""
    try:
        return footer_of(file.path) if file.state is None else footer_of(file.path, file.state.size, seen=Seen(file.state))
    except StorageError:
        refuse_other_format(file.path, PARQUET, "a readable Parquet file")
        raise


def natural_sort_key(name: str) -> tuple[tuple[int, int, str, str], ...]:
    """Return a sort key with which numbers in names are ordered by value.

    Examples
    --------
    >>> sorted(["part-10", "part-2", "a"], key=natural_sort_key)
    ['a', 'part-2', 'part-10']
    """
    # Digits are compared as strings of equal length, since Python does not convert strings of thousands of digits to integers.
    parts = ((part, part.lstrip("0")) for part in re.split(r"([0-9]+)", name))
    return tuple((0, len(digits), digits, part) if part.isdecimal() else (1, 0, "", part) for part, digits in parts)


class HasSchema(Protocol):
    """The schema of a file, and its columns that cannot be read."""

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the file."""

    @property
    def refused(self) -> Mapping[str, str]:
        """The columns that cannot be read, by name, with the reason."""


def common_names(files: Sequence[str], footers: Sequence[HasSchema]) -> tuple[str, ...]:
    """Return the names of the columns, which must be the same in all files, in the order of the first file.

    Raises
    ------
    StorageError
        If a file has other columns, or the first file has a name twice.
    """
    names = tuple(footers[0].schema.names)
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise StorageError(f"{files[0]} has several columns of the name {repeated[0]!r}; rename them first")
    for file, footer in zip(files, footers, strict=True):
        other = footer.schema.names
        if sorted(other) != sorted(names):
            difference = ", ".join(sorted(set(names) ^ set(other))) or "repeated names"
            raise StorageError(f"{file} has other columns than {files[0]} ({difference}); read them separately")
    return names


def common_type(name: str, files: Sequence[str], footers: Sequence[HasSchema]) -> ColumnType:
    """Return a column type that can hold the values of a column in all files; float if all files have the null type for it.

    Raises
    ------
    SchemaError
        If a type of the column in a file is not supported.
    StorageError
        If the column has different kinds in different files.
    """
    common: ColumnType | None = None
    for file, footer in zip(files, footers, strict=True):
        if name in footer.refused:
            raise SchemaError(f"column {name!r} of {file}: {footer.refused[name]}")
        field = footer.schema.field(name)
        data_type = field.type
        if pa.types.is_null(data_type):
            continue
        try:
            require_known_extensions(field)
            column_type = arrow_column_type(data_type)
            common = column_type if common is None else common_encoding(common, column_type)
        except SchemaError as error:
            raise SchemaError(f"column {name!r} of {file}: {error}") from error
        except TypeError as error:
            raise StorageError(f"column {name!r} is {column_type.kind} in {file} but not in {files[0]}: {error}") from error
    # If all files have the null type for the column, it becomes a float column.
    return FLOAT if common is None else common


def _common_directory(files: Sequence[str]) -> str:
    directories = [os.path.dirname(file) for file in files]
    if not is_remote_location(files[0]):
        return os.path.commonpath(directories)
    # All files are in one bucket. The scheme is left out, since commonpath would remove one of its two slashes.
    scheme, mark, _ = files[0].partition("://")
    return scheme + mark + os.path.commonpath([directory.removeprefix(scheme + mark) for directory in directories])
