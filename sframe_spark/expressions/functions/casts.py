"""The scalar functions for casts between kinds, changes of encoding, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.expressions.functions.datetimes import microseconds_column
from sframe_spark.expressions.functions.scalar_function import INCREASING, Argument, always_by_arrow, array_of, define_function
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import DATETIME_KIND, FLOAT, FLOAT_KIND, INT, INT_KIND, STR, ColumnType
from sframe_spark.values.datetimes import SECOND
from sframe_spark.values.plain_values import SMALLEST_INT
from sframe_spark.values.python_to_arrow import encode, recode

with lazy_imports(globals()):
    from sframe_spark.compute.spark_columns import Column, F, floor_divide_ints, literal_column
    from sframe_spark.values.column_cast import cast_array, cast_type


def _infer_cast(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type that the cast yields, which has the target's kind. Parameters: the target type, and whether failures become missing."""
    return cast_type(types[0], parameters[0]).of_values


def _compute_cast(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    target, undefined_on_failure = parameters
    result = cast_type(types[0], target)
    return cast_array(array_of(arguments[0], rows), types[0], result, undefined_on_failure)


def _build_cast(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    """Return the Spark column of a cast that cannot fail; None for other casts, which need the kernel's errors."""
    source, column = types[0], columns[0]
    result = cast_type(source, parameters[0])
    if source.kind == FLOAT_KIND:
        return _cast_float(column, result)
    if source == result:
        return column
    if source.kind == INT_KIND and result in (FLOAT, STR):
        return column.cast("double" if result == FLOAT else "string")
    if source.kind == DATETIME_KIND and result == FLOAT:
        return microseconds_column(column, source).cast("double") / float(SECOND)
    if source.kind == DATETIME_KIND and result == INT:
        return floor_divide_ints(microseconds_column(column, source), F.lit(SECOND).cast("bigint"))
    return None


def _cast_float(column: Column, result: ColumnType) -> Column | None:
    """Return the Spark column of a cast of floats: NaN becomes missing, a float beyond 64 bits the smallest int (Spark would take the nearest)."""
    if result == FLOAT:
        return F.when(~F.isnan(column), column)
    if result != INT:
        return None
    fits = (column >= float(SMALLEST_INT)) & (column < -float(SMALLEST_INT))
    integer = F.when(fits, column.cast("bigint")).otherwise(F.lit(SMALLEST_INT).cast("bigint"))
    return F.when(column.isNotNull() & ~F.isnan(column), integer)


def _monotone_cast(types: Sequence[ColumnType], literals: Sequence[Any]) -> str | None:
    """Return the ``monotone`` of a cast: increasing for datetimes without an offset, as their seconds and their ISO strings sort like them."""
    _, target, undefined_on_failure = literals
    sorts_alike = types[0].kind == DATETIME_KIND and not types[0].is_zoned and target in (INT, FLOAT, STR)
    return INCREASING if sorts_alike and not undefined_on_failure else None


def _infer_recode(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    return parameters[0]


def _compute_recode(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return recode(array_of(arguments[0], rows), types[0], parameters[0])


def _build_recode(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return columns[0] if types[0] == parameters[0] else None


def _infer_literal(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    return parameters[1]


def _compute_literal(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Scalar:
    value, column_type = parameters
    return encode([value], column_type)[0]


def _build_literal(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return literal_column(*parameters)


define_function("cast", _infer_cast, _compute_cast, _build_cast, _monotone_cast, may_fail=True, by_arrow=always_by_arrow)
define_function("recode", _infer_recode, _compute_recode, _build_recode, by_arrow=always_by_arrow)
define_function("literal", _infer_literal, _compute_literal, _build_literal, by_arrow=always_by_arrow)
