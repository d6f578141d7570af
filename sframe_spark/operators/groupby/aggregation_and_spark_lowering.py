"""The class of an aggregation (an aggregate function over some columns), and the lowering of aggregations to Spark."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.operators.project_zip_arrange import new_positions
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Schema
from sframe_spark.planner.operator_parameters import column_positions
from sframe_spark.types import FLOAT

with lazy_imports(globals()):
    from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES, AggregateFunction, QueryProperties, SeveralColumns
    from sframe_spark.expressions.aggregates.state_columns import ColumnAggregate, RunningOrder
    from sframe_spark.planner.spark_relation import Relation, key_struct

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@attrs.frozen
class Aggregation:
    """An aggregate function applied to some columns of the input."""

    function: str
    positions: tuple[int, ...] = attrs.field(default=(), validator=column_positions)
    parameters: tuple[Any, ...] = ()

    def implementation(self) -> AggregateFunction:
        """Return the definition of the aggregate function."""
        return AGGREGATES.named(self.function)

    def on_columns(self, schema: Schema) -> ColumnAggregate:
        """Return the aggregate of columns of a schema, from which every driver computes it."""
        return self.implementation().of_columns([schema[position] for position in self.positions], self.positions, self.parameters)

    def counts_rows(self, schema: Schema) -> bool:
        """Return whether the value is the number of rows."""
        return self.on_columns(schema).running_order is RunningOrder.NUMBERS_ROWS

    def infer(self, schema: Schema) -> Any:
        """Return the type of the result.

        Raises
        ------
        UnsupportedOperationError
            If the aggregate function takes a different number of columns.
        """
        return AGGREGATES.inferred(self.function, [schema[p] for p in self.positions], self.parameters)

    def describe(self) -> str:
        """Return the aggregation as a string."""
        arguments = [f"c{position}" for position in self.positions] + [str(parameter) for parameter in self.parameters]
        return f"{self.function}({', '.join(arguments)})"


def used_aggregations(aggregations: Sequence[Aggregation], keys: int, outputs: Sequence[int]) -> list[Aggregation]:
    """Return the aggregations that compute some output columns, if the first ``keys`` output columns are keys."""
    return [aggregations[output - keys] for output in outputs if output >= keys]


def grouped_columns(keys: Sequence[int], aggregations: Sequence[Aggregation]) -> list[int]:
    """Return the columns that a group-by reads; at least one, so that rows can be counted."""
    return sorted({*keys, *(position for aggregation in aggregations for position in aggregation.positions)}) or [0]


def moved(aggregations: Sequence[Aggregation], kept: Sequence[int]) -> tuple[Aggregation, ...]:
    """Return the aggregations with the positions that columns have if only the columns ``kept`` remain."""
    positions = new_positions(kept)
    return tuple(attrs.evolve(a, positions=tuple(positions[position] for position in a.positions)) for a in aggregations)


def counts_distinct(aggregations: Sequence[Aggregation]) -> bool:
    """Return whether an aggregate counts distinct values, for which Spark first groups by the values."""
    return any(item.implementation().of_runs is not None for item in aggregations)


# Aggregates in a Spark query: the columns that Spark aggregates, and how their values become results.

ORDER_COLUMN = "row_order"


def aggregate_in_spark(aggregation: Aggregation, relation: Relation, way: QueryProperties) -> SeveralColumns:
    """Return the Spark aggregates of an aggregation over a relation."""
    from pyspark.sql import functions as F

    implementation = aggregation.implementation()
    names = [f"c{position}" for position in aggregation.positions]
    types = [relation.schema[position] for position in aggregation.positions]
    order = F.col(ORDER_COLUMN) if implementation.order_sensitive else F.lit(0)
    return implementation.in_spark(names, types, aggregation.parameters, order, way)


def adds_up_floats(node: PlannerNode) -> bool:
    """Return whether an aggregate of a node sums floats exactly, so that its query fails at floats whose magnitude it does not cover."""
    aggregations: Sequence[Aggregation] = getattr(node.operator, "aggregations", ())
    return any(
        aggregation.implementation().exact is not None and FLOAT in [node.inputs[-1].schema[position] for position in aggregation.positions]
        for aggregation in aggregations
    )


def with_helper_columns(df: DataFrame, aggregates: Sequence[SeveralColumns]) -> DataFrame:
    """Return the rows with the additional columns that the aggregates read."""
    for step in zip_longest(*(several.helpers for several in aggregates), fillvalue={}):
        result = {name: text for columns in step for name, text in columns.items()}
        df = df.selectExpr("*", *[f"{text} AS {name}" for name, text in result.items()])
    return df


def named_columns(aggregates: Sequence[SeveralColumns]) -> list[Column]:
    """Return the columns to aggregate, with the names that :func:`finished_aggregates` expects."""
    return named([several.columns for several in aggregates], 0)[0]


def grouped_in_spark(
    df: DataFrame, by: Sequence[Column | str], kept: Sequence[str], aggregates: Sequence[SeveralColumns], others: Sequence[Column] = ()
) -> tuple[DataFrame, list[Column]]:
    """Return one row per group, with the columns ``kept``, and the columns with the values of the aggregates."""
    return finished_aggregates(with_helper_columns(df, aggregates).groupBy(*by).agg(*others, *named_columns(aggregates)), kept, aggregates)


def finished_aggregates(df: DataFrame, kept: Sequence[str], aggregates: Sequence[SeveralColumns]) -> tuple[DataFrame, list[Column]]:
    """Return the rows of groups after the last step of each aggregate, and the columns with the values of the aggregates."""
    _, names_of = named([several.columns for several in aggregates], 0)
    for step in range(max((len(several.steps) for several in aggregates), default=0)):
        texts = [several.steps[step](names) if step < len(several.steps) else names for several, names in zip(aggregates, names_of, strict=True)]
        columns, names_of = named(texts, step + 1)
        df = df.select(*kept, *columns)
    return df, [several.finish(names) for several, names in zip(aggregates, names_of, strict=True)]


def named(columns_of: Sequence[Sequence[Column | str]], step: int) -> tuple[list[Column], list[list[str]]]:
    """Return the columns of a step with names (equal SQL expressions only once), and the names that belong to each aggregate."""
    columns: list[Column] = []
    names_of_sql: dict[str, str] = {}
    names: list[list[str]] = []
    for several in columns_of:
        names.append([])
        for column in several:
            name = names_of_sql.get(column) if isinstance(column, str) else None
            if name is None:
                name = f"a{step}_{len(columns)}"
                columns.append(as_column(column).alias(name))
            if isinstance(column, str):
                names_of_sql[column] = name
            names[-1].append(name)
    return columns, names


def as_column(column: Column | str) -> Column:
    """Return a column unchanged, or the column of an SQL expression."""
    from pyspark.sql import functions as F

    return F.expr(column) if isinstance(column, str) else column


def with_order_column(relation: Relation) -> Relation:
    """Return the relation with one additional column that grows in row order."""
    if any(not column.ascending for column in relation.key):
        relation = relation.with_position()
    return attrs.evolve(relation, df=relation.df.withColumn(ORDER_COLUMN, key_struct(relation)))
