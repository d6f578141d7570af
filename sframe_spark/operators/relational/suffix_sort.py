"""Sort of rows that are in order already up to ties of some columns: only rows that tie change places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sframe_spark.errors import RunTooLongError
from sframe_spark.operators.kernels.equal_keys import comparable
from sframe_spark.operators.kernels.order_check import VALUE, value_ranks
from sframe_spark.operators.kernels.runs import RunOperator, plain_numbers, run_numbers, run_starts
from sframe_spark.operators.relational.sort import Reordering, Sort, describe_order
from sframe_spark.planner.chunk import Chunk
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.parameters import at_least
from sframe_spark.planner.registry import register
from sframe_spark.planner.relation import LoweringContext, Relation
from sframe_spark.types import ColumnType

# Rows that tie are sorted in memory, and those at the edge of a range of rows pass through the driver.
MOST_TIES = 262_144
MOST_TIED_BYTES = 256 << 20


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
        order = pa.array(np.lexsort([*reversed(parts), runs]))
        return Chunk(tuple(column.take(order) for column in table.columns), table.rows)

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Spark's sort by all columns."""
        return Sort(self.by).plan_to_operator(inputs, context)

    def describe(self) -> str:
        """Order, and how much of it is there."""
        return f"{describe_order(self.by)}; {self.held} held"


def sort_parts(column: pa.Array, column_type: ColumnType, ascending: bool) -> list[np.ndarray]:
    """Arrays whose ascending lexicographic order is the order of the values: missing smallest, NaN largest.

    Examples
    --------
    >>> from sframe_spark.types import FLOAT
    >>> column = pa.array([2.0, None, float("nan"), -1.0])
    >>> [np.lexsort(sort_parts(column, FLOAT, up)[::-1]).tolist() for up in (True, False)]
    [[1, 3, 0, 2], [2, 0, 3, 1]]
    """
    values = comparable(column, column_type)
    if pa.types.is_string(values.type):
        encoded = values.dictionary_encode()
        places = pc.rank(encoded.dictionary, "ascending").to_numpy().astype(np.int64)
        numbers = places[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)] if len(places) else np.zeros(len(values), dtype=np.int64)
    else:
        numbers = plain_numbers(values)
    ranks = value_ranks(values, numbers)
    numbers = np.where(ranks == VALUE, numbers, numbers.dtype.type(0))
    if ascending:
        return [ranks, numbers]
    # The complement of an int cannot overflow, as its negative can.
    return [-ranks, ~numbers if numbers.dtype.kind == "i" else -numbers]
