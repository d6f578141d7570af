"""All rows of an archive are decoded, to know that it is whole: it carries no check sums."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.config import config
from sframe_spark.errors import StorageError
from sframe_spark.process.cores import available_cores
from sframe_spark.process.threads import in_threads
from sframe_spark.storage.manifests.manifest import Manifest
from sframe_spark.storage.rows.reader import iterate_rows
from sframe_spark.turicreate.archive import Archive
from sframe_spark.turicreate.reader import ArchiveReader
from sframe_spark.types import DATETIME, ZONED_DATETIME, ColumnType
from sframe_spark.values.encode import recode
from sframe_spark.values.from_arrow import zoned_array


def require_readable_rows(archive: Archive) -> None:
    """Decode every block of every column.

    Raises
    ------
    StorageError
        If one is damaged, or holds what no column does; the message names file, column and block.
    """
    count = max(1, -(-archive.rows // config.segment_rows))
    ranges = list(pairwise(archive.rows * number // count for number in range(count + 1)))
    in_threads(lambda bounds: _decode(archive, *bounds), ranges, available_cores())
    archive.require_unchanged()


def require_same_rows(archive: Archive, manifest: Manifest) -> None:
    """Compare all rows of an archive with those of a saved frame, bit by bit.

    Raises
    ------
    StorageError
        If they differ; the message names the column and the first rows among which they do.
    """
    columns = archive.contents.columns
    if manifest.rows != archive.rows or [kind.kind for kind in manifest.types] != [column.column_type.kind for column in columns]:
        raise StorageError(f"{manifest.directory} has other columns, or another number of rows, than {archive.location}: convert it again")
    reader, first = ArchiveReader(archive), 0
    for arrays in iterate_rows(manifest, range(len(columns)), batch_rows=config.batch_rows):
        last = first + len(arrays[0])
        read = reader.read(range(len(columns)), first, last)
        for column, expected, found, kind in zip(columns, read, arrays, manifest.types, strict=True):
            if not are_same(expected, pa.chunked_array([widened(found, kind, column.column_type)])):
                where = f"column {column.name!r}, rows {first} to {last}"
                raise StorageError(f"{manifest.directory} has other values than {archive.location} in {where}: convert it again")
        first = last


def widened(values: pa.Array, narrow: ColumnType, wide: ColumnType) -> pa.Array:
    """Return values of a column in the form in which archives have them."""
    if narrow == DATETIME and wide == ZONED_DATETIME:
        return zoned_array(values.cast(pa.int64()), pa.nulls(len(values), pa.int32()), values.is_valid())
    return recode(values, narrow, wide)


def are_same(first: pa.ChunkedArray, second: pa.ChunkedArray) -> bool:
    """Say whether two columns hold the same values, floats bit by bit.

    Examples
    --------
    >>> nan, zero = pa.chunked_array([[float("nan")]]), pa.chunked_array([[0.0]])
    >>> are_same(nan, nan), are_same(zero, pa.chunked_array([[-0.0]]))
    (True, False)
    """
    if pa.types.is_list(first.type):
        floats = (pc.list_flatten(first), pc.list_flatten(second))
        return bool(pc.list_value_length(first).equals(pc.list_value_length(second))) and are_same(*floats)
    if pa.types.is_floating(first.type):
        first, second = (pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64()) for column in (first, second))
    return bool(first.equals(second))


def _decode(archive: Archive, first: int, last: int) -> None:
    positions = range(len(archive.contents.columns))
    for _ in ArchiveReader(archive).batches(positions, first, last, config.batch_rows, config.batch_bytes):
        pass
