"""Spark queries: lowering a section of a plan to a DataFrame, and fetching its rows or writing them in order."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import pyarrow as pa

from sframe_spark.compute.spark_columns import fit
from sframe_spark.config import config
from sframe_spark.engine import costs
from sframe_spark.engine.spark.bounded_collection import table_within
from sframe_spark.engine.spark.error_translation import run_spark, translated_errors
from sframe_spark.engine.spark.executor_version_checks import check_python_once, require_same_plugins
from sframe_spark.engine.spark.page_header_checks import require_valid_pages
from sframe_spark.engine.spark.shared_file_and_row_count_checks import observed_rows, require_known_rows, require_readable
from sframe_spark.engine.spark.shuffle_partitions import size_of
from sframe_spark.errors import CarriedError, NumbersLeftOutError, SFrameError, UnsupportedOperationError
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.blocks_kept_by_spark import BLOCK_COLUMNS, collect_keeping, with_blocks
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.operators.user_function_calls_and_result_memos import calls_user_functions
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.graph_traversal import fold, postorder
from sframe_spark.planner.length_and_order_inference import observed_nodes
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.operator import has_lowering
from sframe_spark.planner.spark_relation import LoweringContext, Relation, SummedFloats, lowered
from sframe_spark.process.directory_trees import remove_all_except
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.session import QuerySize, follow_user, get_session, get_sources, is_remote
from sframe_spark.session.python_of_spark_workers import importing_safely, naming_our_python
from sframe_spark.session.spark_versions import to_arrow
from sframe_spark.session.users_own_spark_session import in_session, keeping_active
from sframe_spark.session.worker_sockets import acknowledge_at_once
from sframe_spark.storage.filesystem.files_kept_by_spark import KEPT_FILES, FilesOfTask, is_kept_by_spark
from sframe_spark.storage.filesystem.path_joining_and_escaping import spark_path
from sframe_spark.storage.manifest.manifest import SegmentEntry
from sframe_spark.storage.manifest.physical_types import require_computed_as
from sframe_spark.storage.segments.writer import ROWS_PER_GROUP, write_segment
from sframe_spark.udf.error_transport import ErrorTransport, error_transport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Value = TypeVar("Value")


# Limits for users' DataFrames in messages: frames, columns of a frame, and characters of a column's name.
MAX_FRAMES_SHOWN, MAX_COLUMNS_SHOWN, LONGEST_NAME_SHOWN = 2, 5, 40


def lower(root: PlannerNode, root_observed: bool = True, within: SparkSession | None = None, summed: SummedFloats = SummedFloats.EVERY) -> Relation:
    """Return the plan lowered to one Spark query; row keys are carried only where the order is observed.

    Parameters
    ----------
    root
        The plan.
    root_observed
        False if the order of the resulting rows is not observed.
    within
        A user's session in which a source is read; None for a session of this package, whose settings this package's expressions need.
    summed
        Which floats sums include. If it is not every float, the caller lowers the plan again when others occur, as :func:`computed` does.
    """
    require_lowerings(root)
    follow_user()
    size = size_of(root, root_observed)
    single = size == QuerySize.SMALL
    require_readable(root)
    check_python_once()
    require_same_plugins(root)
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
        relation = lowered(node.operator, inputs, LoweringContext(spark, id(node) in observed, summed, open_source))
        # Spark does not infer that a union or a full outer join has one partition if its inputs have one.
        return in_one_task(relation) if single and node.operator.spark_cost.forgets_one_partition else relation

    with interrupts_deferred(), keeping_active(spark), _python_for(root), translated_errors(work_on(root, "planning")):
        relation = fold([root], lower_node)[id(root)]
        return relation if within is not None else run_by_user(root, relation)


def require_lowerings(root: PlannerNode) -> None:
    """Require that Spark can compute all operators of a plan.

    Raises
    ------
    UnsupportedOperationError
        If an operator of a plug-in has no Spark lowering.
    """
    for node in postorder([root]):
        if not has_lowering(node.operator):
            what = f"the operator {node.operator.name!r} has no Spark lowering, but this plan is a Spark query"
            raise UnsupportedOperationError(f"{what}, as with config.check = 'result' or naive=True: define its plan_to_operator()")


def run_by_user(root: PlannerNode, relation: Relation) -> Relation:
    """Return the relation in the session of a user's DataFrame that the plan reads, if it reads one.

    The values of the DataFrame's expressions depend on the settings of that session; this package's expressions do not depend on settings.
    """
    sessions = _sessions_of_users(root)
    if not sessions or is_remote(sessions[0]) or is_remote(relation.df.sparkSession):
        return relation
    return attrs.evolve(relation, df=in_session(relation.df, sessions[0]))


def _sessions_of_users(root: PlannerNode) -> list[SparkSession]:
    return [node.operator.df.sparkSession for node in postorder([root]) if isinstance(node.operator, SparkSource)]


def _python_for(root: PlannerNode) -> AbstractContextManager[None]:
    """Return a context; Python functions that are created in it run in workers with this process's interpreter, even in a user's session."""
    sessions = _sessions_of_users(root)
    return naming_our_python(sessions[0]) if sessions else importing_safely(get_session())


def in_one_task(relation: Relation) -> Relation:
    """Return the relation in one partition. As that satisfies every distribution, Spark plans no exchange above it."""
    return attrs.evolve(relation, df=relation.df.coalesce(1))


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
    # Not within an except block, so that errors of the next query neither show the error of the previous query nor keep its frames alive.
    for number, summed in enumerate(tried, start=1):
        _count_query(number)
        with suppress(NumbersLeftOutError):
            return action(lower(root, summed=summed))
    _count_query(len(tried) + 1)
    return action(lower(root))


def collect(root: PlannerNode) -> Chunk:
    """Return all rows of a section in row order, computed by a Spark query and fetched into the driver's memory."""

    def all_rows_of(relation: Relation) -> pa.Table:
        return run_spark(lambda: to_arrow(with_some_column(relation.sorted(), root.schema)), work_on(root, "computing"))

    table = computed(root, all_rows_of)
    require_known_rows(table.num_rows, root.length.rows, f"sent {table.num_rows} rows of {root.operator.called()}")
    return from_spark_table(table, root.schema)


def collect_within(root: PlannerNode, budget: int) -> Chunk | None:
    """Return all rows of a section in row order, as :func:`collect` does; None if they take more than ``budget`` bytes."""

    def rows_of(relation: Relation) -> pa.Table | None:
        rows = with_some_column(relation.sorted(), root.schema)
        return run_spark(lambda: table_within(rows, root.schema, budget), work_on(root, "computing"))

    table = computed(root, rows_of)
    if table is None:
        return None
    require_known_rows(table.num_rows, root.length.rows, f"sent {table.num_rows} rows of {root.operator.called()}")
    return from_spark_table(table, root.schema)


def collect_few(root: PlannerNode, most: int) -> Chunk | None:
    """Return all rows of a section in row order if there are at most ``most``; None if there are more."""

    def first_of(relation: Relation) -> pa.Table:
        first = with_some_column(relation.df.orderBy(*relation.order()).limit(most + 1).select(*relation.columns), root.schema)
        return run_spark(lambda: to_arrow(first), work_on(root, "computing"))

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
    """Write all rows of a section in row order as Parquet files, with a column ``_key`` that ascends; the caller adds the files to a dataset.

    Returns
    -------
    int or None
        How many rows Spark counted while writing; None when it did not report them.
    """
    from pyspark.sql import functions as F

    options = {"parquet.block.row.count.limit": ROWS_PER_GROUP, "parquet.block.size": costs.BYTES_OF_ROW_GROUP_OF_SPARK}
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
    """Write all rows of a section in row order to a directory in a remote location, or one that Spark keeps, and return the entries of the files.

    If a task is attempted several times, the entries of one attempt are returned; no manifest lists the files of the others.
    """
    types, transport, options, is_kept = root.schema, error_transport(), config.storage_options, is_kept_by_spark(directory)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with FilesOfTask() as files, KEPT_FILES.kept_by(files):
            entries = write_partition(batches, directory, types, transport, options)
            yield from with_blocks(entries, files) if is_kept else entries

    def uploaded(relation: Relation) -> list[str]:
        rows = with_some_column(relation.sorted().select(*relation.columns), types)
        entries = rows.mapInArrow(write, f"{ENTRY} string, {BLOCK_COLUMNS}" if is_kept else f"{ENTRY} string")
        return run_spark(lambda: entries_of(entries), work_on(root, "materialising"))

    def entries_of(entries: DataFrame) -> list[str]:
        return [entry for (entry,) in collect_keeping(entries, [ENTRY])] if is_kept else to_arrow(entries).column(ENTRY).to_pylist()

    return [SegmentEntry.from_json(json.loads(entry)) for entry in computed(root, uploaded)]
