"""The operator that numbers sessions: rows of a key whose times follow each other closely."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_float_distances import last_until
from sframe_spark.compute.key_equality_and_codes import comparable
from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.compute.segmented_scan import RowGroups, totals_so_far
from sframe_spark.errors import ExecutionError, SchemaError
from sframe_spark.operators.window.rows_before_by_key import of_collected_rows
from sframe_spark.operators.window.running_states import placed
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Facts, Schema, require_columns
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.planner.operator_parameters import at_least, column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import DATETIME_KIND, FLOAT_KIND, INT
from sframe_spark.values.datetimes import timestamp_text


@attrs.frozen(eq=False)
class SessionState:
    """The sessions of some rows: one entry for each key.

    Parameters
    ----------
    slots
        By its token, the position of each key.
    has
        Whether the key has a time.
    firsts, lasts
        Its first and its last time.
    ended
        How many of its sessions have ended.
    """

    slots: dict[Hashable, int]
    has: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray
    ended: np.ndarray

    @classmethod
    def empty(cls, keys: int, dtype: np.dtype[Any]) -> SessionState:
        """Return the state of keys without times."""
        return cls({}, np.zeros(keys, dtype=bool), np.zeros(keys, dtype), np.zeros(keys, dtype), np.zeros(keys, np.int64))

    def widened(self, slots: dict[Hashable, int]) -> SessionState:
        """Return a copy that is extended by the new keys in ``slots``."""
        more = SessionState.empty(len(slots) - len(self.has), self.firsts.dtype)
        pairs = ((self.has, more.has), (self.firsts, more.firsts), (self.lasts, more.lasts), (self.ended, more.ended))
        return SessionState(slots, *map(np.concatenate, pairs))


@register
@attrs.frozen
class SessionNumbers(SequentialOperator):
    """For each row, how many sessions of its key have ended before it; missing without a time.

    Parameters
    ----------
    time
        Position of the column of times, which must not go backwards within a key. A row without a time, or with NaN, is in no session.
    gap
        A session ends where the next time is more than this later, in the unit of the times.
    keys
        Positions of the key columns. Missing keys are equal to each other, NaN equals NaN, and date-times are compared by instant.
    """

    name: ClassVar[str] = "session_numbers"
    time: int = attrs.field(validator=column_positions)
    gap: int | float = attrs.field(validator=at_least(0))
    keys: tuple[int, ...] = attrs.field(default=(), validator=column_positions)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the int type.

        Raises
        ------
        SchemaError
            If the times are neither numbers nor date-times.
        """
        schema = inputs[0].schema
        require_columns(schema, [self.time, *self.keys])
        if not schema[self.time].is_number_or_datetime:
            raise SchemaError(f"sessions are of times of int, float or datetime, not of {schema[self.time].kind}")
        return (INT,)

    def initial_state(self, facts: Sequence[Facts]) -> SessionState:
        return SessionState.empty(0, np.dtype(np.float64 if facts[0].schema[self.time].kind == FLOAT_KIND else np.int64))

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> SessionState:
        return self._advanced(inputs[0], facts[0].schema, self.initial_state(facts))[1]

    def combine(self, first: SessionState, second: SessionState) -> SessionState:
        slots, positions = placed(first.slots, second.slots)
        state = first.widened(slots)
        entries = np.flatnonzero(second.has)
        chosen = positions[entries]
        both = state.has[chosen]
        ends = both & self._are_far(second.firsts[entries], state.lasts[chosen])
        state.ended[chosen] += second.ended[entries] + ends
        state.firsts[chosen] = np.where(both, state.firsts[chosen], second.firsts[entries])
        state.lasts[chosen], state.has[chosen] = second.lasts[entries], True
        return state

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: SessionState) -> tuple[Chunk, SessionState]:
        numbers, after = self._advanced(inputs[0], facts[0].schema, state)
        return Chunk.of([numbers]), after

    def _advanced(self, rows: Chunk, schema: Schema, before: SessionState) -> tuple[pa.Array, SessionState]:
        """Return the numbers of the sessions of a batch, and the state after it."""
        if not rows.rows:
            return pa.array([], pa.int64()), before
        groups = RowGroups.of([rows.columns[key] for key in self.keys], [schema[key] for key in self.keys], rows.rows)
        slots, positions = placed(before.slots, groups.tokens)
        state = before.widened(slots)
        column = comparable(rows.columns[self.time], schema[self.time])
        times = groups.along(plain_numbers(column))
        timed = groups.along(column.is_valid().to_numpy(zero_copy_only=False)) if column.null_count else np.ones(rows.rows, dtype=bool)
        if schema[self.time].kind == FLOAT_KIND:
            timed = timed & ~np.isnan(times)
        entries, starts, chosen = groups.chosen(timed)
        known, of_keys = times[entries], positions[chosen]
        if not len(known):
            return pa.nulls(rows.rows, pa.int64()), state
        earlier = np.concatenate([known[:1], known[:-1]])
        # The first time of each key is compared with the last one of earlier batches, if there is one.
        earlier[starts] = np.where(state.has[of_keys], state.lasts[of_keys], known[starts])
        self._require_order(known, earlier, schema)
        ends = self._are_far(known, earlier).astype(np.int64)
        ends[starts] += state.ended[of_keys]
        numbers = totals_so_far(ends, RowGroups([], np.arange(len(known)), starts))
        lasts = np.append(starts[1:], len(known)) - 1
        state.firsts[of_keys] = np.where(state.has[of_keys], state.firsts[of_keys], known[starts])
        state.lasts[of_keys], state.ended[of_keys], state.has[of_keys] = known[lasts], numbers[lasts], True
        if len(known) == rows.rows:
            return pa.array(groups.to_row_order(numbers)), state
        result = np.zeros(rows.rows, dtype=np.int64)
        result[entries] = numbers
        return pa.array(groups.to_row_order(result), mask=groups.to_row_order(~timed)), state

    def _require_order(self, times: np.ndarray, earlier: np.ndarray, schema: Schema) -> None:
        backwards = times < earlier
        if backwards.any():
            row = int(np.argmax(backwards))
            is_datetime = schema[self.time].kind == DATETIME_KIND
            shown = [timestamp_text(int(values[row])) if is_datetime else values[row] for values in (times, earlier)]
            raise ExecutionError(f"sessions need times that do not go backwards, but {shown[0]} comes after {shown[1]}: sort by time first")

    def _are_far(self, times: np.ndarray, earlier: np.ndarray) -> np.ndarray:
        """Return which times are more than the gap after earlier ones."""
        if times.dtype.kind == "f":
            return times > last_until(earlier, float(self.gap))
        # As unsigned numbers distances between ints do not overflow.
        return times.view(np.uint64) - earlier.view(np.uint64) > np.uint64(self.gap)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a window that collects all rows so far, and the number of the last one.

        It takes quadratic time, and only serves to test the kernel.
        """
        return of_collected_rows(self, inputs[0], self.keys)

    def describe(self) -> str:
        keys = f", keys [{', '.join(f'c{key}' for key in self.keys)}]" if self.keys else ""
        return f"c{self.time}, gap {self.gap}{keys}"
