"""One file of rows for other programs, in Parquet or ORC: row groups bounded in rows and bytes, columns under the user's names."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark.errors import InvalidArgumentError, SFrameError
from sframe_spark.process.threads import raise_if_cancelled
from sframe_spark.storage.filesystem.io_errors import telling
from sframe_spark.storage.filesystem.paths import join
from sframe_spark.storage.filesystem.temporary import written_here
from sframe_spark.storage.hybrid_calendar import instants_to_hybrid
from sframe_spark.storage.segments.writer import BYTES_PER_GROUP, ROWS_PER_GROUP
from sframe_spark.types import ColumnType
from sframe_spark.values.export import outgoing, outgoing_type
from sframe_spark.values.value_errors import column_named

PARQUET, ORC = "parquet", "orc"


@attrs.frozen
class PartForm:
    """What parts look like.

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
    """Write runs of rows, one after the other, as one file; return where it is, under a hidden name of this attempt alone, and the number of rows.

    An error leaves no file.
    """
    file = f".part-{uuid.uuid4().hex}.{form.ending}"
    with written_here(directory) as here:
        rows = _write(join(here, file), form, runs)
    return join(directory, file), rows


def _write(location: str, form: PartForm, runs: Iterable[Sequence[pa.Array]]) -> int:
    rows = 0
    try:
        with telling("write", location):
            sink = open(location, "xb", buffering=0)  # noqa: SIM115  # closed below
        with sink, _WRITERS[form.ending](sink, form.schema) as writer:
            for table in groups(form, runs):
                raise_if_cancelled()
                with telling("write", location):
                    writer.write(table)
                rows += table.num_rows
        with telling("write", location), open(location, "rb") as written:
            # The directory's name must never be on the disk before the rows are.
            os.fsync(written.fileno())
    except BaseException:
        if os.path.exists(location):
            os.remove(location)
        raise
    return rows


def groups(form: PartForm, runs: Iterable[Sequence[pa.Array]]) -> Iterator[pa.Table]:
    """Rows as they go out, a row group at a time; without rows, a table without rows, which has the columns."""
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
            # Arrow names no calendar in ORC, and who reads such a file takes it for the one of old Java.
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
        # What an error ends is removed; pyarrow must not close it later, when the file below it is closed, and complain.
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
