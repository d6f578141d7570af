"""Measure and print: ``python -m benchmarks.run [--rows N] [--reference [PYTHON]] [--only NAME] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import pandas_on_spark
from benchmarks.cases import CASES, Case
from benchmarks.frames import Data, prepare
from benchmarks.small import latencies
from sframe_spark import SFrame

REFERENCE = "~/.cache/sframe-reference/bin/python"
LONG_SECONDS = 60.0
SHORT_SECONDS = 1.0
RUNS_TO_COMPILE = 5


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Speed of sframe_spark beside hand-written PySpark, in one process.")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**7)
    parser.add_argument("--runs", type=int, default=3, help="warm runs of each case")
    parser.add_argument("--only", default="", help="only cases whose names contain this; no latencies")
    parser.add_argument("--reference", nargs="?", const=REFERENCE, help="interpreter of the reference engine")
    parser.add_argument("--pandas-on-spark", action="store_true", help="the same by pandas on Spark, once each after a first run")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    return parser.parse_args()


def seconds(action: Callable[[], Any]) -> float:
    """Time of one run."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def sample(found: Any) -> Any:
    """Something to compare: the result itself, or the number of rows and the outermost rows of what was written."""
    if isinstance(found, SFrame):
        table = found.tail(3).to_arrow()
        return len(found), found.head(3).to_arrow().to_pydict(), table.to_pydict()
    if not isinstance(found, str):
        return found
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = [pq.read_table(file) for file in sorted(Path(found).glob("part-*.parquet"))]
    table = pa.concat_tables(tables)
    return table.num_rows, table.slice(0, 3).to_pydict(), table.slice(table.num_rows - 3).to_pydict()


def same(first: Any, second: Any) -> bool:
    """True when two samples hold equal values; the order of summation may show in floats."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    return abs(first - second) <= 1e-9 * abs(first) if isinstance(first, float) else bool(first == second)


def measure(case: Case, data: Data, runs: int) -> tuple[float, float]:
    """Median seconds of both sides, taken in turns after one run each that also compares their results.

    A side that takes less than a second is run more often before it is measured, and while it is if both do: the JVM compiles it in its first runs.
    It also runs twice in each of its turns, of which the second counts: the JVM still compiles and collects garbage for the other side in the first.
    """
    start = time.perf_counter()
    sides = case.ours, case.by_hand
    samples = [sample(action(data)) for action in sides]
    if not same(*samples):
        raise SystemExit(f"{case.name}: results differ: {str(samples[0])[:500]} and {str(samples[1])[:500]}")
    first = [seconds(partial(action, data)) for action in sides]
    short = [taken < SHORT_SECONDS for taken in first]
    for action, is_short in zip(sides, short, strict=True):
        for _ in range(RUNS_TO_COMPILE * is_short):
            action(data)
    times: list[list[float]] = [[taken] for taken in first] if not any(short) else [[], []]
    if all(short):
        runs *= RUNS_TO_COMPILE
    # One run is enough of what takes minutes.
    while len(times[0]) < runs and (not times[0] or time.perf_counter() - start < LONG_SECONDS):
        for taken, action, is_short in zip(times, sides, short, strict=True):
            if is_short:
                action(data)
            taken.append(seconds(partial(action, data)))
    return statistics.median(times[0]), statistics.median(times[1])


def reference_seconds(interpreter: str, rows: int, only: str) -> dict[str, float]:
    """Seconds by case in the reference engine, measured by its own interpreter; none when it is not there."""
    python = Path(os.path.expanduser(interpreter))
    if not python.exists():
        print(f"no reference engine at {python}")
        return {}
    script = Path(__file__).with_name("reference.py")
    done = subprocess.run([str(python), str(script), str(rows), only], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def verdict(value: float, most: float) -> str:
    """In words."""
    return "ok" if value <= most else "MISS"


def main() -> None:
    """Measure what the command line asks for."""
    chosen = arguments()
    reference = reference_seconds(chosen.reference, chosen.rows, chosen.only) if chosen.reference else {}
    with tempfile.TemporaryDirectory(prefix="sframe-bench-") as directory:
        data = prepare(chosen.rows, Path(directory))
        print(f"{chosen.rows:,} rows; median of {chosen.runs} warm runs, seconds", flush=True)
        others = pandas_on_spark.cases(data) if chosen.pandas_on_spark else {}
        heads = f"{'pandas on Spark' * bool(others):>15} {'reference' * bool(reference)}"
        print(f"{'case':<28} {'ours':>8} {'by hand':>8} {'ratio':>6} {'target':>6}      {heads}")
        numbers: dict[str, Any] = {}
        for case in CASES:
            if chosen.only not in case.name:
                continue
            ours, by_hand = measure(case, data, chosen.runs)
            numbers[case.name] = {"ours": ours, "by_hand": by_hand, "target": case.target}
            other = f"{reference[case.name]:9.3f}" if case.name in reference else ""
            if case.name in others:
                others[case.name]()
                numbers[case.name]["pandas_on_spark"] = taken = seconds(others[case.name])
                other = f"{taken:15.3f} {other}"
            ratio = ours / by_hand
            line = f"{case.name:<28} {ours:8.3f} {by_hand:8.3f} {ratio:6.2f} {case.target:6.2f}"
            print(f"{line} {verdict(ratio, case.target):>4} {other}", flush=True)
        if not chosen.only:
            print("\nlatency, milliseconds")
            for name, value, most in latencies(data):
                numbers[name] = {"ms": value, "most": most}
                print(f"{name:<40} {value:9.1f} {most:8.0f} {verdict(value, most):>4}", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(numbers, indent=1))


if __name__ == "__main__":
    main()
