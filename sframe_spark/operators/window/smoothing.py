"""The exponential smoothing operator: for each row a mean of the values so far, in which the weight of a value halves with each half-life."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_runs import plain_numbers
from sframe_spark.compute.segmented_scan import Components, RowGroups
from sframe_spark.errors import ExecutionError, SchemaError
from sframe_spark.expressions.aggregates.aggregate_function import ReduceCollected
from sframe_spark.expressions.aggregates.python_aggregates import of_all_values
from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate
from sframe_spark.operators.window.exponentially_decayed_sums import SmoothedCells, TimeCells, ValuesInTime, decays
from sframe_spark.operators.window.running_by_group import collected_rows, window_so_far
from sframe_spark.operators.window.running_states import placed
from sframe_spark.operators.window.smoothing_kinds import KINDS, KINDS_AT_VALUES, AfterValues
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.node_facts import Facts, Length, Schema, require_columns
from sframe_spark.planner.operator import TOO_LARGE, SequentialOperator
from sframe_spark.planner.operator_parameters import above_zero, column_positions, one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import DATETIME_KIND, FLOAT, FLOAT_KIND, ColumnType
from sframe_spark.values.datetimes import from_microseconds

TIMES = ("int", "float", "datetime")


@attrs.frozen(eq=False)
class SmoothingState:
    """The state after some rows: one entry per key, and sums by cells of time.

    Parameters
    ----------
    slots
        By its token, the position of each key in the state.
    latest
        For each key the time of the last row with a time, and whether there is one.
    last
        For each key the last value that has a time, whether there is one, and its time.
    specials
        For each key the sum of the values that are not finite. Their effect never ends, because weights get small but never zero.
    cells
        Weighted sums of the finite values, by cell of time.
    """

    slots: dict[Hashable, int]
    latest: Components
    last: Components
    specials: np.ndarray
    cells: SmoothedCells

    @classmethod
    def empty(cls, keys: int, dtype: np.dtype, are_all: bool) -> SmoothingState:
        """Return the state of no rows; ``are_all``: the state covers all rows so far, so none come before it."""
        latest, last = ((np.zeros(keys, kind), np.zeros(keys, dtype=bool)) for kind in (dtype, np.float64))
        return cls({}, latest, (*last, np.zeros(keys, dtype)), np.zeros(keys), SmoothedCells.nothing(dtype, are_all))

    def widened(self, slots: dict[Hashable, int]) -> SmoothingState:
        """Return a copy that is extended by the new keys in ``slots``."""
        more = SmoothingState.empty(len(slots) - len(self.specials), self.latest[0].dtype, True)
        latest, last = (
            tuple(np.concatenate(pair) for pair in zip(*components, strict=True))
            for components in ((self.latest, more.latest), (self.last, more.last))
        )
        return SmoothingState(slots, latest, last, np.concatenate([self.specials, more.specials]), self.cells)

    def after_values(self, positions: np.ndarray, cells: TimeCells) -> AfterValues:
        """Return what is known after the last values of some keys, each with at most one cell; undefined for a key without values."""
        last, _ = self.cells.later.last_of(positions)
        values, _, times = (component[positions] for component in self.last)
        return AfterValues(last.before + last.sums, values, times, self.specials[positions], cells)


@attrs.frozen(eq=False)
class SmoothedRun:
    """A batch of rows, by group.

    Parameters
    ----------
    groups
        The rows of the batch by group.
    slots
        Position of each group in the state.
    after
        The state after the batch, but without the values of the batch.
    times, timed, present
        In group order: the times, and masks of the rows that have a time, and of the rows that have both time and value.
    valued
        Groups that have a row with both time and value.
    values
        The values that have a time.
    """

    groups: RowGroups
    slots: np.ndarray
    after: SmoothingState
    times: np.ndarray
    timed: np.ndarray
    present: np.ndarray
    valued: np.ndarray
    values: ValuesInTime

    def ended(self, cells: SmoothedCells) -> SmoothingState:
        """Return the state after the batch, given its cells."""
        slots = self.slots[self.valued]
        lasts = self.values.lasts
        put(self.after.last, slots, (self.values.values[lasts], np.ones(len(slots), dtype=bool), self.values.times[lasts]))
        self.after.specials[slots] += self.values.specials()
        return attrs.evolve(self.after, cells=cells)

    def in_row_order(self, kind: str, smoothed: np.ndarray, cells: TimeCells) -> pa.Array:
        """Return results in row order: the result after each value also applies to the rows that follow it, decayed where the kind says so.

        The result is missing for rows without a time, and for rows before the first value of their group.
        """
        groups = self.groups
        if len(smoothed) == groups.rows:
            return pa.array(groups.to_row_order(smoothed), from_pandas=False)
        last_values = self.after.after_values(self.slots, cells)
        before, has_value = KINDS[kind].results(last_values), self.after.last[1][self.slots]
        counts = np.cumsum(self.present)
        is_later = counts > np.repeat(counts[groups.starts] - self.present[groups.starts], groups.stops - groups.starts)
        # Results from before the batch come first, followed by the results after each value of the batch.
        last = np.where(is_later, counts + (len(before) - 1), groups.group_of_rows())
        result = np.concatenate([before, smoothed])[last]
        if KINDS[kind].decays:
            since = np.concatenate([last_values.times, self.values.times])[last]
            # At the values themselves, and after an infinite one, nothing decays.
            result = np.where(self.present | ~np.isfinite(result), result, result * decays(since, self.times, cells.half_life) + 0.0)
        missing = ~(np.concatenate([has_value, np.ones(len(smoothed), dtype=bool)])[last] & self.timed)
        return pa.array(groups.to_row_order(result), mask=groups.to_row_order(missing), from_pandas=False)

    def at_values(self, smoothed: np.ndarray, is_known: np.ndarray) -> pa.Array:
        """Return results of the rows with a value, where they are known, in row order; those of all other rows are missing."""
        result, known = np.zeros(self.groups.rows), np.zeros(self.groups.rows, dtype=bool)
        result[self.present], known[self.present] = smoothed, is_known
        return pa.array(self.groups.to_row_order(result), mask=self.groups.to_row_order(~known), from_pandas=False)

    def before_values(self, after: AfterValues) -> tuple[AfterValues, np.ndarray]:
        """Return what was known before each value, and a mask of those that have an earlier one; ``after`` is what is known after each."""
        slots, starts = self.slots[self.valued], self.values.starts
        earlier = np.arange(-1, len(after.times) - 1)
        result = AfterValues(after.sums[:, earlier], after.values[earlier], after.times[earlier], after.specials[earlier], after.cells)
        first = self.after.after_values(slots, after.cells)
        is_known = np.ones(len(earlier), dtype=bool)
        is_known[starts] = self.after.last[1][slots]
        result.sums[:, starts], result.values[starts], result.times[starts] = first.sums, first.values, first.times
        result.specials[starts] = first.specials
        return result, is_known


@register
@attrs.frozen
class ExponentialSmoothing(SequentialOperator):
    """For each row, the weighted mean (or sum, variance or deviation) of all values so far with the same key.

    A value at time ``t`` before the row has the weight ``0.5 ** (t / half_life)``.

    Parameters
    ----------
    value
        Position of the column with the values.
    time
        Position of the column with the times, which must not go backwards within a key.
    keys
        Positions of the key columns.
    half_life
        The half-life, in the unit of the times (microseconds for date-times).
    kind
        Which result: a name in ``KINDS`` or ``KINDS_AT_VALUES``.
    """

    name: ClassVar[str] = "exponential_smoothing"
    value: int = attrs.field(validator=column_positions)
    time: int = attrs.field(validator=column_positions)
    keys: tuple[int, ...] = attrs.field(validator=column_positions)
    half_life: float = attrs.field(validator=above_zero)
    kind: str = attrs.field(default="mean", validator=one_of(*KINDS, *KINDS_AT_VALUES))

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the float type.

        Raises
        ------
        SchemaError
            If the values are not numbers, or the times are neither numbers nor date-times.
        """
        schema = inputs[0].schema
        require_columns(schema, [self.value, self.time, *self.keys])
        if not schema[self.value].is_numeric:
            raise SchemaError(f"exponential smoothing takes numbers, not values of type {schema[self.value].kind}")
        if schema[self.time].kind not in TIMES:
            raise SchemaError(f"exponential smoothing takes times of {', '.join(TIMES)}, not of {schema[self.time].kind}")
        return (FLOAT,)

    def initial_state(self, facts: Sequence[Facts]) -> SmoothingState:
        return self._nothing(facts, True)

    def _nothing(self, facts: Sequence[Facts], are_all: bool) -> SmoothingState:
        return SmoothingState.empty(0, np.dtype(np.float64 if facts[0].schema[self.time].kind == FLOAT_KIND else np.int64), are_all)

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> SmoothingState:
        nothing = self._nothing(facts, False)
        if not inputs[0].rows:
            return nothing
        with np.errstate(all="ignore"):
            run = self._grouped(inputs[0], facts[0].schema, nothing)
            if not len(run.valued):
                return run.after
            return run.ended(SmoothedCells.of(run.values, run.slots[run.valued], self._cells(run.after)))

    def carried(self, state: SmoothingState) -> Any:
        """Return the state, or ``TOO_LARGE`` if its first cells hold too many values to send."""
        return TOO_LARGE if state.cells.first is None else state

    def combine(self, first: SmoothingState, second: SmoothingState) -> SmoothingState:
        slots, positions = placed(first.slots, second.slots)
        state = first.widened(slots)
        for old, new in ((state.latest, second.latest), (state.last, second.last)):
            put(old, positions[new[1]], tuple(component[new[1]] for component in new))
        with np.errstate(all="ignore"):
            state.specials[positions] += second.specials
            return attrs.evolve(state, cells=first.cells.followed_by(second.cells, positions, self._cells(state)))

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: SmoothingState) -> tuple[Chunk, SmoothingState]:
        if not inputs[0].rows:
            return Chunk.empty((FLOAT,)), state
        with np.errstate(all="ignore"):
            cells = self._cells(state)
            run = self._grouped(inputs[0], facts[0].schema, attrs.evolve(state, cells=state.cells.only_last_cells(cells)))
            if not len(run.valued):
                nothing = np.zeros(0)
                return Chunk.of([run.in_row_order(self.kind, nothing, cells) if self.kind in KINDS else run.at_values(nothing, nothing)]), run.after
            slots, values = run.slots[run.valued], run.values
            sums, last = values.scanned(slots, *run.after.cells.later.last_of(slots), cells)
            after = AfterValues(sums, values.values, values.times, values.specials_so_far(run.after.specials[slots]), cells)
            if self.kind in KINDS:
                column = run.in_row_order(self.kind, KINDS[self.kind].results(after), cells)
            else:
                before, is_known = run.before_values(after)
                column = run.at_values(*KINDS_AT_VALUES[self.kind](before, is_known, after))
            return Chunk.of([column]), run.ended(run.after.cells.with_last_cells(last))

    def _cells(self, state: SmoothingState) -> TimeCells:
        return TimeCells.of(self.half_life, state.latest[0].dtype)

    def _grouped(self, chunk: Chunk, schema: Schema, state: SmoothingState) -> SmoothedRun:
        """Group a batch, and extend a copy of the state by its groups and times, but not yet by its values."""
        groups = RowGroups.of([chunk.columns[key] for key in self.keys], [schema[key] for key in self.keys], chunk.rows)
        slots, positions = placed(state.slots, groups.tokens)
        after = state.widened(slots)
        times, timed = self._times(chunk, schema, groups)
        self._check_order(times, timed, groups, after, positions, schema[self.time])
        column = chunk.columns[self.value]
        present = groups.along(column.is_valid().to_numpy(zero_copy_only=False)) & timed if column.null_count else timed
        entries, starts, valued = groups.chosen(present)
        values = groups.along(plain_numbers(column).astype(np.float64, copy=False))
        return SmoothedRun(groups, positions, after, times, timed, present, valued, ValuesInTime(times[entries], values[entries], starts))

    def _times(self, chunk: Chunk, schema: Schema, groups: RowGroups) -> tuple[np.ndarray, np.ndarray]:
        """Return times in group order, and a mask of the rows that have one."""
        column = chunk.columns[self.time]
        if schema[self.time].is_zoned:
            column = pc.struct_field(column, "instant")
        times = groups.along(plain_numbers(column))
        timed = groups.along(column.is_valid().to_numpy(zero_copy_only=False)) if column.null_count else np.ones(groups.rows, dtype=bool)
        return times, timed & ~np.isnan(times) if schema[self.time].kind == FLOAT_KIND else timed

    def _check_order(
        self, times: np.ndarray, timed: np.ndarray, groups: RowGroups, state: SmoothingState, positions: np.ndarray, column_type: ColumnType
    ) -> None:
        """Check that times do not go backwards within a key, and record the last time of each key in the state."""
        entries, starts, chosen = groups.chosen(timed)
        result, slots = times[entries], positions[chosen]
        if not len(result):
            return
        # The first time of each key is compared with the last time of earlier batches, if there is one.
        earlier = np.concatenate([result[:1], result[:-1]])
        earlier[starts] = np.where(state.latest[1][slots], state.latest[0][slots], result[starts])
        backwards = result < earlier
        if backwards.any():
            row = int(backwards.argmax())
            is_datetime = column_type.kind == DATETIME_KIND
            before, after = (from_microseconds(int(values[row])) if is_datetime else values[row] for values in (earlier, result))
            raise ExecutionError(f"exponential smoothing needs times that do not go backwards, but {after} comes after {before}: sort by time first")
        put(state.latest, slots, (result[np.append(starts[1:], len(result)) - 1], np.ones(len(slots), dtype=bool)))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a window that collects all rows so far, and the smoothed value of the last one.

        It takes quadratic time, and only serves to test the kernel.
        """
        relation, used = inputs[0], [self.value, self.time]
        types = [relation.schema[position] for position in used]
        rows = collected_rows(relation, used, window_so_far(relation, self.keys))
        collected = relation.df.select(rows.alias("c0"), *relation.hidden)
        plain = attrs.evolve(self, value=0, time=1, keys=())

        def of_columns(types: Sequence[ColumnType], positions: Sequence[int], parameters: tuple[Any, ...]) -> ColumnAggregate:
            return of_all_values(plain.last_value, types, positions, parameters, FLOAT)

        value = ReduceCollected(lambda types, parameters: FLOAT, of_columns)(collected["c0"], types, ())
        return attrs.evolve(relation, df=collected, schema=(FLOAT,), not_missing=frozenset()).with_columns([value], (FLOAT,))

    def last_value(self, arrays: Sequence[pa.Array], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> float | None:
        """Return the smoothed value in the last of some rows."""
        facts = [Facts(tuple(types), Length.exactly(len(arrays[0])))]
        result: float | None = self.kernel([Chunk.of(list(arrays))], facts).columns[0][-1].as_py()
        return result

    def describe(self) -> str:
        keys = f", keys [{', '.join(f'c{key}' for key in self.keys)}]" if self.keys else ""
        kind = "" if self.kind == "mean" else f"{self.kind} of "
        return f"{kind}c{self.value} by c{self.time}, half-life {self.half_life:g}{keys}"


def put(components: Components, positions: np.ndarray, values: Components) -> None:
    """Write entries of all components at some positions."""
    for component, new in zip(components, values, strict=True):
        component[positions] = new
