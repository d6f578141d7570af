"""A Spark query: Spark computes a section with its own operators; the rows are collected, or written as Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import pyarrow as pa

from sframe_spark.engine import costs
from sframe_spark.engine.physical.column_lineage import origins_of
from sframe_spark.engine.physical.site import Site
from sframe_spark.engine.runtime.result_storage import has_shared_place, with_rows_sent, with_stored_tables, write_query
from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart
from sframe_spark.engine.shapes.repeated_function_calls_and_function_placement import require_owned
from sframe_spark.engine.shapes.section_runner import SectionRunner
from sframe_spark.engine.shapes.section_tree import Alternative, Section, Shape, Workers
from sframe_spark.engine.size_estimates_batch_sizes_and_memory_reservations import bytes_of_rows, fits_driver, rows_fit
from sframe_spark.engine.spark import query
from sframe_spark.engine.spark.object_store_of_cluster import is_object_store_of_cluster_used
from sframe_spark.engine.spark.shared_file_and_row_count_checks import require_readable
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import adds_up_floats
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.user_function_calls_and_result_memos import calls_user_functions
from sframe_spark.planner.chunk import column_names
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.node import PlannerNode
from sframe_spark.process.memory import memory_for_batches


@attrs.frozen
class QueryShape(Shape):
    """Operators that no other shape runs; every plan over sources with row keys can be a query."""

    name: ClassVar[str] = "query"

    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return Spark, for everything that is not computed range by range."""
        return Workers.SPARK if part.is_without_ranges else None

    def alternatives(self, section: Section, site: Site) -> Sequence[Alternative]:
        """Return that groups may be collected, if a sample has few, and that exact sums may be computed again, if floats need more digits."""
        root, found = section.root, list[Alternative]()
        if root.operator.group_keys is not None:
            found.append(Alternative.FEW_GROUPS)
        if any(map(adds_up_floats, postorder([root]))) and not calls_user_functions(root):
            found.append(Alternative.MORE_DIGITS)
        return found

    @memory_for_batches()
    def run(self, section: Section, runner: SectionRunner) -> PlannerNode:
        """Run a Spark query and return a source of its rows."""
        node = section.root
        if runner.options.naive:
            return runner.keep(query.collect(node), node)
        require_owned(node, runner.owned)
        runner.log.append(f"query: {node.operator_type}")
        node = with_rows_sent(with_stored_tables(node))
        if is_object_store_of_cluster_used() or not has_shared_place(runner.options):
            return without_shared_place(node, runner)
        if runner.options.directory is not None:
            return write_query(node, runner.options)
        if fits_driver(node, runner.options.in_memory, runner.site.memory_budget):
            return runner.keep(query.collect(node), node)
        keys = node.operator.group_keys
        if keys is not None and rows_fit(node, runner.options.in_memory, runner.site.memory_budget) and has_few_groups(node.inputs[0], keys):
            chunk = query.collect_few(node, runner.options.in_memory)
            if chunk is not None:
                return runner.keep(chunk, node)
        return write_query(node, runner.options)


QUERY: Shape = QueryShape()


def without_shared_place(node: PlannerNode, runner: SectionRunner) -> PlannerNode:
    """Return a source of the rows of a query, sent to this process as they are computed, if Spark shares no directory.

    Rows that take more than the memory budget go to the object store of the cluster, if it has one; else Spark keeps them.
    """
    # If files that the query reads are not seen, either, it is planned again without Spark.
    require_readable(node)
    budget, known = runner.site.memory_budget, node.length.rows
    is_too_large = known is not None and bytes_of_rows(node, known, unknown=0) > budget
    rows = None if is_too_large else query.collect_within(node, budget)
    if rows is None:
        return write_query(node, runner.options)
    runner.log.append(f"collected: {node.operator_type}, as Spark's machines share no place for its rows")
    return runner.keep(rows, node)


def has_few_groups(node: PlannerNode, positions: Sequence[int]) -> bool:
    """Return whether samples of the key columns have few distinct rows, so that the groups probably fit in the driver's memory."""
    source = stored_columns(node, positions)
    if source is None:
        return False
    first = distinct_rows(source, 0)
    middle = distinct_rows(source, max((source.stop - source.start) // 2, costs.ROWS_OF_KEY_SAMPLE))
    new = middle.num_rows - middle.join(first, middle.column_names, join_type="left semi").num_rows
    # If the second sample has many values that are not in the first, there may be any number of them.
    return first.num_rows < costs.ROWS_OF_KEY_SAMPLE // 2 and new <= max(1, first.num_rows // 10)


def distinct_rows(source: SegmentSource, start: int) -> pa.Table:
    """Return the distinct rows in a sample of a source, with all values converted to strings."""
    table = source.read(start, start + costs.ROWS_OF_KEY_SAMPLE).to_table()
    # Joins skip missing values, so these become a string of their own; only the number of distinct rows matters.
    names = column_names(table.num_columns)
    strings = [column.cast(pa.string()).fill_null("\0") for column in table.columns]
    return pa.table(strings, names=names).group_by(names).aggregate([])


def stored_columns(node: PlannerNode, positions: Sequence[int]) -> SegmentSource | None:
    """Return a source of some columns of a node in their stored form, following operators that keep or drop rows.

    The result is None if a column is computed, or is not numeric or string.
    """
    while not isinstance(node.operator, SegmentSource):
        operator = node.operator
        if len(node.inputs) != 1 or operator.row_range is not None or not (operator.row_wise or operator.row_choice is not None):
            return None
        origins = [origins_of(node)[position] for position in positions]
        if not all(origins):
            return None
        positions, node = [first[0][1] for first in origins], node.inputs[0]
    types = [node.schema[position].physical for position in positions]
    is_simple = bool(types) and all(pa.types.is_primitive(arrow_type) or pa.types.is_string(arrow_type) for arrow_type in types)
    return node.operator.with_columns(positions) if is_simple else None
