"""Laws of aggregations: group-bys of distinct keys, and reductions that known lengths, recorded statistics or fewer rows answer; also row numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.expressions.aggregates.aggregate_function import UNRECORDED
from sframe_spark.expressions.scalar_function_program import Register
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import GroupBy
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import GroupByOfAdjacentEqualKeys
from sframe_spark.operators.groupby.reduce_to_one_row import Reduce
from sframe_spark.operators.program_and_filter_properties import INT_LIMITS
from sframe_spark.operators.project_zip_arrange import project, zip_columns
from sframe_spark.operators.row_selection import slice_rows
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource, Statistics, source_statistics
from sframe_spark.operators.sources.in_memory import constant_source, range_source
from sframe_spark.planner.law import law
from sframe_spark.planner.length_and_order_inference import properties_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.rewrite_laws.filter_pushdown import MaskedRows
from sframe_spark.rewrite_laws.group_join_and_sort_algorithms import one_value_per_group
from sframe_spark.rewrite_laws.pruning_by_recorded_bounds import has_random_access
from sframe_spark.types import DATETIME, INT, ColumnType
from sframe_spark.values.arrow_to_python import decode


@law("group_by(x, k, select_one) = sort(project(x, k and c), k) where no two rows are equal in k", stage="pushdown", on="group_by")
def group_by_of_distinct(node: PlannerNode) -> PlannerNode | None:
    """If the keys are distinct, every group is a single row: rows are only sorted, and no exchange by key is needed."""
    assert isinstance(node.operator, GroupBy)
    groups, keys = rows_as_groups(node.operator, node.inputs[0]), node.operator.keys
    if groups is None or not one_value_per_group(node.inputs[0], keys):
        return None
    return sort_rows(groups, [(position, True) for position in range(len(keys))])


@law("streaming_group_by(x, k, select_one) = project(x, k and c) where no two rows are equal in k", stage="pushdown", on="streaming_group_by")
def group_of_distinct_adjacent_keys(node: PlannerNode) -> PlannerNode | None:
    """If every group is a single row, the result is the input rows in their order."""
    assert isinstance(node.operator, GroupByOfAdjacentEqualKeys)
    return None if node.operator.within else rows_as_groups(node.operator, node.inputs[0])


def rows_as_groups(operator: GroupBy | GroupByOfAdjacentEqualKeys, child: PlannerNode) -> PlannerNode | None:
    """Return the groups of rows with distinct keys, in the order of the rows; None if keys may repeat, or an aggregate is not of the first row."""
    if not operator.keys or not all(aggregation.implementation().of_first_row for aggregation in operator.aggregations):
        return None
    if not properties_of(child).order.has_key(operator.keys):
        return None
    return project(child, [*operator.keys, *(aggregation.positions[0] for aggregation in operator.aggregations)])


@law("reduce(x, select_one) = reduce(slice(x, 0, 1), select_one)", stage="pushdown", on="reduce", alone=True)
def first_of_first(node: PlannerNode) -> PlannerNode | None:
    """Only the first row is needed, because it has the first value."""
    operator, child = node.operator, node.inputs[0]
    assert isinstance(operator, Reduce)
    is_first = all(aggregation.implementation().of_first_row for aggregation in operator.aggregations)
    if not is_first or (child.length.at_most is not None and child.length.at_most <= 1):
        return None
    return node.with_inputs([slice_rows(child, 0, 1)])


@law("reduce(filter_rows(f(x), c is there), aggregates of c) = reduce(f(x), aggregates of c)", stage="pushdown", on="reduce", alone=2)
def aggregates_skip_missing(node: PlannerNode) -> PlannerNode | None:
    """A filter that drops missing values is unnecessary before aggregates that skip them (not for floats: the mask also drops NaN)."""
    operator, filtered = node.operator, node.inputs[0]
    assert isinstance(operator, Reduce)
    if filtered.operator.row_choice is not RowChoice.FILTER:
        return None
    masked = MaskedRows.of(filtered)
    program, mask = masked.program, masked.program.outputs[-1]
    if program.may_fail or not isinstance(mask, Register) or mask.index < program.width:
        return None
    step = program.steps[mask.index - program.width]
    tested, types = step.operands[0], program.register_types(masked.rows.schema)
    if step.function != "is_not_missing" or not isinstance(tested, Register) or types[tested.index] not in (INT, DATETIME):
        return None
    if not all(
        a.implementation().skips_missing and [program.outputs[position] for position in a.positions] == [tested] for a in operator.aggregations
    ):
        return None
    return node.with_inputs([masked.unfiltered()])


@law("reduce(x, count) = length of x", stage="pushdown", on="reduce")
def count_is_length(node: PlannerNode) -> PlannerNode | None:
    """If the number of rows is known, rows need not be counted."""
    rows = node.inputs[0].length.rows
    assert isinstance(node.operator, Reduce)
    if rows is None or not all(aggregation.counts_rows(node.inputs[0].schema) for aggregation in node.operator.aggregations):
        return None
    return one_row([rows] * len(node.operator.aggregations), node.schema)


@law("reduce(segments, f) = f as recorded", stage="pushdown", on="reduce")
def reduce_from_statistics(node: PlannerNode) -> PlannerNode | None:
    """The manifest records counts, bounds and first values of columns."""
    source = node.inputs[0].operator
    assert isinstance(node.operator, Reduce)
    if not isinstance(source, SegmentSource) or source.stop <= source.start:
        return None
    statistics = source_statistics(source)
    values = [recorded(a, statistics, node.inputs[0].schema, source.stop - source.start) for a in node.operator.aggregations]
    return None if any(value is UNRECORDED for value in values) else one_row(values, node.schema)


@law("row_number(source, n) = n, n + 1, ...", stage="pushdown", on="row_number")
def row_number_of_source(node: PlannerNode) -> PlannerNode | None:
    """If a source has a known number of rows, its row numbers become a source, so that any range of them is computed without reading rows."""
    rows, start = node.length.rows, node.operator_parameters["start"]
    if rows is None or not has_random_access(node.inputs[0]) or start + rows > INT_LIMITS[1]:
        return None
    return range_source(start, rows)


def recorded(aggregation: Aggregation, statistics: Statistics, schema: Schema, rows: int) -> Any:
    """Return the value of an aggregate (datetimes as microseconds) if statistics determine it, otherwise ``UNRECORDED``."""
    if aggregation.counts_rows(schema):
        return rows
    of_statistics = aggregation.implementation().recorded
    if of_statistics is None or len(aggregation.positions) != 1:
        return UNRECORDED
    (position,) = aggregation.positions
    return of_statistics(statistics[position], schema[position])


def one_row(values: Sequence[Any], schema: Schema) -> PlannerNode:
    """Return a source of one row; datetimes are given as microseconds."""

    def constant(value: Any, column_type: ColumnType) -> PlannerNode:
        if value is not None and pa.types.is_timestamp(column_type.physical):
            value = decode(pa.array([value], pa.int64()).view(column_type.physical), column_type)[0]
        return constant_source(value, column_type, 1)

    return zip_columns(*map(constant, values, schema))
