"""Rows from and to any library that speaks Arrow's C stream interface: polars, DuckDB, pandas, pyarrow and others.

Source: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.api.nodes import rows_of
from sframe_spark.engine.materialize import iterate, materialize
from sframe_spark.errors import InvalidArgumentError, SFrameError
from sframe_spark.planner.node import PlannerNode
from sframe_spark.visible import visible


def gives_rows(data: Any) -> bool:
    """True for a table of another library, computed or not; single columns have a ``dtype`` and are sequences of values.

    Examples
    --------
    >>> gives_rows(pa.table({"a": [1]}).to_reader()), gives_rows([1])
    (True, False)
    """
    return (hasattr(data, "__arrow_c_stream__") and not hasattr(data, "dtype") and not isinstance(data, pa.ChunkedArray)) or is_lazy_in_polars(data)


def is_lazy_in_polars(data: Any) -> bool:
    """True for a query of polars that has not been computed."""
    return type(data).__module__.split(".")[0] == "polars" and type(data).__name__ == "LazyFrame"


def arrow_table(data: Any) -> pa.Table:
    """All rows of a stream; a stream of values that are no rows makes a column ``X1``.

    Raises
    ------
    InvalidArgumentError
        If the other library cannot give them.
    """
    try:
        data = data.collect() if is_lazy_in_polars(data) else data
        try:
            reader = pa.RecordBatchReader.from_stream(data)
        except (pa.ArrowException, TypeError):
            return pa.table({"X1": pa.chunked_array(data)})
        return reader.read_all()
    except SFrameError:
        raise
    except Exception as error:
        raise InvalidArgumentError(f"no rows come from the {type(data).__name__}: {visible(str(error))}") from error


def schema_of(node: PlannerNode, names: Sequence[str]) -> pa.Schema:
    """Names and Arrow types of the columns of a stream."""
    return pa.schema([pa.field(name, column_type.physical) for name, column_type in zip(names, node.schema, strict=True)])


def stream_of_rows(node: PlannerNode, names: Sequence[str]) -> pa.RecordBatchReader:
    """All rows in order, a batch at a time; what must be computed before the first row comes is computed now, so that errors are raised as usual."""
    materialize(node)
    return pa.RecordBatchReader.from_batches(schema_of(node, names), _batches(node, names))


def _batches(node: PlannerNode, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    schema = schema_of(node, names)
    for chunk in iterate(node):
        if chunk.columns:
            yield from pa.Table.from_arrays(list(chunk.columns), schema=schema).to_batches()


def stream_of_values(node: PlannerNode) -> pa.ChunkedArray:
    """All values of a one-column node; Arrow has no stream of values that is made as it is read."""
    return pa.chunked_array([rows_of(node).columns[0]], node.schema[0].physical)
