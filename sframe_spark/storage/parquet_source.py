"""Existing Parquet files as read-only segments."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from sframe_spark.errors import SchemaError, StorageError
from sframe_spark.locations import normalised
from sframe_spark.storage.failures import telling
from sframe_spark.storage.file_state import Seen, wait_for_tick
from sframe_spark.storage.footers import Footer, footer_of, statistics_in_footer
from sframe_spark.storage.listing import data_files, require_file
from sframe_spark.storage.manifest import Manifest, SegmentEntry
from sframe_spark.types import FLOAT, ColumnType, common_encoding
from sframe_spark.values.decimals import tell_of_types
from sframe_spark.values.from_arrow import arrow_column_type


def foreign_manifest(paths: Sequence[str | os.PathLike[str]]) -> Manifest:
    """Return a manifest of all rows of Parquet files: file after file, in natural order of names within a directory.

    Only footers are read. The files may store a column in different Arrow types of one kind, and columns in different
    orders; the names of the columns must be the same.

    Parameters
    ----------
    paths
        Files, or directories whose files are meant; names starting with a dot or an underscore are left out.

    Raises
    ------
    StorageError
        If there is no file, or the files do not fit together.
    SchemaError
        If a column is of a type that no column can have.
    """
    files = [file for path in paths for file in parquet_files(normalised(path))]
    if not files:
        raise StorageError(f"there is no Parquet file at {', '.join(str(path) for path in paths)}")
    with telling("read", files[0]):
        wait_for_tick(files)
    footers = [footer_of(file) for file in files]
    names = _common_names(files, footers)
    types = tuple(_common_type(name, files, footers) for name in names)
    tell_of_types((name, footers[0].schema.field(name).type) for name in names)
    directory = _common_directory(files)
    entries = tuple(
        SegmentEntry(
            os.path.relpath(file, directory),
            number,
            footer.rows,
            tuple(statistics_in_footer(footer, name, kind) for name, kind in zip(names, types, strict=True)),
            size=footer.size,
            seen=Seen(footer.identity[1], footer.tail),
        )
        for number, (file, footer) in enumerate(zip(files, footers, strict=True))
        if footer.rows
    )
    return Manifest(types, entries, directory, names, has_key=False, column_names_in_files=names)


def parquet_files(location: str) -> list[str]:
    """Return a file itself, or the data files of a directory in natural order of their names."""
    with telling("read", location):
        if os.path.isfile(location):
            return [location]
        if not os.path.isdir(location):
            if os.path.lexists(location):
                require_file(location)
            raise StorageError(f"there is nothing at {location}; check the path")
    return sorted(data_files(location), key=lambda path: natural(os.path.basename(path)))


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key by which numbers in names count as numbers.

    Examples
    --------
    >>> sorted(["part-10", "part-2", "a"], key=natural)
    ['a', 'part-2', 'part-10']
    """
    parts = re.split(r"([0-9]+)", name)
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts)


def _common_names(files: Sequence[str], footers: Sequence[Footer]) -> tuple[str, ...]:
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


def _common_type(name: str, files: Sequence[str], footers: Sequence[Footer]) -> ColumnType:
    """Return the type in which the values of a column of all files can be held."""
    common: ColumnType | None = None
    for file, footer in zip(files, footers, strict=True):
        data_type = footer.schema.field(name).type
        if pa.types.is_null(data_type):
            continue
        try:
            found = arrow_column_type(data_type)
            common = found if common is None else common_encoding(common, found)
        except SchemaError as error:
            raise SchemaError(f"column {name!r} of {file}: {error}") from error
        except TypeError as error:
            raise StorageError(f"column {name!r} is {found.kind} in {file} but not in {files[0]}: {error}") from error
    # A column of which no file knows more than that it is empty.
    return FLOAT if common is None else common


def _common_directory(files: Sequence[str]) -> str:
    return os.path.commonpath([os.path.dirname(file) for file in files])
