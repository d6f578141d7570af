"""The filter operators, which keep the rows whose mask is neither zero nor missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import pyarrow.compute as pc

from sframe_spark.errors import LengthMismatchError
from sframe_spark.operators.project import Zip, side_by_side
from sframe_spark.operators.property_inference import filtered_properties
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.lowering import LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.registry import register


@register
@attrs.frozen
class FilterRows(Operator):
    """Rows whose last column, the mask, is neither zero nor missing, without the mask."""

    name: ClassVar[str] = "filter_rows"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    chooses_rows: ClassVar[bool] = True
    filters: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    spark_inlines: ClassVar[bool] = True

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

    def beside_one_more(self, inputs: Sequence[Facts]) -> Operator | None:
        """Return the same operator, because the mask stays the last column."""
        return self

    def requires(self, slot: int) -> Need:
        """Return ``INHERITED``: the order of the input matters only if the order of the output is observed."""
        return Need.INHERITED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return ``where`` on the mask column; the result has no row numbers."""
        relation = inputs[0]
        mask = relation.df[relation.columns[-1]]
        key = relation.key
        df = relation.df.where(mask != 0).select(*relation.columns[:-1], *[column.name for column in key])
        return Relation(df, relation.schema[:-1], key, not_missing=relation.not_missing - {len(relation.schema) - 1})

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        chunk = inputs[0]
        mask = pc.fill_null(pc.not_equal(chunk.columns[-1], 0), False)
        return Chunk(chunk.columns[:-1], chunk.rows).take(mask)

    def describe(self) -> str:
        return ""


@register
@attrs.frozen
class Filter(Operator):
    """Rows of the first input where the second, an aligned int column, is neither zero nor missing."""

    name: ClassVar[str] = "filter"
    arity: ClassVar[int | None] = 2
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    chooses_rows: ClassVar[bool] = True
    filters: ClassVar[bool] = True
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

    def describe(self) -> str:
        return ""


def filter_by_mask(node: PlannerNode, mask: PlannerNode) -> PlannerNode:
    """Return a node with the rows of ``node`` where the int column ``mask`` is neither zero nor missing.

    Examples
    --------
    >>> from sframe_spark.plugin import SArray, column_of, node_of
    >>> list(column_of(filter_by_mask(node_of(SArray(["a", "b", "c"])), node_of(SArray([1, 0, 1])))))
    ['a', 'c']
    """
    return Filter().make_planner_node(node, mask)
