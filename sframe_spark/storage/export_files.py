"""Writes files for exports: Parquet or ORC parts, one per task, and text files, which tasks write in parts that are then joined."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import InvalidArgumentError, SFrameError, StorageError, listed
from sframe_spark.paths_and_uris import BUCKETS, is_remote_location
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.process.memory import require_memory_for_file
from sframe_spark.process.temporary_file_leases import Holder, own_hidden_directory, remove_orphans, remove_own
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.datasets.manifest_publication import flush_directory
from sframe_spark.storage.export_directories import Staging, staged_remotely
from sframe_spark.storage.file_writer import FileWriter
from sframe_spark.storage.filesystem import remote_operations
from sframe_spark.storage.filesystem.compression import Compression, new_member, packing_of, require_writable_name
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.filesystem.temporary_datasets import local_directory_for
from sframe_spark.storage.hybrid_calendar import instants_to_hybrid
from sframe_spark.storage.segments.writer import BYTES_PER_GROUP, ROWS_PER_GROUP
from sframe_spark.types import ColumnType
from sframe_spark.values.export_to_arrow_and_json import outgoing, outgoing_type
from sframe_spark.values.invalid_unicode_errors import column_named

# Part files in Parquet or ORC, with the user's column names, and row groups that are limited in rows and bytes.

PARQUET, ORC = "parquet", "orc"


@attrs.frozen
class PartForm:
    """What writes part files, and their columns.

    Parameters
    ----------
    writer
        The class of writers.
    names
        The names of the columns.
    types
        The types of the columns.
    options
        What the user has given for the writers, by name.
    """

    writer: type[FileWriter]
    names: tuple[str, ...]
    types: tuple[ColumnType, ...]
    options: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def columns(self) -> dict[str, ColumnType]:
        """The types of the columns by name."""
        return dict(zip(self.names, self.types, strict=True))

    @property
    def ending(self) -> str:
        """What the names of part files end in, without the dot; the name of the kind of file where it has no suffix of its own."""
        return self.writer.suffixes[0].removeprefix(".") if self.writer.suffixes else self.writer.name

    def opened(self, file: BinaryIO) -> FileWriter:
        """Return a writer to an open file. An unexpected error of a plug-in's class names it."""
        return self.writer(file, self.columns, **self.options)


def schema_of(columns: Mapping[str, ColumnType]) -> pa.Schema:
    """Return the Arrow schema of exported columns."""
    return pa.schema([pa.field(name, outgoing_type(kind)) for name, kind in columns.items()])


def write_part(directory: str, form: PartForm, runs: Iterable[Sequence[pa.Array]]) -> tuple[str, int]:
    """Write batches of rows as one part file; return its path and the number of rows.

    The name of the file is hidden and unique. If an error occurs, the file is removed.
    """
    file = f".part-{uuid.uuid4().hex}.{form.ending}"
    with local_directory_for(directory) as local:
        rows = _write(join(local, file), form, runs)
    return join(directory, file), rows


def _write(location: str, form: PartForm, runs: Iterable[Sequence[pa.Array]]) -> int:
    rows = 0
    try:
        with translate_os_errors("write", location):
            sink = open(location, "xb", buffering=0)  # noqa: SIM115  # closed below
        with sink, form.opened(sink) as writer:
            for table in groups(form, runs):
                raise_if_cancelled()
                require_memory_for_file(location, table.nbytes)
                with translate_os_errors("write", location):
                    writer.write(table)
                rows += table.num_rows
        with translate_os_errors("write", location), open(location, "rb") as written:
            # The rows must be on disk before the directory gets its final name.
            os.fsync(written.fileno())
    except BaseException:
        if os.path.exists(location):
            os.remove(location)
        raise
    return rows


def groups(form: PartForm, runs: Iterable[Sequence[pa.Array]]) -> Iterator[pa.Table]:
    """Yield the rows as tables of one row group each, in their exported types; if there are no rows, one empty table."""
    schema = schema_of(form.columns)
    waiting: list[pa.Table] = []
    rows = size = 0
    is_empty = True
    for run in runs:
        table = pa.table([_outgoing(form, position, array) for position, array in enumerate(run)], schema=schema)
        for start in range(0, table.num_rows, ROWS_PER_GROUP):
            part = table.slice(start, ROWS_PER_GROUP)
            if waiting and (rows + part.num_rows > ROWS_PER_GROUP or size + part.nbytes > BYTES_PER_GROUP):
                yield pa.concat_tables(waiting)
                waiting, rows, size = [], 0, 0
            waiting.append(part)
            rows, size, is_empty = rows + part.num_rows, size + part.nbytes, False
    if waiting or is_empty:
        yield pa.concat_tables(waiting) if waiting else schema.empty_table()


def _outgoing(form: PartForm, position: int, array: pa.Array) -> pa.Array:
    """Return the array of a column in its exported type."""
    name = form.names[position]
    try:
        with column_named(name):
            return form.writer.prepared(outgoing(array, form.types[position]))
    except InvalidArgumentError:
        raise
    except SFrameError as error:
        error.add_note(f"in column {name!r}")
        raise


class ParquetWriter(FileWriter):
    """Writes Parquet files."""

    name: ClassVar[str] = PARQUET
    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)

    def __init__(self, file: BinaryIO, columns: Mapping[str, ColumnType]) -> None:
        super().__init__(file, columns)
        self._writer = pq.ParquetWriter(file, schema_of(columns), compression="snappy")

    def write(self, rows: pa.Table) -> None:
        """Write rows as row groups."""
        self._writer.write_table(rows, row_group_size=ROWS_PER_GROUP)

    def close(self) -> None:
        """Write the footer. After an error, too, so that pyarrow's writer does not write to the removed file later."""
        self._writer.close()


class OrcWriter(FileWriter):
    """Writes ORC files."""

    name: ClassVar[str] = ORC
    suffixes: ClassVar[tuple[str, ...]] = (".orc",)

    def __init__(self, file: BinaryIO, columns: Mapping[str, ColumnType]) -> None:
        from pyarrow import orc

        super().__init__(file, columns)
        self._writer = orc.ORCWriter(file, compression="zstd")

    @classmethod
    def check(cls, columns: Mapping[str, ColumnType], options: Mapping[str, Any]) -> None:
        """Refuse names of columns that ORC readers in Java, such as Spark's, cannot find or confuse with others."""
        if refused := [name for name in columns if not name or "`" in name]:
            raise InvalidArgumentError(
                "Spark, and others that read ORC as it does, cannot read columns whose names are empty or have a backtick in them: "
                f"{listed(refused)}; rename them first, or use write_parquet()"
            )

    @staticmethod
    def prepared(values: pa.Array) -> pa.Array:
        """Convert dates: Arrow writes no calendar to ORC files, so readers assume the hybrid calendar of old versions of Java."""
        return instants_to_hybrid(values) if pa.types.is_timestamp(values.type) else values

    def write(self, rows: pa.Table) -> None:
        """Write rows."""
        self._writer.write(rows)

    def close(self) -> None:
        """Write the footer. After an error, too, so that pyarrow's writer does not write to the removed file later."""
        self._writer.close()


# Text files: tasks write parts, which are joined to one file.

# Directories whose entries are open file descriptors, such as standard output.
DESCRIPTORS = re.compile(r"/dev/fd|/proc/[^/]+(?:/task/[^/]+)?/fd")
MAX_LINKS = 40
# The size of the blocks in which files are copied.
COPY_BYTES = 1 << 20


@contextlib.contextmanager
def staged_text(target: str) -> Iterator[tuple[Staging, list[str]]]:
    """Yield staging directories, and an empty list to which the ``with`` block adds the paths of the parts of a text file, in order.

    When the block ends without an error, the parts are joined to a file that replaces the target. A replaced local file keeps its permissions. If
    the target is a link, the file that it leads to is replaced.

    Raises
    ------
    StorageError
        If the target is not a file, its name ends with that of a format that is not written, or it cannot be written.
    """
    require_writable_name(target)
    parts: list[str] = []
    if is_remote_location(target):
        _require_place_of_file(target)
        with staged_remotely(target) as staging:
            yield staging, parts
            _combine_remotely(parts, staging, target)
    else:
        with _staged_locally(target, parts) as directory:
            yield Staging(directory, directory), parts


@contextlib.contextmanager
def _staged_locally(target: str, parts: list[str]) -> Iterator[str]:
    path = os.path.realpath(target)
    rights, holder, staging = _rights_of_replaced(target), Holder(), None
    _require_no_descriptor(target)
    try:
        with translate_os_errors("write", target):
            remove_orphans(os.path.dirname(path))
            with interrupts_deferred():
                staging = own_hidden_directory(os.path.dirname(path), holder)
            if rights is not None:
                # Users who may not read the target must not read its parts.
                os.chmod(staging, 0o700)
        yield staging
        with translate_os_errors("write", target):
            whole = _joined(parts, packing_of(target))
            if rights is not None:
                os.chmod(whole, rights)
            os.replace(whole, path)
            flush_directory(os.path.dirname(path))
    finally:
        if staging is not None:
            remove_own(staging)


def _require_place_of_file(target: str) -> None:
    """Raise, before rows are computed, if a remote target is a bucket or a directory, or its bucket does not exist.

    Raises
    ------
    StorageError
        In these cases.
    """
    if not target.partition("://")[2].strip("/").partition("/")[2] and target.partition(":")[0] in BUCKETS:
        raise StorageError(f"{target} names a bucket, not a file: add the name of a file")
    entry = remote_operations.remote_entry(target)
    if entry.names:
        raise StorageError(f"{target} is a directory: choose the name of a file")
    # Listing comes first, since it reports a lack of permission; some file systems would report that as a missing bucket here.
    if not entry.is_file:
        remote_operations.require_bucket(target)


def _combine_remotely(parts: Sequence[str], staging: Staging, target: str) -> None:
    """Join local and remote parts to one remote file; on the server, if the file system can do that, otherwise in a local file that is uploaded."""
    uploaded = {file.uri: file for file in remote_operations.listed(staging.remote)} if staging.is_used else {}
    last, packing = parts[-1], packing_of(target)
    are_final = packing is None or packing.has_members
    if are_final and all(part in uploaded for part in parts[:-1]) and uploaded:
        if last not in uploaded:
            remote_operations.upload(last, join(staging.remote, os.path.basename(last)), target)
            uploaded = {file.uri: file for file in remote_operations.listed(staging.remote)}
            last = join(staging.remote, os.path.basename(last))
        origins = [uploaded[part] for part in (*parts[:-1], last)]
        if len(origins) == 1:
            remote_operations.place_within(origins[0].uri, target)
            return
        if remote_operations.merged_within(origins, target):
            return
    with translate_os_errors("write", target):
        remote_operations.put_whole(_joined([_fetched(part, staging) for part in parts], packing), target)


def _fetched(part: str, staging: Staging) -> str:
    """Return the local path of a part, which is downloaded if it is remote."""
    if not is_remote_location(part):
        return part
    path = join(staging.local, os.path.basename(part))
    remote_operations.download(part, path)
    return path


def _joined(parts: Sequence[str], packing: Compression | None) -> str:
    """Append all parts to the first one, delete each after it was copied, flush the file to disk, and return its path.

    If the compression does not allow parts that are compressed separately, the parts are compressed here.
    """
    if packing is not None and not packing.has_members:
        packed = f"{parts[0]}-packed"
        with pa.OSFile(packed, "wb") as raw, pa.CompressedOutputStream(raw, packing.codec) as compressed:
            for part in parts:
                _moved(part, compressed)
        parts = [packed]
    with open(parts[0], "ab") as whole:
        for part in parts[1:]:
            _moved(part, whole)
        whole.flush()
        # The rows must be on disk before the file replaces the old one; otherwise a power failure could leave an empty file.
        os.fsync(whole.fileno())
    return parts[0]


def _moved(part: str, whole: Any) -> None:
    """Append the content of a file to an open file, and delete it."""
    with open(part, "rb") as stream:
        while block := stream.read(COPY_BYTES):
            raise_if_cancelled()
            whole.write(block)
    os.remove(part)


def write_text_part(directory: str, target: str, blocks: Iterable[bytes | memoryview]) -> str:
    """Write blocks of text as a part of a text file, and return the path of the part, which is unique.

    The part is compressed if the name of the target says so, and the compression allows parts that are compressed separately. Errors that are
    raised by the iteration over ``blocks`` are not changed.
    """
    name = f"part-{uuid.uuid4().hex}"
    with local_directory_for(directory) as local, contextlib.ExitStack() as stack:
        with translate_os_errors("write", target):
            raw = stack.enter_context(open(join(local, name), "xb"))
            file = stack.enter_context(new_member(raw, packing_of(target)))
        for block in blocks:
            raise_if_cancelled()
            require_memory_for_file(join(local, name), len(block))
            with translate_os_errors("write", target):
                file.write(block)
        with translate_os_errors("write", target):
            stack.close()
    return join(directory, name)


def _rights_of_replaced(target: str) -> int | None:
    """Return the permissions of the file that will be replaced; None if it does not exist.

    Raises
    ------
    StorageError
        If the target is a directory, a pipe, a socket or a device.
    """
    with translate_os_errors("write", target):
        try:
            mode = os.stat(target).st_mode
        except FileNotFoundError:
            return None
    if stat.S_ISDIR(mode):
        raise StorageError(f"{target} is a directory: choose the name of a file")
    if not stat.S_ISREG(mode):
        raise StorageError(f"{target} is not a regular file but a pipe, a socket or a device: choose the name of a file")
    return stat.S_IMODE(mode)


def _require_no_descriptor(target: str) -> None:
    """Raise if a path is an open file descriptor of a process, since what is written to the descriptor later would be lost.

    Raises
    ------
    StorageError
        If the path is one, such as ``/dev/stdout``, or a link to one.
    """
    link = target
    for _ in range(MAX_LINKS):
        directory, name = os.path.split(link)
        # A file descriptor looks like a link to its file, so it is recognised only by its directory.
        directory = os.path.realpath(directory)
        if DESCRIPTORS.fullmatch(directory):
            raise StorageError(f"{target} is an open file of a process, which would be replaced instead of written to: choose the name of a file")
        path = os.path.join(directory, name)
        if not os.path.islink(path):
            return
        link = os.path.join(directory, os.readlink(path))
