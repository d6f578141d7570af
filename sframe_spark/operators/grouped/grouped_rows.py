"""Group-by of rows in memory: they are put next to their equals, and groups are then runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.operators.grouped.aggregation import Aggregation
from sframe_spark.operators.grouped.runs_aggregates import partial_aggregate
from sframe_spark.operators.kernels.sort_parts import sort_parts
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Schema
from sframe_spark.types import FLOAT, INT, STR, ColumnType

MISSING, VALUE, NAN = 0, 1, 2


def group_rows(chunk: Chunk, schema: Schema, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> Chunk:
    """One row per distinct value of the key columns, ascending by them: the keys, then the aggregates of the rows in their order.

    Missing equals missing and NaN equals NaN; both zeros are zero, and one instant at two offsets is two values.

    Examples
    --------
    >>> rows = Chunk((pa.array([float("nan"), -0.0, float("nan"), 0.0]),), 4)
    >>> [column.to_pylist() for column in group_rows(rows, (FLOAT,), [0], [Aggregation("count")]).columns]
    [[0.0, nan], [2, 2]]
    """
    columns = [chunk.columns[key] for key in keys]
    parts = [part for column, key in zip(columns, keys, strict=True) for part in key_parts(column, schema[key])]
    # One instant at several offsets makes several groups, which the offsets put in order.
    zoned = [column for column, key in zip(columns, keys, strict=True) if schema[key].is_zoned]
    parts += [part for column in zoned for part in sort_parts(pc.struct_field(column, "offset").cast(pa.int64()), INT, True)]
    order = np.lexsort(parts[::-1]) if parts else np.arange(chunk.rows)
    is_start = np.arange(chunk.rows) == 0
    for part in parts:
        ordered = part[order]
        is_start[1:] |= ordered[1:] != ordered[:-1]
    starts, rows = np.flatnonzero(is_start), pa.array(order)
    result = [one_zero(column.take(rows.take(pa.array(starts))), schema[key]) for column, key in zip(columns, keys, strict=True)]
    for aggregation in aggregations:
        partial = partial_aggregate(aggregation, schema)
        lifted = partial.lift([chunk.columns[position].take(rows) for position in aggregation.positions], chunk.rows)
        result.append(partial.finish(partial.merge(lifted, starts), aggregation.infer(schema)))
    return Chunk(tuple(result), len(starts))


def key_parts(column: pa.Array, column_type: ColumnType) -> list[np.ndarray]:
    """Arrays whose ascending lexicographic order is that of the keys, as in Spark: missing first, NaN last."""
    if pa.types.is_string(column.type):
        return sort_parts(column, STR, True)
    if column_type.is_zoned or not pa.types.is_nested(column.type):
        return sort_parts(column, column_type, True)
    tokens = [order_token(value) for value in column.to_pylist()]
    places = {token: place for place, token in enumerate(sorted(set(tokens)))}
    return [np.array([places[token] for token in tokens], dtype=np.int64)]


def order_token(value: Any) -> tuple[Any, ...]:
    """A value that is equal and in order as Spark has values in lists; a list that another begins with comes first.

    Examples
    --------
    >>> order_token(None) < order_token([]) < order_token([None]) < order_token([1.5]) < order_token([float("nan")])
    True
    """
    if value is None:
        return (MISSING,)
    if isinstance(value, (list, tuple)):
        return (VALUE, tuple(map(order_token, value)))
    return (NAN,) if value != value else (VALUE, value)


def one_zero(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """Floats with one zero, in lists too; other values as they are."""
    if column_type == FLOAT:
        return pc.add(column, 0.0)
    if pa.types.is_list(column.type) and pa.types.is_floating(column.type.value_type):
        cells = [None if cell is None else [None if value is None else value + 0.0 for value in cell] for cell in column.to_pylist()]
        return pa.array(cells, column.type, from_pandas=False)
    return column
