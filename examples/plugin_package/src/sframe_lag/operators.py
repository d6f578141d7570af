"""The lag operator and the function that puts it on a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import pyarrow as pa

from sframe_spark import SArray
from sframe_spark.plugin import Chunk, Facts, LoweringContext, Need, Operator, Relation, Schema, column_of, node_of, register


@register
@attrs.frozen
class Lag(Operator):
    """Row by row, the values of the row that is ``rows`` rows above; missing where there is none.

    Parameters
    ----------
    rows
        How far up to look, zero or more.
    """

    name: ClassVar[str] = "lag"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    keeps_domain: ClassVar[bool] = True
    rows: int

    def __attrs_post_init__(self) -> None:
        if self.rows < 0:
            raise ValueError(f"lag looks up, so it takes zero or more rows, got {self.rows}")

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The input's types."""
        return inputs[0].schema

    def requires(self, slot: int) -> Need:
        """Rows by number, to reach above each range."""
        return Need.DENSE

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """The same number of rows, further up; the engine cuts off what is above the first row."""
        return (start - self.rows, stop - self.rows)

    def run_interval(
        self,
        inputs: Sequence[Chunk],
        facts: Sequence[Facts],
        start: int,
        stop: int,
        intervals: Sequence[tuple[int, int]],
    ) -> Chunk:
        """The rows from further up, after missing values for those that were cut off."""
        absent = stop - start - inputs[0].rows
        columns = [pa.concat_arrays([pa.nulls(absent, column.type), column]) for column in inputs[0].columns]
        return Chunk(tuple(columns), stop - start)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """All rows at once."""
        rows = inputs[0].rows
        kept = (0, max(rows - self.rows, 0))
        return self.run_interval([inputs[0].slice(*kept)], facts, 0, rows, [kept])

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Spark's lag over the row order."""
        from pyspark.sql import Window, functions as F

        relation = inputs[0]
        window = Window.orderBy(*relation.order())
        columns = [F.lag(relation.df[name], self.rows).over(window) for name in relation.columns]
        return relation.with_columns(columns, relation.schema)


def lag(column: SArray, rows: int = 1) -> SArray:
    """The column moved down by some rows.

    Examples
    --------
    >>> list(lag(SArray([1, 2, 3])))
    [None, 1, 2]
    """
    return column_of(Lag(rows).make_planner_node(node_of(column)))
