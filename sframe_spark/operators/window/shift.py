"""The shift operator: the values of a column moved by a number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import SchemaError
from sframe_spark.expressions.scalar_function_program import Literal, describe_operand
from sframe_spark.order import OrderingProperties
from sframe_spark.order.order_facts import Direction, NullPlacement
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.values.python_to_arrow import encode

# The limit of row offsets in Spark; no partition has more rows.
MAX_SPARK_ROWS = 2**31 - 1


@register
@attrs.frozen
class Shift(Operator):
    """For each row, the value ``rows`` rows before it (after it if negative); ``fill`` if there is no row at that distance.

    Parameters
    ----------
    rows
        By how many rows values move towards the end.
    fill
        A value of exactly the column's type; None for a missing value.
    """

    name: ClassVar[str] = "shift"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    keeps_domain: ClassVar[bool] = True
    rows: int
    fill: Literal | None = None

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the column's type.

        Raises
        ------
        SchemaError
            If ``fill`` has a different type.
        """
        column_type = inputs[0].schema[0]
        if self.fill is not None and self.fill.type != column_type:
            raise SchemaError(f"a column of {column_type} cannot be filled with {self.fill.value!r}, which is {self.fill.type}")
        return (column_type,)

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Return the only column: values move unchanged, and the fill is a single value."""
        return [0]

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: an order is kept if the missing values that are shifted in belong at that end of the order."""
        if not self.rows:
            return inputs[0]
        if self.fill is not None:
            return RelationProperties()
        nulls: NullPlacement = "nulls_first" if self.rows > 0 else "nulls_last"
        directions: tuple[Direction, ...] = ("asc", "desc")
        orderings = [[(0, direction, nulls)] for direction in directions if inputs[0].order.satisfies([(0, direction, nulls)])]
        return RelationProperties(OrderingProperties(orderings=orderings))

    def requires(self, slot: int) -> Need:
        """Return ``DENSE``: rows beyond the edge of a range are read by index."""
        return Need.DENSE

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """Return the range of the same number of rows, ``rows`` rows earlier."""
        return (start - self.rows, stop - self.rows)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        rows = inputs[0].rows
        first = min(max(-self.rows, 0), rows)
        last = max(min(rows - self.rows, rows), first)
        return self.run_interval([inputs[0].slice(first, last)], facts, 0, rows, [(first, last)])

    def run_interval(self, inputs: Sequence[Chunk], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """Return the rows that exist, between fills for those that do not."""
        rows = max(0, stop - start)
        column = inputs[0].columns[0]
        before = min(max(intervals[0][0] - (start - self.rows), 0), rows)
        after = rows - before - len(column)
        if not before and not after:
            return Chunk((column,), rows)
        column_type = facts[0].schema[0]
        parts = [self._filled(before, column_type.physical), column, self._filled(after, column_type.physical)]
        return Chunk((pa.concat_arrays(parts),), rows)

    def _filled(self, rows: int, physical: pa.DataType) -> pa.Array:
        if self.fill is None:
            return pa.nulls(rows, physical)
        # pa.repeat is not used, because it cannot repeat a map zero times.
        return encode([self.fill.value], self.fill.type).take(pa.array(np.zeros(rows, dtype=np.int64)))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return Spark's ``lag`` over the row key. The value is wrapped in a struct, to tell a missing value from a missing row."""
        from pyspark.sql import Window, functions as F

        from sframe_spark.compute.spark_columns import literal_column

        relation = inputs[0]
        window = Window.orderBy(*(relation.order() or [F.lit(0)]))
        offset = max(-MAX_SPARK_ROWS, min(self.rows, MAX_SPARK_ROWS))
        result = F.lag(F.struct(relation.df["c0"].alias("value")), offset).over(window)
        value = result["value"]
        if self.fill is not None:
            value = F.when(result.isNull(), literal_column(self.fill.value, self.fill.type)).otherwise(value)
        return relation.with_columns([value], relation.schema)

    def describe(self) -> str:
        return f"{self.rows} rows" + ("" if self.fill is None else f", fill {describe_operand(self.fill)}")


def shift_rows(node: PlannerNode, rows: int, fill: Literal | None = None) -> PlannerNode:
    """Return a node with the values of a one-column node moved by ``rows`` rows."""
    return Shift(int(rows), fill).make_planner_node(node)
