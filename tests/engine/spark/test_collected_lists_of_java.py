"""Rows of Spark's Java come here with the offsets that it leaves out of empty arrays of lists."""

from __future__ import annotations

import io
import struct
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.engine.spark.bounded_collection import batches_in_order, table_of_server
from tests.values.test_layouts import WITHOUT_LISTS, as_java_sends


@pytest.mark.parametrize("name", WITHOUT_LISTS)
def test_sizes_of_lists_that_java_sends_are_asked_for_with_their_offsets(name: str) -> None:
    """As `tests/values/test_layouts.py` has them: pyarrow would end the process, so both ways to fetch rows add them first."""
    kind, _ = WITHOUT_LISTS[name]
    batch, stream = pa.RecordBatch.from_arrays([as_java_sends(pa.array([None, None], kind))], ["x"]), io.BytesIO()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    # One batch, which is the first.
    stream.write(struct.pack("!2i", 1, 0))
    stream.seek(0)
    (found,) = batches_in_order(stream, 1 << 20)
    client = SimpleNamespace(to_table_as_iterator=lambda plan, observations: (item for item in ("types", pa.Table.from_batches([batch]))))
    df: Any = SimpleNamespace(sparkSession=SimpleNamespace(client=client), _plan=SimpleNamespace(to_proto=lambda client: None, observations={}))
    table = table_of_server(df, 1 << 20, "tag")
    assert found.nbytes > 0 and table.nbytes > 0 and found.to_pylist() == table.to_pylist() == [{"x": None}, {"x": None}]
