"""Missing values: None in every type, and NaN in float columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import FillValueError, SchemaError, SFrameError
from sframe_spark.expressions.functions.base import Argument
from sframe_spark.expressions.functions.logic import choose_nested
from sframe_spark.expressions.functions.scalar_function import always_by_arrow, array_of, define_function, to_ints, unsupported
from sframe_spark.message_text import brief
from sframe_spark.types import ARRAY_KIND, FLOAT_KIND, INT, LIST_KIND, LOGICAL, STR_KIND, ColumnType, common_encoding
from sframe_spark.values.convert import construct_value
from sframe_spark.values.encode import encode, recode
from sframe_spark.values.infer import encoding_for
from sframe_spark.values.value_model import plain

if TYPE_CHECKING:
    from pyspark.sql import Column


def _infer_test(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    return LOGICAL


def _is_missing(values: Argument, column_type: ColumnType) -> Argument:
    return pc.is_null(values, nan_is_null=column_type.kind == FLOAT_KIND)


def is_missing_column(column: Column, column_type: ColumnType) -> Column:
    """Spark condition: null, or NaN in a float column."""
    from pyspark.sql import functions as F

    return column.isNull() | F.isnan(column) if column_type.kind == FLOAT_KIND else column.isNull()


def _compute_is_missing(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return to_ints(_is_missing(arguments[0], types[0]))


def _compute_is_not_missing(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    return to_ints(pc.invert(_is_missing(arguments[0], types[0])))


def _build_is_missing(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return is_missing_column(columns[0], types[0]).cast("bigint")


def _build_is_not_missing(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    return (~is_missing_column(columns[0], types[0])).cast("bigint")


def _fill_value(column_type: ColumnType, value: Any) -> Any:
    """The value as the column's kind: numbers and date-times convert, anything becomes text."""
    try:
        # An int of more than 64 bits would be a float already.
        value = value if column_type == INT and isinstance(value, int) else plain(value)
        if value is None and column_type.kind != STR_KIND:
            raise SchemaError("None fills nothing: pass a value")
        if isinstance(value, list) and column_type.kind == ARRAY_KIND:
            raise SchemaError("an array holds numbers, and at least one that says so: pass an array.array")
        return construct_value(value, column_type.kind)
    except SFrameError as error:
        raise FillValueError(f"missing values of a column of {column_type.kind} cannot be filled with {brief(value)}: {error}") from error


def _fill_type(column_type: ColumnType, value: Any) -> ColumnType:
    """Type of the fill value; a nested one that the column's encoding takes anyway has the column's type."""
    standard = encoding_for([value], column_type)
    if value is None or (column_type.kind in (LIST_KIND, ARRAY_KIND) and not value):
        return column_type
    return standard


def _infer_fill(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    value = _fill_value(types[0], parameters[0])
    found = common_encoding(types[0], _fill_type(types[0], value))
    return found if isinstance(value, int) and value in (0, 1) else found.of_values


def _compute_fill(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    result = _infer_fill(types, parameters)
    values = recode(array_of(arguments[0], rows), types[0], result)
    fill = encode([_fill_value(types[0], parameters[0])], result)
    return _pick(values, fill, types[0])


def _pick(values: pa.Array, others: pa.Array, column_type: ColumnType) -> pa.Array:
    """Take the other value where the first is missing; it may be one for all."""
    present = pc.invert(_is_missing(values, column_type))
    if pa.types.is_nested(values.type):
        return choose_nested(present, values, others)
    return pc.if_else(present, values, others if len(others) == len(values) else others[0])


def _build_fill(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    from pyspark.sql import functions as F

    from sframe_spark.compute.spark_columns import literal_column

    if _infer_fill(types, parameters) != types[0] or pa.types.is_map(types[0].physical):
        return None
    fill = literal_column(_fill_value(types[0], parameters[0]), types[0])
    return F.when(is_missing_column(columns[0], types[0]), fill).otherwise(columns[0])


def _infer_coalesce(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    if types[0].kind != types[1].kind:
        raise unsupported("a choice", types)
    return common_encoding(types[0], types[1])


def _compute_coalesce(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> Any:
    result = _infer_coalesce(types, parameters)
    first, second = (recode(array_of(a, rows), t, result) for a, t in zip(arguments, types, strict=True))
    return _pick(first, second, types[0])


def _build_coalesce(columns: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Column | None:
    from pyspark.sql import functions as F

    if types[0] != types[1]:
        return None
    return F.when(is_missing_column(columns[0], types[0]), columns[1]).otherwise(columns[0])


# Missing values and NaN come first in an ascending order.
define_function("is_missing", _infer_test, _compute_is_missing, _build_is_missing, by_arrow=always_by_arrow)
define_function("is_not_missing", _infer_test, _compute_is_not_missing, _build_is_not_missing, by_arrow=always_by_arrow)
define_function("fill_missing", _infer_fill, _compute_fill, _build_fill, by_arrow=always_by_arrow)
define_function("coalesce", _infer_coalesce, _compute_coalesce, _build_coalesce, by_arrow=always_by_arrow)
