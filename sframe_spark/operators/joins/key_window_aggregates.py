"""Aggregates over windows of a key: for each row, aggregates of all rows whose key is near the key of the row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_equality_and_codes import comparable_column
from sframe_spark.expressions.aggregates.aggregate_function import QueryProperties
from sframe_spark.expressions.aggregates.aggregates_of_windows import values_of_windows
from sframe_spark.expressions.aggregates.input_rows_and_windows import InputRows, RowWindows
from sframe_spark.operators.groupby.aggregation_and_spark_lowering import (
    ORDER_COLUMN,
    Aggregation,
    aggregate_in_spark,
    grouped_columns,
    grouped_in_spark,
    moved,
    used_aggregations,
    with_order_column,
)
from sframe_spark.operators.joins.asof_join import NearKeys
from sframe_spark.operators.lookup.cached_reader import Lookup, as_lookup
from sframe_spark.operators.lookup.key_numbers_and_group_codes import (
    WIDE,
    GroupCodes,
    Numbers,
    Positions,
    check_distances,
    check_keys,
    distance_column,
    key_column,
    key_numbers,
)
from sframe_spark.operators.lookup.nearest_key_search import BlockIndex, key_run, known_ascending
from sframe_spark.operators.project_zip_arrange import Project, new_positions
from sframe_spark.planner.chunk import Chunk, stacked
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import FLOAT_KIND

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


# Lowering to Spark: a join on the range of keys, followed by a group-by on the left row.


def window_relation(left: Relation, right: Relation, window: KeyWindow, way: QueryProperties) -> Relation:
    """Return the left rows with the aggregates of their windows; a row with an empty window gets the aggregates of no rows."""
    from pyspark.sql import functions as F

    left, schema = left.rekeyed("l").with_position(), right.schema
    number = str(left.position)
    rows = with_order_column(right)
    rows = attrs.evolve(rows, df=rows.df.select(*rows.columns, ORDER_COLUMN))
    names = [f"a{i}" for i in range(len(window.aggregations))]
    probes = left.df.select(F.col(number).alias("n"), *[F.col(f"c{p}").alias(f"asked{p}") for p in (window.on, *window.by)])
    joined = rows.df.join(probes, in_window(schema, window))
    result = aggregated(joined, attrs.evolve(rows, df=joined), window, ["n"], way).withColumn("found", F.lit(True))
    nothing = rows.df.where(F.lit(False))
    empty = aggregated(nothing, attrs.evolve(rows, df=nothing), window, [], way).withColumnsRenamed({name: f"{name}_empty" for name in names})
    both = left.df.withColumn("n", F.col(number)).join(result, "n", "left").crossJoin(empty)
    columns = [F.col(f"c{position}") for position in window.kept]
    columns += [F.when(F.col("found"), F.col(name)).otherwise(F.col(f"{name}_empty")) for name in names]
    types = (*[left.schema[position] for position in window.kept], *[a.infer(schema) for a in window.aggregations])
    return Relation(both.select(*[column.alias(f"c{i}") for i, column in enumerate(columns)], *left.hidden), types, left.key, left.position)


def in_window(schema: Schema, window: KeyWindow) -> Column:
    """Return a Spark condition that says whether a row of the second input is in the window of a row of the first."""
    from pyspark.sql import functions as F

    kind = schema[window.on]
    wide = "double" if kind.kind == FLOAT_KIND else WIDE
    key, center = (key_column(F.col(f"{name}{window.on}"), kind).cast(wide) for name in ("c", "asked"))
    before, after = (distance_column(distance, wide) for distance in (window.before, window.after))
    low, high = center - before, center + after
    groups = [comparable_column(F.col(f"c{p}"), schema[p]).eqNullSafe(comparable_column(F.col(f"asked{p}"), schema[p])) for p in window.by]
    return reduce(and_, [key >= low, key <= high, *groups])


def aggregated(df: DataFrame, rows: Relation, window: KeyWindow, names: list[str], way: QueryProperties) -> DataFrame:
    """Return the aggregates of each group of rows."""
    aggregates = [aggregate_in_spark(a, rows, way) for a in window.aggregations]
    made, finished = grouped_in_spark(df, names, names, aggregates)
    return made.select(*names, *[column.alias(f"a{i}") for i, column in enumerate(finished)])


# To limit memory, rows are divided if their windows together span at least this many blocks, and at least twice as many blocks as a single window.
MAX_BLOCKS = 8


@attrs.frozen(eq=False)
class Reach:
    """Rows of a batch in the order of their keys, with the ends of their windows.

    Parameters
    ----------
    rows
        Indices of the rows within the batch.
    low, high
        Smallest and largest key in the window of each row.
    codes
        Code of the group of each row.
    """

    rows: Positions
    low: Numbers
    high: Numbers
    codes: Positions

    def part(self, start: int, stop: int) -> Reach:
        """Return a slice of the rows."""
        return Reach(self.rows[start:stop], self.low[start:stop], self.high[start:stop], self.codes[start:stop])


@register
@attrs.frozen
class KeyWindow(NearKeys):
    """For each row of the first input, aggregates over the rows of the second input whose key lies in a window around the row's key.

    Both inputs have the same columns. The second input is in ascending order of the key, and aggregates see rows in that order. A row whose key is
    missing or NaN has an empty window and is in no window. Missing group values are equal to each other.

    Parameters
    ----------
    on
        Position of the key column.
    by
        Positions of the columns in which rows of a window must be equal.
    before, after
        How far the window extends to smaller and to larger keys, in the unit of the key; both ends are included.
    aggregations
        The aggregates to compute.
    kept
        Positions of the columns of the first input that come before the aggregates in the output.
    """

    name: ClassVar[str] = "key_window"
    on: int = attrs.field(validator=column_positions)
    by: tuple[int, ...] = attrs.field(validator=column_positions)
    before: int | float
    after: int | float
    aggregations: tuple[Aggregation, ...]
    kept: tuple[int, ...] = attrs.field(default=(), validator=column_positions)

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Return the aggregates that call no Python function."""
        width, aggregates = len(self.kept), [aggregation.on_columns(inputs[1].schema) for aggregation in self.aggregations]
        return [width + position for position, aggregate in enumerate(aggregates) if not aggregate.calls_python]

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the kept columns, followed by the types of the aggregates.

        Raises
        ------
        SchemaError
            If the key has no distances, or a distance of the window is negative.
        """
        check_distances(self.before, self.after)
        schema = inputs[1].schema
        check_keys(schema[self.on], schema[self.on])
        return (*[inputs[0].schema[position] for position in self.kept], *[aggregation.infer(schema) for aggregation in self.aggregations])

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the same columns for both inputs, which are often one node; none of the second input if no aggregate is required."""
        width = len(self.kept)
        left = [self.kept[o] for o in outputs if o < width]
        aggregations = used_aggregations(self.aggregations, width, outputs)
        if not aggregations:
            return [sorted(set(left)), []]
        used = sorted({*left, *grouped_columns((self.on, *self.by), aggregations)})
        return [used, used]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions, width = new_positions(kept[0]), len(self.kept)
        left = tuple(positions[self.kept[o]] for o in outputs if o < width)
        if not kept[1]:
            return Project(left), outputs
        aggregations = moved(used_aggregations(self.aggregations, width, outputs), kept[0])
        by = tuple(positions[position] for position in self.by)
        return attrs.evolve(self, on=positions[self.on], by=by, aggregations=aggregations, kept=left), outputs

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """Aggregate the windows of a batch of left rows, a few blocks of the second input at a time."""
        left, schema = inputs[0], facts[1].schema
        lookup = as_lookup(inputs[1], schema)
        groups = lookup.note(self, lambda: GroupCodes(tuple(schema[position] for position in self.by), keep_missing=True))
        keys, present = key_numbers(left.columns[self.on], schema[self.on])
        codes, _ = groups.of([left.columns[position] for position in self.by], left.rows)
        present &= lookup.block_count > 0
        rows, nothing = np.flatnonzero(present), np.flatnonzero(~present)
        if len(nothing):
            keys, codes = keys[rows], codes[rows]
        if bool((keys[1:] < keys[:-1]).any()):
            order = np.argsort(keys, kind="stable")
            rows, keys, codes = rows[order], keys[order], codes[order]
        reach = Reach(rows, lowered(keys, self.before), raised(keys, self.after), codes)
        batches = [(nothing, self._empty(len(nothing), schema))] if len(nothing) or not left.rows else []
        batches += [(part.rows, self._windows(part, first, last, lookup, groups)) for part, first, last in stretches(reach, lookup, self.on)]
        return Chunk((*left.select(self.kept).columns, *in_row_order(batches, left.rows)), left.rows)

    def _empty(self, rows: int, schema: Schema) -> Chunk:
        """Return the aggregates over no rows."""
        none = np.zeros(rows, dtype=np.int64)
        return self._aggregates(InputRows(Chunk.empty(schema).columns, 0), schema, RowWindows(none, none))

    def _aggregates(self, rows: InputRows, schema: Schema, windows: RowWindows) -> Chunk:
        """Return the aggregates of windows of rows."""
        return Chunk(tuple(values_of_windows([aggregation.on_columns(schema) for aggregation in self.aggregations], rows, windows)), len(windows))

    def _windows(self, reach: Reach, first: int, last: int, lookup: Lookup, groups: GroupCodes) -> Chunk:
        """Return the aggregates for rows whose windows lie within some blocks."""
        schema = lookup.schema
        needed = tuple(dict.fromkeys([self.on, *self.by, *(position for a in self.aggregations for position in a.positions)]))
        begin = int(lookup.starts[first])
        keys, start = key_run(lookup.read(begin, int(lookup.starts[last + 1]), [self.on]).columns[0], schema[self.on])
        low, high = np.searchsorted(keys, reach.low[0]), np.searchsorted(keys, reach.high[-1], side="right")
        # Of these blocks, only the rows that are in some window are read.
        chunk, keys = lookup.read(begin + start + int(low), begin + start + int(high), needed), keys[low:high]
        columns = dict(zip(needed, chunk.columns, strict=True))
        if self.by:
            codes, present = groups.of([columns[position] for position in self.by], chunk.rows)
            index = BlockIndex.of(0, keys, codes, present)
            columns = {position: column.take(pa.array(index.order())) for position, column in columns.items()}
        else:
            index = BlockIndex.ungrouped(0, keys)
        rows = InputRows([columns.get(position) for position in range(len(schema))], chunk.rows)
        return self._aggregates(rows, schema, RowWindows(*index.spans(reach.low, reach.high, reach.codes)))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a range join and a group-by, which only serve to test the kernel."""
        return window_relation(inputs[0], inputs[1], self, QueryProperties(context.summed))

    def describe(self) -> str:
        position = f"on c{self.on}" + (f" by {list(self.by)}" if self.by else "") + (f" beside {list(self.kept)}" if self.kept else "")
        return f"{position}; -{self.before}..+{self.after}; " + ", ".join(a.describe() for a in self.aggregations)


def lowered(keys: Numbers, distance: int | float) -> Numbers:
    """Return keys minus a distance. Ints stop at the smallest int, which gives the same window, because no key is below it.

    Examples
    --------
    >>> lowered(np.array([5, -(2**63) + 1]), 2).tolist() == [3, -(2**63)]
    True
    >>> lowered(np.array([2**63 - 1]), 2**63).tolist(), lowered(np.array([2**63 - 1]), 2**70).tolist() == [-(2**63)]
    ([-1], True)
    """
    if keys.dtype.kind != "f":
        return moved_down(keys, int(distance))
    with np.errstate(over="ignore", invalid="ignore"):
        return keys - distance


def raised(keys: Numbers, distance: int | float) -> Numbers:
    """Return keys plus a distance. Ints stop at the largest int, which gives the same window, because no key is above it.

    Examples
    --------
    >>> raised(np.array([5, 2**63 - 2]), 2).tolist() == [7, 2**63 - 1]
    True
    """
    if keys.dtype.kind != "f":
        # The bitwise complement reverses the order of ints without overflow.
        return ~moved_down(~keys, int(distance))
    with np.errstate(over="ignore", invalid="ignore"):
        return keys + distance


def moved_down(keys: Numbers, distance: int) -> Numbers:
    """Return ints minus a distance of any size, stopping at the smallest int."""
    smallest, largest = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)
    if distance > largest - smallest:
        return np.full_like(keys, smallest)
    # Unsigned arithmetic takes any distance below 2**64, and gives the same bits if nothing wraps around.
    moved = (keys.view(np.uint64) - np.uint64(distance)).view(np.int64)
    return np.where(keys < smallest + distance, smallest, moved)


def stretches(reach: Reach, lookup: Lookup, on: int) -> list[tuple[Reach, int, int]]:
    """Divide rows so that the windows of each part span few blocks; return each part with its first and last block."""
    if not len(reach.rows) or not lookup.block_count:
        return []
    fences = lookup.fences(on)

    def block_from(keys: Numbers, row: int, including: bool) -> int:
        return max(int(fences.last_block_from(keys[row : row + 1], including)[0]), 0)

    result: list[tuple[Reach, int, int]] = []
    waiting = [(0, len(reach.rows))]
    while waiting:
        start, stop = waiting.pop()
        first, last = block_from(reach.low, start, False), block_from(reach.high, stop - 1, True)
        # Dividing rows does not help if a single window spans many blocks.
        max_blocks = max(MAX_BLOCKS, 2 * (block_from(reach.high, start, True) - first + 1))
        if stop - start > 1 and last - first >= max_blocks:
            middle = (start + stop) // 2
            waiting += [(middle, stop), (start, middle)]
        else:
            result.append((reach.part(start, stop), first, last))
    return result


def in_row_order(batches: Sequence[tuple[Positions, Chunk]], rows: int) -> Sequence[pa.Array]:
    """Return the columns of batches, each given with the indices of its rows, as columns of all rows in row order."""
    order = np.concatenate([positions for positions, _ in batches]) if batches else np.zeros(0, dtype=np.int64)
    chunks = [chunk for _, chunk in batches]
    combined = chunks[0] if len(chunks) == 1 else stacked(chunks)
    if bool((order[1:] > order[:-1]).all()):
        return combined.columns
    back = np.empty(rows, dtype=np.int64)
    back[order] = np.arange(rows)
    return [column.take(pa.array(back)) for column in combined.columns]


def key_window(node: PlannerNode, window: KeyWindow) -> PlannerNode:
    """Return a node with the window aggregates of each row of a node. Rows not in key order are sorted first, and the results sorted back."""
    if known_ascending(node, window.on):
        return window.make_planner_node(node, node)
    return window.in_key_order(node, window.on)
