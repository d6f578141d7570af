"""Builds Spark types for column types, and Spark columns for literals, kernels (as Arrow UDFs), datetimes and int division."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import ColumnType
from sframe_spark.values.arrow_layouts import with_offsets
from sframe_spark.values.datetimes import DAY, MINUTE, SECOND

with lazy_imports(globals()):
    from sframe_spark.session.spark_versions import arrow_function


class _SparkFunctions:
    """The module ``pyspark.sql.functions``, which is imported when one of its functions is first called."""

    def __getattr__(self, name: str) -> Any:
        from pyspark.sql import functions

        return getattr(functions, name)


if TYPE_CHECKING:
    from pyspark.sql import Column, functions as F
else:
    # Importing PySpark takes half a second, which programs that run without Spark do not spend.
    Column, F = Any, _SparkFunctions()


def spark_type(column_type: ColumnType) -> str:
    """Return the DDL string of the Spark type for a column type."""
    return ddl(column_type.physical)


def ddl(physical: pa.DataType) -> str:
    """Return the DDL string of the Spark type for a physical Arrow type.

    Raises
    ------
    TypeError
        If Spark has no type for it.
    """
    if pa.types.is_int64(physical):
        return "bigint"
    if pa.types.is_int32(physical):
        return "int"
    if pa.types.is_float64(physical):
        return "double"
    if pa.types.is_string(physical):
        return "string"
    if pa.types.is_binary(physical):
        return "binary"
    if pa.types.is_timestamp(physical):
        return "timestamp_ntz"
    if pa.types.is_list(physical):
        return f"array<{ddl(physical.value_type)}>"
    if pa.types.is_map(physical):
        return f"map<{ddl(physical.key_type)},{ddl(physical.item_type)}>"
    if pa.types.is_struct(physical):
        return "struct<" + ",".join(f"{field.name}:{ddl(field.type)}" for field in physical) + ">"
    raise TypeError(f"Spark has no type for Arrow's {physical}")


def literal_column(value: Any, column_type: ColumnType) -> Column:
    """Return a constant Spark column with the physical type of the column type."""
    from sframe_spark.values.python_to_arrow import encode

    plain = encode([value], column_type)[0]
    return _plain_literal(plain.as_py(), column_type.physical)


def _plain_literal(value: Any, physical: pa.DataType) -> Column:
    if value is None:
        return F.lit(None).cast(ddl(physical))
    if pa.types.is_list(physical):
        return F.array(*[_plain_literal(item, physical.value_type) for item in value]).cast(ddl(physical))
    if pa.types.is_map(physical):
        pairs = [part for k, v in value for part in (_plain_literal(k, physical.key_type), _plain_literal(v, physical.item_type))]
        return F.create_map(*pairs).cast(ddl(physical))
    if pa.types.is_struct(physical):
        return F.struct(*[_plain_literal(value[f.name], f.type).alias(f.name) for f in physical])
    return F.lit(value).cast(ddl(physical))


def kernel_column(function: Any, operands: Sequence[Column], types: Sequence[ColumnType], parameters: tuple[Any, ...], result: ColumnType) -> Column:
    """Return a kernel as an Arrow UDF, marked nondeterministic so that Spark evaluates it once per row."""
    from sframe_spark.udf.error_transport import error_transport

    kernel, transport = function.kernel, error_transport()
    physicals = [column_type.physical for column_type in types]

    def evaluate(*arrays: pa.Array) -> pa.Array:
        fitted = [fit(array, physical) for array, physical in zip(arrays, physicals, strict=False)]
        return transport.guarded(lambda: kernel(fitted, types, parameters, len(arrays[0])))

    arguments = list(operands) if operands else [F.lit(0)]
    return arrow_function(evaluate, spark_type(result)).asNondeterministic()(*arguments)


def fit(array: pa.Array | pa.ChunkedArray, physical: pa.DataType) -> pa.Array:
    """Convert an array from Spark to one array of exactly this physical type; field names and string widths may differ before."""
    chunks = [with_offsets(chunk) for chunk in (array.chunks if isinstance(array, pa.ChunkedArray) else [array])]
    array = chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, array.type).combine_chunks()
    return array if array.type.equals(physical) else array.cast(physical)


def microseconds_of(datetimes: Column) -> Column:
    """Return the microseconds since 1970 of a datetime without an offset, independent of the session's time zone.

    They are computed from the date and the time of day: casts and differences would interpret the datetime in the session's time zone, in which
    some local times do not exist.
    """
    day = F.unix_date(datetimes.cast("date")).cast("bigint")
    minutes = (F.hour(datetimes) * 60 + F.minute(datetimes)).cast("bigint")
    # ``date_part`` returns the seconds with six decimals.
    seconds = (F.date_part(F.lit("SECOND"), datetimes) * SECOND).cast("bigint")
    return day * DAY + minutes * MINUTE + seconds


def floor_divide_ints(left: Column, right: Column) -> Column:
    """Return the quotient of ints rounded down; missing for a divisor of zero."""
    truncated = F.call_function("div", left, right)
    remainder = left % right
    return F.when((remainder != 0) & ((remainder < 0) != (right < 0)), truncated - 1).otherwise(truncated)
