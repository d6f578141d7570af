"""Rows of which somebody says that they are in an order: the planner believes it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import ClassVar

import attrs

from sframe_spark.operators.project import places_of
from sframe_spark.operators.sort import describe_order, moved_order
from sframe_spark.operators.sources.memory import MemorySource
from sframe_spark.operators.sources.source import SegmentSource
from sframe_spark.order.properties import RelationProperties, requirement
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Schema, require_columns
from sframe_spark.planner.lowering import LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.registry import register


@register
@attrs.frozen
class AssumeOrder(Operator):
    """Rows unchanged, with the promise that they are in an order; a false promise makes later results wrong.

    Parameters
    ----------
    by
        Pairs of column position and whether it ascends.
    """

    name: ClassVar[str] = "assume_order"
    row_wise: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    chooses_rows: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    spark_inlines: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    takes_wider: ClassVar[bool] = True
    by: tuple[tuple[int, bool], ...]

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The input's types.

        Raises
        ------
        SchemaError
            If there is no such column.
        """
        require_columns(inputs[0].schema, (position for position, _ in self.by))
        return inputs[0].schema

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """The input's, and the order promised."""
        return inputs[0].reordered(inputs[0].order.add(orderings=[requirement(self.by)]))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Those read: a promise keeps no column that nobody reads."""
        return [outputs]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """The promise as far as its columns are there."""
        places = places_of(kept[0])
        return AssumeOrder(moved_order(tuple(takewhile(lambda item: item[0] in places, self.by)), kept[0])), kept[0]

    def useful_orders(self, inputs: Sequence[Facts]) -> Sequence[tuple[int, Sequence[int]]]:
        """The order assumed."""
        return [(0, [position for position, _ in self.by])]

    def requires(self, slot: int) -> Need:
        """Nothing: rows pass through."""
        return Need.INHERITED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """The input itself."""
        return inputs[0]

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """The rows themselves."""
        return inputs[0]

    def describe(self) -> str:
        """Columns and directions."""
        return describe_order(self.by)


def assume_order(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> PlannerNode:
    """The node's rows, of which the planner believes that they are in an order; a source takes the belief into itself."""
    operator = node.operator
    if isinstance(operator, (MemorySource, SegmentSource)):
        wanted = tuple((operator.positions[position], up) for position, up in by)
        return PlannerNode(operator.with_ordering(wanted), (), node.facts)
    return AssumeOrder(tuple(by)).make_planner_node(node)
