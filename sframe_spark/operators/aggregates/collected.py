"""Aggregates whose result holds values of the group: lists, dicts, distinct values, quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import SchemaError, UnsupportedOperationError
from sframe_spark.operators.aggregates.base import AggregateFunction, register_aggregate
from sframe_spark.operators.aggregates.support import define_collected, require
from sframe_spark.types import ARRAY, ENCODED_DICT, FLOAT, INT, ColumnType, dict_of, list_of
from sframe_spark.values.canonical import canonical_text
from sframe_spark.values.decode import decode

if TYPE_CHECKING:
    from pyspark.sql import Column

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]


def _infer_concat(types: Types, parameters: Parameters) -> ColumnType:
    if len(types) == 1:
        return ARRAY if types[0] == FLOAT else list_of(types[0])
    if types[0].kind not in ("int", "float", "str"):
        raise SchemaError(f"CONCAT takes keys of int, float or str, not of {types[0].kind}")
    return dict_of(types[0], types[1])


def reduce_concat(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Values that are not missing as a list, or keys that are not missing with the first value of each as a dict."""
    first = decode(arrays[0], types[0])
    if len(arrays) == 1:
        return [value for value in first if value is not None]
    result: dict[Any, Any] = {}
    for key, value in zip(first, decode(arrays[1], types[1]), strict=True):
        if key is not None:
            result.setdefault(key, value)
    return result


def distinct_places(column: pa.Array, column_type: ColumnType) -> list[int]:
    """Rows at which a value occurs for the first time."""
    seen: set[Any] = set()
    places = []
    keys = canonical_text(column, column_type) if column_type.kind in ("list", "dict", "array") else column
    for row, key in enumerate(keys.to_pylist()):
        token = "nan" if isinstance(key, float) and math.isnan(key) else str(key) if isinstance(key, dict) else key
        if (type(token), token) not in seen:
            seen.add((type(token), token))
            places.append(row)
    return places


def reduce_distinct(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Distinct values, missing included, in order of first occurrence."""
    values = decode(arrays[0], types[0])
    return [values[place] for place in distinct_places(arrays[0], types[0])]


def reduce_count_distinct(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Number of distinct values, missing included."""
    return len(distinct_places(arrays[0], types[0]))


def _infer_distinct(types: Types, parameters: Parameters) -> ColumnType:
    return list_of(types[0])


def _infer_int(types: Types, parameters: Parameters) -> ColumnType:
    return INT


def _infer_frequencies(types: Types, parameters: Parameters) -> ColumnType:
    require("FREQ_COUNT", types[0], ("int", "str"))
    return ENCODED_DICT


def reduce_frequencies(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Each distinct value with the number of its rows, in order of first occurrence."""
    counts: dict[Any, int] = {}
    for value in decode(arrays[0], types[0]):
        counts[value] = counts.get(value, 0) + 1
    return counts


def _infer_quantile(types: Types, parameters: Parameters) -> ColumnType:
    require("QUANTILE", types[0], ("int", "float"))
    if not all(0 <= share <= 1 for share in parameters):
        raise UnsupportedOperationError(f"quantiles are shares between 0 and 1, got {', '.join(map(str, parameters))}")
    return ARRAY


def reduce_quantile(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """The value below which each wanted share of the values lies; zero when there is no value."""
    values = arrays[0].drop_null().cast(pa.float64())
    ordered = values.take(pc.sort_indices(values)).to_pylist()
    if not ordered:
        return [0.0 for _ in parameters]
    last = len(ordered) - 1
    return [ordered[max(0, min(last, int(share * len(ordered))))] for share in parameters]


def _count_distinct_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    value = F.map_entries(columns[0]) if pa.types.is_map(types[0].physical) else columns[0]
    return F.size(F.collect_set(F.struct(value))).cast("bigint")


define_collected("concat", _infer_concat, reduce_concat)
define_collected("distinct", _infer_distinct, reduce_distinct)
define_collected("freq_count", _infer_frequencies, reduce_frequencies)
define_collected("quantile", _infer_quantile, reduce_quantile)
register_aggregate(AggregateFunction("count_distinct", _infer_int, _count_distinct_column, reduce_count_distinct))
