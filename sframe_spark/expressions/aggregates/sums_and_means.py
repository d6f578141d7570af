"""The aggregates ``sum`` and ``mean``, whose state columns depend on the type: of ints, of floats, or of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.counts import sum_of_ints
from sframe_spark.expressions.aggregates.float_sums import exact_mean, exact_sum, mean, sum_of_floats
from sframe_spark.expressions.aggregates.ndarray_sums import ndarrays_in_spark, sum_of_ndarrays
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate
from sframe_spark.expressions.aggregates.vectors import collected_vectors, sum_of_vectors, vectors_in_spark
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import ARRAY, ARRAY_KIND, FLOAT, FLOAT_KIND, INT, INT_KIND, NDARRAY, NDARRAY_KIND, ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.spark_columns import Column, F

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
SUMMED = (INT_KIND, FLOAT_KIND, ARRAY_KIND, NDARRAY_KIND)


def _infer_sum(types: Types, parameters: Parameters) -> ColumnType:
    require("SUM", types[0], SUMMED)
    return types[0].of_values


def _infer_mean(types: Types, parameters: Parameters) -> ColumnType:
    require("MEAN", types[0], SUMMED)
    return types[0] if types[0] in (ARRAY, NDARRAY) else FLOAT


def _sum(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    """Return the sum of the values that are not missing; of none zero, or the empty vector. The sum of vectors of different lengths is missing, that
    of arrays of different shapes an error."""
    if types[0] == ARRAY:
        return sum_of_vectors(positions[0])
    if types[0] == NDARRAY:
        return sum_of_ndarrays(positions[0])
    return sum_of_ints(positions[0]) if types[0] == INT else sum_of_floats(positions[0])


def _mean(types: Types, positions: Sequence[int], parameters: Parameters) -> ColumnAggregate:
    """Return the mean of the values that are not missing; of none it is missing, or the empty vector."""
    if types[0] == NDARRAY:
        return sum_of_ndarrays(positions[0], is_mean=True)
    return sum_of_vectors(positions[0], is_mean=True) if types[0] == ARRAY else mean(positions[0])


def _sum_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    if types[0] in (ARRAY, NDARRAY):
        return collected_vectors(columns, types, parameters, order)
    # Spark widens the int literal to the type of the sum.
    return F.coalesce(F.sum(columns[0]), F.lit(0))


def _finish_sum(column: Column, types: Types, parameters: Parameters) -> Column:
    if types[0] == NDARRAY:
        return ndarrays_in_spark(column)
    return vectors_in_spark(column) if types[0] == ARRAY else column


def _finish_mean(column: Column, types: Types, parameters: Parameters) -> Column:
    return ndarrays_in_spark(column, is_mean=True) if types[0] == NDARRAY else vectors_in_spark(column, is_mean=True)


define_aggregate(
    "sum", _infer_sum, column=_sum_column, finish=_finish_sum, order_sensitive=False, exact=exact_sum, of_columns=_sum, skips_missing=True
)
define_aggregate(
    "mean", _infer_mean, column=collected_vectors, finish=_finish_mean, order_sensitive=False, exact=exact_mean, of_columns=_mean, skips_missing=True
)
