"""Tables as Arrow IPC streams that hold only their own rows, not the longer buffers that they may be slices of."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import pyarrow as pa

# Compression that costs hardly any time.
QUICK = pa.ipc.IpcWriteOptions(compression="lz4")


def stream_of(tables: Iterable[pa.Table | pa.RecordBatch], options: pa.ipc.IpcWriteOptions | None = None) -> pa.Buffer:
    """Return tables of one schema, at least one, as a stream; they are pulled from the iterable one at a time.

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
    """Return the rows of a stream; a stream from outside this program has to be validated by the caller."""
    return pa.ipc.open_stream(stream).read_all()
