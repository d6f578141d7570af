"""PySpark by hand; rows that are kept are written as Parquet, in the order of the rows where we keep it."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.data import DICTS, Place


class Programs:
    """The programs of :mod:`benchmarks.peers.ours`; an as-of join is none of Spark's."""

    def __init__(self, place: Place) -> None:
        from sframe_spark.session import get_session

        self.spark = get_session().newSession()
        self.rows = self.spark.read.parquet(str(place.directory / "rows"))
        self.right = self.spark.read.parquet(place.file("right.parquet"))
        self.target, self.lines = place.file("written"), place.file("part.csv")

    def _kept(self, query: Any) -> int:
        query.write.parquet(self.target, mode="overwrite")
        return int(self.spark.read.parquet(self.target).count())

    def _rounded(self, query: Any) -> Any:
        return [tuple(round(value, 6) if isinstance(value, float) else value for value in row) for row in query.collect()]

    def sum_of_a_column(self) -> Any:
        return round(self.rows.selectExpr("sum(f)").first()[0], 3)

    def filter_and_derive(self) -> Any:
        return self._kept(self.rows.where("f > 0.5").selectExpr("*", "f * 2 + k AS d").orderBy("t"))

    def assign(self) -> Any:
        return self._kept(self.rows.selectExpr("*", "i + k AS d").orderBy("t"))

    def group_by_ints(self) -> Any:
        return self._rounded(self.rows.groupBy("k").agg({"f": "avg", "*": "count"}).selectExpr("k", "`avg(f)`", "`count(1)`").orderBy("k"))

    def group_by_texts(self) -> Any:
        return self._rounded(self.rows.groupBy("s").agg({"f": "avg", "*": "count"}).selectExpr("s", "`avg(f)`", "`count(1)`").orderBy("s"))

    def group_by_much(self) -> Any:
        from pyspark.sql import functions as F

        wanted = [F.max_by("i", "f"), F.countDistinct("s"), F.stddev_pop("f")]
        return self._rounded(self.rows.groupBy("k").agg(*wanted).orderBy("k"))

    def join(self) -> Any:
        return self._kept(self.rows.join(self.right, "i").orderBy("t"))

    def top_rows(self) -> Any:
        return [row[0] for row in self.rows.orderBy("f", ascending=False).limit(10).select("i").collect()]

    def unique_texts(self) -> Any:
        return self._kept(self.rows.select("s").distinct().orderBy("s"))

    def unique_ints(self) -> Any:
        return self._kept(self.rows.select("i").distinct().orderBy("i"))

    def apply(self) -> Any:
        from pyspark.sql import functions as F

        function = F.udf(lambda value: value * 2 + 1, "bigint")
        self._kept(self.rows.select(function("i").alias("i"), "t").orderBy("t"))
        return self.spark.read.parquet(self.target).selectExpr("sum(i)").first()[0]

    def apply_to_dicts(self) -> Any:
        from pyspark.sql import functions as F

        function = F.udf(lambda text: {word: len(word) for word in text.split(" ")}, "map<string,bigint>")
        count = self.rows.count() // DICTS
        rows = self._kept(self.rows.where(f"t < {2 * count}").select(function("s").alias("d"), "t").orderBy("t"))
        return [rows, self.spark.read.parquet(self.target).orderBy("t", ascending=False).first()["d"]]

    def apply_to_rows(self) -> Any:
        from pyspark.sql import functions as F

        function = F.udf(lambda k, f: k + f, "double")
        self._kept(self.rows.select(function("k", "f").alias("x"), "t").orderBy("t"))
        return round(self.spark.read.parquet(self.target).selectExpr("sum(x)").first()[0], 2)

    def read_csv(self) -> Any:
        rows = self._kept(self.spark.read.csv(self.lines, header=True, inferSchema=True).orderBy("t"))
        return [rows, round(self.spark.read.parquet(self.target).selectExpr("sum(f)").first()[0], 3)]

    def cumulative_sum(self) -> Any:
        self._kept(self.rows.selectExpr("t", "sum(f) OVER (ORDER BY t ROWS UNBOUNDED PRECEDING) AS c"))
        return round(self.spark.read.parquet(self.target).orderBy("t", ascending=False).first()["c"], 3)

    def rolling_mean(self) -> Any:
        self._kept(self.rows.selectExpr("t", "avg(f) OVER (ORDER BY t ROWS 9 PRECEDING) AS c"))
        return round(self.spark.read.parquet(self.target).orderBy("t", ascending=False).first()["c"], 6)

    def sort(self) -> Any:
        self._kept(self.rows.orderBy("i"))
        return [row["t"] for row in self.spark.read.parquet(self.target).orderBy("i").limit(3).collect()]

    def filter_join_group_sort(self) -> Any:
        joined = self.rows.where("f > 0.5").join(self.right, "i", "left")
        return sorted(self._rounded(joined.groupBy("k").agg({"*": "count", "g": "avg"}).selectExpr("`count(1)` AS n", "`avg(g)`").orderBy("n")))
