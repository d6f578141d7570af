"""Segments elsewhere that the session's Hadoop has no file system for: tasks of ours read them, and Spark gets the rows with their stored keys."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa

from sframe_spark.config import config
from sframe_spark.errors import CarriedError, SFrameError
from sframe_spark.locations import is_elsewhere
from sframe_spark.session.launch import has_file_system, is_remote
from sframe_spark.session.sockets import acknowledge_at_once
from sframe_spark.storage.filesystem.object_store import is_given
from sframe_spark.storage.manifest.manifest import Manifest, SegmentEntry
from sframe_spark.storage.manifest.physical_types import KEY_NAME
from sframe_spark.storage.segments.reader import iterate_rows
from sframe_spark.udf.errors import ErrorTransport, error_transport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOG = logging.getLogger("sframe_spark")
# What Hadoop calls file systems that go by other names here.
SPARK_SCHEMES = {"s3": "s3a"}


@attrs.frozen
class SegmentTasks:
    """What tasks that read segments are sent.

    Parameters
    ----------
    manifest, positions
        What is read; without what is known about values.
    ranges
        Rows of the dataset, for each task some.
    names
        What columns are called, and the key.
    batch_rows
        Most rows at a time.
    transport
        How errors come back.
    options
        Of file systems elsewhere.
    """

    manifest: Manifest
    positions: tuple[int, ...]
    ranges: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    batch_rows: int
    transport: ErrorTransport
    options: Mapping[str, Mapping[str, Any]] = attrs.field(repr=False)

    def batches(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the tasks whose numbers come in."""
        acknowledge_at_once()
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                first, last = self.ranges[number]
                rows = iterate_rows(self.manifest, self.positions, first, last, self.batch_rows, with_key=True)
                while (columns := self._next(rows)) is not None:
                    yield pa.RecordBatch.from_arrays(columns, names=list(self.names))

    def _next(self, rows: Iterator[list[pa.Array]]) -> list[pa.Array] | None:
        # Not around a yield: whoever takes the rows has options of their own.
        with config.using(storage_options=self.options):
            try:
                return next(rows, None)
            except SFrameError as error:
                raise CarriedError(self.transport.packed(error)) from None


def read_by_tasks(
    manifest: Manifest, positions: Sequence[int], ranges: Sequence[tuple[int, int]], names: Sequence[str], ddl: str, spark: SparkSession
) -> DataFrame:
    """A DataFrame of some rows of a dataset with their stored keys, read by tasks of ours."""
    scheme = manifest.directory.partition(":")[0]
    LOG.info(
        "this Spark has no file system for %s://, or not the one that was given, so tasks in Python read the rows of %s for it: slower",
        scheme,
        manifest.directory,
    )
    plain = manifest.with_segments(tuple(attrs.evolve(entry, columns=()) for entry in manifest.segments))
    tasks = SegmentTasks(plain, tuple(positions), tuple(ranges), (*names, KEY_NAME), config.batch_rows, error_transport(), config.storage_options)
    return spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(tasks.batches, ddl)


def spark_uri(location: str, spark: SparkSession) -> str | None:
    """Return what Spark calls a place elsewhere, where its Hadoop has a file system for it; None where tasks of ours have to read it.

    Parameters
    ----------
    location
        A URI of ours.
    spark
        The session.
    """
    if not is_elsewhere(location) or is_remote(spark) or is_given(location):
        return None
    scheme, mark, rest = location.partition("://")
    name = SPARK_SCHEMES.get(scheme, scheme)
    return f"{name}{mark}{rest}" if has_file_system(spark, name) else None


def ranges_of_segments(chosen: Sequence[tuple[int, SegmentEntry]], start: int, stop: int) -> list[tuple[int, int]]:
    """Return the rows of each of some segments that are within a range, a task's each.

    Examples
    --------
    >>> ranges_of_segments([(0, SegmentEntry("a", 0, 10)), (10, SegmentEntry("b", 1, 10))], 5, 12)
    [(5, 10), (10, 12)]
    """
    return [(max(offset, start), min(offset + entry.rows, stop)) for offset, entry in chosen]
