"""The rolling operator: for each row an aggregate of a window of rows around it."""

from __future__ import annotations

import array
import contextlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import deviations_of_windows, means_of_windows
from sframe_spark.compute.exact_running_sums_in_two_words import WordScratch, sums_of_windows
from sframe_spark.compute.key_runs import unsigned_zeros
from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.message_text import brief
from sframe_spark.operators.window.cumulative import numbers_of, statistic_type, window_aggregate
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.operator_parameters import at_least, one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import ARRAY, DATETIME, FLOAT, INT
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.python_to_arrow import encode

if TYPE_CHECKING:
    from pyspark.sql import Column


# Sums and variances of every ``width`` consecutive floats.

States = tuple[np.ndarray, ...]
NO_POSITIONS = np.zeros(0, dtype=np.int64)
# Rows per block, so that arrays have 64 KiB: several of them fit into a core's cache and into memory that the process already has.
ROWS_IN_CACHE = 8_192
# Rows per block for running sums, which need fewer arrays.
ROWS_OF_SUMS = 16_384
# A variance is accepted if it is at least this share of the squared mean (a millionth, squared). Below, the rounded mean would affect it.
MIN_SPREAD = 2.0**-40


def over_windows(states: States, width: int, merge: Callable[[States, States], States]) -> States:
    """Return the merged state of every ``width`` consecutive states, by doubling: the number of passes is logarithmic in ``width``.

    Unlike differences of running sums, the result for a window depends on nothing outside of the window: a large value costs digits only in its
    own windows, and results do not depend on batch boundaries.

    Examples
    --------
    >>> over_windows((np.array([1.0, 2.0, 4.0, 8.0]),), 3, lambda first, second: (first[0] + second[0],))[0].tolist()
    [7.0, 14.0]
    """
    rows = len(states[0]) - width + 1
    result: States | None = None
    size, offset = 1, 0
    with np.errstate(over="ignore", invalid="ignore"):
        while size <= width:
            if width & size:
                part = tuple(state[offset : offset + rows] for state in states)
                result = part if result is None else merge(result, part)
                offset += size
            if 2 * size <= width:
                states = merge(tuple(state[:-size] for state in states), tuple(state[size:] for state in states))
            size *= 2
    assert result is not None
    return result


def exact_sums(values: np.ndarray, width: int) -> np.ndarray:
    """Return the sum of every ``width`` consecutive floats, rounded once. Intermediate sums may exceed the largest float.

    Examples
    --------
    >>> exact_sums(np.array([1e300, 1e16, 1.0, -1e16, -1e300, 1e308, 1e308, -1e308]), 5)[0].item()
    1.0
    >>> exact_sums(np.array([1e308, 1e308, -1e308]), 3).item()
    1e+308
    """
    block = max(ROWS_OF_SUMS, 4 * width)
    scratch = WordScratch.of(min(block + width, len(values) + 1))

    def of_block(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums = sums_of_windows(numbers, width, scratch)
        if sums is None:
            starts = np.arange(len(numbers) - width + 1)
            sums = means_of_windows(numbers, np.ones(len(starts)), starts, starts + width)
        return sums, NO_POSITIONS

    return in_blocks((values,), width, of_block, block)[0]


def squared_deviations(counts: np.ndarray, values: np.ndarray, width: int) -> np.ndarray:
    """Return the sum of squared deviations from the mean of every ``width`` consecutive floats.

    ``counts`` says which numbers count; the others must be zero.

    Examples
    --------
    >>> squared_deviations(np.ones(3, dtype=bool), np.array([1.0, 3.0, 7.0]), 2).tolist()
    [2.0, 8.0]
    >>> squared_deviations(np.ones(3, dtype=bool), np.array([1e16, 1e16 + 2, 1e16 + 6]), 3).tolist()
    [18.666666666666668]
    """

    def of_block(number: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        means, squares = over_windows((number.astype(np.float64), part, np.zeros(len(part))), width, merged_variances)[1:]
        with np.errstate(over="ignore", invalid="ignore"):
            # Zero is right for equal numbers. An infinite or NaN result may come from an overflow in between.
            accepted = squares >= np.square(means) * (MIN_SPREAD * width)
            accepted &= squares < np.inf
        left = np.flatnonzero(~accepted)
        return squares, left[squares[left] != 0.0]

    result, left = in_blocks((counts, values), width, of_block, max(ROWS_IN_CACHE, 4 * width))
    if len(left):
        sizes, starts = window_sums(counts, width)[left], left
        if len(left) * width < len(values):
            # If the windows are few, only their numbers are read.
            values = np.lib.stride_tricks.sliding_window_view(values, width)[left].ravel()
            starts = np.arange(len(left)) * width
        result[left] = deviations_of_windows(values, sizes, starts, starts + width)
    return result


def in_blocks(states: States, width: int, of_block: Callable[..., tuple[np.ndarray, np.ndarray]], block: int) -> tuple[np.ndarray, np.ndarray]:
    """Return results of every ``width`` consecutive entries, and the positions of those that may be wrong.

    Work in blocks that fit into cache is four times faster.
    """
    rows = max(len(states[0]) - width + 1, 0)
    result, left = new_array(rows, np.float64), [NO_POSITIONS]
    for start in range(0, rows, block):
        result[start : start + block], positions = of_block(*(state[start : start + block + width - 1] for state in states))
        if len(positions):
            left.append(positions + start)
    return result, np.concatenate(left)


def window_sums(values: np.ndarray, width: int) -> np.ndarray:
    """Return the sum of every ``width`` consecutive ints or bools."""
    total = new_array(len(values) + 1, np.int64)
    total[0] = 0
    with np.errstate(over="ignore"):
        np.cumsum(values, out=total[1:])
        return total[width:] - total[:-width]


def merged_variances(first: States, second: States) -> States:
    """Return the merged state of two states of count, mean and sum of squared deviations.

    Source: Chan, Golub and LeVeque (1979), updating formulae for sample variances. Equal means add nothing, so the variance of equal values is
    exactly zero.
    """
    counts = first[0] + second[0]
    share = second[0] / np.maximum(counts, 1.0)
    distance = second[1] - first[1]
    return counts, first[1] + distance * share, first[2] + second[2] + distance * distance * (first[0] * share)


KINDS = ("sum", "mean", "min", "max", "count", "stdv", "var")
LARGEST_OFFSET = 2**31 - 1
# For at most so many numbers, math.fsum is faster than NumPy.
FEW_NUMBERS = 1_000


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
        column = numbers_of(inputs[0].columns[0], facts[0].schema[0])
        narrow = self._within(start, stop, *intervals[0])
        length = rows + narrow.width - 1
        shift = intervals[0][0] - (start + narrow.before)
        # Most batches have no missing value and lie within the frame, so that values need not be counted.
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
        """Return the operator with its window cut to what matters for rows ``start`` to ``stop``, if only rows ``first`` to ``last`` exist."""
        if first == last:
            return attrs.evolve(self, after=self.before)
        return attrs.evolve(self, before=max(self.before, first - stop), after=min(self.after, last - start))

    def _cut_rows(self, start: int, stop: int, first: int, last: int) -> np.ndarray:
        """Return which of rows ``start`` to ``stop`` have windows that extend beyond the existing rows ``first`` to ``last``.

        The cut width depends on the batch, and so would the order of float additions. Therefore these windows get exact sums.
        """
        front = min(max(first - self.before - start, 0), stop - start)
        back = min(max(last - self.after - start, front), stop - start)
        return np.concatenate([np.arange(front), np.arange(back, stop - start)])

    def _of_cut_windows(self, values: np.ndarray, counts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the aggregate of the windows of some rows, from exact sums."""
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
        # Missing values have been replaced by zero.
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
                # A mean may be finite although the sum overflows.
                result[beyond] = means_of_windows(clean, np.maximum(counts[beyond], 1), beyond, beyond + self.width)
        return self._with_special(result, values, special)

    def _with_special(self, result: np.ndarray, values: np.ndarray, special: np.ndarray) -> np.ndarray:
        """Return results with NaN and infinities applied to the windows that contain them."""
        if not special.any():
            return result
        nan, up, down = (window_sums(kind, self.width) > 0 for kind in (np.isnan(values), values == np.inf, values == -np.inf))
        if self.kind in ("stdv", "var"):
            return np.where(nan | up | down, np.nan, result)
        result = np.where(up, np.inf, np.where(down, -np.inf, result))
        return np.where(nan | (up & down), np.nan, result)

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


def window_extremes(values: np.ndarray, valid: np.ndarray, width: int, largest: bool) -> np.ndarray:
    """Return the smallest or largest of every ``width`` consecutive values; NaN only if the window's first value is NaN, as in Turi Create.

    Source: van Herk (1992), Gil and Werman (1993): running extremes of blocks from both sides, in time linear in the rows.
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
    result = unsigned_zeros(combine(backward[:rows], forward[width - 1 : width - 1 + rows]))
    if is_float and nan.any():
        positions = np.where(valid, np.arange(len(values)), len(values))
        following = np.minimum.accumulate(positions[::-1])[::-1][:rows]
        first_is_nan = nan[np.minimum(following, len(values) - 1)] & (following < np.arange(rows) + width)
        result = np.where(first_is_nan, np.nan, result)
    return result


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
