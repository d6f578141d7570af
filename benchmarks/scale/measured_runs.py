"""Runs of the operators on this machine; what each did and how long it took goes to a file beside this one.

By Spark's tasks, as a cluster does it, or, of what works on ranges of rows, by threads of this process: the same kernels, and no Spark.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.scale.programs import PROGRAMS, Frames, Program, Way, opened
from benchmarks.scale.shapes import FEW_GROUPS, ROWS_OF_A_GROUP, Shape
from sframe_spark import config
from sframe_spark.explain.executed_spark_plans import stages_of
from sframe_spark.session import default_parallelism, get_session
from sframe_spark.session.spark_start_and_settings import available_cores
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.segments.writer import write_segment

RESULTS = Path(__file__).with_name("measured.json")
SEED = 7
RUNS = 2
TASKS, THREADS = "tasks", "threads"
# Few enough rows that no run is one of few rows.
SMALL = {TASKS: 0, THREADS: 1_000}
SHAPES = [*(Shape(rows, 5, count) for rows in (10**6, 10**7) for count in (4, 64, 1_000, 10_000)), Shape(10**6, 25, 64), Shape(10**8, 5, 64)]
# Of so many rows what is exchanged takes too long here, and of so many segments each query is the same again.
MOST_ROWS_EXCHANGED = 10**7
SEGMENTS_OF_QUERIES = (64, 1_000)


def values(shape: Shape, spread: int) -> dict[str, Any]:
    """Columns of a shape, as :class:`Shape` tells them."""
    generator, numbers = np.random.default_rng([SEED, shape.rows]), np.arange(shape.rows)
    found: dict[str, Any] = {
        "t": numbers * spread,
        "i": generator.permutation(shape.rows),
        "g": generator.integers(0, max(1, shape.rows // ROWS_OF_A_GROUP), shape.rows),
        "k": generator.integers(0, FEW_GROUPS, shape.rows),
    }
    return {name: found[name] if name in found else generator.random(shape.rows) for name in shape.names}


def write(directory: Path, shape: Shape, spread: int = 1) -> None:
    """Write a frame of a shape."""
    directory.mkdir()
    columns = list(values(shape, spread).values())
    edges = [shape.rows * number // shape.segments for number in range(shape.segments + 1)]
    parts = ([pa.array(column[start:stop]) for column in columns] for start, stop in itertools.pairwise(edges))
    entries = [write_segment(str(directory), number, shape.types, [part]) for number, part in enumerate(parts)]
    publish(str(directory), shape.types, entries, names=shape.names, durable=False)


def is_measured(program: Program, shape: Shape, by: str) -> bool:
    """Whether a program is worth its time for a shape."""
    if by == THREADS:
        return program.way is not Way.QUERY
    return program.way is not Way.QUERY or (shape.rows <= MOST_ROWS_EXCHANGED and shape.segments in SEGMENTS_OF_QUERIES)


@contextlib.contextmanager
def counted() -> Iterator[dict[str, int]]:
    """What Spark does in the block."""
    found: dict[str, int] = {}
    session, tag = get_session(), f"scale-{uuid.uuid4().hex}"
    session.sparkContext.addJobTag(tag)
    yield found
    session.sparkContext.removeJobTag(tag)
    stages = [stage for stage in stages_of(session, tag) if stage.numCompleteTasks()]
    found |= {"stages": len(stages), "tasks": sum(stage.numCompleteTasks() for stage in stages)}
    found["exchanged"] = sum(stage.shuffleWriteBytes() for stage in stages)


def measured(program: Program, frames: Frames, shape: Shape, by: str) -> dict[str, Any]:
    """What a program did, and the least seconds of some runs after that."""
    with counted() if by == TASKS else contextlib.nullcontext({}) as work:
        program.run(frames)
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        program.run(frames)
        best = min(best, time.perf_counter() - start)
    told = {"program": program.name, "rows": shape.rows, "columns": shape.columns, "segments": shape.segments}
    cores = default_parallelism(get_session()) if by == TASKS else available_cores()
    return {**told, "by": by, "cores": cores, "seconds": round(best, 4), **work}


def measure(shape: Shape, by: str) -> None:
    """Add the runs of one shape to the file of results."""
    with tempfile.TemporaryDirectory(prefix="scale-") as scratch, config.using(small_rows=SMALL[by]):
        rows, quotes = Path(scratch, "rows"), Path(scratch, "quotes")
        write(rows, shape)
        write(quotes, shape.quotes, shape.rows // shape.quotes.rows)
        if by == TASKS:
            get_session().range(1).count()
        frames = opened(str(rows), str(quotes))
        found = []
        for program in (program for program in PROGRAMS if is_measured(program, shape, by)):
            found.append(measured(program, frames, shape, by))
            print(json.dumps(found[-1]), flush=True)
    same = {"rows": shape.rows, "columns": shape.columns, "segments": shape.segments, "by": by}
    others = [run for run in load() if any(run[key] != value for key, value in same.items())]
    RESULTS.write_text("[\n" + ",\n".join(map(json.dumps, [*others, *found])) + "\n]\n", encoding="utf-8")


def load() -> list[dict[str, Any]]:
    """The runs that were measured."""
    runs: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    return runs
