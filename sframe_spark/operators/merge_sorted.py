"""Two sorted inputs merged into one, without a sort and without an exchange: every range of output rows is cut out of both on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import InvalidArgumentError, LengthMismatchError
from sframe_spark.operators.lookup import Lookup, as_lookup
from sframe_spark.operators.lookup_keys import Positions
from sframe_spark.operators.order_check import column_steps
from sframe_spark.operators.rows import append_relations
from sframe_spark.operators.sort import Sort
from sframe_spark.planner.chunk import Chunk, concatenate
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import Need, Operator
from sframe_spark.planner.properties import derive
from sframe_spark.planner.properties.relation import RelationProperties
from sframe_spark.planner.registry import register
from sframe_spark.planner.relation import LoweringContext, Relation
from sframe_spark.storage.manifest import Scalar
from sframe_spark.storage.statistics import compare_scalars
from sframe_spark.types import ColumnType

SIDES = ("first", "second")


@register
@attrs.frozen
class MergeSorted(Operator):
    """All rows of two inputs in ascending order of a column, of equal rows those of the first input first.

    Both inputs are in that order (missing first, NaN last); each pair of neighbours is checked when it is read.

    Parameters
    ----------
    on
        Position of the column.
    column
        What users call the column, for messages.
    """

    name: ClassVar[str] = "merge_sorted"
    arity: ClassVar[int | None] = 2
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True
    on: int
    column: str

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The common types.

        Raises
        ------
        RuntimeError
            If the types differ.
        """
        if inputs[0].schema != inputs[1].schema:
            raise LengthMismatchError("merge_sorted takes inputs of equal column types")
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """The sum of the lengths."""
        first, second = inputs[0].length, inputs[1].length
        if first.rows is not None and second.rows is not None:
            return Length.exactly(first.rows + second.rows)
        known = first.at_most is not None and second.at_most is not None
        return Length.unknown(at_most=(first.at_most or 0) + (second.at_most or 0) if known else None)

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Those of a merge of rows in this order: others do not get through."""
        by = [(self.on, "asc")]
        first, second = (rows.order.add(orderings=[by]) for rows in inputs)
        return RelationProperties(derive.merge_sorted(first, second, by))

    def requires(self, slot: int) -> Need:
        """Both inputs are searched."""
        return Need.LOOKUP

    def kernel(self, inputs: Sequence[Any], facts: Sequence[Facts]) -> Chunk:
        """All rows."""
        sides = [as_lookup(rows, item.schema) for rows, item in zip(inputs, facts, strict=True)]
        return self.run_interval(sides, facts, 0, sum(side.rows for side in sides), ())

    def run_interval(self, inputs: Sequence[Any], facts: Sequence[Facts], start: int, stop: int, intervals: Sequence[tuple[int, int]]) -> Chunk:
        """Output rows ``start..stop``: the rows of both inputs between two cuts."""
        kind = facts[0].schema[self.on]
        firsts, lasts = self._cut(inputs, start), self._cut(inputs, max(start, stop))
        parts = [self._rows(side, inputs[side], firsts[side], lasts[side], kind) for side in range(2)]
        both = concatenate(parts, facts[0].schema)
        order = sorted_places(both.columns[self.on], kind)
        return both if order is None else Chunk(tuple(column.take(pa.array(order)) for column in both.columns), both.rows)

    def _cut(self, inputs: Sequence[Lookup], rows: int) -> tuple[int, int]:
        """How many rows of each input are among the first rows of the output.

        Source: the merge path of Odeh, Green, Mwassi, Shmueli and Birk (2012): a bisection for the row of the first input at which its key is above
        that of the second input's row across from it.
        """
        first, second = inputs
        known: dict[int, tuple[int, int]] = first.note((self, "cut"), dict)
        if rows not in known:
            low, high = max(0, rows - second.rows), min(rows, first.rows)
            while low < high:
                middle = (low + high) // 2
                if compare_scalars(self._key(first, middle), self._key(second, rows - middle - 1)) <= 0:
                    low = middle + 1
                else:
                    high = middle
            # The end of one batch is the start of the next.
            known.clear()
            known[rows] = (low, rows - low)
        return known[rows]

    def _key(self, side: Lookup, row: int) -> Scalar:
        return scalar(side.read(row, row + 1, [self.on]).columns[0], side.schema[self.on])

    def _rows(self, number: int, side: Lookup, first: int, last: int, kind: ColumnType) -> Chunk:
        """Rows of one input, after a look at each and the one before it."""
        before = max(first - 1, 0) if first < last else first
        bad = first_descent(side.read(before, last, [self.on]).columns[0], kind)
        if bad is not None:
            raise InvalidArgumentError(unsorted_message(self.column, SIDES[number], before + bad))
        return side.read(first, last)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """A stable sort of one input after the other."""
        return Sort(((self.on, True),)).plan_to_operator([append_relations(inputs)], context)


def unsorted_message(column: str, side: str, row: int) -> str:
    """What to tell about the first row that is out of order."""
    return f"merge_sorted: row {row} of the {side} frame is out of order, its {column!r} is below that of the row before it: use sort({column!r})"


def scalar(column: pa.Array, column_type: ColumnType) -> Scalar:
    """The first value of a column in the form in which values are compared."""
    value: Scalar = comparable(column, column_type)[0].as_py()
    return value


def comparable(column: pa.Array, column_type: ColumnType) -> pa.Array:
    """A column whose plain order is that of the values: date-times as microseconds of their instants."""
    if column_type.is_zoned:
        column = pc.struct_field(column, "instant")
    return column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column


def sorted_places(column: pa.Array, column_type: ColumnType) -> Positions | None:
    """Places of the values in ascending order, equal ones as they stand; None when they are in order."""
    column = comparable(column, column_type)
    if pa.types.is_string(column.type):
        # Arrow's sort is stable and puts missing values last.
        return np.roll(pc.sort_indices(column).to_numpy(), column.null_count)
    numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
    if not column.null_count:
        # Two ascending runs are merged in one pass, NaN last; comparing with NaN says nothing.
        return None if bool((numbers[1:] >= numbers[:-1]).all()) else np.argsort(numbers, kind="stable")
    return np.lexsort((numbers, column.is_valid().to_numpy(zero_copy_only=False)))


def first_descent(column: pa.Array, column_type: ColumnType) -> int | None:
    """Number of the first value that is below the one before it, None when there is none.

    Examples
    --------
    >>> from sframe_spark.types import FLOAT
    >>> first_descent(pa.array([None, 1.0, float("nan"), 2.0]), FLOAT)
    3
    """
    down = np.flatnonzero(column_steps(column, column_type) < 0)
    return int(down[0]) + 1 if len(down) else None


def merge_sorted(first: PlannerNode, second: PlannerNode, on: int, column: str) -> PlannerNode:
    """Rows of two nodes in the order of a column by which both are sorted."""
    return MergeSorted(on, column).make_planner_node(first, second)
