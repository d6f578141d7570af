"""Frames of pandas DataFrames: the columns in their order, the index left out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sframe_spark.api.column_names import require_distinct, with_automatic_names
from sframe_spark.api.interchange.from_arrow import column_from_arrow
from sframe_spark.api.node_values import combine_columns, node_from_values
from sframe_spark.operators.sources.memory import memory_source, memory_source_of_parts
from sframe_spark.planner.node import PlannerNode
from sframe_spark.values.from_arrow import tell_of_values
from sframe_spark.values.value_errors import column_named


def frame_from_pandas(data: Any, naive: bool = False) -> tuple[PlannerNode, list[str]]:
    """The columns of a pandas DataFrame under their names as text; of several levels of names, the tuple as text.

    Parameters
    ----------
    data
        The DataFrame.
    naive
        Whether dates without a zone stay without an offset; otherwise they are in UTC, as in SFrame.

    Raises
    ------
    SchemaError
        If no column holds the values of one: it is named.
    TakenNameError
        If two columns have one name.
    """
    names = with_automatic_names(map(str, data.columns))
    require_distinct(names)
    nodes = [_column(data.iloc[:, place], name, naive) for place, name in enumerate(names)]
    return (combine_columns(nodes) if nodes else memory_source([], [], 0)), names


def _column(series: Any, name: str, naive: bool) -> PlannerNode:
    with column_named(name):
        if hasattr(series.dtype, "pyarrow_dtype"):
            values = pa.chunked_array(series.array.__arrow_array__())
            parts, column_type = column_from_arrow(pa.field(name, series.dtype.pyarrow_dtype), values)
            tell_of_values([(name, values)])
            return memory_source_of_parts([parts], [column_type])
        if naive and series.dtype.kind == "M" and getattr(series.dtype, "tz", None) is None:
            return node_from_values(pa.array(series.copy(), from_pandas=True), name=name)
        return node_from_values(series, name=name)
