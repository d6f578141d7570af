"""Operators for row order: sort, suffix sort and top rows, which reorder rows, and the assumption that rows are in an order.

In Spark a sort only defines a row key, so a sort costs nothing if its order is not observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from sframe_spark.errors import RunTooLongError
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.project_zip_arrange import new_positions
from sframe_spark.operators.run_operator import RunOperator
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.in_memory import MemorySource
from sframe_spark.planner.chunk import Chunk, joined
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema, require_columns
from sframe_spark.planner.operator import DecomposableOperator, Need, Operator
from sframe_spark.planner.operator_declarations import INLINED, NO_EXCHANGE, RowChoice, SparkCost
from sframe_spark.planner.operator_parameters import at_least
from sframe_spark.planner.registry import register
from sframe_spark.types import ColumnType

with lazy_imports(globals()):
    from sframe_spark.compute.key_runs import run_numbers, run_starts
    from sframe_spark.compute.sorting_and_searching import order_of, sort_parts_of
    from sframe_spark.order import derive
    from sframe_spark.order.properties import RelationProperties, requirement
    from sframe_spark.planner.operator_capabilities import RangeSplit, WholeKernel
    from sframe_spark.planner.spark_relation import KeyColumn, LoweringContext, Relation, sort_expression

if TYPE_CHECKING:
    from pyspark.sql import Column


# Limits of a run of ties, which is sorted in memory. A run at the edge of a row range is sent through the driver.
MAX_TIES = 262_144
MAX_TIED_BYTES = 256 << 20

SORTABLE = ("int", "float", "str", "datetime")


@attrs.frozen
class Reordering(Operator):
    """Base class of operators that put rows in the order of some columns. Ties keep their input order. Missing is smallest, NaN largest.

    Parameters
    ----------
    by
        Pairs of column position and whether it ascends.
    """

    deterministic: ClassVar[bool] = True
    row_choice: ClassVar[RowChoice | None] = RowChoice.OTHER
    by: tuple[tuple[int, bool], ...]

    def split(self, first_rows: int | None = None) -> RangeSplit | None:
        """Return a split by the first sort column: rows that tie in it are in one range, and keep their order if no further column orders them."""
        if not self.by:
            return None
        column, ascending = self.by[0]
        return RangeSplit(column, ascending, first_rows, leaves_equal_rows=len(self.by) == 1)

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        return inputs[0].length

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return properties: rows are in the sort order, and ties keep the orders of the input."""
        return inputs[0].reordered(derive.sort(inputs[0].order, requirement(self.by), stable=True))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the required columns and the sort columns."""
        return [sorted({*outputs, *(position for position, _ in self.by)})]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        return attrs.evolve(self, by=moved_order(self.by, kept[0])), kept[0]


@register
@attrs.frozen
class Sort(Reordering):
    """A stable sort of all rows."""

    name: ClassVar[str] = "sort"
    row_choice: ClassVar[RowChoice | None] = RowChoice.REORDER
    keeps_dense: ClassVar[bool] = True
    # A sort only defines a row key; the result of the whole query is sorted once.
    spark_cost: ClassVar[SparkCost] = NO_EXCHANGE

    def useful_orders(self, inputs: Sequence[Facts]) -> Sequence[tuple[int, Sequence[int]]]:
        return [(0, [position for position, _ in self.by])]

    @property
    def whole_kernel(self) -> WholeKernel:
        """The sort in memory; few rows are one run of ties of a suffix sort without a sorted prefix."""
        return WholeKernel(self.split(), for_few_rows=SuffixSort(self.by, 0))

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Return all rows in order, sorted in memory."""
        rows = inputs[0]
        return rows.rows_at(order_of(sort_parts_of(rows, facts[0].schema, self.by))) if rows.rows else rows

    def requires(self, slot: int) -> Need:
        """Return ``INHERITED``: the order of the input, which decides between ties, matters only if the order of the output is observed."""
        return Need.INHERITED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the relation with the sort columns as key, followed by the old key; rows are not moved until the order is observed."""
        relation = inputs[0]
        columns = key_columns(relation, self.by)
        df = relation.df.select(*relation.columns, *[column.alias(f"k{i}") for i, (column, _) in enumerate(columns)])
        key = tuple(KeyColumn(f"k{i}", ascending) for i, (_, ascending) in enumerate(columns))
        return Relation(df, relation.schema, key, not_missing=relation.not_missing)

    def describe(self) -> str:
        return describe_order(self.by)


@register
@attrs.frozen
class SuffixSort(Reordering, RunOperator):
    """A stable sort of rows that are already sorted by the leading sort columns, so that only runs of ties are sorted.

    Parameters
    ----------
    by
        Pairs of column position and whether it ascends.
    held
        Number of leading sort columns by which the input is sorted already; if 0, all rows are sorted in memory.
    """

    name: ClassVar[str] = "suffix_sort"
    row_choice: ClassVar[RowChoice | None] = RowChoice.REORDER
    held: int = attrs.field(validator=at_least(0))

    @property
    def prefix(self) -> tuple[int, ...]:
        """The columns by which the input is sorted already."""
        return tuple(position for position, _ in self.by[: self.held])

    def lift(self, chunk: Chunk, schema: Schema) -> Chunk:
        return chunk

    def collapse(self, table: Chunk, schema: Schema) -> tuple[Chunk, np.ndarray]:
        """Return the rows, and the number of each row's run of ties.

        Raises
        ------
        RunTooLongError
            If more rows tie than can be sorted in memory. Then the plan runs again with a :class:`Sort` instead.
        """
        starts = run_starts([table.columns[p] for p in self.prefix], [schema[p] for p in self.prefix], table.rows)
        lengths = np.diff([*starts.tolist(), table.rows])
        if len(lengths) and (lengths.max() > MAX_TIES or lengths.max() * (table.size / table.rows) > MAX_TIED_BYTES):
            raise RunTooLongError(f"{lengths.max()} rows are equal in {describe_order(self.by[: self.held])}: too many to be sorted in memory")
        return table, run_numbers(starts, table.rows)

    def results(self, table: Chunk, runs: np.ndarray, schema: Schema) -> Chunk:
        """Return the rows with each run sorted."""
        return table.rows_at(order_of([runs, *sort_parts_of(table, schema, self.by[self.held :])]))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return a sort by all columns in Spark."""
        return Sort(self.by).plan_to_operator(inputs, context)

    def describe(self) -> str:
        return f"{describe_order(self.by)}; {self.held} held"


def key_columns(relation: Relation, by: Sequence[tuple[int, bool]]) -> list[tuple[Column, bool]]:
    """Return the row key after a stable sort: the sort columns, followed by the key before the sort, each with whether it ascends."""
    columns = [(order_column(relation.df[f"c{position}"], relation.schema[position]), ascending) for position, ascending in by]
    return [*columns, *((relation.df[column.name], column.ascending) for column in relation.key)]


def order_column(column: Column, column_type: ColumnType) -> Column:
    """Return a Spark column whose order (null first, NaN last) is the engine's order; zoned date-times are ordered by instant."""
    return column["instant"] if column_type.is_zoned else column


def describe_order(by: Sequence[tuple[int, bool]]) -> str:
    """Return columns and directions as a string."""
    return ", ".join(f"c{position} {'asc' if ascending else 'desc'}" for position, ascending in by)


def moved_order(by: Sequence[tuple[int, bool]], kept: Sequence[int]) -> tuple[tuple[int, bool], ...]:
    """Return columns and directions with the positions that columns have if only the columns ``kept`` remain."""
    positions = new_positions(kept)
    return tuple((positions[position], ascending) for position, ascending in by)


def sort_rows(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> PlannerNode:
    """Return a node with the rows in the order of columns, given as pairs of position and whether it ascends.

    Raises
    ------
    TypeError
        If a column's type has no order.

    Examples
    --------
    >>> from sframe_spark.plugin import SFrame, frame_of, node_of
    >>> list(frame_of(sort_rows(node_of(SFrame({"a": [1, 2, 3]})), [(0, False)]), ["a"])["a"])
    [3, 2, 1]
    """
    for position, _ in by:
        kind = node.schema[position].kind
        if kind not in SORTABLE:
            raise TypeError(f"cannot sort by column {position} of type {kind}: only {', '.join(SORTABLE)} have an order")
    return Sort(tuple((position, bool(ascending)) for position, ascending in by)).make_planner_node(node)


# Finding the first rows in an order without sorting all rows.

# The most rows that a task sends to the driver.
MAX_ROWS_SENT = 10_000
# Numbers that are sampled per requested row, to find a bound above which rows need not be sorted.
SAMPLED = 64


@register
@attrs.frozen
class TopRows(Reordering, DecomposableOperator):
    """The first ``rows`` rows in the order of some columns, with ties in input order: a sort and a slice in one."""

    name: ClassVar[str] = "top_rows"
    # Spark keeps the first rows of each partition.
    spark_cost: ClassVar[SparkCost] = NO_EXCHANGE
    rows: int = attrs.field(validator=at_least(0))

    @property
    def whole_kernel(self) -> WholeKernel:
        """The first rows of all rows; later ranges of values are computed only if the ranges before them have too few rows."""
        return WholeKernel(self.split(self.rows))

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return the smaller of ``rows`` and the input's length."""
        bound = inputs[0].length.at_most
        rows = self.rows if bound is None else min(bound, self.rows)
        return Length.unknown(at_most=rows) if inputs[0].length.rows is None else Length.exactly(rows)

    @property
    def rows_of_part(self) -> int:
        """The requested number of rows, which is the most that a partial result holds."""
        return self.rows

    def useful_orders(self, inputs: Sequence[Facts]) -> Sequence[tuple[int, Sequence[int]]]:
        return [(0, [position for position, _ in self.by])]

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the first rows by Spark's sort with a limit, which does not shuffle all rows."""
        relation = inputs[0]
        order = [sort_expression(column, ascending) for column, ascending in key_columns(relation, self.by)]
        # Key columns are added after the limit, so that they are not computed for rows that are dropped.
        limited = attrs.evolve(relation, df=relation.df.orderBy(*order).limit(self.rows))
        return Sort(self.by).plan_to_operator([limited], context)

    def decomposes(self, facts: Sequence[Facts]) -> bool:
        """Return whether few enough rows are requested for each task to send its own first rows to the driver."""
        return self.rows <= MAX_ROWS_SENT

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """Return the first rows of all rows."""
        return self.part_of(inputs[0], facts)

    def part_of(self, rows: Chunk, facts: Sequence[Facts]) -> Chunk:
        """Return the first rows of a chunk."""
        parts = sort_parts_of(rows, facts[0].schema, self.by)
        # Only rows that may be among the first ones are sorted.
        near = first_positions(parts[0], parts[1], self.rows)
        return rows.rows_at(near[np.lexsort([part[near] for part in reversed(parts)])][: self.rows])

    def combined(self, first: Chunk, second: Chunk, facts: Sequence[Facts]) -> Chunk:
        """Return the first rows of two consecutive chunks; ties come from the first chunk first."""
        return self.part_of(joined(first, second), facts)

    def rows_from(self, part: Chunk, facts: Sequence[Facts]) -> Chunk:
        return part

    def describe(self) -> str:
        return f"{describe_order(self.by)}; {self.rows} rows"


def first_positions(ranks: np.ndarray, numbers: np.ndarray, count: int) -> np.ndarray:
    """Return the ascending indices of the rows whose pair (rank, number) is not above the pair of the ``count``-th row in order.

    Examples
    --------
    >>> first_positions(np.array([1, 1, 0, 1, 1]), np.array([7, 3, 0, 9, 3]), 2).tolist()
    [1, 2, 4]
    """
    if len(ranks) <= count or not count:
        return np.arange(len(ranks) if count else 0)
    if bool((ranks == ranks[0]).all()):
        return _positions_of_smallest(numbers, count)
    last = np.partition(ranks, count - 1)[count - 1]
    below, tied = ranks < last, ranks == last
    left = count - int(below.sum())
    return np.flatnonzero(below | (tied & (numbers <= np.partition(numbers[tied], left - 1)[left - 1])))


def _positions_of_smallest(numbers: np.ndarray, count: int) -> np.ndarray:
    """Return the ascending indices of the numbers that are not above the ``count``-th smallest."""
    sample = numbers[:: max(1, len(numbers) // (SAMPLED * count))]
    # At least ``count`` numbers are not above the ``count``-th smallest number of the sample.
    near = np.flatnonzero(numbers <= np.partition(sample, count - 1)[count - 1])
    chosen = numbers[near]
    return near[chosen <= np.partition(chosen, count - 1)[count - 1]]


@register
@attrs.frozen
class AssumeOrder(Operator):
    """The input's rows, which are assumed to be in an order. If the assumption is wrong, later results are wrong.

    Parameters
    ----------
    by
        Pairs of column position and whether it ascends.
    """

    name: ClassVar[str] = "assume_order"
    row_wise: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True
    has_kernel: ClassVar[bool] = True
    row_choice: ClassVar[RowChoice | None] = RowChoice.OTHER
    streams: ClassVar[bool] = True
    spark_cost: ClassVar[SparkCost] = INLINED
    keeps_dense: ClassVar[bool] = True
    takes_wider: ClassVar[bool] = True
    by: tuple[tuple[int, bool], ...]

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the input.

        Raises
        ------
        SchemaError
            If the input has no column at one of the positions.
        """
        require_columns(inputs[0].schema, (position for position, _ in self.by))
        return inputs[0].schema

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """Return the properties of the input, and the assumed order."""
        return inputs[0].reordered(inputs[0].order.add(orderings=[requirement(self.by)]))

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Return the required columns; the assumption itself needs none."""
        return [outputs]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """Return the operator with the longest prefix of the assumption whose columns remain."""
        positions = new_positions(kept[0])
        return AssumeOrder(moved_order(tuple(takewhile(lambda item: item[0] in positions, self.by)), kept[0])), kept[0]

    def useful_orders(self, inputs: Sequence[Facts]) -> Sequence[tuple[int, Sequence[int]]]:
        return [(0, [position for position, _ in self.by])]

    def requires(self, slot: int) -> Need:
        """Return ``INHERITED``: the order of the input matters only if the order of the output is observed."""
        return Need.INHERITED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        return inputs[0]

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        return inputs[0]

    def describe(self) -> str:
        return describe_order(self.by)


def assume_order(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> PlannerNode:
    """Return a node with the same rows, assumed to be in an order; for stored rows and rows in memory the source records the assumption."""
    operator = node.operator
    if isinstance(operator, (MemorySource, SegmentSource)):
        ordering = tuple((operator.positions[position], up) for position, up in by)
        return PlannerNode(operator.with_ordering(ordering), (), node.facts)
    return AssumeOrder(tuple(by)).make_planner_node(node)
