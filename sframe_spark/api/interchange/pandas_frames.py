"""Converts frames to and from pandas DataFrames, column by column."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.api.column_names import require_distinct, with_automatic_names
from sframe_spark.api.interchange.arrow_tables import column_from_arrow
from sframe_spark.api.node_values import combine_columns, node_from_values, python_columns, rows_of
from sframe_spark.operators.sources.in_memory import memory_source_of_parts
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import DATETIME_KIND, STR_KIND, ColumnType
from sframe_spark.values.from_arrow import warn_of_long_decimals
from sframe_spark.values.value_errors import column_named

# From pandas; the index is left out


def frame_from_pandas(data: Any, naive: bool = False) -> tuple[PlannerNode, list[str]]:
    """Return the columns of a pandas DataFrame as a node, and their names as strings; a name in a MultiIndex is a tuple, written as a string.

    Parameters
    ----------
    data
        The DataFrame; its index is left out.
    naive
        Whether date-times without a time zone remain without an offset; otherwise they are in UTC, as in SFrame.

    Raises
    ------
    SchemaError
        If no column type can hold the values of a column; the message names it.
    TakenNameError
        If two columns have the same name.
    """
    names = with_automatic_names(map(str, data.columns))
    require_distinct(names)
    nodes = [_column(data.iloc[:, place], name, naive) for place, name in enumerate(names)]
    return combine_columns(nodes), names


def _column(series: Any, name: str, naive: bool) -> PlannerNode:
    with column_named(name):
        if hasattr(series.dtype, "pyarrow_dtype"):
            values = pa.chunked_array(series.array.__arrow_array__())
            parts, column_type = column_from_arrow(pa.field(name, series.dtype.pyarrow_dtype), values)
            warn_of_long_decimals([(name, values)])
            return memory_source_of_parts([parts], [column_type])
        if naive and series.dtype.kind == "M" and getattr(series.dtype, "tz", None) is None:
            return node_from_values(pa.array(series.copy(), from_pandas=True), name=name)
        return node_from_values(series, name=name)


# To pandas; the dtypes of columns without rows
EMPTY_DTYPES = {"int": "int64", "float": "float64", "datetime": "datetime64[us]"}


def pandas_frame(node: PlannerNode, names: Sequence[str]) -> Any:
    """Return all rows as a pandas DataFrame."""
    import pandas

    if not names:
        return pandas.DataFrame({})
    chunk = rows_of(node, as_objects=True)
    columns = zip(names, chunk.columns, node.schema, strict=True)
    return pandas.DataFrame({name: pandas_column(column, column_type, name) for name, column, column_type in columns})


def pandas_column(column: pa.Array, column_type: ColumnType, name: str) -> Any:
    """Return a column as a pandas Series. Numbers, strings and most date-times are converted without making Python objects of all values."""
    import pandas

    if not len(column):
        return pandas.Series([], dtype=EMPTY_DTYPES.get(column_type.kind, "object"))
    if column_type.kind == STR_KIND:
        # As objects, so that missing strings remain None.
        return pandas.Series(column.to_numpy(zero_copy_only=False), dtype="object")
    if column.null_count < len(column):
        if column_type.is_numeric:
            return pandas.Series(column.to_numpy(zero_copy_only=False))
        datetimes = _naive_or_utc(column) if column_type.kind == DATETIME_KIND else None
        if datetimes is not None:
            return datetimes
    return pandas.Series(python_columns(Chunk((column,), len(column)), (column_type,), 0, [name])[0])


def _naive_or_utc(column: pa.Array) -> Any:
    """Return date-times as a Series, if all have no offset or all are in UTC, and pandas can hold their years; else None."""
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
