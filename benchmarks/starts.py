"""What a start costs: ``python -m benchmarks.starts [--runs N]``, each in a process of its own, beside a session of PySpark that does the same.

Seconds, and processor seconds of the process with those of its JVM. The archive of Spark's classes is written in a directory of this run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs

# Marks are put between steps: a name, the time, the processor time of the process and of its JVM, if there is one.
MARKS = """
import json, os, sys, time
from pathlib import Path
marks = []
def mark(name):
    used = sum(os.times()[:4])
    if "pyspark" in sys.modules:
        from pyspark import SparkContext
        if SparkContext._gateway is not None:
            fields = Path(f"/proc/{SparkContext._gateway.proc.pid}/stat").read_text().rpartition(")")[2].split()
            # Of the JVM, and of those that it has waited for: Spark's launcher.
            used += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    marks.append([name, time.perf_counter(), used])
mark("")
"""
OURS = """
import sframe_spark
mark("import")
frame = sframe_spark.SFrame({"k": [3, 1, 2, 1], "v": [1.0, 2.0, 3.0, 4.0]})
assert frame.groupby("k", {"s": sframe_spark.aggregate.SUM("v")}).sort("k")["s"][0] == 6.0
mark("first answer, no Spark")
sframe_spark.session.get_session()
mark("session")
with sframe_spark.config.using(small_rows=0, single_task_rows=0):
    frame = sframe_spark.SFrame({"k": [3, 1, 2, 1], "v": [1.0, 2.0, 3.0, 4.0]})
    for name in ("first answer of Spark", "the same again"):
        assert frame.groupby("k", {"s": sframe_spark.aggregate.SUM("v")}).sort("k").to_spark().collect()[0][1] == 6.0
        mark(name)
print(json.dumps(marks))
"""
BARE = """
import pyspark.sql
from pyspark.sql import functions
mark("import")
spark = pyspark.sql.SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
mark("session")
frame = spark.createDataFrame([(3, 1.0), (1, 2.0), (2, 3.0), (1, 4.0)], ["k", "v"])
for name in ("first answer of Spark", "the same again"):
    assert frame.groupBy("k").agg(functions.sum("v")).sort("k").collect()[0][1] == 6.0
    mark(name)
print(json.dumps(marks))
"""
STEPS = ("import", "first answer, no Spark", "session", "first answer of Spark", "the same again")


@attrs.frozen
class Side:
    """A program and the cache directory with which it runs."""

    name: str
    program: str
    cache: str


def once(side: Side) -> dict[str, tuple[float, float]]:
    """Seconds and processor seconds of each step in a fresh process."""
    environment = {**os.environ, "XDG_CACHE_HOME": side.cache, "SFRAME_SPARK_JVM_OPTIONS": ""}
    command = [sys.executable, "-c", MARKS + side.program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{side.name} failed:\n{done.stdout}{done.stderr}")
    marks = json.loads(done.stdout.splitlines()[-1])
    steps = itertools.pairwise(marks)
    return {after[0]: (after[1] - before[1], after[2] - before[2]) for before, after in steps}


def prepared(cache: str) -> None:
    """Let the command keep an archive in a cache directory."""
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "SFRAME_SPARK_JVM_OPTIONS": ""}
    subprocess.run([sys.executable, "-m", "sframe_spark", "prepare"], check=True, env=environment, stderr=subprocess.DEVNULL)


def lines(sides: list[Side], found: dict[str, list[dict[str, tuple[float, float]]]]) -> Iterator[str]:
    """A table: medians of each step and of all up to the first answer of Spark."""
    yield "| | " + " | ".join(f"{side.name}: s | cpu" for side in sides) + " |"
    yield "| --- |" + " ---: |" * (2 * len(sides))
    wholes = {"all until an answer of Spark": tuple(step for step in STEPS[:4] if step != "first answer, no Spark")}
    for title, steps in {**{step: (step,) for step in STEPS}, **wholes}.items():
        cells = []
        for side in sides:
            for kind in (0, 1):
                runs = [sum(run[step][kind] for step in steps) for run in found[side.name] if all(step in run for step in steps)]
                cells.append(f"{statistics.median(runs):.2f}" if runs else "")
        yield f"| {title} | " + " | ".join(cells) + " |"


def main() -> None:
    """Measure the three in turns and print the table."""
    parser = argparse.ArgumentParser(description="What a start costs, in fresh processes.")
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="sframe-bench-") as directory:
        place = Path(directory)
        empty, kept = place / "empty", place / "kept"
        for path in (empty, kept):
            path.mkdir()
        prepared(str(kept))
        sides = [Side("as it is", OURS, str(empty)), Side("prepared", OURS, str(kept)), Side("PySpark", BARE, str(empty))]
        found: dict[str, list[dict[str, tuple[float, float]]]] = {side.name: [] for side in sides}
        for _ in range(runs):
            for side in sides:
                found[side.name].append(once(side))
        print(f"median of {runs} runs in turns")
        print("\n".join(lines(sides, found)))


if __name__ == "__main__":
    main()
