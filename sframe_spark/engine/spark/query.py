"""Spark queries: lowering a relational section, choosing the number of shuffle partitions, and fetching or writing its ordered rows."""

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
from sframe_spark.engine.memory_budget import UNKNOWN_BYTES
from sframe_spark.engine.spark.actions import run_spark, translated_errors
from sframe_spark.engine.spark.executor_environment import check_python_once
from sframe_spark.engine.spark.file_checks import observed_rows, require_known_rows, require_readable, require_valid_pages
from sframe_spark.errors import CarriedError, NumbersLeftOutError, SFrameError
from sframe_spark.message_text import in_words, visible
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.operators.udf_calls import calls_user_functions
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.graph import fold, postorder, sizes_of
from sframe_spark.planner.inference import observed_nodes
from sframe_spark.planner.lowering import LoweringContext, Relation, SummedFloats
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.row_sizes import Sizes, row_bytes
from sframe_spark.process.directory_trees import remove_all_except
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.session import QuerySize, default_parallelism, follow_user, get_session, get_sources, is_remote, shuffle_partitions
from sframe_spark.session.deployment import importing_safely, naming_our_python
from sframe_spark.session.sockets import acknowledge_at_once
from sframe_spark.session.user_session import in_session, keeping_active
from sframe_spark.storage.filesystem.paths import spark_path
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.manifest.physical_types import require_computed_as
from sframe_spark.storage.segments.writer import ROWS_PER_GROUP, write_segment
from sframe_spark.udf.errors import ErrorTransport, error_transport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Into how many partitions the exchanges of a query go: by the bytes that go into one, as far as these are known.

# The most bytes that a partition of an exchange is to have, before compression. A sort merges what it spilled, with buffers for every spill, so a
# partition of many times a task's memory does not fit a small heap.
PARTITION_BYTES = 128 << 20

# No exchange has more. What a task writes for one partition takes 40 microseconds of a core to read (benchmarks/results/growth.md), the driver adds
# up its bytes, and its index has eight of them, empty or not: of 8 TB, which 65,536 tasks write, that is a thousand million pieces of 8 kB.
MAX_PARTITIONS = 1 << 14

# How many times as many partitions as usual an exchange has of which nobody knows how much it is. Spark joins those that turn out small.
UNKNOWN_TIMES = 16

# Number of the row, and what Spark adds to each.
BYTES_OF_KEY = 24


@attrs.frozen
class Flow:
    """What is known of the bytes that go into the exchanges of a query.

    Parameters
    ----------
    most
        The most bytes that are known to go into one, in Spark's memory.
    is_complete
        False where more may go into one, of which nobody knows how much.
    read
        How many bytes the sources of the query have; None: unknown.
    """

    most: float
    is_complete: bool
    read: float | None

    def needs(self, usual: int) -> int:
        """How many partitions the bytes need, where exchanges usually have so many.

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
        """How many partitions the bytes need that are known."""
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
    """How many partitions the exchanges of a query start with.

    Parameters
    ----------
    flow
        The bytes.
    usual
        How many they have by the setting of the session; never fewer are taken.
    cores
        How many tasks run at a time. Much data gives each one a partition.

    Examples
    --------
    >>> [partitions_for(Flow(size, True, size), 200, 1_600) for size in (0.0, 2e10, 3e10, 1e12, 1e18)]
    [200, 200, 2048, 8192, 16384]
    """
    needed = flow.needs(usual)
    # A power of two: there is a session for each number.
    return usual if needed <= usual else max(usual, min(next_power(max(needed, cores)), MAX_PARTITIONS))


def next_power(number: int) -> int:
    """The smallest power of two that is not less.

    Examples
    --------
    >>> [next_power(number) for number in (0, 1, 3, 200, 256)]
    [1, 1, 4, 256, 256]
    """
    return 1 << max(0, number - 1).bit_length()


def flow_of(root: PlannerNode, root_observed: bool = True) -> Flow:
    """What is known of the bytes that go into the exchanges of a plan as one query.

    Parameters
    ----------
    root
        The plan.
    root_observed
        False when nobody observes the order of its rows, which are then not exchanged by it.
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
    """True of an operator that may exchange the rows of its inputs: it says that it does, or nothing."""
    work = node.operator.query_work
    return bool(node.inputs) and (work is None or work.exchanges > 0)


def max_rows(node: PlannerNode, inputs: Sequence[int | None]) -> int | None:
    """The most rows that a node has where that says something of how many there are, given those of its inputs, else None.

    That a join has no more rows than there are pairs does not: as if there were so many, all sorts of joins would have the most partitions.
    """
    known, most = node.length.rows, node.length.at_most
    if known is not None or most is None or all(child.length.at_most is None or most < child.length.at_most for child in node.inputs):
        return known if known is not None else most
    given = [rows for rows in inputs if rows is not None]
    return most if len(given) == len(inputs) and most <= sum(given) else None


def bytes_read(root: PlannerNode, sizes: Mapping[int, Sizes]) -> float | None:
    """About what the rows of all sources take in Spark's memory; None where some have not been counted, which may be many."""
    total = 0.0
    for node in postorder([root]):
        if not node.inputs:
            if node.length.at_most is None:
                return None
            total += node.length.at_most * (row_bytes(sizes[id(node)], UNKNOWN_BYTES) + BYTES_OF_KEY)
    return total


def row_bytes_in_spark(source: PlannerNode) -> float:
    """About what a row of a source takes in Spark's memory, with its hidden key."""
    return row_bytes(sizes_of(source)[id(source)], UNKNOWN_BYTES) + BYTES_OF_KEY


Value = TypeVar("Value")

# Few rows that take more than this are not few.
ONE_TASK_BYTES = 32 << 20

# What messages tell of users' DataFrames.
MAX_FRAMES_SHOWN, MAX_COLUMNS_SHOWN, LONGEST_NAME_SHOWN = 2, 5, 40

# Every running task holds a row group, which Spark does not count, until it is full: Parquet's default of 128 MiB is half
# a small heap. Whoever reads from the middle of one decodes it from its start, so it has no more rows than one of ours.
ROW_GROUP_BYTES = 32 << 20


def lower(root: PlannerNode, root_observed: bool = True, within: SparkSession | None = None, summed: SummedFloats = SummedFloats.EVERY) -> Relation:
    """The plan as one Spark query; row keys are carried only where someone observes the order.

    Parameters
    ----------
    root
        The plan.
    root_observed
        False when nobody observes the order of its rows.
    within
        A user's session in which a source is read; None for one of ours, as expressions of ours need.
    summed
        Which floats have a part in sums; not every one where the plan is lowered anew should others be met, as :func:`made_of` does.
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
        # Spark does not know of a union, nor of a full outer join, that it is in one partition when its inputs are.
        return in_one_task(relation) if single and node.operator.forgets_one_partition else relation

    with interrupts_deferred(), keeping_active(spark), _python_for(root), translated_errors(work_on(root, "planning")):
        relation = fold([root], lower_node)[id(root)]
        return relation if within is not None else run_by_user(root, relation)


def run_by_user(root: PlannerNode, relation: Relation) -> Relation:
    """The relation in the session of a user's DataFrame that it reads: what is ours has its meaning already, what is theirs goes by its settings."""
    sessions = _sessions_of_users(root)
    if not sessions or is_remote(sessions[0]) or is_remote(relation.df.sparkSession):
        return relation
    return attrs.evolve(relation, df=in_session(relation.df, sessions[0]))


def _sessions_of_users(root: PlannerNode) -> list[SparkSession]:
    return [node.operator.df.sparkSession for node in postorder([root]) if isinstance(node.operator, SparkSource)]


def _python_for(root: PlannerNode) -> AbstractContextManager[None]:
    """A block in which functions are made that start our Python, also in the session of a user's DataFrame that is read."""
    sessions = _sessions_of_users(root)
    return naming_our_python(sessions[0]) if sessions else importing_safely(get_session())


def in_one_task(relation: Relation) -> Relation:
    """The relation in one partition: that satisfies every distribution, so Spark plans no exchange above it."""
    return attrs.evolve(relation, df=relation.df.coalesce(1))


def size_of(root: PlannerNode, root_observed: bool = True) -> QuerySize:
    """How much data a query has, and so into how many partitions its exchanges go; rows that nobody has counted may be many."""
    if fits_one_task(root):
        return QuerySize.SMALL
    flow = flow_of(root, root_observed)
    if flow.needs(1) <= 1:
        return QuerySize.DEFAULT
    usual = shuffle_partitions()
    partitions = partitions_for(flow, usual, default_parallelism(get_session()))
    return QuerySize.DEFAULT if partitions == usual else QuerySize.large(partitions)


def said_of_exchanges(root: PlannerNode) -> str | None:
    """Into how many partitions the exchanges of a query go, and why, as far as that is known without a session; None where it has none."""
    if fits_one_task(root):
        return None
    if any(isinstance(node.operator, SparkSource) and not is_remote(node.operator.df.sparkSession) for node in postorder([root])):
        return "spark.sql.shuffle.partitions of the session of the DataFrame, in which it runs"
    return str(flow_of(root))


def fits_one_task(root: PlannerNode) -> bool:
    """True when every source is known to have few rows: one task then costs less than an exchange."""
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
    """How many queries were made of the last plan of which one was made."""

    queries: int = 0


_COUNTED: ContextVar[CountedQueries | None] = ContextVar("sframe_spark_counted_queries", default=None)


@contextmanager
def counting_queries() -> Iterator[CountedQueries]:
    """A block of which it is told afterwards how many queries were made of its plan, one after the other."""
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


def made_of(root: PlannerNode, action: Callable[[Relation], Value]) -> Value:
    """What an action makes of the plan as a query; where its sums left out floats that are not usual ones, of another with more of them."""
    # Functions of users are called once for each row, so a query that calls some leaves out no float from the start.
    tried = () if calls_user_functions(root) else (SummedFloats.COMMON, SummedFloats.MORE)
    # Outside of the block, so that errors of the next query do not show the one before, nor keep its frames.
    for number, summed in enumerate(tried, start=1):
        _count_query(number)
        with suppress(NumbersLeftOutError):
            return action(lower(root, summed=summed))
    _count_query(len(tried) + 1)
    return action(lower(root))


def collect(root: PlannerNode) -> Chunk:
    """All rows of a relational section in row order, as Arrow in the driver's memory."""
    table = made_of(root, lambda relation: run_spark(lambda: counted(relation.sorted(), root.schema).toArrow(), work_on(root, "computing")))
    require_known_rows(table.num_rows, root.length.rows, f"sent {table.num_rows} rows of {root.operator.called()}")
    return from_spark_table(table, root.schema)


def collect_few(root: PlannerNode, most: int) -> Chunk | None:
    """All rows of a relational section in row order if there are at most ``most``, otherwise None."""

    def first_of(relation: Relation) -> pa.Table:
        first = counted(relation.df.orderBy(*relation.order()).limit(most + 1).select(*relation.columns), root.schema)
        return run_spark(first.toArrow, work_on(root, "computing"))

    table = made_of(root, first_of)
    return from_spark_table(table, root.schema) if table.num_rows <= most else None


def counted(df: DataFrame, schema: Schema) -> DataFrame:
    """Rows with a column at least: Arrow batches without columns, as Spark sends them, have no rows either."""
    from pyspark.sql import functions as F

    return df if schema else df.select(F.lit(0).alias("row"))


def from_spark_table(table: pa.Table, schema: Schema) -> Chunk:
    """A table as Spark returns it, in the physical types of the schema.

    Raises
    ------
    PlanInvariantError
        If Spark computed values of other types than operators and functions infer.
    """
    for place, (column, column_type) in enumerate(zip(table.columns, schema, strict=False)):
        require_computed_as(column.type, place, column_type)
    columns = tuple(fit(column, column_type.physical) for column, column_type in zip(table.columns, schema, strict=False))
    return Chunk(columns, table.num_rows)


def write_parquet(root: PlannerNode, directory: str) -> int | None:
    """Write all rows of a relational section in row order as Parquet files with the hidden key; the caller adopts the files.

    Returns
    -------
    int or None
        How many rows Spark wrote by its own count; None when it does not tell.
    """
    from pyspark.sql import functions as F

    options = {"parquet.block.row.count.limit": ROWS_PER_GROUP, "parquet.block.size": ROW_GROUP_BYTES}
    present = set(os.listdir(directory))

    def written(relation: Relation) -> int | None:
        # Of a query that is made anew, tasks may have left files: the user's settings say when Spark takes them away.
        remove_all_except(directory, present)
        with interrupts_deferred():
            rows = relation.sorted().select(*relation.columns, F.monotonically_increasing_id().alias("_key"))
            observed = observed_rows(rows)
            writer = observed.df.write.options(**options)

        def write() -> int | None:
            writer.parquet(spark_path(directory), mode="append", compression="zstd")
            return observed.count

        return run_spark(write, work_on(root, "materialising"), directory)

    return made_of(root, written)


def work_on(root: PlannerNode, doing: str) -> str:
    """What is done, for messages and Spark's list of jobs: of the rows of users' DataFrames, by their columns, as these have no names."""
    found = {node.operator.names: None for node in postorder([root]) if isinstance(node.operator, SparkSource)}
    if not found:
        return f"{doing} {root.operator.called()}"
    frames = " and ".join(f"a DataFrame of {_shown(names)}" for names in itertools.islice(found, MAX_FRAMES_SHOWN))
    return f"{doing} the rows of {frames}" if isinstance(root.operator, SparkSource) else f"{doing} {root.operator.called()} of {frames}"


def _shown(names: Sequence[str]) -> str:
    """The first names of columns."""
    first = [visible(repr(name[:LONGEST_NAME_SHOWN])) for name in names[:MAX_COLUMNS_SHOWN]]
    more = f" and {len(names) - MAX_COLUMNS_SHOWN} more" if len(names) > MAX_COLUMNS_SHOWN else ""
    return f"the columns {', '.join(first)}{more}" if first else "no columns"


# Rows of a query that go elsewhere: each partition is written as a segment and uploaded by the task that has it, so no directory is shared.

ENTRY = "entry"


@attrs.frozen
class Uploads:
    """What tasks that write partitions are sent.

    Parameters
    ----------
    directory
        Where the files go.
    types
        Types of the columns.
    transport
        How errors come back.
    options
        Of file systems elsewhere.
    """

    directory: str
    types: Schema
    transport: ErrorTransport
    options: Mapping[str, Mapping[str, Any]] = attrs.field(repr=False)

    def written(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of a partition and yield the entry of their file; partitions are in the order of their numbers."""
        from pyspark import TaskContext

        acknowledge_at_once()
        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        try:
            with config.using(storage_options=self.options):
                entry = write_segment(self.directory, number, self.types, map(self._rows, batches))
        except SFrameError as error:
            raise CarriedError(self.transport.packed(error)) from None
        yield pa.RecordBatch.from_pydict({ENTRY: [json.dumps(entry.to_json())]})

    def _rows(self, batch: pa.RecordBatch) -> Sequence[pa.Array] | pa.RecordBatch:
        # Rows without columns have one that stands for them.
        if not self.types:
            return batch.select([])
        chunk = from_spark_table(pa.Table.from_batches([batch]), self.types)
        return list(chunk.columns)


def upload_rows(root: PlannerNode, directory: str) -> list[SegmentEntry]:
    """Write all rows of a relational section in row order into a directory elsewhere, and return the entries of the files.

    Of attempts of one task the entries of one come back; what others have written is named by nobody.
    """
    uploads = Uploads(directory, root.schema, error_transport(), config.storage_options)

    def uploaded(relation: Relation) -> pa.Table:
        rows = counted(relation.sorted().select(*relation.columns), root.schema)
        found = rows.mapInArrow(uploads.written, f"{ENTRY} string")
        return run_spark(found.toArrow, work_on(root, "materialising"))

    table = made_of(root, uploaded)
    return [SegmentEntry.from_json(json.loads(entry)) for entry in table.column(ENTRY).to_pylist()]
