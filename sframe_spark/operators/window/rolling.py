"""Rolling values of a column: an aggregate of the rows around each row."""

from __future__ import annotations

import array
import contextlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.arrow_buffers import new_array
from sframe_spark.compute.exact_window_sum import deviations_of_windows, means_of_windows
from sframe_spark.compute.key_runs import plain_zeros
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.message_text import brief
from sframe_spark.operators.window.cumulative import VECTOR_KINDS, numbers_of, window_aggregate
from sframe_spark.operators.window.rolling_sums import exact_sums, squared_deviations, window_sums
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Schema
from sframe_spark.planner.lowering import LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.parameters import at_least, one_of
from sframe_spark.planner.registry import register
from sframe_spark.types import ARRAY, DATETIME, FLOAT, INT
from sframe_spark.values.decode import decode
from sframe_spark.values.encode import encode

if TYPE_CHECKING:
    from pyspark.sql import Column

KINDS = ("sum", "mean", "min", "max", "count", "stdv", "var")
LARGEST_OFFSET = 2**31 - 1
# Of so many numbers of vectors Python adds up sooner than numpy does.
FEW_NUMBERS = 1_000


@register
@attrs.frozen
class Rolling(Operator):
    """Row by row, an aggregate of the rows from ``before`` to ``after`` (offsets, both included).

    Parameters
    ----------
    kind
        ``sum``, ``mean``, ``min``, ``max``, ``count``, ``stdv`` or ``var``.
    before, after
        First and last offset of the window.
    minimum
        The result is missing where fewer values than this are in the window; None: where any is missing or outside the rows.
    """

    name: ClassVar[str] = "rolling"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    keeps_domain: ClassVar[bool] = True
    kind: str = attrs.field(validator=one_of("sum", "mean", "min", "max", "count", "stdv", "var"))
    before: int
    after: int
    minimum: int | None = attrs.field(default=None, validator=at_least(0))

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Sum, min and max keep the type, count gives ints, the others floats (array columns: sums and means of vectors).

        Raises
        ------
        UnsupportedOperationError
            If the window is empty or the column is not numeric (any type can be counted, date-times have a smallest and a largest).
        """
        if self.before > self.after:
            raise UnsupportedOperationError(
                f"a window from {brief(self.before)} to {brief(self.after)} has no rows: the start must not be above the end"
            )
        column_type = inputs[0].schema[0]
        if self.kind == "count":
            return (INT,)
        if column_type == ARRAY and self.kind in VECTOR_KINDS:
            return (ARRAY,)
        if not column_type.is_numeric and not (column_type == DATETIME and self.kind in ("min", "max")):
            raise UnsupportedOperationError(f"rolling_{self.kind} takes numbers, not values of type {column_type.kind}")
        return (column_type.of_values if self.kind in ("sum", "min", "max") else FLOAT,)

    @property
    def width(self) -> int:
        """Rows in a full window."""
        return self.after - self.before + 1

    def requires(self, slot: int) -> Need:
        """Rows by number, to reach around each row."""
        return Need.DENSE

    def input_interval(self, slot: int, start: int, stop: int, facts: Sequence[Facts]) -> tuple[int, int]:
        """The rows and their halo."""
        return (start + self.before, stop + self.after)

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """All rows."""
        rows = inputs[0].rows
        first, last = self.input_interval(0, 0, rows, facts)
        clipped = (min(max(first, 0), rows), max(min(last, rows), min(max(first, 0), rows)))
        return self.run_interval([inputs[0].slice(*clipped)], facts, 0, rows, [clipped])

    def run_interval(self, inputs: Sequence[Chunk], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """Windows of rows ``start..stop``; rows outside the frame count as missing."""
        rows = stop - start
        result_type = self.infer_type(facts)[0]
        if rows <= 0:
            return Chunk.empty((result_type,))
        column = numbers_of(inputs[0].columns[0], facts[0].schema[0])
        narrow = self._within(start, stop, *intervals[0])
        length = rows + narrow.width - 1
        shift = intervals[0][0] - (start + narrow.before)
        # Most batches have no missing value and lie within the frame: nothing is counted then.
        complete = column.null_count == 0 and shift == 0 and len(column) == length
        valid = np.full(length, complete)
        if complete:
            counts = np.full(rows, narrow.width, dtype=np.int64)
        else:
            valid[shift : shift + len(column)] = column.is_valid().to_numpy(zero_copy_only=False)
            counts = window_sums(valid, narrow.width)
        if self.kind == "count":
            return Chunk.of([pa.array(counts)])
        needed = self.width if self.minimum is None else max(self.minimum, 1)
        if result_type == ARRAY:
            cells = [*[None] * shift, *decode(column, ARRAY), *[None] * (length - shift - len(column))]
            windows = [cells[row : row + narrow.width] if counts[row] >= needed else [] for row in range(rows)]
            return Chunk.of([encode([vector_aggregate(window, self.kind) for window in windows], ARRAY)])
        whole = facts[0].schema[0] in (INT, DATETIME)
        plain = column.fill_null(0).to_numpy(zero_copy_only=False)
        values = plain.astype(np.int64 if whole else np.float64, copy=False) if complete else np.zeros(length, np.int64 if whole else np.float64)
        if not complete:
            values[shift : shift + len(column)] = plain
        is_added_up = self.kind in ("mean", "var", "stdv") or (self.kind == "sum" and not whole)
        ends = self._cut_rows(start, stop, *intervals[0]) if is_added_up and needed < self.width else np.zeros(0, dtype=np.int64)
        result = narrow._aggregate(values, valid, counts) if len(ends) < rows else new_array(rows, np.float64)
        if len(ends):
            result[ends] = narrow._of_cut_windows(values, np.maximum(counts[ends], 1), ends)
        result = result.astype(values.dtype if result_type in (INT, DATETIME) else np.float64, copy=False)
        mask = None if complete and narrow.width >= needed else counts < needed
        return Chunk.of([pa.array(result, mask=mask).cast(result_type.physical)])

    def _within(self, start: int, stop: int, first: int, last: int) -> Rolling:
        """The same windows of rows ``start..stop`` where there are only rows ``first..last``: as wide as it matters."""
        if first == last:
            return attrs.evolve(self, after=self.before)
        return attrs.evolve(self, before=max(self.before, first - stop), after=min(self.after, last - start))

    def _cut_rows(self, start: int, stop: int, first: int, last: int) -> np.ndarray:
        """Which of rows ``start..stop`` have windows that reach beyond rows ``first..last``, which are all there are of these.

        How wide windows are made there depends on the batch, and on that in which order floats would be added up.
        """
        front = min(max(first - self.before - start, 0), stop - start)
        back = min(max(last - self.after - start, front), stop - start)
        return np.concatenate([np.arange(front), np.arange(back, stop - start)])

    def _of_cut_windows(self, values: np.ndarray, counts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The aggregate of the windows of some rows, from exact sums."""
        numbers, stops = values.astype(np.float64, copy=False), rows + self.width
        if self.kind in ("sum", "mean"):
            return means_of_windows(numbers, counts if self.kind == "mean" else np.ones(len(rows)), rows, stops)
        variance = deviations_of_windows(numbers, counts, rows, stops) / counts
        variance[~np.isfinite(means_of_windows(numbers, counts, rows, stops))] = math.nan
        return np.sqrt(variance) if self.kind == "stdv" else variance

    def _aggregate(self, values: np.ndarray, valid: np.ndarray, counts: np.ndarray) -> np.ndarray:
        if self.kind in ("min", "max"):
            return window_extremes(values, valid, self.width, self.kind == "max")
        if self.kind == "sum" and values.dtype.kind == "i":
            return window_sums(values, self.width)
        special = ~np.isfinite(values)
        is_finite = not special.any()
        # Missing values are zero already.
        clean = values.astype(np.float64, copy=False) if is_finite else np.where(special, 0.0, values)
        divisor: Any = self.width if is_finite and valid.all() else np.maximum(counts, 1)
        if self.kind in ("stdv", "var"):
            variance = squared_deviations(valid & ~special, clean, self.width) / divisor
            result = np.sqrt(variance) if self.kind == "stdv" else variance
        else:
            result = exact_sums(clean, self.width)
            if self.kind == "mean":
                beyond = np.flatnonzero(np.isinf(result))
                result /= divisor
                # A mean is a float where the sum is beyond all of them.
                result[beyond] = means_of_windows(clean, np.maximum(counts[beyond], 1), beyond, beyond + self.width)
        return self._with_special(result, values, special)

    def _with_special(self, result: np.ndarray, values: np.ndarray, special: np.ndarray) -> np.ndarray:
        """NaN and infinities act in their own windows only."""
        if not special.any():
            return result
        nan, up, down = (window_sums(kind, self.width) > 0 for kind in (np.isnan(values), values == np.inf, values == -np.inf))
        if self.kind in ("stdv", "var"):
            return np.where(nan | up | down, np.nan, result)
        result = np.where(up, np.inf, np.where(down, -np.inf, result))
        return np.where(nan | (up & down), np.nan, result)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """A window of rows around each row."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        relation = inputs[0]
        column_type = relation.schema[0]
        column = relation.df["c0"]
        # Spark counts rows of a window with 32 bits; no partition has more.
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
        """Kind and window."""
        return f"{self.kind}, rows {self.before}..{self.after}" + ("" if self.minimum is None else f", at least {self.minimum}")


def window_extremes(values: np.ndarray, valid: np.ndarray, width: int, largest: bool) -> np.ndarray:
    """Smallest or largest of every ``width`` consecutive values; NaN only where the window's first value is NaN, as the reference has it.

    Source: van Herk (1992), Gil and Werman (1993): running extremes of blocks from both sides, linear in the rows.
    """
    is_float = values.dtype.kind == "f"
    limits = (-np.inf, np.inf) if is_float else (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
    neutral = limits[0] if largest else limits[1]
    nan = np.isnan(values) if is_float else np.zeros(len(values), dtype=bool)
    clean = np.where(valid & ~nan, values, neutral)
    combine = np.maximum if largest else np.minimum
    blocks = -(-len(clean) // width)
    padded = np.full(blocks * width, neutral, dtype=clean.dtype)
    padded[: len(clean)] = clean
    table = padded.reshape(blocks, width)
    forward = combine.accumulate(table, axis=1).ravel()
    backward = combine.accumulate(table[:, ::-1], axis=1)[:, ::-1].ravel()
    rows = len(values) - width + 1
    result = plain_zeros(combine(backward[:rows], forward[width - 1 : width - 1 + rows]))
    if is_float and nan.any():
        places = np.where(valid, np.arange(len(values)), len(values))
        following = np.minimum.accumulate(places[::-1])[::-1][:rows]
        first_is_nan = nan[np.minimum(following, len(values) - 1)] & (following < np.arange(rows) + width)
        result = np.where(first_is_nan, np.nan, result)
    return result


def vector_aggregate(vectors: Sequence[array.array | None], kind: str) -> list[float] | None:
    """Sum or mean of the vectors that are there, added up exactly; None where there is none, or where their lengths differ.

    Examples
    --------
    >>> vector_aggregate([array.array("d", [1, 2]), None, array.array("d", [3, 4])], "mean")
    [2.0, 3.0]
    """
    present = [vector for vector in vectors if vector is not None]
    if len({len(vector) for vector in present}) != 1:
        return None
    rows, places = len(present), len(present[0])
    divisor = rows if kind == "mean" else 1
    if rows * places <= FEW_NUMBERS:
        # It does not add up infinities of both signs, nor beyond the largest float on the way.
        with contextlib.suppress(OverflowError, ValueError):
            sums = [math.fsum(numbers) for numbers in zip(*present, strict=True)]
            if all(map(math.isfinite, sums)):
                return [total / divisor for total in sums]
    starts = np.arange(places) * rows
    numbers = np.array(present, dtype=np.float64).T.ravel()
    return means_of_windows(numbers, np.full(places, float(divisor)), starts, starts + rows).tolist()


def vectors_column(collected: Column, kind: str) -> Column:
    """Spark column of :func:`vector_aggregate`, of the vectors of each window."""

    from sframe_spark.compute.spark_columns import arrow_function, fit

    def aggregates(groups: pa.Array) -> pa.Array:
        windows = [decode(fit(group.values, ARRAY.physical), ARRAY) for group in groups]
        return encode([vector_aggregate(window, kind) for window in windows], ARRAY)

    return arrow_function(aggregates, "array<double>")(collected)


def rolling(node: PlannerNode, kind: str, before: int, after: int, minimum_observations: int | None = None) -> PlannerNode:
    """Rolling values of a one-column node."""
    return Rolling(kind, int(before), int(after), minimum_observations).make_planner_node(node)
