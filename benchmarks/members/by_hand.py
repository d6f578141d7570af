"""The same in PySpark over the same rows as Parquet files: what somebody writes who does not ask for the order of rows.

A query gives a DataFrame, several of them or a value. Where Spark has no such thing, what comes nearest.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
from pyspark.sql import Window, functions as F
from pyspark.sql.types import DoubleType, LongType, StringType

Query = Callable[[], Any]


@attrs.frozen
class Tables:
    """What the frames are here.

    Parameters
    ----------
    plain, nested, right
        The Parquet files that the frames were written to.
    spark
        A session with default settings.
    files
        Directory of the files that readers read.
    scratch
        Directory for what writers write.
    """

    plain: Any
    nested: Any
    right: Any
    spark: Any
    files: Path
    scratch: Path


def by_hand(t: Tables) -> Mapping[str, Query]:
    """All queries, by the names of the cases."""
    return {
        **row_by_row(t.plain),
        **reductions(t.plain),
        **choices(t.plain, t.nested),
        **casts(t.plain),
        **running(t.plain),
        **distinct_and_sorted(t.plain),
        **functions(t.plain),
        **chance(t.plain),
        **made(t),
        **groups(t.plain),
        **joins(t),
        **changed(t.plain),
        **items(t.nested),
        **reshaped(t.nested),
        **nested_functions(t.nested),
        **files(t),
    }


def row_by_row(p: Any) -> Mapping[str, Query]:
    """One expression over each row."""
    value, number, word, moment = F.col("value"), F.col("id"), F.col("word"), F.col("time")
    parts = [getattr(F, part)("time").alias(part) for part in ("year", "month", "day", "hour", "minute", "second")]
    start = F.lit("2021-01-01 00:00:00").cast("timestamp")
    expressions = {
        "column + column": number + F.col("key"),
        "column * constant": value * 2.5,
        "column / column": value / (F.col("small") + 1),
        "column // constant": F.floor(number / 7),
        "column % constant": number % 7,
        "column ** constant": F.pow(value, F.lit(2)),
        "column > constant": value > 300.0,
        "text == constant": word == "w7",
        "and": (value > 300.0) & (F.col("small") < 50),
        "abs": F.abs(value - 300.0),
        "clip": F.least(F.greatest(value, F.lit(100.0)), F.lit(500.0)),
        "clip_lower": F.greatest(number, F.lit(1000)),
        "clip_upper": F.least(value, F.lit(500.0)),
        "hash": F.xxhash64("id"),
        "hash of floats": F.xxhash64("value"),
        "hash of text": F.xxhash64("word"),
        "is_in of ints": F.col("key").isin([1, 5, 99, 500]),
        "is_in of text": word.isin(["w1", "w5", "w99"]),
        "sa.fillna": F.coalesce("gap", F.lit(0.0)),
        "where": F.when(F.col("small") > 50, value).otherwise(0.0),
        "where of columns": F.when(F.col("small") > 50, number).otherwise(F.col("key")),
        "contains": F.contains("word", F.lit("9")),
        "element_slice of text": F.substring("word", 2, 2),
        "text + text": F.concat("word", "word"),
        "text + constant": F.concat("word", F.lit("!")),
        "datetime_to_str": F.date_format("time", "dd.MM.yyyy HH:mm:ss"),
        "str_to_datetime": F.to_timestamp("stamp", "yyyy-MM-dd HH:mm:ss"),
        "time > constant": moment > start,
        "time - time": F.unix_micros("time") / 1e6 - F.unix_micros(start) / 1e6,
    }
    return {**{name: selected(p, expression) for name, expression in expressions.items()}, "sa.split_datetime": selected(p, *parts)}


def selected(df: Any, *columns: Any) -> Query:
    """A query of some columns."""
    return lambda: df.select(*columns)


def single(df: Any, *columns: Any) -> Query:
    """The first value of a query of one row."""
    return lambda: df.select(*columns).collect()[0][0]


def reductions(p: Any) -> Mapping[str, Query]:
    """One value of all rows."""
    return {
        "sum": single(p, F.sum("value")),
        "mean": single(p, F.avg("value")),
        "std": single(p, F.stddev_pop("value")),
        "var": single(p, F.var_pop("id")),
        "min": single(p, F.min(F.col("value") + 1)),
        "max": single(p, F.max(F.col("value") + 1)),
        "min of times": lambda: p.where("small > 1").select(F.min("time")).collect()[0][0],
        "argmax": lambda: p.select(F.max_by("id", F.struct("value", -F.col("id")))).collect()[0][0],
        "argmin": lambda: p.select(F.min_by("id", F.struct("mixed", "id"))).collect()[0][0],
        "nnz": single(p, F.count_if(F.col("small") != 0)),
        "countna": single(p, F.count_if(F.col("gap").isNull())),
        "all": lambda: int(p.select(F.bool_and(F.col("id") != 0)).collect()[0][0]),
        "any": lambda: int(p.select(F.bool_or(F.col("value") < 0)).collect()[0][0]),
        "median": single(p, F.percentile_approx("value", 0.5)),
        "len of a filter": lambda: p.where("value > 300").count(),
        "summary": lambda: summary(p, "value")["avg"],
        "summary of ints": lambda: summary(p, "small")["distinct"],
        "summary of text": lambda: p.select(F.count("word"), F.approx_count_distinct("word")).collect(),
        "summary: quantile": lambda: summary(p, "value")["quantiles"][0],
        "summary: frequent_items": lambda: p.groupBy("small").count().orderBy(F.desc("count")).limit(100).collect(),
    }


def summary(p: Any, name: str) -> Any:
    """What a summary of numbers has."""
    several = [0.5, 0.01, 0.05, 0.25, 0.75, 0.95, 0.99]
    moments = [F.avg(name).alias("avg"), F.min(name), F.max(name), F.sum(name), F.stddev_pop(name), F.count_if(F.col(name).isNull())]
    return p.select(*moments, F.approx_count_distinct(name).alias("distinct"), F.percentile_approx(name, several).alias("quantiles")).collect()[0]


def choices(p: Any, n: Any) -> Mapping[str, Query]:
    """Some of the rows; rows by number are chosen by a column that has them."""
    rows = p.select("id", "key", "value", "gap", "word")
    return {
        "sa[mask]": lambda: p.where("small < 50").select("value"),
        "sa[::7]": lambda: p.where("id % 7 = 0").select("value"),
        "sa[i]": lambda: p.where(F.col("id") == p.count() // 2).select("value").collect()[0][0],
        "sa.head": lambda: p.select(F.col("value") * 2).limit(10),
        "sa.tail": lambda: p.orderBy(F.desc("id")).limit(10).select(F.col("value") * 2),
        "sa.filter_by": lambda: p.where(F.col("key").isin([1, 5, 99, 500])).select("key"),
        "sa.append": lambda: p.select("value").unionAll(p.select("gap")),
        "sa.dropna": lambda: p.select("gap").dropna(),
        "sf[mask]": lambda: rows.where("value > 300"),
        "sf[a:b]": lambda: rows.where(F.col("id").between(p.count() // 4, p.count() // 2 - 1)),
        "sf.head": lambda: rows.limit(10),
        "sf.tail": lambda: rows.orderBy(F.desc("id")).limit(10),
        "sf.dropna": lambda: rows.dropna(),
        "sf.dropna_split": lambda: (rows.dropna(), rows.where("gap is null")),
        "sf.fillna": lambda: rows.fillna(0.0, "gap"),
        "sf.filter_by": lambda: rows.where(F.col("word").isin(["w1", "w5", "w99"])),
        "sf.filter_by, exclude": lambda: rows.where(~F.col("word").isin(["w1", "w5", "w99"])),
        "sf.sample": lambda: rows.sample(0.5, seed=1),
        "sf.random_split": lambda: tuple(rows.randomSplit([0.3, 0.7], seed=1)),
        "sf.unique": lambda: p.select("key", "small").distinct(),
        "sf.drop_duplicates": lambda: p.select("small", "key", "id").dropDuplicates(["small"]),
    }


def casts(p: Any) -> Mapping[str, Query]:
    """To another type."""
    types = {
        "int to float": ("id", DoubleType()),
        "float to int": ("value", LongType()),
        "int to str": ("id", StringType()),
        "float to str": ("value", StringType()),
        "str to int": ("digits", LongType()),
        "str to float": ("decimal", DoubleType()),
        "datetime to str": ("time", StringType()),
    }
    return {
        **{f"astype: {name}": selected(p, F.col(column).cast(dtype)) for name, (column, dtype) in types.items()},
        "astype: int to datetime": selected(p, F.timestamp_seconds("id")),
        "astype: datetime to int": selected(p, F.unix_seconds(F.col("time").cast("timestamp"))),
    }


def running(p: Any) -> Mapping[str, Query]:
    """Values of all rows so far, and of those near."""
    so_far = Window.orderBy("id").rowsBetween(Window.unboundedPreceding, 0)
    near = Window.orderBy("id").rowsBetween(-9, 0)
    functions = {"sum": F.sum, "mean": F.avg, "max": F.max, "min": F.min, "var": F.var_pop}
    complete = F.count("value").over(near) == 10
    return {
        **{f"cumulative_{name}": selected(p, function("value").over(so_far)) for name, function in functions.items()},
        "cumulative_std": selected(p, F.stddev_pop("value").over(so_far)),
        "cumulative_sum of ints": selected(p, F.sum("key").over(so_far)),
        **{f"rolling_{name}": selected(p, F.when(complete, function("value").over(near))) for name, function in functions.items()},
        "rolling_stdv": selected(p, F.when(complete, F.stddev_pop("value").over(near))),
        "rolling_count": selected(p, F.count("gap").over(near)),
    }


def distinct_and_sorted(p: Any) -> Mapping[str, Query]:
    """Sorting, and distinct values."""
    rows = p.select("id", "key", "mixed", "value", "word")
    return {
        "sa.sort": lambda: p.select("value").orderBy("value"),
        "sa.sort descending": lambda: p.select("mixed").orderBy(F.desc("mixed")),
        "sa.sort of text": lambda: p.select("word").orderBy("word"),
        "is_topk": lambda: p.select(F.col("mixed") >= p.orderBy(F.desc("mixed")).limit(10).select(F.min("mixed")).collect()[0][0]),
        "sa.unique": lambda: p.select("key").distinct(),
        "sa.unique of many": lambda: p.select("mixed").distinct(),
        "sa.unique of text": lambda: p.select("word").distinct(),
        "value_counts": lambda: p.groupBy("word").count().orderBy(F.desc("count")),
        "value_counts of many": lambda: p.groupBy("mixed").count().orderBy(F.desc("count")),
        "sf.sort": lambda: rows.orderBy("value"),
        "sf.sort by ints": lambda: rows.orderBy("mixed"),
        "sf.sort by text": lambda: rows.orderBy("word"),
        "sf.sort by two": lambda: rows.orderBy("key", F.desc("value")),
        "sf.topk": lambda: rows.orderBy(F.desc("mixed")).limit(100),
        "sf.shuffle": lambda: p.select("id", "word").orderBy(F.rand(1)),
        "sa.shuffle": lambda: p.select("mixed").orderBy(F.rand(1)),
    }


def functions(p: Any) -> Mapping[str, Query]:
    """Functions of Python."""
    remainder = F.udf(lambda number: number % 7 + 1, LongType())
    rest = F.udf(lambda word: word[1:], StringType())
    return {
        "sa.apply": selected(p, remainder("key")),
        "sa.apply of text": selected(p, rest("word")),
        "sa.filter": lambda: p.where(remainder("key") == 2).select("key"),
    }


def chance(p: Any) -> Mapping[str, Query]:
    """Rows by chance."""
    return {
        "sa.sample": lambda: p.select("value").sample(0.5, seed=1),
        "sa.random_split": lambda: tuple(p.select("value").randomSplit([0.3, 0.7], seed=1)),
    }


def made(t: Tables) -> Mapping[str, Query]:
    """Columns made of nothing, and what other libraries take."""
    from benchmarks.members.columns import LIST, TEXTS

    rows = t.plain.count()
    return {
        "from_sequence": lambda: t.spark.range(rows),
        "from_const": lambda: t.spark.range(rows).select(F.lit(1.5)),
        "random_integers": lambda: t.spark.range(rows).select((F.rand(1) * 2**62).cast("long")),
        "SArray(list)": lambda: t.spark.createDataFrame([(value,) for value in LIST], "value double"),
        "SArray(list of text)": lambda: t.spark.createDataFrame([(value,) for value in TEXTS], "value string"),
        "sa.to_numpy": lambda: float(t.plain.select("value").toPandas()["value"].to_numpy().sum()),
        "for value in sa": lambda: sum(row[0] for row in t.nested.select("value").toLocalIterator()),
        "for text in sa": lambda: sum(len(row[0]) for row in t.nested.select("word").toLocalIterator()),
        "list(sa)": lambda: len(t.nested.select("time").collect()),
    }


def groups(p: Any) -> Mapping[str, Query]:
    """One row for each group."""
    aggregates = {
        "COUNT": F.count(F.lit(1)),
        "SUM": F.sum("value"),
        "MEAN": F.avg("value"),
        "MIN": F.min("value"),
        "MAX": F.max("value"),
        "VAR": F.var_pop("value"),
        "STD": F.stddev_pop("value"),
        "COUNT_DISTINCT": F.count_distinct("word"),
        "DISTINCT": F.collect_set("word"),
        "QUANTILE": F.percentile_approx("value", [0.1, 0.5]),
        "SELECT_ONE": F.first("word"),
        "ARGMAX": F.max_by("id", "value"),
        "ARGMIN": F.min_by("id", "mixed"),
    }
    counted = [F.count(F.lit(1)), F.sum("value")]
    several = [aggregates[name] for name in ("ARGMAX", "COUNT_DISTINCT", "STD")]
    pairs = F.map_from_entries(F.collect_list(F.struct("word", "count")))
    return {
        **{f"group by: {name}": grouped(p, ["small"], aggregate) for name, aggregate in aggregates.items()},
        "group by: FREQ_COUNT": lambda: p.groupBy("small", "word").count().groupBy("small").agg(pairs),
        "group by text": grouped(p, ["word"], *counted),
        "group by two keys": grouped(p, ["key", "small"], *counted),
        "group by many": grouped(p, ["mixed"], *counted),
        "group by many: ARGMAX": grouped(p, ["mixed"], aggregates["ARGMAX"]),
        "group by many: COUNT_DISTINCT": grouped(p, ["mixed"], aggregates["COUNT_DISTINCT"]),
        "group by many: STD": grouped(p, ["mixed"], aggregates["STD"]),
        "group by: several": grouped(p, ["key"], *several),
    }


def grouped(df: Any, keys: list[str], *aggregates: Any) -> Query:
    """A query of groups."""
    return lambda: df.groupBy(*keys).agg(*aggregates)


def joins(t: Tables) -> Mapping[str, Query]:
    """With another table."""
    p = t.plain.select("id", "mixed", "value")
    return {
        "join": lambda: p.join(t.right, on="mixed"),
        "join, left": lambda: p.join(t.right, on="mixed", how="left"),
        "join, right": lambda: p.join(t.right, on="mixed", how="right"),
        "join, outer": lambda: p.join(t.right, on="mixed", how="outer"),
        "join by text": lambda: t.plain.select("id", "word").join(t.plain.where("id < 500").select("word", "key"), on="word"),
        "join of few": lambda: t.plain.select("id", "key").join(t.nested.where("id < 500").select("key", "small"), on="key"),
        "join of large frames": lambda: p.join(t.plain.select("id", "word"), on="id"),
    }


def changed(p: Any) -> Mapping[str, Query]:
    """Columns and rows more."""
    rows = p.select("id", "value", "word")
    parts = [getattr(F, part)("time").alias(part) for part in ("year", "month", "day", "hour", "minute", "second")]
    return {
        "sf.add_row_number": lambda: rows.select((F.row_number().over(Window.orderBy("id")) - 1).alias("row"), "*"),
        "sf.append": lambda: rows.unionAll(rows),
        "sf['new'] = ...": lambda: rows.withColumn("twice", F.col("value") * 2 + F.col("id")),
        "sf.split_datetime": selected(p, "id", *parts),
    }


def items(n: Any) -> Mapping[str, Query]:
    """Of columns of maps and arrays."""

    def both(function: Callable[[Any, Any], Any]) -> Any:
        return F.zip_with("vector", "vector", function)

    def trimmed(name: str, keys: list[str]) -> Query:
        return selected(n, F.map_filter(name, lambda key, _: ~key.isin(keys)))

    def within(name: str) -> Query:
        return selected(n, F.map_filter(name, lambda _, value: value.between(50, 500)))

    return {
        "dict_keys": selected(n, F.map_keys("bag")),
        "dict_keys, various": selected(n, F.map_keys("tags")),
        "dict_values": selected(n, F.map_values("bag")),
        "dict_has_any_keys": selected(n, F.map_contains_key("bag", "key")),
        "dict_has_any_keys, various": selected(n, F.map_contains_key("tags", "w1") | F.map_contains_key("tags", "w2")),
        "dict_has_all_keys": selected(n, F.map_contains_key("bag", "key") & F.map_contains_key("bag", "small")),
        "dict_trim_by_keys": trimmed("bag", ["key"]),
        "dict_trim_by_keys, various": trimmed("tags", ["w1", "b"]),
        "dict_trim_by_values": within("bag"),
        "dict_trim_by_values, various": within("tags"),
        "item_length of dicts": selected(n, F.size("tags")),
        "item_length": selected(n, F.size("words")),
        "element_slice of arrays": selected(n, F.slice("vector", 1, 1)),
        "element_slice of lists": selected(n, F.slice("words", 1, 1)),
        "vector_slice": selected(n, F.get("vector", F.lit(0))),
        "vector_slice of two": selected(n, F.slice("vector", 1, 2)),
        "array * constant": selected(n, F.transform("vector", lambda item: item * 2)),
        "array + array": selected(n, both(lambda first, second: first + second)),
        "sum of arrays": lambda: list(n.select(*[F.sum(F.get("vector", F.lit(place))) for place in (0, 1)]).collect()[0]),
        "mean of arrays": lambda: list(n.select(*[F.avg(F.get("vector", F.lit(place))) for place in (0, 1)]).collect()[0]),
        "contains of lists": selected(n, F.array_contains("words", "w9")),
        "hash of lists": selected(n, F.xxhash64("words")),
        "hash of dicts": selected(n, F.xxhash64(F.map_entries("bag"))),
        **nested_casts(n),
    }


def nested_casts(n: Any) -> Mapping[str, Query]:
    """Maps and arrays as texts, and texts as these."""
    return {
        "astype: dict to str": selected(n, F.to_json("bag")),
        "astype: array to str": selected(n, F.to_json("vector")),
        "astype: list to str": selected(n, F.to_json("words")),
        "astype: str to dict": selected(n, F.from_json("bag text", "map<string,bigint>", {"allowSingleQuotes": "true"})),
        "astype: str to array": selected(n, F.from_json("vector text", "array<double>")),
        "astype: str to list": selected(n, F.from_json("words text", "array<string>", {"allowSingleQuotes": "true"})),
        "astype: array to list": selected(n, F.col("vector").cast("array<double>")),
        "astype: list to array": selected(n, F.col("numbers").cast("array<double>")),
    }


def reshaped(n: Any) -> Mapping[str, Query]:
    """Items to columns and rows, and back."""
    keys = [F.col("bag")[key].alias(key) for key in ("key", "small")]
    pair = F.struct("word", "value")
    first_of_key = n.groupBy("small", "word").agg(F.first("value").alias("value"))
    return {
        "sa.unpack dicts": selected(n, *keys),
        "sa.unpack, one key": selected(n, keys[0]),
        "sa.unpack arrays": selected(n, *[F.get("vector", F.lit(place)).alias(str(place)) for place in (0, 1)]),
        "sa.unpack lists": selected(n, *[F.get("words", F.lit(place)).alias(str(place)) for place in (0, 1)]),
        "sf.unpack dicts": selected(n, "id", *keys),
        "sa.stack": selected(n, F.explode("words")),
        "sf.stack lists": selected(n, "id", F.explode("words")),
        "sf.stack arrays": selected(n, "id", F.explode("vector")),
        "sf.stack dicts": selected(n, "id", F.explode("bag")),
        "sf.stack dicts, various": selected(n, "id", F.explode("tags")),
        "sf.unstack to dicts": lambda: first_of_key.groupBy("small").agg(F.map_from_entries(F.collect_list(pair))),
        "sf.unstack to lists": lambda: n.groupBy("small").agg(F.collect_list("value")),
        "sf.unstack of many": lambda: n.groupBy("mixed").agg(F.collect_list("value")),
        "sf.pack_columns to dicts": selected(n, F.create_map(F.lit("small"), "small", F.lit("key"), "key")),
        "sf.pack_columns to arrays": selected(n, F.array(F.col("small").cast("double"), F.col("key").cast("double"))),
        "sf.pack_columns to lists": selected(n, F.struct("small", "word")),
        "group by: CONCAT": lambda: n.groupBy("small").agg(F.collect_list("value")),
        "group by: CONCAT to dicts": lambda: n.groupBy("small").agg(F.map_from_entries(F.collect_list(F.struct("id", "value")))),
        "group by: SUM of arrays": lambda: n.groupBy("small").agg(F.array(*[F.sum(F.get("vector", F.lit(place))) for place in (0, 1)])),
    }


def nested_functions(n: Any) -> Mapping[str, Query]:
    """Functions of Python, and rows as Python has them."""
    item = F.udf(lambda bag: bag["key"], LongType())
    pair = F.udf(lambda key: [key, key + 1], "array<bigint>")
    both = F.udf(lambda small, key: small + key, LongType())
    doubled = F.udf(lambda small, word: [(small, word)] * 2, "array<struct<a: bigint, b: string>>")
    return {
        "sa.apply of dicts": selected(n, item("bag")),
        "sa.apply to lists": selected(n, pair("key")),
        "sf.apply": selected(n, both("small", "key")),
        "sf.flat_map": lambda: n.select(F.explode(doubled("small", "word")).alias("made")).select("made.*"),
        "for row in sf": lambda: sum(row["key"] for row in n.select("key", "word", "value").toLocalIterator()),
        "for row in sf with dicts": lambda: sum(row["bag"]["key"] for row in n.select("id", "bag").toLocalIterator()),
        "sf.to_dataframe": lambda: len(n.select("id", "word", "value", "time").toPandas()),
        "sf.to_numpy": lambda: float(n.select("id", "value").toPandas().to_numpy().sum()),
    }


def files(t: Tables) -> Mapping[str, Query]:
    """Readers and writers of files."""
    from benchmarks.members.files import CSV, JSON

    # A reader keeps the options and the schema of what it read before: each query has its own.
    spark = t.spark
    csv, nested_csv, rows_json, lines = (str(t.files / name) for name in ("rows.csv", "nested.csv", "rows.json", "lines.json"))
    types, texts = "id bigint, small bigint, value double, word string", "id string, small string, value string, word string"
    entries = [F.col("id"), F.to_json("vector"), F.to_json("tags")]

    def place(name: str) -> str:
        shutil.rmtree(t.scratch / name, ignore_errors=True)
        return str(t.scratch / name)

    def through_files() -> Any:
        t.nested.select("id", "small", "value").limit(100_000).write.parquet(place("table"))
        return spark.read.parquet(str(t.scratch / "table"))

    return {
        "read_csv": lambda: spark.read.csv(csv, header=True, inferSchema=True),
        "read_csv, column_type_hints": lambda: spark.read.csv(csv, header=True, schema=types),
        "read_csv, all text": lambda: spark.read.csv(csv, header=True, schema=texts),
        "read_csv_with_errors": lambda: spark.read.csv(csv, header=True, schema=types, mode="DROPMALFORMED"),
        "read_csv of arrays and dicts": lambda: spark.read.csv(nested_csv, header=True, inferSchema=True, escape='"'),
        "read_json": lambda: spark.read.json(rows_json, multiLine=True),
        "read_json, lines": lambda: spark.read.json(lines),
        "SArray.read_json": lambda: spark.read.json(rows_json, multiLine=True),
        "load": lambda: spark.read.parquet(str(t.files / "plain")).count(),
        "sf.save": lambda: t.plain.select(*CSV).write.parquet(place("saved")),
        "sa.save": lambda: t.plain.select("value").write.parquet(place("saved column")),
        "export_csv": lambda: t.plain.select(*CSV).write.csv(place("csv"), header=True),
        "export_csv of dicts": lambda: t.nested.select(*entries).write.csv(place("csv"), header=True),
        "export_json": lambda: t.nested.select(*JSON).write.json(place("json")),
        "export_json, lines": lambda: t.nested.select(*JSON).write.json(place("json")),
        "to_sql and from_sql": through_files,
    }
