"""Aggregates over windows of a key: for each row, aggregates of all rows whose key is near the key of the row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import permutations
from operator import and_
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.exact_float_distances import is_from, is_until
from sframe_spark.compute.key_equality_and_codes import comparable_column
from sframe_spark.compute.sorting_and_searching import first_break, order_of, sort_parts_of
from sframe_spark.errors import SchemaError
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
from sframe_spark.operators.joins.asof_join import NearKeys, searched_in_order
from sframe_spark.operators.joins.union_of_sorted_inputs import comparable
from sframe_spark.operators.joins.window_bounds import CLOSED, WindowBounds, check_window, smallest, whole_distance
from sframe_spark.operators.lookup.cached_reader import Lookup, as_lookup
from sframe_spark.operators.lookup.key_numbers_and_group_codes import (
    WIDE,
    Flags,
    GroupCodes,
    Numbers,
    Positions,
    check_keys,
    compare_as_float,
    distance_column,
    key_column,
    key_numbers,
)
from sframe_spark.operators.lookup.nearest_key_search import BlockIndex, KeySearch, ProbeKeys, ascending_by, key_run, known_ascending
from sframe_spark.operators.project_zip_arrange import Project, new_positions
from sframe_spark.planner.chunk import Chunk, stacked
from sframe_spark.planner.length_and_order_inference import is_in_order
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_parameters import column_positions, one_of
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.storage.manifest.column_statistics import Scalar
from sframe_spark.storage.segments.column_statistics_collection import compare_scalars
from sframe_spark.types import FLOAT_KIND

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Lowering to Spark: a join on the range of keys, followed by a group-by on the left row.


def window_relation(left: Relation, right: Relation, window: KeyWindow, way: QueryProperties) -> Relation:
    """Return the left rows with the aggregates of their windows; a row with an empty window gets the aggregates of no rows."""
    from pyspark.sql import functions as F

    left, schema = left.rekeyed("l").with_position(), right.schema
    number = str(left.position)
    rows = with_order_column(right)
    rows = attrs.evolve(rows, df=rows.df.select(*rows.columns, ORDER_COLUMN))
    names = [f"a{i}" for i in range(len(window.aggregations))]
    probes = left.df.select(F.col(number).alias("n"), *[F.col(f"c{p}").alias(f"asked{i}") for i, p in enumerate(window.probes)])
    joined = joined_windows(rows.df, probes, left.schema, schema, window)
    result = aggregated(joined, attrs.evolve(rows, df=joined), window, ["n"], way).withColumn("found", F.lit(True))
    nothing = rows.df.where(F.lit(False))
    empty = aggregated(nothing, attrs.evolve(rows, df=nothing), window, [], way).withColumnsRenamed({name: f"{name}_empty" for name in names})
    both = left.df.withColumn("n", F.col(number)).join(result, "n", "left").crossJoin(empty)
    columns = [F.col(f"c{position}") for position in window.kept]
    columns += [F.when(F.col("found"), F.col(name)).otherwise(F.col(f"{name}_empty")) for name in names]
    types = (*[left.schema[position] for position in window.kept], *[a.infer(schema) for a in window.aggregations])
    return Relation(both.select(*[column.alias(f"c{i}") for i, column in enumerate(columns)], *left.hidden), types, left.key, left.position)


def joined_windows(rows: DataFrame, probes: DataFrame, left: Schema, right: Schema, window: KeyWindow) -> DataFrame:
    """Return each row of the second input once for each window that it is in."""
    from pyspark.sql import Window, functions as F

    on = window.probes[0]
    wide = "double" if FLOAT_KIND in (left[on].kind, right[window.on].kind) else WIDE
    key, center = key_column(F.col(f"c{window.on}"), right[window.on]).cast(wide), key_column(F.col("asked0"), left[on]).cast(wide)
    groups = [
        comparable_column(F.col(f"c{p}"), right[p]).eqNullSafe(comparable_column(F.col(f"asked{i + 1}"), right[p])) for i, p in enumerate(window.by)
    ]
    present, exact = key.isNotNull() & center.isNotNull(), wide == WIDE
    inside, after_start, entry = present, F.lit(True), F.lit(False)
    if window.after is not None and exact:
        inside &= key <= center + distance_column(whole_distance(window.after, window.excludes_end), wide)
    elif window.after is not None:
        inside &= is_until(key, center, window.after, including=not window.excludes_end)
    if window.before is not None and exact:
        after_start = key >= center - distance_column(whole_distance(window.before, window.excludes_start), wide)
        entry = key <= center - distance_column(math.ceil(window.before), wide)
    elif window.before is not None:
        after_start = is_from(key, center, -window.before, including=not window.excludes_start)
        entry = is_until(key, center, -window.before)
    if not window.prevailing:
        return rows.join(probes, reduce(and_, [inside, after_start, *groups]))
    joined = rows.join(probes, reduce(and_, [present, *groups])).withColumn("inside", inside & after_start)
    joined = joined.withColumn("place", F.struct(key.alias("key"), F.col(ORDER_COLUMN).alias("order"))).withColumn("entry", entry)
    last = F.max(F.when(F.col("entry"), F.col("place"))).over(Window.partitionBy("n"))
    return joined.withColumn("last", last).where(F.col("inside") | (F.col("entry") & (F.col("place") == F.col("last")))).drop("last", "place")


def aggregated(df: DataFrame, rows: Relation, window: KeyWindow, names: list[str], way: QueryProperties) -> DataFrame:
    """Return the aggregates of each group of rows."""
    aggregates = [aggregate_in_spark(a, rows, way) for a in window.aggregations]
    made, finished = grouped_in_spark(df, names, names, aggregates)
    return made.select(*names, *[column.alias(f"a{i}") for i, column in enumerate(finished)])


# To limit memory, rows are divided if their windows together span at least this many blocks, and at least twice as many blocks as a single window.
MAX_BLOCKS = 8
# For up to this many columns, every order that rows may be in is tried.
MAX_PERMUTED = 3


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
    is_hollow
        Whether no key can lie between the ends of the window.
    entry
        Where each window starts, whether or not it contains that key; None if the row that prevails there does not matter.
    """

    rows: Positions
    low: Numbers
    high: Numbers
    codes: Positions
    is_hollow: Flags
    entry: Numbers | None = None

    @property
    def furthest(self) -> Numbers:
        """The largest key that matters to each row; never decreasing."""
        return self.high if self.entry is None else np.maximum(self.high, self.entry)

    def part(self, start: int, stop: int) -> Reach:
        """Return a slice of the rows."""
        return self.at(slice(start, stop))

    def at(self, chosen: Positions | slice) -> Reach:
        """Return the rows at some positions, in that order."""
        entry = None if self.entry is None else self.entry[chosen]
        return Reach(self.rows[chosen], self.low[chosen], self.high[chosen], self.codes[chosen], self.is_hollow[chosen], entry)


@register
@attrs.frozen
class KeyWindow(NearKeys):
    """For each row of the first input, aggregates over the rows of the second input whose key lies in a window around the row's key.

    The second input is in ascending order of the key, and aggregates see rows in that order. A row whose key is missing or NaN has an empty window
    and is in no window. Missing group values are equal to each other.

    Parameters
    ----------
    on
        Position of the key column in the second input.
    by
        Positions of the columns of the second input in which rows of a window must be equal to the row of the first.
    before, after
        How far the window extends to smaller and to larger keys, in the unit of the key; None: without end. A negative distance leaves out the keys
        near the row's own.
    aggregations
        The aggregates to compute.
    kept
        Positions of the columns of the first input that come before the aggregates in the output.
    probe
        Positions of the key and of the columns ``by`` in the first input; empty: those of the second.
    closed
        Which ends are in the window: ``both``, ``left``, ``right`` or ``neither``.
    prevailing
        Whether the last row at or before the start of the window is in the window too, however far away it is.
    within_groups
        Whether both inputs are the same rows, in ascending order of ``by``, and only then of the key.
    """

    name: ClassVar[str] = "key_window"
    on: int = attrs.field(validator=column_positions)
    by: tuple[int, ...] = attrs.field(validator=column_positions)
    before: int | float | None
    after: int | float | None
    aggregations: tuple[Aggregation, ...]
    kept: tuple[int, ...] = attrs.field(default=(), validator=column_positions)
    probe: tuple[int, ...] = attrs.field(default=(), validator=column_positions)
    closed: str = attrs.field(default="both", validator=one_of(*CLOSED))
    prevailing: bool = False
    within_groups: bool = False

    @property
    def order(self) -> tuple[tuple[int, bool], ...]:
        """The order of the second input: pairs of column position and whether it ascends."""
        return (*((position, True) for position in self.by if self.within_groups), (self.on, True))

    @property
    def probes(self) -> tuple[int, ...]:
        """Positions of the key and of the group columns in the first input."""
        return self.probe or (self.on, *self.by)

    def over_probe(self, probe: Sequence[int]) -> KeyWindow:
        """Return the windows of rows of another input, given the positions of its key and its group columns."""
        return attrs.evolve(self, probe=tuple(probe))

    @property
    def excludes_start(self) -> bool:
        """Whether a key at the start of the window is outside of it."""
        return self.closed in ("right", "neither")

    @property
    def excludes_end(self) -> bool:
        """Whether a key at the end of the window is outside of it."""
        return self.closed in ("left", "neither")

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Return the aggregates that call no Python function."""
        width, aggregates = len(self.kept), [aggregation.on_columns(inputs[1].schema) for aggregation in self.aggregations]
        return [width + position for position, aggregate in enumerate(aggregates) if not aggregate.calls_python]

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the kept columns, followed by the types of the aggregates.

        Raises
        ------
        SchemaError
            If the keys have no distances or cannot be compared, the group columns cannot, or a window would end before it starts.
        """
        check_window(self.before, self.after)
        left, right = inputs[0].schema, inputs[1].schema
        on, *by = self.probes
        if len(by) != len(self.by):
            raise SchemaError(f"a window compares {len(by)} columns of one input with {len(self.by)} of the other")
        check_keys(left[on], right[self.on])
        for a, b in zip(by, self.by, strict=True):
            if left[a] != right[b]:
                raise SchemaError(f"rows cannot be grouped by columns of {left[a]} and {right[b]}: both must have the same type")
        return (*[left[position] for position in self.kept], *[aggregation.infer(right) for aggregation in self.aggregations])

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the required columns; none of the second input if no aggregate is required.

        If both inputs name the same columns, they are often one node, so that both get the same columns.
        """
        width = len(self.kept)
        left = [self.kept[o] for o in outputs if o < width]
        aggregations = used_aggregations(self.aggregations, width, outputs)
        if not aggregations:
            return [sorted(set(left)), []]
        read = grouped_columns((self.on, *self.by), aggregations)
        if not self.probe:
            return [used := sorted({*left, *read}), used]
        return [sorted({*left, *self.probe}), sorted(set(read))]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions, width = new_positions(kept[0]), len(self.kept)
        left = tuple(positions[self.kept[o]] for o in outputs if o < width)
        if not kept[1]:
            return Project(left), outputs
        probe, right = tuple(positions[p] for p in self.probe), new_positions(kept[1])
        aggregations = moved(used_aggregations(self.aggregations, width, outputs), kept[1])
        by = tuple(right[position] for position in self.by)
        return attrs.evolve(self, on=right[self.on], by=by, aggregations=aggregations, kept=left, probe=probe), outputs

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """Aggregate the windows of a batch of left rows, a few blocks of the second input at a time."""
        left, schema = inputs[0], facts[1].schema
        lookup = as_lookup(inputs[1], schema)
        search = lookup.note(self, lambda: self._search(lookup, facts))
        on, *by = self.probes
        keys, present = key_numbers(left.columns[on], facts[0].schema[on], search.as_float)
        codes, _ = search.groups.of([left.columns[position] for position in by], left.rows)
        bounds = WindowBounds.around(keys, self.before, self.after, self.closed)
        present &= bounds.has_keys & (lookup.block_count > 0)
        rows, nothing = np.flatnonzero(present), np.flatnonzero(~present)
        reach = Reach(
            np.arange(left.rows),
            bounds.low,
            bounds.high,
            codes,
            bounds.is_hollow,
            bounds.entry if self.prevailing and self.before is not None else None,
        )
        if len(nothing):
            reach, keys = reach.at(rows), keys[rows]
        batches = [(nothing, self._empty(len(nothing), schema))] if len(nothing) or not left.rows else []
        if self.within_groups:
            places = left.select((*self.probes[1:], on)).rows_at(reach.rows)
            types, order = (*(schema[position] for position in self.by), schema[self.on]), [(place, True) for place in range(1 + len(by))]
            if first_break([places], types, order) is not None:
                reach = reach.at(np.lexsort(sort_parts_of(places, types, order)[::-1]))
            parts = stretches_within_groups(reach, left.select(self.probes[1:]).columns, lookup, self)
            batches += [(part.rows, self._windows_within_groups(part, first, last, search)) for part, first, last in parts]
        else:
            if bool((keys[1:] < keys[:-1]).any()):
                reach = reach.at(np.argsort(keys, kind="stable"))
            parts = stretches(reach, lookup, self.on, search.as_float)
            batches += [(part.rows, self._windows(part, first, last, search)) for part, first, last in parts]
        return Chunk((*left.select(self.kept).columns, *in_row_order(batches, left.rows)), left.rows)

    def _search(self, lookup: Lookup, facts: Sequence[Facts]) -> KeySearch:
        """Return the search for keys, whose group codes serve both inputs."""
        groups = GroupCodes(tuple(lookup.schema[position] for position in self.by), keep_missing=True)
        return KeySearch(lookup, self.on, self.by, groups, compare_as_float(facts[0].schema[self.probes[0]], lookup.schema[self.on]))

    def _empty(self, rows: int, schema: Schema) -> Chunk:
        """Return the aggregates over no rows."""
        none = np.zeros(rows, dtype=np.int64)
        return self._aggregates(InputRows(Chunk.empty(schema).columns, 0), schema, RowWindows(none, none))

    def _aggregates(self, rows: InputRows, schema: Schema, windows: RowWindows) -> Chunk:
        """Return the aggregates of windows of rows."""
        return Chunk(tuple(values_of_windows([aggregation.on_columns(schema) for aggregation in self.aggregations], rows, windows)), len(windows))

    def _windows(self, reach: Reach, first: int, last: int, search: KeySearch) -> Chunk:
        """Return the aggregates for rows whose windows lie within some blocks."""
        lookup, schema = search.lookup, search.lookup.schema
        needed = tuple(dict.fromkeys([self.on, *self.by, *(position for a in self.aggregations for position in a.positions)]))
        begin = int(lookup.starts[first])
        keys, start = key_run(lookup.read(begin, int(lookup.starts[last + 1]), [self.on]).columns[0], schema[self.on], search.as_float)
        low = int(np.searchsorted(keys, reach.low[0]))
        high = max(low, int(np.searchsorted(keys, reach.furthest[-1], side="right")))
        # Of these blocks, only the rows that are in some window are read.
        begin += start + low
        chunk, keys = lookup.read(begin, begin + high - low, needed), keys[low:high]
        if reach.entry is not None:
            chunk, keys = self._with_rows_that_prevail(reach, search, begin, needed, chunk, keys)
        columns = dict(zip(needed, chunk.columns, strict=True))
        if not self.by:
            return self._of_index(BlockIndex.ungrouped(0, keys), columns, reach, schema)
        codes, present = search.groups.of([columns[position] for position in self.by], chunk.rows)
        index = BlockIndex.of(0, keys, codes, present)
        return self._of_index(index, {p: column.take(pa.array(index.order())) for p, column in columns.items()}, reach, schema)

    def _windows_within_groups(self, reach: Reach, first: int, last: int, search: KeySearch) -> Chunk:
        """Return the aggregates for rows whose windows lie within some blocks of rows that are sorted by group, and then by key."""
        lookup, schema = search.lookup, search.lookup.schema
        needed = tuple(dict.fromkeys([self.on, *self.by, *(position for a in self.aggregations for position in a.positions)]))
        begin, end = int(lookup.starts[first]), int(lookup.starts[last + 1])
        places = lookup.read(begin, end, [self.on, *self.by])
        keys, present = key_numbers(places.columns[0], schema[self.on])
        codes, _ = search.groups.of(places.columns[1:], places.rows)
        # Of these blocks, only the rows from the one before the first window to the last window are read.
        inside = np.flatnonzero((codes == reach.codes[0]) & (keys >= reach.low[0]))
        start = max(int(inside[0]) - 1, 0) if len(inside) else 0
        inside = np.flatnonzero((codes == reach.codes[-1]) & (keys <= reach.furthest[-1]))
        stop = max(int(inside[-1]) + 1 if len(inside) else len(keys), start)
        known = start + np.flatnonzero(present[start:stop])
        order = known[order_of([keys[known]])]
        index = BlockIndex.of(0, keys[order], codes[order], np.ones(len(order), dtype=bool))
        chunk = lookup.read(begin + start, begin + stop, needed)
        rows = pa.array(order[index.order()] - start)
        return self._of_index(index, {p: column.take(rows) for p, column in zip(needed, chunk.columns, strict=True)}, reach, schema)

    def _of_index(self, index: BlockIndex, columns: Mapping[int, pa.Array], reach: Reach, schema: Schema) -> Chunk:
        """Return the aggregates of windows, given the columns of the indexed rows in the order of the index."""
        rows = InputRows([columns.get(position) for position in range(len(schema))], len(columns[self.on]))
        starts, stops = index.spans(reach.low, reach.high, reach.codes)
        if (is_hollow := reach.is_hollow | (reach.low > reach.high)).any():
            starts = np.where(is_hollow, stops, starts)
        if reach.entry is not None:
            group_starts, after_entry = index.spans(np.full_like(reach.entry, smallest(reach.entry)), reach.entry, reach.codes)
            is_entered, entered = after_entry > group_starts, after_entry - 1
            starts = np.where(is_entered, np.where(is_hollow, entered, np.minimum(starts, entered)), starts)
            stops = np.where(is_entered & is_hollow, after_entry, stops)
        return self._aggregates(rows, schema, RowWindows(starts, stops))

    def _with_rows_that_prevail(
        self, reach: Reach, search: KeySearch, begin: int, needed: Sequence[int], chunk: Chunk, keys: Numbers
    ) -> tuple[Chunk, Numbers]:
        """Return rows and keys from row ``begin`` on, after those rows before it that prevail at the start of a window: at most one of each group."""
        assert reach.entry is not None
        prevailing = search.nearest(ProbeKeys(reach.entry, reach.codes, np.ones(len(reach.codes), dtype=bool)), False, True, None)
        earlier = np.unique(prevailing[(prevailing >= 0) & (prevailing < begin)])
        if not len(earlier):
            return chunk, keys
        rows = search.lookup.take(earlier, needed)
        before, _ = key_numbers(rows.columns[0], search.lookup.schema[self.on], search.as_float)
        return (stacked([rows, chunk]) if chunk.rows else rows), np.concatenate([before, keys])

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a range join and a group-by, which only serve to test the kernel."""
        return window_relation(inputs[0], inputs[1], self, QueryProperties(context.summed))

    def describe(self) -> str:
        position = f"on c{self.on}" + (f" by {list(self.by)}" if self.by else "") + (f" beside {list(self.kept)}" if self.kept else "")
        position += f" of {list(self.probe)}" if self.probe else ""
        before, after = ("all" if distance is None else distance for distance in (self.before, self.after))
        position += " within groups" if self.within_groups else ""
        ends = ("" if self.closed == "both" else f" {self.closed}") + (" prevailing" if self.prevailing else "")
        return f"{position}; -{before}..+{after}{ends}; " + ", ".join(a.describe() for a in self.aggregations)


def stretches(reach: Reach, lookup: Lookup, on: int, as_float: bool = False) -> list[tuple[Reach, int, int]]:
    """Divide rows so that the windows of each part span few blocks; return each part with its first and last block."""
    if not len(reach.rows) or not lookup.block_count:
        return []
    fences = lookup.fences(on, as_float)

    def block_from(keys: Numbers, row: int, including: bool) -> int:
        return max(int(fences.last_block_from(keys[row : row + 1], including)[0]), 0)

    furthest = reach.furthest
    result: list[tuple[Reach, int, int]] = []
    waiting = [(0, len(reach.rows))]
    while waiting:
        start, stop = waiting.pop()
        first = block_from(reach.low, start, False)
        # An end that is left out may lie before a start that is.
        last = max(first, block_from(furthest, stop - 1, True))
        # Dividing rows does not help if a single window spans many blocks.
        max_blocks = max(MAX_BLOCKS, 2 * (block_from(furthest, start, True) - first + 1))
        if stop - start > 1 and last - first >= max_blocks:
            middle = (start + stop) // 2
            waiting += [(middle, stop), (start, middle)]
        else:
            result.append((reach.part(start, stop), first, last))
    return result


def stretches_within_groups(reach: Reach, by: Sequence[pa.Array], lookup: Lookup, window: KeyWindow) -> list[tuple[Reach, int, int]]:
    """Divide rows that are sorted by group and key so that the windows of each part span few blocks; return it with its first and last block."""
    if not len(reach.rows) or not lookup.block_count:
        return []
    firsts = lookup.note((window, "firsts"), dict[int, list[Scalar]])
    furthest = reach.furthest
    lowest = reach.low if reach.entry is None else np.minimum(reach.low, reach.entry)
    columns = [comparable(column, lookup.schema[position]) for column, position in zip(by, window.by, strict=True)]

    def first_of(number: int) -> list[Scalar]:
        if number not in firsts:
            start = int(lookup.starts[number])
            cells = lookup.read(start, start + 1, [*window.by, window.on]).columns
            firsts[number] = [comparable(cell, lookup.schema[p])[0].as_py() for cell, p in zip(cells, [*window.by, window.on], strict=True)]
        return firsts[number]

    def block_from(row: int, key: Any, including: bool) -> int:
        """Return the last block that starts before a key in the group of a row (``including``: or with it); 0 if there is none."""
        sought = [*(column[int(reach.rows[row])].as_py() for column in columns), key]
        low, high = 0, lookup.block_count
        while low < high:
            middle = (low + high) // 2
            comparison = next((c for c in map(compare_scalars, first_of(middle), sought) if c), 0)
            if comparison < 0 or (including and not comparison):
                low = middle + 1
            else:
                high = middle
        return max(low - 1, 0)

    result: list[tuple[Reach, int, int]] = []
    waiting = [(0, len(reach.rows))]
    while waiting:
        start, stop = waiting.pop()
        first = block_from(start, lowest[start].item(), False)
        last = max(first, block_from(stop - 1, furthest[stop - 1].item(), True))
        max_blocks = max(MAX_BLOCKS, 2 * (block_from(start, furthest[start].item(), True) - first + 1))
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


def key_window(node: PlannerNode, window: KeyWindow, of: PlannerNode | None = None) -> PlannerNode:
    """Return a node with the window aggregates of each row of a node, over its own rows or the rows ``of`` another node.

    Rows not in key order are sorted first, and the results sorted back.
    """
    if of is not None:
        return searched_in_order(window, node, window.probes[0], ascending_by(of, window.on))
    if known_ascending(node, window.on):
        return window.make_planner_node(node, node)
    for by in permutations(window.by) if len(window.by) <= MAX_PERMUTED else ():
        if is_in_order(node, [(position, True) for position in (*by, window.on)]):
            return attrs.evolve(window, by=by, within_groups=True).make_planner_node(node, node)
    return window.in_key_order(node, window.on)
