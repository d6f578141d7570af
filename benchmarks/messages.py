"""How rows cross between the tasks of two workers: ``python -m benchmarks.messages [--rows N] [--joined N] [--runs N]``.

A sort exchanges rows in files of a shared directory, as messages of a job, as messages of a query, and as rows of the JVM in Spark's own sort. A join
of two sides of as many rows is run as messages, by Spark's own join in our query, and as PySpark users write it. All ways run in turns in one
session; seconds are those of the clock, and of the processors of all processes of the cluster.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import numpy as np

from benchmarks.run import seconds
from sframe_spark import SFrame, config, load_sframe
from sframe_spark.engine.execution.materialize_count_and_read_rows import materialize
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.engine.shapes import hash_join, range_shuffle
from sframe_spark.engine.spark import messages_between_tasks
from tests.cluster.machine import PROJECT, standalone_cluster

MEMORY, SEED = "2g", 1
# All processes of the measurement have this variable.
MARK = "BENCHMARK_OF_MESSAGES"
FILES, JOB, QUERY, SPARK, BY_HAND = "files", "messages of a job", "messages of a query", "Spark's own query", "PySpark by hand"
SORTS, JOINS = (FILES, JOB, QUERY, SPARK), (JOB, QUERY, SPARK, BY_HAND)


@contextmanager
def crossing(way: str) -> Iterator[None]:
    """Let rows cross in one way; results are in the shared directory in all of them."""
    with ExitStack() as stack:
        if way in (JOB, QUERY):
            stack.enter_context(mock.patch.object(range_shuffle, "is_shared_with", lambda workers, directory: False))
            stack.enter_context(mock.patch.object(range_shuffle, "is_result_shared_with", lambda workers, directory: True))
        if way == QUERY:
            stack.enter_context(mock.patch.object(messages_between_tasks, "jobs_start_python_of_queries", lambda session: False))
        if way == SPARK:
            stack.enter_context(mock.patch.object(hash_join, "partitions_of_tasks", lambda node, site: None))
            stack.enter_context(mock.patch.object(range_shuffle, "is_exchanged_by_tasks", lambda root, site: False))
        yield


def processor_seconds() -> float:
    """Return what the processors have done for all processes of this measurement."""
    total, mark = 0, f"{MARK}={os.environ[MARK]}".encode()
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and mark in (process / "environ").read_bytes():
                total += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            # It has ended.
            continue
    return total / os.sysconf("SC_CLK_TCK")


@attrs.frozen
class Frames:
    """What is sorted and joined.

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
    def save(rows: int, joined: int, directory: Path) -> None:
        """Save the frames."""
        choose = np.random.default_rng(SEED)
        columns = {"k": choose.integers(0, 1 << 60, rows), "n": np.arange(rows), "f": choose.random(rows), "i": choose.integers(0, 1_000, rows)}
        SFrame(columns).save(str(directory / "table"))
        for name in ("left", "right"):
            SFrame({"k": choose.permutation(joined), name: np.arange(joined), f"{name} f": choose.random(joined)}).save(str(directory / name))

    def load(self, name: str) -> SFrame:
        """Load one of them."""
        return load_sframe(str(self.directory / name))

    def sort(self, way: str) -> None:
        """Sort a frame."""
        with crossing(way):
            materialize(self.load("table").sort("k")._node, MaterializeOptions(in_memory=0))

    def join(self, way: str) -> None:
        """Join two frames of which each row has one match."""
        if way == BY_HAND:
            left, right = (self.spark.read.parquet(*map(str, (self.directory / name).glob("segment-*"))).drop("_key") for name in ("left", "right"))
            left.join(right.toDF("c0", "b", "g"), "c0").write.mode("overwrite").parquet(str(self.directory / "by hand"))
            return
        with crossing(way):
            materialize(self.load("left").join(self.load("right"), on="k")._node, MaterializeOptions(in_memory=0))


def measure(url: str, directory: Path, runs: int) -> None:
    """Run everything in turns, once without counting, and print the best of the rest as lines of a table."""
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.driver.memory": MEMORY, "spark.executor.memory": MEMORY, "spark.ui.showConsoleProgress": "false"}
    builder = SparkSession.builder.master(url)
    for key, value in {**settings, "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    config.progress = "off"
    frames = Frames(spark, directory)
    print("| | rows cross as | seconds | processor seconds | of the first |\n| --- | --- | ---: | ---: | ---: |")
    for name, action, ways in (("sort", frames.sort, SORTS), ("join", frames.join, JOINS)):
        show(name, action, ways, runs)
    spark.stop()


def show(name: str, action: Callable[[str], None], ways: tuple[str, ...], runs: int) -> None:
    """Run an action in some ways in turns, and print a line for each."""
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(runs + 1):
        for way in ways:
            before = processor_seconds()
            taken = seconds(lambda way=way: action(way))
            found[way].append((taken, processor_seconds() - before))
    best = {way: tuple(map(min, zip(*times[1:], strict=True))) for way, times in found.items()}
    for way, (taken, busy) in best.items():
        print(f"| {name} | {way} | {taken:.2f} | {busy:.2f} | {busy / best[ways[0]][1]:.2f} |", flush=True)


def main() -> None:
    """Start a cluster, and print the table."""
    parser = argparse.ArgumentParser(description="How rows cross between the tasks of two workers.")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**7)
    parser.add_argument("--joined", type=lambda text: int(float(text)), default=3 * 10**6)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--measure", nargs=2, metavar=("URL", "DIRECTORY"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure[0], Path(chosen.measure[1]), chosen.runs)
        return
    os.environ[MARK] = str(os.getpid())
    with tempfile.TemporaryDirectory() as scratch:
        shared = Path(scratch) / "shared"
        (shared / "tmp").mkdir(parents=True)
        Frames.save(chosen.rows, chosen.joined, shared)
        with standalone_cluster(Path(scratch), shared, [True, True], memory=MEMORY) as cluster:
            variables = {**os.environ, "PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable, "SFRAME_SPARK_TMP": str(shared / "tmp")}
            command = [sys.executable, "-m", "benchmarks.messages", "--runs", str(chosen.runs), "--measure", cluster.url, str(shared)]
            subprocess.run(command, cwd=PROJECT, env=variables, check=True)


if __name__ == "__main__":
    main()
