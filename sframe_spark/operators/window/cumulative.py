"""The cumulative operator: for each row the sum, mean, minimum, maximum, standard deviation or variance of all rows up to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_running_and_rolling_sums_and_variances import Sums, running_sum, running_sums
from sframe_spark.compute.exact_sum_and_variance import ExactSum, VarianceState
from sframe_spark.compute.key_runs import POSITIVE_ZERO, unsigned_zeros
from sframe_spark.compute.numpy_arrays_in_arrow_memory import new_array
from sframe_spark.errors import ExecutionError, UnsupportedOperationError
from sframe_spark.expressions.aggregates.partial_aggregates import floats
from sframe_spark.expressions.aggregates.sums_means_and_variances import VectorSum, elements
from sframe_spark.operators.window.running_by_group import window_so_far
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.planner.operator_parameters import one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import ARRAY, DATETIME, FLOAT, INT, ColumnType

if TYPE_CHECKING:
    from pyspark.sql import Column

KINDS = ("sum", "mean", "min", "max", "std", "var")
VECTOR_KINDS = ("sum", "mean")
KINDS_WITH_VARIANCE_STATE = ("mean", "std", "var")
LARGEST_INT = 2**63 - 1
ONE_GROUP = np.zeros(1, dtype=np.int64)


@register
@attrs.frozen
class Cumulative(SequentialOperator):
    """For each row, an aggregate of all rows up to it. Missing values are ignored; before the first value the result is missing."""

    name: ClassVar[str] = "cumulative"
    kind: str = attrs.field(validator=one_of(*KINDS))

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the type: sum, min and max keep it, others give float. (Array columns have sums and means of vectors; date-times min and max.)

        Raises
        ------
        UnsupportedOperationError
            If the column's type has no aggregate of this kind.
        """
        return (statistic_type(self, inputs[0].schema[0]),)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: maxima ascend and minima descend if there is no NaN; sums of non-negative ints ascend if they cannot overflow."""
        bounds = inputs[0].bounds.get(0)
        order = inputs[0].order
        if self.kind == "sum":
            rows = facts[0].length.at_most
            small = facts[0].schema[0] == INT and bounds is not None and rows is not None and bounds[1] * rows < LARGEST_INT
            order = derive.cumulative_sum(order, 0, 1, small and bounds[0] >= 0, small and bounds[0] > 0)  # type: ignore[index]
        elif self.kind in ("min", "max") and (facts[0].schema[0] == INT or bounds is not None):
            order = (derive.cumulative_max if self.kind == "max" else derive.cumulative_min)(order, 0, 1)
        return RelationProperties(order.project({0: 1}))

    def initial_state(self, facts: Sequence[Facts]) -> Any:
        return VarianceState() if self.kind in KINDS_WITH_VARIANCE_STATE and facts[0].schema[0] != ARRAY else None

    def combine(self, first: Any, second: Any) -> Any:
        if first is None or second is None:
            return second if first is None else first
        if isinstance(first, VarianceState):
            return first.merged(second)
        if isinstance(first, VectorSum):
            return merged_vectors(first, second)
        if self.kind == "sum":
            with np.errstate(over="ignore"):
                return first + second
        return np.fmin(first, second) if self.kind == "min" else np.fmax(first, second)

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Any:
        if isinstance(self.initial_state(facts), VarianceState):
            numbers = floats(inputs[0].columns[0])
            return VarianceState(len(numbers), ExactSum.of(numbers)) if self.kind == "mean" else VarianceState.of(numbers)
        if facts[0].schema[0] == FLOAT and self.kind == "sum":
            numbers = floats(inputs[0].columns[0])
            return ExactSum.of(numbers) if len(numbers) else None
        if facts[0].schema[0] == ARRAY:
            result = VectorSum.of(inputs[0].columns[0])
            return same_size(result) if result.count else None
        return self.advance(inputs, facts, self.initial_state(facts))[1]

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
        column_type = facts[0].schema[0]
        column = numbers_of(inputs[0].columns[0], column_type)
        if column_type == ARRAY:
            return self._advance_vectors(column, state)
        valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
        values = (column if valid is None else column.fill_null(0)).to_numpy(zero_copy_only=False)
        if isinstance(state, VarianceState):
            return self._advance_variance(values.astype(np.float64, copy=False), valid, state)
        if self.kind == "sum" and column_type == FLOAT:
            running, total = running_sum(values, ExactSum() if state is None else state)
            missing = None if valid is None or state is not None else ~np.logical_or.accumulate(valid)
            is_known = state is not None or (len(values) > 0 and (missing is None or not missing[-1]))
            return Chunk.of([pa.array(running, mask=missing, from_pandas=False)]), total if is_known else None
        return self._advance_plain(values, valid, column_type, state)

    def _advance_plain(self, values: np.ndarray, valid: np.ndarray | None, column_type: ColumnType, state: Any) -> tuple[Chunk, Any]:
        """Return running values and the state after them; ``valid`` says which values are not missing, None: all."""
        running = new_array(len(values), values.dtype)
        if self.kind == "sum":
            with np.errstate(over="ignore"):
                np.cumsum(values, out=running)
                if state is not None:
                    running += state
        else:
            combine = np.fmin if self.kind == "min" else np.fmax
            combine.accumulate(values if valid is None else np.where(valid, values, neutral(values.dtype, self.kind)), out=running)
            if state is not None:
                combine(running, state, out=running)
            unsigned_zeros(running, out=running)
        missing = None if valid is None or state is not None else ~np.logical_or.accumulate(valid)
        result = pa.array(running, mask=missing).cast(column_type.physical)
        is_known = len(running) > 0 and (missing is None or not missing[-1])
        return Chunk.of([result]), (running[-1] if is_known else state)

    def _advance_variance(self, values: np.ndarray, valid: np.ndarray | None, state: VarianceState) -> tuple[Chunk, Any]:
        if not len(values):
            return Chunk.of([pa.array(values)]), state
        result, counts, after = running_sums(self.kind, values, valid, ONE_GROUP, Sums.of_variance_state(state, self.kind != "mean"))
        if self.kind != "mean" and after.sums.others is not None:
            # The variance is NaN from an infinity or NaN on, even if there is only one number, because an infinity has no distance from itself.
            odd = np.logical_or.accumulate(~np.isfinite(values)) | (state.total.others != 0.0)
            result[odd] = np.nan
        return Chunk.of([pa.array(result, mask=counts == 0, from_pandas=False)]), after.variance_state(0)

    def _advance_vectors(self, column: pa.Array, state: VectorSum | None) -> tuple[Chunk, Any]:
        rows = VectorSum.of(column)
        total = merged_vectors(state, rows) if state is not None and rows.count else same_size(rows) if rows.count else state
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        if total is None or total.total is None or not len(valid):
            return Chunk.of([pa.nulls(len(valid), ARRAY.physical)]), total
        before, width = state if state is not None and state.total is not None else VectorSum.nothing(total.total.count), total.total.count
        numbers = np.zeros((len(valid), width))
        numbers[valid] = elements(column.drop_null()).reshape(rows.count, width)
        counts = np.cumsum(valid) + before.count
        # Each vector position is summed as a group, all in one call.
        sums = Sums(np.full(width, before.count), before.total, None)  # type: ignore[arg-type]
        starts = np.arange(width) * len(valid)
        result = running_sums(self.kind, numbers.T.ravel(), np.tile(valid, width), starts, sums)[0].reshape(width, len(valid)).T
        offsets = pa.array(np.arange(len(valid) + 1, dtype=np.int32) * np.int32(width))
        lists = pa.ListArray.from_arrays(offsets, pa.array(result.ravel(), from_pandas=False), mask=pa.array(counts == 0))
        return Chunk.of([lists.cast(ARRAY.physical)]), total

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a window over all rows up to each row."""
        relation = inputs[0]
        column_type = relation.schema[0]
        if column_type == ARRAY:
            return self._lower_vectors(relation)
        result = FLOAT if self.kind in KINDS_WITH_VARIANCE_STATE else column_type
        return relation.with_columns([window_aggregate(relation.df["c0"], column_type, self.kind, window_so_far(relation))], (result,))

    def _lower_vectors(self, relation: Relation) -> Relation:
        from pyspark.sql import functions as F

        from sframe_spark.compute.spark_columns import arrow_function, fit
        from sframe_spark.udf.error_transport import error_transport

        operator, transport = self, error_transport()

        def last_of(groups: pa.Array) -> pa.Array:
            def compute() -> pa.Array:
                cells = [operator._advance_vectors(fit(group.values, ARRAY.physical), None)[0].columns[0] for group in groups]
                return pa.concat_arrays([cell.slice(len(cell) - 1) if len(cell) else pa.nulls(1, ARRAY.physical) for cell in cells])

            return transport.guarded(compute)

        collected = relation.with_columns([F.collect_list(relation.df["c0"]).over(window_so_far(relation))], (ARRAY,))
        return collected.with_columns([arrow_function(last_of, "array<double>")(collected.df["c0"])], (ARRAY,))

    def describe(self) -> str:
        return self.kind


def statistic_type(operator: Any, column_type: ColumnType) -> ColumnType:
    """Return the type of a cumulative or rolling statistic of a column.

    Raises
    ------
    UnsupportedOperationError
        If the column's type has no statistic of this kind.
    """
    if column_type == ARRAY and operator.kind in VECTOR_KINDS:
        return ARRAY
    if not column_type.is_numeric and not (column_type == DATETIME and operator.kind in ("min", "max")):
        raise UnsupportedOperationError(f"{operator.name}_{operator.kind} takes numbers, not values of type {column_type.kind}")
    return column_type.of_values if operator.kind in ("sum", "min", "max") else FLOAT


def numbers_of(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return the column, with date-times as microseconds."""
    return column.cast(pa.int64()) if column_type == DATETIME else column


def neutral(dtype: np.dtype, kind: str) -> Any:
    """Return the neutral element of the minimum or maximum."""
    if dtype.kind == "f":
        return np.nan
    limits = np.iinfo(np.int64)
    return limits.max if kind == "min" else limits.min


def same_size(result: VectorSum) -> VectorSum:
    """Return a vector sum, after checking that the summed vectors have equal lengths.

    Raises
    ------
    ExecutionError
        If the lengths differ.
    """
    if result.total is None:
        raise ExecutionError("vectors of different lengths cannot be added: make the lengths equal")
    return result


def merged_vectors(first: VectorSum, second: VectorSum) -> VectorSum:
    """Return the sum of two vector sums.

    Raises
    ------
    ExecutionError
        If the lengths of vectors differ.
    """
    same_size(first), same_size(second)
    if first.total.count != second.total.count:  # type: ignore[union-attr]
        raise ExecutionError(f"vectors of {first.total.count} and {second.total.count} numbers cannot be added: make the lengths equal")  # type: ignore[union-attr]
    return first.merged(second)


def window_aggregate(column: Column, column_type: ColumnType, kind: str, window: Any) -> Column:
    """Return a Spark aggregate over a window that treats null and NaN as this engine does."""
    from pyspark.sql import functions as F

    if kind == "sum":
        return F.sum(column).over(window)
    if kind in ("min", "max"):
        pick = F.min if kind == "min" else F.max
        if column_type in (INT, DATETIME):
            return pick(column).over(window)
        number = pick(F.when(~F.isnan(column), column)).over(window) + POSITIVE_ZERO
        return F.coalesce(number, F.when(F.count(column).over(window) > 0, F.lit(float("nan"))))
    name = {"mean": "avg", "std": "stddev_pop", "stdv": "stddev_pop", "var": "var_pop"}[kind]
    return getattr(F, name)(column).over(window)


def cumulative(node: PlannerNode, kind: str) -> PlannerNode:
    """Return a node with running values of a one-column node."""
    return Cumulative(kind).make_planner_node(node)
