"""Relational sections: lowering to a Spark query and bringing its ordered rows home."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

import attrs
import pyarrow as pa

from sframe_spark.compute.spark_columns import fit
from sframe_spark.config import config
from sframe_spark.engine.spark.counts import observed_rows, require_known_rows
from sframe_spark.engine.spark.exchanges import flow_of, partitions_for, row_bytes_in_spark
from sframe_spark.engine.spark.file_checks import require_readable
from sframe_spark.engine.spark.packages import look_at_python
from sframe_spark.engine.spark.page_checks import require_sound_pages
from sframe_spark.engine.spark.spark_actions import run_spark, translated_errors
from sframe_spark.errors import NumbersLeftOutError
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.operators.udf_calls import calls_users
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.graph import fold, postorder
from sframe_spark.planner.inference import observed_nodes
from sframe_spark.planner.lowering import LoweringContext, Relation, SummedNumbers
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.directory_trees import remove_others
from sframe_spark.process.interrupts import interrupts_deferred
from sframe_spark.session import QuerySize, default_parallelism, follow_user, get_session, get_sources, is_remote, shuffle_partitions
from sframe_spark.session.deployment import importing_safely, naming_our_python
from sframe_spark.session.user_session import in_session, keeping_active
from sframe_spark.storage.filesystem.paths import spark_path
from sframe_spark.storage.manifest.physical_types import require_computed_as
from sframe_spark.storage.segments.writer import ROWS_PER_GROUP

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Value = TypeVar("Value")

# Few rows that take more than this are not few.
ONE_TASK_BYTES = 32 << 20

# What messages tell of users' DataFrames.
MOST_FRAMES_SHOWN, MOST_COLUMNS_SHOWN, LONGEST_NAME_SHOWN = 2, 5, 40

# Every running task holds a row group, which Spark does not count, until it is full: Parquet's default of 128 MiB is half
# a small heap. Whoever reads from the middle of one decodes it from its start, so it has no more rows than one of ours.
ROW_GROUP_BYTES = 32 << 20


def lower(root: PlannerNode, root_observed: bool = True, within: SparkSession | None = None, summed: SummedNumbers = SummedNumbers.EVERY) -> Relation:
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
    single = size == QuerySize.FEW_ROWS
    require_readable(root)
    look_at_python()
    with translated_errors(f"checking the files of {root.operator.called()}"):
        require_sound_pages(root)
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
        return QuerySize.FEW_ROWS
    flow = flow_of(root, root_observed)
    if flow.needs(1) <= 1:
        return QuerySize.USUAL
    usual = shuffle_partitions()
    partitions = partitions_for(flow, usual, default_parallelism(get_session()))
    return QuerySize.USUAL if partitions == usual else QuerySize.large(partitions)


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
    tried = () if calls_users(root) else (SummedNumbers.USUAL, SummedNumbers.MORE)
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
        remove_others(directory, present)
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
    frames = " and ".join(f"a DataFrame of {_shown(names)}" for names in itertools.islice(found, MOST_FRAMES_SHOWN))
    return f"{doing} the rows of {frames}" if isinstance(root.operator, SparkSource) else f"{doing} {root.operator.called()} of {frames}"


def _shown(names: Sequence[str]) -> str:
    """The first names of columns."""
    first = [visible(repr(name[:LONGEST_NAME_SHOWN])) for name in names[:MOST_COLUMNS_SHOWN]]
    more = f" and {len(names) - MOST_COLUMNS_SHOWN} more" if len(names) > MOST_COLUMNS_SHOWN else ""
    return f"the columns {', '.join(first)}{more}" if first else "no columns"
