"""The cumulative operator: for each row the sum, mean, minimum, maximum, standard deviation or variance of all rows up to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import pyarrow as pa

from sframe_spark.compute.key_runs import POSITIVE_ZERO
from sframe_spark.errors import ExecutionError, UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import aggregate_of_values
from sframe_spark.expressions.aggregates.counts import missing_of_none, sum_of_ints
from sframe_spark.expressions.aggregates.extremes import extreme
from sframe_spark.expressions.aggregates.float_sums import mean, sum_of_floats
from sframe_spark.expressions.aggregates.products import product
from sframe_spark.expressions.aggregates.spreads import variance
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate
from sframe_spark.expressions.aggregates.vectors import sum_of_vectors
from sframe_spark.operators.project_zip_arrange import columns_of, new_positions
from sframe_spark.operators.window.running_by_group import window_so_far
from sframe_spark.operators.window.running_states import RunningAggregates, RunningState
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema, require_columns
from sframe_spark.planner.operator import Operator, SequentialOperator
from sframe_spark.planner.operator_parameters import column_positions, one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import ARRAY, DATETIME, DATETIME_KIND, FLOAT, INT, ColumnType

if TYPE_CHECKING:
    from pyspark.sql import Column, WindowSpec

KINDS = ("sum", "mean", "min", "max", "std", "var", "product")
VECTOR_KINDS = ("sum", "mean")
KINDS_OF_FLOATS = ("mean", "std", "var")
LARGEST_INT = 2**63 - 1


@register
@attrs.frozen
class Cumulative(SequentialOperator):
    """For each row, an aggregate of all rows up to it. Missing values are ignored; before the first value the result is missing.

    Parameters
    ----------
    kind
        ``sum``, ``mean``, ``min``, ``max``, ``std`` or ``var``.
    columns
        Positions of the columns to aggregate.
    keys
        Key columns: only rows with the same key are aggregated. Without keys all rows are.
    """

    name: ClassVar[str] = "cumulative"
    kind: str = attrs.field(validator=one_of(*KINDS))
    columns: tuple[int, ...] = attrs.field(default=(0,), validator=column_positions)
    keys: tuple[int, ...] = attrs.field(default=(), validator=column_positions)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types: sum, product, min and max keep it, others give float. Array columns have sums and means; date-times min and max.

        Raises
        ------
        UnsupportedOperationError
            If the column's type has no aggregate of this kind.
        """
        require_columns(inputs[0].schema, [*self.columns, *self.keys])
        return tuple(statistic_type(self, inputs[0].schema[column]) for column in self.columns)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [sorted({*self.keys, *(self.columns[output] for output in outputs)})]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions = new_positions(kept[0])
        columns = tuple(positions[self.columns[output]] for output in outputs)
        return Cumulative(self.kind, columns, tuple(positions[key] for key in self.keys)), outputs

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: maxima ascend and minima descend if there is no NaN; sums of non-negative ints ascend if they cannot overflow."""
        if self.keys or self.columns != (0,):
            return RelationProperties()
        bounds = inputs[0].bounds.get(0)
        order, width = inputs[0].order, facts[0].width
        if self.kind == "sum":
            rows = facts[0].length.at_most
            small = facts[0].schema[0] == INT and bounds is not None and rows is not None and bounds[1] * rows < LARGEST_INT
            order = derive.cumulative_sum(order, 0, width, small and bounds[0] >= 0, small and bounds[0] > 0)  # type: ignore[index]
        elif self.kind in ("min", "max") and (facts[0].schema[0] == INT or bounds is not None):
            order = (derive.cumulative_max if self.kind == "max" else derive.cumulative_min)(order, 0, width)
        return RelationProperties(order.project({0: width}))

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
        statistics = [cumulative_statistic(self.kind, schema[column], column) for column in self.columns]
        return RunningAggregates.of(schema, self.keys, statistics, self.columns)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a window over all rows up to each row."""
        schema, result_types = inputs[0].schema, self.infer_type([Facts(inputs[0].schema, Length.unknown())])
        relation = inputs[0].with_position() if any(kind.is_zoned for kind in schema) else inputs[0]
        window, collects = window_so_far(relation, self.keys), [kind == ARRAY or self.kind == "product" for kind in result_types]
        values = [
            collected_values(relation, column, window) if is_collected else self._lowered(relation, column, window)
            for column, is_collected in zip(self.columns, collects, strict=True)
        ]
        lowered = relation.with_columns(values, result_types)
        if not any(collects):
            return lowered
        # Aggregated in a separate select, because Spark allows no Python function of a window expression.
        names = [lowered.df[name] for name in lowered.columns]
        return lowered.with_columns(
            [
                self._of_collected(name, kind) if is_collected else name
                for name, kind, is_collected in zip(names, result_types, collects, strict=True)
            ],
            result_types,
        )

    def _lowered(self, relation: Relation, column: int, window: WindowSpec) -> Column:
        column_type = relation.schema[column]
        if column_type.is_zoned:
            return first_extreme(relation, self.kind, window, column)
        return window_aggregate(relation.df[f"c{column}"], column_type, self.kind, window)

    def _of_collected(self, collected: Column, column_type: ColumnType) -> Column:
        from sframe_spark.compute.spark_columns import spark_type
        from sframe_spark.session.spark_versions import arrow_function
        from sframe_spark.udf.error_transport import error_transport

        aggregate, transport = cumulative_statistic(self.kind, column_type), error_transport()

        def of_groups(groups: pa.Array) -> pa.Array:
            return transport.guarded(lambda: aggregate_of_values(groups, aggregate))

        return arrow_function(of_groups, spark_type(column_type))(collected)

    def describe(self) -> str:
        if self.columns == (0,) and not self.keys:
            return self.kind
        columns, keys = (", ".join(f"c{position}" for position in positions) for positions in (self.columns, self.keys))
        return f"{self.kind} of {columns} by [{keys}]"


def collected_values(relation: Relation, column: int, window: WindowSpec) -> Column:
    """Return a Spark column with the values in the rows of a window, of which Spark has no aggregate with the same result."""
    from pyspark.sql import functions as F

    return F.collect_list(relation.df[f"c{column}"]).over(window)


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
    return column_type.of_values if operator.kind in ("sum", "product", "min", "max") else FLOAT


def cumulative_statistic(kind: str, column_type: ColumnType, column: int = 0) -> ColumnAggregate:
    """Return an aggregate of a column with the rules of cumulative statistics: it is missing before the first value.

    NaN is the extreme where it is the first value, and is ignored elsewhere; of date-times at one instant the first is. A variance with an infinity
    or NaN is NaN, and vectors of different lengths are an error.
    """
    if kind in ("min", "max"):
        return extreme(column, column_type, kind == "max", nan="first")
    if column_type == ARRAY:
        return sum_of_vectors(column, kind == "mean", is_missing_of_none=True, ragged=different_lengths)
    if kind == "mean":
        return mean(column)
    if kind == "sum":
        return missing_of_none(sum_of_ints(column) if column_type == INT else sum_of_floats(column), column)
    if kind == "product":
        return missing_of_none(product(column, column_type), column)
    return missing_of_none(variance(column, kind == "std"), column)


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


def first_extreme(relation: Relation, kind: str, window: Any, position: int = 0) -> Column:
    """Return a Spark aggregate over a window: the first of the date-times with offsets whose instant is the least or greatest."""
    from pyspark.sql import functions as F

    column, row = relation.df[f"c{position}"], F.col(str(relation.position))
    place = F.struct(column["instant"].alias("at"), (row if kind == "min" else -row).alias("row"))
    return (F.min_by if kind == "min" else F.max_by)(column, F.when(column.isNotNull(), place)).over(window)


def cumulative(node: PlannerNode, kind: str, columns: Sequence[int] = (0,), keys: Sequence[int] = ()) -> PlannerNode:
    """Return a node with running values of some columns, within each key if there are key columns."""
    used = sorted({*columns, *keys})
    positions = new_positions(used)
    operator = Cumulative(kind, tuple(positions[column] for column in columns), tuple(positions[key] for key in keys))
    return operator.make_planner_node(columns_of(node, used))
