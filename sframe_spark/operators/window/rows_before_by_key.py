"""The base of operators that compute a row from a few earlier rows of its key: batches are grouped together with the rows that were kept.

The state is a chunk: for each key the earlier rows that later ones may need, key by key and in row order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.cached_property_without_lock import cached_property
from sframe_spark.compute.key_equality_and_codes import codes_of, comparable
from sframe_spark.compute.key_runs import ranges, raw_numbers
from sframe_spark.compute.sorting_and_searching import order_of
from sframe_spark.errors import PlanInvariantError
from sframe_spark.expressions.aggregates.aggregate_function import ReduceCollected
from sframe_spark.expressions.aggregates.python_aggregates import of_all_values
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate
from sframe_spark.operators.window.running_by_group import collected_rows, window_so_far
from sframe_spark.planner.chunk import Chunk, joined
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import TOO_LARGE, SequentialOperator
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import ColumnType
from sframe_spark.values.arrow_layouts import in_one_array
from sframe_spark.values.arrow_to_python import decode

MAX_CARRIED_BYTES = 2**26
"""A state larger than this is not sent to other tasks."""


@attrs.frozen(eq=False, slots=False)
class RowsByKey:
    """Rows that were kept from before a batch, followed by the batch, key by key.

    Parameters
    ----------
    rows
        The kept rows, then those of the batch.
    kept
        How many of the rows were kept.
    order
        The rows, key by key, in row order within each key.
    starts
        Start of each key in ``order``.

    Examples
    --------
    >>> from sframe_spark.types import STR
    >>> kept, batch = Chunk.of([pa.array(["b"])]), Chunk.of([pa.array(["a", "b", "a"])])
    >>> rows = RowsByKey.of(kept, batch, [0], (STR,))
    >>> rows.order.tolist(), rows.starts.tolist(), rows.earlier(1).tolist()
    ([0, 2, 1, 3], [0, 2], [-1, 0, 1])
    """

    rows: Chunk
    kept: int
    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, kept: Chunk, batch: Chunk, keys: Sequence[int], schema: Schema) -> RowsByKey:
        """Group the rows of both by some key columns; without keys all rows are one group."""
        rows = joined(kept, batch)
        if not keys or not rows.rows:
            return cls(rows, kept.rows, np.arange(rows.rows), np.zeros(min(rows.rows, 1), dtype=np.int64))
        codes = codes_of([comparable(rows.columns[key], schema[key]) for key in keys])
        order = order_of([codes])
        ordered = codes[order]
        starts = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
        return cls(rows, kept.rows, order, starts)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of rows of each key."""
        return np.diff(np.append(self.starts, len(self.order)))

    @cached_property
    def starts_of_rows(self) -> np.ndarray:
        """For each entry of ``order`` the start of its key."""
        return np.repeat(self.starts, self.lengths)

    def last(self, count: int) -> np.ndarray:
        """Return the positions in ``order`` of the last rows of each key."""
        counts = np.minimum(self.lengths, min(count, len(self.order)))
        return ranges(self.starts + self.lengths - counts, counts)

    def first(self, count: int) -> np.ndarray:
        """Return the positions in ``order`` of the first rows of each key."""
        return ranges(self.starts, np.minimum(self.lengths, min(count, len(self.order))))

    def of_batch(self, values: np.ndarray) -> np.ndarray:
        """Return values for the rows of the batch, in row order, given those of all entries of ``order``."""
        result = np.empty_like(values)
        result[self.order] = values
        return result[self.kept :]

    def turned(self) -> RowsByKey:
        """Return the same rows with the last row of each key first."""
        return RowsByKey(self.rows, self.kept, self.order[::-1].copy(), len(self.order) - (self.starts + self.lengths)[::-1])

    def earlier(self, count: int, is_clamped: bool = False) -> np.ndarray:
        """Return, for each row of the batch, which row is ``count`` rows before it within its key.

        Where none is, it is -1; with ``is_clamped`` the first row of the key.
        """
        found = np.empty(len(self.order), dtype=np.int64)
        count = min(count, len(self.order))
        found[self.order[count:]] = self.order[: len(self.order) - count]
        cut = self.first(count)
        found[self.order[cut]] = self.order[self.starts_of_rows[cut]] if is_clamped else -1
        return found[self.kept :]


@attrs.frozen(eq=False)
class KeptRows:
    """The state after some rows: for each key the rows that later ones may need, key by key and in row order; and the types of the columns."""

    schema: Schema
    rows: Chunk


@attrs.frozen
class RowsBefore(SequentialOperator):
    """An operator whose result for a row is computed from the row and some earlier rows with the same key.

    Missing keys are equal to each other, NaN equals NaN, and date-times are compared by instant.
    """

    keys: tuple[int, ...] = attrs.field(validator=column_positions)

    def kept_positions(self, rows: RowsByKey, schema: Schema) -> np.ndarray:
        """Return the positions in ``rows.order`` of the rows that later ones may need, ascending."""
        raise PlanInvariantError(f"operator {self.name!r} keeps no rows")

    def values(self, rows: RowsByKey, facts: Facts) -> Sequence[pa.Array]:
        """Return the output columns for the rows of the batch, in row order."""
        raise PlanInvariantError(f"operator {self.name!r} computes no values")

    def initial_state(self, facts: Sequence[Facts]) -> KeptRows:
        return KeptRows(facts[0].schema, Chunk.empty(facts[0].schema))

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> KeptRows:
        return self.combine(self.initial_state(facts), KeptRows(facts[0].schema, inputs[0]))

    def carried(self, state: KeptRows) -> Any:
        """Return the state, or ``TOO_LARGE`` if its rows are too many bytes to be sent to other tasks."""
        return TOO_LARGE if state.rows.size > MAX_CARRIED_BYTES else state

    def combine(self, first: KeptRows, second: KeptRows) -> KeptRows:
        return self._kept(RowsByKey.of(first.rows, second.rows, self.keys, first.schema), first.schema)

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: KeptRows) -> tuple[Chunk, KeptRows]:
        if not inputs[0].rows:
            return Chunk.empty(self.infer_type(facts)), state
        rows = RowsByKey.of(state.rows, inputs[0], self.keys, state.schema)
        return Chunk(tuple(self.values(rows, facts[0])), inputs[0].rows), self._kept(rows, state.schema)

    def _kept(self, rows: RowsByKey, schema: Schema) -> KeptRows:
        chosen = pa.array(rows.order[self.kept_positions(rows, schema)])
        return KeptRows(schema, Chunk(tuple(column.take(chosen) for column in rows.rows.columns), len(chosen)))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a window that collects all rows so far, and the values of the last one.

        It takes quadratic time, and only serves to test the kernel.
        """
        return of_collected_rows(self, inputs[0], self.keys)


def of_collected_rows(operator: SequentialOperator, relation: Relation, keys: Sequence[int]) -> Relation:
    """Return what an operator with the parameter ``keys`` computes, by a window that collects the rows so far of each key."""
    schema = relation.schema
    collected = relation.df.select(collected_rows(relation, range(len(schema)), window_so_far(relation, keys)).alias("c0"), *relation.hidden)
    result_types = operator.infer_type([Facts(schema, Length.unknown())])
    # Among the rows of one key there are no keys.
    of_one_key = attrs.evolve(cast("Any", operator), keys=())
    columns = [value_in_last_row(of_one_key, schema, output, kind) for output, kind in enumerate(result_types)]
    values = [column(collected["c0"], schema, ()) for column in columns]
    return attrs.evolve(relation, df=collected, schema=result_types, not_missing=frozenset()).with_columns(values, result_types)


def value_in_last_row(operator: SequentialOperator, schema: Schema, output: int, result: ColumnType) -> ReduceCollected:
    """Return the function of collected rows that computes one output column of an operator in the last of them."""

    def last_value(arrays: Sequence[pa.Array], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> Any:
        rows = Chunk.of(list(arrays))
        made = operator.kernel([rows], [Facts(tuple(types), Length.exactly(rows.rows))])
        return decode(made.columns[output].slice(rows.rows - 1), result)[0]

    def of_columns(types: Sequence[ColumnType], positions: Sequence[int], parameters: tuple[Any, ...]) -> ColumnAggregate:
        return of_all_values(last_value, types, positions, parameters, result)

    return ReduceCollected(lambda types, parameters: result, of_columns)


def taken(column: pa.Array, sources: np.ndarray, fill: pa.Array | None = None) -> pa.Array:
    """Return the values of a column in some rows; where the row is -1 it is missing, or the only value of ``fill``.

    Examples
    --------
    >>> taken(pa.array([5, None]), np.array([1, -1, 0])).to_pylist(), taken(pa.array([5, 7]), np.array([1, -1]), pa.array([0])).to_pylist()
    ([None, None, 5], [7, 0])
    """
    if fill is not None:
        column, sources = in_one_array([column, fill]), np.where(sources < 0, len(column), sources)
    none = sources < 0
    is_number = pa.types.is_int64(column.type) or pa.types.is_float64(column.type) or pa.types.is_timestamp(column.type)
    if not is_number:
        return column.take(pa.array(sources, mask=none))
    if column.null_count:
        none |= column.is_null().to_numpy(zero_copy_only=False)[sources]
    numbers = pa.array(raw_numbers(column)[sources], mask=none if none.any() else None, from_pandas=False)
    return numbers if numbers.type == column.type else numbers.cast(column.type)
