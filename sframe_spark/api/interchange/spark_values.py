"""Columns of Spark's types as our physical columns: by Spark's expressions where these do exactly what Arrow would, else through Arrow batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sframe_spark.api.interchange.spark_types import nullable
from sframe_spark.api.interchange.variant_columns import variant_column
from sframe_spark.compute.spark_columns import arrow_function, ddl, fit, spark_type
from sframe_spark.errors import DateTimeRangeError
from sframe_spark.types import ARRAY, ENCODED_DICT, ENCODED_LIST, ColumnType
from sframe_spark.values.from_arrow import normalize
from sframe_spark.values.value_errors import column_named
from sframe_spark.values.variant import VariantType

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

# Types whose values Spark's own cast brings into ours, each as Arrow's would.
CAST = ("boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "void", "string", "char", "varchar", "date", "timestamp_ntz")
# A dict of more fields is made in Arrow: as an expression it would be slow to plan.
MOST_FIELDS = 100


# The microseconds of an instant, by no cast, which would give the wall clock of the session's zone.
INSTANT = (
    "CASE WHEN {0} IS NOT NULL THEN named_struct("
    "'instant', timestampadd(MICROSECOND, unix_micros({0}), CAST('1970-01-01' AS TIMESTAMP_NTZ)), 'offset', 0) END"
)
ITEMS = "transform(CAST({0} AS array<double>), item -> coalesce(item, CAST('NaN' AS double)))"


def native_text(column: str, data_type: DataType, column_type: ColumnType) -> str | None:
    """The values of a column, whose name is one of ours, by an SQL expression, its name where they are ours; None where it takes more than that.

    As a text, since each call of a function of PySpark's is several messages to the JVM, and there may be thousands of columns.
    """
    from pyspark.sql import types as kinds

    is_cast = _is_cast(data_type)
    if isinstance(data_type, kinds.TimestampType):
        return INSTANT.format(column)
    if not is_cast and column_type in (ENCODED_LIST, ENCODED_DICT):
        return None
    if isinstance(data_type, kinds.ArrayType) and _is_cast(data_type.elementType):
        if column_type == ARRAY:
            return ITEMS.format(column)
        is_cast = True
    # Spark casts no key that might be cast to nothing, as it thinks a decimal might.
    if isinstance(data_type, kinds.MapType) and _is_cast(data_type.valueType) and data_type.keyType.typeName() in set(CAST) - {"decimal"}:
        is_cast = True
    target = spark_type(column_type)
    if data_type.simpleString() == target:
        return column
    return f"CAST({column} AS {target})" if is_cast else None


def made_column(column: Column, data_type: DataType, arrow: pa.DataType, column_type: ColumnType, name: str) -> Column:
    """A column with the values of another for which there is no text; ``name`` tells it in errors about values that no column holds."""
    from pyspark.sql import types as kinds

    if isinstance(data_type, kinds.StructType) and column_type not in (ENCODED_LIST, ENCODED_DICT):
        found = _dict_of_fields(column, data_type, column_type)
        if found is not None:
            return found
    return through_arrow(column.cast(nullable(data_type)), arrow, column_type, name)


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

    from sframe_spark.udf.errors import error_transport

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

    return arrow_function(converted, spark_type(column_type))(column)
