"""A cluster of two workers: ``python -m benchmarks.cluster [programs segments exchanges] [--rows N ...] [--only NAME ...] [--runs N]``.

Its three parts are the same programs on two workers and on this machine alone, first passes over few and over many segments, and the operations of
:mod:`benchmarks.messages`, whose rows cross between machines.

**Programs.** Three processes run each case in turns over the same saved frames: one with a standalone cluster of two workers that have a core each,
one with ``local[2]`` that lets Spark's tasks do what a cluster's do, and one with ``local[2]`` as it comes, where threads of one process work without
Spark. Of few rows a program is as long as its jobs take to start, so each is run with few and with four times as many: what a cluster takes more for
each job should stay what it is. Before that jobs run that do nothing: Java compiles Spark's code in its first hundreds of jobs, in each executor
anew.

**Segments.** Each pass is the first one over its files: they are linked anew for it, so nothing is remembered of them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from benchmarks import data, messages, segments
from benchmarks.cases import CASES, Case
from benchmarks.frames import Data, write
from benchmarks.run import same, sample, seconds
from sframe_spark import SFrame, load_sframe
from sframe_spark.engine.physical import site
from sframe_spark.engine.spark.callables_as_job import run_callables
from tests.cluster.machine import PROJECT, standalone_cluster

ROWS = (10**7, 4 * 10**7)
ALONE, MEMORY = "local[2]", "2g"
THREADS, TASKS = "threads", "tasks"
TARGET = 1.2
# Rows in so many segments are passed over for the first time, and what the most of these may take of what the fewest do.
ROWS_IN_SEGMENTS, SEGMENTS, TARGET_OF_SEGMENTS = 2 * 10**7, (64, 10_000), 1.3
ANSWER = "answer: "
NAMES = ("main", "other", "right")
PARTS = ("programs", "segments", "exchanges")
# What takes long is run as often as this allows, or once; what takes a while needs no run to get used to it.
SECONDS_OF_A_CASE, A_WHILE = 45.0, 15.0
# Jobs that do nothing: so many are counted, the first ones, and those that follow on the others.
COUNTED_JOBS, WARMING_JOBS = 25, 175


def save_data(rows: int, directory: Path) -> None:
    """Save the frames that the cases read."""
    directory.mkdir()
    write(directory / "main", rows, data.NAMES)
    write(directory / "other", rows, ("value", "word"))
    SFrame(pa.table({name: pa.array(column) for name, column in data.right_side().items()})).save(str(directory / "right"))


def do_nothing() -> None:
    """The work of a job that does nothing."""


@attrs.define
class Answering:
    """What a process does for the one that measures.

    Parameters
    ----------
    spark
        Its session.
    frames
        What the cases read.
    """

    spark: Any
    frames: Data | None = None

    def open(self, directory: str) -> None:
        """Read other frames from here on."""
        frames = [load_sframe(str(Path(directory) / name)) for name in NAMES]
        self.frames = Data(*frames, self.spark, None, None, None, Path(directory) / "scratch")

    def show(self, number: int) -> tuple[Any, tuple[float, int]]:
        """What a case finds; and its seconds and jobs, as of :meth:`run`."""
        found: list[Any] = []
        taken = self._timed(lambda: found.append(sample(CASES[number].ours(self.opened))))
        return found[0], taken

    def run(self, number: int) -> tuple[float, int]:
        """The seconds of a case, and how many jobs it had."""
        return self._timed(partial(CASES[number].ours, self.opened))

    def first_pass(self, number: int, directory: str) -> tuple[float, int]:
        """The same of a case of :mod:`benchmarks.segments`, over frames that are opened before."""
        frames = [load_sframe(str(Path(directory) / name)) for name in ("rows", "quotes")]
        return self._timed(partial(segments.CASES[number].action, *frames))

    def nothing(self) -> tuple[float, int]:
        """The same of a job of two works that do nothing."""
        return self._timed(partial(run_callables, [do_nothing] * 2, "doing nothing", 0))

    @property
    def opened(self) -> Data:
        """The frames."""
        assert self.frames is not None
        return self.frames

    def _timed(self, action: Callable[[], Any]) -> tuple[float, int]:
        before = self._last_job()
        taken = seconds(action)
        return taken, self._last_job() - before

    def _last_job(self) -> int:
        return int(max(self.spark.sparkContext.statusTracker().getJobIdsForGroup(), default=-1))


def answer(url: str, workers: str) -> None:
    """Do what is asked, line by line, in a session of Spark."""
    from pyspark.sql import SparkSession

    if workers == TASKS:
        site.is_spark_local = lambda: False
    builder = SparkSession.builder.master(url).config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    for key in ("spark.driver.memory", "spark.executor.memory"):
        builder = builder.config(key, MEMORY)
    for key in ("spark.driver.host", "spark.driver.bindAddress"):
        builder = builder.config(key, "127.0.0.1")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    answering = Answering(spark)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        sys.stdout.write(ANSWER + json.dumps(getattr(answering, name)(*arguments)) + "\n")
        sys.stdout.flush()
    spark.stop()


@contextmanager
def side(url: str, directory: Path, workers: str = TASKS) -> Iterator[Callable[..., Any]]:
    """Ask a process that answers."""
    variables = {**os.environ, "PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable, "SFRAME_SPARK_TMP": str(directory / "tmp")}
    command = [sys.executable, "-m", "benchmarks.cluster", "--answer", url, workers]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT, env=variables)
    try:
        yield partial(asked, process)
        process.communicate()
    finally:
        process.kill()


def asked(process: subprocess.Popen[str], *question: Any) -> Any:
    """What a process answers."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    found = next((line for line in process.stdout if line.startswith(ANSWER)), None)
    if found is None:
        raise SystemExit("a process ended: see above")
    return json.loads(found.removeprefix(ANSWER))


@attrs.frozen
class Measured:
    """Median seconds of a case.

    Parameters
    ----------
    there, here, threads
        On the cluster, in tasks on this machine, and in threads.
    jobs
        How many jobs it has on the cluster.
    """

    there: float
    here: float
    threads: float
    jobs: int

    @classmethod
    def of(cls, runs: Sequence[Sequence[tuple[float, int]]]) -> Measured:
        """Of runs of all sides in turns."""
        times = [statistics.median(taken for taken, _ in of_side) for of_side in zip(*runs, strict=True)]
        return cls(*times, jobs=max(jobs for (_, jobs), *_ in runs))

    @property
    def ratio(self) -> float:
        """What the cluster takes, as many times as this machine."""
        return self.there / self.here

    @property
    def more(self) -> str:
        """What the cluster takes more for each job, in milliseconds."""
        return f"{1000 * (self.there - self.here) / self.jobs:.0f}" if self.jobs else ""

    @property
    def verdict(self) -> str:
        """In words."""
        return "ok" if self.ratio <= TARGET else "above"


def measured(number: int, case: Case, sides: Sequence[Callable[..., Any]], runs: int) -> Measured:
    """A case on all sides, in turns, after two runs that are not counted, one or none where it is long; what they find is compared."""
    found, first = zip(*[ask("show", number) for ask in sides], strict=True)
    if not all(same(found[0], other) for other in found[1:]):
        raise SystemExit(f"{case.name}: other rows on the cluster:\n" + "\n".join(f"{rows!r:.400}" for rows in found))
    took = sum(taken for taken, _ in first)
    if took < A_WHILE:
        for ask in sides:
            ask("run", number)
    times = range(min(runs, int(SECONDS_OF_A_CASE / took)))
    return Measured.of([[ask("run", number) for ask in sides] for _ in times] or [first])


def shown_jobs(when: str, sides: Sequence[Callable[..., Any]], count: int = COUNTED_JOBS) -> str:
    """What a job that does nothing takes where Spark works, in words."""
    there, here = zip(*[[ask("nothing")[0] for ask in sides[:2]] for _ in range(count)], strict=True)
    return f"A job that does nothing, {when}: {statistics.median(there):.3f} s with two workers, {statistics.median(here):.3f} s in {ALONE}.\n"


def shown(name: str, sizes: Sequence[Measured]) -> str:
    """A line of the table."""
    cells = [f"{size.there:.3f} | {size.here:.3f} | {size.ratio:.2f} {size.verdict} | {size.more} | {size.threads:.3f}" for size in sizes]
    return f"| {name} | {sizes[0].jobs} | {' | '.join(cells)} |"


def heads(rows: Sequence[int]) -> str:
    """The head of the table."""
    cells = [f"{number:,} rows: two workers | {ALONE}, tasks | ratio | ms more a job | {ALONE}, threads" for number in rows]
    return f"| case | jobs | {' | '.join(cells)} |\n|---|---:|{'---:|' * 5 * len(rows)}"


def first_passes(ask: Callable[..., Any], runs: int, directory: Path) -> None:
    """Print what first passes take on the cluster, in turns over few and many segments, after one over each that is not counted."""
    values, written = segments.columns(ROWS_IN_SEGMENTS), []
    for count in SEGMENTS:
        written.append(directory / str(count))
        written[-1].mkdir(parents=True)
        segments.write(written[-1] / "rows", values, count)
        segments.write(written[-1] / "quotes", {name: values[name][:: segments.ROWS_FOR_A_QUOTE] for name in ("t", "f")}, count)
    print(f"\n| first pass over {ROWS_IN_SEGMENTS:,} rows | {' | '.join(f'{count:,} segments' for count in SEGMENTS)} | ratio | at most |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for number, case in enumerate(segments.CASES):
        times: list[list[float]] = [[] for _ in SEGMENTS]
        for _ in range(runs + 1):
            for taken, original in zip(times, written, strict=True):
                with tempfile.TemporaryDirectory(dir=directory) as linked:
                    copy = Path(linked) / "copy"
                    shutil.copytree(original, copy, copy_function=os.link)
                    taken.append(ask("first_pass", number, str(copy))[0])
        few, many = (statistics.median(taken[1:]) for taken in times)
        verdict = "ok" if many / few <= TARGET_OF_SEGMENTS else "missed"
        print(f"| {case.name} | {few:.2f} | {many:.2f} | {many / few:.2f} | {TARGET_OF_SEGMENTS} {verdict} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="A cluster of two workers beside local[2].")
    parser.add_argument("parts", nargs="*", default=PARTS, help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--rows", type=lambda text: int(float(text)), nargs="+", default=ROWS, help="of programs")
    parser.add_argument("--only", nargs="+", default=("",), help="only programs whose names contain one of these")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--answer", nargs=2, metavar=("URL", "WORKERS"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.answer:
        answer(*chosen.answer)
        return
    os.environ[messages.MARK] = str(os.getpid())
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        directory = Path(scratch) / "shared"
        (directory / "tmp").mkdir(parents=True)
        cluster = stack.enter_context(standalone_cluster(Path(scratch), directory, [True, True], memory=MEMORY))
        if "programs" in chosen.parts:
            masters = ((cluster.url, TASKS), (ALONE, TASKS), (ALONE, THREADS))
            with ExitStack() as of_programs:
                sides = [of_programs.enter_context(side(url, directory, workers)) for url, workers in masters]
                print_table(chosen.rows, chosen.only, chosen.runs, directory, sides)
        if "segments" in chosen.parts:
            with side(cluster.url, directory) as ask:
                first_passes(ask, chosen.runs, directory / "segments")
        if "exchanges" in chosen.parts:
            messages.measure_apart(cluster.url, directory, ["--runs", str(chosen.runs)])


def print_table(sizes: Sequence[int], only: Sequence[str], runs: int, directory: Path, sides: Sequence[Callable[..., Any]]) -> None:
    """Measure all cases, few rows first, and print them: as they are found, and all sizes side by side."""
    found: dict[str, list[Measured]] = {}
    print(shown_jobs("at first", sides))
    shown_jobs("not shown", sides, WARMING_JOBS)
    print(shown_jobs(f"after {COUNTED_JOBS + WARMING_JOBS} of them", sides), flush=True)
    for rows in sizes:
        save_data(rows, directory / str(rows))
        for ask in sides:
            ask("open", str(directory / str(rows)))
        print(heads([rows]))
        for number, case in enumerate(CASES):
            if any(part in case.name for part in only):
                found.setdefault(case.name, []).append(measured(number, case, sides, runs))
                print(shown(case.name, found[case.name][-1:]), flush=True)
    print(f"\n{shown_jobs('after all', sides)}\n{heads(sizes)}")
    for name, lines in found.items():
        print(shown(name, lines))


if __name__ == "__main__":
    main()
