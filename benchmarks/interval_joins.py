"""Joins of times with the intervals in which they lie, beside Polars and DuckDB: ``python -m benchmarks.interval_joins [--rows N] [--runs N]``.

Each library runs in a process of its own, on two threads; the result is processor seconds of the fastest run. There are ten times for an interval,
one match for a time in the mean. ``--python`` names an interpreter that has the other libraries.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

SEED = 7


def tables(rows: int) -> tuple[pa.Table, pa.Table]:
    """Times in order, with a value, and intervals in the order of their starts, with a number."""
    chosen = np.random.default_rng(SEED)
    times, starts = np.sort(chosen.integers(0, 10 * rows, rows)), np.sort(chosen.integers(0, 10 * rows, rows // 10))
    intervals = {"start": starts, "end": starts + chosen.integers(0, 200, len(starts)), "w": np.arange(len(starts))}
    return pa.table({"t": times, "v": chosen.random(rows)}), pa.table(intervals)


def ours(times: pa.Table, intervals: pa.Table) -> Callable[[], Any]:
    """The program here."""
    from sframe_spark import SFrame

    left, right = SFrame(times), SFrame(intervals)

    def run() -> Any:
        joined = left.join_between(right, on="t", start="start", end="end")
        joined.materialize()
        return len(joined), joined["w"].sum()

    return run


def polars(times: pa.Table, intervals: pa.Table) -> Callable[[], Any]:
    """The program in Polars."""
    import polars as pl

    left, right, time = pl.DataFrame(times), pl.DataFrame(intervals), pl.col("t")

    def run() -> Any:
        joined = left.join_where(right, time >= pl.col("start"), time <= pl.col("end"))
        return len(joined), joined["w"].sum()

    return run


def duckdb(times: pa.Table, intervals: pa.Table) -> Callable[[], Any]:
    """The program in DuckDB, over tables of its own."""
    import duckdb as library

    connection = library.connect()
    connection.execute("set threads = 2")
    connection.register("times", times)
    connection.register("intervals", intervals)
    connection.execute("create table a as select * from times")
    connection.execute("create table b as select * from intervals")

    def run() -> Any:
        connection.execute('create or replace table c as select * from a join b on t between "start" and "end"')
        return tuple(connection.execute("select count(*), sum(w) from c").fetchall()[0])

    return run


LIBRARIES = {"ours": ours, "polars": polars, "duckdb": duckdb}


def processor_seconds() -> float:
    """Seconds of the processors that this process and its children took so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measured(library: str, rows: int, runs: int) -> dict[str, Any]:
    """The fastest of some runs: processor seconds, seconds on the clock, and what came out."""
    run = LIBRARIES[library](*tables(rows))
    found: list[tuple[float, float]] = []
    result: Any = None
    for _ in range(runs):
        used, clock = processor_seconds(), time.perf_counter()
        result = run()
        found.append((processor_seconds() - used, time.perf_counter() - clock))
    return {"processors": min(found)[0], "clock": min(clock for _, clock in found), "result": [int(number) for number in result]}


def main() -> None:
    """Print a table of all libraries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has Polars and DuckDB")
    parser.add_argument("--library", choices=LIBRARIES)
    arguments = parser.parse_args()
    if arguments.library:
        print(json.dumps(measured(arguments.library, arguments.rows, arguments.runs)))
        return
    results = {}
    for library in LIBRARIES:
        program = [sys.executable if library == "ours" else arguments.python, __file__, "--library", library]
        program += ["--rows", str(arguments.rows), "--runs", str(arguments.runs)]
        results[library] = json.loads(subprocess.run(program, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    if len({tuple(found["result"]) for found in results.values()}) > 1:
        sys.exit(f"the results differ: {results}")
    print("| library | processor seconds | seconds on the clock | ours to it |\n| --- | ---: | ---: | ---: |")
    for library, found in results.items():
        ratio = results["ours"]["processors"] / found["processors"]
        print(f"| {library} | {found['processors']:.2f} | {found['clock']:.2f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
