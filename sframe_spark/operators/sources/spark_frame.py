"""The source of rows in a user's Spark DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from sframe_spark.planner.node_facts import Facts, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_declarations import SourceKind
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes, fixed_size
from sframe_spark.planner.spark_relation import LoweringContext, Relation
from sframe_spark.session import is_remote, require_frame_open
from sframe_spark.session.users_own_spark_session import in_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def nothing() -> None:
    """Return None: no DataFrame of the user's is available."""


@register
@attrs.frozen
class SparkSource(Operator):
    """Rows of a user's Spark DataFrame. They have no order: the first action that needs rows materializes the node, which fixes an order.

    Parameters
    ----------
    df
        The DataFrame, with columns in the engine's physical types.
    types
        Column types.
    given
        Returns the user's own DataFrame while it is alive and usable, otherwise None.
    is_given
        Whether the user's DataFrame already has the engine's types, so that ``df`` differs from it only in column names.
    names
        The user's names of the columns, by which messages identify the DataFrame.
    """

    name: ClassVar[str] = "spark_source"
    arity: ClassVar[int | None] = 0
    deterministic: ClassVar[bool] = True
    source_kind: ClassVar[SourceKind] = SourceKind.QUERY
    df: DataFrame = attrs.field(metadata={"portable": False}, eq=id)
    types: Schema = attrs.field()
    given: Callable[[], Any] = attrs.field(default=nothing, eq=False, repr=False, metadata={"portable": False})
    is_given: bool = attrs.field(default=False, eq=False, repr=False, metadata={"portable": False})
    names: tuple[str, ...] = attrs.field(default=(), eq=False, repr=False, metadata={"portable": False})

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return self.types

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """Return sizes by type; sizes of variable-width columns are unknown."""
        return tuple(map(fixed_size, schema))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """Return the DataFrame, moved into the engine's session unless a Spark Connect server runs it, without columns of a row key.

        What is computed from it follows the engine's settings, not the user's."""
        require_frame_open(self.df.sparkSession)
        df = self.df if is_remote(context.spark) or is_remote(self.df.sparkSession) else in_session(self.df, context.spark)
        return Relation(df, self.types)

    def describe(self) -> str:
        return f"DataFrame of {len(self.types)} columns"
