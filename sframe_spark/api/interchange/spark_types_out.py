"""Columns as Spark users know them: moments as TIMESTAMP, lists and dicts of mixed values as VARIANT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sframe_spark.compute.spark_columns import microseconds_of
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project import project, zip_columns
from sframe_spark.planner.chunk import column_names
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ColumnType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_json_texts(node: PlannerNode) -> PlannerNode:
    """The node with texts that ``parse_json`` reads in place of lists and dicts of mixed values; itself where it has none."""
    if not any(column_type.is_encoded for column_type in node.schema):
        return node
    columns = [project(node, [place]) for place in range(len(node.schema))]
    return zip_columns(*(apply_function("variant_text", c) if t.is_encoded else c for c, t in zip(columns, node.schema, strict=True)))


def has_native_types(schema: Schema) -> bool:
    """True where nothing has to be done for :func:`with_native_types`."""
    return not any(column_type.is_encoded or column_type.is_zoned for column_type in schema)


def with_native_types(df: DataFrame, schema: Schema) -> DataFrame:
    """The columns of a DataFrame of :func:`with_json_texts` in Spark's own types, whatever the settings of its session."""
    from pyspark.sql import functions as F

    if has_native_types(schema):
        return df
    names = column_names(len(schema))
    return df.select(*(_native(F.col(name), column_type).alias(name) for name, column_type in zip(names, schema, strict=True)))


def _native(column: Column, column_type: ColumnType) -> Column:
    from pyspark.sql import functions as F

    if column_type.is_encoded:
        return F.parse_json(column)
    return F.timestamp_micros(microseconds_of(column["instant"])) if column_type.is_zoned else column
