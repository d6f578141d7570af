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
from sframe_spark.operators.running.groups import Components, RowGroups
from sframe_spark.operators.running.running import placed
from sframe_spark.operators.running.scans import numbers, valid
from sframe_spark.operators.running.smoothing_scan import decayed_scan, decayed_together, means, no_values
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
        return self.advance(inputs, facts, self.initial_state(facts))[1]

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
        chunk, schema = inputs[0], facts[0].schema
        if not chunk.rows:
            return Chunk.empty((FLOAT,)), state
        groups = RowGroups.of([chunk.columns[key] for key in self.keys], [schema[key] for key in self.keys], chunk.rows)
        slots, places = placed(state.slots, groups.tokens)
        after = state.widened(slots)
        slot_of_rows = places[groups.group_of_rows()]
        times, timed = self._times(chunk, schema, groups, after.rows[slot_of_rows])
        if self.time is not None:
            self._check_order(times, timed, groups, after, places, schema[self.time])
        column = chunk.columns[self.value]
        present = valid(column)[groups.order] & timed
        values = np.where(present, numbers(column, np.dtype(np.float64))[groups.order], 0.0)
        with np.errstate(all="ignore"):
            scanned = decayed_scan(times, values, present, groups, self.half_life)
            total = decayed_together(tuple(component[slot_of_rows] for component in after.decayed), scanned, self.half_life)
            smoothed = means(total)
        put(after.decayed, places, tuple(component[groups.stops - 1] for component in total))
        after.rows[places] += groups.stops - groups.starts
        known = groups.to_row_order(total[4] & timed)
        return Chunk.of([pa.array(groups.to_row_order(smoothed), mask=~known, from_pandas=False)]), after

    def _times(self, chunk: Chunk, schema: Schema, groups: RowGroups, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Times along the order of the groups, and whether there is one; ``before`` counts earlier rows of the same key."""
        if self.time is None:
            place = np.arange(groups.rows) - np.repeat(groups.starts, groups.stops - groups.starts)
            return before + place, np.ones(groups.rows, dtype=bool)
        column = chunk.columns[self.time]
        if schema[self.time].is_zoned:
            column = pc.struct_field(column, "instant")
        dtype = np.dtype(np.float64 if schema[self.time].kind == FLOAT_KIND else np.int64)
        times = numbers(column, dtype)[groups.order]
        return times, valid(column)[groups.order] & ~np.isnan(times)

    def _check_order(
        self, times: np.ndarray, timed: np.ndarray, groups: RowGroups, state: SmoothingState, places: np.ndarray, column_type: ColumnType
    ) -> None:
        """Refuse times that go backwards within a key; note the last one of each key in the state."""
        chosen = np.flatnonzero(timed)
        group, found = groups.group_of_rows()[chosen], times[chosen]
        first = np.concatenate([[True], group[1:] != group[:-1]])[: len(group)]
        earlier = np.concatenate([found[:1], found[:-1]])
        slots = places[group]
        earlier = np.where(first, np.where(state.latest[1][slots], state.latest[0][slots], found), earlier)
        backwards = np.flatnonzero(found < earlier)
        if len(backwards):
            before, after = (moment_text(values[backwards[0]], column_type) for values in (earlier, found))
            raise ExecutionError(f"exponential smoothing needs times that do not go backwards, but {after} comes after {before}: sort by time first")
        last = np.concatenate([group[1:] != group[:-1], [True]])[: len(group)]
        put(state.latest, slots[last], (found[last], np.ones(int(last.sum()), dtype=bool)))

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
