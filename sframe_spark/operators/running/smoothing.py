"""Exponential smoothing: for each row, the mean of the values so far, each weighing half as much for every half-life that has passed since."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import ExecutionError, SchemaError
from sframe_spark.operators.aggregates.support import ReduceCollected
from sframe_spark.operators.kernels.equal_keys import comparable_column
from sframe_spark.operators.kernels.runs import plain_numbers
from sframe_spark.operators.running.groups import Components, RowGroups
from sframe_spark.operators.running.running import placed
from sframe_spark.operators.running.scans import valid
from sframe_spark.operators.running.smoothing_scan import ValuesInTime, decayed_together, means, no_values
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Length, Schema, require_columns
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import SequentialOperator
from sframe_spark.planner.parameters import above_zero, column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.relation import LoweringContext, Relation
from sframe_spark.types import DATETIME_KIND, FLOAT, FLOAT_KIND, ColumnType
from sframe_spark.values.temporal import from_microseconds

TIMES = ("int", "float", "datetime")


@attrs.frozen(eq=False)
class SmoothingState:
    """What is known of the rows so far, with one entry per key.

    Parameters
    ----------
    slots
        Place of each key, by its token.
    rows
        Number of rows.
    latest
        Time of the last row that has one, and whether there is one.
    decayed
        Weighted sums, as :mod:`~sframe_spark.operators.running.smoothing_scan` has them.
    """

    slots: dict[Hashable, int]
    rows: np.ndarray
    latest: Components
    decayed: Components

    @classmethod
    def empty(cls, keys: int, dtype: np.dtype) -> SmoothingState:
        """No rows of any key."""
        nothing = np.zeros(keys, dtype=bool)
        return cls({}, np.zeros(keys, np.int64), (np.zeros(keys, dtype), nothing), no_values(keys, dtype))

    def widened(self, slots: dict[Hashable, int]) -> SmoothingState:
        """Copies of all arrays with room for more keys."""
        more = SmoothingState.empty(len(slots) - len(self.rows), self.latest[0].dtype)
        latest = tuple(np.concatenate(pair) for pair in zip(self.latest, more.latest, strict=True))
        decayed = tuple(np.concatenate(pair) for pair in zip(self.decayed, more.decayed, strict=True))
        return SmoothingState(slots, np.concatenate([self.rows, more.rows]), latest, decayed)


@attrs.frozen(eq=False)
class SmoothedRun:
    """A run of rows, group by group.

    Parameters
    ----------
    groups
        Its rows by group.
    places
        Place of each group in the state.
    after
        The state after the run.
    timed, present
        Along the order of the groups: rows with a time, and those of them with a value.
    valued
        Groups that have such a row.
    values
        The values of these rows.
    """

    groups: RowGroups
    places: np.ndarray
    after: SmoothingState
    timed: np.ndarray
    present: np.ndarray
    valued: np.ndarray
    values: ValuesInTime

    def in_row_order(self, smoothed: np.ndarray, before: np.ndarray, known: np.ndarray) -> pa.Array:
        """Row by row what was known last, missing without a time: what is known after each value, and ``before`` the run in some groups."""
        groups = self.groups
        if len(smoothed) == groups.rows:
            return pa.array(groups.to_row_order(smoothed), from_pandas=False)
        counts = np.cumsum(self.present)
        is_later = counts > np.repeat(counts[groups.starts] - self.present[groups.starts], groups.stops - groups.starts)
        # Values before the run stand in front of those after each value.
        last = np.where(is_later, counts + (len(before) - 1), groups.group_of_rows())
        found = np.concatenate([before, smoothed])[last]
        missing = ~(np.concatenate([known, np.ones(len(smoothed), dtype=bool)])[last] & self.timed)
        return pa.array(groups.to_row_order(found), mask=groups.to_row_order(missing), from_pandas=False)


@register
@attrs.frozen
class ExponentialSmoothing(SequentialOperator):
    """Row by row, the weighted mean of all values so far with the same key; a value ``t`` before the row weighs ``0.5 ** (t / half_life)``.

    Parameters
    ----------
    value
        Column of the values.
    time
        Column of the times, which must not go backwards within a key; None: the number of the row within its key.
    keys
        Key columns.
    half_life
        In the unit of the times (microseconds for date-times).
    """

    name: ClassVar[str] = "exponential_smoothing"
    value: int = attrs.field(validator=column_positions)
    time: int | None = attrs.field(validator=column_positions)
    keys: tuple[int, ...] = attrs.field(validator=column_positions)
    half_life: float = attrs.field(validator=above_zero)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """A float.

        Raises
        ------
        SchemaError
            If the values are not numbers, or the times neither numbers nor date-times.
        """
        schema = inputs[0].schema
        require_columns(schema, [self.value, *([] if self.time is None else [self.time]), *self.keys])
        if not schema[self.value].is_numeric:
            raise SchemaError(f"exponential smoothing takes numbers, not values of type {schema[self.value].kind}")
        if self.time is not None and schema[self.time].kind not in TIMES:
            raise SchemaError(f"exponential smoothing takes times of {', '.join(TIMES)}, not of {schema[self.time].kind}")
        return (FLOAT,)

    def initial_state(self, facts: Sequence[Facts]) -> SmoothingState:
        """No rows."""
        is_float = self.time is not None and facts[0].schema[self.time].kind == FLOAT_KIND
        return SmoothingState.empty(0, np.dtype(np.float64 if is_float else np.int64))

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> SmoothingState:
        """State after the run on its own."""
        if not inputs[0].rows:
            return self.initial_state(facts)
        with np.errstate(all="ignore"):
            run = self._begun(inputs[0], facts[0].schema, self.initial_state(facts))
            put(run.after.decayed, run.places[run.valued], run.values.totals(self.half_life))
        return run.after

    def combine(self, first: SmoothingState, second: SmoothingState) -> SmoothingState:
        """State of two runs, one after the other; neither is changed."""
        slots, places = placed(first.slots, second.slots)
        state = first.widened(slots)
        later = second.decayed
        if self.time is None:
            later = (later[0] + state.rows[places], *later[1:])
        with np.errstate(all="ignore"):
            decayed = decayed_together(tuple(component[places] for component in state.decayed), later, self.half_life)
        latest = tuple(np.where(second.latest[1], new, old[places]) for new, old in zip(second.latest, state.latest, strict=True))
        put(state.decayed, places, decayed)
        put(state.latest, places, latest)
        state.rows[places] += second.rows
        return state

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: SmoothingState) -> tuple[Chunk, SmoothingState]:
        """Smoothed values of a run."""
        if not inputs[0].rows:
            return Chunk.empty((FLOAT,)), state
        with np.errstate(all="ignore"):
            run = self._begun(inputs[0], facts[0].schema, state)
            slots = run.places[run.valued]
            before = tuple(component[run.places] for component in run.after.decayed)
            scanned = run.values.scanned(tuple(component[run.valued] for component in before), self.half_life)
            put(run.after.decayed, slots, tuple(component[run.values.lasts] for component in scanned))
            return Chunk.of([run.in_row_order(means(scanned), means(before), before[4])]), run.after

    def _begun(self, chunk: Chunk, schema: Schema, state: SmoothingState) -> SmoothedRun:
        """A run by group, and a copy of the state with room for its groups that knows the rows and times of the run, but not the values yet."""
        groups = RowGroups.of([chunk.columns[key] for key in self.keys], [schema[key] for key in self.keys], chunk.rows)
        slots, places = placed(state.slots, groups.tokens)
        after = state.widened(slots)
        times, timed = self._times(chunk, schema, groups, after.rows[places])
        if self.time is not None:
            self._check_order(times, timed, groups, after, places, schema[self.time])
        after.rows[places] += groups.stops - groups.starts
        column = chunk.columns[self.value]
        present = groups.along(valid(column)) & timed if column.null_count else timed
        entries, starts, valued = groups.chosen(present)
        values = groups.along(plain_numbers(column).astype(np.float64, copy=False))
        return SmoothedRun(groups, places, after, timed, present, valued, ValuesInTime(times[entries], values[entries], starts))

    def _times(self, chunk: Chunk, schema: Schema, groups: RowGroups, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Times along the order of the groups, and whether there is one; ``before`` counts earlier rows of each group."""
        if self.time is None:
            # Numbers of rows along the order of the groups, each of which goes on with its own.
            if len(before) == 1:
                times = np.arange(before[0], before[0] + groups.rows)
            else:
                times = np.arange(groups.rows) + np.repeat(before - groups.starts, groups.stops - groups.starts)
            return times, np.ones(groups.rows, dtype=bool)
        column = chunk.columns[self.time]
        if schema[self.time].is_zoned:
            column = pc.struct_field(column, "instant")
        times = groups.along(plain_numbers(column))
        timed = groups.along(valid(column)) if column.null_count else np.ones(groups.rows, dtype=bool)
        return times, timed & ~np.isnan(times) if schema[self.time].kind == FLOAT_KIND else timed

    def _check_order(
        self, times: np.ndarray, timed: np.ndarray, groups: RowGroups, state: SmoothingState, places: np.ndarray, column_type: ColumnType
    ) -> None:
        """Refuse times that go backwards within a key; note the last one of each key in the state."""
        entries, starts, chosen = groups.chosen(timed)
        found, slots = times[entries], places[chosen]
        if not len(found):
            return
        # The first time of each key is compared with the last one of earlier runs, if there is one.
        earlier = np.concatenate([found[:1], found[:-1]])
        earlier[starts] = np.where(state.latest[1][slots], state.latest[0][slots], found[starts])
        backwards = found < earlier
        if backwards.any():
            row = int(backwards.argmax())
            before, after = (moment_text(values[row], column_type) for values in (earlier, found))
            raise ExecutionError(f"exponential smoothing needs times that do not go backwards, but {after} comes after {before}: sort by time first")
        put(state.latest, slots, (found[np.append(starts[1:], len(found)) - 1], np.ones(len(slots), dtype=bool)))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """The last smoothed value of all rows so far, collected over a window."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        relation = inputs[0]
        window = Window.partitionBy(*[comparable_column(relation.df[f"c{key}"], relation.schema[key]) for key in self.keys])
        window = window.orderBy(*relation.order())
        window = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        used = [self.value] if self.time is None else [self.value, self.time]
        types = [relation.schema[position] for position in used]
        row = F.struct(*[relation.df[f"c{position}"].alias(f"v{i}") for i, position in enumerate(used)])
        collected = relation.df.select(F.collect_list(row).over(window).alias("c0"), *relation.hidden)
        plain = attrs.evolve(self, value=0, time=None if self.time is None else 1, keys=())
        value = ReduceCollected(lambda types, parameters: FLOAT, plain.last_value)(collected["c0"], types, ())
        return attrs.evolve(relation, df=collected, schema=(FLOAT,), not_missing=frozenset()).with_columns([value], (FLOAT,))

    def last_value(self, arrays: Sequence[pa.Array], types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> float | None:
        """The smoothed value in the last of some rows."""
        facts = [Facts(tuple(types), Length.exactly(len(arrays[0])))]
        result: float | None = self.kernel([Chunk.of(list(arrays))], facts).columns[0][-1].as_py()
        return result

    def describe(self) -> str:
        """Columns and half-life."""
        keys = f", keys [{', '.join(f'c{key}' for key in self.keys)}]" if self.keys else ""
        return f"c{self.value} by {'rows' if self.time is None else f'c{self.time}'}, half-life {self.half_life:g}{keys}"


def put(components: Components, places: np.ndarray, values: Components) -> None:
    """Write entries of all components at some places."""
    for component, new in zip(components, values, strict=True):
        component[places] = new


def moment_text(value: Any, column_type: ColumnType) -> str:
    """A time as text."""
    return str(from_microseconds(int(value)) if column_type.kind == DATETIME_KIND else value)


def exponential_smoothing(node: PlannerNode, value: int, time: int | None, keys: Sequence[int], half_life: float) -> PlannerNode:
    """Smoothed values of a column of a node."""
    return ExponentialSmoothing(value, time, tuple(keys), float(half_life)).make_planner_node(node)
