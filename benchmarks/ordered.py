"""Ordered-data operations beside hand-written PySpark: ``python -m benchmarks.ordered [--rows N] [--only NAME] [--runs N]``."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from benchmarks.run import measure, verdict
from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.session import get_session
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import FLOAT, INT, ColumnType

SEED = 7
BLOCK = 1_000_000
GROUPS = 100


@attrs.frozen
class Data:
    """Events and the quotes to look up for them, from both sides.

    Parameters
    ----------
    events, quotes
        Saved frames in the order of ``time``; there are ten events for a quote.
    spark
        A plain Spark session with default settings.
    event_table, quote_table
        The same Parquet files; ``_key`` gives the row order.
    scratch
        Directory for what hand-written queries write.
    """

    events: SFrame
    quotes: SFrame
    spark: Any
    event_table: Any
    quote_table: Any
    scratch: Path


@attrs.frozen
class Case:
    """One line of the table: names, the greatest allowed ratio, and both sides."""

    name: str
    target: float
    ours: Callable[[Data], Any]
    by_hand: Callable[[Data], Any]


def blocks(rows: int, step: float) -> Iterator[dict[str, Any]]:
    """Rows in the order of time, ``step`` apart on average, in segments."""
    generator = np.random.default_rng([SEED, rows])
    last = 0
    for start in range(0, rows, BLOCK):
        count = min(BLOCK, rows - start)
        times = last + np.cumsum(generator.integers(0, int(2 * step) + 1, count))
        last = int(times[-1])
        yield {"time": times, "group": generator.integers(0, GROUPS, count), "value": generator.random(count)}


def write(directory: Path, rows: int, step: float) -> None:
    """Rows as a saved frame."""
    types: list[ColumnType] = [INT, INT, FLOAT]
    runs = ([pa.array(column) for column in block.values()] for block in blocks(rows, step))
    directory.mkdir()
    entries = [write_segment(str(directory), number, types, [run]) for number, run in enumerate(runs)]
    publish(str(directory), types, entries, names=["time", "group", "value"])


def prepare(rows: int, directory: Path) -> Data:
    """Write the data and open it from both sides."""
    events, quotes = directory / "events", directory / "quotes"
    write(events, rows, 1.0)
    write(quotes, rows // 10, 10.0)
    spark = get_session().newSession()
    tables = [spark.read.parquet(*sorted(str(file) for file in path.glob("*.parquet"))) for path in (events, quotes)]
    named = [table.withColumnsRenamed({"c0": "time", "c1": "group", "c2": "value"}) for table in tables]
    return Data(load_sframe(str(events)), load_sframe(str(quotes)), spark, *named, directory / "scratch")


def materialised(frame: SFrame) -> SFrame:
    """The frame with all rows computed."""
    frame.materialize()
    return frame


def written(data: Data, query: Any) -> str:
    """Rows of a query in row order as Parquet files, as a stored ordered frame has them."""
    query.orderBy("_key").drop("_key").write.parquet(str(data.scratch), mode="overwrite")
    return str(data.scratch)


def asof_ours(data: Data, **arguments: Any) -> SFrame:
    """Each event with the last quote before it."""
    quotes = data.quotes.rename({"value": "bid"})
    joined = data.events.asof_join(quotes if "by" in arguments else quotes[["time", "bid"]], on="time", **arguments)
    return materialised(joined)


def asof_by_hand(data: Data, by: str | None = None) -> str:
    """The form that is usually recommended: union, then the last quote so far over a window."""
    from pyspark.sql import Window, functions as F

    events = data.event_table.withColumn("asks", F.lit(1))
    quotes = data.quote_table.select("time", "group", F.lit(0).alias("asks"), F.col("value").alias("bid"), F.col("_key"))
    window = Window.partitionBy(*([by] if by else [])).orderBy("time", "asks", "_key").rowsBetween(Window.unboundedPreceding, 0)
    both = events.unionByName(quotes, allowMissingColumns=True)
    found = both.withColumn("bid", F.last("bid", ignorenulls=True).over(window)).where("asks = 1")
    return written(data, found.select("time", "group", "value", "bid", "_key"))


def asof_by_range_join(data: Data) -> str:
    """The other form: quotes with the time of the next one, then a range join, in buckets of time so that it can hash."""
    from pyspark.sql import Window, functions as F

    width = 10_000
    window = Window.orderBy("time", "_key")
    quotes = data.quote_table.select(F.col("time").alias("start"), F.lead("time").over(window).alias("stop"), F.col("value").alias("bid")).where(
        "stop IS NULL OR stop > start"
    )
    last = F.coalesce(F.col("stop"), F.col("start") + 100 * width)
    buckets = quotes.withColumn("bucket", F.explode(F.sequence(F.floor(F.col("start") / width), F.floor(last / width))))
    events = data.event_table.withColumn("bucket", F.floor(F.col("time") / width))
    condition = (events["bucket"] == buckets["bucket"]) & (events["time"] >= buckets["start"])
    condition &= buckets["stop"].isNull() | (events["time"] < buckets["stop"])
    joined = events.join(buckets, condition, "left")
    return written(data, joined.select("time", "group", "value", "bid", "_key"))


def window_ours(data: Data) -> SFrame:
    """For each event sum, mean and maximum of the events of the last 100 units of time."""
    wanted = {"sum": aggregate.SUM("value"), "mean": aggregate.MEAN("value"), "top": aggregate.MAX("value")}
    return materialised(data.events.window("time", wanted, before=100))


def window_by_hand(data: Data) -> str:
    """A range window."""
    from pyspark.sql import Window, functions as F

    window = Window.orderBy("time").rangeBetween(-100, 0)
    found = [F.sum("value").over(window).alias("sum"), F.avg("value").over(window).alias("mean"), F.max("value").over(window).alias("top")]
    return written(data, data.event_table.select("time", "group", "value", *found, "_key"))


def merge_ours(data: Data) -> SFrame:
    """Events and quotes in one sorted frame."""
    return materialised(data.events.merge_sorted(data.quotes, on="time"))


def merge_by_hand(data: Data) -> str:
    """A union and a sort."""
    from pyspark.sql import functions as F

    parts = [table.withColumn("side", F.lit(side)) for side, table in enumerate((data.event_table, data.quote_table))]
    both = parts[0].unionByName(parts[1]).orderBy("time", "side", "_key").drop("side", "_key")
    both.write.parquet(str(data.scratch), mode="overwrite")
    return str(data.scratch)


CASES = [
    Case("as-of, window by hand", 1 / 3, asof_ours, asof_by_hand),
    Case("as-of, range join by hand", 1 / 3, asof_ours, asof_by_range_join),
    Case("as-of by group", 1 / 3, lambda data: asof_ours(data, by="group"), lambda data: asof_by_hand(data, "group")),
    Case("window of a key", 1 / 3, window_ours, window_by_hand),
    Case("merge of sorted frames", 1 / 3, merge_ours, merge_by_hand),
]


def arguments(description: str) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**7)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="")
    return parser.parse_args()


def run_cases(description: str, cases: Sequence[Any], columns: str) -> None:
    """Measure the cases that the command line asks for, and print a line for each; ``columns`` says what the two times are."""
    chosen = arguments(description)
    with tempfile.TemporaryDirectory(prefix="sframe-bench-") as directory:
        data = prepare(chosen.rows, Path(directory))
        print(f"{chosen.rows:,} events, {chosen.rows // 10:,} quotes; median of {chosen.runs} warm runs, seconds {columns}", flush=True)
        for case in cases:
            if chosen.only in case.name:
                first, second = measure(case, data, chosen.runs)  # type: ignore[arg-type]
                ratio = first / second
                print(f"{case.name:<28} {first:8.3f} {second:8.3f} {ratio:6.3f} {case.target:6.2f} {verdict(ratio, case.target):>4}", flush=True)


if __name__ == "__main__":
    run_cases(__doc__ or "", CASES, "ours and by hand")
