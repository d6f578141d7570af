"""Members beside hand-written PySpark and the reference engine: ``python -m benchmarks.members [--rows N] [--only NAME] [--reference [PYTHON]]``.

Nested columns have a tenth of the rows. Rows of hand-written queries go nowhere (Spark's ``noop`` writer), ours are kept.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sframe_spark
from benchmarks.member_cases import cases, nested_columns, plain_columns, seconds, written
from benchmarks.run import arguments


def nowhere(df: Any) -> None:
    """Compute all rows of a query."""
    df.write.format("noop").mode("overwrite").save()


def by_hand(spark: Any, directory: Path) -> Mapping[str, Callable[[], Any]]:
    """The same in PySpark, over the same rows as Parquet files."""
    from pyspark.sql import functions as F

    plain, nested = (spark.read.parquet(str(directory / name)) for name in ("plain", "nested"))
    moment = F.col("time")
    parts = [getattr(F, part)(moment).alias(part) for part in ("year", "month", "day", "hour", "minute", "second")]
    csv, lines = (str(directory / f"rows.{kind}") for kind in ("csv", "json"))
    return {
        "unique": lambda: plain.select("key").distinct().count(),
        "unique of text": lambda: plain.select("word").distinct().count(),
        "value_counts": lambda: plain.groupBy("word").count().orderBy(F.desc("count")).collect(),
        "datetime_to_str": lambda: nowhere(plain.select(F.date_format("time", "dd.MM.yyyy HH:mm:ss"))),
        "str_to_datetime": lambda: nowhere(plain.select(F.to_timestamp("stamp", "yyyy-MM-dd HH:mm:ss"))),
        "split_datetime": lambda: nowhere(plain.select(*parts)),
        "contains": lambda: plain.where(F.contains("word", F.lit("9"))).count(),
        "element_slice of text": lambda: nowhere(plain.select(F.substring("word", 2, 2))),
        "text + text": lambda: nowhere(plain.select(F.concat("word", "word"))),
        "sample": lambda: plain.sample(0.5, seed=1).count(),
        "random_split": lambda: sum(part.count() for part in plain.randomSplit([0.3, 0.7], seed=1)),
        "shuffle": lambda: nowhere(plain.select("id", "word").orderBy(F.rand(1))),
        "read_csv": lambda: nowhere(spark.read.csv(csv, header=True, inferSchema=True)),
        "nested: read_json": lambda: nowhere(spark.read.json(lines)),
        "nested: dict_keys": lambda: nowhere(nested.select(F.map_keys("bag"))),
        "nested: dict_values": lambda: nowhere(nested.select(F.map_values("bag"))),
        "nested: dict_has_any_keys": lambda: nested.where(F.map_contains_key("bag", "key")).count(),
        "nested: dict_trim_by_keys": lambda: nowhere(nested.select(F.map_filter("bag", lambda key, _: key != "key"))),
        "nested: dict_trim_by_values": lambda: nowhere(nested.select(F.map_filter("bag", lambda _, value: value.between(50, 500)))),
        "nested: unpack dicts": lambda: nowhere(nested.select(*[F.col("bag")[key].alias(key) for key in ("key", "small")])),
        "nested: unpack arrays": lambda: nowhere(nested.select(*[F.get("vector", F.lit(place)).alias(str(place)) for place in (0, 1)])),
        "nested: stack dicts": lambda: nowhere(nested.select("id", F.explode("bag"))),
        "nested: stack arrays": lambda: nowhere(nested.select("id", F.explode("vector"))),
        "nested: unstack": lambda: nowhere(nested.groupBy("small").agg(F.map_from_entries(F.collect_set(F.struct("word", "value"))))),
        "nested: unstack lists": lambda: nowhere(nested.groupBy("small").agg(F.collect_list("value"))),
        "nested: pack_columns": lambda: nowhere(nested.select(F.create_map(F.lit("small"), "small", F.lit("key"), "key"))),
        "nested: pack_columns of arrays": lambda: nowhere(nested.select(F.array("small", "key"))),
        "nested: vector_slice": lambda: nowhere(nested.select(F.get("vector", F.lit(0)))),
        "nested: item_length": lambda: nested.select(F.sum(F.size("bag"))).collect(),
    }


def reference_seconds(python: str, rows: int, directory: Path, only: str) -> dict[str, float]:
    """Seconds of the reference engine, in a process of its own interpreter."""
    command = [python, str(Path(__file__).with_name("member_cases.py")), str(rows), str(directory), only]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure what the command line asks for."""
    from sframe_spark.session.build import open_session, start_spark

    chosen = arguments()
    with tempfile.TemporaryDirectory(prefix="sframe-bench-") as place:
        directory = Path(place)
        frames = plain_columns(sframe_spark, chosen.rows), nested_columns(sframe_spark, chosen.rows // 10)
        written(*frames, place)
        for name, frame in zip(("plain", "nested"), frames, strict=True):
            frame.write_parquet(str(directory / name))
        queries = by_hand(open_session(start_spark()), directory)
        reference = reference_seconds(chosen.reference, chosen.rows, directory, chosen.only) if chosen.reference else {}
        print(f"{chosen.rows:,} rows; median of {chosen.runs} warm runs, seconds: ours, by hand, reference, ours to each", flush=True)
        ratios: list[tuple[float, float]] = []
        for name, action in cases(sframe_spark, *frames, place).items():
            if chosen.only not in name:
                continue
            ours, hand, other = seconds(action, chosen.runs), seconds(queries[name], chosen.runs), reference.get(name, math.nan)
            ratios.append((ours / hand, ours / other))
            print(f"{name:<32} {ours:8.3f} {hand:8.3f} {other:8.3f} {ours / hand:7.2f} {ours / other:7.2f}", flush=True)
        means = [math.exp(sum(map(math.log, side)) / len(side)) for side in zip(*ratios, strict=True)]
        print(f"{'geometric mean':<32} {'':26} {means[0]:7.2f} {means[1]:7.2f}")


if __name__ == "__main__":
    main()
