"""The cumulative operator: for each row the sum, mean, minimum, maximum, standard deviation or variance of all rows up to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import pyarrow as pa

from sframe_spark.compute.key_runs import POSITIVE_ZERO
from sframe_spark.errors import ExecutionError, UnsupportedOperationError
from sframe_spark.expressions.aggregates.counts import missing_of_none, sum_of_ints
from sframe_spark.expressions.aggregates.extremes import extreme
from sframe_spark.expressions.aggregates.float_sums import mean, sum_of_floats
from sframe_spark.expressions.aggregates.spreads import variance
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate
from sframe_spark.expressions.aggregates.vectors import sum_of_vectors, vectors_of_lists
from sframe_spark.operators.window.running_by_group import window_so_far
from sframe_spark.operators.window.running_states import RunningAggregates, RunningState
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.planner.operator_parameters import one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import ARRAY, DATETIME, DATETIME_KIND, FLOAT, INT, ColumnType

if TYPE_CHECKING:
    from pyspark.sql import Column

KINDS = ("sum", "mean", "min", "max", "std", "var")
VECTOR_KINDS = ("sum", "mean")
KINDS_OF_FLOATS = ("mean", "std", "var")
LARGEST_INT = 2**63 - 1


@register
@attrs.frozen
class Cumulative(SequentialOperator):
    """For each row, an aggregate of all rows up to it. Missing values are ignored; before the first value the result is missing."""

    name: ClassVar[str] = "cumulative"
    kind: str = attrs.field(validator=one_of(*KINDS))

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the type: sum, min and max keep it, others give float. (Array columns have sums and means of vectors; date-times min and max.)

        Raises
        ------
        UnsupportedOperationError
            If the column's type has no aggregate of this kind.
        """
        return (statistic_type(self, inputs[0].schema[0]),)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: maxima ascend and minima descend if there is no NaN; sums of non-negative ints ascend if they cannot overflow."""
        bounds = inputs[0].bounds.get(0)
        order = inputs[0].order
        if self.kind == "sum":
            rows = facts[0].length.at_most
            small = facts[0].schema[0] == INT and bounds is not None and rows is not None and bounds[1] * rows < LARGEST_INT
            order = derive.cumulative_sum(order, 0, 1, small and bounds[0] >= 0, small and bounds[0] > 0)  # type: ignore[index]
        elif self.kind in ("min", "max") and (facts[0].schema[0] == INT or bounds is not None):
            order = (derive.cumulative_max if self.kind == "max" else derive.cumulative_min)(order, 0, 1)
        return RelationProperties(order.project({0: 1}))

    def initial_state(self, facts: Sequence[Facts]) -> RunningState:
        return self._aggregates(facts[0].schema).empty()

    def combine(self, first: RunningState, second: RunningState) -> RunningState:
        return self._aggregates(first.schema).combined(first, second)

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> RunningState:
        return self._aggregates(facts[0].schema).summarized(inputs[0])

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: RunningState) -> tuple[Chunk, RunningState]:
        if not inputs[0].rows:
            return Chunk.empty(self.infer_type(facts)), state
        columns, after = self._aggregates(facts[0].schema).advanced(inputs[0], state)
        return Chunk.of(columns), after

    def _aggregates(self, schema: Schema) -> RunningAggregates:
        return RunningAggregates.of(schema, (), [cumulative_statistic(self.kind, schema[0])], [0])

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a window over all rows up to each row."""
        column_type = inputs[0].schema[0]
        relation = inputs[0].with_position() if column_type.is_zoned else inputs[0]
        if column_type == ARRAY:
            return self._lower_vectors(relation)
        result = FLOAT if self.kind in KINDS_OF_FLOATS else column_type
        if column_type.is_zoned:
            return relation.with_columns([first_extreme(relation, self.kind, window_so_far(relation))], (result,))
        return relation.with_columns([window_aggregate(relation.df["c0"], column_type, self.kind, window_so_far(relation))], (result,))

    def _lower_vectors(self, relation: Relation) -> Relation:
        from pyspark.sql import functions as F

        from sframe_spark.session.spark_versions import arrow_function
        from sframe_spark.udf.error_transport import error_transport

        aggregate, transport = cumulative_statistic(self.kind, ARRAY), error_transport()

        def of_groups(groups: pa.Array) -> pa.Array:
            return transport.guarded(lambda: vectors_of_lists(groups, aggregate))

        collected = relation.with_columns([F.collect_list(relation.df["c0"]).over(window_so_far(relation))], (ARRAY,))
        return collected.with_columns([arrow_function(of_groups, "array<double>")(collected.df["c0"])], (ARRAY,))

    def describe(self) -> str:
        return self.kind


def statistic_type(operator: Any, column_type: ColumnType) -> ColumnType:
    """Return the type of a cumulative or rolling statistic of a column.

    Raises
    ------
    UnsupportedOperationError
        If the column's type has no statistic of this kind.
    """
    if column_type == ARRAY and operator.kind in VECTOR_KINDS:
        return ARRAY
    if not column_type.is_numeric and not (column_type.kind == DATETIME_KIND and operator.kind in ("min", "max")):
        raise UnsupportedOperationError(f"{operator.name}_{operator.kind} takes numbers, not values of type {column_type.kind}")
    return column_type.of_values if operator.kind in ("sum", "min", "max") else FLOAT


def cumulative_statistic(kind: str, column_type: ColumnType) -> ColumnAggregate:
    """Return an aggregate of column 0 with the rules of cumulative statistics: it is missing before the first value.

    NaN is the extreme where it is the first value, and is ignored elsewhere; of date-times at one instant the first is. A variance with an infinity
    or NaN is NaN, and vectors of different lengths are an error.
    """
    if kind in ("min", "max"):
        return extreme(0, column_type, kind == "max", nan="first")
    if column_type == ARRAY:
        return sum_of_vectors(0, kind == "mean", is_missing_of_none=True, ragged=different_lengths)
    if kind == "mean":
        return mean(0)
    if kind == "sum":
        return missing_of_none(sum_of_ints(0) if column_type == INT else sum_of_floats(0), 0)
    return missing_of_none(variance(0, kind == "std", is_nan_alone=True), 0)


def different_lengths() -> ExecutionError:
    """Return the error for vectors of different lengths."""
    return ExecutionError("vectors of different lengths cannot be added: make the lengths equal")


def window_aggregate(column: Column, column_type: ColumnType, kind: str, window: Any) -> Column:
    """Return a Spark aggregate over a window that treats null and NaN as this engine does: an extreme is NaN where the first value is."""
    from pyspark.sql import functions as F

    if kind == "sum":
        return F.sum(column).over(window)
    if kind in ("min", "max"):
        pick = F.min if kind == "min" else F.max
        if column_type in (INT, DATETIME):
            return pick(column).over(window)
        number = pick(F.when(~F.isnan(column), column)).over(window) + POSITIVE_ZERO
        return F.when(F.isnan(F.first(column, ignorenulls=True).over(window)), F.lit(float("nan"))).otherwise(number)
    name = {"mean": "avg", "std": "stddev_pop", "stdv": "stddev_pop", "var": "var_pop"}[kind]
    return getattr(F, name)(column).over(window)


def first_extreme(relation: Relation, kind: str, window: Any) -> Column:
    """Return a Spark aggregate over a window: the first of the date-times with offsets whose instant is the least or greatest."""
    from pyspark.sql import functions as F

    column, row = relation.df["c0"], F.col(str(relation.position))
    place = F.struct(column["instant"].alias("at"), (row if kind == "min" else -row).alias("row"))
    return (F.min_by if kind == "min" else F.max_by)(column, F.when(column.isNotNull(), place)).over(window)


def cumulative(node: PlannerNode, kind: str) -> PlannerNode:
    """Return a node with running values of a one-column node."""
    return Cumulative(kind).make_planner_node(node)
