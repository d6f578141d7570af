"""The running operator: for each row, aggregates of the rows of its group up to it.

A state has one entry per group. States advance batch by batch, and states of row ranges are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import attrs

from sframe_spark.compute.key_equality_and_codes import comparable_column
from sframe_spark.expressions.aggregates.aggregate_function import ReduceCollected
from sframe_spark.expressions.aggregates.state_columns import RunningOrder
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation, grouped_columns, moved, used_aggregations
from sframe_spark.operators.project_zip_arrange import new_positions
from sframe_spark.operators.window.running_states import RunningAggregates, RunningState
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Operator, SequentialOperator
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation

if TYPE_CHECKING:
    from pyspark.sql import Column, WindowSpec


@register
@attrs.frozen
class Running(SequentialOperator):
    """For each row, aggregates of all rows up to it that have the same key.

    Parameters
    ----------
    keys
        Key columns; date-times are compared by instant. Without keys all rows are one group.
    aggregations
        The aggregates to compute. For each key, sums, means, extremes and similar aggregates store a few numbers, aggregates whose results are
        lists or dicts store the contents of these, and quantiles store all values. Plug-in aggregates that cannot be computed from partial
        results store all rows, and take quadratic time.
    """

    name: ClassVar[str] = "running"
    keys: tuple[int, ...] = attrs.field(validator=column_positions)
    aggregations: tuple[Aggregation, ...]

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the aggregates.

        Raises
        ------
        UnsupportedOperationError
            If an aggregate does not take its columns' types.
        """
        return tuple(a.infer(inputs[0].schema) for a in self.aggregations)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: without keys, counts ascend strictly, maxima ascend (after a NaN they stay NaN), minima without NaN descend."""
        if self.keys:
            return RelationProperties()
        order, schema = inputs[0].order, facts[0].schema
        for added, aggregation in enumerate(self.aggregations, len(schema)):
            argument = aggregation.positions[0] if aggregation.positions else 0
            values = aggregation.on_columns(schema).running_order
            if values is RunningOrder.NUMBERS_ROWS:
                order = derive.row_number(order, added)
            elif values is RunningOrder.MAXIMA:
                order = derive.cumulative_max(order, argument, added)
            elif values is RunningOrder.MINIMA:
                order = derive.cumulative_min(order, argument, added)
        return RelationProperties(order.project({position: len(schema) + position for position in range(len(self.aggregations))}))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [grouped_columns(self.keys, used_aggregations(self.aggregations, 0, outputs))]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions = new_positions(kept[0])
        aggregations = moved(used_aggregations(self.aggregations, 0, outputs), kept[0])
        return Running(tuple(positions[key] for key in self.keys), aggregations), outputs

    def initial_state(self, facts: Sequence[Facts]) -> RunningState:
        return self._aggregates(facts[0].schema).empty()

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> RunningState:
        return self._aggregates(facts[0].schema).summarized(inputs[0])

    def combine(self, first: RunningState, second: RunningState) -> RunningState:
        return self._aggregates(first.schema).combined(first, second)

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: RunningState) -> tuple[Chunk, RunningState]:
        if not inputs[0].rows:
            return Chunk.empty(self.infer_type(facts)), state
        columns, after = self._aggregates(state.schema).advanced(inputs[0], state)
        return Chunk(tuple(columns), inputs[0].rows), after

    def _aggregates(self, schema: Schema) -> RunningAggregates:
        arguments = {position for aggregation in self.aggregations for position in aggregation.positions}
        return RunningAggregates.of(schema, self.keys, [a.on_columns(schema) for a in self.aggregations], arguments)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a window over all rows up to each row with the same key, reduced for each row.

        It takes quadratic time, so it only serves to test the kernel.
        """
        relation, schema = inputs[0], inputs[0].schema
        window = window_so_far(relation, self.keys)
        columns = [collected_rows(relation, aggregation.positions, window) for aggregation in self.aggregations]
        # Finished in a separate select, because Spark allows no Python function of a window expression.
        df = relation.df.select(*[column.alias(f"c{i}") for i, column in enumerate(columns)], *relation.hidden)
        values = [finished_column(a, df[f"c{i}"], schema) for i, a in enumerate(self.aggregations)]
        result = attrs.evolve(relation, df=df, schema=tuple(a.infer(schema) for a in self.aggregations), not_missing=frozenset())
        return result.with_columns(values, result.schema)

    def describe(self) -> str:
        keys = ", ".join(f"c{position}" for position in self.keys)
        return f"[{keys}]; " + ", ".join(a.describe() for a in self.aggregations)


def window_so_far(relation: Relation, keys: Sequence[int] = ()) -> WindowSpec:
    """Return a Spark window of all rows up to each row with the same keys."""
    from pyspark.sql import Window

    window = Window.partitionBy(*[comparable_column(relation.df[f"c{key}"], relation.schema[key]) for key in keys])
    return window.orderBy(*relation.order()).rowsBetween(Window.unboundedPreceding, Window.currentRow)


def collected_rows(relation: Relation, positions: Sequence[int], window: WindowSpec) -> Column:
    """Return the values of some columns in the rows of a window, as an array of structs; without columns the number of rows."""
    from pyspark.sql import functions as F

    if not positions:
        return F.count(F.lit(1)).over(window)
    row = F.struct(*[relation.df[f"c{position}"].alias(f"v{i}") for i, position in enumerate(positions)])
    return F.collect_list(row).over(window)


def finished_column(aggregation: Aggregation, column: Column, schema: Schema) -> Column:
    """Return the aggregate of collected rows."""
    if not aggregation.positions:
        return column
    implementation = aggregation.implementation()
    types = [schema[position] for position in aggregation.positions]
    return ReduceCollected(implementation.infer, implementation.of_columns)(column, types, aggregation.parameters)


def running(node: PlannerNode, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> PlannerNode:
    """Return a node with running aggregates of a node's rows."""
    return Running(tuple(keys), tuple(aggregations)).make_planner_node(node)
