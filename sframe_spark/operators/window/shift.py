"""The shift operator: the values of a column, moved by a number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import SchemaError
from sframe_spark.expressions.program import Literal, describe_operand
from sframe_spark.order import OrderingProperties
from sframe_spark.order.facts import Direction, NullPlacement
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Schema
from sframe_spark.planner.lowering import LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.registry import register
from sframe_spark.values.encode import encode

# The limit of Spark's row offsets; no partition holds more rows.
MAX_SPARK_ROWS = 2**31 - 1


@register
@attrs.frozen
class Shift(Operator):
    """Row by row, the value ``rows`` rows earlier (negative: later); ``fill`` where there is no such row.

    Parameters
    ----------
    rows
        How far values move towards the end.
    fill
        A value of exactly the column's type, or None for a missing one.
    """

    name: ClassVar[str] = "shift"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    keeps_domain: ClassVar[bool] = True
    rows: int
    fill: Literal | None = None

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The column's type.

        Raises
        ------
        SchemaError
            If ``fill`` is of another type.
        """
        column_type = inputs[0].schema[0]
        if self.fill is not None and self.fill.type != column_type:
            raise SchemaError(f"a column of {column_type} cannot be filled with {self.fill.value!r}, which is {self.fill.type}")
        return (column_type,)

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """The column: values move unchanged, and the fill is one value."""
        return [0]

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """An order is kept if the missing values that are shifted in sort to the end where they appear."""
        if not self.rows:
            return inputs[0]
        if self.fill is not None:
            return RelationProperties()
        nulls: NullPlacement = "nulls_first" if self.rows > 0 else "nulls_last"
        directions: tuple[Direction, ...] = ("asc", "desc")
        known = [[(0, direction, nulls)] for direction in directions if inputs[0].order.satisfies([(0, direction, nulls)])]
        return RelationProperties(OrderingProperties(orderings=known))

    def requires(self, slot: int) -> Need:
        """Rows by index, to reach beyond the edge of a range."""
        return Need.DENSE

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """The same number of rows, ``rows`` earlier."""
        return (start - self.rows, stop - self.rows)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        rows = inputs[0].rows
        first = min(max(-self.rows, 0), rows)
        last = max(min(rows - self.rows, rows), first)
        return self.run_interval([inputs[0].slice(first, last)], facts, 0, rows, [(first, last)])

    def run_interval(self, inputs: Sequence[Chunk], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """The rows within the frame, between fills for those outside."""
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
        # Not pa.repeat, which refuses to repeat a map zero times.
        return encode([self.fill.value], self.fill.type).take(pa.array(np.zeros(rows, dtype=np.int64)))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """``lag`` over the row key; a struct around the value distinguishes a missing value from a missing row."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        from sframe_spark.compute.spark_columns import literal_column

        relation = inputs[0]
        window = Window.orderBy(*(relation.order() or [F.lit(0)]))
        offset = max(-MAX_SPARK_ROWS, min(self.rows, MAX_SPARK_ROWS))
        found = F.lag(F.struct(relation.df["c0"].alias("value")), offset).over(window)
        value = found["value"]
        if self.fill is not None:
            value = F.when(found.isNull(), literal_column(self.fill.value, self.fill.type)).otherwise(value)
        return relation.with_columns([value], relation.schema)

    def describe(self) -> str:
        return f"{self.rows} rows" + ("" if self.fill is None else f", fill {describe_operand(self.fill)}")


def shift_rows(node: PlannerNode, rows: int, fill: Literal | None = None) -> PlannerNode:
    """The values of a one-column node, ``rows`` rows further on."""
    return Shift(int(rows), fill).make_planner_node(node)
