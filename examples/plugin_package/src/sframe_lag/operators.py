"""The lag operator and the function that puts it on a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import pyarrow as pa

from sframe_spark import SArray
from sframe_spark.plugin import Chunk, Facts, LoweringContext, Need, Operator, Relation, Schema, column_of, node_of, public_function, register


@register
@attrs.frozen
class Lag(Operator):
    """Row by row, the values of the row that is ``rows`` rows above, zero or more; missing where there is none."""

    name: ClassVar[str] = "lag"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    keeps_domain: ClassVar[bool] = True
    threads: ClassVar[bool] = True
    rows: int

    def __attrs_post_init__(self) -> None:
        if self.rows < 0:
            raise ValueError(f"lag looks up, so it takes zero or more rows, got {self.rows}")

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return inputs[0].schema

    def requires(self, slot: int) -> Need:
        return Need.DENSE  # rows by number, to reach above each range

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        return (start - self.rows, stop - self.rows)  # the engine cuts off what is above the first row

    def run_interval(self, inputs: Sequence[Chunk], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        absent = stop - start - inputs[0].rows
        return Chunk(tuple(pa.concat_arrays([pa.nulls(absent, column.type), column]) for column in inputs[0].columns), stop - start)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        kept = (0, max(inputs[0].rows - self.rows, 0))
        return self.run_interval([inputs[0].slice(*kept)], facts, 0, inputs[0].rows, [kept])

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        from pyspark.sql import Window, functions as F

        window = Window.orderBy(*inputs[0].order())
        return inputs[0].with_columns([F.lag(inputs[0].df[name], self.rows).over(window) for name in inputs[0].columns], inputs[0].schema)


@public_function
def lag(column: SArray, rows: int = 1) -> SArray:
    """The column moved down by some rows: ``list(lag(SArray([1, 2, 3])))`` is ``[None, 1, 2]``."""
    return column_of(Lag(rows).make_planner_node(node_of(column)))
