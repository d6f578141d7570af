"""Aggregation: one aggregate over some columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from sframe_spark.errors import PlanInvariantError, UnsupportedOperationError
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES, AggregateFunction, ReduceColumns
from sframe_spark.expressions.aggregates.partial_aggregates import Decomposition
from sframe_spark.operators.project import places_of
from sframe_spark.planner.facts import Schema
from sframe_spark.planner.operator import Origin
from sframe_spark.planner.parameters import column_positions

# Aggregates that choose a row of the group, and give its last argument.
TAKEN_FROM_ONE_ROW = frozenset({"select_one", "argmin", "argmax"})


@attrs.frozen
class Aggregation:
    """One aggregate over some columns of the input."""

    function: str
    positions: tuple[int, ...] = attrs.field(default=(), validator=column_positions)
    parameters: tuple[Any, ...] = ()

    def implementation(self) -> AggregateFunction:
        """The aggregate's table entry."""
        return AGGREGATES.named(self.function)

    def reduction(self) -> ReduceColumns:
        """What makes the value of all rows of the columns, by Arrow.

        Raises
        ------
        PlanInvariantError
            If the aggregate has no such implementation.
        """
        reduce = self.implementation().reduce
        if reduce is None:
            raise PlanInvariantError(f"the aggregate {self.function!r} has no Arrow implementation")
        return reduce

    def infer(self, schema: Schema) -> Any:
        """Result type.

        Raises
        ------
        UnsupportedOperationError
            If the aggregate takes another number of columns.
        """
        implementation = self.implementation()
        fewest, most = implementation.arguments
        if not fewest <= len(self.positions) <= most:
            takes = f"{fewest} to {most} columns" if fewest < most else "1 column" if most == 1 else f"{most} columns"
            raise UnsupportedOperationError(f"the aggregate {self.function} takes {takes}, not {len(self.positions)}")
        return AGGREGATES.inferred(self.function, [schema[p] for p in self.positions], self.parameters)

    def value_moved(self) -> Sequence[Origin]:
        """The column of which it gives the value of one row as it is; none where it computes."""
        return [(0, self.positions[-1])] if self.function in TAKEN_FROM_ONE_ROW else []

    def describe(self) -> str:
        """As text."""
        arguments = [f"c{position}" for position in self.positions] + [str(parameter) for parameter in self.parameters]
        return f"{self.function}({', '.join(arguments)})"


def used_aggregations(aggregations: Sequence[Aggregation], keys: int, outputs: Sequence[int]) -> list[Aggregation]:
    """Aggregations behind some output columns, of which the first are key columns."""
    return [aggregations[output - keys] for output in outputs if output >= keys]


def grouped_columns(keys: Sequence[int], aggregations: Sequence[Aggregation]) -> list[int]:
    """Columns that take part in a grouping; one at least, so that rows can be counted."""
    return sorted({*keys, *(position for aggregation in aggregations for position in aggregation.positions)}) or [0]


def moved(aggregations: Sequence[Aggregation], kept: Sequence[int]) -> tuple[Aggregation, ...]:
    """The aggregations where only the columns ``kept`` are left."""
    places = places_of(kept)
    return tuple(attrs.evolve(a, positions=tuple(places[position] for position in a.positions)) for a in aggregations)


def decomposition_of(aggregation: Aggregation) -> Decomposition:
    """How an aggregate follows from partial results."""
    found = aggregation.implementation().decomposition
    assert found is not None
    return found


def counts_distinct(aggregations: Sequence[Aggregation]) -> bool:
    """True when Spark groups by values, before it counts them."""
    return any(item.function == "count_distinct" for item in aggregations)
