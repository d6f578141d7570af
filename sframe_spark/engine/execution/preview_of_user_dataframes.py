"""Previews: the first rows of users' DataFrames, fetched by a limit query. They are not stored, and later actions may see other first rows.

See docs/decisions/011-spark-frames.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sframe_spark.engine import costs
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.physical.user_dataframes_to_materialize_first import frames_in, is_chain, is_row_by_row
from sframe_spark.errors import ExecutionError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.user_function_calls_and_result_memos import calls_user_functions
from sframe_spark.planner.chunk import Chunk, column_names
from sframe_spark.planner.graph_traversal import private_copy
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ZONED_PHYSICAL

with lazy_imports(globals()):
    from sframe_spark.compute.spark_columns import microseconds_of
    from sframe_spark.engine.spark.error_translation import run_spark
    from sframe_spark.engine.spark.executor_version_checks import check_python_again
    from sframe_spark.engine.spark.query import from_spark_table, lower, with_some_column
    from sframe_spark.rewrite_laws import optimize
    from sframe_spark.session import is_remote
    from sframe_spark.session.spark_versions import to_arrow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from sframe_spark.planner.node_facts import Schema


def preview_of(node: PlannerNode, count: int) -> Chunk | None:
    """Return any ``count`` rows, or fewer, that are derived from a user's DataFrame whose rows are not fixed; None if a regular action is needed.

    The rows are for display and for guessing types only: a later action may have other first rows.
    """
    if count > costs.MAX_FIRST_ROWS:
        return None
    plan = row_by_row_plan(node, allows_limit=True)
    if plan is None:
        return None
    df = with_some_column(lower(plan, root_observed=False).visible().limit(count), node.schema)
    try:
        return run_spark(lambda: _first_rows(df, node.schema), "reading the first rows of a DataFrame")
    except ExecutionError as error:
        if type(error) is ExecutionError:
            check_python_again(str(error))
        raise


def row_by_row_plan(node: PlannerNode, allows_limit: bool) -> PlannerNode | None:
    """Return the plan of a node if each of its rows is derived from one row of one DataFrame, whatever the order; None otherwise.

    The plan calls no users' functions: as the rows are not fixed, a function could be called more than once for a row. If ``allows_limit`` is true,
    operators that take a number of first rows are allowed, too.
    """
    with GRAPH_LOCK:
        if not frames_in(node) or calls_user_functions(node):
            return None
        plan = private_copy(optimize(node))

    def allows(below: PlannerNode) -> bool:
        row_range = below.operator.row_range if allows_limit else None
        is_limit = row_range is not None and row_range.step == 1 and row_range.takes_at_most(costs.MAX_FIRST_ROWS)
        return is_limit or is_row_by_row(below)

    return plan if is_chain(plan, allows) else None


def _first_rows(df: DataFrame, schema: Schema) -> Chunk:
    """Run a query with a limit in as few Spark tasks as possible.

    If rows are sent as Arrow data, Spark starts a task for each partition. If they are sent as Python values, which suffices for few rows, it starts
    only as many tasks as the limit needs.
    """
    from pyspark.sql import functions as F

    if is_remote(df.sparkSession):
        return from_spark_table(to_arrow(df), schema)
    sent = [_as_python(F.col(name), kind.physical).alias(name) for name, kind in zip(column_names(len(schema)), schema, strict=True)]
    rows = df.select(*sent).collect() if schema else df.collect()
    columns = [_from_python([row[position] for row in rows], kind.physical) for position, kind in enumerate(schema)]
    return Chunk(tuple(columns), len(rows))


def _as_python(column: Column, physical: pa.DataType) -> Column:
    """Return a column in a form whose Python values lose nothing: any year of a datetime, the order of a dict's keys."""
    from pyspark.sql import functions as F

    if pa.types.is_timestamp(physical):
        return microseconds_of(column)
    if pa.types.is_map(physical):
        return F.map_entries(column)
    if physical == ZONED_PHYSICAL:
        fields = [_as_python(column[field.name], field.type).cast("bigint") for field in physical]
        return F.when(column.isNotNull(), F.array(*fields))
    return column


def _from_python(values: list[Any], physical: pa.DataType) -> pa.Array:
    """Return an array of a physical type, given Python values of a column that :func:`_as_python` has converted."""
    if pa.types.is_timestamp(physical):
        return pa.array(values, pa.int64()).cast(physical)
    if pa.types.is_map(physical):
        return pa.array([None if value is None else list(map(tuple, value)) for value in values], physical)
    if pa.types.is_struct(physical):
        parts = [[None if value is None else value[position] for value in values] for position in range(physical.num_fields)]
        missing = pa.array([value is None for value in values], pa.bool_())
        columns = [_from_python(part, field.type) for part, field in zip(parts, physical, strict=True)]
        return pa.StructArray.from_arrays(columns, fields=list(physical), mask=missing)
    return pa.array(values, physical)
