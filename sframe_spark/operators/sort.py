"""Sort: a new row order, of all rows or of those that tie. Lowered to a key, so a sort that nobody observes costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.key_runs import RunOperator, run_numbers, run_starts
from sframe_spark.compute.sorting import order_of, sort_parts
from sframe_spark.errors import RunTooLongError
from sframe_spark.operators.project import places_of
from sframe_spark.order import derive
from sframe_spark.order.properties import RelationProperties, requirement
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Facts, Length, Schema
from sframe_spark.planner.lowering import KeyColumn, LoweringContext, Relation
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.operator import NO_WORK, Need, Operator, QueryWork
from sframe_spark.planner.parameters import at_least
from sframe_spark.planner.registry import register
from sframe_spark.types import DATETIME_KIND, ColumnType

if TYPE_CHECKING:
    from pyspark.sql import Column

# Rows that tie are sorted in memory, and those at the edge of a range of rows pass through the driver.
MOST_TIES = 262_144
MOST_TIED_BYTES = 256 << 20

SORTABLE = ("int", "float", "str", "datetime")


@attrs.frozen
class Reordering(Operator):
    """Rows of the input in the order of some columns; ties keep their input order. Missing is smallest, NaN largest.

    Parameters
    ----------
    by
        Pairs of column position and whether it ascends.
    """

    deterministic: ClassVar[bool] = True
    chooses_rows: ClassVar[bool] = True
    by: tuple[tuple[int, bool], ...]

    @property
    def leaves_equal_rows(self) -> bool:
        """True where nothing else puts in order what ties in the first column."""
        return len(self.by) == 1

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """The input's types."""
        return inputs[0].schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """The input's length."""
        return inputs[0].length

    def infer_properties(self, inputs: Sequence[RelationProperties], facts: Sequence[Facts]) -> RelationProperties:
        """In the order asked for; ties keep the orders that the input has."""
        return sorted_properties(inputs[0], self.by)

    def input_columns(self, outputs: Sequence[int], inputs: Sequence[Facts]) -> Sequence[Sequence[int]]:
        """Those read, and those sorted by."""
        return [sorted({*outputs, *(position for position, _ in self.by)})]

    def over_columns(self, outputs: Sequence[int], kept: Sequence[Sequence[int]], inputs: Sequence[Facts]) -> tuple[Operator, Sequence[int]]:
        """The same order of fewer columns."""
        return attrs.evolve(self, by=moved_order(self.by, kept[0])), kept[0]


@register
@attrs.frozen
class Sort(Reordering):
    """All rows."""

    name: ClassVar[str] = "sort"
    reorders: ClassVar[bool] = True
    keeps_dense: ClassVar[bool] = True

    @property
    def query_work(self) -> QueryWork | None:
        """A sort only defines a row key: it is the result of the query that is put in order."""
        return NO_WORK

    def useful_orders(self, inputs: Sequence[Facts]) -> Sequence[tuple[int, Sequence[int]]]:
        """The order asked for."""
        return [(0, [position for position, _ in self.by])]

    @property
    def takes_all_rows(self) -> bool:
        """True: rows are put in order wherever all of them are."""
        return True

    @property
    def split_by(self) -> tuple[int, bool] | None:
        """The first column of the order: rows that tie in it are in one range."""
        return self.by[0]

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """All rows in order, in memory."""
        rows, schema = inputs[0], facts[0].schema
        parts = [part for position, up in self.by for part in sort_parts(rows.columns[position], schema[position], up)]
        return rows.rows_at(order_of(parts)) if rows.rows else rows

    def in_memory(self) -> Operator:
        """The sort of ties, of which all rows are some."""
        return SuffixSort(self.by, 0)

    def requires(self, slot: int) -> Need:
        """Input order, which places ties, if the output's order is observed."""
        return Need.INHERITED

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """New key columns before the old ones; no exchange until someone observes the order."""
        relation = inputs[0]
        columns = key_columns(relation, self.by)
        df = relation.df.select(*relation.columns, *[column.alias(f"k{i}") for i, (column, _) in enumerate(columns)])
        key = tuple(KeyColumn(f"k{i}", ascending) for i, (_, ascending) in enumerate(columns))
        return Relation(df, relation.schema, key, not_missing=relation.not_missing)

    def describe(self) -> str:
        """Columns and directions."""
        return describe_order(self.by)


@register
@attrs.frozen
class SuffixSort(Reordering, RunOperator):
    """All rows in the order of some columns, by the leading ones of which they are in order already; stable.

    Parameters
    ----------
    by
        Pairs of column position and whether it ascends.
    held
        How many of them, from the first, the input is in the order of; with none, all rows are sorted in memory.
    """

    name: ClassVar[str] = "suffix_sort"
    reorders: ClassVar[bool] = True
    held: int = attrs.field(validator=at_least(0))

    @property
    def prefix(self) -> tuple[int, ...]:
        """Columns that are in order."""
        return tuple(position for position, _ in self.by[: self.held])

    def otherwise(self) -> Sort:
        """All rows sorted by Spark, where too many of them tie."""
        return Sort(self.by)

    def lift(self, chunk: Chunk, schema: Schema) -> Chunk:
        """The rows themselves."""
        return chunk

    def collapse(self, table: Chunk, schema: Schema) -> tuple[Chunk, np.ndarray]:
        """The rows themselves, and the number of each one's run of ties.

        Raises
        ------
        RunTooLongError
            If too many rows tie to be sorted in memory; the executor then has Spark sort all rows.
        """
        starts = run_starts([table.columns[p] for p in self.prefix], [schema[p] for p in self.prefix], table.rows)
        lengths = np.diff([*starts.tolist(), table.rows])
        if len(lengths) and (lengths.max() > MOST_TIES or lengths.max() * (table.size / table.rows) > MOST_TIED_BYTES):
            raise RunTooLongError(f"{lengths.max()} rows are equal in {describe_order(self.by[: self.held])}: too many to be sorted in memory")
        return table, run_numbers(starts, table.rows)

    def results(self, table: Chunk, runs: np.ndarray, schema: Schema) -> Chunk:
        """The rows of each run in order."""
        parts = [part for position, up in self.by[self.held :] for part in sort_parts(table.columns[position], schema[position], up)]
        order = pa.array(order_of([runs, *parts]))
        return Chunk(tuple(column.take(order) for column in table.columns), table.rows)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Spark's sort by all columns."""
        return Sort(self.by).plan_to_operator(inputs, context)

    def describe(self) -> str:
        """Order, and how much of it is there."""
        return f"{describe_order(self.by)}; {self.held} held"


def sorted_properties(rows: RelationProperties, by: Sequence[tuple[int, bool]]) -> RelationProperties:
    """Properties of rows after a stable sort: in the order asked for, then among ties in every order that held before."""
    return rows.reordered(derive.sort(rows.order, requirement(by), stable=True))


def key_columns(relation: Relation, by: Sequence[tuple[int, bool]]) -> list[tuple[Column, bool]]:
    """Key of the rows after a stable sort: the columns sorted by, then the key before it."""
    return [*sort_keys(relation, by), *((relation.df[column.name], column.ascending) for column in relation.key)]


def sort_keys(relation: Relation, by: Sequence[tuple[int, bool]]) -> list[tuple[Column, bool]]:
    """Key expressions of columns in the engine's value order."""
    return [(part, ascending) for position, ascending in by for part in order_parts(relation.df[f"c{position}"], relation.schema[position])]


def order_parts(column: Column, column_type: ColumnType) -> list[Column]:
    """Columns whose lexicographic Spark order (missing first, NaN last) is the engine's order of the values.

    A date-time with an offset orders by its instant.
    """
    if column_type.kind == DATETIME_KIND and column_type.is_zoned:
        return [column["instant"]]
    return [column]


def describe_order(by: Sequence[tuple[int, bool]]) -> str:
    """Columns and directions as text."""
    return ", ".join(f"c{position} {'asc' if ascending else 'desc'}" for position, ascending in by)


def moved_order(by: Sequence[tuple[int, bool]], kept: Sequence[int]) -> tuple[tuple[int, bool], ...]:
    """Columns and directions where only the columns ``kept`` are left."""
    places = places_of(kept)
    return tuple((places[position], ascending) for position, ascending in by)


def sort_rows(node: PlannerNode, by: Sequence[tuple[int, bool]]) -> PlannerNode:
    """Rows in the order of columns given as (position, ascending).

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
            raise TypeError(f"column {position} of type {kind} cannot be sorted by: only {', '.join(SORTABLE)} have an order")
    return Sort(tuple((position, bool(ascending)) for position, ascending in by)).make_planner_node(node)
