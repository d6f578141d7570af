"""Columns of Spark's types as our physical columns: by Spark's expressions where these do exactly what Arrow would, else through Arrow batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sframe_spark.api.spark_types import nullable
from sframe_spark.errors import DateTimeRangeError
from sframe_spark.operators.spark_columns import ddl, fit, spark_type
from sframe_spark.types import ARRAY, ENCODED_DICT, ENCODED_LIST, ColumnType
from sframe_spark.values.from_arrow import normalize
from sframe_spark.values.named_columns import column_named
from sframe_spark.values.variant_columns import variant_column
from sframe_spark.values.variants import VariantType

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

# Types whose values Spark's own cast brings into ours, each as Arrow's would.
CAST = ("boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "void", "string", "char", "varchar", "date", "timestamp_ntz")
# A dict of more fields is made in Arrow: as an expression it would be slow to plan.
MOST_FIELDS = 100


def physical_column(column: Column, data_type: DataType, arrow: pa.DataType, column_type: ColumnType, name: str) -> Column:
    """A column with the values of another of a type of Spark's, which ``name`` tells in errors about values that no column holds."""
    native = native_column(column, data_type, column_type)
    return through_arrow(column.cast(nullable(data_type)), arrow, column_type, name) if native is None else native


def native_column(column: Column, data_type: DataType, column_type: ColumnType) -> Column | None:
    """The values by an expression of Spark's alone; None where there is none."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as kinds

    target = spark_type(column_type)
    if _is_cast(data_type):
        return column.cast(target)
    if isinstance(data_type, kinds.TimestampType):
        epoch = F.lit("1970-01-01").cast("timestamp_ntz")
        # Not by a cast, which would give the wall clock of the session's zone.
        instant = F.timestamp_add("MICROSECOND", F.unix_micros(column), epoch)
        return F.when(column.isNotNull(), F.struct(instant.alias("instant"), F.lit(0).alias("offset")))
    if column_type in (ENCODED_LIST, ENCODED_DICT):
        return None
    if isinstance(data_type, kinds.ArrayType) and _is_cast(data_type.elementType):
        cells = column.cast(target)
        return F.transform(cells, lambda item: F.coalesce(item, F.lit(float("nan")))) if column_type == ARRAY else cells
    # Spark casts no key that might be cast to nothing, as it thinks a decimal might.
    if isinstance(data_type, kinds.MapType) and _is_cast(data_type.valueType) and data_type.keyType.typeName() in set(CAST) - {"decimal"}:
        return column.cast(target)
    if isinstance(data_type, kinds.StructType):
        return _dict_of_fields(column, data_type, column_type)
    return None


def is_ours(data_type: DataType, column_type: ColumnType) -> bool:
    """True where Spark's type is that of our physical column, so that nothing is computed."""
    return _is_cast(data_type) and data_type.simpleString() == spark_type(column_type)


def _is_cast(data_type: DataType) -> bool:
    return data_type.typeName() in CAST


def _dict_of_fields(column: Column, data_type: StructType, column_type: ColumnType) -> Column | None:
    """A dict of the fields of a struct, all of which have one of our types."""
    from pyspark.sql import functions as F

    names = data_type.names
    # Spark finds fields by their names, in whatever case.
    found_by_name = len({name.casefold() for name in names}) == len(names) <= MOST_FIELDS
    if not found_by_name or not all(_is_cast(field.dataType) for field in data_type.fields):
        return None
    item = ddl(column_type.physical.item_type)
    pairs = [part for name in names for part in (F.lit(name), column.getField(name).cast(item))]
    return F.when(column.isNotNull(), F.create_map(*pairs))


def through_arrow(column: Column, arrow: pa.DataType, column_type: ColumnType, name: str) -> Column:
    """The values as they are of the column of an Arrow table."""
    from pyspark.sql import functions as F

    from sframe_spark.operators.error_transport import error_transport

    transport = error_transport()

    def normalized(values: pa.Array) -> pa.Array:
        fitted = fit(values, arrow)
        try:
            with column_named(name):
                return variant_column(fitted.storage, column_type) if isinstance(arrow, VariantType) else normalize(fitted)[0]
        except DateTimeRangeError as error:
            raise error.located(name, None) from None

    def converted(values: pa.Array) -> pa.Array:
        return transport.guarded(lambda: normalized(values))

    converted.__annotations__ = {}
    return F.arrow_udf(converted, spark_type(column_type))(column)
