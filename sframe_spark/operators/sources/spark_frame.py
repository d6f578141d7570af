"""SparkSource: rows of a user's Spark DataFrame."""

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
    """No DataFrame of a user's."""


@register
@attrs.frozen
class SparkSource(Operator):
    """Rows of a user's Spark DataFrame, which has no row order of its own: the first look that needs rows materialises the node.

    Parameters
    ----------
    df
        The columns in our physical types.
    types
        Their types.
    given
        The user's own DataFrame as long as it is alive, and others may be made of it.
    is_given
        True where its columns are in our types already: ``df`` only names them by position.
    names
        The user's names of the columns, by which messages tell which DataFrame it is.
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
        """How long texts are is not known."""
        return tuple(map(fixed_size, schema))

    def plan_to_operator(self, inputs: Sequence[Relation], context: LoweringContext) -> Relation:
        """The DataFrame itself, without a key, in a session of ours: what is made of it has its meaning from our settings, not from its user's."""
        require_frame_open(self.df.sparkSession)
        df = self.df if is_remote(context.spark) or is_remote(self.df.sparkSession) else in_session(self.df, context.spark)
        return Relation(df, self.types)

    def describe(self) -> str:
        return f"DataFrame of {len(self.types)} columns"
