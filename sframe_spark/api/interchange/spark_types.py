"""The one table of Spark's types: which Arrow type has the values of each, and what to do about types whose values no column holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sframe_spark.errors import SchemaError
from sframe_spark.values.variant import VariantType

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

# Spark's moments have no offset: they get that of ``df.toArrow()`` whatever the session's zone, so that values of both are equal.
ZONE = "UTC"

ATOMIC: dict[str, Callable[[Any], pa.DataType]] = {
    "boolean": lambda kind: pa.bool_(),
    "byte": lambda kind: pa.int8(),
    "short": lambda kind: pa.int16(),
    "integer": lambda kind: pa.int32(),
    "long": lambda kind: pa.int64(),
    "float": lambda kind: pa.float32(),
    "double": lambda kind: pa.float64(),
    "decimal": lambda kind: pa.decimal128(kind.precision, kind.scale),
    "void": lambda kind: pa.null(),
    "string": lambda kind: pa.string(),
    "char": lambda kind: pa.string(),
    "varchar": lambda kind: pa.string(),
    "binary": lambda kind: pa.binary(),
    "date": lambda kind: pa.date32(),
    "timestamp": lambda kind: pa.timestamp("us", ZONE),
    "timestamp_ntz": lambda kind: pa.timestamp("us"),
    "time": lambda kind: pa.time64("ns"),
    "daytimeinterval": lambda kind: pa.duration("us"),
    "variant": lambda kind: VariantType(),
}
"""Types without parts, by the names that PySpark gives them."""

TO_STRING = "cast it to a string"
ADVICE = {
    "yearmonthinterval": f"{TO_STRING}, or extract its years and months",
    "interval": TO_STRING,
    "geometry": "take its bytes in hexadecimal with hex(st_asbinary())",
    "geography": "take its bytes in hexadecimal with hex(st_asbinary())",
    "udt": "make arrays of vectors with pyspark.ml.functions.vector_to_array(), or cast other values to another type",
}
"""What to do about types that no column holds."""


def arrow_type_of(data_type: DataType, name: str) -> pa.DataType:
    """The Arrow type with the values of a column's type; all parts of it may be missing, though those of ``array()`` never are.

    Raises
    ------
    SchemaError
        If no column holds them; it names the column and the part of its type.
    """
    return _arrow_type(data_type, name, "")


def _arrow_type(data_type: DataType, name: str, part: str) -> pa.DataType:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(data_type, ArrayType):
        return pa.list_(_arrow_type(data_type.elementType, name, f"{part}[]"))
    if isinstance(data_type, MapType):
        return pa.map_(_arrow_type(data_type.keyType, name, f"{part} key"), _arrow_type(data_type.valueType, name, f"{part} value"))
    if isinstance(data_type, StructType):
        _require_distinct_fields(data_type.names, name, part)
        return pa.struct([pa.field(field.name, _arrow_type(field.dataType, name, f"{part}.{field.name}")) for field in data_type.fields])
    kind = kind_of(data_type)
    if kind not in ATOMIC:
        advice = ADVICE.get(kind, "cast it to another type")
        raise SchemaError(f"{_place(name, part)}: a column cannot hold Spark's {data_type.simpleString():.200} values; {advice} first")
    return ATOMIC[kind](data_type)


def nullable(data_type: DataType) -> DataType:
    """The type whose parts may all be missing."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(data_type, ArrayType):
        return ArrayType(nullable(data_type.elementType), True)
    if isinstance(data_type, MapType):
        return MapType(nullable(data_type.keyType), nullable(data_type.valueType), True)
    if isinstance(data_type, StructType):
        return StructType([StructField(field.name, nullable(field.dataType), True) for field in data_type.fields])
    return data_type


def kind_of(data_type: DataType) -> str:
    """The name of a type in these tables; types that users define are not those that they are stored as."""
    from pyspark.sql.types import GeographyType, GeometryType, UserDefinedType

    if isinstance(data_type, UserDefinedType):
        return "udt"
    if isinstance(data_type, (GeographyType, GeometryType)):
        return "geography" if isinstance(data_type, GeographyType) else "geometry"
    return data_type.typeName().split("(")[0]


def _require_distinct_fields(names: list[str], name: str, part: str) -> None:
    repeated = sorted(field for field, count in Counter(names).items() if count > 1)
    if repeated:
        raise SchemaError(f"{_place(name, part)}: a dict has one value for each key, but several fields are named {repeated[0]!r}: rename them first")


def _place(name: str, part: str) -> str:
    return f"column {name!r}" + (f", in {part.lstrip('. ')!r} of it" if part else "")
