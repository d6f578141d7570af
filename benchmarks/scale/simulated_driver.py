"""A driver that plans for a cluster of many machines over very many segments; each operator in a process of its own, whose peak of memory is told.

Manifest, planning, cutting into tasks, packing of what they are sent, and the manifest of the result are the real ones. Tasks are not run.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from benchmarks.scale.fake_cluster import FakeCluster, NotRun
from benchmarks.scale.fake_frames import write_fake
from benchmarks.scale.programs import BY_NAME, PROGRAMS, Frames, Way, opened
from benchmarks.scale.shapes import LARGE, LARGE_CORES, Shape
from sframe_spark.explain.dry_run import plan_dry_run

RESULTS = Path(__file__).with_name("simulated.json")
LOOKS: dict[str, Callable[[Frames], Any]] = {
    "len": lambda frames: len(frames.frame),
    "head, planned": lambda frames: plan_dry_run(frames.frame.head(10)._node),
    "[i], planned": lambda frames: plan_dry_run(frames.frame[5:6]._node),
}
# What is opened before is opened with it, and an append is told of twice as many segments.
SIMULATED = [program.name for program in PROGRAMS if program.way is not Way.DRIVER]


@attrs.define
class Simulated:
    """What one operator took of the driver."""

    program: str
    rows: int
    columns: int
    segments: int
    cores: int
    seconds: float
    peak_mib: int
    jobs: list[dict[str, int]]
    footers: int
    queries: int


def simulate(name: str, shape: Shape, frames: Frames, cores: int) -> Simulated:
    """Plan a program, and have its tasks answered by a cluster that does nothing."""
    program = BY_NAME.get(name)
    cluster = FakeCluster(cores, many_groups=program is not None and program.way is Way.QUERY)
    start = time.perf_counter()
    with cluster.attached():
        try:
            program.run(frames) if program is not None else LOOKS[name](frames)
        except NotRun as query:
            del query.root
    took, jobs = time.perf_counter() - start, list(map(attrs.asdict, cluster.jobs))
    return Simulated(name, shape.rows, shape.columns, shape.segments, cores, round(took, 4), peak_mib(), jobs, cluster.footers, cluster.queries)


def peak_mib() -> int:
    """The most memory that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def one(name: str, directory: str, shape: Shape, cores: int) -> None:
    """Simulate a program in this process and print what it took, after what opening took."""
    base, start = peak_mib(), time.perf_counter()
    frames = opened(str(Path(directory, "rows")), str(Path(directory, "quotes")))
    took = round(time.perf_counter() - start, 4)
    reopened = Simulated("open", shape.rows, shape.columns, shape.segments, cores, took, peak_mib() - base, [], 0, 0)
    print(json.dumps([attrs.asdict(reopened), attrs.asdict(simulate(name, shape, frames, cores))]))


def in_process(name: str, directory: str, shape: Shape, cores: int) -> list[dict[str, Any]]:
    """The same in a process of its own."""
    arguments = [name, directory, *map(str, (shape.rows, shape.columns, shape.segments, cores))]
    done = subprocess.run([sys.executable, "-m", "benchmarks.scale.simulated_driver", *arguments], check=True, capture_output=True, text=True)
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def simulate_all(shape: Shape = LARGE, cores: int = LARGE_CORES) -> None:
    """Write what every program takes of the driver into the file beside this one."""
    with tempfile.TemporaryDirectory(prefix="scale-") as scratch:
        start = time.perf_counter()
        write_fake(Path(scratch, "rows"), shape)
        write_fake(Path(scratch, "quotes"), shape.quotes, shape.rows // shape.quotes.rows)
        print(f"fakes written in {time.perf_counter() - start:.0f} s", flush=True)
        size = {path.name.split("-")[0]: path.stat().st_size for path in Path(scratch, "rows").glob("_*")}
        openings, found = [], []
        for name in [*LOOKS, *SIMULATED]:
            opening, took = in_process(name, scratch, shape, cores)
            openings.append(opening)
            found.append(took)
            print({key: value for key, value in took.items() if key not in ("rows", "columns", "segments", "cores")}, flush=True)
    best = min(openings, key=lambda opening: opening["seconds"])
    RESULTS.write_text(json.dumps({"manifest": size, "runs": [best, *found]}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    one(sys.argv[1], sys.argv[2], Shape(*map(int, sys.argv[3:6])), int(sys.argv[6]))
