"""The append operator: the rows of all inputs, one input after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain, pairwise
from typing import Any, ClassVar

import attrs

from sframe_spark.errors import LengthMismatchError
from sframe_spark.order import OrderingItem, OrderingProperties
from sframe_spark.order.properties import RelationProperties, ValueBounds
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema, sum_of_bounds
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.operator_declarations import INLINED, RowChoice, SparkCost
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation

Ordering = tuple[OrderingItem, ...]


def appended_properties(inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
    """Return the properties of appended rows, as far as value bounds prove them across inputs: orderings, constants and keys.

    Functional dependencies of the inputs do not hold across inputs. A key of all inputs stays a key if it has a column with disjoint ranges.
    """
    parts = [rows for rows, item in zip(inputs, facts, strict=True) if item.length.rows != 0]
    if len(parts) < 2:
        return parts[0] if parts else inputs[0]
    bounds = {
        column: (min(part.bounds[column][0] for part in parts), max(part.bounds[column][1] for part in parts))
        for column in parts[0].bounds
        if all(column in part.bounds for part in parts)
    }
    constants = [column for column, (low, high) in bounds.items() if low == high]
    not_null = list(bounds)
    order = OrderingProperties(
        constants=constants,
        orderings=common_orderings(parts, bounds),
        keys=[key for key in parts[0].order.keys if key_of_all(key, parts, bounds)],
        not_null=not_null,
    )
    return RelationProperties(order, {}, bounds)


def common_orderings(parts: Sequence[RelationProperties], bounds: dict[int, ValueBounds]) -> list[list[tuple[int, str]]]:
    """Return orderings of all inputs that also hold across inputs: the ranges of values must follow each other in the direction of the ordering,
    and be disjoint if it has further columns."""
    result = []
    for column in bounds:
        for direction in ("asc", "desc"):
            ranges = [part.bounds[column] for part in parts]
            steps = list(pairwise(ranges if direction == "asc" else ranges[::-1]))
            if not all(first[1] <= second[0] for first, second in steps):
                continue
            disjoint = all(first[1] < second[0] for first, second in steps)
            alike = [tuple(items) for part in parts for items in part.order.orderings if (items[0].column, items[0].direction) == (column, direction)]
            candidates = set(alike) if disjoint else set()
            for items in ((OrderingItem(column, direction),), *sorted(candidates, key=repr)):
                if all(isinstance(item.column, int) for item in items) and all(part.order.satisfies(items) for part in parts):
                    result.append([tuple(item) for item in items])
    return result  # type: ignore[return-value]


def key_of_all(key: tuple[object, ...], parts: Sequence[RelationProperties], bounds: dict[int, ValueBounds]) -> bool:
    """Return whether a key of the first input is a key of all inputs, and has a column whose ranges in the inputs are disjoint."""
    if not all(part.order.has_key(key) for part in parts):
        return False
    for column in key:
        if column in bounds:
            ranges = sorted(part.bounds[column] for part in parts)
            if all(first[1] < second[0] for first, second in pairwise(ranges)):
                return True
    return False


@register
@attrs.frozen
class Append(Operator):
    """All rows of the first input, then all rows of the second, and so on; all inputs have the same column types."""

    name: ClassVar[str] = "append"
    arity: ClassVar[int | None] = None
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    row_choice: ClassVar[RowChoice | None] = RowChoice.UNITE
    streams: ClassVar[bool] = True
    spark_cost: ClassVar[SparkCost] = INLINED._replace(forgets_one_partition=True)
    keeps_dense: ClassVar[bool] = True

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the column types, which all inputs share.

        Raises
        ------
        RuntimeError
            If the types differ.
        """
        for facts in inputs[1:]:
            if facts.schema != inputs[0].schema:
                raise LengthMismatchError("append() takes inputs of equal column types")
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        rows = sum_of_bounds([facts.length for facts in inputs])
        return Length.unknown(at_most=rows) if rows is None or any(facts.length.rows is None for facts in inputs) else Length.exactly(rows)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return what holds in every input and, by value bounds, across inputs."""
        return appended_properties(inputs, facts)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [outputs] * len(inputs)

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        return self, kept[0]

    def requires(self, slot: int) -> Need:
        """Return ``INHERITED``: the order of the input matters only if the order of the output is observed."""
        return Need.INHERITED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a union with the number of the input as the first key column, followed by the input's own key."""
        return append_relations(inputs)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        return concatenate(list(inputs), facts[0].schema)

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """Return the part of an input that lies in the interval of output rows."""
        before = sum(item.length.known_rows for item in facts[:slot])
        rows = facts[slot].length.known_rows
        first = min(max(start - before, 0), rows)
        return (first, max(first, min(stop - before, rows)))


def append_relations(inputs: Sequence[Relation]) -> Relation:
    """Return a union of relations in order.

    Keys of the same types share columns; otherwise each input gets its own key columns, null for other inputs.
    """
    from pyspark.sql import DataFrame, functions as F

    columns_of = [[(column, relation.df.schema[column.name].dataType) for column in relation.key] for relation in inputs]
    shapes = [[(column.ascending, str(data_type)) for column, data_type in columns] for columns in columns_of]
    are_alike = all(shape == shapes[0] for shape in shapes)
    keys = columns_of[0] if are_alike else list(chain.from_iterable(columns_of))
    frames, start = list[Any](), 0
    for branch, (relation, columns) in enumerate(zip(inputs, columns_of, strict=True)):
        names = {start + number: column.name for number, (column, _) in enumerate(columns)}
        hidden = [F.col(names[number]) if number in names else F.lit(None).cast(data_type) for number, (_, data_type) in enumerate(keys)]
        named = [column.alias(f"k{number}") for number, column in enumerate([F.lit(branch), *hidden])]
        frames.append(relation.df.select(*relation.columns, *named))
        start += 0 if are_alike else len(columns)
    key = (KeyColumn("k0"), *(KeyColumn(f"k{number}", column.ascending) for number, (column, _) in enumerate(keys, 1)))
    not_missing = frozenset.intersection(*[relation.not_missing for relation in inputs])
    return Relation(reduce(DataFrame.unionAll, frames), inputs[0].schema, key, not_missing=not_missing)


def append(*nodes: PlannerNode) -> PlannerNode:
    """Return a node with the rows of all nodes, one node after another.

    Examples
    --------
    >>> from sframe_spark.plugin import SArray, column_of, node_of
    >>> list(column_of(append(node_of(SArray([1, 2])), node_of(SArray([3])))))
    [1, 2, 3]
    """
    return nodes[0] if len(nodes) == 1 else Append().make_planner_node(*nodes)
