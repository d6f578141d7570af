"""Makes manifests of this package for snapshots of Delta and Iceberg tables, from the schema and the files that the log of a table names.

The log itself is read by other modules. It is not trusted: files must be in the directory of the table, and have the columns, the size and
the number of rows that the log says.
"""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence

import attrs
import pyarrow as pa

from sframe_spark.errors import SchemaError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import Seen, wait_for_tick
from sframe_spark.storage.manifest.column_statistics import Scalar
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.parquet.footer import Footer, footer_of, statistics_in_footer
from sframe_spark.storage.segments.partition_columns import facts_of
from sframe_spark.types import DATETIME, ColumnType, common_encoding
from sframe_spark.values.arrow_to_column_types import arrow_column_type, normalize, warn_of_decimal_types
from sframe_spark.values.input_copying_simplification_and_validation import require_known_extensions

FIELD_ID = b"PARQUET:field_id"
# The key of field metadata with the name of a column in the files, if it is not the name in the table.
STORED_NAME = b"sframe:stored_name"


@attrs.frozen
class LakeFile:
    """A file of a snapshot, as the log describes it.

    Parameters
    ----------
    inside
        The path of the file, relative to the directory of the table.
    size
        The size in bytes.
    rows
        The number of rows; None if the log does not say it.
    constants
        The values of columns that have the same value in all rows, by column name; a column of the file with that name is not read.
    defaults
        The values of columns in all rows, by column name, if the file does not have the column. A column without a default has missing values then.
    never_missing
        The columns, by name, that the file must have, with the reason.
    """

    inside: str
    size: int
    rows: int | None
    constants: Mapping[str, Scalar] = {}
    defaults: Mapping[str, Scalar] = {}
    never_missing: Mapping[str, str] = {}


@attrs.frozen
class _OpenedFile:
    """A file of a snapshot whose footer was read.

    Parameters
    ----------
    file
        The file as the log describes it.
    path
        The path of the file.
    footer
        The footer of the file.
    fields
        The fields of the file, by the names of the columns of the table. Columns that the file does not have are left out.
    """

    file: LakeFile
    path: str
    footer: Footer
    fields: Mapping[str, pa.Field]


def manifests_of_lake(root: str, schema: pa.Schema, files: Sequence[LakeFile], snapshot: str, by_id: bool = False) -> list[Manifest]:
    """Return manifests with the rows of a snapshot, in the order of the files. Files that name columns differently are in different manifests.

    Parameters
    ----------
    root
        The directory of the table.
    schema
        The columns of the table. ``STORED_NAME`` in the metadata of a field is the name of the column in the files, if it is another one.
    files
        The files in row order.
    snapshot
        The name of the snapshot in messages.
    by_id
        Whether columns of the table and of files correspond if they have the same field number (``FIELD_ID`` in the metadata of a field), and not
        if they have the same name.

    Raises
    ------
    StorageError
        If a file is missing, is outside of the table, is not as the log says, or stores a column in a type that is not the one of the table.
    SchemaError
        If the type of a column is not supported.
    """
    if files and not schema.names:
        raise StorageError(f"{snapshot} of the table {visible(root)} has files but no columns: its log is damaged; restore it from a copy")
    paths: dict[str, LakeFile] = {}
    for file in files:
        path = path_inside(root, file.inside)
        if path in paths:
            raise StorageError(f"the table {visible(root)} names the file {visible(file.inside)!r} twice: its log is damaged")
        if not os.path.lexists(path):
            raise StorageError(f"{visible(path)} is missing, which {snapshot} of the table needs: it may be vacuumed or expired; read a later one")
        paths[path] = file
    with translate_os_errors("read", root):
        wait_for_tick(paths)
    opened = [_opened(file, path, schema, by_id) for path, file in paths.items()]
    types = tuple(_type_of(field, opened, by_id) for field in schema)
    warn_of_decimal_types((field.name, field.type) for field in schema)
    return [_manifest(root, group, schema.names, types) for group in _by_names(opened)]


def constants_of(name: str, values: pa.Array) -> list[Scalar]:
    """Return the constant values of a column that is not stored in the files, one for each file, in the form that statistics have.

    Raises
    ------
    SchemaError
        If the type of the values is not supported for a column that is not in the files.

    Examples
    --------
    >>> import datetime
    >>> constants_of("day", pa.array([datetime.date(1970, 1, 2), None]))
    [86400000000, None]
    """
    column_type = arrow_column_type(values.type)
    if values.null_count == len(values):
        return [None] * len(values)
    # Logs contain bytes as strings with escapes, whose form is not specified.
    is_bytes = pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type) or pa.types.is_binary_view(values.type)
    if is_bytes or column_type.is_zoned or column_type.is_encoded or pa.types.is_nested(column_type.physical):
        raise SchemaError(f"the table is partitioned by column {visible(name)!r}, of Arrow {values.type}: read it with Spark, SFrame(spark.read...)")
    try:
        normalized = normalize(values)[0]
    except SchemaError as error:
        raise SchemaError(f"column {visible(name)!r}, which the table is partitioned by: {error}") from None
    constants: list[Scalar] = (normalized.cast(pa.int64()) if column_type == DATETIME else normalized).to_pylist()
    return constants


def path_inside(root: str, inside: str) -> str:
    """Return the path of a file, given by its path relative to the directory of a table.

    Raises
    ------
    StorageError
        If the file would be outside of the directory, also by a link.

    Examples
    --------
    >>> path_inside("/t", "../etc/passwd")
    Traceback (most recent call last):
        ...
    sframe_spark.errors.StorageError: the table /t names a file '../etc/passwd' that is not inside its directory: ...
    """
    path = os.path.join(root, inside)
    is_plain = {"", ".", ".."}.isdisjoint(inside.split("/")) and "\0" not in inside
    if not is_plain or not os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), "")):
        raise StorageError(
            f"the table {visible(root)} names a file {visible(inside)!r} that is not inside its directory: only such files are read, "
            "so shallow clones and moved tables are for Spark, SFrame(spark.read...)"
        )
    return path


def _opened(file: LakeFile, path: str, schema: pa.Schema, by_id: bool) -> _OpenedFile:
    """Read the footer of a file, and find the columns of the table in the file."""
    footer = footer_of(path)
    for unit, expected, actual in (("bytes", file.size, footer.size), ("rows", file.rows, footer.rows)):
        if expected is not None and expected != actual:
            raise StorageError(
                f"{visible(path)} has {actual} {unit}, the log of the table says {expected}: one of them is damaged; restore it from a copy"
            )
    in_file: dict[object, list[pa.Field]] = defaultdict(list)
    for field in footer.schema:
        in_file[_id_of(field) if by_id else field.name].append(field)
    if by_id and None in in_file:
        raise StorageError(f"{visible(path)} has columns without field numbers, so which of the table's they are is unknown: read it with Spark")
    folded = {str(name).casefold() for name in in_file}
    fields = {}
    for field in schema:
        if field.name in file.constants:
            continue
        matches = in_file.get(_id_of(field) if by_id else stored_name(field), [])
        if len(matches) > 1:
            raise StorageError(f"{visible(path)} has several columns {visible(field.name)!r}: it is damaged")
        if matches:
            fields[field.name] = matches[0]
        elif field.name in file.defaults:
            continue
        elif field.name in file.never_missing:
            raise StorageError(f"{visible(path)} has no column {visible(field.name)!r}: {file.never_missing[field.name]}; read the table with Spark")
        elif not by_id and stored_name(field).casefold() in folded:
            raise StorageError(f"{visible(path)} has column {visible(field.name)!r} with other capitals than the table: read it with Spark")
        elif not field.nullable:
            raise StorageError(f"{visible(path)} has no column {visible(field.name)!r}, which misses no value in the table: one of them is damaged")
    return _OpenedFile(file, path, footer, fields)


def stored_name(field: pa.Field) -> str:
    """Return the name in the files of a column of a table, or of a field within one."""
    stored: bytes | None = (field.metadata or {}).get(STORED_NAME)
    return str(field.name) if stored is None else stored.decode()


def _id_of(field: pa.Field) -> bytes | None:
    number: bytes | None = (field.metadata or {}).get(FIELD_ID)
    return number


def _type_of(field: pa.Field, opened: Sequence[_OpenedFile], by_id: bool) -> ColumnType:
    """Return the type of a column of the table; raise if the values in a file cannot be read as values of this type."""
    try:
        required = arrow_column_type(field.type)
    except SchemaError as error:
        raise SchemaError(f"column {visible(field.name)!r} of the table: {error}") from error
    with_column = [file for file in opened if field.name in file.fields]
    if required.is_zoned and with_column and all(_is_int96_without_zone(file, field.name) for file in with_column):
        # The files contain instants in UTC without saying so. `read_parquet` returns the same type.
        return DATETIME
    for file in with_column:
        stored = file.fields[field.name]
        column = f"column {visible(field.name)!r}"
        try:
            require_known_extensions(stored)
        except SchemaError as error:
            raise SchemaError(f"{column} of {visible(file.path)}: {error}") from None
        if stored.name in file.footer.refused:
            raise SchemaError(f"{column} of {visible(file.path)}: {file.footer.refused[stored.name]}")
        if not _same_structure(field, stored, by_id) or not _is_readable_as(required, stored.type):
            raise StorageError(
                f"{column} is {field.type} in the table but {stored.type} in {visible(file.path)}: "
                "have its files rewritten, or read it with Spark, SFrame(spark.read...)"
            )
    return required


def _is_readable_as(required: ColumnType, stored: pa.DataType) -> bool:
    """Return whether values of an Arrow type are values of a column type, without a change of values."""
    try:
        column_type = arrow_column_type(stored)
        return column_type == required or (not required.is_zoned and common_encoding(column_type, required) == required)
    except (SchemaError, TypeError):
        return False


def _is_int96_without_zone(file: _OpenedFile, name: str) -> bool:
    """Return whether a column is stored as INT96 in a file that Spark did not write, so that only the table says that it is in UTC."""
    stored = file.fields[name].name
    leaf = file.footer.places.get(stored)
    return stored not in file.footer.meant and leaf is not None and file.footer.metadata.schema.column(leaf).physical_type == "INT96"


def _same_structure(required: pa.Field, stored: pa.Field, by_id: bool) -> bool:
    """Return whether a field of the table and one of a file have the same structure: lists, maps, and structs with the same fields."""
    if by_id and _id_of(required) != _id_of(stored):
        return False
    left, right = required.type, stored.type
    if isinstance(left, pa.BaseExtensionType) or isinstance(right, pa.BaseExtensionType):
        return bool(left == right)
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        # Fields within structs are found by their names in the files.
        names = [(field.name, stored_name(field)) for field in left] == [(field.name, field.name) for field in right]
        return names and all(_same_structure(*fields, by_id) for fields in zip(left, right, strict=True))
    if pa.types.is_map(left) and pa.types.is_map(right):
        pairs = (left.key_field, right.key_field), (left.item_field, right.item_field)
        return all(_same_structure(*fields, by_id) for fields in pairs)
    if hasattr(left, "value_field") and hasattr(right, "value_field"):
        return _same_structure(left.value_field, right.value_field, by_id)
    return pa.types.is_nested(left) == pa.types.is_nested(right)


def _entry(number: int, opened: _OpenedFile, names: Sequence[str], types: Sequence[ColumnType]) -> SegmentEntry:
    footer, values = opened.footer, {**opened.file.defaults, **opened.file.constants}
    constants = {index: values.get(name) for index, name in enumerate(names) if name not in opened.fields}
    statistics = tuple(
        facts_of(constants[index], footer.rows) if index in constants else statistics_in_footer(footer, opened.fields[name].name, types[index])
        for index, name in enumerate(names)
    )
    seen = Seen(footer.identity[1], footer.tail)
    return SegmentEntry(opened.file.inside, number, footer.rows, statistics, size=footer.size, seen=seen, constants=tuple(constants.items()))


def _by_names(opened: Sequence[_OpenedFile]) -> list[list[_OpenedFile]]:
    """Divide files into groups of consecutive files in which each column has one name, and each name means one column; at least one group."""
    groups: list[list[_OpenedFile]] = [[]]
    in_files: dict[str, str] = {}
    columns: dict[str, str] = {}
    for file in opened:
        names = {name: field.name for name, field in file.fields.items()}
        if any(in_files.get(name, stored) != stored or columns.get(stored, name) != name for name, stored in names.items()):
            groups.append([])
            in_files, columns = {}, {}
        groups[-1].append(file)
        in_files.update(names)
        columns.update((stored, name) for name, stored in names.items())
    return groups


def _manifest(root: str, opened: Sequence[_OpenedFile], names: Sequence[str], types: tuple[ColumnType, ...]) -> Manifest:
    entries = tuple(_entry(number, file, names, types) for number, file in enumerate(opened) if file.footer.rows)
    stored = {name: field.name for file in opened for name, field in file.fields.items()}
    used_names = set(stored.values())
    # A column that no file has needs a name that no file uses.
    free = (name for name in map("missing {}".format, itertools.count()) if name not in used_names)
    in_files = tuple(stored[name] if name in stored else next(free) for name in names)
    return Manifest(types, entries, root, tuple(names), has_key=False, column_names_in_files=in_files)
