"""The same rows in few and in many segments: ``python -m benchmarks.segments [--rows N] [--segments 4,64,10000] [--only NAME] [--first]``.

With ``--first`` each run is the first pass of a process of its own, which has read nothing of the frame yet.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark import SFrame, aggregate, load_sframe
from sframe_spark.session import get_session
from sframe_spark.storage.datasets.manifest_publication import publish
from sframe_spark.storage.segments.writer import write_segment
from sframe_spark.types import FLOAT, INT

SEED = 7
TYPES = {"t": INT, "i": INT, "k": INT, "f": FLOAT}
GROUPS = 100
ROWS_FOR_A_QUOTE = 20


@attrs.frozen
class Case:
    """One line of the table: its name, how often the seconds of the fewest segments it may take, and what is timed."""

    name: str
    target: float
    action: Callable[[SFrame, SFrame], Any]


def columns(rows: int) -> dict[str, Any]:
    """Ascending ``t``, a permutation ``i``, ``k`` of 100 values and floats ``f``."""
    generator = np.random.default_rng([SEED, rows])
    numbers = np.arange(rows)
    return {"t": numbers * 2, "i": generator.permutation(rows), "k": generator.integers(0, GROUPS, rows), "f": generator.random(rows)}


def write(directory: Path, values: dict[str, Any], segments: int) -> SFrame:
    """Columns as a saved frame of so many segments."""
    directory.mkdir()
    types = [TYPES[name] for name in values]
    rows = len(next(iter(values.values())))
    edges = [rows * number // segments for number in range(segments + 1)]
    entries = []
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        entries.append(write_segment(str(directory), number, types, [[pa.array(column[start:stop]) for column in values.values()]]))
    publish(str(directory), types, entries, names=list(values), durable=False)
    return load_sframe(str(directory))


def filtered(frame: SFrame, _: SFrame) -> None:
    """Half of the rows."""
    frame[frame["f"] > 0.5].materialize()


def cumulative(frame: SFrame, _: SFrame) -> None:
    """A running value of all rows."""
    frame["f"].cumulative_sum().materialize()


def as_of(frame: SFrame, quotes: SFrame) -> None:
    """The last quote before each row."""
    frame.asof_join(quotes, on="t").materialize()


def grouped(frame: SFrame, _: SFrame) -> None:
    """Means of 100 groups."""
    frame.groupby("k", {"mean": aggregate.MEAN("f")}).materialize()


def ordered(frame: SFrame, _: SFrame) -> None:
    """All rows in another order."""
    frame.sort("i").materialize()


CASES = [
    Case("filter + materialise", 1.5, filtered),
    Case("cumulative sum", 1.5, cumulative),
    Case("as-of join", 1.5, as_of),
    Case("group-by", 1.5, grouped),
    Case("sort", 1.2, ordered),
]


def seconds(action: Callable[[], Any]) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def first_pass(rows: Path, quotes: Path, case: Case) -> None:
    """Say what the first pass of this process over frames that are opened before takes: seconds on the clock, and of processors."""
    frames = load_sframe(str(rows)), load_sframe(str(quotes))
    began = time.process_time()
    took = seconds(lambda: case.action(*frames))
    print(took, time.process_time() - began)


def first_passes(case: Case, directories: Sequence[tuple[Path, Path]], runs: int) -> list[tuple[float, float]]:
    """The median seconds of :func:`first_pass` for each number of segments, taken in turns, one process after the other."""
    found: list[list[tuple[float, ...]]] = [[] for _ in directories]
    for _, (place, (rows, quotes)) in itertools.product(range(runs), enumerate(directories)):
        command = [sys.executable, "-m", "benchmarks.segments", "--pass-of", str(rows), str(quotes), case.name]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found[place].append(tuple(map(float, answer.split())))
    return [tuple(map(statistics.median, zip(*of_place, strict=True))) for of_place in found]


def measured(case: Case, frames: Sequence[tuple[SFrame, SFrame]], runs: int) -> list[float]:
    """The best seconds of a case for each number of segments, taken in turns; the first run of each is not counted."""
    best = [float("inf")] * len(frames)
    for run in range(runs + 1):
        for place, (frame, quotes) in enumerate(frames):
            took = seconds(lambda frame=frame, quotes=quotes: case.action(frame, quotes))
            best[place] = min(best[place], took) if run else best[place]
    return best


def print_table(kind: str, counts: Sequence[int], only: str, measure: Callable[[Case], list[float]]) -> None:
    """Print what each case takes, and how much more the most segments take than those nearest to 64."""
    print(f"| {kind} | " + " | ".join(f"{count:,} segments" for count in counts) + " | ratio | at most |")
    print("| --- |" + " ---: |" * (len(counts) + 2))
    base = min(range(len(counts)), key=lambda place: abs(counts[place] - 64))
    for case in [case for case in CASES if only in case.name]:
        took = measure(case)
        shown = " | ".join(f"{each:.2f}" for each in took)
        print(f"| {case.name} | {shown} | {took[-1] / took[base]:.2f} | {case.target} |", flush=True)


def print_first_passes(counts: Sequence[int], only: str, directories: Sequence[tuple[Path, Path]], runs: int) -> None:
    """Print two tables of first passes: seconds on the clock, and of processors."""
    found = {case.name: first_passes(case, directories, runs) for case in CASES if only in case.name}
    for place, kind in enumerate(("first pass, seconds", "first pass, seconds of processors")):
        print_table(kind, counts, only, lambda case, place=place: [taken[place] for taken in found[case.name]])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What many segments cost.")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=2 * 10**7)
    parser.add_argument("--segments", type=lambda text: [int(item) for item in text.split(",")], default=[4, 64, 10_000])
    parser.add_argument("--only", default="", help="only cases whose names contain this")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--first", action="store_true", help="first passes, each of a process of its own")
    parser.add_argument("--pass-of", nargs=3, metavar=("ROWS", "QUOTES", "CASE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.pass_of:
        rows, quotes, name = chosen.pass_of
        first_pass(Path(rows), Path(quotes), next(case for case in CASES if case.name == name))
        return
    with tempfile.TemporaryDirectory() as scratch:
        values = columns(chosen.rows)
        stride = {name: values[name][::ROWS_FOR_A_QUOTE] for name in ("t", "f")}
        frames, directories = [], []
        for count in chosen.segments:
            began = time.perf_counter()
            directories.append((Path(scratch, f"rows-{count}"), Path(scratch, f"quotes-{count}")))
            frame = write(directories[-1][0], values, count)
            frames.append((frame, write(directories[-1][1], stride, min(count, len(stride["t"])))))
            print(f"{count} segments written in {time.perf_counter() - began:.1f} s", flush=True)
        if chosen.first:
            print_first_passes(chosen.segments, chosen.only, directories, chosen.runs)
            return
        get_session().range(1).count()
        print_table("seconds", chosen.segments, chosen.only, lambda case: measured(case, frames, chosen.runs))


if __name__ == "__main__":
    main()
