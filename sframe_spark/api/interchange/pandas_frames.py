"""Columns as pandas' own, a column at a time: of the types that pandas gives lists of their values."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.node_values import python_columns, rows_of
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND, STR_KIND, ColumnType

# Types of columns without rows in pandas.
EMPTY_DTYPES = {"int": "int64", "float": "float64", "datetime": "datetime64[us]"}


def pandas_frame(node: PlannerNode, names: Sequence[str]) -> Any:
    """All rows as a pandas DataFrame."""
    import pandas

    if not names:
        return pandas.DataFrame({})
    chunk = rows_of(node, as_objects=True)
    columns = zip(names, chunk.columns, node.schema, strict=True)
    return pandas.DataFrame({name: pandas_column(column, column_type, name) for name, column, column_type in columns})


def pandas_column(column: pa.Array, column_type: ColumnType, name: str) -> Any:
    """A column as a pandas Series; numbers, texts and most date-times need not become Python objects for it."""
    import pandas

    if not len(column):
        return pandas.Series([], dtype=EMPTY_DTYPES.get(column_type.kind, "object"))
    if column_type.kind == STR_KIND:
        # A column of Python objects, where None is None.
        return pandas.Series(column.to_numpy(zero_copy_only=False), dtype="object")
    if column.null_count < len(column):
        if column_type.is_numeric:
            return pandas.Series(column.to_numpy(zero_copy_only=False))
        moments = _moments(column) if column_type.kind == DATETIME_KIND else None
        if moments is not None:
            return moments
    return pandas.Series(python_columns(Chunk((column,), len(column)), (column_type,), 0, [name])[0])


def _moments(column: pa.Array) -> Any:
    """Date-times without an offset, or all in UTC, within the years that pandas shows; None for others."""
    import pandas

    zoned = pa.types.is_struct(column.type)
    if zoned:
        offsets = pc.unique(column.field("offset").filter(column.is_valid())).to_pylist()
        if offsets != [0]:
            return None
        column = pc.if_else(column.is_valid(), column.field("instant"), None)
    try:
        values = pandas.Series(column.cast(pa.timestamp("ns")).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None
    return values.dt.tz_localize(datetime.UTC) if zoned else values
