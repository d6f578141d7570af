"""Spark lowering of windows of a key: a join on the range of keys, then a group-by on the row."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import attrs

from sframe_spark.compute.key_encoding import comparable_column
from sframe_spark.expressions.aggregates.aggregate_function import Way
from sframe_spark.operators.groupby.groupby import with_order_column
from sframe_spark.operators.groupby.spark_aggregates import ORDER_COLUMN, aggregate_in_spark, grouped_in_spark
from sframe_spark.operators.lookup.numeric_keys import WIDE, distance_column, key_column
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.lowering import Relation
from sframe_spark.types import FLOAT_KIND

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from sframe_spark.operators.joins.key_window import KeyWindow


def window_relation(left: Relation, right: Relation, window: KeyWindow, way: Way) -> Relation:
    """The left rows with the aggregates of their windows; rows without a window get the aggregates of no row."""
    from pyspark.sql import functions as F

    left, schema = left.rekeyed("l").with_position(), right.schema
    number = str(left.position)
    rows = with_order_column(right)
    rows = attrs.evolve(rows, df=rows.df.select(*rows.columns, ORDER_COLUMN))
    names = [f"a{i}" for i in range(len(window.aggregations))]
    asked = left.df.select(F.col(number).alias("n"), *[F.col(f"c{p}").alias(f"asked{p}") for p in (window.on, *window.by)])
    joined = rows.df.join(asked, in_window(schema, window))
    found = aggregated(joined, attrs.evolve(rows, df=joined), window, ["n"], way).withColumn("found", F.lit(True))
    nothing = rows.df.where(F.lit(False))
    empty = aggregated(nothing, attrs.evolve(rows, df=nothing), window, [], way).withColumnsRenamed({name: f"{name}_empty" for name in names})
    both = left.df.withColumn("n", F.col(number)).join(found, "n", "left").crossJoin(empty)
    columns = [F.col(f"c{position}") for position in window.kept]
    columns += [F.when(F.col("found"), F.col(name)).otherwise(F.col(f"{name}_empty")) for name in names]
    types = (*[left.schema[position] for position in window.kept], *[a.infer(schema) for a in window.aggregations])
    return Relation(both.select(*[column.alias(f"c{i}") for i, column in enumerate(columns)], *left.hidden), types, left.key, left.position)


def in_window(schema: Schema, window: KeyWindow) -> Column:
    """Whether a row is in the window of an asking row."""
    from pyspark.sql import functions as F

    kind = schema[window.on]
    wide = "double" if kind.kind == FLOAT_KIND else WIDE
    key, asked = (key_column(F.col(f"{name}{window.on}"), kind).cast(wide) for name in ("c", "asked"))
    before, after = (distance_column(distance, wide) for distance in (window.before, window.after))
    low, high = asked - before, asked + after
    groups = [comparable_column(F.col(f"c{p}"), schema[p]).eqNullSafe(comparable_column(F.col(f"asked{p}"), schema[p])) for p in window.by]
    return reduce(and_, [key >= low, key <= high, *groups])


def aggregated(df: DataFrame, rows: Relation, window: KeyWindow, names: list[str], way: Way) -> DataFrame:
    """The aggregates of each group of rows."""
    aggregates = [aggregate_in_spark(a, rows, way) for a in window.aggregations]
    made, finished = grouped_in_spark(df, names, names, aggregates)
    return made.select(*names, *[column.alias(f"a{i}") for i, column in enumerate(finished)])
