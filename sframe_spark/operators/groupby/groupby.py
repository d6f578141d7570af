"""The group-by operator, and the function that makes a node of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import ClassVar

import attrs
import pyarrow as pa

import sframe_spark.expressions.aggregates  # noqa: F401 - importing fills the table
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.project_zip_arrange import new_positions
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import DecomposableOperator, Need, Operator, Origin
from sframe_spark.planner.operator_declarations import NO_WORK, QueryWork, SparkCost
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.types import STR, ColumnType

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.compute.sorting_and_searching import mostly_differ
    from sframe_spark.expressions.aggregates.aggregate_function import QueryProperties
    from sframe_spark.expressions.aggregates.state_columns import Growth
    from sframe_spark.operators.groupby.aggregation_and_spark_lowering import (
        Aggregation,
        aggregate_in_spark,
        counts_distinct,
        grouped_columns,
        grouped_in_spark,
        moved,
        used_aggregations,
        with_order_column,
    )
    from sframe_spark.operators.groupby.in_memory_groupby import GroupingByKeys, group_rows
    from sframe_spark.operators.groupby.partial_groups import PartialGroups
    from sframe_spark.operators.sort_top_rows_and_assumed_order import order_column
    from sframe_spark.order import derive
    from sframe_spark.order.properties import RelationProperties
    from sframe_spark.planner.operator_capabilities import RangeSplit, WholeKernel
    from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation

# The kind of column of a state in an exchange, which is of no type of columns of frames.
STATE = "state"
# If there are more groups, the groups of Spark's tasks are merged by a shuffle instead of in this process.
MAX_GROUPS = 32_768


@register
@attrs.frozen
class GroupBy(DecomposableOperator):
    """One row per distinct value of the key columns, ascending by key (missing first), with the keys and then the aggregates."""

    name: ClassVar[str] = "group_by"
    deterministic: ClassVar[bool] = True
    gathers: ClassVar[bool] = True
    keys: tuple[int, ...] = attrs.field(validator=column_positions)
    aggregations: tuple[Aggregation, ...] = ()

    @property
    def spark_cost(self) -> SparkCost:
        """The cost of a shuffle of groups by key, before and after which Spark may sort."""
        return SparkCost(QueryWork(1, 2) + (QueryWork(1, 2) if counts_distinct(self.aggregations) else NO_WORK))

    @property
    def whole_kernel(self) -> WholeKernel:
        """The groups of all rows. They ascend by the first key, so they can be computed for one range of its values after the other."""
        return WholeKernel(RangeSplit(self.keys[0]), states=GroupsAsRows(self)) if self.keys else WholeKernel()

    @property
    def group_keys(self) -> Sequence[int]:
        return self.keys

    @property
    def filtered_slots(self) -> Sequence[int]:
        """The only input: a filter by keys keeps or drops whole groups."""
        return (0,)

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        return [[(0, position)] for position in self.keys]

    def useful_orders(self, inputs: Sequence[Facts]) -> Sequence[tuple[int, Sequence[int]]]:
        """Return the order of each key, and of each column whose distinct values are counted."""
        distinct = [item.positions for item in self.aggregations if item.implementation().of_runs is not None]
        return [(0, [column]) for column in (*self.keys, *chain.from_iterable(distinct))]

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Return the aggregates that call no Python function."""
        aggregates = self.grouping(inputs).aggregates.aggregates
        return [len(self.keys) + position for position, aggregate in enumerate(aggregates) if not aggregate.calls_python]

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        schema = inputs[0].schema
        return tuple(schema[position] for position in self.keys) + tuple(a.infer(schema) for a in self.aggregations)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return the input's length as an upper bound."""
        return Length.unknown(at_most=inputs[0].length.at_most)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: keys are unique and ascend. (An instant that occurs at two offsets has two groups, whose keys tie.)"""
        zoned = any(facts[0].schema[key].is_zoned for key in self.keys)
        groups = derive.unordered(inputs[0].order) if zoned else derive.group_any_order(inputs[0].order, self.keys)
        groups = groups.project(dict(enumerate(self.keys)))
        order = derive.sort(groups, [(position, "asc") for position in range(len(self.keys))], stable=True)
        bounds = {position: inputs[0].bounds[key] for position, key in enumerate(self.keys) if key in inputs[0].bounds}
        return RelationProperties(order, bounds=bounds)

    @property
    def order_sensitive(self) -> bool:
        """Whether an aggregate depends on the row order."""
        return any(aggregation.implementation().order_sensitive for aggregation in self.aggregations)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [grouped_columns(self.keys, used_aggregations(self.aggregations, len(self.keys), outputs))]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions, width = new_positions(kept[0]), len(self.keys)
        aggregations = moved(used_aggregations(self.aggregations, width, outputs), kept[0])
        return GroupBy(tuple(positions[key] for key in self.keys), aggregations), [*range(width), *(o for o in outputs if o >= width)]

    def requires(self, slot: int) -> Need:
        """Return ``ORDERED`` if an aggregate depends on the row order, otherwise ``ANY``."""
        return Need.ORDERED if self.order_sensitive else Need.ANY

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return Spark's hash aggregation; the key columns are the row key of the result."""
        from pyspark.sql import functions as F

        relation = with_order_column(inputs[0]) if self.order_sensitive else inputs[0]
        aggregates = [aggregate_in_spark(a, relation, QueryProperties(context.summed)) for a in self.aggregations]
        width = len(self.keys)
        names = [f"c{position}" for position in self.keys]
        if aggregates:
            # Without keys there is one group, or none if there are no rows. Spark returns none only if it groups by a key, here a constant.
            df, finished = grouped_in_spark(relation.df, names or [F.lit(True)], names, aggregates)
        else:
            df, finished = relation.df.select(*names).distinct(), []
        schema = relation.schema
        result_schema = tuple(schema[p] for p in self.keys) + tuple(a.infer(schema) for a in self.aggregations)
        selected = [F.col(name).alias(f"c{i}") for i, name in enumerate(names)]
        selected += [column.alias(f"c{width + i}") for i, column in enumerate(finished)]
        keys = [order_column(F.col(name), schema[position]) for position, name in zip(self.keys, names, strict=True)]
        # One instant at several offsets gives several groups, which are ordered by offset.
        keys += [F.col(name)["offset"] for position, name in zip(self.keys, names, strict=True) if schema[position].is_zoned]
        selected += [part.alias(f"k{i}") for i, part in enumerate(keys)]
        not_missing = frozenset(output for output, position in enumerate(self.keys) if position in relation.not_missing)
        key = tuple(KeyColumn(f"k{i}") for i in range(len(keys)))
        return Relation(df.select(*selected), result_schema, key, not_missing=not_missing)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Return the groups of all rows, computed in memory."""
        return group_rows(inputs[0], facts[0].schema, self.keys, self.aggregations)

    def decomposes(self, facts: Sequence[Facts]) -> bool:
        """Return whether no aggregate needs all values of a group together."""
        return all(aggregate.growth < Growth.ROWS for aggregate in self.grouping(facts).aggregates.aggregates)

    def coded_columns(self, facts: Sequence[Facts]) -> Sequence[int]:
        """Return the string keys that no aggregate reads."""
        read = {position for aggregation in self.aggregations for position in aggregation.positions}
        return [key for key in self.keys if facts[0].schema[key] == STR and key not in read]

    def part_of(self, rows: Chunk, facts: Sequence[Facts]) -> PartialGroups:
        return self.grouping(facts).groups(rows)

    def makes_large_part(self, rows: Chunk) -> bool:
        """Return whether a key of some rows shows that there are too many groups."""
        return any(have_many_values(rows.columns[key]) for key in self.keys)

    def combined(self, first: PartialGroups, second: PartialGroups, facts: Sequence[Facts]) -> PartialGroups:
        """Return the groups of both parts, with groups of equal keys merged."""
        return self.combined_all([first, second], facts)

    def combined_all(self, parts: Sequence[PartialGroups], facts: Sequence[Facts]) -> PartialGroups:
        """Return the groups of all parts, with groups of equal keys merged; keys are looked up once for all parts."""
        return self.grouping(facts).merged(parts)

    def bytes_of_part(self, part: PartialGroups) -> float:
        """Return the bytes of keys and partial states; infinite if there are too many groups."""
        return math.inf if part.keys.rows > MAX_GROUPS else part.nbytes

    def rows_from(self, part: PartialGroups, facts: Sequence[Facts]) -> Chunk:
        return self.grouping(facts).finished(part)

    def grouping(self, facts: Sequence[Facts]) -> GroupingByKeys:
        """Return how rows are grouped and aggregated, given facts about the input."""
        return GroupingByKeys.of(facts[0].schema, self.keys, self.aggregations)

    def describe(self) -> str:
        keys = ", ".join(f"c{position}" for position in self.keys)
        return f"[{keys}]; " + ", ".join(a.describe() for a in self.aggregations)


@attrs.frozen
class GroupsAsRows:
    """Partial groups as rows that are exchanged: keys and states.

    Parameters
    ----------
    operator
        The group-by.
    """

    operator: GroupBy

    def schema(self, facts: Sequence[Facts]) -> Schema | None:
        """Return the types of keys and states; None if states grow with the rows of a group, or a Python function is called for each group."""
        grouping = self.operator.grouping(facts)
        if any(aggregate.growth > Growth.FIXED or aggregate.calls_python for aggregate in grouping.aggregates.aggregates):
            return None
        states = grouping.groups(Chunk.empty(grouping.schema)).to_rows().columns[len(grouping.keys) :]
        return (*grouping.key_types, *(ColumnType(STATE, state.type) for state in states))

    def of_rows(self, rows: Chunk, facts: Sequence[Facts]) -> Chunk:
        """Return the groups of some rows."""
        return self.operator.grouping(facts).groups(rows).to_rows()

    def result(self, states: Chunk, facts: Sequence[Facts]) -> Chunk:
        """Return the groups of all rows, with their aggregates."""
        grouping = self.operator.grouping(facts)
        return grouping.finished(grouping.regrouped(PartialGroups.of_rows(states, len(grouping.keys))))


def have_many_values(keys: pa.Array) -> bool:
    """Return whether a column of keys is long, and its first values are numbers, times or strings of which more than ``MAX_GROUPS`` differ.

    Examples
    --------
    >>> have_many_values(pa.array(range(100_000))), have_many_values(pa.array([1, 2] * 50_000)), have_many_values(pa.array(range(1_000)))
    (True, False, False)
    """
    first, is_plain = keys.slice(0, 2 * MAX_GROUPS), pa.types.is_primitive(keys.type) or pa.types.is_string(keys.type)
    return is_plain and len(keys) > len(first) and mostly_differ(first) and pc.count_distinct(first).as_py() > MAX_GROUPS


def group_by(node: PlannerNode, keys: Sequence[int], aggregations: Sequence[Aggregation]) -> PlannerNode:
    """Return a node with one row per distinct key.

    Examples
    --------
    >>> from sframe_spark.plugin import Aggregation, SFrame, frame_of, node_of
    >>> node = node_of(SFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]}))
    >>> frame_of(group_by(node, [0], [Aggregation("sum", (1,))]), ["k", "total"]).sort("k")[0]
    {'k': 'a', 'total': 4}
    """
    return GroupBy(tuple(keys), tuple(aggregations)).make_planner_node(node)
