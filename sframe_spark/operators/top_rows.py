"""The first rows in some order, without a sort of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.compute.sorting import sort_parts
from sframe_spark.operators.sort import Reordering, Sort, describe_order, key_columns
from sframe_spark.planner.chunk import Chunk, joined
from sframe_spark.planner.facts import Facts, Length
from sframe_spark.planner.lowering import LoweringContext, Relation, sort_expression
from sframe_spark.planner.operator import NO_WORK, DecomposableOperator, QueryWork
from sframe_spark.planner.parameters import at_least
from sframe_spark.planner.registry import register

# Every task sends so many rows at most to the driver.
MOST_ROWS_SENT = 10_000
# For each row wanted so many are looked at to see which ones come near.
SAMPLED = 64


@register
@attrs.frozen
class TopRows(Reordering, DecomposableOperator):
    """The first ``rows`` rows in the order of some columns (ties in input order): a sort and a head in one."""

    name: ClassVar[str] = "top_rows"
    rows: int = attrs.field(validator=at_least(0))

    @property
    def query_work(self) -> QueryWork | None:
        """Spark keeps the first rows of each partition."""
        return NO_WORK

    @property
    def has_whole_kernel(self) -> bool:
        """True: all rows are one run."""
        return True

    @property
    def split_by(self) -> tuple[int, bool] | None:
        """The first column of the order: further ranges are made where those before have too few rows."""
        return self.by[0] if self.by else None

    @property
    def rows_of_ranges(self) -> int | None:
        """As many as are asked for."""
        return self.rows

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """At most ``rows``."""
        known = inputs[0].length.rows
        if known is not None:
            return Length.exactly(min(known, self.rows))
        bound = inputs[0].length.at_most
        return Length.unknown(at_most=self.rows if bound is None else min(bound, self.rows))

    @property
    def rows_of_part(self) -> int:
        """The first rows of each part."""
        return self.rows

    def useful_orders(self, inputs: Sequence[Facts]) -> Sequence[tuple[int, Sequence[int]]]:
        """The order asked for."""
        return [(0, [position for position, _ in self.by])]

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Spark's take-ordered: no exchange of the data."""
        relation = inputs[0]
        order = [sort_expression(column, ascending) for column, ascending in key_columns(relation, self.by)]
        # The key of the result is made of the rows taken: no row that is left out is copied for it.
        taken = attrs.evolve(relation, df=relation.df.orderBy(*order).limit(self.rows))
        return Sort(self.by).plan_to_operator([taken], context)

    def decomposes(self, facts: Sequence[Facts]) -> bool:
        """Each task sends its own first rows, if these are few."""
        return self.rows <= MOST_ROWS_SENT

    def kernel(self, inputs: Sequence[Chunk], facts: Sequence[Facts]) -> Chunk:
        """The first rows of the only run."""
        return self.part_of(inputs[0], facts)

    def part_of(self, rows: Chunk, facts: Sequence[Facts]) -> Chunk:
        """The first rows of a run."""
        parts = [part for position, up in self.by for part in sort_parts(rows.columns[position], facts[0].schema[position], up)]
        # Few rows come near the first ones: only these are sorted.
        near = first_places(parts[0], parts[1], self.rows)
        order = near[np.lexsort([part[near] for part in reversed(parts)])][: self.rows]
        return Chunk(tuple(column.take(pa.array(order)) for column in rows.columns), len(order))

    def combined(self, first: Chunk, second: Chunk, facts: Sequence[Facts]) -> Chunk:
        """The first rows of both; of rows that tie, those of the first run."""
        return self.part_of(joined(first, second), facts)

    def rows_from(self, part: Chunk, facts: Sequence[Facts]) -> Chunk:
        """The rows themselves."""
        return part

    def describe(self) -> str:
        """Columns, directions and count."""
        return f"{describe_order(self.by)}; {self.rows} rows"


def first_places(ranks: np.ndarray, numbers: np.ndarray, count: int) -> np.ndarray:
    """Places, ascending, of the rows whose rank and number are not above those of the row that is the ``count``-th in order.

    Examples
    --------
    >>> first_places(np.array([1, 1, 0, 1, 1]), np.array([7, 3, 0, 9, 3]), 2).tolist()
    [1, 2, 4]
    """
    if len(ranks) <= count or not count:
        return np.arange(len(ranks) if count else 0)
    if bool((ranks == ranks[0]).all()):
        return _places_of_smallest(numbers, count)
    last = np.partition(ranks, count - 1)[count - 1]
    below, tied = ranks < last, ranks == last
    left = count - int(below.sum())
    return np.flatnonzero(below | (tied & (numbers <= np.partition(numbers[tied], left - 1)[left - 1])))


def _places_of_smallest(numbers: np.ndarray, count: int) -> np.ndarray:
    """Places, ascending, of the numbers that are not above the ``count``-th smallest."""
    sample = numbers[:: max(1, len(numbers) // (SAMPLED * count))]
    # So many of the sample are not above this one, and so not fewer of all.
    near = np.flatnonzero(numbers <= np.partition(sample, count - 1)[count - 1])
    chosen = numbers[near]
    return near[chosen <= np.partition(chosen, count - 1)[count - 1]]
