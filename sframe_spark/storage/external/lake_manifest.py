"""Manifests of lake table snapshots: columns of the table's schema, checked against each file's footer.

The log is not trusted: paths stay inside the table, and sizes and numbers of rows are those of the files.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence

import attrs
import pyarrow as pa

from sframe_spark.errors import SchemaError, StorageError
from sframe_spark.message_text import visible
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.local_files import Seen, wait_for_tick
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.statistics import Scalar
from sframe_spark.storage.parquet.footer import Footer, footer_of, statistics_in_footer
from sframe_spark.storage.segments.partition_columns import facts_of
from sframe_spark.types import DATETIME, ColumnType, common_encoding
from sframe_spark.values.from_arrow import arrow_column_type, normalize, warn_of_decimal_types
from sframe_spark.values.input_values import require_known_extensions

FIELD_ID = b"PARQUET:field_id"
# Field metadata: the column's name in the files, where it differs.
STORED_NAME = b"sframe:stored_name"


@attrs.frozen
class LakeFile:
    """A file of a snapshot, as the log describes it.

    Parameters
    ----------
    inside
        Path below the directory of the table.
    size
        Length in bytes.
    rows
        How many rows it has; None where the log does not say.
    constants
        Columns, by name, with one value in all rows, even if the file has them.
    defaults
        Columns, by name, with one value in all rows if the file lacks them; without a default they are missing there.
    never_missing
        Columns, by name, that the file must have, and why.
    """

    inside: str
    size: int
    rows: int | None
    constants: Mapping[str, Scalar] = {}
    defaults: Mapping[str, Scalar] = {}
    never_missing: Mapping[str, str] = {}


@attrs.frozen
class _Read:
    """A file with its footer, and its fields by the table's column names."""

    file: LakeFile
    path: str
    footer: Footer
    fields: Mapping[str, pa.Field]


def manifests_of_lake(root: str, schema: pa.Schema, files: Sequence[LakeFile], snapshot: str, by_id: bool = False) -> list[Manifest]:
    """Return manifests of a snapshot's files in order; a new one starts where files name columns differently.

    Parameters
    ----------
    root
        Directory of the table.
    schema
        Columns of the table; ``STORED_NAME`` in the metadata of one says what files call it.
    files
        The files in row order.
    snapshot
        What messages call the snapshot.
    by_id
        Whether columns are those with the same field number (``FIELD_ID`` in the metadata of a field), not with the same name.

    Raises
    ------
    StorageError
        If a file is missing, outside the table or not as the log says, or if it stores a column otherwise than the table has it.
    SchemaError
        If a column is of a type that no column can have.
    """
    if files and not schema.names:
        raise StorageError(f"{snapshot} of the table {visible(root)} has files but no columns: its log is damaged; restore it from a copy")
    _require_named_once(files, root)
    paths = [_path_of(root, file, snapshot) for file in files]
    with translate_os_errors("read", root):
        wait_for_tick(paths)
    read = [_read(file, path, schema, by_id) for file, path in zip(files, paths, strict=True)]
    types = tuple(_type_of(field, read, by_id) for field in schema)
    warn_of_decimal_types((field.name, field.type) for field in schema)
    return [_manifest(root, group, schema.names, types) for group in _called_alike(read)]


def constants_of(name: str, values: pa.Array) -> list[Scalar]:
    """Return the values of a column, one for each file, as statistics have them.

    Raises
    ------
    SchemaError
        If they are of a type that is not supported for a column that files do not have.

    Examples
    --------
    >>> import datetime
    >>> constants_of("day", pa.array([datetime.date(1970, 1, 2), None]))
    [86400000000, None]
    """
    column_type = arrow_column_type(values.type)
    if values.null_count == len(values):
        return [None] * len(values)
    # Logs hold bytes as escaped text, in an unspecified way.
    is_bytes = pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type) or pa.types.is_binary_view(values.type)
    if is_bytes or column_type.is_zoned or column_type.is_encoded or pa.types.is_nested(column_type.physical):
        raise SchemaError(f"the table is partitioned by column {visible(name)!r}, of Arrow {values.type}: read it with Spark, SFrame(spark.read...)")
    try:
        plain = normalize(values)[0]
    except SchemaError as error:
        raise SchemaError(f"column {visible(name)!r}, which the table is partitioned by: {error}") from None
    found: list[Scalar] = (plain.cast(pa.int64()) if column_type == DATETIME else plain).to_pylist()
    return found


def path_inside(root: str, inside: str) -> str:
    """Return the path of a file below a directory.

    Raises
    ------
    StorageError
        If it would be remote.

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


def _path_of(root: str, file: LakeFile, snapshot: str) -> str:
    path = path_inside(root, file.inside)
    if not os.path.lexists(path):
        raise StorageError(f"{visible(path)} is missing, which {snapshot} of the table needs: it may be vacuumed or expired; read a later one")
    return path


def _require_named_once(files: Sequence[LakeFile], root: str) -> None:
    seen: set[str] = set()
    for file in files:
        if file.inside in seen:
            raise StorageError(f"the table {visible(root)} names the file {visible(file.inside)!r} twice: its log is damaged")
        seen.add(file.inside)


def _read(file: LakeFile, path: str, schema: pa.Schema, by_id: bool) -> _Read:
    footer = footer_of(path)
    for what, said, found in (("bytes", file.size, footer.size), ("rows", file.rows, footer.rows)):
        if said is not None and said != found:
            raise StorageError(
                f"{visible(path)} has {found} {what}, the log of the table says {said}: one of them is damaged; restore it from a copy"
            )
    in_file: dict[object, list[pa.Field]] = {}
    for field in footer.schema:
        in_file.setdefault(_id_of(field) if by_id else field.name, []).append(field)
    if by_id and None in in_file:
        raise StorageError(f"{visible(path)} has columns without field numbers, so which of the table's they are is unknown: read it with Spark")
    folded = {str(name).casefold() for name in in_file}
    fields = {}
    for field in schema:
        found_fields = in_file.get(_id_of(field) if by_id else stored_name(field), [])
        if field.name in file.constants:
            continue
        if len(found_fields) > 1:
            raise StorageError(f"{visible(path)} has several columns {visible(field.name)!r}: it is damaged")
        if found_fields:
            fields[field.name] = found_fields[0]
        elif field.name in file.defaults:
            continue
        elif field.name in file.never_missing:
            raise StorageError(f"{visible(path)} has no column {visible(field.name)!r}: {file.never_missing[field.name]}; read the table with Spark")
        elif not by_id and stored_name(field).casefold() in folded:
            raise StorageError(f"{visible(path)} has column {visible(field.name)!r} with other capitals than the table: read it with Spark")
        elif not field.nullable:
            raise StorageError(f"{visible(path)} has no column {visible(field.name)!r}, which misses no value in the table: one of them is damaged")
    return _Read(file, path, footer, fields)


def stored_name(field: pa.Field) -> str:
    """Return what files call a column of a table, or a part of one."""
    stored: bytes | None = (field.metadata or {}).get(STORED_NAME)
    return str(field.name) if stored is None else stored.decode()


def _id_of(field: pa.Field) -> bytes | None:
    found: bytes | None = (field.metadata or {}).get(FIELD_ID)
    return found


def _type_of(field: pa.Field, read: Sequence[_Read], by_id: bool) -> ColumnType:
    """Return the type of a column of the table, which all files must be able to give."""
    try:
        required = arrow_column_type(field.type)
    except SchemaError as error:
        raise SchemaError(f"column {visible(field.name)!r} of the table: {error}") from error
    having = [one for one in read if field.name in one.fields]
    if required.is_zoned and having and all(_is_int96_without_zone(one, field.name) for one in having):
        # UTC instants not marked as such in the files; `read_parquet` gives the same type.
        return DATETIME
    for one in having:
        found = one.fields[field.name]
        try:
            require_known_extensions(found)
        except SchemaError as error:
            raise SchemaError(f"column {visible(field.name)!r} of {visible(one.path)}: {error}") from None
        if found.name in one.footer.refused:
            raise SchemaError(f"column {visible(field.name)!r} of {visible(one.path)}: {one.footer.refused[found.name]}")
        if not _same_shape(field, found, by_id) or not _gives(found.type, required):
            raise StorageError(
                f"column {visible(field.name)!r} is {field.type} in the table but {found.type} in {visible(one.path)}: "
                "have its files rewritten, or read it with Spark, SFrame(spark.read...)"
            )
    return required


def _gives(found: pa.DataType, required: ColumnType) -> bool:
    """Return whether values of an Arrow type can be read as those of a column without change."""
    try:
        stored = arrow_column_type(found)
        return stored == required or (not required.is_zoned and common_encoding(stored, required) == required)
    except (SchemaError, TypeError):
        return False


def _is_int96_without_zone(one: _Read, name: str) -> bool:
    """Return whether a column is INT96 in a file that Spark did not write: only then is the zone UTC by the table."""
    stored = one.fields[name].name
    place = one.footer.places.get(stored)
    return stored not in one.footer.meant and place is not None and one.footer.metadata.schema.column(place).physical_type == "INT96"


def _same_shape(required: pa.Field, found: pa.Field, by_id: bool) -> bool:
    """Return whether two fields have the same structure: a struct with other fields would be read as another dict."""
    if by_id and _id_of(required) != _id_of(found):
        return False
    left, right = required.type, found.type
    if isinstance(left, pa.BaseExtensionType) or isinstance(right, pa.BaseExtensionType):
        return bool(left == right)
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        # Nested fields are found by their names in the files.
        names = [(field.name, stored_name(field)) for field in left] == [(field.name, field.name) for field in right]
        return names and all(_same_shape(*fields, by_id) for fields in zip(left, right, strict=True))
    if pa.types.is_map(left) and pa.types.is_map(right):
        pairs = (left.key_field, right.key_field), (left.item_field, right.item_field)
        return all(_same_shape(*fields, by_id) for fields in pairs)
    if hasattr(left, "value_field") and hasattr(right, "value_field"):
        return _same_shape(left.value_field, right.value_field, by_id)
    return pa.types.is_nested(left) == pa.types.is_nested(right)


def _entry(number: int, one: _Read, names: Sequence[str], types: Sequence[ColumnType]) -> SegmentEntry:
    rows = one.footer.rows
    known_values = {**one.file.defaults, **one.file.constants}
    constants = {place: known_values.get(name) for place, name in enumerate(names) if name not in one.fields}
    facts = tuple(
        facts_of(constants[place], rows) if place in constants else statistics_in_footer(one.footer, one.fields[name].name, types[place])
        for place, name in enumerate(names)
    )
    seen = Seen(one.footer.identity[1], one.footer.tail)
    return SegmentEntry(one.file.inside, number, rows, facts, size=one.footer.size, seen=seen, constants=tuple(constants.items()))


def _called_alike(read: Sequence[_Read]) -> list[list[_Read]]:
    """Group consecutive files in which columns and names correspond one to one; at least one group."""
    groups: list[list[_Read]] = [[]]
    stored: dict[str, str] = {}
    column_of: dict[str, str] = {}
    for one in read:
        called = {name: field.name for name, field in one.fields.items()}
        if any(stored.get(name, found) != found or column_of.get(found, name) != name for name, found in called.items()):
            groups.append([])
            stored, column_of = {}, {}
        groups[-1].append(one)
        stored.update(called)
        column_of.update((found, name) for name, found in called.items())
    return groups


def _manifest(root: str, read: Sequence[_Read], names: Sequence[str], types: tuple[ColumnType, ...]) -> Manifest:
    entries = tuple(_entry(number, one, names, types) for number, one in enumerate(read) if one.footer.rows)
    found = {name: field.name for one in read for name, field in one.fields.items()}
    used_names = set(found.values())
    # A column that no file has needs a name that no file uses.
    free = (name for name in map("missing {}".format, itertools.count()) if name not in used_names)
    in_files = tuple(found[name] if name in found else next(free) for name in names)
    return Manifest(types, entries, root, tuple(names), has_key=False, column_names_in_files=in_files)
