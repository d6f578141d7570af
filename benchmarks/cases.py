"""What is measured: each case as a user of SFrame writes it, and by hand in PySpark for the same rows in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from benchmarks.frames import Data
from sframe_spark import SFrame, aggregate

RELATIONAL, SORTED, ROW_WISE, APPLY, ZIP, RUNNING = 1.10, 1.30, 0.60, 0.50, 0.40, 0.30


@attrs.frozen
class Case:
    """One line of the table.

    Parameters
    ----------
    name
        Name, the same in ``benchmarks/reference.py``.
    target
        Greatest allowed ratio of our time to that of the hand-written query.
    ours, by_hand
        Give a small result to compare, or the frame (the directory) that was written.
    """

    name: str
    target: float
    ours: Callable[[Data], Any]
    by_hand: Callable[[Data], Any]


def materialised(frame: SFrame) -> SFrame:
    """The frame with all rows computed."""
    frame.materialize()
    return frame


def written(data: Data, query: Any, *order: str) -> str:
    """Rows of a query in row order as Parquet files with a row key, as a stored ordered frame has them."""
    target = str(data.scratch)
    query.orderBy(*order or ("_key",)).drop("_key").write.parquet(target, mode="overwrite")
    return target


def derive_ours(data: Data) -> SFrame:
    """Filter, one derived column, all rows kept."""
    frame = data.frame[data.frame["value"] > 0.5]
    frame["twice"] = frame["value"] * 2 + frame["key"]
    return materialised(frame)


def derive_by_hand(data: Data) -> str:
    """The same."""
    frame = data.table.where("value > 0.5").selectExpr("*", "value * 2 + key AS twice")
    return written(data, frame)


def assign_ours(data: Data) -> SFrame:
    """One more column from columns of the same frame, by position."""
    frame = data.frame.copy()
    frame["sum"] = data.frame["number"] + data.frame["key"]
    return materialised(frame)


def zip_ours(data: Data) -> SFrame:
    """Two frames side by side, all rows written."""
    first = data.frame[["number", "key"]]
    first["value"], first["word"] = data.other["value"], data.other["word"]
    first["sum"] = first["key"] + first["value"]
    return materialised(first)


def zip_by_hand(data: Data) -> str:
    """Two tables side by side are a join on the row key in Spark."""
    first = data.table.select("_key", "number", "key")
    return written(data, first.join(data.other_table, "_key").selectExpr("*", "key + value AS sum"))


def join_ours(data: Data) -> SFrame:
    """An inner join, all rows written."""
    return materialised(data.frame.join(data.right, on="number"))


def running_ours(data: Data) -> SFrame:
    """Running sums of a column, written."""
    return materialised(SFrame({"sum": data.frame["value"].cumulative_sum()}))


def running_by_hand(data: Data) -> str:
    """A window over all rows."""
    from pyspark.sql import Window, functions as F

    window = Window.orderBy("_key").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    query = data.table.select(F.sum("value").over(window).alias("sum"))
    query.write.parquet(str(data.scratch), mode="overwrite")
    return str(data.scratch)


def rolling_ours(data: Data) -> SFrame:
    """Means of ten rows each, written."""
    return materialised(SFrame({"mean": data.frame["value"].rolling_mean(-9, 0)}))


def rolling_by_hand(data: Data) -> str:
    """A window over all rows; missing where it has fewer than ten."""
    from pyspark.sql import Window, functions as F

    window = Window.orderBy("_key").rowsBetween(-9, 0)
    mean = F.when(F.count("value").over(window) == 10, F.avg("value").over(window))
    data.table.select(mean.alias("mean")).write.parquet(str(data.scratch), mode="overwrite")
    return str(data.scratch)


def apply_ours(data: Data) -> SFrame:
    """A Python function of each value, written."""
    return materialised(SFrame({"out": data.frame["number"].apply(lambda number: number % 7 + 1, dtype=int)}))


def apply_by_hand(data: Data) -> str:
    """A plain (pickled) Python UDF."""
    from pyspark.sql import functions as F

    function = F.udf(lambda number: number % 7 + 1, "bigint", useArrow=False)
    return written(data, data.table.select("_key", function("number").alias("out")))


def rows(query: Any) -> list[tuple[Any, ...]]:
    """Rows of a small Spark query."""
    return [tuple(row) for row in query.toArrow().to_pydict().values()]


def columns(frame: SFrame) -> list[tuple[Any, ...]]:
    """Columns of a small frame."""
    return [tuple(column) for column in frame.to_arrow().to_pydict().values()]


def group_ours(key: str) -> Callable[[Data], Any]:
    """Count, sum and maximum of each group, in the order of the keys."""
    wanted = {"n": aggregate.COUNT(), "sum": aggregate.SUM("number"), "top": aggregate.MAX("value")}
    return lambda data: columns(data.frame.groupby(key, wanted))


def group_by_hand(key: str) -> Callable[[Data], Any]:
    """The same."""
    wanted = "count(*) AS n", "sum(number) AS sum", "max(value) AS top"

    def run(data: Data) -> Any:
        from pyspark.sql import functions as F

        return rows(data.table.groupBy(key).agg(*[F.expr(text) for text in wanted]).orderBy(key))

    return run


def top_by_hand(data: Data) -> Any:
    """The rows with the largest values."""
    from pyspark.sql import functions as F

    return rows(data.table.orderBy(F.desc("value"), "_key").drop("_key").limit(10))


CASES: tuple[Case, ...] = (
    Case(
        "sum",
        RELATIONAL,
        lambda data: data.frame["number"].sum(),
        lambda data: data.table.selectExpr("sum(number)").collect()[0][0],
    ),
    Case("filter, derive, materialise", ROW_WISE, derive_ours, derive_by_hand),
    Case("group by int", RELATIONAL, group_ours("key"), group_by_hand("key")),
    Case("group by text", RELATIONAL, group_ours("word"), group_by_hand("word")),
    Case(
        "join with 100,000 rows",
        RELATIONAL,
        join_ours,
        lambda data: written(data, data.table.join(data.right_table.drop("_key"), "number")),
    ),
    Case(
        "sort, materialise",
        SORTED,
        lambda data: materialised(data.frame.sort("value")),
        lambda data: written(data, data.table, "value", "_key"),
    ),
    Case("top 10", RELATIONAL, lambda data: columns(data.frame.topk("value", 10)), top_by_hand),
    Case(
        "head after filter",
        RELATIONAL,
        lambda data: columns(data.frame[data.frame["value"] > 0.9].head(10)),
        lambda data: rows(data.table.where("value > 0.9").orderBy("_key").drop("_key").limit(10)),
    ),
    Case(
        "column from the same frame",
        ROW_WISE,
        assign_ours,
        lambda data: written(data, data.table.selectExpr("*", "number + key AS sum")),
    ),
    Case("zip of two frames", ZIP, zip_ours, zip_by_hand),
    Case("cumulative sum", RUNNING, running_ours, running_by_hand),
    Case("rolling mean", RUNNING, rolling_ours, rolling_by_hand),
    Case("apply", APPLY, apply_ours, apply_by_hand),
)
