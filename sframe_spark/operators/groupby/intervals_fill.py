"""Intervals without rows: a row for each interval between two that have rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.key_encoding import comparable
from sframe_spark.compute.key_runs import plain_numbers, run_starts
from sframe_spark.errors import ExecutionError, InvalidArgumentError
from sframe_spark.operators.groupby.aggregation import Aggregation
from sframe_spark.operators.groupby.intervals import AssignIntervals, group_assigned
from sframe_spark.operators.groupby.streaming_groupby import narrowed, numbered_runs
from sframe_spark.operators.sort import sort_rows
from sframe_spark.order import OrderingProperties
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, from_stream, joined, to_stream
from sframe_spark.planner.facts import Facts, Length, Schema, require_columns
from sframe_spark.planner.lowering import KeyColumn, LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Origin, SequentialOperator
from sframe_spark.planner.parameters import above_zero
from sframe_spark.planner.registry import register
from sframe_spark.types import FLOAT_KIND, ZONED_PHYSICAL, ColumnType

FILLS = ("missing", "forward")
MOST_NEW_ROWS = 50_000_000
"""More new rows than this for one batch are taken for a mistake in the length of the intervals."""


@attrs.frozen(eq=False)
class LastRow:
    """The last row so far, if there is one."""

    row: Chunk

    def __reduce__(self) -> tuple[Any, ...]:
        return restored_row, (bytes(to_stream([self.row])),)


def restored_row(stream: bytes) -> LastRow:
    """The last row from its pickled form."""
    return LastRow(from_stream(stream))


@register
@attrs.frozen
class FillIntervals(SequentialOperator):
    """Rows in order of a label, and before each a row for every label left out since the row before it.

    Parameters
    ----------
    every
        Distance of the labels, which are multiples of it.
    keys
        How many columns after the label, which is the first, are keys: labels are only filled in between rows with equal keys, which are next to
        each other.
    forward
        New rows repeat the other columns of the row before; otherwise these are missing.
    """

    name: ClassVar[str] = "fill_intervals"
    keeps_domain: ClassVar[bool] = False
    every: int | float = attrs.field(validator=above_zero)
    keys: int = 0
    forward: bool = False

    def as_read(self) -> FillIntervals:
        """Refuses intervals of no length, or beyond all keys."""
        if not 0 < self.every < 2**63:
            raise InvalidArgumentError(f"the plan's text has intervals of the length {self.every}")
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The input's types.

        Raises
        ------
        SchemaError
            If there are fewer keys.
        """
        require_columns(inputs[0].schema, [self.keys])
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Unknown."""
        return Length.unknown()

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Labels that ascend still do, and are distinct if they were."""
        known = inputs[0].order
        if self.keys or not known.satisfies([(0, "asc")]):
            return RelationProperties()
        return RelationProperties(OrderingProperties(orderings=[[(0, "asc")]], keys=[[0]] if known.has_key([0]) else []))

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """The input's columns, as far as they go."""
        return [[(0, position)] for position in range(inputs[0].width)]

    def initial_state(self, facts: Sequence[Facts]) -> Any:
        """No row."""
        return LastRow(Chunk.empty(facts[0].schema))

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Any:
        """The last row."""
        return LastRow(inputs[0].slice(inputs[0].rows - 1, inputs[0].rows))

    def ends_suffice(self, state: Any) -> bool:
        """True when there is a row."""
        return bool(state.row.rows)

    def combine(self, first: Any, second: Any) -> Any:
        """The last row of both."""
        return second if second.row.rows else first

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
        """Each row after those that fill the gap before it."""
        chunk, schema = inputs[0], facts[0].schema
        if not chunk.rows:
            return chunk, state
        table = joined(state.row, chunk)
        places = self.places(table.columns[0], schema[0])
        gaps = self._gaps(table, places, schema)
        gaps[: state.row.rows] = -1  # the row of the state has been given out already
        owner = np.repeat(np.arange(table.rows), gaps + 1)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(gaps + 1) - (gaps + 1), gaps + 1)
        is_new = number < gaps[owner]
        source = np.where(is_new, owner - 1, owner)
        found = np.where(is_new, places[source] + 1 + number, places[owner])
        taken, blank = pa.array(source), pa.array(source, mask=is_new)
        columns = [self.labels(found, table.columns[0].take(taken), schema[0])]
        for position in range(1, len(schema)):
            kept = self.forward or position <= self.keys
            columns.append(table.columns[position].take(taken if kept else blank))
        return Chunk(tuple(columns), len(owner)), LastRow(chunk.slice(chunk.rows - 1, chunk.rows))

    def _gaps(self, table: Chunk, places: np.ndarray, schema: Schema) -> np.ndarray:
        """For each row the number of labels left out before it."""
        starts = run_starts(table.columns[1 : 1 + self.keys], schema[1 : 1 + self.keys], table.rows)
        gaps = np.zeros(table.rows, dtype=np.uint64)
        # Labels ascend, so 64 bits without a sign hold the distance between any two; of the sum floats tell enough.
        gaps[1:] = np.maximum(np.diff(places.view(np.uint64)), 1) - 1
        gaps[starts] = 0
        total = int(gaps.sum(dtype=np.float64))
        if total > MOST_NEW_ROWS:
            raise ExecutionError(f"there are about {total} intervals of {self.every} without rows between two rows: choose longer intervals")
        return gaps.astype(np.int64)

    def places(self, column: pa.Array, column_type: ColumnType) -> np.ndarray:
        """Labels as multiples of the distance.

        Raises
        ------
        ExecutionError
            If 64 bits do not hold one.
        """
        numbers = plain_numbers(comparable(column, column_type))
        if column_type.kind != FLOAT_KIND:
            return numbers // int(self.every)
        with np.errstate(over="ignore"):
            places = np.rint(numbers / self.every)
        beyond = ~(np.abs(places) < 2.0**63)
        if beyond.any():
            label = numbers[beyond][0]
            raise ExecutionError(f"64 bits do not hold the number of the interval at {label} of intervals of {self.every}: choose longer intervals")
        return places.astype(np.int64)

    def labels(self, places: np.ndarray, like: pa.Array, column_type: ColumnType) -> pa.Array:
        """Multiples of the distance as labels, with the offsets of others if they have any."""
        if column_type.is_numeric:
            return pa.array(places * self.every + 0.0 if column_type.kind == FLOAT_KIND else places * int(self.every))
        instants = pa.array(places * int(self.every)).cast(pa.timestamp("us"))
        if not column_type.is_zoned:
            return instants
        return pa.StructArray.from_arrays([instants, pc.struct_field(like, "offset")], fields=list(ZONED_PHYSICAL))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """A window looks back one row in the run; a sequence of places is exploded."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        from sframe_spark.compute.spark_columns import arrow_function, fit, spark_type

        relation = numbered_runs(inputs[0], range(1, 1 + self.keys))
        df, schema = relation.df, relation.schema
        label = schema[0]

        def places(values: pa.Array) -> pa.Array:
            return pa.array(self.places(fit(values, label.physical), label))

        def labels(numbers: pa.Array, like: pa.Array) -> pa.Array:
            return self.labels(numbers.to_numpy(zero_copy_only=False), fit(like, label.physical), label)

        window = Window.partitionBy(df["run"]).orderBy(*(relation.order() or [F.lit(0)]))
        df = df.withColumn("place", arrow_function(places, "bigint").asNondeterministic()(df["c0"]))
        before = [F.lag(df[name]).over(window).alias(f"b{name}") for name in ("place", *relation.columns)]
        df = df.select(*relation.columns, *relation.hidden, "place", *before)
        first = F.least(df["bplace"] + 1, df["place"])  # the place alone where no row is before
        df = df.withColumn("new", F.explode(F.sequence(first, df["place"])))
        is_new = df["new"] < df["place"]
        like = F.when(is_new, df["bc0"]).otherwise(df["c0"])
        columns = [arrow_function(labels, spark_type(label))(df["new"], like).alias("c0")]
        for i in range(1, len(schema)):
            filled = df[f"bc{i}"] if self.forward or i <= self.keys else F.lit(None)
            columns.append(F.when(is_new, filled).otherwise(df[f"c{i}"]).cast(df.schema[f"c{i}"].dataType).alias(f"c{i}"))
        hidden = [column.name for column in relation.key]
        return Relation(df.select(*columns, *hidden, "new"), schema, (*relation.key, KeyColumn("new")))

    def describe(self) -> str:
        """Distance, keys and fill."""
        return f"every {self.every}, {self.keys} key(s), {'forward' if self.forward else 'missing'}"


def resample(node: PlannerNode, intervals: AssignIntervals, by: Sequence[int], aggregations: Sequence[Aggregation], forward: bool) -> PlannerNode:
    """One row per interval from the first with rows to the last, for each value of ``by``; ascending by label, then by key."""
    below, places, moved = narrowed(node, [intervals.position, *by], aggregations)
    grouped = group_assigned(sort_rows(below, [(places[0], True)]), intervals, places, moved)
    assert intervals.grid.every is not None
    fill = FillIntervals(intervals.grid.every, len(by), forward)
    if not by:
        return fill.make_planner_node(grouped)
    keys = [(place, True) for place in range(1, 1 + len(by))]
    # Labels left out are found key by key and rows are shown label by label: two orders, each of one row per label and key only.
    return sort_rows(fill.make_planner_node(sort_rows(grouped, [*keys, (0, True)])), [(0, True), *keys])
