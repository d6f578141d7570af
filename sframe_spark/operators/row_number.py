"""The row number operator: an int column that counts rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import ExecutionError, InvalidArgumentError
from sframe_spark.expressions.functions.datetimes import raised
from sframe_spark.message_text import brief
from sframe_spark.order import OrderingProperties, derive
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Operator, SequentialOperator
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import INT

# A number larger than the number of rows of any frame.
MAX_ROWS = 2**62


@register
@attrs.frozen
class RowNumber(SequentialOperator):
    """One int column: ``start`` in the first row, and one more in each following row."""

    name: ClassVar[str] = "row_number"
    numbers_rows: ClassVar[bool] = True
    start: int = 0

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (INT,)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: the numbers ascend strictly, and have known bounds."""
        rows = facts[0].length.rows
        bounds = {0: (self.start, self.start + rows - 1)} if rows else {}
        return RelationProperties(derive.row_number(OrderingProperties(), 0), bounds=bounds)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return one column, which only serves to count rows."""
        return [[0]]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        return self, outputs

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the row number of the relation plus ``start``."""
        from pyspark.sql import functions as F

        relation = inputs[0].with_position()
        position = F.col(str(relation.position))
        numbers = position + self.start
        if self.start > MAX_ROWS:
            # Spark's sum of longs wraps around.
            numbers = F.when(position >= 2**63 - self.start, raised(self._too_large())).otherwise(numbers)
        return relation.with_columns([numbers], (INT,))

    def _too_large(self) -> ExecutionError:
        return ExecutionError(f"row numbers from {self.start} need more than 64 bits: choose a smaller start")

    def initial_state(self, facts: Sequence[Facts]) -> Any:
        return 0

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Any:
        return inputs[0].rows

    def combine(self, first: Any, second: Any) -> Any:
        return first + second

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
        rows = inputs[0].rows
        first = self.start + state
        if first + rows - 1 >= 2**63:
            raise self._too_large()
        return Chunk.of([pa.array(np.arange(first, first + rows, dtype=np.int64))]), state + rows


def row_number(node: PlannerNode, start: int = 0) -> PlannerNode:
    """Return a node with a column of row numbers, aligned with the rows of a node.

    Raises
    ------
    InvalidArgumentError
        If the numbers do not fit into 64 bits.
    """
    last = start if node.length.rows is None else start + node.length.rows - 1
    if start < -(2**63) or max(start, last) >= 2**63:
        raise InvalidArgumentError(f"row numbers from {brief(start)} need more than 64 bits: choose another start")
    return RowNumber(start).make_planner_node(node)
