"""Opens local Delta tables without a JVM: the library `deltalake` reads the log, and this package reads the Parquet files."""

from __future__ import annotations

import contextlib
import os
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError, MissingPathError, StorageError, UnsupportedOperationError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import normalised, scheme_of
from sframe_spark.storage.external.lake_snapshot_files_to_manifests import FIELD_ID, STORED_NAME, LakeFile, constants_of, manifests_of_lake
from sframe_spark.storage.external.parquet_footers_to_manifest import natural_sort_key
from sframe_spark.storage.filesystem.input_files import text_of
from sframe_spark.storage.manifest.manifest import Manifest

INSTALL = "pip install 'sframe_spark[delta]'"
WITH_SPARK = "read it with Spark, SFrame(spark.read.format('delta').load(...)), or have its files rewritten without it"
# Table features with which the rows of the files are those of the table; deletion vectors are checked separately.
_HARMLESS = frozenset(
    {"columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint", "vacuumProtocolCheck"}
)
MAPPING, PHYSICAL_NAME, COLUMN_NUMBER = "delta.columnMapping.mode", b"delta.columnMapping.physicalName", b"delta.columnMapping.id"
_NEWEST_READER = 3


def delta_manifests(path: Any, version: int | None = None) -> list[Manifest]:
    """Return manifests for a version of a Delta table, for the newest one if ``version`` is None.

    Files are ordered by the modification time in the log, and then by name.

    Raises
    ------
    StorageError
        If the table or the version does not exist, the log cannot be read, or the files do not agree with it.
    UnsupportedOperationError
        If the library is not installed, the table is not local, or it uses features that are not supported.
    InvalidArgumentError
        If ``version`` is not a version number.
    """
    root = _directory_of(path)
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or not 0 <= version < 1 << 63):
        raise InvalidArgumentError(f"version must be the number of a version, not negative, got {version!r:.80}")
    table = _open(root, version)
    with _translate_errors(root):
        schema, actions = pa.schema(table.schema().to_arrow()), pa.table(table.get_add_actions(flatten=True))
        partitions = list(table.metadata().partition_columns)
        mapping = table.metadata().configuration.get(MAPPING, "none")
        snapshot = f"version {table.version()}"
    _refuse_features(root, table, mapping)
    fields = [_as_in_files(field, mapping) for field in schema]
    return manifests_of_lake(root, pa.schema(fields), _files(root, actions, partitions), snapshot, by_id=mapping == "id")


def _as_in_files(field: pa.Field, mapping: str) -> pa.Field:
    """Return a field whose metadata has only the name or number of the column in the files of the table."""
    metadata = field.metadata or {}
    keys = {"name": (STORED_NAME, PHYSICAL_NAME), "id": (FIELD_ID, COLUMN_NUMBER)}.get(mapping)
    stored_as = {keys[0]: metadata[keys[1]]} if keys is not None and keys[1] in metadata else None
    return field.with_type(_type_as_in_files(field.type, mapping)).with_metadata(stored_as)


def _type_as_in_files(data_type: pa.DataType, mapping: str) -> pa.DataType:
    if isinstance(data_type, pa.BaseExtensionType):
        return data_type
    if pa.types.is_struct(data_type):
        return pa.struct([_as_in_files(field, mapping) for field in data_type])
    if pa.types.is_map(data_type):
        return pa.map_(_as_in_files(data_type.key_field, mapping), _as_in_files(data_type.item_field, mapping))
    if pa.types.is_list(data_type):
        return pa.list_(_as_in_files(data_type.value_field, mapping))
    return data_type


def _directory_of(path: Any) -> str:
    text = text_of(path)
    if scheme_of(text) not in (None, "file"):
        raise UnsupportedOperationError(
            f"{visible(text)} is not on this machine, and Delta tables can only be read without Spark from local files: {WITH_SPARK}"
        )
    root = normalised(text)
    real = os.path.realpath(root)
    if os.path.isfile(real):
        raise StorageError(f"{visible(root)} is a file; a Delta table is a directory")
    if urllib.parse.unquote(real) != real or "\\" in real:
        # The library decodes escapes and backslashes, and would read the log of another directory.
        raise UnsupportedOperationError(
            f"the name {visible(real)} contains per cent signs or backslashes, which the library deltalake misinterprets: rename it"
        )
    return root


def _open(root: str, version: int | None) -> Any:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError
    except ImportError:
        raise UnsupportedOperationError(f"reading Delta tables needs the library deltalake: {INSTALL}") from None
    try:
        with _translate_errors(root):
            newest = DeltaTable(root)
    except StorageError as error:
        if isinstance(error.__cause__, TableNotFoundError):
            raise MissingPathError(f"there is no Delta table in {visible(root)}: check the path") from None
        if version is None:
            raise
    else:
        if version is None or newest.version() == version:
            return newest
        if version > newest.version():
            raise StorageError(f"the Delta table {visible(root)} has no version {version}: its newest is {newest.version()}")
    try:
        with _translate_errors(root):
            return DeltaTable(root, version=version)
    except StorageError as error:
        raise StorageError(f"version {version} cannot be read, maybe because its log was cleaned up: read a later one; {error}") from None


@contextlib.contextmanager
def _translate_errors(root: str) -> Iterator[None]:
    """Translate all errors of the library in the ``with`` block, many of which have no specific class, into a StorageError."""
    try:
        yield
    except (MemoryError, StorageError):
        raise
    except BaseException as error:
        # The class of panics of the library is derived from BaseException.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise StorageError(f"the log of the Delta table {visible(root)} cannot be read: {_first_line(error)}") from error


def _refuse_features(root: str, table: Any, mapping: str) -> None:
    """Raise if a table uses features that are not supported, because its rows may not be those of its files."""
    with _translate_errors(root):
        protocol = table.protocol()
    reason = None
    unknown = sorted(set(protocol.reader_features or ()) - _HARMLESS)
    if protocol.min_reader_version > _NEWEST_READER:
        reason = f"reader version {protocol.min_reader_version}, which is not known here"
    elif unknown:
        reason = f"the feature {visible(unknown[0])!r}, which is not known here"
    elif mapping != "none" and protocol.min_reader_version != 2 and "columnMapping" not in (protocol.reader_features or ()):
        reason = "columnMapping in its configuration but not in its protocol, so it is unclear which applies"
    elif mapping not in ("none", "name", "id"):
        reason = f"columnMapping by {visible(mapping)!r}, which is not known here"
    else:
        reason = _deletion_vectors(table)
    if reason is not None:
        raise UnsupportedOperationError(f"the Delta table {visible(root)} uses {reason}; {WITH_SPARK}")


def _deletion_vectors(table: Any) -> str | None:
    """Return a text that says that a table has deletion vectors, or may have some, as the library cannot read them; None if it has none."""
    try:
        has_vectors = any(pa.record_batch(batch).num_rows for batch in table.deletion_vectors())
    except Exception as error:
        return f"deletion vectors, or what it says of files cannot be read ({_first_line(error)})"
    return "deletion vectors: its files have rows that were deleted" if has_vectors else None


def _first_line(error: BaseException) -> str:
    """Return the first line of the message of an error, without the call stack that the library adds."""
    return visible(str(error).partition("\n")[0])[:400]


def _files(root: str, actions: pa.Table, partitions: list[str]) -> list[LakeFile]:
    """Return the files of a table in row order, from the table of its files that the library returns."""
    if not actions.num_rows:
        return []
    columns = {name: constants_of(name, _column(root, actions, f"partition.{name}")) for name in partitions}
    paths, sizes, times = (_column(root, actions, name).to_pylist() for name in ("path", "size_bytes", "modification_time"))
    rows = _column(root, actions, "num_records").to_pylist() if "num_records" in actions.column_names else [None] * len(paths)
    order = sorted(range(len(paths)), key=lambda index: (times[index], natural_sort_key(paths[index])))
    return [
        LakeFile(_unquoted(root, paths[index]), sizes[index], rows[index], {name: values[index] for name, values in columns.items()})
        for index in order
    ]


def _column(root: str, actions: pa.Table, name: str) -> pa.Array:
    if actions.column_names.count(name) != 1:
        raise StorageError(f"the log of the Delta table {visible(root)} does not say {visible(name)!r} of its files: it is damaged")
    return actions.column(name).combine_chunks()


def _unquoted(root: str, path: str) -> str:
    """Return the path of a file of the table from its relative URL in the log."""
    if urllib.parse.urlsplit(path).scheme:
        raise StorageError(
            f"the Delta table {visible(root)} has a file {visible(path)!r} that is not inside its directory (a shallow clone?): {WITH_SPARK}"
        )
    try:
        return urllib.parse.unquote(path, errors="strict")
    except UnicodeDecodeError:
        raise StorageError(f"the Delta table {visible(root)} has a file {visible(path)!r} whose name is not text in UTF-8") from None
