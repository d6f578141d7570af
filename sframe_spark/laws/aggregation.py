"""Laws that answer from what was recorded when segments were written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sframe_spark.compute.key_runs import plain_zero
from sframe_spark.laws.laws_pruning import is_read_by_number
from sframe_spark.operators.groupby.aggregation import Aggregation
from sframe_spark.operators.groupby.groupby import Reduce
from sframe_spark.operators.project import zip_columns
from sframe_spark.operators.property_inference import INT_LIMITS
from sframe_spark.operators.sources.generated import constant_source, range_source
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.operators.sources.statistics import Statistics, source_statistics
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.law import law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.types import ColumnType
from sframe_spark.values.decode import decode

SMALLEST = ("min", "column_min")
LARGEST = ("max", "column_max")
UNANSWERED = object()


@law("reduce(x, count) = length of x", stage="pushdown", on="reduce")
def count_is_length(node: PlannerNode) -> PlannerNode | None:
    """Rows whose number is known are not counted."""
    rows = node.inputs[0].length.rows
    assert isinstance(node.operator, Reduce)
    if rows is None or any(aggregation.function != "count" for aggregation in node.operator.aggregations):
        return None
    return one_row([rows] * len(node.operator.aggregations), node.schema)


@law("reduce(segments, f) = f as recorded", stage="pushdown", on="reduce")
def reduce_from_statistics(node: PlannerNode) -> PlannerNode | None:
    """Counts, bounds and first values of segments are in their manifest."""
    source = node.inputs[0].operator
    assert isinstance(node.operator, Reduce)
    if not isinstance(source, SegmentSource) or source.stop <= source.start:
        return None
    statistics = source_statistics(source)
    values = [recorded(a, statistics, node.inputs[0].schema, source.stop - source.start) for a in node.operator.aggregations]
    return None if any(value is UNANSWERED for value in values) else one_row(values, node.schema)


@law("row_number(source, n) = n, n + 1, ...", stage="pushdown", on="row_number")
def row_number_of_source(node: PlannerNode) -> PlannerNode | None:
    """Rows whose number is known are numbered without reading them, in any part."""
    rows, start = node.length.rows, node.operator_parameters["start"]
    if rows is None or not is_read_by_number(node.inputs[0]) or start + rows > INT_LIMITS[1]:
        return None
    return range_source(start, rows)


def recorded(aggregation: Aggregation, statistics: Statistics, schema: Schema, rows: int) -> Any:
    """An aggregate's value (date-times as microseconds), or ``UNANSWERED`` when the statistics do not tell."""
    if aggregation.function == "count":
        return rows
    if len(aggregation.positions) != 1:
        return UNANSWERED
    facts = statistics[aggregation.positions[0]]
    if aggregation.function == "count_missing" and facts.has_missing is False:
        return 0
    if schema[aggregation.positions[0]].is_zoned:
        # Instants are recorded, not the offsets.
        return UNANSWERED
    if aggregation.function == "select_one" and facts.edges_known:
        return facts.first
    if aggregation.function in (*SMALLEST, *LARGEST) and facts.bounds_known and facts.has_nan is False:
        return plain_zero(facts.minimum if aggregation.function in SMALLEST else facts.maximum)
    return UNANSWERED


def one_row(values: Sequence[Any], schema: Schema) -> PlannerNode:
    """A source of one row; date-times are given as microseconds."""
    return zip_columns(*[constant_source(one_value(v, t), t, 1) for v, t in zip(values, schema, strict=True)])


def one_value(value: Any, column_type: ColumnType) -> Any:
    """The Python value that a recorded one stands for."""
    if value is None or not pa.types.is_timestamp(column_type.physical):
        return value
    return decode(pa.array([value], pa.int64()).view(column_type.physical), column_type)[0]
