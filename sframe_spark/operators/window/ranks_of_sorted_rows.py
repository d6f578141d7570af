"""The operator that numbers rows in the order of a value within each key, and the ranks that are made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_runs import run_starts
from sframe_spark.expressions.scalar_function_program import Literal
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.operators.project_zip_arrange import column_of, columns_of, new_positions, zip_columns
from sframe_spark.operators.row_number import row_number
from sframe_spark.operators.row_selection import reverse
from sframe_spark.operators.sort_top_rows_and_assumed_order import sort_rows
from sframe_spark.operators.window.rows_before_by_key import value_in_last_row
from sframe_spark.operators.window.running_by_group import collected_rows, window_so_far
from sframe_spark.planner.chunk import Chunk, joined
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Schema, require_columns
from sframe_spark.planner.operator import Operator, SequentialOperator
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.planner.registry import register
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.types import FLOAT, INT

METHODS = ("average", "min", "max", "dense", "first")


@attrs.frozen(eq=False)
class RanksSoFar:
    """The state of some consecutive rows. Counts are of rows with a value, within the last key of the rows.

    Parameters
    ----------
    schema
        Types of the columns.
    ends
        The first and the last row; no rows if there are none.
    rows
        How many rows the last key has.
    tied
        How many of them are equal to the last row.
    values
        How many distinct values it has.
    is_one_key, is_one_value
        Whether all rows have the same key, or the same key and value.
    """

    schema: Schema
    ends: Chunk
    rows: int = 0
    tied: int = 0
    values: int = 0
    is_one_key: bool = True
    is_one_value: bool = True


@register
@attrs.frozen
class RanksOfSortedRows(SequentialOperator):
    """For rows in the order of keys, then of a value: three numbers for each row, which are missing if the value is.

    They count within the key, from 1: the number of the row, the number of the first row that is equal to it, and the number of its value among the
    distinct values. Missing values are not counted. Values are equal as keys are: NaN equals NaN, both zeros, and date-times of one instant.

    Parameters
    ----------
    value
        Position of the column whose values are ranked.
    keys
        Positions of the key columns.
    """

    name: ClassVar[str] = "ranks_of_sorted_rows"
    value: int = attrs.field(validator=column_positions)
    keys: tuple[int, ...] = attrs.field(default=(), validator=column_positions)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        require_columns(inputs[0].schema, [self.value, *self.keys])
        return (INT, INT, INT)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        return [sorted({self.value, *self.keys})]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        positions = new_positions(kept[0])
        return RanksOfSortedRows(positions[self.value], tuple(positions[key] for key in self.keys)), range(3)

    def initial_state(self, facts: Sequence[Facts]) -> RanksSoFar:
        return RanksSoFar(facts[0].schema, Chunk.empty(facts[0].schema))

    def summarize(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> RanksSoFar:
        return self.advance(inputs, facts, self.initial_state(facts))[1]

    def ends_suffice(self, state: RanksSoFar) -> bool:
        """Return whether the rows have several keys: then counts are of the last key, and only the first may have begun before."""
        return not state.is_one_key

    def combine(self, first: RanksSoFar, second: RanksSoFar) -> RanksSoFar:
        if not first.ends.rows or not second.ends.rows:
            return second if second.ends.rows else first
        same_key, same_value = self._meet(first.ends, second.ends, first.schema)
        ends = joined(first.ends.slice(0, 1), second.ends.slice(second.ends.rows - 1, second.ends.rows))
        if not (second.is_one_key and same_key):
            return attrs.evolve(second, ends=ends, is_one_key=False, is_one_value=False)
        goes_on = second.is_one_value and same_value
        is_known = second.ends.columns[self.value][0].is_valid
        return RanksSoFar(
            first.schema,
            ends,
            first.rows + second.rows,
            first.tied + second.tied if goes_on else second.tied,
            first.values + second.values - (same_value and is_known),
            first.is_one_key,
            first.is_one_value and goes_on,
        )

    def _meet(self, first: Chunk, second: Chunk, schema: Schema) -> tuple[bool, bool]:
        """Return whether the last of some rows and the first of others have the same key, and the same key and value."""
        both = joined(first.slice(first.rows - 1, first.rows), second.slice(0, 1))
        found = [len(self._starts(both, columns, schema)) == 1 for columns in (self.keys, (*self.keys, self.value))]
        return found[0], found[1]

    def _starts(self, rows: Chunk, columns: Sequence[int], schema: Schema) -> np.ndarray:
        """Return where runs of rows begin that are equal in some columns."""
        if not columns:
            return np.zeros(min(rows.rows, 1), dtype=np.int64)
        return run_starts([rows.columns[column] for column in columns], [schema[column] for column in columns], rows.rows)

    def advance(self, inputs: Sequence[Chunk], facts: Sequence[Facts], state: RanksSoFar) -> tuple[Chunk, RanksSoFar]:
        if not inputs[0].rows:
            return Chunk.empty((INT, INT, INT)), state
        schema = state.schema
        # The last row of earlier rows comes first, with its counts.
        before = state.ends.slice(state.ends.rows - 1, state.ends.rows)
        rows = joined(before, inputs[0])
        count, known = rows.rows, rows.columns[self.value].is_valid().to_numpy(zero_copy_only=False)
        keys, ties = self._starts(rows, self.keys, schema), self._starts(rows, (*self.keys, self.value), schema)
        begins = np.zeros(count, dtype=bool)
        begins[ties] = True
        numbers = counted(known, keys, state.rows if before.rows else None)
        values = counted(begins & known, keys, state.values if before.rows else None)
        lows = numbers[ties]
        if before.rows:
            lows[0] = state.rows - state.tied + 1
        firsts = np.repeat(lows, np.diff(np.append(ties, count)))
        mask = ~known[before.rows :]
        made = tuple(pa.array(found[before.rows :], mask=mask if mask.any() else None) for found in (numbers, firsts, values))
        after = RanksSoFar(
            schema,
            joined(inputs[0].slice(0, 1), inputs[0].slice(inputs[0].rows - 1, inputs[0].rows)),
            int(numbers[-1]),
            int(numbers[-1] - firsts[-1]) + 1 if known[-1] else 0,
            int(values[-1]),
            len(keys) == 1 and state.is_one_key,
            len(ties) == 1 and state.is_one_value,
        )
        if before.rows:
            after = attrs.evolve(after, ends=joined(state.ends.slice(0, 1), after.ends.slice(1, 2)))
        return Chunk(made, inputs[0].rows), after

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a window that collects all rows so far, and the numbers of the last one: it only serves to test the kernel."""
        relation, schema = inputs[0], inputs[0].schema
        rows = collected_rows(relation, range(len(schema)), window_so_far(relation))
        collected, types = relation.df.select(rows.alias("c0"), *relation.hidden), (INT, INT, INT)
        values = [value_in_last_row(self, schema, output, INT)(collected["c0"], schema, ()) for output in range(3)]
        return attrs.evolve(relation, df=collected, schema=types, not_missing=frozenset()).with_columns(values, types)

    def describe(self) -> str:
        return f"c{self.value} of [{', '.join(f'c{key}' for key in self.keys)}]"


def counted(flags: np.ndarray, starts: np.ndarray, before: int | None) -> np.ndarray:
    """Return how many flags are set up to each row since its run began; ``before`` is the count at the first row, if that run began earlier.

    Examples
    --------
    >>> flags = np.array([True, True, False, True])
    >>> counted(flags, np.array([0, 2]), None).tolist(), counted(flags, np.array([0, 2]), 7).tolist()
    ([1, 2, 0, 1], [7, 8, 0, 1])
    """
    totals = np.cumsum(flags)
    offsets = totals[starts] - flags[starts]
    if before is not None:
        offsets[0] = totals[0] - before
    return totals - np.repeat(offsets, np.diff(np.append(starts, len(flags))))


def numbered_both_ways(node: PlannerNode, value: int, keys: Sequence[int], ascending: bool, both: bool) -> tuple[PlannerNode, PlannerNode]:
    """Return the row numbers of a node in the order of keys and a value, and what :class:`RanksOfSortedRows` gives of them; twice if ``both``.

    With ``both``, three more columns are those numbers counted from the end of each key, from a pass in reverse.
    """
    used = sorted({value, *keys})
    positions = new_positions(used)
    rows = zip_columns(columns_of(node, used), row_number(node))
    ordered = sort_rows(rows, [*((positions[key], True) for key in keys), (positions[value], ascending)])
    operator = RanksOfSortedRows(positions[value], tuple(positions[key] for key in keys))
    columns = columns_of(ordered, range(len(used)))
    made = [operator.make_planner_node(columns)]
    if both:
        made.append(reverse(operator.make_planner_node(reverse(columns))))
    return column_of(ordered, len(used)), zip_columns(*made)


def in_row_order(numbers: PlannerNode, made: PlannerNode) -> PlannerNode:
    """Return a column that belongs to rows with some numbers, in the order of these."""
    return column_of(sort_rows(zip_columns(numbers, made), [(0, True)]), 1)


def ranked(node: PlannerNode, value: int, keys: Sequence[int], method: str, ascending: bool, percent: bool) -> PlannerNode:
    """Return a node with the rank of each row by a value among the rows with the same key; see :meth:`SFrame.rank` for the rules."""
    numbers, made = numbered_both_ways(node, value, keys, ascending, percent or method in ("average", "max"))
    number, first, distinct = (column_of(made, place) for place in range(3))
    if method in ("first", "min", "dense"):
        rank = {"first": number, "min": first, "dense": distinct}[method]
    else:
        last = added(rows_with_value(made), 1, "subtract", column_of(made, 4))
        rank = last if method == "max" else apply_function("divide", apply_function("add", first, last), Literal(2.0, FLOAT))
    if percent:
        total = added(distinct, -1, "add", column_of(made, 5)) if method == "dense" else rows_with_value(made)
        rank = apply_function("divide", rank, total)
    return in_row_order(numbers, rank)


def rows_with_value(made: PlannerNode) -> PlannerNode:
    """Return how many rows of the key have a value, given the numbers of a row from both ends."""
    return added(column_of(made, 0), -1, "add", column_of(made, 3))


def added(column: PlannerNode, number: int, sign: str, other: PlannerNode) -> PlannerNode:
    """Return a column plus a number, and plus or minus another column."""
    return apply_function(sign, apply_function("add", column, Literal(number, INT)), other)


def quantile_bins(node: PlannerNode, value: int, keys: Sequence[int], count: int) -> PlannerNode:
    """Return a node with the number of the quantile bin of each value among the rows with the same key, from 0 to ``count`` - 1.

    Bin ``j`` ends with the quantile ``(j + 1) / count``, which is interpolated between two values and may be one. It is found without computing it:
    of ``n`` values, the one with ``m`` smaller ones is not above the quantile ``j / count`` exactly if ``m <= (n - 1) * j / count``.
    """
    numbers, made = numbered_both_ways(node, value, keys, True, True)
    smaller, rows = apply_function("add", column_of(made, 1), Literal(-1, INT)), rows_with_value(made)
    # A single value is the only bin, and the smallest value belongs to the first bin.
    gaps = added(rows, -1, "add", apply_function("equal", rows, Literal(1, INT)))
    scaled = apply_function("multiply", smaller, Literal(count, INT))
    ends = apply_function("floor_divide", added(gaps, -1, "add", scaled), gaps)
    return in_row_order(numbers, added(ends, -1, "add", apply_function("equal", smaller, Literal(0, INT))))
