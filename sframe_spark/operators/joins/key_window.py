"""Aggregates over windows of a key: for each row all rows whose key is near its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.expressions.aggregates.aggregate_function import Way
from sframe_spark.operators.groupby.aggregation import Aggregation, grouped_columns, moved, used_aggregations
from sframe_spark.operators.joins.key_window_spark import window_relation
from sframe_spark.operators.joins.window_folds import aggregate_windows, are_lists_by_arrow
from sframe_spark.operators.lookup.key_search import BlockIndex, key_run
from sframe_spark.operators.lookup.numeric_keys import GroupCodes, Numbers, Positions, check_distances, check_keys, key_numbers
from sframe_spark.operators.lookup.order import known_ascending
from sframe_spark.operators.lookup.source_lookup import Lookup, as_lookup
from sframe_spark.operators.project import Project, places_of, project, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.sort import sort_rows
from sframe_spark.order.properties import RelationProperties
from sframe_spark.planner.chunk import Chunk, stacked
from sframe_spark.planner.facts import Facts, Schema
from sframe_spark.planner.lowering import LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator, Origin
from sframe_spark.planner.parameters import column_positions
from sframe_spark.planner.registry import register

# Rows whose windows reach over more blocks than this, and over twice those of one of them, are divided, so that memory stays bounded.
MOST_BLOCKS = 8


@attrs.frozen(eq=False)
class Reach:
    """Rows of a batch, in the order of their keys, and the ends of their windows.

    Parameters
    ----------
    rows
        Numbers of the rows in the batch.
    low, high
        Smallest and largest key in each row's window.
    codes
        Each row's group.
    """

    rows: Positions
    low: Numbers
    high: Numbers
    codes: Positions

    def part(self, start: int, stop: int) -> Reach:
        """Some of the rows."""
        return Reach(self.rows[start:stop], self.low[start:stop], self.high[start:stop], self.codes[start:stop])


@register
@attrs.frozen
class KeyWindow(Operator):
    """Beside each row of the first input aggregates over the rows of the second whose key lies in a window around its own.

    Both inputs have the same columns; the second is in ascending order of the key. Aggregates see the rows of a window in that order. The window of a
    row whose key is missing or NaN is empty, and such rows are in no window; a missing group value is a value like any other.

    Parameters
    ----------
    on
        Position of the key.
    by
        Positions of the columns that must be equal.
    before, after
        How far the window reaches to smaller and to larger keys, both ends included, in the unit of the key.
    aggregations
        What to compute.
    kept
        Positions of columns of the first input that come before the aggregates.
    """

    name: ClassVar[str] = "key_window"
    arity: ClassVar[int | None] = 2
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    keeps_domain: ClassVar[bool] = True
    on: int = attrs.field(validator=column_positions)
    by: tuple[int, ...] = attrs.field(validator=column_positions)
    before: int | float
    after: int | float
    aggregations: tuple[Aggregation, ...]
    kept: tuple[int, ...] = attrs.field(default=(), validator=column_positions)

    @property
    def filtered_slots(self) -> Sequence[int]:
        """Each row of the first input is searched for by itself."""
        return (0,)

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        """Columns kept."""
        return [[(0, position)] for position in self.kept]

    def computed_by_arrow(self, inputs: Sequence[Facts]) -> Sequence[int]:
        """Lists of plain values."""
        width, schema = len(self.kept), inputs[1].schema
        return [width + place for place, aggregation in enumerate(self.aggregations) if are_lists_by_arrow(aggregation, schema)]

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Types of the columns kept and of the aggregates.

        Raises
        ------
        SchemaError
            If the key has no distances, or one of the window is negative.
        """
        check_distances(self.before, self.after)
        schema = inputs[1].schema
        check_keys(schema[self.on], schema[self.on])
        return (*[inputs[0].schema[position] for position in self.kept], *[aggregation.infer(schema) for aggregation in self.aggregations])

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """What is known of the columns kept; the rows stay in their order."""
        return inputs[0].project([*self.kept, *[None] * len(self.aggregations)])

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """What takes part, the same of both inputs, which are often one node; no row is searched if no aggregate is read."""
        width = len(self.kept)
        left = [self.kept[o] for o in outputs if o < width]
        aggregations = used_aggregations(self.aggregations, width, outputs)
        if not aggregations:
            return [sorted(set(left)), []]
        used = sorted({*left, *grouped_columns((self.on, *self.by), aggregations)})
        return [used, used]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """The same windows of fewer columns."""
        places, width = places_of(kept[0]), len(self.kept)
        left = tuple(places[self.kept[o]] for o in outputs if o < width)
        if not kept[1]:
            return Project(left), outputs
        aggregations = moved(used_aggregations(self.aggregations, width, outputs), kept[0])
        by = tuple(places[position] for position in self.by)
        return attrs.evolve(self, on=places[self.on], by=by, aggregations=aggregations, kept=left), outputs

    def requires(self, slot: int) -> Need:
        """The first input as it comes, the second to be searched."""
        return Need.LOOKUP if slot else Need.INHERITED

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """Windows of the first input's rows, a stretch of the second at a time."""
        left, schema = inputs[0], facts[1].schema
        lookup = as_lookup(inputs[1], schema)
        groups = lookup.note(self, lambda: GroupCodes(tuple(schema[position] for position in self.by), keep_missing=True))
        keys, there = key_numbers(left.columns[self.on], schema[self.on])
        codes, _ = groups.of([left.columns[position] for position in self.by], left.rows)
        there &= lookup.block_count > 0
        rows, nothing = np.flatnonzero(there), np.flatnonzero(~there)
        if len(nothing):
            keys, codes = keys[rows], codes[rows]
        if bool((keys[1:] < keys[:-1]).any()):
            order = np.argsort(keys, kind="stable")
            rows, keys, codes = rows[order], keys[order], codes[order]
        reach = Reach(rows, lowered(keys, self.before), raised(keys, self.after), codes)
        pieces = [(nothing, self._empty(len(nothing), schema))] if len(nothing) or not left.rows else []
        pieces += [(part.rows, self._windows(part, first, last, lookup, groups)) for part, first, last in stretches(reach, lookup, self.on)]
        return Chunk((*left.select(self.kept).columns, *in_place(pieces, left.rows)), left.rows)

    def _empty(self, rows: int, schema: Schema) -> Chunk:
        """Aggregates over no rows."""
        none = np.zeros(rows, dtype=np.int64)
        columns = Chunk.empty(schema).columns
        return Chunk(tuple(aggregate_windows(a, columns, schema, none, none) for a in self.aggregations), rows)

    def _windows(self, reach: Reach, first: int, last: int, lookup: Lookup, groups: GroupCodes) -> Chunk:
        """Aggregates of rows whose windows lie within some blocks."""
        schema = lookup.schema
        needed = tuple(dict.fromkeys([self.on, *self.by, *(position for a in self.aggregations for position in a.positions)]))
        begin = int(lookup.starts[first])
        keys, start = key_run(lookup.read(begin, int(lookup.starts[last + 1]), [self.on]).columns[0], schema[self.on])
        low, high = np.searchsorted(keys, reach.low[0]), np.searchsorted(keys, reach.high[-1], side="right")
        # Of blocks that are put together there are no more rows than windows reach over.
        chunk, keys = lookup.read(begin + start + int(low), begin + start + int(high), needed), keys[low:high]
        columns = dict(zip(needed, chunk.columns, strict=True))
        if self.by:
            codes, there = groups.of([columns[position] for position in self.by], chunk.rows)
            index = BlockIndex.of(0, keys, codes, there)
            columns = {position: column.take(pa.array(index.order())) for position, column in columns.items()}
        else:
            index = BlockIndex.ungrouped(0, keys)
        starts, stops = index.spans(reach.low, reach.high, reach.codes)
        arrays = [columns.get(position) for position in range(len(schema))]
        return Chunk(tuple(aggregate_windows(a, arrays, schema, starts, stops) for a in self.aggregations), len(reach.rows))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """A join on the key's range and a group-by: only a cross-check of the kernel."""
        return window_relation(inputs[0], inputs[1], self, Way(context.summed))

    def describe(self) -> str:
        """Key, window and aggregates."""
        place = f"on c{self.on}" + (f" by {list(self.by)}" if self.by else "") + (f" beside {list(self.kept)}" if self.kept else "")
        return f"{place}; -{self.before}..+{self.after}; " + ", ".join(a.describe() for a in self.aggregations)


def lowered(keys: Numbers, distance: int | float) -> Numbers:
    """Keys minus a distance; ints not below the least int, which is exact: there is no key below it.

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
    """Keys plus a distance; ints not above the greatest int, which is exact: there is no key above it.

    Examples
    --------
    >>> raised(np.array([5, 2**63 - 2]), 2).tolist() == [7, 2**63 - 1]
    True
    """
    if keys.dtype.kind != "f":
        # The complement turns the order of ints round, and both ends have one.
        return ~moved_down(~keys, int(distance))
    with np.errstate(over="ignore", invalid="ignore"):
        return keys + distance


def moved_down(keys: Numbers, distance: int) -> Numbers:
    """Ints minus a distance of any size."""
    least, greatest = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)
    if distance > greatest - least:
        return np.full_like(keys, least)
    # As unsigned numbers, which a distance of 64 bits fits; where nothing wraps around the bits are those of the difference.
    moved = (keys.view(np.uint64) - np.uint64(distance)).view(np.int64)
    return np.where(keys < least + distance, least, moved)


def stretches(reach: Reach, lookup: Lookup, on: int) -> list[tuple[Reach, int, int]]:
    """The rows in parts whose windows reach over few blocks, each with its first and last block."""
    if not len(reach.rows) or not lookup.block_count:
        return []
    fences = lookup.fences(on)

    def block_from(keys: Numbers, row: int, including: bool) -> int:
        return max(int(fences.last_block_from(keys[row : row + 1], including)[0]), 0)

    found: list[tuple[Reach, int, int]] = []
    waiting = [(0, len(reach.rows))]
    while waiting:
        start, stop = waiting.pop()
        first, last = block_from(reach.low, start, False), block_from(reach.high, stop - 1, True)
        # A window that reaches over many blocks by itself is not made shorter by dividing the rows.
        most = max(MOST_BLOCKS, 2 * (block_from(reach.high, start, True) - first + 1))
        if stop - start > 1 and last - first >= most:
            middle = (start + stop) // 2
            waiting += [(middle, stop), (start, middle)]
        else:
            found.append((reach.part(start, stop), first, last))
    return found


def in_place(pieces: Sequence[tuple[Positions, Chunk]], rows: int) -> Sequence[pa.Array]:
    """Columns of pieces put together so that each row stands at its number."""
    order = np.concatenate([places for places, _ in pieces]) if pieces else np.zeros(0, dtype=np.int64)
    chunks = [chunk for _, chunk in pieces]
    together = chunks[0] if len(chunks) == 1 else stacked(chunks)
    if bool((order[1:] > order[:-1]).all()):
        return together.columns
    back = np.empty(rows, dtype=np.int64)
    back[order] = np.arange(rows)
    return [column.take(pa.array(back)) for column in together.columns]


def key_window(node: PlannerNode, window: KeyWindow) -> PlannerNode:
    """The aggregates beside each row of a node; rows that are not in the order of the key are sorted for it, and the answers back."""
    if known_ascending(node, window.on):
        return window.make_planner_node(node, node)
    width, found = node.facts.width, len(window.aggregations)
    ordered = sort_rows(zip_columns(node, row_number(node)), [(window.on, True)])
    answers = attrs.evolve(window, kept=(width,)).make_planner_node(ordered, ordered)
    return project(sort_rows(answers, [(0, True)]), range(1, found + 1))
