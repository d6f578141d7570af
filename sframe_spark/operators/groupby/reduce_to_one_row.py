"""The operator that reduces all rows to one row of aggregates, and functions that make nodes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs

import sframe_spark.expressions.aggregates  # noqa: F401 - importing fills the table
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import DecomposableOperator, Need, Operator
from sframe_spark.planner.operator_declarations import NO_WORK, QueryWork, SparkCost
from sframe_spark.planner.registry import register

with lazy_imports(globals()):
    from sframe_spark.expressions.aggregates.aggregate_function import QueryProperties
    from sframe_spark.expressions.aggregates.state_columns import Growth
    from sframe_spark.operators.groupby.aggregation_and_spark_lowering import (
        Aggregation,
        aggregate_in_spark,
        as_column,
        counts_distinct,
        finished_aggregates,
        grouped_columns,
        moved,
        named_columns,
        used_aggregations,
        with_helper_columns,
        with_order_column,
    )
    from sframe_spark.operators.groupby.in_memory_groupby import GroupingByKeys
    from sframe_spark.operators.groupby.partial_groups import PartialGroups
    from sframe_spark.planner.operator_capabilities import WholeKernel
    from sframe_spark.planner.spark_relation import LoweringContext, Relation


@register
@attrs.frozen
class Reduce(DecomposableOperator):
    """One row with aggregates over all rows of the input."""

    name: ClassVar[str] = "reduce"
    deterministic: ClassVar[bool] = True
    makes_one_row: ClassVar[bool] = True
    aggregations: tuple[Aggregation, ...]

    @property
    def spark_cost(self) -> SparkCost:
        """The cost of a shuffle that gathers partial states."""
        return SparkCost(QueryWork(1, 0) + (QueryWork(1, 2) if counts_distinct(self.aggregations) else NO_WORK))

    @property
    def whole_kernel(self) -> WholeKernel:
        """The aggregates of all rows."""
        return WholeKernel()

    @property
    def order_sensitive(self) -> bool:
        """Whether an aggregate depends on the row order."""
        return any(aggregation.implementation().order_sensitive for aggregation in self.aggregations)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return tuple(a.infer(inputs[0].schema) for a in self.aggregations)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly(1)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [grouped_columns((), used_aggregations(self.aggregations, 0, outputs))]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        return Reduce(moved(used_aggregations(self.aggregations, 0, outputs), kept[0])), outputs

    def requires(self, slot: int) -> Need:
        """Return ``ORDERED`` if an aggregate depends on the row order, otherwise ``ANY``."""
        return Need.ORDERED if self.order_sensitive else Need.ANY

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return Spark's aggregation of all rows."""
        relation = with_order_column(inputs[0]) if self.order_sensitive else inputs[0]
        aggregates = [aggregate_in_spark(a, relation, QueryProperties(context.summed, is_whole=True)) for a in self.aggregations]
        if all(aggregate.is_plain for aggregate in aggregates):
            # Analysing one more select takes Spark a third of the time of a short query, so plain aggregates are computed in the last select.
            df, finished = relation.df, [as_column(aggregate.columns[0]) for aggregate in aggregates]
        else:
            aggregated = with_helper_columns(relation.df, aggregates).select(*named_columns(aggregates))
            df, finished = finished_aggregates(aggregated, [], aggregates)
        df = df.select(*[column.alias(f"c{i}") for i, column in enumerate(finished)])
        return Relation(df, tuple(a.infer(relation.schema) for a in self.aggregations))

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Return the aggregates of all rows, computed in memory."""
        return self.rows_from(self.part_of(inputs[0], facts), facts)

    def decomposes(self, facts: Sequence[Facts]) -> bool:
        """Return whether the partial states of all aggregates have a size that does not grow with the rows."""
        return all(aggregate.growth == Growth.FIXED for aggregate in self._grouping(facts).aggregates.aggregates)

    def part_of(self, rows: Chunk, facts: Sequence[Facts]) -> PartialGroups:
        return self._grouping(facts).all_rows(rows)

    def combined(self, first: PartialGroups, second: PartialGroups, facts: Sequence[Facts]) -> PartialGroups:
        return self.combined_all([first, second], facts)

    def combined_all(self, parts: Sequence[PartialGroups], facts: Sequence[Facts]) -> PartialGroups:
        return self._grouping(facts).merged(parts)

    def rows_from(self, part: PartialGroups, facts: Sequence[Facts]) -> Chunk:
        return self._grouping(facts).finished(part)

    def _grouping(self, facts: Sequence[Facts]) -> GroupingByKeys:
        return GroupingByKeys.of_all_rows(facts[0].schema, self.aggregations)

    def describe(self) -> str:
        return ", ".join(a.describe() for a in self.aggregations)


def reduce_columns(node: PlannerNode, aggregations: Sequence[Aggregation]) -> PlannerNode:
    """Return a node with one row of aggregates.

    Examples
    --------
    >>> from sframe_spark.plugin import Aggregation, SArray, frame_of, node_of
    >>> frame_of(reduce_columns(node_of(SArray([1, 2, 3])), [Aggregation("sum", (0,)), Aggregation("max", (0,))]), ["total", "largest"])[0]
    {'total': 6, 'largest': 3}
    """
    return Reduce(tuple(aggregations)).make_planner_node(node)


def count_all(node: PlannerNode) -> PlannerNode:
    """Return a node with one row that holds the number of rows; only columns that determine which rows exist are read."""
    return reduce_columns(node, [Aggregation("count")])
