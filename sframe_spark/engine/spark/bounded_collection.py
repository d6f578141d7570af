"""Brings the rows of a Spark query to this process as tasks compute them, and stops the query when they exceed a number of bytes."""

from __future__ import annotations

import contextlib
import uuid
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from sframe_spark.engine import costs
from sframe_spark.errors import ExecutionError, MemoryReservationError
from sframe_spark.planner.node_facts import Schema
from sframe_spark.session import is_remote
from sframe_spark.session.job_labels_and_cancellation import described
from sframe_spark.session.spark_versions import connect_to_jvm, to_arrow
from sframe_spark.values.arrow_layouts import batch_with_offsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Spark numbers the rows of a partition in this many low bits of `monotonically_increasing_id`.
BITS_OF_ROW_IN_PARTITION = 33
# Bytes of a value of variable length, at least: its offset.
BYTES_OF_OFFSET = 4


def table_within(df: DataFrame, schema: Schema, budget: int) -> pa.Table | None:
    """Return all rows of a DataFrame as an Arrow table; None if they take more than ``budget`` bytes.

    The query runs once, with all of its tasks at a time. From each partition, at most as many rows are fetched as fit in ``budget`` bytes, and the
    jobs of
    the query are cancelled when more bytes than that have come.

    Parameters
    ----------
    df
        The DataFrame.
    schema
        The types of its columns.
    budget
        The limit in bytes.
    """
    most = max_rows_within(schema, budget)
    rows, session, tag = with_bounded_partitions(df, most), df.sparkSession, f"sframe_spark-{uuid.uuid4().hex}"
    # `to_arrow` fetches rows by one of these methods, and converts them to the types of the DataFrame.
    if is_remote(session):
        rows._to_table = lambda: (table_of_server(rows, budget, tag), None)
    else:
        rows._collect_as_arrow = lambda *arguments, **named: batches_of_jvm(rows, budget, tag)
    with described(session, "", tag):
        try:
            table = to_arrow(rows)
        except MemoryReservationError:
            return None
    # A partition that was cut has given more rows than fit. They may take few bytes, if columns are narrower than was assumed.
    return table if table.nbytes <= budget and table.num_rows <= most else None


def max_rows_within(schema: Schema, budget: int) -> int:
    """Return an upper limit for the number of rows that a number of bytes holds."""
    return costs.TIMES_WIDER_THAN_COLUMNS_OF_SPARK * budget // max(1, min_bytes_of_row(schema)) + 1


def with_bounded_partitions(df: DataFrame, most: int) -> DataFrame:
    """Return a DataFrame with at most one row more than ``most`` of each partition, so that no executor prepares more for this process."""
    from pyspark.sql import functions as F

    number = F.monotonically_increasing_id().bitwiseAND((1 << BITS_OF_ROW_IN_PARTITION) - 1)
    return df.where(number <= most)


def min_bytes_of_row(schema: Schema) -> int:
    """Return a lower limit for the bytes of a row.

    Examples
    --------
    >>> from sframe_spark.types import INT, STR
    >>> min_bytes_of_row((INT, STR)), min_bytes_of_row(())
    (12, 0)
    """
    physical = [kind.physical for kind in schema]
    return sum(kind.bit_width // 8 if pa.types.is_primitive(kind) else BYTES_OF_OFFSET for kind in physical)


def batches_of_jvm(df: DataFrame, budget: int, tag: str) -> list[pa.RecordBatch]:
    """Return all rows of a DataFrame of a classic session, in at least one batch.

    Raises
    ------
    MemoryReservationError
        If they take more bytes than the budget; the jobs with the tag are cancelled.
    """
    from pyspark.errors.exceptions.captured import unwrap_spark_exception
    from pyspark.sql.pandas.types import to_arrow_schema

    port, secret, server = df._jdf.collectAsArrowToPython()
    stream, socket = connect_to_jvm(port, secret)
    is_over = False
    try:
        with contextlib.closing(socket), contextlib.closing(stream):
            batches = batches_in_order(stream, budget)
    except MemoryReservationError:
        is_over = True
        df.sparkSession.sparkContext.cancelJobsWithTag(tag)
        raise
    finally:
        # Waits for the thread of the JVM that sends the rows, and raises its error, which after a cancellation is of no interest.
        with contextlib.suppress(Exception) if is_over else unwrap_spark_exception():
            server.getResult()
    return batches or [pa.RecordBatch.from_pylist([], to_arrow_schema(df.schema))]


def batches_in_order(stream: IO[bytes], budget: int) -> list[pa.RecordBatch]:
    """Return the batches that the JVM sends: as tasks give them, and then their numbers in the order of the rows, or an error.

    Raises
    ------
    MemoryReservationError
        If they take more bytes than the budget.
    """
    from pyspark.serializers import UTF8Deserializer, read_int

    batches, left = list[pa.RecordBatch](), budget
    for received in pa.ipc.open_stream(stream):
        batch = batch_with_offsets(received)
        left -= batch.nbytes
        if left < 0:
            raise MemoryReservationError
        batches.append(batch)
    count = read_int(stream)
    if count < 0:
        raise ExecutionError(UTF8Deserializer().loads(stream))
    return [batches[read_int(stream)] for _ in range(count)]


def table_of_server(df: DataFrame, budget: int, tag: str) -> pa.Table:
    """Return all rows of a DataFrame of a Spark Connect session.

    Raises
    ------
    MemoryReservationError
        If they take more bytes than the budget; the operations with the tag are interrupted.
    """
    client = df.sparkSession.client
    received = client.to_table_as_iterator(df._plan.to_proto(client), df._plan.observations)
    tables, left = list[pa.Table](), budget
    with contextlib.closing(received):
        # Types of columns come, too.
        for item in received:
            if not isinstance(item, pa.Table):
                continue
            table = pa.Table.from_batches(map(batch_with_offsets, item.to_batches()), item.schema)
            left -= table.nbytes
            if left < 0:
                df.sparkSession.interruptTag(tag)
                raise MemoryReservationError
            tables.append(table)
    return pa.concat_tables(tables)
