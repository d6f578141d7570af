"""Counts, sums, means and spreads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.operators.aggregates.base import AggregateFunction, register_aggregate
from sframe_spark.operators.aggregates.support import collect_rows, reduce_groups, require
from sframe_spark.types import ARRAY, FLOAT, INT, ColumnType
from sframe_spark.values.decode import decode

if TYPE_CHECKING:
    from pyspark.sql import Column

Types = Sequence[ColumnType]
Parameters = tuple[Any, ...]
NUMBERS = ("int", "float")


def _count_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    return F.count(F.lit(1))


def _infer_sum(types: Types, parameters: Parameters) -> ColumnType:
    require("SUM", types[0], (*NUMBERS, "array"))
    return types[0]


def _infer_mean(types: Types, parameters: Parameters) -> ColumnType:
    require("MEAN", types[0], (*NUMBERS, "array"))
    return ARRAY if types[0] == ARRAY else FLOAT


def _infer_spread(types: Types, parameters: Parameters) -> ColumnType:
    require("VAR and STD", types[0], NUMBERS)
    return FLOAT


def vectors(column: pa.Array) -> np.ndarray | None:
    """The vectors of an array column that are not missing, one a row; None when there is none.

    Raises
    ------
    UnsupportedOperationError
        If they have different lengths.
    """
    cells = [cell for cell in decode(column, ARRAY) if cell is not None]
    if len({len(cell) for cell in cells}) > 1:
        raise UnsupportedOperationError("vectors of different lengths have no sum and no mean: make the lengths equal")
    return np.array(cells, dtype=float) if cells else None


def reduce_sum(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Sum of values that are not missing; zero when there is none."""
    if types[0] == ARRAY:
        found = vectors(arrays[0])
        return None if found is None else list(found.sum(axis=0))
    if types[0] == INT:
        values = arrays[0].drop_null().to_numpy(zero_copy_only=False)
        with np.errstate(over="ignore"):
            return int(values.sum(dtype=np.int64))
    total = pc.sum(arrays[0]).as_py()
    return 0.0 if total is None else total


def reduce_mean(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Mean of values that are not missing; missing when there is none."""
    if types[0] == ARRAY:
        found = vectors(arrays[0])
        return None if found is None else list(found.mean(axis=0))
    return pc.mean(arrays[0]).as_py()


def _sum_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    if types[0] == ARRAY:
        return collect_rows(columns, types, parameters, order)
    zero = F.lit(0).cast("bigint") if types[0] == INT else F.lit(0.0)
    return F.coalesce(F.sum(columns[0]), zero)


def _mean_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    return collect_rows(columns, types, parameters, order) if types[0] == ARRAY else F.avg(columns[0])


class _VectorFinish:
    """Array columns are reduced after the aggregation; numbers need nothing more."""

    def __init__(self, reduce: Any) -> None:
        self.reduce = reduce

    def __call__(self, column: Column, types: Types, parameters: Parameters) -> Column:
        if types[0] != ARRAY:
            return column
        from pyspark.sql import functions as F

        reduce, kinds = self.reduce, list(types)

        def finish(groups: pa.Array) -> pa.Array:
            from sframe_spark.operators.worker import guarded

            return guarded(lambda: reduce_groups(groups, reduce, kinds, parameters, ARRAY))

        finish.__annotations__ = {}
        return F.arrow_udf(finish, "array<double>")(column)


def _spread(arrays: Sequence[pa.Array], freedom: int) -> float | None:
    values = arrays[0].drop_null().cast(pa.float64()).to_numpy(zero_copy_only=False)
    if not len(values):
        return None
    squares = float(((values - values.mean()) ** 2).sum())
    left = len(values) - freedom
    if left == 0:
        return math.nan if math.isnan(squares) else math.inf
    return squares / left


def reduce_variance(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Population variance; zero for a group without values."""
    found = _spread(arrays, 0)
    return 0.0 if found is None else found


def reduce_deviation(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Population standard deviation; zero for a group without values."""
    return math.sqrt(reduce_variance(arrays, types, parameters))


def _variance_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    return F.coalesce(F.var_pop(columns[0]), F.lit(0.0))


def _deviation_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    return F.coalesce(F.stddev_pop(columns[0]), F.lit(0.0))


def reduce_column_variance(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Variance of a whole column with degrees of freedom taken from the count; missing when there is no value.

    Raises
    ------
    UnsupportedOperationError
        If the column has no more rows than degrees of freedom.
    """
    rows = len(arrays[0])
    if rows and rows <= parameters[0]:
        raise UnsupportedOperationError(f"a column of {rows} rows has no spread with ddof={parameters[0]}: choose a smaller ddof")
    return _spread(arrays, parameters[0])


def reduce_column_deviation(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Standard deviation of a whole column with degrees of freedom taken from the count."""
    found = reduce_column_variance(arrays, types, parameters)
    return None if found is None else math.sqrt(found)


def _column_variance(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    count = F.count(columns[0])
    left = count - parameters[0]
    squares = F.var_pop(columns[0]) * count
    rows = F.count(F.lit(1))
    refused = (rows > 0) & (rows <= parameters[0])
    text = f"a column with no more rows than ddof={parameters[0]} has no spread: choose a smaller ddof"
    value = F.when(left == 0, F.when(F.isnan(squares), squares).otherwise(F.lit(math.inf))).otherwise(squares / left)
    return F.when(refused, F.raise_error(F.lit(text)).cast("double")).when(count > 0, value)


def _column_deviation(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    return F.sqrt(_column_variance(columns, types, parameters, order))


def _infer_count(types: Types, parameters: Parameters) -> ColumnType:
    return INT


def reduce_count(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Number of values of the first argument, missing ones included."""
    return len(arrays[0])


def _count_missing_column(columns: Sequence[Column], types: Types, parameters: Parameters, order: Column) -> Column:
    from pyspark.sql import functions as F

    return F.count(F.lit(1)) - F.count(columns[0])


def reduce_count_missing(arrays: Sequence[pa.Array], types: Types, parameters: Parameters) -> Any:
    """Number of missing values."""
    return arrays[0].null_count


register_aggregate(AggregateFunction("count_missing", _infer_count, _count_missing_column, reduce_count_missing))
register_aggregate(AggregateFunction("count", _infer_count, _count_column, None))
register_aggregate(AggregateFunction("sum", _infer_sum, _sum_column, reduce_sum, finish=_VectorFinish(reduce_sum)))
register_aggregate(AggregateFunction("mean", _infer_mean, _mean_column, reduce_mean, finish=_VectorFinish(reduce_mean)))
register_aggregate(AggregateFunction("var", _infer_spread, _variance_column, reduce_variance))
register_aggregate(AggregateFunction("std", _infer_spread, _deviation_column, reduce_deviation))
register_aggregate(AggregateFunction("column_var", _infer_spread, _column_variance, reduce_column_variance))
register_aggregate(AggregateFunction("column_std", _infer_spread, _column_deviation, reduce_column_deviation))
