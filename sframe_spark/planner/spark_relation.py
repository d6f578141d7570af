"""Relation: a node lowered to Spark, which is a DataFrame with columns by position and hidden columns that define the row order; and the context
of a lowering.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import attrs

from sframe_spark.errors import PlanInvariantError
from sframe_spark.planner.chunk import column_names
from sframe_spark.planner.node_facts import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from sframe_spark.planner.operator import Operator


@attrs.frozen
class KeyColumn:
    """One hidden column of a row key and its sort direction; null is the smallest value."""

    name: str
    ascending: bool = True


@attrs.frozen(eq=False)
class Relation:
    """A Spark DataFrame whose row order is defined by a key, never by physical order.

    Parameters
    ----------
    df
        The DataFrame, with columns ``c0``, ``c1`` and so on, and the hidden columns.
    schema
        Column types by position.
    key
        Hidden columns that define a total order of the rows. Empty if there is at most one row, or if the order is not observed.
    position
        Name of the hidden column with the row number (0, 1, 2, ...); None if there is none.
    not_missing
        Positions of columns that are known to have no null.
    """

    df: DataFrame
    schema: Schema
    key: tuple[KeyColumn, ...] = ()
    position: str | None = None
    not_missing: frozenset[int] = frozenset()
    # The latest result of `sorted`, by its argument: a source that many frames read is sorted and renamed once.
    _sorted: dict[tuple[str, ...] | None, DataFrame] = attrs.field(factory=dict, init=False, repr=False)

    @property
    def columns(self) -> list[str]:
        """Names of the visible columns."""
        return column_names(len(self.schema))

    @property
    def hidden(self) -> list[str]:
        """Names of the key columns, and of the position column unless it is a key column."""
        names = [column.name for column in self.key]
        return names if self.position is None or self.position in names else [*names, self.position]

    def visible(self) -> DataFrame:
        """Return the DataFrame without hidden columns."""
        return self.df.select(*self.columns) if self.hidden else self.df

    def order(self) -> list[Column]:
        """Return the sort expressions of the row order, for ``orderBy`` or a window."""
        return [sort_expression(self.df[column.name], column.ascending) for column in self.key]

    def sorted(self, names: Sequence[str] | None = None) -> DataFrame:
        """Return the visible columns in row order, renamed if names are given. This costs one range exchange and sort, or nothing without a key."""
        # The result is cached, because each step of a plan takes some milliseconds for calls of the JVM.
        requested = None if names is None else tuple(names)
        if requested not in self._sorted:
            if not self.key:
                df = self.visible() if names is None else self.visible().toDF(*names)
            else:
                ordered = self.df.orderBy(*self.order())
                renamed = names and [ordered[column].alias(name) for column, name in zip(self.columns, names, strict=True)]
                df = ordered.select(*(renamed or self.columns))
            self._sorted.clear()
            self._sorted[requested] = df
        return self._sorted[requested]

    def with_columns(self, expressions: Sequence[Column], schema: Schema, origins: Sequence[int | None] = ()) -> Relation:
        """Return the same rows with other visible columns; ``origins`` has the position of the column that each new column copies, or None."""
        selected = [expression.alias(name) for expression, name in zip(expressions, column_names(len(schema)), strict=True)]
        not_missing = frozenset(position for position, origin in enumerate(origins) if origin in self.not_missing)
        return attrs.evolve(self, df=self.df.select(*selected, *self.hidden), schema=schema, not_missing=not_missing)

    def with_position(self) -> Relation:
        """Return the relation with a column ``p`` of row numbers, or the relation itself if it has a position.

        Numbering rows by key moves them all to one partition. Without a key the numbers have gaps between partitions.
        """
        if self.position is not None:
            return self
        from pyspark.sql import Window, functions as F

        number = F.row_number().over(Window.orderBy(*self.order())) - 1 if self.key else F.monotonically_increasing_id()
        return attrs.evolve(self, df=self.df.withColumn("p", number.cast("bigint")), position="p")

    def rekeyed(self, prefix: str) -> Relation:
        """Return the relation with its key columns renamed to ``prefix0``, ``prefix1`` and so on, so that it can be combined with others."""
        names = {column.name: f"{prefix}{index}" for index, column in enumerate(self.key)}
        hidden = [self.df[old].alias(new) for old, new in names.items()]
        position = None
        if self.position is not None:
            position = names.get(self.position, f"{prefix}p")
            if self.position not in names:
                hidden.append(self.df[self.position].alias(position))
        key = tuple(KeyColumn(names[column.name], column.ascending) for column in self.key)
        return Relation(self.df.select(*self.columns, *hidden), self.schema, key, position, self.not_missing)


def lowered(operator: Operator, inputs: list[Relation], context: LoweringContext) -> Relation:
    """Return what an operator makes of the relations of its inputs.

    Raises
    ------
    PlanInvariantError
        If it makes something else than a relation.
    """
    made: Any = operator.plan_to_operator(inputs, context)
    if not isinstance(made, Relation):
        raise PlanInvariantError(
            f"plan_to_operator() of the operator {operator.name!r} gave a {type(made).__name__}: it gives a Relation, such as "
            "inputs[0].with_columns(...), or attrs.evolve(inputs[0], df=...) of rows with the same columns"
        )
    return made


class SummedFloats(Enum):
    """The magnitudes of floats that a query can sum exactly. The query fails at other values, and is then lowered again for a wider class."""

    COMMON = auto()
    MORE = auto()
    EVERY = auto()


@attrs.frozen(eq=False)
class LoweringContext:
    """What an operator may use to lower itself to Spark, in addition to its inputs.

    Parameters
    ----------
    spark
        The engine's isolated session.
    observed
        Whether the row order of the node is observed; if not, key columns may be left out.
    summed
        The floats that sums must handle; unless it is EVERY, the caller lowers the plan again when a query meets other floats.
    open_source
        ``open_source(key, build)`` returns the relation that ``build`` makes, which may be reused in the session for equal keys.
    """

    spark: SparkSession
    observed: bool = True
    summed: SummedFloats = SummedFloats.EVERY
    open_source: Callable[[Hashable, Callable[[], Relation]], Relation] = attrs.field(default=lambda key, build: build())


def sort_expression(column: Column, ascending: bool) -> Column:
    """Return the sort expression of a column in the engine's order, in which null is the smallest value."""
    return column.asc_nulls_first() if ascending else column.desc_nulls_last()


def key_struct(relation: Relation) -> Column:
    """Return one column that grows in row order, for order-sensitive aggregates.

    It is a struct of the key columns, or the row number if a key column descends.
    """
    from pyspark.sql import functions as F

    if not relation.key:
        return F.lit(0)
    if any(not column.ascending for column in relation.key):
        relation = relation.with_position()
        return relation.df[relation.position]
    return F.struct(*[relation.df[column.name] for column in relation.key])
