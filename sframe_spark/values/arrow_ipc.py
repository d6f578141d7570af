"""Rows as Arrow streams: bytes that hold them and nothing else, however long the arrays are that they are parts of."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import pyarrow as pa

# What rows take less room with, at nearly no cost.
QUICK = pa.ipc.IpcWriteOptions(compression="lz4")


def stream_of(tables: Iterable[pa.Table | pa.RecordBatch], options: pa.ipc.IpcWriteOptions | None = None) -> pa.Buffer:
    """The rows of tables of one schema, at least one, which are asked for one after the other.

    Examples
    --------
    >>> stream = stream_of(pa.table({"number": [number]}) for number in (3, 4))
    >>> table_of(stream).to_pydict()
    {'number': [3, 4]}
    """
    rest, sink = iter(tables), pa.BufferOutputStream()
    first = next(rest)
    with pa.ipc.new_stream(sink, first.schema, options=options) as stream:
        for table in chain([first], rest):
            stream.write(table)
    return sink.getvalue()


def table_of(stream: bytes | pa.Buffer) -> pa.Table:
    """The rows of a stream; one that did not come from this program is to be validated."""
    return pa.ipc.open_stream(stream).read_all()
