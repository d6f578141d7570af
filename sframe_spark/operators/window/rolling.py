"""The rolling operator: for each row an aggregate of a window of rows around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import WINDOWS_IN_CACHE
from sframe_spark.compute.key_runs import raw_numbers
from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregates_of_windows import values_of_windows
from sframe_spark.expressions.aggregates.counts import Count, count_of_values, sum_of_ints
from sframe_spark.expressions.aggregates.extremes import extreme
from sframe_spark.expressions.aggregates.float_sums import mean, sum_of_floats
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.spreads import rolling_variance
from sframe_spark.expressions.aggregates.state_columns import AggregateSet, ColumnAggregate
from sframe_spark.expressions.aggregates.vectors import sum_of_vectors, vectors_of_lists
from sframe_spark.message_text import brief
from sframe_spark.operators.window.cumulative import first_extreme, statistic_type, window_aggregate
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.operator_parameters import at_least, one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import ARRAY, FLOAT, INT, ColumnType

if TYPE_CHECKING:
    from pyspark.sql import Column


KINDS = ("sum", "mean", "min", "max", "count", "stdv", "var")
LARGEST_OFFSET = 2**31 - 1


@register
@attrs.frozen
class Rolling(Operator):
    """For each row, an aggregate of the rows from offset ``before`` to offset ``after``, both included.

    Parameters
    ----------
    kind
        ``sum``, ``mean``, ``min``, ``max``, ``count``, ``stdv`` or ``var``.
    before, after
        First and last offset of the window; negative offsets are rows before the row.
    minimum
        Number of values that a window must contain; otherwise the result is missing. None: a window must be within the frame and contain no
        missing value.
    """

    name: ClassVar[str] = "rolling"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    keeps_domain: ClassVar[bool] = True
    kind: str = attrs.field(validator=one_of(*KINDS))
    before: int
    after: int
    minimum: int | None = attrs.field(default=None, validator=at_least(0))

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the type: sum, min and max have that of the column, count int, others float. (Array columns have sums and means of vectors.)

        Raises
        ------
        UnsupportedOperationError
            If the window is empty, or the column is not numeric. (Values of any type can be counted, and date-times have min and max.)
        """
        if self.before > self.after:
            raise UnsupportedOperationError(
                f"a window from {brief(self.before)} to {brief(self.after)} has no rows: the start must not be above the end"
            )
        return (INT if self.kind == "count" else statistic_type(self, inputs[0].schema[0]),)

    @property
    def width(self) -> int:
        """Number of rows in a full window."""
        return self.after - self.before + 1

    def requires(self, slot: int) -> Need:
        """Return ``DENSE``: rows around each row are read by index."""
        return Need.DENSE

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """Return the range of input rows from the start of the first window to the end of the last one."""
        return (start + self.before, stop + self.after)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        rows = inputs[0].rows
        first, last = self.input_interval(0, 0, rows, facts)
        clipped = (min(max(first, 0), rows), max(min(last, rows), min(max(first, 0), rows)))
        return self.run_interval([inputs[0].slice(*clipped)], facts, 0, rows, [clipped])

    def run_interval(self, inputs: Sequence[Chunk], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """Return results for rows ``start`` to ``stop``; rows outside of the frame count as missing."""
        rows = stop - start
        result_type = self.infer_type(facts)[0]
        if rows <= 0:
            return Chunk.empty((result_type,))
        aggregate, every = rolling_aggregate(self.kind, facts[0].schema[0]), InputRows(inputs[0].columns, inputs[0].rows)
        if result_type == ARRAY or result_type.is_zoned:
            return Chunk.of([self.of_values(aggregate, every, RowWindows(*self._windows(start, 0, rows, *intervals[0])))])
        front, back = self._cut_rows(start, stop, *intervals[0])
        result, has_enough = new_array(rows, np.float64 if result_type == FLOAT else np.int64), None
        aggregates = [aggregate]
        if self.kind != "count" and (inputs[0].columns[0].null_count or back - front < rows):
            aggregates, has_enough = [aggregate, count_of_values(0)], np.zeros(rows, dtype=bool)

        def write(low: int, values: Sequence[pa.Array]) -> None:
            block = slice(low, low + len(values[0]))
            result[block] = raw_numbers(values[0])
            if has_enough is not None:
                has_enough[block] = raw_numbers(values[1]) >= self.needed

        for low, high in ((0, front), (back, rows)):
            if low < high and (self.kind == "count" or self.needed < self.width):
                write(low, values_of_windows(aggregates, every, RowWindows(*self._windows(start, low, high, *intervals[0]))))
        together, windows = AggregateSet.of(aggregates), None
        size = max(WINDOWS_IN_CACHE, 4 * self.width) if any(each.windows_in_blocks for each in aggregates) else rows
        for low in range(front, back, size):
            count = min(size, back - low)
            if windows is None or len(windows) != count:
                windows = RowWindows.rolling(count + self.width - 1, self.width)
            first = start + low + self.before - intervals[0][0]
            write(low, together.of_windows(every.slice(first, first + count + self.width - 1), windows))
        mask = None if has_enough is None or has_enough.all() else ~has_enough
        return Chunk.of([pa.array(result, mask=mask).cast(result_type.physical)])

    @property
    def needed(self) -> int:
        """Number of values without which the result is missing."""
        return self.width if self.minimum is None else max(self.minimum, 1)

    def _cut_rows(self, start: int, stop: int, first: int, last: int) -> tuple[int, int]:
        """Return which of rows ``start`` to ``stop`` have whole windows, counted from ``start``, if only rows ``first`` to ``last`` exist."""
        front = min(max(first - self.before - start, 0), stop - start)
        return front, min(max(last - self.after - start, front), stop - start)

    def _windows(self, start: int, front: int, back: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Return start and stop of the windows of rows ``front`` to ``back`` after ``start``, among the existing rows ``first`` to ``last``."""
        rows, existing = np.arange(back - front), last - first
        ends = (start + front - first + offset for offset in (self.before, self.after + 1))
        # Offsets may have more than 64 bits.
        starts, stops = (np.clip(rows + min(max(end, front - back), existing), 0, existing) for end in ends)
        return starts, stops

    def of_values(self, aggregate: ColumnAggregate, rows: InputRows, windows: RowWindows) -> pa.Array:
        """Return an aggregate of the vectors, or date-times with a UTC offset, of each window; windows with too few of them count as empty."""
        has_enough = Count((0,)).windows(rows, windows) >= self.needed
        return values_of_windows([aggregate], rows, RowWindows(windows.starts, np.where(has_enough, windows.stops, windows.starts)))[0]

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        from pyspark.sql import Window, functions as F

        column_type = inputs[0].schema[0]
        relation = inputs[0].with_position() if column_type.is_zoned else inputs[0]
        column = relation.df["c0"]
        # Spark has 32 bits for the offsets of a window; no partition has more rows than that.
        before, after = (max(-LARGEST_OFFSET, min(offset, LARGEST_OFFSET)) for offset in (self.before, self.after))
        window = Window.orderBy(*relation.order()).rowsBetween(before, after)
        counted = F.count(column).over(window)
        if self.kind == "count":
            return relation.with_columns([counted], (INT,))
        if column_type == ARRAY:
            value = vectors_column(F.collect_list(column).over(window), rolling_aggregate(self.kind, column_type))
        elif column_type.is_zoned:
            value = first_extreme(relation, self.kind, window)
        else:
            value = window_aggregate(column, column_type, self.kind, window)
        result = column_type if self.kind in ("sum", "min", "max") or column_type == ARRAY else FLOAT
        return relation.with_columns([F.when(counted >= self.needed, value)], (result,))

    def describe(self) -> str:
        return f"{self.kind}, rows {self.before}..{self.after}" + ("" if self.minimum is None else f", at least {self.minimum}")


def rolling_aggregate(kind: str, column_type: ColumnType) -> ColumnAggregate:
    """Return the aggregate of a kind over one column. Its result is not used for windows without values: they give a missing value or 0."""
    if kind == "count":
        return count_of_values(0)
    if column_type == ARRAY:
        return sum_of_vectors(0, kind == "mean", is_missing_of_none=True)
    if kind == "sum":
        return sum_of_ints(0) if column_type == INT else sum_of_floats(0)
    if kind in ("min", "max"):
        return extreme(0, column_type, kind == "max", nan="first")
    return mean(0) if kind == "mean" else rolling_variance(0, is_root=kind == "stdv")


def vectors_column(collected: Column, aggregate: ColumnAggregate) -> Column:
    """Return a Spark column with an aggregate of the vectors of each window."""
    from sframe_spark.compute.spark_columns import fit
    from sframe_spark.session.spark_versions import arrow_function

    def values(groups: pa.Array) -> pa.Array:
        return vectors_of_lists(fit(groups, pa.list_(ARRAY.physical)), aggregate)

    return arrow_function(values, "array<double>")(collected)


def rolling(node: PlannerNode, kind: str, before: int, after: int, minimum_observations: int | None = None) -> PlannerNode:
    """Return a node with rolling values of a one-column node."""
    return Rolling(kind, int(before), int(after), minimum_observations).make_planner_node(node)
