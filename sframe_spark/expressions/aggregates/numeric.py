"""Counts, sums, means and spreads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_grouped_sum import Digits
from sframe_spark.compute.spark_columns import arrow_function
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import define_aggregate, require
from sframe_spark.expressions.aggregates.base import AGGREGATES, AggregateFunction, SeveralColumns, Way
from sframe_spark.expressions.aggregates.partial_aggregates import (
    Decomposition,
    MomentParts,
    added,
    added_pairs,
    count_and_sum,
    counted,
    lifted,
    mean_of,
    merged_moments,
    moments,
    spread_of,
    sum_of,
    summed,
    the_part,
)
from sframe_spark.expressions.aggregates.spark_sums import DigitSums, exact_mean, exact_sum, exact_variance, moments_of
from sframe_spark.expressions.aggregates.vectors import COLUMN_MEANS, COLUMN_SUMS, RAGGED, VectorSum, added_vectors
from sframe_spark.types import ARRAY, FLOAT, INT, ColumnType
from sframe_spark.udf.errors import error_transport

if TYPE_CHECKING:
    from pyspark.sql import Column

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
NUMBERS = ("int", "float")
NO_SPREAD = "a column with no more rows than ddof={} has no spread: choose a smaller ddof"


def _count_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    return F.count(F.lit(1))


def _infer_sum(types: Types, parameters: Parameters) -> ColumnType:
    require("SUM", types[0], (*NUMBERS, "array"))
    return types[0].of_values


def _infer_mean(types: Types, parameters: Parameters) -> ColumnType:
    require("MEAN", types[0], (*NUMBERS, "array"))
    return ARRAY if types[0] == ARRAY else FLOAT


def _infer_vector(types: Types, parameters: Parameters) -> ColumnType:
    require("the sum or mean of vectors", types[0], ("array",))
    return ARRAY


def _infer_column_spread(types: Types, parameters: Parameters) -> ColumnType:
    if len(parameters) != 1 or type(parameters[0]) is not int or parameters[0] < 0:
        raise UnsupportedOperationError(f"degrees of freedom are an int from 0, not {parameters!r:.80}")
    return _infer_spread(types, parameters)


def _infer_spread(types: Types, parameters: Parameters) -> ColumnType:
    require("VAR or STD", types[0], NUMBERS)
    return FLOAT


def reduce_sum(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Sum of values that are not missing; zero (of vectors: the empty vector) when there is none.

    Vectors of different lengths have a sum that is missing.
    """
    if types[0] == ARRAY:
        return VectorSum.of(arrays[0]).sum
    return SUMS.reduce(arrays, types, parameters)


def reduce_mean(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Mean of values that are not missing; missing (of vectors: the empty vector) when there is none.

    Vectors of different lengths have a mean that is missing.
    """
    if types[0] == ARRAY:
        return VectorSum.of(arrays[0]).mean
    return MEANS.reduce(arrays, types, parameters)


def _sum_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    if types[0] == ARRAY:
        return _vectors_column(columns, types, parameters, order)
    # A whole number is widened to the type of the sum.
    return F.coalesce(F.sum(columns[0]), F.lit(0))


def _vectors_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    """The vectors of a group, in any order."""
    from pyspark.sql import functions as F

    return F.collect_list(columns[0])


def _add_vectors(rows: Column, is_mean: bool = False) -> Column:
    """Sum or mean of collected vectors, element by element, without rounding before it is known."""

    def exact_vectors(kept: pa.Array) -> pa.Array:
        return added_vectors(kept, is_mean)

    return arrow_function(exact_vectors, "array<double>")(rows)


def _if_equal_lengths(rows: Column, value: Column, empty: Column, ragged: Column) -> Column:
    """A value made of collected vectors; others for no vectors, and for vectors of different lengths."""
    from pyspark.sql import functions as F

    differ = F.size(F.array_distinct(F.transform(rows, F.size))) > 1
    return F.when(F.size(rows) == 0, empty).when(differ, ragged).otherwise(value)


def _no_vector() -> Column:
    from pyspark.sql import functions as F

    return F.lit(None).cast("array<double>")


def _empty_vector() -> Column:
    from pyspark.sql import functions as F

    return F.array().cast("array<double>")


def _ragged_error() -> Column:
    from pyspark.sql import functions as F

    return F.raise_error(F.lit(error_transport().packed(UnsupportedOperationError(RAGGED)))).cast("array<double>")


def _finish_sum(column: Column, types: Types, parameters: Parameters) -> Column:
    if types[0] != ARRAY:
        return column
    return _if_equal_lengths(column, _add_vectors(column), _empty_vector(), _no_vector())


def _finish_mean(column: Column, types: Types, parameters: Parameters) -> Column:
    return _if_equal_lengths(column, _add_vectors(column, is_mean=True), _empty_vector(), _no_vector())


def _finish_column_vector_sum(column: Column, types: Types, parameters: Parameters) -> Column:
    return _if_equal_lengths(column, _add_vectors(column), _empty_vector(), _ragged_error())


def _finish_column_vector_mean(column: Column, types: Types, parameters: Parameters) -> Column:
    return _if_equal_lengths(column, _add_vectors(column, is_mean=True), _no_vector(), _ragged_error())


def variance_of(part: MomentParts, types: Types, parameters: Parameters) -> float:
    """Population variance from the moments of all rows; zero for a group with one value (even NaN) or none."""
    return part[1].squares / part[1].count if part[1].count > 1 else 0.0


def deviation_of(part: MomentParts, types: Types, parameters: Parameters) -> float:
    """Population standard deviation from the moments of all rows; zero for a group with one value (even NaN) or none."""
    return math.sqrt(variance_of(part, types, parameters))


def column_variance_of(part: MomentParts, types: Types, parameters: Parameters) -> float | None:
    """Variance of a whole column from the moments of all rows, degrees of freedom taken from the count; missing when there is no value.

    Raises
    ------
    UnsupportedOperationError
        If the column has no more rows than degrees of freedom.
    """
    rows, found = part
    if rows and rows <= parameters[0]:
        raise UnsupportedOperationError(NO_SPREAD.format(parameters[0]))
    return spread_of(found.count, found.squares, parameters[0])


def column_deviation_of(part: MomentParts, types: Types, parameters: Parameters) -> float | None:
    """Standard deviation of a whole column from the moments of all rows, degrees of freedom taken from the count."""
    found = column_variance_of(part, types, parameters)
    return None if found is None else math.sqrt(found)


def _exact_column_variance(names: Sequence[str], types: Types, parameters: Parameters, way: Way) -> SeveralColumns:
    from pyspark.sql import functions as F

    numbers, freedom = DigitSums(names[0], types[0], way, has_squares=True), parameters[0]

    def finish(made: Sequence[str]) -> Column:
        *sums, all_rows = made
        count, rows = F.col(sums[0]), F.col(all_rows)
        error = F.raise_error(F.lit(error_transport().packed(UnsupportedOperationError(NO_SPREAD.format(freedom))))).cast("double")
        return F.when((rows > 0) & (rows <= freedom), error).when(count > 0, numbers.in_python(partial(column_variances, freedom), sums))

    return SeveralColumns([*numbers.columns(), "count(1)"], finish, beside=numbers.beside)


def column_variances(freedom: int, counts: np.ndarray, totals: Digits, squares: Digits | None) -> np.ndarray:
    """Variances of whole columns, degrees of freedom taken from the count; of no value anything."""
    assert squares is not None
    found = [spread_of(part.count, part.squares, freedom) for part in moments_of(counts, totals, squares)]
    return np.array([0.0 if spread is None else spread for spread in found])


def _root(exact: Callable[..., SeveralColumns]) -> Callable[..., SeveralColumns]:
    """The square root of an aggregate."""

    def of_root(names: Sequence[str], types: Types, parameters: Parameters, way: Way) -> SeveralColumns:
        from pyspark.sql import functions as F

        squared = exact(names, types, parameters, way)
        return attrs.evolve(squared, finish=lambda made: F.sqrt(squared.finish(made)))

    return of_root


def _infer_count(types: Types, parameters: Parameters) -> ColumnType:
    return INT


def _count_missing_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    return F.count(F.lit(1)) - F.count(columns[0])


def reduce_count_missing(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Number of missing values."""
    return arrays[0].null_count


COUNTS = Decomposition(lambda arrays, rows, types, parameters: rows, counted, the_part)
MISSING = Decomposition(lifted(reduce_count_missing), counted, the_part)
SUMS = Decomposition(summed, added, sum_of)
MEANS = Decomposition(count_and_sum, added_pairs, mean_of)
define_aggregate("count_missing", _infer_count, reduce_count_missing, parts=MISSING, column=_count_missing_column, order_sensitive=False)
AGGREGATES.add(AggregateFunction("count", _infer_count, _count_column, None, decomposition=COUNTS, arguments=(0, 1)))
define_aggregate("sum", _infer_sum, reduce_sum, parts=SUMS, column=_sum_column, finish=_finish_sum, order_sensitive=False, exact=exact_sum)
define_aggregate("mean", _infer_mean, reduce_mean, parts=MEANS, column=_vectors_column, finish=_finish_mean, order_sensitive=False, exact=exact_mean)
for _name, _parts, _finish_column in (
    ("column_vector_sum", COLUMN_SUMS, _finish_column_vector_sum),
    ("column_vector_mean", COLUMN_MEANS, _finish_column_vector_mean),
):
    define_aggregate(_name, _infer_vector, parts=_parts, column=_vectors_column, finish=_finish_column, order_sensitive=False)
for _name, _exact, _finish in (
    ("var", exact_variance, variance_of),
    ("std", _root(exact_variance), deviation_of),
    ("column_var", _exact_column_variance, column_variance_of),
    ("column_std", _root(_exact_column_variance), column_deviation_of),
):
    _spreads = Decomposition(moments, merged_moments, _finish)
    _infer = _infer_column_spread if _name.startswith("column_") else _infer_spread
    define_aggregate(_name, _infer, _spreads.reduce, parts=_spreads, order_sensitive=False, exact=_exact)
