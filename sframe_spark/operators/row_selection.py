"""The operators that select rows: filter by a mask, slice by index, and reverse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np

from sframe_spark.errors import LengthMismatchError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.project_zip_arrange import Zip, side_by_side
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.operator_declarations import INLINED, RowChoice, RowSlice, SparkCost
from sframe_spark.planner.operator_parameters import at_least
from sframe_spark.planner.registry import register

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.operators.program_and_filter_properties import filtered_properties
    from sframe_spark.order.properties import RelationProperties
    from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation

# The filter operators, which keep the rows whose mask is neither zero nor missing.


@register
@attrs.frozen
class FilterRows(Operator):
    """Rows whose last column, the mask, is neither zero nor missing, without the mask."""

    name: ClassVar[str] = "filter_rows"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    row_choice: ClassVar[RowChoice | None] = RowChoice.FILTER
    streams: ClassVar[bool] = True
    spark_cost: ClassVar[SparkCost] = INLINED

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of all columns except the mask."""
        return inputs[0].schema[:-1]

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return the input's length as an upper bound."""
        return Length.unknown(at_most=inputs[0].length.at_most)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return the properties of the input, and what a true mask implies."""
        return filtered_properties(inputs[0], facts[0].width)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the required columns and the mask."""
        return [[*outputs, inputs[0].width - 1]]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        return self, kept[0][:-1]

    def requires(self, slot: int) -> Need:
        """Return ``INHERITED``: the order of the input matters only if the order of the output is observed."""
        return Need.INHERITED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return ``where`` on the mask column; the result has no row numbers."""
        relation = inputs[0]
        mask = relation.df[relation.columns[-1]]
        df = relation.df.where(mask != 0).select(*relation.columns[:-1], *[column.name for column in relation.key])
        return Relation(df, relation.schema[:-1], relation.key, not_missing=relation.not_missing - {len(relation.schema) - 1})

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        chunk = inputs[0]
        mask = pc.fill_null(pc.not_equal(chunk.columns[-1], 0), False)
        return Chunk(chunk.columns[:-1], chunk.rows).take(mask)


@register
@attrs.frozen
class Filter(Operator):
    """Rows of the first input where the second, an aligned int column, is neither zero nor missing."""

    name: ClassVar[str] = "filter"
    arity: ClassVar[int | None] = 2
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    row_choice: ClassVar[RowChoice | None] = RowChoice.FILTER
    streams: ClassVar[bool] = True

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the first input.

        Raises
        ------
        LengthMismatchError
            If the lengths are known and differ.
        """
        if inputs[0].length.provably_equals(inputs[1].length) is False:
            raise LengthMismatchError(f"a mask of {inputs[1].length} rows cannot filter {inputs[0].length} rows: make the lengths equal")
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return the input's length as an upper bound."""
        return Length.unknown(at_most=inputs[0].length.at_most)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return the properties of the first input, and what a true mask implies."""
        rows, schema = side_by_side(inputs, facts)
        return filtered_properties(rows, len(schema))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the required columns of the first input, and the mask."""
        return [outputs, [0]]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        return self, kept[0]

    def requires(self, slot: int) -> Need:
        return Need.ALIGNED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        return FilterRows().plan_to_operator([Zip().plan_to_operator(inputs, context)], context)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        if inputs[0].rows != inputs[1].rows:
            raise LengthMismatchError(f"a mask of {inputs[1].rows} rows cannot filter {inputs[0].rows} rows: make the lengths equal")
        return FilterRows().kernel([Chunk((*inputs[0].columns, inputs[1].columns[0]), inputs[0].rows)], facts)


def filter_by_mask(node: PlannerNode, mask: PlannerNode) -> PlannerNode:
    """Return a node with the rows of ``node`` where the int column ``mask`` is neither zero nor missing.

    Examples
    --------
    >>> from sframe_spark.plugin import SArray, column_of, node_of
    >>> list(column_of(filter_by_mask(node_of(SArray(["a", "b", "c"])), node_of(SArray([1, 0, 1])))))
    ['a', 'c']
    """
    return Filter().make_planner_node(node, mask)


# The slice operator, which selects rows by index.


@attrs.frozen
class RowsByIndex(Operator):
    """Base class of operators that return some rows unchanged, chosen by index."""

    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    row_choice: ClassVar[RowChoice | None] = RowChoice.OTHER
    streams: ClassVar[bool] = True

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return inputs[0].schema

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [outputs]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        return self, kept[0]

    def requires(self, slot: int) -> Need:
        return Need.DENSE


@register
@attrs.frozen
class SliceRows(RowsByIndex):
    """Rows ``start, start + step, ...`` before ``stop`` (None: up to the end). Indices are not negative, and ``step`` is at least one."""

    name: ClassVar[str] = "slice"
    takes_wider: ClassVar[bool] = True
    start: int = attrs.field(validator=at_least(0))
    stop: int | None = attrs.field(validator=at_least(0))
    step: int = attrs.field(default=1, validator=at_least(1))

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return the exact length if the input's length is known, otherwise an upper bound."""
        ends = [end for end in (self.stop, inputs[0].length.at_most) if end is not None]
        rows = len(range(self.start, min(ends), self.step)) if ends else None
        return Length.unknown(at_most=rows) if rows is None or inputs[0].length.rows is None else Length.exactly(rows)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return the properties of the input, which hold for any subset of its rows."""
        return inputs[0]

    @property
    def row_range(self) -> RowSlice:
        return RowSlice(self.start, self.stop, self.step)

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """Return the range of input rows that contains output rows ``start`` to ``stop``."""
        if stop <= start:
            return (self.start, self.start)
        return (self.start + start * self.step, self.start + (stop - 1) * self.step + 1)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a filter by row number; or a limit for first rows (after a sort if there is a key), and for any range if no order is observed."""
        from pyspark.sql import functions as F

        relation = inputs[0]
        if relation.position is None and self.start == 0 and self.step == 1 and self.stop is not None:
            ordered = relation.df.orderBy(*relation.order()) if relation.key else relation.df
            return attrs.evolve(relation, df=ordered.limit(self.stop))
        if relation.position is None and not relation.key and not context.observed and self.step == 1 and self.stop is not None:
            return attrs.evolve(relation, df=relation.df.limit(self.stop).offset(self.start))
        numbered = relation.with_position()
        number = F.col(str(numbered.position))
        condition = number >= self.start
        if self.stop is not None:
            condition = condition & (number < self.stop)
        if self.step != 1:
            condition = condition & ((number - self.start) % self.step == 0)
        dense = F.floor((number - self.start) / self.step).cast("bigint")
        key = tuple(column for column in numbered.key if column.name != numbered.position)
        df = numbered.df.where(condition).select(*numbered.columns, *[column.name for column in key], dense.alias("p"))
        return Relation(df, numbered.schema, key or (KeyColumn("p"),), "p", relation.not_missing)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Return the slice of a chunk with all input rows."""
        return self.take_steps(inputs[0].slice(self.start, inputs[0].rows if self.stop is None else self.stop))

    def take_steps(self, chunk: Chunk) -> Chunk:
        """Return every ``step``-th row of a chunk, beginning with the first."""
        return chunk if self.step == 1 else chunk.rows_at(np.arange(0, chunk.rows, self.step))

    def run_interval(self, inputs: Sequence[Chunk], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """Return output rows from the input interval that was requested for them."""
        return self.take_steps(inputs[0])

    def describe(self) -> str:
        end = "" if self.stop is None else self.stop
        return f"{self.start}:{end}" + ("" if self.step == 1 else f":{self.step}")


def slice_rows(node: PlannerNode, start: int, stop: int | None, step: int = 1) -> PlannerNode:
    """Return a node with some rows of a node, selected by index.

    Examples
    --------
    >>> from sframe_spark.plugin import SArray, column_of, node_of
    >>> list(column_of(slice_rows(node_of(SArray([1, 2, 3, 4])), 1, None, 2)))
    [2, 4]
    """
    return SliceRows(start, stop, step).make_planner_node(node)


# Every range of reversed rows is a range of input rows, so rows need not be shuffled.


@register
@attrs.frozen
class Reverse(RowsByIndex):
    """All rows, from the last to the first."""

    name: ClassVar[str] = "reverse"
    row_choice: ClassVar[RowChoice | None] = RowChoice.REORDER
    spark_cost: ClassVar[SparkCost] = INLINED

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return inputs[0].length

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: all orders are reversed; properties that do not depend on order stay."""
        return inputs[0].reordered(inputs[0].order.reverse())

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """Return the range of rows at the same distance from the end."""
        rows = facts[slot].length.rows
        assert rows is not None, "rows addressed by number are counted"
        return (rows - stop, rows - start)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Return the rows in reverse order."""
        return inputs[0].rows_at(np.arange(inputs[0].rows - 1, -1, -1))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the relation with the direction of each key column reversed."""
        relation = inputs[0]
        key = tuple(KeyColumn(column.name, not column.ascending) for column in relation.key)
        return attrs.evolve(relation, df=relation.df.select(*relation.columns, *[column.name for column in key]), key=key, position=None)


def reverse(node: PlannerNode) -> PlannerNode:
    """Return a node with the rows in reverse order.

    Examples
    --------
    >>> from sframe_spark.plugin import SArray, column_of, node_of
    >>> list(column_of(reverse(node_of(SArray([1, 2, 3])))))
    [3, 2, 1]
    """
    return Reverse().make_planner_node(node)
