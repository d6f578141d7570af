"""One long run on a cluster: ``python -m benchmarks.scale.long_run [--rows N] [--joined M] [--workers 2] [--memory 2g] [--only STEP ...]``.

A standalone cluster is started, whose workers have a core each. A driver makes N rows of four columns by tasks and saves them, then filters, groups,
sums up, sorts and joins them with M others. Each result is saved, checked row by row, and deleted before the next step. Printed are the seconds of
each step beside those that the model foretold, bytes, and the most memory of the driver and of the executors with their Python processes.

``--object-store`` runs the same where the machines share nothing but an object store. ``--keep`` names a directory in which the saved rows stay, so
that a later run with ``--only`` need not make them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import fsspec

from benchmarks.cluster import ANSWER, asked
from benchmarks.messages import MARK, processor_seconds
from benchmarks.scale import long_checks, long_rows
from benchmarks.scale.fitted import fit
from benchmarks.scale.long_checks import Files
from benchmarks.scale.measured_runs import load
from benchmarks.scale.shapes import Shape
from benchmarks.scale.watched import DRIVER, DRIVER_JVM, Peaks, watching
from sframe_spark import SFrame, aggregate, config, load_sframe
from tests.cluster.machine import PROJECT, StandaloneCluster, end_with_parent, standalone_cluster
from tests.cluster.object_store import object_store

BELOW = long_rows.KEYS // 10
FRAME, RIGHT = "frame", "right"


@attrs.frozen
class Place:
    """Where the driver finds and puts rows.

    Parameters
    ----------
    home
        The directory, or the URI, of what is saved.
    rows, joined
        How many rows the frame and the right side of the join have.
    """

    home: str
    rows: int
    joined: int

    def path(self, name: str) -> str:
        """Return where a frame is saved."""
        return f"{self.home}/{name}"

    @property
    def frame(self) -> SFrame:
        """The saved frame."""
        return load_sframe(self.path(FRAME))


def keep(place: Place) -> None:
    """Make the rows, and keep them as temporary data; they go when nobody refers to them."""
    long_rows.made(place.rows).materialize()


def filtered(place: Place) -> SFrame:
    """A tenth of the rows."""
    frame = place.frame
    return frame[frame["key"] < BELOW]


def grouped(place: Place, by: str) -> SFrame:
    """Count, sum and least number of each group."""
    return place.frame.groupby(by, {"count": aggregate.COUNT(), "sum": aggregate.SUM("value"), "first": aggregate.MIN("id")})


def running(place: Place) -> SFrame:
    """Running sums."""
    frame = place.frame
    return SFrame({"id": frame["id"], "sum": frame["value"].cumulative_sum()})


def in_order(place: Place) -> SFrame:
    """All rows by key; rows of one key stay in their order."""
    return place.frame.sort("key")


def joined(place: Place) -> SFrame:
    """Rows with their partners, without words: what rows take on their way twice would be more than 30 GB of 10^9 rows."""
    return place.frame[["id", "key", "value"]].join(load_sframe(place.path(RIGHT)), on="id", how="inner")


@attrs.frozen
class Step:
    """A step of the run.

    Parameters
    ----------
    name
        What it is called, also where it is saved.
    result
        What is saved; None if the step makes its rows for itself.
    check
        Checks the files of the result.
    modelled
        The program of the model that it is like; empty if there is none.
    """

    name: str
    result: Callable[[Place], SFrame | None]
    check: Callable[[Files, Place], None] | None
    modelled: str = ""


STEPS = (
    Step("make", keep, None, "save"),
    Step(FRAME, lambda place: long_rows.made(place.rows), lambda files, place: long_checks.check_frame(files, place.rows), "save"),
    Step("filter", filtered, lambda files, place: long_checks.check_filtered(files, place.rows, BELOW), "filter + materialise"),
    Step("words", partial(grouped, by="word"), lambda files, place: long_checks.check_words(files, place.rows), "group-by, 100 groups"),
    Step(
        "groups",
        partial(grouped, by="key"),
        lambda files, place: long_checks.check_groups(files, place.rows, long_rows.KEYS),
        "group-by, many groups",
    ),
    Step("sums", running, lambda files, place: long_checks.check_running(files, place.rows), "cumulative sum"),
    Step("sort", in_order, lambda files, place: long_checks.check_sorted(files, place.rows), "sort"),
    Step(RIGHT, lambda place: long_rows.right_side(place.rows, place.joined), None),
    Step("join", joined, lambda files, place: long_checks.check_joined(files, place.rows, place.joined), "join, large sides"),
)
BY_NAME = {step.name: step for step in STEPS}


# The driver.


def drive(url: str, settings: Mapping[str, Any]) -> None:
    """Run the steps that are asked for, line by line, in a session of Spark."""
    from pyspark.sql import SparkSession

    end_with_parent()
    builder = SparkSession.builder.master(url)
    for key, value in settings["spark"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    config.progress = "off"
    config.storage_options = settings["options"]
    place = Place(**settings["place"])
    for line in sys.stdin:
        (name,) = json.loads(line)
        sys.stdout.write(ANSWER + json.dumps(done(BY_NAME[name], place)) + "\n")
        sys.stdout.flush()
    spark.stop()


def done(step: Step, place: Place) -> dict[str, Any]:
    """Run a step, and return its seconds and what was run."""
    start = time.perf_counter()
    result = step.result(place)
    if result is not None:
        result.save(place.path(step.name))
    taken = time.perf_counter() - start
    return {"seconds": taken, "ran": "" if result is None else str(result.last_run())}


# What starts it.


@attrs.frozen
class Outcome:
    """What a step took.

    Parameters
    ----------
    step
        The step.
    seconds, busy
        Seconds of the clock, and of the processors.
    foretold
        Seconds of the clock by the model; None if it has no such program.
    written
        Bytes of the result.
    peaks
        Memory and disk.
    checked
        Seconds that its check took.
    ran
        What was run.
    """

    step: str
    seconds: float
    busy: float
    foretold: float | None
    written: int
    peaks: Peaks
    checked: float
    ran: str

    def line(self, before: int) -> str:
        """A line of the table; ``before`` is what the disk held before the step."""
        memory = self.peaks.memory
        workers = [f"{size >> 20:,}" for owner, size in sorted(memory.items()) if owner.startswith("worker") and "," not in owner]
        cells = (
            self.step,
            f"{self.seconds:.1f}",
            f"{self.busy:.1f}",
            "" if self.foretold is None else f"{self.foretold:.0f}",
            f"{self.written / 1e9:.2f}",
            f"{(self.peaks.disk - before) / 1e9:.2f}",
            f"{self.peaks.files:,}",
            f"{memory[DRIVER] >> 20:,}",
            f"{memory[DRIVER_JVM] >> 20:,}",
            ", ".join(workers),
            f"{self.checked:.0f}",
        )
        return f"| {' | '.join(cells)} |"


HEAD = (
    "| step | seconds | processor seconds | model, seconds | GB written | GB on disk meanwhile | files | driver, MiB | its JVM, MiB "
    "| each worker, MiB | check, seconds |\n| --- |" + " ---: |" * 10
)


@attrs.frozen
class Run:
    """A cluster with a driver, and what is done there.

    Parameters
    ----------
    cluster, driver
        The cluster, and the process of the driver.
    place
        Where rows are.
    scratch
        The directory of everything on this machine.
    system
        The file system of what is saved.
    """

    cluster: StandaloneCluster
    driver: subprocess.Popen[str]
    place: Place
    scratch: Path
    system: fsspec.AbstractFileSystem

    def outcome(self, step: Step) -> Outcome:
        """Run a step, check its result, and delete it unless others read it."""
        before = processor_seconds()
        with watching(self.driver.pid, [worker.pid for worker in self.cluster.workers], self.scratch) as peaks:
            told = asked(self.driver, step.name)
        busy = processor_seconds() - before
        files = Files(self.system, self.place.path(step.name))
        written = 0 if step.name == "make" else files.size()
        start = time.perf_counter()
        if step.check is not None:
            step.check(files, self.place)
        checked = time.perf_counter() - start
        if step.name not in ("make", FRAME, RIGHT):
            self.system.rm(files.directory, recursive=True)
        return Outcome(
            step.name, told["seconds"], busy, foretold(step, self.place.rows, len(self.cluster.workers)), written, peaks, checked, told["ran"]
        )


def foretold(step: Step, rows: int, cores: int) -> float | None:
    """Return what the model says of a step."""
    if not step.modelled:
        return None
    shape = Shape(rows, len(long_rows.NAMES), max(1, rows // config.segment_rows))
    return fit(load()).seconds(step.modelled, shape, cores)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="One long run on a cluster, which checks itself.")
    number = lambda text: int(float(text))  # noqa: E731
    parser.add_argument("--rows", type=number, default=10**7, help=f"a multiple of {long_rows.KEYS:,}")
    parser.add_argument("--joined", type=number, help="divides the rows, and has no primes but 2, 3 and 5; by default a tenth")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="2g", help="of each worker, in g: half of it is the heap of its executor")
    parser.add_argument("--only", nargs="+", choices=BY_NAME, default=tuple(BY_NAME))
    parser.add_argument("--object-store", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--verbose", action="store_true", help="print what ran")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Start a cluster and a driver, and print a line for each step."""
    chosen = parsed(arguments)
    # What `timeout` sends ends the cluster, and deletes what is on the disk, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.environ[MARK] = str(os.getpid())
    with ExitStack() as stack:
        scratch = Path(chosen.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="long-run-")))
        run = started(stack, chosen, scratch)
        print(HEAD, flush=True)
        for name in chosen.only:
            before = Peaks()
            before.look(run.driver.pid, (), scratch)
            outcome = run.outcome(BY_NAME[name])
            print(outcome.line(before.disk), flush=True)
            if chosen.verbose:
                print({owner: size >> 20 for owner, size in outcome.peaks.memory.items()}, outcome.ran, sep="\n", flush=True)


def started(stack: ExitStack, chosen: argparse.Namespace, scratch: Path) -> Run:
    """Start everything; it ends with the stack."""
    processes, shared = scratch / "processes", scratch / "shared"
    stack.callback(shutil.rmtree, processes, ignore_errors=True)
    stack.callback(shutil.rmtree, shared / "tmp", ignore_errors=True)
    for directory in (processes, shared / "tmp"):
        directory.mkdir(parents=True)
    store = stack.enter_context(object_store()) if chosen.object_store else None
    home, temporary = (str(shared), str(shared / "tmp")) if store is None else (f"{store.uri}/saved", f"{store.uri}/tmp")
    cluster = stack.enter_context(standalone_cluster(processes, shared, [store is None] * chosen.workers, memory=chosen.memory))
    heap = f"{int(chosen.memory.removesuffix('g')) * 512}m"
    spark = {"spark.ui.enabled": "false", "spark.driver.memory": "1g", "spark.executor.memory": heap, "spark.ui.showConsoleProgress": "false"}
    spark |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.local.dir": str(processes)}
    place = Place(home, chosen.rows, chosen.joined or chosen.rows // 10)
    settings = {"spark": spark, "options": {} if store is None else {"s3://": store.options}, "place": attrs.asdict(place)}
    variables = {**os.environ, "PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable, "SFRAME_SPARK_TMP": temporary}
    command = [sys.executable, "-m", "benchmarks.scale.long_run", "--drive", cluster.url, json.dumps(settings)]
    driver = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT, env=variables)
    stack.callback(driver.kill)
    return Run(cluster, driver, place, scratch, fsspec.filesystem("file") if store is None else store.files)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--drive"]:
        drive(sys.argv[2], json.loads(sys.argv[3]))
    else:
        main(sys.argv[1:])
