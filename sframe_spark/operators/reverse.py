"""Rows backwards: every range of output rows is a range of input rows, so nothing is exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.lowering import KeyColumn, LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.registry import register


@register
@attrs.frozen
class Reverse(Operator):
    """All rows, the last one first."""

    name: ClassVar[str] = "reverse"
    reorders: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    chooses_rows: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    spark_inlines: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The input's types."""
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """The input's length."""
        return inputs[0].length

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Orders are turned round; what holds among rows in any order stays."""
        return inputs[0].reordered(inputs[0].order.reverse())

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Those read."""
        return [outputs]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """The same rows of fewer columns."""
        return self, kept[0]

    def requires(self, slot: int) -> Need:
        """Rows by number."""
        return Need.DENSE

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """As many rows, counted from the end."""
        rows = facts[slot].length.rows
        assert rows is not None, "rows addressed by number are counted"
        return (rows - stop, rows - start)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """The rows of a run backwards."""
        chunk = inputs[0]
        places = pa.array(np.arange(chunk.rows - 1, -1, -1))
        return Chunk(tuple(column.take(places) for column in chunk.columns), chunk.rows)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """The same row key, read the other way."""
        relation = inputs[0]
        turned = tuple(KeyColumn(column.name, not column.ascending) for column in relation.key)
        hidden = [column.name for column in turned]
        return attrs.evolve(relation, df=relation.df.select(*relation.columns, *hidden), key=turned, position=None)

    def describe(self) -> str:
        """Nothing to say."""
        return ""


def reverse(node: PlannerNode) -> PlannerNode:
    """Rows backwards.

    Examples
    --------
    >>> from sframe_spark.plugin import SArray, column_of, node_of
    >>> list(column_of(reverse(node_of(SArray([1, 2, 3])))))
    [3, 2, 1]
    """
    return Reverse().make_planner_node(node)
