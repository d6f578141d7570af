"""Time stamps in 96 bits, as Spark writes them unless told otherwise: moments, which pyarrow takes for date-times without a zone, in nanoseconds."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

SPARK_WROTE = b"org.apache.spark.version"
# Nanoseconds in 64 bits end in the year 2262, and others would come out as other years.
UNIT = "us"


def moments_in(metadata: pq.FileMetaData) -> dict[str, pa.DataType]:
    """The types of columns with time stamps of 96 bits in a file of Spark's: they are in UTC. Other writers mean what they like by them."""
    if SPARK_WROTE not in (metadata.metadata or {}):
        return {}
    schema = metadata.schema.to_arrow_schema()
    found = {field.name: in_utc(field.type) for field in schema}
    return {name: data_type for name, data_type in found.items() if data_type != schema.field(name).type}


def in_utc(data_type: pa.DataType) -> pa.DataType:
    """The type with time stamps in UTC in place of those that only 96 bits have in a file of Spark's.

    Examples
    --------
    >>> str(in_utc(pa.list_(pa.timestamp("ns")))), in_utc(pa.timestamp("us")) == pa.timestamp("us")
    ('list<item: timestamp[us, tz=UTC]>', True)
    """
    if pa.types.is_timestamp(data_type):
        return pa.timestamp(UNIT, "UTC") if data_type.unit == "ns" and data_type.tz is None else data_type
    if pa.types.is_list(data_type):
        return pa.list_(_field_in_utc(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(_field_in_utc(data_type.key_field), _field_in_utc(data_type.item_field))
    if pa.types.is_struct(data_type):
        return pa.struct([_field_in_utc(field) for field in data_type])
    return data_type


def _field_in_utc(field: pa.Field) -> pa.Field:
    return field.with_type(in_utc(field.type))
