"""The rolling operator by key: for each row an aggregate of a window of rows of its key, of any number of columns in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_runs import raw_numbers
from sframe_spark.errors import UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregates_of_windows import values_of_windows
from sframe_spark.expressions.aggregates.counts import count_of_values
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project_zip_arrange import column_of, columns_of, new_positions, zip_columns
from sframe_spark.operators.row_selection import reverse
from sframe_spark.operators.window.lagged import Lag, Lagged, shifted_by_key
from sframe_spark.operators.window.rolling import KINDS, Rolling, rolling_aggregate
from sframe_spark.operators.window.rows_before_by_key import RowsBefore, RowsByKey
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema, require_columns
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_parameters import at_least, column_positions, one_of
from sframe_spark.planner.registry import register
from sframe_spark.types import ARRAY, ColumnType


@register
@attrs.frozen
class RollingByKey(RowsBefore):
    """For each row, aggregates of the rows with the same key from offset ``before`` to offset ``after``, both included.

    Parameters
    ----------
    columns
        Positions of the columns to aggregate.
    kind, before, after, minimum
        As of :class:`Rolling`. A window has no rows after its own.
    is_reversed
        Whether rows come from the last to the first. Offsets are then not negative: the window has no rows before its own.
    """

    name: ClassVar[str] = "rolling_by_key"
    columns: tuple[int, ...] = attrs.field(default=(), validator=column_positions)
    kind: str = attrs.field(default="sum", validator=one_of(*KINDS))
    before: int = 0
    after: int = 0
    minimum: int | None = attrs.field(default=None, validator=at_least(0))
    is_reversed: bool = False

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types, as :class:`Rolling` does.

        Raises
        ------
        UnsupportedOperationError
            If the window is empty or has rows that have not come yet, or a column has no such aggregate.
        """
        schema = inputs[0].schema
        require_columns(schema, [*self.keys, *self.columns])
        result = tuple(self._rolling.infer_type([Facts((schema[column],), inputs[0].length)])[0] for column in self.columns)
        if (self.before < 0) if self.is_reversed else (self.after > 0):
            raise UnsupportedOperationError(f"rows {self.before} to {self.after} are not all known in a pass in this direction")
        return result

    @property
    def _rolling(self) -> Rolling:
        return Rolling(self.kind, self.before, self.after, self.minimum)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [sorted({*self.keys, *(self.columns[output] for output in outputs)})]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions = new_positions(kept[0])
        columns = tuple(positions[self.columns[output]] for output in outputs)
        return attrs.evolve(self, keys=tuple(positions[key] for key in self.keys), columns=columns), outputs

    def kept_positions(self, rows: RowsByKey, schema: Schema) -> np.ndarray:
        """Return as many last rows of each key as a window goes back."""
        return rows.last(self.after if self.is_reversed else -self.before)

    def values(self, rows: RowsByKey, facts: Facts) -> Sequence[pa.Array]:
        # Windows are aggregated in the order of the frame.
        ordered = rows.turned() if self.is_reversed else rows
        return [self._of_column(ordered, column, facts.schema[column]) for column in self.columns]

    def _of_column(self, rows: RowsByKey, column: int, column_type: ColumnType) -> pa.Array:
        """Return the aggregates of a column for the rows of the batch."""
        total, rolling, facts = len(rows.order), self._rolling, [Facts((column_type,), Length.exactly(len(rows.order)))]
        values = rows.rows.columns[column].take(pa.array(rows.order))
        result_type = rolling.infer_type(facts)[0]
        if result_type == ARRAY or result_type.is_zoned:
            every = rolling.of_values(rolling_aggregate(self.kind, column_type), InputRows([values], total), self._windows(rows, np.arange(total)))
            return every.take(pa.array(rows.of_batch(np.arange(total))))
        whole = rolling.run_interval([Chunk.of([values])], facts, 0, total, [(0, total)]).columns[0]
        numbers = np.array(raw_numbers(whole))
        missing = whole.is_null().to_numpy(zero_copy_only=False) if whole.null_count else np.zeros(total, dtype=bool)
        # The windows of these rows reach into the rows of other keys.
        cut = rows.first(-self.before) if self.before < 0 else np.zeros(0, dtype=np.int64)
        cut = np.union1d(cut, rows.last(self.after)) if self.after > 0 else cut
        cut = cut[rows.order[cut] >= rows.kept]
        if len(cut):
            aggregates = [rolling_aggregate(self.kind, column_type), count_of_values(0)]
            found, counts = values_of_windows(aggregates, InputRows([values], total), self._windows(rows, cut))
            numbers[cut] = raw_numbers(found)
            missing[cut] = (raw_numbers(counts) < rolling.needed) & (self.kind != "count")
        mask = rows.of_batch(missing)
        return pa.array(rows.of_batch(numbers), mask=mask if mask.any() else None, from_pandas=False).cast(result_type.physical)

    def _windows(self, rows: RowsByKey, positions: np.ndarray) -> RowWindows:
        """Return the windows of the rows at some positions, cut at the ends of their keys."""
        starts = rows.starts_of_rows[positions]
        stops = starts + np.repeat(rows.lengths, rows.lengths)[positions]
        first, last = (min(max(offset, -len(rows.order)), len(rows.order)) for offset in (self.before, self.after))
        return RowWindows(np.clip(positions + first, starts, stops), np.clip(positions + last + 1, starts, stops))

    def describe(self) -> str:
        columns, keys = (", ".join(f"c{position}" for position in positions) for positions in (self.columns, self.keys))
        way = " in reverse" if self.is_reversed else ""
        return f"[{keys}]; {self._rolling.describe()} of {columns}{way}"


def rolling_by_key(
    node: PlannerNode, kind: str, columns: Sequence[int], keys: Sequence[int], before: int, after: int, minimum: int | None = None
) -> PlannerNode:
    """Return a node with rolling values of some columns within each key; see :class:`Rolling` for the parameters.

    Windows that end at their row or before it take one pass, those with rows on one side in reverse. Windows with rows on both sides are those that
    end at a later row; where there is no such row, they are those that begin at an earlier row, or at the first.
    """
    used = sorted({*keys, *columns})
    positions, rows = new_positions(used), columns_of(node, used)
    over, by = tuple(positions[column] for column in columns), tuple(positions[key] for key in keys)
    operator = RollingByKey(by, over, kind, before, after, minimum)
    if after <= 0 or before > after:
        return operator.make_planner_node(rows)
    ahead = attrs.evolve(operator, is_reversed=True)
    if before >= 0:
        return reverse(ahead.make_planner_node(reverse(rows)))
    width, count = after - before + 1, len(columns)
    outputs, places = range(count), range(count + 1, count + 1 + len(keys))
    until = attrs.evolve(operator, before=1 - width, after=0).make_planner_node(rows)
    exists = apply_function("is_missing", column_of(rows, by[0]))
    later = zip_columns(until, exists, columns_of(rows, by))
    if kind != "count" and (minimum is None or minimum >= width):
        # Only whole windows count, and these end at a row.
        return shifted_by_key(later, [(output, -after, None) for output in outputs], places)
    later = shifted_by_key(later, [(output, -after, None) for output in range(count + 1)], places)
    onwards = reverse(attrs.evolve(ahead, before=0, after=width - 1).make_planner_node(reverse(rows)))
    lags = tuple(Lag(output, -before, is_clamped=True) for output in outputs)
    earlier = Lagged(tuple(range(count, count + len(by))), lags).make_planner_node(zip_columns(onwards, columns_of(rows, by)))
    has_later = apply_function("is_not_missing", column_of(later, count))
    return zip_columns(*[apply_function("if_else", has_later, column_of(later, output), column_of(earlier, output)) for output in outputs])
