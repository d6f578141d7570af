"""Operations whose rows cross between two workers: ``python -m benchmarks.messages [sort join group] [--rows N ...] [--runs N]``.

Sorts, joins of two long sides and group-bys of many groups run as they come, where all machines share a directory; as messages of a job and of a
query, which need no such directory; as Spark's own query of our plan; and as PySpark users write them, in any order and in ours. All ways run in
turns in one session. Seconds are those of the clock, and of the processors for all processes of the cluster: the best and the median.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import numpy as np

from benchmarks.run import same, sample, seconds
from sframe_spark import SFrame, aggregate, config, load_sframe
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.shapes import hash_join, range_shuffle, rows_near_this_process
from sframe_spark.engine.spark import messages_between_tasks
from tests.cluster.machine import PROJECT, standalone_cluster

MEMORY, SEED = "2g", 1
GROUPS = 3 * 10**6
ROWS = {"sort": (10**7, 4 * 10**7), "join": (2 * 10**6, 10**7, 4 * 10**7), "group": (10**7, 4 * 10**7)}
# All processes of the measurement have this variable.
MARK = "BENCHMARK_OF_MESSAGES"
SHARED, JOB, QUERY, SPARK, BY_HAND, IN_ORDER = "shared", "job", "query", "spark", "hand", "ordered"
WORDS = {
    SHARED: "as it comes, in a shared directory",
    JOB: "messages of a job",
    QUERY: "messages of a query",
    SPARK: "Spark's own query of ours",
    BY_HAND: "PySpark by hand",
    IN_ORDER: "PySpark by hand, in our order",
}
OURS = (SHARED, JOB, QUERY, SPARK)
WAYS = {"sort": (*OURS, IN_ORDER), "join": (*OURS, BY_HAND, IN_ORDER), "group": (*OURS, BY_HAND, IN_ORDER)}


@attrs.frozen
class Demand:
    """What issue 51 asks of an operation: one way takes at most so many times the seconds of another."""

    operation: str
    way: str
    other: str
    at_most: float


DEMANDS = (
    Demand("sort", JOB, SHARED, 1.6),
    Demand("sort", QUERY, SHARED, 1.6),
    Demand("sort", JOB, SPARK, 0.4),
    Demand("sort", JOB, IN_ORDER, 0.4),
    *(Demand("join", way, other, 0.4) for way in (SHARED, JOB, QUERY) for other in (BY_HAND, IN_ORDER)),
    *(Demand("group", way, other, 0.3) for way in (SHARED, JOB, QUERY) for other in (BY_HAND, IN_ORDER)),
)


def without_files(runner: Any, exchange: Any, workers: Any, files: Any) -> Any:
    """Exchange rows by messages where they would be exchanged in files."""
    return range_shuffle.exchanged_by_messages(runner, exchange, workers)


@contextmanager
def crossing(way: str) -> Iterator[None]:
    """Let rows cross in one way; results are in the shared directory in all of them."""
    with ExitStack() as stack:
        if way != SHARED:
            # What the driver would do alone crosses, too.
            stack.enter_context(mock.patch.object(rows_near_this_process, "is_near", lambda node: False))
        if way in (JOB, QUERY):
            stack.enter_context(mock.patch.object(range_shuffle, "exchanged_in_files", without_files))
        if way == QUERY:
            stack.enter_context(mock.patch.object(messages_between_tasks, "jobs_start_python_of_queries", lambda session: False))
        if way == SPARK:
            stack.enter_context(mock.patch.object(hash_join, "partitions_of_tasks", lambda node, site: None))
            stack.enter_context(mock.patch.object(range_shuffle, "is_exchanged_by_tasks", lambda root, site: False))
        yield


@attrs.define
class Processors:
    """What the processors have done for all processes of this measurement, also for those that have ended."""

    ticks: dict[tuple[str, str], int] = attrs.Factory(dict)

    def seconds(self) -> float:
        """Return the seconds so far; of processes that have ended, those that were seen the last time."""
        mark = f"{MARK}={os.environ[MARK]}".encode()
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and mark in (process / "environ").read_bytes():
                    values = (process / "stat").read_text().rpartition(")")[2].split()
                    # Its time of start, as numbers of processes are used again.
                    self.ticks[process.name, values[19]] = int(values[11]) + int(values[12])
            except OSError:
                # It has ended.
                continue
        return sum(self.ticks.values()) / os.sysconf("SC_CLK_TCK")


@functools.cache
def processors() -> Processors:
    """What is known of processes that have ended, of which there is one account for the whole measurement."""
    return Processors()


def processor_seconds() -> float:
    """Return what the processors have done for all processes of this measurement."""
    return processors().seconds()


@attrs.frozen
class Frames:
    """What is sorted, joined and grouped.

    Parameters
    ----------
    spark
        The user's session.
    directory
        Where the frames are.
    """

    spark: Any
    directory: Path

    @staticmethod
    def save(operation: str, rows: int, directory: Path) -> None:
        """Save the frames of an operation."""
        choose = np.random.default_rng(SEED)
        directory.mkdir()
        if operation == "join":
            for name in ("left", "right"):
                SFrame({"k": choose.permutation(rows), name: np.arange(rows), f"{name}_f": choose.random(rows)}).save(str(directory / name))
            return
        columns = {"k": choose.integers(0, 1 << 60, rows), "n": np.arange(rows), "f": choose.random(rows), "g": choose.integers(0, GROUPS, rows)}
        SFrame(columns).save(str(directory / "table"))

    def load(self, name: str) -> SFrame:
        """Load one of them."""
        return load_sframe(str(self.directory / name))

    def table(self, name: str) -> Any:
        """One of them as PySpark users read it: Parquet files with names of columns."""
        names = self.load(name).column_names()
        return self.spark.read.parquet(*map(str, (self.directory / name).glob("segment-*"))).drop("_key").toDF(*names)

    def ours(self, operation: str) -> SFrame:
        """The result of an operation, whose rows are not computed yet."""
        if operation == "join":
            return self.load("left").join(self.load("right"), on="k")
        table = self.load("table")
        return (
            table.sort("k")
            if operation == "sort"
            else table.groupby("g", {"rows": aggregate.COUNT(), "n": aggregate.SUM("n"), "f": aggregate.MAX("f")})
        )

    def by_hand(self, operation: str, is_in_order: bool) -> str:
        """The directory of the result of the same operation, as PySpark users write it."""
        if operation == "join":
            query, order = self.table("left").join(self.table("right"), "k"), "left"
        elif operation == "sort":
            query, order = self.table("table"), "k"
        else:
            query, order = self.table("table").groupBy("g").agg({"*": "count", "n": "sum", "f": "max"}), "g"
            query = query.selectExpr("g", "`count(1)` AS rows", "`sum(n)` AS n", "`max(f)` AS f")
        result = str(self.directory / "by hand")
        (query.orderBy(order) if is_in_order else query).write.mode("overwrite").parquet(result)
        return result

    def run(self, operation: str, way: str) -> Any:
        """Run an operation, and return the frame, or the directory, with its rows."""
        if way in (BY_HAND, IN_ORDER):
            return self.by_hand(operation, way == IN_ORDER)
        with crossing(way):
            frame = self.ours(operation)
            materialize(frame._node, MaterializeOptions(in_memory=0))
            return frame


@attrs.frozen
class Taken:
    """Seconds on the clock and of the processors, best and median of some runs."""

    clock: tuple[float, float]
    processors: tuple[float, float]

    @classmethod
    def of(cls, runs: Sequence[tuple[float, float]]) -> Taken:
        """Of runs."""
        clock, processors = ((min(times), statistics.median(times)) for times in zip(*runs, strict=True))
        return cls(clock, processors)


def measured(frames: Frames, operation: str, ways: Sequence[str], runs: int) -> dict[str, Taken]:
    """Run an operation in some ways in turns, after a run of each that is not counted: of those in order, rows are compared."""
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    expected = None
    for way in ways:
        rows = frames.run(operation, way)
        if way != BY_HAND:
            rows = sample(rows)
            if expected is not None and not same(expected, rows):
                raise SystemExit(f"{operation}, {WORDS[way]}: other rows: {rows!r:.400} and {expected!r:.400}")
            expected = rows
    for _ in range(runs):
        for way in ways:
            before = processor_seconds()
            taken = seconds(lambda way=way: frames.run(operation, way))
            found[way].append((taken, processor_seconds() - before))
    return {way: Taken.of(times) for way, times in found.items()}


def show(operation: str, rows: int, found: Mapping[str, Taken]) -> None:
    """Print a table of what was measured, and a table of demands."""
    print(f"\n{operation}, {rows:,} rows\n")
    print("| rows cross as | seconds: best | median | processor seconds: best | median |\n| --- | ---: | ---: | ---: | ---: |")
    for way, taken in found.items():
        print(f"| {WORDS[way]} | {' | '.join(f'{value:.2f}' for value in (*taken.clock, *taken.processors))} |")
    print("\n| of | at most | clock: best | median | processors: best | median | |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for demand in DEMANDS:
        if demand.operation == operation and {demand.way, demand.other} <= found.keys():
            way, other = found[demand.way], found[demand.other]
            pairs = zip((*way.clock, *way.processors), (*other.clock, *other.processors), strict=True)
            ratios = [mine / theirs for mine, theirs in pairs]
            verdict = "ok" if ratios[1] <= demand.at_most else "missed"
            shown = " | ".join(f"{ratio:.2f}" for ratio in ratios)
            print(f"| {WORDS[demand.way]} / {WORDS[demand.other]} | {demand.at_most} | {shown} | {verdict} |", flush=True)


def measure(url: str, frames: Path, operations: Sequence[str], sizes: Sequence[int] | None, ways: Sequence[str], runs: int) -> None:
    """Measure some operations on a cluster, and print tables."""
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.driver.memory": MEMORY, "spark.executor.memory": MEMORY, "spark.ui.showConsoleProgress": "false"}
    builder = SparkSession.builder.master(url)
    for key, value in {**settings, "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    config.progress = "off"
    for operation in operations:
        for rows in sizes or ROWS[operation]:
            directory = frames / f"{operation}-{rows}"
            Frames.save(operation, rows, directory)
            show(operation, rows, measured(Frames(spark, directory), operation, [way for way in WAYS[operation] if way in ways], runs))
    spark.stop()


def measure_apart(url: str, shared: Path, arguments: Sequence[str]) -> None:
    """Measure in a process of its own, which is the driver of a cluster."""
    variables = {**os.environ, "PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable, "SFRAME_SPARK_TMP": str(shared / "tmp")}
    command = [sys.executable, "-m", "benchmarks.messages", *arguments, "--measure", url, str(shared)]
    subprocess.run(command, cwd=PROJECT, env=variables, check=True)


def parser() -> argparse.ArgumentParser:
    """What the command line may say."""
    result = argparse.ArgumentParser(description="How rows cross between the tasks of two workers.")
    result.add_argument("operations", nargs="*", default=list(ROWS), help=f"some of {', '.join(ROWS)}")
    result.add_argument("--rows", type=lambda text: int(float(text)), nargs="+", help="of each side of a join")
    result.add_argument("--ways", nargs="+", default=list(WORDS), choices=list(WORDS))
    result.add_argument("--runs", type=int, default=3)
    result.add_argument("--measure", nargs=2, metavar=("URL", "DIRECTORY"), help=argparse.SUPPRESS)
    return result


def main() -> None:
    """Start a cluster, and print the tables."""
    chosen = parser().parse_args()
    if chosen.measure:
        measure(chosen.measure[0], Path(chosen.measure[1]), chosen.operations, chosen.rows, chosen.ways, chosen.runs)
        return
    os.environ[MARK] = str(os.getpid())
    with tempfile.TemporaryDirectory() as scratch:
        shared = Path(scratch) / "shared"
        (shared / "tmp").mkdir(parents=True)
        with standalone_cluster(Path(scratch), shared, [True, True], memory=MEMORY) as cluster:
            measure_apart(cluster.url, shared, sys.argv[1:])


if __name__ == "__main__":
    main()
