"""Spark queries: lowering a section to a DataFrame, choosing the number of shuffle partitions, and fetching or writing its rows in order."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import pyarrow as pa

from sframe_spark.compute.spark_columns import fit
from sframe_spark.config import config
from sframe_spark.engine.memory_budget import UNKNOWN_BYTES, bytes_of_rows
from sframe_spark.engine.spark.error_translation import run_spark, translated_errors
from sframe_spark.engine.spark.executor_version_checks import check_python_once
from sframe_spark.engine.spark.shared_file_checks import observed_rows, require_known_rows, require_readable, require_valid_pages
from sframe_spark.errors import CarriedError, NumbersLeftOutError, SFrameError
from sframe_spark.message_text import in_words, visible
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.operators.udf_calls import calls_user_functions
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.graph_traversal import fold, postorder, sizes_of
from sframe_spark.planner.length_and_order_inference import observed_nodes
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.row_sizes import Sizes, row_bytes
from sframe_spark.planner.spark_relation import LoweringContext, Relation, SummedFloats
from sframe_spark.process.directory_trees import remove_all_except
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.session import QuerySize, default_parallelism, follow_user, get_session, get_sources, is_remote, shuffle_partitions
from sframe_spark.session.python_of_spark_workers import importing_safely, naming_our_python
from sframe_spark.session.user_session import in_session, keeping_active
from sframe_spark.session.worker_sockets import acknowledge_at_once
from sframe_spark.storage.filesystem.path_joining_and_escaping import spark_path
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.manifest.physical_types import require_computed_as
from sframe_spark.storage.segments.writer import ROWS_PER_GROUP, write_segment
from sframe_spark.udf.errors import ErrorTransport, error_transport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# The number of shuffle partitions, chosen by how many bytes are exchanged, as far as that is known.

# The bytes that a shuffle partition should have at most, before compression. A sort merges its spilled runs with a buffer for each, so a partition of
# many times a task's memory does not fit a small heap.
PARTITION_BYTES = 128 << 20

# The largest number of shuffle partitions. To read what one task wrote for one partition takes 40 microseconds of a core
# (benchmarks/results/growth.md), the driver sums its bytes, and its index entry has eight bytes, empty or not: 8 TB written by 65,536 tasks are a
# thousand million blocks of 8 kB.
MAX_PARTITIONS = 1 << 14

# Factor for the default number of shuffle partitions where the exchanged bytes are unknown. Spark coalesces partitions that turn out to be small.
UNKNOWN_TIMES = 16

# Bytes of a row's hidden key, and what Spark adds to each row.
BYTES_OF_KEY = 24


@attrs.frozen
class Flow:
    """What is known of how many bytes the exchanges of a query shuffle.

    Parameters
    ----------
    most
        The largest known size of the input of an exchange, in bytes of Spark's memory.
    is_complete
        False if some exchange may have more, unknown input.
    read
        Bytes of all sources of the query; None if unknown.
    """

    most: float
    is_complete: bool
    read: float | None

    def needs(self, usual: int) -> int:
        """Return how many partitions are needed, where ``usual`` is the session's default.

        Examples
        --------
        >>> Flow(8e12, True, 8e12).needs(200), Flow(3e9, True, 8e12).needs(200), Flow(0.0, False, None).needs(200)
        (16384, 23, 3200)
        """
        may_be_large = self.read is None or self.read > usual * PARTITION_BYTES
        unknown = UNKNOWN_TIMES * usual if may_be_large and not self.is_complete else 1
        return max(self.known_partitions, unknown)

    @property
    def known_partitions(self) -> int:
        """The number of partitions that the known bytes need."""
        return math.ceil(min(self.most / PARTITION_BYTES, MAX_PARTITIONS))

    def __str__(self) -> str:
        usual, size = "spark.sql.shuffle.partitions", in_words(int(min(self.most, 1 << 62)))
        whole = next_power(self.known_partitions)
        if self.is_complete:
            number = f"{whole} partitions, or {usual} where that is more" if whole > 1 else usual
            return f"at most {size} go into one: {number}"
        if self.needs(1) <= 1:
            return f"no more than {in_words(int(self.read or 0))} are read: {usual}"
        least = f", and {whole} partitions at least, as {size} are known" if whole > 1 else ""
        return f"nobody knows how many bytes go into one: {UNKNOWN_TIMES} times {usual}{least}"


def partitions_for(flow: Flow, usual: int, cores: int) -> int:
    """Return the number of shuffle partitions of a query, before Spark coalesces any.

    Parameters
    ----------
    flow
        The bytes that are exchanged.
    usual
        The default by the session's settings, which is the least number returned.
    cores
        How many tasks run at a time. If more partitions than the default are needed, there is at least one for each.

    Examples
    --------
    >>> [partitions_for(Flow(size, True, size), 200, 1_600) for size in (0.0, 2e10, 3e10, 1e12, 1e18)]
    [200, 200, 2048, 8192, 16384]
    """
    needed = flow.needs(usual)
    # A power of two, as there is a session for each number.
    return usual if needed <= usual else max(usual, min(next_power(max(needed, cores)), MAX_PARTITIONS))


def next_power(number: int) -> int:
    """Return the smallest power of two that is at least ``number``, 1 for 0.

    Examples
    --------
    >>> [next_power(number) for number in (0, 1, 3, 200, 256)]
    [1, 1, 4, 256, 256]
    """
    return 1 << max(0, number - 1).bit_length()


def flow_of(root: PlannerNode, root_observed: bool = True) -> Flow:
    """Return what is known of the bytes that a plan exchanges if it runs as one query.

    Parameters
    ----------
    root
        The plan.
    root_observed
        False if the order of the resulting rows is not observed, so that no exchange is needed for it.
    """
    sizes = sizes_of(root)
    rows = fold([root], max_rows)
    exchanged = [child for node in postorder([root]) if exchanges(node) for child in node.inputs]
    if root_observed:
        exchanged.append(root)
    most, is_complete = 0.0, True
    for node in exchanged:
        bound, widths = rows[id(node)], sizes[id(node)]
        is_complete = is_complete and bound is not None and None not in widths
        if bound is not None:
            most = max(most, bound * (row_bytes(widths, 0) + BYTES_OF_KEY))
    return Flow(most, is_complete, bytes_read(root, sizes))


def exchanges(node: PlannerNode) -> bool:
    """Return whether an operator may exchange the rows of its inputs: it declares exchanges, or declares nothing."""
    work = node.operator.query_work
    return bool(node.inputs) and (work is None or work.exchanges > 0)


def max_rows(node: PlannerNode, inputs: Sequence[int | None]) -> int | None:
    """Return a useful bound for the number of rows of a node, given the bounds of its inputs; None if there is no useful bound.

    The product of the rows of both sides is not a useful bound for a join: with it, any sort of a join would get the most partitions.
    """
    known, most = node.length.rows, node.length.at_most
    if known is not None or most is None or all(child.length.at_most is None or most < child.length.at_most for child in node.inputs):
        return known if known is not None else most
    bounds = [rows for rows in inputs if rows is not None]
    return most if len(bounds) == len(inputs) and most <= sum(bounds) else None


def bytes_read(root: PlannerNode, sizes: Mapping[int, Sizes]) -> float | None:
    """Estimate the bytes of the rows of all sources in Spark's memory; None if the number of rows of a source has no known bound."""
    total = 0.0
    for node in postorder([root]):
        if not node.inputs:
            if node.length.at_most is None:
                return None
            total += node.length.at_most * (row_bytes(sizes[id(node)], UNKNOWN_BYTES) + BYTES_OF_KEY)
    return total


def row_bytes_in_spark(source: PlannerNode) -> float:
    """Estimate the bytes of a row of a source in Spark's memory, with its hidden key."""
    return bytes_of_rows(source, 1) + BYTES_OF_KEY


Value = TypeVar("Value")

# A query whose sources have more bytes than this does not run in one task, however few its rows.
ONE_TASK_BYTES = 32 << 20

# Limits for users' DataFrames in messages: frames, columns of a frame, and characters of a column's name.
MAX_FRAMES_SHOWN, MAX_COLUMNS_SHOWN, LONGEST_NAME_SHOWN = 2, 5, 40

# Every running task buffers a row group, which Spark does not account for, until it is full: Parquet's default of 128 MiB is half a small heap.
# Reading from the middle of a row group decodes it from its start, so it has no more rows than one that this package writes.
ROW_GROUP_BYTES = 32 << 20


def lower(root: PlannerNode, root_observed: bool = True, within: SparkSession | None = None, summed: SummedFloats = SummedFloats.EVERY) -> Relation:
    """Return the plan lowered to one Spark query; row keys are carried only where the order is observed.

    Parameters
    ----------
    root
        The plan.
    root_observed
        False if the order of the resulting rows is not observed.
    within
        A user's session in which a source is read; None for a session of this package, which its expressions need.
    summed
        Which floats sums include. If it is not every float, the caller lowers the plan again when others occur, as :func:`computed` does.
    """
    follow_user()
    size = size_of(root, root_observed)
    single = size == QuerySize.SMALL
    require_readable(root)
    check_python_once()
    with translated_errors(f"checking the files of {root.operator.called()}"):
        require_valid_pages(root)
    spark = get_session(size) if within is None else within
    observed = observed_nodes(root, root_observed)
    sources = get_sources(size)

    def open_source(key: Hashable, build: Callable[[], Relation]) -> Relation:
        if within is not None:
            return in_one_task(build()) if single else build()
        return sources.get(key, lambda: in_one_task(build()) if single else build())

    def lower_node(node: PlannerNode, inputs: list[Relation]) -> Relation:
        relation = node.operator.plan_to_operator(inputs, LoweringContext(spark, id(node) in observed, summed, open_source))
        # Spark does not infer that a union or a full outer join has one partition if its inputs have one.
        return in_one_task(relation) if single and node.operator.forgets_one_partition else relation

    with interrupts_deferred(), keeping_active(spark), _python_for(root), translated_errors(work_on(root, "planning")):
        relation = fold([root], lower_node)[id(root)]
        return relation if within is not None else run_by_user(root, relation)


def run_by_user(root: PlannerNode, relation: Relation) -> Relation:
    """Return the relation in the session of a user's DataFrame that the plan reads, if it reads one.

    The values of the DataFrame's expressions depend on the settings of that session; the values of this package's expressions are fixed by now.
    """
    sessions = _sessions_of_users(root)
    if not sessions or is_remote(sessions[0]) or is_remote(relation.df.sparkSession):
        return relation
    return attrs.evolve(relation, df=in_session(relation.df, sessions[0]))


def _sessions_of_users(root: PlannerNode) -> list[SparkSession]:
    return [node.operator.df.sparkSession for node in postorder([root]) if isinstance(node.operator, SparkSource)]


def _python_for(root: PlannerNode) -> AbstractContextManager[None]:
    """Return a context; Python functions that are created in it run in this process's Python, even in the session of a user's DataFrame."""
    sessions = _sessions_of_users(root)
    return naming_our_python(sessions[0]) if sessions else importing_safely(get_session())


def in_one_task(relation: Relation) -> Relation:
    """Return the relation in one partition. As that satisfies every distribution, Spark plans no exchange above it."""
    return attrs.evolve(relation, df=relation.df.coalesce(1))


def size_of(root: PlannerNode, root_observed: bool = True) -> QuerySize:
    """Return how much data a query has, which decides its number of shuffle partitions; rows that were not counted may be many."""
    if fits_one_task(root):
        return QuerySize.SMALL
    flow = flow_of(root, root_observed)
    if flow.needs(1) <= 1:
        return QuerySize.DEFAULT
    usual = shuffle_partitions()
    partitions = partitions_for(flow, usual, default_parallelism(get_session()))
    return QuerySize.DEFAULT if partitions == usual else QuerySize.large(partitions)


def said_of_exchanges(root: PlannerNode) -> str | None:
    """Return, for explain(), the number of shuffle partitions of a query and the reason, as far as known without a session.

    The result is None if the query fits one task.
    """
    if fits_one_task(root):
        return None
    if any(isinstance(node.operator, SparkSource) and not is_remote(node.operator.df.sparkSession) for node in postorder([root])):
        return "spark.sql.shuffle.partitions of the session of the DataFrame, in which it runs"
    return str(flow_of(root))


def fits_one_task(root: PlannerNode) -> bool:
    """Return whether every source is known to have few rows, so that one task costs less than an exchange."""
    nodes = list(postorder([root]))
    if any(isinstance(node.operator, SparkSource) for node in nodes):
        return False
    bounds = [node.length.at_most for node in nodes if not node.inputs or node.operator.unites_rows]
    if not config.single_task_rows or not all(bound is not None and bound <= config.single_task_rows for bound in bounds):
        return False
    sources = [node for node in nodes if not node.inputs]
    return sum(node.length.at_most * row_bytes_in_spark(node) for node in sources if node.length.at_most is not None) <= ONE_TASK_BYTES


@attrs.define
class CountedQueries:
    """How often the last plan was lowered and run as a query."""

    queries: int = 0


_COUNTED: ContextVar[CountedQueries | None] = ContextVar("sframe_spark_counted_queries", default=None)


@contextmanager
def counting_queries() -> Iterator[CountedQueries]:
    """Yield a counter of the queries that were run for the last plan of the block: more than one if the first left out some floats."""
    counted = CountedQueries()
    token = _COUNTED.set(counted)
    try:
        yield counted
    finally:
        _COUNTED.reset(token)


def _count_query(number: int) -> None:
    counted = _COUNTED.get()
    if counted is not None:
        counted.queries = number


def computed(root: PlannerNode, action: Callable[[Relation], Value]) -> Value:
    """Return what an action returns for the plan as a query. If its sums left out uncommon floats, the plan is lowered again with more of them."""
    # Users' functions are called once for each row, so a query that calls some includes every float from the start.
    tried = () if calls_user_functions(root) else (SummedFloats.COMMON, SummedFloats.MORE)
    # Not within an except block, so that errors of the next query neither show the error before nor keep its frames alive.
    for number, summed in enumerate(tried, start=1):
        _count_query(number)
        with suppress(NumbersLeftOutError):
            return action(lower(root, summed=summed))
    _count_query(len(tried) + 1)
    return action(lower(root))


def collect(root: PlannerNode) -> Chunk:
    """Return all rows of a section in row order, computed by a Spark query and fetched into the driver's memory."""

    def all_rows_of(relation: Relation) -> pa.Table:
        return run_spark(lambda: with_some_column(relation.sorted(), root.schema).toArrow(), work_on(root, "computing"))

    table = computed(root, all_rows_of)
    require_known_rows(table.num_rows, root.length.rows, f"sent {table.num_rows} rows of {root.operator.called()}")
    return from_spark_table(table, root.schema)


def collect_few(root: PlannerNode, most: int) -> Chunk | None:
    """Return all rows of a section in row order if there are at most ``most``; None if there are more."""

    def first_of(relation: Relation) -> pa.Table:
        first = with_some_column(relation.df.orderBy(*relation.order()).limit(most + 1).select(*relation.columns), root.schema)
        return run_spark(first.toArrow, work_on(root, "computing"))

    table = computed(root, first_of)
    return from_spark_table(table, root.schema) if table.num_rows <= most else None


def with_some_column(df: DataFrame, schema: Schema) -> DataFrame:
    """Return a DataFrame with at least one column, as Arrow batches without columns lose their number of rows when Spark sends them."""
    from pyspark.sql import functions as F

    return df if schema else df.select(F.lit(0).alias("row"))


def from_spark_table(table: pa.Table, schema: Schema) -> Chunk:
    """Return a table that Spark computed as a chunk in the physical types of the schema.

    Raises
    ------
    PlanInvariantError
        If the types that Spark computed are not those that operators and functions infer.
    """
    columns = list(zip(table.columns, schema, strict=False))
    for position, (column, column_type) in enumerate(columns):
        require_computed_as(column.type, position, column_type)
    return Chunk(tuple(fit(column, column_type.physical) for column, column_type in columns), table.num_rows)


def write_parquet(root: PlannerNode, directory: str) -> int | None:
    """Write all rows of a section in row order as Parquet files with the hidden key; the caller adds the files to a dataset.

    Returns
    -------
    int or None
        How many rows Spark counted while writing; None when it did not report them.
    """
    from pyspark.sql import functions as F

    options = {"parquet.block.row.count.limit": ROWS_PER_GROUP, "parquet.block.size": ROW_GROUP_BYTES}
    present = set(os.listdir(directory))

    def written(relation: Relation) -> int | None:
        # If this is a second query, tasks of the first one may have left files; it depends on the user's settings whether Spark removes them.
        remove_all_except(directory, present)
        with interrupts_deferred():
            rows, count = observed_rows(relation.sorted().select(*relation.columns, F.monotonically_increasing_id().alias("_key")))
            writer = rows.write.options(**options)

        def write() -> int | None:
            writer.parquet(spark_path(directory), mode="append", compression="zstd")
            return count()

        return run_spark(write, work_on(root, "materialising"), directory)

    return computed(root, written)


def work_on(root: PlannerNode, doing: str) -> str:
    """Return what is done, for messages and Spark's list of jobs. Users' DataFrames have no names, so their columns are listed."""
    different = {node.operator.names: None for node in postorder([root]) if isinstance(node.operator, SparkSource)}
    if not different:
        return f"{doing} {root.operator.called()}"
    frames = " and ".join(f"a DataFrame of {_shown(names)}" for names in itertools.islice(different, MAX_FRAMES_SHOWN))
    return f"{doing} the rows of {frames}" if isinstance(root.operator, SparkSource) else f"{doing} {root.operator.called()} of {frames}"


def _shown(names: Sequence[str]) -> str:
    """Return the first names of columns, shortened, and how many more there are."""
    first = [visible(repr(name[:LONGEST_NAME_SHOWN])) for name in names[:MAX_COLUMNS_SHOWN]]
    more = f" and {len(names) - MAX_COLUMNS_SHOWN} more" if len(names) > MAX_COLUMNS_SHOWN else ""
    return f"the columns {', '.join(first)}{more}" if first else "no columns"


# Rows of a query that are stored in a remote location: the task that computes a partition writes it as a segment and uploads it, so no directory is
# shared.

ENTRY = "entry"


def write_partition(
    batches: Iterator[pa.RecordBatch], directory: str, types: Schema, transport: ErrorTransport, options: Mapping[str, Mapping[str, Any]]
) -> Iterator[pa.RecordBatch]:
    """Write the rows of a partition, in its task, and yield the entry of the file; segments are numbered by partition.

    Parameters
    ----------
    batches
        The rows.
    directory
        The directory to write to.
    types
        The types of the columns.
    transport
        How errors are sent to the driver.
    options
        Options of remote file systems.
    """
    from pyspark import TaskContext

    def columns_of(batch: pa.RecordBatch) -> Sequence[pa.Array] | pa.RecordBatch:
        # Rows without columns were sent with a placeholder column.
        return from_spark_table(pa.Table.from_batches([batch]), types).columns if types else batch.select([])

    acknowledge_at_once()
    context = TaskContext.get()
    number = context.partitionId() if context is not None else 0
    try:
        with config.using(storage_options=options):
            entry = write_segment(directory, number, types, map(columns_of, batches))
    except SFrameError as error:
        raise CarriedError(transport.packed(error)) from None
    yield pa.RecordBatch.from_pydict({ENTRY: [json.dumps(entry.to_json())]})


def upload_rows(root: PlannerNode, directory: str) -> list[SegmentEntry]:
    """Write all rows of a section in row order to a directory in a remote location, and return the entries of the files.

    If a task is attempted several times, the entries of one attempt are returned; no manifest lists the files of the others.
    """
    types, transport, options = root.schema, error_transport(), config.storage_options

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return write_partition(batches, directory, types, transport, options)

    def uploaded(relation: Relation) -> pa.Table:
        rows = with_some_column(relation.sorted().select(*relation.columns), types)
        entries = rows.mapInArrow(write, f"{ENTRY} string")
        return run_spark(entries.toArrow, work_on(root, "materialising"))

    table = computed(root, uploaded)
    return [SegmentEntry.from_json(json.loads(entry)) for entry in table.column(ENTRY).to_pylist()]
