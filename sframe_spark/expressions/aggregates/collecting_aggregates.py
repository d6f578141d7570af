"""Aggregates that collect values of the group: lists, dicts, distinct values and their number, value counts, quantiles; and counts of runs."""

from __future__ import annotations

import array
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_equality_and_codes import codes_of, comparable_values
from sframe_spark.compute.key_runs import run_starts
from sframe_spark.compute.spark_columns import Column, F
from sframe_spark.errors import SchemaError, UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import ReduceCollected, collect_rows, collect_values, define_aggregate, require
from sframe_spark.types import ARRAY, ENCODED_DICT, FLOAT, INT, STR, ColumnType, dict_of, list_of
from sframe_spark.values.arrow_to_python import decode

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
PLAIN = (INT, FLOAT, STR)
"""Types whose values Spark compares, hashes and collects as this package does; for other types the rows of groups are aggregated in Python."""


def _infer_concat(types: Types, parameters: Parameters) -> ColumnType:
    if len(types) == 1:
        return ARRAY if types[0] == FLOAT else list_of(types[0])
    if types[0].kind not in ("int", "float", "str"):
        raise SchemaError(f"CONCAT takes keys of int, float or str, not of {types[0].kind}")
    return dict_of(types[0], types[1])


def reduce_concat(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Return the values that are not missing, as a list; of two columns a dict from each key that is not missing to its first value."""
    first = decode(arrays[0], types[0])
    if len(arrays) == 1:
        present = [value for value in first if value is not None]
        return array.array("d", present) if types[0] == FLOAT else present
    result: dict[Any, Any] = {}
    for key, value in zip(first, decode(arrays[1], types[1]), strict=True):
        if key is not None:
            # The same NaN object is used for all NaN keys, as a dict finds NaN only by identity.
            result.setdefault(math.nan if key != key else key, value)
    return result


def distinct_codes(column: pa.Array, column_type: ColumnType) -> tuple[np.ndarray, int]:
    """Return an int for each row, the same for equal values and counting from zero, and the number of distinct values."""
    codes = codes_of(comparable_values(column, column_type))
    return codes, int(codes.max(initial=-1)) + 1


def reduce_distinct(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Return the distinct values, including the missing value, in order of first occurrence; -0.0 becomes 0.0."""
    codes, count = distinct_codes(arrays[0], types[0])
    indices = np.empty(count, dtype=np.int64)
    # If several rows have the same code, the last assignment stays, so rows are assigned in reverse order.
    indices[codes[::-1]] = np.arange(len(codes))[::-1]
    result = decode(arrays[0].take(pa.array(np.sort(indices))), types[0])
    return [0.0 if value == 0 else value for value in result] if types[0] == FLOAT else result


def reduce_count_distinct(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Return the number of distinct values; the missing value counts as one."""
    return distinct_codes(arrays[0], types[0])[1]


def _infer_distinct(types: Types, parameters: Parameters) -> ColumnType:
    return list_of(types[0])


def _infer_int(types: Types, parameters: Parameters) -> ColumnType:
    return INT


def _infer_frequencies(types: Types, parameters: Parameters) -> ColumnType:
    require("FREQ_COUNT", types[0], ("int", "str"))
    return ENCODED_DICT


def reduce_frequencies(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Return how often each distinct value occurs, in order of first occurrence."""
    result = arrays[0].value_counts()
    return dict(zip(decode(result.field("values"), types[0]), result.field("counts").to_pylist(), strict=True))


def _infer_quantile(types: Types, parameters: Parameters) -> ColumnType:
    require("QUANTILE", types[0], ("int", "float"))
    if not all(isinstance(share, (int, float)) and 0 <= share <= 1 for share in parameters):
        raise UnsupportedOperationError(f"quantiles are shares between 0 and 1, got {', '.join(map(str, parameters))}")
    return ARRAY


def reduce_quantile(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Return, for each share in ``parameters``, the value below which that share of the values lies; zeros if all are missing.

    NaN counts as the largest value.
    """
    values = arrays[0].drop_null().cast(pa.float64(), safe=False)
    ordered = values.take(pc.sort_indices(values)).to_pylist()
    if not ordered:
        return array.array("d", [0.0] * len(parameters))
    last = len(ordered) - 1
    return array.array("d", [ordered[min(last, int(share * len(ordered)))] for share in parameters])


def _concat_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    if len(columns) == 1 and types[0] in PLAIN:
        return collect_values(columns[0], order, keep_missing=False)
    return collect_rows(columns, types, parameters, order)


def _finish_concat(column: Column, types: Types, parameters: Parameters) -> Column:
    if len(types) == 1 and types[0] in PLAIN:
        return column
    return ReduceCollected(_infer_concat, reduce_concat)(column, types, parameters)


def _distinct_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    if types[0] not in PLAIN:
        return collect_rows(columns, types, parameters, order)
    # Spark's distinct distinguishes -0.0 and 0.0; adding zero makes them equal.
    value = columns[0] + F.lit(0.0) if types[0] == FLOAT else columns[0]
    return F.array_distinct(collect_values(value, order, keep_missing=True))


def _finish_distinct(column: Column, types: Types, parameters: Parameters) -> Column:
    if types[0] in PLAIN:
        return column
    return ReduceCollected(_infer_distinct, reduce_distinct)(column, types, parameters)


def is_countable(column_type: ColumnType) -> bool:
    """Return whether values of a type are equal exactly if Spark finds them equal, which does not hold for encoded values and maps."""
    return not column_type.is_encoded and not pa.types.is_map(column_type.physical)


def _count_distinct_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    if not is_countable(types[0]):
        return collect_rows(columns, types, parameters, F.lit(0))
    missing = F.count(F.lit(1)) > F.count(columns[0])
    return F.countDistinct(columns[0]) + missing.cast("bigint")


def _finish_count_distinct(column: Column, types: Types, parameters: Parameters) -> Column:
    if is_countable(types[0]):
        return column
    return ReduceCollected(_infer_int, reduce_count_distinct)(column, types, parameters)


def _quantile_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    return F.sort_array(F.collect_list(columns[0].cast("double")))


def _finish_quantile(column: Column, types: Types, parameters: Parameters) -> Column:
    count = F.size(column)
    indices = [F.least(count - 1, F.floor(F.lit(float(share)) * count).cast("int")) for share in parameters]
    values = [F.when(count == 0, F.lit(0.0)).otherwise(F.get(column, index)) for index in indices]
    return F.array(*values).cast("array<double>")


define_aggregate("concat", _infer_concat, reduce_concat, column=_concat_column, finish=_finish_concat, arguments=(1, 2))
define_aggregate("distinct", _infer_distinct, reduce_distinct, column=_distinct_column, finish=_finish_distinct)
define_aggregate(
    "count_distinct", _infer_int, reduce_count_distinct, column=_count_distinct_column, finish=_finish_count_distinct, order_sensitive=False
)
define_aggregate("freq_count", _infer_frequencies, reduce_frequencies)
define_aggregate("quantile", _infer_quantile, reduce_quantile, column=_quantile_column, finish=_finish_quantile, order_sensitive=False)


# Aggregates of runs: consecutive rows with equal values.

COMPARED = ("int", "float", "str", "datetime")


def infer_run_count(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the int type; raise if values of the column cannot be compared."""
    require("count_runs", types[0], COMPARED)
    return INT


def reduce_run_count(arrays: Sequence[pa.Array], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Any:
    """Return the number of runs of equal values, where missing equals missing; for sorted values this is the number of distinct values.

    Examples
    --------
    >>> reduce_run_count([pa.array([None, 1, 1, 3])], [INT], ())
    3
    """
    return len(run_starts(arrays, types, len(arrays[0])))


define_aggregate("count_runs", infer_run_count, reduce_run_count)
