"""Reads local Iceberg tables without a JVM: metadata with the library `pyiceberg`, the files as segments of ours."""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError, SchemaError, SFrameError, StorageError, UnsupportedOperationError
from sframe_spark.locations import normalised, scheme_of
from sframe_spark.message_text import visible
from sframe_spark.storage.external.lake_manifest import LakeFile, constants_of, manifests_of_lake, path_inside
from sframe_spark.storage.external.parquet import natural
from sframe_spark.storage.filesystem.local_files import require_file
from sframe_spark.storage.filesystem.path_resolution import text_of
from sframe_spark.storage.manifest.manifest import Manifest
from sframe_spark.storage.manifest.statistics import Scalar

INSTALL = "pip install 'sframe_spark[iceberg]'"
WITH_SPARK = "read it with Spark, SFrame(spark.read.format('iceberg').load(...)), or have its files rewritten"
COMPRESSED = ".gz.metadata.json"
# A small compressed file can expand without limit.
MAX_METADATA = 256 << 20


def iceberg_manifests(table: Any, snapshot_id: int | None = None) -> list[Manifest]:
    """Return manifests of a snapshot of an Iceberg table, files ordered by when they were added and then by name.

    Raises
    ------
    StorageError
        If there is no such table or snapshot, or its files are not as its metadata says.
    UnsupportedOperationError
        If the library is missing, or the table has rows that are not those of its files.
    SchemaError
        If it is no table.
    """
    try:
        from pyiceberg.io.pyarrow import schema_to_pyarrow
    except ImportError:
        raise UnsupportedOperationError(f"Iceberg tables are read by the library pyiceberg, which is missing: {INSTALL}") from None
    if snapshot_id is not None and (isinstance(snapshot_id, bool) or not isinstance(snapshot_id, int)):
        raise InvalidArgumentError(f"snapshot_id is the number of a snapshot, got {snapshot_id!r:.80}")
    found = _table_of(table)
    root = _root_of(found)
    with _translate_errors(root):
        snapshot = found.current_snapshot() if snapshot_id is None else found.snapshot_by_id(snapshot_id)
        if snapshot_id is not None and snapshot is None:
            known = ", ".join(str(one.snapshot_id) for one in found.snapshots()[-5:]) or "it has none"
            raise StorageError(f"the Iceberg table {visible(root)} has no snapshot {snapshot_id}: the last ones are {known}")
        if snapshot is not None:
            ages = _ages(root, found, snapshot)
        # A snapshot has the columns of its time.
        scan = found.scan(snapshot_id=snapshot_id)
        current = scan.projection()
        schema = schema_to_pyarrow(current)
        files = [] if snapshot is None else _files(root, found, current, schema, ages, list(scan.plan_files()))
    return manifests_of_lake(root, schema, files, f"snapshot {snapshot.snapshot_id}" if snapshot else "the table", by_id=True)


def _table_of(table: Any) -> Any:
    from pyiceberg.table import Table

    if isinstance(table, Table):
        return table
    if not isinstance(table, (str, os.PathLike)):
        raise SchemaError(f"a table of pyiceberg, or the path of its metadata file, is needed, got {type(table).__name__}")
    text = text_of(table)
    location = normalised(text) if scheme_of(text) is None else _local(text)
    if not os.path.lexists(location):
        raise StorageError(f"there is no file {visible(location)}: check the path; of a table in a catalog give catalog.load_table(...)")
    if os.path.isdir(location):
        raise StorageError(f"{visible(location)} is a directory: give the newest file below its metadata, .../metadata/00001-....metadata.json")
    require_file(location)
    with _translate_errors(location):
        return _static_table(location)


def _static_table(location: str) -> Any:
    """Return the table that a metadata file describes, with the library's own file access.

    Not by `StaticTable.from_metadata`, which imports and calls whatever class the metadata names for that (`py-io-impl`).
    """
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.table import StaticTable
    from pyiceberg.table.metadata import TableMetadataUtil

    text = _text_of_metadata(location)
    try:
        metadata = TableMetadataUtil.parse_raw(text)
    except MemoryError:
        raise
    except Exception:
        # The library's message would quote the content of the file.
        reason = "holds no metadata of an Iceberg table, or of a version that pyiceberg does not know: give the newest such file"
        raise StorageError(f"{visible(location)} {reason}") from None
    return StaticTable(("static-table", location), metadata, location, PyArrowFileIO(), NoopCatalog("static-table"))


def _text_of_metadata(location: str) -> str:
    with gzip.open(location) if location.endswith(COMPRESSED) else open(location, "rb") as file:
        content = file.read(MAX_METADATA + 1)
    if len(content) > MAX_METADATA:
        raise StorageError(f"{visible(location)} has more than {MAX_METADATA >> 20} MB of metadata, so it is not read")
    return content.decode("utf-8")


def _root_of(table: Any) -> str:
    """Return the directory above that of the metadata file, which the user named; the location in the metadata is not trusted."""
    return os.path.dirname(os.path.dirname(_local(table.metadata_location)))


def _local(location: str) -> str:
    if scheme_of(location) not in (None, "file"):
        raise UnsupportedOperationError(f"{visible(location)} is not on this machine, where Iceberg tables are read without Spark: {WITH_SPARK}")
    # What metadata calls a file is a path with `file://` before it, in which per cent signs are per cent signs.
    return normalised(location.removeprefix("file://") if location.startswith("file:///") else location)


@contextlib.contextmanager
def _translate_errors(root: str) -> Iterator[None]:
    """Translate the library's errors; many of them have no class of their own."""
    try:
        yield
    except (MemoryError, SFrameError):
        raise
    except Exception as error:
        raise StorageError(f"the metadata of the Iceberg table {visible(root)} cannot be read: {visible(str(error))[:400]}") from error


def _ages(root: str, table: Any, snapshot: Any) -> dict[str, int]:
    """Return the sequence number of each data file by its location, checking what the library does not check.

    The library would open files outside the table, and takes the end of a truncated list for its end.
    """
    from pyiceberg.manifest import DataFileContent, ManifestContent

    _inside(root, snapshot.manifest_list)
    manifests = snapshot.manifests(table.io)
    ages: dict[str, int] = {}
    counts = {"total-data-files": 0, "total-delete-files": 0}
    for manifest in manifests:
        _require_length(os.path.join(root, _inside(root, manifest.manifest_path)), manifest.manifest_length)
        entries = manifest.fetch_manifest_entry(table.io)
        counts["total-data-files" if manifest.content == ManifestContent.DATA else "total-delete-files"] += len(entries)
        if any(entry.data_file.content == DataFileContent.EQUALITY_DELETES for entry in entries):
            raise _has_delete_files(root)
        # Format 1 numbers nothing: its files come before those of format 2.
        ages.update((entry.data_file.file_path, -1 if entry.sequence_number is None else entry.sequence_number) for entry in entries)
    for name, found in counts.items():
        said = snapshot.summary[name] if snapshot.summary else None
        if said is not None and said != str(found):
            raise StorageError(
                f"snapshot {snapshot.snapshot_id} of the Iceberg table {visible(root)} has {visible(str(said))[:80]} files by its summary "
                f"({name}), its manifests name {found}: one of them is damaged; restore it from a copy, or {WITH_SPARK}"
            )
    return ages


def _require_length(path: str, said: int) -> None:
    found = os.path.getsize(path)
    if found != said:
        raise StorageError(f"{visible(path)} has {found} bytes, the list of manifests says {said}: one of them is damaged; restore it from a copy")


def _has_delete_files(root: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(f"the Iceberg table {visible(root)} has delete files: its files have rows that were deleted; {WITH_SPARK}")


def _files(root: str, table: Any, current: Any, schema: pa.Schema, ages: Mapping[str, int], tasks: list[Any]) -> list[LakeFile]:
    defaults = _defaults(current, schema)
    never_missing = {spec_id: _never_missing(spec, current, defaults) for spec_id, spec in table.specs().items()}
    found = []
    for task in sorted(tasks, key=lambda task: (ages[task.file.file_path], natural(task.file.file_path))):
        file = task.file
        if task.delete_files:
            raise _has_delete_files(root)
        if file.file_format.name != "PARQUET":
            raise UnsupportedOperationError(f"the Iceberg table {visible(root)} has files of format {file.file_format.name}: {WITH_SPARK}")
        inside, missing = _inside(root, file.file_path), never_missing[file.spec_id]
        found.append(
            LakeFile(
                inside,
                file.file_size_in_bytes,
                file.record_count,
                {},
                {name: value for name, value in defaults.items() if name not in missing},
                missing,
            )
        )
    return found


def _defaults(current: Any, schema: pa.Schema) -> dict[str, Scalar]:
    """The default values of columns in files that were written before the columns were added."""
    found = {}
    for field in _with_default(current):
        data_type = schema.field(field.name).type
        with contextlib.suppress(SchemaError):
            found[field.name] = constants_of(field.name, pa.array([pa.scalar(field.initial_default, data_type)], data_type))[0]
    return found


def _with_default(current: Any) -> list[Any]:
    return [field for field in current.fields if getattr(field, "initial_default", None) is not None]


def _never_missing(spec: Any, current: Any, defaults: Mapping[str, Scalar]) -> dict[str, str]:
    """Columns, with the reason, that must not be taken for missing where a file lacks them."""
    found = {field.name: "it has a default value for rows of before" for field in _with_default(current) if field.name not in defaults}
    partitioned = {field.source_id for field in spec.fields if str(field.transform) == "identity"}
    return found | {field.name: "its value is in the partition alone" for field in current.fields if field.field_id in partitioned}


def _inside(root: str, location: str) -> str:
    """Return the path of a file below the table's directory."""
    path = location.removeprefix("file://") if location.startswith("file:///") else location.removeprefix("file:")
    if not path.startswith(os.path.join(root, "")):
        raise StorageError(
            f"the Iceberg table {visible(root)} names a file {visible(location)!r} that is not inside its directory: only such files are read, "
            f"so moved tables and files added from elsewhere are not; {WITH_SPARK}"
        )
    inside = path[len(os.path.join(root, "")) :]
    path_inside(root, inside)
    return inside
