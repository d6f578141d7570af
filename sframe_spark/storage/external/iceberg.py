"""Opens local Iceberg tables without a JVM: the library `pyiceberg` reads the metadata, and this package reads the Parquet files."""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from sframe_spark.errors import InvalidArgumentError, MissingPathError, SchemaError, SFrameError, StorageError, UnsupportedOperationError
from sframe_spark.message_text import visible
from sframe_spark.paths_and_uris import normalised, scheme_of
from sframe_spark.storage.external.lake_snapshot_files_to_manifests import LakeFile, constants_of, manifests_of_lake, path_inside
from sframe_spark.storage.external.parquet_footers_to_manifest import natural_sort_key
from sframe_spark.storage.filesystem.input_files import text_of
from sframe_spark.storage.filesystem.local_files import require_file
from sframe_spark.storage.manifest.column_statistics import Scalar
from sframe_spark.storage.manifest.manifest import Manifest

INSTALL = "pip install 'sframe_spark[iceberg]'"
WITH_SPARK = "read it with Spark, SFrame(spark.read.format('iceberg').load(...)), or have its files rewritten"
COMPRESSED = ".gz.metadata.json"
# A limit on decompressed metadata, since a small compressed file may expand to any size.
MAX_METADATA = 256 << 20


def iceberg_manifests(table: Any, snapshot_id: int | None = None) -> list[Manifest]:
    """Return manifests for a snapshot of an Iceberg table, for the current one if ``snapshot_id`` is None.

    Files are ordered by the sequence numbers with which they were added, and then by name.

    Raises
    ------
    StorageError
        If the table or the snapshot does not exist, the metadata cannot be read, or the files do not agree with it.
    UnsupportedOperationError
        If the library is not installed, the table is not local, or its files have rows that were deleted.
    SchemaError
        If ``table`` is neither a table of pyiceberg nor a path, or the type of a column is not supported.
    InvalidArgumentError
        If ``snapshot_id`` is not a number.
    """
    try:
        from pyiceberg.io.pyarrow import schema_to_pyarrow
    except ImportError:
        raise UnsupportedOperationError(f"reading Iceberg tables needs the library pyiceberg: {INSTALL}") from None
    if snapshot_id is not None and (isinstance(snapshot_id, bool) or not isinstance(snapshot_id, int)):
        raise InvalidArgumentError(f"snapshot_id must be the number of a snapshot, got {snapshot_id!r:.80}")
    opened = _table_of(table)
    # The directory above that of the metadata file, which the user named. The location in the metadata is not trusted.
    root = os.path.dirname(os.path.dirname(_local(opened.metadata_location)))
    with _translate_errors(root):
        snapshot = opened.current_snapshot() if snapshot_id is None else opened.snapshot_by_id(snapshot_id)
        if snapshot_id is not None and snapshot is None:
            latest = ", ".join(str(snapshot.snapshot_id) for snapshot in opened.snapshots()[-5:]) or "it has none"
            raise StorageError(f"the Iceberg table {visible(root)} has no snapshot {snapshot_id}: the last ones are {latest}")
        if snapshot is not None:
            ages = _sequence_numbers(root, opened, snapshot)
        # The projection has the columns that the table had at the time of the snapshot.
        scan = opened.scan(snapshot_id=snapshot_id)
        current = scan.projection()
        schema = schema_to_pyarrow(current)
        files = [] if snapshot is None else _files(root, opened, current, schema, ages, list(scan.plan_files()))
    return manifests_of_lake(root, schema, files, f"snapshot {snapshot.snapshot_id}" if snapshot else "the table", by_id=True)


def _table_of(table: Any) -> Any:
    """Return a table of pyiceberg, given as such or by the path of its metadata file."""
    from pyiceberg.table import Table

    if isinstance(table, Table):
        return table
    if not isinstance(table, (str, os.PathLike)):
        raise SchemaError(f"a table of pyiceberg, or the path of its metadata file, is needed, got {type(table).__name__}")
    text = text_of(table)
    location = normalised(text) if scheme_of(text) is None else _local(text)
    if not os.path.lexists(location):
        raise MissingPathError(f"there is no file {visible(location)}: check the path; for a table in a catalog pass catalog.load_table(...)")
    if os.path.isdir(location):
        raise StorageError(f"{visible(location)} is a directory: give the newest file below its metadata, .../metadata/00001-....metadata.json")
    require_file(location)
    with _translate_errors(location):
        return _static_table(location)


def _static_table(location: str) -> Any:
    """Return the table that a metadata file describes. Its files are opened by pyiceberg's own class for files.

    `StaticTable.from_metadata` is not used, since it imports and calls the class that the metadata names for this (`py-io-impl`), whatever it is.
    """
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.table import StaticTable
    from pyiceberg.table.metadata import TableMetadataUtil

    with gzip.open(location) if location.endswith(COMPRESSED) else open(location, "rb") as file:
        content = file.read(MAX_METADATA + 1)
    if len(content) > MAX_METADATA:
        raise StorageError(f"{visible(location)} has more than {MAX_METADATA >> 20} MB of metadata, so it is not read")
    text = content.decode("utf-8")
    try:
        metadata = TableMetadataUtil.parse_raw(text)
    except MemoryError:
        raise
    except Exception:
        # The library's message would quote the content of the file.
        reason = "holds no metadata of an Iceberg table, or of a version that pyiceberg does not know: give the newest such file"
        raise StorageError(f"{visible(location)} {reason}") from None
    return StaticTable(("static-table", location), metadata, location, PyArrowFileIO(), NoopCatalog("static-table"))


def _local(location: str) -> str:
    if scheme_of(location) not in (None, "file"):
        raise UnsupportedOperationError(f"{visible(location)} is not on this machine, where Iceberg tables are read without Spark: {WITH_SPARK}")
    # In the metadata, file URIs are paths with `file://` before them, without escapes.
    return normalised(location.removeprefix("file://") if location.startswith("file:///") else location)


@contextlib.contextmanager
def _translate_errors(root: str) -> Iterator[None]:
    """Translate all errors of the library in the ``with`` block, many of which have no specific class, into a StorageError."""
    try:
        yield
    except (MemoryError, SFrameError):
        raise
    except Exception as error:
        raise StorageError(f"the metadata of the Iceberg table {visible(root)} cannot be read: {visible(str(error))[:400]}") from error


def _sequence_numbers(root: str, table: Any, snapshot: Any) -> dict[str, int]:
    """Return the sequence number of each data file by its location, after checks that the library does not make.

    The library would open files outside of the table, and does not notice that a list of files was truncated.
    """
    from pyiceberg.manifest import DataFileContent, ManifestContent

    _inside(root, snapshot.manifest_list)
    ages: dict[str, int] = {}
    counts = {"total-data-files": 0, "total-delete-files": 0}
    for manifest in snapshot.manifests(table.io):
        path, expected = os.path.join(root, _inside(root, manifest.manifest_path)), manifest.manifest_length
        if (size := os.path.getsize(path)) != expected:
            raise StorageError(
                f"{visible(path)} has {size} bytes, the list of manifests says {expected}: one of them is damaged; restore it from a copy"
            )
        entries = manifest.fetch_manifest_entry(table.io)
        counts["total-data-files" if manifest.content == ManifestContent.DATA else "total-delete-files"] += len(entries)
        if any(entry.data_file.content == DataFileContent.EQUALITY_DELETES for entry in entries):
            raise _has_delete_files(root)
        # In format 1, files have no numbers. They come before those of format 2.
        ages.update((entry.data_file.file_path, -1 if entry.sequence_number is None else entry.sequence_number) for entry in entries)
    for name, count in counts.items():
        expected = snapshot.summary[name] if snapshot.summary else None
        if expected is not None and expected != str(count):
            raise StorageError(
                f"snapshot {snapshot.snapshot_id} of the Iceberg table {visible(root)} has {visible(str(expected))[:80]} files by its summary "
                f"({name}), its manifests name {count}: one of them is damaged; restore it from a copy, or {WITH_SPARK}"
            )
    return ages


def _has_delete_files(root: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(f"the Iceberg table {visible(root)} has delete files: its files have rows that were deleted; {WITH_SPARK}")


def _files(root: str, table: Any, current: Any, schema: pa.Schema, ages: Mapping[str, int], tasks: list[Any]) -> list[LakeFile]:
    """Return the files of scan tasks in row order."""
    # The values of columns in files that were written before the columns were added, if such values are supported.
    defaults: dict[str, Scalar] = {}
    with_default = [field for field in current.fields if getattr(field, "initial_default", None) is not None]
    for field in with_default:
        data_type = schema.field(field.name).type
        with contextlib.suppress(SchemaError):
            defaults[field.name] = constants_of(field.name, pa.array([pa.scalar(field.initial_default, data_type)], data_type))[0]
    unsupported = {field.name: "it has a default value for rows of before" for field in with_default if field.name not in defaults}
    # For each partition spec, the columns that must be in its files, with the reason.
    required = {}
    for spec_id, spec in table.specs().items():
        partitioned = {field.source_id for field in spec.fields if str(field.transform) == "identity"}
        in_partitions = {field.name: "its value is in the partition alone" for field in current.fields if field.field_id in partitioned}
        required[spec_id] = unsupported | in_partitions
    files = []
    for task in sorted(tasks, key=lambda task: (ages[task.file.file_path], natural_sort_key(task.file.file_path))):
        file = task.file
        if task.delete_files:
            raise _has_delete_files(root)
        if file.file_format.name != "PARQUET":
            raise UnsupportedOperationError(f"the Iceberg table {visible(root)} has files of format {file.file_format.name}: {WITH_SPARK}")
        never_missing = required[file.spec_id]
        fallbacks = {name: value for name, value in defaults.items() if name not in never_missing}
        files.append(LakeFile(_inside(root, file.file_path), file.file_size_in_bytes, file.record_count, {}, fallbacks, never_missing))
    return files


def _inside(root: str, location: str) -> str:
    """Return the path, relative to the directory of the table, of a file that the metadata names."""
    path = location.removeprefix("file://") if location.startswith("file:///") else location.removeprefix("file:")
    if not path.startswith(os.path.join(root, "")):
        raise StorageError(
            f"the Iceberg table {visible(root)} names a file {visible(location)!r} that is not inside its directory: only such files are read, "
            f"so moved tables and files added from elsewhere are not; {WITH_SPARK}"
        )
    inside = path[len(os.path.join(root, "")) :]
    path_inside(root, inside)
    return inside
