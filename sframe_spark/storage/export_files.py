"""Export files: one Parquet or ORC part per task, and text files that are written in parts and published when complete."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import InvalidArgumentError, SFrameError, StorageError
from sframe_spark.locations import BUCKETS, is_remote_location
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.process.leases import Holder, own_hidden_directory, remove_orphans, remove_own
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.datasets.commit import flush_directory
from sframe_spark.storage.export_directories import Staging, staged_remotely
from sframe_spark.storage.filesystem.compression import Compression, new_member, packing_of, require_writable_name
from sframe_spark.storage.filesystem.io_errors import translate_os_errors
from sframe_spark.storage.filesystem.object_store import (
    download,
    listed,
    merged_within,
    place_within,
    put_whole,
    remote_entry,
    require_bucket,
    upload,
)
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.temporary_datasets import local_directory_for
from sframe_spark.storage.hybrid_calendar import instants_to_hybrid
from sframe_spark.storage.segments.writer import BYTES_PER_GROUP, ROWS_PER_GROUP
from sframe_spark.types import ColumnType
from sframe_spark.values.export import outgoing, outgoing_type
from sframe_spark.values.value_errors import column_named

# Part files in Parquet or ORC: row groups bounded in rows and bytes, columns under the user's names.

PARQUET, ORC = "parquet", "orc"


@attrs.frozen
class PartForm:
    """Format and columns of part files.

    Parameters
    ----------
    ending
        ``parquet`` or ``orc``.
    names
        Names of the columns.
    types
        Their types.
    """

    ending: str
    names: tuple[str, ...]
    types: tuple[ColumnType, ...]

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the files."""
        return pa.schema([pa.field(name, outgoing_type(kind)) for name, kind in zip(self.names, self.types, strict=True)])


def write_part(directory: str, form: PartForm, runs: Iterable[Sequence[pa.Array]]) -> tuple[str, int]:
    """Write batches of rows as one file; return its path, which is hidden and unique to this attempt, and the number of rows.

    An error leaves no file.
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
        with sink, _WRITERS[form.ending](sink, form.schema) as writer:
            for table in groups(form, runs):
                raise_if_cancelled()
                with translate_os_errors("write", location):
                    writer.write(table)
                rows += table.num_rows
        with translate_os_errors("write", location), open(location, "rb") as written:
            # The directory's name must never be on the disk before the rows are.
            os.fsync(written.fileno())
    except BaseException:
        if os.path.exists(location):
            os.remove(location)
        raise
    return rows


def groups(form: PartForm, runs: Iterable[Sequence[pa.Array]]) -> Iterator[pa.Table]:
    """Yield exported rows, one row group at a time; for no rows, one empty table with the columns."""
    schema = form.schema
    waiting: list[pa.Table] = []
    rows = size = 0
    is_empty = True
    for run in runs:
        table = pa.table([_outgoing(form, place, array) for place, array in enumerate(run)], schema=schema)
        for start in range(0, table.num_rows, ROWS_PER_GROUP):
            part = table.slice(start, ROWS_PER_GROUP)
            if waiting and (rows + part.num_rows > ROWS_PER_GROUP or size + part.nbytes > BYTES_PER_GROUP):
                yield pa.concat_tables(waiting)
                waiting, rows, size = [], 0, 0
            waiting.append(part)
            rows, size, is_empty = rows + part.num_rows, size + part.nbytes, False
    if waiting or is_empty:
        yield pa.concat_tables(waiting) if waiting else schema.empty_table()


def _outgoing(form: PartForm, place: int, array: pa.Array) -> pa.Array:
    try:
        with column_named(form.names[place]):
            found = outgoing(array, form.types[place])
            # Arrow states no calendar in ORC, so readers assume the hybrid one of old Java.
            return instants_to_hybrid(found) if form.ending == ORC and pa.types.is_timestamp(found.type) else found
    except InvalidArgumentError:
        raise
    except SFrameError as error:
        error.add_note(f"in column {form.names[place]!r}")
        raise


class _Writer(AbstractContextManager["_Writer"]):
    """A writer of tables into an open file."""

    def __init__(self, write: Callable[[pa.Table], None], close: Callable[[], None]) -> None:
        self.write, self._close = write, close

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        # On an error the file is removed; pyarrow must not try to close it later.
        with contextlib.nullcontext() if kind is None else contextlib.suppress(Exception):
            self._close()


def _parquet(sink: Any, schema: pa.Schema) -> _Writer:
    writer = pq.ParquetWriter(sink, schema, compression="snappy")
    return _Writer(lambda table: writer.write_table(table, row_group_size=ROWS_PER_GROUP), writer.close)


def _orc(sink: Any, schema: pa.Schema) -> _Writer:
    from pyarrow import orc

    writer = orc.ORCWriter(sink, compression="zstd")
    return _Writer(writer.write, writer.close)


_WRITERS: dict[str, Callable[[Any, pa.Schema], _Writer]] = {PARQUET: _parquet, ORC: _orc}


# Paths that stand for open descriptors, such as standard output.
DESCRIPTORS = re.compile(r"/dev/fd|/proc/[^/]+(?:/task/[^/]+)?/fd")
MAX_LINKS = 40
# Larger blocks would be allocated anew by the system each time.
COPY_BYTES = 1 << 20


@contextlib.contextmanager
def staged_text(target: str) -> Iterator[tuple[Staging, list[str]]]:
    """Yield staging and a list for the parts, which are joined into the target when the block ends, keeping its permissions.

    A link is followed: the file that it names is replaced.

    Raises
    ------
    StorageError
        If a file must not take the place of what is there, its name promises what is not written, or it cannot be written.
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
    place = os.path.realpath(target)
    rights, holder, staging = _rights_of_replaced(target), Holder(), None
    _require_no_descriptor(target)
    try:
        with translate_os_errors("write", target):
            remove_orphans(os.path.dirname(place))
            with interrupts_deferred():
                staging = own_hidden_directory(os.path.dirname(place), holder)
            if rights is not None:
                # No one sees parts who may not see the file.
                os.chmod(staging, 0o700)
        yield staging
        with translate_os_errors("write", target):
            whole = _joined(parts, packing_of(target))
            if rights is not None:
                os.chmod(whole, rights)
            os.replace(whole, place)
            flush_directory(os.path.dirname(place))
    finally:
        if staging is not None:
            remove_own(staging)


def _require_place_of_file(target: str) -> None:
    """Make sure, before any work, that there is a bucket, and no directory where the file is to be.

    Raises
    ------
    StorageError
        If not.
    """
    if not target.partition("://")[2].strip("/").partition("/")[2] and target.partition(":")[0] in BUCKETS:
        raise StorageError(f"{target} names a bucket, not a file: add the name of a file")
    found = remote_entry(target)
    if found.names:
        raise StorageError(f"{target} is a directory: choose the name of a file")
    # Who may not ask is reported so before, as some only say then that there is none.
    if not found.is_file:
        require_bucket(target)


def _combine_remotely(parts: Sequence[str], staging: Staging, target: str) -> None:
    """Combine local and uploaded parts into one remote file; large uploaded ones are concatenated on the server where it can."""
    there = {file.uri: file for file in listed(staging.remote)} if staging.is_used else {}
    last, packing = parts[-1], packing_of(target)
    are_final = packing is None or packing.has_members
    if are_final and all(part in there for part in parts[:-1]) and there:
        if last not in there:
            upload(last, join(staging.remote, os.path.basename(last)), target)
            there = {file.uri: file for file in listed(staging.remote)}
            last = join(staging.remote, os.path.basename(last))
        origins = [there[part] for part in (*parts[:-1], last)]
        if len(origins) == 1:
            place_within(origins[0].uri, target)
            return
        if merged_within(origins, target):
            return
    with translate_os_errors("write", target):
        put_whole(_joined([_fetched(part, staging) for part in parts], packing), target)


def _fetched(part: str, staging: Staging) -> str:
    """The local path of a part, downloaded if it is remote."""
    if not is_remote_location(part):
        return part
    place = join(staging.local, os.path.basename(part))
    download(part, place)
    return place


def _joined(parts: Sequence[str], packing: Compression | None) -> str:
    """Append parts to the first one, deleting each as it was copied, and flush to disk; compressed if the parts are not."""
    if packing is not None and not packing.has_members:
        parts = [_compressed(parts, packing)]
    with open(parts[0], "ab") as whole:
        for part in parts[1:]:
            _moved(part, whole)
        whole.flush()
        # The name must never be on the disk before the rows are: a power failure would leave an empty file in place of the old one.
        os.fsync(whole.fileno())
    return parts[0]


def _compressed(parts: Sequence[str], packing: Compression) -> str:
    """Compress parts into one new file, deleting each as it was copied."""
    place = f"{parts[0]}-packed"
    with pa.OSFile(place, "wb") as raw, pa.CompressedOutputStream(raw, packing.codec) as whole:
        for part in parts:
            _moved(part, whole)
    return place


def _moved(part: str, whole: Any) -> None:
    """Copy a file to the end of another, and delete it."""
    with open(part, "rb") as stream:
        while block := stream.read(COPY_BYTES):
            raise_if_cancelled()
            whole.write(block)
    os.remove(part)


def write_text_part(directory: str, target: str, blocks: Iterable[bytes | memoryview]) -> str:
    """Write text as a part of a target, compressed if its name says so; return its path, unique to this attempt.

    Errors of the producer of the blocks are not reported as write errors.
    """
    name = f"part-{uuid.uuid4().hex}"
    with local_directory_for(directory) as local, contextlib.ExitStack() as stack:
        with translate_os_errors("write", target):
            raw = stack.enter_context(open(join(local, name), "xb"))
            file = stack.enter_context(new_member(raw, packing_of(target)))
        for block in blocks:
            raise_if_cancelled()
            with translate_os_errors("write", target):
                file.write(block)
        with translate_os_errors("write", target):
            stack.close()
    return join(directory, name)


def _rights_of_replaced(target: str) -> int | None:
    """The permissions of the file to be replaced, which the new one takes over; None if there is none.

    Raises
    ------
    StorageError
        If there is something else, which a file must not take the place of.
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
    """Make sure that a path is no open descriptor of a process: later writes to it would be lost after the replacement.

    Raises
    ------
    StorageError
        If it does, or is a link to such a path.
    """
    link = target
    for _ in range(MAX_LINKS):
        directory, name = os.path.split(link)
        # The system says of such a link that it leads to the file, so only the directory says.
        directory = os.path.realpath(directory)
        if DESCRIPTORS.fullmatch(directory):
            raise StorageError(f"{target} is what a process has open, which would be replaced and not written to: choose the name of a file")
        if not os.path.islink(place := os.path.join(directory, name)):
            return
        link = os.path.join(directory, os.readlink(place))
