"""Group-by of rows in which equal keys are adjacent: one pass in row order, without a shuffle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

import sframe_spark.expressions.aggregates  # noqa: F401 - importing fills the table
from sframe_spark.compute.key_equality_and_codes import comparable_column
from sframe_spark.compute.key_runs import Grouping, group_runs
from sframe_spark.compute.row_groups import GroupsOfRows
from sframe_spark.expressions.aggregates.aggregate_function import QueryProperties
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows
from sframe_spark.expressions.aggregates.state_columns import AggregateSet, State, joined, take
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import (
    ORDER_COLUMN,
    Aggregation,
    aggregate_in_spark,
    grouped_columns,
    grouped_in_spark,
    moved,
    used_aggregations,
    with_order_column,
)
from sframe_spark.operators.project_zip_arrange import new_positions, project
from sframe_spark.operators.run_operator import RunOperator, Stretch
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Operator, Origin
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation


@attrs.frozen(eq=False)
class GroupsOfRuns:
    """Partial groups of consecutive runs, run by run.

    Parameters
    ----------
    keys
        The grouping columns of each group.
    runs
        The number of the run of each group, counting from zero.
    states
        The state of each distinct state column, for all groups.
    """

    keys: Chunk
    runs: np.ndarray
    states: tuple[State, ...]

    def between(self, start: int, stop: int) -> GroupsOfRuns:
        """Return a range of the groups."""
        if (start, stop) == (0, self.keys.rows):
            return self
        return GroupsOfRuns(self.keys.slice(start, stop), self.runs[start:stop], take(self.states, slice(start, stop)))

    def first_of_run(self, number: int) -> int:
        """Return the index of the first group of a run."""
        return int(np.searchsorted(self.runs, number))


@register
@attrs.frozen
class GroupByOfAdjacentEqualKeys(RunOperator):
    """One row per run of consecutive rows with equal keys, in input order: the keys, then the aggregates.

    Missing equals missing, NaN equals NaN, and date-times are equal if they are the same instant. The keys
    in the output are those of the first row of each group.

    Parameters
    ----------
    keys
        Columns in which the rows of a run are equal.
    aggregations
        The aggregates to compute.
    within
        Columns by which the rows of a run are divided into groups: one output row for each combination of their values that occurs in the run, in
        order of first appearance. Rows with the same values need not be adjacent.
    """

    # The name in printed plans, and in plans that users have stored.
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

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Return the columns with aggregates that do not call Python: if these are lists or dicts, no Python object is made for each value."""
        schema, width = inputs[0].schema, len(self.grouped)
        return [width + position for position, aggregate in enumerate(self._set(schema).aggregates) if not aggregate.calls_python]

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
        return GroupByOfAdjacentEqualKeys(keys, aggregations, within), [*range(width), *(o for o in outputs if o >= width)]

    def _set(self, schema: Schema) -> AggregateSet:
        return AggregateSet.of([aggregation.on_columns(schema) for aggregation in self.aggregations])

    def lift(self, chunk: Chunk, schema: Schema) -> Chunk:
        """Return keys and states, as Arrow columns, of each group of each run."""
        aggregates = self._set(schema)
        return sent(self._lifted(chunk, schema, aggregates), aggregates)

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Stretch:
        """Return keys and states of the groups of the first and of the last run; only these become Arrow columns."""
        schema = facts[0].schema
        aggregates = self._set(schema)
        groups = self._lifted(inputs[0], schema, aggregates)
        if not groups.keys.rows:
            return Stretch(sent(groups, aggregates), None, schema)
        second, last = groups.first_of_run(1), groups.first_of_run(groups.runs[-1])
        tail = sent(groups.between(last, groups.keys.rows), aggregates) if last else None
        return Stretch(sent(groups.between(0, second), aggregates), tail, schema)

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
        """Return the results of the runs that end in these rows, and the state of the run that is still open.

        States of complete runs do not become Arrow columns.
        """
        schema = facts[0].schema
        aggregates = self._set(schema)
        groups = self._lifted(inputs[0], schema, aggregates)
        if not groups.keys.rows:
            return Chunk.empty(self.infer_type(facts)), state
        complete = []
        if state.first.rows:
            # Of the new groups only those of the first run may continue the open run.
            second = groups.first_of_run(1)
            continued = self._merged([self._live(state.first, aggregates), groups.between(0, second)], schema, aggregates)
            groups = groups.between(second, groups.keys.rows)
            if groups.keys.rows:
                complete.append(continued)
            else:
                groups = continued
        last = groups.first_of_run(groups.runs[-1])
        complete.append(groups.between(0, last))
        still_open = sent(groups.between(last, groups.keys.rows), aggregates)
        results = [finished(part, aggregates) for part in complete if part.keys.rows]
        return concatenate(results, self.infer_type(facts)), Stretch(still_open, None, schema, is_prefix=True)

    def _lifted(self, chunk: Chunk, schema: Schema, aggregates: AggregateSet) -> GroupsOfRuns:
        """Return keys and states of each group of each run."""
        keys = chunk.select(self.grouped)
        grouping = self._groups(keys, schema)
        groups = groups_of(grouping, chunk.rows)
        return GroupsOfRuns(first_rows_of(keys, grouping), grouping.runs, aggregates.lift(InputRows(chunk.columns, chunk.rows), groups))

    def _groups(self, table: Chunk, schema: Schema) -> Grouping:
        return group_runs(table, [schema[p] for p in self.grouped], len(self.keys), len(self.within))

    def _live(self, table: Chunk, aggregates: AggregateSet) -> GroupsOfRuns:
        """Return the groups in a table of keys and states; all of them count as groups of one run."""
        width = len(self.grouped)
        return GroupsOfRuns(table.select(range(width)), np.zeros(table.rows, dtype=np.int64), aggregates.of_arrow(table.columns[width:]))

    def _merged(self, parts: Sequence[GroupsOfRuns], schema: Schema, aggregates: AggregateSet) -> GroupsOfRuns:
        """Return the groups of consecutive parts, with states of the same group of the same run merged."""
        keys = concatenate([part.keys for part in parts], tuple(schema[position] for position in self.grouped))
        states = tuple(joined(states) for states in zip(*(part.states for part in parts), strict=True))
        return self._collapsed(keys, states, schema, aggregates)

    def _collapsed(self, keys: Chunk, states: tuple[State, ...], schema: Schema, aggregates: AggregateSet) -> GroupsOfRuns:
        grouping = self._groups(keys, schema)
        if len(grouping.starts) == keys.rows:
            return GroupsOfRuns(keys, grouping.runs, states)
        merged = aggregates.merge(states, groups_of(grouping, keys.rows))
        return GroupsOfRuns(first_rows_of(keys, grouping), grouping.runs, merged)

    def collapse(self, table: Chunk, schema: Schema) -> tuple[Chunk, np.ndarray]:
        """Return the states, as Arrow columns, merged for each group of each run, and the run of each group."""
        aggregates = self._set(schema)
        live = self._live(table, aggregates)
        result = self._collapsed(live.keys, live.states, schema, aggregates)
        return table if result.keys is live.keys else sent(result, aggregates), result.runs

    def results(self, table: Chunk, runs: np.ndarray, schema: Schema) -> Chunk:
        aggregates = self._set(schema)
        return finished(self._live(table, aggregates), aggregates)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a group-by whose key is the number of the run. A window over the rows in order numbers the runs."""
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


def groups_of(grouping: Grouping, rows: int) -> GroupsOfRows:
    """Return which of ``rows`` rows are in which group, in the form that aggregates take."""
    if grouping.order is None:
        return GroupsOfRows.of_runs(grouping.starts, rows)
    codes = np.empty(rows, dtype=np.int64)
    codes[grouping.order] = np.repeat(np.arange(len(grouping.starts)), np.diff(np.append(grouping.starts, rows)))
    return GroupsOfRows(codes, len(grouping.starts))


def first_rows_of(keys: Chunk, grouping: Grouping) -> Chunk:
    """Return the keys in the first row of each group."""
    return keys.rows_at(grouping.starts if grouping.order is None else grouping.order[grouping.starts])


def sent(groups: GroupsOfRuns, aggregates: AggregateSet) -> Chunk:
    """Return the keys of groups, followed by their states as Arrow columns."""
    return Chunk((*groups.keys.columns, *aggregates.to_arrow(groups.states)), groups.keys.rows)


def finished(groups: GroupsOfRuns, aggregates: AggregateSet) -> Chunk:
    """Return the keys of groups, followed by their aggregates."""
    return Chunk((*groups.keys.columns, *aggregates.finish(groups.states)), groups.keys.rows)


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


def group_adjacent_equal_keys(node: PlannerNode, keys: Sequence[int], aggregations: Sequence[Aggregation], within: Sequence[int] = ()) -> PlannerNode:
    """Return a node with one row per run of equal keys, or per group within each run."""
    return GroupByOfAdjacentEqualKeys(tuple(keys), tuple(aggregations), tuple(within)).make_planner_node(node)
