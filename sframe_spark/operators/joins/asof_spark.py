"""Spark lowering of the as-of join: a window over the rows of both sides, in the order of the key."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from sframe_spark.compute.key_encoding import comparable_column
from sframe_spark.operators.lookup.numeric_keys import WIDE, distance_column, key_column
from sframe_spark.planner.lowering import Relation
from sframe_spark.types import FLOAT_KIND

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from sframe_spark.operators.joins.asof_join import AsofJoin


def asof_relation(left: Relation, right: Relation, join: AsofJoin) -> Relation:
    """The left rows with the values of their matches.

    The right rows carry a struct of key, number and values; a left row takes the last such struct before it, or the first one after it.
    """
    from pyspark.sql import functions as F

    left, right = left.rekeyed("l"), right.with_position()
    as_float = left.schema[0].kind != right.schema[join.on].kind
    names = [f"b{i}" for i in range(len(join.by))]
    asked = left.df.select(
        *left.hidden,
        *[left.df[f"c{position}"].alias(f"kept{i}") for i, position in enumerate(join.kept)],
        normal(key_column(left.df["c0"], left.schema[0], as_float)).alias("at"),
        *[comparable_column(left.df[f"c{i + 1}"], left.schema[i + 1]).alias(name) for i, name in enumerate(names)],
        F.lit(True).alias("asks"),
    )
    at = normal(key_column(right.df[f"c{join.on}"], right.schema[join.on], as_float))
    answer = F.struct(at.alias("at"), *[right.df[f"c{position}"].alias(f"v{i}") for i, position in enumerate(join.values)])
    told = right.df.select(
        at.alias("at"),
        *[comparable_column(right.df[f"c{p}"], right.schema[p]).alias(name) for name, p in zip(names, join.by, strict=True)],
        F.lit(False).alias("asks"),
        F.col(str(right.position)).alias("number"),
        answer.alias("answer"),
    )
    told = told.where(reduce(and_, [told[name].isNotNull() for name in ("at", *names)]))
    both = asked.unionByName(told, allowMissingColumns=True)
    found = matched(both, names, join, as_float or left.schema[0].kind == FLOAT_KIND)
    columns = [found[f"kept{i}"] for i in range(len(join.kept))] + [found["found"][f"v{i}"] for i in range(len(join.values))]
    schema = (*[left.schema[position] for position in join.kept], *[right.schema[position] for position in join.values])
    return Relation(found.select(*[column.alias(f"c{i}") for i, column in enumerate(columns)], *left.hidden), schema, left.key, left.position)


def matched(both: DataFrame, names: Sequence[str], join: AsofJoin, is_float: bool) -> DataFrame:
    """The asking rows, each with its match in ``found``."""
    from pyspark.sql import functions as F

    before = window_answer(names, after=False, equal=join.allow_exact)
    after = window_answer(names, after=True, equal=join.allow_exact)
    if join.direction == "nearest":
        # Both windows must be columns before they can be compared.
        both = both.withColumn("before", before).withColumn("after", after)
        closer = distance(F.col("after.at"), F.col("at"), is_float) < distance(F.col("at"), F.col("before.at"), is_float)
        found = F.when(F.col("before").isNull() | closer, F.col("after")).otherwise(F.col("before"))
    else:
        found = after if join.direction == "forward" else before
    both = both.withColumn("found", found).where("asks")
    allowed = F.col("at").isNotNull()
    for name in names:
        allowed &= F.col(name).isNotNull()
    if join.tolerance is not None:
        gap = F.abs(distance(F.col("at"), F.col("found.at"), is_float))
        allowed &= gap <= distance_column(join.tolerance, "double" if is_float else WIDE)
    return both.withColumn("found", F.when(allowed, F.col("found")))


def window_answer(names: Sequence[str], after: bool, equal: bool) -> Column:
    """The last answer before each row in the order of the key, or the first one after it."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    # Of rows with one key those that answer come on the side where the asking row looks, if an equal key counts.
    asks = F.col("asks").asc() if equal != after else F.col("asks").desc()
    window = Window.partitionBy(*names).orderBy(F.col("at").asc_nulls_first(), asks, "number")
    if after:
        return F.first("answer", ignorenulls=True).over(window.rowsBetween(Window.currentRow, Window.unboundedFollowing))
    return F.last("answer", ignorenulls=True).over(window.rowsBetween(Window.unboundedPreceding, Window.currentRow))


def distance(above: Column, below: Column, is_float: bool) -> Column:
    """How far one key is above another, without overflow of ints; zero for equal infinities."""
    from pyspark.sql import functions as F

    difference = above - below if is_float else above.cast(WIDE) - below.cast(WIDE)
    return F.when(above == below, F.lit(0)).otherwise(difference)


def normal(key: Column) -> Column:
    """The key with one zero."""
    from pyspark.sql import functions as F

    return F.when(key == 0, F.lit(0)).otherwise(key)
