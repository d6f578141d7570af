"""Group-by of rows in which equal keys are adjacent: one pass in row order, without a shuffle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

import sframe_spark.expressions.aggregates  # noqa: F401 - importing fills the table
from sframe_spark.compute.key_equality_and_codes import comparable_column
from sframe_spark.compute.key_runs import Grouping, group_runs, run_numbers, run_starts
from sframe_spark.expressions.aggregates.aggregate_function import QueryProperties
from sframe_spark.operators.groupby.accumulators import GroupedColumns, GroupsOfRows, PartialAggregate, is_finished_by_arrow, partial_aggregate
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import (
    ORDER_COLUMN,
    Aggregation,
    aggregate_in_spark,
    grouped_columns,
    grouped_in_spark,
    moved,
    used_aggregations,
)
from sframe_spark.operators.groupby.groupby import with_order_column
from sframe_spark.operators.project_zip_arrange import new_positions, project
from sframe_spark.operators.run_operator import RunOperator
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Operator, Origin
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation

# If a batch has at least so many runs, complete runs are aggregated directly, without partial states.
MIN_RUNS = 4_096


@register
@attrs.frozen
class StreamingGroupBy(RunOperator):
    """One row per run of consecutive rows with equal keys, in input order: the keys, then the aggregates.

    Missing equals missing, NaN equals NaN, and date-times are equal if they are the same instant. The key's value is taken from the first row.

    Parameters
    ----------
    keys
        Columns in which the rows of a run are equal.
    aggregations
        The aggregates to compute.
    within
        Columns by which the rows of a run are divided further: one output row for each value that occurs in the run, in order of first appearance.
        Rows with the same value need not be adjacent.
    """

    name: ClassVar[str] = "streaming_group_by"
    keys: tuple[int, ...] = attrs.field(validator=column_positions)
    aggregations: tuple[Aggregation, ...] = ()
    within: tuple[int, ...] = attrs.field(default=(), validator=column_positions)

    @property
    def grouped(self) -> tuple[int, ...]:
        """All grouping columns: keys, followed by ``within``."""
        return (*self.keys, *self.within)

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """Return the origins of the grouping columns."""
        return [[(0, position)] for position in self.grouped]

    def values_moved(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """Return the origins of the grouping columns, and of results that are the unchanged value of one row."""
        return [*self.column_origins(inputs), *(aggregation.value_moved() for aggregation in self.aggregations)]

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Return the aggregates that are lists and dicts of plain values, including frequencies."""
        schema, width = inputs[0].schema, len(self.grouped)
        return [width + position for position, aggregation in enumerate(self.aggregations) if is_finished_by_arrow(aggregation, schema)]

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        schema = inputs[0].schema
        return tuple(schema[position] for position in self.grouped) + tuple(a.infer(schema) for a in self.aggregations)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: keys are in the order of the input, and unique if equal keys are all adjacent."""
        runs = derive.group_streaming(inputs[0].order, self.keys)
        if self.within:
            runs = derive.repeat_each(runs, self.keys)
        bounds = {position: inputs[0].bounds[key] for position, key in enumerate(self.grouped) if key in inputs[0].bounds}
        return RelationProperties(runs.project(dict(enumerate(self.keys))), bounds=bounds)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [grouped_columns(self.grouped, used_aggregations(self.aggregations, len(self.grouped), outputs))]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions, width = new_positions(kept[0]), len(self.grouped)
        keys, within = (tuple(positions[position] for position in columns) for columns in (self.keys, self.within))
        aggregations = moved(used_aggregations(self.aggregations, width, outputs), kept[0])
        return StreamingGroupBy(keys, aggregations, within), [*range(width), *(o for o in outputs if o >= width)]

    def partials(self, schema: Schema) -> list[PartialAggregate]:
        """Return the accumulator of each aggregate."""
        return [partial_aggregate(aggregation, schema) for aggregation in self.aggregations]

    def lift(self, chunk: Chunk, schema: Schema) -> Chunk:
        """Return keys and partial states of each group of each run."""
        return self._by_groups(chunk, schema, lambda partial, arrays, groups: partial.of_groups(arrays, groups))

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
        """Return the results of the runs that end in these rows, and the state of the run that is still open.

        Complete runs need no partial states.
        """
        chunk, schema = inputs[0], facts[0].schema
        starts = run_starts([chunk.columns[key] for key in self.keys], [schema[key] for key in self.keys], chunk.rows)
        if len(starts) < MIN_RUNS:
            return super().advance(inputs, facts, state)
        second, last = int(starts[1]), int(starts[-1])
        before, state = super().advance([chunk.slice(0, second)], facts, state)
        ended = super().finish(facts, state)
        whole = self._by_groups(
            chunk.slice(second, last),
            schema,
            lambda partial, arrays, groups: [partial.of_whole_groups(arrays, groups, partial.aggregation.infer(schema))],
        )
        _, state = super().advance([chunk.slice(last, chunk.rows)], facts, self.initial_state(facts))
        return concatenate([before, *([] if ended is None else [ended]), whole], self.infer_type(facts)), state

    def _by_groups(self, chunk: Chunk, schema: Schema, compute: GroupedColumns) -> Chunk:
        """Return the keys of each group of each run, followed by the columns that ``compute`` computes for each aggregate."""
        keys = Chunk(tuple(chunk.columns[position] for position in self.grouped), chunk.rows)
        grouping = self._groups(keys, schema)
        columns = list(chunk.columns) if grouping.order is None else [column.take(pa.array(grouping.order)) for column in chunk.columns]
        starts = pa.array(grouping.starts)
        lifted = [columns[position].take(starts) for position in self.grouped]
        groups = GroupsOfRows(run_numbers(grouping.starts, chunk.rows), len(grouping.starts))
        for partial in self.partials(schema):
            lifted += compute(partial, [columns[position] for position in partial.aggregation.positions], groups)
        return Chunk(tuple(lifted), groups.count)

    def _groups(self, table: Chunk, schema: Schema) -> Grouping:
        return group_runs(table, [schema[p] for p in self.grouped], len(self.keys), len(self.within))

    def collapse(self, table: Chunk, schema: Schema) -> tuple[Chunk, np.ndarray]:
        """Return the partial states merged for each group of each run, and the run of each group."""
        grouping = self._groups(table, schema)
        if len(grouping.starts) == table.rows:
            return table, grouping.runs
        columns = list(table.columns)
        if grouping.order is not None:
            order = pa.array(grouping.order)
            columns = [column.take(order) for column in columns]
        starts = pa.array(grouping.starts)
        width = len(self.grouped)
        merged = [column.take(starts) for column in columns[:width]]
        for partial in self.partials(schema):
            merged += partial.merge(columns[width : width + partial.width], grouping.starts)
            width += partial.width
        return Chunk(tuple(merged), len(grouping.starts)), grouping.runs

    def results(self, table: Chunk, runs: np.ndarray, schema: Schema) -> Chunk:
        width = len(self.grouped)
        columns = list(table.columns[:width])
        for partial in self.partials(schema):
            columns.append(partial.finish(list(table.columns[width : width + partial.width]), partial.aggregation.infer(schema)))
            width += partial.width
        return Chunk(tuple(columns), table.rows)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a group-by on the number of the run, which a window over the rows in order counts."""
        from pyspark.sql import functions as F

        relation = numbered_runs(with_order_column(inputs[0]), self.keys)
        df, schema = relation.df, relation.schema
        parts = [comparable_column(df[f"c{p}"], schema[p]).alias(f"w{i}") for i, p in enumerate(self.within)]
        order = df[ORDER_COLUMN]
        columns = [F.min_by(df[f"c{p}"], order).alias(f"g{i}") for i, p in enumerate(self.grouped)]
        aggregates = [aggregate_in_spark(a, relation, QueryProperties(context.summed)) for a in self.aggregations]
        names = [f"g{i}" for i in range(len(self.grouped))]
        others = [F.min(order).alias("place"), *columns]
        grouped, finished = grouped_in_spark(df, [df["run"], *parts], ["run", "place", *names], aggregates, others)
        values = [column.alias(f"c{i}") for i, column in enumerate([*map(F.col, names), *finished])]
        result = grouped.select(*values, F.col("run").alias("k0"), F.col("place").alias("k1"))
        types = self.infer_type([Facts(schema, Length.unknown())])
        return Relation(result, types, (KeyColumn("k0"), KeyColumn("k1")))

    def describe(self) -> str:
        keys = ", ".join(f"c{position}" for position in self.keys)
        divided = "; within " + ", ".join(f"c{position}" for position in self.within) if self.within else ""
        return f"[{keys}]{divided}; " + ", ".join(a.describe() for a in self.aggregations)


def numbered_runs(relation: Relation, keys: Sequence[int]) -> Relation:
    """Return the relation with a hidden column ``run`` that grows by one if a key differs from the row before."""
    from pyspark.sql import Window, functions as F

    window = Window.orderBy(*(relation.order() or [F.lit(0)]))
    same: Any = F.lit(True)
    for position in keys:
        value = comparable_column(relation.df[f"c{position}"], relation.schema[position])
        same = same & value.eqNullSafe(F.lag(value).over(window))
    marked = relation.df.withColumn("begins", (~same).cast("bigint"))
    so_far = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return attrs.evolve(relation, df=marked.withColumn("run", F.sum(marked["begins"]).over(so_far)).drop("begins"))


def narrowed(node: PlannerNode, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> tuple[PlannerNode, list[int], list[Aggregation]]:
    """Return a node with only the columns that a group-by reads, the new positions of the keys, and the aggregates over the new positions."""
    used = sorted({*keys, *(position for aggregation in aggregations for position in aggregation.positions)})
    positions = {old: new for new, old in enumerate(used)}
    moved = [attrs.evolve(a, positions=tuple(positions[position] for position in a.positions)) for a in aggregations]
    return project(node, used), [positions[key] for key in keys], moved


def streaming_group_by(node: PlannerNode, keys: Sequence[int], aggregations: Sequence[Aggregation], within: Sequence[int] = ()) -> PlannerNode:
    """Return a node with one row per run of equal keys."""
    return StreamingGroupBy(tuple(keys), tuple(aggregations), tuple(within)).make_planner_node(node)
