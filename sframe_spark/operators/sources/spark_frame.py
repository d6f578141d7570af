"""The source over a user's Spark DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from sframe_spark.planner.facts import Facts, Schema
from sframe_spark.planner.lowering import LoweringContext, Relation
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.registry import register
from sframe_spark.planner.row_sizes import Sizes, fixed_size
from sframe_spark.session import is_remote, require_frame_open
from sframe_spark.session.user_session import in_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def nothing() -> None:
    """Return None: there is no DataFrame of the user's."""


@register
@attrs.frozen
class SparkSource(Operator):
    """Rows of a user's Spark DataFrame, which have no order of their own: the first action that needs rows materializes the node.

    Parameters
    ----------
    df
        The columns in the engine's physical types.
    types
        Their types.
    given
        Returns the user's own DataFrame while it is alive and usable, else None.
    is_given
        Whether that already has the engine's types, so that ``df`` only names its columns by position.
    names
        The user's names of the columns, by which messages identify the DataFrame.
    """

    name: ClassVar[str] = "spark_source"
    arity: ClassVar[int | None] = 0
    deterministic: ClassVar[bool] = True
    is_evaluated_anew: ClassVar[bool] = True
    df: DataFrame = attrs.field(metadata={"portable": False}, eq=id)
    types: Schema = attrs.field()
    given: Callable[[], Any] = attrs.field(default=nothing, eq=False, repr=False, metadata={"portable": False})
    is_given: bool = attrs.field(default=False, eq=False, repr=False, metadata={"portable": False})
    names: tuple[str, ...] = attrs.field(default=(), eq=False, repr=False, metadata={"portable": False})

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        return self.types

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """Sizes of variable-width columns are unknown."""
        return tuple(map(fixed_size, schema))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """The DataFrame itself, without a key, in the engine's session: what is computed from it follows the engine's settings, not the user's."""
        require_frame_open(self.df.sparkSession)
        df = self.df if is_remote(context.spark) or is_remote(self.df.sparkSession) else in_session(self.df, context.spark)
        return Relation(df, self.types)

    def describe(self) -> str:
        return f"DataFrame of {len(self.types)} columns"
