"""Blocks of Arrow values, one behind the other in a file: each has a check sum of its own and is read when somebody asks for it."""

from __future__ import annotations

import os
import zlib
from typing import Any, BinaryIO

import pyarrow as pa

from sframe_spark.errors import StorageError
from sframe_spark.locations import is_elsewhere
from sframe_spark.storage.filesystem.io_errors import missing, telling
from sframe_spark.storage.filesystem.object_store import read_range
from sframe_spark.storage.filesystem.regular import open_regular
from sframe_spark.values.arrow_ipc import stream_of, table_of

# Where a block starts and ends, and its check sum.
StoredBlock = tuple[int, int, int]


class BlockWriter:
    """Writes blocks into a file.

    Parameters
    ----------
    stream
        The file, from its start.

    Examples
    --------
    >>> import io
    >>> stream = io.BytesIO()
    >>> start, stop, _ = BlockWriter(stream).add({"number": pa.array([1, 2])})
    >>> start, stop == len(stream.getvalue())
    (0, True)
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.size = 0

    def add(self, columns: dict[str, pa.Array]) -> StoredBlock:
        """Append values, as an Arrow stream of one batch, and return the block."""
        batch = pa.record_batch(list(columns.values()), names=list(columns))
        content = stream_of([batch])
        self._stream.write(content)
        start, self.size = self.size, self.size + content.size
        return start, self.size, zlib.crc32(content)


def block_from_json(value: Any, size: int) -> StoredBlock:
    """Return a block of a file of some length that a manifest names.

    Raises
    ------
    ValueError
        If it is none.
    """
    if not isinstance(value, list) or len(value) != 3 or not all(type(item) is int and item >= 0 for item in value):
        raise ValueError(f"{value!r:.80} is no block")
    start, stop, checksum = value
    if not start < stop <= size or checksum >= 1 << 32:
        raise ValueError(f"{value!r:.80} is no block of {size} bytes")
    return start, stop, checksum


def read_block(location: str, size: int, block: StoredBlock, schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return the values of a block.

    Parameters
    ----------
    location
        The file.
    size
        How long it is.
    block
        The block.
    schema, rows
        What its values are, and how many: anything else is damage.

    Raises
    ------
    StorageError
        If the file is missing, damaged or another one.
    """
    start, stop, checksum = block
    content = read_range(location, start, stop) if is_elsewhere(location) else _read_here(location, size, start, stop)
    if len(content) != stop - start or zlib.crc32(content) != checksum:
        raise damaged_file(location, f"the check sum of bytes {start} to {stop} is another one")
    try:
        table = table_of(content)
        # Offsets that point outside of a buffer are refused here, before anything follows them.
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise damaged_file(location, str(error).splitlines()[0][:200]) from error
    if not table.schema.equals(schema):
        raise damaged_file(location, f"bytes {start} to {stop} hold other values than they should")
    if table.num_rows != rows:
        raise damaged_file(location, f"bytes {start} to {stop} hold {table.num_rows} values, not {rows}")
    return table.combine_chunks().to_batches()[0] if rows else pa.RecordBatch.from_pylist([], schema)


def _read_here(location: str, size: int, start: int, stop: int) -> bytes:
    with telling("read", location):
        try:
            descriptor, status = open_regular(location)
        except FileNotFoundError:
            raise StorageError(missing(location)) from None
        with os.fdopen(descriptor, "rb") as stream:
            if status.st_size != size:
                raise damaged_file(location, f"it has {status.st_size} of {size} bytes")
            stream.seek(start)
            return stream.read(stop - start)


def damaged_file(location: str, reason: str) -> StorageError:
    """Return the error of a file of blocks that is not the one that was written."""
    return StorageError(f"{location} is damaged or was replaced: {reason}; restore it from a copy or save the frame again")
