"""Running aggregates: for each row, aggregates of the rows up to and including it, within the same key."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_encoding import comparable_column
from sframe_spark.expressions.aggregates.aggregate_function import ReduceCollected
from sframe_spark.operators.groupby.aggregation import Aggregation, grouped_columns, moved, used_aggregations
from sframe_spark.operators.project import places_of
from sframe_spark.operators.window.choices import running_aggregate
from sframe_spark.operators.window.groups import RowGroups
from sframe_spark.operators.window.running import RunningAggregate
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Schema
from sframe_spark.planner.lowering import LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Operator, SequentialOperator
from sframe_spark.planner.parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.types import DATETIME, FLOAT, INT

if TYPE_CHECKING:
    from pyspark.sql import Column


@attrs.frozen(eq=False)
class RunningState:
    """What is known of the rows so far.

    Parameters
    ----------
    schema
        Types of the input's columns.
    slots
        Place of each group that has rows, by its token.
    parts
        State of each aggregate, with one entry per place.
    """

    schema: Schema
    slots: dict[Hashable, int]
    parts: tuple[Any, ...]


@register
@attrs.frozen
class Running(SequentialOperator):
    """Row by row, aggregates of all rows so far that have the same key.

    Parameters
    ----------
    keys
        Key columns, equal as moments are; none: all rows have one key.
    aggregations
        What to compute. Sums, means, extremes and the like keep a few numbers per key, others what their value holds, quantiles all values;
        of plug-ins those that have no parts keep all rows and take quadratic time.
    """

    name: ClassVar[str] = "running"
    keys: tuple[int, ...] = attrs.field(validator=column_positions)
    aggregations: tuple[Aggregation, ...]

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Types of the aggregates.

        Raises
        ------
        UnsupportedOperationError
            If an aggregate does not take its columns' types, or can only be computed on Spark.
        """
        schema = inputs[0].schema
        return tuple(a.infer(schema) for a in self.aggregations if running_aggregate(a, schema) is not None)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Without keys counts ascend strictly, maxima ascend (once NaN, always NaN) and minima that are never NaN descend."""
        if self.keys:
            return RelationProperties()
        order, schema = inputs[0].order, facts[0].schema
        for added, aggregation in enumerate(self.aggregations, len(schema)):
            of = aggregation.positions[0] if aggregation.positions else 0
            if aggregation.function == "count":
                order = derive.row_number(order, added)
            elif aggregation.function == "max" and schema[of] in (INT, FLOAT, DATETIME):
                order = derive.cumulative_max(order, of, added)
            elif aggregation.function == "min" and schema[of] in (INT, DATETIME):
                order = derive.cumulative_min(order, of, added)
        return RelationProperties(order.project({place: len(schema) + place for place in range(len(self.aggregations))}))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Keys and what is aggregated."""
        return [grouped_columns(self.keys, used_aggregations(self.aggregations, 0, outputs))]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """Aggregates that nobody reads are not computed."""
        places = places_of(kept[0])
        aggregations = moved(used_aggregations(self.aggregations, 0, outputs), kept[0])
        return Running(tuple(places[key] for key in self.keys), aggregations), outputs

    def _aggregates(self, schema: Schema) -> list[RunningAggregate]:
        return [running_aggregate(aggregation, schema) for aggregation in self.aggregations]

    def initial_state(self, facts: Sequence[Facts]) -> RunningState:
        """No group yet."""
        schema = facts[0].schema
        return RunningState(schema, {}, tuple(aggregate.empty(0) for aggregate in self._aggregates(schema)))

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> RunningState:
        """State after the run on its own."""
        state, groups, places = self._placed(inputs[0], self.initial_state(facts))
        parts = [
            aggregate.summarized(part, self._arguments(aggregation, inputs[0]), groups, places) for aggregation, aggregate, part in self._parts(state)
        ]
        return attrs.evolve(state, parts=tuple(parts))

    def combine(self, first: RunningState, second: RunningState) -> RunningState:
        """State of two runs, one after the other; neither is changed."""
        slots, places = placed(first.slots, second.slots)
        parts = [
            aggregate.merged(aggregate.widened(part, len(slots)), later, places)
            for (_, aggregate, part), later in zip(self._parts(first), second.parts, strict=True)
        ]
        return RunningState(first.schema, slots, tuple(parts))

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: RunningState) -> tuple[Chunk, RunningState]:
        """Running values of a run."""
        if not inputs[0].rows:
            return Chunk.empty(self.infer_type(facts)), state
        state, groups, places = self._placed(inputs[0], state)
        done = [
            aggregate.advance(part, self._arguments(aggregation, inputs[0]), groups, places) for aggregation, aggregate, part in self._parts(state)
        ]
        return Chunk(tuple(column for column, _ in done), groups.rows), attrs.evolve(state, parts=tuple(part for _, part in done))

    def _parts(self, state: RunningState) -> list[tuple[Aggregation, RunningAggregate, Any]]:
        return list(zip(self.aggregations, self._aggregates(state.schema), state.parts, strict=True))

    def _arguments(self, aggregation: Aggregation, chunk: Chunk) -> list[pa.Array]:
        return [chunk.columns[position] for position in aggregation.positions]

    def _placed(self, chunk: Chunk, state: RunningState) -> tuple[RunningState, RowGroups, np.ndarray]:
        """The state with room for the groups of a run, these groups, and their places."""
        keys = [chunk.columns[position] for position in self.keys]
        groups = RowGroups.of(keys, [state.schema[position] for position in self.keys], chunk.rows)
        slots, places = placed(state.slots, groups.tokens)
        parts = tuple(aggregate.widened(part, len(slots)) for _, aggregate, part in self._parts(state))
        return RunningState(state.schema, slots, parts), groups, places

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """A window over all rows so far of the same key, which reduces these for each row: only where a plan is run as it is, to be compared."""
        from pyspark.sql import Window

        relation = inputs[0]
        window = Window.partitionBy(*[comparable_column(relation.df[f"c{position}"], relation.schema[position]) for position in self.keys])
        window = window.orderBy(*(relation.order())).rowsBetween(Window.unboundedPreceding, Window.currentRow)
        schema = relation.schema
        columns = [window_column(aggregation, relation, window) for aggregation in self.aggregations]
        # Finished in a select of its own: Spark takes no Python function over a window expression.
        collected = [f"c{i}" for i in range(len(columns))]
        hidden = relation.hidden
        df = relation.df.select(*[column.alias(name) for column, name in zip(columns, collected, strict=True)], *hidden)
        finished = [finished_column(a, df[name], schema) for a, name in zip(self.aggregations, collected, strict=True)]
        result = attrs.evolve(relation, df=df, schema=tuple(a.infer(schema) for a in self.aggregations), not_missing=frozenset())
        return result.with_columns(finished, result.schema)

    def describe(self) -> str:
        """Keys and aggregates."""
        keys = ", ".join(f"c{position}" for position in self.keys)
        return f"[{keys}]; " + ", ".join(a.describe() for a in self.aggregations)


def placed(slots: dict[Hashable, int], tokens: Collection[Hashable]) -> tuple[dict[Hashable, int], np.ndarray]:
    """The places with room for some groups, in a copy unless all have one, and where these groups are."""
    found = list(map(slots.get, tokens))
    if None in found:
        slots = dict(slots)
        found = [slots.setdefault(token, len(slots)) if place is None else place for token, place in zip(tokens, found, strict=True)]
    return slots, np.array(found, dtype=np.int64)


def window_column(aggregation: Aggregation, relation: Relation, window: Any) -> Column:
    """Rows so far of an aggregate's arguments as one array, or their number for an aggregate without arguments."""
    from pyspark.sql import functions as F

    if not aggregation.positions:
        return F.count(F.lit(1)).over(window)
    row = F.struct(*[relation.df[f"c{position}"].alias(f"v{i}") for i, position in enumerate(aggregation.positions)])
    return F.collect_list(row).over(window)


def finished_column(aggregation: Aggregation, column: Column, schema: Schema) -> Column:
    """The aggregate of collected rows."""
    if not aggregation.positions:
        return column
    implementation = aggregation.implementation()
    assert implementation.reduce is not None
    types = [schema[position] for position in aggregation.positions]
    return ReduceCollected(implementation.infer, implementation.reduce)(column, types, aggregation.parameters)


def running(node: PlannerNode, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> PlannerNode:
    """Running aggregates of a node's rows."""
    return Running(tuple(keys), tuple(aggregations)).make_planner_node(node)
