"""Arrow functions in workers that know pandas UDFs only, called as workers of Spark 3.5 and 4.0 call them; `make versions` runs such workers."""

from __future__ import annotations

import io
import pickle
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.serializers import SpecialLengths, read_int
from pyspark.sql.pandas.serializers import ArrowStreamSerializer

from sframe_spark.errors import PlanInvariantError
from sframe_spark.session.arrow_functions_of_old_workers import ArrowBatches, serializer_of_task

INTS = pa.array([2**62 + 1, None, 3])


def read_udfs(sent: bytes) -> tuple[Any, Any]:
    """Read a function as a worker does; its names are those of the worker's."""
    ser = ArrowStreamSerializer()
    return pickle.loads(sent), ser


def answer(function: Any, batches: list[pa.RecordBatch], offsets: list[int], result: pa.DataType, is_struct: bool = False) -> pa.Table | None:
    """What a task of a worker writes for some batches; None if it writes nothing."""
    called, ser = read_udfs(cloudpickle.dumps(ArrowBatches(function, is_struct)))
    rows, written = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_stream(rows, batches[0].schema if batches else pa.schema([])) as writer:
        for each in batches:
            writer.write_batch(each)
    rows.seek(0)
    columns = ([batch[offset] for offset in offsets] for batch in ser.load_stream(rows))
    given = (found[0] if len(found) == 1 else tuple(found) for found in columns)
    ser.dump_stream(((found, result) for found in called(given)), written)
    if not written.tell():
        return None
    written.seek(0)
    assert read_int(written) == SpecialLengths.START_ARROW_STREAM
    return pa.Table.from_batches(ArrowStreamSerializer().load_stream(written))


def batch(*columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), [f"_{number}" for number in range(len(columns))])


def test_large_ints_and_missing_values_pass_unchanged() -> None:
    found = answer(lambda values: values, [batch(INTS), batch(INTS[1:])], [0], pa.int64())
    assert found is not None and found.column(0).to_pylist() == [2**62 + 1, None, 3, None, 3]


def test_several_columns_by_their_places() -> None:
    texts = pa.array(["a", "b", None])

    def texts_of(one: pa.Array, two: pa.Array, again: pa.Array) -> pa.Array:
        assert again.equals(one)
        return pa.array([str(row) for row in zip(one.to_pylist(), two.to_pylist(), strict=True)])

    found = answer(texts_of, [batch(INTS, texts)], [1, 0, 1], pa.string())
    assert found is not None and found.column(0).to_pylist() == [f"('a', {2**62 + 1})", "('b', None)", "(None, 3)"]


def test_results_get_the_declared_type_and_may_be_structs() -> None:
    kind = pa.struct([pa.field("p", pa.int32())])
    found = answer(lambda values: pa.array([{"p": 1}] * len(values)), [batch(INTS)], [0], kind, is_struct=True)
    assert found is not None and found.schema.types == [kind]


def test_no_rows_write_nothing() -> None:
    assert answer(lambda values: values, [], [0], pa.int64()) is None


def test_a_function_that_loses_rows_is_refused() -> None:
    with pytest.raises(PlanInvariantError, match="returned 2 values for 3 rows"):
        answer(lambda values: values[1:], [batch(INTS)], [0], pa.int64())


def test_outside_a_worker_nothing_is_attached() -> None:
    assert serializer_of_task() is None
    assert isinstance(pickle.loads(cloudpickle.dumps(ArrowBatches(len, False))), ArrowBatches)
