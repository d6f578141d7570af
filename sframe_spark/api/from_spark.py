"""Frames of the rows of Spark DataFrames: each column as the same column of an Arrow table would be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sframe_spark.api.sframe_columns import require_distinct
from sframe_spark.errors import SchemaError
from sframe_spark.operators.spark_source import SparkSource
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ColumnType
from sframe_spark.values.from_arrow import arrow_column_type, normalize

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructField

# Types whose values Spark's own cast brings into ours, each as Arrow's would; all others go through Arrow.
CAST = ("boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "void", "string", "char", "varchar", "date", "timestamp_ntz")
NESTED = ("array", "map", "struct")
# Spark's moments have no offset: they get that of ``df.toArrow()`` whatever the session's zone, so that values of both are equal.
ZONE = "UTC"
HELD = (*CAST, *NESTED, "binary", "timestamp", "time", "daytimeinterval")


def frame_from_spark(df: Any) -> tuple[PlannerNode, list[str]]:
    """A Spark DataFrame as a lazy source; its columns are brought into our physical types.

    Raises
    ------
    SchemaError
        If no column can hold a column's type.
    TakenNameError
        If two columns have one name.
    """
    from sframe_spark.engine.query import translated_errors
    from sframe_spark.session.session import require_frame_open

    require_frame_open(df.sparkSession)
    with translated_errors("looking at the columns of a DataFrame"):
        source = _source(df)
    return source.make_planner_node(), list(df.columns)


def _source(df: Any) -> SparkSource:
    from pyspark.sql import functions as F

    require_distinct(df.columns)
    fields = [(field, _arrow_type(field.dataType, field.name)) for field in df.schema.fields]
    types = [_column_type(arrow, field.name) for field, arrow in fields]
    positional = df.toDF(*[f"c{place}" for place in range(len(fields))])
    columns = [
        _physical(F.col(f"c{place}"), field.dataType, arrow, column_type).alias(f"c{place}")
        for place, ((field, arrow), column_type) in enumerate(zip(fields, types, strict=True))
    ]
    return SparkSource(_selected(positional, columns, df.schema.fields), tuple(types))


def _selected(df: Any, columns: Sequence[Column], fields: Sequence[StructField]) -> Any:
    """The columns, computed of a DataFrame's fields.

    Raises
    ------
    SchemaError
        If Spark does not compute with the values of one of them.
    """
    from pyspark.errors import PySparkException

    try:
        return df.select(*columns)
    except PySparkException:
        for column, field in zip(columns, fields, strict=True):
            try:
                df.select(column)
            except PySparkException as error:
                raise SchemaError(_refusal(field, str(error))) from None
        raise


def _refusal(field: StructField, told: str) -> str:
    """What to do about a column that Spark shows but does not compute with, such as times of day where its settings do not say so."""
    from sframe_spark.engine.messages import in_one_line

    kind, reason = field.dataType.simpleString(), in_one_line(told)
    change = "set spark.sql.timeType.enabled to true" if "TIME_TYPE" in told else "cast it to another type first"
    return f"column {field.name!r}: Spark does not compute with {kind:.200} values: {reason} To hold them, {change}"


def _arrow_type(data_type: DataType, name: str) -> pa.DataType:
    from pyspark.sql.pandas.types import to_arrow_type

    if not _is_held(data_type):
        raise SchemaError(f"column {name!r}: a column cannot hold Spark's {data_type.simpleString():.200} values; cast it to another type first")
    return to_arrow_type(_nullable(data_type), timezone=ZONE)


def _nullable(data_type: DataType) -> DataType:
    """The type whose parts may all be missing: Arrow has no empty list of nothing that is never missing, as ``array()`` is."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(data_type, ArrayType):
        return ArrayType(_nullable(data_type.elementType), True)
    if isinstance(data_type, MapType):
        return MapType(_nullable(data_type.keyType), _nullable(data_type.valueType), True)
    if isinstance(data_type, StructType):
        return StructType([StructField(field.name, _nullable(field.dataType), True) for field in data_type.fields])
    return data_type


def _is_held(data_type: DataType) -> bool:
    """Say whether a column can hold values of a type of Spark's, and of the types within it."""
    fields = getattr(data_type, "fields", ())
    within = [getattr(data_type, part, None) for part in ("elementType", "keyType", "valueType")]
    return data_type.typeName() in HELD and all(
        map(_is_held, [*(field.dataType for field in fields), *(part for part in within if part is not None)])
    )


def _column_type(arrow: pa.DataType, name: str) -> ColumnType:
    try:
        return arrow_column_type(arrow)
    except SchemaError as error:
        raise SchemaError(f"column {name!r}: {error}") from None


def _physical(column: Column, data_type: DataType, arrow: pa.DataType, column_type: ColumnType) -> Column:
    from pyspark.sql import functions as F

    from sframe_spark.operators.error_transport import error_transport
    from sframe_spark.operators.spark_columns import fit, spark_type

    if data_type.typeName() in CAST:
        return column.cast(spark_type(column_type))
    transport = error_transport()

    def converted(values: pa.Array) -> pa.Array:
        return transport.guarded(lambda: normalize(fit(values, arrow))[0])

    converted.__annotations__ = {}
    return F.arrow_udf(converted, spark_type(column_type))(column.cast(_nullable(data_type)))
