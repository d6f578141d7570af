"""Lowering of stored segments to a Spark Parquet scan, or to Python tasks if Spark cannot open the files; the stored key defines the row order."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa

from sframe_spark.compute.int_lookup_table_in_spark import lookup_column
from sframe_spark.compute.spark_columns import spark_type
from sframe_spark.config import config
from sframe_spark.errors import CarriedError, SFrameError
from sframe_spark.operators.sources.blocks_kept_by_spark import in_tasks, task_rows
from sframe_spark.paths_and_uris import is_remote_location
from sframe_spark.planner.chunk import column_names
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation
from sframe_spark.session.spark_start_and_settings import has_file_system, is_remote
from sframe_spark.storage.filesystem.files_kept_by_spark import FilesOfTask, is_kept_by_spark
from sframe_spark.storage.filesystem.path_joining_and_escaping import as_named, join, spark_path
from sframe_spark.storage.filesystem.remote_operations import has_user_file_system
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME
from sframe_spark.storage.parquet.checksums import FileChecksums, PageCheck, as_it_is, checksum_positions
from sframe_spark.storage.parquet.footer import segment_footer
from sframe_spark.storage.segments.reader import iterate_rows
from sframe_spark.udf.error_transport import ErrorTransport, error_transport

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from sframe_spark.operators.sources.base_and_segment_source import SegmentSource


# Remote segments for which Spark's Hadoop has no file system are read by Python tasks, which pass rows with their stored keys to Spark.

LOG = logging.getLogger("sframe_spark")
# For URI schemes that Hadoop names differently: Hadoop's name by that of fsspec.
SPARK_SCHEMES = {"s3": "s3a"}


@attrs.frozen
class SegmentTasks:
    """The payload of tasks that read segments for Spark.

    Parameters
    ----------
    manifest, positions
        The dataset and the columns to read; the manifest is sent without column statistics.
    ranges
        The row range of the dataset that each task reads.
    names
        Names of the columns, followed by the name of the key.
    batch_rows
        Maximum number of rows per batch.
    transport
        Packs errors that tasks send back.
    options
        Options of remote file systems.
    """

    manifest: Manifest
    positions: tuple[int, ...]
    ranges: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    batch_rows: int
    transport: ErrorTransport
    options: Mapping[str, Mapping[str, Any]] = attrs.field(repr=False)

    def batches(self, numbers: Iterable[int], files: FilesOfTask) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the ranges with these numbers, whose files are on a remote file system or among those of the task."""
        for number in numbers:
            first, last = self.ranges[number]
            rows = iterate_rows(self.manifest, self.positions, first, last, self.batch_rows, with_key=True)
            while (columns := self._next(rows)) is not None:
                yield pa.RecordBatch.from_arrays(columns, names=list(self.names))

    def _next(self, rows: Iterator[list[pa.Array]]) -> list[pa.Array] | None:
        # The options must not be set during a yield, because the consumer of the rows has its own options.
        with config.using(storage_options=self.options):
            try:
                return next(rows, None)
            except SFrameError as error:
                raise CarriedError(self.transport.packed(error)) from None


def read_by_tasks(
    manifest: Manifest, positions: Sequence[int], ranges: Sequence[tuple[int, int]], names: Sequence[str], ddl: str, spark: SparkSession
) -> DataFrame:
    """Return a DataFrame of row ranges of a dataset with their stored keys, read by Python tasks."""
    scheme = manifest.directory.partition(":")[0]
    if not is_kept_by_spark(manifest.directory):
        LOG.info(
            "this Spark has no file system for %s://, or not the one that was given, so Python tasks read the rows of %s, which is slower",
            scheme,
            manifest.directory,
        )
    plain = manifest.with_segments(tuple(attrs.evolve(entry, columns=()) for entry in manifest.segments))
    tasks = SegmentTasks(plain, tuple(positions), tuple(ranges), (*names, KEY_NAME), config.batch_rows, error_transport(), config.storage_options)
    needs = [files_of_rows(manifest, *rows) if is_kept_by_spark(manifest.directory) else () for rows in ranges]
    return task_rows(spark, needs).mapInArrow(in_tasks(tasks.batches), ddl)


def files_of_rows(manifest: Manifest, start: int, stop: int) -> list[str]:
    """Return the URIs of the files that have a range of rows."""
    return [join(manifest.directory, entry.file) for entry in manifest.between(start, stop).segments]


def spark_uri(location: str, spark: SparkSession) -> str | None:
    """Return Spark's URI of a remote location; None if the location is not remote, or if Python tasks have to read it.

    Parameters
    ----------
    location
        The location as this package names it.
    spark
        The Spark session.
    """
    if not is_remote_location(location) or is_remote(spark) or is_kept_by_spark(location) or has_user_file_system(location):
        return None
    scheme, mark, rest = location.partition("://")
    name = SPARK_SCHEMES.get(scheme, scheme)
    return f"{name}{mark}{rest}" if has_file_system(spark, name) else None


def ranges_of_segments(chosen: Sequence[tuple[int, SegmentEntry]], start: int, stop: int) -> list[tuple[int, int]]:
    """Return the part of each segment's row range that lies within ``start`` to ``stop``, one per task.

    Examples
    --------
    >>> ranges_of_segments([(0, SegmentEntry("a", 0, 10)), (10, SegmentEntry("b", 1, 10))], 5, 12)
    [(5, 10), (10, 12)]
    """
    return [(max(offset, start), min(offset + entry.rows, stop)) for offset, entry in chosen]


# Marks scans of frames, to tell them from a user's own reads of the same files. Spark has no option of this name.
FRAME_SCAN = {"sframe_spark.rows": "of a frame"}
# Makes Spark verify the checksums of Parquet pages.
CHECKED = {"parquet.page.verify-checksum.enabled": "true"}
# Options that Spark would otherwise take from the session in which a query runs, which may be the user's.
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
    """Return a scan of the segments that hold rows of the source, filtered by stored key if the row range starts or ends within a segment.

    An open scan is reused as long as its files have not changed since the scan was opened.
    """
    chosen = segments_in_range(source)
    files = tuple(scanned_file(source.manifest.directory, entry) for _, entry in chosen)
    key = ("segments", source.manifest.directory, source.positions, source.start, source.stop, source.infer_type(()), files)
    return context.open_source(key, lambda: open_scan(source, chosen, context))


def scanned_file(directory: str, entry: SegmentEntry) -> Hashable:
    """Return what a scan depends on in a segment: the current state of its file, and its manifest entry.

    Raises
    ------
    StorageError
        If the file is missing, has a different length or is not a regular file.
    """
    # The driver does not check the files that Spark keeps, as that takes a job: such files have unique names and are not replaced.
    file = entry.file if is_kept_by_spark(directory) else as_it_is(directory, entry)
    if file is None:
        segment_footer(directory, entry)
    return file, entry.number, entry.first_position, entry.rows, entry.tail, entry.pages


def segments_in_range(source: SegmentSource) -> list[tuple[int, SegmentEntry]]:
    """Return the segments that hold rows of the source, each with the index of its first row in the dataset. Segments without rows are left out."""
    return [
        (offset, entry)
        for offset, entry in zip(source.manifest.offsets, source.manifest.segments, strict=True)
        if entry.rows and offset < source.stop and offset + entry.rows > source.start
    ]


def page_checks(source: SegmentSource) -> list[PageCheck]:
    """Return the page checks to run before Spark reads the rows of a source."""
    manifest, positions = source.manifest, checksum_positions(source.manifest, source.positions, with_key=True)
    return [PageCheck(manifest.directory, entry, FileChecksums(positions, entry.pages)) for _, entry in segments_in_range(source)]


def open_scan(source: SegmentSource, chosen: list[tuple[int, SegmentEntry]], context: LoweringContext) -> Relation:
    """Return a new scan: Spark lists the files and plans the columns."""
    from pyspark.sql import functions as F

    manifest, schema = source.manifest, source.infer_type(())
    names = [manifest.file_name(position) for position in source.positions]
    positions = dict(zip(names, source.positions, strict=True))
    types = dict(zip(names, schema, strict=True))
    ddl = ", ".join([f"`{name}` {spark_type(column_type)}" for name, column_type in types.items()] + ["_key bigint"])
    directory = spark_uri(manifest.directory, context.spark) if is_remote_location(manifest.directory) else spark_path(manifest.directory)
    if not chosen:
        df = context.spark.createDataFrame([], schema=ddl)
    elif directory is None:
        ranges = ranges_of_segments(chosen, source.start, source.stop)
        df = read_by_tasks(manifest, list(positions.values()), ranges, list(positions), ddl, context.spark)
    else:
        for check in page_checks(source):
            # Spark verifies pages only, and trusts footers and page headers.
            check.run_if_due()
        paths = [as_named(join(directory, entry.file)) for _, entry in chosen]
        df = context.spark.read.options(**FRAME_SCAN, **CHECKED, **EXACT).schema(ddl).parquet(*paths)
        (first_offset, first), (last_offset, last) = chosen[0], chosen[-1]
        if first_offset < source.start:
            df = df.where(F.col("_key") >= F.lit((first.number << KEY_BITS) + first.first_position + source.start - first_offset))
        if last_offset + last.rows > source.stop:
            df = df.where(F.col("_key") < F.lit((last.number << KEY_BITS) + last.first_position + source.stop - last_offset))
    key = F.col("_key")
    row = dense_position(source, key) if chosen else key
    selected = [df[name].alias(out) for name, out in zip(names, column_names(len(schema)), strict=True)]
    not_missing = columns_without_missing(source, [entry for _, entry in chosen])
    return Relation(df.select(*selected, key.alias("k0"), row.alias("p")), schema, (KeyColumn("k0"),), "p", not_missing)


def columns_without_missing(source: SegmentSource, segments: Sequence[SegmentEntry]) -> frozenset[int]:
    """Return the output columns in which no segment has a missing value, as recorded when the segments were written."""
    stored = source.manifest.stored
    if stored is not None:
        return frozenset(output for output, position in enumerate(source.positions) if stored.summary[position].has_missing is False)
    return frozenset(
        output
        for output, position in enumerate(source.positions)
        if all(len(entry.columns) > position and entry.columns[position].has_missing is False for entry in segments)
    )


def dense_position(source: SegmentSource, key: Column) -> Column:
    """Return the row index within the source, computed from the stored key and the offset of each segment."""
    from pyspark.sql import functions as F

    base_of = source.manifest.offset_of_number
    if len(base_of) == 1:
        (base,) = base_of.values()
        return key.bitwiseAND(F.lit(KEY_MASK)) + F.lit(base - source.start)
    return lookup_column(F.shiftright(key, KEY_BITS), base_of) + key.bitwiseAND(F.lit(KEY_MASK)) - F.lit(source.start)
