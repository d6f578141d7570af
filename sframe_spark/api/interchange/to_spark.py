"""Converts frames to DataFrames of the user's Spark session, and registers them as views."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sframe_spark.api.column_names import require_unicode
from sframe_spark.compute.spark_columns import microseconds_of
from sframe_spark.engine.execution.action_planning_and_function_call_claims import run_action
from sframe_spark.engine.execution.lost_row_recovery import restore_lost_rows
from sframe_spark.engine.execution.materialize_count_and_read_rows import compute, materialize
from sframe_spark.engine.execution.plan_executor import Executor
from sframe_spark.engine.execution.preview_of_user_dataframes import row_by_row_plan
from sframe_spark.engine.graph_lock import GRAPH_LOCK
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime.result_storage import source_for_users, with_rows_sent
from sframe_spark.engine.spark.query import lower
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project_zip_arrange import Project, project, zip_columns
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.spark_frame import SparkSource
from sframe_spark.planner.chunk import column_names
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.process.interrupt_deferral import interrupts_deferred
from sframe_spark.session import is_remote
from sframe_spark.session.spark_versions import require_variant
from sframe_spark.session.users_own_spark_session import in_session, keeping_active, starts_our_python, user_session
from sframe_spark.storage.filesystem.temporary_datasets import temporary_store
from sframe_spark.types import ColumnType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from sframe_spark.api.class_registry import SFrame


# Conversion to Spark's own types: instants become TIMESTAMP, lists and dicts of mixed values VARIANT


def with_json_texts(node: PlannerNode) -> PlannerNode:
    """Return the node with lists and dicts of mixed values as JSON strings for ``parse_json``; the node itself if it has no such columns."""
    if not any(column_type.is_encoded for column_type in node.schema):
        return node
    columns = [project(node, [index]) for index in range(len(node.schema))]
    return zip_columns(*(apply_function("variant_text", c) if t.is_encoded else c for c, t in zip(columns, node.schema, strict=True)))


def has_native_types(schema: Schema) -> bool:
    """Return whether all columns already have Spark's own types, so that :func:`with_native_types` changes nothing."""
    return not any(column_type.is_encoded or column_type.is_zoned for column_type in schema)


def with_native_types(df: DataFrame, schema: Schema) -> DataFrame:
    """Return a DataFrame of the rows that :func:`with_json_texts` gives, in Spark's own types; settings of the session do not change the result."""
    from pyspark.sql import functions as F

    if has_native_types(schema):
        return df
    if any(column_type.is_encoded for column_type in schema):
        require_variant()
    names = column_names(len(schema))
    return df.select(*(_native(F.col(name), column_type).alias(name) for name, column_type in zip(names, schema, strict=True)))


def _native(column: Column, column_type: ColumnType) -> Column:
    from pyspark.sql import functions as F

    if column_type.is_encoded:
        return F.parse_json(column)
    return F.timestamp_micros(microseconds_of(column["instant"])) if column_type.is_zoned else column


def to_spark(node: PlannerNode, names: list[str]) -> Any:
    """Return the rows in order as a Spark DataFrame of the user's session, with the frame's column names."""
    return to_spark_within(node, names, user_session())


def to_spark_within(node: PlannerNode, names: list[str], user: SparkSession) -> Any:
    """Return the rows in order as a DataFrame of a given session, with the frame's column names.

    Raises
    ------
    InvalidArgumentError
        If a column name is not valid Unicode.
    """
    require_unicode(names)
    # The user's queries read the files later, when this package can no longer check them.
    restore_lost_rows(node, materialize)
    converted = with_json_texts(node)
    plan = row_by_row_plan(converted, allows_limit=False)
    unchanged = None if plan is None else _unchanged_dataframe(plan, names, user)
    if unchanged is not None:
        return unchanged
    df = None if plan is None else _unfixed_rows(plan, user)
    if df is None:
        # Rename columns in the same step as the sort if possible, because Spark needs some milliseconds for each step of a plan.
        early = names if has_native_types(node.schema) else None
        df = (_rows_in_plan if starts_our_python(user) else _stored_rows)(converted, user, early)
        if early is not None:
            return df
    with interrupts_deferred(), keeping_active(user):
        return with_native_types(df, node.schema).toDF(*names)


def _unchanged_dataframe(plan: PlannerNode, names: list[str], user: SparkSession) -> DataFrame | None:
    """Return the user's own DataFrame if the plan consists of exactly its columns; else None."""
    positions = tuple(range(len(plan.schema)))
    below = plan
    while isinstance(below.operator, Project):
        positions = tuple(below.operator.positions[index] for index in positions)
        (below,) = below.inputs
    original = below.operator.given() if isinstance(below.operator, SparkSource) and below.operator.is_given else None
    if original is None or positions != tuple(range(len(below.schema))) or original.columns != names:
        return None
    if original.sparkSession is not user and (is_remote(user) or is_remote(original.sparkSession)):
        return None
    with interrupts_deferred():
        return in_session(original, user)


def _unfixed_rows(plan: PlannerNode, user: SparkSession) -> DataFrame | None:
    """Return rows derived from a user's DataFrame whose order of rows is not fixed yet, in the order that Spark gives; None if not possible."""
    nodes = list(postorder([plan]))
    (original,) = [below.operator.df for below in nodes if isinstance(below.operator, SparkSource)]
    is_unchanged = all(isinstance(below.operator, (Project, SparkSource)) for below in nodes)
    if is_remote(user) or is_remote(original.sparkSession):
        # A Spark Connect server would evaluate the engine's expressions with the settings of the user's session.
        return lower(plan, root_observed=False).visible() if is_unchanged and original.sparkSession is user else None
    if not is_unchanged and not starts_our_python(user):
        return None
    # The engine's expressions are analysed with its own settings, and then run in the user's session.
    return in_session(lower(plan, root_observed=False).visible(), user)


def _rows_in_plan(node: PlannerNode, user: SparkSession, names: list[str] | None) -> DataFrame:
    """Return the rows as a DataFrame whose plan computes them in the user's session."""
    section, _ = run_action(
        node, lambda action: Executor(MaterializeOptions(), owned=action.owned, run_log=action.run_log).for_query(action.plan), materialize
    )
    _keep_files(section)
    with interrupts_deferred():
        return in_session(lower(section).sorted(names), user)


def _stored_rows(node: PlannerNode, user: SparkSession, names: list[str] | None) -> DataFrame:
    """Return the rows after materializing them; the DataFrame reads them without any expression or function of this package."""
    materialize(node)
    # If the rows are in several sources, write them as one.
    stored = node if node.operator.is_source else compute(node)
    with GRAPH_LOCK:
        source = source_for_users(stored)
    source = with_rows_sent(source, asks=True)
    _keep_files(source)
    if is_remote(user):
        return lower(source, within=user).sorted(names)
    with interrupts_deferred():
        return in_session(lower(source).sorted(names), user)


def _keep_files(plan: PlannerNode) -> None:
    """Keep the files that a DataFrame reads until the process ends, because the DataFrame may exist longer than the frame."""
    temporary_store().keep([node.operator for node in postorder([plan]) if isinstance(node.operator, SegmentSource)])


# Frames as views of the user's session


def register_view(name: str, frame: SFrame) -> None:
    """Register a frame as a temporary view of the user's active session."""
    require_view_name(name)
    make_view(name, frame, user_session())


def make_view(name: str, frame: SFrame, session: SparkSession) -> None:
    """Register a frame as a temporary view of a session; an existing view of that name is replaced."""
    to_spark_within(frame._node, frame._names, session).createOrReplaceTempView(f"`{name}`")


def require_view_name(name: Any) -> None:
    """Raise an error if a name is not valid for a view.

    Raises
    ------
    InvalidArgumentError
        If the name is not at most 128 letters, digits and underscores, beginning with a letter or underscore.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w{0,127}", name):
        raise InvalidArgumentError(
            f"the name of a view must be at most 128 letters, digits and underscores, beginning with a letter, got {name!r:.200}"
        )
