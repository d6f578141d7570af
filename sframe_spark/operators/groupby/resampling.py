"""Resampling: assigning rows to intervals of a key (on a regular grid, or between the ticks of a clock), and filling empty intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.interval_grid import Grid, clock_labels, grid_labels, labels_of_numbers, numbers_of_labels
from sframe_spark.compute.key_equality_and_codes import comparable
from sframe_spark.compute.key_runs import plain_numbers, run_starts
from sframe_spark.errors import DateTimeRangeError, ExecutionError, InvalidArgumentError
from sframe_spark.expressions.scalar_function_program import Literal, Program, Register
from sframe_spark.operators.append import append
from sframe_spark.operators.elementwise import apply_function, apply_program
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import Aggregation
from sframe_spark.operators.groupby.groupby import group_by
from sframe_spark.operators.groupby.groupby_of_adjacent_equal_keys import group_adjacent_equal_keys, narrowed, numbered_runs
from sframe_spark.operators.project_zip_arrange import column_of, project
from sframe_spark.operators.row_selection import filter_by_mask
from sframe_spark.operators.sort_top_rows_and_assumed_order import assume_order, sort_rows
from sframe_spark.operators.sources.in_memory import constant_source
from sframe_spark.order import Monotone, OrderingProperties
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, from_stream, joined, to_stream
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema, require_columns
from sframe_spark.planner.operator import Need, Operator, Origin, SequentialOperator
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation
from sframe_spark.types import FLOAT, FLOAT_KIND, INT, ColumnType
from sframe_spark.values.arrow_to_column_types import zoned_array
from sframe_spark.values.column_cast import wall_microseconds
from sframe_spark.values.datetimes import MINUTE, is_in_years_of_python, timestamp_text
from sframe_spark.values.time_zones import whole_minutes, zone_named


@register
@attrs.frozen
class AssignIntervals(Operator):
    """Rows whose key lies in an interval, with the key replaced by the interval's label. Missing, NaN and infinite keys lie in no interval.

    Parameters
    ----------
    position
        Position of the key column.
    grid
        Length and labels of the intervals.
    clock
        One column of ascending times, each of which ends an interval and starts the next; None for a regular grid.
    clock_type
        Type of the clock's column; None without a clock.
    """

    name: ClassVar[str] = "assign_intervals"
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    position: int = attrs.field(validator=column_positions)
    grid: Grid
    clock: Chunk | None = attrs.field(default=None, metadata={"portable": False}, eq=id)
    clock_type: ColumnType | None = None

    def label_type(self, schema: Schema) -> ColumnType:
        """Return the type of the labels: the key's type, or float if the key or the intervals are float."""
        key = schema[self.position]
        is_float = self.grid.is_float or self.clock_type == FLOAT
        return FLOAT if key.is_numeric and is_float else key

    def as_read(self) -> AssignIntervals:
        """Check that intervals have a length, or a clock."""
        if self.grid.every is None and self.grid.calendar is None and self.clock is None:
            raise InvalidArgumentError("the plan's text has intervals neither of a length nor of a clock")
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the input's types with the key's type replaced by the label's.

        Raises
        ------
        SchemaError
            If the input has no column at the key's position.
        """
        schema = inputs[0].schema
        require_columns(schema, [self.position])
        return (*schema[: self.position], self.label_type(schema), *schema[self.position + 1 :])

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return the input's length as an upper bound."""
        return Length.unknown(at_most=inputs[0].length.at_most)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return the properties of the input, which hold for any subset of its rows; labels ascend if their keys do."""
        rows, width = inputs[0], facts[0].width
        if rows.says_nothing:
            return rows
        follows = Monotone(width, ((self.position, "inc"),), False)
        properties = rows.reordered(rows.order.add(monotone=[follows], not_null=[self.position]))
        return properties.project([width if position == self.position else position for position in range(width)])

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        return [[(0, position)] for position in range(inputs[0].width)]

    def requires(self, slot: int) -> Need:
        """Return ``INHERITED``: the order of the input matters only if the order of the output is observed."""
        return Need.INHERITED

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Return the rows with labels, computed by arithmetic or by binary search in the clock."""
        chunk = inputs[0]
        labels = self.labels(chunk.columns[self.position], facts[0].schema)
        columns = (*chunk.columns[: self.position], labels, *chunk.columns[self.position + 1 :])
        return Chunk(columns, chunk.rows).take(labels.is_valid()) if labels.null_count else Chunk(columns, chunk.rows)

    def labels(self, column: pa.Array, schema: Schema) -> pa.Array:
        """Return the label of each key; missing if the key lies in no interval."""
        key, result = schema[self.position], self.label_type(schema)
        values = comparable(column, key)
        numbers = plain_numbers(values)
        inside = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else np.ones(len(values), dtype=bool)
        if result.kind == FLOAT_KIND:
            numbers = numbers.astype(np.float64)
            inside = inside & np.isfinite(numbers)
            numbers = np.where(inside, numbers, 0.0)
        if self.clock is None:
            label_numbers = grid_labels(numbers, self.grid)
        else:
            ticks = plain_numbers(comparable(self.clock.columns[0], self.clock_type or key)).astype(numbers.dtype)
            label_numbers, is_in_clock = clock_labels(numbers, ticks, self.grid)
            inside = inside & is_in_clock
        labels = pa.array(label_numbers, from_pandas=False) if inside.all() else pa.array(label_numbers, mask=~inside)
        return labels if key.is_numeric else self._date_times(numbers, labels, column, key)

    def _date_times(self, instants: np.ndarray, labels: pa.Array, column: pa.Array, key: ColumnType) -> pa.Array:
        """Return labels as date-times, with the offsets of the zone of the intervals, or of the rows."""
        column = with_labels_offsets(labels, column, self.grid) if key.is_zoned else column
        self._check_displayable(instants, labels, column, key)
        labels = labels.cast(pa.timestamp("us"))
        return zoned_array(labels, pc.struct_field(column, "offset"), labels.is_valid()) if key.is_zoned else labels

    def _check_displayable(self, instants: np.ndarray, labels: pa.Array, column: pa.Array, key: ColumnType) -> None:
        """Check that labels are in the range of date-times.

        Raises
        ------
        DateTimeRangeError
            If a label is outside of the years 1 to 9999.
        """
        ends = pc.min_max(labels).as_py()
        # An offset is less than a day.
        if ends["min"] is None or all(is_in_years_of_python(ends[end] + day) for end, day in (("min", -24 * 60 * MINUTE), ("max", 24 * 60 * MINUTE))):
            return
        wall = wall_microseconds(labels, column, key)
        limits = pc.min_max(wall).as_py()
        if limits["min"] is None or (is_in_years_of_python(limits["min"]) and is_in_years_of_python(limits["max"])):
            return
        row = int(np.argmax([label is not None and not is_in_years_of_python(label) for label in wall.to_pylist()]))
        length = f"{self.grid.every} microseconds" if self.grid.calendar is None else self.grid.calendar.describe()
        side = "start" if self.grid.label == "left" else "end"
        offset = pc.struct_field(column, "offset")[row].as_py() if key.is_zoned else None
        time = timestamp_text(int(instants[row]) + (offset or 0) * MINUTE)
        raise DateTimeRangeError(
            f"the {side} of the interval of {length} that holds {time} is {timestamp_text(wall[row].as_py())}, which lies "
            "outside the years 1 to 9999: take shorter intervals, the other label, or leave such rows out"
        )

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the labels, computed by the kernel in an Arrow UDF, followed by a filter."""
        from sframe_spark.compute.spark_columns import fit, spark_type
        from sframe_spark.session.spark_versions import arrow_function
        from sframe_spark.udf.error_transport import error_transport

        relation = inputs[0]
        schema, key = relation.schema, relation.schema[self.position]

        transport = error_transport()

        def labels(values: pa.Array) -> pa.Array:
            return transport.guarded(lambda: self.labels(fit(values, key.physical), schema))

        result = self.label_type(schema)
        named = arrow_function(labels, spark_type(result)).asNondeterministic()(relation.df[f"c{self.position}"])
        columns = [named if position == self.position else relation.df[name] for position, name in enumerate(relation.columns)]
        types = (*schema[: self.position], result, *schema[self.position + 1 :])
        origins = [None if position == self.position else position for position in range(len(schema))]
        renamed = relation.with_columns(columns, types, origins)
        keys = [column.name for column in relation.key]
        df = renamed.df.where(renamed.df[f"c{self.position}"].isNotNull()).select(*renamed.columns, *keys)
        return Relation(df, types, relation.key, not_missing=renamed.not_missing | {self.position})

    def describe(self) -> str:
        return f"c{self.position} {self.grid.describe()}"


def with_labels_offsets(labels: pa.Array, column: pa.Array, grid: Grid) -> pa.Array:
    """Return a column of zoned date-times with the offsets that the zone of the intervals has at their labels; the column itself without a zone."""
    if grid.calendar is None or grid.calendar.zone is None:
        return column
    instants = labels.cast(pa.int64())
    return zoned_array(instants.cast(pa.timestamp("us")), whole_minutes(zone_named(grid.calendar.zone), instants), instants.is_valid())


def group_by_intervals(node: PlannerNode, intervals: AssignIntervals, by: Sequence[int], aggregations: Sequence[Aggregation]) -> PlannerNode:
    """Return a node with one row for each interval that contains rows, in ascending order.

    With ``by``, an interval has one row for each value of these columns, in order of first appearance.
    """
    below, positions, moved = narrowed(node, [intervals.position, *by], aggregations)
    return group_assigned(sort_rows(below, [(positions[0], True)]), intervals, positions, moved)


@attrs.frozen
class LabelBounds:
    """The first and the last label of a resampling, as date-times or numbers, and the ones before the first and after the last.

    Parameters
    ----------
    first, last
        The labels; None: each key has its own.
    before, after
        The labels before the first and after the last; None where that is.
    """

    first: Any = None
    last: Any = None
    before: Any = None
    after: Any = None

    def keep(self, node: PlannerNode, label: int) -> PlannerNode:
        """Return the rows whose label lies within the bounds; the label is the column at a position."""
        for function, bound in (("greater_equal", self.first), ("less_equal", self.last)):
            if bound is not None:
                node = filter_by_mask(node, apply_function(function, column_of(node, label), Literal(bound, node.schema[label])))
        return node

    def outside(self, grouped: PlannerNode, keys: int) -> list[PlannerNode]:
        """Return nodes with a row for each key just outside of the bounds, without aggregates: intervals between it and others are filled."""
        of_keys = group_by(project(grouped, range(1, 1 + keys)), range(keys), []) if keys else constant_source(0, INT, 1)
        label, *others = grouped.schema
        rest = [Literal(None, column_type) for column_type in others[keys:]]
        return [
            apply_program(of_keys, Program(max(keys, 1), (), (Literal(bound, label), *map(Register, range(keys)), *rest)))
            for bound in (self.before, self.after)
            if bound is not None
        ]


def group_assigned(
    node: PlannerNode, intervals: AssignIntervals, positions: Sequence[int], aggregations: Sequence[Aggregation], bounds: LabelBounds | None = None
) -> PlannerNode:
    """Return aggregates of sorted rows by interval. The label is an additional column, so that the key itself can be aggregated."""
    width = node.facts.width
    twice = project(node, [*range(width), positions[0]])
    labelled = attrs.evolve(intervals, position=width).make_planner_node(twice)
    return group_adjacent_equal_keys(labelled if bounds is None else bounds.keep(labelled, width), [width], aggregations, positions[1:])


# Filling: a row for each empty interval between two intervals with rows.

FILLS = ("missing", "forward")
MAX_NEW_ROWS = 50_000_000
"""More new rows than this for one batch are taken for a mistake in the length of the intervals."""


@attrs.frozen(eq=False)
class LastRow:
    """The last row so far; the chunk is empty if there is none."""

    row: Chunk

    def __reduce__(self) -> tuple[Any, ...]:
        return restored_row, (bytes(to_stream([self.row])),)


def restored_row(stream: bytes) -> LastRow:
    """Return the last row from its pickled form."""
    return LastRow(from_stream(stream))


@register
@attrs.frozen
class FillIntervals(SequentialOperator):
    """The rows, in order of a label, with new rows for the labels that are missing between two rows.

    Parameters
    ----------
    grid
        The intervals that have these labels.
    keys
        Number of key columns, which follow the label (the first column). Labels are filled in only between rows with equal keys, which must be
        adjacent.
    forward
        Whether new rows repeat the other columns of the row before; otherwise these columns are missing.
    """

    name: ClassVar[str] = "fill_intervals"
    keeps_domain: ClassVar[bool] = False
    grid: Grid
    keys: int = 0
    forward: bool = False

    def as_read(self) -> FillIntervals:
        """Check that the intervals have a length."""
        if self.grid.every is None and self.grid.calendar is None:
            raise InvalidArgumentError("the plan's text fills intervals that have no length")
        return self

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the input's types.

        Raises
        ------
        SchemaError
            If the input has too few columns for the keys.
        """
        require_columns(inputs[0].schema, [self.keys])
        return inputs[0].schema

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: without keys, ascending labels stay ascending, and unique labels unique."""
        properties = inputs[0].order
        if self.keys or not properties.satisfies([(0, "asc")]):
            return RelationProperties()
        return RelationProperties(OrderingProperties(orderings=[[(0, "asc")]], keys=[[0]] if properties.has_key([0]) else []))

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        return [[(0, position)] for position in range(inputs[0].width)]

    def initial_state(self, facts: Sequence[Facts]) -> Any:
        return LastRow(Chunk.empty(facts[0].schema))

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Any:
        """Return a state with the last row."""
        return LastRow(inputs[0].slice(inputs[0].rows - 1, inputs[0].rows))

    def ends_suffice(self, state: Any) -> bool:
        """Return whether the state has a row."""
        return bool(state.row.rows)

    def combine(self, first: Any, second: Any) -> Any:
        """Return the last row of both ranges."""
        return second if second.row.rows else first

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: Any) -> tuple[Chunk, Any]:
        """Return the rows, each after new rows that fill the gap before it."""
        chunk, schema = inputs[0], facts[0].schema
        if not chunk.rows:
            return chunk, state
        table = joined(state.row, chunk)
        positions = self.numbers(table.columns[0], schema[0])
        gaps = self._gaps(table, positions, schema)
        gaps[: state.row.rows] = -1  # the row of the state has been given out already
        owner = np.repeat(np.arange(table.rows), gaps + 1)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(gaps + 1) - (gaps + 1), gaps + 1)
        is_new = number < gaps[owner]
        source = np.where(is_new, owner - 1, owner)
        result = np.where(is_new, positions[source] + 1 + number, positions[owner])
        taken, blank = pa.array(source), pa.array(source, mask=is_new)
        columns = [self.labels(result, table.columns[0].take(taken), schema[0])]
        for position in range(1, len(schema)):
            kept = self.forward or position <= self.keys
            columns.append(table.columns[position].take(taken if kept else blank))
        return Chunk(tuple(columns), len(owner)), LastRow(chunk.slice(chunk.rows - 1, chunk.rows))

    def _gaps(self, table: Chunk, positions: np.ndarray, schema: Schema) -> np.ndarray:
        """Return for each row the number of labels missing before it."""
        starts = run_starts(table.columns[1 : 1 + self.keys], schema[1 : 1 + self.keys], table.rows)
        gaps = np.zeros(table.rows, dtype=np.uint64)
        # Labels ascend, so unsigned 64-bit ints hold the distance between any two. For the total a float is exact enough.
        gaps[1:] = np.maximum(np.diff(positions.view(np.uint64)), 1) - 1
        gaps[starts] = 0
        total = int(gaps.sum(dtype=np.float64))
        if total > MAX_NEW_ROWS:
            raise ExecutionError(f"there are about {total} intervals ({self.grid.length()}) without rows between two rows: choose longer intervals")
        return gaps.astype(np.int64)

    def numbers(self, column: pa.Array, column_type: ColumnType) -> np.ndarray:
        """Return the numbers of labels: those of neighbouring intervals differ by 1."""
        return numbers_of_labels(plain_numbers(comparable(column, column_type)), self.grid)

    def labels(self, numbers: np.ndarray, like: pa.Array, column_type: ColumnType) -> pa.Array:
        """Return the labels with some numbers; zoned date-times have the offsets of the grid's zone, or those of ``like``."""
        labels = pa.array(labels_of_numbers(numbers, self.grid, column_type.kind == FLOAT_KIND))
        if column_type.is_numeric:
            return labels
        instants = labels.cast(pa.timestamp("us"))
        if not column_type.is_zoned:
            return instants
        return zoned_array(instants, pc.struct_field(with_labels_offsets(labels, like, self.grid), "offset"), instants.is_valid())

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the rows and the new ones: each row is exploded to the multiples after the row before it in its run, up to its own."""
        from pyspark.sql import Window, functions as F

        from sframe_spark.compute.spark_columns import fit, spark_type
        from sframe_spark.session.spark_versions import arrow_function

        relation = numbered_runs(inputs[0], range(1, 1 + self.keys))
        df, schema = relation.df, relation.schema
        label = schema[0]

        def positions(values: pa.Array) -> pa.Array:
            return pa.array(self.numbers(fit(values, label.physical), label))

        def labels(numbers: pa.Array, like: pa.Array) -> pa.Array:
            return self.labels(numbers.to_numpy(zero_copy_only=False), fit(like, label.physical), label)

        window = Window.partitionBy(df["run"]).orderBy(*(relation.order() or [F.lit(0)]))
        df = df.withColumn("place", arrow_function(positions, "bigint").asNondeterministic()(df["c0"]))
        before = [F.lag(df[name]).over(window).alias(f"b{name}") for name in ("place", *relation.columns)]
        df = df.select(*relation.columns, *relation.hidden, "place", *before)
        first = F.least(df["bplace"] + 1, df["place"])  # only the row's own multiple if there is no row before it
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
        return f"{self.grid.length()}, {self.keys} key(s), {'forward' if self.forward else 'missing'}"


def resample(
    node: PlannerNode,
    intervals: AssignIntervals,
    by: Sequence[int],
    aggregations: Sequence[Aggregation],
    forward: bool,
    bounds: LabelBounds | None = None,
) -> PlannerNode:
    """Return a node with one row per interval, from the first with rows to the last, for each value of ``by``; ascending by label, then by key.

    With bounds the first or the last interval is the same for all keys.
    """
    below, positions, moved = narrowed(node, [intervals.position, *by], aggregations)
    bounds = bounds or LabelBounds()
    grouped = group_assigned(sort_rows(below, [(positions[0], True)]), intervals, positions, moved, bounds)
    ends = bounds.outside(grouped, len(by))
    fill = FillIntervals(intervals.grid, len(by), forward)
    if not by:
        if ends:
            # The label before all comes first, that after all last.
            parts = [grouped, *ends] if bounds.before is None else [ends[0], grouped, *ends[1:]]
            grouped = assume_order(append(*parts), [(0, True)])
        return bounds.keep(fill.make_planner_node(grouped), 0)
    keys = [(position, True) for position in range(1, 1 + len(by))]
    # Gaps are found key by key, and the result is ordered label by label. That takes two sorts, of only one row per label and key.
    key_by_key = sort_rows(append(grouped, *ends) if ends else grouped, [*keys, (0, True)])
    return sort_rows(bounds.keep(fill.make_planner_node(key_by_key), 0), [(0, True), *keys])
