"""The operator that unites the rows of two inputs, both sorted by the same columns, in that order; it does not join rows.

Kernels compute each range of output rows independently, so not all rows have to be sorted. In Spark it is a sort of the union.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.compute.sorting_and_searching import first_break, sort_parts_of
from sframe_spark.errors import InvalidArgumentError, LengthMismatchError
from sframe_spark.operators.append import Append, append_relations
from sframe_spark.operators.lookup.cached_reader import Lookup, as_lookup
from sframe_spark.operators.lookup.key_numbers_and_group_codes import Positions
from sframe_spark.operators.sort_top_rows_and_assumed_order import Sort, moved_order
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties, requirement
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Need, Operator, Origin
from sframe_spark.planner.operator_declarations import RowChoice
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.storage.manifest.column_statistics import Scalar
from sframe_spark.storage.segments.column_statistics_collection import compare_scalars
from sframe_spark.types import ColumnType

SIDES = ("first", "second")


@register
@attrs.frozen
class MergeSorted(Operator):
    """All rows of two inputs in the order of some columns; if rows tie, the rows of the first input come first.

    Both inputs must be in that order (ascending: missing first, NaN last), which is checked while rows are read.

    Parameters
    ----------
    by
        Pairs of column position and whether it ascends.
    columns
        The user's names of the columns in ``by``, for messages.
    """

    name: ClassVar[str] = "merge_sorted"
    arity: ClassVar[int | None] = 2
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    row_choice: ClassVar[RowChoice | None] = RowChoice.OTHER
    keeps_dense: ClassVar[bool] = True
    by: tuple[tuple[int, bool], ...]
    columns: tuple[str, ...]

    def as_read(self) -> MergeSorted:
        """Check that there is a key, and a name for each key."""
        if not self.by or len(self.by) != len(self.columns):
            raise InvalidArgumentError(f"the plan's text orders rows by {len(self.by)} columns and names {len(self.columns)}")
        return self

    @property
    def positions(self) -> list[int]:
        """Positions of the columns in ``by``."""
        return [position for position, _ in self.by]

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the column types, which both inputs share.

        Raises
        ------
        RuntimeError
            If the types differ.
        """
        if inputs[0].schema != inputs[1].schema:
            raise LengthMismatchError("merge_sorted() takes inputs of equal column types")
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return Append().infer_length(inputs)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return the properties of rows merged in this order; other orders are lost."""
        by = requirement(self.by)
        first, second = (rows.order.add(orderings=[by]) for rows in inputs)
        return RelationProperties(derive.merge_sorted(first, second, by))

    def column_origins(self, inputs: Sequence[Facts]) -> Sequence[Sequence[Origin]]:
        return [[(0, position), (1, position)] for position in range(inputs[0].width)]

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the required columns and the key columns."""
        return [sorted({*outputs, *self.positions})] * 2

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        return attrs.evolve(self, by=moved_order(self.by, kept[0])), kept[0]

    def requires(self, slot: int) -> Need:
        """Return ``LOOKUP``: rows of both inputs are read by index."""
        return Need.LOOKUP

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        sides = [as_lookup(rows, item.schema) for rows, item in zip(inputs, facts, strict=True)]
        return self.run_interval(sides, facts, 0, sum(side.rows for side in sides), ())

    def run_interval(self, inputs: Sequence[Any], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """Return output rows ``start`` to ``stop``: the rows of both inputs between two cuts."""
        schema = facts[0].schema
        firsts, lasts = self._cut(inputs, start), self._cut(inputs, max(start, stop))
        parts = [self._rows(side, inputs[side], firsts[side], lasts[side]) for side in range(2)]
        rows = concatenate(parts, schema)
        order = sort_order(rows, schema, self.by)
        return rows if order is None else rows.rows_at(order)

    def _cut(self, inputs: Sequence[Lookup], rows: int) -> tuple[int, int]:
        """Return how many rows of each input are among the first ``rows`` rows of the output.

        Source: the merge path of Odeh, Green, Mwassi, Shmueli and Birk (2012). Bisection finds the first row of the first input that comes after its
        counterpart in the second input, where the two row indices add up to ``rows - 1``.
        """
        first, second = inputs
        cuts: dict[int, tuple[int, int]] = first.note((self, "cut"), dict)
        if rows not in cuts:
            low, high = max(0, rows - second.rows), min(rows, first.rows)
            while low < high:
                middle = (low + high) // 2
                if self._comes_first(self._key(first, middle), self._key(second, rows - middle - 1)):
                    low = middle + 1
                else:
                    high = middle
            # Only the last cut is kept, because the end of one batch is the start of the next.
            cuts.clear()
            cuts[rows] = (low, rows - low)
        return cuts[rows]

    def _key(self, side: Lookup, row: int) -> list[Scalar]:
        chunk = side.read(row, row + 1, self.positions)
        return [comparable(column, side.schema[position])[0].as_py() for column, position in zip(chunk.columns, self.positions, strict=True)]

    def _comes_first(self, first: Sequence[Scalar], second: Sequence[Scalar]) -> bool:
        """Return whether a key of the first input does not come after a key of the second."""
        for left, right, (_, ascending) in zip(first, second, self.by, strict=True):
            comparison = compare_scalars(left, right)
            if comparison:
                return (comparison < 0) == ascending
        return True

    def _rows(self, number: int, side: Lookup, first: int, last: int) -> Chunk:
        """Return rows of one input, after checking that no row should come before the row above it."""
        before = max(first - 1, 0) if first < last else first
        rows, directions = side.next_rows(first, last), [up for _, up in self.by]
        keys = [side.read(before, first, self.positions), rows.select(self.positions)]
        result = first_break(keys, tuple(side.schema[p] for p in self.positions), list(enumerate(directions)))
        if result is not None:
            raise InvalidArgumentError(unsorted_message(self.columns, directions, SIDES[number], before + result[0]))
        return rows

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a stable sort of the union of both inputs."""
        return Sort(self.by).plan_to_operator([append_relations(inputs)], context)


def unsorted_message(columns: Sequence[str], directions: Sequence[bool], side: str, row: int) -> str:
    """Return the message about the first row that is out of order.

    Examples
    --------
    >>> unsorted_message(["t", "id"], [True, True], "first", 3)
    "merge_sorted: row 3 of the first frame is out of order, it comes before the row above it: use sort(['t', 'id'])"
    """
    pairs = list(zip(columns, directions, strict=True))
    order = pairs if not all(directions) else list(columns) if len(columns) > 1 else columns[0]
    return f"merge_sorted: row {row} of the {side} frame is out of order, it comes before the row above it: use sort({order!r})"


def comparable(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """Return the column with date-times as microseconds of their instants, so that ints compare as the values do."""
    if column_type.is_zoned:
        column = pc.struct_field(column, "instant")
    return column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column


def sort_order(rows: Chunk, schema: Schema, by: Sequence[tuple[int, bool]]) -> Positions | None:
    """Return row indices in a stable sort order; None if the rows are in order already.

    Examples
    --------
    >>> from sframe_spark.types import INT
    >>> sort_order(Chunk.of([pa.array([1, 1, 1]), pa.array([5, None, 7])]), (INT, INT), [(0, True), (1, False)]).tolist()
    [2, 0, 1]
    """
    (position, ascending), *others = by
    if ascending and not others:
        return ascending_order(rows.columns[position], schema[position])
    return None if first_break([rows], schema, by) is None else np.lexsort(sort_parts_of(rows, schema, by)[::-1])


def ascending_order(column: pa.Array, column_type: ColumnType) -> Positions | None:
    """Return row indices in a stable ascending order of one column; None if it is found to be in order already."""
    column = comparable(column, column_type)
    if pa.types.is_string(column.type):
        # Arrow's sort is stable and puts missing values last.
        return np.roll(pc.sort_indices(column).to_numpy(), column.null_count)
    numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
    if not column.null_count:
        # NumPy's stable sort merges two ascending runs in one pass, with NaN last. Comparisons with NaN are false, so NaN never counts as in order.
        return None if bool((numbers[1:] >= numbers[:-1]).all()) else np.argsort(numbers, kind="stable")
    return np.lexsort((numbers, column.is_valid().to_numpy(zero_copy_only=False)))


def merge_sorted(first: PlannerNode, second: PlannerNode, by: Sequence[tuple[int, bool]], columns: Sequence[str]) -> PlannerNode:
    """Return a node with the rows of two nodes, in the order of columns by which both are sorted."""
    return MergeSorted(tuple(by), tuple(columns)).make_planner_node(first, second)
