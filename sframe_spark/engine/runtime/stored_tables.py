"""Large tables in memory, written as segments when Spark first reads them: sending rows takes longer, and every query would send them again."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from sframe_spark.engine.budgets import SENT_BYTES
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.runtime.dataset_writer import write_held
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.operators.sources.statistics import recorded_order
from sframe_spark.planner.graph import postorder, rebuild
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.row_sizes import row_bytes
from sframe_spark.session import get_session
from sframe_spark.session.deployment import reads_our_files
from sframe_spark.storage.segments.writer import ROWS_PER_GROUP


def with_stored_tables(root: PlannerNode, are_here: bool = False) -> PlannerNode:
    """The plan, with segments in place of large tables in memory; they stay as long as the table does.

    Where those who read are not known to be on this machine (``are_here``), Spark is asked whether it sees our files.
    """
    tables = [node.operator for node in postorder([root]) if isinstance(node.operator, MemorySource) and is_worth_storing(node.operator)]
    if not tables or not (are_here or reads_our_files(get_session())):
        return root
    wanted: dict[int, set[int]] = {}
    for table in tables:
        wanted.setdefault(id(table.data), set()).update(table.positions)
    segments = {id(table): as_segments(table, wanted[id(table.data)]) for table in tables}
    return rebuild(root, lambda node: segments[id(node.operator)].make_planner_node() if id(node.operator) in segments else node)


def is_worth_storing(table: MemorySource) -> bool:
    """True for many rows, or long ones, and most of those that would be written."""
    rows = table.stop - table.start
    is_large = rows > ROWS_PER_GROUP or row_bytes(table.sizes_between(0, rows), 0) > SENT_BYTES
    return bool(table.positions) and is_large and 2 * rows >= table.data.rows


def as_segments(table: MemorySource, wanted: Iterable[int]) -> SegmentSource:
    """The same columns and rows of a dataset, which is written with all wanted columns of the table unless it has them."""
    positions, segments = table.stored or ((), None)
    if segments is None or not set(wanted) <= set(positions):
        positions = tuple(sorted({*wanted, *positions}))
        segments = written(attrs.evolve(table, positions=positions, start=0, stop=table.data.rows))
        table.store(positions, segments)
    places = [positions.index(position) for position in table.positions]
    return segments.with_columns(places).rows_between(table.start, table.stop)


def written(table: MemorySource) -> SegmentSource:
    """A table's rows as a temporary dataset."""
    node = table.make_planner_node()
    stored = write_held(table.held, node.schema, MaterializeOptions(), recorded_order(node)).operator
    assert isinstance(stored, SegmentSource)
    return stored
