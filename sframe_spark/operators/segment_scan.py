"""Lowering of segments to a Spark Parquet scan whose order comes from the stored key."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sframe_spark.operators.spark_columns import spark_type
from sframe_spark.planner.chunk import column_names
from sframe_spark.planner.relation import KeyColumn, LoweringContext, Relation

if TYPE_CHECKING:
    from pyspark.sql import Column

    from sframe_spark.operators.sources import SegmentSource

KEY_BITS = 33
KEY_MASK = (1 << KEY_BITS) - 1


def scan_segments(source: SegmentSource, context: LoweringContext) -> Relation:
    """A scan of only the segments that intersect the row range, filtered on the key where the range cuts a segment."""
    from pyspark.sql import functions as F

    manifest = source.manifest
    schema = source.infer_type(())
    offsets = manifest.offsets
    chosen = [
        (offset, entry)
        for offset, entry in zip(offsets, manifest.segments, strict=True)
        if offset < source.stop and offset + entry.rows > source.start
    ]
    names = [f"c{position}" for position in source.positions]
    ddl = ", ".join([f"{name} {spark_type(manifest.types[int(name[1:])])}" for name in dict.fromkeys(names)] + ["_key bigint"])
    if not chosen:
        empty = context.spark.createDataFrame([], schema=ddl)
        return _relation(empty, names, schema, F.col("_key"), F.col("_key"))
    paths = [os.path.join(manifest.directory, entry.file) for _, entry in chosen]
    df = context.spark.read.schema(ddl).parquet(*paths)
    first_offset, first = chosen[0]
    last_offset, last = chosen[-1]
    if first_offset < source.start:
        df = df.where(F.col("_key") >= F.lit((first.number << KEY_BITS) + source.start - first_offset))
    if last_offset + last.rows > source.stop:
        df = df.where(F.col("_key") < F.lit((last.number << KEY_BITS) + source.stop - last_offset))
    return _relation(df, names, schema, F.col("_key"), dense_position(source, F.col("_key")))


def dense_position(source: SegmentSource, key: Column) -> Column:
    """The row number within the source, from the stored key and the known offset of each segment."""
    from pyspark.sql import functions as F

    numbers = [entry.number for entry in source.manifest.segments]
    if len(numbers) == 1:
        return key.bitwiseAND(F.lit(KEY_MASK)) - F.lit(source.start)
    size = max(numbers) + 1
    table = [0] * size
    for number, offset in zip(numbers, source.manifest.offsets, strict=True):
        table[number] = offset - source.start
    base = F.get(F.array(*[F.lit(value).cast("bigint") for value in table]), F.shiftright(key, KEY_BITS).cast("int"))
    return base + key.bitwiseAND(F.lit(KEY_MASK))


def _relation(df, names, schema, key: Column, position: Column) -> Relation:  # type: ignore[no-untyped-def]
    selected = [df[name].alias(out) for name, out in zip(names, column_names(len(schema)), strict=True)]
    return Relation(df.select(*selected, key.alias("k0"), position.alias("p")), schema, (KeyColumn("k0"),), "p")
