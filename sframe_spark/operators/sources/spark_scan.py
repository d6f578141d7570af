"""Lowering of segments to a Spark Parquet scan whose order comes from the stored key."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from sframe_spark.compute.hashing import looked_up
from sframe_spark.compute.spark_columns import spark_type
from sframe_spark.locations import is_elsewhere
from sframe_spark.operators.sources.segment_tasks import ranges_of_segments, read_by_tasks, spark_uri
from sframe_spark.planner.chunk import column_names
from sframe_spark.planner.lowering import KeyColumn, LoweringContext, Relation
from sframe_spark.storage.filesystem.paths import as_named, join, spark_path
from sframe_spark.storage.parquet.checksums import PageCheck, SumsOfFile, as_it_is, places_of_sums
from sframe_spark.storage.parquet.footer import footer_of_entry

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from sframe_spark.operators.sources.source import SegmentSource
    from sframe_spark.storage.manifest.manifest import SegmentEntry

# Tells queries over frames of ours from those over their files: Spark has no option of this name.
OURS = {"sframe_spark.rows": "of a frame"}
# Pages are compared with the check sums that they carry.
CHECKED = {"parquet.page.verify-checksum.enabled": "true"}
# What Spark would otherwise take from the session in which a query runs, which may be the user's.
EXACT = {
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mergeSchema": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}
KEY_BITS = 33
KEY_MASK = (1 << KEY_BITS) - 1


def scan_segments(source: SegmentSource, context: LoweringContext) -> Relation:
    """A scan of only the segments that intersect the row range, filtered on the key where the range cuts a segment.

    A scan that is open already is used again if its files are as they were when they were checked and the scan was opened.
    """
    chosen = segments_in_range(source)
    files = tuple(scanned_file(source.manifest.directory, entry) for _, entry in chosen)
    key = ("segments", source.manifest.directory, source.positions, source.start, source.stop, source.infer_type(()), files)
    return context.open_source(key, lambda: open_scan(source, chosen, context))


def scanned_file(directory: str, entry: SegmentEntry) -> Hashable:
    """What a scan depends on of a segment: its file as it is now, and what the manifest says of it.

    Raises
    ------
    StorageError
        If the file is missing, of another length or no file.
    """
    file = as_it_is(directory, entry)
    if file is None:
        footer_of_entry(directory, entry)
    return file, entry.number, entry.first_position, entry.rows, entry.tail, entry.pages


def segments_in_range(source: SegmentSource) -> list[tuple[int, SegmentEntry]]:
    """The segments that hold rows of the source, each with the number of its first row in the dataset; one without rows may have no file."""
    return [
        (offset, entry)
        for offset, entry in zip(source.manifest.offsets, source.manifest.segments, strict=True)
        if entry.rows and offset < source.stop and offset + entry.rows > source.start
    ]


def page_checks(source: SegmentSource) -> list[PageCheck]:
    """What is to be checked before Spark reads the rows of a source."""
    manifest, places = source.manifest, places_of_sums(source.manifest, source.positions, with_key=True)
    return [PageCheck(manifest.directory, entry, SumsOfFile(places, entry.pages)) for _, entry in segments_in_range(source)]


def open_scan(source: SegmentSource, chosen: list[tuple[int, SegmentEntry]], context: LoweringContext) -> Relation:
    """The scan itself: Spark lists the files and plans their columns."""
    from pyspark.sql import functions as F

    manifest = source.manifest
    schema = source.infer_type(())
    names = [manifest.file_name(position) for position in source.positions]
    types = dict(zip(names, schema, strict=True))
    places = dict(zip(names, source.positions, strict=True))
    ddl = ", ".join([f"`{name}` {spark_type(column_type)}" for name, column_type in types.items()] + ["_key bigint"])
    not_missing = columns_without_missing(source, [entry for _, entry in chosen])
    if not chosen:
        empty = context.spark.createDataFrame([], schema=ddl)
        return _relation(empty, names, schema, F.col("_key"), F.col("_key"), not_missing)
    directory = read_by_spark(source, context.spark)
    if directory is None:
        ranges = ranges_of_segments(chosen, source.start, source.stop)
        read = read_by_tasks(manifest, list(places.values()), ranges, list(places), ddl, context.spark)
        return _relation(read, names, schema, F.col("_key"), dense_position(source, F.col("_key")), not_missing)
    for check in page_checks(source):
        # Spark takes what footers and page headers say for true.
        check.run_if_due()
    paths = [as_named(join(directory, entry.file)) for _, entry in chosen]
    df = context.spark.read.options(**OURS, **CHECKED, **EXACT).schema(ddl).parquet(*paths)
    first_offset, first = chosen[0]
    last_offset, last = chosen[-1]
    if first_offset < source.start:
        df = df.where(F.col("_key") >= F.lit((first.number << KEY_BITS) + first.first_position + source.start - first_offset))
    if last_offset + last.rows > source.stop:
        df = df.where(F.col("_key") < F.lit((last.number << KEY_BITS) + last.first_position + source.stop - last_offset))
    return _relation(df, names, schema, F.col("_key"), dense_position(source, F.col("_key")), not_missing)


def read_by_spark(source: SegmentSource, spark: SparkSession) -> str | None:
    """Return what Spark calls the directory of a dataset that it reads itself; None where tasks of ours read it."""
    directory = source.manifest.directory
    return spark_uri(directory, spark) if is_elsewhere(directory) else spark_path(directory)


def columns_without_missing(source: SegmentSource, segments: Sequence[SegmentEntry]) -> frozenset[int]:
    """Places of the columns in which no segment has a missing value, as recorded when the segments were written."""
    stored = source.manifest.stored
    if stored is not None:
        return frozenset(place for place, position in enumerate(source.positions) if stored.summary[position].has_missing is False)
    return frozenset(
        place
        for place, position in enumerate(source.positions)
        if all(len(entry.columns) > position and entry.columns[position].has_missing is False for entry in segments)
    )


def dense_position(source: SegmentSource, key: Column) -> Column:
    """The row number within the source, from the stored key and the known offset of each segment."""
    from pyspark.sql import functions as F

    base_of = source.manifest.offset_of_number
    if len(base_of) == 1:
        (base,) = base_of.values()
        return key.bitwiseAND(F.lit(KEY_MASK)) + F.lit(base - source.start)
    return looked_up(F.shiftright(key, KEY_BITS), base_of) + key.bitwiseAND(F.lit(KEY_MASK)) - F.lit(source.start)


def _relation(df, names, schema, key: Column, position: Column, not_missing) -> Relation:  # type: ignore[no-untyped-def]
    selected = [df[name].alias(out) for name, out in zip(names, column_names(len(schema)), strict=True)]
    return Relation(df.select(*selected, key.alias("k0"), position.alias("p")), schema, (KeyColumn("k0"),), "p", not_missing)
