"""Clipping numbers to a range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.functions.arrays import map_array
from sframe_spark.expressions.functions.base import Argument
from sframe_spark.expressions.functions.scalar_function import INCREASING, array_of, define_function, float_of, unsupported
from sframe_spark.message_text import brief
from sframe_spark.types import ARRAY_KIND, FLOAT, INT, ColumnType
from sframe_spark.values.value_model import plain_number

if TYPE_CHECKING:
    from pyspark.sql import Column


def _bounds(parameters: tuple[Any, ...]) -> tuple[int | float | None, int | float | None]:
    """Both bounds, None where there is no limit (None or NaN was given).

    Raises
    ------
    UnsupportedOperationError
        If one is no number, or the lower is above the upper.
    BeyondRangeError
        If one is an int beyond the largest float.
    """
    lower, upper = (_bound(value) for value in parameters)
    if lower is not None and upper is not None and lower > upper:
        raise UnsupportedOperationError(f"the lower limit {brief(lower)} is above the upper limit {brief(upper)}")
    return lower, upper


def _bound(value: Any) -> int | float | None:
    if value is not None and not isinstance(value, (int, float)):
        raise UnsupportedOperationError(f"limits are numbers, not {type(value).__name__}")
    if value is None or value != value:
        return None
    # Whole numbers stay, which a float may not hold; one beyond the largest float is told.
    plain_number(value)
    return int(value) if isinstance(value, bool) else value


def _int_bounds(parameters: tuple[Any, ...]) -> tuple[int | None, int | None]:
    """Both bounds of ints; one that all ints keep is no limit.

    Raises
    ------
    UnsupportedOperationError
        If no int keeps one.
    """
    lower, upper = _bounds(parameters)
    if (lower is not None and lower >= 2**63) or (upper is not None and upper < -(2**63)):
        raise UnsupportedOperationError(
            f"no int of 64 bits lies between the limits {brief(lower)} and {brief(upper)}: convert the column to float first"
        )
    return (None if lower is None or lower < -(2**63) else int(lower), None if upper is None or upper >= 2**63 else int(upper))


def _float_bounds(parameters: tuple[Any, ...]) -> tuple[float | None, float | None]:
    """Both bounds of floats."""
    lower, upper = _bounds(parameters)
    return None if lower is None else float(lower), None if upper is None else float(upper)


def _infer_clip(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Int stays int unless a limit is a float, NaN included."""
    _bounds(parameters)
    if types[0].kind == ARRAY_KIND:
        return types[0]
    if not types[0].is_numeric:
        raise unsupported("clip", types)
    if types[0] != INT or any(isinstance(value, float) for value in parameters):
        return FLOAT
    _int_bounds(parameters)
    return INT


def _compute_clip(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    lower, upper = _bounds(parameters)
    if types[0].kind == ARRAY_KIND:
        return map_array(array_of(arguments[0], rows), lambda elements: _clip_elements(elements, lower, upper))
    result = _infer_clip(types, parameters)
    lower, upper = _int_bounds(parameters) if result == INT else _float_bounds(parameters)
    values = array_of(arguments[0], rows)
    values = float_of(values) if result == FLOAT else values
    # Comparisons with NaN are false, so it stays.
    if lower is not None:
        limit = pa.scalar(lower, result.physical)
        values = pc.if_else(pc.less(values, limit), limit, values)
    if upper is not None:
        limit = pa.scalar(upper, result.physical)
        values = pc.if_else(pc.greater(values, limit), limit, values)
    return values


def _clip_elements(elements: np.ndarray, lower: int | float | None, upper: int | float | None) -> np.ndarray:
    if lower is not None:
        elements = np.where(elements < lower, float(lower), elements)
    return elements if upper is None else np.where(elements > upper, float(upper), elements)


def _build_clip(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    from pyspark.sql import functions as F

    if types[0].kind == ARRAY_KIND:
        return None
    lower, upper = _bounds(parameters)
    spark_type = "bigint" if _infer_clip(types, parameters) == INT else "double"
    lower, upper = _int_bounds(parameters) if spark_type == "bigint" else _float_bounds(parameters)
    column = columns[0].cast(spark_type)
    if lower is not None:
        limit = F.lit(lower).cast(spark_type)
        column = F.when(column < limit, limit).otherwise(column)
    if upper is not None:
        limit = F.lit(upper).cast(spark_type)
        above = column > limit
        if spark_type == "double":
            above = above & ~F.isnan(column)  # Spark has NaN above every number
        column = F.when(above, limit).otherwise(column)
    return column


def _monotone_clip(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
    return INCREASING if types[0].is_numeric else None


define_function("clip", _infer_clip, _compute_clip, _build_clip, _monotone_clip)
