"""Sources whose rows are computed: arithmetic progressions and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.spark_columns import literal_column
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.expressions.program import Literal, constant_array, describe_operand
from sframe_spark.operators.sources.source import Source, check_range
from sframe_spark.operators.sources.statistics import range_statistics
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.lowering import KeyColumn, LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.parameters import at_least
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes
from sframe_spark.storage.manifest.statistics import ColumnStatistics
from sframe_spark.types import INT, ColumnType


@register
@attrs.frozen
class RangeSource(Source):
    """One int column of ``rows`` values: ``start, start + step, ...``."""

    name: ClassVar[str] = "range_source"
    is_in_memory: ClassVar[bool] = True
    start: int
    rows: int = attrs.field(validator=at_least(0))
    step: int = 1

    def as_read(self) -> RangeSource:
        """Check that the numbers fit into 64 bits."""
        last = self.start + self.step * max(self.rows - 1, 0)
        if self.rows < 0 or not -(2**63) <= last < 2**63:
            raise InvalidArgumentError(f"the plan's text has a range of {self.rows} numbers up to {last}, which 64 bits do not hold")
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (INT,)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly(self.rows)

    def read(self, start: int, stop: int) -> Chunk:
        stop = min(stop, self.rows)
        numbers = self.start + self.step * np.arange(start, max(start, stop), dtype=np.int64)
        return Chunk.of([pa.array(numbers)])

    def statistics(self) -> Sequence[ColumnStatistics]:
        """Return the statistics of the numbers, which are known without computing them."""
        return (range_statistics(self),)

    def rows_between(self, start: int, stop: int) -> RangeSource:
        return RangeSource(self.start + self.step * start, stop - start, self.step)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the numbers from ``spark.range``, with the row number as key."""
        from pyspark.sql import functions as F

        df = context.spark.range(self.rows).select((F.col("id") * self.step + self.start).alias("c0"), F.col("id").alias("k0"))
        return Relation(df, (INT,), (KeyColumn("k0"),), "k0", frozenset([0]))


@register
@attrs.frozen
class ConstantSource(Source):
    """One column with the same value in every row."""

    name: ClassVar[str] = "constant_source"
    is_in_memory: ClassVar[bool] = True
    literal: Literal
    rows: int = attrs.field(validator=at_least(0))

    def as_read(self) -> ConstantSource:
        """Check that the number of rows is not negative."""
        check_range(0, self.rows, self.rows)
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return (self.literal.type,)

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Length.exactly(self.rows)

    def read(self, start: int, stop: int) -> Chunk:
        return Chunk.of([constant_array(self.literal, max(0, min(stop, self.rows) - start))])

    def statistics(self) -> Sequence[ColumnStatistics]:
        """Return statistics that say that the column is constant, and so in every order."""
        return (ColumnStatistics(ascending=True, descending=True, constant=True),)

    def rows_between(self, start: int, stop: int) -> ConstantSource:
        return ConstantSource(self.literal, stop - start)

    def sizes_between(self, start: int, stop: int) -> Sizes:
        """Return the size of the value times the number of rows."""
        return (float(constant_array(self.literal, 1).nbytes * max(0, stop - start)),)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the value as a literal over ``spark.range``."""
        from pyspark.sql import functions as F

        value = literal_column(self.literal.value, self.literal.type)
        df = context.spark.range(self.rows).select(value.alias("c0"), F.col("id").alias("k0"))
        return Relation(df, (self.literal.type,), (KeyColumn("k0"),), "k0")

    def describe(self) -> str:
        return f"{describe_operand(self.literal)}, rows={self.rows}"


def range_source(start: int, rows: int, step: int = 1) -> PlannerNode:
    """Return a source node of ints that start at ``start`` and differ by ``step``."""
    return RangeSource(start, rows, step).make_planner_node()


def constant_source(value: Any, column_type: ColumnType, rows: int) -> PlannerNode:
    """Return a source node that repeats one value."""
    return ConstantSource(Literal(value, column_type), rows).make_planner_node()
