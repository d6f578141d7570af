"""The rolling operator: for each row an aggregate of a window of rows around it."""

from __future__ import annotations

import array
import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import means_of_windows, window_blocks
from sframe_spark.compute.key_runs import raw_numbers
from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.counts import Count, count_of_values, sum_of_ints
from sframe_spark.expressions.aggregates.extremes import extreme
from sframe_spark.expressions.aggregates.float_sums import mean, sum_of_floats
from sframe_spark.expressions.aggregates.rows_and_windows import InputRows, RowWindows
from sframe_spark.expressions.aggregates.spreads import rolling_variance
from sframe_spark.expressions.aggregates.state_columns import AggregateSet, ColumnAggregate
from sframe_spark.message_text import brief
from sframe_spark.operators.window.cumulative import statistic_type, window_aggregate
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.operator_parameters import at_least, one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import ARRAY, FLOAT, INT, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode

if TYPE_CHECKING:
    from pyspark.sql import Column


KINDS = ("sum", "mean", "min", "max", "count", "stdv", "var")
LARGEST_OFFSET = 2**31 - 1
# For at most so many numbers, math.fsum is faster than NumPy.
FEW_NUMBERS = 1_000
# Windows per block, so that the states of windows and what they are computed from fit into a core's cache.
ROWS_IN_CACHE = 1 << 14


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
        """Return the type: sum, min and max keep it, count gives int, others float. (Array columns have sums and means of vectors.)

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
        column, needed = inputs[0].columns[0], self.width if self.minimum is None else max(self.minimum, 1)
        if result_type == ARRAY:
            return Chunk.of([self._vectors(column, needed, *self._windows(start, 0, rows, *intervals[0]))])
        aggregate = rolling_aggregate(self.kind, facts[0].schema[0])
        result, has_enough = new_array(rows, np.float64 if result_type == FLOAT else np.int64), None
        front, back = self._cut_rows(start, stop, *intervals[0])
        if self.kind != "count" and (column.null_count or back - front < rows):
            has_enough = np.zeros(rows, dtype=bool)
        together, every = AggregateSet.of([aggregate] if has_enough is None else [aggregate, count_of_values(0)]), InputRows([column], len(column))
        for first_row, windows, first, last in self._blocks(start, rows, (front, back), needed, *intervals[0]):
            values, *counts = together.of_windows(every.slice(first, last), windows)
            block = slice(first_row, first_row + len(windows))
            result[block] = raw_numbers(values)
            if has_enough is not None:
                has_enough[block] = raw_numbers(counts[0]) >= needed
        mask = None if has_enough is None or has_enough.all() else ~has_enough
        return Chunk.of([pa.array(result, mask=mask).cast(result_type.physical)])

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

    def _blocks(
        self, start: int, rows: int, whole: tuple[int, int], needed: int, first: int, last: int
    ) -> Iterator[tuple[int, RowWindows, int, int]]:
        """Yield windows of consecutive rows: the number of the first row, the windows, and the range of the column that they are in."""
        front, back = whole
        if self.kind == "count" or needed < self.width:
            for low, high in ((0, front), (back, rows)):
                if low == high:
                    continue
                starts, stops = self._windows(start, low, high, first, last)
                for block, begin, end in window_blocks(last - first, starts, stops):
                    yield low + (block.start or 0), RowWindows(starts[block] - begin, stops[block] - begin), begin, end
        windows, size = None, max(ROWS_IN_CACHE, 4 * self.width)
        for low in range(front, back, size):
            count = min(size, back - low) + self.width - 1
            windows = windows if windows is not None and len(windows) == count - self.width + 1 else RowWindows.rolling(count, self.width)
            begin = start + low + self.before - first
            yield low, windows, begin, begin + count

    def _vectors(self, column: pa.Array, needed: int, starts: np.ndarray, stops: np.ndarray) -> pa.Array:
        """Return the aggregates of the vectors of each window."""
        cells, counts = decode(column, ARRAY), Count((0,)).windows(InputRows([column], len(column)), RowWindows(starts, stops))
        bounds = zip(starts.tolist(), stops.tolist(), (counts >= needed).tolist(), strict=True)
        return encode([vector_aggregate(cells[low:high] if has_enough else [], self.kind) for low, high, has_enough in bounds], ARRAY)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        from pyspark.sql import Window, functions as F

        relation = inputs[0]
        column_type = relation.schema[0]
        column = relation.df["c0"]
        # Spark has 32 bits for the offsets of a window; no partition has more rows than that.
        before, after = (max(-LARGEST_OFFSET, min(offset, LARGEST_OFFSET)) for offset in (self.before, self.after))
        window = Window.orderBy(*relation.order()).rowsBetween(before, after)
        counted = F.count(column).over(window)
        if self.kind == "count":
            return relation.with_columns([counted], (INT,))
        if column_type == ARRAY:
            value = vectors_column(F.collect_list(column).over(window), self.kind)
        else:
            value = window_aggregate(column, column_type, self.kind, window)
        if self.kind in ("min", "max") and column_type == FLOAT:
            first = F.first(column, ignorenulls=True).over(window)
            value = F.when(F.isnan(first), F.lit(float("nan"))).otherwise(value)
        needed = self.width if self.minimum is None else max(self.minimum, 1)
        result = column_type if self.kind in ("sum", "min", "max") or column_type == ARRAY else FLOAT
        return relation.with_columns([F.when(counted >= needed, value)], (result,))

    def describe(self) -> str:
        return f"{self.kind}, rows {self.before}..{self.after}" + ("" if self.minimum is None else f", at least {self.minimum}")


def rolling_aggregate(kind: str, column_type: ColumnType) -> ColumnAggregate:
    """Return the aggregate of a kind for windows of a single column."""
    if kind == "count":
        return count_of_values(0)
    if kind == "sum":
        return sum_of_ints(0) if column_type == INT else sum_of_floats(0)
    if kind in ("min", "max"):
        return extreme(0, column_type, kind == "max", nan="first")
    return mean(0) if kind == "mean" else rolling_variance(0, is_root=kind == "stdv")


def vector_aggregate(vectors: Sequence[array.array | None], kind: str) -> list[float] | None:
    """Return the exact elementwise sum or mean of the vectors that are not missing; None if there is none, or if their lengths differ.

    Examples
    --------
    >>> vector_aggregate([array.array("d", [1, 2]), None, array.array("d", [3, 4])], "mean")
    [2.0, 3.0]
    """
    present = [vector for vector in vectors if vector is not None]
    if len({len(vector) for vector in present}) != 1:
        return None
    rows, positions = len(present), len(present[0])
    divisor = rows if kind == "mean" else 1
    if rows * positions <= FEW_NUMBERS:
        # math.fsum fails if infinities of both signs occur, and if an intermediate sum overflows.
        with contextlib.suppress(OverflowError, ValueError):
            sums = [math.fsum(numbers) for numbers in zip(*present, strict=True)]
            if all(map(math.isfinite, sums)):
                return [total / divisor for total in sums]
    starts = np.arange(positions) * rows
    numbers = np.array(present, dtype=np.float64).T.ravel()
    return means_of_windows(numbers, np.full(positions, float(divisor)), starts, starts + rows).tolist()


def vectors_column(collected: Column, kind: str) -> Column:
    """Return a Spark column with the :func:`vector_aggregate` of the vectors of each window."""

    from sframe_spark.compute.spark_columns import arrow_function, fit

    def aggregates(groups: pa.Array) -> pa.Array:
        windows = [decode(fit(group.values, ARRAY.physical), ARRAY) for group in groups]
        return encode([vector_aggregate(window, kind) for window in windows], ARRAY)

    return arrow_function(aggregates, "array<double>")(collected)


def rolling(node: PlannerNode, kind: str, before: int, after: int, minimum_observations: int | None = None) -> PlannerNode:
    """Return a node with rolling values of a one-column node."""
    return Rolling(kind, int(before), int(after), minimum_observations).make_planner_node(node)
