"""The running operator: for each row, aggregates of the rows of its group up to it.

A state has one entry per group. States advance batch by batch, and states of row ranges are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_equality_and_codes import comparable_column
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import ReduceCollected, ReduceColumns
from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation, grouped_columns, moved, used_aggregations
from sframe_spark.operators.project_zip_arrange import new_positions
from sframe_spark.operators.window.running_collecting_aggregates import (
    DistinctCountAggregate,
    FrequencyAggregate,
    ListAggregate,
    QuantileAggregate,
    RunCountAggregate,
)
from sframe_spark.operators.window.running_exact_sums_of_numbers_and_vectors import ExactAggregate, VectorAggregate
from sframe_spark.operators.window.segmented_scan import NOWHERE, Components, RowGroups, Scan, scan_of
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Operator, SequentialOperator
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import DATETIME, FLOAT, INT, ColumnType
from sframe_spark.values.python_to_arrow import encode_plain

if TYPE_CHECKING:
    from pyspark.sql import Column, WindowSpec


ArgumentColumns = Sequence[pa.Array]


class RunningAggregate(Protocol):
    """The running form of an aggregate. Only the aggregate itself reads the content of its states; states are never changed in place."""

    def empty(self, groups: int) -> Any:
        """Return the state of groups without rows."""

    def of_rows(self, columns: ArgumentColumns, groups: RowGroups) -> Any:
        """Return the state of the groups of a batch after only its rows."""

    def widened(self, state: Any, groups: int) -> Any:
        """Return the state with groups without rows added, so that it has ``groups`` groups."""

    def advance(self, state: Any, columns: ArgumentColumns, groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, Any]:
        """Return running values of a batch, row by row, and the state after it; ``slots``: positions of the batch's groups in the state."""

    def merged(self, first: Any, second: Any, slots: np.ndarray) -> Any:
        """Return the merged state of two; ``slots``: positions of the second state's groups in the first state, which has all groups."""


@attrs.frozen(eq=False)
class ScanState:
    """Components of a scan for each group, and the values that a component points at (one per group)."""

    components: Components
    pool: pa.Array | None = None


@attrs.frozen(eq=False)
class ScanAggregate:
    """A running aggregate whose state has a fixed size per group.

    Parameters
    ----------
    scan
        The aggregate as a scan.
    types
        Types of the argument columns.
    """

    scan: Scan
    types: tuple[ColumnType, ...]

    def empty(self, groups: int) -> ScanState:
        pooled = self.scan.pooled
        return ScanState(self.scan.identity(groups), None if pooled is None else pa.nulls(groups, self.types[pooled].physical))

    def advance(self, state: ScanState, columns: ArgumentColumns, groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, ScanState]:
        with np.errstate(all="ignore"):
            values, pool = self._scanned(columns, groups, state.pool)
            before = tuple(component[slots][groups.group_of_rows()] for component in state.components)
            total = self.scan.combine(before, values)
            result = self.scan.finish(tuple(groups.to_row_order(component) for component in total), pool)
        return result, compacted(replaced(state.components, slots, tuple(component[groups.stops - 1] for component in total)), pool)

    def of_rows(self, columns: ArgumentColumns, groups: RowGroups) -> ScanState:
        with np.errstate(all="ignore"):
            values, pool = self._scanned(columns, groups, self.empty(0).pool)
        return compacted(tuple(component[groups.stops - 1] for component in values), pool)

    def _scanned(self, columns: ArgumentColumns, groups: RowGroups, earlier: pa.Array | None) -> tuple[Components, pa.Array | None]:
        """Return the scan of a batch in group order, and the values that it may point at: the earlier values, followed by the values of the batch."""
        values, pool = self.scan.lift(columns, groups.rows), None
        if self.scan.pooled is not None and earlier is not None:
            pool = pa.concat_arrays([earlier, columns[self.scan.pooled]])
            values = (*values, np.arange(groups.rows) + len(earlier))
        return self.scan.scan(tuple(component[groups.order] for component in values), groups), pool

    def merged(self, first: ScanState, second: ScanState, slots: np.ndarray) -> ScanState:
        later, pool = second.components, None
        if first.pool is not None and second.pool is not None:
            pool = pa.concat_arrays([first.pool, second.pool])
            later = (*later[:-1], np.where(later[-1] == NOWHERE, NOWHERE, later[-1] + len(first.pool)))
        with np.errstate(all="ignore"):
            combined = self.scan.combine(tuple(component[slots] for component in first.components), later)
        return compacted(replaced(first.components, slots, combined), pool)

    def widened(self, state: ScanState, groups: int) -> ScanState:
        added = self.empty(groups - len(state.components[0]))
        pool = None if state.pool is None else pa.concat_arrays([state.pool, added.pool])
        return ScanState(tuple(np.concatenate([a, b]) for a, b in zip(state.components, added.components, strict=True)), pool)


def replaced(components: Components, slots: np.ndarray, values: Components) -> Components:
    """Return a copy of components with other values in some groups."""
    copies = tuple(component.copy() for component in components)
    for component, new in zip(copies, values, strict=True):
        component[slots] = new
    return copies


def compacted(components: Components, pool: pa.Array | None) -> ScanState:
    """Return a state with only those values that its components point at."""
    if pool is None:
        return ScanState(components)
    pointers = components[-1]
    nowhere = pointers == NOWHERE
    kept = pool.take(pa.array(np.where(nowhere, 0, pointers), mask=nowhere))
    return ScanState((*components[:-1], np.where(nowhere, NOWHERE, np.arange(len(pointers)))), kept)


@attrs.frozen(eq=False)
class PartsAggregate:
    """A running aggregate whose state is one partial result per group; None for a group without rows.

    Parameters
    ----------
    parts
        How the aggregate is computed from partial results.
    types
        Types of the argument columns.
    parameters
        Parameters of the aggregate.
    result
        Type of the result.
    """

    parts: Decomposition
    types: tuple[ColumnType, ...]
    parameters: tuple[Any, ...]
    result: ColumnType

    def empty(self, groups: int) -> list[Any]:
        """Return the state of groups without rows."""
        return [None] * groups

    def widened(self, state: list[Any], groups: int) -> list[Any]:
        return state + self.empty(groups - len(state))

    def advance(self, state: list[Any], columns: ArgumentColumns, groups: RowGroups, slots: np.ndarray) -> tuple[pa.Array, list[Any]]:
        """Return one value per row, from the partial results for the rows before it and for the row itself, and the state after the batch."""
        after = list(state)
        results: list[Any] = [None] * groups.rows
        for slot, start, stop in zip(slots.tolist(), groups.starts.tolist(), groups.stops.tolist(), strict=True):
            for row in groups.order[start:stop].tolist():
                after[slot] = self._combined(after[slot], self._lifted([column.slice(row, 1) for column in columns], 1))
                results[row] = self.parts.finish(after[slot], self.types, self.parameters)
        return encode_plain(results, self.result), after

    def of_rows(self, columns: ArgumentColumns, groups: RowGroups) -> list[Any]:
        """Return the partial result of each group, whose rows are reduced together."""
        rows_of_groups = [pa.array(groups.order[start:stop]) for start, stop in zip(groups.starts, groups.stops, strict=True)]
        return [self._lifted([column.take(rows) for column in columns], len(rows)) for rows in rows_of_groups]

    def merged(self, first: list[Any], second: list[Any], slots: np.ndarray) -> list[Any]:
        """Return the partial results of both states, combined group by group."""
        after = list(first)
        for slot, part in zip(slots.tolist(), second, strict=True):
            after[slot] = self._combined(after[slot], part)
        return after

    def _lifted(self, columns: ArgumentColumns, rows: int) -> Any:
        return self.parts.lift(columns, rows, self.types, self.parameters)

    def _combined(self, first: Any, second: Any) -> Any:
        if first is None or second is None:
            return second if first is None else first
        return self.parts.combine(first, second, self.types)


def keeping_all_rows(reduce: ReduceColumns) -> Decomposition:
    """Return partial results that are all rows. They work for any aggregate, in time quadratic in the rows of a group."""

    def joined_columns(first: ArgumentColumns, second: ArgumentColumns, types: Sequence[ColumnType]) -> tuple[pa.Array, ...]:
        return tuple(pa.concat_arrays([a, b]) for a, b in zip(first, second, strict=True))

    return Decomposition(lambda columns, rows, types, parameters: tuple(columns), joined_columns, reduce)


RUNNING_CLASSES_OF_VALUES: dict[str, Callable[[ColumnType], RunningAggregate]] = {
    "count_distinct": DistinctCountAggregate,
    "freq_count": FrequencyAggregate,
    "count_runs": RunCountAggregate,
}


def running_aggregate(aggregation: Aggregation, schema: Schema) -> RunningAggregate:
    """Return the running form of an aggregate; for plug-in aggregates that cannot be computed from partial results, one that keeps all rows.

    Raises
    ------
    UnsupportedOperationError
        If the aggregate does not take its columns' types, or can only be computed by Spark.
    """
    function, parameters = aggregation.function, aggregation.parameters
    types = tuple(schema[position] for position in aggregation.positions)
    result = aggregation.infer(schema)
    if (scan := scan_of(function, types)) is not None:
        return ScanAggregate(scan, types)
    if function in ("sum", "mean", "var", "std"):
        return ExactAggregate(function) if types[0].is_numeric else VectorAggregate(function)
    if function in ("concat", "distinct"):
        return ListAggregate(function, types, result)
    if function == "quantile":
        return QuantileAggregate(parameters)
    if function in RUNNING_CLASSES_OF_VALUES:
        return RUNNING_CLASSES_OF_VALUES[function](types[0])
    implementation = aggregation.implementation()
    if implementation.decomposition is not None and implementation.decomposes(types):
        return PartsAggregate(implementation.decomposition, types, parameters, result)
    if implementation.reduce is None:
        raise UnsupportedOperationError(f"the aggregate {function!r} has no running form: it is computed on Spark only")
    return PartsAggregate(keeping_all_rows(implementation.reduce), types, parameters, result)


@attrs.frozen(eq=False)
class RunningState:
    """The state of the running operator after some rows.

    Parameters
    ----------
    schema
        Types of the columns of the input.
    slots
        By its token, the position of each group in the states.
    parts
        The state of each aggregate, with one entry per group.
    """

    schema: Schema
    slots: dict[Hashable, int]
    parts: tuple[Any, ...]


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
            If an aggregate does not take its columns' types, or can only be computed by Spark.
        """
        schema = inputs[0].schema
        return tuple(a.infer(schema) for a in self.aggregations if running_aggregate(a, schema) is not None)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: without keys counts ascend strictly, maxima ascend (NaN stays), and minima of types without NaN descend."""
        if self.keys:
            return RelationProperties()
        order, schema = inputs[0].order, facts[0].schema
        for added, aggregation in enumerate(self.aggregations, len(schema)):
            argument = aggregation.positions[0] if aggregation.positions else 0
            if aggregation.function == "count":
                order = derive.row_number(order, added)
            elif aggregation.function == "max" and schema[argument] in (INT, FLOAT, DATETIME):
                order = derive.cumulative_max(order, argument, added)
            elif aggregation.function == "min" and schema[argument] in (INT, DATETIME):
                order = derive.cumulative_min(order, argument, added)
        return RelationProperties(order.project({position: len(schema) + position for position in range(len(self.aggregations))}))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [grouped_columns(self.keys, used_aggregations(self.aggregations, 0, outputs))]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions = new_positions(kept[0])
        aggregations = moved(used_aggregations(self.aggregations, 0, outputs), kept[0])
        return Running(tuple(positions[key] for key in self.keys), aggregations), outputs

    def initial_state(self, facts: Sequence[Facts]) -> RunningState:
        schema = facts[0].schema
        return RunningState(schema, {}, tuple(running_aggregate(a, schema).empty(0) for a in self.aggregations))

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> RunningState:
        if not inputs[0].rows:
            return self.initial_state(facts)
        schema = facts[0].schema
        groups = self._groups(inputs[0], schema)
        parts = tuple(running_aggregate(a, schema).of_rows(self._arguments(a, inputs[0]), groups) for a in self.aggregations)
        return RunningState(schema, {token: slot for slot, token in enumerate(groups.tokens)}, parts)

    def combine(self, first: RunningState, second: RunningState) -> RunningState:
        slots, later_slots = placed(first.slots, second.slots)
        aggregates = [running_aggregate(a, first.schema) for a in self.aggregations]
        parts = [
            aggregate.merged(aggregate.widened(part, len(slots)), later, later_slots)
            for aggregate, part, later in zip(aggregates, first.parts, second.parts, strict=True)
        ]
        return RunningState(first.schema, slots, tuple(parts))

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: RunningState) -> tuple[Chunk, RunningState]:
        if not inputs[0].rows:
            return Chunk.empty(self.infer_type(facts)), state
        groups = self._groups(inputs[0], state.schema)
        slots, batch_slots = placed(state.slots, groups.tokens)
        columns, parts = [], []
        for aggregation, part in zip(self.aggregations, state.parts, strict=True):
            aggregate = running_aggregate(aggregation, state.schema)
            column, after = aggregate.advance(aggregate.widened(part, len(slots)), self._arguments(aggregation, inputs[0]), groups, batch_slots)
            columns.append(column)
            parts.append(after)
        return Chunk(tuple(columns), groups.rows), RunningState(state.schema, slots, tuple(parts))

    def _arguments(self, aggregation: Aggregation, chunk: Chunk) -> list[pa.Array]:
        return [chunk.columns[position] for position in aggregation.positions]

    def _groups(self, chunk: Chunk, schema: Schema) -> RowGroups:
        return RowGroups.of([chunk.columns[key] for key in self.keys], [schema[key] for key in self.keys], chunk.rows)

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


def placed(slots: dict[Hashable, int], tokens: Collection[Hashable]) -> tuple[dict[Hashable, int], np.ndarray]:
    """Return the slots of all groups, and the slots of ``tokens``; groups that have no slot get one, in a copy of ``slots``."""
    result = list(map(slots.get, tokens))
    if None in result:
        slots = dict(slots)
        result = [slots.setdefault(token, len(slots)) if position is None else position for token, position in zip(tokens, result, strict=True)]
    return slots, np.array(result, dtype=np.int64)


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
    assert implementation.reduce is not None
    types = [schema[position] for position in aggregation.positions]
    return ReduceCollected(implementation.infer, implementation.reduce)(column, types, aggregation.parameters)


def running(node: PlannerNode, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> PlannerNode:
    """Return a node with running aggregates of a node's rows."""
    return Running(tuple(keys), tuple(aggregations)).make_planner_node(node)
