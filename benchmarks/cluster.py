"""The same programs on a cluster of two workers and on this machine alone: ``python -m benchmarks.cluster [--rows N] [--only NAME] [--runs N]``.

Three processes run each case in turns over the same saved frames: one with a standalone cluster of two workers that have a core each, one with
``local[2]`` that lets Spark's tasks do what a cluster's do, and one with ``local[2]`` as it comes, where threads of one process work without Spark.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks import data
from benchmarks.cases import CASES, Case
from benchmarks.frames import Data, write
from benchmarks.run import same, sample, seconds
from sframe_spark import SFrame, load_sframe
from sframe_spark.engine.planning import placement
from tests.cluster.machine import PROJECT, standalone_cluster

ALONE, MEMORY = "local[2]", "2g"
THREADS, TASKS = "threads", "tasks"
TARGET = 1.2
ANSWER = "answer: "
NAMES = ("main", "other", "right")


def save_data(rows: int, directory: Path) -> None:
    """Save the frames that the cases read."""
    write(directory / "main", rows, data.NAMES)
    write(directory / "other", rows, ("value", "word"))
    SFrame(pa.table({name: pa.array(column) for name, column in data.right_side().items()})).save(str(directory / "right"))


def answer(url: str, directory: str, workers: str) -> None:
    """Run the cases whose numbers come, in a session of Spark, and tell the seconds; with a word behind, tell what is found."""
    from pyspark.sql import SparkSession

    if workers == TASKS:
        placement.is_work_done_here = lambda: False
    builder = SparkSession.builder.master(url).config("spark.ui.enabled", "false")
    for key in ("spark.driver.memory", "spark.executor.memory"):
        builder = builder.config(key, MEMORY)
    for key in ("spark.driver.host", "spark.driver.bindAddress"):
        builder = builder.config(key, "127.0.0.1")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    frames = [load_sframe(str(Path(directory) / name)) for name in NAMES]
    given = Data(*frames, spark, None, None, None, Path(directory) / "scratch")
    for line in sys.stdin:
        number, _, shown = line.strip().partition(" ")
        action = CASES[int(number)].ours
        told = sample(action(given)) if shown else seconds(lambda action=action: action(given))
        sys.stdout.write(ANSWER + json.dumps(told) + "\n")
        sys.stdout.flush()
    spark.stop()


@contextmanager
def answering(url: str, directory: Path, workers: str = TASKS) -> Iterator[subprocess.Popen[str]]:
    """A process that answers."""
    variables = {**os.environ, "PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable, "SFRAME_SPARK_TMP": str(directory / "tmp")}
    command = [sys.executable, "-m", "benchmarks.cluster", "--answer", url, str(directory), workers]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT, env=variables)
    try:
        yield process
        process.communicate()
    finally:
        process.kill()


def asked(process: subprocess.Popen[str], question: str) -> Any:
    """What a process answers."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(question + "\n")
    process.stdin.flush()
    found = next((line for line in process.stdout if line.startswith(ANSWER)), None)
    if found is None:
        raise SystemExit("a process ended: see above")
    return json.loads(found.removeprefix(ANSWER))


def measured(number: int, case: Case, sides: Sequence[subprocess.Popen[str]], runs: int) -> list[float]:
    """Median seconds of all sides, in turns, after two runs that are not counted; what they find is compared."""
    found = [asked(side, f"{number} shown") for side in sides]
    if not all(same(found[0], other) for other in found[1:]):
        raise SystemExit(f"{case.name}: other rows on the cluster:\n" + "\n".join(f"{rows!r:.400}" for rows in found))
    times = [[asked(side, str(number)) for side in sides] for _ in range(runs + 1)][1:]
    return [statistics.median(each) for each in zip(*times, strict=True)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="A cluster of two workers beside local[2].")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**7)
    parser.add_argument("--only", default="", help="only cases whose names contain this")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--answer", nargs=3, metavar=("URL", "DIRECTORY", "WORKERS"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.answer:
        answer(*chosen.answer)
        return
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        directory = Path(scratch) / "shared"
        (directory / "tmp").mkdir(parents=True)
        save_data(chosen.rows, directory)
        cluster = stack.enter_context(standalone_cluster(Path(scratch), directory, [True, True], memory=MEMORY))
        masters = ((cluster.url, TASKS), (ALONE, TASKS), (ALONE, THREADS))
        sides = [stack.enter_context(answering(url, directory, workers)) for url, workers in masters]
        print(f"{chosen.rows:,} rows\n\n| case | two workers | {ALONE}, tasks | ratio | target | | {ALONE}, threads |")
        print("|---|---:|---:|---:|---:|---|---:|")
        for number, case in enumerate(CASES):
            if chosen.only in case.name:
                there, here, threads = measured(number, case, sides, chosen.runs)
                verdict = "ok" if there <= TARGET * here else "above"
                print(f"| {case.name} | {there:.3f} | {here:.3f} | {there / here:.2f} | {TARGET} | {verdict} | {threads:.3f} |", flush=True)


if __name__ == "__main__":
    main()
